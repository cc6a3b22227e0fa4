/* The server's side of a job process: start it, take what it tells, see it end. */
#include "server/jobs/job_process.h"
#include "server/log.h"
#include "server/store/ids.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 50 }; /* between looks whether the job is to stop */

typedef struct Process {
    const JobOrder *order;
    const JobProcessHost *host;
    pid_t pid;
    int socket;
    int64_t told_ns; /* when it was told to stop; 0: it was not */
    bool is_killed;  /* by us */
    bool has_ended;  /* it said how the job ended */
    int frame_count; /* -1 before it is known */
    int frame;       /* the last one that came */
    Arena *arena;
    ByteWriter buffer; /* payload of the message that is being read */
    WireEnd end;
    Error refusal; /* of the host: what comes after it is dropped */
} Process;

/* --- start --- */

/* Out of the way of the numbers that the process gets. */
static int lift(int file)
{
    return fcntl(file, F_DUPFD_CLOEXEC, 64);
}

static void close_all(const int *file, int count)
{
    for (int i = 0; i < count; i++)
        if (file[i] >= 0)
            (void)close(file[i]);
}

/* This binary again, the one that runs even where its file has been replaced, with `file` as its
 * descriptors from JOB_PROCESS_SOCKET on. */
static int spawn(const int *file, int count, pid_t *out)
{
    char name[] = "bakehouse", command[] = "worker";
    char *const argv[] = {name, command, NULL};
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code)
        return code;
    code = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    for (int i = 0; i < count && !code; i++)
        if (file[i] >= 0)
            code = posix_spawn_file_actions_adddup2(&actions, file[i], JOB_PROCESS_SOCKET + i);
    if (!code)
        code = posix_spawn_file_actions_addclosefrom_np(&actions, JOB_PROCESS_SOCKET + count);
    if (!code)
        code = posix_spawn(out, "/proc/self/exe", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

static Status start(Process *process, Error *err)
{
    const JobOrder *order = process->order;
    int pair[2] = {-1, -1};

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return error_set(err, STATUS_IO, "could not make a socket pair: %s",
                         strerrordesc_np(errno));
    process->socket = pair[0];
    int file[] = {lift(pair[1]), lift(order->model),
                  order->animation < 0 ? -1 : lift(order->animation)};
    (void)close(pair[1]);
    if (file[0] < 0 || file[1] < 0 || (order->animation >= 0 && file[2] < 0)) {
        close_all(file, 3);
        return error_set(err, STATUS_IO, "no descriptors left for a job's process");
    }
    int code = spawn(file, order->animation < 0 ? 2 : 3, &process->pid);
    close_all(file, 3);
    if (code)
        return error_set(err, STATUS_IO, "could not start a job's process: %s",
                         strerrordesc_np(code));
    return STATUS_OK;
}

/* --- the stream of messages --- */

static bool is_to_stop(const Process *process)
{
    return process->refusal.status || atomic_load(process->host->run.stop);
}

/* Tells it to stop when the job is to, and ends it when it does not. */
static void watch_stop(Process *process)
{
    int64_t now = time_steady_ns();

    if (!process->told_ns && is_to_stop(process)) {
        process->told_ns = now;
        (void)shutdown(process->socket, SHUT_WR);
    }
    if (process->told_ns && !process->is_killed &&
        now - process->told_ns > process->order->grace_ns) {
        process->is_killed = true;
        (void)kill(process->pid, SIGKILL);
    }
}

/* False at the end of the stream: the process has ended or closed it. */
static bool receive_all(Process *process, uint8_t *out, size_t size)
{
    size_t done = 0;

    while (done < size) {
        struct pollfd wait = {.fd = process->socket, .events = POLLIN};

        watch_stop(process);
        ssize_t got = recv(process->socket, out + done, size - done, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (got < 0)
            (void)poll(&wait, 1, LOOK_MS);
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The order; it is small, but the process might never read it. A job that is to stop before its
 * process knows it has nothing to say. */
static bool send_order(Process *process, Error *err)
{
    ByteWriter message = byte_writer(WIRE_MAX, err);
    size_t done = 0;
    bool is_open = true;

    wire_write_order(&process->order->wire, &message);
    while (!err->status && is_open && done < message.size) {
        struct pollfd wait = {.fd = process->socket, .events = POLLOUT};

        process->is_killed = is_to_stop(process);
        if (process->is_killed)
            break;
        ssize_t sent = send(process->socket, message.data + done, message.size - done,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        is_open = sent >= 0 || errno == EAGAIN || errno == EINTR;
        if (sent < 0 && is_open)
            (void)poll(&wait, 1, LOOK_MS);
        done += sent > 0 ? (size_t)sent : 0;
    }
    byte_writer_close(&message);
    return !err->status && is_open && !process->is_killed;
}

/* --- messages --- */

/* Frames come in order, the header before them and the measures behind. */
static Status take_piece(Process *process, Bytes payload, Error *err)
{
    RunPiece piece;

    if (wire_read_piece(payload, &piece, err))
        return err->status;
    if (piece.frame < -1 || piece.frame > process->frame_count || piece.frame < process->frame)
        return error_set(err, STATUS_INVALID, "frame %d of %d after %d", piece.frame,
                         process->frame_count, process->frame);
    process->frame = piece.frame;
    if (!process->refusal.status)
        (void)process->host->run.append(process->host->run.context, &piece, &process->refusal);
    return STATUS_OK;
}

static Status take_started(Process *process, Bytes payload, Error *err)
{
    const char *key = "";

    if (wire_read_started(payload, process->arena, &process->frame_count, &key, err))
        return err->status;
    if (process->frame_count < 0 || process->frame_count > process->order->wire.limits.frames)
        return error_set(err, STATUS_INVALID, "%d frames", process->frame_count);
    process->host->started(process->host->run.context, process->frame_count, key);
    return STATUS_OK;
}

static Status take_progress(Process *process, Bytes payload, Error *err)
{
    RunProgress progress;
    Measures measures;
    size_t mark = arena_mark(process->arena);

    if (wire_read_progress(payload, process->arena, &progress, &measures, err))
        return err->status;
    process->host->run.progress(process->host->run.context, &progress);
    arena_rewind(process->arena, mark);
    return STATUS_OK;
}

static Status take_end(Process *process, Bytes payload, Error *err)
{
    WireEnd *end = &process->end;

    if (wire_read_end(payload, process->arena, end, err) || !end->measures.size)
        return err->status;
    const char *text = arena_text(process->arena, end->measures.data, end->measures.size);
    if (!text)
        return error_set(err, STATUS_NO_MEMORY, "no room for the measures");
    end->measures.data = (const uint8_t *)text;
    return STATUS_OK;
}

static Status take(Process *process, WireKind kind, Bytes payload, Error *err)
{
    switch (kind) {
    case WIRE_STARTED:
        return take_started(process, payload, err);
    case WIRE_PIECE:
        return take_piece(process, payload, err);
    case WIRE_PROGRESS:
        return take_progress(process, payload, err);
    case WIRE_END:
        process->has_ended = true;
        return take_end(process, payload, err);
    case WIRE_ORDER:
        break;
    }
    return error_set(err, STATUS_INVALID, "an order");
}

/* Messages until the end, or until the process says what it should not. */
static void take_all(Process *process, Error *err)
{
    uint8_t head[WIRE_HEAD];
    WireKind kind;
    size_t size = 0;

    while (!process->has_ended && !err->status && receive_all(process, head, sizeof head)) {
        byte_writer_clear(&process->buffer);
        if (wire_read_head(head, &kind, &size, err))
            break;
        uint8_t *payload = byte_writer_extend(&process->buffer, size);
        if (!payload) {
            error_set(err, STATUS_NO_MEMORY, "no room for a message of %zu bytes", size);
            break;
        }
        if (!receive_all(process, payload, size))
            return;
        take(process, kind, byte_writer_bytes(&process->buffer), err);
    }
}

/* --- the end --- */

/* Waits for it; it has closed its socket, said its end or is killed here. */
static int reap(Process *process)
{
    int status = 0;
    int64_t limit = time_steady_ns() + process->order->grace_ns;

    if (!process->has_ended)
        (void)kill(process->pid, SIGKILL);
    while (waitpid(process->pid, &status, process->has_ended ? WNOHANG : 0) == 0) {
        struct timespec pause = {.tv_nsec = 2000000};

        if (time_steady_ns() > limit)
            (void)kill(process->pid, SIGKILL);
        (void)nanosleep(&pause, NULL);
    }
    return status;
}

static Status describe_crash(const Process *process, int status, Error *err)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (number == SIGKILL)
        return error_set(err, STATUS_NO_MEMORY,
                         "the job's process was killed: memory ran out, or somebody ended it");
    if (number)
        return error_set(err, STATUS_IO, "the job's process crashed: %s (signal %d)",
                         sigdescr_np(number), number);
    return error_set(err, STATUS_IO, "the job's process ended with code %d after frame %d",
                     WEXITSTATUS(status), process->frame);
}

/* What is known of the end, from everything that can have gone wrong, most telling first. */
static Status judge(const Process *process, int status, bool *out_crashed, Error *err)
{
    if (process->refusal.status)
        return error_set(err, process->refusal.status, "%s", process->refusal.message);
    if (err->status)
        return error_context(err, "the job's process sent what it should not");
    if (process->has_ended)
        return process->end.failure.status
                   ? error_set(err, process->end.failure.status, "%s", process->end.failure.message)
                   : STATUS_OK;
    if (process->is_killed)
        return error_set(err, STATUS_CANCELLED, "the job did not stop and was ended");
    *out_crashed = true;
    return describe_crash(process, status, err);
}

Status job_process_run(const JobOrder *order, const JobProcessHost *host, Arena *arena,
                       WireEnd *out, bool *out_crashed, Error *err)
{
    Process process = {
        .order = order, .host = host, .arena = arena, .socket = -1, .frame_count = -1, .frame = -1};
    Error failure = {0};

    *out = (WireEnd){0};
    *out_crashed = false;
    process.buffer = byte_writer(WIRE_MAX, &failure);
    if (!start(&process, err)) {
        log_event(LOG_DEBUG, "job.process", "pid=%d", (int)process.pid);
        if (send_order(&process, &failure))
            take_all(&process, &failure);
        // nothing more is read: what it still sends fails there
        (void)shutdown(process.socket, SHUT_RDWR);
        int status = reap(&process);
        if (process.has_ended && status != 0)
            log_event(LOG_WARN, "job.process", "pid=%d status=%d", (int)process.pid, status);
        *err = failure;
        judge(&process, status, out_crashed, err);
        *out = process.end;
    }
    if (process.socket >= 0)
        (void)close(process.socket);
    byte_writer_close(&process.buffer);
    return err->status;
}
