/* The inner loop of edges.c, per instruction set. */
#pragma once

#include "math/kernel.h"
#include "math/vec3.h"

/* out = |position[b] - position[a]| rest_inverse - 1 */
KERNEL_DECLARE(void, edge_stretches,
               (const Vec3 *position, const int *a, const int *b, const float *rest_inverse,
                int count, float *out));
