/* EventStream: server-sent events to one connection. It holds an event's id and no queue: what
 * comes next is read from the store. It belongs to its connection's thread. */
#pragma once

#include "server/app.h"

enum { EVENT_TOPICS_MAX = 16 };

/* What a stream is about. */
typedef struct EventTopics {
    char only_job[STORE_ID_SIZE]; /* the stream of one job; it ends with the job. "" for others */
    bool has_ended;               /* that job is over: what there is, then the end */
    bool has_jobs;                /* every job's states and progress */
    bool has_measures;            /* every job's measures */
    bool has_server;              /* assets, deletions */
    int job_count;
    char job[EVENT_TOPICS_MAX][STORE_ID_SIZE]; /* these jobs' states, progress and measures */
} EventTopics;

typedef struct EventStream EventStream;

/* Events behind `after`. */
NODISCARD Status event_stream_open(App *app, const EventTopics *topics, int64_t after,
                                   struct MHD_Connection *connection, EventStream **out,
                                   Error *err);

/* For Response. */
ssize_t event_stream_read(void *stream_, uint64_t position, char *buffer, size_t size);
void event_stream_close(void *stream_);
