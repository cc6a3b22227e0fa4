#include "server/jobs/runner.h"

#include "server/jobs/names.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    COST_BINS_AN_OCTAVE = 32, /* steps of 2.2 % */
    COST_BINS = 40 * COST_BINS_AN_OCTAVE,
    PIECE_MAX = 1 << 30,    /* bytes of one frame's records */
    MEASURES_MAX = 1 << 28, /* bytes of the measures as JSON */
    USED_MAX = 16 << 20,    /* bytes of what a job uses as JSON */
    COST_ROWS = 4
};

/* Durations of sub-steps, from 1 ns to 2^40 ns, in bins of equal ratio. */
typedef struct Costs {
    int64_t count;
    int64_t bin[COST_BINS];
    double sum; /* seconds, frames included */
    double max;
} Costs;

typedef struct Run {
    const Rig *rig;
    const JobSpec *spec;
    const RunHost *host;
    Arena *arena;
    const BakeModel *model;
    BakeState *state;
    FrameWriter *writer;
    ByteWriter piece;
    Sha256 hash;
    Costs costs;
    double began; /* seconds of the clock */
    double told;  /* when progress was told last */
    double shown; /* when running measures were */
    double progress;
    bool is_appending; /* the host still takes pieces */
    bool is_done;
    RunResult result;
} Run;

RunOptions run_options_default(void)
{
    return (RunOptions){.simd = simd_level_best(), .progress_rate = 15, .measure_rate = 2};
}

static double now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* --- costs --- */

static void add_cost(Costs *costs, double seconds)
{
    double octaves = log2(fmax(seconds * 1e9, 1.0));
    int bin = (int)(octaves * COST_BINS_AN_OCTAVE);

    costs->bin[bin < COST_BINS ? bin : COST_BINS - 1]++;
    costs->count++;
    costs->max = fmax(costs->max, seconds);
}

/* The nearest-rank quantile, as the middle of its bin. */
static double cost_quantile(const Costs *costs, double quantile)
{
    int64_t rank = (int64_t)ceil(quantile * (double)costs->count);
    int64_t seen = 0;

    for (int i = 0; i < COST_BINS; i++) {
        seen += costs->bin[i];
        if (seen >= rank && seen > 0)
            return fmin(exp2((i + 0.5) / COST_BINS_AN_OCTAVE) * 1e-9, costs->max);
    }
    return costs->max;
}

static double simulated_seconds(const Run *run)
{
    return run->progress * (double)bake_tick_count(run->model) /
           run->spec->bake.time.substeps_per_second;
}

static const char *const cost_name[COST_ROWS] = {"cost.step.p50", "cost.step.p95", "cost.step.max",
                                                 "cost.realtime"};

/* The bake's rows and the host's cost.* behind them. */
static void add_cost_rows(Run *run, Measures *measures)
{
    const Costs *costs = &run->costs;
    const MeasureRow cost[COST_ROWS] = {
        {cost_name[0], -1, "*", cost_quantile(costs, 0.5), false, "s"},
        {cost_name[1], -1, "*", cost_quantile(costs, 0.95), false, "s"},
        {cost_name[2], -1, "*", costs->max, false, "s"},
        {cost_name[3], -1, "*", costs->sum > 0 ? simulated_seconds(run) / costs->sum : 0,
         !(costs->sum > 0), "1"},
    };
    MeasureRow *row = arena_array(run->arena, MeasureRow, measures->row_count + COST_ROWS);

    if (!row || costs->count == 0)
        return;
    if (measures->row_count)
        memcpy(row, measures->row, (size_t)measures->row_count * sizeof *row);
    memcpy(row + measures->row_count, cost, sizeof cost);
    measures->row = row;
    measures->row_count += COST_ROWS;
}

/* --- the host --- */

static Status append(Run *run, int frame, bool is_key, Error *err)
{
    RunPiece piece = {byte_writer_bytes(&run->piece), frame, is_key};

    if (run->host->append(run->host->context, &piece, err)) {
        run->is_appending = false;
        return err->status;
    }
    sha256_add(&run->hash, piece.bytes.data, piece.bytes.size);
    run->result.bytes += (int64_t)piece.bytes.size;
    byte_writer_clear(&run->piece);
    return STATUS_OK;
}

/* Measures so far, in arena memory that is given back after the call. */
static void tell(Run *run, double time, bool has_measures)
{
    size_t mark = arena_mark(run->arena);
    bool overflowed = run->arena->overflowed;
    Measures measures;
    Error ignored = {0};
    RunProgress progress = {
        .progress = run->progress,
        .frame = run->result.frames - 1,
        .frame_count = run->spec->frame_count,
        .seconds = time - run->began,
        .simulated = simulated_seconds(run),
    };

    if (has_measures && !bake_measure(run->model, run->state, run->arena, &measures, &ignored))
        progress.measures = &measures;
    run->host->progress(run->host->context, &progress);
    arena_rewind(run->arena, mark);
    run->arena->overflowed = overflowed;
    run->told = time;
}

static void tell_when_due(Run *run)
{
    double time = run->host->progress ? now() : 0;

    if (!run->host->progress || run->host->options.progress_rate <= 0 ||
        time - run->told < 1.0 / run->host->options.progress_rate)
        return;
    bool has_measures = run->host->options.measure_rate > 0 &&
                        time - run->shown >= 1.0 / run->host->options.measure_rate;
    if (has_measures)
        run->shown = time;
    tell(run, time, has_measures);
}

/* --- gates --- */

/* A gate on what the bake does not measure would only fail at its end. */
static Status check_gates(const JobSpec *spec, const Measures *measures, Faults *faults,
                          Arena *arena, Error *err)
{
    const JsonReader root = {.faults = faults};
    const JsonReader gates = {.parent = &root, .key = "gates", .faults = faults};
    int count = measures->row_count + COST_ROWS;
    const char **key = arena_array(arena, const char *, count);

    if (!key)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of measures");
    for (int i = 0; i < count; i++)
        key[i] = i < COST_ROWS ? cost_name[i] : measures->row[i - COST_ROWS].name;
    Names names = names_build("measure", key, count, arena);
    for (int i = 0; i < spec->gate_count && !arena->overflowed; i++) {
        const char *name = spec->gate[i].name;
        const char *near = names_nearest(&names, name);
        const JsonReader gate = {.parent = &gates, .key = name, .faults = faults};

        if (names_find(&names, name) < 0)
            json_fault(&gate, "names \"%s\", which this job does not measure%s%s%s", name,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of measures");
    return faults_status(faults, err);
}

/* --- the run --- */

static Status start(Run *run, Error *err)
{
    Faults faults = faults_open(run->arena, 1);
    Measures measures;
    BakeOptions options = {.simd = run->host->options.simd};

    run->began = now();
    if (bake_build(run->rig, &run->spec->bake, &options, run->arena, &run->model, err) ||
        bake_start(run->model, run->arena, &run->state, err) ||
        bake_measure(run->model, run->state, run->arena, &measures, err) ||
        check_gates(run->spec, &measures, &faults, run->arena, err) ||
        frame_writer_open(bake_header(run->model), run->arena, &run->piece, &run->writer, err))
        return err->status;
    run->is_appending = true;
    run->shown = run->began;
    return append(run, -1, false, err);
}

static Status write_frame(Run *run, Error *err)
{
    const FrameData *frame = bake_frame(run->state);

    if (frame_writer_frame(run->writer, frame, &run->piece, err) ||
        append(run, frame->frame, frame_writer_is_key(run->writer), err))
        return err->status;
    run->result.frames++;
    return STATUS_OK;
}

static Status step_all(Run *run, Error *err)
{
    const atomic_bool *stop = run->host->stop;
    BakeEvent event = {0};

    while (event.kind != BAKE_DONE) {
        if (stop && atomic_load_explicit(stop, memory_order_relaxed))
            return error_set(err, STATUS_CANCELLED, "the bake was stopped after %d of %d frames",
                             run->result.frames, run->spec->frame_count);
        double before = now();
        if (bake_advance(run->model, run->state, &event, err))
            return err->status;
        double cost = now() - before;
        run->costs.sum += cost;
        if (event.kind == BAKE_STEPPED)
            add_cost(&run->costs, cost);
        run->progress = event.progress;
        if (event.kind == BAKE_FRAME && write_frame(run, err))
            return err->status;
        tell_when_due(run);
    }
    return STATUS_OK;
}

/* The measures and the end of the stream. */
static Status close_stream(Run *run, const Measures *measures, Error *err)
{
    Text json = text_open(MEASURES_MAX, err);
    JsonWriter writer = json_writer(&json, 0);

    measures_write_json(measures, MEASURES_REPRODUCIBLE, &writer);
    bool is_written =
        !err->status && !frame_writer_measures(run->writer, text_string(&json), &run->piece, err);
    text_close(&json);
    if (!is_written ||
        frame_writer_end(run->writer, run->is_done ? FRAMES_COMPLETE : FRAMES_STOPPED, &run->piece,
                         err))
        return err->status;
    return append(run, run->spec->frame_count, false, err);
}

static void finish(Run *run, Error *err)
{
    RunResult *result = &run->result;
    uint8_t digest[SHA256_SIZE];
    Error own = {0};

    // what was measured and written stays good when the bake fails: only its own failure counts
    Error *fault = err->status ? &own : err;
    byte_writer_close(&run->piece);
    run->piece = byte_writer(PIECE_MAX, fault);
    if (run->state && !bake_measure(run->model, run->state, run->arena, &result->measures, fault)) {
        if (run->is_appending && close_stream(run, &result->measures, fault))
            run->is_appending = false;
        add_cost_rows(run, &result->measures);
    }
    sha256_end(&run->hash, digest);
    sha256_hex(digest, result->sha256);
    result->seconds = now() - run->began;
    result->simulated = run->model ? simulated_seconds(run) : 0;
    result->memory = run->arena->used;
    result->has_gates = run->spec->gate_count > 0;
    result->passed =
        run->is_done && measures_pass(&result->measures, run->spec->gate, run->spec->gate_count,
                                      result->reason, sizeof result->reason);
}

Status run_job(const Rig *rig, const JobSpec *spec, const RunHost *host, Arena *arena,
               RunResult *out, Error *err)
{
    Run run = {.rig = rig, .spec = spec, .host = host, .arena = arena};

    run.piece = byte_writer(PIECE_MAX, err);
    sha256_begin(&run.hash);
    if (!start(&run, err)) {
        if (host->progress)
            tell(&run, run.began, false);
        run.is_done = !step_all(&run, err);
    }
    finish(&run, err);
    if (run.state && host->progress)
        tell(&run, now(), false);
    byte_writer_close(&run.piece);
    *out = run.result;
    return err->status;
}

/* --- the plan --- */

/* What each simulation uses, as JSON in the arena; NULL where there is no room. */
static const char *describe_used(const BakeModel *model, Arena *arena, Error *err)
{
    Text text = text_open(USED_MAX, err);
    JsonWriter json = json_writer(&text, 0);

    json_begin_array(&json, NULL);
    bake_write_used(model, &json);
    json_end_array(&json);
    const char *copy = arena_text(arena, text_string(&text), text_length(&text));
    if (!copy)
        error_set(err, STATUS_NO_MEMORY, "no room for what the job uses");
    text_close(&text);
    return err->status ? NULL : copy;
}

/* Bytes of a frame, as the codec usually makes them: 16-bit positions and normals cost 3.2 bytes a
 * vertex, everything else is exact. */
static double frame_bytes(const FrameHeader *header)
{
    double bytes = 0;

    for (int i = 0; i < header->channel_count; i++) {
        const FrameChannel *channel = &header->channel[i];
        bool is_packed = header->precision == 16 &&
                         (channel->kind == CHANNEL_POSITIONS || channel->kind == CHANNEL_NORMALS ||
                          channel->kind == CHANNEL_TETS);

        bytes += FRAME_RECORD_HEAD + channel->float_count * (is_packed ? 3.2 / 3 : 4.0);
    }
    return bytes;
}

Status run_plan(const Rig *rig, const JobSpec *spec, Faults *faults, Arena *arena, RunPlan *out,
                Error *err)
{
    BakeOptions options = {.simd = SIMD_SCALAR};
    const BakeModel *model = NULL;
    BakeState *state = NULL;
    Measures measures;
    size_t before = arena->used;

    if (bake_build(rig, &spec->bake, &options, arena, &model, err) ||
        bake_start(model, arena, &state, err) || bake_measure(model, state, arena, &measures, err))
        return err->status;
    size_t memory = arena->used - before + frames_arena_size(bake_header(model));
    if (check_gates(spec, &measures, faults, arena, err))
        return err->status;
    const FrameHeader *header = bake_header(model);
    const char *used = describe_used(model, arena, err);
    if (!used)
        return err->status;
    *out = (RunPlan){
        .frame_count = header->frame_count,
        .tick_count = bake_tick_count(model),
        .memory = memory,
        .stream_bytes = (int64_t)(frame_bytes(header) * header->frame_count),
        .warnings = *bake_warnings(model),
        .used = used,
    };
    return STATUS_OK;
}
