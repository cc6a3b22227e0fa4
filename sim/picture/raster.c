#include "picture/raster.h"

#include "math/scalar.h"

#include <math.h>

enum { GAMMA_SIZE = 4096 };

Status raster_build(int width, int height, bool has_color, Arena *arena, Raster *out, Error *err)
{
    size_t count = (size_t)width * (size_t)height;
    float *depth = arena_scratch(arena, float, count);
    Vec3 *color = has_color ? arena_scratch(arena, Vec3, count) : NULL;

    if (!depth || (has_color && !color))
        return error_set(err, STATUS_NO_MEMORY, "no room to draw %d x %d samples", width, height);
    *out = (Raster){width, height, depth, color};
    raster_clear(out);
    return STATUS_OK;
}

void raster_clear(Raster *raster)
{
    for (int y = 0; y < raster->height; y++) {
        float down = (float)y / (float)raster->height;
        Vec3 grey = vec3(0.80f - 0.22f * down, 0.82f - 0.22f * down, 0.86f - 0.22f * down);
        size_t row = (size_t)y * (size_t)raster->width;

        for (int x = 0; x < raster->width; x++) {
            raster->depth[row + (size_t)x] = -INFINITY;
            if (raster->color)
                raster->color[row + (size_t)x] = grey;
        }
    }
}

/* Two lights that stand with the camera, and the sky. The light is soft: it goes round the edge. */
static Vec3 shade(Vec3 normal, Vec3 color)
{
    static const Vec3 key = {-0.40f, 0.56f, 0.726f};
    static const Vec3 fill = {0.80f, 0.10f, 0.59f};
    Vec3 n = vec3_normalize_or(normal, vec3(0.0f, 0.0f, 1.0f));

    if (n.z < 0.0f)
        n = vec3_scale(n, -1.0f);
    float main = vec3_dot(n, key);
    float side = vec3_dot(n, fill);
    main = main > -0.25f ? (main + 0.25f) / 1.25f : 0.0f;
    side = side > 0.0f ? side : 0.0f;
    float light = 0.20f + 0.10f * n.y + 0.72f * main + 0.14f * side;
    Vec3 half = vec3_normalize_or(vec3(key.x, key.y, key.z + 1.0f), key);
    float shine = vec3_dot(n, half);
    shine = shine > 0.0f ? shine * shine : 0.0f;
    shine *= shine;
    shine *= shine * shine;
    shine = 0.07f * shine * shine;
    return vec3(color.x * light + shine, color.y * light + shine, color.z * light + shine);
}

/* Clamped and rounded outwards, for anything that may be far outside. */
static int clip_low(float value)
{
    return value > 0.0f ? (int)(value < 1e6f ? value : 1e6f) : 0;
}

static int clip_high(float value, int size)
{
    return value < (float)(size - 1) ? (value > -2.0f ? (int)(value + 1.0f) : -1) : size - 1;
}

static float min3(float a, float b, float c)
{
    float m = a < b ? a : b;

    return m < c ? m : c;
}

static float max3(float a, float b, float c)
{
    float m = a > b ? a : b;

    return m > c ? m : c;
}

static Vec3 mix3(Vec3 a, Vec3 b, Vec3 c, const float *part)
{
    return vec3_add_scaled(vec3_add_scaled(vec3_scale(a, part[0]), b, part[1]), c, part[2]);
}

static void set_sample(Raster *raster, size_t at, float w, const RasterVertex *const v[3],
                       const float *part)
{
    raster->depth[at] = w;
    if (!raster->color)
        return;
    float weight[3] = {part[0] * v[0]->w / w, part[1] * v[1]->w / w, part[2] * v[2]->w / w};
    raster->color[at] = shade(mix3(v[0]->normal, v[1]->normal, v[2]->normal, weight),
                              mix3(v[0]->color, v[1]->color, v[2]->color, weight));
}

void raster_triangle(Raster *raster, const RasterVertex *a, const RasterVertex *b,
                     const RasterVertex *c)
{
    const RasterVertex *const v[3] = {a, b, c};
    float area = (b->x - a->x) * (c->y - a->y) - (b->y - a->y) * (c->x - a->x);
    float sum = a->x + a->y + a->w + b->x + b->y + b->w + c->x + c->y + c->w;

    if (!isfinite(sum) || !isfinite(area) || area == 0.0f)
        return;
    int x0 = clip_low(min3(a->x, b->x, c->x)), y0 = clip_low(min3(a->y, b->y, c->y));
    int x1 = clip_high(max3(a->x, b->x, c->x), raster->width);
    int y1 = clip_high(max3(a->y, b->y, c->y), raster->height);
    float scale = 1.0f / area;

    for (int y = y0; y <= y1; y++) {
        float py = (float)y + 0.5f;
        for (int x = x0; x <= x1; x++) {
            float px = (float)x + 0.5f;
            float part[3];
            part[1] = ((px - a->x) * (c->y - a->y) - (py - a->y) * (c->x - a->x)) * scale;
            part[2] = ((b->x - a->x) * (py - a->y) - (b->y - a->y) * (px - a->x)) * scale;
            part[0] = 1.0f - part[1] - part[2];
            if (part[0] < 0.0f || part[1] < 0.0f || part[2] < 0.0f)
                continue;
            float w = part[0] * a->w + part[1] * b->w + part[2] * c->w;
            size_t at = (size_t)y * (size_t)raster->width + (size_t)x;
            if (w > raster->depth[at])
                set_sample(raster, at, w, v, part);
        }
    }
}

static void stamp(Raster *raster, float cx, float cy, float radius, Vec3 color)
{
    int x0 = clip_low(cx - radius), x1 = clip_high(cx + radius, raster->width);
    int y0 = clip_low(cy - radius), y1 = clip_high(cy + radius, raster->height);

    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            float dx = (float)x + 0.5f - cx, dy = (float)y + 0.5f - cy;
            if (dx * dx + dy * dy <= radius * radius)
                raster->color[(size_t)y * (size_t)raster->width + (size_t)x] = color;
        }
}

bool raster_hides(const Raster *raster, const RasterVertex *point, float slack)
{
    float x = point->x, y = point->y;

    if (!(x >= 0.0f && y >= 0.0f && x < (float)raster->width && y < (float)raster->height))
        return false;
    size_t at = (size_t)(int)y * (size_t)raster->width + (size_t)(int)x;
    // w is one over the distance
    return raster->depth[at] * (1.0f - slack) > point->w;
}

void raster_line(Raster *raster, RasterVertex a, RasterVertex b, float thickness, float slack)
{
    float dx = b.x - a.x, dy = b.y - a.y;
    float length = sqrtf(dx * dx + dy * dy);
    int count = length < 1e5f ? (int)length + 1 : 0; // false for not a number, too

    for (int i = 0; i <= count && count > 0; i++) {
        float t = (float)i / (float)count;
        RasterVertex at = {.x = a.x + dx * t, .y = a.y + dy * t, .w = a.w + (b.w - a.w) * t};
        if (i % 14 >= 3 && raster_hides(raster, &at, slack))
            continue;
        stamp(raster, at.x, at.y, 0.5f * thickness, a.color);
    }
}

void raster_ball(Raster *raster, RasterVertex centre, float radius)
{
    if (!isfinite(centre.x + centre.y + radius) || radius > 1e4f)
        return;
    stamp(raster, centre.x, centre.y, radius + 1.0f, vec3_scale(centre.color, 0.15f));
    stamp(raster, centre.x, centre.y, radius, centre.color);
    stamp(raster, centre.x - 0.3f * radius, centre.y - 0.3f * radius, 0.35f * radius,
          vec3_lerp(centre.color, vec3(1.0f, 1.0f, 1.0f), 0.6f));
}

void raster_gamma(uint8_t *out)
{
    for (int i = 0; i < GAMMA_SIZE; i++) {
        double x = (double)i / (GAMMA_SIZE - 1);
        double y = x <= 0.0031308 ? 12.92 * x : 1.055 * scalar_exp(scalar_log(x) / 2.4) - 0.055;
        out[i] = (uint8_t)(y * 255.0 + 0.5);
    }
}

static uint8_t encode(float value, const uint8_t *gamma)
{
    float clipped = value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;

    return gamma[(int)(clipped * (float)(GAMMA_SIZE - 1) + 0.5f)];
}

void raster_resolve(const Raster *raster, Image *image, int x, int y, const uint8_t *gamma)
{
    for (int row = 0; row < raster->height / 2; row++)
        for (int column = 0; column < raster->width / 2; column++) {
            size_t at = 2 * ((size_t)row * (size_t)raster->width + (size_t)column);
            const Vec3 *p = raster->color + at;
            const Vec3 *q = p + raster->width;
            Vec3 sum = vec3_add(vec3_add(p[0], p[1]), vec3_add(q[0], q[1]));
            uint32_t color = (uint32_t)encode(0.25f * sum.x, gamma) << 16 |
                             (uint32_t)encode(0.25f * sum.y, gamma) << 8 |
                             encode(0.25f * sum.z, gamma);
            image_set(image, x + column, y + row, color);
        }
}
