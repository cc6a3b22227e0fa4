/* Output: the channels of a bake and how a frame is filled from a pose.
 *
 * The layout is immutable; a FrameStore belongs to one run. Keys follow the contract: nodes by key,
 * the second primitive of a node "KEY/1", the second segment of a branching head "KEY/2".
 */
#pragma once

#include "core/parts.h"
#include "rig/skinning.h"
#include "sim/frames.h"

typedef struct Output {
    const Rig *rig;
    SimdLevel simd;
    int channel_count, batch_count, joint_count, segment_count, weight_count;
    FrameChannel *channel;       /* (channel_count) */
    SkinBatch *batch;            /* every primitive of every mesh-bearing node (batch_count) */
    const int *joint;            /* nodes of the joints channel   (joint_count) */
    const PartSegment **segment; /* of the segments channel       (segment_count) */
    const int *weight;           /* nodes of the weights channel  (weight_count) */
    bool has_positions, has_normals;
} Output;

typedef struct FrameStore {
    float **data; /* (channel_count) */
    FrameData frame;
    SkinWork work;
    Vec3 *position; /* where normals are asked for alone */
} FrameStore;

NODISCARD Status output_build(const Parts *parts, const OutputSpec *spec, SimdLevel simd,
                              Arena *arena, Output *out, Error *err);
NODISCARD Status output_start(const Output *output, Arena *arena, FrameStore *out, Error *err);
void output_fill(const Output *output, const Pose *pose, int frame, double time, FrameStore *store);
