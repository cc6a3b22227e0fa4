#include "server/store/waiting.h"

#include <stdlib.h>
#include <string.h>

static const char triggers[] =
    "CREATE TEMP TRIGGER job_came AFTER INSERT ON main.job BEGIN "
    "SELECT job_moved(NULL, new.state, new.priority, new.seq); END; "
    "CREATE TEMP TRIGGER job_moves AFTER UPDATE OF state ON main.job WHEN old.state != new.state "
    "BEGIN SELECT job_moved(old.state, new.state, new.priority, new.seq); END; "
    "CREATE TEMP TRIGGER job_went AFTER DELETE ON main.job BEGIN "
    "SELECT job_moved(old.state, NULL, old.priority, old.seq); END;";

void waiting_init(Waiting *waiting)
{
    *waiting = (Waiting){0};
    (void)uv_mutex_init(&waiting->mutex);
}

void waiting_destroy(Waiting *waiting)
{
    for (int i = 0; i < LANE_COUNT; i++)
        free(waiting->lane[i].seq);
    free(waiting->move);
    uv_mutex_destroy(&waiting->mutex);
}

/* --- lanes --- */

static int lane_of(int priority)
{
    int lane = PRIORITY_MAX - priority;

    return lane < 0 ? 0 : lane >= LANE_COUNT ? LANE_COUNT - 1 : lane;
}

/* The first place whose job is not before `seq`. */
static size_t find_place(const Lane *lane, int64_t seq)
{
    size_t low = lane->first;
    size_t high = lane->end;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (lane->seq[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Room for so many more; what was taken from the front is given back first. */
static bool reserve(Lane *lane, size_t more)
{
    if (lane->end + more <= lane->capacity)
        return true;
    if (lane->first > 0) {
        memmove(lane->seq, lane->seq + lane->first, (lane->end - lane->first) * sizeof *lane->seq);
        lane->end -= lane->first;
        lane->first = 0;
    }
    // half as much again, so that moving to the front stays rare
    size_t capacity = lane->end + more + lane->end / 2 + 64;
    if (capacity <= lane->capacity)
        return true;
    int64_t *seq = realloc(lane->seq, capacity * sizeof *seq);
    if (!seq)
        return false;
    lane->seq = seq;
    lane->capacity = capacity;
    return true;
}

/* There is room. */
static void put(Lane *lane, int64_t seq)
{
    size_t place = find_place(lane, seq);

    memmove(lane->seq + place + 1, lane->seq + place, (lane->end - place) * sizeof *lane->seq);
    lane->seq[place] = seq;
    lane->end++;
}

static void take(Lane *lane, int64_t seq)
{
    size_t place = find_place(lane, seq);

    if (place == lane->end || lane->seq[place] != seq)
        return;
    if (place == lane->first) {
        lane->first++;
        return;
    }
    lane->end--;
    memmove(lane->seq + place, lane->seq + place + 1, (lane->end - place) * sizeof *lane->seq);
}

/* --- moves --- */

/* Room for the move, and in the lanes for it and all before: a commit cannot fail. */
static bool add_move(Waiting *waiting, const WaitingMove *move)
{
    if (waiting->move_count == waiting->move_capacity) {
        int capacity = waiting->move_capacity * 2 + 64;
        WaitingMove *grown = realloc(waiting->move, (size_t)capacity * sizeof *grown);

        if (!grown)
            return false;
        waiting->move = grown;
        waiting->move_capacity = capacity;
    }
    uv_mutex_lock(&waiting->mutex);
    bool has_room = move->to != JOB_QUEUED || reserve(&waiting->lane[lane_of(move->priority)],
                                                      (size_t)waiting->move_count + 1);
    uv_mutex_unlock(&waiting->mutex);
    if (has_room)
        waiting->move[waiting->move_count++] = *move;
    return has_room;
}

/* job_moved(from, to, priority, seq) of the triggers. */
static void note(sqlite3_context *context, int count, sqlite3_value **value)
{
    Waiting *waiting = sqlite3_user_data(context);
    const char *from = (const char *)sqlite3_value_text(value[0]);
    const char *to = (const char *)sqlite3_value_text(value[1]);
    WaitingMove move = {.from = from ? job_state_find(from) : JOB_STATE_COUNT,
                        .to = to ? job_state_find(to) : JOB_STATE_COUNT,
                        .priority = sqlite3_value_int(value[2]),
                        .seq = sqlite3_value_int64(value[3])};

    (void)count;
    if (!add_move(waiting, &move))
        sqlite3_result_error_nomem(context);
}

static void apply(Waiting *waiting, const WaitingMove *move)
{
    Lane *lane = &waiting->lane[lane_of(move->priority)];

    if (move->from < JOB_STATE_COUNT)
        waiting->in_state[move->from]--;
    if (move->to < JOB_STATE_COUNT)
        waiting->in_state[move->to]++;
    if (move->from == JOB_QUEUED)
        take(lane, move->seq);
    if (move->to == JOB_QUEUED)
        put(lane, move->seq);
}

int waiting_mark(const Waiting *waiting)
{
    return waiting->move_count;
}

void waiting_revert(Waiting *waiting, int mark)
{
    waiting->move_count = mark;
}

void waiting_commit(Waiting *waiting)
{
    uv_mutex_lock(&waiting->mutex);
    for (int i = 0; i < waiting->move_count; i++)
        apply(waiting, &waiting->move[i]);
    uv_mutex_unlock(&waiting->mutex);
    waiting->move_count = 0;
}

int64_t waiting_count(Waiting *waiting)
{
    uv_mutex_lock(&waiting->mutex);
    int64_t count = waiting->in_state[JOB_QUEUED];
    uv_mutex_unlock(&waiting->mutex);
    for (int i = 0; i < waiting->move_count; i++) {
        count -= waiting->move[i].from == JOB_QUEUED;
        count += waiting->move[i].to == JOB_QUEUED;
    }
    return count;
}

/* --- the beginning --- */

static Status read_rows(Waiting *waiting, Connection *writer, Error *err)
{
    Query query = query_begin(writer, QUERY_LIST_WAITING);

    while (query_step(&query, err)) {
        Lane *lane = &waiting->lane[lane_of((int)query_int(&query, 0))];

        if (!reserve(lane, 1)) {
            error_set(err, STATUS_NO_MEMORY, "no room for the queue");
            break;
        }
        put(lane, query_int(&query, 1));
    }
    query_end(&query);
    query = query_begin(writer, QUERY_COUNT_JOBS);
    while (!err->status && query_step(&query, err)) {
        char name[16];

        query_copy(&query, 0, name, sizeof name);
        JobState state = job_state_find(name);
        if (state < JOB_STATE_COUNT)
            waiting->in_state[state] = query_int(&query, 1);
    }
    query_end(&query);
    return err->status;
}

Status waiting_follow(Waiting *waiting, Connection *writer, Error *err)
{
    int code = sqlite3_create_function_v2(writer->db, "job_moved", 4, SQLITE_UTF8, waiting, note,
                                          NULL, NULL, NULL);

    if (code == SQLITE_OK)
        code = sqlite3_exec(writer->db, triggers, NULL, NULL, NULL);
    if (code != SQLITE_OK)
        return connection_error(writer, code, "could not follow the queue", err);
    return read_rows(waiting, writer, err);
}

/* --- readers --- */

int waiting_position(Waiting *waiting, int priority, int64_t seq)
{
    int lane = lane_of(priority);
    size_t before = 0;

    uv_mutex_lock(&waiting->mutex);
    for (int i = 0; i < lane; i++)
        before += waiting->lane[i].end - waiting->lane[i].first;
    before += find_place(&waiting->lane[lane], seq) - waiting->lane[lane].first;
    uv_mutex_unlock(&waiting->mutex);
    return (int)before + 1;
}

void waiting_read_counts(Waiting *waiting, int64_t out[JOB_STATE_COUNT])
{
    uv_mutex_lock(&waiting->mutex);
    memcpy(out, waiting->in_state, sizeof waiting->in_state);
    uv_mutex_unlock(&waiting->mutex);
}
