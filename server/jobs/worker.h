/* Worker: one run of one job, on one thread of the pool, in its own arena.
 *
 * The loop makes a Run, the store fills in which job it got, the pool runs it, the loop takes it
 * back. While it runs, other threads touch only `stop` and `moved_ns`. */
#pragma once

#include "server/jobs/segment.h"
#include "server/store/store.h"

#include <stdatomic.h>

struct App;

typedef enum RunStop {
    RUN_GOES_ON,
    RUN_CANCELLED, /* somebody asked for it */
    RUN_STALLED,   /* it made no progress */
    RUN_DRAINED    /* the server stops: the job goes back into the queue */
} RunStop;

enum { RUN_NOTE_SIZE = 512 };

typedef struct Run {
    struct App *app;
    char job[STORE_ID_SIZE];
    int attempt;
    atomic_bool stop;       /* looked at every sub-step */
    atomic_bool is_hurried; /* the server stops, and waits for nothing but this */
    _Atomic RunStop reason; /* why; set before `stop` */
    atomic_llong moved_ns;  /* when it last made progress, on the steady clock */
    atomic_int frames;      /* written */

    /* the loop's own */
    bool is_lost; /* given up: the job has failed, the thread has not come back */
    int64_t stopped_ns;
    uv_work_t work;
    Command command; /* the claim */
    struct Run *next;

    /* the worker's own */
    Segment *segment;
    int file;
    int frame_count;
    const char *key;  /* of what is really baked; "" before it is known */
    bool has_crashed; /* its process has */
    int64_t written;
    int64_t synced_ns;
    int64_t noted_ns;
    Command progress; /* in the store's hands while `is_noting` */
    Command measures;
    atomic_bool is_noting;
    atomic_bool is_measuring;
    char note[RUN_NOTE_SIZE];
    Text measured; /* JSON array of the measures so far */
    Text measure_event;
    Error measured_err;
} Run;

/* Runs the job to its end, and tells the store how it ended. */
void worker_run(Run *run);
