#include "server/jobs/runner.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A head on a root, a lock of three segments on the head, and no mesh. */
typedef struct Fixture {
    Arena assets;
    Arena arena;
    Rig rig;
    JobSpec spec;
    Faults faults;
    Error err;
} Fixture;

enum { NODE_COUNT = 6 };

static void build_rig(Fixture *f)
{
    RigNode *node = arena_array(&f->assets, RigNode, NODE_COUNT);
    RigSegment *segment = arena_array(&f->assets, RigSegment, 3);
    RigSpring *spring = arena_array(&f->assets, RigSpring, 1);
    static const char *const names[NODE_COUNT] = {"root", "head", "a", "b", "c", "d"};

    for (int i = 0; i < NODE_COUNT; i++)
        node[i] = (RigNode){.name = names[i],
                            .parent = i - 1,
                            .mesh = -1,
                            .skin = -1,
                            .rest_weight = -1,
                            .rest = {.rotation = {0, 0, 0, 1},
                                     .translation = {0, i == 1 ? 1.5f : 0, i > 1 ? -0.05f : 0},
                                     .scale = {1, 1, 1}}};
    for (int i = 0; i < 3; i++)
        segment[i] = (RigSegment){.head = i + 2,
                                  .tail = i + 3,
                                  .tail_offset = {0, 0, -0.05f},
                                  .stiffness = 1,
                                  .drag = 0.4f,
                                  .gravity_power = 0.2f,
                                  .gravity_dir = {0, -1, 0}};
    spring[0] = (RigSpring){.name = "lock",
                            .center = -1,
                            .has_parameters = true,
                            .segment_count = 3,
                            .segment = segment};
    f->rig = (Rig){.format = "test",
                   .name = "test",
                   .unit = 1,
                   .node_count = NODE_COUNT,
                   .node = node,
                   .spring_count = 1,
                   .spring = spring,
                   .forward = {0, 0, 1}};
    for (int i = 0; i < ROLE_COUNT; i++)
        f->rig.role[i] = -1;
    f->rig.role[ROLE_HEAD] = 1;
    f->rig.warnings = warnings_open(&f->assets, 8);
    if (rig_finish(&f->rig, &f->assets, &f->err))
        CHECK_OK(&f->err);
}

static void decode(Fixture *f, const char *json)
{
    const JobContext context = {.rig = &f->rig,
                                .model_id = "m_1",
                                .model_sha256 = "",
                                .is_offline = true,
                                .limits = job_limits_default()};
    Faults faults = faults_open(&f->assets, 8);
    JsonDocument document = {0};

    if (!json_open((Bytes){(const uint8_t *)json, strlen(json)}, JOB_JSON_DEPTH, &document,
                   &f->err) &&
        job_spec_decode(&document, &context, &f->assets, &faults, &f->spec, &f->err))
        CHECK_OK(&f->err);
    CHECK_OK(&f->err);
    json_close(&document);
}

static void open_fixture(Fixture *f, const char *json)
{
    *f = (Fixture){.assets = test_arena(8 << 20), .arena = test_arena(64 << 20)};
    f->faults = faults_open(&f->assets, 8);
    build_rig(f);
    decode(f, json);
}

static void close_fixture(Fixture *f)
{
    arena_destroy(&f->assets);
    arena_destroy(&f->arena);
}

static const char turn[] = "{\"animation\":{\"procedural\":\"head_turn\"},\"time\":{\"end\":1,"
                           "\"settle\":0.5},\"simulations\":[{\"type\":\"chains\"}]}";

/* A host that keeps the stream and what it was told. */
typedef struct Host {
    ByteWriter stream;
    int pieces, frames, keys;
    int last_frame;
    int refuse_at; /* the piece that is refused; 0: none */
    int stop_at;   /* the piece after which it asks to stop; 0: none */
    int told;
    int told_measures;
    double progress; /* of the last call */
    bool went_back;
    atomic_bool stop;
    Error err;
} Host;

static Status take(void *context, const RunPiece *piece, Error *err)
{
    Host *host = context;

    host->pieces++;
    if (host->refuse_at == host->pieces)
        return error_set(err, STATUS_IO, "the disk is gone");
    if (host->stop_at == host->pieces)
        atomic_store(&host->stop, true);
    host->frames += piece->frame >= 0 && piece->bytes.size > 0 && piece->frame < 31;
    host->keys += piece->is_key;
    host->last_frame = piece->frame;
    write_bytes(&host->stream, piece->bytes.data, piece->bytes.size);
    return STATUS_OK;
}

static void hear(void *context, const RunProgress *progress)
{
    Host *host = context;

    host->told++;
    host->told_measures += progress->measures != NULL;
    host->went_back |= progress->progress < host->progress;
    host->progress = progress->progress;
}

static Status run(Fixture *f, Host *host, RunResult *out)
{
    const RunOptions options = {simd_level_best(), 1e9, 1e9};
    const RunHost door = {host, take, hear, options, &host->stop};

    host->stream = byte_writer(64 << 20, &host->err);
    return run_job(&f->rig, &f->spec, &door, &f->arena, out, &f->err);
}

TEST(runner, gives_out_a_stream_that_reads_back)
{
    Fixture f;
    Host host = {0};
    RunResult result;
    FrameFile file;
    char sha256[SHA256_HEX_SIZE];

    open_fixture(&f, turn);
    Status status = run(&f, &host, &result);
    CHECK_OK(&f.err);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(result.frames, ==, 31);
    // a header, a piece a frame, and the end
    CHECK_INT(host.pieces, ==, 33);
    CHECK_INT(host.last_frame, ==, 31);
    CHECK_INT(host.keys, >=, 1);
    CHECK_INT(result.bytes, ==, (int64_t)host.stream.size);
    sha256_of(byte_writer_bytes(&host.stream), sha256);
    CHECK_EQUAL_TEXT(result.sha256, sha256);
    status = frame_file_open(byte_writer_bytes(&host.stream), NULL, &f.arena, &file, &f.err);
    CHECK_OK(&f.err);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(file.index.frame_count, ==, 31);
    CHECK(file.index.has_end && file.index.end == FRAMES_COMPLETE);
    CHECK(file.index.measures.size > 0);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, tells_progress_that_never_goes_back)
{
    Fixture f;
    Host host = {0};
    RunResult result;

    open_fixture(&f, turn);
    Status status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(host.told, >, 31);
    CHECK_INT(host.told_measures, >, 0);
    CHECK(!host.went_back);
    CHECK_NEAR(host.progress, 1, 1e-9);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

/* Law: the same job gives the same bytes, whatever is asked in between. */
TEST(runner, gives_equal_bytes_with_and_without_progress)
{
    Fixture f;
    Host host = {0};
    RunResult first;
    RunResult second;

    open_fixture(&f, turn);
    Status status = run(&f, &host, &first);
    CHECK_INT(status, ==, STATUS_OK);
    byte_writer_close(&host.stream);
    arena_rewind(&f.arena, 0);
    host = (Host){.stream = byte_writer(64 << 20, &host.err)};
    const RunHost quiet = {.context = &host, .append = take, .options = {.simd = SIMD_SCALAR}};
    status = run_job(&f.rig, &f.spec, &quiet, &f.arena, &second, &f.err);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_EQUAL_TEXT(second.sha256, first.sha256);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, stops_at_the_next_sub_step_and_keeps_what_there_is)
{
    Fixture f;
    Host host = {.stop_at = 11}; // the header and frames 0 to 9
    RunResult result;
    FrameFile file;

    open_fixture(&f, turn);
    Status status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_CANCELLED);
    CHECK_TEXT(f.err.message, "after 10 of 31 frames");
    CHECK_INT(result.frames, ==, 10);
    CHECK(result.measures.is_partial);
    CHECK_INT(result.measures.frames, ==, 10);
    CHECK(!result.passed);
    f.err = (Error){0};
    status = frame_file_open(byte_writer_bytes(&host.stream), NULL, &f.arena, &file, &f.err);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(file.index.frame_count, ==, 10);
    CHECK(file.index.has_end && file.index.end == FRAMES_STOPPED);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, ends_with_the_failure_of_its_host)
{
    Fixture f;
    Host host = {.refuse_at = 5};
    RunResult result;

    open_fixture(&f, turn);
    Status status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_IO);
    CHECK_EQUAL_TEXT(f.err.message, "the disk is gone");
    // nothing is offered to a host that has refused
    CHECK_INT(host.pieces, ==, 5);
    CHECK_INT(result.frames, ==, 3);
    CHECK(result.measures.is_partial);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, fails_cleanly_in_every_small_arena)
{
    Fixture f;
    Status status = STATUS_NO_MEMORY;
    int refused = 0;

    open_fixture(&f, turn);
    for (size_t capacity = 1 << 10; status == STATUS_NO_MEMORY; capacity += capacity / 8) {
        Host host = {0};
        RunResult result;
        Arena whole = f.arena;

        f.arena = test_arena(capacity);
        f.err = (Error){0};
        status = run(&f, &host, &result);
        CHECK(status == STATUS_OK || status == STATUS_NO_MEMORY);
        refused += status == STATUS_NO_MEMORY;
        byte_writer_close(&host.stream);
        arena_destroy(&f.arena);
        f.arena = whole;
    }
    CHECK_INT(refused, >, 0);
    close_fixture(&f);
}

TEST(runner, measures_what_a_sub_step_costs)
{
    Fixture f;
    Host host = {0};
    RunResult result;

    open_fixture(&f, turn);
    Status status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_OK);
    const MeasureRow *p50 = measures_find(&result.measures, "cost.step.p50", -1, "*");
    const MeasureRow *p95 = measures_find(&result.measures, "cost.step.p95", -1, "*");
    const MeasureRow *max = measures_find(&result.measures, "cost.step.max", -1, "*");
    const MeasureRow *speed = measures_find(&result.measures, "cost.realtime", -1, "*");
    CHECK(p50 && p95 && max && speed);
    CHECK(p50->value > 0 && p50->value <= p95->value && p95->value <= max->value);
    // warm-up 0.5, motion 1, settle 0.5
    CHECK_NEAR(result.simulated, 2, 0.02);
    CHECK(speed->value > result.simulated / result.seconds);
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, passes_a_job_by_its_gates)
{
    static const char *const gates[][2] = {
        {"\"nonfinite\":{\"max\":0}", ""},
        {"\"nonfinite\":{\"min\":1}", "nonfinite"},
        {"\"settle.speed\":{\"max\":1}", "settle.speed"}, // not measured without a settle
    };

    for (size_t i = 0; i < sizeof gates / sizeof *gates; i++) {
        Fixture f;
        Host host = {0};
        RunResult result;
        char json[512];

        (void)snprintf(json, sizeof json,
                       "{\"animation\":{\"procedural\":\"head_turn\"},\"time\":{\"end\":1,"
                       "\"settle\":0},\"simulations\":[{\"type\":\"chains\"}],\"gates\":{%s}}",
                       gates[i][0]);
        open_fixture(&f, json);
        Status status = run(&f, &host, &result);
        CHECK_INT(status, ==, STATUS_OK);
        CHECK(result.has_gates);
        CHECK(result.passed == (gates[i][1][0] == '\0'));
        CHECK_TEXT(result.reason, gates[i][1]);
        byte_writer_close(&host.stream);
        close_fixture(&f);
    }
}

TEST(runner, refuses_gates_on_what_it_does_not_measure)
{
    Fixture f;
    Host host = {0};
    RunPlan plan;
    RunResult result;

    open_fixture(&f, "{\"simulations\":[{\"type\":\"chains\"}],\"gates\":{\"nonfinit\":{\"max\":0},"
                     "\"nonfinite\":{\"max\":0},\"cost.realtime\":{\"min\":1},"
                     "\"no/such\":{\"max\":1}}}");
    Status status = run_plan(&f.rig, &f.spec, &f.faults, &f.arena, &plan, &f.err);
    CHECK_INT(status, ==, STATUS_INVALID);
    CHECK_INT(f.faults.count, ==, 2);
    CHECK_EQUAL_TEXT(f.faults.fault[0].pointer, "/gates/nonfinit");
    CHECK_TEXT(f.faults.fault[0].detail, "does not measure; did you mean \"nonfinite\"?");
    CHECK_EQUAL_TEXT(f.faults.fault[1].pointer, "/gates/no~1such");
    f.err = (Error){0};
    // a bake ends at once, not at its end
    status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_INVALID);
    CHECK_INT(result.frames, ==, 0);
    CHECK_TEXT(f.err.message, "/gates/nonfinit");
    byte_writer_close(&host.stream);
    close_fixture(&f);
}

TEST(runner, plans_what_a_run_takes)
{
    Fixture f;
    Host host = {0};
    RunPlan plan;
    RunResult result;

    open_fixture(&f, turn);
    Status status = run_plan(&f.rig, &f.spec, &f.faults, &f.arena, &plan, &f.err);
    CHECK_OK(&f.err);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(plan.frame_count, ==, 31);
    // warm-up 0.5 s, motion 1 s, settle 0.5 s at 120 a second
    CHECK_INT(plan.tick_count, >=, 240);
    CHECK_INT(plan.tick_count, <=, 242);
    arena_rewind(&f.arena, 0);
    status = run(&f, &host, &result);
    CHECK_INT(status, ==, STATUS_OK);
    CHECK(fabs((double)plan.stream_bytes - (double)result.bytes) < 0.5 * (double)result.bytes);
    CHECK(plan.memory > result.memory / 2 && plan.memory < 2 * result.memory + (1 << 20));
    byte_writer_close(&host.stream);
    close_fixture(&f);
}
