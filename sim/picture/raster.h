/* Raster: triangles, lines and discs into a buffer of depth and colour.
 *
 * Screen space has x to the right and y down in samples. `w` is what is linear on the screen and
 * greater for what is nearer: one over the distance in perspective, minus the distance without.
 * Colours are linear light. The same calls give the same bits everywhere.
 */
#pragma once

#include "base/arena.h"
#include "math/vec3.h"
#include "picture/image.h"

#include <stdbool.h>

typedef struct Raster {
    int width, height;
    float *depth; /* greatest w so far      (width height) */
    Vec3 *color;  /* NULL for depth alone   (width height) */
} Raster;

typedef struct RasterVertex {
    float x, y, w;
    Vec3 normal; /* camera space: x right, y up, z towards the viewer */
    Vec3 color;
} RasterVertex;

NODISCARD Status raster_build(int width, int height, bool has_color, Arena *arena, Raster *out,
                              Error *err);
/* Nothing drawn: a grey that darkens downwards. */
void raster_clear(Raster *raster);

/* A shaded triangle seen from both sides; what is not finite is left out. */
void raster_triangle(Raster *raster, const RasterVertex *a, const RasterVertex *b,
                     const RasterVertex *c);

/* A line `thickness` samples wide, dashed where it is `slack` times its distance or more behind
 * what was drawn. */
void raster_line(Raster *raster, RasterVertex a, RasterVertex b, float thickness, float slack);
/* Is something that much in front of this point? */
bool raster_hides(const Raster *raster, const RasterVertex *point, float slack);
/* A ball's disc with a light on it, over everything. */
void raster_ball(Raster *raster, RasterVertex centre, float radius);

/* The average of 2 x 2 samples a pixel into the image at (x, y). */
void raster_resolve(const Raster *raster, Image *image, int x, int y, const uint8_t *gamma);
/* sRGB's curve at i / 4095, for raster_resolve (4096). */
void raster_gamma(uint8_t *out);
