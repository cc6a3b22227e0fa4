/* Vec3: three floats, by value. DVec3: three doubles, for world positions. */
#pragma once

#include <math.h>

typedef struct Vec3 {
    float x, y, z;
} Vec3;

typedef struct DVec3 {
    double x, y, z;
} DVec3;

static inline Vec3 vec3(float x, float y, float z)
{
    return (Vec3){x, y, z};
}

static inline Vec3 vec3_add(Vec3 a, Vec3 b)
{
    return (Vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline Vec3 vec3_sub(Vec3 a, Vec3 b)
{
    return (Vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline Vec3 vec3_scale(Vec3 a, float s)
{
    return (Vec3){a.x * s, a.y * s, a.z * s};
}

static inline Vec3 vec3_mul(Vec3 a, Vec3 b)
{
    return (Vec3){a.x * b.x, a.y * b.y, a.z * b.z};
}

/* a + b s */
static inline Vec3 vec3_add_scaled(Vec3 a, Vec3 b, float s)
{
    return (Vec3){a.x + b.x * s, a.y + b.y * s, a.z + b.z * s};
}

static inline Vec3 vec3_lerp(Vec3 a, Vec3 b, float t)
{
    return vec3_add_scaled(a, vec3_sub(b, a), t);
}

static inline float vec3_dot(Vec3 a, Vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline Vec3 vec3_cross(Vec3 a, Vec3 b)
{
    return (Vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline float vec3_length(Vec3 a)
{
    return sqrtf(vec3_dot(a, a));
}

/* The greatest and the least of the components. */
static inline float vec3_max(Vec3 a)
{
    float most = a.x > a.y ? a.x : a.y;

    return most > a.z ? most : a.z;
}

static inline float vec3_min(Vec3 a)
{
    return -vec3_max(vec3_scale(a, -1.0f));
}

/* The unit vector along `a`, or `otherwise` where `a` has no direction. */
static inline Vec3 vec3_normalize_or(Vec3 a, Vec3 otherwise)
{
    float length = vec3_length(a);

    return length > 0.0f && isfinite(length) ? vec3_scale(a, 1.0f / length) : otherwise;
}

/* A unit vector at right angles to the unit vector `a`. */
static inline Vec3 vec3_perpendicular(Vec3 a)
{
    Vec3 axis = fabsf(a.x) < 0.6f ? vec3(1.0f, 0.0f, 0.0f) : vec3(0.0f, 1.0f, 0.0f);

    return vec3_normalize_or(vec3_cross(a, axis), vec3(0.0f, 0.0f, 1.0f));
}

static inline Vec3 vec3_abs(Vec3 a)
{
    return (Vec3){fabsf(a.x), fabsf(a.y), fabsf(a.z)};
}

static inline DVec3 dvec3_from(Vec3 a)
{
    return (DVec3){(double)a.x, (double)a.y, (double)a.z};
}

static inline DVec3 dvec3_add(DVec3 a, DVec3 b)
{
    return (DVec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline DVec3 dvec3_lerp(DVec3 a, DVec3 b, double t)
{
    return (DVec3){a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t, a.z + (b.z - a.z) * t};
}

/* a - b, in float: positions relative to an origin. */
static inline Vec3 dvec3_offset(DVec3 a, DVec3 b)
{
    return (Vec3){(float)(a.x - b.x), (float)(a.y - b.y), (float)(a.z - b.z)};
}

static inline Vec3 dvec3_float(DVec3 a)
{
    return (Vec3){(float)a.x, (float)a.y, (float)a.z};
}
