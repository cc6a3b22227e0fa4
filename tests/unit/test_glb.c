#include "formats/glb.h"
#include "support/check.h"
#include "support/reading.h"

#include <string.h>

/* A container of these chunks; `version` 2 is the good one. */
static void write_head(ByteWriter *out, uint32_t version, uint32_t length)
{
    write_u32(out, GLB_MAGIC);
    write_u32(out, version);
    write_u32(out, length);
}

static void write_chunk(ByteWriter *out, uint32_t type, const char *content)
{
    write_u32(out, (uint32_t)strlen(content));
    write_u32(out, type);
    write_bytes(out, content, strlen(content));
}

TEST(glb, finds_the_json_and_the_binary_chunk_and_skips_others)
{
    Error err = {0};
    ByteWriter file = byte_writer(1024, &err);
    Glb glb;

    write_head(&file, 2, 12 + 12 + 12 + 16 + 12);
    write_chunk(&file, GLB_CHUNK_JSON, "{ } ");
    write_chunk(&file, 0x12345678, "skip");
    write_chunk(&file, GLB_CHUNK_BIN, "\1\2\3\4\5\6\7\7");
    write_chunk(&file, GLB_CHUNK_BIN, "late");
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &glb, &err), ==, STATUS_OK);
    CHECK_INT(glb.json.size, ==, 4);
    CHECK(memcmp(glb.json.data, "{ } ", 4) == 0);
    CHECK_INT(glb.binary.size, ==, 8);
    CHECK_INT(glb.binary.data[4], ==, 5);
    byte_writer_close(&file);
}

TEST(glb, refuses_every_prefix_of_a_good_file)
{
    Error err = {0};
    ByteWriter file = byte_writer(1024, &err);

    write_head(&file, 2, 12 + 12 + 12);
    write_chunk(&file, GLB_CHUNK_JSON, "{ } ");
    write_chunk(&file, GLB_CHUNK_BIN, "data");
    for (size_t size = 0; size < file.size; size++) {
        Error fault = {0};
        Glb glb = {0};
        CHECK_INT(glb_parse((Bytes){file.data, size}, &glb, &fault), ==, STATUS_INVALID);
        CHECK_TEXT(fault.message, "cut off");
        CHECK(glb.json.data == NULL);
    }
    byte_writer_close(&file);
}

TEST(glb, reads_a_file_with_bytes_behind_its_end)
{
    Error err = {0};
    ByteWriter file = byte_writer(1024, &err);
    Glb glb;

    write_head(&file, 2, 12 + 12);
    write_chunk(&file, GLB_CHUNK_JSON, "{ } ");
    write_bytes(&file, "\n", 1);
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &glb, &err), ==, STATUS_OK);
    CHECK_INT(glb.json.size, ==, 4);
    byte_writer_close(&file);
}

TEST(glb, refuses_the_first_version_with_advice)
{
    Error err = {0};
    ByteWriter file = byte_writer(1024, &err);
    Glb glb;

    write_head(&file, 1, 12 + 12);
    write_chunk(&file, GLB_CHUNK_JSON, "{ } ");
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &glb, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "glb: the container has version 1, only 2 is read");
    byte_writer_close(&file);
}

TEST(glb, refuses_a_file_without_json_and_a_length_below_the_header)
{
    Error err = {0};
    ByteWriter file = byte_writer(1024, &err);
    Glb glb;

    write_head(&file, 2, 12 + 12);
    write_chunk(&file, GLB_CHUNK_BIN, "data");
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &glb, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "no JSON chunk");
    err = (Error){0};
    file.data[8] = 4;
    CHECK_INT(glb_parse(byte_writer_bytes(&file), &glb, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "the length at byte 8 is 4");
    byte_writer_close(&file);
}

/* A buffer without a URI is the binary chunk, and only the first buffer is. */
TEST(glb, binary_chunk_is_the_first_buffer)
{
    const char *json = "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"mesh\":0}],"
                       "\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0}}]}],"
                       "\"buffers\":[{\"byteLength\":9}],\"bufferViews\":[{\"buffer\":0,"
                       "\"byteLength\":9}],\"accessors\":[{\"bufferView\":0,\"count\":3,"
                       "\"type\":\"VEC3\",\"componentType\":5121}]}";
    Error err = {0};
    ByteWriter file = byte_writer(4096, &err);
    Reading reading = reading_open();

    write_head(&file, 2, (uint32_t)(12 + 8 + strlen(json) + 8 + 9));
    write_chunk(&file, GLB_CHUNK_JSON, json);
    write_chunk(&file, GLB_CHUNK_BIN, "\1\2\3\4\5\6\7\7\7");
    CHECK_INT(reading_bytes(&reading, file.data, file.size), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_EQUAL_TEXT(reading.rig->format, "glb");
    CHECK_NEAR(reading.rig->mesh[0].primitive[0].position[1].z, 6.0, 0.0);
    byte_writer_close(&file);
    reading_close(&reading);
}
