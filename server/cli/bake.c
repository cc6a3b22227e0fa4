#include "server/cli/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Set by SIGINT and SIGTERM: the bake stops at its next sub-step. */
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

/* --- the frames, in a file without a name --- */

typedef struct Sink {
    int descriptor;
    const char *label;
    Bytes mapped;
} Sink;

static Status open_sink(Sink *out, Error *err)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/bakehouse-XXXXXX", folder ? folder : "/tmp");
    out->descriptor = mkostemp(path, O_CLOEXEC);
    if (out->descriptor < 0)
        return error_set(err, STATUS_IO, "could not make a file for the frames, \"%s\": %s", path,
                         strerror(errno));
    (void)unlink(path);
    return STATUS_OK;
}

static Status append(void *context, const RunPiece *piece, Error *err)
{
    const Sink *sink = context;
    size_t done = 0;

    while (done < piece->bytes.size) {
        ssize_t written =
            write(sink->descriptor, piece->bytes.data + done, piece->bytes.size - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return error_set(err, STATUS_IO, "could not write the frames: %s", strerror(errno));
        done += (size_t)written;
    }
    return STATUS_OK;
}

static void show_progress(void *context, const RunProgress *progress)
{
    const Sink *sink = context;

    report_progress(progress, sink->label);
}

static Status map_sink(Sink *sink, int64_t size, Error *err)
{
    void *data = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, sink->descriptor, 0);

    if (data == MAP_FAILED)
        return error_set(err, STATUS_IO, "could not read the frames: %s", strerror(errno));
    sink->mapped = (Bytes){data, (size_t)size};
    return STATUS_OK;
}

static void close_sink(Sink *sink)
{
    union {
        const void *constant;
        void *data;
    } mapped = {.constant = sink->mapped.data};

    if (sink->mapped.size)
        (void)munmap(mapped.data, sink->mapped.size);
    if (sink->descriptor >= 0)
        (void)close(sink->descriptor);
}

/* --- the command --- */

/* Paths that cannot be written are found before anything runs. */
static int check_outputs(const CliArguments *arguments)
{
    for (int i = 0; i < arguments->value_count; i++) {
        const char *path = arguments->value[i];

        if (strcmp(arguments->given[i]->name, "--output") == 0 && !output_is_known(path))
            return cli_usage(&bake_command,
                             "\"%s\" cannot be written: its extension must be one of %s", path,
                             output_list());
    }
    return EXIT_DONE;
}

static Status write_outputs(const CliArguments *arguments, const CliBake *bake, Error *err)
{
    for (int i = 0; i < arguments->value_count && !err->status; i++)
        if (strcmp(arguments->given[i]->name, "--output") == 0 &&
            output_write(bake, arguments->value[i], err))
            return err->status;
    return err->status;
}

static Status report(const CliArguments *arguments, const CliBake *bake, Error *err)
{
    if (cli_has(arguments, "--json"))
        return report_json(bake, arguments, err);
    if (cli_has(arguments, "--quiet"))
        return STATUS_OK;
    return report_table(bake->job, bake->result, err);
}

/* Runs the job into the sink; whatever was measured is written even when it fails. */
static Status run_into(const CliArguments *arguments, const CliJob *job, Sink *sink, Arena *arena,
                       RunResult *out, Error *err)
{
    const char *measures = cli_value(arguments, "--measures");
    RunOptions options = run_options_default();
    const RunHost host = {
        .context = sink, .append = append, .progress = show_progress, .stop = &stop_wanted};
    Error second = {0};

    options.measure_rate = 0;
    if (simd_level_choose(getenv("BAKEHOUSE_SIMD"), &options.simd, err))
        return err->status;
    bool is_done = !run_job(job->model.rig, &job->spec, &options, &host, arena, out, err);
    report_clear();
    if (!cli_has(arguments, "--quiet"))
        report_warnings(job, out);
    if (measures && report_measures(out, measures, is_done ? err : &second) && !is_done)
        (void)cli_fail(&second);
    return err->status;
}

static int bake_job(const CliArguments *arguments, const CliJob *job)
{
    Sink sink = {.descriptor = -1, .label = job->path};
    Arena arena = {0};
    RunResult result = {0};
    Error err = {0};
    CliBake bake = {.job = job, .result = &result};
    bool is_shown = false;

    catch_signals();
    if (!open_sink(&sink, &err) && !arena_create(&arena, job_limits_default().memory, &err) &&
        !run_into(arguments, job, &sink, &arena, &result, &err) &&
        !map_sink(&sink, result.bytes, &err)) {
        bake.frames = sink.mapped;
        is_shown = !write_outputs(arguments, &bake, &err) && !report(arguments, &bake, &err);
    }
    int exit_code = is_shown ? EXIT_DONE : cli_fail(&err);
    if (is_shown && !result.passed) {
        (void)fprintf(stderr, "bakehouse: a gate was not passed: %s\n", result.reason);
        exit_code = EXIT_GATE;
    }
    close_sink(&sink);
    arena_destroy(&arena);
    return exit_code;
}

static int run(int argc, char **argv)
{
    CliArguments arguments;
    CliJob job;
    int exit_code = EXIT_DONE;

    if (!cli_parse(&bake_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    exit_code = check_outputs(&arguments);
    if (exit_code != EXIT_DONE)
        return exit_code;
    CliJobWishes wishes = output_wishes(&arguments);
    if (!cli_open_job(&bake_command, &arguments, &wishes, &job, &exit_code))
        return exit_code;
    exit_code = bake_job(&arguments, &job);
    cli_close_job(&job);
    return exit_code;
}

static const CliOption options[] = {
    {"--output", "-o", "FILE",
     "write the bake, by extension (repeatable): .frames (the frame stream), .ndjson\n"
     "(frames as text, exact), .glb (the model with its baked animation), .png (a sheet\n"
     "of pictures), .csv (the measures); - as FILE.ndjson is not possible, use /dev/stdout"},
    {"--measures", NULL, "FILE", "write what was measured as JSON (or .csv)"},
    {"--json", NULL, NULL, "print the result as one line of JSON"},
    {"--quiet", "-q", NULL, "print nothing but errors"},
    {0},
};

const CliCommand bake_command = {
    .name = "bake",
    .usage = "JOB.json [--model FILE] [-o FILE ...] | FILE --clip NAME [-o FILE ...]",
    .summary = "bake a character's hair, here and without a server",
    .description =
        "Runs a job on this machine, with a progress bar on a terminal. The job is a JSON file\n"
        "(`bakehouse job-template FILE` writes one; // comments are allowed) whose model is "
        "--model\n"
        "or the file that its \"model\" names, beside it; or there is no job, and FILE is the "
        "model\n"
        "and --clip or --procedural the motion. The same job and model give the same frames as on\n"
        "a server, byte by byte.\n\n"
        "  bakehouse bake avatar.vrm --procedural head_turn -o out.glb\n"
        "  bakehouse bake avatar.vrm --clip Walk --fps 24 -o walk.frames --measures walk.json\n"
        "  bakehouse bake job.json --model avatar.vrm --set gates.stretch.p99.max=0.1\n\n"
        "A path of --set with names that have dots is written as a JSON pointer:\n"
        "--set /gates/stretch.p99='{\"max\": 0.1}'",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .more = cli_job_options,
    .run = run,
};
