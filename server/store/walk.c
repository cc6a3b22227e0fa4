/* What lies in the data folder. */
#include "server/store/folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static DIR *open_list(int parent, const char *name)
{
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *list = folder < 0 ? NULL : fdopendir(folder);

    if (!list && folder >= 0)
        (void)close(folder);
    return list;
}

/* The next name that does not begin with a dot. */
static const char *next_name(DIR *list)
{
    struct dirent *entry = NULL;

    do
        entry = readdir(list); // NOLINT(concurrency-mt-unsafe): the stream is this walk's own
    while (entry && entry->d_name[0] == '.');
    return entry ? entry->d_name : NULL;
}

static bool is_sha256(const char *name)
{
    return strlen(name) == SHA256_HEX_SIZE - 1 &&
           strspn(name, "0123456789abcdef") == SHA256_HEX_SIZE - 1;
}

/* One half of an unfinished upload, without the other. */
static bool is_unpaired(int folder, const char *name)
{
    char partner[STORE_ID_SIZE + sizeof ".about"];
    struct stat about;
    int length = (int)strcspn(name, ".");

    if (strlen(name) >= sizeof partner)
        return false;
    (void)snprintf(partner, sizeof partner, "%.*s%s", length, name, name[length] ? "" : ".about");
    return fstatat(folder, partner, &about, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

/* The number in "a12", 0 for other names. */
static int attempt_number(const char *name)
{
    int number = 0;

    if (name[0] != 'a' || name[1] < '1' || name[1] > '9')
        return 0;
    for (name++; *name >= '0' && *name <= '9' && number < 100000000; name++)
        number = number * 10 + (*name - '0');
    return *name ? 0 : number;
}

Status walk_open(const Blobs *blobs, WalkKind kind, Walk *out, Error *err)
{
    const int parents[] = {[WALK_TEMPORARY] = blobs->uploads,
                           [WALK_UNPAIRED] = blobs->partial,
                           [WALK_BLOB] = blobs->assets,
                           [WALK_ATTEMPT] = blobs->jobs};
    int parent = parents[kind];
    Walk walk = {.kind = kind, .parent = parent, .list = open_list(parent, ".")};

    if (!walk.list)
        return folder_error(err, "list a folder of the store");
    *out = walk;
    return STATUS_OK;
}

/* The next attempt of the job that the walk is in; an empty folder counts as attempt 0. */
static bool next_attempt(Walk *walk, Walked *out)
{
    const char *name = NULL;
    int attempt = 0;

    while (attempt == 0 && (name = next_name(walk->inner)) != NULL) {
        walk->is_empty = false;
        attempt = attempt_number(name);
    }
    if (!name) {
        (void)closedir(walk->inner);
        walk->inner = NULL;
        if (!walk->is_empty)
            return false;
    }
    (void)snprintf(out->name, sizeof out->name, "%s", walk->job);
    out->attempt = attempt;
    return true;
}

bool walk_next(Walk *walk, Walked *out)
{
    const char *name = NULL;

    *out = (Walked){0};
    if (walk->inner && next_attempt(walk, out))
        return true;
    while ((name = next_name(walk->list)) != NULL) {
        if (walk->kind == WALK_ATTEMPT && id_is_valid(name, "j_")) {
            (void)snprintf(walk->job, sizeof walk->job, "%s", name);
            walk->is_empty = true;
            walk->inner = open_list(walk->parent, name);
            if (walk->inner && next_attempt(walk, out))
                return true;
        } else if (walk->kind == WALK_TEMPORARY || (walk->kind == WALK_BLOB && is_sha256(name)) ||
                   (walk->kind == WALK_UNPAIRED && is_unpaired(walk->parent, name))) {
            (void)snprintf(out->name, sizeof out->name, "%s", name);
            return true;
        }
    }
    return false;
}

void walk_close(Walk *walk)
{
    if (walk->inner)
        (void)closedir(walk->inner);
    if (walk->list)
        (void)closedir(walk->list);
    walk->inner = walk->list = NULL;
}

bool walk_finds(const Blobs *blobs, WalkKind kind, const Walked *walked)
{
    char path[128];
    struct stat about;

    if (kind == WALK_TEMPORARY)
        return fstatat(blobs->uploads, walked->name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (kind == WALK_UNPAIRED)
        return fstatat(blobs->partial, walked->name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (kind == WALK_BLOB)
        return fstatat(blobs->assets, walked->name, &about, AT_SYMLINK_NOFOLLOW) == 0;
    if (walked->attempt)
        (void)snprintf(path, sizeof path, "%s/a%d", walked->name, walked->attempt);
    else
        (void)snprintf(path, sizeof path, "%s", walked->name);
    return fstatat(blobs->jobs, path, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

void walk_remove(Blobs *blobs, WalkKind kind, const Walked *walked)
{
    if (kind == WALK_TEMPORARY)
        (void)unlinkat(blobs->uploads, walked->name, 0);
    else if (kind == WALK_UNPAIRED)
        (void)unlinkat(blobs->partial, walked->name, 0);
    else if (kind == WALK_BLOB)
        blob_remove(blobs, walked->name);
    else
        result_remove(blobs, walked->name, walked->attempt);
}
