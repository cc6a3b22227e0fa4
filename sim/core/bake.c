#include "core/bake_internal.h"

#include <string.h>

enum {
    MAX_FRAMES = 1000000,
    MAX_FPS_PART = 1000000, /* of numerator and denominator: products of moments must fit */
    MAX_SECONDS = 100000,
    WARNING_CAPACITY = 256
};

/* --- time --- */

static Status check_time(const BakeSpec *spec, Error *err)
{
    const TimeSpec *time = &spec->time;

    if (!(time->end >= time->start) || !(time->end - time->start <= MAX_SECONDS) ||
        !(fabs(time->start) <= MAX_SECONDS))
        return error_set(err, STATUS_INVALID, "time from %g to %g s cannot be baked", time->start,
                         time->end);
    if (time->fps_numerator < 1 || time->fps_denominator < 1 ||
        time->fps_numerator > MAX_FPS_PART || time->fps_denominator > MAX_FPS_PART)
        return error_set(err, STATUS_INVALID, "%d/%d frames per second cannot be baked",
                         time->fps_numerator, time->fps_denominator);
    if (time->substeps_per_second < 1 || time->substeps_per_second > 100000)
        return error_set(err, STATUS_INVALID, "%d substeps per second cannot be baked",
                         time->substeps_per_second);
    if (spec->measure_rate < 1 || spec->measure_rate > 100000)
        return error_set(err, STATUS_INVALID, "%d measures per second cannot be taken",
                         spec->measure_rate);
    if (!(time->warm_up >= 0.0 && time->warm_up <= MAX_SECONDS) ||
        !(time->settle >= 0.0 && time->settle <= MAX_SECONDS))
        return error_set(err, STATUS_INVALID, "warm_up %g s and settle %g s cannot be baked",
                         time->warm_up, time->settle);
    return STATUS_OK;
}

/* How many points of a grid lie in [0, length]; a millionth of its spacing is forgiven, for lengths
 * are decimal fractions that doubles miss by a little. */
static int64_t count_points(double length, double rate)
{
    return (int64_t)floor(length * rate + 1e-6) + 1;
}

/* The tick at which everything starts: warm-up and the first cycle of a loop before frame 0, and a
 * step of every part. */
static int64_t first_tick(const BakeSpec *spec, const Parts *parts)
{
    const TimeSpec *time = &spec->time;
    double before = time->warm_up + (time->is_loop ? time->end - time->start : 0.0);
    int64_t ticks = (int64_t)ceil(before * time->substeps_per_second - 1e-6);
    int64_t common = 1; /* ticks after which all slower parts step together */

    for (int i = 0; i < parts->count; i++) {
        int64_t period =
            parts->part[i].rate < parts->tick_rate ? parts->tick_rate / parts->part[i].rate : 1;
        int64_t multiple = common;
        while (multiple % period)
            multiple += common;
        common = multiple;
    }
    return -(ticks + common - 1) / common * common;
}

static void plan_time(const BakeSpec *spec, BakeModel *model)
{
    const TimeSpec *time = &spec->time;
    double length = time->end - time->start;

    model->tick_rate = time->substeps_per_second;
    model->first_tick = first_tick(spec, &model->parts);
    model->last_tick = (int64_t)ceil((length + time->settle) * model->tick_rate - 1e-6);
    model->loop_end = (Moment){(int64_t)floor(length * 1e6 + 0.5), 1000000};
}

/* --- building --- */

static Status plan_header(const BakeSpec *spec, BakeModel *model, Error *err)
{
    const TimeSpec *time = &spec->time;
    double fps = (double)time->fps_numerator / time->fps_denominator;
    int64_t frames = count_points(time->end - time->start, fps);

    if (frames > MAX_FRAMES)
        return error_set(err, STATUS_LIMIT, "%lld frames are more than %d", (long long)frames,
                         MAX_FRAMES);
    model->header = (FrameHeader){.fps_numerator = time->fps_numerator,
                                  .fps_denominator = time->fps_denominator,
                                  .frame_count = (int)frames,
                                  .start = time->start,
                                  .is_loop = time->is_loop,
                                  .precision = spec->output.precision,
                                  .key_interval = 30,
                                  .channel_count = model->output.channel_count,
                                  .channel = model->output.channel};
    memcpy(model->header.model_sha256, spec->model_sha256, sizeof model->header.model_sha256);
    return STATUS_OK;
}

static Status plan_tally(const BakeSpec *spec, SimdLevel simd, Arena *arena, BakeModel *model,
                         Error *err)
{
    double length = spec->time.end - spec->time.start + spec->time.settle;
    int64_t samples = count_points(length, spec->measure_rate);

    if (samples > INT32_MAX / 2)
        return error_set(err, STATUS_LIMIT, "%lld samples of measures", (long long)samples);
    model->tally =
        (TallyModel){.parts = &model->parts,
                     .simd = simd,
                     .sample_count = (int)samples,
                     .rate = spec->measure_rate,
                     .frame_count = model->header.frame_count,
                     .fps_numerator = model->header.fps_numerator,
                     .fps_denominator = model->header.fps_denominator,
                     .settled_from = spec->time.settle >= 6.0 ? length - 2.0 : (double)INFINITY,
                     .settle = spec->time.settle,
                     .is_loop = spec->time.is_loop};
    return tally_build(&model->tally, arena, err);
}

Status bake_build_with(const BakeDesc *desc, Arena *arena, const BakeModel **out, Error *err)
{
    const BakeSpec *spec = desc->spec;
    SimdLevel simd = desc->options->simd;
    BakeModel *model = arena_array(arena, BakeModel, 1);

    if (!model)
        return error_set(err, STATUS_NO_MEMORY, "no room for a bake");
    if (check_time(spec, err))
        return err->status;
    model->rig = desc->rig;
    model->warnings = warnings_open(arena, WARNING_CAPACITY);
    const PartsDesc parts = {.rig = desc->rig,
                             .spec = spec,
                             .simd = simd,
                             .solver = desc->solver,
                             .warnings = &model->warnings};
    if (!model->warnings.capacity)
        return error_set(err, STATUS_NO_MEMORY, "no room for a bake");
    if (parts_build(&parts, arena, &model->parts, err))
        return err->status;
    if (output_build(&model->parts, &spec->output, simd, arena, &model->output, err))
        return err->status;
    plan_time(spec, model);
    if (plan_header(spec, model, err) || plan_tally(spec, simd, arena, model, err))
        return err->status;
    *out = model;
    return STATUS_OK;
}

Status bake_build(const Rig *rig, const BakeSpec *spec, const BakeOptions *options, Arena *arena,
                  const BakeModel **out, Error *err)
{
    const SolverOps *solver[SIMULATION_KIND_COUNT];

    for (int i = 0; i < SIMULATION_KIND_COUNT; i++)
        solver[i] = solver_find((SimulationKind)i);
    return bake_build_with(&(BakeDesc){rig, spec, options, solver}, arena, out, err);
}

Status bake_start(const BakeModel *model, Arena *arena, BakeState **out, Error *err)
{
    BakeState *state = arena_array(arena, BakeState, 1);

    if (!state)
        return error_set(err, STATUS_NO_MEMORY, "no room for a run");
    state->arena = arena;
    state->tick = model->first_tick;
    if (pose_build(model->rig, arena, &state->pose, err) ||
        output_start(&model->output, arena, &state->frames, err) ||
        tally_start(&model->tally, arena, &state->tally, err) ||
        parts_start(&model->parts, model->first_tick, arena, &state->parts, err))
        return err->status;
    *out = state;
    return STATUS_OK;
}

/* --- running --- */

static Moment moment_of_frame(const BakeModel *model, int frame)
{
    return (Moment){(int64_t)frame * model->header.fps_denominator, model->header.fps_numerator};
}

static Moment moment_of_sample(const BakeModel *model, int sample)
{
    return (Moment){sample, model->tally.rate};
}

static bool take_earlier(Moment candidate, Moment *moment)
{
    if (moment_compare(candidate, *moment) >= 0)
        return false;
    *moment = candidate;
    return true;
}

/* What comes next: the next tick, or an earlier moment that is output or measured. Those at the
 * tick itself come after it. */
static Moment next_moment(const BakeModel *model, const BakeState *state, bool *out_is_tick)
{
    Moment moment = {state->tick + 1, model->tick_rate};
    bool is_other = false;

    if (state->frame < model->header.frame_count)
        is_other |= take_earlier(moment_of_frame(model, state->frame), &moment);
    if (state->tally.sample < model->tally.sample_count)
        is_other |= take_earlier(moment_of_sample(model, state->tally.sample), &moment);
    if (model->tally.is_loop && state->seam < 2)
        is_other |= take_earlier(state->seam ? model->loop_end : (Moment){0, 1}, &moment);
    *out_is_tick = !is_other;
    return moment;
}

/* Output and measure what is due at this moment. */
static Status look(const BakeModel *model, BakeState *state, Moment moment, bool *out_is_frame,
                   Error *err)
{
    double time = moment_seconds(moment);

    if (parts_advance(&model->parts, &state->parts, moment, err))
        return err->status;
    parts_pose(&model->parts, &state->parts, moment, &state->pose);
    if (tally_check(&model->tally, &state->tally, &state->pose, time, err))
        return err->status;
    if (model->tally.is_loop && state->seam < 2) {
        Moment seam = state->seam ? model->loop_end : (Moment){0, 1};
        if (moment_compare(seam, moment) == 0)
            tally_seam(&model->tally, &state->tally, &state->pose,
                       state->seam++ ? TALLY_LOOP_END : TALLY_LOOP_START);
    }
    if (state->tally.sample < model->tally.sample_count &&
        moment_compare(moment_of_sample(model, state->tally.sample), moment) == 0)
        tally_sample(&model->tally, &state->tally, &state->parts, &state->pose, time);
    *out_is_frame = state->frame < model->header.frame_count &&
                    moment_compare(moment_of_frame(model, state->frame), moment) == 0;
    if (*out_is_frame)
        output_fill(&model->output, &state->pose, state->frame++, time, &state->frames);
    return STATUS_OK;
}

static bool is_all_seen(const BakeModel *model, const BakeState *state)
{
    return state->frame >= model->header.frame_count &&
           state->tally.sample >= model->tally.sample_count &&
           (!model->tally.is_loop || state->seam == 2);
}

static double progress_of(const BakeModel *model, const BakeState *state)
{
    int64_t all = model->last_tick - model->first_tick;

    return all > 0 ? (double)(state->tick - model->first_tick) / (double)all : 1.0;
}

Status bake_advance(const BakeModel *model, BakeState *state, BakeEvent *out, Error *err)
{
    BakeEventKind kind = BAKE_STEPPED;
    bool is_tick = false;

    while (kind == BAKE_STEPPED && !is_tick) {
        if (state->tick >= model->last_tick && is_all_seen(model, state)) {
            kind = BAKE_DONE;
            break;
        }
        Moment moment = next_moment(model, state, &is_tick);
        bool is_frame = false;
        if (is_tick) {
            if (parts_advance(&model->parts, &state->parts, moment, err))
                return err->status;
            state->tick++;
        } else if (look(model, state, moment, &is_frame, err)) {
            return err->status;
        }
        if (is_frame)
            kind = BAKE_FRAME;
    }
    *out = (BakeEvent){.kind = kind, .progress = progress_of(model, state)};
    return STATUS_OK;
}

/* --- reading --- */

const FrameData *bake_frame(const BakeState *state)
{
    return &state->frames.frame;
}

const FrameHeader *bake_header(const BakeModel *model)
{
    return &model->header;
}

const Warnings *bake_warnings(const BakeModel *model)
{
    return &model->warnings;
}

int64_t bake_tick_count(const BakeModel *model)
{
    return model->last_tick - model->first_tick;
}

Status bake_measure(const BakeModel *model, const BakeState *state, Arena *arena, Measures *out,
                    Error *err)
{
    Measures measures = {.is_partial = state->tick < model->last_tick || !is_all_seen(model, state),
                         .frames = state->frame};

    if (tally_report(&model->tally, &state->tally, &state->parts, arena, &measures, err))
        return err->status;
    for (int i = 0; i < model->warnings.count; i++)
        warnings_add(&measures.warnings, model->warnings.warning[i].code, "%s",
                     model->warnings.warning[i].detail);
    measures.warnings.dropped += model->warnings.dropped;
    *out = measures;
    return STATUS_OK;
}

void bake_write_used(const BakeModel *model, JsonWriter *json)
{
    for (int i = 0; i < model->parts.count; i++) {
        const Part *part = &model->parts.part[i];

        if (!part->ops->write_used)
            continue;
        json_begin_object(json, NULL);
        json_write_int(json, "simulation", part->simulation);
        json_begin_object(json, part->ops->name);
        part->ops->write_used(part->model, json);
        json_end_object(json);
        if (part->ops->write_fit)
            part->ops->write_fit(part->model, json);
        json_end_object(json);
    }
}

uint64_t bake_hash(const BakeModel *model, const BakeState *state)
{
    return parts_hash(&model->parts, &state->parts) ^ (uint64_t)state->tick;
}
