#include "server/jobs/worker.h"

#include "server/app.h"
#include "server/jobs/job_process.h"
#include "server/jobs/runner.h"
#include "server/jobs/submission.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    NOTE_MS = 250,              /* between notes of progress in the store */
    AGAIN_MS = 500,             /* between tries to tell the store of an end */
    SYNC_MS = 1000,             /* between syncs of the frame file */
    MEASURED_MAX = 1 << 20,     /* bytes of the measures of an event */
    MEASURES_FILE_MAX = 1 << 28 /* bytes of the whole measures */
};

/* --- frames --- */

/* Into the file first, then the end moves: nobody sees half a record. */
static Status append(void *run_, const RunPiece *piece, Error *err)
{
    Run *run = run_;
    int64_t now = time_steady_ns();

    if (file_write(run->file, run->written, piece->bytes, err))
        return err->status;
    run->written += (int64_t)piece->bytes.size;
    // the header comes before the frames, measures and end behind them
    if (piece->frame >= 0 && piece->frame < run->frame_count) {
        atomic_store(&run->frames, piece->frame + 1);
        atomic_fetch_add(&run->app->metrics.frames, 1);
    }
    atomic_store(&run->moved_ns, now);
    segment_publish(&run->app->segments, run->segment, run->written);
    if (piece->is_key && now - run->synced_ns > (int64_t)SYNC_MS * 1000000) {
        run->synced_ns = now;
        return file_sync(run->file, err);
    }
    return STATUS_OK;
}

/* --- progress --- */

static void take_back_progress(Command *command)
{
    Run *run = command->context;

    atomic_store(&run->is_noting, false);
}

static void take_back_measures(Command *command)
{
    Run *run = command->context;

    atomic_store(&run->is_measuring, false);
}

/* A note for the store, unless the last one is still on its way. */
static void note_progress(Run *run, const RunProgress *progress)
{
    if (atomic_exchange(&run->is_noting, true))
        return;
    (void)snprintf(run->note, sizeof run->note,
                   "{\"job\":\"%s\",\"attempt\":%d,\"progress\":%.4f,\"frame\":%d,\"frames\":%d,"
                   "\"seconds\":%.3f,\"simulated\":%.3f}",
                   run->job, run->attempt, progress->progress, progress->frame + 1,
                   progress->frame_count, progress->seconds, progress->simulated);
    run->progress = (Command){.kind = COMMAND_PROGRESS,
                              .attempt = run->attempt,
                              .frames = progress->frame + 1,
                              .progress = progress->progress,
                              .data = run->note,
                              .is_lazy = true,
                              .done = take_back_progress,
                              .context = run};
    memcpy(run->progress.id, run->job, sizeof run->job);
    store_submit(run->app->store, &run->progress);
}

/* The rows as a JSON array; series would be long. */
static void write_rows(const Measures *measures, Text *out)
{
    JsonWriter json = json_writer(out, 0);

    json_begin_array(&json, NULL);
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        json_begin_object(&json, NULL);
        json_write_text(&json, "name", row->name);
        if (row->simulation < 0)
            json_write_null(&json, "simulation");
        else
            json_write_int(&json, "simulation", row->simulation);
        json_write_text(&json, "target", row->target);
        if (row->is_missing)
            json_write_null(&json, "value");
        else
            json_write_double(&json, "value", row->value);
        json_write_text(&json, "unit", row->unit);
        json_end_object(&json);
    }
    json_end_array(&json);
}

/* The measures so far, into the store and as an event. */
static void note_measures(Run *run, const Measures *measures)
{
    if (run->measured_err.status || atomic_exchange(&run->is_measuring, true))
        return;
    text_clear(&run->measured);
    text_clear(&run->measure_event);
    write_rows(measures, &run->measured);
    JsonWriter json = json_writer(&run->measure_event, 0);
    json_begin_object(&json, NULL);
    json_write_text(&json, "job", run->job);
    json_write_int(&json, "attempt", run->attempt);
    json_write_raw(&json, "measures", text_string(&run->measured));
    json_end_object(&json);
    if (run->measured_err.status) {
        atomic_store(&run->is_measuring, false);
        return;
    }
    run->measures = (Command){.kind = COMMAND_EVENT,
                              .attempt = run->attempt,
                              .event = "measure",
                              .data = text_string(&run->measure_event),
                              .measured = text_string(&run->measured),
                              .is_lazy = true,
                              .done = take_back_measures,
                              .context = run};
    memcpy(run->measures.id, run->job, sizeof run->job);
    store_submit(run->app->store, &run->measures);
}

static void take_progress(void *run_, const RunProgress *progress)
{
    Run *run = run_;
    int64_t now = time_steady_ns();

    atomic_store(&run->moved_ns, now);
    if (progress->measures)
        note_measures(run, progress->measures);
    if (now - run->noted_ns < (int64_t)NOTE_MS * 1000000)
        return;
    run->noted_ns = now;
    note_progress(run, progress);
}

/* --- the end --- */

/* How a run that ended with `failure` is told to the store. */
static JobState judge(const Run *run, Error *failure)
{
    if (!failure->status)
        return JOB_DONE;
    if (failure->status != STATUS_CANCELLED)
        return JOB_FAILED;
    if (atomic_load(&run->reason) == RUN_CANCELLED) {
        error_set(failure, STATUS_CANCELLED, "the job was cancelled");
        return JOB_CANCELLED;
    }
    error_set(failure, STATUS_CANCELLED, "the job made no progress and was stopped");
    return JOB_FAILED;
}

/* The failure's word for people: a job that was stopped for want of progress is "stalled", one
 * whose process ended by itself "crashed". */
static const char *name_failure(const Run *run, const Error *failure)
{
    if (!failure->status)
        return NULL;
    if (run->has_crashed)
        return "crashed";
    return failure->status == STATUS_CANCELLED && atomic_load(&run->reason) == RUN_STALLED
               ? "stalled"
               : status_name(failure->status);
}

static void log_end(const Run *run, const JobEnd *end, const Error *failure)
{
    if (end->state == JOB_DONE)
        log_event(LOG_INFO, "job.done",
                  "job=%s attempt=%d frames=%d bytes=%" PRId64 " seconds=%.3f simulated=%.2f",
                  run->job, run->attempt, end->frames, end->size, end->seconds, end->simulated);
    else
        log_event(end->state == JOB_CANCELLED ? LOG_INFO : LOG_WARN,
                  end->state == JOB_CANCELLED ? "job.cancelled" : "job.failed",
                  "job=%s attempt=%d frames=%d status=%s message=%s", run->job, run->attempt,
                  end->frames, status_name(failure->status), log_quote(failure->message).text);
}

/* What cannot be written down now is written down later: until then the job keeps its slot. When
 * the server stops first, the job is still running in the store, and the next start runs it again.
 */
static Status tell_store(Run *run, Command *command, Error *err)
{
    bool was_logged = false;

    for (;;) {
        *err = (Error){0};
        store_execute(run->app->store, command, err);
        bool may_pass = err->status == STATUS_FULL || err->status == STATUS_IO ||
                        err->status == STATUS_NO_MEMORY;
        if (!may_pass || atomic_load(&run->is_hurried))
            return err->status;
        if (!was_logged)
            log_event(LOG_ERROR, "job.waits", "job=%s attempt=%d message=%s", run->job,
                      run->attempt, log_quote(err->message).text);
        was_logged = true;
        // waiting for the disk is no stall
        atomic_store(&run->moved_ns, time_steady_ns());
        uv_sleep(AGAIN_MS);
    }
}

static void put_back(Run *run)
{
    Command release = {.kind = COMMAND_RELEASE_JOB, .attempt = run->attempt};
    Error err = {0};

    memcpy(release.id, run->job, sizeof run->job);
    if (tell_store(run, &release, &err))
        log_event(LOG_ERROR, "job.release", "job=%s message=%s", run->job,
                  log_quote(err.message).text);
    else
        log_event(LOG_INFO, "job.released", "job=%s attempt=%d frames=%d", run->job, run->attempt,
                  atomic_load(&run->frames));
}

/* How a run went. */
typedef struct RunEnd {
    RunResult result;
    Bytes measures; /* whole, as JSON; none where nothing was measured */
} RunEnd;

static Status write_measures(const Run *run, Bytes measures, Error *err)
{
    return result_write(run->app->blobs, run->job, run->attempt, "measures.json", measures, err);
}

/* What happened, durable before it is told. */
static void finish(Run *run, const RunEnd *over, Error *failure)
{
    const RunResult *result = &over->result;
    Error err = {0};

    if (failure->status == STATUS_CANCELLED && atomic_load(&run->reason) == RUN_DRAINED) {
        put_back(run);
        return;
    }
    if (!failure->status && run->file >= 0)
        (void)(file_sync(run->file, failure) || write_measures(run, over->measures, failure));
    else if (over->measures.size)
        (void)write_measures(run, over->measures, &err);
    err = (Error){0};
    Text rows = text_open(MEASURED_MAX, &err);
    write_rows(&result->measures, &rows);
    JobEnd end = {.state = judge(run, failure),
                  .error_status = name_failure(run, failure),
                  .error = failure->status ? failure->message : NULL,
                  .key = run->key,
                  .frames = result->frames,
                  .size = run->written,
                  .sha256 = result->sha256,
                  .seconds = result->seconds,
                  .simulated = result->simulated,
                  .passed = result->has_gates && !failure->status ? result->passed : -1,
                  .reason = result->reason,
                  .measured = err.status ? NULL : text_string(&rows),
                  .measures = result->measures.row_count > 0 ? &result->measures : NULL};
    Command command = {.kind = COMMAND_FINISH_JOB, .attempt = run->attempt, .end = &end};
    // counted before it can be seen
    if (run->has_crashed)
        atomic_fetch_add(&run->app->metrics.crashed, 1);
    histogram_add(&run->app->metrics.run_seconds, (int64_t)(result->seconds * 1e9));
    atomic_fetch_add(&run->app->metrics.ended[end.state], 1);
    memcpy(command.id, run->job, sizeof run->job);
    err = (Error){0};
    if (tell_store(run, &command, &err))
        log_event(LOG_ERROR, "job.finish", "job=%s attempt=%d message=%s", run->job, run->attempt,
                  log_quote(err.message).text);
    else
        log_end(run, &end, failure);
    text_close(&rows);
}

/* --- the run --- */

static Status begin_frames(Run *run, Error *err)
{
    if (result_create(run->app->blobs, run->job, run->attempt, "frames", &run->file, err))
        return err->status;
    segment_begin(&run->app->segments, run->segment, run->attempt);
    return STATUS_OK;
}

static RunHost host_of(Run *run)
{
    return (RunHost){.context = run,
                     .append = append,
                     .progress = take_progress,
                     .options = run_options_default(),
                     .stop = &run->stop};
}

static void write_whole(const Measures *measures, Text *out, RunEnd *over)
{
    JsonWriter json = json_writer(out, 0);

    if (measures->row_count == 0)
        return;
    measures_write_json(measures, MEASURES_FULL, &json);
    over->measures = (Bytes){(const uint8_t *)text_string(out), text_length(out)};
}

/* On this thread, from the stored body to the end of the run, whatever that is. */
static void run_here(Run *run, Bytes body, Arena *arena)
{
    Submission submission;
    RunEnd over = {0};
    Error err = {0}, text_err = {0};
    Text text = text_open(MEASURES_FILE_MAX, &text_err);
    Faults faults = faults_open(arena, 1);
    const RunHost host = host_of(run);

    if (!submission_open(run->app, body, &faults, &submission, &err) && !begin_frames(run, &err)) {
        run->frame_count = submission.spec.frame_count;
        run->key = submission.spec.key;
        if (run_job(submission.model->rig, &submission.spec, &host, arena, &over.result, &err))
            error_context(&err, "job %s", run->job);
        write_whole(&over.result.measures, &text, &over);
        if (!err.status)
            err = text_err;
    }
    finish(run, &over, &err);
    text_close(&text);
    submission_close(&submission);
}

static void take_start(void *run_, int frame_count, const char *key)
{
    Run *run = run_;

    run->frame_count = frame_count;
    run->key = key;
}

/* The file that a job names, for its process. */
static Status open_asset(Run *run, AssetKind kind, const char *id, Arena *arena, WireAsset *out,
                         int *out_file, Error *err)
{
    Asset asset;
    int64_t size = 0;

    if (store_find_asset(run->app->store, kind, id, arena, &asset, err) ||
        blob_open(run->app->blobs, asset.sha256, out_file, &size, err))
        return err->status;
    *out = (WireAsset){.id = id,
                       .sha256 = asset.sha256,
                       .name = asset.name,
                       .unit = asset.unit,
                       .is_z_up = asset.is_z_up};
    return STATUS_OK;
}

static Status open_order(Run *run, const JsonDocument *document, Arena *arena, JobOrder *order,
                         Error *err)
{
    Faults faults = faults_open(arena, 1);
    WireOrder *wire = &order->wire;
    JobAssets assets = {0};

    job_assets_decode(document, &faults, &assets);
    if (faults_status(&faults, err))
        return err->status;
    if (!assets.model)
        return error_set(err, STATUS_INVALID, "/model is missing");
    wire->limits = submission_limits(run->app);
    wire->asset_limits = rigs_options(run->app, 0, false, NULL).limits;
    wire->has_animation = assets.animation != NULL;
    if (open_asset(run, ASSET_MODEL, assets.model, arena, &wire->model, &order->model, err) ||
        (assets.animation && open_asset(run, ASSET_ANIMATION, assets.animation, arena,
                                        &wire->animation, &order->animation, err)))
        return err->status;
    return STATUS_OK;
}

/* The same in a process of its own. */
static void run_isolated(Run *run, Bytes body, Arena *arena)
{
    const JobProcessHost host = {.run = host_of(run), .started = take_start};
    JobOrder order = {.wire = {.body = body},
                      .model = -1,
                      .animation = -1,
                      .grace_ns = run->app->config->stall_grace_ms * 1000000};
    JsonDocument document = {0};
    WireEnd end = {0};
    Error err = {0};

    if (!json_open(body, JOB_JSON_DEPTH, &document, &err) &&
        !open_order(run, &document, arena, &order, &err) && !begin_frames(run, &err) &&
        job_process_run(&order, &host, arena, &end, &run->has_crashed, &err))
        error_context(&err, "job %s", run->job);
    finish(run, &(RunEnd){.result = end.result, .measures = end.measures}, &err);
    if (order.model >= 0)
        (void)close(order.model);
    if (order.animation >= 0)
        (void)close(order.animation);
    json_close(&document);
}

void worker_run(Run *run)
{
    struct App *app = run->app;
    Error err = {0};
    Arena arena = {0};
    Job job = {0};

    run->file = -1;
    run->key = "";
    run->measured = text_open(MEASURED_MAX, &run->measured_err);
    run->measure_event = text_open(MEASURED_MAX + 256, &run->measured_err);
    if (!arena_create(&arena, (size_t)app->config->max_job_mib << 20, &err) &&
        !store_find_job(app->store, run->job, &arena, &job, &err) &&
        !segment_acquire(&app->segments, run->job, &run->segment, &err)) {
        histogram_add(&app->metrics.wait_seconds, (time_now_ms() - job.created) * 1000000);
        (app->config->is_isolating ? run_isolated : run_here)(
            run, (Bytes){(const uint8_t *)job.body, strlen(job.body)}, &arena);
    } else {
        finish(run, &(RunEnd){0}, &err);
    }
    if (run->file >= 0)
        (void)close(run->file);
    segment_release(&app->segments, run->segment);
    run->segment = NULL;
    text_close(&run->measured);
    text_close(&run->measure_event);
    arena_destroy(&arena);
}
