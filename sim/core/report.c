#include "core/quantile.h"
#include "core/tally.h"

#include <string.h>

enum { WORST_EDGES = 10, WARNING_CAPACITY = 320, SOLVER_ROWS = 24, SOLVER_SERIES = 8 };

/* Bounds of the histogram of stretch; what lies outside is counted in the first or last bin. */
static const float bounds[] = {-1.0f, 0.0f,  0.005f, 0.01f, 0.02f, 0.03f, 0.05f, 0.075f,
                               0.1f,  0.15f, 0.2f,   0.3f,  0.5f,  1.0f,  2.0f,  5.0f};
enum { BIN_COUNT = sizeof bounds / sizeof bounds[0] - 1 };

/* Memory of one report. */
typedef struct Report {
    const TallyModel *tally;
    Arena *arena;
    MeasureSink sink;
    Warnings warnings;
    MeasureHistogram *histogram;
    MeasureEdge *worst;
    int histogram_count, worst_count;
    int *first;   /* batch of a mesh in the set that is reported, -1 none    (mesh_count) */
    int *next;    /* batch of the same mesh, -1 none  (batches of the largest set) */
    float *value; /* of the edges of one target       (edges of the largest set) */
    uint32_t *keys;
} Report;

static int mesh_of(const TallyModel *tally, const EdgeBatch *batch)
{
    return tally->parts->rig->node[batch->skin.node].mesh;
}

/* --- stretch --- */

typedef enum EdgeSide { EDGE_STRETCH, EDGE_COMPRESSION } EdgeSide;

/* Join the batches of each mesh, in order. */
static void join_batches(Report *report, const EdgeSet *set)
{
    for (int i = 0; i < report->tally->parts->rig->mesh_count; i++)
        report->first[i] = -1;
    for (int i = set->batch_count - 1; i >= 0; i--) {
        int *first = &report->first[mesh_of(report->tally, &set->batch[i])];

        report->next[i] = *first;
        *first = i;
    }
}

/* The greatest stretch or compression of the edges of a mesh (-1: of all), into report->value. */
static int gather(Report *report, const EdgeSet *set, const EdgeState *state, int mesh,
                  EdgeSide side)
{
    int count = 0;
    int i = mesh >= 0 ? report->first[mesh] : 0;

    while (i >= 0 && i < set->batch_count) {
        const EdgeBatch *batch = &set->batch[i];

        i = mesh >= 0 ? report->next[i] : i + 1;
        for (int e = batch->first_edge; e < batch->first_edge + batch->edge_count; e++)
            report->value[count++] = side == EDGE_STRETCH ? state->max[e] : 0.0f - state->min[e];
    }
    return count;
}

static void report_quantiles(Report *report, const char *const name[4], const char *target,
                             int count)
{
    static const double q[4] = {0.50, 0.95, 0.99, 1.0};

    for (int i = 0; i < 4; i++) {
        if (!count) {
            measure_missing(&report->sink, name[i], target, "1");
            continue;
        }
        float value = quantile_nearest_rank(report->value, count, q[i], report->keys);
        measure_row(&report->sink, name[i], target, (double)value, "1");
    }
}

static void report_histogram(Report *report, int simulation, const char *target, int count)
{
    int *bin = arena_array(report->arena, int, BIN_COUNT);

    if (!bin)
        return;
    for (int i = 0; i < count; i++) {
        int b = 0;

        while (b + 1 < BIN_COUNT && report->value[i] >= bounds[b + 1])
            b++;
        bin[b]++;
    }
    report->histogram[report->histogram_count++] = (MeasureHistogram){.name = "stretch",
                                                                      .simulation = simulation,
                                                                      .target = target,
                                                                      .bin_count = BIN_COUNT,
                                                                      .bound = bounds,
                                                                      .count = bin};
}

static void report_target(Report *report, const EdgeSet *set, const EdgeState *state, int mesh,
                          const char *target)
{
    static const char *const stretch[4] = {"stretch.p50", "stretch.p95", "stretch.p99",
                                           "stretch.max"};
    static const char *const compress[4] = {"compress.p50", "compress.p95", "compress.p99",
                                            "compress.max"};
    // before the first sample there is nothing
    bool has_any = state->sample_count > 0;
    int count = has_any ? gather(report, set, state, mesh, EDGE_STRETCH) : 0;

    report_quantiles(report, stretch, target, count);
    report_histogram(report, set->simulation, target, count);
    count = has_any ? gather(report, set, state, mesh, EDGE_COMPRESSION) : 0;
    report_quantiles(report, compress, target, count);
}

/* The last output frame at or before a sample. */
static int frame_of_sample(const TallyModel *tally, int sample)
{
    int64_t frame =
        (int64_t)sample * tally->fps_numerator / ((int64_t)tally->rate * tally->fps_denominator);

    return frame < tally->frame_count ? (int)frame : tally->frame_count - 1;
}

static MeasureEdge describe_edge(const TallyModel *tally, const EdgeSet *set,
                                 const EdgeState *state, const EdgeBatch *batch, int e)
{
    return (MeasureEdge){.simulation = set->simulation,
                         .target = batch->key,
                         .a = batch->vertex[set->a[e] - batch->first_vertex],
                         .b = batch->vertex[set->b[e] - batch->first_vertex],
                         .value = state->max[e],
                         .frame = frame_of_sample(tally, state->when[e]),
                         .time = (double)state->when[e] / tally->rate,
                         .position = dvec3_float(state->middle[e])};
}

/* The ten worst of the set, worst first, of equal ones the earlier. */
static void report_worst(Report *report, const EdgeSet *set, const EdgeState *state)
{
    MeasureEdge *worst = report->worst + report->worst_count;
    int count = 0;

    for (int i = 0; i < set->batch_count && state->sample_count; i++) {
        const EdgeBatch *batch = &set->batch[i];

        for (int e = batch->first_edge; e < batch->first_edge + batch->edge_count; e++) {
            if (count == WORST_EDGES && !(state->max[e] > worst[count - 1].value))
                continue;
            int place = count < WORST_EDGES ? count++ : count - 1;
            for (; place > 0 && state->max[e] > worst[place - 1].value; place--)
                worst[place] = worst[place - 1];
            worst[place] = describe_edge(report->tally, set, state, batch, e);
        }
    }
    report->worst_count += count;
}

static void report_edges(Report *report, int index, const TallyPart *part)
{
    const TallyModel *tally = report->tally;
    const EdgeSet *set = &tally->edges[index];

    join_batches(report, set);
    report_target(report, set, &part->edges, -1, "*");
    for (int i = 0; i < set->batch_count; i++) {
        int mesh = mesh_of(tally, &set->batch[i]);

        if (report->first[mesh] == i)
            report_target(report, set, &part->edges, mesh, tally->parts->rig->mesh[mesh].key);
    }
    report_worst(report, set, &part->edges);
    if (!set->edge_count) {
        warnings_add(&report->warnings, "stretch_missing",
                     "simulation %d moves no edge of a mesh: there is no stretch to measure",
                     set->simulation);
        return;
    }
    int samples = part->edges.sample_count;
    measure_series(&report->sink, "stretch.p99", "*", "1", part->p99, samples);
    measure_series(&report->sink, "stretch.max", "*", "1", part->max, samples);
}

/* --- the rest --- */

static void report_settling(Report *report, const TallyState *state, int index)
{
    const TallyModel *tally = report->tally;
    const Part *part = &tally->parts->part[index];
    const float *speed = state->part[index].speed;
    float greatest = 0.0f;

    if (!part->info.segment_count)
        return;
    if (!state->speed_count) {
        measure_missing(&report->sink, "settle.speed", "*", "m/s");
        warnings_add(&report->warnings, "settle_missing",
                     "simulation %d: settling is measured over the last 2 s of at least 6 s of "
                     "settle, got %g s",
                     part->simulation, tally->settle);
        return;
    }
    for (int i = 0; i < part->info.chain_count; i++)
        greatest = speed[i] > greatest ? speed[i] : greatest;
    measure_row(&report->sink, "settle.speed", "*", (double)greatest, "m/s");
    for (int i = 0; i < part->info.chain_count; i++)
        measure_row(&report->sink, "settle.speed", part->info.chain_key[i], (double)speed[i],
                    "m/s");
}

static void report_part(Report *report, const TallyState *state, const PartsState *parts, int index)
{
    const Part *part = &report->tally->parts->part[index];
    const TallyPart *own = &state->part[index];

    report->sink.simulation = part->simulation;
    report_edges(report, index, own);
    report_settling(report, state, index);
    if (report->tally->is_loop) {
        if (own->seam_gap >= 0.0)
            measure_row(&report->sink, "loop.seam", "*", own->seam_gap, "m");
        else
            measure_missing(&report->sink, "loop.seam", "*", "m");
    }
    measure_row(&report->sink, "nonfinite", "*", own->nonfinite, "1");
    if (part->ops->measure)
        part->ops->measure(part->model, parts->part[index].state, &report->sink);
}

/* Room for everything that can be said of the report's tally. */
static Status make_room(Report *report, Error *err)
{
    const TallyModel *tally = report->tally;
    Arena *arena = report->arena;
    int targets = 0, batches = 0, chains = 0, edges = 0, more = 0, count = tally->parts->count;

    for (int i = 0; i < count; i++) {
        targets += tally->edges[i].batch_count + 1;
        chains += tally->parts->part[i].info.chain_count + 1;
        more += tally->parts->part[i].info.row_count;
        batches = tally->edges[i].batch_count > batches ? tally->edges[i].batch_count : batches;
        edges = tally->edges[i].edge_count > edges ? tally->edges[i].edge_count : edges;
    }
    int rows = 8 * targets + chains + 2 * count + SOLVER_ROWS * chains + more;
    int series = 2 * count + SOLVER_SERIES * chains;
    report->warnings = warnings_open(arena, WARNING_CAPACITY);
    report->histogram = arena_array(arena, MeasureHistogram, targets);
    report->worst = arena_array(arena, MeasureEdge, WORST_EDGES * (size_t)count);
    report->first = arena_array(arena, int, tally->parts->rig->mesh_count);
    report->next = arena_array(arena, int, batches);
    report->value = arena_array(arena, float, edges);
    report->keys = arena_array(arena, uint32_t, edges);
    report->sink = (MeasureSink){.arena = arena,
                                 .row_capacity = rows,
                                 .series_capacity = series,
                                 .row = arena_array(arena, MeasureRow, rows),
                                 .series = arena_array(arena, MeasureSeries, series),
                                 .warnings = &report->warnings};
    if (!report->warnings.capacity || !report->histogram || !report->worst || !report->first ||
        !report->next || !report->value || !report->keys || !report->sink.row ||
        !report->sink.series)
        return error_set(err, STATUS_NO_MEMORY, "no room for the measures of %d simulations",
                         count);
    return STATUS_OK;
}

Status tally_report(const TallyModel *tally, const TallyState *state, const PartsState *parts,
                    Arena *arena, Measures *out, Error *err)
{
    Report report = {.tally = tally, .arena = arena};

    if (make_room(&report, err))
        return err->status;
    for (int i = 0; i < tally->parts->count; i++)
        report_part(&report, state, parts, i);
    if (report.sink.dropped)
        warnings_add(&report.warnings, "measures_dropped", "%d rows or series had no room",
                     report.sink.dropped);
    out->rate = tally->rate;
    out->row_count = report.sink.row_count;
    out->row = report.sink.row;
    out->series_count = report.sink.series_count;
    out->series = report.sink.series;
    out->histogram_count = report.histogram_count;
    out->histogram = report.histogram;
    out->edge_count = report.worst_count;
    out->worst_edge = report.worst;
    out->warnings = report.warnings;
    return STATUS_OK;
}
