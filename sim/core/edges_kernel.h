/* The inner loop of edges.c, per instruction set. */
#pragma once

#include "math/kernel.h"
#include "math/vec3.h"

enum { EDGE_BLOCK = 32 };

/* Edges one after another, the ends' places and the lengths at rest. */
typedef struct EdgeScan {
    const Vec3 *position; /* four more bytes behind the last may be read */
    const int *a, *b;
    const float *rest_inverse;
    const float *max; /* greatest stretch so far */
    float *min;       /* least so far, brought up to date */
    float *stretch;   /* now: |position[b] - position[a]| rest_inverse - 1 */
    float high;       /* stretches from here on are of interest */
    int count;
} EdgeScan;

/* What the blocks of EDGE_BLOCK edges hold: 1 a new maximum, 2 a stretch of interest. */
KERNEL_DECLARE(void, edge_scan, (const EdgeScan *scan, unsigned char *out_block));
