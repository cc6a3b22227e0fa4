/* Outputs: a finished bake written as the files of -o, by their extension. One thread. */
#pragma once

#include "server/cli/job_input.h"
#include "server/jobs/runner.h"

/* A bake that has run: where its frames are. */
typedef struct CliBake {
    const CliJob *job;
    const RunResult *result;
    Bytes frames; /* the whole stream */
} CliBake;

/* Is the path's extension one that can be written? The list of them: "frames, ndjson, ...". */
bool output_is_known(const char *path);
const char *output_list(void);

/* What the outputs of a command line ask of the job. */
CliJobWishes output_wishes(const CliArguments *arguments);

NODISCARD Status output_write(const CliBake *bake, const char *path, Error *err);
