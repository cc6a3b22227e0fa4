#include "core/measure.h"

#include <string.h>

static void push_row(MeasureSink *sink, MeasureRow row)
{
    if (sink->row_count == sink->row_capacity) {
        sink->dropped++;
        return;
    }
    row.simulation = sink->simulation;
    sink->row[sink->row_count++] = row;
}

void measure_row(MeasureSink *sink, const char *name, const char *target, double value,
                 const char *unit)
{
    push_row(sink, (MeasureRow){.name = name, .target = target, .value = value, .unit = unit});
}

void measure_missing(MeasureSink *sink, const char *name, const char *target, const char *unit)
{
    push_row(sink,
             (MeasureRow){
                 .name = name, .target = target, .value = NAN, .is_missing = true, .unit = unit});
}

void measure_series(MeasureSink *sink, const char *name, const char *target, const char *unit,
                    const float *value, int count)
{
    float *copy = arena_scratch(sink->arena, float, count);

    if (sink->series_count == sink->series_capacity || !copy) {
        sink->dropped++;
        return;
    }
    if (count)
        memcpy(copy, value, (size_t)count * sizeof *copy);
    sink->series[sink->series_count++] = (MeasureSeries){.name = name,
                                                         .simulation = sink->simulation,
                                                         .target = target,
                                                         .unit = unit,
                                                         .count = count,
                                                         .value = copy};
}
