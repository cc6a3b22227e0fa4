#include "server/cli/job_input.h"

#include "server/cli/edit.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, FAULTS_ARENA = 1 << 20 };

const CliOption cli_job_options[] = {
    {"--model", NULL, "FILE", "the model of a job file (else its \"model\" is a file)"},
    {"--clip", NULL, "NAME", "a clip of the model, or of --animation, by name or index"},
    {"--procedural", NULL, "NAME", "a built-in motion: head_turn, turn, swing, jump, drop, ..."},
    {"--animation", NULL, "FILE", "take the clip from this file"},
    {"--asset", NULL, "ALIAS=FILE", "a file that the job calls ALIAS (repeatable)"},
    {"--fps", NULL, "RATE", "frames a second: 30, 23.976, 24000/1001"},
    {"--start", NULL, "SECONDS", "of the clip at frame 0"},
    {"--end", NULL, "SECONDS", "of the clip at the last frame"},
    {"--settle", NULL, "SECONDS", "hold the last pose so long and measure"},
    {"--mode", NULL, "MODE", "of every simulation: rest_frame or vrm"},
    {"--set", NULL, "PATH=VALUE", "any member of the job: simulations.0.stiffness=300"},
    {"--unit", NULL, "UNIT", "unit of the model: m, dm, cm, mm, in, or metres as a number"},
    {"--up", NULL, "AXIS", "y or z: which axis of the model points up"},
    {0},
};

static const char bare_job[] = "{\"simulations\": [{\"type\": \"chains\"}]}";

/* --- the document --- */

static Status read_job(const char *path, JsonDocument *out, Error *err)
{
    CliFile file;

    if (cli_open_file(path, JOB_BODY_MAX, &file, err))
        return err->status;
    char *text = malloc(file.bytes.size + 1);
    if (text) {
        memcpy(text, file.bytes.data, file.bytes.size);
        job_strip_comments(text, file.bytes.size);
        if (json_open((Bytes){(const uint8_t *)text, file.bytes.size}, JOB_JSON_DEPTH, out, err))
            error_context(err, "%s", path);
    } else {
        error_set(err, STATUS_NO_MEMORY, "no room for \"%s\"", path);
    }
    free(text);
    cli_close_file(&file);
    return err->status;
}

/* Options that are members of the job, by another name. */
static const struct {
    const char *option;
    const char *path;
} shorthands[] = {
    {"--clip", "animation.clip"}, {"--procedural", "animation.procedural"},
    {"--fps", "time.fps"},        {"--start", "time.start"},
    {"--end", "time.end"},        {"--settle", "time.settle"},
};

static Status set_mode(JsonDocument *document, const char *mode, Error *err)
{
    Faults faults = {0};
    JsonReader root = json_root(document, &faults);
    JsonReader list = json_member(&root, "simulations");
    int count = json_is_array(&list) ? json_count(&list) : 0;

    for (int i = 0; i < count && i < JOB_SIMULATIONS_MAX && !err->status; i++) {
        char path[64];

        (void)snprintf(path, sizeof path, "simulations.%d.mode", i);
        if (edit_set_text(document, path, mode, err))
            return err->status;
    }
    return err->status;
}

static Status set_pair(JsonDocument *document, const char *pair, Error *err)
{
    char path[PATH_SIZE];
    const char *equals = strchr(pair, '=');

    if (!equals || equals == pair || (size_t)(equals - pair) >= sizeof path)
        return error_set(err, STATUS_INVALID,
                         "--set must be PATH=VALUE, like simulations.0.stiffness=300, is \"%s\"",
                         pair);
    memcpy(path, pair, (size_t)(equals - pair));
    path[equals - pair] = '\0';
    return edit_set(document, path, equals + 1, err);
}

static Status set_option(JsonDocument *document, const char *option, const char *value, Error *err)
{
    if (strcmp(option, "--mode") == 0)
        return set_mode(document, value, err);
    if (strcmp(option, "--set") == 0)
        return set_pair(document, value, err);
    for (size_t i = 0; i < sizeof shorthands / sizeof *shorthands; i++)
        if (strcmp(option, shorthands[i].option) == 0)
            return edit_set(document, shorthands[i].path, value, err);
    return STATUS_OK;
}

/* A motion on the command line takes the place of the job's. */
static Status set_options(const CliArguments *arguments, JsonDocument *document, Error *err)
{
    bool has_motion = cli_has(arguments, "--clip") || cli_has(arguments, "--procedural") ||
                      cli_has(arguments, "--animation");

    if (has_motion && edit_has(document, "animation") && edit_set(document, "animation", "{}", err))
        return err->status;
    for (int i = 0; i < arguments->value_count; i++)
        if (set_option(document, arguments->given[i]->name, arguments->value[i], err))
            return err->status;
    return STATUS_OK;
}

/* --- files --- */

static const char *path_beside(const char *path, const char *name, char out[PATH_SIZE])
{
    const char *slash = strrchr(path, '/');
    int folder = slash && name[0] != '/' ? (int)(slash - path) + 1 : 0;

    (void)snprintf(out, PATH_SIZE, "%.*s%s", folder, path, name);
    return out;
}

static Status open_named(CliJob *job, const char *alias, const char *path, Error *err)
{
    const CliImport import = {.prefix = 'a'};
    CliAsset *asset = &job->asset[job->asset_count];

    if (job->asset_count == CLI_ASSETS_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d assets", CLI_ASSETS_MAX);
    if (cli_open_asset(path, &import, asset, err))
        return err->status;
    job->named[job->asset_count++] = (JobAsset){.name = alias, .id = asset->id, .rig = asset->rig};
    return STATUS_OK;
}

static bool is_named(const CliJob *job, const char *alias)
{
    for (int i = 0; i < job->asset_count; i++)
        if (strcmp(job->named[i].name, alias) == 0)
            return true;
    return false;
}

/* --asset ALIAS=FILE: the alias stays in the arena. */
static Status open_assets(const CliArguments *arguments, CliJob *job, Error *err)
{
    for (int i = 0; i < arguments->value_count; i++) {
        const char *pair = arguments->value[i];
        const char *equals = strchr(pair, '=');

        if (strcmp(arguments->given[i]->name, "--asset") != 0)
            continue;
        if (!equals || equals == pair)
            return error_set(err, STATUS_INVALID, "--asset must be ALIAS=FILE, is \"%s\"", pair);
        const char *alias = arena_text(&job->arena, pair, (size_t)(equals - pair));
        if (!alias)
            return error_set(err, STATUS_NO_MEMORY, "no room for the names of assets");
        if (open_named(job, alias, equals + 1, err))
            return err->status;
    }
    return STATUS_OK;
}

/* The job's animation: --animation FILE, an alias, or a file beside the job. */
static Status open_animation(const CliArguments *arguments, const JobAssets *assets, CliJob *job,
                             Error *err)
{
    const char *path = cli_value(arguments, "--animation");
    char beside[PATH_SIZE];

    if (path) {
        if (open_named(job, path, path, err))
            return err->status;
        return edit_set_text(&job->document, "animation.animation", path, err);
    }
    if (!assets->animation || is_named(job, assets->animation))
        return STATUS_OK;
    return open_named(job, assets->animation, path_beside(job->path, assets->animation, beside),
                      err);
}

static Status open_model(const CliArguments *arguments, const JobAssets *assets, CliJob *job,
                         Error *err)
{
    const char *path = cli_value(arguments, "--model");
    char beside[PATH_SIZE];
    CliImport import;

    if (!cli_has_extension(job->path, "json")) {
        path = job->path;
    } else if (!path && !assets->model) {
        return error_set(err, STATUS_INVALID, "%s names no model: give one with --model FILE",
                         job->path);
    } else if (!path) {
        path = path_beside(job->path, assets->model, beside);
    }
    if (cli_import_options(arguments, 'm', &import, err) ||
        cli_open_asset(path, &import, &job->model, err)) {
        if (path == beside)
            error_context(err, "the \"model\" of %s (or give one with --model FILE)", job->path);
        return err->status;
    }
    return STATUS_OK;
}

/* --- what a bare model needs --- */

static Status want_motion(const CliJob *job, Error *err)
{
    const Rig *rig = job->model.rig;
    char clips[256] = "none";
    size_t used = 0;

    for (int i = 0; i < rig->clip_count && used + 64 < sizeof clips; i++)
        used += (size_t)snprintf(clips + used, sizeof clips - used, "%s\"%.40s\"", i ? ", " : "",
                                 rig->clip[i].key);
    return error_set(err, STATUS_INVALID,
                     "say which motion: --clip NAME (clips of %s: %s), or --procedural head_turn",
                     job->path, clips);
}

static Status apply_wishes(const CliJobWishes *wishes, CliJob *job, Error *err)
{
    JsonDocument *document = &job->document;
    bool has_motion = edit_has(document, "animation.clip") ||
                      edit_has(document, "animation.procedural") ||
                      edit_has(document, "animation.animation");

    if (!has_motion && !cli_has_extension(job->path, "json")) {
        if (!wishes->is_motion_optional)
            return want_motion(job, err);
        if (edit_set_text(document, "animation.procedural", "head_turn", err))
            return err->status;
    }
    if (wishes->is_exact && !edit_has(document, "output.precision") &&
        edit_set(document, "output.precision", "32", err))
        return err->status;
    if (edit_has(document, "output.channels") || !(wishes->has_positions || wishes->has_weights))
        return STATUS_OK;
    char channels[64];
    (void)snprintf(channels, sizeof channels, "[\"joints\",\"segments\"%s%s]",
                   wishes->has_positions ? ",\"positions\"" : "",
                   wishes->has_weights ? ",\"weights\"" : "");
    if (edit_set(document, "output.channels", channels, err))
        return err->status;
    return STATUS_OK;
}

/* Files without springs can be baked once a chain is defined: say how. */
static Status check_springs(const CliJob *job, Error *err)
{
    const Rig *rig = job->model.rig;
    int simulated = 0;

    for (int i = 0; i < rig->spring_count; i++)
        simulated += !rig->spring[i].refusal;
    for (int i = 0; i < job->spec.bake.simulation_count; i++)
        simulated += job->spec.bake.simulation[i].chains.define_count;
    if (simulated > 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "%s has no spring chains to simulate%s: define one, like --set "
                     "simulations.0.define='[{\"name\": \"tail\", \"root\": \"NODE\"}]' with the "
                     "node that moves first (`bakehouse inspect` lists the nodes)",
                     job->model.path,
                     rig->spring_count ? " (its own are refused, `bakehouse inspect` says why)"
                                       : "");
}

/* --- all of it --- */

static Status prepare(const CliArguments *arguments, const CliJobWishes *wishes, CliJob *job,
                      Error *err)
{
    Faults faults = {0};
    JobAssets assets = {0};

    if (arena_create(&job->arena, FAULTS_ARENA, err))
        return err->status;
    Status status = cli_has_extension(job->path, "json")
                        ? read_job(job->path, &job->document, err)
                        : json_open((Bytes){(const uint8_t *)bare_job, sizeof bare_job - 1},
                                    JOB_JSON_DEPTH, &job->document, err);
    if (status || set_options(arguments, &job->document, err))
        return err->status;
    faults.arena = &job->arena;
    job_assets_decode(&job->document, &faults, &assets);
    if (open_model(arguments, &assets, job, err) || open_assets(arguments, job, err) ||
        open_animation(arguments, &assets, job, err))
        return err->status;
    return apply_wishes(wishes, job, err);
}

/* Decodes with an arena of the right size; prints the faults. */
static int decode(CliJob *job, Error *err)
{
    const JobContext context = {
        .rig = job->model.rig,
        .model_id = job->model.id,
        .model_sha256 = job->model.sha256,
        .is_offline = true,
        .asset_count = job->asset_count,
        .asset = job->named,
        .limits = job_limits_default(),
    };
    Arena arena = {0};

    if (arena_create(&arena, job_spec_arena_size(JOB_BODY_MAX, job->model.rig), err))
        return cli_fail(err);
    Faults faults = faults_open(&arena, JOB_FAULTS_MAX);
    Status status = job_spec_decode(&job->document, &context, &arena, &faults, &job->spec, err);
    int exit_code = EXIT_DONE;
    if (faults.count)
        exit_code = cli_print_faults(job->path, &faults);
    else if (status || check_springs(job, err))
        exit_code = cli_fail(err);
    // aliases in the first arena are not needed any more: names of the spec are copies
    arena_destroy(&job->arena);
    job->arena = arena;
    return exit_code;
}

bool cli_open_job(const CliCommand *command, const CliArguments *arguments,
                  const CliJobWishes *wishes, CliJob *out, int *out_exit)
{
    Error err = {0};

    *out = (CliJob){.path = arguments->operand[0]};
    if (!cli_has_extension(out->path, "json") && cli_has(arguments, "--model"))
        *out_exit =
            cli_usage(command, "--model goes with a job file, and \"%s\" is a model", out->path);
    else if (prepare(arguments, wishes, out, &err))
        *out_exit = cli_fail(&err);
    else
        *out_exit = decode(out, &err);
    if (*out_exit == EXIT_DONE)
        return true;
    cli_close_job(out);
    return false;
}

void cli_close_job(CliJob *job)
{
    for (int i = 0; i < job->asset_count; i++)
        cli_close_asset(&job->asset[i]);
    cli_close_asset(&job->model);
    json_close(&job->document);
    arena_destroy(&job->arena);
    *job = (CliJob){0};
}
