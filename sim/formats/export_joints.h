/* Joints: the channel of joints of a bake, frame by frame, with the nodes they are. */
#pragma once

#include "sim/exports.h"

typedef struct JointTable {
    FrameFile file; /* with joints only */
    int frame_count;
    const FrameChannel *channel; /* NULL: the bake has none */
    const int *node;             /* (channel->key_count) */
} JointTable;

/* INVALID where the frames are not of this rig or there is no whole one. Borrows the frames. */
NODISCARD Status joints_open(const Rig *rig, Bytes frames, Arena *scratch, JointTable *out,
                             Error *err);
/* Frame k of frame_count: channel->float_count floats, valid until the next call. */
NODISCARD Status joints_read(JointTable *table, int k, const float **out, Error *err);
