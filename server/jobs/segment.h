/* Segment: the append-only file of a job's frames while the job waits or runs, and the connections
 * that wait for its end to move.
 *
 * The file is the queue: a reader is an offset in it. The worker writes bytes, then moves `end`, so
 * that a reader never sees half a record, and never waits for a reader. The header and the first
 * frame wake the readers at once, later pieces at most RATE times a second: the loop's timer wakes
 * them for the rest.
 *
 * One mutex guards the table and all fields but `stop`. A Segment is kept by references: one of
 * the worker, one of each reader. */
#pragma once

#include "base/bytes.h"
#include "server/http/waiter.h"
#include "server/store/ids.h"

#include <uv.h>

#include <stdatomic.h>

typedef struct Segment {
    char job[STORE_ID_SIZE];
    struct Segment *next;
    int references;
    int attempt; /* whose file grows; 0 before this process has begun one */
    int64_t end; /* bytes that readers may see */
    bool has_ended;
    bool has_news; /* `end` has moved since the readers were woken */
    int64_t woken_ns;
    int prompt; /* pieces still to come that wake the readers at once */
    WaitList waiting;
} Segment;

typedef struct Segments {
    uv_mutex_t mutex;
    Pace *pace;
    Segment *first;
    unsigned beat; /* heartbeats so far */
    int64_t beaten_ns;
    bool is_closing;
} Segments;

void segments_init(Segments *segments, Pace *pace);
void segments_destroy(Segments *segments);

/* The job's segment, made when there is none. */
NODISCARD Status segment_acquire(Segments *segments, const char *job, Segment **out, Error *err);
void segment_release(Segments *segments, Segment *segment);

/* Worker: an attempt begins with an empty file. */
void segment_begin(Segments *segments, Segment *segment, int attempt);
/* Worker: the bytes are in the file up to `end`. */
void segment_publish(Segments *segments, Segment *segment, int64_t end);
/* The job is done, failed or cancelled: readers come to the end. Nothing when it has no segment. */
void segments_end(Segments *segments, const char *job);
/* The job waits or runs again after it had ended. Nothing when it has no segment. */
void segments_reopen(Segments *segments, const char *job);
/* Loop: wake readers for what has come since, and all of them for each heartbeat. */
void segments_tick(Segments *segments, int64_t now_ns, int64_t heartbeat_ns);
/* Wakes all; nobody sleeps any more. */
void segments_shut(Segments *segments);

typedef enum SegmentLook {
    SEGMENT_DATA,    /* there are bytes behind the cursor */
    SEGMENT_ENDED,   /* there will be none */
    SEGMENT_BEAT,    /* none, but a heartbeat is due */
    SEGMENT_WAITING, /* none: the connection sleeps */
    SEGMENT_CLOSING  /* the server stops */
} SegmentLook;

typedef struct SegmentCursor {
    int64_t offset;
    unsigned beat;
    int attempt; /* out: whose file */
    int64_t end; /* out: of its readable bytes */
} SegmentCursor;

SegmentLook segment_look(Segments *segments, Segment *segment, SegmentCursor *cursor,
                         Waiter *waiter);
