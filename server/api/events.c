/* Events: server-sent, of one job or of topics. */
#include "server/api/api.h"
#include "server/http/event_stream.h"

#include <stdio.h>
#include <string.h>

/* Last-Event-ID, or `otherwise`. An id that is yet to come is of data that was put back from a
 * backup since: the client gets what happens from now on. */
static Status read_last_event(const Request *request, int64_t otherwise, int64_t *out, Error *err)
{
    const char *text = request_header(request, "Last-Event-ID");

    *out = otherwise;
    if (text && !request_read_serial(text, out))
        return error_set(err, STATUS_INVALID, "Last-Event-ID must be the id of an event");
    if (text && *out > hub_last_event(&request->app->hub))
        *out = hub_last_event(&request->app->hub);
    return STATUS_OK;
}

static Status answer_stream(App *app, Request *request, const EventTopics *topics, int64_t after,
                            Error *err)
{
    Response *response = &request->response;
    EventStream *stream = NULL;

    if (api_admit_stream(app, response, err) ||
        event_stream_open(app, topics, after, request->connection, &stream, err))
        return err->status;
    response->kind = RESPONSE_STREAM;
    response->type = "text/event-stream";
    response->read = event_stream_read;
    response->close = event_stream_close;
    response->source = stream;
    response_header(response, "Cache-Control", "no-store");
    response_header(response, "X-Accel-Buffering", "no");
    return STATUS_OK;
}

/* GET /v1/jobs/{id}/events: all of the job's events from its first (or behind Last-Event-ID) to its
 * end. */
static Status get_job_events(App *app, Request *request, Response *response, Error *err)
{
    EventTopics topics = {0};
    int64_t after = 0;
    Job job;

    if (api_find_job(app, request, &job, err))
        return err->status;
    if (read_last_event(request, 0, &after, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    memcpy(topics.only_job, request->id, sizeof request->id);
    topics.has_ended = job_state_is_final(job.state);
    return answer_stream(app, request, &topics, after, err);
}

static Status read_topic(const char *text, size_t length, EventTopics *out, Error *err)
{
    if (length == 4 && memcmp(text, "jobs", 4) == 0) {
        out->has_jobs = true;
    } else if (length == 8 && memcmp(text, "measures", 8) == 0) {
        out->has_measures = true;
    } else if (length == 6 && memcmp(text, "server", 6) == 0) {
        out->has_server = true;
    } else if (length > 4 && length - 4 < STORE_ID_SIZE && memcmp(text, "job:", 4) == 0) {
        if (out->job_count == EVENT_TOPICS_MAX)
            return error_set(err, STATUS_INVALID, "topics can name at most %d jobs",
                             EVENT_TOPICS_MAX);
        memcpy(out->job[out->job_count], text + 4, length - 4);
        out->job[out->job_count++][length - 4] = '\0';
    } else {
        return error_set(err, STATUS_INVALID,
                         "topics must be jobs, measures, server or job:ID, separated by commas");
    }
    return STATUS_OK;
}

/* GET /v1/events?topics=: what happens from now on (or behind Last-Event-ID). */
static Status get_events(App *app, Request *request, Response *response, Error *err)
{
    const char *text = request_query(request, "topics");
    EventTopics topics = {0};
    int64_t after = 0;

    if (!text)
        text = "jobs,measures,server";
    while (*text && !err->status) {
        size_t length = strcspn(text, ",");

        if (!read_topic(text, length, &topics, err))
            text += length + (text[length] == ',');
    }
    if (err->status || read_last_event(request, hub_last_event(&app->hub), &after, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    return answer_stream(app, request, &topics, after, err);
}

const Route event_routes[] = {
    {"GET", "/v1/jobs/{id}/events", ROUTE_READ, false, get_job_events, ACCESS_READ},
    {"GET", "/v1/events", ROUTE_READ, false, get_events, ACCESS_READ},
    {0},
};
