#include "server/store/query.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASSET_COLUMNS "seq, kind, id, name, format, sha256, size, unit, is_z_up, created, owner"
#define JOB_COLUMNS                                                                                \
    "job.seq, job.id, job.state, job.name, job.model, job.animation, job.key, job.tags, "          \
    "job.priority, job.is_cached, job.is_kept, job.attempt, job.crashes, job.is_cancelling, "      \
    "job.heartbeat, job.frame_count, job.frames, job.progress, job.created, job.started, "         \
    "job.finished, job.error_status, job.error, job.passed, job.reason, result.job, "              \
    "result.attempt, result.is_complete, result.size, result.sha256, result.seconds, "             \
    "result.simulated, job.body_sha256, result.measured, job.owner"
#define JOB_RESULT "LEFT JOIN result ON result.id = job.result"
#define JOB_TABLES "job " JOB_RESULT
#define HAS_TAG(key, value)                                                                        \
    "(" key " IS NULL OR EXISTS (SELECT 1 FROM tag WHERE tag.job = job.id AND tag.key = " key      \
    " AND tag.value = " value "))"

/* The newest row before one, of those in an index. */
#define SEEK(table, condition)                                                                     \
    "SELECT seq FROM " table " WHERE " condition "seq < ? ORDER BY seq DESC LIMIT 1"

static const char *const query_sql[QUERY_KIND_COUNT] = {
    [QUERY_BEGIN] = "BEGIN IMMEDIATE",
    [QUERY_BEGIN_READING] = "BEGIN",
    [QUERY_COMMIT] = "COMMIT",
    [QUERY_ROLLBACK] = "ROLLBACK",
    [QUERY_SAVE] = "SAVEPOINT command",
    [QUERY_RELEASE] = "RELEASE command",
    [QUERY_REVERT] = "ROLLBACK TO command",
    [QUERY_INSERT_ASSET] =
        "INSERT INTO asset (kind, id, name, format, sha256, size, unit, is_z_up, summary, "
        "created, owner, used) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?10) "
        "ON CONFLICT (id) DO NOTHING",
    [QUERY_TOUCH_ASSET] = "UPDATE asset SET used = max(used, ?) WHERE id = ?",
    [QUERY_COUNT_OWNED_BYTES] = "SELECT coalesce(sum(size), 0) FROM asset WHERE owner = ?",
    [QUERY_FIND_ASSET] = "SELECT " ASSET_COLUMNS ", summary FROM asset WHERE kind = ? AND id = ?",
    [QUERY_LIST_ASSETS] = "SELECT " ASSET_COLUMNS ", '' FROM asset WHERE kind = ? AND seq < ? "
                          "ORDER BY seq DESC LIMIT ?",
    [QUERY_DELETE_ASSET] = "DELETE FROM asset WHERE kind = ? AND id = ? RETURNING sha256",
    [QUERY_COUNT_ASSET_JOBS] = "SELECT count(*) FROM job WHERE model = ?1 OR animation = ?1",
    [QUERY_COUNT_BLOB_ASSETS] = "SELECT count(*) FROM asset WHERE sha256 = ?",
    [QUERY_INSERT_JOB] =
        "INSERT INTO job (id, state, name, model, animation, key, body, canonical, tags, priority, "
        "is_cached, is_kept, frame_count, frames, progress, created, started, finished, passed, "
        "reason, result, idempotency_key, body_sha256, used, owner) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [QUERY_INSERT_TAG] = "INSERT INTO tag (job, key, value, seq) VALUES (?, ?, ?, ?)",
    [QUERY_FIND_RESULT_BY_KEY] =
        "SELECT result.id, result.frames, job.passed, job.reason FROM result JOIN job ON "
        "job.result "
        "= result.id WHERE result.key = ? AND result.is_complete = 1 ORDER BY result.id DESC LIMIT "
        "1",
    [QUERY_FIND_JOB] = "SELECT " JOB_COLUMNS ", job.body, job.canonical, job.used FROM " JOB_TABLES
                       " WHERE job.id = ?",
    [QUERY_FIND_JOB_BY_IDEMPOTENCY] =
        "SELECT " JOB_COLUMNS ", '', '', '' FROM " JOB_TABLES " WHERE job.owner = ? AND "
        "job.idempotency_key = ?",
    [QUERY_SEEK_JOB] = SEEK("job", ""),
    [QUERY_SEEK_STATE] = SEEK("job INDEXED BY job_by_state", "state = ? AND "),
    [QUERY_SEEK_MODEL] = SEEK("job INDEXED BY job_by_model", "model = ? AND "),
    [QUERY_SEEK_OWNER] = SEEK("job INDEXED BY job_by_owner", "owner = ? AND "),
    [QUERY_SEEK_TAG] = SEEK("tag INDEXED BY tag_by_value", "key = ? AND value = ? AND "),
    [QUERY_JOB_AT] = "SELECT " JOB_COLUMNS ", '', '', '' FROM " JOB_TABLES " WHERE job.seq = ?",
    [QUERY_COUNT_JOBS] = "SELECT state, count(*) FROM job GROUP BY state",
    [QUERY_COUNT_TAGGED] =
        "SELECT job.state, job.passed, count(*) FROM tag AS one JOIN job ON job.seq = one.seq "
        "WHERE "
        "one.key = ?1 AND one.value = ?2 AND " HAS_TAG("?3", "?4") " AND " HAS_TAG(
            "?5", "?6") " AND " HAS_TAG("?7", "?8") " GROUP BY job.state, job.passed",
    [QUERY_LIST_WAITING] = "SELECT priority, seq FROM job WHERE state = 'queued' ORDER BY priority "
                           "DESC, seq",
    [QUERY_COUNT_QUEUED_OF_OWNER] = "SELECT count(*) FROM job WHERE state = 'queued' AND owner = ?",
    [QUERY_CANCEL_QUEUED] = "UPDATE job SET state = 'cancelled', finished = ? WHERE id = ? AND "
                            "state = 'queued'",
    [QUERY_CANCEL_RUNNING] = "UPDATE job SET is_cancelling = 1 WHERE id = ? AND state = 'running' "
                             "RETURNING attempt",
    [QUERY_RETRY_JOB] =
        "UPDATE job SET state = 'queued', crashes = 0, finished = NULL, started = NULL, error = "
        "NULL, error_status = NULL, passed = NULL, reason = '', progress = 0, frames = 0, "
        "is_cancelling = 0 WHERE id = ? AND state IN ('failed', 'cancelled')",
    [QUERY_DELETE_JOB] = "DELETE FROM job WHERE id = ? AND state IN ('done', 'failed', "
                         "'cancelled') RETURNING coalesce(result, 0)",
    [QUERY_DELETE_RESULT] = "DELETE FROM result WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM job "
                            "WHERE job.result = ?1) RETURNING job, attempt",
    [QUERY_CLAIM_JOB] =
        "UPDATE job SET state = 'running', runner = ?1, attempt = attempt + 1, heartbeat = ?2, "
        "started = ?2, finished = NULL, is_cancelling = 0, frames = 0, progress = 0, error = NULL, "
        "error_status = NULL, passed = NULL, reason = '' WHERE seq = (SELECT seq FROM job WHERE "
        "state = 'queued' ORDER BY priority DESC, seq LIMIT 1) "
        "RETURNING id, attempt, key, coalesce(result, 0)",
    [QUERY_INSERT_RESULT] =
        "INSERT INTO result (job, attempt, key, created) VALUES (?, ?, ?, ?) RETURNING id",
    [QUERY_SET_RESULT] = "UPDATE job SET result = ? WHERE id = ?",
    [QUERY_PROGRESS] = "UPDATE job SET frames = ?, progress = ?, heartbeat = ? WHERE id = ? AND "
                       "attempt = ? AND state = 'running'",
    [QUERY_SET_MEASURED] = "UPDATE result SET measured = ? WHERE job = ? AND attempt = ?",
    [QUERY_OWNS_ATTEMPT] = "SELECT 1 FROM job WHERE id = ? AND attempt = ? AND state = 'running'",
    [QUERY_FINISH_JOB] =
        "UPDATE job SET state = ?, finished = ?, error_status = ?, error = ?, frames = ?, "
        "progress = CASE WHEN ?1 = 'done' THEN 1.0 ELSE progress END, passed = ?, reason = ?, key "
        "= coalesce(nullif(?, ''), key), runner = NULL, is_cancelling = 0 WHERE id = ? AND attempt "
        "= ? AND state = 'running'",
    [QUERY_FINISH_RESULT] = "UPDATE result SET is_complete = ?, frames = ?, size = ?, sha256 = ?, "
                            "seconds = ?, simulated = ?, key = coalesce(nullif(?, ''), key), "
                            "measured = coalesce(nullif(?, ''), measured) "
                            "WHERE job = ? AND attempt = ? "
                            "RETURNING id",
    [QUERY_INSERT_MEASURE] = "INSERT INTO measure (result, name, simulation, target, value, unit) "
                             "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
    [QUERY_RELEASE_JOB] =
        "UPDATE job SET state = CASE is_cancelling WHEN 1 THEN 'cancelled' ELSE 'queued' END, "
        "runner = NULL, started = NULL, finished = CASE is_cancelling WHEN 1 THEN ? END WHERE id = "
        "? AND attempt = ? AND state = 'running' RETURNING state",
    [QUERY_HEARTBEAT] = "UPDATE job SET heartbeat = ? WHERE state = 'running' AND runner = ? AND "
                        "id IN (SELECT value FROM json_each(?))",
    // a job that was being cancelled is not run again; one that kills its server is not run for
    // ever
    [QUERY_SWEEP] =
        "UPDATE job SET crashes = crashes + 1, runner = NULL, state = CASE WHEN is_cancelling = 1 "
        "THEN 'cancelled' WHEN crashes + 1 >= ?1 THEN 'failed' ELSE 'queued' END, finished = CASE "
        "WHEN is_cancelling = 1 OR crashes + 1 >= ?1 THEN ?2 END, error_status = CASE WHEN "
        "is_cancelling = 0 AND crashes + 1 >= ?1 THEN 'io' END, error = CASE WHEN is_cancelling = "
        "0 AND crashes + 1 >= ?1 THEN 'the server stopped ' || (crashes + 1) || ' times while this "
        "job ran' END, is_cancelling = 0 WHERE state = 'running' AND (runner IS NOT ?3 OR "
        "heartbeat "
        "< ?4) RETURNING id, state, attempt",
    [QUERY_UPDATE_RESULT] = "UPDATE result SET size = ?, frames = ? WHERE job = ? AND attempt = ?",
    [QUERY_LIST_INTERRUPTED] = "SELECT id, attempt FROM job WHERE state = 'running'",
    [QUERY_INSERT_EVENT] = "INSERT INTO event (job, kind, data, created) VALUES (?, ?, ?, ?)",
    // of a job's progress only the newest is worth replaying
    [QUERY_DROP_OLD_PROGRESS] = "DELETE FROM event WHERE job = ? AND kind = ?",
    [QUERY_LIST_EVENTS] = "SELECT id, job, kind, data FROM event WHERE id > ? ORDER BY id LIMIT ?",
    [QUERY_LIST_JOB_EVENTS] =
        "SELECT id, job, kind, data FROM event WHERE id > ? AND job = ? ORDER BY id LIMIT ?",
    [QUERY_LAST_EVENT] = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'event'",
    [QUERY_PRUNE_EVENTS] = "DELETE FROM event WHERE created < ?",
    [QUERY_LIST_OLD_JOBS] =
        "SELECT id FROM job WHERE state IN ('done', 'failed', 'cancelled') AND is_kept = 0 AND "
        "finished < ? ORDER BY finished LIMIT ?",
    [QUERY_LIST_UNUSED_ASSETS] =
        "SELECT kind, id FROM asset WHERE used < ? AND NOT EXISTS (SELECT 1 FROM job WHERE model = "
        "asset.id) AND NOT EXISTS (SELECT 1 FROM job WHERE animation = asset.id) ORDER BY used "
        "LIMIT ?",
    [QUERY_SET] = "INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
                  "SET value = excluded.value",
    [QUERY_FIND_SETTING] = "SELECT value FROM setting WHERE name = ?",
    [QUERY_DELETE_JOB_EVENTS] = "DELETE FROM event WHERE job = ?",
    [QUERY_LIST_JOB_MEASURES] =
        "SELECT job.id, job.name, job.model, job.tags, job.finished, job.passed, measure.name, "
        "measure.simulation, measure.target, measure.value, measure.unit, job.seq FROM job JOIN "
        "measure ON measure.result = job.result WHERE job.id = ? ORDER BY measure.name, "
        "measure.simulation, measure.target LIMIT ?",
    [QUERY_LIST_MEASURES] =
        "SELECT job.id, job.name, job.model, job.tags, job.finished, job.passed, measure.name, "
        "measure.simulation, measure.target, measure.value, measure.unit, job.seq FROM job JOIN "
        "measure ON measure.result = job.result WHERE job.state = 'done' AND (?1 IS NULL OR "
        "measure.name = ?1) AND (?2 IS NULL OR job.model = ?2) AND (?3 IS NULL OR measure.target = "
        "?3) AND job.finished >= ?4 AND job.seq < ?5 AND " HAS_TAG("?7", "?8") " AND " HAS_TAG(
            "?9", "?10") " AND " HAS_TAG("?11",
                                         "?12") " AND " HAS_TAG("?13",
                                                                "?14") " ORDER BY job.seq DESC, "
                                                                       "measure.name, "
                                                                       "measure.simulation, "
                                                                       "measure.target LIMIT ?6",
    [QUERY_INSERT_NOTIFY] = "INSERT INTO notify (job, url, place, ends) VALUES (?, ?, ?, ?)",
    [QUERY_FIND_NOTIFY] =
        "SELECT job.state, notify.url, notify.place, notify.ends, delivery.state, "
        "delivery.attempts, CASE delivery.state WHEN 'pending' THEN delivery.next ELSE 0 END, "
        "delivery.last_code, delivery.last_error FROM job LEFT JOIN notify ON notify.job = job.id "
        "LEFT JOIN delivery ON delivery.seq = (SELECT max(seq) FROM delivery AS other WHERE "
        "other.job = job.id AND other.ended = job.finished) WHERE job.id = ?",
    [QUERY_WANTS_DELIVERY] = "SELECT 1 FROM notify WHERE job = ? AND instr(ends, ?) > 0",
    [QUERY_INSERT_DELIVERY] =
        "INSERT INTO delivery (id, job, ended, url, place, body, state, next) SELECT ?, job, ?, "
        "url, place, ?, 'pending', ? FROM notify WHERE job = ?",
    [QUERY_SETTLE_DELIVERY] =
        "UPDATE delivery SET state = ?, attempts = attempts + 1, next = ?, last_code = ?, "
        "last_error = ? WHERE id = ? AND state = 'pending'",
    [QUERY_DELIVER_AGAIN] =
        "UPDATE delivery SET state = 'pending', attempts = 0, next = ?1 WHERE seq = (SELECT "
        "max(delivery.seq) FROM job JOIN delivery ON delivery.job = job.id AND delivery.ended = "
        "job.finished WHERE job.id = ?2)",
    // the places one after the other by the index, and of each the first that are due: a place with
    // a million does not stand before the others
    [QUERY_LIST_DUE] =
        "WITH RECURSIVE station (place) AS (SELECT min(place) FROM delivery WHERE state = "
        "'pending' UNION ALL SELECT (SELECT min(place) FROM delivery WHERE state = 'pending' AND "
        "place > station.place) FROM station WHERE station.place IS NOT NULL) SELECT delivery.id, "
        "delivery.place FROM station CROSS JOIN delivery WHERE delivery.seq IN (SELECT seq FROM "
        "delivery AS due WHERE due.state = 'pending' AND due.place = station.place AND (due.next "
        "<= ?1 OR due.next > ?2) ORDER BY due.next LIMIT ?3) ORDER BY delivery.next LIMIT ?4",
    [QUERY_NEXT_DUE] =
        "SELECT coalesce(min(next), 0) FROM delivery WHERE state = 'pending' AND next > ?",
    [QUERY_FIND_DELIVERY] = "SELECT job, url, body, state, attempts FROM delivery WHERE id = ?",
    [QUERY_COUNT_DELIVERIES] = "SELECT count(*) FROM delivery WHERE state = 'pending'",
    [QUERY_CHECK_PAGES] = "PRAGMA integrity_check(20)",
    [QUERY_CHECK_REFERENCES] =
        "SELECT \"table\", coalesce(rowid, 0), parent FROM pragma_foreign_key_check LIMIT 20",
    [QUERY_CHECK_BLOBS] = "SELECT sha256, max(size), min(id) FROM asset WHERE sha256 > ? GROUP BY "
                          "sha256 ORDER BY sha256 LIMIT ?",
    [QUERY_CHECK_RESULTS] =
        "SELECT id, job, attempt, is_complete, frames, size, sha256, EXISTS (SELECT 1 FROM job "
        "WHERE job.result = result.id AND job.state = 'running') FROM result WHERE id > ? ORDER "
        "BY id LIMIT ?",
    // attempt 0: any
    [QUERY_HAS_RESULT] = "SELECT count(*) FROM result WHERE job = ?1 AND (?2 = 0 OR attempt = ?2)",
    [QUERY_BREAK_RESULT] = "UPDATE result SET is_complete = 0, size = ?, frames = ?, sha256 = '' "
                           "WHERE job = ? AND attempt = ? RETURNING id",
    [QUERY_FAIL_BROKEN] =
        "UPDATE job SET state = 'failed', error_status = 'io', error = ?, is_cached = 0, passed = "
        "NULL, reason = '' WHERE result = ? AND state = 'done' RETURNING id, attempt",
};

/* --- connections --- */

/* What the system said of the write-ahead log: SQLite forgets it when a COMMIT fails. */
static int log_cause(sqlite3 *db)
{
    sqlite3_file *log = NULL;
    int cause = 0;

    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK && log &&
        log->pMethods)
        (void)log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &cause);
    return cause;
}

/* What the system said, where SQLite tells of an error of the system; 0 else. */
static int system_cause(const Connection *connection, int code)
{
    if ((code != SQLITE_IOERR && code != SQLITE_CANTOPEN) || !connection || !connection->db)
        return 0;
    int cause = sqlite3_system_errno(connection->db);
    return cause ? cause : log_cause(connection->db);
}

/* Can nothing be written any more? SQLite itself says it of a full disk alone. */
static bool is_full(int code, int cause)
{
    return code == SQLITE_FULL || code == SQLITE_READONLY || cause == ENOSPC || cause == EDQUOT ||
           cause == EFBIG || cause == EROFS;
}

Status connection_error(const Connection *connection, int code, const char *what, Error *err)
{
    int kind = code & 0xff;
    int cause = system_cause(connection, kind);
    char text[128];
    Status status = STATUS_IO;

    if (is_full(kind, cause))
        status = STATUS_FULL;
    else if (kind == SQLITE_CONSTRAINT)
        status = STATUS_CONFLICT;
    else if (kind == SQLITE_NOMEM)
        status = STATUS_NO_MEMORY;
    return error_set(err, status, "%s: %s%s%s", what,
                     connection && connection->db ? sqlite3_errmsg(connection->db)
                                                  : sqlite3_errstr(code),
                     cause ? ": " : "", cause ? strerror_r(cause, text, sizeof text) : "");
}

/* Run a pragma and check that what it says afterwards is what was asked for. */
static Status set_pragma(Connection *connection, const char *sql, const char *expected, Error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    const char *value = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        connection_error(connection, code, "could not prepare the store", err);
    else if (expected && (!value || strcmp(value, expected) != 0))
        error_set(err, STATUS_IO, "the store refused \"%s\": it says \"%s\"", sql,
                  value ? value : "nothing");
    sqlite3_finalize(statement);
    return err->status;
}

/* Each setting that has a getter is set, then read back. */
static Status set_pragmas(Connection *connection, ConnectionMode mode, Error *err)
{
    static const char *const writer[][2] = {
        {"PRAGMA journal_mode = WAL", "wal"},
        {"PRAGMA synchronous = FULL", NULL},
        {"PRAGMA synchronous", "2"},
        {"PRAGMA wal_autocheckpoint = 0", "0"},
        {"PRAGMA journal_size_limit = 67108864", "67108864"},
    };
    static const char *const both[][2] = {
        {"PRAGMA foreign_keys = ON", NULL},    {"PRAGMA foreign_keys", "1"},
        {"PRAGMA trusted_schema = OFF", NULL}, {"PRAGMA trusted_schema", "0"},
        {"PRAGMA cell_size_check = ON", NULL},
    };

    for (size_t i = 0; mode == CONNECTION_WRITE && i < sizeof writer / sizeof writer[0]; i++)
        if (set_pragma(connection, writer[i][0], writer[i][1], err))
            return err->status;
    for (size_t i = 0; i < sizeof both / sizeof both[0]; i++)
        if (set_pragma(connection, both[i][0], both[i][1], err))
            return err->status;
    return STATUS_OK;
}

Status connection_open(const char *path, ConnectionMode mode, Connection **out, Error *err)
{
    Connection *connection = calloc(1, sizeof *connection);
    int flags = mode == CONNECTION_WRITE ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                         : SQLITE_OPEN_READONLY;

    if (!connection)
        return error_set(err, STATUS_NO_MEMORY, "could not open the store");
    int code = sqlite3_open_v2(path, &connection->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_busy_timeout(connection->db, 5000);
    if (code == SQLITE_OK && mode == CONNECTION_READ)
        code = sqlite3_db_config(connection->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (code != SQLITE_OK)
        connection_error(connection, code, "could not open the store", err);
    else
        set_pragmas(connection, mode, err);
    if (err->status) {
        connection_close(connection);
        return err->status;
    }
    *out = connection;
    return STATUS_OK;
}

void connection_close(Connection *connection)
{
    if (!connection)
        return;
    for (int i = 0; i < QUERY_KIND_COUNT; i++)
        sqlite3_finalize(connection->statement[i]);
    sqlite3_close(connection->db);
    free(connection);
}

/* --- queries --- */

const char *query_sql_of(QueryKind kind)
{
    return query_sql[kind];
}

Query query_begin(Connection *connection, QueryKind kind)
{
    Query query = {.connection = connection, .next = 1};
    sqlite3_stmt **statement = &connection->statement[kind];

    if (!*statement)
        query.code = sqlite3_prepare_v3(connection->db, query_sql[kind], -1,
                                        SQLITE_PREPARE_PERSISTENT, statement, NULL);
    query.statement = *statement;
    return query;
}

static void note(Query *query, int code)
{
    if (query->code == SQLITE_OK)
        query->code = code;
}

void query_bind_text(Query *query, const char *value)
{
    if (query->code == SQLITE_OK)
        note(query, sqlite3_bind_text(query->statement, query->next++, value, -1, SQLITE_STATIC));
}

void query_bind_int(Query *query, int64_t value)
{
    if (query->code == SQLITE_OK)
        note(query, sqlite3_bind_int64(query->statement, query->next++, value));
}

void query_bind_double(Query *query, double value)
{
    if (query->code == SQLITE_OK)
        note(query, sqlite3_bind_double(query->statement, query->next++, value));
}

void query_bind_null(Query *query)
{
    if (query->code == SQLITE_OK)
        note(query, sqlite3_bind_null(query->statement, query->next++));
}

bool query_step(Query *query, Error *err)
{
    if (query->code != SQLITE_OK) {
        connection_error(query->connection, query->code, "the store", err);
        return false;
    }
    int code = sqlite3_step(query->statement);
    if (code == SQLITE_ROW)
        return true;
    if (code != SQLITE_DONE) {
        query->code = code;
        connection_error(query->connection, code, "the store", err);
    }
    return false;
}

int64_t query_int(const Query *query, int column)
{
    return sqlite3_column_int64(query->statement, column);
}

double query_double(const Query *query, int column)
{
    return sqlite3_column_double(query->statement, column);
}

bool query_is_null(const Query *query, int column)
{
    return sqlite3_column_type(query->statement, column) == SQLITE_NULL;
}

const char *query_text(const Query *query, int column, Arena *arena)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);

    if (!text)
        return "";
    const char *copy =
        arena_text(arena, text, (size_t)sqlite3_column_bytes(query->statement, column));
    return copy ? copy : "";
}

void query_copy(const Query *query, int column, char *out, size_t size)
{
    const unsigned char *text = sqlite3_column_text(query->statement, column);

    (void)snprintf(out, size, "%s", text ? (const char *)text : "");
}

void query_end(Query *query)
{
    if (!query->statement)
        return;
    (void)sqlite3_reset(query->statement);
    (void)sqlite3_clear_bindings(query->statement);
}

Status query_run(Query *query, int *out_changed, Error *err)
{
    Error failure = {0};

    while (query_step(query, &failure))
        ;
    if (!failure.status && out_changed)
        *out_changed = sqlite3_changes(query->connection->db);
    query_end(query);
    if (failure.status)
        *err = failure;
    return failure.status;
}
