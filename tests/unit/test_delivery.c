#include "server/store/store.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A store in a folder of its own, with a model "m_1". */
typedef struct Fixture {
    char folder[64];
    Blobs *blobs;
    Store *store;
    Arena arena;
    Error err;
    bool is_mute; /* describing fails */
} Fixture;

static void describe(void *f_, const char *id, const Job *job, Text *out)
{
    const Fixture *f = f_;

    for (int i = 0; f->is_mute && i < 32 << 20; i += 1024)
        text_format(out, "%1024s", "");
    text_format(out, "%s of %s: %s with %s", id, job->id, job_state_name(job->state), job->tags);
}

static void set_up(Fixture *f)
{
    StoreListener listener = {.describe = describe, .context = f};
    Upload upload;

    *f = (Fixture){.arena = test_arena(64 << 20)};
    (void)snprintf(f->folder, sizeof f->folder, "/tmp/bakehouse-delivery-XXXXXX");
    CHECK(mkdtemp(f->folder) != NULL);
    CHECK_INT(blobs_open(f->folder, &f->blobs, &f->err), ==, STATUS_OK);
    CHECK_INT(store_open(f->folder, f->blobs, &listener, &f->store, &f->err), ==, STATUS_OK);
    CHECK_INT(upload_begin(f->blobs, &upload, &f->err), ==, STATUS_OK);
    CHECK_INT(upload_finish(&upload, &f->err), ==, STATUS_OK);
    Asset asset = {.kind = ASSET_MODEL,
                   .id = "m_1",
                   .name = "a",
                   .format = "glb",
                   .sha256 = upload.sha256,
                   .summary = "{}",
                   .owner = "",
                   .created = 1};
    Command command = {.kind = COMMAND_INSERT_ASSET, .asset = &asset, .upload = &upload};
    CHECK_INT(store_execute(f->store, &command, &f->err), ==, STATUS_OK);
    upload_close(f->blobs, &upload);
}

static void tear_down(Fixture *f)
{
    char command[128];

    store_close(f->store);
    blobs_close(f->blobs);
    arena_destroy(&f->arena);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    CHECK_INT(system(command), ==, 0); // NOLINT: a folder of our own name
}

static Status run(Fixture *f, Command *command, const char *id)
{
    Error err = {0};

    (void)snprintf(command->id, sizeof command->id, "%s", id);
    return store_execute(f->store, command, &err);
}

static Status move(Fixture *f, CommandKind kind, const char *id)
{
    return run(f, &(Command){.kind = kind}, id);
}

/* A job in the queue that tells these ends to that place. */
static void add_job(Fixture *f, const char *id, const char *place, const char *ends)
{
    Job job = {.id = id,
               .name = "",
               .model = "m_1",
               .animation = "",
               .key = id,
               .body = "{}",
               .canonical = "{}",
               .used = "[]",
               .tags = "{\"shot\":\"a\"}",
               .frame_count = 10,
               .created = 1,
               .passed = -1,
               .reason = "",
               .idempotency_key = "",
               .body_sha256 = "",
               .owner = "",
               .notify = {.url = "https://farm/?secret", .place = place, .ends = ends}};
    Command command = {.kind = COMMAND_INSERT_JOB, .job = &job, .max_queued = 1000};

    CHECK_INT(run(f, &command, id), ==, STATUS_OK);
}

/* One that has ended. */
static void add_ended(Fixture *f, const char *id, const char *place)
{
    add_job(f, id, place, "cancelled ");
    CHECK_INT(move(f, COMMAND_CANCEL_JOB, id), ==, STATUS_OK);
}

static Job find(Fixture *f, const char *id)
{
    Job job = {0};

    CHECK_INT(store_find_job(f->store, id, &f->arena, &job, &f->err), ==, STATUS_OK);
    return job;
}

static int list_due(Fixture *f, int64_t now, int per_place, DueDelivery out[16])
{
    int count = 0;

    CHECK_INT(store_list_due(f->store, now, per_place, out, 16, &count, &f->err), ==, STATUS_OK);
    return count;
}

static int64_t count_pending(Fixture *f)
{
    int64_t pending = -1;

    CHECK_INT(store_count_deliveries(f->store, &pending, &f->err), ==, STATUS_OK);
    return pending;
}

static void settle(Fixture *f, const char *id, DeliveryState state, int64_t next)
{
    DeliveryEnd end = {.state = state, .next = next, .code = 500, .error = "no"};

    CHECK_INT(run(f, &(Command){.kind = COMMAND_SETTLE_DELIVERY, .delivery = &end}, id), ==,
              STATUS_OK);
}

TEST(delivery, is_made_by_the_end_it_tells)
{
    Fixture f;
    DueDelivery due[16];
    Delivery delivery;
    char expected[128];

    set_up(&f);
    add_job(&f, "j_1", "farm:443", "failed cancelled ");
    CHECK_INT(count_pending(&f), ==, 0);
    CHECK_INT(find(&f, "j_1").notify.state, ==, DELIVERY_NONE);
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(list_due(&f, time_now_ms(), 4, due), ==, 1);
    CHECK_EQUAL_TEXT(due[0].place, "farm:443");
    CHECK_INT(store_find_delivery(f.store, due[0].id, &f.arena, &delivery, &f.err), ==, STATUS_OK);
    (void)snprintf(expected, sizeof expected, "%s of j_1: cancelled with {\"shot\":\"a\"}",
                   due[0].id);
    CHECK_EQUAL_TEXT(delivery.body, expected);
    CHECK_EQUAL_TEXT(delivery.url, "https://farm/?secret");
    CHECK_INT(find(&f, "j_1").notify.state, ==, DELIVERY_PENDING);
    tear_down(&f);
}

TEST(delivery, is_not_made_of_an_end_that_nobody_asked_for)
{
    Fixture f;

    set_up(&f);
    add_job(&f, "j_1", "farm:443", "done failed ");
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(count_pending(&f), ==, 0);
    CHECK_INT(move(&f, COMMAND_DELIVER_AGAIN, "j_1"), ==, STATUS_CONFLICT);
    tear_down(&f);
}

/* Law: an end without its delivery does not exist. */
TEST(delivery, that_cannot_be_made_takes_its_end_back)
{
    Fixture f;

    set_up(&f);
    add_job(&f, "j_1", "farm:443", "cancelled ");
    f.is_mute = true;
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), !=, STATUS_OK);
    CHECK_INT(find(&f, "j_1").state, ==, JOB_QUEUED);
    CHECK_INT(count_pending(&f), ==, 0);
    f.is_mute = false;
    CHECK_INT(move(&f, COMMAND_CANCEL_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(count_pending(&f), ==, 1);
    tear_down(&f);
}

TEST(delivery, of_a_place_with_many_does_not_stand_before_the_others)
{
    Fixture f;
    DueDelivery due[16];
    int busy = 0;

    set_up(&f);
    for (int i = 0; i < 12; i++) {
        char id[16];

        (void)snprintf(id, sizeof id, "j_%d", i);
        add_ended(&f, id, "busy:443");
    }
    add_ended(&f, "j_x", "a:80");
    add_ended(&f, "j_y", "z:80");
    CHECK_INT(list_due(&f, time_now_ms(), 3, due), ==, 5);
    for (int i = 0; i < 5; i++)
        busy += strcmp(due[i].place, "busy:443") == 0;
    CHECK_INT(busy, ==, 3);
    tear_down(&f);
}

TEST(delivery, waits_for_its_time_whatever_the_clock_does)
{
    Fixture f;
    DueDelivery due[16];
    int64_t now = time_now_ms();
    int64_t next = 0;

    set_up(&f);
    add_ended(&f, "j_1", "farm:443");
    CHECK_INT(list_due(&f, now + 1000, 4, due), ==, 1);
    settle(&f, due[0].id, DELIVERY_PENDING, now + 60000);
    CHECK_INT(list_due(&f, now + 59999, 4, due), ==, 0);
    CHECK_INT(store_next_due(f.store, now, &next, &f.err), ==, STATUS_OK);
    CHECK_INT(next - now, ==, 60000);
    CHECK_INT(list_due(&f, now + 60000, 4, due), ==, 1);
    // the clock is set back by an hour
    CHECK_INT(list_due(&f, now - 3600000, 4, due), ==, 1);
    Job job = find(&f, "j_1");
    CHECK_INT(job.notify.attempts, ==, 1);
    CHECK_INT(job.notify.last_code, ==, 500);
    CHECK_EQUAL_TEXT(job.notify.last_error, "no");
    CHECK_INT(job.notify.next - now, ==, 60000);
    tear_down(&f);
}

TEST(delivery, can_be_sent_again_under_its_name)
{
    Fixture f;
    DueDelivery due[16];
    DueDelivery again[16];

    set_up(&f);
    add_ended(&f, "j_1", "farm:443");
    CHECK_INT(list_due(&f, time_now_ms(), 4, due), ==, 1);
    settle(&f, due[0].id, DELIVERY_FAILED, 0);
    CHECK_INT(list_due(&f, time_now_ms(), 4, again), ==, 0);
    CHECK_INT(find(&f, "j_1").notify.next, ==, 0);
    CHECK_INT(move(&f, COMMAND_DELIVER_AGAIN, "j_1"), ==, STATUS_OK);
    CHECK_INT(list_due(&f, time_now_ms(), 4, again), ==, 1);
    CHECK_EQUAL_TEXT(again[0].id, due[0].id);
    CHECK_INT(find(&f, "j_1").notify.attempts, ==, 0);
    // while the job waits to run again there is no end to tell
    CHECK_INT(move(&f, COMMAND_RETRY_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_DELIVER_AGAIN, "j_1"), ==, STATUS_CONFLICT);
    CHECK_INT(move(&f, COMMAND_DELIVER_AGAIN, "j_2"), ==, STATUS_NOT_FOUND);
    tear_down(&f);
}

TEST(delivery, outlives_its_job_until_it_is_over)
{
    Fixture f;
    DueDelivery due[16];
    Delivery delivery;

    set_up(&f);
    add_ended(&f, "j_1", "farm:443");
    add_ended(&f, "j_2", "farm:443");
    CHECK_INT(list_due(&f, time_now_ms(), 4, due), ==, 2);
    settle(&f, due[0].id, DELIVERY_DELIVERED, 0);
    CHECK_INT(store_find_delivery(f.store, due[0].id, &f.arena, &delivery, &f.err), ==, STATUS_OK);
    CHECK_INT(delivery.state, ==, DELIVERY_DELIVERED);
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_1"), ==, STATUS_OK);
    CHECK_INT(move(&f, COMMAND_DELETE_JOB, "j_2"), ==, STATUS_OK);
    CHECK_INT(store_find_delivery(f.store, due[0].id, &f.arena, &delivery, &f.err), ==,
              STATUS_NOT_FOUND);
    f.err = (Error){0};
    CHECK_INT(count_pending(&f), ==, 1);
    settle(&f, due[1].id, DELIVERY_DELIVERED, 0);
    CHECK_INT(store_find_delivery(f.store, due[1].id, &f.arena, &delivery, &f.err), ==,
              STATUS_NOT_FOUND);
    tear_down(&f);
}
