#include "server/jobs/recovery.h"

#include "server/app.h"
#include "server/log.h"
#include "server/store/salvage.h"

#include <inttypes.h>

static Status recover_attempt(struct App *app, const Interrupted *attempt, Error *err)
{
    FrameRemains remains;

    if (salvage_attempt(app->store, app->blobs, attempt->job, attempt->attempt, &remains, err))
        return err->status;
    log_event(LOG_INFO, "job.interrupted", "job=%s attempt=%d frames=%d bytes=%" PRId64,
              attempt->job, attempt->attempt, remains.frames, remains.size);
    return STATUS_OK;
}

static Status remove_orphans(struct App *app, Error *err)
{
    int count = 0;

    if (!salvage_orphans(app->store, app->blobs, &count, err) && count > 0)
        log_event(LOG_INFO, "store.orphans", "removed=%d", count);
    return err->status;
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
    if (!err->status && !store_execute(app->store, &sweep, err))
        remove_orphans(app, err);
    arena_destroy(&arena);
    return err->status;
}
