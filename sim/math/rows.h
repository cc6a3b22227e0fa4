/* Rows: 16 scalars, vectors or quaternions side by side, a component's 16 floats together, as
 * kernels read them. Plain values. */
#pragma once

#include "math/quat.h"
#include "math/vec3.h"

enum { ROW_LANES = 16 };

typedef struct VecRow {
    float x[16], y[16], z[16];
} VecRow;

typedef struct QuatRow {
    float x[16], y[16], z[16], w[16];
} QuatRow;

static inline Vec3 vecrow_get(const VecRow *row, int lane)
{
    return (Vec3){row->x[lane], row->y[lane], row->z[lane]};
}

static inline void vecrow_set(VecRow *row, int lane, Vec3 a)
{
    row->x[lane] = a.x;
    row->y[lane] = a.y;
    row->z[lane] = a.z;
}

static inline Quat quatrow_get(const QuatRow *row, int lane)
{
    return (Quat){row->x[lane], row->y[lane], row->z[lane], row->w[lane]};
}

static inline void quatrow_set(QuatRow *row, int lane, Quat a)
{
    row->x[lane] = a.x;
    row->y[lane] = a.y;
    row->z[lane] = a.z;
    row->w[lane] = a.w;
}
