/* Job process: one job in a process of its own (serve --isolate), so that a crash, or memory that
 * runs out, is that job's alone.
 *
 * The server starts this binary again as `bakehouse worker` with a socket and the job's files, and
 * stays the only one that writes: what the process finds out it tells (wire.h). It needs no store
 * and no folder, and it ends when the server does.
 */
#pragma once

#include "server/jobs/wire.h"

/* What the process has open, beside the standard streams. */
enum { JOB_PROCESS_SOCKET = 3, JOB_PROCESS_MODEL = 4, JOB_PROCESS_ANIMATION = 5 };

/* --- the process --- */

/* All of `bakehouse worker`; returns its exit code. */
int job_process_main(void);

/* --- the server: threads of the pool --- */

typedef struct JobOrder {
    WireOrder wire;
    int model, animation; /* open files; animation -1 without */
    int64_t grace_ns;     /* a process that was told to stop gets to end */
} JobOrder;

typedef struct JobProcessHost {
    RunHost run; /* as run_job takes it; its options are the process's own */
    /* Before the first piece. The key is valid in the call only. */
    void (*started)(void *context, int frame_count, const char *key);
} JobProcessHost;

/* Runs the job in a process, and comes back when that has ended, whatever way. `*out` is filled on
 * failure too, with texts and measures in the arena. `*out_crashed`: the process ended by itself
 * before it had said how the job ended. */
NODISCARD Status job_process_run(const JobOrder *order, const JobProcessHost *host, Arena *arena,
                                 WireEnd *out, bool *out_crashed, Error *err);
