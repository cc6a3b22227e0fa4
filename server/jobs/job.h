/* Job: the states of a job and the moves between them.
 *
 *     queued -> running (claim), cancelled (cancel)
 *     running -> done, failed, cancelled (the attempt ends), queued (its runner is gone, or drain)
 *     failed, cancelled -> queued (retry)
 *
 * A job answered from the store is done at birth. Everything else is a conflict. Plain values. */
#pragma once

#include <stdbool.h>

typedef enum JobState {
    JOB_QUEUED,
    JOB_RUNNING,
    JOB_DONE,
    JOB_FAILED,
    JOB_CANCELLED,
    JOB_STATE_COUNT
} JobState;

enum {
    JOB_CRASHES_MAX = 3 /* attempts that may end with the server's death before the job fails */
};

/* "queued", "running" ... */
const char *job_state_name(JobState state);
/* JOB_STATE_COUNT when unknown. */
JobState job_state_find(const char *name);
/* Has the job ended: done, failed or cancelled? */
bool job_state_is_final(JobState state);
