/* The inner loops of skinning, per instruction set. Internal to skinning.c. */
#pragma once

#include "math/kernel.h"
#include "rig/skinning.h"

/* influence_count is 4 to 16 in steps of 4; weights of 0 end a vertex's list. */
KERNEL_DECLARE(void, skin_positions,
               (const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *position,
                Vec3 *out));
KERNEL_DECLARE(void, skin_normals,
               (const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *normal, Vec3 *out));
