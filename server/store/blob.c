#include "server/store/blob.h"

#include "server/store/folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

Status folder_error(Error *err, const char *what)
{
    char text[128];
    int code = errno;
    bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG || code == EROFS;
    Status status = code == ENOENT ? STATUS_NOT_FOUND : is_full ? STATUS_FULL : STATUS_IO;

    return error_set(err, status, "could not %s: %s", what, strerror_r(code, text, sizeof text));
}

/* The folder, made where it is missing and `may_make`. */
static int open_folder(int parent, const char *name, bool may_make, Error *err)
{
    if (err->status)
        return -1;
    if (may_make && mkdirat(parent, name, 0700) && errno != EEXIST) {
        folder_error(err, "make a folder of the store");
        return -1;
    }
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0)
        folder_error(err, "open a folder of the store");
    return folder;
}

/* Files of a folder, `each` called with every name; returns how many there are. */
static int walk_folder(int folder, void (*each)(int folder, const char *name, int64_t before),
                       int64_t before)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    int count = 0;

    if (!list) {
        if (copy >= 0)
            (void)close(copy);
        return 0;
    }
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is this call's own
    for (struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (each)
            each(folder, entry->d_name, before);
    }
    (void)closedir(list);
    return count;
}

/* Folders are left alone. */
static void remove_file(int folder, const char *name, int64_t before)
{
    (void)before;
    (void)unlinkat(folder, name, 0);
}

/* What a run that died has left of uploads that it began or dropped. */
static void remove_unpaired(Blobs *blobs)
{
    Error err = {0};
    Walk walk;
    Walked walked;

    if (walk_open(blobs, WALK_UNPAIRED, &walk, &err))
        return;
    while (walk_next(&walk, &walked))
        walk_remove(blobs, WALK_UNPAIRED, &walked);
    walk_close(&walk);
}

static Status take_lock(Blobs *blobs, const char *folder, Error *err)
{
    enum { TRIES = 5, TRY_NS = 20000000 };

    blobs->lock = openat(blobs->root, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (blobs->lock < 0)
        return folder_error(err, "open the lock file");
    // somebody may just be asking whether it is taken
    for (int i = 0; i < TRIES; i++) {
        if (flock(blobs->lock, LOCK_EX | LOCK_NB) == 0)
            return STATUS_OK;
        (void)nanosleep(&(struct timespec){.tv_nsec = TRY_NS}, NULL);
    }
    return error_set(err, STATUS_CONFLICT, "another server uses the data folder \"%s\"", folder);
}

Status blobs_open_as(const char *folder, BlobsMode mode, Blobs **out, Error *err)
{
    Blobs *blobs = calloc(1, sizeof *blobs);
    bool may_make = mode != BLOBS_READ;

    if (!blobs)
        return error_set(err, STATUS_NO_MEMORY, "could not open the data folder");
    *blobs = (Blobs){.root = -1,
                     .lock = -1,
                     .uploads = -1,
                     .partial = -1,
                     .assets = -1,
                     .jobs = -1,
                     .cache = -1};
    blobs->root = open_folder(AT_FDCWD, folder, mode == BLOBS_SERVE, err);
    if (!err->status && (mode == BLOBS_READ || !take_lock(blobs, folder, err))) {
        blobs->uploads = open_folder(blobs->root, "uploads", may_make, err);
        blobs->partial = open_folder(blobs->root, "partial", may_make, err);
        blobs->assets = open_folder(blobs->root, "assets", may_make, err);
        blobs->jobs = open_folder(blobs->root, "jobs", may_make, err);
        blobs->cache = open_folder(blobs->root, "cache", may_make, err);
    }
    if (err->status) {
        blobs_close(blobs);
        return error_context(err, "data folder \"%s\"", folder);
    }
    if (mode == BLOBS_SERVE) {
        (void)walk_folder(blobs->uploads, remove_file, 0);
        remove_unpaired(blobs);
    }
    *out = blobs;
    return STATUS_OK;
}

Status blobs_open(const char *folder, Blobs **out, Error *err)
{
    return blobs_open_as(folder, BLOBS_SERVE, out, err);
}

bool blobs_are_locked(const Blobs *blobs)
{
    int file = openat(blobs->root, "lock", O_RDONLY | O_CLOEXEC);

    if (file < 0)
        return false;
    // closing it gives back at once what this may have taken
    bool is_locked = flock(file, LOCK_SH | LOCK_NB) != 0;
    (void)close(file);
    return is_locked;
}

void blobs_close(Blobs *blobs)
{
    if (!blobs)
        return;
    int *const all[] = {&blobs->uploads, &blobs->partial, &blobs->assets, &blobs->jobs,
                        &blobs->cache,   &blobs->root,    &blobs->lock};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (*all[i] >= 0)
            (void)close(*all[i]);
    free(blobs);
}

int64_t blobs_free_space(const Blobs *blobs)
{
    struct statvfs about;

    if (fstatvfs(blobs->root, &about))
        return -1;
    return (int64_t)about.f_bavail * (int64_t)about.f_frsize;
}

/* --- files --- */

Status file_write(int file, int64_t offset, Bytes bytes, Error *err)
{
    size_t done = 0;

    while (done < bytes.size) {
        ssize_t written =
            pwrite(file, bytes.data + done, bytes.size - done, (off_t)(offset + (int64_t)done));

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return folder_error(err, "write to the store");
        done += (size_t)written;
    }
    return STATUS_OK;
}

Status file_sync(int file, Error *err)
{
    if (fdatasync(file))
        return folder_error(err, "sync the store");
    return STATUS_OK;
}

Status file_map(int file, int64_t size, Bytes *out, Error *err)
{
    if (size == 0) {
        *out = (Bytes){(const uint8_t *)"", 0};
        return STATUS_OK;
    }
    void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED)
        return folder_error(err, "read from the store");
    *out = (Bytes){data, (size_t)size};
    return STATUS_OK;
}

void file_unmap(Bytes bytes)
{
    union {
        const uint8_t *read;
        void *any;
    } data = {bytes.data};

    if (bytes.size)
        (void)munmap(data.any, bytes.size);
}

static Status sync_folder(int folder, Error *err)
{
    return fsync(folder) ? folder_error(err, "sync the store") : STATUS_OK;
}

static Status open_for_reading(int folder, const char *name, int *out_file, int64_t *out_size,
                               Error *err)
{
    struct stat about;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0)
        return folder_error(err, "open a file of the store");
    if (fstat(file, &about)) {
        folder_error(err, "open a file of the store");
        (void)close(file);
        return err->status;
    }
    *out_file = file;
    *out_size = (int64_t)about.st_size;
    return STATUS_OK;
}

/* A new temporary file; its name goes into `name`. */
static int create_temporary(Blobs *blobs, char *name, size_t size, Error *err)
{
    (void)snprintf(name, size, "u%d-%u", (int)getpid(), atomic_fetch_add(&blobs->serial, 1u));
    int file = openat(blobs->uploads, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        folder_error(err, "make a file in the store");
    return file;
}

/* Write and sync a temporary file, then give it its name: never seen half. */
static Status write_whole(Blobs *blobs, int folder, const char *name, Bytes bytes, Error *err)
{
    char temporary[80];
    int file = create_temporary(blobs, temporary, sizeof temporary, err);

    if (file < 0)
        return err->status;
    bool was_moved = false;
    if (!file_write(file, 0, bytes, err) && !file_sync(file, err)) {
        was_moved = renameat(blobs->uploads, temporary, folder, name) == 0;
        if (!was_moved)
            folder_error(err, "name a file of the store");
        else
            sync_folder(folder, err);
    }
    (void)close(file);
    if (!was_moved)
        (void)unlinkat(blobs->uploads, temporary, 0);
    return err->status;
}

/* --- uploads --- */

Status upload_begin(Blobs *blobs, Upload *out, Error *err)
{
    *out = (Upload){.file = -1};
    int file = create_temporary(blobs, out->name, sizeof out->name, err);
    if (file < 0)
        return err->status;
    out->file = file;
    sha256_begin(&out->hash);
    return STATUS_OK;
}

Status upload_add(Upload *upload, Bytes bytes, Error *err)
{
    if (file_write(upload->file, upload->size, bytes, err))
        return err->status;
    sha256_add(&upload->hash, bytes.data, bytes.size);
    if (upload->wants_sha1)
        sha1_add(&upload->sha1, bytes.data, bytes.size);
    upload->size += (int64_t)bytes.size;
    return STATUS_OK;
}

Status upload_finish(Upload *upload, Error *err)
{
    Sha256 copy = upload->hash;
    uint8_t digest[SHA256_SIZE];

    sha256_end(&copy, digest);
    sha256_hex(digest, upload->sha256);
    return file_sync(upload->file, err);
}

void upload_close(Blobs *blobs, Upload *upload)
{
    if (upload->file < 0)
        return;
    if (upload->is_provisional && ftruncate(upload->file, (off_t)upload->base))
        upload->is_provisional = false; // the client asks for the offset and sees what is there
    (void)close(upload->file);
    upload->file = -1;
    if (upload->name[0])
        (void)unlinkat(blobs->uploads, upload->name, 0);
}

Status blob_publish(Blobs *blobs, Upload *upload, Error *err)
{
    if (renameat(blobs->uploads, upload->name, blobs->assets, upload->sha256))
        return folder_error(err, "name a file of the store");
    upload->name[0] = '\0';
    return sync_folder(blobs->assets, err);
}

Status blob_open(Blobs *blobs, const char *sha256, int *out_file, int64_t *out_size, Error *err)
{
    return open_for_reading(blobs->assets, sha256, out_file, out_size, err);
}

void blob_remove(Blobs *blobs, const char *sha256)
{
    (void)unlinkat(blobs->assets, sha256, 0);
}

void blob_set_aside(Blobs *blobs, const char *sha256)
{
    char name[SHA256_HEX_SIZE + sizeof ".broken"];

    (void)snprintf(name, sizeof name, "%s.broken", sha256);
    (void)renameat(blobs->assets, sha256, blobs->assets, name);
}

/* --- uploads in pieces --- */

enum { PARTIAL_NAME_SIZE = STORE_ID_SIZE + 8, ABOUT_SIZE = 2048 };

static void name_about(char out[PARTIAL_NAME_SIZE], const char *id)
{
    (void)snprintf(out, PARTIAL_NAME_SIZE, "%s.about", id);
}

Status partial_create(Blobs *blobs, const char *id, const Partial *partial, int max_count,
                      Error *err)
{
    char about[ABOUT_SIZE], name[PARTIAL_NAME_SIZE];

    if (walk_folder(blobs->partial, NULL, 0) / 2 >= max_count)
        return error_set(err, STATUS_LIMIT, "%d uploads are unfinished already", max_count);
    int length = snprintf(about, sizeof about, "%lld\n%s\n%s\n", (long long)partial->size,
                          partial->owner, partial->note);
    name_about(name, id);
    // the description comes last: what has one is whole
    if (write_whole(blobs, blobs->partial, id, (Bytes){(const uint8_t *)"", 0}, err) ||
        write_whole(blobs, blobs->partial, name, (Bytes){(uint8_t *)about, (size_t)length}, err))
        partial_remove(blobs, id);
    return err->status;
}

/* A line of the description; returns what follows it. */
static const char *take_line(const char *text, char *out, size_t size)
{
    size_t length = strcspn(text, "\n");

    (void)snprintf(out, size, "%.*s", (int)length, text);
    return text + length + (text[length] == '\n');
}

Status partial_find(Blobs *blobs, const char *id, Partial *out, Error *err)
{
    char text[ABOUT_SIZE], name[PARTIAL_NAME_SIZE], bytes[32];
    struct stat data = {0};
    int file = -1;
    int64_t length = 0;

    name_about(name, id);
    if (open_for_reading(blobs->partial, name, &file, &length, err))
        return err->status == STATUS_NOT_FOUND
                   ? error_set(err, STATUS_NOT_FOUND, "there is no upload \"%s\"", id)
                   : err->status;
    ssize_t got = read(file, text, sizeof text - 1);
    (void)close(file);
    if (got < 0 || fstatat(blobs->partial, id, &data, AT_SYMLINK_NOFOLLOW))
        return folder_error(err, "read an upload");
    text[got] = '\0';
    *out =
        (Partial){.offset = (int64_t)data.st_size, .touched = (int64_t)data.st_mtim.tv_sec * 1000};
    const char *rest = take_line(text, bytes, sizeof bytes);
    out->size = strtoll(bytes, NULL, 10);
    rest = take_line(rest, out->owner, sizeof out->owner);
    (void)take_line(rest, out->note, sizeof out->note);
    return STATUS_OK;
}

Status partial_resume(Blobs *blobs, const char *id, int64_t offset, Upload *out, Error *err)
{
    struct stat about = {0};
    int file = openat(blobs->partial, id, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (file < 0)
        return folder_error(err, "open an upload");
    if (flock(file, LOCK_EX | LOCK_NB))
        error_set(err, STATUS_CONFLICT, "another piece of this upload comes in now");
    else if (fstat(file, &about))
        folder_error(err, "open an upload");
    else if ((int64_t)about.st_size != offset)
        error_set(err, STATUS_CONFLICT, "the upload has %lld bytes, the piece begins at %lld",
                  (long long)about.st_size, (long long)offset);
    if (err->status) {
        (void)close(file);
        return err->status;
    }
    *out = (Upload){.file = file, .size = offset, .base = offset};
    sha256_begin(&out->hash);
    sha1_begin(&out->sha1);
    return STATUS_OK;
}

Status partial_adopt(Blobs *blobs, const char *id, Upload *out, Error *err)
{
    Partial partial = {0};
    Bytes bytes = {0};
    Upload upload = {.file = -1};

    if (partial_find(blobs, id, &partial, err))
        return err->status;
    if (partial.offset != partial.size)
        return error_set(err, STATUS_CONFLICT, "the upload has %lld of %lld bytes",
                         (long long)partial.offset, (long long)partial.size);
    (void)snprintf(upload.name, sizeof upload.name, "u%d-%u", (int)getpid(),
                   atomic_fetch_add(&blobs->serial, 1u));
    if (linkat(blobs->partial, id, blobs->uploads, upload.name, 0))
        return folder_error(err, "take over an upload");
    upload.file = openat(blobs->uploads, upload.name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    upload.size = partial.size;
    sha256_begin(&upload.hash);
    if (upload.file < 0)
        folder_error(err, "open an upload");
    else if (!file_map(upload.file, upload.size, &bytes, err))
        sha256_add(&upload.hash, bytes.data, bytes.size);
    file_unmap(bytes);
    if (err->status) {
        (void)unlinkat(blobs->uploads, upload.name, 0);
        upload.name[0] = '\0';
        upload_close(blobs, &upload);
        return err->status;
    }
    *out = upload;
    return STATUS_OK;
}

void partial_remove(Blobs *blobs, const char *id)
{
    char name[PARTIAL_NAME_SIZE];

    name_about(name, id);
    (void)unlinkat(blobs->partial, name, 0);
    (void)unlinkat(blobs->partial, id, 0);
}

/* The file goes when it was last written (or touched) before then. A description goes with the data
 * that it describes. */
static void remove_old(int folder, const char *name, int64_t before)
{
    struct stat about;
    const char *ending = strstr(name, ".about");
    char data[PARTIAL_NAME_SIZE];

    if (ending && strlen(name) < sizeof data) {
        (void)snprintf(data, sizeof data, "%.*s", (int)(ending - name), name);
        if (fstatat(folder, data, &about, AT_SYMLINK_NOFOLLOW) && errno == ENOENT)
            (void)unlinkat(folder, name, 0);
    } else if (!fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) &&
               (int64_t)about.st_mtim.tv_sec * 1000 < before) {
        (void)unlinkat(folder, name, 0);
    }
}

void blobs_prune(Blobs *blobs, int64_t uploads_before, int64_t cache_before)
{
    if (uploads_before > 0) {
        // twice: descriptions whose data the first pass removed
        (void)walk_folder(blobs->partial, remove_old, uploads_before);
        (void)walk_folder(blobs->partial, remove_old, uploads_before);
    }
    if (cache_before > 0)
        (void)walk_folder(blobs->cache, remove_old, cache_before);
}

/* --- results --- */

enum { RESULT_NAME_SIZE = 160 };

static void name_result(char out[RESULT_NAME_SIZE], const char *job, int attempt, const char *name)
{
    (void)snprintf(out, RESULT_NAME_SIZE, "%s/a%d/%s", job, attempt, name);
}

int attempt_folder(Blobs *blobs, const char *job, int attempt, Error *err)
{
    char name[32];
    int parent = open_folder(blobs->jobs, job, true, err);

    (void)snprintf(name, sizeof name, "a%d", attempt);
    int folder = open_folder(parent, name, true, err);
    if (folder >= 0)
        (void)(sync_folder(parent, err) || sync_folder(blobs->jobs, err));
    if (parent >= 0)
        (void)close(parent);
    return folder;
}

Status result_create(Blobs *blobs, const char *job, int attempt, const char *name, int *out_file,
                     Error *err)
{
    int folder = attempt_folder(blobs, job, attempt, err);

    if (!err->status) {
        int file = openat(folder, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (file < 0)
            folder_error(err, "make a file in the store");
        else
            *out_file = file;
    }
    if (folder >= 0)
        (void)close(folder);
    return err->status;
}

Status result_open(Blobs *blobs, const char *job, int attempt, const char *name, int *out_file,
                   int64_t *out_size, Error *err)
{
    char path[RESULT_NAME_SIZE];

    name_result(path, job, attempt, name);
    return open_for_reading(blobs->jobs, path, out_file, out_size, err);
}

Status result_write(Blobs *blobs, const char *job, int attempt, const char *name, Bytes bytes,
                    Error *err)
{
    int folder = attempt_folder(blobs, job, attempt, err);

    if (!err->status)
        write_whole(blobs, folder, name, bytes, err);
    if (folder >= 0)
        (void)close(folder);
    return err->status;
}

Status result_cut(Blobs *blobs, const char *job, int attempt, const char *name, int64_t size,
                  Error *err)
{
    char path[RESULT_NAME_SIZE];

    name_result(path, job, attempt, name);
    int file = openat(blobs->jobs, path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return folder_error(err, "open a file of the store");
    Status status = ftruncate(file, (off_t)size) ? folder_error(err, "cut a file of the store")
                                                 : file_sync(file, err);
    (void)close(file);
    return status;
}

void result_remove(Blobs *blobs, const char *job, int attempt)
{
    char path[RESULT_NAME_SIZE];

    (void)snprintf(path, sizeof path, "%s/a%d", job, attempt);
    int folder = openat(blobs->jobs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)walk_folder(folder, remove_file, 0);
        (void)close(folder);
        (void)unlinkat(blobs->jobs, path, AT_REMOVEDIR);
    }
    // the job's own folder goes with its last attempt
    (void)unlinkat(blobs->jobs, job, AT_REMOVEDIR);
}

/* --- cache --- */

Status cache_open(Blobs *blobs, const char *name, int *out_file, int64_t *out_size, Error *err)
{
    if (open_for_reading(blobs->cache, name, out_file, out_size, err))
        return err->status;
    (void)futimens(*out_file, NULL);
    return STATUS_OK;
}

Status cache_write(Blobs *blobs, const char *name, Bytes bytes, Error *err)
{
    return write_whole(blobs, blobs->cache, name, bytes, err);
}
