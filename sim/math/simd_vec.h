/* SimdVec: vectors and quaternions of Lanes, in the order of operations of vec3.h and quat.h. For
 * kernels only. */
#pragma once

#include "math/rows.h"
#include "math/simd.h"

typedef struct VecLanes {
    Lanes x, y, z;
} VecLanes;

typedef struct QuatLanes {
    Lanes x, y, z, w;
} QuatLanes;

static inline VecLanes veclanes_load(const VecRow *row, int lane)
{
    return (VecLanes){lanes_load(&row->x[lane]), lanes_load(&row->y[lane]),
                      lanes_load(&row->z[lane])};
}

static inline void veclanes_store(VecRow *row, int lane, VecLanes a)
{
    lanes_store(&row->x[lane], a.x);
    lanes_store(&row->y[lane], a.y);
    lanes_store(&row->z[lane], a.z);
}

static inline QuatLanes quatlanes_load(const QuatRow *row, int lane)
{
    return (QuatLanes){lanes_load(&row->x[lane]), lanes_load(&row->y[lane]),
                       lanes_load(&row->z[lane]), lanes_load(&row->w[lane])};
}

static inline void quatlanes_store(QuatRow *row, int lane, QuatLanes a)
{
    lanes_store(&row->x[lane], a.x);
    lanes_store(&row->y[lane], a.y);
    lanes_store(&row->z[lane], a.z);
    lanes_store(&row->w[lane], a.w);
}

static inline VecLanes veclanes_all(float x, float y, float z)
{
    return (VecLanes){lanes_all(x), lanes_all(y), lanes_all(z)};
}

static inline VecLanes veclanes_add(VecLanes a, VecLanes b)
{
    return (VecLanes){lanes_add(a.x, b.x), lanes_add(a.y, b.y), lanes_add(a.z, b.z)};
}

static inline VecLanes veclanes_sub(VecLanes a, VecLanes b)
{
    return (VecLanes){lanes_sub(a.x, b.x), lanes_sub(a.y, b.y), lanes_sub(a.z, b.z)};
}

static inline VecLanes veclanes_scale(VecLanes a, Lanes s)
{
    return (VecLanes){lanes_mul(a.x, s), lanes_mul(a.y, s), lanes_mul(a.z, s)};
}

/* a + b s */
static inline VecLanes veclanes_add_scaled(VecLanes a, VecLanes b, Lanes s)
{
    return veclanes_add(a, veclanes_scale(b, s));
}

static inline Lanes veclanes_dot(VecLanes a, VecLanes b)
{
    return lanes_add(lanes_add(lanes_mul(a.x, b.x), lanes_mul(a.y, b.y)), lanes_mul(a.z, b.z));
}

static inline Lanes veclanes_length(VecLanes a)
{
    return lanes_sqrt(veclanes_dot(a, a));
}

static inline VecLanes veclanes_cross(VecLanes a, VecLanes b)
{
    return (VecLanes){lanes_sub(lanes_mul(a.y, b.z), lanes_mul(a.z, b.y)),
                      lanes_sub(lanes_mul(a.z, b.x), lanes_mul(a.x, b.z)),
                      lanes_sub(lanes_mul(a.x, b.y), lanes_mul(a.y, b.x))};
}

static inline VecLanes veclanes_choose(Mask m, VecLanes yes, VecLanes no)
{
    return (VecLanes){lanes_choose(m, yes.x, no.x), lanes_choose(m, yes.y, no.y),
                      lanes_choose(m, yes.z, no.z)};
}

/* A unit vector at right angles to the unit vector `a`. */
static inline VecLanes veclanes_perpendicular(VecLanes a)
{
    Lanes zero = lanes_all(0.0f);
    Mask is_level = lanes_less(lanes_mul(a.x, a.x), lanes_all(0.36f));
    // a x (1, 0, 0) or a x (0, 1, 0)
    VecLanes side = veclanes_choose(is_level, (VecLanes){zero, a.z, lanes_sub(zero, a.y)},
                                    (VecLanes){lanes_sub(zero, a.z), zero, a.x});
    Lanes length = lanes_max(veclanes_length(side), lanes_all(1e-6f));

    return veclanes_scale(side, lanes_div(lanes_all(1.0f), length));
}

/* First b, then a. */
static inline QuatLanes quatlanes_mul(QuatLanes a, QuatLanes b)
{
    Lanes x = lanes_add(lanes_mul(a.w, b.x), lanes_mul(a.x, b.w));
    Lanes y = lanes_sub(lanes_mul(a.w, b.y), lanes_mul(a.x, b.z));
    Lanes z = lanes_add(lanes_mul(a.w, b.z), lanes_mul(a.x, b.y));
    Lanes w = lanes_sub(lanes_mul(a.w, b.w), lanes_mul(a.x, b.x));

    x = lanes_sub(lanes_add(x, lanes_mul(a.y, b.z)), lanes_mul(a.z, b.y));
    y = lanes_add(lanes_add(y, lanes_mul(a.y, b.w)), lanes_mul(a.z, b.x));
    z = lanes_add(lanes_sub(z, lanes_mul(a.y, b.x)), lanes_mul(a.z, b.w));
    w = lanes_sub(lanes_sub(w, lanes_mul(a.y, b.y)), lanes_mul(a.z, b.z));
    return (QuatLanes){x, y, z, w};
}

/* v turned by the unit quaternion q. */
static inline VecLanes quatlanes_rotate(QuatLanes q, VecLanes v)
{
    VecLanes u = {q.x, q.y, q.z};
    VecLanes t = veclanes_scale(veclanes_cross(u, v), lanes_all(2.0f));

    return veclanes_add(veclanes_add_scaled(v, t, q.w), veclanes_cross(u, t));
}

/* The smallest rotation from unit vector `from` to unit vector `to`; half a turn about a
 * perpendicular where they are opposite. */
static inline QuatLanes quatlanes_from_to(VecLanes from, VecLanes to)
{
    Lanes cosine = veclanes_dot(from, to);
    VecLanes sum = veclanes_add(from, to);
    Lanes near_half_turn = lanes_mul(lanes_all(0.5f), veclanes_dot(sum, sum));
    Lanes w = lanes_choose(lanes_less(cosine, lanes_all(-0.9f)), near_half_turn,
                           lanes_add(lanes_all(1.0f), cosine));
    VecLanes axis = veclanes_cross(from, to);
    Mask is_opposite = lanes_less(w, lanes_all(1e-6f));

    if (mask_any(is_opposite)) {
        axis = veclanes_choose(is_opposite, veclanes_perpendicular(from), axis);
        w = lanes_choose(is_opposite, lanes_all(0.0f), w);
    }
    Lanes length = lanes_sqrt(lanes_add(veclanes_dot(axis, axis), lanes_mul(w, w)));
    Lanes s = lanes_div(lanes_all(1.0f), length);
    return (QuatLanes){lanes_mul(axis.x, s), lanes_mul(axis.y, s), lanes_mul(axis.z, s),
                       lanes_mul(w, s)};
}
