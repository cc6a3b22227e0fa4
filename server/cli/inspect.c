#include "server/cli/cli.h"

enum { SUMMARY_MAX = 64 << 20 };

static int run(int argc, char **argv)
{
    CliArguments arguments;
    CliImport import;
    CliAsset asset = {0};
    Error err = {0};
    int exit_code = EXIT_DONE;

    if (!cli_parse(&inspect_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    if (cli_import_options(&arguments, 'm', &import, &err) ||
        cli_open_asset(arguments.operand[0], &import, &asset, &err))
        return cli_fail(&err);
    Text summary = text_open(SUMMARY_MAX, &err);
    JsonWriter writer = json_writer(&summary, 2);
    asset_write_summary(asset.rig, &writer);
    text_add(&summary, "\n");
    if (!err.status)
        (void)cli_write_file(
            "-", (Bytes){(const uint8_t *)text_string(&summary), text_length(&summary)}, &err);
    text_close(&summary);
    cli_close_asset(&asset);
    return err.status ? cli_fail(&err) : EXIT_DONE;
}

static const CliOption options[] = {
    {"--unit", NULL, "UNIT", "unit of the file: m, dm, cm, mm, in, or metres as a number"},
    {"--up", NULL, "AXIS", "y or z: which axis of the file points up"},
    {0},
};

const CliCommand inspect_command = {
    .name = "inspect",
    .usage = "FILE [--unit UNIT] [--up y|z]",
    .summary = "what a model file holds, as JSON",
    .description =
        "Reads a character (GLB, glTF, VRM 0.x or 1.0, a zip bundle of them) as the server would\n"
        "and prints its summary: nodes, meshes, skins, clips, spring chains and why one is not\n"
        "simulated, colliders, humanoid roles, warnings. Files that a glTF names (.bin) are found\n"
        "beside it.",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .run = run,
};
