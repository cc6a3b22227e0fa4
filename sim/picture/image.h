/* Image: 8-bit sRGB pixels, and the PNG of them. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"

#include <stdint.h>

typedef struct Image {
    int width, height;
    uint8_t *pixel; /* red, green, blue (3 width height) */
} Image;

/* Colours here are 0xRRGGBB. NO_MEMORY where the arena is full. */
NODISCARD Status image_build(int width, int height, uint32_t color, Arena *arena, Image *out,
                             Error *err);
void image_fill(Image *image, int x, int y, int width, int height, uint32_t color);

/* Does nothing outside the image. */
static inline void image_set(Image *image, int x, int y, uint32_t color)
{
    if (x < 0 || y < 0 || x >= image->width || y >= image->height)
        return;
    uint8_t *p = image->pixel + 3 * ((size_t)y * (size_t)image->width + (size_t)x);
    p[0] = (uint8_t)(color >> 16);
    p[1] = (uint8_t)(color >> 8);
    p[2] = (uint8_t)color;
}

/* A PNG file behind what `out` holds. */
NODISCARD Status image_write_png(const Image *image, ByteWriter *out, Error *err);
