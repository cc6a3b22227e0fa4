/* Deliveries: what is to be told of the ends of jobs, and how far that has come. The commands run
 * inside the writer's open transaction, the reads on connections of their own. */
#include "server/store/internal.h"

#include <stdio.h>
#include <string.h>

enum {
    JOB_ARENA = 32 << 20,   /* a job with all its texts */
    BODY_MAX = 16 << 20,    /* of what is told */
    LATEST_MS = 15 * 60000, /* a delivery never waits longer: one that does has seen a clock jump */
};

static const char *const state_name[DELIVERY_STATE_COUNT] = {
    [DELIVERY_NONE] = "none",
    [DELIVERY_PENDING] = "pending",
    [DELIVERY_DELIVERED] = "delivered",
    [DELIVERY_FAILED] = "failed",
};

const char *delivery_state_name(DeliveryState state)
{
    return state_name[state];
}

/* --- writing --- */

static Status insert_delivery(Store *store, const Job *job, Error *err)
{
    char id[STORE_ID_SIZE];

    if (id_create("d_", id, err))
        return err->status;
    Text body = text_open(BODY_MAX, err);
    store->listener.describe(store->listener.context, id, job, &body);
    if (!err->status) {
        Query query = query_begin(store->writer, QUERY_INSERT_DELIVERY);

        query_bind_text(&query, id);
        query_bind_int(&query, job->finished);
        query_bind_text(&query, text_string(&body));
        query_bind_int(&query, time_now_ms());
        query_bind_text(&query, job->id);
        query_run(&query, NULL, err);
    }
    text_close(&body);
    store->has_deliveries = true;
    return err->status;
}

Status delivery_add(Store *store, const char *job_id, JobState state, Error *err)
{
    Query wanted = query_begin(store->writer, QUERY_WANTS_DELIVERY);
    Arena arena;
    Job job;

    query_bind_text(&wanted, job_id);
    query_bind_text(&wanted, job_state_name(state));
    bool is_wanted = query_step(&wanted, err);
    query_end(&wanted);
    if (err->status || !is_wanted || arena_create(&arena, JOB_ARENA, err))
        return err->status;
    Query query = query_begin(store->writer, QUERY_FIND_JOB);
    query_bind_text(&query, job_id);
    bool was_found = query_step(&query, err);
    if (was_found)
        store_read_job(store, &query, &arena, &job);
    query_end(&query);
    if (arena.overflowed)
        error_set(err, STATUS_NO_MEMORY, "no room for job %s", job_id);
    if (was_found && !err->status)
        insert_delivery(store, &job, err);
    arena_destroy(&arena);
    return err->status;
}

Status notify_insert(Store *store, const Job *job, Error *err)
{
    Query query = query_begin(store->writer, QUERY_INSERT_NOTIFY);

    query_bind_text(&query, job->id);
    query_bind_text(&query, job->notify.url);
    query_bind_text(&query, job->notify.place);
    query_bind_text(&query, job->notify.ends);
    return query_run(&query, NULL, err);
}

Status delivery_settle(Store *store, Command *command, Error *err)
{
    const DeliveryEnd *end = command->delivery;
    Query query = query_begin(store->writer, QUERY_SETTLE_DELIVERY);

    query_bind_text(&query, state_name[end->state]);
    query_bind_int(&query, end->next);
    query_bind_int(&query, end->code);
    query_bind_text(&query, end->error);
    query_bind_text(&query, command->id);
    return query_run(&query, NULL, err);
}

/* Why there is nothing to send again. */
static Status refuse_again(Store *store, const char *job_id, Error *err)
{
    Query query = query_begin(store->writer, QUERY_FIND_NOTIFY);
    char state[16];

    query_bind_text(&query, job_id);
    if (query_step(&query, err)) {
        query_copy(&query, 0, state, sizeof state);
        if (query_is_null(&query, 1))
            error_set(err, STATUS_CONFLICT, "job %s has no \"notify\"", job_id);
        else if (!job_state_is_final(job_state_find(state)))
            error_set(err, STATUS_CONFLICT, "job %s is %s: there is no end to tell yet", job_id,
                      state);
        else
            error_set(err, STATUS_CONFLICT, "job %s is %s, which its \"notify\" does not ask for",
                      job_id, state);
    } else if (!err->status) {
        error_set(err, STATUS_NOT_FOUND, "there is no job \"%s\"", job_id);
    }
    query_end(&query);
    return err->status;
}

Status delivery_again(Store *store, Command *command, Error *err)
{
    Query query = query_begin(store->writer, QUERY_DELIVER_AGAIN);
    int changed = 0;

    query_bind_int(&query, time_now_ms());
    query_bind_text(&query, command->id);
    if (query_run(&query, &changed, err))
        return err->status;
    return changed ? STATUS_OK : refuse_again(store, command->id, err);
}

/* --- reading --- */

static DeliveryState find_state(const Query *query, int column)
{
    char text[16];
    int state = DELIVERY_NONE;

    query_copy(query, column, text, sizeof text);
    for (int i = 0; i < DELIVERY_STATE_COUNT; i++)
        if (strcmp(text, state_name[i]) == 0)
            state = i;
    return (DeliveryState)state;
}

Status notify_read(Connection *connection, const char *job_id, Arena *arena, JobNotify *out,
                   Error *err)
{
    Query query = query_begin(connection, QUERY_FIND_NOTIFY);

    query_bind_text(&query, job_id);
    if (query_step(&query, err) && !query_is_null(&query, 1))
        *out = (JobNotify){
            .url = query_text(&query, 1, arena),
            .place = query_text(&query, 2, arena),
            .ends = query_text(&query, 3, arena),
            .state = find_state(&query, 4),
            .attempts = (int)query_int(&query, 5),
            .next = query_int(&query, 6),
            .last_code = (int)query_int(&query, 7),
            .last_error = query_text(&query, 8, arena),
        };
    query_end(&query);
    return err->status;
}

Status store_list_due(Store *store, int64_t now, int per_place, DueDelivery *out, int capacity,
                      int *out_count, Error *err)
{
    Connection *connection = reader_take(store, err);
    int count = 0;

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_LIST_DUE);
    query_bind_int(&query, now);
    query_bind_int(&query, now + LATEST_MS);
    query_bind_int(&query, per_place);
    query_bind_int(&query, capacity);
    for (; count < capacity && query_step(&query, err); count++) {
        query_copy(&query, 0, out[count].id, sizeof out[count].id);
        query_copy(&query, 1, out[count].place, sizeof out[count].place);
    }
    query_end(&query);
    reader_give(store, connection);
    *out_count = count;
    return err->status;
}

Status store_next_due(Store *store, int64_t now, int64_t *out, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_NEXT_DUE);
    query_bind_int(&query, now);
    if (query_step(&query, err))
        *out = query_int(&query, 0);
    query_end(&query);
    reader_give(store, connection);
    return err->status;
}

Status store_find_delivery(Store *store, const char *id, Arena *arena, Delivery *out, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_FIND_DELIVERY);
    query_bind_text(&query, id);
    bool was_found = query_step(&query, err);
    if (was_found)
        *out = (Delivery){
            .job = query_text(&query, 0, arena),
            .url = query_text(&query, 1, arena),
            .body = query_text(&query, 2, arena),
            .state = find_state(&query, 3),
            .attempts = (int)query_int(&query, 4),
        };
    query_end(&query);
    reader_give(store, connection);
    if (!err->status && !was_found)
        error_set(err, STATUS_NOT_FOUND, "there is no delivery \"%s\"", id);
    if (!err->status && arena->overflowed)
        error_set(err, STATUS_NO_MEMORY, "no room for delivery %s", id);
    return err->status;
}

Status store_count_deliveries(Store *store, int64_t *out_pending, Error *err)
{
    Connection *connection = reader_take(store, err);

    if (!connection)
        return err->status;
    Query query = query_begin(connection, QUERY_COUNT_DELIVERIES);
    if (query_step(&query, err))
        *out_pending = query_int(&query, 0);
    query_end(&query);
    reader_give(store, connection);
    return err->status;
}
