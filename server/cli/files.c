#include "server/cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE_FILES_MAX = 256, PATH_SIZE = 4096 };

static Status map_file(int descriptor, const char *path, int64_t limit, CliFile *out, Error *err)
{
    struct stat status;

    if (fstat(descriptor, &status))
        return error_set(err, STATUS_IO, "could not read \"%s\": %s", path, strerrordesc_np(errno));
    if (!S_ISREG(status.st_mode))
        return error_set(err, STATUS_INVALID, "\"%s\" is not a file", path);
    if (status.st_size > limit)
        return error_set(err, STATUS_LIMIT, "\"%s\" has %lld bytes, more than the limit of %lld",
                         path, (long long)status.st_size, (long long)limit);
    *out = (CliFile){.path = path, .bytes = {(const uint8_t *)"", 0}};
    if (status.st_size == 0)
        return STATUS_OK;
    void *data = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED)
        return error_set(err, STATUS_IO, "could not read \"%s\": %s", path, strerrordesc_np(errno));
    out->bytes = (Bytes){data, (size_t)status.st_size};
    return STATUS_OK;
}

Status cli_open_file(const char *path, int64_t limit, CliFile *out, Error *err)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);

    if (descriptor < 0)
        return error_set(err, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO,
                         "could not open \"%s\": %s", path, strerrordesc_np(errno));
    Status status = map_file(descriptor, path, limit, out, err);
    (void)close(descriptor);
    return status;
}

void cli_close_file(CliFile *file)
{
    union {
        const void *constant;
        void *data;
    } mapped = {.constant = file->bytes.data};

    if (file->bytes.size)
        (void)munmap(mapped.data, file->bytes.size);
    *file = (CliFile){0};
}

static Status write_all(int descriptor, const char *path, Bytes bytes, Error *err)
{
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t written = write(descriptor, bytes.data + done, bytes.size - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set(err, STATUS_IO, "could not write \"%s\": %s", path,
                             strerrordesc_np(errno));
        done += (size_t)written;
    }
    return STATUS_OK;
}

Status cli_write_file(const char *path, Bytes bytes, Error *err)
{
    char part[PATH_SIZE];

    if (strcmp(path, "-") == 0)
        return write_all(STDOUT_FILENO, "standard output", bytes, err);
    int length = snprintf(part, sizeof part, "%s.part", path);
    if (length < 0 || (size_t)length >= sizeof part)
        return error_set(err, STATUS_INVALID, "the path \"%.64s...\" is too long", path);
    int descriptor = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0)
        return error_set(err, STATUS_IO, "could not write \"%s\": %s", path,
                         strerrordesc_np(errno));
    (void)write_all(descriptor, path, bytes, err);
    if (close(descriptor) && !err->status)
        error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerrordesc_np(errno));
    if (!err->status && rename(part, path))
        error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerrordesc_np(errno));
    if (err->status)
        (void)unlink(part);
    return err->status;
}

bool cli_has_extension(const char *path, const char *extension)
{
    const char *dot = strrchr(path, '.');

    return dot && strcasecmp(dot + 1, extension) == 0;
}

/* --- assets --- */

Status cli_import_options(const CliArguments *arguments, char prefix, CliImport *out, Error *err)
{
    const char *unit = cli_value(arguments, "--unit");
    const char *up = cli_value(arguments, "--up");
    CliImport import = {.prefix = prefix};

    if (unit)
        import.unit = asset_unit(unit);
    if (unit && !(import.unit > 0))
        return error_set(err, STATUS_INVALID,
                         "--unit must be m, dm, cm, mm, in, or metres as a number, is \"%s\"",
                         unit);
    if (up && strcmp(up, "y") != 0 && strcmp(up, "z") != 0)
        return error_set(err, STATUS_INVALID, "--up must be y or z, is \"%s\"", up);
    import.is_z_up = up && up[0] == 'z';
    *out = import;
    return STATUS_OK;
}

/* "FOLDER/name" where FOLDER is that of `path`; false for names that lead elsewhere. */
static bool join_beside(const char *path, const char *name, char out[PATH_SIZE])
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;

    if (name[0] == '/' || strstr(name, "..") || strchr(name, '\\'))
        return false;
    int length = snprintf(out, PATH_SIZE, "%.*s%s", folder, path, name);
    return length > 0 && length < PATH_SIZE;
}

/* Maps the side files that exist; the reader says what a missing one means. */
static Status open_side_files(CliAsset *asset, Error *err)
{
    // names are parts of the main file, decoded
    if (arena_create(&asset->beside, 4 * asset->file.bytes.size + ((size_t)1 << 20), err))
        return err->status;
    const char **name = arena_array(&asset->beside, const char *, SIDE_FILES_MAX);
    SideFile *side = arena_array(&asset->beside, SideFile, SIDE_FILES_MAX);
    asset->side_file = arena_array(&asset->beside, CliFile, SIDE_FILES_MAX);
    if (asset->beside.overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of side files");
    int count =
        asset_side_names(asset->file.bytes, &asset->options, &asset->beside, name, SIDE_FILES_MAX);
    int found = 0;
    for (int i = 0; i < count; i++) {
        char path[PATH_SIZE];
        Error missing = {0};

        if (!join_beside(asset->path, name[i], path) ||
            cli_open_file(path, asset->options.limits.file_size, &asset->side_file[found],
                          &missing))
            continue;
        side[found] = (SideFile){name[i], asset->side_file[found].bytes};
        found++;
    }
    asset->options.side_file = side;
    asset->options.side_file_count = found;
    return STATUS_OK;
}

static Status read_asset(CliAsset *asset, Error *err)
{
    size_t size = asset->file.bytes.size;

    if (open_side_files(asset, err))
        return err->status;
    for (int i = 0; i < asset->options.side_file_count; i++)
        size += asset->options.side_file[i].bytes.size;
    if (arena_create(&asset->arena, asset_arena_size(size, &asset->options.limits), err))
        return err->status;
    return asset_read(asset->file.bytes, &asset->options, &asset->arena, &asset->rig, err);
}

Status cli_open_asset(const char *path, const CliImport *import, CliAsset *out, Error *err)
{
    const char *slash = strrchr(path, '/');
    CliAsset asset = {.path = path};

    asset.options = (AssetOptions){
        .limits = asset_limits_default(),
        .unit = import->unit,
        .is_z_up = import->is_z_up,
        .name = slash ? slash + 1 : path,
    };
    if (cli_open_file(path, asset.options.limits.file_size, &asset.file, err))
        return err->status;
    asset_id_of(import->prefix, asset.file.bytes, import->unit, import->is_z_up, asset.id);
    sha256_of(asset.file.bytes, asset.sha256);
    if (read_asset(&asset, err)) {
        error_context(err, "%s", path);
        cli_close_asset(&asset);
        return err->status;
    }
    // the path may be the caller's buffer
    asset.path = arena_text(&asset.beside, path, strlen(path));
    if (!asset.path)
        asset.path = "the model";
    slash = strrchr(asset.path, '/');
    asset.options.name = slash ? slash + 1 : asset.path;
    asset.file.path = asset.path;
    *out = asset;
    return STATUS_OK;
}

void cli_close_asset(CliAsset *asset)
{
    for (int i = 0; i < asset->options.side_file_count; i++)
        cli_close_file(&asset->side_file[i]);
    cli_close_file(&asset->file);
    arena_destroy(&asset->arena);
    arena_destroy(&asset->beside);
    *asset = (CliAsset){0};
}

const char *cli_data_folder(const CliArguments *arguments)
{
    const char *folder = cli_value(arguments, "--data");

    if (!folder)
        folder = getenv("BAKEHOUSE_DATA"); // NOLINT(concurrency-mt-unsafe): one thread
    return folder && folder[0] ? folder : "bakehouse-data";
}
