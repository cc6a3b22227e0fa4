/* Job input: the job and the files of a command line, read and decoded. Shared by bake, check and
 * sheet. Prints every fault itself. */
#pragma once

#include "server/cli/cli.h"

enum { CLI_ASSETS_MAX = 16 };

typedef struct CliJob {
    const char *path; /* the job file, or the model's where there is none */
    CliAsset model;
    int asset_count;
    CliAsset asset[CLI_ASSETS_MAX];
    JobAsset named[CLI_ASSETS_MAX];
    JsonDocument document;
    Arena arena;
    JobSpec spec;
} CliJob;

/* The options that say what is baked, for the `more` of a command. */
extern const CliOption cli_job_options[];

/* What a command wants of a job that does not say it itself. */
typedef struct CliJobWishes {
    bool is_exact;           /* positions in 32 bits */
    bool has_positions;      /* the channel positions beside the others */
    bool has_weights;        /* the channel weights beside the others */
    bool is_motion_optional; /* no motion: head_turn; else it must be named without a job file */
} CliJobWishes;

/* True when the job is ready; else everything is closed, messages are printed, and `out_exit` says
 * why. */
bool cli_open_job(const CliCommand *command, const CliArguments *arguments,
                  const CliJobWishes *wishes, CliJob *out, int *out_exit);
void cli_close_job(CliJob *job);
