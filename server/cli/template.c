#include "server/cli/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { TEMPLATE_MAX = 1 << 20 };

static int run(int argc, char **argv)
{
    CliArguments arguments;
    CliImport import;
    CliAsset asset = {0};
    Error err = {0};
    int exit_code = EXIT_DONE;

    if (!cli_parse(&template_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    if (cli_import_options(&arguments, 'm', &import, &err) ||
        cli_open_asset(arguments.operand[0], &import, &asset, &err))
        return cli_fail(&err);
    const char *output = cli_value(&arguments, "--output");
    // the job names its model from its own folder
    char absolute[PATH_MAX];
    const char *model = arguments.operand[0];
    if (output && strchr(output, '/') && realpath(model, absolute))
        model = absolute;
    Text text = text_open(TEMPLATE_MAX, &err);
    job_write_template(asset.rig, model, &text);
    if (!err.status)
        (void)cli_write_file(output ? output : "-",
                             (Bytes){(const uint8_t *)text_string(&text), text_length(&text)},
                             &err);
    text_close(&text);
    cli_close_asset(&asset);
    return err.status ? cli_fail(&err) : EXIT_DONE;
}

static const CliOption options[] = {
    {"--output", "-o", "JOB.json", "where to write it (default: standard output)"},
    {"--unit", NULL, "UNIT", "unit of the file: m, dm, cm, mm, in, or metres as a number"},
    {"--up", NULL, "AXIS", "y or z: which axis of the file points up"},
    {0},
};

const CliCommand template_command = {
    .name = "job-template",
    .usage = "FILE [-o JOB.json]",
    .summary = "a commented job for a model, with every default",
    .description =
        "Writes a job that bakes a built-in head turn of FILE, with every field, its default, "
        "unit\n"
        "and range in // comments, and the names that this model has. `bakehouse bake` and\n"
        "`bakehouse check` read it as it is; `bakehouse check --json` gives the same job without\n"
        "comments, as a server takes it.",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .run = run,
};
