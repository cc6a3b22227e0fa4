/* FrameStream: a job's frames to one connection: the file as it is or filtered, as records or as
 * text, finished or live.
 *
 * It holds no queue: an offset into the file, and at most one piece of what the client is being
 * sent. It belongs to its connection's thread. */
#pragma once

#include "server/app.h"
#include "sim/frames.h"

typedef struct FrameQuery {
    bool is_text;
    bool has_channels;
    bool channel[CHANNEL_KIND_COUNT];
    int from; /* first frame wanted */
    int to;   /* last one, -1 for all */
} FrameQuery;

typedef struct FrameStream FrameStream;

/* Takes over `segment` (NULL when the job has ended). On a thread of the pool: looking for the key
 * before `query->from` reads the file. */
NODISCARD Status frame_stream_open(App *app, const Job *job, const FrameQuery *query,
                                   Segment *segment, FrameStream **out, Error *err);
/* The frame it begins with: the last key at or before the one asked for. */
int frame_stream_first(const FrameStream *stream);
/* For the connection that it is sent on. */
void frame_stream_attach(FrameStream *stream, struct MHD_Connection *connection);

/* For Response. */
ssize_t frame_stream_read(void *stream_, uint64_t position, char *buffer, size_t size);
void frame_stream_close(void *stream_);
