/* The store's thread: gathers commands, runs them in one transaction, answers after the commit. */
#include "server/store/internal.h"

#include <stdio.h>
#include <string.h>

enum {
    BATCH_MAX = 1000,
    LAZY_MS = 100,          /* lazy commands wait at most this long for company */
    IDLE_MS = 2000,         /* without work: checkpoint and empty the log */
    CHECKPOINT_PAGES = 1000 /* of the log, after which it is checkpointed without waiting */
};

/* --- the inbox --- */

void store_submit(Store *store, Command *command)
{
    command->next = NULL;
    command->err = (Error){0};
    uv_mutex_lock(&store->mutex);
    if (store->last)
        store->last->next = command;
    else
        store->first = command;
    store->last = command;
    store->is_urgent = store->is_urgent || !command->is_lazy;
    uv_cond_signal(&store->arrived);
    uv_mutex_unlock(&store->mutex);
}

/* Where a caller of store_execute waits. */
typedef struct Rendezvous {
    uv_mutex_t mutex;
    uv_cond_t finished;
    bool is_done;
} Rendezvous;

static void wake_caller(Command *command)
{
    Rendezvous *meeting = command->context;

    uv_mutex_lock(&meeting->mutex);
    meeting->is_done = true;
    uv_cond_signal(&meeting->finished);
    uv_mutex_unlock(&meeting->mutex);
}

Status store_execute(Store *store, Command *command, Error *err)
{
    Rendezvous meeting = {.is_done = false};

    (void)uv_mutex_init(&meeting.mutex);
    (void)uv_cond_init(&meeting.finished);
    command->done = wake_caller;
    command->context = &meeting;
    store_submit(store, command);
    uv_mutex_lock(&meeting.mutex);
    while (!meeting.is_done)
        uv_cond_wait(&meeting.finished, &meeting.mutex);
    uv_mutex_unlock(&meeting.mutex);
    uv_cond_destroy(&meeting.finished);
    uv_mutex_destroy(&meeting.mutex);
    if (command->err.status)
        *err = command->err;
    return command->err.status;
}

/* Up to BATCH_MAX commands; NULL when none came within IDLE_MS, or at the end. */
static Command *take_batch(Store *store, bool *out_closing)
{
    uv_mutex_lock(&store->mutex);
    if (!store->first && !store->is_closing)
        (void)uv_cond_timedwait(&store->arrived, &store->mutex, (uint64_t)IDLE_MS * 1000000u);
    // lazy ones alone wait until the last commit is LAZY_MS old
    int64_t due = store->committed_ns + (int64_t)LAZY_MS * 1000000;
    for (int64_t left = due - time_steady_ns();
         left > 0 && store->first && !store->is_urgent && !store->is_closing;
         left = due - time_steady_ns())
        (void)uv_cond_timedwait(&store->arrived, &store->mutex, (uint64_t)left);
    Command *first = store->first;
    Command *end = first;
    for (int i = 1; end && end->next && i < BATCH_MAX; i++)
        end = end->next;
    store->first = end ? end->next : NULL;
    if (!store->first) {
        store->last = NULL;
        store->is_urgent = false;
    }
    if (end)
        end->next = NULL;
    *out_closing = store->is_closing && !first;
    uv_mutex_unlock(&store->mutex);
    return first;
}

/* --- one batch --- */

static Status run_plain(Store *store, QueryKind kind, Error *err)
{
    Query query = query_begin(store->writer, kind);

    return query_run(&query, NULL, err);
}

/* What a failed command did is taken back, the others stay. */
static void run_one(Store *store, Command *command, Error *err)
{
    int doomed = store->doomed_count;
    int news = store->news_count;
    int moves = waiting_mark(&store->waiting);

    if (run_plain(store, QUERY_SAVE, err))
        return;
    command_run(store, command);
    if (command->err.status) {
        store->doomed_count = doomed;
        store->news_count = news;
        waiting_revert(&store->waiting, moves);
        // with the disk or the memory full SQLite has taken back the whole transaction
        if (sqlite3_get_autocommit(store->writer->db)) {
            *err = command->err;
            return;
        }
        if (run_plain(store, QUERY_REVERT, err))
            return;
    }
    run_plain(store, QUERY_RELEASE, err);
}

static void remove_unused(Store *store, const char *sha256)
{
    Query query = query_begin(store->writer, QUERY_COUNT_BLOB_ASSETS);
    Error err = {0};

    query_bind_text(&query, sha256);
    bool is_unused = query_step(&query, &err) && query_int(&query, 0) == 0;
    query_end(&query);
    if (is_unused)
        blob_remove(store->blobs, sha256);
}

/* Files of deleted rows go when the deletion is durable, unless a later command of the batch has
 * brought the same bytes back. */
static void remove_doomed(Store *store)
{
    for (int i = 0; i < store->doomed_count; i++) {
        const Doomed *doomed = &store->doomed[i];

        if (!doomed->is_blob) {
            result_remove(store->blobs, doomed->name, doomed->attempt);
            continue;
        }
        remove_unused(store, doomed->name);
    }
    store->doomed_count = 0;
}

/* Files of uploads that have their name already, but no row. */
static void take_back_files(Store *store, const Command *first)
{
    for (const Command *command = first; command; command = command->next) {
        const Upload *upload = command->upload;

        if (command->err.status && upload && upload->sha256[0] && !upload->name[0])
            remove_unused(store, upload->sha256);
    }
}

static void publish(Store *store)
{
    StoreNews news = {.last_event = store->news_event,
                      .job_count = store->news_count,
                      .capacity = NEWS_JOBS_MAX,
                      .job = (const char(*)[STORE_ID_SIZE])store->news_job,
                      .has_ended = store->news_ended,
                      .has_queued = store->has_queued,
                      .has_deliveries = store->has_deliveries};

    if (news.last_event && store->listener.published)
        store->listener.published(store->listener.context, &news);
    store->news_count = 0;
    store->news_event = 0;
    store->has_queued = false;
    store->has_deliveries = false;
}

static void answer_all(Command *first)
{
    while (first) {
        Command *command = first;

        first = command->next; // the command may be gone after `done`
        if (command->done)
            command->done(command);
    }
}

/* Answers after the commit; when the transaction fails, all of it has failed. */
static void run_batch(Store *store, Command *first)
{
    Error err = {0};
    int64_t began_ns = time_steady_ns();

    run_plain(store, QUERY_BEGIN, &err);
    for (Command *command = first; command && !err.status; command = command->next) {
        run_one(store, command, &err);
        atomic_fetch_add(&store->commands, 1);
    }
    if (!err.status)
        run_plain(store, QUERY_COMMIT, &err);
    atomic_store(&store->is_failing, err.status != STATUS_OK);
    atomic_fetch_add(&store->commits, 1);
    store->committed_ns = time_steady_ns();
    atomic_fetch_add(&store->commit_ns, (long long)(store->committed_ns - began_ns));
    if (err.status) {
        Error ignored = {0};

        if (!sqlite3_get_autocommit(store->writer->db))
            (void)run_plain(store, QUERY_ROLLBACK, &ignored);
        for (Command *command = first; command; command = command->next)
            command->err = err;
        store->doomed_count = 0;
        store->news_count = 0;
        store->news_event = 0;
        store->has_queued = false;
        store->has_deliveries = false;
        waiting_revert(&store->waiting, 0);
    } else {
        waiting_commit(&store->waiting);
        remove_doomed(store);
        publish(store);
    }
    take_back_files(store, first);
    answer_all(first);
}

static void checkpoint(Store *store, int mode)
{
    int pages = 0;

    (void)sqlite3_wal_checkpoint_v2(store->writer->db, NULL, mode, &pages, NULL);
    if (mode == SQLITE_CHECKPOINT_TRUNCATE)
        store->wal_pages = pages < 0 ? store->wal_pages : pages;
}

void store_run_writer(void *store_)
{
    Store *store = store_;
    bool is_closing = false;

    while (!is_closing) {
        Command *batch = take_batch(store, &is_closing);

        if (batch)
            run_batch(store, batch);
        if (store->wal_pages >= CHECKPOINT_PAGES)
            checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
        if ((!batch && store->wal_pages > 0) || is_closing)
            checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
        atomic_store(&store->wal_gauge, store->wal_pages);
    }
}
