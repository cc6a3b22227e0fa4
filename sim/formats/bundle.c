#include "formats/bundle.h"

#include "formats/glb.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

struct Bundle {
    zip_t *zip;
    zip_int64_t entry_count;
    zip_int64_t model;  /* entry */
    size_t folder_size; /* of the model's path up to its last '/', that included */
    Bytes *unpacked;    /* what was asked for already (entry_count) */
};

bool bundle_matches(Bytes file)
{
    return file.size >= 4 && memcmp(file.data, "PK", 2) == 0 &&
           (memcmp(file.data + 2, "\3\4", 2) == 0 || memcmp(file.data + 2, "\5\6", 2) == 0);
}

/* The directory says how many entries it has; ask before the library makes room for them. */
static Status check_entry_count(Bytes file, int max, Error *err)
{
    enum { END_SIZE = 22, COMMENT_SIZE = 65535 };
    size_t first = file.size > END_SIZE + COMMENT_SIZE ? file.size - END_SIZE - COMMENT_SIZE : 0;

    for (size_t i = first; i + END_SIZE <= file.size; i++) {
        if (memcmp(file.data + i, "PK\5\6", 4) != 0)
            continue;
        int count = file.data[i + 10] | file.data[i + 11] << 8;
        if (count > max)
            return error_set(err, STATUS_LIMIT, "it has %d entries, the limit is %d", count, max);
    }
    return STATUS_OK;
}

static bool is_outside(const char *name)
{
    if (*name == '/' || strchr(name, '\\') || (name[0] && name[1] == ':'))
        return true;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (part[0] == '.' && part[1] == '.' && (part[2] == '/' || !part[2]))
            return true;
    }
    return false;
}

/* Folders, and what archivers of one system add. */
static bool is_ignored(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;

    return !*base || strncmp(name, "__MACOSX/", 9) == 0 || strncmp(base, "._", 2) == 0 ||
           strcmp(base, ".DS_Store") == 0;
}

static Status check_entry(Bundle *bundle, zip_int64_t index, zip_stat_t *stat, Error *err)
{
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;

    if (zip_stat_index(bundle->zip, (zip_uint64_t)index, ZIP_FL_ENC_GUESS, stat) ||
        (stat->valid & needed) != needed)
        return error_set(err, STATUS_INVALID, "entry %d cannot be read", (int)index);
    if (is_outside(stat->name))
        return error_set(err, STATUS_INVALID, "the entry \"%.200s\" leads outside", stat->name);
    if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
        return error_set(err, STATUS_INVALID,
                         "the entry \"%.200s\" is packed by method %d: only stored and deflated "
                         "entries are read",
                         stat->name, stat->comp_method);
    if ((stat->valid & ZIP_STAT_ENCRYPTION_METHOD) && stat->encryption_method != ZIP_EM_NONE)
        return error_set(err, STATUS_INVALID, "the entry \"%.200s\" is encrypted", stat->name);
    return STATUS_OK;
}

/* Number, size and ratio of all entries, before anything is unpacked. */
static Status check_entries(Bundle *bundle, const AssetLimits *limits, Error *err)
{
    uint64_t packed = 0, unpacked = 0;

    if (bundle->entry_count > limits->bundle_entries)
        return error_set(err, STATUS_LIMIT, "it has %d entries, the limit is %d",
                         (int)bundle->entry_count, limits->bundle_entries);
    for (zip_int64_t i = 0; i < bundle->entry_count; i++) {
        zip_stat_t stat;
        if (check_entry(bundle, i, &stat, err))
            return err->status;
        if (stat.size > (uint64_t)limits->file_size - unpacked)
            return error_set(err, STATUS_LIMIT, "it has more than %lld bytes unpacked",
                             (long long)limits->file_size);
        unpacked += stat.size;
        packed += stat.comp_size;
        // a few kilobytes may well be all zeroes
        if (unpacked > 1 << 20 && unpacked / (uint64_t)limits->bundle_ratio > packed)
            return error_set(
                err, STATUS_LIMIT, "it unpacks to more than %d times its size (%llu bytes of %llu)",
                limits->bundle_ratio, (unsigned long long)unpacked, (unsigned long long)packed);
    }
    return STATUS_OK;
}

/* The first `size` bytes of an entry at most; returns how many, -1 where it cannot be unpacked. The
 * checksum is compared only when the end is read, so ask for more than there is. */
static zip_int64_t read_entry(Bundle *bundle, zip_int64_t index, uint8_t *out, size_t size)
{
    zip_file_t *file = zip_fopen_index(bundle->zip, (zip_uint64_t)index, 0);
    zip_int64_t sum = 0;

    if (!file)
        return -1;
    while ((size_t)sum < size) {
        zip_int64_t got = zip_fread(file, out + sum, size - (size_t)sum);
        if (got < 0)
            sum = -1;
        if (got <= 0)
            break;
        sum += got;
    }
    (void)zip_fclose(file);
    return sum;
}

/* Is the entry a GLB, or a glTF by name and first character? */
static bool is_model(Bundle *bundle, zip_int64_t index, const char *name)
{
    uint8_t head[64];
    zip_int64_t got = read_entry(bundle, index, head, sizeof head);
    size_t length = strlen(name), i = 0;

    if (got <= 0)
        return false;
    if (glb_matches((Bytes){head, (size_t)got}))
        return true;
    if (length < 5 || strcmp(name + length - 5, ".gltf") != 0)
        return false;
    if (got >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0)
        i = 3;
    while (i < (size_t)got && strchr(" \t\r\n", head[i]) && head[i])
        i++;
    return i < (size_t)got && head[i] == '{';
}

static Status find_model(Bundle *bundle, Error *err)
{
    const char *model = NULL;

    for (zip_int64_t i = 0; i < bundle->entry_count; i++) {
        const char *name = zip_get_name(bundle->zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
        if (!name || is_ignored(name) || !is_model(bundle, i, name))
            continue;
        if (model)
            return error_set(err, STATUS_INVALID,
                             "it holds more than one model: \"%.100s\" and \"%.100s\"", model,
                             name);
        model = name;
        bundle->model = i;
    }
    if (!model)
        return error_set(err, STATUS_INVALID, "it holds no model (.glb, .vrm, .gltf)");
    const char *slash = strrchr(model, '/');
    bundle->folder_size = slash ? (size_t)(slash + 1 - model) : 0;
    bundle->unpacked = calloc((size_t)bundle->entry_count, sizeof *bundle->unpacked);
    if (!bundle->unpacked)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a zip");
    return STATUS_OK;
}

static Status unpack(Bundle *bundle, zip_int64_t index, Arena *arena, Bytes *out, Error *err)
{
    zip_stat_t stat;

    assert(bundle->unpacked);
    // many buffers may name one file
    if (bundle->unpacked[index].data) {
        *out = bundle->unpacked[index];
        return STATUS_OK;
    }
    if (check_entry(bundle, index, &stat, err))
        return err->status;
    uint8_t *data = arena_scratch(arena, uint8_t, stat.size + 1);
    if (!data)
        return error_set(err, STATUS_NO_MEMORY, "no room for the entry \"%.200s\"", stat.name);
    // one byte more than it says, so that the checksum at its end is read and a longer one is seen
    zip_int64_t got = read_entry(bundle, index, data, stat.size + 1);
    if (got < 0 || (zip_uint64_t)got != stat.size)
        return error_set(err, STATUS_INVALID, "the entry \"%.200s\" is damaged", stat.name);
    bundle->unpacked[index] = *out = (Bytes){data, stat.size};
    return STATUS_OK;
}

static Status open_zip(Bytes file, Bundle *bundle, Error *err)
{
    zip_error_t error;

    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(file.data, file.size, 0, &error);
    bundle->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!bundle->zip) {
        error_set(err, STATUS_INVALID, "it cannot be opened: %s", zip_error_strerror(&error));
        zip_source_free(source);
    }
    zip_error_fini(&error);
    return err->status;
}

Status bundle_open(Bytes file, const AssetLimits *limits, Arena *arena, Bundle **out,
                   Bytes *out_model, Error *err)
{
    Bundle *bundle = NULL;

    if (check_entry_count(file, limits->bundle_entries, err))
        return error_context(err, "zip");
    bundle = calloc(1, sizeof *bundle);
    if (!bundle)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a zip");
    if (!open_zip(file, bundle, err)) {
        bundle->entry_count = zip_get_num_entries(bundle->zip, 0);
        if (!check_entries(bundle, limits, err) && !find_model(bundle, err))
            (void)unpack(bundle, bundle->model, arena, out_model, err);
    }
    if (err->status) {
        bundle_close(bundle);
        return error_context(err, "zip");
    }
    *out = bundle;
    return STATUS_OK;
}

void bundle_close(Bundle *bundle)
{
    if (!bundle)
        return;
    if (bundle->zip)
        zip_discard(bundle->zip);
    free(bundle->unpacked);
    free(bundle);
}

bool bundle_find(Bundle *bundle, const char *path, Arena *arena, Bytes *out, Error *err)
{
    const char *model = zip_get_name(bundle->zip, (zip_uint64_t)bundle->model, ZIP_FL_ENC_GUESS);
    const char *full = arena_format(arena, "%.*s%s", (int)bundle->folder_size, model, path);

    if (!full) {
        error_set(err, STATUS_NO_MEMORY, "no room for the path \"%.200s\"", path);
        return false;
    }
    zip_int64_t index = zip_name_locate(bundle->zip, full, ZIP_FL_ENC_GUESS);
    return index >= 0 && !unpack(bundle, index, arena, out, err);
}
