#include "server/store/check.h"

#include "server/store/check_files.h"
#include "server/store/internal.h"
#include "server/store/salvage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PAGE = 64,        /* rows that are read at once */
    LOOKS = 10,       /* at a thing without a row, beside a server ... */
    LOOK_US = 200000, /* ... with so much time between ... */
    LOOKS_MAX = 200   /* ... and so many at all of them */
};

/* One pass over a store. */
typedef struct Check {
    Store *store;
    Blobs *blobs;
    CheckReport *report;
    bool is_repairing;
    int looks; /* that had to be waited for */
} Check;

static const struct {
    const char *name, *remedy;
} about[FINDING_KIND_COUNT] = {
    [FINDING_DATABASE] = {"database.damaged", "nothing: restore a backup"},
    [FINDING_REFERENCE] = {"database.reference", "nothing: restore a backup"},
    [FINDING_BLOB_MISSING] = {"blob.missing", "nothing: upload the same file again"},
    [FINDING_BLOB_DAMAGED] = {"blob.damaged",
                              "set the file aside; then upload the same file again"},
    [FINDING_FRAMES_MISSING] = {"frames.missing", "fail its jobs, which can be retried then"},
    [FINDING_FRAMES_DAMAGED] = {"frames.damaged", "fail its jobs, which can be retried then"},
    [FINDING_FRAMES_SHORT] = {"frames.short", "note what is left"},
    [FINDING_MEASURES] = {"measures.damaged", "write them again from the frames"},
    [FINDING_RUNNING] = {"job.running", "put the job back into the queue"},
    [FINDING_ORPHAN_BLOB] = {"orphan.blob", "remove the file"},
    [FINDING_ORPHAN_ATTEMPT] = {"orphan.attempt", "remove the folder"},
    [FINDING_TEMPORARY] = {"orphan.upload", "remove the file"},
};

const char *finding_name(FindingKind kind)
{
    return about[kind].name;
}

const char *finding_remedy(FindingKind kind)
{
    return about[kind].remedy;
}

static void add_finding(CheckReport *report, const Finding *finding)
{
    if (report->count < report->capacity)
        report->finding[report->count] = *finding;
    report->count++;
    report->left += !finding->is_repaired;
}

/* --- the database --- */

/* Rows that say what is wrong; "ok" is none. SQLite gives up on a page that it cannot read at all:
 * that is a finding too. */
static void check_database(Check *check, Connection *reader, QueryKind kind)
{
    bool is_pages = kind == QUERY_CHECK_PAGES;
    Query query = query_begin(reader, kind);
    Finding finding = {.kind = is_pages ? FINDING_DATABASE : FINDING_REFERENCE};
    Error err = {0};

    while (query_step(&query, &err)) {
        char text[160];

        query_copy(&query, 0, text, sizeof text);
        if (is_pages && strcmp(text, "ok") == 0)
            continue;
        (void)snprintf(finding.subject, sizeof finding.subject, "%s",
                       is_pages ? "store.sqlite" : text);
        if (is_pages)
            (void)snprintf(finding.detail, sizeof finding.detail, "%s", text);
        else
            (void)snprintf(finding.detail, sizeof finding.detail,
                           "row %lld refers to a row that is not there",
                           (long long)query_int(&query, 1));
        add_finding(check->report, &finding);
    }
    query_end(&query);
    if (!err.status)
        return;
    finding.kind = FINDING_DATABASE;
    (void)snprintf(finding.subject, sizeof finding.subject, "store.sqlite");
    (void)snprintf(finding.detail, sizeof finding.detail, "%.180s", err.message);
    add_finding(check->report, &finding);
}

/* --- published files --- */

int check_read_blobs(Store *store, const char *after, CheckedBlob *out, int limit, Error *err)
{
    Connection *reader = reader_take(store, err);
    int count = 0;

    if (!reader)
        return 0;
    Query query = query_begin(reader, QUERY_CHECK_BLOBS);
    query_bind_text(&query, after);
    query_bind_int(&query, limit);
    for (; count < limit && query_step(&query, err); count++) {
        query_copy(&query, 0, out[count].sha256, sizeof out[count].sha256);
        out[count].size = query_int(&query, 1);
        query_copy(&query, 2, out[count].id, sizeof out[count].id);
    }
    query_end(&query);
    reader_give(store, reader);
    return err->status ? 0 : count;
}

/* Does a row still know it? What cannot be asked is taken as known. */
static bool is_known(Store *store, WalkKind kind, const char *name, int attempt)
{
    Error err = {0};
    Walked walked = {.attempt = attempt};
    Connection *reader = reader_take(store, &err);

    if (!reader)
        return true;
    (void)snprintf(walked.name, sizeof walked.name, "%s", name);
    bool is_known = walk_is_known(reader, kind, &walked, &err);
    reader_give(store, reader);
    return is_known || err.status;
}

static void check_one_blob(Check *check, const CheckedBlob *blob)
{
    Finding finding = {0};
    FileState state = check_blob(check->blobs, blob->sha256, blob->size, finding.detail,
                                 sizeof finding.detail, &check->report->bytes);

    check->report->blobs++;
    // it may have been deleted since the row was read
    if (state == FILE_GOOD || !is_known(check->store, WALK_BLOB, blob->sha256, 0))
        return;
    finding.kind = state == FILE_MISSING ? FINDING_BLOB_MISSING : FINDING_BLOB_DAMAGED;
    (void)snprintf(finding.subject, sizeof finding.subject, "%s", blob->id);
    // setting it aside is not having it: the file is still wanted
    if (check->is_repairing && state == FILE_DAMAGED)
        blob_set_aside(check->blobs, blob->sha256);
    add_finding(check->report, &finding);
}

static void check_blobs(Check *check, Error *err)
{
    CheckedBlob page[PAGE];
    char after[SHA256_HEX_SIZE] = "";
    int count = 0;

    while ((count = check_read_blobs(check->store, after, page, PAGE, err)) > 0) {
        for (int i = 0; i < count; i++)
            check_one_blob(check, &page[i]);
        memcpy(after, page[count - 1].sha256, sizeof after);
    }
}

/* --- results --- */

int check_read_results(Store *store, int64_t after, CheckedResult *out, int limit, Error *err)
{
    Connection *reader = reader_take(store, err);
    int count = 0;

    if (!reader)
        return 0;
    Query query = query_begin(reader, QUERY_CHECK_RESULTS);
    query_bind_int(&query, after);
    query_bind_int(&query, limit);
    for (; count < limit && query_step(&query, err); count++) {
        CheckedResult *result = &out[count];

        *result = (CheckedResult){.id = query_int(&query, 0),
                                  .attempt = (int)query_int(&query, 2),
                                  .is_complete = query_int(&query, 3) != 0,
                                  .frames = (int)query_int(&query, 4),
                                  .size = query_int(&query, 5),
                                  .is_running = query_int(&query, 7) != 0};
        query_copy(&query, 1, result->job, sizeof result->job);
        query_copy(&query, 6, result->sha256, sizeof result->sha256);
    }
    query_end(&query);
    reader_give(store, reader);
    return err->status ? 0 : count;
}

/* Fails the jobs of a result that is lost. What is left of its frames stays readable. */
static Status break_result(Check *check, const CheckedResult *result, FindingKind kind)
{
    Error err = {0};
    FrameRemains remains;
    Command command = {.kind = COMMAND_BREAK_RESULT,
                       .attempt = result->attempt,
                       .data = kind == FINDING_FRAMES_MISSING
                                   ? "the frames of this job are lost: retry it"
                                   : "the frames of this job are damaged: retry it"};

    salvage_measure(check->blobs, result->job, result->attempt, &remains);
    (void)snprintf(command.id, sizeof command.id, "%s", result->job);
    command.size = remains.size;
    command.frames = remains.frames;
    return store_execute(check->store, &command, &err);
}

static Status note_remains(Check *check, const CheckedResult *result)
{
    Error err = {0};
    FrameRemains remains;
    Command command = {.kind = COMMAND_UPDATE_RESULT, .attempt = result->attempt};

    salvage_measure(check->blobs, result->job, result->attempt, &remains);
    (void)snprintf(command.id, sizeof command.id, "%s", result->job);
    command.size = remains.size < result->size ? remains.size : result->size;
    command.frames = remains.frames;
    return store_execute(check->store, &command, &err);
}

static bool repair_result(Check *check, const CheckedResult *result, FindingKind kind)
{
    Error err = {0};

    switch (kind) {
    case FINDING_FRAMES_MISSING:
    case FINDING_FRAMES_DAMAGED:
        return break_result(check, result, kind) == STATUS_OK;
    case FINDING_FRAMES_SHORT:
        return note_remains(check, result) == STATUS_OK;
    case FINDING_MEASURES:
        return restore_measures(check->blobs, result, &err) == STATUS_OK;
    case FINDING_RUNNING:
        return salvage_run(check->store, check->blobs, result->job, result->attempt, &err) ==
               STATUS_OK;
    default:
        return false;
    }
}

static void add_result_finding(Check *check, const CheckedResult *result, Finding *finding)
{
    // it may have been dropped since the row was read
    if (!is_known(check->store, WALK_ATTEMPT, result->job, result->attempt))
        return;
    (void)snprintf(finding->subject, sizeof finding->subject, "%s attempt %d", result->job,
                   result->attempt);
    finding->is_repaired = check->is_repairing && repair_result(check, result, finding->kind);
    add_finding(check->report, finding);
}

static void check_result(Check *check, const CheckedResult *result)
{
    Finding finding = {0};
    FileState state = FILE_GOOD;

    check->report->results++;
    if (result->is_running) {
        finding.kind = FINDING_RUNNING;
        (void)snprintf(finding.detail, sizeof finding.detail, "no server runs this job");
        if (!check->report->has_server)
            add_result_finding(check, result, &finding);
        return;
    }
    state = check_frames(check->blobs, result, finding.detail, sizeof finding.detail,
                         &check->report->bytes);
    if (state == FILE_GOOD) {
        state = check_measures(check->blobs, result, finding.detail, sizeof finding.detail);
        finding.kind = FINDING_MEASURES;
    } else if (!result->is_complete) {
        finding.kind = FINDING_FRAMES_SHORT;
    } else {
        finding.kind = state == FILE_MISSING ? FINDING_FRAMES_MISSING : FINDING_FRAMES_DAMAGED;
    }
    if (state != FILE_GOOD)
        add_result_finding(check, result, &finding);
}

static void check_results(Check *check, Error *err)
{
    CheckedResult page[PAGE];
    int64_t after = 0;
    int count = 0;

    while ((count = check_read_results(check->store, after, page, PAGE, err)) > 0) {
        for (int i = 0; i < count; i++)
            check_result(check, &page[i]);
        after = page[count - 1].id;
    }
}

/* --- what no row knows --- */

/* Beside a server a file may be a moment older than its row, or a moment younger than the row's
 * end: only what stays without a row is one. */
static bool stays_unknown(Check *check, WalkKind kind, const Walked *walked)
{
    if (kind == WALK_TEMPORARY || kind == WALK_UNPAIRED)
        return true;
    bool may_wait = check->report->has_server && check->looks < LOOKS_MAX;
    for (int look = 0; look < (may_wait ? LOOKS : 1); look++) {
        if (look > 0) {
            check->looks++;
            (void)usleep(LOOK_US);
        }
        if (is_known(check->store, kind, walked->name, walked->attempt) ||
            !walk_finds(check->blobs, kind, walked))
            return false;
    }
    return true;
}

static void check_orphans(Check *check, WalkKind kind, Error *err)
{
    static const FindingKind finding_kind[] = {[WALK_TEMPORARY] = FINDING_TEMPORARY,
                                               [WALK_UNPAIRED] = FINDING_TEMPORARY,
                                               [WALK_BLOB] = FINDING_ORPHAN_BLOB,
                                               [WALK_ATTEMPT] = FINDING_ORPHAN_ATTEMPT};
    Walk walk;
    Walked walked;

    if (err->status || walk_open(check->blobs, kind, &walk, err))
        return;
    while (walk_next(&walk, &walked)) {
        Finding finding = {.kind = finding_kind[kind]};

        if (!stays_unknown(check, kind, &walked))
            continue;
        (void)snprintf(finding.subject, sizeof finding.subject, "%s", walked.name);
        if (walked.attempt)
            (void)snprintf(finding.subject, sizeof finding.subject, "%.40s attempt %d", walked.name,
                           walked.attempt);
        (void)snprintf(finding.detail, sizeof finding.detail, "%s",
                       finding.kind == FINDING_TEMPORARY ? "no server continues this upload"
                                                         : "the store has no row for it");
        if (check->is_repairing) {
            walk_remove(check->blobs, kind, &walked);
            finding.is_repaired = !walk_finds(check->blobs, kind, &walked);
        }
        add_finding(check->report, &finding);
    }
    walk_close(&walk);
}

/* --- all of it --- */

static Status check_all(Check *check, Error *err)
{
    Connection *reader = reader_take(check->store, err);

    if (!reader)
        return err->status;
    check_database(check, reader, QUERY_CHECK_PAGES);
    bool is_readable = check->report->count == 0;
    if (is_readable)
        check_database(check, reader, QUERY_CHECK_REFERENCES);
    reader_give(check->store, reader);
    // rows of a damaged database prove nothing about the files
    if (!is_readable)
        return STATUS_OK;
    check_blobs(check, err);
    if (!err->status)
        check_results(check, err);
    check_orphans(check, WALK_BLOB, err);
    check_orphans(check, WALK_ATTEMPT, err);
    if (!check->report->has_server) {
        check_orphans(check, WALK_TEMPORARY, err);
        check_orphans(check, WALK_UNPAIRED, err);
    }
    return err->status;
}

/* A pass beside a server or without one; what the report had before is forgotten. */
static Status check_once(const char *folder, Blobs *blobs, CheckReport *report, Error *err)
{
    Check check = {.blobs = blobs, .report = report};

    *report = (CheckReport){.capacity = report->capacity, .finding = report->finding};
    report->has_server = blobs_are_locked(blobs);
    if (!store_open_reading(folder, blobs, &check.store, err))
        check_all(&check, err);
    store_close(check.store);
    return err->status;
}

Status store_check(const char *folder, CheckReport *report, Error *err)
{
    Blobs *blobs = NULL;

    if (blobs_open_as(folder, BLOBS_READ, &blobs, err))
        return err->status;
    check_once(folder, blobs, report, err);
    // a server that started meanwhile has made its own
    if (!err->status && !report->has_server && report->count > 0 && blobs_are_locked(blobs))
        check_once(folder, blobs, report, err);
    blobs_close(blobs);
    return err->status;
}

Status store_repair(const char *folder, CheckReport *report, Error *err)
{
    Check check = {.report = report, .is_repairing = true};

    *report = (CheckReport){.capacity = report->capacity, .finding = report->finding};
    if (!blobs_open_as(folder, BLOBS_REPAIR, &check.blobs, err) &&
        !store_open(folder, check.blobs, &(StoreListener){0}, &check.store, err))
        check_all(&check, err);
    store_close(check.store);
    blobs_close(check.blobs);
    return err->status;
}
