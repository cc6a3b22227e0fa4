/* Mat3: a linear map, stored by columns (the images of the axes). */
#pragma once

#include "math/quat.h"
#include "math/vec3.h"

typedef struct Mat3 {
    Vec3 x, y, z; /* columns */
} Mat3;

static inline Mat3 mat3_identity(void)
{
    return (Mat3){{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
}

static inline Vec3 mat3_apply(const Mat3 *m, Vec3 v)
{
    return (Vec3){m->x.x * v.x + m->y.x * v.y + m->z.x * v.z,
                  m->x.y * v.x + m->y.y * v.y + m->z.y * v.z,
                  m->x.z * v.x + m->y.z * v.y + m->z.z * v.z};
}

static inline Mat3 mat3_mul(const Mat3 *a, const Mat3 *b)
{
    return (Mat3){mat3_apply(a, b->x), mat3_apply(a, b->y), mat3_apply(a, b->z)};
}

static inline Mat3 mat3_from_quat(Quat q)
{
    float x2 = q.x + q.x, y2 = q.y + q.y, z2 = q.z + q.z;
    float xx = q.x * x2, xy = q.x * y2, xz = q.x * z2;
    float yy = q.y * y2, yz = q.y * z2, zz = q.z * z2;
    float wx = q.w * x2, wy = q.w * y2, wz = q.w * z2;

    return (Mat3){{1.0f - (yy + zz), xy + wz, xz - wy},
                  {xy - wz, 1.0f - (xx + zz), yz + wx},
                  {xz + wy, yz - wx, 1.0f - (xx + yy)}};
}

static inline Mat3 mat3_from_quat_scale(Quat q, Vec3 scale)
{
    Mat3 m = mat3_from_quat(q);

    return (Mat3){vec3_scale(m.x, scale.x), vec3_scale(m.y, scale.y), vec3_scale(m.z, scale.z)};
}

static inline float mat3_determinant(const Mat3 *m)
{
    return vec3_dot(m->x, vec3_cross(m->y, m->z));
}

/* The map of normals: cofactors, that is determinant times inverse transpose; not normalised. */
static inline Mat3 mat3_cofactor(const Mat3 *m)
{
    return (Mat3){vec3_cross(m->y, m->z), vec3_cross(m->z, m->x), vec3_cross(m->x, m->y)};
}
