#include "server/jobs/job.h"

#include <string.h>

static const char *const names[JOB_STATE_COUNT] = {
    [JOB_QUEUED] = "queued", [JOB_RUNNING] = "running",     [JOB_DONE] = "done",
    [JOB_FAILED] = "failed", [JOB_CANCELLED] = "cancelled",
};

const char *job_state_name(JobState state)
{
    return names[state];
}

JobState job_state_find(const char *name)
{
    int state = 0;

    while (state < JOB_STATE_COUNT && strcmp(names[state], name) != 0)
        state++;
    return (JobState)state;
}

bool job_state_is_final(JobState state)
{
    return state == JOB_DONE || state == JOB_FAILED || state == JOB_CANCELLED;
}
