#include "server/store/salvage.h"

#include "server/store/folders.h"
#include "server/store/internal.h"
#include "sim/frames.h"

#include <stdio.h>
#include <unistd.h>

void salvage_measure(Blobs *blobs, const char *job, int attempt, FrameRemains *out)
{
    Error err = {0};
    Arena arena;
    Bytes bytes = {0};
    FrameIndex index;
    int file = -1;
    int64_t size = 0;

    *out = (FrameRemains){0};
    if (result_open(blobs, job, attempt, "frames", &file, &size, &err))
        return;
    if (!file_map(file, size, &bytes, &err)) {
        if (!arena_create(&arena, 64 << 20, &err)) {
            if (!frames_index(bytes, &arena, &index, &err))
                *out = (FrameRemains){(int64_t)index.size, index.frame_count};
            arena_destroy(&arena);
        }
        file_unmap(bytes);
    }
    (void)close(file);
}

Status salvage_attempt(Store *store, Blobs *blobs, const char *job, int attempt, FrameRemains *out,
                       Error *err)
{
    Error cut = {0};
    Command update = {.kind = COMMAND_UPDATE_RESULT, .attempt = attempt};

    salvage_measure(blobs, job, attempt, out);
    if (result_cut(blobs, job, attempt, "frames", out->size, &cut) &&
        cut.status != STATUS_NOT_FOUND) {
        *err = cut;
        return error_context(err, "frames of job %s", job);
    }
    update.size = out->size;
    update.frames = out->frames;
    (void)snprintf(update.id, sizeof update.id, "%s", job);
    return store_execute(store, &update, err);
}

Status salvage_run(Store *store, Blobs *blobs, const char *job, int attempt, Error *err)
{
    FrameRemains remains;
    Command release = {.kind = COMMAND_RELEASE_JOB, .attempt = attempt};

    if (salvage_attempt(store, blobs, job, attempt, &remains, err))
        return err->status;
    (void)snprintf(release.id, sizeof release.id, "%s", job);
    return store_execute(store, &release, err);
}

/* --- orphans --- */

bool walk_is_known(Connection *reader, WalkKind kind, const Walked *walked, Error *err)
{
    bool is_blob = kind == WALK_BLOB;
    Query query = query_begin(reader, is_blob ? QUERY_COUNT_BLOB_ASSETS : QUERY_HAS_RESULT);

    query_bind_text(&query, walked->name);
    if (!is_blob)
        query_bind_int(&query, walked->attempt);
    bool is_known = query_step(&query, err) && query_int(&query, 0) > 0;
    query_end(&query);
    return is_known;
}

static Status remove_orphans(Connection *reader, Blobs *blobs, WalkKind kind, int *count,
                             Error *err)
{
    Walk walk;
    Walked walked;

    if (walk_open(blobs, kind, &walk, err))
        return err->status;
    while (!err->status && walk_next(&walk, &walked)) {
        if (walk_is_known(reader, kind, &walked, err) || err->status)
            continue;
        walk_remove(blobs, kind, &walked);
        (*count)++;
    }
    walk_close(&walk);
    return err->status;
}

Status salvage_orphans(Store *store, Blobs *blobs, int *out_count, Error *err)
{
    Connection *reader = reader_take(store, err);
    int count = 0;

    if (!reader)
        return err->status;
    if (!remove_orphans(reader, blobs, WALK_BLOB, &count, err))
        remove_orphans(reader, blobs, WALK_ATTEMPT, &count, err);
    reader_give(store, reader);
    *out_count = count;
    return err->status;
}
