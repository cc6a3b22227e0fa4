/* Meshes, skins and clips of glTF documents. */
#include "support/check.h"
#include "support/reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{'asset':{'version':'2.0'},"

/* A few roundings of the numbers that stand in these tests. */
static const double TOLERANCE = 5e-6;

/* --- meshes --- */

/* Five vertices, and indices 0 1 2 3 4 of bytes behind them. */
static const uint8_t five[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 2, 1, 0, 2, 2, 0, 0, 1, 2, 3, 4};

static Status read_five(Reading *reading, const char *primitive)
{
    char text[2048];

    (void)snprintf(text, sizeof text,
                   HEAD
                   "'nodes':[{'mesh':0}],'meshes':[{'primitives':[%s]}],'buffers':[{'byteLength':"
                   "20,'uri':'b.bin'}],'bufferViews':[{'buffer':0,'byteLength':15},{'buffer':0,"
                   "'byteOffset':15,'byteLength':5}],'accessors':[{'bufferView':0,'count':5,"
                   "'type':'VEC3','componentType':5121},{'bufferView':1,'count':5,'type':'SCALAR',"
                   "'componentType':5121}]}",
                   primitive);
    return reading_text(reading, text, five, sizeof five);
}

static void check_triangles(const char *primitive, const uint32_t *expected, int count)
{
    Reading reading = reading_open();

    CHECK_INT(read_five(&reading, primitive), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigPrimitive *got = &reading.rig->mesh[0].primitive[0];
    CHECK_INT(got->vertex_count, ==, 5);
    CHECK_INT(got->index_count, ==, count);
    for (int i = 0; i < count; i++)
        CHECK_INT(got->index[i], ==, expected[i]);
    reading_close(&reading);
}

/* Corners by glTF 2.0, 3.7.2.1: strip p_i = v_i v_{i+1+i%2} v_{i+2-i%2}, fan v_{i+1} v_{i+2} v_0.
 */
TEST(gltf_mesh, unrolls_strips_and_fans_with_and_without_indices)
{
    static const uint32_t strip[] = {0, 1, 2, 1, 3, 2, 2, 3, 4};
    static const uint32_t fan[] = {1, 2, 0, 2, 3, 0, 3, 4, 0};
    static const uint32_t list[] = {0, 1, 2};

    check_triangles("{'mode':5,'attributes':{'POSITION':0},'indices':1}", strip, 9);
    check_triangles("{'mode':5,'attributes':{'POSITION':0}}", strip, 9);
    check_triangles("{'mode':6,'attributes':{'POSITION':0},'indices':1}", fan, 9);
    check_triangles("{'mode':6,'attributes':{'POSITION':0}}", fan, 9);
    // two corners are left over
    check_triangles("{'attributes':{'POSITION':0},'indices':1}", list, 3);
    check_triangles("{'mode':4,'attributes':{'POSITION':0}}", list, 3);
}

TEST(gltf_mesh, drops_points_and_lines_with_a_warning)
{
    Reading reading = reading_open();

    CHECK_INT(read_five(&reading, "{'mode':0,'attributes':{'POSITION':0}},{'mode':3,'attributes':{"
                                  "'POSITION':0}},{'attributes':{'POSITION':0}}"),
              ==, STATUS_OK);
    CHECK_INT(reading.rig->mesh[0].primitive_count, ==, 1);
    CHECK_TEXT(reading_warning(&reading, "primitives_dropped"), "mesh \"mesh0\": 2 primitives");

    CHECK_INT(read_five(&reading, "{'mode':1,'attributes':{'POSITION':0}}"), ==, STATUS_OK);
    CHECK_INT(reading.rig->node[0].mesh, ==, -1);
    reading_close(&reading);
}

TEST(gltf_mesh, primitives_of_one_accessor_share_its_array)
{
    Reading reading = reading_open();

    CHECK_INT(read_five(&reading, "{'attributes':{'POSITION':0}},{'attributes':{'POSITION':0},"
                                  "'indices':1}"),
              ==, STATUS_OK);
    const RigMesh *mesh = &reading.rig->mesh[0];
    CHECK(mesh->primitive[0].position == mesh->primitive[1].position);
    CHECK_INT(mesh->primitive[1].position_accessor, ==, 0);
    CHECK_INT(mesh->primitive[1].normal_accessor, ==, -1);
    reading_close(&reading);
}

/* Two vertices; a sparse substitution makes the first of three indices 2. */
static void check_misfit(const char *attribute, int component, const char *message)
{
    uint8_t data[256] = {[200] = 2};
    char text[2048];
    Reading reading = reading_open();

    (void)snprintf(
        text, sizeof text,
        HEAD "'nodes':[{'mesh':0}],'meshes':[{'name':'cap','primitives':[{'attributes':{"
             "'POSITION':0%s},'indices':1}]}],'buffers':[{'byteLength':256,'uri':'b.bin'}],"
             "'bufferViews':[{'buffer':0,'byteLength':256}],'accessors':[{'bufferView':0,"
             "'count':2,'type':'VEC3','componentType':5121},{'bufferView':0,'count':3,"
             "'type':'SCALAR','componentType':%d,'sparse':{'count':1,'indices':{'bufferView':0,"
             "'componentType':5121},'values':{'bufferView':0,'byteOffset':200}}},"
             "{'bufferView':0,'count':3,'type':'VEC3','componentType':5121}]}",
        attribute, component);
    CHECK_INT(reading_text(&reading, text, data, sizeof data), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(reading.err.message, message);
    reading_close(&reading);
}

TEST(gltf_mesh, refuses_indices_and_attributes_that_do_not_fit)
{
    check_misfit("", 5121, "mesh \"cap\", primitive 0: index 0 refers to vertex 2 of 2");
    check_misfit(",'NORMAL':2", 5121,
                 "mesh \"cap\", primitive 0: accessor 2 has 3 elements for 2 vertices");
    check_misfit("", 5126,
                 "mesh \"cap\", primitive 0: accessor 1: it has floats instead of integers");
}

TEST(gltf_mesh, reads_materials)
{
    Reading reading = reading_open();

    CHECK_INT(reading_text(&reading,
                           HEAD "'nodes':[{}],'materials':[{'name':'skin','doubleSided':true,"
                                "'alphaMode':'BLEND','pbrMetallicRoughness':{'baseColorFactor':"
                                "[0.5,0.25,1,0.75]},'extensions':{'KHR_materials_unlit':{}}},{}]}",
                           NULL, 0),
              ==, STATUS_OK);
    const RigMaterial *skin = &reading.rig->material[0];
    CHECK_EQUAL_TEXT(skin->name, "skin");
    CHECK(skin->is_double_sided && skin->is_blended);
    CHECK_NEAR(skin->color[1], 0.25, 0.0);
    CHECK_NEAR(skin->color[3], 0.75, 0.0);
    CHECK_NEAR(reading.rig->material[1].color[0], 1.0, 0.0);
    CHECK(!reading.rig->material[1].is_double_sided && !reading.rig->material[1].is_blended);
    reading_close(&reading);
}

/* Target 0 is dense, 1 sparse (vertex 1 only), 2 has no data at all and moves nothing. */
TEST(gltf_mesh, reads_morph_targets_names_and_weights)
{
    uint8_t data[] = {0, 0, 0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 1, 7, 8, 9};
    Reading reading = reading_open();

    CHECK_INT(
        reading_text(
            &reading,
            HEAD "'nodes':[{'mesh':0},{'mesh':0,'weights':[0.1,0.2,0.3]}],'meshes':[{'weights':"
                 "[0.5,0.25],'extras':{'targetNames':['smile','blink']},'primitives':[{'attributes'"
                 ":{'POSITION':0},'targets':[{'POSITION':1},{'POSITION':2},{'POSITION':3}]}]}],"
                 "'buffers':[{'byteLength':16,'uri':'b.bin'}],'bufferViews':[{'buffer':0,"
                 "'byteLength':6},{'buffer':0,'byteOffset':6,'byteLength':6},{'buffer':0,"
                 "'byteOffset':12,'byteLength':4}],'accessors':[{'bufferView':0,'count':2,'type':"
                 "'VEC3','componentType':5121},{'bufferView':1,'count':2,'type':'VEC3',"
                 "'componentType':5121},{'count':2,'type':'VEC3','componentType':5121,'sparse':{"
                 "'count':1,'indices':{'bufferView':2,'componentType':5121},'values':{'bufferView':"
                 "2,'byteOffset':1}}},{'count':2,'type':'VEC3','componentType':5126}]}",
            data, sizeof data),
        ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigMesh *mesh = &reading.rig->mesh[0];
    CHECK_INT(mesh->morph_count, ==, 3);
    CHECK_EQUAL_TEXT(mesh->morph_name[1], "blink");
    CHECK_EQUAL_TEXT(mesh->morph_name[2], "");
    CHECK_VEC3(mesh->primitive[0].morph[0].position[1], 4, 5, 6, TOLERANCE);
    CHECK_VEC3(mesh->primitive[0].morph[1].position[0], 0, 0, 0, TOLERANCE);
    CHECK_VEC3(mesh->primitive[0].morph[1].position[1], 7, 8, 9, TOLERANCE);
    CHECK(mesh->primitive[0].morph[2].position == NULL);
    CHECK_INT(reading.rig->morph_weight_count, ==, 6);
    CHECK_NEAR(reading.rig->morph_weight0[1], 0.25, 0.0);
    CHECK_NEAR(reading.rig->morph_weight0[2], 0.0, 0.0);
    CHECK_NEAR(reading.rig->morph_weight0[reading.rig->node[1].rest_weight + 2], 0.3, 1e-7);
    reading_close(&reading);
}

TEST(gltf_mesh, pads_primitives_with_fewer_morph_targets)
{
    Reading reading = reading_open();

    CHECK_INT(read_five(&reading, "{'attributes':{'POSITION':0},'targets':[{'POSITION':0}]},"
                                  "{'attributes':{'POSITION':0}}"),
              ==, STATUS_OK);
    CHECK_INT(reading.rig->mesh[0].morph_count, ==, 1);
    CHECK(reading.rig->mesh[0].primitive[0].morph[0].position != NULL);
    CHECK(reading.rig->mesh[0].primitive[1].morph[0].position == NULL);
    CHECK_INT(reading_warnings(&reading, "morphs_differ"), ==, 1);
    reading_close(&reading);
}

/* --- skins --- */

/* Two vertices with two sets of joints and weights of bytes (normalised), on a skin of 6 joints. */
static Status read_skinned(Reading *reading, const uint8_t joints[16], const uint8_t weights[16],
                           const char *skin)
{
    char text[2048];
    uint8_t data[38] = {0, 0, 0, 1, 0, 0};

    for (int v = 0; v < 2; v++)
        for (int i = 0; i < 8; i++) {
            int set = i / 4;
            data[6 + 8 * set + 4 * v + i % 4] = joints[8 * v + i];
            data[22 + 8 * set + 4 * v + i % 4] = weights[8 * v + i];
        }
    (void)snprintf(
        text, sizeof text,
        HEAD "'nodes':[{'mesh':0,'skin':0},{},{},{},{},{},{}],'skins':[%s],'meshes':[{"
             "'primitives':[{'attributes':{'POSITION':0,'JOINTS_0':1,'JOINTS_1':2,'WEIGHTS_0':3,"
             "'WEIGHTS_1':4}}]}],'buffers':[{'byteLength':38,'uri':'b.bin'}],'bufferViews':[{"
             "'buffer':0,'byteLength':6},{'buffer':0,'byteOffset':6,'byteLength':16},{'buffer':0,"
             "'byteOffset':22,'byteLength':16}],'accessors':[{'bufferView':0,'count':2,'type':"
             "'VEC3','componentType':5121},{'bufferView':1,'count':2,'type':'VEC4',"
             "'componentType':5121},{'bufferView':1,'byteOffset':8,'count':2,'type':'VEC4',"
             "'componentType':5121},{'bufferView':2,'count':2,'type':'VEC4','componentType':5121,"
             "'normalized':true},{'bufferView':2,'byteOffset':8,'count':2,'type':'VEC4',"
             "'componentType':5121,'normalized':true}]}",
        skin);
    return reading_text(reading, text, data, sizeof data);
}

static const char *const six_joints = "{'joints':[1,2,3,4,5,6]}";

TEST(gltf_mesh, sorts_influences_of_all_sets_by_weight)
{
    static const uint8_t joints[16] = {0, 1, 2, 3, 4, 5, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t weights[16] = {15, 51, 15, 51, 102, 21, 0, 0, 255, 0, 0, 0, 0, 0, 0, 0};
    static const int expected[8] = {4, 1, 3, 5, 0, 2, 0, 0};
    Reading reading = reading_open();

    CHECK_INT(read_skinned(&reading, joints, weights, six_joints), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigPrimitive *primitive = &reading.rig->mesh[0].primitive[0];
    CHECK_INT(primitive->influence_count, ==, 8);
    for (int i = 0; i < 8; i++)
        CHECK_INT(primitive->joint[i], ==, expected[i]);
    CHECK_NEAR(primitive->weight[0], 0.4, 1e-6);
    CHECK_NEAR(primitive->weight[1], 0.2, 1e-6);
    CHECK_NEAR(primitive->weight[6], 0.0, 0.0);
    CHECK_INT(primitive->joint[8], ==, 5);
    CHECK_NEAR(primitive->weight[8], 1.0, 0.0);
    CHECK_INT(reading_warnings(&reading, "weights_renormalised"), ==, 0);
    reading_close(&reading);
}

/* 51/255 + 51/255 becomes 1/2 + 1/2; no weight at all becomes the first joint's. */
TEST(gltf_mesh, renormalises_weights_with_a_warning)
{
    static const uint8_t joints[16] = {2, 3};
    static const uint8_t weights[16] = {51, 51};
    Reading reading = reading_open();

    CHECK_INT(read_skinned(&reading, joints, weights, six_joints), ==, STATUS_OK);
    const RigPrimitive *primitive = &reading.rig->mesh[0].primitive[0];
    CHECK_INT(primitive->influence_count, ==, 4);
    CHECK_NEAR(primitive->weight[0], 0.5, 0.0);
    CHECK_NEAR(primitive->weight[1], 0.5, 0.0);
    CHECK_NEAR(primitive->weight[4], 1.0, 0.0);
    CHECK_TEXT(reading_warning(&reading, "weights_renormalised"), "the weights of 1 vertices");
    CHECK_TEXT(reading_warning(&reading, "weights_zero"), "1 vertices have no weights");
    reading_close(&reading);
}

TEST(gltf_mesh, refuses_joints_that_the_skin_does_not_have)
{
    static const uint8_t joints[16] = {0, 6, 99};
    static const uint8_t weights[16] = {128, 127, 0, 0, 0, 0, 0, 0, 255};
    static const uint8_t good[16] = {0, 5, 99};
    Reading reading = reading_open();

    CHECK_INT(read_skinned(&reading, joints, weights, six_joints), ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "mesh \"mesh0\" uses joint 6 of skin \"skin0\", which has 6");
    // a joint without weight is no matter
    CHECK_INT(read_skinned(&reading, good, weights, six_joints), ==, STATUS_OK);
    CHECK_INT(read_skinned(&reading, good, weights, "{'joints':[1,2,3,4,5,7]}"), ==,
              STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "/skins/0/joints/5 is 7, but the file has 7 nodes");
    CHECK_INT(
        read_skinned(&reading, good, weights, "{'joints':[1,2,3,4,5,6],'inverseBindMatrices':0}"),
        ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "skin 0: it has 2 inverse bind matrices for 6 joints");
    reading_close(&reading);
}

TEST(gltf_mesh, skins_without_matrices_have_identities)
{
    static const uint8_t joints[16] = {0};
    static const uint8_t weights[16] = {255, 0, 0, 0, 0, 0, 0, 0, 255};
    Reading reading = reading_open();

    CHECK_INT(read_skinned(&reading, joints, weights, six_joints), ==, STATUS_OK);
    const float *m = reading.rig->skin[0].inverse_bind[5].m;
    for (int i = 0; i < 12; i++)
        CHECK_NEAR(m[i], i % 5 == 0 ? 1.0 : 0.0, 0.0);
    reading_close(&reading);
}

/* --- clips --- */

/* 12 floats of data; `channels` and `samplers` over accessors: 0 times (2 keys), 1 vectors (2), 2
 * weights (2 normalised bytes), 3 vectors (6), 4 times that fall, 5 rotations (2 normalised
 * shorts), 6 times with NaN. */
static Status read_clip(Reading *reading, const char *animation)
{
    static const float value[18] = {0.5f, 2.0f, 1,  2,  3,  4,  5,  6,  7,
                                    8,    9,    10, 11, 12, 13, 14, 15, 16};
    uint8_t data[128] = {0};
    int16_t rotation[8] = {0, 0, 0, 32767, 32767, 0, 0, 0};
    float not_finite[2] = {0.0f, NAN};
    char text[2048];

    memcpy(data, value, sizeof value);
    data[80] = 255;
    data[81] = 51;
    memcpy(data + 84, rotation, sizeof rotation);
    memcpy(data + 104, not_finite, sizeof not_finite);
    (void)snprintf(
        text, sizeof text,
        HEAD "'nodes':[{'mesh':0},{}],'meshes':[{'primitives':[{'attributes':{'POSITION':1},"
             "'targets':[{'POSITION':1}]}]}],'animations':[%s],'buffers':[{'byteLength':128,'uri':"
             "'b.bin'}],'bufferViews':[{'buffer':0,'byteLength':128}],'accessors':["
             "{'bufferView':0,'count':2,'type':'SCALAR','componentType':5126},"
             "{'bufferView':0,'byteOffset':8,'count':2,'type':'VEC3','componentType':5126},"
             "{'bufferView':0,'byteOffset':80,'count':2,'type':'SCALAR','componentType':5121,"
             "'normalized':true},"
             "{'bufferView':0,'byteOffset':0,'count':6,'type':'VEC3','componentType':5126},"
             "{'bufferView':0,'byteOffset':68,'count':2,'type':'SCALAR','componentType':5126},"
             "{'bufferView':0,'byteOffset':84,'count':2,'type':'VEC4','componentType':5122,"
             "'normalized':true},"
             "{'bufferView':0,'byteOffset':104,'count':2,'type':'SCALAR','componentType':5126}]}",
        animation);
    return reading_text(reading, text, data, sizeof data);
}

TEST(gltf_mesh, reads_clips_of_every_path_and_interpolation)
{
    Reading reading = reading_open();

    CHECK_INT(read_clip(&reading,
                        "{'name':'walk','samplers':[{'input':0,'output':1},{'input':0,'output':2,"
                        "'interpolation':'STEP'},{'input':0,'output':3,'interpolation':"
                        "'CUBICSPLINE'},{'input':0,'output':5}],'channels':["
                        "{'sampler':0,'target':{'node':1,'path':'translation'}},"
                        "{'sampler':1,'target':{'node':0,'path':'weights'}},"
                        "{'sampler':2,'target':{'node':1,'path':'scale'}},"
                        "{'sampler':3,'target':{'node':1,'path':'rotation'}}]}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    const Clip *clip = &reading.rig->clip[0];
    CHECK_EQUAL_TEXT(clip->key, "walk");
    CHECK_INT(clip->channel_count, ==, 4);
    CHECK_NEAR(clip->duration, 2.0, 0.0);
    CHECK_NEAR(clip->channel[0].time[0], 0.5, 0.0);
    CHECK_NEAR(clip->channel[0].value[5], 6.0, 0.0);
    CHECK_INT(clip->channel[1].width, ==, 1);
    CHECK_INT(clip->channel[1].interpolation, ==, CLIP_STEP);
    CHECK_NEAR(clip->channel[1].value[1], 0.2, 1e-7);
    CHECK_INT(clip->channel[2].interpolation, ==, CLIP_CUBICSPLINE);
    CHECK_INT(clip->channel[2].key_count, ==, 2);
    CHECK_NEAR(clip->channel[2].value[17], 16.0, 0.0);
    CHECK_NEAR(clip->channel[3].value[4], 1.0, 0.0);
    reading_close(&reading);
}

TEST(gltf_mesh, drops_channels_of_no_use_with_a_warning)
{
    Reading reading = reading_open();

    CHECK_INT(read_clip(&reading,
                        "{'samplers':[{'input':4,'output':1},{'input':6,'output':1},{'input':0,"
                        "'output':3},{'input':0,'output':1}],'channels':["
                        "{'sampler':0,'target':{'node':1,'path':'translation'}},"
                        "{'sampler':1,'target':{'node':1,'path':'scale'}},"
                        "{'sampler':2,'target':{'node':0,'path':'translation'}},"
                        "{'sampler':3,'target':{'node':0,'path':'rotation'}},"
                        "{'sampler':3,'target':{'path':'pointer','extensions':{"
                        "'KHR_animation_pointer':{'pointer':'/nodes/0/scale'}}}},"
                        "{'sampler':3,'target':{'node':0,'path':'scale'}},"
                        "{'sampler':3,'target':{'node':0,'path':'scale'}}]}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->clip[0].channel_count, ==, 1);
    CHECK_INT(reading.rig->clip[0].channel[0].path, ==, CLIP_SCALE);
    CHECK_TEXT(reading_warning(&reading, "channels_dropped"), "clip \"clip0\": 4 channels");
    CHECK_TEXT(reading_warning(&reading, "channels_ignored"), "1 channels animate something else");
    CHECK_TEXT(reading_warning(&reading, "channels_twice"), "1 channels");
    reading_close(&reading);
}
