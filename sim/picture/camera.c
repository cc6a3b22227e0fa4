#include "picture/camera.h"

#include <math.h>

static float smaller(float a, float b)
{
    return a < b ? a : b;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

Box box_empty(void)
{
    return (Box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

void box_add(Box *box, Vec3 point)
{
    if (!isfinite(point.x + point.y + point.z))
        return;
    box->min = vec3(smaller(box->min.x, point.x), smaller(box->min.y, point.y),
                    smaller(box->min.z, point.z));
    box->max =
        vec3(larger(box->max.x, point.x), larger(box->max.y, point.y), larger(box->max.z, point.z));
}

bool box_is_empty(const Box *box)
{
    return !(box->min.x <= box->max.x);
}

/* Where the eye is as seen from what it looks at. PICTURE_VIEW_COUNT is the portrait. */
static Vec3 view_back(PictureView view, Vec3 forward)
{
    Vec3 up = vec3(0.0f, 1.0f, 0.0f);
    Vec3 left = vec3_normalize_or(vec3_cross(up, forward), vec3(1.0f, 0.0f, 0.0f));

    if (view == PICTURE_FRONT)
        return vec3_normalize_or(vec3_add_scaled(forward, up, 0.04f), forward);
    if (view == PICTURE_SIDE)
        return vec3_normalize_or(vec3_add_scaled(left, up, 0.04f), left);
    // over the left shoulder: from behind, where hair is, or for a portrait from before
    float depth = view == PICTURE_THREE_QUARTER ? -0.75f : 0.85f;
    Vec3 back = vec3_add_scaled(vec3_scale(forward, depth), left, 0.66f);
    return vec3_normalize_or(
        vec3_add_scaled(back, up, view == PICTURE_THREE_QUARTER ? 0.30f : 0.16f), left);
}

Camera camera_look(PictureView view, Vec3 forward, const Box *box, int width, int height)
{
    const float tangent = 0.20f; // half the field of view, 23 degrees in height
    Vec3 half = vec3_scale(vec3_sub(box->max, box->min), 0.5f);
    Vec3 centre = vec3_add(box->min, half);
    Camera camera = {.back = view_back(view, forward)};
    float aspect = (float)width / (float)height;

    camera.right =
        vec3_normalize_or(vec3_cross(vec3(0.0f, 1.0f, 0.0f), camera.back), vec3(1.0f, 0.0f, 0.0f));
    camera.up = vec3_cross(camera.back, camera.right);
    Vec3 axis[3] = {camera.right, camera.up, camera.back};
    float reach[3];
    // what stands upright is round rather than a box
    for (int i = 0; i < 3; i++) {
        float x = axis[i].x * half.x, z = axis[i].z * half.z;
        reach[i] = fabsf(axis[i].y) * half.y + sqrtf(x * x + z * z);
    }
    float high = larger(reach[1], reach[0] / aspect);
    float distance = 0.6f * reach[2] + larger(high, 1e-3f) * 1.06f / tangent;

    camera.eye = vec3_add_scaled(centre, camera.back, distance);
    camera.scale = 0.5f * (float)height / tangent;
    camera.middle_x = 0.5f * (float)width;
    camera.middle_y = 0.5f * (float)height;
    return camera;
}

Vec3 camera_turn(const Camera *camera, Vec3 direction)
{
    return vec3(vec3_dot(direction, camera->right), vec3_dot(direction, camera->up),
                vec3_dot(direction, camera->back));
}

RasterVertex camera_project(const Camera *camera, Vec3 point)
{
    Vec3 p = camera_turn(camera, vec3_sub(point, camera->eye));
    float distance = -p.z;
    float w = distance > 1e-3f ? 1.0f / distance : NAN;

    return (RasterVertex){.x = camera->middle_x + p.x * w * camera->scale,
                          .y = camera->middle_y - p.y * w * camera->scale,
                          .w = w};
}
