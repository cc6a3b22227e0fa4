/* Solver: the interface of all simulations. Each solver file exports one const SolverOps;
 * solvers/table.c lists them by SimulationKind, which is also the order of stepping.
 *
 * A model is const after build; a state belongs to one run. `step` allocates nothing but scratch,
 * touches no file, clock or global, and gives equal bits for equal input.
 */
#pragma once

#include "rig/pose.h"
#include "sim/bake.h"

/* What a part is built from. All of it outlives the model. */
typedef struct PartDesc {
    const Rig *rig;
    const SimulationSpec *spec;
    int simulation; /* index in the job, for messages and measures */
    float dt;       /* seconds a step: 1 / spec->rate */
    SimdLevel simd;
    const bool *is_rotated; /* nodes that the motion animates, scene motion left out (node_count) */
    const bool *is_driven;  /* nodes that an earlier part drives                     (node_count) */
    int hidden_count;
    const int *hidden; /* mesh-bearing nodes that are no part of the body (hidden_count) */
    Warnings *warnings;
} PartDesc;

typedef struct StepInput {
    double time; /* seconds since frame 0 at the end of the step; negative in warm-up */
    float dt;    /* seconds */
    const ForcesSpec *forces;
    const Pose *before; /* after motion, constraints and earlier parts, at time - dt */
    const Pose *now;    /* the same at `time` */
    Arena *scratch;     /* rewound by the caller after the step */
} StepInput;

/* A head-tail pair as it is given out in the `segments` channel and measured for settling. */
typedef struct PartSegment {
    const char *key;  /* head's key; "KEY/2" for a second segment of a branching head */
    int chain;        /* which chain of the part it belongs to */
    int head, tail;   /* nodes; tail -1 for a virtual one */
    Vec3 tail_offset; /* the tail in the head's space */
} PartSegment;

/* Where a segment's tail is in a pose, world. */
static inline DVec3 part_segment_tail(const PartSegment *segment, const Pose *pose)
{
    if (segment->tail >= 0)
        return pose->world[segment->tail].origin;
    return world_point(&pose->world[segment->head], segment->tail_offset);
}

/* What a part tells core about itself after build. Arrays live as long as the model. */
typedef struct PartInfo {
    const bool *is_driven; /* nodes whose local rotation it writes (node_count) */
    int chain_count;
    const char *const *chain_key; /* targets of its measures (chain_count) */
    int segment_count;
    const PartSegment *segment;
    int row_count; /* rows of measures beyond those of a chain each */
} PartInfo;

typedef struct MeasureSink MeasureSink; /* core/measure.h */

typedef struct SolverOps {
    const char *name; /* as written in job files and measures: "chains" */
    Status (*build)(const PartDesc *desc, Arena *arena, const void **model, Error *err);
    void (*describe)(const void *model, PartInfo *out);
    /* What the job's fields and the file's numbers came to, as members of the object that is open;
     * NULL where there is nothing to say. */
    void (*write_used)(const void *model, JsonWriter *json);
    /* How colliders were fitted, as an item "fit" of the object that is open; nothing where they
     * were not. NULL where nothing ever is. */
    void (*write_fit)(const void *model, JsonWriter *json);
    /* The state at rest in this pose. */
    Status (*start)(const void *model, const Pose *pose, Arena *arena, void **state, Error *err);
    Status (*step)(const void *model, void *state, const StepInput *input, Error *err);
    /* Write the part's joints into pose->local, `t` of the way from the step before (0) to the last
     * one (1). On entry pose->world is right for everything the part does not drive; the caller
     * updates worlds afterwards. At 0 it writes the bits that it wrote at 1 before the last step:
     * core blends between the two, whatever runs behind the part. */
    void (*pose)(const void *model, const void *state, float t, Pose *pose);
    /* Take a sample at a moment of the measures' grid; `pose` is final. is_settling is true in the
     * last 2 s of a settle of 6 s or more. */
    void (*sample)(const void *model, void *state, const Pose *pose, bool is_settling);
    /* Report what was accumulated. */
    void (*measure)(const void *model, const void *state, MeasureSink *out);
    uint64_t (*hash)(const void *model, const void *state, uint64_t seed);
} SolverOps;

extern const SolverOps chains_solver;

/* The solver of a kind, NULL for a kind that this version cannot simulate. */
const SolverOps *solver_find(SimulationKind kind);
