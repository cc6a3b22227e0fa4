#include "sim/measures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const MeasureRow *measures_find(const Measures *measures, const char *name, int simulation,
                                const char *target)
{
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        if (row->simulation == simulation && strcmp(row->name, name) == 0 &&
            strcmp(row->target, target) == 0)
            return row;
    }
    return NULL;
}

/* --- JSON --- */

static bool is_written(const char *name, MeasuresForm form)
{
    return form == MEASURES_FULL || strncmp(name, "cost.", 5) != 0;
}

static void write_place(JsonWriter *out, const char *name, int simulation, const char *target)
{
    if (name)
        json_write_text(out, "name", name);
    if (simulation < 0)
        json_write_null(out, "simulation");
    else
        json_write_int(out, "simulation", simulation);
    json_write_text(out, "target", target);
}

static void write_summary(const Measures *measures, MeasuresForm form, JsonWriter *out)
{
    json_begin_array(out, "summary");
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        if (!is_written(row->name, form))
            continue;
        json_begin_object(out, NULL);
        write_place(out, row->name, row->simulation, row->target);
        if (row->is_missing)
            json_write_null(out, "value");
        else
            json_write_double(out, "value", row->value);
        json_write_text(out, "unit", row->unit);
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_histograms(const Measures *measures, MeasuresForm form, JsonWriter *out)
{
    json_begin_array(out, "histogram");
    for (int i = 0; i < measures->histogram_count; i++) {
        const MeasureHistogram *histogram = &measures->histogram[i];

        if (!is_written(histogram->name, form))
            continue;
        json_begin_object(out, NULL);
        write_place(out, histogram->name, histogram->simulation, histogram->target);
        json_write_floats(out, "bounds", histogram->bound, histogram->bin_count + 1);
        json_begin_array(out, "counts");
        for (int j = 0; j < histogram->bin_count; j++)
            json_write_int(out, NULL, histogram->count[j]);
        json_end_array(out);
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_series(const Measures *measures, MeasuresForm form, JsonWriter *out)
{
    json_begin_array(out, "series");
    for (int i = 0; i < measures->series_count; i++) {
        const MeasureSeries *series = &measures->series[i];

        if (!is_written(series->name, form))
            continue;
        json_begin_object(out, NULL);
        write_place(out, series->name, series->simulation, series->target);
        json_write_text(out, "unit", series->unit);
        json_write_floats(out, "values", series->value, series->count);
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_worst_edges(const Measures *measures, JsonWriter *out)
{
    json_begin_array(out, "worst_edges");
    for (int i = 0; i < measures->edge_count; i++) {
        const MeasureEdge *edge = &measures->worst_edge[i];

        json_begin_object(out, NULL);
        write_place(out, NULL, edge->simulation, edge->target);
        json_write_int(out, "a", edge->a);
        json_write_int(out, "b", edge->b);
        json_write_float(out, "value", edge->value);
        json_write_int(out, "frame", edge->frame);
        json_write_double(out, "time", edge->time);
        json_write_floats(out, "position", &edge->position.x, 3);
        json_end_object(out);
    }
    json_end_array(out);
}

void measures_write_json(const Measures *measures, MeasuresForm form, JsonWriter *out)
{
    json_begin_object(out, NULL);
    json_write_bool(out, "partial", measures->is_partial);
    json_write_int(out, "frames", measures->frames);
    json_write_double(out, "rate", measures->rate);
    write_summary(measures, form, out);
    write_histograms(measures, form, out);
    write_series(measures, form, out);
    write_worst_edges(measures, out);
    json_begin_array(out, "warnings");
    for (int i = 0; i < measures->warnings.count; i++) {
        json_begin_object(out, NULL);
        json_write_text(out, "code", measures->warnings.warning[i].code);
        json_write_text(out, "detail", measures->warnings.warning[i].detail);
        json_end_object(out);
    }
    json_end_array(out);
    json_end_object(out);
}

/* --- CSV --- */

/* A field as RFC 4180 has it: quoted where it must be. */
static void write_field(Text *out, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        text_add(out, field);
        return;
    }
    text_add(out, "\"");
    for (const char *c = field; *c; c++) {
        if (*c == '"')
            text_add(out, "\"");
        text_add_bytes(out, c, 1);
    }
    text_add(out, "\"");
}

void measures_write_csv(const Measures *measures, Text *out)
{
    text_add(out, "name,simulation,target,value,unit\n");
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];
        char number[32] = "";

        write_field(out, row->name);
        if (row->simulation >= 0)
            text_format(out, ",%d,", row->simulation);
        else
            text_add(out, ",,");
        write_field(out, row->target);
        if (!row->is_missing && isfinite(row->value))
            json_format_double(row->value, number);
        text_format(out, ",%s,", number);
        write_field(out, row->unit);
        text_add(out, "\n");
    }
}

/* --- gates --- */

/* One row against one gate; false with the reason written where it does not pass. */
static bool row_passes(const MeasureRow *row, const Gate *gate, char *out_reason, size_t size)
{
    char place[32] = "the bake";

    if (row->simulation >= 0)
        snprintf(place, sizeof place, "simulation %d", row->simulation);
    if (row->is_missing || isnan(row->value)) {
        snprintf(out_reason, size, "%s of %s could not be measured", gate->name, place);
        return false;
    }
    if (row->value < gate->min) {
        snprintf(out_reason, size, "%s of %s is %g, below %g", gate->name, place, row->value,
                 gate->min);
        return false;
    }
    if (row->value > gate->max) {
        snprintf(out_reason, size, "%s of %s is %g, above %g", gate->name, place, row->value,
                 gate->max);
        return false;
    }
    return true;
}

static bool gate_passes(const Measures *measures, const Gate *gate, char *out_reason, size_t size)
{
    bool has_any = false, has_star = false;

    for (int i = 0; i < measures->row_count; i++)
        if (strcmp(measures->row[i].name, gate->name) == 0) {
            has_any = true;
            has_star |= strcmp(measures->row[i].target, "*") == 0;
        }
    if (!has_any) {
        snprintf(out_reason, size, "%s was not measured", gate->name);
        return false;
    }
    for (int i = 0; i < measures->row_count; i++) {
        const MeasureRow *row = &measures->row[i];

        if (strcmp(row->name, gate->name) != 0 || (has_star && strcmp(row->target, "*") != 0))
            continue;
        if (!row_passes(row, gate, out_reason, size))
            return false;
    }
    return true;
}

bool measures_pass(const Measures *measures, const Gate *gate, int gate_count, char *out_reason,
                   size_t size)
{
    for (int i = 0; i < gate_count; i++)
        if (!gate_passes(measures, &gate[i], out_reason, size))
            return false;
    if (size)
        out_reason[0] = '\0';
    return true;
}
