/* Frames: a job's stream. */
#include "server/api/api.h"
#include "server/http/frame_stream.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char media_type[] = "application/vnd.bakehouse.frames";

/* "joints,positions". */
static Status read_channels(const char *text, FrameQuery *out, Error *err)
{
    out->has_channels = true;
    for (;;) {
        char name[32];
        size_t length = strcspn(text, ",");
        FrameChannelKind kind = CHANNEL_KIND_COUNT;

        if (length < sizeof name) {
            memcpy(name, text, length);
            name[length] = '\0';
            kind = frame_channel_find(name);
        }
        if (kind == CHANNEL_KIND_COUNT)
            return error_set(err, STATUS_INVALID, "channels: there is none called \"%.*s\"",
                             (int)(length < 40 ? length : 40), text);
        out->channel[kind] = true;
        if (!text[length])
            return STATUS_OK;
        text += length + 1;
    }
}

static Status read_query(Request *request, FrameQuery *out, Error *err)
{
    const char *channels = request_query(request, "channels");
    int64_t from = 0;
    int64_t to = 0;

    *out = (FrameQuery){.is_text = request_accepts(request, "application/x-ndjson")};
    if (request_query_int(request, "from", 0, 0, INT32_MAX, &from, err) ||
        request_query_int(request, "to", -1, 0, INT32_MAX, &to, err))
        return err->status;
    if (to >= 0 && to < from)
        return error_set(err, STATUS_INVALID, "to must not be less than from");
    out->from = (int)from;
    out->to = (int)to;
    return channels ? read_channels(channels, out, err) : STATUS_OK;
}

/* The file as it is, once nothing is added to it any more. */
static Status answer_file(App *app, Request *request, const Job *job, Error *err)
{
    Response *response = &request->response;
    int file = -1;
    int64_t size = 0;

    if (result_open(app->blobs, job->result_job, job->result_attempt, "frames", &file, &size, err))
        return err->status == STATUS_NOT_FOUND
                   ? error_set(err, STATUS_CONFLICT, "job %s never had frames", job->id)
                   : err->status;
    if (size > job->result_size)
        size = job->result_size;
    const char *etag =
        job->result_sha256[0] ? arena_format(&request->arena, "\"%s\"", job->result_sha256) : NULL;
    response_file(response, media_type, file, size, etag);
    response_header(response, "Cache-Control",
                    job->is_complete ? "private, max-age=31536000, immutable" : "no-cache");
    return STATUS_OK;
}

static Status answer_stream(App *app, Request *request, const Job *job, const FrameQuery *query,
                            Segment *segment, Error *err)
{
    Response *response = &request->response;
    FrameStream *stream = NULL;

    if (frame_stream_open(app, job, query, segment, &stream, err))
        return err->status;
    frame_stream_attach(stream, request->connection);
    response->kind = RESPONSE_STREAM;
    response->type = query->is_text ? "application/x-ndjson" : media_type;
    response->read = frame_stream_read;
    response->close = frame_stream_close;
    response->source = stream;
    const char *first = arena_format(&request->arena, "%d", frame_stream_first(stream));
    response_header(response, "Bakehouse-First-Frame", first ? first : "0");
    response_header(response, "Cache-Control", "no-store");
    response_header(response, "X-Accel-Buffering", "no");
    return STATUS_OK;
}

/* GET /v1/jobs/{id}/frames?from=&to=&channels=: what there is, then, while the job waits or runs,
 * what comes. Text with Accept: application/x-ndjson. A job that has ended has Range and ETag for
 * the whole file. */
static Status get_frames(App *app, Request *request, Response *response, Error *err)
{
    FrameQuery query;
    Segment *segment = NULL;
    Job job;

    if (read_query(request, &query, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    // first the segment, then the state: an end that comes between the two is not missed
    if (api_find_job(app, request, &job, err) ||
        segment_acquire(&app->segments, job.id, &segment, err))
        return err->status;
    if (api_find_job(app, request, &job, err)) {
        segment_release(&app->segments, segment);
        return err->status;
    }
    bool is_over = job_state_is_final(job.state);
    if (is_over) {
        segment_release(&app->segments, segment);
        segment = NULL;
    }
    bool is_whole = !query.is_text && !query.has_channels && query.from == 0 && query.to < 0;
    if (is_over && (is_whole || !job.result_attempt))
        return answer_file(app, request, &job, err);
    if (api_admit_stream(app, response, err)) {
        segment_release(&app->segments, segment);
        return err->status;
    }
    return answer_stream(app, request, &job, &query, segment, err);
}

const Route frame_routes[] = {
    {"GET", "/v1/jobs/{id}/frames", ROUTE_TASK, false, get_frames, ACCESS_READ},
    {0},
};
