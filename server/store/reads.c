/* Reading: every function takes a read-only connection, copies the rows, and gives it back. */
#include "server/store/internal.h"

#include <string.h>

const char *asset_kind_name(AssetKind kind)
{
    return kind == ASSET_MODEL ? "model" : "animation";
}

/* --- assets --- */

static void read_asset(const Query *query, Arena *arena, Asset *out)
{
    *out = (Asset){
        .seq = query_int(query, 0),
        .kind = strcmp(query_text(query, 1, arena), "model") == 0 ? ASSET_MODEL : ASSET_ANIMATION,
        .id = query_text(query, 2, arena),
        .name = query_text(query, 3, arena),
        .format = query_text(query, 4, arena),
        .sha256 = query_text(query, 5, arena),
        .size = query_int(query, 6),
        .unit = query_double(query, 7),
        .is_z_up = query_int(query, 8) != 0,
        .created = query_int(query, 9),
        .owner = query_text(query, 10, arena),
        .summary = query_text(query, 11, arena),
    };
}

/* One row was asked for: give the connection back and say how it went. */
static Status end_find(Store *store, Query *query, bool was_found, const Arena *arena, Error *err)
{
    Connection *connection = query->connection;

    query_end(query);
    reader_give(store, connection);
    if (err->status)
        return err->status;
    if (!was_found)
        return error_set(err, STATUS_NOT_FOUND, "not found");
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for a row of the store");
    return STATUS_OK;
}

Status store_find_asset(Store *store, AssetKind kind, const char *id, Arena *arena, Asset *out,
                        Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_FIND_ASSET);
    query_bind_text(&query, asset_kind_name(kind));
    query_bind_text(&query, id);
    bool was_found = query_step(&query, err);
    if (was_found)
        read_asset(&query, arena, out);
    if (end_find(store, &query, was_found, arena, err) == STATUS_NOT_FOUND)
        error_set(err, STATUS_NOT_FOUND, "there is no %s \"%s\"", asset_kind_name(kind), id);
    return err->status;
}

/* Lists end alike. */
static Status end_list(Store *store, Query *query, const Arena *arena, Error *err)
{
    Error ignored = {0};
    Status status = end_find(store, query, true, arena, err->status ? &ignored : err);

    return err->status ? err->status : status;
}

Status store_list_assets(Store *store, AssetKind kind, int64_t before, int limit, Arena *arena,
                         AssetList *out, Error *err)
{
    AssetList list = {.asset = arena_array(arena, Asset, limit)};
    Connection *connection = list.asset ? reader_take(store, err) : NULL;

    if (!connection)
        return err->status ? err->status
                           : error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", limit);
    Query query = query_begin(connection, QUERY_LIST_ASSETS);
    query_bind_text(&query, asset_kind_name(kind));
    query_bind_int(&query, before > 0 ? before : INT64_MAX);
    query_bind_int(&query, limit);
    while (list.count < limit && query_step(&query, err))
        read_asset(&query, arena, &list.asset[list.count++]);
    *out = list;
    return end_list(store, &query, arena, err);
}

/* --- jobs --- */

void store_read_job(Store *store, const Query *query, Arena *arena, Job *out)
{
    char state[16];

    query_copy(query, 2, state, sizeof state);
    *out = (Job){
        .seq = query_int(query, 0),
        .id = query_text(query, 1, arena),
        .state = job_state_find(state),
        .name = query_text(query, 3, arena),
        .model = query_text(query, 4, arena),
        .animation = query_text(query, 5, arena),
        .key = query_text(query, 6, arena),
        .tags = query_text(query, 7, arena),
        .priority = (int)query_int(query, 8),
        .is_cached = query_int(query, 9) != 0,
        .is_kept = query_int(query, 10) != 0,
        .attempt = (int)query_int(query, 11),
        .crashes = (int)query_int(query, 12),
        .is_cancelling = query_int(query, 13) != 0,
        .heartbeat = query_int(query, 14),
        .frame_count = (int)query_int(query, 15),
        .frames = (int)query_int(query, 16),
        .progress = query_double(query, 17),
        .created = query_int(query, 18),
        .started = query_int(query, 19),
        .finished = query_int(query, 20),
        .error_status = query_text(query, 21, arena),
        .error = query_text(query, 22, arena),
        .passed = query_is_null(query, 23) ? -1 : (int)query_int(query, 23),
        .reason = query_text(query, 24, arena),
        .result_job = query_text(query, 25, arena),
        .result_attempt = (int)query_int(query, 26),
        .is_complete = query_int(query, 27) != 0,
        .result_size = query_int(query, 28),
        .result_sha256 = query_text(query, 29, arena),
        .seconds = query_double(query, 30),
        .simulated = query_double(query, 31),
        .body_sha256 = query_text(query, 32, arena),
        .measured = query_text(query, 33, arena),
        .owner = query_text(query, 34, arena),
        .body = query_text(query, 35, arena),
        .canonical = query_text(query, 36, arena),
        .used = query_text(query, 37, arena),
        .idempotency_key = "",
    };
    if (out->state == JOB_QUEUED)
        out->position = waiting_position(&store->waiting, out->priority, out->seq);
}

/* `owner` NULL: the statement has no such parameter. */
static Status find_job_by(Store *store, QueryKind kind, const char *owner, const char *value,
                          Arena *arena, Job *out, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, kind);
    if (owner)
        query_bind_text(&query, owner);
    query_bind_text(&query, value);
    bool was_found = query_step(&query, err);
    if (was_found)
        store_read_job(store, &query, arena, out);
    return end_find(store, &query, was_found, arena, err);
}

static Status find_notify(Store *store, const char *id, Arena *arena, Job *job, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    notify_read(connection, id, arena, &job->notify, err);
    reader_give(store, connection);
    if (!err->status && arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for a row of the store");
    return err->status;
}

Status store_find_job(Store *store, const char *id, Arena *arena, Job *out, Error *err)
{
    if (find_job_by(store, QUERY_FIND_JOB, NULL, id, arena, out, err) == STATUS_NOT_FOUND)
        error_set(err, STATUS_NOT_FOUND, "there is no job \"%s\"", id);
    return err->status ? err->status : find_notify(store, id, arena, out, err);
}

Status store_find_job_by_idempotency(Store *store, const char *owner, const char *key, Arena *arena,
                                     Job *out, Error *err)
{
    return find_job_by(store, QUERY_FIND_JOB_BY_IDEMPOTENCY, owner, key, arena, out, err);
}

static void bind_tags(Query *query, const JobTagRow *tag, int count)
{
    for (int i = 0; i < JOB_FILTER_TAGS; i++) {
        query_bind_text(query, i < count ? tag[i].key : NULL);
        query_bind_text(query, i < count ? tag[i].value : NULL);
    }
}

/* --- lists of jobs ---
 *
 * Each filter has an index in the order of `seq`. They take turns to seek the newest row before the
 * others' last one, until all are at the same: what lies between is never looked at. */

typedef struct Way {
    QueryKind seek;
    const char *value, *second; /* NULL: the statement has none */
} Way;

enum { WAYS_MAX = 3 + JOB_FILTER_TAGS };

static int list_ways(const JobFilter *filter, Way *out)
{
    int count = 0;

    if (filter->state)
        out[count++] = (Way){QUERY_SEEK_STATE, filter->state, NULL};
    if (filter->model)
        out[count++] = (Way){QUERY_SEEK_MODEL, filter->model, NULL};
    if (filter->owner)
        out[count++] = (Way){QUERY_SEEK_OWNER, filter->owner, NULL};
    for (int i = 0; i < filter->tag_count && i < JOB_FILTER_TAGS; i++)
        out[count++] = (Way){QUERY_SEEK_TAG, filter->tag[i].key, filter->tag[i].value};
    if (count == 0)
        out[count++] = (Way){QUERY_SEEK_JOB, NULL, NULL};
    return count;
}

/* The newest before `before`, 0 where there is none. */
static int64_t seek(Connection *connection, const Way *way, int64_t before, Error *err)
{
    Query query = query_begin(connection, way->seek);

    if (way->value)
        query_bind_text(&query, way->value);
    if (way->second)
        query_bind_text(&query, way->second);
    query_bind_int(&query, before);
    int64_t seq = query_step(&query, err) ? query_int(&query, 0) : 0;
    query_end(&query);
    return seq;
}

static int64_t seek_all(Connection *connection, const Way *way, int count, int64_t before,
                        Error *err)
{
    int64_t seq = seek(connection, &way[0], before, err);

    for (int i = 1, agreed = 1; seq > 0 && agreed < count; i++) {
        int64_t found = seek(connection, &way[i % count], seq + 1, err);

        agreed = found == seq ? agreed + 1 : 1;
        seq = found;
    }
    return seq;
}

/* The end of a look. SQLite has ended one already whose memory ran out, perhaps in the middle of a
 * text that then reads as none. */
static void end_look(Connection *connection, Error *err)
{
    Error ended = {0};

    if (!sqlite3_get_autocommit(connection->db)) {
        Query look = query_begin(connection, QUERY_COMMIT);
        query_run(&look, NULL, err->status ? &ended : err);
    } else if (!err->status) {
        error_set(err, STATUS_NO_MEMORY, "no room to read the store");
    }
}

Status store_list_jobs(Store *store, const JobFilter *filter, Arena *arena, JobList *out,
                       Error *err)
{
    JobList list = {.job = arena_array(arena, Job, filter->limit)};
    Connection *connection = list.job ? reader_take(store, err) : NULL;
    int64_t before = filter->before > 0 ? filter->before : INT64_MAX;
    Way way[WAYS_MAX];
    int count = list_ways(filter, way);

    if (!connection)
        return err->status
                   ? err->status
                   : error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", filter->limit);
    // one look at the store for all the statements
    Query look = query_begin(connection, QUERY_BEGIN_READING);
    query_run(&look, NULL, err);
    while (list.count < filter->limit && before > 0 && !err->status) {
        before = seek_all(connection, way, count, before, err);
        Query query = query_begin(connection, QUERY_JOB_AT);
        query_bind_int(&query, before);
        if (query_step(&query, err)) // else none is left
            store_read_job(store, &query, arena, &list.job[list.count++]);
        query_end(&query);
    }
    end_look(connection, err);
    *out = list;
    reader_give(store, connection);
    if (!err->status && arena->overflowed)
        error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", filter->limit);
    return err->status;
}

Status store_count_tagged(Store *store, const JobTagRow *tag, int tag_count, JobCounts *out,
                          Error *err)
{
    Connection *connection = reader_take(store, err);

    *out = (JobCounts){0};
    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_COUNT_TAGGED);
    bind_tags(&query, tag, tag_count);
    while (query_step(&query, err)) {
        char name[16];
        int64_t count = query_int(&query, 2);

        query_copy(&query, 0, name, sizeof name);
        JobState state = job_state_find(name);
        if (state < JOB_STATE_COUNT)
            out->in_state[state] += count;
        if (!query_is_null(&query, 1))
            *(query_int(&query, 1) ? &out->passed : &out->not_passed) += count;
    }
    query_end(&query);
    reader_give(store, connection);
    return err->status;
}

Status store_find_setting(Store *store, const char *name, char *out, size_t size, Error *err)
{
    Connection *connection = reader_take(store, err);

    out[0] = '\0';
    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_FIND_SETTING);
    query_bind_text(&query, name);
    if (query_step(&query, err))
        query_copy(&query, 0, out, size);
    query_end(&query);
    reader_give(store, connection);
    return err->status;
}

void store_count_jobs(Store *store, JobCounts *out)
{
    *out = (JobCounts){0};
    waiting_read_counts(&store->waiting, out->in_state);
}

Status store_list_interrupted(Store *store, Arena *arena, InterruptedList *out, Error *err)
{
    enum { MAX = 1024 };
    InterruptedList list = {.attempt = arena_array(arena, Interrupted, MAX)};
    Connection *connection = list.attempt ? reader_take(store, err) : NULL;

    if (!connection)
        return err->status ? err->status
                           : error_set(err, STATUS_NO_MEMORY, "no room for a list of jobs");
    Query query = query_begin(connection, QUERY_LIST_INTERRUPTED);
    while (list.count < MAX && query_step(&query, err)) {
        Interrupted *attempt = &list.attempt[list.count++];

        query_copy(&query, 0, attempt->job, sizeof attempt->job);
        attempt->attempt = (int)query_int(&query, 1);
    }
    *out = list;
    return end_list(store, &query, arena, err);
}

/* --- events --- */

Status store_list_events(Store *store, const EventFilter *filter, Arena *arena, EventList *out,
                         Error *err)
{
    EventList list = {.event = arena_array(arena, Event, filter->limit)};
    Connection *connection = list.event ? reader_take(store, err) : NULL;

    if (!connection)
        return err->status
                   ? err->status
                   : error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", filter->limit);
    Query query = query_begin(connection, filter->job ? QUERY_LIST_JOB_EVENTS : QUERY_LIST_EVENTS);
    query_bind_int(&query, filter->after);
    if (filter->job)
        query_bind_text(&query, filter->job);
    query_bind_int(&query, filter->limit);
    while (list.count < filter->limit && query_step(&query, err))
        list.event[list.count++] = (Event){
            .id = query_int(&query, 0),
            .job = query_text(&query, 1, arena),
            .kind = query_text(&query, 2, arena),
            .data = query_text(&query, 3, arena),
        };
    *out = list;
    return end_list(store, &query, arena, err);
}

Status store_last_event(Store *store, int64_t *out, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_LAST_EVENT);
    if (query_step(&query, err))
        *out = query_int(&query, 0);
    query_end(&query);
    reader_give(store, connection);
    return err->status;
}

/* --- measures --- */

static void read_measure(const Query *query, Arena *arena, MeasureOfJob *out)
{
    *out = (MeasureOfJob){
        .job = query_text(query, 0, arena),
        .job_name = query_text(query, 1, arena),
        .model = query_text(query, 2, arena),
        .tags = query_text(query, 3, arena),
        .finished = query_int(query, 4),
        .passed = query_is_null(query, 5) ? -1 : (int)query_int(query, 5),
        .name = query_text(query, 6, arena),
        .simulation = (int)query_int(query, 7),
        .target = query_text(query, 8, arena),
        .value = query_double(query, 9),
        .is_missing = query_is_null(query, 9),
        .unit = query_text(query, 10, arena),
        .seq = query_int(query, 11),
    };
}

Status store_list_job_measures(Store *store, const char *job, int limit, Arena *arena,
                               MeasureList *out, Error *err)
{
    MeasureList list = {.measure = arena_array(arena, MeasureOfJob, limit)};
    Connection *connection = list.measure ? reader_take(store, err) : NULL;

    if (!connection)
        return err->status ? err->status
                           : error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", limit);
    Query query = query_begin(connection, QUERY_LIST_JOB_MEASURES);
    query_bind_text(&query, job);
    query_bind_int(&query, limit);
    while (list.count < limit && query_step(&query, err))
        read_measure(&query, arena, &list.measure[list.count++]);
    *out = list;
    return end_list(store, &query, arena, err);
}

Status store_list_measures(Store *store, const MeasureFilter *filter, Arena *arena,
                           MeasureList *out, Error *err)
{
    MeasureList list = {.measure = arena_array(arena, MeasureOfJob, filter->limit)};
    Connection *connection = list.measure ? reader_take(store, err) : NULL;

    if (!connection)
        return err->status
                   ? err->status
                   : error_set(err, STATUS_NO_MEMORY, "no room for a list of %d", filter->limit);
    Query query = query_begin(connection, QUERY_LIST_MEASURES);
    query_bind_text(&query, filter->name);
    query_bind_text(&query, filter->model);
    query_bind_text(&query, filter->target);
    query_bind_int(&query, filter->since);
    query_bind_int(&query, filter->before > 0 ? filter->before : INT64_MAX);
    query_bind_int(&query, filter->limit);
    bind_tags(&query, filter->tag, filter->tag_count);
    while (list.count < filter->limit && query_step(&query, err))
        read_measure(&query, arena, &list.measure[list.count++]);
    *out = list;
    return end_list(store, &query, arena, err);
}
