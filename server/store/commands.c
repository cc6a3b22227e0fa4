/* What each command does to the tables; all of it inside the writer's open transaction. */
#include "server/store/internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- events --- */

/* The job among those that the listener hears of. */
static void note_news(Store *store, const char *job, bool has_ended)
{
    for (int i = 0; i < store->news_count && i < NEWS_JOBS_MAX; i++) {
        if (strcmp(store->news_job[i], job) == 0) {
            store->news_ended[i] = has_ended;
            return;
        }
    }
    if (store->news_count < NEWS_JOBS_MAX) {
        (void)snprintf(store->news_job[store->news_count], STORE_ID_SIZE, "%s", job);
        store->news_ended[store->news_count] = has_ended;
    }
    store->news_count++;
}

static Status add_event(Store *store, const char *job, const char *kind, const char *data,
                        Error *err)
{
    Query query = query_begin(store->writer, QUERY_INSERT_EVENT);

    query_bind_text(&query, job);
    query_bind_text(&query, kind);
    query_bind_text(&query, data);
    query_bind_int(&query, time_now_ms());
    if (query_run(&query, NULL, err))
        return err->status;
    store->news_event = sqlite3_last_insert_rowid(store->writer->db);
    return STATUS_OK;
}

static Status add_state_event(Store *store, const char *job, JobState state, int attempt,
                              Error *err)
{
    char data[160];

    (void)snprintf(data, sizeof data, "{\"job\":\"%s\",\"state\":\"%s\",\"attempt\":%d}", job,
                   job_state_name(state), attempt);
    if (job_state_is_final(state) && delivery_add(store, job, state, err))
        return err->status;
    note_news(store, job, job_state_is_final(state));
    store->has_queued = store->has_queued || state == JOB_QUEUED;
    return add_event(store, job, "state", data, err);
}

/* --- files --- */

static Status doom(Store *store, const Doomed *file, Error *err)
{
    if (store->doomed_count == DOOMED_MAX)
        return error_set(err, STATUS_CONFLICT, "too much is being deleted at once, try again");
    store->doomed[store->doomed_count++] = *file;
    return STATUS_OK;
}

/* The result goes, with its files, when no job refers to it any more. */
static Status drop_result(Store *store, int64_t result, Error *err)
{
    Query query = query_begin(store->writer, QUERY_DELETE_RESULT);
    Doomed file = {.is_blob = false};
    bool was_last = false;

    if (result == 0) {
        query_end(&query);
        return STATUS_OK;
    }
    query_bind_int(&query, result);
    while (query_step(&query, err)) {
        was_last = true;
        query_copy(&query, 0, file.name, sizeof file.name);
        file.attempt = (int)query_int(&query, 1);
    }
    query_end(&query);
    if (err->status || !was_last)
        return err->status;
    return doom(store, &file, err);
}

/* --- assets --- */

static int64_t query_number(Query *query, Error *err)
{
    int64_t number = query_step(query, err) ? query_int(query, 0) : 0;

    query_end(query);
    return number;
}

/* Would the owner store more than it may? */
static Status check_owned_bytes(Store *store, const Command *command, Error *err)
{
    const Asset *asset = command->asset;
    Query query = query_begin(store->writer, QUERY_COUNT_OWNED_BYTES);

    query_bind_text(&query, asset->owner);
    int64_t stored = query_number(&query, err);
    if (!err->status && command->owner_bytes && stored + asset->size > command->owner_bytes)
        error_set(
            err, STATUS_LIMIT,
            "the token \"%s\" may store %lld MiB of files (upload-mib), it has %lld MiB, this "
            "one has %lld",
            asset->owner, (long long)command->owner_bytes >> 20, (long long)stored >> 20,
            (long long)asset->size >> 20);
    return err->status;
}

/* The same bytes have come again: they take the place of a file that was lost or cut. */
static Status restore_blob(Store *store, Upload *upload, Error *err)
{
    Error missing = {0};
    int file = -1;
    int64_t size = -1;

    if (!blob_open(store->blobs, upload->sha256, &file, &size, &missing))
        (void)close(file);
    return size == upload->size ? STATUS_OK : blob_publish(store->blobs, upload, err);
}

static Status touch_asset(Store *store, Command *command, Error *err)
{
    if (command->upload && restore_blob(store, command->upload, err))
        return err->status;
    Query query = query_begin(store->writer, QUERY_TOUCH_ASSET);

    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->id);
    return query_run(&query, NULL, err);
}

static Status insert_asset(Store *store, Command *command, Error *err)
{
    const Asset *asset = command->asset;

    if (check_owned_bytes(store, command, err))
        return err->status;
    Query query = query_begin(store->writer, QUERY_INSERT_ASSET);
    int changed = 0;

    query_bind_text(&query, asset_kind_name(asset->kind));
    query_bind_text(&query, asset->id);
    query_bind_text(&query, asset->name);
    query_bind_text(&query, asset->format);
    query_bind_text(&query, asset->sha256);
    query_bind_int(&query, asset->size);
    query_bind_double(&query, asset->unit);
    query_bind_int(&query, asset->is_z_up);
    query_bind_text(&query, asset->summary);
    query_bind_int(&query, asset->created);
    query_bind_text(&query, asset->owner);
    if (query_run(&query, &changed, err))
        return err->status;
    command->was_new = changed != 0;
    if (!command->was_new)
        return STATUS_OK;
    // on this thread, so that it cannot cross a removal of the same bytes
    if (blob_publish(store->blobs, command->upload, err))
        return err->status;
    char data[160];
    (void)snprintf(data, sizeof data, "{\"%s\":\"%s\"}", asset_kind_name(asset->kind), asset->id);
    return add_event(store, NULL, "asset", data, err);
}

static Status delete_asset_row(Store *store, const char *kind, const char *id, Error *err)
{
    Query query = query_begin(store->writer, QUERY_DELETE_ASSET);
    Doomed file = {.is_blob = true};

    query_bind_text(&query, kind);
    query_bind_text(&query, id);
    bool was_there = query_step(&query, err);
    if (was_there)
        query_copy(&query, 0, file.name, sizeof file.name);
    query_end(&query);
    if (err->status)
        return err->status;
    if (!was_there)
        return error_set(err, STATUS_NOT_FOUND, "there is no %s \"%s\"", kind, id);
    return doom(store, &file, err);
}

static Status delete_asset(Store *store, Command *command, Error *err)
{
    const char *kind = asset_kind_name(command->asset_kind);
    Query count = query_begin(store->writer, QUERY_COUNT_ASSET_JOBS);

    query_bind_text(&count, command->id);
    int64_t jobs = query_number(&count, err);
    if (err->status)
        return err->status;
    if (jobs > 0)
        return error_set(err, STATUS_CONFLICT,
                         "%s \"%s\" is used by %lld job%s: delete those first", kind, command->id,
                         (long long)jobs, jobs == 1 ? "" : "s");
    return delete_asset_row(store, kind, command->id, err);
}

/* --- taking jobs in --- */

/* A finished result of the same bake, 0 where there is none; what it says goes into the job. */
static int64_t find_result(Store *store, Job *job, char *reason, size_t size, Error *err)
{
    Query query = query_begin(store->writer, QUERY_FIND_RESULT_BY_KEY);
    int64_t result = 0;

    query_bind_text(&query, job->key);
    if (query_step(&query, err)) {
        result = query_int(&query, 0);
        job->frames = (int)query_int(&query, 1);
        job->passed = query_is_null(&query, 2) ? -1 : (int)query_int(&query, 2);
        query_copy(&query, 3, reason, size);
    }
    query_end(&query);
    return result;
}

/* May one more job wait, of all and of its owner? */
static Status check_queue(Store *store, const Command *command, Error *err)
{
    if (waiting_count(&store->waiting) >= command->max_queued)
        return error_set(err, STATUS_LIMIT, "%d jobs wait already", command->max_queued);
    if (!command->owner_queued)
        return STATUS_OK;
    Query own = query_begin(store->writer, QUERY_COUNT_QUEUED_OF_OWNER);
    query_bind_text(&own, command->job->owner);
    if (query_number(&own, err) >= command->owner_queued && !err->status)
        return error_set(err, STATUS_LIMIT, "%d jobs of the token \"%s\" wait already (queued)",
                         command->owner_queued, command->job->owner);
    return err->status;
}

/* The job's files are in use from now on. They were there when the job was read, and may have been
 * deleted since. */
static Status touch_assets(Store *store, const Job *job, Error *err)
{
    const char *const id[] = {job->model, job->animation};

    for (int i = 0; i < 2 && id[i][0]; i++) {
        Query query = query_begin(store->writer, QUERY_TOUCH_ASSET);
        int changed = 0;

        query_bind_int(&query, job->created);
        query_bind_text(&query, id[i]);
        if (query_run(&query, &changed, err))
            return err->status;
        if (changed == 0)
            return error_set(err, STATUS_INVALID, "the job names \"%s\", which does not exist",
                             id[i]);
    }
    return STATUS_OK;
}

static Status insert_row(Store *store, const Job *job, int64_t result, Error *err)
{
    Query query = query_begin(store->writer, QUERY_INSERT_JOB);
    bool is_cached = result != 0;

    query_bind_text(&query, job->id);
    query_bind_text(&query, job_state_name(is_cached ? JOB_DONE : JOB_QUEUED));
    query_bind_text(&query, job->name);
    query_bind_text(&query, job->model);
    query_bind_text(&query, job->animation[0] ? job->animation : NULL);
    query_bind_text(&query, job->key);
    query_bind_text(&query, job->body);
    query_bind_text(&query, job->canonical);
    query_bind_text(&query, job->tags);
    query_bind_int(&query, job->priority);
    query_bind_int(&query, is_cached);
    query_bind_int(&query, job->is_kept);
    query_bind_int(&query, job->frame_count);
    query_bind_int(&query, job->frames);
    query_bind_double(&query, is_cached ? 1.0 : 0.0);
    query_bind_int(&query, job->created);
    if (is_cached) {
        query_bind_int(&query, job->created);
        query_bind_int(&query, job->created);
    } else {
        query_bind_null(&query);
        query_bind_null(&query);
    }
    if (is_cached && job->passed >= 0)
        query_bind_int(&query, job->passed);
    else
        query_bind_null(&query);
    query_bind_text(&query, is_cached ? job->reason : "");
    if (is_cached)
        query_bind_int(&query, result);
    else
        query_bind_null(&query);
    query_bind_text(&query, job->idempotency_key[0] ? job->idempotency_key : NULL);
    query_bind_text(&query, job->body_sha256);
    query_bind_text(&query, job->used);
    query_bind_text(&query, job->owner);
    return query_run(&query, NULL, err);
}

/* Behind the job's row. */
static Status insert_tags(Store *store, const Command *command, Error *err)
{
    int64_t seq = sqlite3_last_insert_rowid(store->writer->db);

    for (int i = 0; i < command->tag_count; i++) {
        Query query = query_begin(store->writer, QUERY_INSERT_TAG);

        query_bind_text(&query, command->job->id);
        query_bind_text(&query, command->tag[i].key);
        query_bind_text(&query, command->tag[i].value);
        query_bind_int(&query, seq);
        if (query_run(&query, NULL, err))
            return err->status;
    }
    return STATUS_OK;
}

static Status insert_job(Store *store, Command *command, Error *err)
{
    Job job = *command->job;
    char reason[256] = "";
    int64_t result = command->use_cache ? find_result(store, &job, reason, sizeof reason, err) : 0;

    if (err->status)
        return err->status;
    if (!result && check_queue(store, command, err))
        return err->status;
    job.reason = reason;
    if (touch_assets(store, &job, err) || insert_row(store, &job, result, err) ||
        insert_tags(store, command, err) || (job.notify.url && notify_insert(store, &job, err)))
        return err->status;
    command->was_new = true;
    command->is_cached = result != 0;
    return add_state_event(store, job.id, result ? JOB_DONE : JOB_QUEUED, 0, err);
}

/* --- moves --- */

/* Why a move was refused: no such job, or one in another state. */
static Status refuse_move(Store *store, const char *id, const char *move, Error *err)
{
    Query query = query_begin(store->writer, QUERY_FIND_JOB);
    char state[16];

    query_bind_text(&query, id);
    if (query_step(&query, err)) {
        query_copy(&query, 2, state, sizeof state);
        error_set(err, STATUS_CONFLICT, "job %s is %s and cannot be %s", id, state, move);
    } else if (!err->status) {
        error_set(err, STATUS_NOT_FOUND, "there is no job \"%s\"", id);
    }
    query_end(&query);
    return err->status;
}

static Status cancel_job(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_CANCEL_QUEUED);
    int changed = 0;

    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->id);
    if (query_run(&query, &changed, err))
        return err->status;
    if (changed)
        return add_state_event(store, command->id, JOB_CANCELLED, 0, err);
    query = query_begin(store->writer, QUERY_CANCEL_RUNNING);
    query_bind_text(&query, command->id);
    while (query_step(&query, err)) {
        command->was_running = true;
        command->attempt = (int)query_int(&query, 0);
    }
    query_end(&query);
    if (err->status || command->was_running)
        return err->status;
    return refuse_move(store, command->id, "cancelled", err);
}

static Status retry_job(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_RETRY_JOB);
    int changed = 0;

    query_bind_text(&query, command->id);
    if (query_run(&query, &changed, err))
        return err->status;
    if (!changed)
        return refuse_move(store, command->id, "retried", err);
    return add_state_event(store, command->id, JOB_QUEUED, 0, err);
}

static Status delete_job_row(Store *store, const char *id, Error *err)
{
    Query query = query_begin(store->writer, QUERY_DELETE_JOB);
    int64_t result = 0;
    bool was_deleted = false;

    query_bind_text(&query, id);
    while (query_step(&query, err)) {
        was_deleted = true;
        result = query_int(&query, 0);
    }
    query_end(&query);
    if (err->status)
        return err->status;
    if (!was_deleted)
        return refuse_move(store, id, "deleted", err);
    query = query_begin(store->writer, QUERY_DELETE_JOB_EVENTS);
    query_bind_text(&query, id);
    if (query_run(&query, NULL, err) || drop_result(store, result, err))
        return err->status;
    char data[160];
    (void)snprintf(data, sizeof data, "{\"job\":\"%s\"}", id);
    note_news(store, id, true);
    return add_event(store, NULL, "deleted", data, err);
}

static Status delete_job(Store *store, Command *command, Error *err)
{
    return delete_job_row(store, command->id, err);
}

/* --- an attempt's life --- */

/* A new result for the attempt; the one before is dropped. */
static Status begin_result(Store *store, const Command *command, const char *key, int64_t before,
                           Error *err)
{
    Query query = query_begin(store->writer, QUERY_INSERT_RESULT);
    int64_t result = 0;

    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    query_bind_text(&query, key);
    query_bind_int(&query, time_now_ms());
    while (query_step(&query, err))
        result = query_int(&query, 0);
    query_end(&query);
    if (err->status)
        return err->status;
    query = query_begin(store->writer, QUERY_SET_RESULT);
    query_bind_int(&query, result);
    query_bind_text(&query, command->id);
    if (query_run(&query, NULL, err))
        return err->status;
    return drop_result(store, before, err);
}

static Status claim_job(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_CLAIM_JOB);
    char key[SHA256_HEX_SIZE];
    int64_t before = 0;
    bool was_claimed = false;

    query_bind_text(&query, command->owner);
    query_bind_int(&query, time_now_ms());
    while (query_step(&query, err)) {
        was_claimed = true;
        query_copy(&query, 0, command->id, sizeof command->id);
        command->attempt = (int)query_int(&query, 1);
        query_copy(&query, 2, key, sizeof key);
        before = query_int(&query, 3);
    }
    query_end(&query);
    if (err->status)
        return err->status;
    if (!was_claimed)
        return error_set(err, STATUS_NOT_FOUND, "no job waits");
    if (begin_result(store, command, key, before, err))
        return err->status;
    return add_state_event(store, command->id, JOB_RUNNING, command->attempt, err);
}

/* Is this attempt still the job's? A runner that was given up must not write. */
static Status check_attempt(Store *store, const Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_OWNS_ATTEMPT);

    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    bool is_owner = query_step(&query, err);
    query_end(&query);
    if (!err->status && !is_owner)
        return error_set(err, STATUS_CONFLICT, "attempt %d of job %s is over", command->attempt,
                         command->id);
    return err->status;
}

/* An event of which only the newest of its kind is kept a job. */
static Status add_passing_event(Store *store, const Command *command, const char *kind,
                                const char *data, Error *err)
{
    Query query = query_begin(store->writer, QUERY_DROP_OLD_PROGRESS);

    query_bind_text(&query, command->id);
    query_bind_text(&query, kind);
    if (query_run(&query, NULL, err))
        return err->status;
    note_news(store, command->id, false);
    return add_event(store, command->id, kind, data, err);
}

static Status note_progress(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_PROGRESS);
    int changed = 0;

    query_bind_int(&query, command->frames);
    query_bind_double(&query, command->progress);
    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    if (query_run(&query, &changed, err))
        return err->status;
    if (!changed)
        return check_attempt(store, command, err);
    return add_passing_event(store, command, "progress", command->data, err);
}

static Status note_event(Store *store, Command *command, Error *err)
{
    if (check_attempt(store, command, err))
        return err->status;
    if (command->measured) {
        Query query = query_begin(store->writer, QUERY_SET_MEASURED);

        query_bind_text(&query, command->measured);
        query_bind_text(&query, command->id);
        query_bind_int(&query, command->attempt);
        if (query_run(&query, NULL, err))
            return err->status;
    }
    return add_passing_event(store, command, command->event, command->data, err);
}

static Status insert_measures(Store *store, const Measures *measures, int64_t result, Error *err)
{
    for (int i = 0; measures && i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];
        Query query = query_begin(store->writer, QUERY_INSERT_MEASURE);

        query_bind_int(&query, result);
        query_bind_text(&query, row->name);
        query_bind_int(&query, row->simulation);
        query_bind_text(&query, row->target);
        if (row->is_missing)
            query_bind_null(&query);
        else
            query_bind_double(&query, row->value);
        query_bind_text(&query, row->unit);
        if (query_run(&query, NULL, err))
            return err->status;
    }
    return STATUS_OK;
}

static Status finish_result(Store *store, const Command *command, int64_t *out, Error *err)
{
    const JobEnd *end = command->end;
    Query query = query_begin(store->writer, QUERY_FINISH_RESULT);

    query_bind_int(&query, end->state == JOB_DONE);
    query_bind_int(&query, end->frames);
    query_bind_int(&query, end->size);
    query_bind_text(&query, end->sha256);
    query_bind_double(&query, end->seconds);
    query_bind_double(&query, end->simulated);
    query_bind_text(&query, end->key);
    query_bind_text(&query, end->measured ? end->measured : "");
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    while (query_step(&query, err))
        *out = query_int(&query, 0);
    query_end(&query);
    return err->status;
}

static Status finish_job(Store *store, Command *command, Error *err)
{
    const JobEnd *end = command->end;
    Query query = query_begin(store->writer, QUERY_FINISH_JOB);
    int changed = 0;
    int64_t result = 0;

    query_bind_text(&query, job_state_name(end->state));
    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, end->error_status);
    query_bind_text(&query, end->error);
    query_bind_int(&query, end->frames);
    if (end->passed >= 0)
        query_bind_int(&query, end->passed);
    else
        query_bind_null(&query);
    query_bind_text(&query, end->reason);
    query_bind_text(&query, end->key);
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    if (query_run(&query, &changed, err))
        return err->status;
    if (!changed)
        return error_set(err, STATUS_CONFLICT, "attempt %d of job %s is over", command->attempt,
                         command->id);
    if (finish_result(store, command, &result, err) ||
        insert_measures(store, end->measures, result, err))
        return err->status;
    return add_state_event(store, command->id, end->state, command->attempt, err);
}

static Status release_job(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_RELEASE_JOB);
    char state[16] = "";

    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    while (query_step(&query, err))
        query_copy(&query, 0, state, sizeof state);
    query_end(&query);
    if (err->status || !state[0])
        return err->status;
    return add_state_event(store, command->id, job_state_find(state), command->attempt, err);
}

static Status beat(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_HEARTBEAT);

    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->owner);
    query_bind_text(&query, command->data);
    return query_run(&query, &command->count, err);
}

enum { SWEEP_MAX = 256 }; /* no server runs more jobs at once */

typedef struct Swept {
    char id[STORE_ID_SIZE];
    char state[16];
    int attempt;
} Swept;

static Status sweep(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_SWEEP);
    int64_t now = time_now_ms();
    Swept swept[SWEEP_MAX];
    int count = 0;

    query_bind_int(&query, JOB_CRASHES_MAX);
    query_bind_int(&query, now);
    query_bind_text(&query, command->owner);
    query_bind_int(&query, now - command->age);
    for (; query_step(&query, err); count++) {
        if (count >= SWEEP_MAX)
            continue;
        query_copy(&query, 0, swept[count].id, sizeof swept[count].id);
        query_copy(&query, 1, swept[count].state, sizeof swept[count].state);
        swept[count].attempt = (int)query_int(&query, 2);
    }
    query_end(&query);
    command->count = count;
    for (int i = 0; i < count && i < SWEEP_MAX && !err->status; i++)
        add_state_event(store, swept[i].id, job_state_find(swept[i].state), swept[i].attempt, err);
    return err->status;
}

static Status update_result(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_UPDATE_RESULT);

    query_bind_int(&query, command->size);
    query_bind_int(&query, command->frames);
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    return query_run(&query, NULL, err);
}

/* --- retention and settings --- */

/* Rows to delete: read first, then deleted, for a statement must not see its own table change. */
typedef struct OldRows {
    int count;
    char kind[RETENTION_CHUNK][16];
    char id[RETENTION_CHUNK][STORE_ID_SIZE];
} OldRows;

static OldRows list_old(Store *store, QueryKind kind, int64_t before, Error *err)
{
    Query query = query_begin(store->writer, kind);
    OldRows old = {0};
    int id = kind == QUERY_LIST_UNUSED_ASSETS ? 1 : 0;

    query_bind_int(&query, before);
    query_bind_int(&query, RETENTION_CHUNK);
    while (old.count < RETENTION_CHUNK && query_step(&query, err)) {
        query_copy(&query, 0, old.kind[old.count], sizeof old.kind[0]);
        query_copy(&query, id, old.id[old.count++], sizeof old.id[0]);
    }
    query_end(&query);
    return old;
}

static Status prune(Store *store, Command *command, Error *err)
{
    const Retention *retention = &command->retention;
    Query events = query_begin(store->writer, QUERY_PRUNE_EVENTS);

    blobs_prune(store->blobs, retention->uploads_before, retention->cache_before);
    query_bind_int(&events, retention->events_before);
    if (query_run(&events, NULL, err))
        return err->status;
    OldRows jobs = list_old(store, QUERY_LIST_OLD_JOBS, retention->jobs_before, err);
    for (int i = 0; i < jobs.count && !err->status; i++)
        delete_job_row(store, jobs.id[i], err);
    if (err->status)
        return err->status;
    OldRows assets = list_old(store, QUERY_LIST_UNUSED_ASSETS, retention->assets_before, err);
    for (int i = 0; i < assets.count && !err->status; i++)
        delete_asset_row(store, assets.kind[i], assets.id[i], err);
    command->count = jobs.count > assets.count ? jobs.count : assets.count;
    return err->status;
}

static Status set(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_SET);
    char data[256];

    query_bind_text(&query, command->name);
    query_bind_text(&query, command->data);
    if (query_run(&query, NULL, err))
        return err->status;
    (void)snprintf(data, sizeof data, "{\"%s\":%s}", command->name, command->data);
    return add_event(store, NULL, "setting", data, err);
}

/* Whoever has the result fails. Beyond SWEEP_MAX jobs there is no event for each: nobody follows a
 * store that is being repaired. */
static Status fail_broken(Store *store, Command *command, int64_t result, Error *err)
{
    Query query = query_begin(store->writer, QUERY_FAIL_BROKEN);
    Swept failed[SWEEP_MAX];
    int count = 0;

    query_bind_text(&query, command->data);
    query_bind_int(&query, result);
    for (; query_step(&query, err); count++) {
        if (count >= SWEEP_MAX)
            continue;
        query_copy(&query, 0, failed[count].id, sizeof failed[count].id);
        failed[count].attempt = (int)query_int(&query, 1);
    }
    query_end(&query);
    command->count = count;
    for (int i = 0; i < count && i < SWEEP_MAX && !err->status; i++)
        add_state_event(store, failed[i].id, JOB_FAILED, failed[i].attempt, err);
    return err->status;
}

static Status break_result(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_BREAK_RESULT);
    int64_t result = 0;

    query_bind_int(&query, command->size);
    query_bind_int(&query, command->frames);
    query_bind_text(&query, command->id);
    query_bind_int(&query, command->attempt);
    while (query_step(&query, err))
        result = query_int(&query, 0);
    query_end(&query);
    return err->status ? err->status : fail_broken(store, command, result, err);
}

void command_run(Store *store, Command *command)
{
    static Status (*const run[COMMAND_KIND_COUNT])(Store *, Command *, Error *) = {
        [COMMAND_INSERT_ASSET] = insert_asset,
        [COMMAND_TOUCH_ASSET] = touch_asset,
        [COMMAND_DELETE_ASSET] = delete_asset,
        [COMMAND_INSERT_JOB] = insert_job,
        [COMMAND_CANCEL_JOB] = cancel_job,
        [COMMAND_RETRY_JOB] = retry_job,
        [COMMAND_DELETE_JOB] = delete_job,
        [COMMAND_CLAIM_JOB] = claim_job,
        [COMMAND_PROGRESS] = note_progress,
        [COMMAND_EVENT] = note_event,
        [COMMAND_FINISH_JOB] = finish_job,
        [COMMAND_RELEASE_JOB] = release_job,
        [COMMAND_HEARTBEAT] = beat,
        [COMMAND_SWEEP] = sweep,
        [COMMAND_UPDATE_RESULT] = update_result,
        [COMMAND_PRUNE] = prune,
        [COMMAND_SETTLE_DELIVERY] = delivery_settle,
        [COMMAND_DELIVER_AGAIN] = delivery_again,
        [COMMAND_SET] = set,
        [COMMAND_BREAK_RESULT] = break_result,
    };

    run[command->kind](store, command, &command->err);
}
