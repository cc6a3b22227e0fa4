/* Draw: the parts of a scene into a raster through a camera. */
#pragma once

#include "picture/scene.h"

/* Stretch at the end of the colour scale. */
#define DRAW_STRETCH_MAX 0.20f

/* The colour of a stretch: grey at 0, then blue, green, yellow, red; linear light. */
Vec3 draw_stretch_color(float stretch);
extern const Vec3 draw_chain_color, draw_collider_color, draw_inside_color;

typedef enum DrawColors { DRAW_MATERIALS, DRAW_STRETCH } DrawColors;

/* Scratch is rewound. NO_MEMORY where a mesh's projection does not fit. */
NODISCARD Status draw_meshes(const Scene *scene, DrawColors colors, const Camera *camera,
                             Arena *scratch, Raster *raster, Error *err);
/* Lines from head to tail and a ball at each. */
void draw_segments(const Scene *scene, const Camera *camera, Raster *raster);
/* Wires of all colliders of the rig in the scene's pose. */
void draw_colliders(const Scene *scene, const Camera *camera, Raster *raster);
