/* Runner: one job from its rig and spec to frames and measures. What the server's worker and
 * `bakehouse bake` have in common.
 *
 * The frame stream (schema/frames.md: header, frames, measures, end) is handed to the host piece by
 * piece, each piece whole records of one frame. A run is one call on one thread; it takes all its
 * memory from `arena`, whose capacity is the job's memory limit. The clock is read here and not in
 * sim: the measures `cost.*` are the runner's.
 */
#pragma once

#include "server/jobs/spec.h"

#include <stdatomic.h>

typedef struct RunProgress {
    double progress;          /* 0..1 of all sub-steps, warm-up and settle included */
    int frame;                /* the last one written, -1 before the first */
    int frame_count;          /* that the whole bake will have */
    double seconds;           /* since the run began */
    double simulated;         /* seconds of simulated time done, warm-up included */
    const Measures *measures; /* so far, NULL where they are not due; valid in the call only */
} RunProgress;

/* A piece of the stream. */
typedef struct RunPiece {
    Bytes bytes;
    int frame;   /* -1: the header; frame_count: measures and end */
    bool is_key; /* a reader may start here */
} RunPiece;

typedef struct RunOptions {
    SimdLevel simd;
    double progress_rate; /* calls a second: 15 */
    double measure_rate;  /* running measures a second: 2; 0 for none */
} RunOptions;

RunOptions run_options_default(void);

/* What the host does for a run; called from the run's thread. `context` is the host's own. */
typedef struct RunHost {
    void *context;
    /* Must take all bytes; a failure ends the run with it. Called for every piece, in order. */
    Status (*append)(void *context, const RunPiece *piece, Error *err);
    /* May be NULL. Once at the start, at most `progress_rate` times a second, once at the end. */
    void (*progress)(void *context, const RunProgress *progress);
    RunOptions options;
    const atomic_bool *stop; /* may be NULL; looked at every sub-step: CANCELLED when set */
} RunHost;

typedef struct RunResult {
    Measures measures; /* cost.* included; is_partial where the run did not finish; in the arena */
    int frames;        /* written */
    int64_t bytes;     /* of the stream */
    char sha256[SHA256_HEX_SIZE]; /* of the stream */
    double seconds;               /* of the clock, building included */
    double simulated;             /* seconds stepped, warm-up and settle included */
    size_t memory;                /* bytes of the arena used */
    bool has_gates;
    bool passed;      /* no gate failed (true without gates) */
    char reason[256]; /* the first gate that failed, "" */
} RunResult;

/* Runs the job. `*out` is filled on failure too (measures so far), save where building failed:
 * then it is empty but valid. */
NODISCARD Status run_job(const Rig *rig, const JobSpec *spec, const RunHost *host, Arena *arena,
                         RunResult *out, Error *err);

/* What a run would be, found by building the bake and not stepping it: for the dry run and before
 * anything is promised. Texts of the warnings are the arena's. */
typedef struct RunPlan {
    int frame_count;
    int64_t tick_count;   /* sub-steps, warm-up and settle included */
    size_t memory;        /* bytes of the arena that a run will use, measures included, about */
    int64_t stream_bytes; /* of the frame stream, about */
    Warnings warnings;
    const char *used; /* JSON array of bake_write_used, in the arena */
} RunPlan;

/* `faults` gets gates on what the job does not measure. */
NODISCARD Status run_plan(const Rig *rig, const JobSpec *spec, Faults *faults, Arena *arena,
                          RunPlan *out, Error *err);
