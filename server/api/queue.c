/* The queue: stopping and starting it, and moving all jobs of a tag at once. */
#include "server/api/api.h"
#include "server/log.h"

#include <stdlib.h>
#include <string.h>

/* GET /v1/queue. */
static Status get_queue(App *app, Request *request, Response *response, Error *err)
{
    LoopGauges loop = loop_gauges(app->loop);
    JobCounts counts;

    (void)request;
    (void)err;
    store_count_jobs(app->store, &counts);
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_write_bool(&json, "paused", atomic_load(&app->is_paused));
    json_write_int(&json, "queued", counts.in_state[JOB_QUEUED]);
    json_write_int(&json, "running", counts.in_state[JOB_RUNNING]);
    json_write_int(&json, "slots", loop.slots);
    json_write_int(&json, "slots_lost", loop.slots_lost);
    json_end_object(&json);
    return STATUS_OK;
}

/* Durable first, then in effect: a restart does not start a queue that was stopped. */
static Status set_paused(App *app, Request *request, bool is_paused, Error *err)
{
    Command command = {.kind = COMMAND_SET, .name = "paused", .data = is_paused ? "true" : "false"};

    if (store_execute(app->store, &command, err))
        return err->status;
    atomic_store(&app->is_paused, is_paused);
    log_event(LOG_INFO, is_paused ? "queue.paused" : "queue.resumed", "by=%s",
              log_quote(request->bearer.name).text);
    if (!is_paused)
        loop_wake(app->loop);
    return get_queue(app, request, &request->response, err);
}

/* POST /v1/queue/pause: no job is begun any more; those that run go on. */
static Status post_pause(App *app, Request *request, Response *response, Error *err)
{
    (void)response;
    return set_paused(app, request, true, err);
}

/* POST /v1/queue/resume. */
static Status post_resume(App *app, Request *request, Response *response, Error *err)
{
    (void)response;
    return set_paused(app, request, false, err);
}

/* --- all jobs of a tag --- */

/* At least one tag: nobody moves everything by leaving a word out. */
static Status read_tags(Request *request, Response *response, JobTagRow *out, int *out_count,
                        Error *err)
{
    if (!api_read_tags(request, out, out_count, err) && *out_count == 0)
        error_set(err, STATUS_INVALID, "tag=KEY:VALUE is missing");
    return err->status
               ? api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message)
               : STATUS_OK;
}

/* GET /v1/jobs/counts?tag=: how far they are. */
static Status get_counts(App *app, Request *request, Response *response, Error *err)
{
    JobTagRow tag[JOB_FILTER_TAGS];
    JobCounts counts;
    int count = 0;

    if (read_tags(request, response, tag, &count, err) ||
        store_count_tagged(app->store, tag, count, &counts, err))
        return err->status;
    JsonWriter json = response_json(response);
    int64_t all = 0;
    json_begin_object(&json, NULL);
    for (int state = 0; state < JOB_STATE_COUNT; state++) {
        json_write_int(&json, job_state_name((JobState)state), counts.in_state[state]);
        all += counts.in_state[state];
    }
    json_write_int(&json, "all", all);
    json_write_int(&json, "passed", counts.passed);
    json_write_int(&json, "not_passed", counts.not_passed);
    json_end_object(&json);
    return STATUS_OK;
}

enum { MOVE_PAGE = 500 };

/* One page of jobs, all in one go through the store; how many moved is added to `*moved`. */
static Status move_page(App *app, const JobList *list, CommandKind kind, int64_t *moved, Error *err)
{
    Command *command = calloc((size_t)list->count + 1, sizeof *command);

    if (!command)
        return error_set(err, STATUS_NO_MEMORY, "no room to move %d jobs", list->count);
    for (int i = 0; i < list->count; i++) {
        command[i].kind = kind;
        memcpy(command[i].id, list->job[i].id, strlen(list->job[i].id) + 1);
    }
    for (int i = 0; i < list->count - 1; i++)
        store_submit(app->store, &command[i]);
    // they are answered in order: after the last one all are
    Error last = {0};
    (void)store_execute(app->store, &command[list->count - 1], &last);
    for (int i = 0; i < list->count && !err->status; i++) {
        // one that has ended meanwhile, or is gone, need not be moved
        Status status = command[i].err.status;

        *moved += status == STATUS_OK;
        if (status == STATUS_OK && command[i].was_running)
            loop_cancel_job(app->loop, command[i].id);
        if (status && status != STATUS_CONFLICT && status != STATUS_NOT_FOUND)
            *err = command[i].err;
    }
    free(command);
    return err->status;
}

/* All jobs of the tags in one of the two states. */
static Status move_tagged(App *app, Request *request, CommandKind kind, const JobState state[2],
                          Error *err)
{
    Response *response = &request->response;
    JobTagRow tag[JOB_FILTER_TAGS];
    JobFilter filter = {.tag = tag, .limit = MOVE_PAGE};
    JobList list;
    int64_t moved = 0;

    if (read_tags(request, response, tag, &filter.tag_count, err))
        return err->status;
    size_t mark = arena_mark(&request->arena);
    for (int i = 0; i < 2; i++) {
        filter.state = job_state_name(state[i]);
        filter.before = 0;
        do {
            arena_rewind(&request->arena, mark);
            if (store_list_jobs(app->store, &filter, &request->arena, &list, err) ||
                (list.count && move_page(app, &list, kind, &moved, err)))
                return err->status;
            filter.before = list.count ? list.job[list.count - 1].seq : 0;
        } while (list.count == MOVE_PAGE);
    }
    JsonWriter json = response_json(response);
    response->code = MHD_HTTP_ACCEPTED;
    json_begin_object(&json, NULL);
    json_write_int(&json, "moved", moved);
    json_end_object(&json);
    return STATUS_OK;
}

/* POST /v1/jobs/cancel?tag=: all that wait or run. */
static Status post_cancel(App *app, Request *request, Response *response, Error *err)
{
    // what waits first, so that nothing of it takes the slots that become free
    static const JobState state[2] = {JOB_QUEUED, JOB_RUNNING};

    (void)response;
    return move_tagged(app, request, COMMAND_CANCEL_JOB, state, err);
}

/* POST /v1/jobs/retry?tag=: all that failed or were cancelled. */
static Status post_retry(App *app, Request *request, Response *response, Error *err)
{
    static const JobState state[2] = {JOB_FAILED, JOB_CANCELLED};

    (void)response;
    return move_tagged(app, request, COMMAND_RETRY_JOB, state, err);
}

const Route queue_routes[] = {
    {"GET", "/v1/queue", ROUTE_READ, false, get_queue, ACCESS_READ},
    {"POST", "/v1/queue/pause", ROUTE_TASK, false, post_pause, ACCESS_ADMIN},
    {"POST", "/v1/queue/resume", ROUTE_TASK, false, post_resume, ACCESS_ADMIN},
    {"GET", "/v1/jobs/counts", ROUTE_TASK, false, get_counts, ACCESS_READ},
    {"POST", "/v1/jobs/cancel", ROUTE_LONG_TASK, false, post_cancel, ACCESS_SUBMIT},
    {"POST", "/v1/jobs/retry", ROUTE_LONG_TASK, false, post_retry, ACCESS_SUBMIT},
    {0},
};
