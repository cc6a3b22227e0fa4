#include "server/jobs/wire.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { ARENA_SIZE = 1 << 20 };

/* The one message in `writer`, without its head. */
static Bytes payload(const ByteWriter *writer, WireKind kind)
{
    Bytes bytes = byte_writer_bytes(writer);
    WireKind found = WIRE_ORDER;
    size_t size = 0;
    Error err = {0};

    CHECK(bytes.size >= WIRE_HEAD);
    CHECK_INT(wire_read_head(bytes.data, &found, &size, &err), ==, STATUS_OK);
    CHECK_INT(found, ==, kind);
    CHECK_INT((int)size, ==, (int)(bytes.size - WIRE_HEAD));
    return (Bytes){bytes.data + WIRE_HEAD, size};
}

static const MeasureRow rows[] = {
    {"stretch.p99", 0, "hair", 0.1 + 1e-17, false, "1"},
    {"contact.count", -1, "*", NAN, true, "1"},
};

static WireEnd an_end(void)
{
    WireEnd end = {.failure = {STATUS_DIVERGED, "the bake went to pieces"},
                   .result = {.measures = {.row = rows, .row_count = 2},
                              .frames = 12,
                              .bytes = (int64_t)1 << 40,
                              .sha256 = "abcd",
                              .seconds = 1.0 / 3.0,
                              .simulated = 2.5,
                              .memory = 4096,
                              .has_gates = true,
                              .reason = "stretch.p99 is too great"},
                   .measures = {(const uint8_t *)"{}", 2}};

    return end;
}

TEST(wire, an_end_comes_out_as_it_went_in)
{
    Error err = {0};
    Arena arena;
    WireEnd out;
    ByteWriter writer = byte_writer(WIRE_MAX, &err);
    const WireEnd end = an_end();

    CHECK_INT(arena_create(&arena, ARENA_SIZE, &err), ==, STATUS_OK);
    wire_write_end(&end, &writer);
    CHECK_INT(wire_read_end(payload(&writer, WIRE_END), &arena, &out, &err), ==, STATUS_OK);
    CHECK_INT(out.failure.status, ==, STATUS_DIVERGED);
    CHECK_EQUAL_TEXT(out.failure.message, "the bake went to pieces");
    CHECK_INT(out.result.frames, ==, 12);
    CHECK(out.result.bytes == (int64_t)1 << 40);
    CHECK_EQUAL_TEXT(out.result.sha256, "abcd");
    CHECK(out.result.seconds == 1.0 / 3.0);
    CHECK(out.result.has_gates && !out.result.passed);
    CHECK_EQUAL_TEXT(out.result.reason, "stretch.p99 is too great");
    CHECK_INT(out.result.measures.row_count, ==, 2);
    CHECK_EQUAL_TEXT(out.result.measures.row[0].target, "hair");
    CHECK(out.result.measures.row[0].value == rows[0].value);
    CHECK(out.result.measures.row[1].is_missing);
    CHECK_INT(out.result.measures.row[1].simulation, ==, -1);
    CHECK(out.measures.size == 2 && memcmp(out.measures.data, "{}", 2) == 0);
    byte_writer_close(&writer);
    arena_destroy(&arena);
}

TEST(wire, an_order_comes_out_as_it_went_in)
{
    Error err = {0};
    Arena arena;
    WireOrder out;
    ByteWriter writer = byte_writer(WIRE_MAX, &err);
    WireOrder order = {
        .body = {(const uint8_t *)"{\"model\":1}", 11},
        .limits = {.frames = 7, .memory = (size_t)3 << 30},
        .asset_limits = asset_limits_default(),
        .model = {.id = "m_1", .sha256 = "ff", .name = "a \xc3\xa4", .unit = 0.01, .is_z_up = true},
        .has_animation = true,
        .animation = {.id = "a_1", .sha256 = "ee", .name = ""},
    };

    order.asset_limits.joints = 99;
    CHECK_INT(arena_create(&arena, ARENA_SIZE, &err), ==, STATUS_OK);
    wire_write_order(&order, &writer);
    CHECK_INT(wire_read_order(payload(&writer, WIRE_ORDER), &arena, &out, &err), ==, STATUS_OK);
    CHECK(out.body.size == 11 && memcmp(out.body.data, order.body.data, 11) == 0);
    CHECK_INT(out.limits.frames, ==, 7);
    CHECK(out.limits.memory == (size_t)3 << 30);
    CHECK_INT(out.asset_limits.joints, ==, 99);
    CHECK(out.asset_limits.file_size == order.asset_limits.file_size);
    CHECK_EQUAL_TEXT(out.model.name, "a \xc3\xa4");
    CHECK(out.model.unit == 0.01 && out.model.is_z_up);
    CHECK(out.has_animation);
    CHECK_EQUAL_TEXT(out.animation.sha256, "ee");
    byte_writer_close(&writer);
    arena_destroy(&arena);
}

TEST(wire, a_message_cut_anywhere_is_a_failure)
{
    Error err = {0};
    Arena arena;
    ByteWriter writer = byte_writer(WIRE_MAX, &err);
    const WireEnd end = an_end();

    CHECK_INT(arena_create(&arena, ARENA_SIZE, &err), ==, STATUS_OK);
    wire_write_end(&end, &writer);
    Bytes whole = payload(&writer, WIRE_END);
    for (size_t size = 0; size < whole.size; size++) {
        Error failure = {0};
        WireEnd out;
        size_t mark = arena_mark(&arena);

        CHECK_INT(wire_read_end((Bytes){whole.data, size}, &arena, &out, &failure), ==,
                  STATUS_INVALID);
        CHECK_INT(out.result.measures.row_count, <=, 2);
        arena_rewind(&arena, mark);
    }
    byte_writer_close(&writer);
    arena_destroy(&arena);
}

TEST(wire, what_cannot_be_a_message_is_refused)
{
    const uint8_t kind[WIRE_HEAD] = {WIRE_END + 1}, size[WIRE_HEAD] = {WIRE_PIECE, 0, 0, 0, 0xff};
    WireKind found = WIRE_ORDER;
    size_t length = 0;
    Error err = {0};

    CHECK_INT(wire_read_head(kind, &found, &length, &err), ==, STATUS_INVALID);
    err = (Error){0};
    CHECK_INT(wire_read_head(size, &found, &length, &err), ==, STATUS_INVALID);
}

TEST(wire, numbers_that_are_not_finite_are_refused)
{
    Error err = {0};
    Arena arena;
    Measures measures;
    RunProgress out, progress = {.progress = NAN};
    ByteWriter writer = byte_writer(WIRE_MAX, &err);

    CHECK_INT(arena_create(&arena, ARENA_SIZE, &err), ==, STATUS_OK);
    wire_write_progress(&progress, &writer);
    CHECK_INT(wire_read_progress(payload(&writer, WIRE_PROGRESS), &arena, &out, &measures, &err),
              ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "the progress is not finite");
    byte_writer_close(&writer);
    arena_destroy(&arena);
}

TEST(wire, more_measures_than_the_message_has_room_for_are_refused)
{
    const uint8_t progress[37] = {[32] = 1, [33] = 0xff, 0xff, 0xff, 0x7f};
    Error err = {0};
    Arena arena;
    Measures measures;
    RunProgress out;

    CHECK_INT(arena_create(&arena, ARENA_SIZE, &err), ==, STATUS_OK);
    CHECK_INT(wire_read_progress((Bytes){progress, sizeof progress}, &arena, &out, &measures, &err),
              ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "2147483647 measures are more than the message");
    arena_destroy(&arena);
}
