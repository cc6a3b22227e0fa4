#include "server/http/event_stream.h"

#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 64, PIECE_MAX = 128 << 20, ARENA = 128 << 20 };

struct EventStream {
    App *app;
    EventTopics topics;
    Waiter waiter;
    int64_t after; /* id of the last event that was looked at */
    int64_t seen;  /* the hub's, when it was asked last */
    unsigned beat;
    bool may_be_more; /* the store was not read to its end */
    bool is_done;
    Arena arena;
    Text piece;
    size_t sent;
    Error err;
};

Status event_stream_open(App *app, const EventTopics *topics, int64_t after,
                         struct MHD_Connection *connection, EventStream **out, Error *err)
{
    EventStream *stream = calloc(1, sizeof *stream);

    if (!stream)
        return error_set(err, STATUS_NO_MEMORY, "no room for a stream");
    *stream = (EventStream){.app = app,
                            .topics = *topics,
                            .after = after,
                            .beat = hub_beat(&app->hub),
                            .may_be_more = true,
                            .waiter = {.connection = connection, .deadline_ns = INT64_MAX}};
    (void)snprintf(stream->waiter.job, sizeof stream->waiter.job, "%s", topics->only_job);
    if (arena_create(&stream->arena, ARENA, err)) {
        free(stream);
        return err->status;
    }
    atomic_fetch_add(&app->streams, 1);
    stream->piece = text_open(PIECE_MAX, &stream->err);
    text_add(&stream->piece, "retry: 2000\n\n");
    *out = stream;
    return STATUS_OK;
}

void event_stream_close(void *stream_)
{
    EventStream *stream = stream_;

    (void)waiter_arrived(&stream->waiter);
    text_close(&stream->piece);
    arena_destroy(&stream->arena);
    atomic_fetch_sub(&stream->app->streams, 1);
    free(stream);
}

static bool is_wanted(const EventTopics *topics, const Event *event)
{
    if (topics->only_job[0])
        return true;
    for (int i = 0; i < topics->job_count; i++)
        if (strcmp(topics->job[i], event->job) == 0)
            return true;
    if (!event->job[0])
        return topics->has_server;
    return strcmp(event->kind, "measure") == 0 ? topics->has_measures : topics->has_jobs;
}

/* Does the event say that the job has ended? */
static bool is_end(const Event *event)
{
    return strcmp(event->kind, "state") == 0 && (strstr(event->data, "\"state\":\"done\"") ||
                                                 strstr(event->data, "\"state\":\"failed\"") ||
                                                 strstr(event->data, "\"state\":\"cancelled\""));
}

/* A page of events into `piece`. A job's own stream ends when the last event is its end. */
static void read_page(EventStream *stream)
{
    EventList list;
    EventFilter filter = {.after = stream->after, .limit = PAGE};
    bool has_ended = stream->topics.has_ended;

    if (stream->topics.only_job[0])
        filter.job = stream->topics.only_job;
    arena_rewind(&stream->arena, 0);
    if (store_list_events(stream->app->store, &filter, &stream->arena, &list, &stream->err))
        return;
    for (int i = 0; i < list.count; i++) {
        const Event *event = &list.event[i];

        stream->after = event->id;
        if (is_wanted(&stream->topics, event))
            text_format(&stream->piece, "id: %" PRId64 "\nevent: %s\ndata: %s\n\n", event->id,
                        event->kind, event->data);
        has_ended = is_end(event) || stream->topics.has_ended;
    }
    stream->may_be_more = list.count == PAGE;
    stream->is_done = stream->topics.only_job[0] && has_ended && !stream->may_be_more;
}

static ssize_t send_piece(EventStream *stream, char *buffer, size_t size)
{
    size_t left = text_length(&stream->piece) - stream->sent;
    size_t part = left < size ? left : size;

    memcpy(buffer, text_string(&stream->piece) + stream->sent, part);
    stream->sent += part;
    if (stream->sent == text_length(&stream->piece)) {
        text_close(&stream->piece); // of streams that wait, buffers would add up
        stream->piece = text_open(PIECE_MAX, &stream->err);
        stream->sent = 0;
    }
    return (ssize_t)part;
}

ssize_t event_stream_read(void *stream_, uint64_t position, char *buffer, size_t size)
{
    EventStream *stream = stream_;

    (void)position;
    (void)waiter_arrived(&stream->waiter);
    for (;;) {
        if (stream->err.status) {
            log_event(LOG_WARN, "events.failed", "message=%s", log_quote(stream->err.message).text);
            return MHD_CONTENT_READER_END_WITH_ERROR;
        }
        if (text_length(&stream->piece) > stream->sent)
            return send_piece(stream, buffer, size);
        if (stream->is_done)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (stream->may_be_more) {
            read_page(stream);
            continue;
        }
        switch (hub_wait(&stream->app->hub, &stream->waiter, &stream->seen, &stream->beat)) {
        case HUB_NEWS:
            stream->may_be_more = true;
            break;
        case HUB_BEAT:
            text_add(&stream->piece, ": heartbeat\n\n");
            break;
        case HUB_WAITING:
            return 0;
        case HUB_LATE:
        case HUB_CLOSING:
            return MHD_CONTENT_READER_END_OF_STREAM;
        }
    }
}
