#include "server/store/backup.h"

#include "server/store/check_files.h"
#include "server/store/internal.h"
#include "server/store/salvage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATHS_MAX = 4096,
    TRIES = 20, /* copies of the database before too much is being deleted */
    PAGE = 64   /* rows that are read at once */
};

typedef struct Backup {
    const char *folder; /* of the original */
    Blobs *from;
    Blobs *to;
    Store *original; /* read only */
    Store *copy;     /* read only */
    char partial[PATHS_MAX];
    char database[PATHS_MAX + 16];
    int vanished; /* files that were deleted after the copy of the database was made */
    CopyCounts counts;
} Backup;

/* --- the database --- */

static void remove_database(const Backup *backup)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};

    for (size_t i = 0; i < sizeof suffix / sizeof suffix[0]; i++) {
        char path[PATHS_MAX + 32];

        (void)snprintf(path, sizeof path, "%s%s", backup->database, suffix[i]);
        (void)unlink(path);
    }
}

static Status sync_path(const char *path, int flags, Error *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | flags);

    if (file < 0)
        return folder_error(err, "open the copy");
    if (fsync(file))
        folder_error(err, "sync the copy");
    (void)close(file);
    return err->status;
}

/* What is committed at this moment, by a connection that cannot write. */
static Status copy_database(Backup *backup, Error *err)
{
    Connection *reader = reader_take(backup->original, err);

    if (!reader)
        return err->status;
    remove_database(backup);
    char *sql = sqlite3_mprintf("VACUUM INTO '%q'", backup->database);
    int code = sql ? sqlite3_exec(reader->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    if (code != SQLITE_OK)
        connection_error(reader, code, "could not copy the store", err);
    sqlite3_free(sql);
    reader_give(backup->original, reader);
    return err->status ? err->status : sync_path(backup->database, 0, err);
}

/* --- files --- */

/* Does the original still have the row? Then its file is missing there too, which the check of the
 * copy tells; else the copy of the database is too old. */
static void judge_missing(Backup *backup, WalkKind kind, const Walked *walked, Error *err)
{
    Connection *reader = NULL;

    if (err->status != STATUS_NOT_FOUND)
        return;
    *err = (Error){0};
    reader = reader_take(backup->original, err);
    if (!reader)
        return;
    backup->vanished += !walk_is_known(reader, kind, walked, err);
    reader_give(backup->original, reader);
}

static void copy_result(Backup *backup, const CheckedResult *result, Error *err)
{
    static const char *const name[] = {"frames", "measures.json"};
    Walked attempt = {.attempt = result->attempt};

    // a running attempt begins anew in the copy
    if (result->is_running || (!result->is_complete && result->size == 0))
        return;
    (void)snprintf(attempt.name, sizeof attempt.name, "%s", result->job);
    for (int i = 0; i < 2 && !err->status; i++) {
        Error missing = {0};

        if (!result_copy(backup->from, backup->to, &attempt, name[i], i == 0 ? result->size : -1,
                         &backup->counts, &missing))
            continue;
        // a bake that failed may have no measures
        if (i == 1 && !result->is_complete && missing.status == STATUS_NOT_FOUND)
            continue;
        judge_missing(backup, WALK_ATTEMPT, &attempt, &missing);
        *err = missing;
    }
}

static void copy_blobs(Backup *backup, Error *err)
{
    CheckedBlob page[PAGE];
    char after[SHA256_HEX_SIZE] = "";
    int count = 0;

    while ((count = check_read_blobs(backup->copy, after, page, PAGE, err)) > 0) {
        for (int i = 0; i < count && !err->status; i++) {
            Error missing = {0};
            Walked blob = {.attempt = 0};

            (void)snprintf(blob.name, sizeof blob.name, "%s", page[i].sha256);
            if (blob_copy(backup->from, backup->to, page[i].sha256, -1, &backup->counts, &missing))
                judge_missing(backup, WALK_BLOB, &blob, &missing);
            *err = missing;
        }
        memcpy(after, page[count - 1].sha256, sizeof after);
    }
}

static void copy_results(Backup *backup, Error *err)
{
    CheckedResult page[PAGE];
    int64_t after = 0;
    int count = 0;

    while ((count = check_read_results(backup->copy, after, page, PAGE, err)) > 0) {
        for (int i = 0; i < count && !err->status; i++)
            copy_result(backup, &page[i], err);
        after = page[count - 1].id;
    }
}

/* One copy of the database, and the files that it refers to. Those of an earlier try stay: each try
 * has less to do, and less time in which a file can vanish. */
static Status copy_once(Backup *backup, Error *err)
{
    backup->vanished = 0;
    backup->counts = (CopyCounts){.linked = backup->counts.linked};
    if (copy_database(backup, err) ||
        store_open_reading(backup->partial, backup->to, &backup->copy, err))
        return err->status;
    copy_blobs(backup, err);
    if (!err->status)
        copy_results(backup, err);
    store_close(backup->copy);
    backup->copy = NULL;
    return err->status;
}

/* --- the copy as a store --- */

static Status put_back_running(Store *store, Blobs *blobs, Error *err)
{
    CheckedResult page[PAGE];
    int64_t after = 0;
    int count = 0;

    while (!err->status && (count = check_read_results(store, after, page, PAGE, err)) > 0) {
        for (int i = 0; i < count && !err->status; i++)
            if (page[i].is_running && salvage_run(store, blobs, page[i].job, page[i].attempt, err))
                return err->status;
        after = page[count - 1].id;
    }
    return err->status;
}

/* Jobs that ran wait again, and what earlier tries have left goes. */
static Status settle(Backup *backup, Error *err)
{
    Store *store = NULL;
    int orphans = 0;

    if (!store_open(backup->partial, backup->to, &(StoreListener){0}, &store, err) &&
        !put_back_running(store, backup->to, err) &&
        salvage_orphans(store, backup->to, &orphans, err))
        error_context(err, "could not tidy the copy");
    store_close(store);
    return err->status;
}

static Status sync_folders(const Backup *backup, Error *err)
{
    const int folder[] = {backup->to->assets, backup->to->jobs, backup->to->root};

    for (size_t i = 0; i < sizeof folder / sizeof folder[0]; i++)
        if (fsync(folder[i]))
            return folder_error(err, "sync the copy");
    return STATUS_OK;
}

static Status make_copy(Backup *backup, BackupReport *report, Error *err)
{
    do {
        if (report->tries == TRIES)
            return error_set(err, STATUS_CONFLICT,
                             "too much is being deleted: %d copies were out of date", TRIES);
        report->tries++;
        if (copy_once(backup, err))
            return err->status;
    } while (backup->vanished > 0);
    if (settle(backup, err) || sync_folders(backup, err))
        return err->status;
    report->files = backup->counts.files;
    report->bytes = backup->counts.bytes;
    report->linked = backup->counts.linked;
    return STATUS_OK;
}

/* --- names --- */

/* DEST is not there, or an empty folder. */
static Status check_dest(const char *dest, Error *err)
{
    DIR *list = opendir(dest);
    bool is_empty = true;

    if (!list && errno == ENOENT)
        return STATUS_OK;
    if (!list)
        return folder_error(err, "open the folder of the copy");
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    for (struct dirent *entry = readdir(list); entry && is_empty; entry = readdir(list))
        is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(list);
    if (!is_empty)
        return error_set(err, STATUS_CONFLICT, "it is not empty");
    return STATUS_OK;
}

/* The name, durable: its folder is synced too. */
static Status give_name(const Backup *backup, const char *dest, Error *err)
{
    char parent[PATHS_MAX];

    if (rename(backup->partial, dest))
        return folder_error(err, "name the copy");
    (void)snprintf(parent, sizeof parent, "%s", dest);
    char *slash = strrchr(parent, '/');
    if (slash == parent)
        slash[1] = '\0';
    else if (slash)
        *slash = '\0';
    return sync_path(slash ? parent : ".", O_DIRECTORY, err);
}

static Status name_parts(Backup *backup, const char *dest, Error *err)
{
    size_t length = strlen(dest);

    while (length > 1 && dest[length - 1] == '/')
        length--;
    if (length == 0 || length > PATHS_MAX - sizeof ".partial")
        return error_set(err, STATUS_INVALID, "the name of the copy must have 1 to %d bytes",
                         PATHS_MAX - (int)sizeof ".partial");
    (void)snprintf(backup->partial, sizeof backup->partial, "%.*s.partial", (int)length, dest);
    (void)snprintf(backup->database, sizeof backup->database, "%s/store.sqlite", backup->partial);
    return STATUS_OK;
}

Status store_backup(const char *folder, const char *dest, BackupReport *report, Error *err)
{
    Backup *backup = calloc(1, sizeof *backup);

    if (!backup)
        return error_set(err, STATUS_NO_MEMORY, "could not begin the copy");
    *backup = (Backup){.folder = folder};
    if (check_dest(dest, err) || name_parts(backup, dest, err)) {
        error_context(err, "\"%s\"", dest);
    } else if (!blobs_open_as(folder, BLOBS_READ, &backup->from, err) &&
               !store_open_reading(folder, backup->from, &backup->original, err) &&
               !blobs_open(backup->partial, &backup->to, err)) {
        make_copy(backup, report, err);
    }
    store_close(backup->copy);
    store_close(backup->original);
    blobs_close(backup->from);
    blobs_close(backup->to);
    if (!err->status && !store_check(backup->partial, &report->check, err) &&
        give_name(backup, dest, err))
        error_context(err, "\"%s\"", dest);
    free(backup);
    return err->status;
}
