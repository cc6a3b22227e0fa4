#include "support/check.h"
#include "support/reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A few roundings of the numbers that stand in these tests. */
static const double TOLERANCE = 5e-6;

#define HEAD "{'asset':{'version':'2.0'},"

typedef struct Refusal {
    const char *text;
    Status status;
    const char *message;
} Refusal;

static void check_refusals(const Refusal *refusal, size_t count)
{
    static const float zeroes[64] = {0};

    for (size_t i = 0; i < count; i++) {
        Reading reading = reading_open();
        CHECK_INT(reading_text(&reading, refusal[i].text, zeroes, sizeof zeroes), ==,
                  refusal[i].status);
        CHECK_TEXT(reading.err.message, refusal[i].message);
        reading_close(&reading);
    }
}

#define CHECK_REFUSALS(cases) check_refusals((cases), sizeof(cases) / sizeof(cases)[0])

/* --- documents --- */

TEST(gltf, says_what_other_files_are)
{
    static const Refusal cases[] = {
        {"#usda 1.0", STATUS_INVALID, "the file is a USD scene, not a character model"},
        {"solid cube", STATUS_INVALID, "the file is not a character model: send a .vrm"},
        {"", STATUS_INVALID, "the file is not a character model"},
        {"{}", STATUS_INVALID, "not a glTF file: it has no \"asset\""},
        {"{'asset':{'version':'1.0'},'nodes':[{}]}", STATUS_INVALID, "only glTF 2 is read"},
        {HEAD "'nodes':[]}", STATUS_INVALID, "the file has no nodes"},
        {HEAD "'nodes':[{}}", STATUS_INVALID, "the JSON cannot be read: line 1, column 39"},
    };

    CHECK_REFUSALS(cases);
}

TEST(gltf, refuses_required_extensions_by_name_with_advice)
{
    static const Refusal cases[] = {
        {HEAD "'extensionsRequired':['KHR_draco_mesh_compression'],'nodes':[{}]}", STATUS_INVALID,
         "the file requires \"KHR_draco_mesh_compression\", which is not read: export it again "
         "without Draco mesh compression"},
        {HEAD "'extensionsRequired':['KHR_meshopt_compression'],'nodes':[{}]}", STATUS_INVALID,
         "\"KHR_meshopt_compression\", which is not read: export it again with "
         "EXT_meshopt_compression"},
        {HEAD "'extensionsRequired':['ACME_secret'],'nodes':[{}]}", STATUS_INVALID,
         "\"ACME_secret\", which is not read"},
    };

    CHECK_REFUSALS(cases);
}

TEST(gltf, reads_files_that_require_what_changes_no_motion)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading,
                           HEAD "'extensionsRequired':['KHR_materials_unlit','KHR_materials_ior',"
                                "'KHR_texture_transform','VRMC_vrm','VRMC_materials_mtoon',"
                                "'KHR_mesh_quantization','EXT_texture_webp'],'nodes':[{}]}",
                           NULL, 0),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    reading_close(&reading);
}

TEST(gltf, reads_a_text_with_a_byte_order_mark)
{
    Reading reading = reading_open();

    CHECK_INT(
        reading_text(&reading, "\xEF\xBB\xBF {'asset':{'version':'2.0'},'nodes':[{}]}", NULL, 0),
        ==, STATUS_OK);
    CHECK_EQUAL_TEXT(reading.rig->format, "gltf");
    CHECK_EQUAL_TEXT(reading.rig->name, "test");
    CHECK_EQUAL_TEXT(reading.rig->node[0].key, "node0");
    reading_close(&reading);
}

/* "AAEC/w" is 0, 1, 2, 255; 3 + 4 + 3 bytes of a padded and unpadded text. */
TEST(gltf, decodes_base64_buffers)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(
                  &reading,
                  HEAD "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}"
                       ",{'attributes':{'POSITION':1}}]}],'buffers':[{'byteLength':4,'uri':"
                       "'data:application/octet-stream;base64,AAEC/w=='},{'byteLength':3,"
                       "'uri':'data:;base64,AP8B'}],'bufferViews':[{'buffer':0,'byteOffset':1,"
                       "'byteLength':3},{'buffer':1,'byteLength':3}],'accessors':[{'bufferView':0,"
                       "'count':1,'type':'VEC3','componentType':5121},{'bufferView':1,'count':1,"
                       "'type':'VEC3','componentType':5121}]}",
                  NULL, 0),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(reading.rig->mesh[0].primitive[0].position[0], 1, 2, 255, TOLERANCE);
    CHECK_VEC3(reading.rig->mesh[0].primitive[1].position[0], 0, 255, 1, TOLERANCE);
    reading_close(&reading);
}

TEST(gltf, refuses_damaged_buffers)
{
    static const Refusal cases[] = {
        {HEAD "'nodes':[{}],'buffers':[{'byteLength':3,'uri':'data:;base64,AP!B'}]}",
         STATUS_INVALID, "buffer 0: character 2 of its data is no base64"},
        {HEAD "'nodes':[{}],'buffers':[{'byteLength':3,'uri':'data:text/plain,abc'}]}",
         STATUS_INVALID, "buffer 0: its data URI is not base64"},
        {HEAD "'nodes':[{}],'buffers':[{'byteLength':300,'uri':'b.bin'}]}", STATUS_INVALID,
         "buffer 0: it says 300 bytes and has 256"},
    };

    CHECK_REFUSALS(cases);
}

/* --- side files --- */

static const char *const two_buffers =
    HEAD "'nodes':[{'mesh':0,'name':'body'},{'name':'hair'}],'meshes':[{'primitives':[{"
         "'attributes':{'POSITION':0}}]}],'buffers':[{'byteLength':12,'uri':'a%20folder/m.bin'}],"
         "'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,'count':1,"
         "'type':'VEC3','componentType':5126}],'extensions':{'VRMC_springBone':{'springs':[{"
         "'joints':[{'node':1}]}]}}}";

TEST(gltf, drops_the_meshes_of_a_missing_file_and_keeps_the_rest)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading, two_buffers, NULL, 0), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->node_count, ==, 2);
    CHECK_INT(reading.rig->node[0].mesh, ==, -1);
    CHECK_INT(reading.rig->spring_count, ==, 1);
    CHECK_INT(reading_warnings(&reading, "buffer_missing"), ==, 1);
    CHECK_TEXT(reading_warning(&reading, "buffer_missing"), "\"a folder/m.bin\" was not sent");
    reading_close(&reading);
}

TEST(gltf, names_the_side_files_it_asks_for)
{
    const char *name[4];
    Reading reading = reading_open();
    const char text[] =
        "{\"buffers\":[{\"uri\":\"a%20b/./m.bin\"},{\"uri\":\"./n.bin\"},{\"uri\":\"../o.bin\"},"
        "{\"uri\":\"/etc/passwd\"},{\"uri\":\"http://x/y.bin\"},{\"uri\":\"c:\\\\d\"},"
        "{\"uri\":\"a/%2e%2e/%2E%2E/q\"},{\"uri\":\"data:;base64,AA\"},{\"byteLength\":3}]}";
    Bytes file = {(const uint8_t *)text, sizeof text - 1};

    CHECK_INT(asset_side_names(file, &reading.options, &reading.arena, name, 4), ==, 2);
    CHECK_EQUAL_TEXT(name[0], "a b/./m.bin");
    CHECK_EQUAL_TEXT(name[1], "n.bin");

    SideFile given = {"n.bin", {(const uint8_t *)"", 0}};
    reading.options.side_file = &given;
    reading.options.side_file_count = 1;
    CHECK_INT(asset_side_names(file, &reading.options, &reading.arena, name, 4), ==, 1);
    reading_close(&reading);
}

/* --- nodes --- */

/* Columns: x to 2 y, y to -3 x, z to z: a quarter turn about z with scale (2, 3, 1). */
TEST(gltf, decomposes_matrices)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading,
                           HEAD "'nodes':[{'matrix':[0,2,0,0, -3,0,0,0, 0,0,1,0, 4,5,6,1]},"
                                "{'matrix':[-1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1]},"
                                "{'matrix':[1,0,0,0, 0,-1,0,0, 0,0,-1,0, 0,0,0,1]}]}",
                           NULL, 0),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const Transform *turned = &reading.rig->node[0].rest;
    CHECK_VEC3(turned->translation, 4, 5, 6, TOLERANCE);
    CHECK_VEC3(turned->scale, 2, 3, 1, TOLERANCE);
    CHECK_NEAR(turned->rotation.z, sqrt(0.5), 1e-6);
    CHECK_NEAR(turned->rotation.w, sqrt(0.5), 1e-6);
    // mirrored: the scale along x is negative
    CHECK_VEC3(reading.rig->node[1].rest.scale, -1, 1, 1, TOLERANCE);
    CHECK_NEAR(reading.rig->node[1].rest.rotation.w, 1.0, 1e-6);
    // half a turn about x
    CHECK_NEAR(fabsf(reading.rig->node[2].rest.rotation.x), 1.0, 1e-6);
    CHECK_INT(reading_warnings(&reading, "node_shear"), ==, 0);
    reading_close(&reading);
}

TEST(gltf, warns_of_shear)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading,
                           HEAD "'nodes':[{'name':'bent','matrix':[1,0,0,0, 0.5,1,0,0, 0,0,1,0,"
                                "0,0,0,1]}]}",
                           NULL, 0),
              ==, STATUS_OK);
    CHECK_TEXT(reading_warning(&reading, "node_shear"), "node 0 \"bent\" has a sheared matrix");
    reading_close(&reading);
}

TEST(gltf, refuses_nodes_that_are_no_forest_or_not_finite)
{
    static const Refusal cases[] = {
        {HEAD "'nodes':[{'children':[1]},{'name':'b','children':[2]},{'children':[1]}]}",
         STATUS_INVALID, "node 1 \"b\" has two parents, nodes 0 and 2"},
        {HEAD "'nodes':[{'children':[1,1]},{}]}", STATUS_INVALID, "node 1 \"\" has two parents"},
        {HEAD "'nodes':[{},{'children':[2]},{'children':[1]}]}", STATUS_INVALID,
         "node 1 \"\" is its own ancestor"},
        {HEAD "'nodes':[{'children':[0]}]}", STATUS_INVALID, "is its own ancestor"},
        {HEAD "'nodes':[{'children':[3]}]}", STATUS_INVALID,
         "/nodes/0/children/0 is 3, but the file has 1 nodes"},
        {HEAD "'nodes':[{'children':[0.5]},{}]}", STATUS_INVALID, "/nodes/0/children/0 is 0.5"},
        {HEAD "'nodes':[{'translation':[1e300,0,0]}]}", STATUS_INVALID, "/nodes/0/translation"},
        {HEAD "'nodes':[{'rotation':[0,0,0,0]}]}", STATUS_INVALID,
         "/nodes/0/rotation must be a unit quaternion"},
        {HEAD "'nodes':[{'matrix':[1,0,0,1, 0,1,0,0, 0,0,1,0, 0,0,0,1]}]}", STATUS_INVALID,
         "/nodes/0/matrix must end its columns with 0, 0, 0, 1"},
        {HEAD "'nodes':[{'translation':[NaN,0,0]}]}", STATUS_INVALID, "NaN is not JSON"},
    };

    CHECK_REFUSALS(cases);
}

TEST(gltf, reads_all_nodes_of_all_scenes_and_of_none)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading,
                           HEAD "'scenes':[{'nodes':[0]},{'nodes':[1]}],'nodes':[{'children':[2]},"
                                "{},{},{'rotation':[0,0,0,2]}]}",
                           NULL, 0),
              ==, STATUS_OK);
    CHECK_INT(reading.rig->node_count, ==, 4);
    CHECK_INT(reading.rig->node[2].parent, ==, 0);
    CHECK_NEAR(reading.rig->node[3].rest.rotation.w, 1.0, 0.0);
    reading_close(&reading);
}

/* --- units and axes --- */

static const char *const posed =
    HEAD "'nodes':[{'mesh':0,'skin':0},{'translation':[1,2,3],'rotation':[0,0,0.6,0.8],'scale':"
         "[2,3,4],'children':[2]},{'translation':[5,6,7]}],'skins':[{'joints':[1,2],"
         "'inverseBindMatrices':3}],'meshes':[{'primitives':[{'attributes':{'POSITION':0,"
         "'JOINTS_0':1,'WEIGHTS_0':2}}]}],'animations':[{'samplers':[{'input':4,'output':5}],"
         "'channels':[{'sampler':0,'target':{'node':2,'path':'translation'}}]}],'buffers':[{"
         "'byteLength':188,'uri':'b.bin'}],'bufferViews':[{'buffer':0,'byteLength':188}],"
         "'accessors':[{'bufferView':0,'count':1,'type':'VEC3','componentType':5126},"
         "{'bufferView':0,'byteOffset':12,'count':1,'type':'VEC4','componentType':5121},"
         "{'bufferView':0,'byteOffset':16,'count':1,'type':'VEC4','componentType':5126},"
         "{'bufferView':0,'byteOffset':32,'count':2,'type':'MAT4','componentType':5126},"
         "{'bufferView':0,'byteOffset':160,'count':1,'type':'SCALAR','componentType':5126},"
         "{'bufferView':0,'byteOffset':164,'count':1,'type':'VEC3','componentType':5126}]}";

static Status read_posed(Reading *reading)
{
    static const float position[3] = {1, 2, 3};
    static const float weight[4] = {0.25f, 0.75f, 0, 0};
    // two inverse bind matrices, the first a quarter turn about x and a shift, stored by columns
    static const float matrix[32] = {1, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0, 0, 4, 5, 6, 1,
                                     1, 0, 0, 0, 0, 1, 0, 0, 0, 0,  1, 0, 7, 8, 9, 1};
    static const float key[4] = {0.0f, 10, 20, 30};
    uint8_t data[188] = {0};

    memcpy(data, position, sizeof position);
    data[12] = 0;
    data[13] = 1;
    memcpy(data + 16, weight, sizeof weight);
    memcpy(data + 32, matrix, sizeof matrix);
    memcpy(data + 160, key, sizeof key);
    return reading_text(reading, posed, data, sizeof data);
}

/* The skinned vertex in the scene, by the definition of skinning (glTF 2.0, 3.7.3.3). */
static Vec3 skinned_vertex(const Rig *rig)
{
    const RigPrimitive *primitive = &rig->mesh[0].primitive[0];
    World world[3];
    Vec3 sum = {0, 0, 0};

    rig_rest_worlds(rig, world);
    for (int i = 0; i < 2; i++) {
        const RigSkin *skin = &rig->skin[0];
        const float *m = skin->inverse_bind[primitive->joint[i]].m;
        Vec3 p = primitive->position[0];
        Vec3 bound = {m[0] * p.x + m[1] * p.y + m[2] * p.z + m[3],
                      m[4] * p.x + m[5] * p.y + m[6] * p.z + m[7],
                      m[8] * p.x + m[9] * p.y + m[10] * p.z + m[11]};
        DVec3 at = world_point(&world[skin->joint[primitive->joint[i]]], bound);
        sum = vec3_add_scaled(sum, dvec3_float(at), primitive->weight[i]);
    }
    return sum;
}

/* `b` is `a` seen by somebody who lies on his back, in metres for centimetres. */
static void check_turned(Vec3 b, Vec3 a)
{
    CHECK_VEC3(b, 0.01 * (double)a.x, 0.01 * (double)a.z, -0.01 * (double)a.y, TOLERANCE);
}

/* Law: reading in another unit and with Z up turns and scales the whole scene and nothing else:
 * (x, y, z) becomes unit (x, z, -y), for nodes, skinned vertices and keys alike. */
TEST(gltf, converts_units_and_z_up_consistently)
{
    Reading plain = reading_open(), turned = reading_open();
    World a[3], b[3];

    turned.options.unit = 0.01;
    turned.options.is_z_up = true;
    CHECK_INT(read_posed(&plain), ==, STATUS_OK);
    CHECK_INT(read_posed(&turned), ==, STATUS_OK);
    CHECK_OK(&turned.err);
    CHECK_NEAR(turned.rig->unit, 0.01, 0.0);
    rig_rest_worlds(plain.rig, a);
    rig_rest_worlds(turned.rig, b);
    for (int i = 0; i < 3; i++)
        check_turned(dvec3_float(b[i].origin), dvec3_float(a[i].origin));
    // node 2 by hand: (1, 2, 3) + Rz(0.28, 0.96) (2 * 5, 3 * 6, 4 * 7)
    CHECK_VEC3(dvec3_float(a[2].origin), 1 + 0.28 * 10 - 0.96 * 18, 2 + 0.96 * 10 + 0.28 * 18, 31,
               TOLERANCE);
    check_turned(skinned_vertex(turned.rig), skinned_vertex(plain.rig));
    const float *key = turned.rig->clip[0].channel[0].value;
    CHECK_VEC3(vec3(key[0], key[1], key[2]), 0.1, 0.3, -0.2, TOLERANCE);
    reading_close(&plain);
    reading_close(&turned);
}

static void check_unit(const char *scale, const char *advice)
{
    char text[1024];
    uint8_t data[] = {0, 0, 0, 1, 1, 1};
    Reading reading = reading_open();

    (void)snprintf(text, sizeof text,
                   HEAD "'nodes':[{'mesh':0,'scale':[%s,%s,%s]}],'meshes':[{'primitives':[{"
                        "'attributes':{'POSITION':0}}]}],'buffers':[{'byteLength':6,'uri':'b.bin'}]"
                        ",'bufferViews':[{'buffer':0,'byteLength':6}],'accessors':[{'bufferView':0,"
                        "'count':2,'type':'VEC3','componentType':5121}]}",
                   scale, scale, scale);
    CHECK_INT(reading_text(&reading, text, data, sizeof data), ==, STATUS_OK);
    CHECK_TEXT(reading_warning(&reading, "unit_suspect"), advice);
    CHECK_INT(reading_warnings(&reading, "unit_suspect"), ==, *advice ? 1 : 0);
    reading_close(&reading);
}

TEST(gltf, names_the_unit_that_would_make_the_model_a_persons_size)
{
    check_unit("1.7", "");
    check_unit("0.25", "");
    check_unit("4.9", "");
    check_unit("170", "the model is 170 m in size: unit=cm would make it 1.7 m");
    check_unit("1700", "unit=mm would make it 1.7 m");
    check_unit("17", "unit=dm would make it 1.7 m");
    check_unit("67", "unit=in would make it 1.7 m");
    check_unit("28", "unit=cm would make it 0.28 m");
    check_unit("0.017", "unit=100 would make it 1.7 m");
}

/* --- limits --- */

TEST(gltf, names_the_limit_that_a_file_exceeds)
{
    Reading reading = reading_open();

    reading.options.limits.joints = 2;
    CHECK_INT(reading_text(&reading, HEAD "'nodes':[{},{},{}]}", NULL, 0), ==, STATUS_LIMIT);
    CHECK_EQUAL_TEXT(reading.err.message, "the file has 3 nodes, the limit is 2");

    reading.options.limits = asset_limits_default();
    reading.options.limits.vertices = 9;
    CHECK_INT(reading_text(&reading,
                           HEAD "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':"
                                "{'POSITION':0}},{'attributes':{'POSITION':0}}]}],'accessors':["
                                "{'count':5,'type':'VEC3','componentType':5126}]}",
                           NULL, 0),
              ==, STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "the meshes have more than 9 vertices");

    reading.options.limits = asset_limits_default();
    reading.options.limits.name_size = 4;
    CHECK_INT(reading_text(&reading, HEAD "'nodes':[{'name':'abcde'}]}", NULL, 0), ==,
              STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "has 5 bytes, the limit is 4");

    reading.options.limits = asset_limits_default();
    reading.options.limits.file_size = 30;
    CHECK_INT(reading_text(&reading, HEAD "'nodes':[{}]}", NULL, 0), ==, STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "bytes, the limit is 30");

    reading.options.limits = asset_limits_default();
    reading.options.limits.json_depth = 3;
    CHECK(reading_text(&reading, HEAD "'nodes':[{}],'extras':[[[[1]]]]}", NULL, 0) != STATUS_OK);
    CHECK_TEXT(reading.err.message, "3");
    reading_close(&reading);
}

/* Numbers without bytes behind them may ask for any amount of memory. */
TEST(gltf, limits_what_grows_without_data)
{
    static const Refusal cases[] = {
        {HEAD "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
              "'accessors':[{'count':2147483647,'type':'VEC3','componentType':5126}]}",
         STATUS_LIMIT, "the meshes have more than 4000000 vertices"},
        {HEAD "'nodes':[{}],'animations':[{'samplers':[{'input':0,'output':1}],'channels':[{"
              "'sampler':0,'target':{'node':0,'path':'translation'}}]}],'accessors':[{'count':"
              "2147483647,'type':'SCALAR','componentType':5126},{'count':2147483647,'type':'VEC3',"
              "'componentType':5126}]}",
         STATUS_LIMIT, "the clips have more than 64000000 numbers"},
        {HEAD "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},"
              "'indices':1}]}],'accessors':[{'count':3,'type':'VEC3','componentType':5126},{"
              "'count':2147483647,'type':'SCALAR','componentType':5125}]}",
         STATUS_LIMIT, "the meshes have more than 16000000 triangles"},
        {HEAD "'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{'POSITION':0},"
              "'targets':[{'POSITION':1},{'POSITION':1},{'POSITION':1},{'POSITION':1},"
              "{'POSITION':1},{'POSITION':1},{'POSITION':1},{'POSITION':1},{'POSITION':1}]}]}],"
              "'buffers':[{'byteLength':8,'uri':'b.bin'}],'bufferViews':[{'buffer':0,'byteLength':"
              "8}],'accessors':[{'count':4000000,'type':'VEC3','componentType':5126},{'count':"
              "4000000,'type':'VEC3','componentType':5121,'sparse':{'count':1,'indices':{"
              "'bufferView':0,'componentType':5121},'values':{'bufferView':0}}}]}",
         STATUS_LIMIT, "the morph targets have more than 32000000 offsets"},
        {HEAD "'nodes':[{}],'skins':[{'joints':[0],'inverseBindMatrices':0}],'accessors':[{'count':"
              "2147483647,'type':'MAT4','componentType':5126}]}",
         STATUS_LIMIT, "skin 0: the skins have more than 1048576 inverse bind matrices"},
    };

    CHECK_REFUSALS(cases);
}

/* Commas, brackets and braces in texts are no values, whatever is escaped there. */
TEST(gltf, limits_the_values_of_the_json)
{
    Reading reading = reading_open();
    Error err = {0};
    Text text = text_open((size_t)1 << 26, &err);

    text_add(&text,
             "{\"asset\":{\"version\":\"2.0\",\"generator\":\"\\\\\\\",[\\\\\",\"copyright\":\"");
    for (int i = 0; i < 1000 * 1000; i++)
        text_add(&text, "[[,{,,,,,,");
    text_add(&text, "\"},\"nodes\":[{}],\"extras\":[0");
    size_t good = text_length(&text);
    text_add(&text, "]}");
    CHECK_INT(reading_bytes(&reading, text_string(&text), text_length(&text)), ==, STATUS_OK);
    CHECK_OK(&reading.err);

    text.buffer.size = good;
    for (int i = 0; i < 1000 * 1000; i++)
        text_add(&text, ",0,0,0,0,0,0,0,0");
    text_add(&text, "]}");
    CHECK_OK(&err);
    CHECK_INT(reading_bytes(&reading, text_string(&text), text_length(&text)), ==, STATUS_LIMIT);
    CHECK_EQUAL_TEXT(reading.err.message, "the JSON has more than 8000000 values");
    text_close(&text);
    reading_close(&reading);
}

/* A list that were walked by index would take 10^10 steps here. */
TEST(gltf, reads_a_quarter_of_a_million_accessors)
{
    enum { COUNT = 250000 };
    Reading reading = reading_open();
    Error err = {0};
    Text text = text_open((size_t)1 << 26, &err);

    text_add(&text, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}],\"accessors\":[");
    for (int i = 0; i < COUNT; i++)
        text_format(&text, "%s{\"count\":1,\"type\":\"SCALAR\",\"componentType\":5126}",
                    i ? "," : "");
    text_add(&text, "],\"animations\":[");
    for (int i = 0; i < 1000; i++)
        text_format(&text,
                    "%s{\"samplers\":[{\"input\":%d,\"output\":%d}],\"channels\":[{\"sampler\":0,"
                    "\"target\":{\"node\":0,\"path\":\"translation\"}}]}",
                    i ? "," : "", COUNT - 1 - i, COUNT - 1 - i);
    text_add(&text, "]}");
    CHECK_OK(&err);
    CHECK_INT(reading_bytes(&reading, text_string(&text), text_length(&text)), ==, STATUS_OK);
    CHECK_INT(reading.rig->clip_count, ==, 1000);
    text_close(&text);
    reading_close(&reading);
}

/* Law: with too little memory reading refuses, with enough it succeeds. */
TEST(gltf, reads_or_refuses_at_every_arena_size)
{
    Status status = STATUS_NO_MEMORY;
    int refused = 0;

    for (size_t capacity = 256; status == STATUS_NO_MEMORY; capacity += 256, refused++) {
        Reading reading = reading_open();
        // the text itself, which reading_text puts there, is no part of the asset
        arena_destroy(&reading.arena);
        reading.arena = test_arena(capacity + strlen(posed) + 1);
        status = read_posed(&reading);
        if (status)
            CHECK_INT(status, ==, STATUS_NO_MEMORY);
        reading_close(&reading);
    }
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(refused, >, 4);
}

/* --- real files --- */

typedef struct RealFile {
    const char *name;
    int nodes, clips;
    double height; /* metres, as the source describes it or measured with another reader */
} RealFile;

TEST(gltf, reads_the_real_animated_files)
{
    static const RealFile files[] = {
        {"skel/Fox.glb", 26, 3, 79.03},           {"skel/RiggedFigure.glb", 22, 1, 1.45},
        {"skel/RiggedSimple.glb", 5, 1, 9.15},    {"skel/SimpleSkin.gltf", 3, 1, 2.0},
        {"skel/MorphStressTest.gltf", 1, 3, 0.6}, {"skel/robot_expressive.glb", 58, 14, 4.56},
        {"skel/greenman.glb", 14, 4, 2.03},
    };

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        Reading reading = reading_open();
        CHECK_INT(reading_file(&reading, files[i].name), ==, STATUS_OK);
        CHECK_OK(&reading.err);
        CHECK_INT(reading.rig->node_count, ==, files[i].nodes);
        CHECK_INT(reading.rig->clip_count, ==, files[i].clips);
        CHECK_NEAR(reading.rig->height, files[i].height, 0.01);
        for (int j = 0; j < reading.rig->clip_count; j++)
            CHECK_INT(reading.rig->clip[j].channel_count, >, 0);
        reading_close(&reading);
    }
}

TEST(gltf, reads_the_fox_in_centimetres)
{
    Reading reading = reading_open();

    reading.options.unit = asset_unit("cm");
    CHECK_INT(reading_file(&reading, "skel/Fox.glb"), ==, STATUS_OK);
    CHECK_NEAR(reading.rig->height, 0.79, 0.001);
    CHECK_INT(reading_warnings(&reading, "unit_suspect"), ==, 0);
    reading_close(&reading);
}
