#include "server/api/api.h"
#include "server/jobs/notify_url.h"
#include "server/jobs/spec.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* queue_routes before job_routes: /v1/jobs/counts is no job. */
const Route *const route_tables[] = {
    model_routes,   upload_routes, queue_routes,   job_routes,  frame_routes, event_routes,
    measure_routes, export_routes, service_routes, page_routes, NULL,
};

Status api_refuse(Response *response, ProblemKind kind, Error *err, Status status,
                  const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    response->problem = kind;
    return error_set(err, status, "%s", message);
}

Status api_admit_stream(const App *app, Response *response, Error *err)
{
    int limit = (int)app->connections_max;
    int streams = atomic_load(&app->streams);
    int open = atomic_load(&app->callers.count);

    // others may hang on to theirs too: half of what is kept is for those that are quick
    if (streams < limit - CONNECTIONS_KEPT && open <= limit - CONNECTIONS_KEPT / 2)
        return STATUS_OK;
    return api_refuse(response, PROBLEM_UNAVAILABLE, err, STATUS_LIMIT,
                      "%d streams and %d connections are open; of the %d there may be, %d are kept "
                      "for requests that are no streams",
                      streams, open, limit, CONNECTIONS_KEPT);
}

Status api_find_job(App *app, Request *request, Job *out, Error *err)
{
    if (!id_is_valid(request->id, "j_"))
        return error_set(err, STATUS_NOT_FOUND, "there is no job \"%s\"", request->id);
    return store_find_job(app->store, request->id, &request->arena, out, err);
}

Status api_read_tags(Request *request, JobTagRow *out, int *out_count, Error *err)
{
    const char *text[JOB_FILTER_TAGS];
    int count = request_query_all(request, "tag", text, JOB_FILTER_TAGS);

    if (count > JOB_FILTER_TAGS)
        return error_set(err, STATUS_INVALID, "tag can be given at most %d times", JOB_FILTER_TAGS);
    for (int i = 0; i < count; i++) {
        const char *colon = strchr(text[i], ':');

        if (!colon || colon == text[i] || colon - text[i] > JOB_NAME_MAX ||
            strlen(colon + 1) > JOB_NAME_MAX)
            return error_set(err, STATUS_INVALID,
                             "tag must be KEY:VALUE, each of at most %d bytes, KEY of one at least",
                             JOB_NAME_MAX);
        out[i].key = arena_text(&request->arena, text[i], (size_t)(colon - text[i]));
        out[i].value = colon + 1;
        if (!out[i].key)
            return error_set(err, STATUS_NO_MEMORY, "no room for the tags");
    }
    *out_count = count;
    return STATUS_OK;
}

Status api_read_page(Request *request, int limit_max, int *out_limit, int64_t *out_before,
                     Error *err)
{
    int64_t limit = 0;
    const char *cursor = request_query(request, "cursor");

    *out_before = 0;
    if (request_query_int(request, "limit", limit_max < 100 ? limit_max : 100, 1, limit_max, &limit,
                          err))
        return err->status;
    if (cursor && !request_read_serial(cursor, out_before))
        return error_set(err, STATUS_INVALID,
                         "cursor must be what \"next\" of the page before says");
    *out_limit = (int)limit;
    return STATUS_OK;
}

void api_write_next(JsonWriter *json, int count, int limit, int64_t last_seq)
{
    char cursor[32];

    if (count < limit) {
        json_write_null(json, "next");
        return;
    }
    (void)snprintf(cursor, sizeof cursor, "%" PRId64, last_seq);
    json_write_text(json, "next", cursor);
}

void api_write_time(JsonWriter *json, const char *key, int64_t ms)
{
    char text[TIME_TEXT_SIZE];

    if (!ms) {
        json_write_null(json, key);
        return;
    }
    time_format(ms, text);
    json_write_text(json, key, text);
}

static void write_outcome(JsonWriter *json, const Job *job)
{
    if (job->passed < 0)
        json_write_null(json, "passed");
    else
        json_write_bool(json, "passed", job->passed != 0);
    json_write_text(json, "reason", job->reason[0] ? job->reason : NULL);
    if (!job->error[0]) {
        json_write_null(json, "error");
        return;
    }
    json_begin_object(json, "error");
    json_write_text(json, "status", job->error_status);
    json_write_text(json, "detail", job->error);
    json_end_object(json);
}

static void write_progress(JsonWriter *json, const Job *job)
{
    if (job->position > 0)
        json_write_int(json, "position", job->position);
    else
        json_write_null(json, "position");
    json_write_double(json, "progress", job->progress);
    json_write_int(json, "frames", job->frames);
    json_write_int(json, "frame_count", job->frame_count);
    api_write_time(json, "created", job->created);
    api_write_time(json, "started", job->started);
    api_write_time(json, "finished", job->finished);
    if (job->state == JOB_RUNNING)
        api_write_time(json, "heartbeat", job->heartbeat);
    if (job_state_is_final(job->state)) {
        json_write_double(json, "seconds", job->seconds);
        json_write_double(json, "simulated", job->simulated);
    } else {
        json_write_null(json, "seconds");
        json_write_null(json, "simulated");
    }
}

static void write_notify(JsonWriter *json, const JobNotify *notify)
{
    NotifyUrl url;

    if (!notify->url) {
        json_write_null(json, "notify");
        return;
    }
    (void)notify_url_parse(notify->url, &url);
    json_begin_object(json, "notify");
    json_write_text(json, "url", url.shown);
    json_write_text(json, "state", notify->state ? delivery_state_name(notify->state) : NULL);
    json_write_int(json, "attempts", notify->attempts);
    if (notify->last_code)
        json_write_int(json, "last_code", notify->last_code);
    else
        json_write_null(json, "last_code");
    json_write_text(json, "last_error",
                    notify->state && notify->last_error[0] ? notify->last_error : NULL);
    api_write_time(json, "next", notify->next);
    json_end_object(json);
}

void api_write_end(const char *id, const Job *job, Text *out)
{
    JsonWriter json = json_writer(out, 0);
    char type[32];

    (void)snprintf(type, sizeof type, "job.%s", job_state_name(job->state));
    json_begin_object(&json, NULL);
    json_write_text(&json, "id", id);
    json_write_text(&json, "type", type);
    api_write_time(&json, "time", job->finished);
    api_write_job(&json, "job", job, JOB_BRIEF);
    json_end_object(&json);
}

void api_write_job(JsonWriter *json, const char *key, const Job *job, JobForm form)
{
    json_begin_object(json, key);
    json_write_text(json, "id", job->id);
    json_write_text(json, "state", job_state_name(job->state));
    json_write_bool(json, "cancelling", job->is_cancelling);
    json_write_text(json, "name", job->name);
    json_write_text(json, "model", job->model);
    json_write_text(json, "animation", job->animation[0] ? job->animation : NULL);
    json_write_text(json, "owner", job->owner[0] ? job->owner : NULL);
    json_write_int(json, "priority", job->priority);
    json_write_raw(json, "tags", job->tags);
    json_write_bool(json, "cached", job->is_cached);
    json_write_bool(json, "keep", job->is_kept);
    json_write_int(json, "attempt", job->attempt);
    write_progress(json, job);
    write_outcome(json, job);
    json_write_text(json, "key", job->key);
    if (job->result_size > 0) {
        json_write_int(json, "bytes", job->result_size);
        json_write_text(json, "sha256", job->result_sha256);
    }
    if (form == JOB_LONG && job->canonical[0])
        json_write_raw(json, "job", job->canonical);
    if (form == JOB_LONG && job->used[0])
        json_write_raw(json, "used", job->used);
    if (form == JOB_LONG)
        write_notify(json, &job->notify);
    json_write_raw(json, "measures", job->measured[0] ? job->measured : "[]");
    json_end_object(json);
}
