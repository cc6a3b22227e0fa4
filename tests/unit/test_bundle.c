#include "formats/bundle.h"
#include "support/check.h"
#include "support/reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum { MAX_ZIP = 1 << 21, MAX_ENTRIES = 400 };

/* A zip that is made in memory. */
typedef struct Archive {
    zip_source_t *source;
    zip_t *zip;
    uint8_t *data; /* once it is closed */
    size_t size;
} Archive;

static Archive archive_begin(void)
{
    zip_error_t error;
    Archive zip = {0};

    zip_error_init(&error);
    zip.source = zip_source_buffer_create(NULL, 0, 0, &error);
    CHECK(zip.source != NULL);
    zip.zip = zip_open_from_source(zip.source, ZIP_TRUNCATE, &error);
    CHECK(zip.zip != NULL);
    zip_source_keep(zip.source);
    zip_error_fini(&error);
    return zip;
}

/* `data` must live until archive_end. */
static void archive_add(Archive *zip, const char *name, const void *data, size_t size, int method)
{
    zip_source_t *source = zip_source_buffer(zip->zip, data, size, 0);
    zip_int64_t index = zip_file_add(zip->zip, name, source, ZIP_FL_ENC_UTF_8);

    CHECK(index >= 0);
    CHECK(zip_set_file_compression(zip->zip, (zip_uint64_t)index, method, 0) == 0);
}

static void archive_text(Archive *zip, const char *name, const char *text)
{
    archive_add(zip, name, text, strlen(text), ZIP_CM_STORE);
}

static void archive_end(Archive *zip)
{
    CHECK(zip_close(zip->zip) == 0);
    zip->data = malloc(MAX_ZIP);
    CHECK(zip->data != NULL);
    CHECK(zip_source_open(zip->source) == 0);
    zip_int64_t size = zip_source_read(zip->source, zip->data, MAX_ZIP);
    CHECK(size > 0);
    zip->size = (size_t)size;
    zip_source_close(zip->source);
    zip_source_free(zip->source);
}

static void archive_drop(Archive *zip)
{
    free(zip->data);
}

static const char model[] =
    "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{\"mesh\":0}],\"meshes\":[{\"primitives\":[{"
    "\"attributes\":{\"POSITION\":0}}]}],\"buffers\":[{\"byteLength\":3,\"uri\":\"data/m.bin\"}],"
    "\"bufferViews\":[{\"buffer\":0,\"byteLength\":3}],\"accessors\":[{\"bufferView\":0,\"count\":"
    "1,\"type\":\"VEC3\",\"componentType\":5121}]}";

static void check_model(const Archive *zip)
{
    Reading reading = reading_open();

    CHECK_INT(reading_bytes(&reading, zip->data, zip->size), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_EQUAL_TEXT(reading.rig->format, "gltf");
    CHECK_INT(reading.rig->mesh[0].primitive_count, ==, 1);
    CHECK_NEAR(reading.rig->mesh[0].primitive[0].position[0].y, 7.0, 0.0);
    CHECK_INT(reading_warnings(&reading, "buffer_missing"), ==, 0);
    reading_close(&reading);
}

TEST(bundle, reads_stored_and_deflated_entries)
{
    static const int methods[] = {ZIP_CM_STORE, ZIP_CM_DEFLATE};

    for (int i = 0; i < 2; i++) {
        Archive zip = archive_begin();
        archive_add(&zip, "model.gltf", model, strlen(model), methods[i]);
        archive_add(&zip, "data/m.bin", "\6\7\10", 3, methods[i]);
        archive_end(&zip);
        check_model(&zip);
        archive_drop(&zip);
    }
}

/* Side files are found beside the model, wherever in the zip it is. */
TEST(bundle, finds_side_files_in_the_models_folder)
{
    Archive zip = archive_begin();

    archive_text(&zip, "__MACOSX/._model.gltf", "{}");
    archive_text(&zip, "readme.txt", "{ not a model }");
    archive_text(&zip, "data/m.bin", "\1\1\1");
    archive_text(&zip, "folder/data/m.bin", "\6\7\10");
    archive_text(&zip, "folder/model.gltf", model);
    archive_end(&zip);
    check_model(&zip);
    archive_drop(&zip);
}

/* A thousand copies of one megabyte are more than reading a file of 4 MiB may use. */
TEST(bundle, unpacks_a_file_once_however_many_buffers_name_it)
{
    Archive zip = archive_begin();
    Reading reading = reading_open();
    Error err = {0};
    Text text = text_open(1 << 20, &err);
    size_t size = (size_t)1 << 20;
    uint8_t *data = malloc(size);

    for (size_t i = 0; data && i < size; i++)
        data[i] = (uint8_t)(i * i >> 7);
    text_add(&text, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}],\"buffers\":[");
    for (int i = 0; i < 1000; i++)
        text_format(&text, "%s{\"byteLength\":%zu,\"uri\":\"m.bin\"}", i ? "," : "", size);
    text_add(&text, "]}");
    archive_text(&zip, "model.gltf", text_string(&text));
    archive_add(&zip, "m.bin", data, size, ZIP_CM_STORE);
    archive_end(&zip);
    reading.options.limits.file_size = (int64_t)4 << 20;
    CHECK_INT(reading_bytes(&reading, zip.data, zip.size), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    free(data);
    text_close(&text);
    reading_close(&reading);
    archive_drop(&zip);
}

TEST(bundle, drops_the_meshes_when_the_binary_is_missing)
{
    Archive zip = archive_begin();
    Reading reading = reading_open();

    archive_text(&zip, "model.gltf", model);
    archive_end(&zip);
    CHECK_INT(reading_bytes(&reading, zip.data, zip.size), ==, STATUS_OK);
    CHECK_INT(reading.rig->node[0].mesh, ==, -1);
    CHECK_TEXT(reading_warning(&reading, "buffer_missing"), "\"data/m.bin\"");
    reading_close(&reading);
    archive_drop(&zip);
}

static void check_refused(Archive *zip, const AssetLimits *limits, Status status,
                          const char *message)
{
    Reading reading = reading_open();

    archive_end(zip);
    if (limits)
        reading.options.limits = *limits;
    CHECK_INT(reading_bytes(&reading, zip->data, zip->size), ==, status);
    CHECK_TEXT(reading.err.message, message);
    reading_close(&reading);
    archive_drop(zip);
}

TEST(bundle, refuses_none_and_two_models)
{
    Archive zip = archive_begin();

    archive_text(&zip, "a.txt", "hello");
    check_refused(&zip, NULL, STATUS_INVALID, "zip: it holds no model (.glb, .vrm, .gltf)");
    zip = archive_begin();
    archive_text(&zip, "a.gltf", model);
    archive_text(&zip, "b.vrm", "glTF\2");
    check_refused(&zip, NULL, STATUS_INVALID,
                  "zip: it holds more than one model: \"a.gltf\" and \"b.vrm\"");
}

TEST(bundle, refuses_paths_that_lead_outside)
{
    static const char *const names[] = {"../m.bin", "a/../../m.bin", "/etc/m.bin",
                                        "..",       "C:m.bin",       "a\\..\\m.bin"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Archive zip = archive_begin();
        char message[256];
        archive_text(&zip, "model.gltf", model);
        archive_text(&zip, names[i], "\6\7\10");
        (void)snprintf(message, sizeof message, "zip: the entry \"%s\" leads outside", names[i]);
        check_refused(&zip, NULL, STATUS_INVALID, message);
    }
}

TEST(bundle, limits_entries_size_and_ratio)
{
    static char name[MAX_ENTRIES][16];
    AssetLimits limits = asset_limits_default();
    Archive zip = archive_begin();
    size_t size = (size_t)8 << 20;
    uint8_t *zeroes = calloc(size, 1);

    archive_text(&zip, "model.gltf", model);
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name[i], sizeof name[i], "%d", i);
        archive_text(&zip, name[i], "x");
    }
    check_refused(&zip, NULL, STATUS_LIMIT, "zip: it has 257 entries, the limit is 256");

    zip = archive_begin();
    archive_text(&zip, "model.gltf", model);
    archive_add(&zip, "zeroes", zeroes, size, ZIP_CM_DEFLATE);
    check_refused(&zip, NULL, STATUS_LIMIT, "zip: it unpacks to more than 200 times its size");

    zip = archive_begin();
    archive_text(&zip, "model.gltf", model);
    archive_add(&zip, "zeroes", zeroes, (size_t)1 << 20, ZIP_CM_DEFLATE);
    limits.file_size = 1 << 20;
    check_refused(&zip, &limits, STATUS_LIMIT, "zip: it has more than 1048576 bytes unpacked");
    free(zeroes);
}

/* The size in the directory is a lie: one byte fewer, one more, or of other content. */
TEST(bundle, refuses_damaged_entries)
{
    Archive zip = archive_begin();
    Reading reading = reading_open();

    archive_text(&zip, "model.gltf", model);
    archive_text(&zip, "data/m.bin", "\6\7\10");
    archive_end(&zip);
    uint8_t *found = memmem(zip.data, zip.size, "\6\7\10", 3);
    CHECK(found != NULL);
    found[1] = 9;
    CHECK_INT(reading_bytes(&reading, zip.data, zip.size), ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "the entry \"data/m.bin\" is damaged");
    reading_close(&reading);
    archive_drop(&zip);
}

TEST(bundle, refuses_every_prefix_of_a_good_zip)
{
    Archive zip = archive_begin();

    archive_text(&zip, "model.gltf", model);
    archive_text(&zip, "data/m.bin", "\6\7\10");
    archive_end(&zip);
    for (size_t size = 4; size < zip.size; size += 7) {
        Reading reading = reading_open();
        CHECK_INT(reading_bytes(&reading, zip.data, size), ==, STATUS_INVALID);
        CHECK_TEXT(reading.err.message, "zip: it cannot be opened");
        reading_close(&reading);
    }
    archive_drop(&zip);
}
