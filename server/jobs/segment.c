#include "server/jobs/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    RATE = 15,  /* wake-ups of readers a second and job */
    PROMPT = 2, /* pieces that wake at once: the header and the first frame */
};

void segments_init(Segments *segments, Pace *pace)
{
    *segments = (Segments){.pace = pace, .beaten_ns = time_steady_ns()};
    (void)uv_mutex_init(&segments->mutex);
}

void segments_destroy(Segments *segments)
{
    uv_mutex_destroy(&segments->mutex);
}

static Segment *find(Segments *segments, const char *job)
{
    Segment *segment = segments->first;

    while (segment && strcmp(segment->job, job) != 0)
        segment = segment->next;
    return segment;
}

Status segment_acquire(Segments *segments, const char *job, Segment **out, Error *err)
{
    uv_mutex_lock(&segments->mutex);
    Segment *segment = find(segments, job);
    if (!segment) {
        segment = calloc(1, sizeof *segment);
        if (segment) {
            (void)snprintf(segment->job, sizeof segment->job, "%s", job);
            segment->waiting.pace = segments->pace;
            segment->next = segments->first;
            segments->first = segment;
        }
    }
    if (segment)
        segment->references++;
    uv_mutex_unlock(&segments->mutex);
    if (!segment)
        return error_set(err, STATUS_NO_MEMORY, "no room to follow job %s", job);
    *out = segment;
    return STATUS_OK;
}

void segment_release(Segments *segments, Segment *segment)
{
    if (!segment)
        return;
    uv_mutex_lock(&segments->mutex);
    segment->references--;
    if (segment->references == 0) {
        Segment **link = &segments->first;

        while (*link != segment)
            link = &(*link)->next;
        *link = segment->next;
        free(segment);
    }
    uv_mutex_unlock(&segments->mutex);
}

static void wake(Segment *segment, int64_t now_ns)
{
    segment->has_news = false;
    segment->woken_ns = now_ns;
    waiter_wake_all(&segment->waiting);
}

void segment_begin(Segments *segments, Segment *segment, int attempt)
{
    uv_mutex_lock(&segments->mutex);
    segment->attempt = attempt;
    segment->end = 0;
    segment->has_ended = false;
    segment->woken_ns = 0;
    segment->prompt = PROMPT;
    uv_mutex_unlock(&segments->mutex);
}

void segment_publish(Segments *segments, Segment *segment, int64_t end)
{
    int64_t now = time_steady_ns();

    uv_mutex_lock(&segments->mutex);
    segment->end = end;
    segment->has_news = true;
    if (segment->prompt > 0 || now - segment->woken_ns >= 1000000000 / RATE)
        wake(segment, now);
    segment->prompt -= segment->prompt > 0;
    uv_mutex_unlock(&segments->mutex);
}

void segments_end(Segments *segments, const char *job)
{
    uv_mutex_lock(&segments->mutex);
    Segment *segment = find(segments, job);
    if (segment) {
        segment->has_ended = true;
        wake(segment, time_steady_ns());
    }
    uv_mutex_unlock(&segments->mutex);
}

void segments_reopen(Segments *segments, const char *job)
{
    uv_mutex_lock(&segments->mutex);
    Segment *segment = find(segments, job);
    if (segment)
        segment->has_ended = false;
    uv_mutex_unlock(&segments->mutex);
}

void segments_tick(Segments *segments, int64_t now_ns, int64_t heartbeat_ns)
{
    uv_mutex_lock(&segments->mutex);
    bool is_beat = now_ns - segments->beaten_ns >= heartbeat_ns;
    if (is_beat) {
        segments->beat++;
        segments->beaten_ns = now_ns;
    }
    for (Segment *segment = segments->first; segment; segment = segment->next)
        if (is_beat || (segment->has_news && now_ns - segment->woken_ns >= 1000000000 / RATE))
            wake(segment, now_ns);
    uv_mutex_unlock(&segments->mutex);
}

void segments_shut(Segments *segments)
{
    uv_mutex_lock(&segments->mutex);
    segments->is_closing = true;
    for (Segment *segment = segments->first; segment; segment = segment->next)
        waiter_wake_all(&segment->waiting);
    uv_mutex_unlock(&segments->mutex);
}

SegmentLook segment_look(Segments *segments, Segment *segment, SegmentCursor *cursor,
                         Waiter *waiter)
{
    SegmentLook look = SEGMENT_WAITING;

    uv_mutex_lock(&segments->mutex);
    cursor->attempt = segment->attempt;
    cursor->end = segment->end;
    if (segment->attempt && segment->end > cursor->offset)
        look = SEGMENT_DATA;
    else if (segment->has_ended)
        look = SEGMENT_ENDED;
    else if (segments->is_closing)
        look = SEGMENT_CLOSING;
    else if (segments->beat != cursor->beat)
        look = SEGMENT_BEAT;
    else
        waiter_suspend(&segment->waiting, waiter);
    cursor->beat = segments->beat;
    uv_mutex_unlock(&segments->mutex);
    return look;
}
