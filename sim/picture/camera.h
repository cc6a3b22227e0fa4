/* Camera: from the scene to samples of a raster, in perspective, placed so that a box is in view.
 */
#pragma once

#include "math/vec3.h"
#include "picture/raster.h"
#include "sim/picture.h"

typedef struct Box {
    Vec3 min, max;
} Box;

typedef struct Camera {
    Vec3 eye;
    Vec3 right, up, back; /* axes of camera space */
    float scale;          /* samples of a unit length at unit distance */
    float middle_x, middle_y;
} Camera;

Box box_empty(void);
void box_add(Box *box, Vec3 point);
bool box_is_empty(const Box *box);

/* A camera that sees the whole box from that side. `forward`: where the character faces. */
Camera camera_look(PictureView view, Vec3 forward, const Box *box, int width, int height);
/* A point in samples; w is not a number where the point is behind the eye. */
RasterVertex camera_project(const Camera *camera, Vec3 point);
/* A direction in camera space. */
Vec3 camera_turn(const Camera *camera, Vec3 direction);
