/* The process's side. */
#include "server/jobs/job_process.h"

#include "server/jobs/submission.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of the whole process: it runs one job. */
static atomic_bool stop_wanted;

/* The server sends nothing after the order: the end of its side means stop, whether it was told so
 * or has died. */
static void *wait_for_stop(void *nothing)
{
    char byte = 0;
    ssize_t got = 0;

    do
        got = recv(JOB_PROCESS_SOCKET, &byte, 1, 0);
    while (got > 0 || (got < 0 && errno == EINTR));
    atomic_store(&stop_wanted, true);
    return nothing;
}

static Status send_all(const ByteWriter *message, Error *err)
{
    Bytes bytes = byte_writer_bytes(message);
    size_t done = 0;

    if (message->err->status)
        return error_set(err, message->err->status, "%s", message->err->message);
    while (done < bytes.size) {
        ssize_t sent = send(JOB_PROCESS_SOCKET, bytes.data + done, bytes.size - done, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR)
            return error_set(err, STATUS_IO, "the server has gone");
        done += sent > 0 ? (size_t)sent : 0;
    }
    return STATUS_OK;
}

static Status receive_all(uint8_t *out, size_t size, Error *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t got = recv(JOB_PROCESS_SOCKET, out + done, size - done, 0);

        if (got == 0 || (got < 0 && errno != EINTR))
            return error_set(err, STATUS_IO, "no order came");
        done += got > 0 ? (size_t)got : 0;
    }
    return STATUS_OK;
}

/* --- what the run tells --- */

typedef struct Outlet {
    ByteWriter message; /* the one that is being sent */
    Error err;
} Outlet;

static Status tell_piece(void *outlet_, const RunPiece *piece, Error *err)
{
    Outlet *outlet = outlet_;

    byte_writer_clear(&outlet->message);
    wire_write_piece(piece, &outlet->message);
    return send_all(&outlet->message, err);
}

/* The next piece finds out that the server has gone. */
static void tell_progress(void *outlet_, const RunProgress *progress)
{
    Outlet *outlet = outlet_;
    Error ignored = {0};

    byte_writer_clear(&outlet->message);
    wire_write_progress(progress, &outlet->message);
    if (send_all(&outlet->message, &ignored))
        atomic_store(&stop_wanted, true);
}

static Status tell_started(Outlet *outlet, const JobSpec *spec, Error *err)
{
    byte_writer_clear(&outlet->message);
    wire_write_started(spec->frame_count, spec->key, &outlet->message);
    return send_all(&outlet->message, err);
}

static Status tell_end(Outlet *outlet, WireEnd *end, Error *err)
{
    Text json = text_open((size_t)256 << 20, &outlet->err);
    JsonWriter writer = json_writer(&json, 0);

    if (end->result.measures.row_count > 0) {
        measures_write_json(&end->result.measures, MEASURES_FULL, &writer);
        end->measures = (Bytes){(const uint8_t *)text_string(&json), text_length(&json)};
    }
    byte_writer_clear(&outlet->message);
    wire_write_end(end, &outlet->message);
    Status status = send_all(&outlet->message, err);
    text_close(&json);
    return status;
}

/* --- the job --- */

typedef struct JobFile {
    RigEntry entry;
    Bytes bytes;
} JobFile;

static Status open_file(int file, const WireAsset *asset, const AssetLimits *limits, JobFile *out,
                        Error *err)
{
    struct stat about = {0};
    AssetOptions options = {
        .limits = *limits, .unit = asset->unit, .is_z_up = asset->is_z_up, .name = asset->name};

    (void)snprintf(out->entry.id, sizeof out->entry.id, "%s", asset->id);
    (void)snprintf(out->entry.sha256, sizeof out->entry.sha256, "%s", asset->sha256);
    if (fstat(file, &about))
        return error_set(err, STATUS_IO, "could not read a file: %s", strerrordesc_np(errno));
    if (file_map(file, about.st_size, &out->bytes, err) ||
        arena_create(&out->entry.arena, asset_arena_size(out->bytes.size, limits), err))
        return err->status;
    return asset_read(out->bytes, &options, &out->entry.arena, &out->entry.rig, err);
}

static void close_file(JobFile *file)
{
    arena_destroy(&file->entry.arena);
    file_unmap(file->bytes);
}

static Status run(const WireOrder *order, Submission *submission, Outlet *outlet, Arena *arena,
                  RunResult *out, Error *err)
{
    Faults faults = faults_open(arena, 1);
    RunHost host = {.context = outlet,
                    .append = tell_piece,
                    .progress = tell_progress,
                    .options = run_options_default(),
                    .stop = &stop_wanted};

    if (json_open(order->body, JOB_JSON_DEPTH, &submission->document, err) ||
        submission_decode(submission, order->body.size,
                          order->has_animation ? order->animation.id : NULL, &order->limits,
                          &faults, err) ||
        tell_started(outlet, &submission->spec, err))
        return err->status;
    return run_job(submission->model->rig, &submission->spec, &host, arena, out, err);
}

/* The end is told while the files are there: measures name what is in them. */
static Status run_order(const WireOrder *order, Outlet *outlet, Arena *arena, Error *err)
{
    JobFile model = {0}, animation = {0};
    Submission submission = {.model = &model.entry};
    WireEnd end = {0};
    Error *failure = &end.failure;

    if (!arena_create(arena, order->limits.memory, failure) &&
        !open_file(JOB_PROCESS_MODEL, &order->model, &order->asset_limits, &model, failure)) {
        if (order->has_animation) {
            submission.animation = &animation.entry;
            open_file(JOB_PROCESS_ANIMATION, &order->animation, &order->asset_limits, &animation,
                      failure);
        }
        if (!failure->status)
            run(order, &submission, outlet, arena, &end.result, failure);
    }
    tell_end(outlet, &end, err);
    submission_close(&submission);
    close_file(&animation);
    close_file(&model);
    return err->status;
}

static Status receive_order(ByteWriter *buffer, Arena *arena, WireOrder *out, Error *err)
{
    uint8_t head[WIRE_HEAD];
    WireKind kind = WIRE_ORDER;
    size_t size = 0;

    if (receive_all(head, sizeof head, err) || wire_read_head(head, &kind, &size, err))
        return err->status;
    uint8_t *payload = byte_writer_extend(buffer, size);
    if (kind != WIRE_ORDER || !payload)
        return error_set(err, STATUS_INVALID, "the first message is no order");
    if (receive_all(payload, size, err))
        return err->status;
    return wire_read_order(byte_writer_bytes(buffer), arena, out, err);
}

static Status work(ByteWriter *order_buffer, Outlet *outlet, Error *err)
{
    Arena order_arena = {0}, arena = {0};
    WireOrder order = {0};
    pthread_t watcher;

    if (arena_create(&order_arena, 1 << 20, err) ||
        receive_order(order_buffer, &order_arena, &order, err))
        goto done;
    if (pthread_create(&watcher, NULL, wait_for_stop, NULL)) {
        error_set(err, STATUS_NO_MEMORY, "could not start a thread");
        goto done;
    }
    (void)pthread_detach(watcher);
    run_order(&order, outlet, &arena, err);
done:
    arena_destroy(&arena);
    arena_destroy(&order_arena);
    return err->status;
}

/* When memory runs out the system ends this process rather than the server. */
static void offer_itself(void)
{
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

    if (file < 0)
        return;
    (void)!write(file, "1000", 4);
    (void)close(file);
}

int job_process_main(void)
{
    Error err = {0};
    Outlet outlet = {0};
    struct stat about = {0};

    if (fstat(JOB_PROCESS_SOCKET, &about) || !S_ISSOCK(about.st_mode)) {
        (void)fprintf(stderr, "bakehouse worker: is started by bakehouse serve --isolate\n");
        return 2;
    }
    // it stops when the server says so: signals to the whole group are the server's
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)prctl(PR_SET_NAME, "bakehouse-job");
    // a bake that hangs does not outlive its server; the thread that started this lives as long
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    offer_itself();
    ByteWriter order = byte_writer(WIRE_MAX, &err);
    outlet.message = byte_writer(WIRE_MAX, &outlet.err);
    work(&order, &outlet, &err);
    byte_writer_close(&order);
    byte_writer_close(&outlet.message);
    if (err.status)
        (void)fprintf(stderr, "bakehouse worker: %s\n", err.message);
    return err.status ? 1 : 0;
}
