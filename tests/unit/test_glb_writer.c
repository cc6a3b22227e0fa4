#include "base/json.h"
#include "formats/glb_writer.h"
#include "support/check.h"

enum { MAXIMUM = 1 << 20 };

/* A written file taken apart again: header, JSON, binary. */
typedef struct Written {
    Error err;
    Arena arena;
    ByteWriter out;
    Bytes json, binary;
    JsonDocument document;
    Faults faults;
    JsonReader root;
} Written;

static void open_file(Written *w, GlbWriter *glb)
{
    *w = (Written){0};
    w->arena = test_arena(1 << 20);
    w->out = byte_writer(MAXIMUM, &w->err);
    glb_writer_open(glb, MAXIMUM, &w->err);
}

static void finish_file(Written *w, GlbWriter *glb)
{
    CHECK_INT(glb_write(glb, "test", &w->out, &w->err), ==, STATUS_OK);
    CHECK_OK(&w->err);
    glb_writer_close(glb);

    ByteReader reader = byte_reader(byte_writer_bytes(&w->out), &w->err);
    CHECK_INT(read_u32(&reader, "magic"), ==, 0x46546c67);
    CHECK_INT(read_u32(&reader, "version"), ==, 2);
    CHECK_INT(read_u32(&reader, "length"), ==, w->out.size);
    uint32_t json_size = read_u32(&reader, "size");
    CHECK_INT(json_size % 4, ==, 0);
    CHECK_INT(read_u32(&reader, "type"), ==, 0x4e4f534a);
    w->json = read_bytes(&reader, json_size, "json");
    if (reader.offset < w->out.size) {
        uint32_t binary_size = read_u32(&reader, "size");
        CHECK_INT(binary_size % 4, ==, 0);
        CHECK_INT(read_u32(&reader, "type"), ==, 0x004e4942);
        w->binary = read_bytes(&reader, binary_size, "binary");
    }
    CHECK_INT(reader.offset, ==, w->out.size);
    CHECK_INT(json_open(w->json, 32, &w->document, &w->err), ==, STATUS_OK);
    CHECK_OK(&w->err);
    w->faults = faults_open(&w->arena, 4);
    w->root = json_root(&w->document, &w->faults);
}

static void close_file(Written *w)
{
    CHECK_INT(faults_status(&w->faults, &w->err), ==, STATUS_OK);
    json_close(&w->document);
    byte_writer_close(&w->out);
    arena_destroy(&w->arena);
}

/* The item of the array `name` at `index`; `array` keeps its parent alive. */
static JsonReader item_at(const JsonReader *root, const char *name, int index, JsonReader *array)
{
    JsonReader item;

    *array = json_member(root, name);
    CHECK(json_first(array, &item));
    for (int i = 0; i < index; i++)
        CHECK(json_next(&item));
    return item;
}

TEST(glb_writer, writes_an_empty_file_without_empty_arrays)
{
    Written w;
    GlbWriter glb;

    open_file(&w, &glb);
    finish_file(&w, &glb);
    JsonReader asset = json_member(&w.root, "asset");
    CHECK_EQUAL_TEXT(json_text(&asset, "version", 10), "2.0");
    CHECK_EQUAL_TEXT(json_text(&asset, "generator", 10), "test");
    const char *absent[] = {"accessors", "animations", "meshes", "extensions", "extensionsUsed",
                            "buffers",   "scenes",     "scene",  "nodes"};
    for (int i = 0; i < 9; i++) {
        JsonReader member = json_member(&w.root, absent[i]);
        CHECK(json_is_absent(&member));
    }
    close_file(&w);
}

TEST(glb_writer, states_the_bounds_of_an_accessor_by_component)
{
    Written w;
    GlbWriter glb;
    JsonReader array;
    const float point[9] = {1.0f, -2.0f, 0.5f, -3.0f, 4.0f, 0.25f, 2.0f, 0.0f, 0.125f};
    float min[3] = {0}, max[3] = {0};

    open_file(&w, &glb);
    CHECK_INT(glb_add_accessor(&glb, &(GlbAccessor){.component = GLB_FLOAT,
                                                    .width = 3,
                                                    .count = 3,
                                                    .data = point,
                                                    .use = GLB_VERTICES,
                                                    .has_bounds = true}),
              ==, 0);
    finish_file(&w, &glb);
    JsonReader accessor = item_at(&w.root, "accessors", 0, &array);
    CHECK(json_floats(&accessor, "min", 3, min) && json_floats(&accessor, "max", 3, max));
    CHECK_NEAR(min[0], -3.0, 0.0);
    CHECK_NEAR(min[1], -2.0, 0.0);
    CHECK_NEAR(min[2], 0.125, 0.0);
    CHECK_NEAR(max[0], 2.0, 0.0);
    CHECK_NEAR(max[1], 4.0, 0.0);
    CHECK_NEAR(max[2], 0.5, 0.0);
    CHECK_EQUAL_TEXT(json_text(&accessor, "type", 10), "VEC3");
    CHECK_INT(w.binary.size, ==, sizeof point);
    ByteReader reader = byte_reader(w.binary, &w.err);
    for (int i = 0; i < 9; i++)
        CHECK(read_f32(&reader, "point") == point[i]);
    close_file(&w);
}

TEST(glb_writer, writes_indices_in_sixteen_bits_where_all_fit)
{
    Written w;
    GlbWriter glb;
    JsonReader array;
    const uint32_t small[3] = {0, 1, 65534}, large[3] = {0, 1, 65535};

    open_file(&w, &glb);
    glb_add_indices(&glb, small, 3);
    glb_add_indices(&glb, large, 3);
    finish_file(&w, &glb);
    JsonReader accessor = item_at(&w.root, "accessors", 0, &array);
    CHECK_INT(json_int(&accessor, "componentType", 0, 9999), ==, GLB_U16);
    accessor = item_at(&w.root, "accessors", 1, &array);
    CHECK_INT(json_int(&accessor, "componentType", 0, 9999), ==, GLB_U32);
    // 6 bytes, padded to 8, then 12
    JsonReader view = item_at(&w.root, "bufferViews", 1, &array);
    CHECK_INT(json_int(&view, "byteOffset", 0, 99), ==, 8);
    CHECK_INT(json_int(&view, "byteLength", 0, 99), ==, 12);
    CHECK_INT(w.binary.data[4], ==, 0xfe);
    CHECK_INT(w.binary.data[5], ==, 0xff);
    CHECK_INT(w.binary.data[16], ==, 0xff);
    close_file(&w);
}

TEST(glb_writer, joins_channels_to_samplers_in_order)
{
    Written w;
    GlbWriter glb;
    JsonReader array, channels, samplers;
    const float time[2] = {0.0f, 1.0f}, value[8] = {0};

    open_file(&w, &glb);
    int times = glb_add_accessor(
        &glb,
        &(GlbAccessor){
            .component = GLB_FLOAT, .width = 1, .count = 2, .data = time, .has_bounds = true});
    int turns = glb_add_accessor(
        &glb, &(GlbAccessor){.component = GLB_FLOAT, .width = 4, .count = 2, .data = value});
    int node = glb_add_node(&glb, &(GlbNode){.name = "a", .mesh = -1, .skin = -1});
    for (int i = 0; i < 2; i++) {
        glb_begin_animation(&glb, i ? "second" : "first");
        glb_add_channel(&glb, node, GLB_ROTATION, times, turns);
        CHECK_INT(glb_end_animation(&glb), ==, i);
    }
    finish_file(&w, &glb);
    JsonReader clip = item_at(&w.root, "animations", 1, &array);
    CHECK_EQUAL_TEXT(json_text(&clip, "name", 10), "second");
    JsonReader channel = item_at(&clip, "channels", 0, &channels);
    CHECK_INT(json_int(&channel, "sampler", 0, 9), ==, 0);
    JsonReader target = json_member(&channel, "target");
    CHECK_EQUAL_TEXT(json_text(&target, "path", 20), "rotation");
    JsonReader sampler = item_at(&clip, "samplers", 0, &samplers);
    CHECK_INT(json_count(&samplers), ==, 1);
    CHECK_INT(json_int(&sampler, "input", 0, 9), ==, times);
    CHECK_INT(json_int(&sampler, "output", 0, 9), ==, turns);
    close_file(&w);
}

TEST(glb_writer, lists_extensions_as_used)
{
    Written w;
    GlbWriter glb;
    JsonReader array;

    open_file(&w, &glb);
    glb_add_extension(&glb, "EXT_one", "{\"a\":1}");
    glb_add_extension(&glb, "EXT_two", "{}");
    finish_file(&w, &glb);
    JsonReader used = item_at(&w.root, "extensionsUsed", 1, &array);
    CHECK_EQUAL_TEXT(json_as_text(&used, 20), "EXT_two");
    JsonReader extensions = json_member(&w.root, "extensions");
    JsonReader one = json_member(&extensions, "EXT_one");
    CHECK_INT(json_int(&one, "a", 0, 9), ==, 1);
    close_file(&w);
}

TEST(glb_writer, keeps_its_first_failure)
{
    Error err = {0}, other = {0};
    GlbWriter glb;
    const float point[300] = {0};
    ByteWriter out = byte_writer(MAXIMUM, &other);

    glb_writer_open(&glb, 256, &err);
    glb_add_accessor(
        &glb,
        &(GlbAccessor){
            .component = GLB_FLOAT, .width = 3, .count = 100, .data = point, .use = GLB_VERTICES});
    CHECK_INT(err.status, ==, STATUS_LIMIT);
    CHECK_INT(glb_write(&glb, "test", &out, &other), ==, STATUS_LIMIT);
    CHECK_TEXT(other.message, "256 bytes");
    CHECK_INT(out.size, ==, 0);
    glb_writer_close(&glb);
    byte_writer_close(&out);
}

TEST(glb_writer, says_when_the_file_does_not_fit)
{
    Error err = {0}, full = {0}, told = {0};
    GlbWriter glb;
    ByteWriter out = byte_writer(40, &full);

    glb_writer_open(&glb, MAXIMUM, &err);
    CHECK_INT(glb_write(&glb, "test", &out, &told), ==, STATUS_LIMIT);
    CHECK_TEXT(told.message, "40 bytes");
    glb_writer_close(&glb);
    byte_writer_close(&out);
}
