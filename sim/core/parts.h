/* Parts: the simulations of a bake, each with steps of its own length, stepped in order.
 *
 * A part is stepped when somebody asks for a moment behind its last step: the output, a measure, or
 * a later part whose step ends there. It sees the body (evaluated at its step's end, or between two
 * ticks where it is faster than the tick) with what earlier parts wrote at that moment. Between two
 * steps a part's joints are blended from what it wrote at both; a part that a later one may drive
 * ahead of the output keeps the joints of a few steps back. Either way the bits are the same, so a
 * simulation never changes by another that is added behind it.
 */
#pragma once

#include "core/moment.h"
#include "core/solver.h"
#include "rig/motion.h"

typedef struct Part {
    const SolverOps *ops;
    const void *model;
    const SimulationSpec *spec;
    int simulation;     /* index in the job */
    int rate;           /* steps a second */
    int history;        /* steps whose joints are kept; 0: none */
    int driven_count;   /* nodes it writes */
    int affected_count; /* nodes it writes and what hangs below them */
    const int *driven;
    const int *affected; /* parents first */
    PartInfo info;
} Part;

typedef struct Parts {
    const Rig *rig;
    Motion motion;
    ForcesSpec forces;
    int tick_rate; /* ticks a second */
    int count;
    const Part *part;
    bool has_fast; /* a part steps more often than the tick */
} Parts;

typedef struct PartState {
    void *state;
    int64_t step;           /* of the last one, at step / rate seconds */
    int now;                /* which of `seen` was seen at the last step */
    Pose seen[2];           /* the body and earlier parts */
    MotionMoment moment[2]; /* of the body in `seen` */
    Transform *kept;        /* a ring (history driven_count) */
    Transform *before;      /* scratch (driven_count) */
} PartState;

/* A body pose on the tick's grid. */
typedef struct TickPose {
    int64_t tick;
    Pose pose;
} TickPose;

typedef struct PartsState {
    PartState *part;
    TickPose tick[2]; /* for parts faster than the tick */
    Pose work;
    Arena *arena; /* lends scratch to steps */
} PartsState;

typedef struct PartsDesc {
    const Rig *rig;
    const BakeSpec *spec;
    SimdLevel simd;
    const SolverOps *const *solver; /* by kind, NULL entries for what cannot be simulated */
    Warnings *warnings;
} PartsDesc;

/* Build all enabled simulations. Errors name the simulation. */
NODISCARD Status parts_build(const PartsDesc *desc, Arena *arena, Parts *out, Error *err);
/* All parts at rest at tick `first`, which is a step of each. */
NODISCARD Status parts_start(const Parts *parts, int64_t first, Arena *arena, PartsState *out,
                             Error *err);
/* Step every part until its last step is at `moment` or behind it. Errors name the simulation and
 * the time. */
NODISCARD Status parts_advance(const Parts *parts, PartsState *state, Moment moment, Error *err);
/* The body at exactly `moment`, with what all parts write. No part's last step may be before it,
 * nor may the step before that be after it. */
void parts_pose(const Parts *parts, const PartsState *state, Moment moment, Pose *out);
uint64_t parts_hash(const Parts *parts, const PartsState *state);
