#include "support/check.h"
#include "support/reading.h"

#include <math.h>
#include <meshoptimizer.h>
#include <stdio.h>
#include <string.h>

/* A few roundings of the numbers that stand in these tests. */
static const double TOLERANCE = 1e-7;

enum { TEXT_SIZE = 4096 };

/* A file of one mesh whose positions are accessor 0; `rest` are the members "accessors" and
 * "bufferViews", and more. */
static Status read_positions(Reading *reading, const char *rest, const void *data, size_t size)
{
    char text[TEXT_SIZE];

    (void)snprintf(text, sizeof text,
                   "{'asset':{'version':'2.0'},'nodes':[{'mesh':0}],"
                   "'meshes':[{'primitives':[{'attributes':{'POSITION':0}}]}],"
                   "'buffers':[{'byteLength':%zu,'uri':'b.bin'}],%s}",
                   size, rest);
    return reading_text(reading, text, data, size);
}

static Vec3 position(const Reading *reading, int vertex)
{
    return reading->rig->mesh[0].primitive[0].position[vertex];
}

typedef struct TypeCase {
    const char *name;
    int component;
    bool is_normalized;
    uint8_t data[12]; /* one VEC3 */
    double expected[3];
} TypeCase;

TEST(accessor, reads_every_component_type)
{
    static const TypeCase cases[] = {
        {"int8", 5120, false, {0x80, 0x7f, 0xff}, {-128, 127, -1}},
        {"int8 normalised", 5120, true, {0x80, 0x7f, 0x81}, {-1, 1, -1}},
        {"uint8", 5121, false, {0, 1, 255}, {0, 1, 255}},
        {"uint8 normalised", 5121, true, {0, 51, 255}, {0, 0.2, 1}},
        {"int16", 5122, false, {0x00, 0x80, 0xff, 0x7f, 0xfe, 0xff}, {-32768, 32767, -2}},
        {"int16 normalised", 5122, true, {0x00, 0x80, 0xff, 0x7f, 0x01, 0x80}, {-1, 1, -1}},
        {"uint16", 5123, false, {0, 0, 1, 1, 0xff, 0xff}, {0, 257, 65535}},
        {"uint16 normalised", 5123, true, {0, 0, 0x33, 0x33, 0xff, 0xff}, {0, 0.2, 1}},
        {"uint32", 5125, false, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x80}, {1, 65536, 2147483648.0}},
        {"float", 5126, false, {0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0, 0, 0, 0, 0x3f}, {1, -2, 0.5}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Reading reading = reading_open();
        char rest[512];

        (void)snprintf(rest, sizeof rest,
                       "'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,"
                       "'count':1,'type':'VEC3','componentType':%d,'normalized':%s}]",
                       cases[i].component, cases[i].is_normalized ? "true" : "false");
        CHECK_INT(read_positions(&reading, rest, cases[i].data, 12), ==, STATUS_OK);
        CHECK_OK(&reading.err);
        CHECK_VEC3(position(&reading, 0), cases[i].expected[0], cases[i].expected[1],
                   cases[i].expected[2], TOLERANCE);
        reading_close(&reading);
    }
}

/* Element i begins at view offset + accessor offset + i stride; odd places are no matter. */
TEST(accessor, reads_interleaved_elements_at_odd_places)
{
    uint8_t data[64];
    Reading reading = reading_open();

    for (int i = 0; i < 64; i++)
        data[i] = (uint8_t)i;
    CHECK_INT(read_positions(&reading,
                             "'bufferViews':[{'buffer':0,'byteOffset':3,'byteLength':40,"
                             "'byteStride':16}],'accessors':[{'bufferView':0,'byteOffset':2,"
                             "'count':3,'type':'VEC3','componentType':5121}]",
                             data, sizeof data),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(position(&reading, 0), 5, 6, 7, TOLERANCE);
    CHECK_VEC3(position(&reading, 1), 21, 22, 23, TOLERANCE);
    CHECK_VEC3(position(&reading, 2), 37, 38, 39, TOLERANCE);
    reading_close(&reading);
}

TEST(accessor, reads_floats_at_odd_places)
{
    float value[3] = {1.5f, -2.25f, 3.0f};
    uint8_t data[13];
    Reading reading = reading_open();

    memcpy(data + 1, value, sizeof value);
    CHECK_INT(read_positions(&reading,
                             "'bufferViews':[{'buffer':0,'byteOffset':1,'byteLength':12}],"
                             "'accessors':[{'bufferView':0,'count':1,'type':'VEC3',"
                             "'componentType':5126}]",
                             data, sizeof data),
              ==, STATUS_OK);
    CHECK_VEC3(position(&reading, 0), 1.5, -2.25, 3.0, TOLERANCE);
    reading_close(&reading);
}

/* Elements 1 and 3 of four are replaced; the others are those of the view. */
TEST(accessor, substitutes_sparse_elements_over_a_view)
{
    uint8_t data[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 0, 3, 0, 50, 51, 52, 60, 61, 62};
    Reading reading = reading_open();

    CHECK_INT(read_positions(&reading,
                             "'bufferViews':[{'buffer':0,'byteLength':12},"
                             "{'buffer':0,'byteOffset':12,'byteLength':10}],"
                             "'accessors':[{'bufferView':0,'count':4,'type':'VEC3',"
                             "'componentType':5121,'sparse':{'count':2,'indices':{'bufferView':1,"
                             "'componentType':5123},'values':{'bufferView':1,'byteOffset':4}}}]",
                             data, sizeof data),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(position(&reading, 0), 0, 1, 2, TOLERANCE);
    CHECK_VEC3(position(&reading, 1), 50, 51, 52, TOLERANCE);
    CHECK_VEC3(position(&reading, 2), 6, 7, 8, TOLERANCE);
    CHECK_VEC3(position(&reading, 3), 60, 61, 62, TOLERANCE);
    reading_close(&reading);
}

TEST(accessor, substitutes_sparse_elements_over_zeroes)
{
    uint8_t data[] = {2, 50, 51, 52};
    Reading reading = reading_open();

    CHECK_INT(read_positions(&reading,
                             "'bufferViews':[{'buffer':0,'byteLength':4}],"
                             "'accessors':[{'count':3,'type':'VEC3','componentType':5121,"
                             "'sparse':{'count':1,'indices':{'bufferView':0,'componentType':5121},"
                             "'values':{'bufferView':0,'byteOffset':1}}}]",
                             data, sizeof data),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(position(&reading, 0), 0, 0, 0, TOLERANCE);
    CHECK_VEC3(position(&reading, 2), 50, 51, 52, TOLERANCE);
    reading_close(&reading);
}

typedef struct FaultCase {
    const char *rest;
    const char *message;
} FaultCase;

TEST(accessor, refuses_what_lies_outside_of_its_data)
{
    static const FaultCase cases[] = {
        {"'bufferViews':[{'buffer':0,'byteLength':13}],'accessors':[{'bufferView':0,'count':1,"
         "'type':'VEC3','componentType':5126}]",
         "buffer view 0 ends at byte 13 of buffer 0, which has 12"},
        {"'bufferViews':[{'buffer':0,'byteOffset':1e15,'byteLength':12}],'accessors':[{"
         "'bufferView':0,'count':1,'type':'VEC3','componentType':5126}]",
         "buffer view 0 ends at byte 1000000000000012"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,'count':2,"
         "'type':'VEC3','componentType':5126}]",
         "accessor 0: 2 elements end at byte 24 of buffer view 0, which has 12"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,'count':"
         "3000000,"
         "'type':'VEC3','componentType':5126}]",
         "accessor 0: 3000000 elements end at byte 36000000"},
        {"'bufferViews':[{'buffer':0,'byteLength':12,'byteStride':252}],'accessors':[{'bufferView':"
         "0,'count':2,'type':'VEC3','componentType':5121}]",
         "2 elements end at byte 255"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,"
         "'byteOffset':1e15,'count':1,'type':'VEC3','componentType':5126}]",
         "1 elements end at byte 1000000000000012"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':1,'count':1,"
         "'type':'VEC3','componentType':5126}]",
         "/accessors/0/bufferView is 1, but the file has 1 buffer views"},
        {"'bufferViews':[{'buffer':7,'byteLength':12}],'accessors':[]",
         "/bufferViews/0/buffer is 7, but the file has 1 buffers"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,'count':1,"
         "'type':'VEC3','componentType':5124}]",
         "/accessors/0 has the component type 5124, which glTF does not have"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'bufferView':0,'count':1,"
         "'type':'VEC2','componentType':5126}]",
         "accessor 0: it has elements of 2 numbers instead of 3"},
        {"'bufferViews':[{'buffer':0,'byteLength':12}],'accessors':[{'count':3,'type':'VEC3',"
         "'componentType':5121,'sparse':{'count':1,'indices':{'bufferView':0,'byteOffset':9,"
         "'componentType':5121},'values':{'bufferView':0}}}]",
         "accessor 0: its sparse index 0 is 9 of 3 elements"},
    };
    uint8_t data[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Reading reading = reading_open();
        CHECK_INT(read_positions(&reading, cases[i].rest, data, sizeof data), ==, STATUS_INVALID);
        CHECK_TEXT(reading.err.message, cases[i].message);
        reading_close(&reading);
    }
}

TEST(accessor, refuses_a_position_that_is_not_finite)
{
    float data[6] = {0, 0, 0, 1, NAN, 0};
    Reading reading = reading_open();

    CHECK_INT(read_positions(&reading,
                             "'bufferViews':[{'buffer':0,'byteLength':24}],'accessors':[{"
                             "'bufferView':0,'count':2,'type':'VEC3','componentType':5126}]",
                             data, sizeof data),
              ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(reading.err.message,
                     "mesh \"mesh0\", primitive 0: accessor 0: component 1 of element 1 is not "
                     "finite");
    reading_close(&reading);
}

/* --- EXT_meshopt_compression, packed here by the library's own encoders --- */

static Status read_packed(Reading *reading, const char *view, const char *accessor,
                          const void *packed, size_t size)
{
    char rest[1024];

    (void)snprintf(rest, sizeof rest,
                   "'extensionsRequired':['EXT_meshopt_compression','KHR_mesh_quantization'],"
                   "'bufferViews':[{'buffer':0,%s,'byteLength':%zu}}}],'accessors':[{"
                   "'bufferView':0,%s}]",
                   view, size, accessor);
    return read_positions(reading, rest, packed, size);
}

TEST(accessor, decompresses_attributes)
{
    int16_t vertex[3][4] = {{1, 2, 3, 0}, {-4, 5, -6, 0}, {700, -800, 900, 0}};
    uint8_t packed[256];
    size_t size = meshopt_encodeVertexBuffer(packed, sizeof packed, vertex, 3, 8);
    Reading reading = reading_open();

    CHECK_INT(read_packed(&reading,
                          "'byteLength':24,'byteStride':8,'extensions':{'EXT_meshopt_compression':"
                          "{'buffer':0,'count':3,'byteStride':8,'mode':'ATTRIBUTES'",
                          "'count':3,'type':'VEC3','componentType':5122", packed, size),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(position(&reading, 1), -4, 5, -6, TOLERANCE);
    CHECK_VEC3(position(&reading, 2), 700, -800, 900, TOLERANCE);
    reading_close(&reading);
}

/* The exponential filter stores 2^e m with 24 bits of m: 0.5, -3 and 1024 come back exactly. */
TEST(accessor, decompresses_with_the_exponential_filter)
{
    float vertex[2][3] = {{0.5f, -3.0f, 1024.0f}, {0.0f, 1.0f, -0.125f}};
    uint32_t filtered[6];
    uint8_t packed[256];
    Reading reading = reading_open();

    meshopt_encodeFilterExp(filtered, 2, 12, 15, &vertex[0][0]);
    size_t size = meshopt_encodeVertexBuffer(packed, sizeof packed, filtered, 2, 12);
    CHECK_INT(read_packed(&reading,
                          "'byteLength':24,'extensions':{'EXT_meshopt_compression':{'buffer':0,"
                          "'count':2,'byteStride':12,'mode':'ATTRIBUTES','filter':'EXPONENTIAL'",
                          "'count':2,'type':'VEC3','componentType':5126", packed, size),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_VEC3(position(&reading, 0), 0.5, -3.0, 1024.0, TOLERANCE);
    CHECK_VEC3(position(&reading, 1), 0.0, 1.0, -0.125, TOLERANCE);
    reading_close(&reading);
}

/* Sixteen bits an axis: a unit vector comes back within 1e-4. */
TEST(accessor, decompresses_with_the_octahedral_filter)
{
    float normal[4] = {0.6f, -0.8f, 0.0f, 0.0f};
    int16_t filtered[4];
    uint8_t packed[256];
    Reading reading = reading_open();

    meshopt_encodeFilterOct(filtered, 1, 8, 16, normal);
    size_t size = meshopt_encodeVertexBuffer(packed, sizeof packed, filtered, 1, 8);
    CHECK_INT(read_packed(&reading,
                          "'byteLength':8,'byteStride':8,'extensions':{'EXT_meshopt_compression':{"
                          "'buffer':0,'count':1,'byteStride':8,'mode':'ATTRIBUTES',"
                          "'filter':'OCTAHEDRAL'",
                          "'count':1,'type':'VEC3','componentType':5122,'normalized':true", packed,
                          size),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_NEAR(position(&reading, 0).x, 0.6, 1e-4);
    CHECK_NEAR(position(&reading, 0).y, -0.8, 1e-4);
    CHECK_NEAR(position(&reading, 0).z, 0.0, 1e-4);
    reading_close(&reading);
}

/* A quaternion of a clip, twelve bits a component: within 1e-3, up to its sign. */
TEST(accessor, decompresses_with_the_quaternion_filter)
{
    float rotation[4] = {0.5f, -0.5f, 0.5f, 0.5f};
    int16_t filtered[4];
    uint8_t packed[256] = {0};
    char text[TEXT_SIZE];
    Reading reading = reading_open();

    meshopt_encodeFilterQuat(filtered, 1, 8, 12, rotation);
    size_t size = meshopt_encodeVertexBuffer(packed + 4, sizeof packed - 4, filtered, 1, 8);
    (void)snprintf(
        text, sizeof text,
        "{'asset':{'version':'2.0'},'nodes':[{}],'buffers':[{'uri':'b.bin','byteLength':%zu},"
        "{'byteLength':8,'extensions':{'EXT_meshopt_compression':{'fallback':true}}}],"
        "'bufferViews':[{'buffer':0,'byteLength':4},{'buffer':1,'byteLength':8,'extensions':{"
        "'EXT_meshopt_compression':{'buffer':0,'byteOffset':4,'byteLength':%zu,'count':1,"
        "'byteStride':8,'mode':'ATTRIBUTES','filter':'QUATERNION'}}}],"
        "'accessors':[{'bufferView':0,'count':1,'type':'SCALAR','componentType':5126},"
        "{'bufferView':1,'count':1,'type':'VEC4','componentType':5122,'normalized':true}],"
        "'animations':[{'samplers':[{'input':0,'output':1}],'channels':[{'sampler':0,"
        "'target':{'node':0,'path':'rotation'}}]}]}",
        size + 4, size);
    CHECK_INT(reading_text(&reading, text, packed, size + 4), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    CHECK_INT(reading.rig->clip[0].channel_count, ==, 1);
    const float *q = reading.rig->clip[0].channel[0].value;
    double dot = 0.0;
    for (int i = 0; i < 4; i++)
        dot += (double)q[i] * (double)rotation[i];
    CHECK_NEAR(fabs(dot), 1.0, 1e-3);
    reading_close(&reading);
}

/* A mesh of two triangles whose indices are compressed in `mode`. */
static void check_packed_indices(const char *mode, const uint8_t *packed, size_t size)
{
    char text[TEXT_SIZE];
    uint8_t data[512] = {0};
    Reading reading = reading_open();

    memcpy(data + 12, packed, size);
    (void)snprintf(
        text, sizeof text,
        "{'asset':{'version':'2.0'},'nodes':[{'mesh':0}],'meshes':[{'primitives':[{'attributes':{"
        "'POSITION':0},'indices':1}]}],'buffers':[{'uri':'b.bin','byteLength':%zu}],"
        "'bufferViews':[{'buffer':0,'byteLength':12},{'buffer':0,'byteLength':12,'extensions':{"
        "'EXT_meshopt_compression':{'buffer':0,'byteOffset':12,'byteLength':%zu,'count':6,"
        "'byteStride':2,'mode':'%s'}}}],'accessors':[{'bufferView':0,'count':4,'type':'VEC3',"
        "'componentType':5121},{'bufferView':1,'count':6,'type':'SCALAR','componentType':5123}]}",
        size + 12, size, mode);
    CHECK_INT(reading_text(&reading, text, data, size + 12), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigPrimitive *primitive = &reading.rig->mesh[0].primitive[0];
    CHECK_INT(primitive->index_count, ==, 6);
    // a triangle may start with another corner: compare the sums, and the sequence where it is one
    CHECK_INT(primitive->index[0] + primitive->index[1] + primitive->index[2], ==, 0 + 1 + 2);
    CHECK_INT(primitive->index[3] + primitive->index[4] + primitive->index[5], ==, 2 + 1 + 3);
    reading_close(&reading);
}

TEST(accessor, decompresses_triangles_and_index_sequences)
{
    static const unsigned int index[6] = {0, 1, 2, 2, 1, 3};
    uint8_t packed[256];

    meshopt_encodeIndexVersion(1);
    size_t size = meshopt_encodeIndexBuffer(packed, sizeof packed, index, 6);
    check_packed_indices("TRIANGLES", packed, size);
    size = meshopt_encodeIndexSequence(packed, sizeof packed, index, 6);
    check_packed_indices("INDICES", packed, size);
}

TEST(accessor, refuses_compressed_data_that_is_damaged_or_of_the_wrong_size)
{
    static const FaultCase cases[] = {
        {"'byteLength':24,'extensions':{'EXT_meshopt_compression':{'buffer':0,'count':3,"
         "'byteStride':8,'mode':'ATTRIBUTES'",
         "buffer view 0: the data of EXT_meshopt_compression is damaged"},
        {"'byteLength':16,'extensions':{'EXT_meshopt_compression':{'buffer':0,'count':3,"
         "'byteStride':8,'mode':'ATTRIBUTES'",
         "of 3 elements of 8 bytes is not valid"},
        {"'byteLength':21,'extensions':{'EXT_meshopt_compression':{'buffer':0,'count':3,"
         "'byteStride':7,'mode':'ATTRIBUTES'",
         "of 3 elements of 7 bytes is not valid"},
        {"'byteLength':12,'extensions':{'EXT_meshopt_compression':{'buffer':0,'count':3,"
         "'byteStride':4,'mode':'ATTRIBUTES','filter':'QUATERNION'",
         "of 3 elements of 4 bytes is not valid"},
        {"'byteLength':511999999744,'extensions':{'EXT_meshopt_compression':{'buffer':0,"
         "'count':1999999999,'byteStride':256,'mode':'ATTRIBUTES'",
         "more than 536870912 bytes decompressed"},
        {"'byteLength':24,'extensions':{'EXT_meshopt_compression':{'buffer':0,'byteOffset':90,"
         "'count':3,'byteStride':8,'mode':'ATTRIBUTES'",
         "buffer view 0 ends at byte 106 of buffer 0, which has 16"},
    };
    uint8_t packed[16] = {0xff, 1, 2, 3};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Reading reading = reading_open();
        Status status =
            read_packed(&reading, cases[i].rest, "'count':3,'type':'VEC3','componentType':5121",
                        packed, sizeof packed);
        CHECK_INT(status, ==, i == 4 ? STATUS_LIMIT : STATUS_INVALID);
        CHECK_TEXT(reading.err.message, cases[i].message);
        reading_close(&reading);
    }
}
