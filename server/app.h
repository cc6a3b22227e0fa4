/* App: the one struct that owns the running server. Made by app_open in the order of its fields and
 * taken down in the reverse order; in between every thread reads it, and what changes is atomic or
 * has its own lock. */
#pragma once

#include "server/config.h"
#include "server/http/server.h"
#include "server/http/token.h"
#include "server/jobs/hub.h"
#include "server/jobs/loop.h"
#include "server/jobs/notify.h"
#include "server/jobs/rigs.h"
#include "server/jobs/segment.h"
#include "server/store/store.h"

#include <stdatomic.h>

typedef struct Metrics {
    atomic_llong requests[6]; /* by the first digit of the code; 0: dropped without an answer */
    atomic_llong upload_bytes;
    atomic_llong frames;        /* written by runs */
    atomic_llong refused_below; /* requests that the library answered or dropped itself */
} Metrics;

typedef struct App App;

struct App {
    const Config *config;
    int64_t started;           /* ms */
    char owner[STORE_ID_SIZE]; /* of the jobs this process runs */
    Blobs *blobs;
    Store *store;
    Hub hub;
    Segments segments;
    Rigs *rigs;
    Notify *notify;
    Loop *loop;
    Server *server;
    Tokens *tokens;     /* NULL: everybody may do everything */
    bool has_parts;     /* hub and segments have been made */
    atomic_int uploads; /* in progress */
    atomic_int streams; /* open */
    atomic_int tasks;   /* of requests that sleep for them */
    atomic_bool is_closing;
    Metrics metrics;
};

/* Opens the store, puts interrupted jobs back, starts the threads, listens. `config` must outlive
 * the app. */
NODISCARD Status app_open(const Config *config, App **out, Error *err);
/* Returns when the server has been told to stop, drained, and has stopped. */
void app_run(App *app);
/* Accepts NULL. */
void app_close(App *app);
