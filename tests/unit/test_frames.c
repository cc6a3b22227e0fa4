#include "base/hash.h"
#include "frames/codec.h"
#include "frames/words.h"
#include "sim/frames.h"
#include "support/check.h"

#include <math.h>
#include <meshoptimizer.h>
#include <stdlib.h>
#include <string.h>

enum { VERTICES = 500, FRAMES = 70, FLOATS = 3 * VERTICES };

/* A stream of two joints, one mesh with normals and one curve, that waves about. */
typedef struct Scene {
    Arena arena;
    Error err;
    FrameHeader header;
    FrameChannel channel[4];
    float joint[17];
    float position[FLOATS];
    float normal[FLOATS];
    float curve[6];
    const float *data[4];
} Scene;

static const char *const joint_key[] = {"Head", "Kopf \"ä\""};
static const int joint_width[] = {7, 10};
static const char *const mesh_key[] = {"Body/1"};
static const int mesh_width[] = {FLOATS};
static const char *const curve_key[] = {"lock"};
static const int curve_width[] = {6};

static void open_scene(Scene *scene, int precision)
{
    *scene = (Scene){.arena = test_arena(1 << 24)};
    scene->channel[0] = (FrameChannel){CHANNEL_JOINTS, 2, 17, joint_key, joint_width};
    scene->channel[1] = (FrameChannel){CHANNEL_POSITIONS, 1, FLOATS, mesh_key, mesh_width};
    scene->channel[2] = (FrameChannel){CHANNEL_NORMALS, 1, FLOATS, mesh_key, mesh_width};
    scene->channel[3] = (FrameChannel){CHANNEL_CURVES, 1, 6, curve_key, curve_width};
    scene->header = (FrameHeader){.model_sha256 = "ab",
                                  .fps_numerator = 24000,
                                  .fps_denominator = 1001,
                                  .frame_count = FRAMES,
                                  .start = 0.25,
                                  .precision = precision,
                                  .key_interval = 30,
                                  .channel_count = 4,
                                  .channel = scene->channel};
    scene->data[0] = scene->joint;
    scene->data[1] = scene->position;
    scene->data[2] = scene->normal;
    scene->data[3] = scene->curve;
}

/* Frame k of the scene: a sheet 1 m wide that swings by `reach` metres. */
static FrameData scene_frame(Scene *scene, int k, float reach)
{
    Random random = {77};
    float phase = (float)k * 0.1f;
    float swing = phase - floorf(phase);

    for (int i = 0; i < 17; i++)
        scene->joint[i] = random_float(&random, -1.0f, 1.0f) + swing;
    for (int i = 0; i < 6; i++)
        scene->curve[i] = random_float(&random, -1.0f, 1.0f) * swing;
    for (int v = 0; v < VERTICES; v++) {
        float *p = scene->position + 3 * (size_t)v;
        p[0] = (float)(v % 25) * 0.04f + reach * swing;
        p[1] = (float)(v / 25) * 0.04f;
        p[2] = 0.04f * p[0] * p[1] * swing;
        float *n = scene->normal + 3 * (size_t)v;
        n[0] = random_float(&random, -1.0f, 1.0f);
        n[1] = random_float(&random, -1.0f, 1.0f);
        n[2] = random_float(&random, -1.0f, 1.0f);
        float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int i = 0; i < 3; i++)
            n[i] /= length;
    }
    return (FrameData){.frame = k, .time = k * 1001.0 / 24000.0, .data = scene->data};
}

/* The file of `count` frames in memory of the writer's; closed with byte_writer_close. */
static ByteWriter write_scene(Scene *scene, int count, float reach)
{
    ByteWriter out = byte_writer(1 << 26, &scene->err);
    FrameWriter *writer;

    CHECK_INT(frame_writer_open(&scene->header, &scene->arena, &out, &writer, &scene->err), ==, 0);
    for (int k = 0; k < count; k++) {
        FrameData frame = scene_frame(scene, k, reach);
        CHECK_INT(frame_writer_frame(writer, &frame, &out, &scene->err), ==, STATUS_OK);
    }
    CHECK_INT(frame_writer_measures(writer, "{\"summary\":[]}", &out, &scene->err), ==, 0);
    CHECK_INT(frame_writer_end(writer, FRAMES_COMPLETE, &out, &scene->err), ==, STATUS_OK);
    return out;
}

static void close_scene(Scene *scene, ByteWriter *out)
{
    byte_writer_close(out);
    arena_destroy(&scene->arena);
}

static void check_frame(const Scene *scene, const FrameData *got, double position_bar)
{
    for (int i = 0; i < 17; i++)
        CHECK(memcmp(&got->data[0][i], &scene->joint[i], sizeof(float)) == 0);
    for (int i = 0; i < 6; i++)
        CHECK(memcmp(&got->data[3][i], &scene->curve[i], sizeof(float)) == 0);
    for (int i = 0; i < FLOATS; i++)
        CHECK_NEAR(got->data[1][i], scene->position[i], position_bar);
    // 65535 steps across the octahedron's side of 2: less than 1e-4 rad
    for (int i = 0; i < FLOATS; i++)
        CHECK_NEAR(got->data[2][i], scene->normal[i], 1e-4);
}

TEST(frames, come_back_from_a_stream_fed_in_pieces)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter file = write_scene(&scene, FRAMES, 0.02f);
    FrameReader *reader;
    Arena arena = test_arena(1 << 24);
    size_t have = 0, at = 0;
    int frames = 0, ends = 0, headers = 0, measures = 0;

    CHECK_INT(frame_reader_open(NULL, &arena, &reader, &scene.err), ==, STATUS_OK);
    while (!ends && have <= file.size) {
        FrameEvent event;
        size_t used;
        CHECK_INT(frame_reader_next(reader, (Bytes){file.data + at, have - at}, &used, &event,
                                    &scene.err),
                  ==, STATUS_OK);
        at += used;
        if (event.kind == FRAME_EVENT_NONE)
            have += 997;
        have = have > file.size ? file.size : have;
        headers += event.kind == FRAME_EVENT_HEADER;
        measures += event.kind == FRAME_EVENT_MEASURES;
        ends += event.kind == FRAME_EVENT_END;
        if (event.kind == FRAME_EVENT_FRAME) {
            FrameData truth = scene_frame(&scene, frames, 0.02f);
            CHECK_INT(event.data.frame, ==, frames);
            CHECK_NEAR(event.data.time, truth.time, 1e-12);
            // 1.02 m and twice the margin of 5 %: steps of 17 um, half of one off
            check_frame(&scene, &event.data, 0.6 * 1.13 / 65535);
            frames++;
        }
        if (event.kind == FRAME_EVENT_END)
            CHECK_INT(event.frame_count, ==, FRAMES);
    }
    CHECK_INT(frames, ==, FRAMES);
    CHECK_INT(headers, ==, 1);
    CHECK_INT(measures, ==, 1);
    arena_destroy(&arena);
    close_scene(&scene, &file);
}

TEST(frames, header_comes_back_in_full)
{
    Scene scene;
    open_scene(&scene, 16);
    scene.header.is_loop = true;
    ByteWriter bytes = write_scene(&scene, 1, 0.0f);
    FrameFile file;

    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), NULL, &scene.arena, &file, &scene.err), ==,
              STATUS_OK);
    CHECK_EQUAL_TEXT(file.header->model_sha256, "ab");
    CHECK_INT(file.header->fps_numerator, ==, 24000);
    CHECK_INT(file.header->fps_denominator, ==, 1001);
    CHECK_INT(file.header->frame_count, ==, FRAMES);
    CHECK_INT(file.header->first_frame, ==, 0);
    CHECK(file.header->start == 0.25);
    CHECK(file.header->is_loop);
    CHECK_INT(file.header->precision, ==, 16);
    CHECK_INT(file.header->key_interval, ==, 30);
    CHECK_INT(file.header->channel_count, ==, 4);
    CHECK_EQUAL_TEXT(file.header->channel[0].key[1], "Kopf \"ä\"");
    CHECK_INT(file.header->channel[0].width[1], ==, 10);
    CHECK_INT(file.header->channel[2].kind, ==, CHANNEL_NORMALS);
    CHECK_INT(file.header->channel[2].float_count, ==, FLOATS);
    close_scene(&scene, &bytes);
}

TEST(frames, precision_32_is_exact)
{
    Scene scene;
    open_scene(&scene, 32);
    ByteWriter bytes = write_scene(&scene, 40, 0.3f);
    FrameFile file;
    FrameData got;

    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), NULL, &scene.arena, &file, &scene.err), ==,
              STATUS_OK);
    CHECK_INT(frame_file_read(&file, 33, &got, &scene.err), ==, STATUS_OK);
    (void)scene_frame(&scene, 33, 0.3f);
    check_frame(&scene, &got, 0.0);
    CHECK(memcmp(got.data[2], scene.normal, sizeof scene.normal) == 0);
    close_scene(&scene, &bytes);
}

TEST(frames, any_order_of_reading_gives_the_same_floats)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, FRAMES, 0.02f);
    static const int order[] = {0, 69, 31, 30, 29, 29, 60, 1, 2, 3, 64};
    FrameFile forward, jumping;
    FrameData a, b;

    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), NULL, &scene.arena, &forward, &scene.err),
              ==, STATUS_OK);
    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), NULL, &scene.arena, &jumping, &scene.err),
              ==, STATUS_OK);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        CHECK_INT(frame_file_read(&jumping, order[i], &b, &scene.err), ==, STATUS_OK);
        CHECK_INT(frame_file_read(&forward, 0, &a, &scene.err), ==, STATUS_OK);
        for (int k = 1; k <= order[i]; k++)
            CHECK_INT(frame_file_read(&forward, k, &a, &scene.err), ==, STATUS_OK);
        CHECK(memcmp(a.data[1], b.data[1], sizeof scene.position) == 0);
        CHECK(memcmp(a.data[2], b.data[2], sizeof scene.normal) == 0);
    }
    CHECK_INT(frame_file_read(&forward, FRAMES, &a, &scene.err), ==, STATUS_NOT_FOUND);
    CHECK_TEXT(scene.err.message, "frame 70 is not among 70 from 0 on");
    close_scene(&scene, &bytes);
}

TEST(frames, a_key_comes_every_interval_and_where_the_box_is_left)
{
    Scene scene;
    FrameIndex index;

    open_scene(&scene, 16);
    ByteWriter still = write_scene(&scene, FRAMES, 0.0f);
    CHECK_INT(frames_index(byte_writer_bytes(&still), &scene.arena, &index, &scene.err), ==, 0);
    CHECK_INT(index.key_count, ==, 3);
    CHECK_INT(index.key[1].frame, ==, 30);
    CHECK_INT(index.key[2].frame, ==, 60);
    CHECK(frame_index_find(&index, 59) == &index.key[1]);
    CHECK(frame_index_find(&index, 60) == &index.key[2]);

    // 0.4 m a cycle of ten frames leaves 5 % of 1 m after each second frame
    ByteWriter moving = write_scene(&scene, FRAMES, 0.4f);
    CHECK_INT(frames_index(byte_writer_bytes(&moving), &scene.arena, &index, &scene.err), ==, 0);
    CHECK_INT(index.key_count, >, 30);
    CHECK_INT(index.key_count, <, FRAMES);
    byte_writer_close(&moving);
    close_scene(&scene, &still);
}

/* Promise of crash recovery: cut anywhere, what is left is whole records, and whole frames read. */
TEST(frames, a_file_cut_anywhere_keeps_its_whole_frames)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, 6, 0.02f);
    int last = -1;

    for (size_t size = 0; size <= bytes.size; size += 61) {
        size_t mark = arena_mark(&scene.arena);
        Bytes part = {bytes.data, size};
        FrameFile file;
        FrameData data;
        size_t cut = frames_cut(part);

        CHECK_INT(cut, <=, size);
        CHECK_INT(cut % 4, ==, 0);
        if (cut == 0)
            continue;
        CHECK_INT(frame_file_open((Bytes){bytes.data, cut}, NULL, &scene.arena, &file, &scene.err),
                  ==, STATUS_OK);
        CHECK_INT(file.index.size, ==, cut);
        CHECK_INT(file.index.frame_count, >=, last);
        last = file.index.frame_count;
        if (last > 0)
            CHECK_INT(frame_file_read(&file, last - 1, &data, &scene.err), ==, STATUS_OK);
        arena_rewind(&scene.arena, mark);
    }
    CHECK_INT(last, ==, 6);
    close_scene(&scene, &bytes);
}

TEST(frames, no_bytes_at_all_are_no_file)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    FrameFile file;
    FrameReader *reader;
    FrameEvent event;
    size_t used;

    CHECK_INT(frames_cut((Bytes){0}), ==, 0);
    CHECK_INT(frame_file_open((Bytes){0}, NULL, &arena, &file, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "not a file of baked frames: no header first");
    err = (Error){0};
    CHECK_INT(frame_reader_open(NULL, &arena, &reader, &err), ==, STATUS_OK);
    CHECK_INT(frame_reader_next(reader, (Bytes){0}, &used, &event, &err), ==, STATUS_OK);
    CHECK(event.kind == FRAME_EVENT_NONE && used == 0);
    arena_destroy(&arena);
}

TEST(frames, one_wrong_bit_ends_what_is_believed)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, 6, 0.02f);
    FrameIndex index;

    CHECK_INT(frames_index(byte_writer_bytes(&bytes), &scene.arena, &index, &scene.err), ==, 0);
    CHECK(index.has_end && index.end == FRAMES_COMPLETE);
    CHECK_INT(index.measures.size, ==, 14);
    for (size_t i = index.header_size; i < bytes.size; i += 53) {
        bytes.data[i] ^= 4;
        CHECK_INT(frames_cut(byte_writer_bytes(&bytes)), <=, i);
        CHECK_INT(frames_cut(byte_writer_bytes(&bytes)), >=, index.header_size);
        bytes.data[i] ^= 4;
    }
    CHECK_INT(frames_cut(byte_writer_bytes(&bytes)), ==, bytes.size);
    close_scene(&scene, &bytes);
}

TEST(frames, filter_keeps_records_byte_for_byte_and_starts_at_a_key)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, FRAMES, 0.02f);
    ByteWriter few = byte_writer(1 << 26, &scene.err);
    bool wanted[CHANNEL_KIND_COUNT] = {[CHANNEL_POSITIONS] = true};
    FrameFilter *filter;
    FrameFile whole, file;
    FrameData a, b;
    size_t used;

    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), NULL, &scene.arena, &whole, &scene.err),
              ==, STATUS_OK);
    const FrameKey *key = frame_index_find(&whole.index, 41);
    CHECK_INT(frame_filter_open(wanted, key->frame, 44, &scene.arena, &filter, &scene.err), ==, 0);
    Bytes head = {bytes.data, whole.index.header_size};
    CHECK_INT(frame_filter_add(filter, head, &used, &few, &scene.err), ==, STATUS_OK);
    for (size_t at = key->offset; !frame_filter_is_done(filter); at += used) {
        size_t piece = bytes.size - at < 20000 ? bytes.size - at : 20000;
        CHECK_INT(
            frame_filter_add(filter, (Bytes){bytes.data + at, piece}, &used, &few, &scene.err), ==,
            STATUS_OK);
        CHECK_INT(used, >, 0);
    }
    CHECK_INT(frame_file_open(byte_writer_bytes(&few), NULL, &scene.arena, &file, &scene.err), ==,
              STATUS_OK);
    CHECK_INT(file.header->first_frame, ==, 30);
    CHECK_INT(file.header->channel_count, ==, 1);
    CHECK_INT(file.header->channel[0].kind, ==, CHANNEL_POSITIONS);
    CHECK_INT(file.index.frame_count, ==, 15);
    CHECK(file.index.has_end && file.index.end == FRAMES_CUT);
    CHECK_INT(frame_file_read(&file, 44, &a, &scene.err), ==, STATUS_OK);
    CHECK_INT(frame_file_read(&whole, 44, &b, &scene.err), ==, STATUS_OK);
    CHECK(memcmp(a.data[0], b.data[1], sizeof scene.position) == 0);
    byte_writer_close(&few);
    close_scene(&scene, &bytes);
}

TEST(frames, reader_leaves_unwanted_channels_out)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, 3, 0.02f);
    bool wanted[CHANNEL_KIND_COUNT] = {[CHANNEL_CURVES] = true, [CHANNEL_JOINTS] = true};
    FrameFile file;
    FrameData got;

    CHECK_INT(frame_file_open(byte_writer_bytes(&bytes), wanted, &scene.arena, &file, &scene.err),
              ==, STATUS_OK);
    CHECK_INT(file.header->channel_count, ==, 2);
    CHECK_INT(frame_file_read(&file, 2, &got, &scene.err), ==, STATUS_OK);
    (void)scene_frame(&scene, 2, 0.02f);
    CHECK(memcmp(got.data[0], scene.joint, sizeof scene.joint) == 0);
    CHECK(memcmp(got.data[1], scene.curve, sizeof scene.curve) == 0);
    close_scene(&scene, &bytes);
}

TEST(frames, writer_refuses_what_is_not_finite_and_goes_on)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter out = byte_writer(1 << 24, &scene.err);
    FrameWriter *writer;
    Error err = {0};

    CHECK_INT(frame_writer_open(&scene.header, &scene.arena, &out, &writer, &scene.err), ==, 0);
    FrameData frame = scene_frame(&scene, 0, 0.0f);
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &scene.err), ==, STATUS_OK);
    size_t size = out.size;

    frame = scene_frame(&scene, 1, 0.0f);
    scene.position[700] = NAN;
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "frame 1: positions \"Body/1\" holds a value that is not finite");
    frame = scene_frame(&scene, 1, 0.0f);
    scene.joint[3] = INFINITY;
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "joints \"Head\"");
    frame = scene_frame(&scene, 1, 0.0f);
    scene.normal[3] = NAN;
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &err), ==, STATUS_INVALID);
    frame.frame = 2;
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "frame 2 is not the next one, 1");
    CHECK_INT(out.size, ==, size);
    frame = scene_frame(&scene, 1, 0.0f);
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &scene.err), ==, STATUS_OK);
    close_scene(&scene, &out);
}

TEST(frames, writer_refuses_counts_that_do_not_fit)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter out = byte_writer(1 << 24, &scene.err);
    FrameWriter *writer;
    Error err = {0};

    scene.channel[1].float_count = FLOATS - 3;
    CHECK_INT(frame_writer_open(&scene.header, &scene.arena, &out, &writer, &err), ==,
              STATUS_INVALID);
    CHECK_TEXT(err.message, "positions of 1497 floats: the widths add up to 1500");
    scene.header.precision = 24;
    CHECK_INT(frame_writer_open(&scene.header, &scene.arena, &out, &writer, &err), ==,
              STATUS_INVALID);
    CHECK_TEXT(err.message, "precision 24 must be 16 or 32");
    close_scene(&scene, &out);
}

/* Law: with too little memory the reader refuses; with enough it reads. */
TEST(frames, reader_opens_or_refuses_at_every_arena_size)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, 2, 0.02f);
    bool was_refused = false, was_read = false;

    for (size_t size = 64; !was_read && size < 1 << 20; size += 1024) {
        Arena arena = test_arena(size);
        Error err = {0};
        FrameFile file;
        FrameData data;

        if (frame_file_open(byte_writer_bytes(&bytes), NULL, &arena, &file, &err)) {
            CHECK_INT(err.status, ==, STATUS_NO_MEMORY);
            was_refused = true;
        } else {
            was_read = frame_file_read(&file, 1, &data, &err) == STATUS_OK;
        }
        arena_destroy(&arena);
    }
    CHECK(was_refused && was_read);
    close_scene(&scene, &bytes);
}

/* Law: no byte of a record can be changed, with its checksum made good again, so that the reader
 * goes wrong: it says why, or gives finite frames. */
TEST(frames, hostile_records_with_good_checksums_are_refused_or_finite)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, 3, 0.02f);
    int refused = 0;

    for (int i = 0; i < 20 * test_law_cases(); i++) {
        Random random = test_case_random(i);
        Arena arena = test_arena(1 << 22);
        Error err = {0};
        FrameFile file;
        FrameData data;
        size_t at = 0, record = random_u64(&random) % 13;
        FrameRecord head;

        for (size_t r = 0; r < record; r++) {
            Bytes rest = {bytes.data + at, bytes.size - at};
            CHECK_INT(frame_record_parse(rest, &head, &scene.err), ==, STATUS_OK);
            at += head.size;
        }
        uint32_t length;
        memcpy(&length, bytes.data + at, sizeof length);
        size_t size = FRAME_RECORD_HEAD + ((length + 3) & ~3u);
        uint8_t *copy = malloc(bytes.size);
        CHECK(copy != NULL);
        memcpy(copy, bytes.data, bytes.size);
        for (int k = 0; k < 3; k++) {
            size_t spot = 4 + random_u64(&random) % (size - 4);
            copy[at + spot] = (uint8_t)random_u64(&random);
        }
        uint32_t crc = crc32c(crc32c(0, copy + at, 12), copy + at + 16, size - 16);
        memcpy(copy + at + 12, &crc, sizeof crc);

        if (frame_file_open((Bytes){copy, bytes.size}, NULL, &arena, &file, &err))
            refused++;
        for (int k = 0; !err.status && k < file.index.frame_count; k++)
            if (frame_file_read(&file, k, &data, &err) == STATUS_OK)
                for (int c = 0; c < file.header->channel_count; c++)
                    for (int v = 0; v < file.header->channel[c].float_count; v++)
                        CHECK(isfinite(data.data[c][v]));
        CHECK(err.status == STATUS_OK || err.message[0]);
        free(copy);
        arena_destroy(&arena);
    }
    CHECK_INT(refused, >, 0);
    close_scene(&scene, &bytes);
}

/* Law: a position comes back within half a step of its axis, a grid covers its points. */
TEST(frames, grids_hold_their_points_to_half_a_step)
{
    for (int i = 0; i < test_law_cases(); i++) {
        Random random = test_case_random(i);
        float size = random_float(&random, 0.0f, 4.0f);
        float far = random_float(&random, -100.0f, 100.0f);
        float point[60], back[60];
        uint16_t word[80];
        FrameGrid grid;

        for (int k = 0; k < 60; k++)
            point[k] = far + random_float(&random, 0.0f, size) * (k % 3 == 2 ? 0.0f : 1.0f);
        CHECK(grid_around(point, 20, &grid));
        CHECK(grid_quantise(&grid, point, 20, word));
        grid_dequantise(&grid, word, 20, back);
        for (int k = 0; k < 60; k++)
            CHECK_NEAR(back[k], point[k],
                       0.51 * (double)grid.step[k % 3] + 4e-7 * fabs((double)far));
    }
}

/* Law: unit vectors come back within 1e-4, words and differences exactly. */
TEST(frames, normals_and_differences_come_back)
{
    for (int i = 0; i < test_law_cases(); i++) {
        Random random = test_case_random(i);
        float n[3], back[3];
        uint16_t word[2], before[2], difference[2];

        for (int k = 0; k < 3; k++)
            n[k] = random_float(&random, -1.0f, 1.0f) * (random_u64(&random) % 3 ? 1.0f : 0.0f);
        float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
        for (int k = 0; k < 3 && length > 0.0f; k++)
            n[k] /= length;
        CHECK(normals_quantise(n, 1, word));
        normals_dequantise(word, 1, back);
        for (int k = 0; k < 3; k++)
            CHECK_NEAR(back[k], length > 0.0f ? n[k] : (k == 2 ? 1.0f : 0.0f), 1e-4);
        before[0] = (uint16_t)random_u64(&random);
        before[1] = (uint16_t)random_u64(&random);
        words_difference(word, before, 2, difference);
        words_add(difference, 2, before);
        CHECK(before[0] == word[0] && before[1] == word[1]);
    }
    uint16_t now[2] = {4, 0}, then[2] = {5, 65535}, difference[2];
    words_difference(now, then, 2, difference);
    CHECK_INT(difference[0], ==, 1); // -1
    CHECK_INT(difference[1], ==, 2); // +1, around the end
}

/* Law: our encoder writes what libmeshoptimizer 0.18 writes, for words of every size. */
TEST(frames, words_are_coded_as_the_library_codes_them)
{
    enum { MOST = 1200 };
    static uint16_t word[4 * MOST], back[4 * MOST];
    static uint8_t theirs[16 * MOST + 4096];

    for (int i = 0; i < test_law_cases(); i++) {
        Random random = test_case_random(i);
        Error err = {0};
        int words = i % 2 ? 4 : 2;
        int count = i == 0 ? 0 : (int)(random_u64(&random) % MOST);
        int shift = (int)(random_u64(&random) % 17);
        ByteWriter ours = byte_writer(1 << 20, &err);

        for (int k = 0; k < words * count; k++) {
            uint64_t bits = random_u64(&random);
            // runs of quiet and of wild values
            int quiet = (k / 64) % 3 == 0 ? 16 : shift;
            word[k] = (uint16_t)((bits & 0xFFFF) >> quiet);
        }
        meshopt_encodeVertexVersion(0);
        size_t size = meshopt_encodeVertexBuffer(theirs, sizeof theirs, word, (size_t)count,
                                                 sizeof(uint16_t) * (size_t)words);
        words_encode(word, count, words, &ours);
        CHECK_INT(ours.size, ==, size);
        CHECK(memcmp(ours.data, theirs, size) == 0);
        CHECK(words_decode(byte_writer_bytes(&ours), count, words, back));
        CHECK(memcmp(back, word, sizeof(uint16_t) * (size_t)(words * count)) == 0);
        CHECK(!words_decode((Bytes){ours.data, size - 1}, count, words, back));
        byte_writer_close(&ours);
    }
}

/* The bytes are a contract: this file's hash may change only with the format's version. */
TEST(frames, give_these_bytes_and_no_others)
{
    Scene scene;
    char hash[SHA256_HEX_SIZE];

    open_scene(&scene, 16);
    ByteWriter bytes = write_scene(&scene, FRAMES, 0.05f);
    sha256_of(byte_writer_bytes(&bytes), hash);
    CHECK_EQUAL_TEXT(hash, "513abf5cd113f74d800deb7223769d0dfbf89a3409999fd8d7961f483fb549c6");
    close_scene(&scene, &bytes);
}

TEST(frames, heartbeats_and_unknown_records_are_skipped)
{
    Scene scene;
    open_scene(&scene, 16);
    ByteWriter out = byte_writer(1 << 24, &scene.err);
    FrameWriter *writer;
    FrameFile file;
    FrameData data;

    CHECK_INT(frame_writer_open(&scene.header, &scene.arena, &out, &writer, &scene.err), ==, 0);
    frames_write_heartbeat(&out);
    FrameData frame = scene_frame(&scene, 0, 0.0f);
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &scene.err), ==, STATUS_OK);
    size_t begin = record_begin(&out);
    write_u8(&out, 7);
    record_end(&out, begin, &(FrameRecord){.type = (FrameRecordType)200});
    frame = scene_frame(&scene, 1, 0.0f);
    CHECK_INT(frame_writer_frame(writer, &frame, &out, &scene.err), ==, STATUS_OK);
    CHECK_INT(frame_file_open(byte_writer_bytes(&out), NULL, &scene.arena, &file, &scene.err), ==,
              STATUS_OK);
    CHECK_INT(file.index.frame_count, ==, 2);
    CHECK_INT(frame_file_read(&file, 1, &data, &scene.err), ==, STATUS_OK);
    CHECK_INT(data.frame, ==, 1);
    close_scene(&scene, &out);
}
