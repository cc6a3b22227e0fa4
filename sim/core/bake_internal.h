/* Bake, inside: for bake.c and for tests that bring solvers of their own. */
#pragma once

#include "core/output.h"
#include "core/tally.h"
#include "sim/bake.h"

struct BakeModel {
    const Rig *rig;
    Parts parts;
    Output output;
    TallyModel tally;
    FrameHeader header;
    Warnings warnings;
    int tick_rate;
    int64_t first_tick, last_tick; /* 0 is frame 0 */
    Moment loop_end;               /* end of the cycle that is output; only for loops */
};

struct BakeState {
    Arena *arena;
    PartsState parts;
    FrameStore frames;
    TallyState tally;
    Pose pose;    /* the last one that was output or measured */
    int64_t tick; /* the last one reached */
    int frame;    /* the next one's number */
    int seam;     /* of a loop: 0 before its start was seen, 1 before its end */
};

/* What a bake is built from. */
typedef struct BakeDesc {
    const Rig *rig;
    const BakeSpec *spec;
    const BakeOptions *options;
    const SolverOps *const *solver; /* by kind, NULL where it cannot be simulated */
} BakeDesc;

/* bake_build with solvers of the caller's choice. */
NODISCARD Status bake_build_with(const BakeDesc *desc, Arena *arena, const BakeModel **out,
                                 Error *err);
