#include "server/cli/outputs.h"
#include "server/cli/report.h"

#include <string.h>

/* Paths that cannot be written are found before anything runs. */
static int check_outputs(const CliArguments *arguments)
{
    ExportOptions options;
    Error err = {0};

    if (output_options(arguments, &options, &err))
        return cli_usage(&bake_command, "%s", err.message);
    for (int i = 0; i < arguments->value_count; i++) {
        const char *path = arguments->value[i];

        if (strcmp(arguments->given[i]->name, "--output") == 0 && !output_is_known(path))
            return cli_usage(&bake_command,
                             "\"%s\" cannot be written: its extension must be one of %s", path,
                             output_list());
    }
    return EXIT_DONE;
}

static Status write_outputs(const CliArguments *arguments, const LocalRun *done, Error *err)
{
    ExportOptions options;

    if (output_options(arguments, &options, err))
        return err->status;
    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->given[i]->name, "--output") == 0 &&
            output_write(done, &options, arguments->value[i], err))
            return err->status;
    return STATUS_OK;
}

/* What was measured is written even when the bake failed, which stays the failure then. */
static Status write_measures(const CliArguments *arguments, const LocalRun *done, Error *err)
{
    const char *path = cli_value(arguments, "--measures");
    Error second = {0};
    bool has_failed = err->status != STATUS_OK;

    if (!path || !report_measures(&done->result, path, has_failed ? &second : err))
        return err->status;
    if (has_failed)
        (void)cli_fail(&second);
    return err->status;
}

/* Frames on standard output stand there alone. */
static bool is_quiet(const CliArguments *arguments)
{
    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->given[i]->name, "--output") == 0 &&
            output_is_standard(arguments->value[i]))
            return true;
    return cli_has(arguments, "--quiet");
}

static Status report(const CliArguments *arguments, const LocalRun *done, Error *err)
{
    if (is_quiet(arguments))
        return STATUS_OK;
    if (cli_has(arguments, "--json"))
        return report_json(done, arguments, err);
    return report_table(done, err);
}

static int bake_job(const CliArguments *arguments, const CliJob *job)
{
    LocalRun done;
    Error err = {0};
    int exit_code = EXIT_DONE;

    Status status = local_run(job, &done, &err);
    if (!cli_has(arguments, "--quiet"))
        report_warnings(&done);
    if (write_measures(arguments, &done, &err) || status || write_outputs(arguments, &done, &err) ||
        report(arguments, &done, &err)) {
        exit_code = cli_fail(&err);
    } else if (!done.result.passed) {
        (void)fprintf(stderr, "bakehouse: a gate was not passed: %s\n", done.result.reason);
        exit_code = EXIT_GATE;
    }
    local_run_close(&done);
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
    Error err = {0};
    exit_code = output_check(&arguments, &job, &err) ? cli_fail(&err) : bake_job(&arguments, &job);
    cli_close_job(&job);
    return exit_code;
}

static const CliOption options[] = {
    {"--output", "-o", "FILE",
     "write the bake, by extension (repeatable): .frames (the frame stream), .ndjson\n"
     "(frames as text, exact), .glb or .vrm (the model with its baked animation), .usda\n"
     "(all meshes and the skeleton), .pc2 or .mdd (points of one mesh), .png (a sheet of\n"
     "pictures), .csv (the measures), .joints.csv (transforms); - is NDJSON on standard\n"
     "output. Where the job does not say, .usda .pc2 .mdd bake exact positions and\n"
     ".glb .vrm morph weights"},
    {"--reduce", NULL, "ERROR",
     "of .glb and .vrm: leave out keys where what lies between is off by no more (metres\n"
     "of a joint's place, radians of its rotation; 0 to 0.1, default 0: every frame)"},
    {"--target", NULL, "KEY",
     "of .pc2 and .mdd: the node whose mesh it is, where there are several"},
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
