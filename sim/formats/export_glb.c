#include "formats/buffer.h"
#include "formats/bundle.h"
#include "formats/export_formats.h"
#include "formats/export_json.h"
#include "formats/export_tracks.h"
#include "formats/glb.h"
#include "formats/gltf.h"

#include <string.h>

enum { MAX_JSON = 1 << 30, MAX_BINARY = 0x7fffffff, MAX_IMAGES = 65536 };

/* A file while it is being extended. */
typedef struct Extension {
    const ExportSource *source;
    Gltf *gltf;
    Bytes json; /* the file's */
    JsonEdits edits;
    ByteWriter binary; /* the new binary chunk, or what an added buffer will hold */
    Text views;        /* items added to "bufferViews" */
    int view_count;    /* with those added */
    int home;          /* buffer that `binary` becomes */
    Arena *scratch;
    Error *err;
} Extension;

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char *base64(Bytes bytes, const char *prefix, const char *suffix, Arena *scratch)
{
    size_t size = strlen(prefix) + (bytes.size + 2) / 3 * 4 + strlen(suffix);
    char *text = arena_scratch(scratch, char, size + 1);
    char *out = text;

    if (!text)
        return NULL;
    out = stpcpy(out, prefix);
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t have = bytes.size - i;
        uint32_t bits = (uint32_t)bytes.data[i] << 16;
        bits |= have > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        bits |= have > 2 ? (uint32_t)bytes.data[i + 2] : 0;
        *out++ = base64_digits[bits >> 18];
        *out++ = base64_digits[bits >> 12 & 63];
        *out++ = (char)(have > 1 ? base64_digits[bits >> 6 & 63] : '=');
        *out++ = (char)(have > 2 ? base64_digits[bits & 63] : '=');
    }
    (void)stpcpy(out, suffix);
    return text;
}

/* A view of everything from `offset` to the end of `binary`. Returns its index. */
static int add_view(Extension *ext, size_t offset)
{
    text_format(&ext->views, "%s{\"buffer\":%d,\"byteOffset\":%zu,\"byteLength\":%zu}",
                text_length(&ext->views) ? "," : "", ext->home, offset, ext->binary.size - offset);
    return ext->view_count++;
}

/* Side files that other buffers than the home are in become data URIs: their views stay as they
 * are. */
static void embed_buffers(Extension *ext, JsonSpan list)
{
    JsonSpan item = {0};
    JsonMember uri;

    for (int i = 0; json_span_next(ext->json, list, &item); i++) {
        const char *text = (const char *)ext->json.data;
        if (i == ext->home || ext->gltf->buffer[i].is_missing ||
            !json_span_member(ext->json, item, "uri", &uri) ||
            strncmp(text + uri.value.begin, "\"data:", 6) == 0)
            continue;
        json_edit_replace(&ext->edits, uri.value,
                          base64(ext->gltf->buffer[i].bytes,
                                 "\"data:application/octet-stream;base64,", "\"", ext->scratch));
    }
}

/* The home buffer is the binary chunk: it has no URI, and its length is what is written now. */
static void claim_home(Extension *ext, JsonSpan list)
{
    JsonSpan item = {0};
    JsonMember member;

    while (ext->home >= 0 && json_span_next(ext->json, list, &item)) {
        if (json_span_member(ext->json, item, "uri", &member))
            json_edit_remove(&ext->edits, &member);
        if (json_span_member(ext->json, item, "byteLength", &member))
            json_edit_replace(&ext->edits, member.value,
                              arena_format(ext->scratch, "%zu", ext->binary.size));
        return;
    }
}

static const char *image_type(Bytes image)
{
    static const struct {
        const char *type, *start;
        size_t size;
    } types[] = {{"image/png", "\x89PNG", 4},
                 {"image/jpeg", "\xFF\xD8\xFF", 3},
                 {"image/webp", "RIFF", 4},
                 {"image/ktx2", "\xABKTX 20", 7}};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (image.size > types[i].size && memcmp(image.data, types[i].start, types[i].size) == 0)
            return types[i].type;
    return NULL;
}

static bool find_side_file(Extension *ext, const char *uri, Bytes *out)
{
    const AssetOptions *options = ext->source->options;
    const char *path = strncmp(uri, "data:", 5) ? gltf_uri_path(ext->scratch, uri) : NULL;
    Error ignored = {0};

    for (int i = 0; path && i < options->side_file_count; i++)
        if (strcmp(options->side_file[i].name, path) == 0) {
            *out = options->side_file[i].bytes;
            return true;
        }
    return path && ext->gltf->bundle &&
           bundle_find(ext->gltf->bundle, path, ext->scratch, out, &ignored);
}

/* An image in a side file becomes a view of the binary chunk. */
static void embed_image(Extension *ext, JsonSpan item, const char *uri)
{
    JsonMember member, mime;
    Bytes image;

    if (!json_span_member(ext->json, item, "uri", &member) || !find_side_file(ext, uri, &image))
        return;
    const char *type = image_type(image);
    if (!type)
        return;
    write_padding(&ext->binary, 4, 0);
    size_t offset = ext->binary.size;
    write_bytes(&ext->binary, image.data, image.size);
    int view = add_view(ext, offset);
    bool has_type = json_span_member(ext->json, item, "mimeType", &mime);
    json_edit_replace(
        &ext->edits, (JsonSpan){member.key.begin, member.value.end},
        has_type ? arena_format(ext->scratch, "\"bufferView\":%d", view)
                 : arena_format(ext->scratch, "\"bufferView\":%d,\"mimeType\":\"%s\"", view, type));
}

static void embed_images(Extension *ext)
{
    JsonReader images = json_member(&ext->gltf->root, "images");
    JsonSpan span = {0};
    JsonReader item;
    JsonMember list;

    if (!json_is_array(&images) ||
        !json_span_member(ext->json, json_span_root(ext->json), "images", &list))
        return;
    bool more = json_first(&images, &item);
    for (int i = 0; more && i < MAX_IMAGES && json_span_next(ext->json, list.value, &span); i++) {
        JsonReader uri = json_member(&item, "uri");
        if (json_is_text(&uri))
            embed_image(ext, span, json_as_text(&uri, 1 << 30));
        more = json_next(&item);
    }
}

static void add_animation(Extension *ext, Bytes frames, const ExportOptions *options)
{
    ByteWriter data = byte_writer(MAX_BINARY, ext->err);
    Text accessors = text_open(MAX_JSON, ext->err);
    Text animation = text_open(MAX_JSON, ext->err);
    TrackTarget target = {.rig = ext->source->rig,
                          .unit = ext->source->rig->unit,
                          .is_z_up = ext->source->options->is_z_up,
                          .view = ext->view_count,
                          .first_accessor = ext->gltf->accessor_count,
                          .reduce = options->reduce,
                          .data = &data,
                          .accessors = &accessors,
                          .animation = &animation};

    if (!tracks_write(frames, options->name, ext->scratch, &target, ext->err)) {
        write_padding(&ext->binary, 4, 0);
        size_t offset = ext->binary.size;
        write_bytes(&ext->binary, data.data, data.size);
        (void)add_view(ext, offset);
        // the texts must outlive their writers
        char *items =
            arena_text(ext->scratch, text_string(&accessors) + 1, text_length(&accessors) - 1);
        char *added = arena_text(ext->scratch, text_string(&animation), text_length(&animation));
        if (items && added) {
            json_edit_add_items(&ext->edits, "accessors", JSON_LAST, items, ext->scratch);
            json_edit_add_items(&ext->edits, "animations", JSON_FIRST, added, ext->scratch);
        }
    }
    byte_writer_close(&data);
    text_close(&accessors);
    text_close(&animation);
}

/* Buffers last: now the length of the home is known. */
static void finish_buffers(Extension *ext)
{
    JsonMember list = {0};
    bool has_list = json_span_member(ext->json, json_span_root(ext->json), "buffers", &list);

    write_padding(&ext->binary, 4, 0);
    json_edit_add_items(&ext->edits, "bufferViews", JSON_LAST, text_string(&ext->views),
                        ext->scratch);
    if (has_list)
        embed_buffers(ext, list.value);
    if (has_list && ext->home == 0) {
        claim_home(ext, list.value);
        return;
    }
    // a buffer of its own: the binary chunk where there is no other, else a data URI
    char *text = NULL;
    if (ext->home == 0)
        text = arena_format(ext->scratch, "{\"byteLength\":%zu}", ext->binary.size);
    else
        text = base64(byte_writer_bytes(&ext->binary),
                      arena_format(ext->scratch,
                                   "{\"byteLength\":%zu,"
                                   "\"uri\":\"data:application/octet-stream;base64,",
                                   ext->binary.size),
                      "\"}", ext->scratch);
    if (text)
        json_edit_add_items(&ext->edits, "buffers", JSON_LAST, text, ext->scratch);
}

static void write_chunk(ByteWriter *out, uint32_t type, Bytes chunk, uint8_t fill)
{
    size_t padding = (4 - chunk.size % 4) % 4;

    write_u32(out, (uint32_t)(chunk.size + padding));
    write_u32(out, type);
    write_bytes(out, chunk.data, chunk.size);
    for (size_t i = 0; i < padding; i++)
        write_u8(out, fill);
}

static void write_glb(Extension *ext, ByteWriter *out)
{
    Text text = text_open(MAX_JSON, ext->err);
    Bytes binary = ext->home == 0 ? byte_writer_bytes(&ext->binary) : ext->gltf->binary;

    json_edits_apply(&ext->edits, &text);
    Bytes json = {(const uint8_t *)text_string(&text), text_length(&text)};
    size_t size = 12 + 8 + (json.size + 3) / 4 * 4;
    size += binary.size ? 8 + (binary.size + 3) / 4 * 4 : 0;
    if (size > UINT32_MAX)
        error_set(ext->err, STATUS_LIMIT, "the GLB would have %zu bytes, more than 4 GiB", size);
    if (!ext->err->status) {
        write_u32(out, GLB_MAGIC);
        write_u32(out, 2);
        write_u32(out, (uint32_t)size);
        write_chunk(out, GLB_CHUNK_JSON, json, ' ');
        if (binary.size)
            write_chunk(out, GLB_CHUNK_BIN, binary, 0);
    }
    text_close(&text);
}

static Status extend(Gltf *gltf, const ExportSource *source, Bytes json, Bytes frames,
                     const ExportOptions *options, ByteWriter *out)
{
    Error *err = gltf->err;
    bool has_home = gltf->buffer_count == 0 || !gltf->buffer[0].is_missing;
    Extension ext = {.source = source,
                     .gltf = gltf,
                     .json = json,
                     .edits =
                         json_edits(json, gltf->scratch, 2 * gltf->buffer_count + MAX_IMAGES + 16),
                     .binary = byte_writer(MAX_BINARY, err),
                     .views = text_open(MAX_JSON, err),
                     .view_count = gltf->view_count,
                     .home = has_home ? 0 : gltf->buffer_count,
                     .scratch = gltf->scratch,
                     .err = err};

    if (gltf->buffer_count > 0 && has_home)
        write_bytes(&ext.binary, gltf->buffer[0].bytes.data, gltf->buffer[0].bytes.size);
    embed_images(&ext);
    if (!err->status)
        add_animation(&ext, frames, options);
    if (!err->status)
        finish_buffers(&ext);
    if (!err->status && (ext.edits.overflowed || gltf->scratch->overflowed))
        error_set(err, STATUS_NO_MEMORY, "no room for the edited document");
    if (!err->status)
        write_glb(&ext, out);
    byte_writer_close(&ext.binary);
    text_close(&ext.views);
    return err->status;
}

static Status export_document(Gltf *gltf, const ExportSource *source, Bytes file, Bytes frames,
                              const ExportOptions *options, ByteWriter *out)
{
    GltfSource document = {.json = file};

    if (glb_matches(file)) {
        Glb glb;
        if (glb_parse(file, &glb, gltf->err))
            return gltf->err->status;
        document = (GltfSource){glb.json, glb.binary, true};
    }
    if (document.json.size >= 3 && memcmp(document.json.data, "\xEF\xBB\xBF", 3) == 0)
        document.json = (Bytes){document.json.data + 3, document.json.size - 3};
    if (gltf_open(gltf, &document))
        return gltf->err->status;
    return extend(gltf, source, document.json, frames, options, out);
}

Status export_glb(const ExportSource *source, Bytes frames, const ExportOptions *options,
                  Arena *scratch, ByteWriter *out, Error *err)
{
    enum { TEMP_SIZE = 64 << 20 };
    Warnings warnings = warnings_open(scratch, 16);
    Bytes file = source->file;
    Arena temp;

    if (arena_create(&temp, TEMP_SIZE, err))
        return err->status;
    Gltf gltf = {.options = source->options,
                 .arena = scratch,
                 .scratch = scratch,
                 .temp = &temp,
                 .err = err,
                 .warnings = &warnings,
                 .unit = (float)source->rig->unit};
    if (!bundle_matches(file) ||
        !bundle_open(file, &source->options->limits, scratch, &gltf.bundle, &file, err))
        (void)export_document(&gltf, source, file, frames, options, out);
    gltf_close(&gltf);
    bundle_close(gltf.bundle);
    arena_destroy(&temp);
    return err->status;
}

Status export_vrm(const ExportSource *source, Bytes frames, const ExportOptions *options,
                  Arena *scratch, ByteWriter *out, Error *err)
{
    if (export_want_vrm(source->rig, err))
        return err->status;
    return export_glb(source, frames, options, scratch, out, err);
}
