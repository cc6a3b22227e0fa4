#include "server/cli/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_MAX = 1 << 28, BAR_WIDTH = 30, WARNINGS_SHOWN = 20 };

static Bytes text_bytes(const Text *text)
{
    return (Bytes){(const uint8_t *)text_string(text), text_length(text)};
}

/* --- while it runs --- */

void report_progress(const RunProgress *progress, const char *label)
{
    char bar[BAR_WIDTH + 1];
    int filled = (int)(progress->progress * BAR_WIDTH + 0.5);

    if (!isatty(STDERR_FILENO))
        return;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    (void)fprintf(stderr, "\r%s [%s] %3.0f %%  frame %d of %d  %.0f x real time ", label, bar,
                  100 * progress->progress, progress->frame + 1, progress->frame_count,
                  progress->seconds > 0 ? progress->simulated / progress->seconds : 0);
}

void report_clear(void)
{
    if (isatty(STDERR_FILENO))
        (void)fputs("\r\033[K", stderr);
}

static void print_warnings(const Warnings *warnings)
{
    for (int i = 0; i < warnings->count && i < WARNINGS_SHOWN; i++)
        (void)fprintf(stderr, "warning: %s: %s\n", warnings->warning[i].code,
                      warnings->warning[i].detail);
    int hidden = warnings->dropped +
                 (warnings->count > WARNINGS_SHOWN ? warnings->count - WARNINGS_SHOWN : 0);
    if (hidden > 0)
        (void)fprintf(stderr, "warning: and %d more\n", hidden);
}

void report_warnings(const LocalRun *run)
{
    print_warnings(&run->job->model.rig->warnings);
    print_warnings(&run->result.measures.warnings);
}

/* --- after it --- */

/* The table has the whole bake's rows and every mesh's stretch; --measures has all. */
static bool is_shown(const MeasureRow *row)
{
    return strcmp(row->target, "*") == 0 || strcmp(row->name, "stretch.p99") == 0 ||
           strcmp(row->name, "stretch.max") == 0;
}

/* Ratios of stretch are shown in percent. */
static void add_value(Text *text, const MeasureRow *row)
{
    if (row->is_missing)
        text_format(text, "%12s", "-");
    else if (strcmp(row->unit, "1") == 0 &&
             (strncmp(row->name, "stretch.", 8) == 0 || strncmp(row->name, "compress.", 9) == 0))
        text_format(text, "%10.2f %%", 100 * row->value);
    else
        text_format(text, "%12.4g", row->value);
    text_format(text, " %s\n", strcmp(row->unit, "1") == 0 ? "" : row->unit);
}

Status report_table(const LocalRun *run, Error *err)
{
    const RunResult *result = &run->result;
    Text text = text_open(REPORT_MAX, err);
    const Measures *measures = &result->measures;

    text_format(&text, "%d frames, %.2f s of motion in %.2f s (%.0f x real time), %.2f MB%s\n",
                result->frames, result->simulated, result->seconds,
                result->seconds > 0 ? result->simulated / result->seconds : 0,
                (double)result->bytes / 1e6, measures->is_partial ? ", not finished" : "");
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        if (!is_shown(row))
            continue;
        text_format(&text, "%-24s %-24s", row->name, row->target);
        add_value(&text, row);
    }
    if (result->has_gates)
        text_format(&text, "gates: %s%s\n",
                    result->passed ? "passed" : "NOT passed: ", result->reason);
    if (!err->status)
        cli_write_file("-", text_bytes(&text), err);
    text_close(&text);
    return err->status;
}

Status report_json(const LocalRun *run, const CliArguments *arguments, Error *err)
{
    const RunResult *result = &run->result;
    Text measures = text_open(REPORT_MAX, err);
    Text text = text_open(REPORT_MAX, err);
    JsonWriter inner = json_writer(&measures, 0);
    JsonWriter writer = json_writer(&text, 0);

    measures_write_json(&result->measures, MEASURES_FULL, &inner);
    json_begin_object(&writer, NULL);
    json_write_text(&writer, "model", run->job->spec.model_id);
    json_write_text(&writer, "key", run->job->spec.key);
    json_write_int(&writer, "frames", result->frames);
    json_write_int(&writer, "bytes", result->bytes);
    json_write_text(&writer, "sha256", result->sha256);
    json_write_double(&writer, "seconds", result->seconds);
    json_write_double(&writer, "simulated", result->simulated);
    json_write_int(&writer, "memory", (int64_t)result->memory);
    if (result->has_gates) {
        json_write_bool(&writer, "passed", result->passed);
        json_write_text(&writer, "reason", result->reason[0] ? result->reason : NULL);
    }
    json_begin_array(&writer, "outputs");
    for (int i = 0; i < arguments->value_count; i++)
        if (strcmp(arguments->given[i]->name, "--output") == 0)
            json_write_text(&writer, NULL, arguments->value[i]);
    json_end_array(&writer);
    json_write_raw(&writer, "measures", text_string(&measures));
    json_end_object(&writer);
    text_add(&text, "\n");
    if (!err->status)
        cli_write_file("-", text_bytes(&text), err);
    text_close(&measures);
    text_close(&text);
    return err->status;
}

Status report_measures(const RunResult *result, const char *path, Error *err)
{
    Text text = text_open(REPORT_MAX, err);
    JsonWriter writer = json_writer(&text, 2);

    if (cli_has_extension(path, "csv")) {
        measures_write_csv(&result->measures, &text);
    } else {
        measures_write_json(&result->measures, MEASURES_FULL, &writer);
        text_add(&text, "\n");
    }
    if (!err->status)
        cli_write_file(path, text_bytes(&text), err);
    text_close(&text);
    return err->status;
}
