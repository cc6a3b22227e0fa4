#include "server/jobs/recovery.h"

#include "server/app.h"
#include "server/log.h"
#include "sim/frames.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* Whole records and whole frames of the file; nothing (and no failure) when there is no file or no
 * header in it. */
static void measure_file(struct App *app, const Interrupted *attempt, FrameIndex *out)
{
    Error err = {0};
    Arena arena;
    Bytes bytes = {0};
    int file = -1;
    int64_t size = 0;

    *out = (FrameIndex){0};
    if (result_open(app->blobs, attempt->job, attempt->attempt, "frames", &file, &size, &err))
        return;
    if (!file_map(file, size, &bytes, &err)) {
        if (!arena_create(&arena, 64 << 20, &err)) {
            if (frames_index(bytes, &arena, out, &err))
                *out = (FrameIndex){0};
            arena_destroy(&arena);
        }
        file_unmap(bytes);
    }
    (void)close(file);
}

static Status recover_attempt(struct App *app, const Interrupted *attempt, Error *err)
{
    FrameIndex index;
    Error cut = {0};
    Command update = {.kind = COMMAND_UPDATE_RESULT, .attempt = attempt->attempt};

    measure_file(app, attempt, &index);
    if (result_cut(app->blobs, attempt->job, attempt->attempt, "frames", (int64_t)index.size,
                   &cut) &&
        cut.status != STATUS_NOT_FOUND) {
        *err = cut;
        return error_context(err, "frames of job %s", attempt->job);
    }
    update.size = (int64_t)index.size;
    update.frames = index.frame_count;
    (void)snprintf(update.id, sizeof update.id, "%s", attempt->job);
    log_event(LOG_INFO, "job.interrupted", "job=%s attempt=%d frames=%d bytes=%" PRId64,
              attempt->job, attempt->attempt, index.frame_count, update.size);
    return store_execute(app->store, &update, err);
}

Status recover_jobs(struct App *app, Error *err)
{
    Arena arena;
    InterruptedList list = {0};
    Command sweep = {.kind = COMMAND_SWEEP, .owner = app->owner};

    if (arena_create(&arena, 4 << 20, err))
        return err->status;
    if (!store_list_interrupted(app->store, &arena, &list, err))
        for (int i = 0; i < list.count && !err->status; i++)
            recover_attempt(app, &list.attempt[i], err);
    if (!err->status)
        store_execute(app->store, &sweep, err);
    arena_destroy(&arena);
    return err->status;
}
