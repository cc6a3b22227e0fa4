#include "server/store/query.h"
#include "server/store/store.h"
#include "support/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A store in a folder of its own. */
typedef struct Fixture {
    char folder[64];
    Blobs *blobs;
    Store *store;
    Arena arena;
    Error err;
} Fixture;

static void open_store(Fixture *f)
{
    StoreListener nobody = {0};

    CHECK_INT(blobs_open(f->folder, &f->blobs, &f->err), ==, STATUS_OK);
    CHECK_INT(store_open(f->folder, f->blobs, &nobody, &f->store, &f->err), ==, STATUS_OK);
    CHECK_OK(&f->err);
}

static void close_store(Fixture *f)
{
    store_close(f->store);
    blobs_close(f->blobs);
}

static void set_up(Fixture *f)
{
    *f = (Fixture){.arena = test_arena(64 << 20)};
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/bakehouse-store-XXXXXX");
    CHECK(mkdtemp(f->folder) != NULL);
    open_store(f);
}

static void tear_down(Fixture *f)
{
    char command[128];

    close_store(f);
    arena_destroy(&f->arena);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CHECK_INT(system(command), ==, 0); // NOLINT: a folder of our own name
}

/* An asset with these bytes; its id is "m_NAME". */
static bool add_asset(Fixture *f, const char *id, const char *bytes)
{
    Upload upload;

    CHECK_INT(upload_begin(f->blobs, &upload, &f->err), ==, STATUS_OK);
    CHECK_INT(upload_add(&upload, (Bytes){(const uint8_t *)bytes, strlen(bytes)}, &f->err), ==,
              STATUS_OK);
    CHECK_INT(upload_finish(&upload, &f->err), ==, STATUS_OK);
    Asset asset = {.kind = ASSET_MODEL,
                   .id = id,
                   .name = "a",
                   .format = "glb",
                   .sha256 = upload.sha256,
                   .size = upload.size,
                   .summary = "{}",
                   .owner = "",
                   .created = 1};
    Command command = {.kind = COMMAND_INSERT_ASSET, .asset = &asset, .upload = &upload};
    CHECK_INT(store_execute(f->store, &command, &f->err), ==, STATUS_OK);
    upload_close(f->blobs, &upload);
    return command.was_new;
}

typedef struct JobOptions {
    int priority;
    const char *key;
    bool use_cache;
    int max_queued; /* 0: many */
} JobOptions;

static Status add_job(Fixture *f, const char *id, const JobOptions *options, Command *out)
{
    Job job = {.id = id,
               .name = "",
               .model = "m_1",
               .animation = "",
               .key = options->key ? options->key : id,
               .body = "{}",
               .canonical = "{}",
               .used = "[]",
               .tags = "{}",
               .priority = options->priority,
               .frame_count = 10,
               .created = 1,
               .passed = -1,
               .reason = "",
               .idempotency_key = "",
               .owner = "",
               .body_sha256 = ""};
    Error err = {0};

    *out = (Command){.kind = COMMAND_INSERT_JOB,
                     .job = &job,
                     .use_cache = options->use_cache,
                     .max_queued = options->max_queued ? options->max_queued : 1000};
    (void)snprintf(out->id, sizeof out->id, "%s", id);
    return store_execute(f->store, out, &err);
}

static void add_plain_job(Fixture *f, const char *id)
{
    Command command;

    CHECK_INT(add_job(f, id, &(JobOptions){0}, &command), ==, STATUS_OK);
}

static Status claim(Fixture *f, Command *out)
{
    Error err = {0};

    *out = (Command){.kind = COMMAND_CLAIM_JOB, .owner = "s_me"};
    return store_execute(f->store, out, &err);
}

static Status finish(Fixture *f, const char *id, int attempt, JobState state)
{
    MeasureRow row = {.name = "stretch.p99", .target = "*", .value = 0.5, .unit = "1"};
    Measures measures = {.row_count = 1, .row = &row};
    JobEnd end = {.state = state,
                  .key = "",
                  .frames = 10,
                  .size = 100,
                  .sha256 = "ff",
                  .passed = -1,
                  .reason = "",
                  .measures = &measures};
    Command command = {.kind = COMMAND_FINISH_JOB, .attempt = attempt, .end = &end};
    Error err = {0};

    (void)snprintf(command.id, sizeof command.id, "%s", id);
    return store_execute(f->store, &command, &err);
}

static Status move(Fixture *f, CommandKind kind, const char *id)
{
    Command command = {.kind = kind};
    Error err = {0};

    (void)snprintf(command.id, sizeof command.id, "%s", id);
    return store_execute(f->store, &command, &err);
}

static Job find(Fixture *f, const char *id)
{
    Job job = {0};

    CHECK_INT(store_find_job(f->store, id, &f->arena, &job, &f->err), ==, STATUS_OK);
    return job;
}

TEST(store, keeps_what_it_has_answered_for)
{
    Fixture f;

    set_up(&f);
    CHECK(add_asset(&f, "m_1", "bytes"));
    add_plain_job(&f, "j_1");
    close_store(&f);
    open_store(&f);
    CHECK_INT(find(&f, "j_1").state, ==, JOB_QUEUED);
    tear_down(&f);
}

TEST(store, refuses_a_job_whose_model_was_deleted_meanwhile)
{
    Fixture f;
    Command command;

    set_up(&f);
    CHECK_INT(add_job(&f, "j_1", &(JobOptions){0}, &command), ==, STATUS_INVALID);
    CHECK(strstr(command.err.message, "\"m_1\", which does not exist"));
    tear_down(&f);
}

TEST(store, keeps_a_second_opener_out)
{
    Fixture f;
    Blobs *second = NULL;

    set_up(&f);
    CHECK_INT(blobs_open(f.folder, &second, &f.err), ==, STATUS_CONFLICT);
    CHECK_TEXT(f.err.message, "another server uses");
    tear_down(&f);
}

TEST(store, shares_one_blob_between_assets_and_removes_it_with_the_last)
{
    Fixture f;
    char hash[SHA256_HEX_SIZE];
    int file = -1;
    int64_t size = 0;

    set_up(&f);
    sha256_of((Bytes){(const uint8_t *)"bytes", 5}, hash);
    CHECK(add_asset(&f, "m_1", "bytes"));
    CHECK(!add_asset(&f, "m_1", "bytes"));
    CHECK(add_asset(&f, "m_2", "bytes"));
    CHECK_INT(move(&f, COMMAND_DELETE_ASSET, "m_1"), ==, STATUS_OK);
    CHECK_INT(blob_open(f.blobs, hash, &file, &size, &f.err), ==, STATUS_OK);
    (void)close(file);
    CHECK_INT(size, ==, 5);
    CHECK_INT(move(&f, COMMAND_DELETE_ASSET, "m_2"), ==, STATUS_OK);
    CHECK_INT(blob_open(f.blobs, hash, &file, &size, &f.err), ==, STATUS_NOT_FOUND);
    tear_down(&f);
}

TEST(store, claims_by_priority_then_age)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_old");
    add_plain_job(&f, "j_young");
    CHECK_INT(add_job(&f, "j_high", &(JobOptions){.priority = 5}, &command), ==, STATUS_OK);
    CHECK_INT(find(&f, "j_high").position, ==, 1);
    CHECK_INT(find(&f, "j_young").position, ==, 3);
    static const char *const order[] = {"j_high", "j_old", "j_young"};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(claim(&f, &command), ==, STATUS_OK);
        CHECK_EQUAL_TEXT(command.id, order[i]);
        CHECK_INT(command.attempt, ==, 1);
    }
    CHECK_INT(claim(&f, &command), ==, STATUS_NOT_FOUND);
    tear_down(&f);
}

TEST(store, fences_off_an_attempt_that_is_over)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    CHECK_INT(claim(&f, &command), ==, STATUS_OK);
    Command release = {.kind = COMMAND_RELEASE_JOB, .attempt = 1, .id = "j_1"};
    CHECK_INT(store_execute(f.store, &release, &f.err), ==, STATUS_OK);
    CHECK_INT(claim(&f, &command), ==, STATUS_OK);
    CHECK_INT(command.attempt, ==, 2);
    Command late = {.kind = COMMAND_PROGRESS, .attempt = 1, .id = "j_1", .data = "{}", .frames = 9};
    Error err = {0};
    CHECK_INT(store_execute(f.store, &late, &err), ==, STATUS_CONFLICT);
    CHECK_INT(finish(&f, "j_1", 1, JOB_DONE), ==, STATUS_CONFLICT);
    CHECK_INT(find(&f, "j_1").state, ==, JOB_RUNNING);
    CHECK_INT(find(&f, "j_1").frames, ==, 0);
    CHECK_INT(finish(&f, "j_1", 2, JOB_DONE), ==, STATUS_OK);
    CHECK_INT(finish(&f, "j_1", 2, JOB_FAILED), ==, STATUS_CONFLICT);
    CHECK_INT(find(&f, "j_1").state, ==, JOB_DONE);
    tear_down(&f);
}

TEST(store, refuses_moves_outside_the_table)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    CHECK_INT(move(&f, COMMAND_RETRY_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(claim(&f, &command), ==, STATUS_NOT_FOUND);
    CHECK_INT(move(&f, COMMAND_RETRY_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(claim(&f, &command), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_RETRY_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(finish(&f, "j_1", 1, JOB_DONE), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_RETRY_JOB, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_none"), ==, STATUS_NOT_FOUND);
    CHECK_INT(move(&f, COMMAND_DELETE_ASSET, "m_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_DELETE_ASSET, "m_1"), ==, STATUS_OK);
    tear_down(&f);
}

TEST(store, answers_an_identical_bake_with_the_finished_result)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    CHECK_INT(add_job(&f, "j_1", &(JobOptions){.key = "k", .use_cache = true}, &command), ==,
              STATUS_OK);
    CHECK(!command.is_cached); // nothing is finished yet
    CHECK_INT(claim(&f, &command), ==, STATUS_OK);
    CHECK_INT(finish(&f, "j_1", 1, JOB_DONE), ==, STATUS_OK);
    CHECK_INT(add_job(&f, "j_2", &(JobOptions){.key = "k", .use_cache = true}, &command), ==,
              STATUS_OK);
    CHECK(command.is_cached);
    CHECK_INT(add_job(&f, "j_3", &(JobOptions){.key = "k"}, &command), ==, STATUS_OK);
    CHECK(!command.is_cached);
    Job cached = find(&f, "j_2");
    CHECK_INT(cached.state, ==, JOB_DONE);
    CHECK_EQUAL_TEXT(cached.result_job, "j_1");
    // the result stays while a job refers to it
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(find(&f, "j_2").result_size, ==, 100);
    tear_down(&f);
}

TEST(store, takes_no_more_jobs_than_may_wait)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    CHECK_INT(add_job(&f, "j_2", &(JobOptions){.max_queued = 1}, &command), ==, STATUS_LIMIT);
    CHECK_INT(store_find_job(f.store, "j_2", &f.arena, &(Job){0}, &f.err), ==, STATUS_NOT_FOUND);
    tear_down(&f);
}

TEST(store, runs_a_job_whose_runner_is_gone_again_but_not_for_ever)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    for (int crash = 1; crash <= JOB_CRASHES_MAX; crash++) {
        CHECK_INT(claim(&f, &command), ==, STATUS_OK);
        CHECK_INT(command.attempt, ==, crash);
        Command sweep = {.kind = COMMAND_SWEEP, .owner = "s_another"};
        CHECK_INT(store_execute(f.store, &sweep, &f.err), ==, STATUS_OK);
        CHECK_INT(sweep.count, ==, 1);
        CHECK_INT(find(&f, "j_1").state, ==, crash < JOB_CRASHES_MAX ? JOB_QUEUED : JOB_FAILED);
    }
    CHECK_TEXT(find(&f, "j_1").error, "the server stopped 3 times");
    tear_down(&f);
}

TEST(store, leaves_its_own_live_jobs_alone_when_it_sweeps)
{
    Fixture f;
    Command command;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    CHECK_INT(claim(&f, &command), ==, STATUS_OK);
    Command sweep = {.kind = COMMAND_SWEEP, .owner = "s_me", .age = 60000};
    CHECK_INT(store_execute(f.store, &sweep, &f.err), ==, STATUS_OK);
    CHECK_INT(sweep.count, ==, 0);
    sweep = (Command){.kind = COMMAND_SWEEP, .owner = "s_me", .age = -60000};
    CHECK_INT(store_execute(f.store, &sweep, &f.err), ==, STATUS_OK);
    CHECK_INT(sweep.count, ==, 1);
    tear_down(&f);
}

/* Commands of one batch stand or fall each on their own. */
TEST(store, takes_back_only_the_command_that_failed)
{
    enum { COUNT = 20 };
    Fixture f;
    Command command[COUNT];
    Job job[COUNT];
    char id[COUNT][16];

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    for (int i = 0; i < COUNT; i++) {
        // every third names a model that is not there
        (void)snprintf(id[i], sizeof id[i], "j_%d", i);
        job[i] = (Job){.id = id[i],
                       .name = "",
                       .model = i % 3 == 0 ? "m_none" : "m_1",
                       .animation = "",
                       .key = id[i],
                       .body = "{}",
                       .canonical = "{}",
                       .used = "[]",
                       .tags = "{}",
                       .passed = -1,
                       .reason = "",
                       .idempotency_key = "",
                       .owner = "",
                       .body_sha256 = ""};
        command[i] = (Command){.kind = COMMAND_INSERT_JOB, .job = &job[i], .max_queued = 100};
        (void)snprintf(command[i].id, sizeof command[i].id, "%s", id[i]);
        if (i + 1 < COUNT)
            store_submit(f.store, &command[i]);
    }
    // the last comes last: the others are answered by then
    CHECK_INT(store_execute(f.store, &command[COUNT - 1], &f.err), ==, STATUS_OK);
    JobCounts counts;
    store_count_jobs(f.store, &counts);
    CHECK_INT(counts.in_state[JOB_QUEUED], ==, 13); // 20 less 0, 3, 6, ... 18
    CHECK_INT(command[3].err.status, ==, STATUS_INVALID);
    CHECK_INT(command[4].err.status, ==, STATUS_OK);
    tear_down(&f);
}

/* Law: whatever moves jobs, the place of each that waits is its place in the order of claims; a
 * restart changes nothing. */
TEST(store, knows_the_place_of_each_job_that_waits)
{
    enum { COUNT = 60 };
    Fixture f;
    Command command;
    JobCounts counts, again;
    char id[STORE_ID_SIZE];

    set_up(&f);
    CHECK(add_asset(&f, "m_1", "bytes"));
    for (int i = 0; i < COUNT; i++) {
        JobOptions options = {.priority = i * 7919 % 21 - 10};

        (void)snprintf(id, sizeof id, "j_%d", i);
        CHECK_INT(add_job(&f, id, &options, &command), ==, STATUS_OK);
        CHECK_INT(add_job(&f, id, &options, &command), ==, STATUS_CONFLICT); // and is taken back
        if (i % 7 == 3)
            CHECK_INT(move(&f, COMMAND_CANCEL_JOB, id), ==, STATUS_OK);
        if (i % 14 == 3)
            CHECK_INT(move(&f, COMMAND_RETRY_JOB, id), ==, STATUS_OK);
        if (i % 14 == 10)
            CHECK_INT(move(&f, COMMAND_DELETE_JOB, id), ==, STATUS_OK);
        if (i % 9 == 5) {
            CHECK_INT(claim(&f, &command), ==, STATUS_OK);
            CHECK_INT(finish(&f, command.id, command.attempt, i % 2 ? JOB_DONE : JOB_FAILED), ==,
                      STATUS_OK);
        }
    }
    store_count_jobs(f.store, &counts);
    close_store(&f);
    open_store(&f);
    store_count_jobs(f.store, &again);
    CHECK(memcmp(&counts, &again, sizeof counts) == 0);
    CHECK_INT(counts.in_state[JOB_QUEUED], >, 30);

    JobFilter filter = {.state = "queued", .limit = COUNT};
    JobList list;
    CHECK_INT(store_list_jobs(f.store, &filter, &f.arena, &list, &f.err), ==, STATUS_OK);
    CHECK_INT(list.count, ==, counts.in_state[JOB_QUEUED]);
    for (int place = 1; place <= list.count; place++) {
        const Job *next = NULL;

        CHECK_INT(claim(&f, &command), ==, STATUS_OK);
        for (int i = 0; i < list.count; i++)
            if (strcmp(list.job[i].id, command.id) == 0)
                next = &list.job[i];
        CHECK(next != NULL);
        CHECK_INT(next->position, ==, place);
    }
    CHECK_INT(claim(&f, &command), ==, STATUS_NOT_FOUND);
    tear_down(&f);
}

/* Whatever a list is filtered by, its rows come from an index in their order. */
TEST(store, lists_without_reading_all_jobs)
{
    Fixture f;
    Connection *reader = NULL;

    set_up(&f);
    char path[96];
    (void)snprintf(path, sizeof path, "%s/store.sqlite", f.folder);
    CHECK_INT(connection_open(path, CONNECTION_READ, &reader, &f.err), ==, STATUS_OK);
    for (QueryKind kind = QUERY_SEEK_JOB; kind <= QUERY_JOB_AT; kind++) {
        sqlite3_stmt *plan = NULL;
        char sql[8192];
        int steps = 0;

        (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", query_sql_of(kind));
        CHECK_INT(sqlite3_prepare_v2(reader->db, sql, -1, &plan, NULL), ==, SQLITE_OK);
        for (; sqlite3_step(plan) == SQLITE_ROW; steps++) {
            const char *step = (const char *)sqlite3_column_text(plan, 3);

            CHECK(!strstr(step, "TEMP B-TREE"));
            CHECK(!strstr(step, "SCAN"));
            if (kind > QUERY_SEEK_JOB && kind < QUERY_JOB_AT)
                CHECK(strstr(step, "COVERING INDEX") && strstr(step, "seq<?"));
        }
        CHECK_INT(steps, ==, kind == QUERY_JOB_AT ? 2 : 1);
        sqlite3_finalize(plan);
    }
    connection_close(reader);
    tear_down(&f);
}

/* The log of a store that is written without a pause must not grow with all that was written, and
 * that of one at rest must be empty. */
TEST(store, keeps_its_log_short)
{
    enum { ROUNDS = 60, BATCH = 40, SIZE = 40000 }; // 96 MB
    Fixture f;
    Command command[BATCH];
    char *data = calloc(1, SIZE);
    int64_t greatest = 0;

    set_up(&f);
    memset(data, 'x', SIZE - 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BATCH; i++) {
            command[i] = (Command){.kind = COMMAND_SET, .name = "paused", .data = data};
            if (i + 1 < BATCH)
                store_submit(f.store, &command[i]);
        }
        CHECK_INT(store_execute(f.store, &command[BATCH - 1], &f.err), ==, STATUS_OK);
        int64_t size = store_gauges(f.store).wal_bytes;
        greatest = size > greatest ? size : greatest;
    }
    CHECK_INT(greatest, >, 0);
    CHECK_INT(greatest, <, 64 << 20);
    for (int i = 0; i < 1000 && store_gauges(f.store).wal_bytes > 0; i++)
        (void)usleep(10000);
    CHECK_INT(store_gauges(f.store).wal_bytes, ==, 0);
    free(data);
    tear_down(&f);
}

TEST(store, numbers_events_upwards_for_ever)
{
    Fixture f;
    Command prune = {.kind = COMMAND_PRUNE, .retention.events_before = INT64_MAX};
    int64_t before = 0;
    int64_t after = 0;
    EventList list;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    CHECK_INT(store_last_event(f.store, &before, &f.err), ==, STATUS_OK);
    CHECK_INT(before, ==, 2); // the asset's and the job's
    CHECK_INT(store_execute(f.store, &prune, &f.err), ==, STATUS_OK);
    CHECK_INT(prune.count, ==, 0); // no job and no asset went
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(store_last_event(f.store, &after, &f.err), ==, STATUS_OK);
    CHECK_INT(after, ==, 3);
    EventFilter filter = {.after = 0, .job = "j_1", .limit = 10};
    CHECK_INT(store_list_events(f.store, &filter, &f.arena, &list, &f.err), ==, STATUS_OK);
    CHECK_INT(list.count, ==, 1);
    CHECK_TEXT(list.event[0].data, "\"state\":\"cancelled\"");
    tear_down(&f);
}

static bool has_job(Fixture *f, const char *id)
{
    Error ignored = {0};

    return store_find_job(f->store, id, &f->arena, &(Job){0}, &ignored) == STATUS_OK;
}

static bool has_asset(Fixture *f, const char *id)
{
    Error ignored = {0};

    return store_find_asset(f->store, ASSET_MODEL, id, &f->arena, &(Asset){0}, &ignored) ==
           STATUS_OK;
}

static int prune(Fixture *f, Retention retention)
{
    Command command = {.kind = COMMAND_PRUNE, .retention = retention};

    CHECK_INT(store_execute(f->store, &command, &f->err), ==, STATUS_OK);
    return command.count;
}

TEST(store, removes_old_jobs_that_have_ended_and_are_not_to_be_kept)
{
    Fixture f;
    int64_t later = time_now_ms() + 60000;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    add_plain_job(&f, "j_1");
    add_plain_job(&f, "j_2");
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(prune(&f, (Retention){.jobs_before = 0}), ==, 0);
    CHECK_INT(prune(&f, (Retention){.jobs_before = 1000}), ==, 0); // it ended later
    CHECK(has_job(&f, "j_1"));
    CHECK_INT(prune(&f, (Retention){.jobs_before = later}), ==, 1);
    CHECK(!has_job(&f, "j_1"));
    CHECK(has_job(&f, "j_2")); // it waits
    tear_down(&f);
}

TEST(store, removes_files_that_no_job_uses_and_nobody_touched)
{
    Fixture f;
    int64_t now = time_now_ms();
    Command touch = {.kind = COMMAND_TOUCH_ASSET, .id = "m_2"};

    set_up(&f);
    (void)add_asset(&f, "m_1", "one");
    (void)add_asset(&f, "m_2", "two");
    (void)add_asset(&f, "m_3", "three");
    add_plain_job(&f, "j_1"); // of m_1
    CHECK_INT(store_execute(f.store, &touch, &f.err), ==, STATUS_OK);
    CHECK_INT(prune(&f, (Retention){.assets_before = now}), ==, 1);
    CHECK(has_asset(&f, "m_1"));
    CHECK(has_asset(&f, "m_2"));
    CHECK(!has_asset(&f, "m_3"));
    CHECK_INT(prune(&f, (Retention){.assets_before = now + 60000}), ==, 1);
    CHECK(has_asset(&f, "m_1"));
    CHECK(!has_asset(&f, "m_2"));
    tear_down(&f);
}

TEST(store, removes_more_than_a_chunk_in_turns)
{
    Fixture f;
    int64_t later = time_now_ms() + 60000;
    enum { COUNT = RETENTION_CHUNK + 5 };

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    for (int i = 0; i < COUNT; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "j_%d", i);
        add_plain_job(&f, id);
        CHECK_INT(move(&f, COMMAND_CANCEL_JOB, id), ==, STATUS_OK);
    }
    CHECK_INT(prune(&f, (Retention){.jobs_before = later}), ==, RETENTION_CHUNK);
    CHECK_INT(prune(&f, (Retention){.jobs_before = later}), ==, 5);
    CHECK_INT(prune(&f, (Retention){.jobs_before = later}), ==, 0);
    tear_down(&f);
}

TEST(store, refuses_a_newer_layout_and_a_foreign_file)
{
    Fixture f;
    char command[256];
    StoreListener nobody = {0};

    set_up(&f);
    close_store(&f);
    CHECK_INT(blobs_open(f.folder, &f.blobs, &f.err), ==, STATUS_OK);
    (void)snprintf(command, sizeof command,
                   "printf '\\000\\000\\000\\143' | dd of='%s/store.sqlite' bs=1 seek=60 "
                   "conv=notrunc 2>/dev/null",
                   f.folder);          // user_version lies at byte 60
    CHECK_INT(system(command), ==, 0); // NOLINT: a folder of our own name
    CHECK_INT(store_open(f.folder, f.blobs, &nobody, &f.store, &f.err), ==, STATUS_CONFLICT);
    CHECK_TEXT(f.err.message, "the store has version 99");
    f.store = NULL;
    tear_down(&f);
}

TEST(blob, removes_what_a_dead_run_left_and_nothing_else)
{
    Fixture f;
    Upload upload;
    char path[128];
    int file = -1;

    set_up(&f);
    (void)add_asset(&f, "m_1", "bytes");
    CHECK_INT(upload_begin(f.blobs, &upload, &f.err), ==, STATUS_OK);
    CHECK_INT(upload_add(&upload, (Bytes){(const uint8_t *)"half", 4}, &f.err), ==, STATUS_OK);
    (void)snprintf(path, sizeof path, "%s/uploads/%s", f.folder, upload.name);
    CHECK_INT(access(path, F_OK), ==, 0);
    (void)close(upload.file);
    close_store(&f);
    open_store(&f);
    CHECK_INT(access(path, F_OK), !=, 0);
    char hash[SHA256_HEX_SIZE];
    int64_t size = 0;
    sha256_of((Bytes){(const uint8_t *)"bytes", 5}, hash);
    CHECK_INT(blob_open(f.blobs, hash, &file, &size, &f.err), ==, STATUS_OK);
    (void)close(file);
    tear_down(&f);
}

TEST(blob, writes_results_whole_and_removes_them_by_attempt)
{
    Fixture f;
    int file = -1;
    int64_t size = 0;
    Bytes text = {(const uint8_t *)"{\"a\":1}", 7};
    Bytes back;

    set_up(&f);
    CHECK_INT(result_write(f.blobs, "j_1", 2, "measures.json", text, &f.err), ==, STATUS_OK);
    CHECK_INT(result_open(f.blobs, "j_1", 2, "measures.json", &file, &size, &f.err), ==, STATUS_OK);
    CHECK_INT(file_map(file, size, &back, &f.err), ==, STATUS_OK);
    CHECK_INT(back.size, ==, 7);
    CHECK(memcmp(back.data, text.data, 7) == 0);
    file_unmap(back);
    (void)close(file);
    CHECK_INT(result_cut(f.blobs, "j_1", 2, "measures.json", 3, &f.err), ==, STATUS_OK);
    CHECK_INT(result_open(f.blobs, "j_1", 2, "measures.json", &file, &size, &f.err), ==, STATUS_OK);
    (void)close(file);
    CHECK_INT(size, ==, 3);
    result_remove(f.blobs, "j_1", 2);
    CHECK_INT(result_open(f.blobs, "j_1", 2, "measures.json", &file, &size, &f.err), ==,
              STATUS_NOT_FOUND);
    tear_down(&f);
}

TEST(blob, says_that_a_disk_is_full)
{
    Error err = {0};
    int file = open("/dev/full", O_WRONLY);

    if (file < 0)
        SKIP("there is no /dev/full");
    CHECK_INT(file_write(file, 0, (Bytes){(const uint8_t *)"x", 1}, &err), ==, STATUS_FULL);
    (void)close(file);
}
