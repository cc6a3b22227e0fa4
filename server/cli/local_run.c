#include "server/cli/local_run.h"

#include "server/cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Set by SIGINT and SIGTERM. */
static atomic_bool stop_wanted;

static void want_stop(int signal_number)
{
    (void)signal_number;
    atomic_store_explicit(&stop_wanted, true, memory_order_relaxed);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = want_stop};

    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

static Status open_nameless(int *out, Error *err)
{
    const char *folder = secure_getenv("TMPDIR");
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/bakehouse-XXXXXX", folder ? folder : "/tmp");
    *out = mkostemp(path, O_CLOEXEC);
    if (*out < 0)
        return error_set(err, STATUS_IO, "could not make a file for the frames, \"%s\": %s", path,
                         strerrordesc_np(errno));
    (void)unlink(path);
    return STATUS_OK;
}

static Status append(void *context, const RunPiece *piece, Error *err)
{
    const LocalRun *run = context;
    size_t done = 0;

    while (done < piece->bytes.size) {
        ssize_t written =
            write(run->descriptor, piece->bytes.data + done, piece->bytes.size - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set(err, STATUS_IO, "could not write the frames: %s",
                             strerrordesc_np(errno));
        done += (size_t)written;
    }
    return STATUS_OK;
}

static void show_progress(void *context, const RunProgress *progress)
{
    const LocalRun *run = context;

    report_progress(progress, run->job->path);
}

static Status map_frames(LocalRun *run, Error *err)
{
    void *data = mmap(NULL, (size_t)run->result.bytes, PROT_READ, MAP_SHARED, run->descriptor, 0);

    if (data == MAP_FAILED)
        return error_set(err, STATUS_IO, "could not read the frames: %s", strerrordesc_np(errno));
    run->frames = (Bytes){data, (size_t)run->result.bytes};
    return STATUS_OK;
}

Status local_run(const CliJob *job, LocalRun *out, Error *err)
{
    RunHost host = {.context = out,
                    .append = append,
                    .progress = show_progress,
                    .options = run_options_default(),
                    .stop = &stop_wanted};

    *out = (LocalRun){.job = job, .descriptor = -1};
    host.options.measure_rate = 0;
    catch_signals();
    if (simd_level_choose(secure_getenv("BAKEHOUSE_SIMD"), &host.options.simd, err) ||
        open_nameless(&out->descriptor, err) ||
        arena_create(&out->arena, job_limits_default().memory, err))
        return err->status;
    Status status = run_job(job->model.rig, &job->spec, &host, &out->arena, &out->result, err);
    report_clear();
    return status ? status : map_frames(out, err);
}

void local_run_close(LocalRun *run)
{
    union {
        const void *constant;
        void *data;
    } mapped = {.constant = run->frames.data};

    if (run->frames.size)
        (void)munmap(mapped.data, run->frames.size);
    if (run->descriptor >= 0)
        (void)close(run->descriptor);
    arena_destroy(&run->arena);
    *run = (LocalRun){.descriptor = -1};
}
