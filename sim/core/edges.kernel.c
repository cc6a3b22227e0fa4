#include "core/edges_kernel.h"

void KERNEL(edge_stretches)(const Vec3 *restrict position, const int *restrict a,
                            const int *restrict b, const float *restrict rest_inverse, int count,
                            float *restrict out)
{
    for (int i = 0; i < count; i++) {
        float x = position[b[i]].x - position[a[i]].x;
        float y = position[b[i]].y - position[a[i]].y;
        float z = position[b[i]].z - position[a[i]].z;

        out[i] = sqrtf(x * x + y * y + z * z) * rest_inverse[i] - 1.0f;
    }
}
