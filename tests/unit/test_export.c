#include "formats/export_json.h"
#include "formats/glb.h"
#include "sim/exports.h"
#include "sim/samples.h"
#include "support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 7 };

/* A model, what was read of it, and seven baked frames that turn every node. */
typedef struct Scene {
    Arena arena, scratch;
    Error err;
    AssetOptions options;
    ByteWriter model;
    ByteWriter frames;
    const Rig *rig;
    float *value; /* (FRAMES 7 node_count) */
} Scene;

static float *joint(const Scene *scene, int frame, int node)
{
    return scene->value + 7 * ((size_t)frame * (size_t)scene->rig->node_count + (size_t)node);
}

/* Node 0 stays at rest, node 1 at one place away from it, the others move. */
static void bake(Scene *scene, bool is_loop)
{
    int count = scene->rig->node_count;
    const char **key = arena_array(&scene->arena, const char *, count);
    int *width = arena_array(&scene->arena, int, count);
    scene->value = arena_array(&scene->arena, float, 7 * count * FRAMES);
    Random random = {5};

    for (int f = 0; f < FRAMES; f++)
        for (int n = 0; n < count; n++) {
            Transform t = scene->rig->node[n].rest;
            float angle = n > 1 ? (float)f * random_float(&random, 0.0f, 0.2f) : 0.0f;
            t.rotation = quat_normalize(
                quat_mul(t.rotation, (Quat){0.3f * angle, angle, 0.0f, 1.0f - angle}));
            t.translation.y += n == 1 ? 0.25f : (float)f * 0.01f * (float)(n > 1);
            memcpy(joint(scene, f, n), &t.translation, 3 * sizeof(float));
            memcpy(joint(scene, f, n) + 3, &t.rotation, 4 * sizeof(float));
        }
    for (int n = 0; n < count; n++) {
        key[n] = scene->rig->node[n].key;
        width[n] = 7;
    }
    FrameChannel *channel = arena_array(&scene->arena, FrameChannel, 1);
    *channel = (FrameChannel){CHANNEL_JOINTS, count, 7 * count, key, width};
    FrameHeader header = {.fps_numerator = 30,
                          .fps_denominator = 1,
                          .frame_count = FRAMES,
                          .is_loop = is_loop,
                          .precision = 16,
                          .key_interval = 30,
                          .channel_count = 1,
                          .channel = channel};
    FrameWriter *writer;
    scene->frames = byte_writer(1 << 26, &scene->err);
    CHECK_INT(frame_writer_open(&header, &scene->arena, &scene->frames, &writer, &scene->err), ==,
              STATUS_OK);
    for (int f = 0; f < FRAMES; f++) {
        const float *data = joint(scene, f, 0);
        CHECK_INT(frame_writer_frame(writer, &(FrameData){f, f / 30.0, &data}, &scene->frames,
                                     &scene->err),
                  ==, STATUS_OK);
    }
    CHECK_INT(frame_writer_end(writer, FRAMES_COMPLETE, &scene->frames, &scene->err), ==, 0);
}

static void read_model(Scene *scene, Bytes file)
{
    CHECK_INT(asset_read(file, &scene->options, &scene->arena, &scene->rig, &scene->err), ==,
              STATUS_OK);
}

static void open_scene(Scene *scene, double unit, bool is_z_up)
{
    *scene = (Scene){.arena = test_arena((size_t)8 << 30), .scratch = test_arena((size_t)1 << 30)};
    scene->options =
        (AssetOptions){.limits = asset_limits_default(), .unit = unit, .is_z_up = is_z_up};
    scene->model = byte_writer(SAMPLE_FILE_MAX, &scene->err);
    CHECK_INT(sample_write_avatar(&(AvatarOptions){0}, &scene->model, &scene->err), ==, STATUS_OK);
    read_model(scene, byte_writer_bytes(&scene->model));
}

static void close_scene(Scene *scene)
{
    byte_writer_close(&scene->model);
    byte_writer_close(&scene->frames);
    arena_destroy(&scene->arena);
    arena_destroy(&scene->scratch);
}

static ByteWriter export_as(Scene *scene, ExportFormat format, Bytes file, double reduce)
{
    ExportOptions options = {.name = "Bake: Walk", .reduce = reduce};
    ByteWriter out = byte_writer(1 << 28, &scene->err);
    ExportSource source = {file, &scene->options, scene->rig};

    CHECK_INT(export_write(format, &source, byte_writer_bytes(&scene->frames), &options,
                           &scene->scratch, &out, &scene->err),
              ==, STATUS_OK);
    CHECK_OK(&scene->err);
    return out;
}

static ByteWriter export_scene(Scene *scene, Bytes file)
{
    return export_as(scene, EXPORT_GLB, file, 0.0);
}

/* The greatest difference between what was baked and the keys of the clip. */
static double clip_error(const Scene *scene, const Clip *clip)
{
    double worst = 0.0;

    for (int c = 0; c < clip->channel_count; c++) {
        const ClipChannel *channel = &clip->channel[c];
        for (int k = 0; k < channel->key_count; k++) {
            const float *got = channel->value + (size_t)k * (size_t)channel->width;
            const float *want = joint(scene, k, channel->node);
            want += channel->path == CLIP_ROTATION ? 3 : 0;
            float dot = 0.0f;
            for (int i = 0; i < channel->width; i++)
                dot += got[i] * want[i];
            float sign = channel->path == CLIP_ROTATION && dot < 0.0f ? -1.0f : 1.0f;
            for (int i = 0; i < channel->width; i++)
                worst = fmax(worst, fabs((double)got[i] - (double)(sign * want[i])));
        }
    }
    return worst;
}

static const ClipChannel *find_track(const Clip *clip, int node, ClipPath path)
{
    for (int c = 0; c < clip->channel_count; c++)
        if (clip->channel[c].node == node && clip->channel[c].path == path)
            return &clip->channel[c];
    return NULL;
}

TEST(export, gives_the_baked_joints_back_as_the_first_clip)
{
    Scene scene;
    open_scene(&scene, 0.0, false);
    int clips = scene.rig->clip_count;
    bake(&scene, false);
    ByteWriter glb = export_scene(&scene, byte_writer_bytes(&scene.model));

    read_model(&scene, byte_writer_bytes(&glb));
    const Clip *clip = &scene.rig->clip[0];
    CHECK_INT(scene.rig->clip_count, ==, clips + 1);
    CHECK_EQUAL_TEXT(clip->name, "Bake: Walk");
    CHECK_NEAR(clip->duration, 6.0 / 30.0, 1e-7);
    CHECK(clip_error(&scene, clip) == 0.0);
    // node 0 never leaves its rest, node 1 stands still elsewhere, node 2 moves
    CHECK(!find_track(clip, 0, CLIP_TRANSLATION) && !find_track(clip, 0, CLIP_ROTATION));
    CHECK(!find_track(clip, 1, CLIP_ROTATION));
    CHECK_INT(find_track(clip, 1, CLIP_TRANSLATION)->key_count, ==, 1);
    CHECK_INT(find_track(clip, 2, CLIP_TRANSLATION)->key_count, ==, FRAMES);
    CHECK_INT(find_track(clip, 2, CLIP_ROTATION)->interpolation, ==, CLIP_LINEAR);
    byte_writer_close(&glb);
    close_scene(&scene);
}

TEST(export, goes_back_to_the_files_own_unit_and_axes)
{
    Scene scene;
    open_scene(&scene, 0.01, true);
    bake(&scene, false);
    ByteWriter glb = export_scene(&scene, byte_writer_bytes(&scene.model));

    read_model(&scene, byte_writer_bytes(&glb));
    CHECK_NEAR(clip_error(&scene, &scene.rig->clip[0]), 0.0, 1e-6);
    // read without the options, the keys are a hundred times larger and the axes turned
    int node = 2;
    float y = joint(&scene, 3, node)[1], z = joint(&scene, 3, node)[2];
    scene.options = (AssetOptions){.limits = asset_limits_default()};
    read_model(&scene, byte_writer_bytes(&glb));
    const ClipChannel *track = find_track(&scene.rig->clip[0], node, CLIP_TRANSLATION);
    CHECK_NEAR(track->value[3 * 3 + 1], -100.0 * (double)z, 1e-3);
    CHECK_NEAR(track->value[3 * 3 + 2], 100.0 * (double)y, 1e-3);
    byte_writer_close(&glb);
    close_scene(&scene);
}

TEST(export, closes_a_loop_with_its_first_key)
{
    Scene scene;
    open_scene(&scene, 0.0, false);
    bake(&scene, true);
    ByteWriter glb = export_scene(&scene, byte_writer_bytes(&scene.model));

    read_model(&scene, byte_writer_bytes(&glb));
    const Clip *clip = &scene.rig->clip[0];
    const ClipChannel *track = find_track(clip, 2, CLIP_TRANSLATION);
    CHECK(memcmp(track->value, track->value + (FRAMES - 1) * 3, 3 * sizeof(float)) == 0);
    CHECK(memcmp(track->value, track->value + 3, 3 * sizeof(float)) != 0);
    byte_writer_close(&glb);
    close_scene(&scene);
}

TEST(export, leaves_still_the_nodes_of_skinned_meshes)
{
    Scene scene;
    open_scene(&scene, 0.0, false);
    bake(&scene, false);
    ByteWriter glb = export_scene(&scene, byte_writer_bytes(&scene.model));
    int skinned = 0;

    read_model(&scene, byte_writer_bytes(&glb));
    const Clip *clip = &scene.rig->clip[0];
    for (int n = 0; n < scene.rig->node_count; n++) {
        bool is_skinned = scene.rig->node[n].skin >= 0;
        skinned += is_skinned;
        // nodes 0 and 1 are the scene's own
        if (n > 1)
            CHECK((find_track(clip, n, CLIP_ROTATION) == NULL) == is_skinned);
    }
    CHECK_INT(skinned, >, 0);
    byte_writer_close(&glb);
    close_scene(&scene);
}

TEST(export, leaves_out_keys_within_the_error_that_is_allowed)
{
    Scene scene;
    open_scene(&scene, 0.0, false);
    bake(&scene, false);
    ByteWriter glb = export_as(&scene, EXPORT_GLB, byte_writer_bytes(&scene.model), 0.02);
    Glb parts;

    CHECK_INT(glb_parse(byte_writer_bytes(&glb), &parts, &scene.err), ==, STATUS_OK);
    CHECK_TEXT(arena_text(&scene.arena, parts.json.data, parts.json.size),
               "\"extras\":{\"reduce\":0.02,\"keys\":");
    read_model(&scene, byte_writer_bytes(&glb));
    const ClipChannel *track = find_track(&scene.rig->clip[0], 2, CLIP_TRANSLATION);
    // its places lie on a line: the first and the last say it all
    CHECK_INT(track->key_count, ==, 2);
    CHECK_NEAR(track->time[1], 6.0 / 30.0, 1e-7);
    CHECK_INT(find_track(&scene.rig->clip[0], 2, CLIP_ROTATION)->key_count, >, 2);
    byte_writer_close(&glb);
    close_scene(&scene);
}

TEST(export, gives_a_vrm_as_one_and_refuses_what_is_none)
{
    Scene scene;
    open_scene(&scene, 0.0, false);
    bake(&scene, false);
    ByteWriter glb = export_scene(&scene, byte_writer_bytes(&scene.model));
    ByteWriter vrm = export_as(&scene, EXPORT_VRM, byte_writer_bytes(&scene.model), 0.0);
    Rig plain = *scene.rig;
    ExportSource source = {byte_writer_bytes(&scene.model), &scene.options, &plain};
    ByteWriter none = byte_writer(1 << 20, &scene.err);
    Error err = {0};

    CHECK_INT(vrm.size, ==, glb.size);
    CHECK(memcmp(vrm.data, glb.data, glb.size) == 0);
    plain.format = "glb";
    CHECK_INT(export_write(EXPORT_VRM, &source, byte_writer_bytes(&scene.frames),
                           &(ExportOptions){.name = "b"}, &scene.scratch, &none, &err),
              ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "the model is no VRM but glb: take the format glb");
    byte_writer_close(&none);
    byte_writer_close(&vrm);
    byte_writer_close(&glb);
    close_scene(&scene);
}

/* The value of a member of the root, as text. */
static char *member_text(Bytes json, const char *key, Arena *arena)
{
    JsonMember member;

    CHECK(json_span_member(json, json_span_root(json), key, &member));
    return arena_text(arena, json.data + member.value.begin, member.value.end - member.value.begin);
}

TEST(export, leaves_everything_else_character_for_character)
{
    static const char *const same[] = {"asset",  "extensionsUsed", "scene",
                                       "scenes", "materials",      "meshes",
                                       "nodes",  "skins",          "extensions"};
    Scene scene;
    open_scene(&scene, 0.0, false);
    bake(&scene, false);
    ByteWriter file = export_scene(&scene, byte_writer_bytes(&scene.model));
    Glb before, after;

    CHECK_INT(glb_parse(byte_writer_bytes(&scene.model), &before, &scene.err), ==, STATUS_OK);
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &after, &scene.err), ==, STATUS_OK);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        CHECK_EQUAL_TEXT(member_text(after.json, same[i], &scene.arena),
                         member_text(before.json, same[i], &scene.arena));
    static const char *const longer[] = {"accessors", "bufferViews"};
    for (int i = 0; i < 2; i++) {
        char *old = member_text(before.json, longer[i], &scene.arena);
        char *new = member_text(after.json, longer[i], &scene.arena);
        CHECK_INT(strlen(new), >, strlen(old));
        CHECK(strncmp(new, old, strlen(old) - 1) == 0);
    }
    CHECK_INT(after.binary.size, >, before.binary.size);
    CHECK(memcmp(after.binary.data, before.binary.data, before.binary.size) == 0);
    byte_writer_close(&file);
    close_scene(&scene);
}

/* glTF with a side buffer, a side image, a data URI and an animation without buffers of its own. */
static const char gltf[] =
    "{ \"asset\": {\"version\": \"2.0\"}, \"extras\": {\"note\": \"caf\\u00e9 1.50\"},\n"
    " \"images\": [{\"uri\": \"skin%20a.png\", \"name\": \"skin\"}, {\"uri\": \"lost.png\"}],\n"
    " \"buffers\": [{\"uri\": \"model.bin\", \"byteLength\": 36, \"name\": \"b\"},\n"
    "  {\"byteLength\": 4, \"uri\": \"more.bin\"},\n"
    "  {\"byteLength\": 3, \"uri\": \"data:application/octet-stream;base64,AAEC\"}],\n"
    " \"bufferViews\": [{\"buffer\": 0, \"byteLength\": 36}, {\"buffer\": 1, \"byteLength\": 4}],\n"
    " \"accessors\": [{\"bufferView\": 0, \"componentType\": 5126, \"count\": 3, \"type\": "
    "\"VEC3\",\n"
    "  \"min\": [0,0,0], \"max\": [1,1,0]}],\n"
    " \"meshes\": [{\"primitives\": [{\"attributes\": {\"POSITION\": 0}}]}],\n"
    " \"nodes\": [{\"mesh\": 0, \"name\": \"Tri\"}, {\"name\": \"A\"}, {\"name\": \"B\"}] }";

TEST(export, brings_side_files_into_the_glb)
{
    static const float triangle[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const uint8_t image[] = "\x89PNG and so on";
    SideFile side[] = {{"model.bin", {(const uint8_t *)triangle, sizeof triangle}},
                       {"more.bin", {(const uint8_t *)"\1\2\3\4", 4}},
                       {"skin a.png", {image, sizeof image}}};
    Bytes file = {(const uint8_t *)gltf, sizeof gltf - 1};
    Scene scene = {.arena = test_arena((size_t)8 << 30), .scratch = test_arena((size_t)1 << 30)};

    scene.options =
        (AssetOptions){.limits = asset_limits_default(), .side_file_count = 3, .side_file = side};
    read_model(&scene, file);
    bake(&scene, false);
    ByteWriter out = export_scene(&scene, file);
    Glb glb;
    CHECK_INT(glb_parse(byte_writer_bytes(&out), &glb, &scene.err), ==, STATUS_OK);
    char *json = arena_text(&scene.arena, glb.json.data, glb.json.size);
    CHECK_TEXT(json, "\"extras\": {\"note\": \"caf\\u00e9 1.50\"}");
    CHECK_TEXT(json, "{\"bufferView\":2,\"mimeType\":\"image/png\", \"name\": \"skin\"}");
    CHECK_TEXT(json, "{\"uri\": \"lost.png\"}");
    CHECK_TEXT(json, "\"uri\": \"data:application/octet-stream;base64,AQIDBA==\"");
    CHECK_TEXT(json, "\"data:application/octet-stream;base64,AAEC\"");
    CHECK(!strstr(json, "model.bin") && !strstr(json, "more.bin"));
    CHECK(memcmp(glb.binary.data, triangle, sizeof triangle) == 0);
    CHECK(memcmp(glb.binary.data + 36, image, sizeof image) == 0);

    // and it stands alone
    scene.options.side_file_count = 0;
    read_model(&scene, byte_writer_bytes(&out));
    CHECK_INT(scene.rig->warnings.count, <=, 1);
    CHECK_INT(scene.rig->mesh[0].primitive[0].vertex_count, ==, 3);
    CHECK(clip_error(&scene, &scene.rig->clip[0]) == 0.0);
    byte_writer_close(&out);
    close_scene(&scene);
}

TEST(export, refuses_frames_that_are_not_this_models)
{
    static const char *const key[] = {"Nobody"};
    static const int width[] = {7};
    static const FrameChannel joints = {CHANNEL_JOINTS, 1, 7, key, width};
    static const FrameChannel curves = {CHANNEL_CURVES, 1, 7, key, width};
    static const float value[7] = {0, 0, 0, 0, 0, 0, 1};
    const float *data = value;
    Scene scene;
    open_scene(&scene, 0.0, false);

    for (int i = 0; i < 2; i++) {
        FrameHeader header = {.fps_numerator = 30,
                              .fps_denominator = 1,
                              .frame_count = 1,
                              .precision = 16,
                              .key_interval = 30,
                              .channel_count = 1,
                              .channel = i ? &curves : &joints};
        FrameWriter *writer;
        ByteWriter frames = byte_writer(1 << 16, &scene.err);
        ByteWriter out = byte_writer(1 << 26, &scene.err);
        Error err = {0};
        ExportSource source = {byte_writer_bytes(&scene.model), &scene.options, scene.rig};
        CHECK_INT(frame_writer_open(&header, &scene.arena, &frames, &writer, &err), ==, 0);
        CHECK_INT(frame_writer_frame(writer, &(FrameData){0, 0.0, &data}, &frames, &err), ==, 0);
        CHECK_INT(export_write(EXPORT_GLB, &source, byte_writer_bytes(&frames),
                               &(ExportOptions){.name = "b"}, &scene.scratch, &out, &err),
                  ==, STATUS_INVALID);
        CHECK_TEXT(err.message, i ? "the bake holds no joints, of which glb is made"
                                  : "the frames move \"Nobody\", which the model lacks");
        CHECK_INT(out.size, ==, 0);
        byte_writer_close(&frames);
        byte_writer_close(&out);
    }
    close_scene(&scene);
}

TEST(export, json_edits_keep_what_they_do_not_name)
{
    Error err = {0};
    Arena arena = test_arena(1 << 16);
    static const char text[] = " {\"a\" : [ ] ,\"b\\\"]\":\"x}\",\"c\":{\"d\":[1, {\"e\":2}]} }";
    Bytes json = {(const uint8_t *)text, sizeof text - 1};
    JsonEdits edits = json_edits(json, &arena, 8);
    JsonMember member;
    Text out = text_open(1 << 16, &err);

    json_edit_add_items(&edits, "a", JSON_LAST, "7", &arena);
    json_edit_add_items(&edits, "new", JSON_FIRST, "8,9", &arena);
    CHECK(json_span_member(json, json_span_root(json), "c", &member));
    CHECK(json_span_member(json, member.value, "d", &member));
    JsonSpan item = {0};
    CHECK(json_span_next(json, member.value, &item));
    CHECK(json_span_next(json, member.value, &item));
    CHECK_INT(item.end - item.begin, ==, 7);
    CHECK(!json_span_next(json, member.value, &item));
    json_edit_remove(&edits, &member);
    json_edits_apply(&edits, &out);
    CHECK_EQUAL_TEXT(text_string(&out),
                     " {\"new\":[8,9],\"a\" : [ 7] ,\"b\\\"]\":\"x}\",\"c\":{} }");
    CHECK(!json_span_member(json, json_span_root(json), "e", &member));
    text_close(&out);
    arena_destroy(&arena);
}
