#include "server/cli/job_input.h"
#include "server/jobs/runner.h"

enum { TEXT_MAX = 64 << 20 };

/* The job is decoded; build it as a run would, and say what it would be. */
static Status plan_job(const CliJob *job, RunPlan *out, Arena *arena, Error *err)
{
    if (arena_create(arena, job_limits_default().memory, err))
        return err->status;
    Faults faults = faults_open(arena, JOB_FAULTS_MAX);
    return run_plan(job->model.rig, &job->spec, &faults, arena, out, err);
}

static void write_plan(const CliJob *job, const RunPlan *plan, JsonWriter *writer)
{
    json_begin_object(writer, NULL);
    json_write_raw(writer, "job", job->spec.canonical);
    json_write_raw(writer, "used", plan->used);
    json_write_text(writer, "key", job->spec.key);
    json_write_int(writer, "frames", plan->frame_count);
    json_write_int(writer, "sub_steps", plan->tick_count);
    json_write_int(writer, "bytes", plan->stream_bytes);
    json_write_int(writer, "memory", (int64_t)plan->memory);
    json_begin_array(writer, "warnings");
    for (int i = 0; i < plan->warnings.count; i++) {
        json_begin_object(writer, NULL);
        json_write_text(writer, "code", plan->warnings.warning[i].code);
        json_write_text(writer, "detail", plan->warnings.warning[i].detail);
        json_end_object(writer);
    }
    json_end_array(writer);
    json_end_object(writer);
}

static Status print_plan(const CliJob *job, const RunPlan *plan, bool is_json, Error *err)
{
    Text text = text_open(TEXT_MAX, err);
    JsonWriter writer = json_writer(&text, 0);

    if (is_json) {
        write_plan(job, plan, &writer);
        text_add(&text, "\n");
    } else {
        text_format(&text,
                    "%s is in order: %d frames, %lld sub-steps, about %.1f MB of frames and "
                    "%.1f MB of memory\n",
                    job->path, plan->frame_count, (long long)plan->tick_count,
                    (double)plan->stream_bytes / 1e6, (double)plan->memory / 1e6);
        for (int i = 0; i < plan->warnings.count; i++)
            text_format(&text, "warning: %s: %s\n", plan->warnings.warning[i].code,
                        plan->warnings.warning[i].detail);
    }
    if (!err->status)
        cli_write_file("-", (Bytes){(const uint8_t *)text_string(&text), text_length(&text)}, err);
    text_close(&text);
    return err->status;
}

static int run(int argc, char **argv)
{
    const CliJobWishes wishes = {.is_motion_optional = true};
    CliArguments arguments;
    CliJob job;
    RunPlan plan = {0};
    Arena arena = {0};
    Error err = {0};
    int exit_code = EXIT_DONE;

    if (!cli_parse(&check_command, argc, argv, &arguments, &exit_code) ||
        !cli_open_job(&check_command, &arguments, &wishes, &job, &exit_code))
        return exit_code;
    if (plan_job(&job, &plan, &arena, &err) ||
        print_plan(&job, &plan, cli_has(&arguments, "--json"), &err))
        exit_code = cli_fail(&err);
    arena_destroy(&arena);
    cli_close_job(&job);
    return exit_code;
}

static const CliOption options[] = {
    {"--json", NULL, NULL, "print the job with every default, its key, frames, bytes and memory"},
    {0},
};

const CliCommand check_command = {
    .name = "check",
    .usage = "JOB.json [--model FILE] [--json]",
    .summary = "validate a job, and say what it would be",
    .description =
        "Decodes a job against its model and builds the bake without running it. Every fault is\n"
        "listed with its JSON pointer. With --json it prints the job as a server would keep it:\n"
        "every default filled in, names resolved, no comments.",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .more = cli_job_options,
    .run = run,
};
