#include "server/store/store.h"

#include "server/embedded.h"
#include "server/store/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- migrations --- */

enum { APPLICATION_ID = 0x42414b45 }; /* "BAKE" */

/* The number in "schema/sql/0001_init.sql", 0 for other files. */
static int migration_number(const char *path)
{
    int number = 0;
    const char *digit = path + sizeof "schema/sql/" - 1;

    if (strncmp(path, "schema/sql/", sizeof "schema/sql/" - 1) != 0)
        return 0;
    for (; *digit >= '0' && *digit <= '9' && number < 10000; digit++)
        number = number * 10 + (*digit - '0');
    return number;
}

static Status run_sql(Store *store, const char *sql, const char *what, Error *err)
{
    int code = sqlite3_exec(store->writer->db, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? STATUS_OK : connection_error(store->writer, code, what, err);
}

static Status read_number(const Connection *connection, const char *sql, int *out, Error *err)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(connection->db, sql, -1, &statement, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        *out = sqlite3_column_int(statement, 0);
    else
        connection_error(connection, code, "could not read the store", err);
    sqlite3_finalize(statement);
    return err->status;
}

/* One file, one transaction. */
static Status apply_migration(Store *store, const EmbeddedFile *file, int number, Error *err)
{
    char version[64];

    (void)snprintf(version, sizeof version, "PRAGMA user_version = %d", number);
    if (run_sql(store, "BEGIN IMMEDIATE", "could not begin a migration", err) ||
        run_sql(store, (const char *)file->data, file->path, err) ||
        run_sql(store, version, file->path, err) ||
        run_sql(store, "COMMIT", "could not commit a migration", err)) {
        (void)sqlite3_exec(store->writer->db, "ROLLBACK", NULL, NULL, NULL);
        return err->status;
    }
    return STATUS_OK;
}

/* A copy of a store that is about to change, beside it. */
static Status copy_before(Store *store, int version, Error *err)
{
    char *sql = sqlite3_mprintf("VACUUM INTO '%q.v%d.bak'", store->path, version);

    if (!sql)
        return error_set(err, STATUS_NO_MEMORY, "could not copy the store");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s.v%d.bak", store->path, version);
    (void)remove(path);
    run_sql(store, sql, "could not copy the store before its migration", err);
    sqlite3_free(sql);
    return err->status;
}

/* The version that this program's migrations lead to. */
static int newest_version(void)
{
    int newest = 0;

    for (const EmbeddedFile *file = embedded_file; file->path; file++)
        if (migration_number(file->path) > newest)
            newest = migration_number(file->path);
    return newest;
}

static Status migrate(Store *store, Error *err)
{
    int version = 0, application = 0;
    int newest = newest_version();

    if (read_number(store->writer, "PRAGMA user_version", &version, err))
        return err->status;
    if (version > newest)
        return error_set(err, STATUS_CONFLICT,
                         "the store has version %d, this program knows %d: use a newer one",
                         version, newest);
    if (version == 0 &&
        run_sql(store, "PRAGMA application_id = 0x42414b45", "could not mark the store", err))
        return err->status;
    if (read_number(store->writer, "PRAGMA application_id", &application, err))
        return err->status;
    if (application != APPLICATION_ID)
        return error_set(err, STATUS_CONFLICT, "\"%s\" is not a store of this program",
                         store->path);
    if (version > 0 && version < newest && copy_before(store, version, err))
        return err->status;
    // the embedded files are sorted by path
    for (const EmbeddedFile *file = embedded_file; file->path; file++)
        if (migration_number(file->path) > version &&
            apply_migration(store, file, migration_number(file->path), err))
            return err->status;
    return STATUS_OK;
}

/* Is it a store of this program, and of this version? */
static Status check_version(const Store *store, const Connection *connection, Error *err)
{
    int version = 0, application = 0;

    if (read_number(connection, "PRAGMA user_version", &version, err) ||
        read_number(connection, "PRAGMA application_id", &application, err))
        return err->status;
    if (application != APPLICATION_ID)
        return error_set(err, STATUS_CONFLICT, "\"%s\" is not a store of this program",
                         store->path);
    if (version != newest_version())
        return error_set(err, STATUS_CONFLICT,
                         "the store has version %d, this program works with %d: %s", version,
                         newest_version(),
                         version < newest_version() ? "start a server on it once, which brings it "
                                                      "up to date"
                                                    : "use a newer one");
    return STATUS_OK;
}

/* --- readers --- */

Connection *reader_take(Store *store, Error *err)
{
    uv_mutex_lock(&store->pool_mutex);
    Connection *connection = store->idle;
    if (connection)
        store->idle = connection->next;
    uv_mutex_unlock(&store->pool_mutex);
    // as many as there are threads that read at once; they stay open
    if (!connection && connection_open(store->path, CONNECTION_READ, &connection, err))
        return NULL;
    return connection;
}

void reader_give(Store *store, Connection *connection)
{
    uv_mutex_lock(&store->pool_mutex);
    connection->next = store->idle;
    store->idle = connection;
    uv_mutex_unlock(&store->pool_mutex);
}

/* --- life --- */

static int note_wal_pages(void *store_, sqlite3 *db, const char *name, int pages)
{
    Store *store = store_;

    (void)db;
    (void)name;
    store->wal_pages = pages;
    return SQLITE_OK;
}

/* The store without its connections; NULL and `err` without memory. */
static Store *create_store(const char *folder, Blobs *blobs, const StoreListener *listener,
                           Error *err)
{
    Store *store = calloc(1, sizeof *store);
    size_t size = strlen(folder) + sizeof "/store.sqlite";

    if (!store) {
        error_set(err, STATUS_NO_MEMORY, "could not open the store");
        return NULL;
    }
    store->blobs = blobs;
    store->listener = *listener;
    store->path = malloc(size);
    (void)uv_mutex_init(&store->mutex);
    (void)uv_mutex_init(&store->pool_mutex);
    (void)uv_cond_init(&store->arrived);
    waiting_init(&store->waiting);
    if (!store->path)
        error_set(err, STATUS_NO_MEMORY, "could not open the store");
    else
        (void)snprintf(store->path, size, "%s/store.sqlite", folder);
    return store;
}

Status store_open(const char *folder, Blobs *blobs, const StoreListener *listener, Store **out,
                  Error *err)
{
    Store *store = create_store(folder, blobs, listener, err);

    if (!store)
        return err->status;
    if (!err->status && !connection_open(store->path, CONNECTION_WRITE, &store->writer, err) &&
        !migrate(store, err) && !waiting_follow(&store->waiting, store->writer, err)) {
        (void)sqlite3_wal_hook(store->writer->db, note_wal_pages, store);
        store->has_thread = uv_thread_create(&store->thread, store_run_writer, store) == 0;
        if (!store->has_thread)
            error_set(err, STATUS_NO_MEMORY, "could not start the store's thread");
    }
    if (err->status) {
        store_close(store);
        return error_context(err, "store in \"%s\"", folder);
    }
    *out = store;
    return STATUS_OK;
}

Status store_open_reading(const char *folder, Blobs *blobs, Store **out, Error *err)
{
    Store *store = create_store(folder, blobs, &(StoreListener){0}, err);

    if (!store)
        return err->status;
    Connection *connection = err->status ? NULL : reader_take(store, err);
    if (connection) {
        check_version(store, connection, err);
        reader_give(store, connection);
    }
    if (err->status) {
        store_close(store);
        return error_context(err, "store in \"%s\"", folder);
    }
    *out = store;
    return STATUS_OK;
}

void store_close(Store *store)
{
    if (!store)
        return;
    uv_mutex_lock(&store->mutex);
    store->is_closing = true;
    uv_cond_signal(&store->arrived);
    uv_mutex_unlock(&store->mutex);
    if (store->has_thread)
        (void)uv_thread_join(&store->thread);
    while (store->idle) {
        Connection *next = store->idle->next;

        connection_close(store->idle);
        store->idle = next;
    }
    connection_close(store->writer);
    waiting_destroy(&store->waiting);
    uv_cond_destroy(&store->arrived);
    uv_mutex_destroy(&store->pool_mutex);
    uv_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
}

/* Bytes of the store's file with this ending, 0 where there is none. */
static int64_t file_size(const Store *store, const char *ending)
{
    struct stat about;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s%s", store->path, ending);
    return stat(path, &about) ? 0 : (int64_t)about.st_size;
}

StoreGauges store_gauges(Store *store)
{
    return (StoreGauges){
        .bytes = file_size(store, ""),
        .wal_bytes = file_size(store, "-wal"),
        .commit_seconds = (double)atomic_load(&store->commit_ns) * 1e-9,
        .commits = atomic_load(&store->commits),
        .commands = atomic_load(&store->commands),
        .wal_pages = atomic_load(&store->wal_gauge),
        .is_failing = atomic_load(&store->is_failing),
    };
}
