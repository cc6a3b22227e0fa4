#include "server/cli/outputs.h"
#include "server/cli/report.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MAX = 16 };

static const char *const view_names[PICTURE_VIEW_COUNT] = {"front", "side", "three_quarter"};

typedef struct Sheet {
    PictureOptions options;
    int frame[FRAMES_MAX];
} Sheet;

/* A whole number from low to high, with what follows it at *text. */
static bool take_number(const char **text, long low, long high, int *out)
{
    char *end = NULL;
    long value = strtol(*text, &end, 10);

    if (end == *text || value < low || value > high)
        return false;
    *out = (int)value;
    *text = end;
    return true;
}

static Status set_size(const char *text, Sheet *out, Error *err)
{
    const char *rest = text;

    if (!take_number(&rest, 64, 1024, &out->options.cell_width) || *rest++ != 'x' ||
        !take_number(&rest, 64, 1024, &out->options.cell_height) || *rest)
        return error_set(err, STATUS_INVALID,
                         "--size must be WIDTHxHEIGHT from 64 to 1024, is \"%s\"", text);
    return STATUS_OK;
}

static Status set_frames(const char *text, Sheet *out, Error *err)
{
    const char *rest = text;
    int count = 0;

    while (count < FRAMES_MAX && take_number(&rest, 0, 1000000, &out->frame[count])) {
        count++;
        if (*rest != ',')
            break;
        rest++;
    }
    if (*rest || count == 0)
        return error_set(err, STATUS_INVALID,
                         "--frames must be 1 to %d numbers like 0,30,60, is \"%s\"", FRAMES_MAX,
                         text);
    out->options.frame = out->frame;
    out->options.frame_count = count;
    return STATUS_OK;
}

static Status set_views(const char *text, Sheet *out, Error *err)
{
    bool view[PICTURE_VIEW_COUNT] = {false};
    const char *rest = text;

    while (*rest) {
        size_t size = strcspn(rest, ",");
        int found = 0;

        while (found < PICTURE_VIEW_COUNT &&
               (strlen(view_names[found]) != size || strncmp(view_names[found], rest, size) != 0))
            found++;
        if (found == PICTURE_VIEW_COUNT)
            return error_set(err, STATUS_INVALID,
                             "--views must be some of front,side,three_quarter, is \"%s\"", text);
        view[found] = true;
        rest += size + (rest[size] == ',');
    }
    memcpy(out->options.view, view, sizeof view);
    return STATUS_OK;
}

static Status set_columns(const char *text, Sheet *out, Error *err)
{
    const char *rest = text;

    if (!take_number(&rest, 1, FRAMES_MAX, &out->options.column_count) || *rest)
        return error_set(err, STATUS_INVALID, "--columns must be a number from 1 to %d, is \"%s\"",
                         FRAMES_MAX, text);
    return STATUS_OK;
}

static Status read_options(const CliArguments *arguments, Sheet *out, Error *err)
{
    static const struct {
        const char *option;
        Status (*set)(const char *text, Sheet *out, Error *err);
    } setters[] = {{"--size", set_size},
                   {"--frames", set_frames},
                   {"--views", set_views},
                   {"--columns", set_columns}};

    out->options = picture_options_default();
    out->options.title = cli_value(arguments, "--title");
    out->options.is_stretch = cli_has(arguments, "--stretch");
    out->options.is_whole = cli_has(arguments, "--whole");
    out->options.has_chains = !cli_has(arguments, "--no-chains");
    out->options.has_colliders = !cli_has(arguments, "--no-colliders");
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        const char *value = cli_value(arguments, setters[i].option);

        if (value && setters[i].set(value, out, err))
            return err->status;
    }
    return STATUS_OK;
}

/* A frame stream that was baked before, and its model. */
static int draw_frames(const CliArguments *arguments, const Sheet *sheet, const char *output)
{
    const char *path = arguments->operand[0];
    const char *model = cli_value(arguments, "--model");
    CliImport import;
    CliAsset asset = {0};
    CliFile frames = {0};
    Error err = {0};

    if (!model)
        return cli_usage(&sheet_command, "say whose frames \"%s\" are: --model FILE", path);
    if (!cli_import_options(arguments, 'm', &import, &err) &&
        !cli_open_asset(model, &import, &asset, &err) &&
        !cli_open_file(path, (int64_t)1 << 40, &frames, &err) &&
        output_write_sheet(asset.rig, frames.bytes, &sheet->options, output, &err))
        error_context(&err, "%s", path);
    cli_close_file(&frames);
    cli_close_asset(&asset);
    return err.status ? cli_fail(&err) : EXIT_DONE;
}

/* A job, or a model that turns its head: baked first. */
static int draw_job(const CliArguments *arguments, Sheet *sheet, const char *output)
{
    const CliJobWishes wishes = {.is_motion_optional = true};
    CliJob job;
    LocalRun run;
    Error err = {0};
    int exit_code = EXIT_DONE;

    if (!cli_open_job(&sheet_command, arguments, &wishes, &job, &exit_code))
        return exit_code;
    sheet->options.hidden_count = job.spec.bake.output.hidden_count;
    sheet->options.hidden = job.spec.bake.output.hidden;
    Status status = local_run(&job, &run, &err);
    report_warnings(&run);
    if (status || output_write_sheet(job.model.rig, run.frames, &sheet->options, output, &err))
        exit_code = cli_fail(&err);
    local_run_close(&run);
    cli_close_job(&job);
    return exit_code;
}

static int run(int argc, char **argv)
{
    CliArguments arguments;
    Sheet sheet = {0};
    Error err = {0};
    int exit_code = EXIT_DONE;

    if (!cli_parse(&sheet_command, argc, argv, &arguments, &exit_code))
        return exit_code;
    const char *output = cli_value(&arguments, "--output");
    if (!output)
        return cli_usage(&sheet_command, "say where to write it: -o OUT.png");
    if (read_options(&arguments, &sheet, &err))
        return cli_fail(&err);
    return cli_has_extension(arguments.operand[0], "frames")
               ? draw_frames(&arguments, &sheet, output)
               : draw_job(&arguments, &sheet, output);
}

static const CliOption options[] = {
    {"--output", "-o", "OUT.png", "where to write it"},
    {"--columns", NULL, "N", "frames shown, spread evenly over the bake: 1 to 16 (6)"},
    {"--frames", NULL, "LIST", "these frames instead: 0,30,60"},
    {"--views", NULL, "LIST", "rows: front,side,three_quarter"},
    {"--size", NULL, "WxH", "pixels of one picture: 300x400"},
    {"--stretch", NULL, NULL, "colour what moves by the stretch of its edges"},
    {"--whole", NULL, NULL, "the whole character, not its simulated part"},
    {"--no-chains", NULL, NULL, "without the chains"},
    {"--no-colliders", NULL, NULL, "without the colliders"},
    {"--title", NULL, "TEXT", "above the pictures"},
    {0},
};

const CliCommand sheet_command = {
    .name = "sheet",
    .usage = "BAKE.frames --model FILE -o OUT.png | JOB.json|FILE [options] -o OUT.png",
    .summary = "pictures of a bake: frames by views",
    .description = "Draws frames of a bake side by side, with chains, colliders, the stretch of "
                   "edges in colour\n"
                   "on request, a legend and the numbers. The bake is a frame stream (.frames) and "
                   "its model, or\n"
                   "a job or model that is baked first (a model without --clip or --procedural "
                   "turns its head).",
    .operand_min = 1,
    .operand_max = 1,
    .option = options,
    .more = cli_job_options,
    .run = run,
};
