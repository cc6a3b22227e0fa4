#include "core/edges_kernel.h"

#include <string.h>

/* From a to b, three floats and one of no meaning. */
static inline void link_ends(const Vec3 *position, const int *a, const int *b, int count,
                             float (*out)[4])
{
    for (int i = 0; i < count; i++) {
        Float4 from, to;

        memcpy(&from, (const char *)(position + a[i]), sizeof from);
        memcpy(&to, (const char *)(position + b[i]), sizeof to);
        to -= from;
        memcpy(out[i], &to, sizeof to);
    }
}

/* At most EDGE_BLOCK edges from `first` on. */
static inline int scan_some(const EdgeScan *scan, int first, int count)
{
    const float *restrict rest_inverse = scan->rest_inverse + first;
    const float *restrict max = scan->max + first;
    float *restrict min = scan->min + first;
    float *restrict stretch = scan->stretch + first;
    float high = scan->high;
    float link[EDGE_BLOCK][4];
    int is_grown = 0, is_high = 0;

    link_ends(scan->position, scan->a + first, scan->b + first, count, link);
    for (int i = 0; i < count; i++) {
        float x = link[i][0], y = link[i][1], z = link[i][2];
        float s = sqrtf(x * x + y * y + z * z) * rest_inverse[i] - 1.0f;

        stretch[i] = s;
        min[i] = s < min[i] ? s : min[i];
        is_grown |= s > max[i];
        is_high |= s >= high;
    }
    return is_grown | is_high << 1;
}

void KERNEL(edge_scan)(const EdgeScan *scan, unsigned char *out_block)
{
    int whole = scan->count / EDGE_BLOCK;

    for (int i = 0; i < whole; i++)
        out_block[i] = (unsigned char)scan_some(scan, i * EDGE_BLOCK, EDGE_BLOCK);
    if (scan->count % EDGE_BLOCK)
        out_block[whole] =
            (unsigned char)scan_some(scan, whole * EDGE_BLOCK, scan->count % EDGE_BLOCK);
}
