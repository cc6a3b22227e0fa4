/* Query: the statements of the store and how one is run. Internal to store/.
 *
 *     Query query = query_begin(connection, QUERY_FIND_JOB);
 *     query_bind_text(&query, id);
 *     while (query_step(&query, err)) ... query_text(&query, 0, arena) ...
 *     query_end(&query)
 *
 * Values are bound in order. A Connection is used by one thread at a time. */
#pragma once

#include "base/arena.h"
#include "server/store/store.h"

#include <sqlite3.h>

typedef enum QueryKind {
    QUERY_BEGIN,
    QUERY_BEGIN_READING,
    QUERY_COMMIT,
    QUERY_ROLLBACK,
    QUERY_SAVE,
    QUERY_RELEASE,
    QUERY_REVERT,
    QUERY_INSERT_ASSET,
    QUERY_TOUCH_ASSET,
    QUERY_COUNT_OWNED_BYTES,
    QUERY_FIND_ASSET,
    QUERY_LIST_ASSETS,
    QUERY_DELETE_ASSET,
    QUERY_COUNT_ASSET_JOBS,
    QUERY_COUNT_BLOB_ASSETS,
    QUERY_INSERT_JOB,
    QUERY_INSERT_TAG,
    QUERY_FIND_RESULT_BY_KEY,
    QUERY_FIND_JOB,
    QUERY_FIND_JOB_BY_IDEMPOTENCY,
    QUERY_SEEK_JOB,
    QUERY_SEEK_STATE,
    QUERY_SEEK_MODEL,
    QUERY_SEEK_OWNER,
    QUERY_SEEK_TAG,
    QUERY_JOB_AT,
    QUERY_COUNT_JOBS,
    QUERY_COUNT_TAGGED,
    QUERY_LIST_WAITING,
    QUERY_COUNT_QUEUED_OF_OWNER,
    QUERY_CANCEL_QUEUED,
    QUERY_CANCEL_RUNNING,
    QUERY_RETRY_JOB,
    QUERY_DELETE_JOB,
    QUERY_DELETE_RESULT,
    QUERY_CLAIM_JOB,
    QUERY_INSERT_RESULT,
    QUERY_SET_RESULT,
    QUERY_PROGRESS,
    QUERY_SET_MEASURED,
    QUERY_OWNS_ATTEMPT,
    QUERY_FINISH_JOB,
    QUERY_FINISH_RESULT,
    QUERY_INSERT_MEASURE,
    QUERY_RELEASE_JOB,
    QUERY_HEARTBEAT,
    QUERY_SWEEP,
    QUERY_UPDATE_RESULT,
    QUERY_LIST_INTERRUPTED,
    QUERY_INSERT_EVENT,
    QUERY_DROP_OLD_PROGRESS,
    QUERY_LIST_EVENTS,
    QUERY_LIST_JOB_EVENTS,
    QUERY_LAST_EVENT,
    QUERY_PRUNE_EVENTS,
    QUERY_LIST_OLD_JOBS,
    QUERY_LIST_UNUSED_ASSETS,
    QUERY_SET,
    QUERY_FIND_SETTING,
    QUERY_DELETE_JOB_EVENTS,
    QUERY_LIST_JOB_MEASURES,
    QUERY_LIST_MEASURES,
    QUERY_INSERT_NOTIFY,
    QUERY_FIND_NOTIFY,
    QUERY_WANTS_DELIVERY,
    QUERY_INSERT_DELIVERY,
    QUERY_SETTLE_DELIVERY,
    QUERY_DELIVER_AGAIN,
    QUERY_LIST_DUE,
    QUERY_NEXT_DUE,
    QUERY_FIND_DELIVERY,
    QUERY_COUNT_DELIVERIES,
    QUERY_CHECK_PAGES,
    QUERY_CHECK_REFERENCES,
    QUERY_CHECK_BLOBS,
    QUERY_CHECK_RESULTS,
    QUERY_HAS_RESULT,
    QUERY_BREAK_RESULT,
    QUERY_FAIL_BROKEN,
    QUERY_KIND_COUNT
} QueryKind;

typedef struct Connection {
    sqlite3 *db;
    sqlite3_stmt *statement[QUERY_KIND_COUNT]; /* prepared at their first use */
    struct Connection *next;                   /* in the pool of readers */
} Connection;

typedef enum ConnectionMode { CONNECTION_WRITE, CONNECTION_READ } ConnectionMode;

/* Opens and sets everything that keeps the store safe, and reads each setting back. */
NODISCARD Status connection_open(const char *path, ConnectionMode mode, Connection **out,
                                 Error *err);
void connection_close(Connection *connection);

/* `err` filled from SQLite's code: FULL, IO, CONFLICT for a constraint. */
Status connection_error(const Connection *connection, int code, const char *what, Error *err);

typedef struct Query {
    Connection *connection;
    sqlite3_stmt *statement; /* NULL when it could not be prepared */
    int next;                /* parameter */
    int code;                /* first failure, SQLITE_OK before */
} Query;

/* Its text, of which the plan can be asked. */
const char *query_sql_of(QueryKind kind);
Query query_begin(Connection *connection, QueryKind kind);
void query_bind_text(Query *query, const char *value); /* NULL: null */
void query_bind_int(Query *query, int64_t value);
void query_bind_double(Query *query, double value);
void query_bind_null(Query *query);

/* The next row; false at the end or after a failure, which is in `err` then. */
bool query_step(Query *query, Error *err);
int64_t query_int(const Query *query, int column);
double query_double(const Query *query, int column);
bool query_is_null(const Query *query, int column);
/* Copied into the arena; "" for null or when the arena is full (which sets arena->overflowed). */
const char *query_text(const Query *query, int column, Arena *arena);
/* Into a fixed buffer. */
void query_copy(const Query *query, int column, char *out, size_t size);
void query_end(Query *query);

/* For statements without rows: run, end, and tell how many rows changed. */
Status query_run(Query *query, int *out_changed, Error *err);
