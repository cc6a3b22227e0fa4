#include "server/cli/outputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 1 << 30, MEASURES_MAX = 1 << 28, FILE_MAX = 1 << 30 };

/* --- frames as they are --- */

static Status write_frames(const LocalRun *run, const char *path, Error *err)
{
    return cli_write_file(path, run->frames, err);
}

/* --- text --- */

static Status write_line(FILE *file, const Text *line, const char *path, Error *err)
{
    if (err->status)
        return err->status;
    if (fwrite(text_string(line), 1, text_length(line), file) != text_length(line))
        return error_set(err, STATUS_IO, "could not write \"%s\": %s", path,
                         strerrordesc_np(errno));
    return STATUS_OK;
}

static Status write_lines(FrameFile *frames, FILE *file, const char *path, Error *err)
{
    Text line = text_open(LINE_MAX, err);
    FrameData data;

    frames_write_text_header(frames->header, &line);
    Status status = write_line(file, &line, path, err);
    for (int i = 0; !status && i < frames->index.frame_count; i++) {
        text_clear(&line);
        if (frame_file_read(frames, i, &data, err))
            break;
        frames_write_text_frame(frames->header, &data, &line);
        status = write_line(file, &line, path, err);
    }
    text_close(&line);
    return err->status;
}

/* A frame is a line: written as they are decoded, so that no length of bake needs memory. */
static Status write_ndjson(const LocalRun *run, const char *path, Error *err)
{
    Arena arena = {0};
    FrameFile frames;

    if (arena_create(&arena, job_limits_default().memory, err))
        return err->status;
    if (!frame_file_open(run->frames, NULL, &arena, &frames, err)) {
        FILE *file = fopen(path, "we");
        bool is_written = file && (write_lines(&frames, file, path, err) || !fflush(file));

        if (!is_written)
            error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerrordesc_np(errno));
        if (file)
            (void)fclose(file);
    }
    arena_destroy(&arena);
    return err->status;
}

static Status write_csv(const LocalRun *run, const char *path, Error *err)
{
    Text text = text_open(MEASURES_MAX, err);

    measures_write_csv(&run->result.measures, &text);
    if (!err->status)
        cli_write_file(path, (Bytes){(const uint8_t *)text_string(&text), text_length(&text)}, err);
    text_close(&text);
    return err->status;
}

/* --- models and pictures --- */

/* What a bake is called in files that name it: its clip or motion. */
static const char *bake_name(const BakeSpec *bake)
{
    const MotionSpec *motion = &bake->motion;

    return motion->kind == MOTION_CLIP ? motion->source->clip[motion->clip].key
                                       : motion_kind_name(motion->kind);
}

static Status write_export(const LocalRun *run, ExportFormat format, const ExportOptions *wanted,
                           const char *path, Error *err)
{
    const CliAsset *model = &run->job->model;
    const ExportSource source = {model->file.bytes, &model->options, model->rig};
    ByteWriter file = byte_writer(FILE_MAX, err);
    ExportOptions options = *wanted;
    Arena scratch = {0};

    options.name = bake_name(&run->job->spec.bake);
    if (!arena_create(&scratch, export_arena_size(&source, run->frames), err) &&
        !export_write(format, &source, run->frames, &options, &scratch, &file, err))
        cli_write_file(path, byte_writer_bytes(&file), err);
    arena_destroy(&scratch);
    byte_writer_close(&file);
    return err->status;
}

static Status write_png(const LocalRun *run, const char *path, Error *err)
{
    const OutputSpec *output = &run->job->spec.bake.output;
    PictureOptions options = picture_options_default();

    options.title = bake_name(&run->job->spec.bake);
    options.hidden_count = output->hidden_count;
    options.hidden = output->hidden;
    return output_write_sheet(run->job->model.rig, run->frames, &options, path, err);
}

Status output_write_sheet(const Rig *rig, Bytes frames, const PictureOptions *options,
                          const char *path, Error *err)
{
    ByteWriter file = byte_writer(FILE_MAX, err);
    Arena scratch = {0};

    if (!arena_create(&scratch, picture_arena_size(rig, frames, options), err) &&
        !picture_sheet(rig, frames, options, &scratch, &file, err))
        cli_write_file(path, byte_writer_bytes(&file), err);
    arena_destroy(&scratch);
    byte_writer_close(&file);
    return err->status;
}

/* --- the table --- */

/* Outputs that are no exports. ".csv" is the measures, ".joints.csv" the export of that name. */
static const struct {
    const char *extension;
    Status (*write)(const LocalRun *run, const char *path, Error *err);
} outputs[] = {
    {"frames", write_frames},
    {"ndjson", write_ndjson},
    {"png", write_png},
    {"csv", write_csv},
};

enum { OUTPUT_COUNT = sizeof outputs / sizeof *outputs };

/* EXPORT_FORMAT_COUNT for a path that is no export. */
static ExportFormat export_of(const char *path)
{
    static const char joints[] = ".joints.csv";
    size_t size = strlen(path);

    if (size >= sizeof joints && strcasecmp(path + size - (sizeof joints - 1), joints) == 0)
        return EXPORT_CSV;
    for (int i = 0; i < EXPORT_FORMAT_COUNT; i++)
        if (i != EXPORT_CSV && cli_has_extension(path, export_format_name((ExportFormat)i)))
            return (ExportFormat)i;
    return EXPORT_FORMAT_COUNT;
}

bool output_is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

bool output_is_known(const char *path)
{
    if (output_is_standard(path) || export_of(path) != EXPORT_FORMAT_COUNT)
        return true;
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (cli_has_extension(path, outputs[i].extension))
            return true;
    return false;
}

const char *output_list(void)
{
    return ".frames, .ndjson, .glb, .vrm, .usda, .pc2, .mdd, .png, .csv, .joints.csv, or - for "
           "NDJSON on standard output";
}

CliJobWishes output_wishes(const CliArguments *arguments)
{
    CliJobWishes wishes = {0};

    for (int i = 0; i < arguments->value_count; i++) {
        const char *path = arguments->value[i];

        if (strcmp(arguments->given[i]->name, "--output") != 0)
            continue;
        ExportFormat format = export_of(path);
        if (format != EXPORT_FORMAT_COUNT && export_needs_positions(format))
            wishes.has_positions = wishes.is_exact = true;
        // an animation of the model has its morphs too
        if (format == EXPORT_GLB || format == EXPORT_VRM)
            wishes.has_weights = true;
        if (output_is_standard(path) || cli_has_extension(path, "ndjson"))
            wishes.is_exact = true;
    }
    return wishes;
}

Status output_options(const CliArguments *arguments, ExportOptions *out, Error *err)
{
    const char *reduce = cli_value(arguments, "--reduce");
    char *end = NULL;

    *out = (ExportOptions){.target = cli_value(arguments, "--target")};
    if (!reduce)
        return STATUS_OK;
    out->reduce = strtod(reduce, &end);
    if (end == reduce || *end || !(out->reduce >= 0.0 && out->reduce <= EXPORT_REDUCE_MAX))
        return error_set(err, STATUS_INVALID,
                         "--reduce must be a number from 0 to %g (metres, radians), is \"%.40s\"",
                         EXPORT_REDUCE_MAX, reduce);
    return STATUS_OK;
}

Status output_check(const CliArguments *arguments, const CliJob *job, Error *err)
{
    ExportOptions options;

    if (output_options(arguments, &options, err))
        return err->status;
    for (int i = 0; i < arguments->value_count; i++) {
        const char *path = arguments->value[i];

        if (strcmp(arguments->given[i]->name, "--output") != 0)
            continue;
        ExportFormat format = export_of(path);
        if (format != EXPORT_FORMAT_COUNT &&
            export_check(format, job->model.rig, job->spec.bake.output.channel, &options, err))
            return error_context(err, "%s", path);
    }
    return STATUS_OK;
}

Status output_write(const LocalRun *run, const ExportOptions *options, const char *path, Error *err)
{
    ExportFormat format = export_of(path);

    if (output_is_standard(path))
        return write_ndjson(run, "/dev/stdout", err);
    if (format != EXPORT_FORMAT_COUNT)
        return write_export(run, format, options, path, err);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (cli_has_extension(path, outputs[i].extension))
            return outputs[i].write(run, path, err);
    return error_set(err, STATUS_INVALID, "\"%s\" has an extension that cannot be written", path);
}
