/* Kernels of chains: one free step of a block of 16 chains, all segments, in lanes. They touch
 * nothing but what BlockStep points to. */
#pragma once

#include "math/simd.h"
#include "solvers/chains/model.h"

typedef struct BlockStep {
    int row_count;
    const RestRow *rest_row; /* (row_count) */
    const VrmRow *vrm_row;
    const TailRow *before;
    TailRow *now;
    const VecRow *node_before; /* NULL: true lengths */
    VecRow *node_now;
    const CarryRow *node_carry; /* with nodes: how those of the last step are taken over */
    const FrameRow *frame;
    const CarryRow *carry; /* NULL: only the shift below */
    Vec3 shift;
    int slot_count;
    const ChainsSlot *slot;
    const Shape *shape;
    const float *travel; /* how far each shape moves in this step */
    float h;
    const Pose *pose;
    Vec3 push; /* h times what pushes everything (wind), m/s */
    bool is_parent_rest;
    bool has_limit;
    uint32_t out_near; /* lanes with a collider in reach of a segment */
    bool out_finite;
} BlockStep;

SIMD_DECLARE(void, chains_rest_kernel, BlockStep *step);
SIMD_DECLARE(void, chains_vrm_kernel, BlockStep *step);
