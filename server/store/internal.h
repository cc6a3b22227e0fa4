/* What the files of store/ share. Nothing outside includes it.
 *
 * Threads: `writer` and everything under "the store's thread" belong to that thread alone; the
 * inbox and the pool of readers have a mutex each. */
#pragma once

#include "server/store/folders.h"
#include "server/store/query.h"
#include "server/store/waiting.h"

#include <uv.h>

#include <stdatomic.h>

enum { NEWS_JOBS_MAX = 64, DOOMED_MAX = 64 };

/* Files that go once the commit is durable. */
typedef struct Doomed {
    bool is_blob;
    char name[SHA256_HEX_SIZE]; /* SHA-256 of a blob, or id of a job */
    int attempt;
} Doomed;

struct Store {
    Blobs *blobs;
    char *path;
    StoreListener listener;
    uv_thread_t thread;
    bool has_thread;

    /* inbox: guarded by `mutex` */
    uv_mutex_t mutex;
    uv_cond_t arrived;
    Command *first;
    Command *last;
    bool is_urgent; /* a command that is not lazy waits */
    bool is_closing;

    /* the store's thread */
    Connection *writer;
    int wal_pages;
    int64_t committed_ns; /* when the last batch ended */
    Doomed doomed[DOOMED_MAX];
    int doomed_count;
    char news_job[NEWS_JOBS_MAX][STORE_ID_SIZE];
    bool news_ended[NEWS_JOBS_MAX];
    int news_count;
    int64_t news_event;
    bool has_queued;
    bool has_deliveries;

    Waiting waiting;

    /* readers: guarded by `pool_mutex` */
    uv_mutex_t pool_mutex;
    Connection *idle;

    atomic_llong commits;
    atomic_llong commit_ns;
    atomic_llong commands;
    atomic_llong wal_gauge;
    atomic_bool is_failing;
};

/* The writer's loop. */
void store_run_writer(void *store_);

/* Runs one command inside the open transaction; command->err says how it went. */
void command_run(Store *store, Command *command);

/* What is told of ends: the notify of a new job, and its delivery when it has ended. */
Status notify_insert(Store *store, const Job *job, Error *err);
Status delivery_add(Store *store, const char *job_id, JobState state, Error *err);
Status delivery_settle(Store *store, Command *command, Error *err);
Status delivery_again(Store *store, Command *command, Error *err);
Status notify_read(Connection *connection, const char *job_id, Arena *arena, JobNotify *out,
                   Error *err);

/* The row of QUERY_FIND_JOB and its like. */
void store_read_job(Store *store, const Query *query, Arena *arena, Job *out);

/* A reading connection for one call. */
Connection *reader_take(Store *store, Error *err);
void reader_give(Store *store, Connection *connection);

/* Does a row know what lies there? (WALK_BLOB, WALK_ATTEMPT.) Not knowing is never certain when
 * `err` is filled. */
bool walk_is_known(Connection *reader, WalkKind kind, const Walked *walked, Error *err);
