/* Recovery: what a server does at its start about jobs that were running when the last one died. */
#pragma once

#include "base/error.h"

struct App;

/* Cuts the frame file of each interrupted attempt back to its last good record, puts the job back
 * into the queue (or fails it when that has happened too often), and removes files that a crash has
 * left without a row. The store must be open, the scheduler not yet. */
NODISCARD Status recover_jobs(struct App *app, Error *err);
