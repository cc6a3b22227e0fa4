#include "base/random.h"
#include "sim/exports.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 4, VERTICES = 3 };

/* Three mesh-bearing nodes: one with two primitives, two whose names are none in USD; and what they
 * hang from. */
typedef struct Scene {
    Arena arena;
    Error err;
    Rig rig;
    ByteWriter frames;
    float point[FRAMES][4][3 * VERTICES]; /* by channel */
    float joint[FRAMES][7 + 10];
} Scene;

static const Vec3 corner[VERTICES] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}};
static const uint32_t triangle[3] = {0, 1, 2};
static const float texcoord[2 * VERTICES] = {0, 0, 1, 0, 0, 0.25f};

static void open_rig(Scene *scene)
{
    static const RigPrimitive primitive[2] = {{.vertex_count = VERTICES,
                                               .index_count = 3,
                                               .material = -1,
                                               .position = corner,
                                               .texcoord = texcoord,
                                               .index = triangle},
                                              {.vertex_count = VERTICES,
                                               .index_count = 3,
                                               .material = 0,
                                               .position = corner,
                                               .texcoord = texcoord,
                                               .index = triangle}};
    static const RigMesh mesh[2] = {{.name = "two", .primitive_count = 2, .primitive = primitive},
                                    {.name = "one", .primitive_count = 1, .primitive = primitive}};
    static const RigMaterial material[1] = {{.name = "cloth", .is_double_sided = true}};
    static const char *const name[] = {"Root", "Arm", "Body", "a \"b\"", "a_\"b\""};
    RigNode *node = arena_array(&scene->arena, RigNode, 5);

    for (int i = 0; i < 5; i++)
        node[i] = (RigNode){.name = name[i],
                            .parent = i == 1 ? 0 : -1,
                            .mesh = i < 2 ? -1 : i > 2,
                            .skin = -1,
                            .rest_weight = -1,
                            .rest = transform_identity()};
    node[1].rest.translation = (Vec3){0.0f, 0.1f, 0.0f};
    node[1].rest.scale = (Vec3){1.0f, 2.0f, 1.0f};
    scene->rig = (Rig){.format = "glb",
                       .name = "scene",
                       .unit = 1.0,
                       .node_count = 5,
                       .mesh_count = 2,
                       .material_count = 1,
                       .node = node,
                       .mesh = mesh,
                       .material = material};
    CHECK_INT(rig_finish(&scene->rig, &scene->arena, &scene->err), ==, STATUS_OK);
}

static void fill(Scene *scene)
{
    Random random = {11};

    for (int f = 0; f < FRAMES; f++) {
        for (int c = 0; c < 4; c++)
            for (int i = 0; i < 3 * VERTICES; i++)
                scene->point[f][c][i] = random_float(&random, -2.0f, 2.0f);
        for (int i = 0; i < 17; i++)
            scene->joint[f][i] = random_float(&random, -1.0f, 1.0f);
    }
}

static void write_frames(Scene *scene, bool has_joints, bool has_points, bool is_loop)
{
    static const char *const joints[] = {"Root", "Arm"};
    static const int widths[] = {7, 10};
    static const int vertex_width[] = {3 * VERTICES};
    static const char *const keys[4][1] = {{"Body"}, {"Body/1"}, {"a \"b\""}, {"a_\"b\""}};
    FrameChannel *channel = arena_array(&scene->arena, FrameChannel, 5);
    int count = 0;
    FrameWriter *writer;

    if (has_joints)
        channel[count++] = (FrameChannel){CHANNEL_JOINTS, 2, 17, joints, widths};
    for (int c = 0; has_points && c < 4; c++)
        channel[count++] =
            (FrameChannel){CHANNEL_POSITIONS, 1, 3 * VERTICES, keys[c], vertex_width};
    FrameHeader header = {.fps_numerator = 24000,
                          .fps_denominator = 1001,
                          .frame_count = FRAMES,
                          .is_loop = is_loop,
                          .precision = 32,
                          .key_interval = 30,
                          .channel_count = count,
                          .channel = channel};
    scene->frames = byte_writer(1 << 20, &scene->err);
    CHECK_INT(frame_writer_open(&header, &scene->arena, &scene->frames, &writer, &scene->err), ==,
              STATUS_OK);
    for (int f = 0; f < FRAMES; f++) {
        const float *data[5];
        int at = 0;
        if (has_joints)
            data[at++] = scene->joint[f];
        for (int c = 0; has_points && c < 4; c++)
            data[at++] = scene->point[f][c];
        CHECK_INT(frame_writer_frame(writer, &(FrameData){f, f * 1001 / 24000.0, data},
                                     &scene->frames, &scene->err),
                  ==, STATUS_OK);
    }
    CHECK_INT(frame_writer_end(writer, FRAMES_COMPLETE, &scene->frames, &scene->err), ==, 0);
}

static void open_scene(Scene *scene)
{
    *scene = (Scene){.arena = test_arena(1 << 24)};
    open_rig(scene);
    fill(scene);
}

static void close_scene(Scene *scene)
{
    byte_writer_close(&scene->frames);
    arena_destroy(&scene->arena);
}

static ByteWriter export(Scene *scene, ExportFormat format, const char *target)
{
    ByteWriter out = byte_writer(1 << 20, &scene->err);
    ExportSource source = {.rig = &scene->rig};
    ExportOptions options = {.name = "bake", .target = target};

    CHECK_INT(export_write(format, &source, byte_writer_bytes(&scene->frames), &options,
                           &scene->arena, &out, &scene->err),
              ==, STATUS_OK);
    CHECK_OK(&scene->err);
    return out;
}

/* Why a format is refused; nothing may be written then, and the look before a bake says the same.
 */
static const char *refusal(Scene *scene, ExportFormat format, const char *target)
{
    ByteWriter out = byte_writer(1 << 20, &scene->err);
    ExportSource source = {.rig = &scene->rig};
    ExportOptions options = {.name = "bake", .target = target};
    Error err = {0};

    CHECK_INT(export_write(format, &source, byte_writer_bytes(&scene->frames), &options,
                           &scene->arena, &out, &err),
              ==, STATUS_INVALID);
    CHECK_INT(out.size, ==, 0);
    byte_writer_close(&out);
    return arena_text(&scene->arena, err.message, strlen(err.message));
}

TEST(export_points, pc2_reads_back_equal)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, true, false);
    ByteWriter out = export(&scene, EXPORT_PC2, "Body");
    ByteReader reader = byte_reader(byte_writer_bytes(&out), &scene.err);

    CHECK(memcmp(read_bytes(&reader, 12, "magic").data, "POINTCACHE2", 12) == 0);
    CHECK_INT(read_u32(&reader, "version"), ==, 1);
    CHECK_INT(read_u32(&reader, "points"), ==, 2 * VERTICES);
    CHECK(read_f32(&reader, "start") == 0.0f);
    CHECK(read_f32(&reader, "rate") == 1.0f);
    CHECK_INT(read_u32(&reader, "samples"), ==, FRAMES);
    // both primitives of the node, one after the other
    for (int f = 0; f < FRAMES; f++)
        for (int c = 0; c < 2; c++)
            CHECK(memcmp(read_bytes(&reader, sizeof scene.point[f][c], "points").data,
                         scene.point[f][c], sizeof scene.point[f][c]) == 0);
    CHECK_INT(reader.offset, ==, out.size);
    CHECK_OK(&scene.err);
    byte_writer_close(&out);
    close_scene(&scene);
}

static float read_big_f32(ByteReader *reader)
{
    uint32_t bits = __builtin_bswap32(read_u32(reader, "number"));
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

TEST(export_points, mdd_reads_back_equal)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, false, true, false);
    ByteWriter out = export(&scene, EXPORT_MDD, "a \"b\"");
    ByteReader reader = byte_reader(byte_writer_bytes(&out), &scene.err);

    CHECK_INT(__builtin_bswap32(read_u32(&reader, "frames")), ==, FRAMES);
    CHECK_INT(__builtin_bswap32(read_u32(&reader, "points")), ==, VERTICES);
    for (int f = 0; f < FRAMES; f++)
        CHECK(read_big_f32(&reader) == (float)(f * 1001.0 / 24000.0));
    for (int f = 0; f < FRAMES; f++)
        for (int i = 0; i < 3 * VERTICES; i++)
            CHECK(read_big_f32(&reader) == scene.point[f][2][i]);
    CHECK_INT(reader.offset, ==, out.size);
    byte_writer_close(&out);
    close_scene(&scene);
}

/* The floats behind `mark`, whatever stands between them. */
static void check_floats(const char *text, const char *mark, const float *want, int count)
{
    const char *at = strstr(text, mark);

    CHECK(at != NULL);
    at += strlen(mark);
    for (int i = 0; i < count; i++) {
        char *end;
        at += strcspn(at, "-0123456789");
        CHECK(strtof(at, &end) == want[i]);
        at = end;
    }
}

TEST(export_points, usda_has_points_and_joints_that_read_back_equal)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, true, false);
    ByteWriter out = export(&scene, EXPORT_USDA, NULL);
    char *text = arena_text(&scene.arena, out.data, out.size);

    CHECK(strncmp(text, "#usda 1.0\n(\n    defaultPrim = \"Bake\"\n", 37) == 0);
    CHECK_TEXT(text, "    endTimeCode = 3\n    framesPerSecond = 23.976023976023978\n"
                     "    metersPerUnit = 1\n    startTimeCode = 0\n");
    CHECK_TEXT(
        text,
        "uniform token[] joints = [\"Root\", \"Body\", \"a__b__n3\", \"a__b__n4\", \"Root/Arm\"]");
    CHECK_TEXT(text, "\"Body\", \"a \\\"b\\\"\", \"a_\\\"b\\\"\", \"Arm\"]");
    CHECK_TEXT(text,
               "( (1, 0, 0, 0), (0, 2, 0, 0), (0, 0, 1, 0), (0, 0.10000000149011612, 0, 1) )]\n"
               "            rel skel:animationSource");
    CHECK_TEXT(text, "def Mesh \"a__b__n3\"");
    CHECK_TEXT(text, "def Mesh \"a__b__n4\"");
    CHECK_TEXT(text, "faceVertexIndices = [0, 1, 2, 3, 4, 5]");
    CHECK_TEXT(text, "[(0, 1), (1, 1), (0, 0.75)]");
    float both[6 * VERTICES];
    memcpy(both, scene.point[2][0], sizeof scene.point[2][0]);
    memcpy(both + 3 * VERTICES, scene.point[2][1], sizeof scene.point[2][1]);
    check_floats(strstr(text, "def Mesh \"Body\""), " 2: [", both, 6 * VERTICES);
    check_floats(strstr(text, "def Mesh \"a__b__n4\""), " 3: [", scene.point[3][3], 3 * VERTICES);
    const float *joint = scene.joint[1];
    const float moved[6] = {joint[0], joint[1], joint[2], joint[7], joint[8], joint[9]};
    const float turned[8] = {joint[6],  joint[3],  joint[4],  joint[5],
                             joint[13], joint[10], joint[11], joint[12]};
    const float scaled[6] = {1, 1, 1, joint[14], joint[15], joint[16]};
    check_floats(strstr(text, "float3[] translations"), " 1: [", moved, 6);
    check_floats(strstr(text, "quatf[] rotations"), " 1: [", turned, 8);
    check_floats(strstr(text, "half3[] scales"), " 1: [", scaled, 6);
    byte_writer_close(&out);
    close_scene(&scene);
}

TEST(export_points, usda_does_without_joints)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, false, true, false);
    ByteWriter out = export(&scene, EXPORT_USDA, NULL);
    char *text = arena_text(&scene.arena, out.data, out.size);

    CHECK(!strstr(text, "Skel") && strstr(text, "def Mesh \"Body\""));
    byte_writer_close(&out);
    close_scene(&scene);
}

TEST(export_points, csv_has_a_row_a_joint_with_the_scale_of_the_rest)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, false, false);
    ByteWriter out = export(&scene, EXPORT_CSV, NULL);
    char *text = arena_text(&scene.arena, out.data, out.size);
    const float *joint = scene.joint[1];
    float row[10] = {[7] = 1, 1, 1};

    CHECK(strncmp(text, "frame,time,joint,tx,ty,tz,qx,qy,qz,qw,sx,sy,sz\r\n", 48) == 0);
    memcpy(row, joint, 7 * sizeof *row);
    check_floats(text, "\r\n1,0.04170833333333333,Root,", row, 10);
    check_floats(text, "\r\n1,0.04170833333333333,Arm,", joint + 7, 10);
    byte_writer_close(&out);
    close_scene(&scene);
}

TEST(export_points, a_loop_ends_where_it_began)
{
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, true, true);
    ByteWriter pc2 = export(&scene, EXPORT_PC2, "Body");
    ByteWriter csv = export(&scene, EXPORT_CSV, NULL);
    ByteWriter usda = export(&scene, EXPORT_USDA, NULL);
    size_t frame = 6 * VERTICES * sizeof(float);
    char *rows = arena_text(&scene.arena, csv.data, csv.size);
    char *text = arena_text(&scene.arena, usda.data, usda.size);

    CHECK(memcmp(pc2.data + 32, pc2.data + 32 + 3 * frame, frame) == 0);
    CHECK(memcmp(pc2.data + 32, pc2.data + 32 + 2 * frame, frame) != 0);
    check_floats(rows, "\r\n3,0.125125,Root,", scene.joint[0], 7);
    check_floats(strstr(text, "def Mesh \"Body\""), " 3: [", scene.point[0][0], 3 * VERTICES);
    byte_writer_close(&pc2);
    byte_writer_close(&csv);
    byte_writer_close(&usda);
    close_scene(&scene);
}

TEST(export_points, says_what_the_job_must_ask_for)
{
    static const bool none[CHANNEL_KIND_COUNT] = {false};
    static const ExportFormat formats[] = {EXPORT_USDA, EXPORT_PC2, EXPORT_MDD};
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, false, false);

    for (int i = 0; i < 3; i++) {
        char want[64];
        Error err = {0};
        (void)snprintf(want, sizeof want, "the bake holds no positions, of which %s is made",
                       export_format_name(formats[i]));
        CHECK_TEXT(refusal(&scene, formats[i], "Body"), want);
        CHECK_TEXT(refusal(&scene, formats[i], "Body"),
                   "\"output\": {\"channels\": [\"joints\", \"positions\"]}");
        CHECK_INT(export_check(formats[i], &scene.rig, none, &(ExportOptions){0}, &err), ==,
                  STATUS_INVALID);
        CHECK_TEXT(err.message, want);
    }
    byte_writer_close(&scene.frames);
    write_frames(&scene, false, true, false);
    CHECK_TEXT(refusal(&scene, EXPORT_CSV, NULL), "the bake holds no joints, of which csv is made");
    close_scene(&scene);
}

TEST(export_points, asks_for_a_target_where_there_are_several)
{
    bool positions[CHANNEL_KIND_COUNT] = {[CHANNEL_POSITIONS] = true};
    Error err = {0};
    Scene scene;
    open_scene(&scene);
    write_frames(&scene, true, true, false);

    CHECK_TEXT(
        refusal(&scene, EXPORT_PC2, NULL),
        "target: pc2 holds one mesh and the model has 3: name the node of one, of \"Body\", ");
    CHECK_TEXT(refusal(&scene, EXPORT_MDD, "Root"),
               "target: the model has no mesh at a node \"Root\", but at \"Body\", ");
    CHECK_INT(export_check(EXPORT_PC2, &scene.rig, positions, &(ExportOptions){0}, &err), ==,
              STATUS_INVALID);
    CHECK_TEXT(err.message, "holds one mesh and the model has 3");
    // a single mesh needs no name
    RigNode *node = arena_array(&scene.arena, RigNode, 5);
    memcpy(node, scene.rig.node, 5 * sizeof *node);
    node[3].mesh = node[4].mesh = -1;
    scene.rig.node = node;
    err = (Error){0};
    CHECK_INT(export_check(EXPORT_PC2, &scene.rig, positions, &(ExportOptions){0}, &err), ==,
              STATUS_OK);
    // and frames of the others are not this model's any more
    CHECK_TEXT(refusal(&scene, EXPORT_PC2, NULL),
               "the frames hold positions of \"a \"b\"\", which the model lacks");
    close_scene(&scene);
}

TEST(export_points, formats_are_found_by_their_names)
{
    for (int i = 0; i < EXPORT_FORMAT_COUNT; i++)
        CHECK_INT(export_format_find(export_format_name((ExportFormat)i)), ==, i);
    CHECK_INT(export_format_find("fbx"), ==, EXPORT_FORMAT_COUNT);
}
