/* Measures: the numbers of a bake, in one form for every solver (schema/measures.md has the
 * definitions). Plain data in an arena.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "math/vec3.h"
#include "sim/rig.h"

#include <stdbool.h>

typedef struct MeasureRow {
    const char *name;   /* "stretch.p99" */
    int simulation;     /* index in the job, -1: the whole bake */
    const char *target; /* mesh, chain or "*" */
    double value;
    bool is_missing;  /* could not be measured: null in JSON; a warning says why */
    const char *unit; /* "1", "m", "m/s", "rad", "s" */
} MeasureRow;

/* Values over simulated time, at Measures.rate from time 0. */
typedef struct MeasureSeries {
    const char *name;
    int simulation;
    const char *target;
    const char *unit;
    int count;
    const float *value; /* (count) */
} MeasureSeries;

/* Edges by their greatest stretch: `count[i]` from bound[i] to bound[i + 1]. */
typedef struct MeasureHistogram {
    const char *name; /* "stretch" */
    int simulation;
    const char *target;
    int bin_count;
    const float *bound; /* (bin_count + 1) */
    const int *count;   /* (bin_count) */
} MeasureHistogram;

typedef struct MeasureEdge {
    int simulation;
    const char *target;
    int a, b;      /* vertices of the primitive, accessor order */
    float value;   /* stretch */
    int frame;     /* the last output frame at or before the moment */
    double time;   /* seconds since frame 0 */
    Vec3 position; /* of the edge's middle then, world */
} MeasureEdge;

typedef struct Measures {
    bool is_partial;
    int frames; /* output frames that were measured */
    double rate;
    int row_count;
    int series_count;
    int histogram_count;
    int edge_count;
    const MeasureRow *row;
    const MeasureSeries *series;
    const MeasureHistogram *histogram;
    const MeasureEdge *worst_edge; /* ten worst a simulation, worst first */
    Warnings warnings;
} Measures;

/* The row, or NULL. */
const MeasureRow *measures_find(const Measures *measures, const char *name, int simulation,
                                const char *target);

/* JSON as ARCHITECTURE and schema/measures.md give it; without `cost.*` where is_reproducible. */
typedef enum MeasuresForm { MEASURES_FULL, MEASURES_REPRODUCIBLE } MeasuresForm;
void measures_write_json(const Measures *measures, MeasuresForm form, JsonWriter *out);
/* CSV: name,simulation,target,value,unit. */
void measures_write_csv(const Measures *measures, Text *out);

/* One bound on one measure. NaN: no bound on that side. */
typedef struct Gate {
    const char *name;
    double min, max;
} Gate;

/* Does every row of each gated name (target "*" where there is one) lie within its bounds? A gated
 * measure that is missing does not pass. `out_reason` gets the first that fails. */
bool measures_pass(const Measures *measures, const Gate *gate, int gate_count, char *out_reason,
                   size_t size);
