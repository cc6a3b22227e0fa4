/* Submission: a job's JSON with everything it refers to, decoded. What POST /v1/jobs and the worker
 * have in common. Threads of the pool only. */
#pragma once

#include "server/jobs/rigs.h"
#include "server/jobs/spec.h"

struct App;

typedef struct Submission {
    struct App *app; /* NULL: the entries are the caller's */
    JsonDocument document;
    Arena arena;     /* of the spec */
    RigEntry *model; /* what the spec refers to */
    RigEntry *animation;
    JobSpec spec;
    bool is_malformed; /* the failure is that the body is no JSON */
} Submission;

/* Faults go into `faults`. Call submission_close whatever came of it. */
NODISCARD Status submission_open(struct App *app, Bytes body, Faults *faults, Submission *out,
                                 Error *err);
/* As the server is configured. */
JobLimits submission_limits(const struct App *app);
/* The spec, from an open document of `body_size` bytes and the entries. */
NODISCARD Status submission_decode(Submission *submission, size_t body_size,
                                   const char *animation_id, const JobLimits *limits,
                                   Faults *faults, Error *err);
void submission_close(Submission *submission);
