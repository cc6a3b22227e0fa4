/* Carry: what both kernels of chains share. For kernels only. */
#pragma once

#include "math/simd_vec.h"
#include "solvers/chains/kernel.h"

/* Where the walk down a block has come to: the next segment's head, and the rotation it is born
 * with. */
typedef struct Walk {
    alignas(64) VecRow head;
    QuatRow rotation;
} Walk;

/* Points and velocities of the step before, taken over into this one. */
static inline VecLanes apply_carry(const CarryRow *carry, VecLanes x, int lane)
{
    VecLanes y = veclanes_load(&carry->shift, lane);
    y = veclanes_add_scaled(y, veclanes_load(&carry->x, lane), x.x);
    y = veclanes_add_scaled(y, veclanes_load(&carry->y, lane), x.y);
    return veclanes_add_scaled(y, veclanes_load(&carry->z, lane), x.z);
}

static inline VecLanes carry_point(const BlockStep *step, VecLanes x, int lane)
{
    if (!step->carry)
        return veclanes_add(x, veclanes_all(step->shift.x, step->shift.y, step->shift.z));
    return apply_carry(step->carry, x, lane);
}

static inline VecLanes carry_velocity(const BlockStep *step, VecLanes v, int lane)
{
    const CarryRow *carry = step->carry;

    if (!carry)
        return v;
    VecLanes y = veclanes_scale(veclanes_load(&carry->x, lane), v.x);
    y = veclanes_add_scaled(y, veclanes_load(&carry->y, lane), v.y);
    return veclanes_add_scaled(y, veclanes_load(&carry->z, lane), v.z);
}
