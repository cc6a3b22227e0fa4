/* Report: a run shown while it goes on and after it has ended. */
#pragma once

#include "server/cli/local_run.h"

/* A bar on standard error where that is a terminal, nothing elsewhere. `label` stands before it. */
void report_progress(const RunProgress *progress, const char *label);
void report_clear(void);

/* Warnings of the model and the bake, on standard error. */
void report_warnings(const LocalRun *run);

/* The measures as a table for people. */
NODISCARD Status report_table(const LocalRun *run, Error *err);
/* The result as one line of JSON for machines. */
NODISCARD Status report_json(const LocalRun *run, const CliArguments *arguments, Error *err);
/* --measures OUT.json (or .csv). */
NODISCARD Status report_measures(const RunResult *result, const char *path, Error *err);
