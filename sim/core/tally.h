/* Tally: what a bake measures while it runs, the same for every solver: stretch of the edges that
 * each simulation moves, the speed of its points while it settles, the seam of a loop, and numbers
 * that are not finite. schema/measures.md has the definitions.
 *
 * The model is immutable; the state belongs to one run.
 */
#pragma once

#include "core/edges.h"
#include "core/measure.h"

typedef struct TallyModel {
    const Parts *parts;
    SimdLevel simd;
    EdgeSet *edges;   /* (parts->count) */
    int sample_count; /* of a whole bake */
    int rate;         /* samples a second */
    int frame_count, fps_numerator, fps_denominator;
    double settled_from; /* the last two seconds of settling begin here; infinite without them */
    double settle;       /* seconds that were asked for */
    bool is_loop;
} TallyModel;

/* Of one part. */
typedef struct TallyPart {
    EdgeState edges;
    float *p99, *max; /* stretch by sample                              (sample_count) */
    DVec3 *tail;      /* of each segment at the sample before           (segment_count) */
    Vec3 *seam;       /* tails at a loop's start, seen from the body    (segment_count) */
    float *speed;     /* greatest while settling, m/s                   (chain_count) */
    double seam_gap;  /* metres; negative: not measured */
    int nonfinite;
} TallyPart;

typedef struct TallyState {
    TallyPart *part; /* (parts->count) */
    int sample;      /* the next one's number */
    int speed_count; /* intervals of settling that were measured */
    double time;     /* of the sample before */
} TallyState;

typedef enum TallySeam { TALLY_LOOP_START, TALLY_LOOP_END } TallySeam;

/* Fills `edges`; the other fields are the caller's. */
NODISCARD Status tally_build(TallyModel *tally, Arena *arena, Error *err);
NODISCARD Status tally_start(const TallyModel *tally, Arena *arena, TallyState *out, Error *err);
/* Is every joint that a part moves where a number can say? Otherwise DIVERGED, with its name. */
NODISCARD Status tally_check(const TallyModel *tally, TallyState *state, const Pose *pose,
                             double time, Error *err);
void tally_sample(const TallyModel *tally, TallyState *state, const PartsState *parts,
                  const Pose *pose, double time);
void tally_seam(const TallyModel *tally, TallyState *state, const Pose *pose, TallySeam seam);
/* All rows, series, histograms and worst edges so far, solvers' included, in the arena. */
NODISCARD Status tally_report(const TallyModel *tally, const TallyState *state,
                              const PartsState *parts, Arena *arena, Measures *out, Error *err);
