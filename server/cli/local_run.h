/* Local run: a job run here, its frames in a file without a name. Shared by bake and sheet. One
 * thread; SIGINT and SIGTERM stop it at the next sub-step. */
#pragma once

#include "server/cli/job_input.h"
#include "server/jobs/runner.h"

typedef struct LocalRun {
    const CliJob *job;
    RunResult result;
    Bytes frames; /* the whole stream, mapped */
    Arena arena;
    int descriptor;
} LocalRun;

/* Fills `result` with what was measured even when the run fails. local_run_close in any case. */
NODISCARD Status local_run(const CliJob *job, LocalRun *out, Error *err);
void local_run_close(LocalRun *run);
