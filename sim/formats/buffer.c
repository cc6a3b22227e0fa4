#include "formats/buffer.h"

#include "formats/bundle.h"
#include "formats/meshopt.h"

#include <string.h>

/* --- URIs --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Is this a path below the folder it starts from, without tricks? */
static bool is_inside(const char *path)
{
    if (!*path || *path == '/' || strchr(path, '\\') || strchr(path, ':'))
        return false;
    for (const char *part = path; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || !part[2]))
            return false;
    }
    return true;
}

const char *gltf_uri_path(Arena *arena, const char *uri)
{
    size_t size = strlen(uri);
    char *path = size < 1024 ? arena_text(arena, uri, size) : NULL;
    uint8_t *out = (uint8_t *)path;

    if (!path)
        return NULL;
    for (const char *in = uri; *in; out++) {
        int high = *in == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;
        *out = low >= 0 ? (uint8_t)(high * 16 + low) : (uint8_t)*in;
        in += low >= 0 ? 3 : 1;
    }
    *out = '\0';
    // a code for zero would end the path early
    if (strlen(path) != (size_t)(out - (uint8_t *)path))
        return NULL;
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    return is_inside(path) ? path : NULL;
}

/* --- base64 (RFC 4648), padding optional --- */

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

static Bytes decode_base64(Gltf *gltf, const char *text, int buffer)
{
    size_t length = strlen(text);
    int digit_of[256];

    for (int c = 0; c < 256; c++)
        digit_of[c] = base64_digit((char)(unsigned char)c);
    while (length && text[length - 1] == '=')
        length--;
    uint8_t *out = gltf_scratch(gltf, uint8_t, length / 4 * 3 + 3);
    if (!out)
        return (Bytes){0};
    uint32_t bits = 0;
    size_t size = 0;
    for (size_t i = 0; i < length; i++) {
        int digit = digit_of[(uint8_t)text[i]];
        if (digit < 0) {
            gltf_fail(gltf, STATUS_INVALID, "buffer %d: character %zu of its data is no base64",
                      buffer, i);
            return (Bytes){0};
        }
        bits = bits << 6 | (uint32_t)digit;
        if (i % 4 != 0)
            out[size++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
    }
    return (Bytes){out, size};
}

/* --- buffers --- */

static bool find_side_file(Gltf *gltf, const char *path, Bytes *out)
{
    for (int i = 0; i < gltf->options->side_file_count; i++) {
        const SideFile *file = &gltf->options->side_file[i];
        if (strcmp(file->name, path) == 0) {
            *out = file->bytes;
            return true;
        }
    }
    return gltf->bundle && bundle_find(gltf->bundle, path, gltf->scratch, out, gltf->err);
}

static void read_uri_buffer(Gltf *gltf, const char *uri, int index, GltfBuffer *buffer)
{
    if (strncmp(uri, "data:", 5) == 0) {
        const char *comma = strchr(uri, ',');
        if (!comma || comma - uri < 7 || strncmp(comma - 7, ";base64", 7) != 0) {
            gltf_fail(gltf, STATUS_INVALID, "buffer %d: its data URI is not base64", index);
            return;
        }
        buffer->bytes = decode_base64(gltf, comma + 1, index);
        return;
    }
    const char *path = gltf_uri_path(gltf->scratch, uri);
    if (path && find_side_file(gltf, path, &buffer->bytes))
        return;
    buffer->is_missing = true;
    warnings_add(gltf->warnings, "buffer_missing",
                 "the file \"%.200s\" was not sent along: what needs it is left out; send a .zip "
                 "with both files",
                 path ? path : uri);
}

static void read_buffer(Gltf *gltf, const JsonReader *object, int index)
{
    GltfBuffer *buffer = &gltf->buffer[index];
    double size = json_number(object, "byteLength", 0, 1e15);
    JsonReader uri = json_member(object, "uri");
    GltfExtension fallback;

    gltf_extension(object, "EXT_meshopt_compression", &fallback);
    if (json_is_text(&uri)) {
        read_uri_buffer(gltf, json_as_text(&uri, 1 << 30), index, buffer);
    } else if (json_bool_or(&fallback.value, "fallback", false)) {
        buffer->is_missing = true;
        return;
    } else if (index == 0 && gltf->has_binary) {
        buffer->bytes = gltf->binary;
    } else {
        buffer->is_missing = true;
        warnings_add(gltf->warnings, "buffer_missing",
                     "buffer %d has no data: what needs it is left out", index);
    }
    if (!gltf_failed(gltf) && !buffer->is_missing && size > (double)buffer->bytes.size)
        gltf_fail(gltf, STATUS_INVALID, "buffer %d: it says %.0f bytes and has %zu", index, size,
                  buffer->bytes.size);
}

void gltf_read_buffers(Gltf *gltf)
{
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, &gltf->root, "buffers", GLTF_MAX_BUFFERS, "buffers", &gltf->buffer_count);

    gltf->buffer = gltf_scratch(gltf, GltfBuffer, gltf->buffer_count);
    if (gltf_failed(gltf) || !gltf->buffer_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_buffer(gltf, &item, i);
}

/* --- views --- */

/* Does [offset, offset + size) lie in the buffer? A missing one has no end. */
static void check_range(Gltf *gltf, int index, int buffer, double offset, double size)
{
    const GltfBuffer *in = &gltf->buffer[buffer];

    if (!in->is_missing && offset + size > (double)in->bytes.size)
        gltf_fail(gltf, STATUS_INVALID,
                  "buffer view %d ends at byte %.0f of buffer %d, which has %zu", index,
                  offset + size, buffer, in->bytes.size);
}

static void read_packed_view(Gltf *gltf, const JsonReader *object, int index)
{
    static const char *const modes[] = {"", "ATTRIBUTES", "TRIANGLES", "INDICES"};
    static const char *const filters[] = {"NONE", "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"};
    GltfView *view = &gltf->view[index];
    int buffer = gltf_index(object, "buffer", gltf->buffer_count, "buffers");
    double offset = json_number_or(object, "byteOffset", 0, 0, 1e15);
    double size = json_number(object, "byteLength", 0, 1e15);

    view->mode = (MeshoptMode)json_choice_or(object, "mode", modes, 4, 0);
    view->filter = (MeshoptFilter)json_choice_or(object, "filter", filters, 4, 0);
    view->packed_count = json_int(object, "count", 0, INT32_MAX);
    view->packed_stride = json_int(object, "byteStride", 1, 256);
    if (buffer < 0 || view->mode == MESHOPT_NONE) {
        json_fault(object, "must have \"buffer\" and a \"mode\"");
        return;
    }
    if (!gltf_failed(gltf))
        check_range(gltf, index, buffer, offset, size);
    view->packed_buffer = buffer;
    view->packed_offset = (size_t)offset;
    view->packed_size = (size_t)size;
}

static void read_view(Gltf *gltf, const JsonReader *object, int index)
{
    GltfView *view = &gltf->view[index];
    double offset = json_number_or(object, "byteOffset", 0, 0, 1e15);
    double size = json_number(object, "byteLength", 0, 1e15);
    GltfExtension packed;

    view->buffer = gltf_index(object, "buffer", gltf->buffer_count, "buffers");
    view->offset = (size_t)offset;
    view->size = (size_t)size;
    view->stride = json_int_or(object, "byteStride", 0, 1, 256);
    if (view->buffer < 0)
        json_fault(object, "must have a \"buffer\"");
    gltf_extension(object, "EXT_meshopt_compression", &packed);
    if (gltf_failed(gltf))
        return;
    if (json_is_absent(&packed.value))
        check_range(gltf, index, view->buffer, offset, size);
    else
        read_packed_view(gltf, &packed.value, index);
}

void gltf_read_views(Gltf *gltf)
{
    JsonReader item;
    JsonReader list = gltf_list(gltf, &gltf->root, "bufferViews", GLTF_MAX_VIEWS, "buffer views",
                                &gltf->view_count);

    gltf->view = gltf_scratch(gltf, GltfView, gltf->view_count);
    if (gltf_failed(gltf) || !gltf->view_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_view(gltf, &item, i);
}

bool gltf_view_is_missing(const Gltf *gltf, int index)
{
    const GltfView *view = &gltf->view[index];
    int buffer = view->mode == MESHOPT_NONE ? view->buffer : view->packed_buffer;

    return gltf->buffer[buffer].is_missing;
}

Bytes gltf_view_bytes(Gltf *gltf, int index)
{
    GltfView *view = &gltf->view[index];

    if (gltf_view_is_missing(gltf, index))
        return (Bytes){0};
    if (view->mode == MESHOPT_NONE)
        return (Bytes){gltf->buffer[view->buffer].bytes.data + view->offset, view->size};
    if (!view->decoded.data) {
        Bytes packed = {gltf->buffer[view->packed_buffer].bytes.data + view->packed_offset,
                        view->packed_size};
        view->decoded = meshopt_decode(gltf, view, packed);
        if (gltf->err->status)
            error_context(gltf->err, "buffer view %d", index);
    }
    return view->decoded;
}
