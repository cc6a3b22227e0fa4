/* Measure: how core and solvers report numbers, and the edges whose stretch every bake shows. */
#pragma once

#include "sim/measures.h"

/* Where a solver's `measure` puts its rows and series; memory is the arena's. What does not fit is
 * counted and becomes a warning. Names, targets and units are kept as pointers: constants, or texts
 * that live as long as the model. Values of series are copied. */
struct MeasureSink {
    Arena *arena;
    int simulation;
    int row_count, row_capacity;
    int series_count, series_capacity;
    MeasureRow *row;
    MeasureSeries *series;
    Warnings *warnings;
    int dropped; /* rows and series that did not fit */
};
typedef struct MeasureSink MeasureSink;

void measure_row(MeasureSink *sink, const char *name, const char *target, double value,
                 const char *unit);
void measure_missing(MeasureSink *sink, const char *name, const char *target, const char *unit);
void measure_series(MeasureSink *sink, const char *name, const char *target, const char *unit,
                    const float *value, int count);
