/* Files of one data folder in another. */
#include "server/store/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file and where it goes. */
typedef struct Copying {
    int from; /* folder */
    int to;   /* folder */
    const char *name;
    int64_t size;
    Blobs *target;
} Copying;

/* Is there one of the right size already? */
static bool is_there(const Copying *copying)
{
    struct stat about;

    return fstatat(copying->to, copying->name, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(about.st_mode) && about.st_size == copying->size;
}

static Status copy_bytes(int from, int to, int64_t size, Error *err)
{
    off_t at = 0;

    while (at < size) {
        ssize_t done = sendfile(to, from, &at, (size_t)(size - at));

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return folder_error(err, "copy a file of the store");
        if (done == 0)
            return error_set(err, STATUS_INVALID, "the file has %lld bytes, not %lld",
                             (long long)at, (long long)size);
    }
    return STATUS_OK;
}

/* Clones the blocks where the file system can, and copies them else. */
static Status fill(int from, int to, int64_t size, Error *err)
{
    if (ioctl(to, FICLONE, from) == 0) {
        if (ftruncate(to, size))
            return folder_error(err, "cut a file of the store");
    } else if (copy_bytes(from, to, size, err)) {
        return err->status;
    }
    return file_sync(to, err);
}

/* Beside it first, so that no half of it has its name. */
static Status copy_over(const Copying *copying, int source, Error *err)
{
    char temporary[] = "copying";
    int file = openat(copying->target->uploads, temporary,
                      O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (file < 0)
        return folder_error(err, "make a file in the copy");
    if (!fill(source, file, copying->size, err) &&
        renameat(copying->target->uploads, temporary, copying->to, copying->name))
        folder_error(err, "name a file of the copy");
    (void)close(file);
    if (err->status)
        (void)unlinkat(copying->target->uploads, temporary, 0);
    return err->status;
}

/* `size` -1: all of the file. */
static Status copy_file(Copying *copying, CopyCounts *counts, Error *err)
{
    struct stat about;
    int source = openat(copying->from, copying->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (source < 0)
        return folder_error(err, "open a file of the store");
    if (fstat(source, &about)) {
        folder_error(err, "open a file of the store");
        (void)close(source);
        return err->status;
    }
    bool is_whole = copying->size < 0 || copying->size >= about.st_size;
    copying->size = is_whole ? about.st_size : copying->size;
    if (!is_there(copying)) {
        (void)unlinkat(copying->to, copying->name, 0);
        bool is_linked =
            is_whole && linkat(copying->from, copying->name, copying->to, copying->name, 0) == 0;

        if (!is_linked)
            copy_over(copying, source, err);
        counts->linked += is_linked;
    }
    (void)close(source);
    if (!err->status) {
        counts->files++;
        counts->bytes += copying->size;
    }
    return err->status;
}

Status blob_copy(const Blobs *from, Blobs *to, const char *sha256, int64_t size, CopyCounts *counts,
                 Error *err)
{
    Copying copying = {
        .from = from->assets, .to = to->assets, .name = sha256, .size = size, .target = to};

    return copy_file(&copying, counts, err);
}

Status result_copy(const Blobs *from, Blobs *to, const Walked *attempt, const char *name,
                   int64_t size, CopyCounts *counts, Error *err)
{
    char path[128];
    Copying copying = {.name = name, .size = size, .target = to};

    (void)snprintf(path, sizeof path, "%s/a%d", attempt->name, attempt->attempt);
    copying.from = openat(from->jobs, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copying.from < 0)
        return folder_error(err, "open a folder of the store");
    copying.to = attempt_folder(to, attempt->name, attempt->attempt, err);
    if (copying.to >= 0) {
        copy_file(&copying, counts, err);
        (void)close(copying.to);
    }
    (void)close(copying.from);
    return err->status;
}
