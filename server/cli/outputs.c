#include "server/cli/outputs.h"

#include "sim/frames.h"

#include <errno.h>
#include <string.h>

enum { LINE_MAX = 1 << 30, MEASURES_MAX = 1 << 28 };

/* --- frames as they are --- */

static Status write_frames(const CliBake *bake, const char *path, Error *err)
{
    return cli_write_file(path, bake->frames, err);
}

/* --- text --- */

static Status write_line(FILE *file, const Text *line, const char *path, Error *err)
{
    if (err->status)
        return err->status;
    if (fwrite(text_string(line), 1, text_length(line), file) != text_length(line))
        return error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerror(errno));
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
static Status write_ndjson(const CliBake *bake, const char *path, Error *err)
{
    Arena arena = {0};
    FrameFile frames;

    if (arena_create(&arena, job_limits_default().memory, err))
        return err->status;
    if (!frame_file_open(bake->frames, NULL, &arena, &frames, err)) {
        FILE *file = fopen(path, "we");

        if (!file)
            error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerror(errno));
        else if (!write_lines(&frames, file, path, err) && fflush(file))
            error_set(err, STATUS_IO, "could not write \"%s\": %s", path, strerror(errno));
        if (file)
            (void)fclose(file);
    }
    arena_destroy(&arena);
    return err->status;
}

static Status write_csv(const CliBake *bake, const char *path, Error *err)
{
    Text text = text_open(MEASURES_MAX, err);

    measures_write_csv(&bake->result->measures, &text);
    if (!err->status)
        cli_write_file(path, (Bytes){(const uint8_t *)text_string(&text), text_length(&text)}, err);
    text_close(&text);
    return err->status;
}

/* --- the table --- */

static const struct {
    const char *extension;
    Status (*write)(const CliBake *bake, const char *path, Error *err);
} outputs[] = {
    {"frames", write_frames},
    {"ndjson", write_ndjson},
    {"csv", write_csv},
};

enum { OUTPUT_COUNT = sizeof outputs / sizeof *outputs };

bool output_is_known(const char *path)
{
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (cli_has_extension(path, outputs[i].extension))
            return true;
    return false;
}

const char *output_list(void)
{
    return ".frames, .ndjson, .glb, .png, .csv";
}

CliJobWishes output_wishes(const CliArguments *arguments)
{
    CliJobWishes wishes = {0};

    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->given[i]->name, "--output") == 0 &&
            cli_has_extension(arguments->value[i], "ndjson"))
            wishes.is_exact = true;
    return wishes;
}

Status output_write(const CliBake *bake, const char *path, Error *err)
{
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (cli_has_extension(path, outputs[i].extension))
            return outputs[i].write(bake, path, err);
    return error_set(err, STATUS_INVALID, "\"%s\" has an extension that cannot be written", path);
}
