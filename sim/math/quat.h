/* Quat: rotations, x y z w as in glTF. Everything here is + - * / and sqrt, hence equal bits
 * everywhere; what needs angles takes them through math/scalar.h. */
#pragma once

#include "math/vec3.h"

typedef struct Quat {
    float x, y, z, w;
} Quat;

static inline Quat quat_identity(void)
{
    return (Quat){0.0f, 0.0f, 0.0f, 1.0f};
}

/* First b, then a. */
static inline Quat quat_mul(Quat a, Quat b)
{
    return (Quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                  a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                  a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                  a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

static inline Quat quat_conjugate(Quat q)
{
    return (Quat){-q.x, -q.y, -q.z, q.w};
}

static inline float quat_dot(Quat a, Quat b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

/* The unit quaternion, identity where `q` has no length. */
static inline Quat quat_normalize(Quat q)
{
    float length = sqrtf(quat_dot(q, q));

    if (!(length > 0.0f) || !isfinite(length))
        return quat_identity();
    float s = 1.0f / length;
    return (Quat){q.x * s, q.y * s, q.z * s, q.w * s};
}

/* v turned by the unit quaternion q: v + 2 u x (u x v + w v). */
static inline Vec3 quat_rotate(Quat q, Vec3 v)
{
    Vec3 u = {q.x, q.y, q.z};
    Vec3 t = vec3_scale(vec3_cross(u, v), 2.0f);

    return vec3_add(vec3_add_scaled(v, t, q.w), vec3_cross(u, t));
}

/* The smallest rotation that takes unit vector `from` to unit vector `to`; for opposite vectors
 * half a turn about a fixed perpendicular of `from`. */
static inline Quat quat_from_to(Vec3 from, Vec3 to)
{
    float cosine = vec3_dot(from, to);
    Vec3 sum = vec3_add(from, to);
    // 1 + cos near half a turn, without its cancellation
    float w = cosine < -0.9f ? 0.5f * vec3_dot(sum, sum) : 1.0f + cosine;

    if (w < 1e-6f) {
        Vec3 axis = vec3_perpendicular(from);
        return (Quat){axis.x, axis.y, axis.z, 0.0f};
    }
    Vec3 axis = vec3_cross(from, to);
    return quat_normalize((Quat){axis.x, axis.y, axis.z, w});
}

/* Normalised linear interpolation along the shorter way. */
static inline Quat quat_nlerp(Quat a, Quat b, float t)
{
    float sign = quat_dot(a, b) < 0.0f ? -1.0f : 1.0f;

    return quat_normalize((Quat){a.x + (sign * b.x - a.x) * t, a.y + (sign * b.y - a.y) * t,
                                 a.z + (sign * b.z - a.z) * t, a.w + (sign * b.w - a.w) * t});
}
