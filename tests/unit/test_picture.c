#include "base/hash.h"
#include "picture/camera.h"
#include "picture/draw.h"
#include "picture/font.h"
#include "picture/numbers.h"
#include "picture/raster.h"
#include "sim/assets.h"
#include "sim/picture.h"
#include "sim/samples.h"
#include "support/check.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

static const Vec3 white = {1.0f, 1.0f, 1.0f};
static const Vec3 towards = {0.0f, 0.0f, 1.0f};

static RasterVertex at(float x, float y, float w)
{
    return (RasterVertex){.x = x, .y = y, .w = w, .normal = towards, .color = white};
}

static int covered(const Raster *raster)
{
    int count = 0;

    for (int i = 0; i < raster->width * raster->height; i++)
        count += raster->depth[i] > -INFINITY;
    return count;
}

TEST(picture, triangle_covers_the_samples_whose_middles_it_holds)
{
    Error err = {0};
    Arena arena = test_arena(1 << 20);
    Raster raster;
    RasterVertex a = at(0, 0, 1), b = at(8, 0, 1), c = at(0, 8, 1);

    CHECK_INT(raster_build(16, 16, true, &arena, &raster, &err), ==, STATUS_OK);
    // middles with x + y <= 8: 8 + 7 + ... + 1, the long edge's own included
    raster_triangle(&raster, &a, &b, &c);
    CHECK_INT(covered(&raster), ==, 36);
    // the same from behind
    raster_clear(&raster);
    raster_triangle(&raster, &a, &c, &b);
    CHECK_INT(covered(&raster), ==, 36);
    arena_destroy(&arena);
}

TEST(picture, nearer_surface_hides_the_farther_in_any_order)
{
    Error err = {0};
    Arena arena = test_arena(1 << 20);
    Raster raster;
    RasterVertex near[3] = {at(0, 0, 0.5f), at(40, 0, 0.5f), at(0, 40, 0.5f)};
    RasterVertex far[3] = {at(0, 0, 0.25f), at(40, 0, 0.25f), at(0, 40, 0.25f)};

    CHECK_INT(raster_build(16, 16, true, &arena, &raster, &err), ==, STATUS_OK);
    for (int order = 0; order < 2; order++) {
        raster_clear(&raster);
        for (int i = 0; i < 2; i++) {
            RasterVertex *v = (i == 0) == (order == 0) ? near : far;
            raster_triangle(&raster, &v[0], &v[1], &v[2]);
        }
        CHECK(raster.depth[5 * 16 + 5] == 0.5f);
    }
    arena_destroy(&arena);
}

TEST(picture, what_is_not_finite_or_far_outside_is_left_out)
{
    Error err = {0};
    Arena arena = test_arena(1 << 20);
    Raster raster;
    RasterVertex a = at(0, 0, 1), b = at(8, NAN, 1), c = at(0, 8, 1), d = at(1e30f, -1e30f, 1);

    CHECK_INT(raster_build(16, 16, true, &arena, &raster, &err), ==, STATUS_OK);
    raster_triangle(&raster, &a, &b, &c);
    raster_triangle(&raster, &d, &d, &d);
    raster_line(&raster, b, c, 3.0f, 0.0f);
    raster_line(&raster, a, d, 3.0f, 0.0f);
    raster_ball(&raster, d, 5.0f);
    raster_ball(&raster, b, 5.0f);
    CHECK_INT(covered(&raster), ==, 0);
    arena_destroy(&arena);
}

TEST(picture, camera_sees_the_whole_box_from_every_side)
{
    Box box = {{-0.8f, 0.0f, -0.2f}, {0.8f, 1.7f, 0.3f}};

    for (int view = 0; view <= PICTURE_VIEW_COUNT; view++) {
        Camera camera = camera_look((PictureView)view, vec3(0, 0, 1), &box, 300, 400);
        Vec3 left = camera_turn(&camera, vec3(1, 0, 0));
        for (int i = 0; i < 3; i++) {
            // the middles of the sides
            Vec3 p = vec3(i == 0 ? 0.8f : 0.0f, i == 1 ? 1.7f : 0.85f, i == 2 ? 0.3f : 0.05f);
            RasterVertex v = camera_project(&camera, p);
            CHECK(v.x >= 0.0f && v.x <= 300.0f && v.y >= 0.0f && v.y <= 400.0f && v.w > 0.0f);
        }
        // the character's left is to the right of the picture in front, towards the eye at the side
        if (view == PICTURE_FRONT)
            CHECK(left.x > 0.99f);
        if (view == PICTURE_SIDE)
            CHECK(left.z > 0.99f);
        if (view == PICTURE_THREE_QUARTER)
            CHECK(camera_turn(&camera, vec3(0, 0, -1)).z > 0.5f);
    }
}

TEST(picture, gamma_is_srgb)
{
    static uint8_t gamma[4096];

    raster_gamma(gamma);
    CHECK_INT(gamma[0], ==, 0);
    CHECK_INT(gamma[4095], ==, 255);
    CHECK_INT(gamma[877], ==, 128); // 0.2142 is half of sRGB's range
    CHECK_INT(gamma[10], ==, 8);    // 12.92 * 10 / 4095 * 255
}

TEST(picture, stretch_colours_run_from_grey_to_red)
{
    Vec3 none = draw_stretch_color(0.0f), most = draw_stretch_color(5.0f);
    Vec3 middle = draw_stretch_color(0.10f);

    CHECK_NEAR(none.x, none.z, 0.15);
    CHECK(most.x > 0.7f && most.y < 0.1f && most.z < 0.1f);
    CHECK(middle.y > middle.x && middle.y > middle.z);
    CHECK(memcmp(&none,
                 &(Vec3){draw_stretch_color(NAN).x, draw_stretch_color(-1.0f).y,
                         draw_stretch_color(NAN).z},
                 sizeof none) == 0);
}

/* --- occlusion --- */

/* A square 1 m wide in the plane z. */
static PictureMesh square(Vec3 corner[4], float z)
{
    static const uint32_t index[6] = {0, 1, 2, 0, 2, 3};

    corner[0] = vec3(-0.5f, 1.0f, z);
    corner[1] = vec3(0.5f, 1.0f, z);
    corner[2] = vec3(0.5f, 2.0f, z);
    corner[3] = vec3(-0.5f, 2.0f, z);
    return (PictureMesh){4, 6, corner, index};
}

TEST(picture, counts_points_more_than_a_millimetre_behind_the_screen)
{
    Error err = {0};
    Arena arena = test_arena(64 << 20);
    Vec3 corner[4];
    PictureMesh screen = square(corner, 0.2f);
    Vec3 point[] = {{0.0f, 1.5f, 0.3f},    // in front
                    {0.0f, 1.5f, 0.1995f}, // half a millimetre behind
                    {0.1f, 1.2f, 0.1982f}, // 1.8 mm behind
                    {-0.4f, 1.9f, 0.125f}, // 75 mm behind
                    {0.7f, 1.5f, 0.0f}};   // beside it
    bool is_hidden[5] = {false};
    PictureOcclusion out = {.point_count = 5, .is_hidden = is_hidden};

    CHECK_INT(
        picture_occlusion(&(PictureScreen){1, &screen, vec3(0, 0, 1)}, point, &arena, &out, &err),
        ==, STATUS_OK);
    CHECK_INT(out.count, ==, 2);
    CHECK_NEAR(out.depth, 0.075, 1e-6);
    CHECK(!is_hidden[0] && !is_hidden[1] && is_hidden[2] && is_hidden[3] && !is_hidden[4]);

    // a later frame adds what was not counted yet
    point[4] = vec3(0.2f, 1.5f, 0.1f);
    point[3] = vec3(0.0f, 1.5f, 0.3f);
    CHECK_INT(
        picture_occlusion(&(PictureScreen){1, &screen, vec3(0, 0, 1)}, point, &arena, &out, &err),
        ==, STATUS_OK);
    CHECK_INT(out.count, ==, 3);
    CHECK_NEAR(out.depth, 0.100, 1e-6);
    arena_destroy(&arena);
}

TEST(picture, occlusion_looks_where_the_character_faces)
{
    Error err = {0};
    Arena arena = test_arena(64 << 20);
    Vec3 corner[4];
    PictureMesh screen = square(corner, 0.2f);
    Vec3 point[] = {{0.0f, 1.5f, 0.3f}, {0.0f, 1.5f, 0.1f}};
    bool is_hidden[2] = {false};
    PictureOcclusion out = {.point_count = 2, .is_hidden = is_hidden};

    CHECK_INT(
        picture_occlusion(&(PictureScreen){1, &screen, vec3(0, 0, -1)}, point, &arena, &out, &err),
        ==, STATUS_OK);
    CHECK(is_hidden[0] && !is_hidden[1]);
    CHECK_INT(
        picture_occlusion(&(PictureScreen){0, NULL, vec3(0, 0, 1)}, point, &arena, &out, &err), ==,
        STATUS_OK);
    CHECK_INT(out.count, ==, 1);
    arena_destroy(&arena);
}

/* --- whole pictures --- */

typedef struct Stage {
    Arena arena, scratch;
    Error err;
    const Rig *rig;
    ByteWriter frames, png;
} Stage;

/* The sample avatar, and frames of two segments that rise; no joints. */
static void open_stage(Stage *stage)
{
    static const char *const key[] = {"a", "b"};
    static const int width[] = {6, 6};
    static const FrameChannel channel = {CHANNEL_SEGMENTS, 2, 12, key, width};
    static const FrameHeader header = {.fps_numerator = 30,
                                       .fps_denominator = 1,
                                       .frame_count = 4,
                                       .precision = 16,
                                       .key_interval = 30,
                                       .channel_count = 1,
                                       .channel = &channel};
    FrameWriter *writer;

    *stage = (Stage){.arena = test_arena((size_t)8 << 30), .scratch = test_arena((size_t)1 << 30)};
    stage->frames = byte_writer(1 << 20, &stage->err);
    stage->png = byte_writer(1 << 26, &stage->err);
    CHECK_INT(frame_writer_open(&header, &stage->arena, &stage->frames, &writer, &stage->err), ==,
              STATUS_OK);
    for (int f = 0; f < 4; f++) {
        float y = 1.0f + 0.1f * (float)f;
        float value[12] = {0, y, 0, 0, y + 0.2f, 0, 0, y + 0.2f, 0, 0.1f, y + 0.4f, 0};
        const float *data = value;
        CHECK_INT(
            frame_writer_frame(writer, &(FrameData){f, 0.0, &data}, &stage->frames, &stage->err),
            ==, STATUS_OK);
    }
}

static void read_sample(Stage *stage)
{
    AssetOptions options = {.limits = asset_limits_default(), .name = "sample"};
    ByteWriter file = byte_writer(SAMPLE_FILE_MAX, &stage->err);

    CHECK_INT(sample_write_avatar(&(AvatarOptions){0}, &file, &stage->err), ==, STATUS_OK);
    CHECK_INT(
        asset_read(byte_writer_bytes(&file), &options, &stage->arena, &stage->rig, &stage->err), ==,
        STATUS_OK);
    byte_writer_close(&file);
}

static void close_stage(Stage *stage)
{
    byte_writer_close(&stage->frames);
    byte_writer_close(&stage->png);
    arena_destroy(&stage->arena);
    arena_destroy(&stage->scratch);
}

/* The pixels of a PNG, freed by the caller. */
static uint8_t *read_png(const ByteWriter *file, int *width, int *height)
{
    png_image png = {.version = PNG_IMAGE_VERSION};

    CHECK(png_image_begin_read_from_memory(&png, file->data, file->size) != 0);
    png.format = PNG_FORMAT_RGB;
    uint8_t *pixel = malloc(PNG_IMAGE_SIZE(png));
    CHECK(pixel && png_image_finish_read(&png, NULL, pixel, 0, NULL) != 0);
    *width = (int)png.width;
    *height = (int)png.height;
    return pixel;
}

/* Pixels of nearly this colour. */
static int count_color(const uint8_t *pixel, int count, int red, int green, int blue)
{
    int found = 0;

    for (int i = 0; i < count; i++)
        found += abs(pixel[3 * i] - red) < 12 && abs(pixel[3 * i + 1] - green) < 12 &&
                 abs(pixel[3 * i + 2] - blue) < 12;
    return found;
}

TEST(picture, sheet_of_chains_alone_draws_them)
{
    static const RigNode node = {.key = "root",
                                 .name = "root",
                                 .parent = -1,
                                 .mesh = -1,
                                 .skin = -1,
                                 .rest_weight = -1,
                                 .rest = {{0, 0, 0}, {0, 0, 0, 1}, {1, 1, 1}}};
    static const int order[1] = {0};
    static const Rig rig = {
        .name = "chains", .node_count = 1, .node = &node, .order = order, .forward = {0, 0, 1}};
    Stage stage;
    PictureOptions options = picture_options_default();
    int width, height;

    open_stage(&stage);
    options.cell_width = options.cell_height = 200;
    CHECK_INT(picture_sheet(&rig, byte_writer_bytes(&stage.frames), &options, &stage.scratch,
                            &stage.png, &stage.err),
              ==, STATUS_OK);
    uint8_t *pixel = read_png(&stage.png, &width, &height);
    // four frames in columns of 204, three views in rows of 204, title, legend and margins
    CHECK_INT(width, ==, 2 * 16 - 4 + 4 * 204);
    CHECK_INT(height, ==, 2 * 16 + 40 + 64 + 3 * 204);
    // (0.95, 0.30, 0.03) linear is (249, 149, 48) in sRGB: lines of a whole pixel at least
    CHECK_INT(count_color(pixel, width * height, 249, 149, 48), >, 12 * 20);
    free(pixel);
    close_stage(&stage);
}

TEST(picture, same_input_gives_the_same_file)
{
    Stage stage;
    PictureOptions options = picture_options_default();
    char hash[2][SHA256_HEX_SIZE];

    open_stage(&stage);
    read_sample(&stage);
    options.cell_width = 120;
    options.cell_height = 160;
    options.column_count = 2;
    options.is_stretch = true;
    for (int i = 0; i < 2; i++) {
        byte_writer_clear(&stage.png);
        arena_rewind(&stage.scratch, 0);
        CHECK_INT(picture_sheet(stage.rig, byte_writer_bytes(&stage.frames), &options,
                                &stage.scratch, &stage.png, &stage.err),
                  ==, STATUS_OK);
        sha256_of(byte_writer_bytes(&stage.png), hash[i]);
    }
    CHECK_EQUAL_TEXT(hash[0], hash[1]);
    close_stage(&stage);
}

TEST(picture, thumbnail_shows_the_character_in_its_colours)
{
    Stage stage;
    int width, height;

    open_stage(&stage);
    read_sample(&stage);
    CHECK_INT(picture_thumbnail(stage.rig, 200, &stage.scratch, &stage.png, &stage.err), ==,
              STATUS_OK);
    uint8_t *pixel = read_png(&stage.png, &width, &height);
    CHECK(width == 200 && height == 200);
    int dark = 0;
    for (int i = 0; i < width * height; i++)
        dark += pixel[3 * i] + pixel[3 * i + 1] + pixel[3 * i + 2] < 450;
    // hair, skirt and shoes: a twentieth of the picture at least, the background is light
    CHECK_INT(dark, >, 200 * 200 / 50);
    CHECK_INT(dark, <, 200 * 200 / 2);
    free(pixel);
    close_stage(&stage);
}

TEST(picture, refuses_what_it_cannot_draw)
{
    Stage stage;
    PictureOptions options = picture_options_default();
    static const int frame[] = {99};
    Error err = {0};

    open_stage(&stage);
    read_sample(&stage);
    Bytes frames = byte_writer_bytes(&stage.frames);
    options.cell_width = 63;
    CHECK_INT(picture_sheet(stage.rig, frames, &options, &stage.scratch, &stage.png, &err), ==,
              STATUS_INVALID);
    CHECK_TEXT(err.message, "a cell of 63 x 400 pixels must be 64 to 1024");
    err = (Error){0};
    options = picture_options_default();
    options.frame = frame;
    options.frame_count = 1;
    CHECK_INT(picture_sheet(stage.rig, frames, &options, &stage.scratch, &stage.png, &err), ==,
              STATUS_NOT_FOUND);
    CHECK_TEXT(err.message, "frame 99 is not among 4 from 0 on");
    err = (Error){0};
    options = picture_options_default();
    memset(options.view, 0, sizeof options.view);
    CHECK_INT(picture_sheet(stage.rig, frames, &options, &stage.scratch, &stage.png, &err), ==,
              STATUS_INVALID);
    err = (Error){0};
    options = picture_options_default();
    CHECK_INT(picture_sheet(stage.rig, (Bytes){(const uint8_t *)"text", 4}, &options,
                            &stage.scratch, &stage.png, &err),
              ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "not a file of baked frames");
    err = (Error){0};
    CHECK_INT(picture_thumbnail(stage.rig, 8, &stage.scratch, &stage.png, &err), ==,
              STATUS_INVALID);
    CHECK_INT(stage.png.size, ==, 0);
    close_stage(&stage);
}

TEST(picture, numbers_are_those_about_everything)
{
    static const char json[] =
        "{\"summary\":[{\"name\":\"stretch.p99\",\"target\":\"hair\",\"value\":0.5},"
        "{\"name\":\"stretch.p99\",\"target\":\"*\",\"value\":0.0498},"
        "{\"name\":\"settle.speed\",\"target\":\"x\",\"value\":null},"
        "{\"name\":\"penetration.max\",\"target\":\"x\",\"value\":0.0015}]}";
    Error err = {0};
    Arena arena = test_arena(1 << 16);
    Text text = text_open(1024, &err);

    numbers_write((Bytes){(const uint8_t *)json, sizeof json - 1}, &arena, &text);
    CHECK_EQUAL_TEXT(text_string(&text), "p99 4.98 %   penetration 1.50 mm");
    text_clear(&text);
    numbers_write((Bytes){(const uint8_t *)"{\"summary\":7", 12}, &arena, &text);
    numbers_write((Bytes){(const uint8_t *)"{\"summary\":7}", 13}, &arena, &text);
    CHECK_EQUAL_TEXT(text_string(&text), "");
    text_close(&text);
    arena_destroy(&arena);
}

TEST(picture, text_has_its_width_and_stays_inside)
{
    Error err = {0};
    Arena arena = test_arena(1 << 20);
    Image image;

    CHECK_INT(image_build(20, 12, 0, &arena, &image, &err), ==, STATUS_OK);
    font_draw(&image, 1, 1, 1, 0xFFFFFF, "I");
    int lit = 0;
    for (int i = 0; i < 20 * 12; i++)
        lit += image.pixel[3 * i] > 0;
    CHECK_INT(lit, ==, 11); // two bars of three and a stem of five
    font_draw(&image, -3, -3, 4, 0xFFFFFF, "far too long and \xC3\xA4\xFF");
    CHECK_INT(font_width("a\xC3\xA4z", 2), ==, 3 * 6 * 2);
    arena_destroy(&arena);
}
