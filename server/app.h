/* App: the one struct that owns the running server. Made by app_open in the order of its fields and
 * taken down in the reverse order; in between every thread reads it, and what changes is atomic or
 * has its own lock. */
#pragma once

#include "server/config.h"
#include "server/http/callers.h"
#include "server/http/problem.h"
#include "server/http/server.h"
#include "server/http/token.h"
#include "server/jobs/hub.h"
#include "server/jobs/loop.h"
#include "server/jobs/notify.h"
#include "server/jobs/plans.h"
#include "server/jobs/rigs.h"
#include "server/jobs/segment.h"
#include "server/store/store.h"

#include <stdatomic.h>

/* How often something took how long. Any thread. */
enum { HISTOGRAM_BUCKETS = 12 };
typedef struct Histogram {
    atomic_llong bucket[HISTOGRAM_BUCKETS + 1]; /* the last: longer than all bounds */
    atomic_llong microseconds;                  /* all together */
} Histogram;

/* Upper bounds of the buckets in seconds. */
extern const double histogram_bound[HISTOGRAM_BUCKETS];
void histogram_add(Histogram *histogram, int64_t nanoseconds);

typedef struct Metrics {
    atomic_llong requests[6];    /* by the first digit of the code; 0: dropped without an answer */
    Histogram answer_seconds[5]; /* by RouteKind: from the request to its answer */
    Histogram wait_seconds;      /* of jobs, from the queue to a slot */
    Histogram run_seconds;       /* of attempts that have ended */
    atomic_llong ended[JOB_STATE_COUNT]; /* attempts by the state they led to */
    atomic_llong crashed;                /* jobs whose process did */
    atomic_llong upload_bytes;
    atomic_llong frames;                      /* written by runs */
    atomic_llong complaints;                  /* of the HTTP library */
    atomic_llong refused[PROBLEM_KIND_COUNT]; /* problem documents that went out */
} Metrics;

typedef struct App App;

struct App {
    const Config *config;
    int64_t started_ns;
    char owner[STORE_ID_SIZE]; /* of the jobs this process runs */
    Blobs *blobs;
    Store *store;
    Pace pace;
    Hub hub;
    Segments segments;
    Rigs *rigs;
    Plans *plans;
    Notify *notify;
    Loop *loop;
    Callers callers;
    Server *server;           /* its threads may run before this is set */
    unsigned connections_max; /* --max-connections, or what the system allows */
    Tokens *tokens;           /* NULL: everybody may do everything */
    bool has_parts;           /* hub and segments have been made */
    atomic_int uploads;       /* in progress */
    atomic_int streams;       /* open */
    atomic_int tasks;         /* of requests that sleep for them */
    atomic_bool is_closing;
    atomic_bool is_paused; /* no job is begun; a setting of the store */
    Metrics metrics;
};

/* Opens the store, puts interrupted jobs back, starts the threads, listens. `config` must outlive
 * the app. */
NODISCARD Status app_open(const Config *config, App **out, Error *err);
/* Returns when the server has been told to stop, drained, and has stopped. */
void app_run(App *app);
/* Accepts NULL. */
void app_close(App *app);
