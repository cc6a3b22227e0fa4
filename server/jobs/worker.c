#include "server/jobs/worker.h"

#include "server/app.h"
#include "server/jobs/runner.h"
#include "server/jobs/submission.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    NOTE_MS = 250,         /* between notes of progress in the store */
    SYNC_MS = 1000,        /* between syncs of the frame file */
    MEASURED_MAX = 1 << 20 /* bytes of the measures of an event */
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

/* The whole measures beside the frames. */
static Status write_measures(const Run *run, const Measures *measures, Error *err)
{
    Text text = text_open((size_t)256 << 20, err);
    JsonWriter json = json_writer(&text, 0);

    measures_write_json(measures, MEASURES_FULL, &json);
    Bytes bytes = {(const uint8_t *)text_string(&text), text_length(&text)};
    Status status = err->status ? err->status
                                : result_write(run->app->blobs, run->job, run->attempt,
                                               "measures.json", bytes, err);
    text_close(&text);
    return status;
}

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

/* The failure's word for people: a job that was stopped for want of progress is "stalled". */
static const char *name_failure(const Run *run, const Error *failure)
{
    if (!failure->status)
        return NULL;
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

static void put_back(Run *run)
{
    Command release = {.kind = COMMAND_RELEASE_JOB, .attempt = run->attempt};
    Error err = {0};

    memcpy(release.id, run->job, sizeof run->job);
    if (store_execute(run->app->store, &release, &err))
        log_event(LOG_ERROR, "job.release", "job=%s message=%s", run->job,
                  log_quote(err.message).text);
    else
        log_event(LOG_INFO, "job.released", "job=%s attempt=%d frames=%d", run->job, run->attempt,
                  atomic_load(&run->frames));
}

/* What happened, durable before it is told. A store that fails leaves the job running: the sweep or
 * the next start runs it again. */
static void finish(Run *run, const JobSpec *spec, const RunResult *result, Error *failure)
{
    Error err = {0};

    if (failure->status == STATUS_CANCELLED && atomic_load(&run->reason) == RUN_DRAINED) {
        put_back(run);
        return;
    }
    if (!failure->status && run->file >= 0)
        (void)(file_sync(run->file, failure) || write_measures(run, &result->measures, failure));
    else if (result->measures.row_count > 0)
        (void)write_measures(run, &result->measures, &err);
    err = (Error){0};
    Text rows = text_open(MEASURED_MAX, &err);
    write_rows(&result->measures, &rows);
    JobEnd end = {.state = judge(run, failure),
                  .error_status = name_failure(run, failure),
                  .error = failure->status ? failure->message : NULL,
                  .key = spec->key,
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
    memcpy(command.id, run->job, sizeof run->job);
    err = (Error){0};
    if (store_execute(run->app->store, &command, &err))
        log_event(LOG_ERROR, "job.finish", "job=%s attempt=%d message=%s", run->job, run->attempt,
                  log_quote(err.message).text);
    else
        log_end(run, &end, failure);
    atomic_fetch_add(&run->app->metrics.ended[end.state], 1);
    histogram_add(&run->app->metrics.run_seconds, (int64_t)(result->seconds * 1e9));
    text_close(&rows);
}

/* --- the run --- */

static void simulate(Run *run, const Submission *submission, RunResult *result, Arena *arena,
                     Error *err)
{
    RunHost host = {.context = run,
                    .append = append,
                    .progress = take_progress,
                    .options = run_options_default(),
                    .stop = &run->stop};

    if (result_create(run->app->blobs, run->job, run->attempt, "frames", &run->file, err))
        return;
    run->frame_count = submission->spec.frame_count;
    segment_begin(&run->app->segments, run->segment, run->attempt);
    if (run_job(submission->model->rig, &submission->spec, &host, arena, result, err))
        error_context(err, "job %s", run->job);
}

/* From the stored body to the end of the run, whatever that is. */
static void run_body(Run *run, Bytes body, Arena *arena)
{
    Submission submission;
    RunResult result = {0};
    Error err = {0};
    Faults faults = faults_open(arena, 1);

    if (!submission_open(run->app, body, &faults, &submission, &err))
        simulate(run, &submission, &result, arena, &err);
    finish(run, &submission.spec, &result, &err);
    submission_close(&submission);
}

void worker_run(Run *run)
{
    struct App *app = run->app;
    Error err = {0};
    Arena arena = {0};
    Job job = {0};

    run->file = -1;
    run->measured = text_open(MEASURED_MAX, &run->measured_err);
    run->measure_event = text_open(MEASURED_MAX + 256, &run->measured_err);
    if (!arena_create(&arena, (size_t)app->config->max_job_mib << 20, &err) &&
        !store_find_job(app->store, run->job, &arena, &job, &err) &&
        !segment_acquire(&app->segments, run->job, &run->segment, &err)) {
        histogram_add(&app->metrics.wait_seconds, (time_now_ms() - job.created) * 1000000);
        run_body(run, (Bytes){(const uint8_t *)job.body, strlen(job.body)}, &arena);
    } else {
        JobSpec none = {0};
        RunResult nothing = {0};

        finish(run, &none, &nothing, &err);
    }
    if (run->file >= 0)
        (void)close(run->file);
    segment_release(&app->segments, run->segment);
    run->segment = NULL;
    text_close(&run->measured);
    text_close(&run->measure_event);
    arena_destroy(&arena);
}
