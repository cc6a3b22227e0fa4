/* Outputs: a finished bake written as the files of -o, by their extension. One thread. */
#pragma once

#include "server/cli/local_run.h"
#include "sim/exports.h"
#include "sim/picture.h"

/* Is it "-": NDJSON on standard output? */
bool output_is_standard(const char *path);

/* Is the path's extension one that can be written? The list of them: "frames, ndjson, ...". */
bool output_is_known(const char *path);
const char *output_list(void);

/* What the outputs of a command line ask of the job. */
CliJobWishes output_wishes(const CliArguments *arguments);

/* --reduce and --target. */
NODISCARD Status output_options(const CliArguments *arguments, ExportOptions *out, Error *err);

/* Can the job give all that is to be written? */
NODISCARD Status output_check(const CliArguments *arguments, const CliJob *job, Error *err);

NODISCARD Status output_write(const LocalRun *run, const ExportOptions *options, const char *path,
                              Error *err);

/* A sheet of any frames of a rig. */
NODISCARD Status output_write_sheet(const Rig *rig, Bytes frames, const PictureOptions *options,
                                    const char *path, Error *err);
