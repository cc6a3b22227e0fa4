#include "core/parts.h"

#include <string.h>

/* --- building --- */

static Status check_rate(const SimulationSpec *spec, int tick_rate, Error *err)
{
    if (spec->rate < 1 || spec->rate > 100000 || (tick_rate % spec->rate && spec->rate % tick_rate))
        return error_set(err, STATUS_INVALID,
                         "rate %d must be a divisor or a multiple of the %d substeps per second",
                         spec->rate, tick_rate);
    return STATUS_OK;
}

static bool is_at_or_below(const Rig *rig, const bool *is_marked, int node)
{
    return is_marked[node] || (rig->node[node].parent >= 0 && is_marked[rig->node[node].parent]);
}

/* Which nodes the part writes and which hang below them; nobody else may write them. */
static Status list_nodes(const Rig *rig, bool *is_driven, Arena *arena, Part *part, Error *err)
{
    bool *is_affected = arena_array(arena, bool, rig->node_count);
    int *driven = arena_array(arena, int, rig->node_count);
    int *affected = arena_array(arena, int, rig->node_count);

    if (!is_affected || !driven || !affected)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", rig->node_count);
    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i];

        is_affected[node] = part->info.is_driven[node];
        if (part->info.is_driven[node]) {
            if (is_driven[node])
                return error_set(err, STATUS_INVALID,
                                 "node \"%s\" is moved by an earlier simulation already",
                                 rig->node[node].key);
            is_driven[node] = true;
            driven[part->driven_count++] = node;
        }
        is_affected[node] = is_at_or_below(rig, is_affected, node);
        if (is_affected[node])
            affected[part->affected_count++] = node;
    }
    part->driven = driven;
    part->affected = affected;
    return STATUS_OK;
}

typedef struct PartsBuilder {
    const PartsDesc *desc;
    const Parts *parts;
    bool *is_driven; /* nodes that earlier parts write */
    Arena *arena;
} PartsBuilder;

static Status build_part(const PartsBuilder *builder, int simulation, Part *out, Error *err)
{
    const PartsDesc *desc = builder->desc;
    const SimulationSpec *spec = &desc->spec->simulation[simulation];
    Part part = {.ops = desc->solver[spec->kind],
                 .spec = spec,
                 .simulation = simulation,
                 .rate = spec->rate};
    PartDesc part_desc = {.rig = desc->rig,
                          .spec = spec,
                          .simulation = simulation,
                          .dt = (float)(1.0 / spec->rate),
                          .simd = desc->simd,
                          .is_rotated = builder->parts->motion.is_animated,
                          .is_driven = builder->is_driven,
                          .hidden_count = desc->spec->output.hidden_count,
                          .hidden = desc->spec->output.hidden,
                          .warnings = desc->warnings};

    if (!part.ops)
        return error_set(err, STATUS_INVALID, "this version cannot simulate \"%s\"",
                         simulation_kind_name(spec->kind));
    if (check_rate(spec, builder->parts->tick_rate, err) ||
        part.ops->build(&part_desc, builder->arena, &part.model, err))
        return err->status;
    part.ops->describe(part.model, &part.info);
    if (list_nodes(desc->rig, builder->is_driven, builder->arena, &part, err))
        return err->status;
    *out = part;
    return STATUS_OK;
}

/* A part is driven ahead of the output by a later one whose steps do not end at its own; then
 * enough of its steps are kept to go back by one step of the other. */
static void plan_history(Part *part, int count)
{
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++) {
            int steps = part[i].rate / part[j].rate + 3;

            if (part[j].rate % part[i].rate && steps > part[i].history)
                part[i].history = steps;
        }
    // whoever is asked for the past asks earlier parts for it too
    for (int i = count - 1; i > 0; i--)
        for (int j = 0; j < i; j++) {
            int64_t steps = (int64_t)part[i].history * part[j].rate / part[i].rate + 3;

            if (part[i].history && steps > part[j].history)
                part[j].history = (int)steps;
        }
}

static int attachment_of_first_chain(const Rig *rig, const BakeSpec *spec)
{
    for (int i = 0; i < spec->simulation_count; i++) {
        const ChainsSpec *chains = &spec->simulation[i].chains;

        if (spec->simulation[i].kind != SIMULATION_CHAINS || !spec->simulation[i].is_enabled)
            continue;
        for (int j = 0; j < rig->spring_count; j++)
            if (rig->spring[j].segment_count && !rig->spring[j].refusal)
                return rig->node[rig->spring[j].segment[0].head].parent;
        for (int j = 0; j < chains->define_count; j++) {
            int root = chains->define[j].root;
            if (chains->define[j].attach >= 0)
                return chains->define[j].attach;
            if (root >= 0 && root < rig->node_count)
                return rig->node[root].parent;
        }
    }
    return -1;
}

static Status build_motion(const PartsDesc *desc, Arena *arena, Parts *parts, Error *err)
{
    const MotionDesc motion = {.rig = desc->rig,
                               .spec = &desc->spec->motion,
                               .time = &desc->spec->time,
                               .attachment = attachment_of_first_chain(desc->rig, desc->spec),
                               .warnings = desc->warnings};

    return motion_build(&motion, arena, &parts->motion, err);
}

Status parts_build(const PartsDesc *desc, Arena *arena, Parts *out, Error *err)
{
    const BakeSpec *spec = desc->spec;
    Parts parts = {
        .rig = desc->rig, .forces = spec->forces, .tick_rate = spec->time.substeps_per_second};
    Part *part = arena_array(arena, Part, spec->simulation_count);
    bool *is_driven = arena_array(arena, bool, desc->rig->node_count);
    const PartsBuilder builder = {desc, &parts, is_driven, arena};

    if (!part || !is_driven)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d simulations",
                         spec->simulation_count);
    if (build_motion(desc, arena, &parts, err))
        return err->status;
    for (int kind = 0; kind < SIMULATION_KIND_COUNT; kind++)
        for (int i = 0; i < spec->simulation_count; i++) {
            if ((int)spec->simulation[i].kind != kind || !spec->simulation[i].is_enabled)
                continue;
            if (build_part(&builder, i, &part[parts.count], err))
                return error_context(err, "simulation %d", i);
            parts.has_fast |= part[parts.count].rate > parts.tick_rate;
            parts.count++;
        }
    plan_history(part, parts.count);
    parts.part = part;
    *out = parts;
    return STATUS_OK;
}

/* --- the body --- */

static bool is_same(MotionMoment a, MotionMoment b)
{
    return a.clip_time == b.clip_time && a.weight == b.weight;
}

static const Pose *pose_of_tick(const Parts *parts, PartsState *state, int64_t tick)
{
    TickPose *place = &state->tick[tick & 1];

    if (place->tick != tick) {
        double time = moment_seconds((Moment){tick, parts->tick_rate});
        motion_pose(&parts->motion, motion_moment(&parts->motion, time), &place->pose);
        place->tick = tick;
    }
    return &place->pose;
}

/* The body as a part sees it at the end of a step: on the tick's grid exactly, between two ticks
 * their blend. */
static void see_body(const Parts *parts, PartsState *state, Moment moment, Pose *out)
{
    int64_t next = moment_ceil(moment, parts->tick_rate);
    int64_t over = next * moment.d - moment.n * parts->tick_rate;

    if (!over || !parts->has_fast) {
        motion_pose(&parts->motion, motion_moment(&parts->motion, moment_seconds(moment)), out);
        return;
    }
    const Pose *before = pose_of_tick(parts, state, next - 1);
    const Pose *now = pose_of_tick(parts, state, next);
    pose_blend(parts->rig, before, now, (float)(1.0 - (double)over / (double)moment.d), out);
}

/* --- what parts write --- */

static Transform *kept_of(const Part *part, const PartState *state, int64_t step)
{
    int64_t place = step % part->history;

    if (place < 0)
        place += part->history;
    return state->kept + place * part->driven_count;
}

static void keep_joints(const Parts *parts, const Part *part, const PartState *own, Pose *work)
{
    pose_copy(parts->rig, &own->seen[own->now], work);
    part->ops->pose(part->model, own->state, 1.0f, work);
    Transform *kept = kept_of(part, own, own->step);
    for (int i = 0; i < part->driven_count; i++)
        kept[i] = work->local[part->driven[i]];
}

/* From the joints that were kept. */
static void write_kept(const Part *part, const PartState *own, int64_t step, float t, Pose *out)
{
    const Transform *before = kept_of(part, own, step - 1);
    const Transform *now = kept_of(part, own, step);

    for (int i = 0; i < part->driven_count; i++)
        out->local[part->driven[i]] = t < 1.0f ? transform_blend(&before[i], &now[i], t) : now[i];
}

/* From the solver: its last step, or part of the way to it from the step before. */
static void write_last(const Part *part, const PartState *own, float t, Pose *out)
{
    if (t < 1.0f) {
        part->ops->pose(part->model, own->state, 0.0f, out);
        for (int i = 0; i < part->driven_count; i++)
            own->before[i] = out->local[part->driven[i]];
    }
    part->ops->pose(part->model, own->state, 1.0f, out);
    for (int i = 0; i < part->driven_count && t < 1.0f; i++) {
        Transform *now = &out->local[part->driven[i]];
        *now = transform_blend(&own->before[i], now, t);
    }
}

/* Lay a part's joints at `moment` over the pose and bring worlds up to date. */
static void write_part(const Parts *parts, int index, const PartsState *state, Moment moment,
                       Pose *out)
{
    const Part *part = &parts->part[index];
    const PartState *own = &state->part[index];
    int64_t step = moment_ceil(moment, part->rate);
    int64_t over = step * moment.d - moment.n * part->rate;
    float t = over ? (float)(1.0 - (double)over / (double)moment.d) : 1.0f;

    if (part->history)
        write_kept(part, own, step, t, out);
    else
        write_last(part, own, t, out);
    pose_update_nodes(parts->rig, part->affected, part->affected_count, out);
}

void parts_pose(const Parts *parts, const PartsState *state, Moment moment, Pose *out)
{
    int first = 0;
    int last = parts->count - 1;

    // what the last part saw when it stepped here is the body with all parts but itself
    if (last >= 0 && moment.n * parts->tick_rate % moment.d == 0 &&
        moment_compare((Moment){state->part[last].step, parts->part[last].rate}, moment) == 0) {
        pose_copy(parts->rig, &state->part[last].seen[state->part[last].now], out);
        first = last;
    } else {
        motion_pose(&parts->motion, motion_moment(&parts->motion, moment_seconds(moment)), out);
    }
    for (int i = first; i < parts->count; i++)
        write_part(parts, i, state, moment, out);
}

/* --- stepping --- */

static Status advance_to(const Parts *parts, PartsState *state, int index, Moment moment,
                         Error *err);

/* The body and earlier parts at `moment`, into the one of the two poses that is older. */
static Status see(const Parts *parts, PartsState *state, int index, Moment moment, Error *err)
{
    PartState *own = &state->part[index];
    MotionMoment wanted = motion_moment(&parts->motion, moment_seconds(moment));
    int next = 1 - own->now;

    own->now = next;
    if (index == 0 && !parts->has_fast && is_same(own->moment[next], wanted))
        return STATUS_OK;
    see_body(parts, state, moment, &own->seen[next]);
    own->moment[next] = wanted;
    for (int i = 0; i < index; i++) {
        if (advance_to(parts, state, i, moment, err))
            return err->status;
        write_part(parts, i, state, moment, &own->seen[next]);
    }
    return STATUS_OK;
}

static Status step_part(const Parts *parts, PartsState *state, int index, Error *err)
{
    const Part *part = &parts->part[index];
    PartState *own = &state->part[index];
    Moment moment = {own->step + 1, part->rate};

    if (see(parts, state, index, moment, err))
        return err->status;
    size_t mark = arena_mark(state->arena);
    const StepInput input = {.time = moment_seconds(moment),
                             .dt = (float)(1.0 / part->rate),
                             .forces = &parts->forces,
                             .before = &own->seen[1 - own->now],
                             .now = &own->seen[own->now],
                             .scratch = state->arena};
    Status status = part->ops->step(part->model, own->state, &input, err);
    arena_rewind(state->arena, mark);
    if (status)
        return error_context(err, "simulation %d (%s) at %.3f s", part->simulation, part->ops->name,
                             input.time);
    own->step++;
    if (part->history)
        keep_joints(parts, part, own, &state->work);
    return STATUS_OK;
}

/* Recursion goes from a part to earlier ones only, at most as deep as there are parts. */
static Status advance_to(const Parts *parts, PartsState *state, int index, Moment moment,
                         Error *err)
{
    int64_t step = moment_ceil(moment, parts->part[index].rate);

    while (state->part[index].step < step)
        if (step_part(parts, state, index, err))
            return err->status;
    return STATUS_OK;
}

Status parts_advance(const Parts *parts, PartsState *state, Moment moment, Error *err)
{
    for (int i = 0; i < parts->count; i++)
        if (advance_to(parts, state, i, moment, err))
            return err->status;
    return STATUS_OK;
}

/* --- starting --- */

static Status start_part(const Parts *parts, int64_t first, int index, Arena *arena,
                         PartsState *state, Error *err)
{
    const Part *part = &parts->part[index];
    PartState *own = &state->part[index];
    Moment moment = {first, parts->tick_rate};

    *own = (PartState){.step = moment_ceil(moment, part->rate)};
    if (pose_build(parts->rig, arena, &own->seen[0], err) ||
        pose_build(parts->rig, arena, &own->seen[1], err))
        return err->status;
    own->kept = arena_array(arena, Transform, (size_t)part->history * (size_t)part->driven_count);
    own->before = arena_array(arena, Transform, part->driven_count);
    if (!own->kept || !own->before)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d steps", part->history);

    // no step has been seen yet: a clip time that never comes
    own->moment[0] = own->moment[1] = (MotionMoment){-INFINITY, 0.0};
    if (see(parts, state, index, moment, err))
        return err->status;
    if (part->ops->start(part->model, &own->seen[own->now], arena, &own->state, err))
        return error_context(err, "simulation %d (%s)", part->simulation, part->ops->name);
    for (int i = 0; i < part->history; i++) {
        keep_joints(parts, part, own, &state->work);
        own->step--;
    }
    own->step += part->history;
    return STATUS_OK;
}

Status parts_start(const Parts *parts, int64_t first, Arena *arena, PartsState *out, Error *err)
{
    PartsState state = {.part = arena_array(arena, PartState, parts->count), .arena = arena};

    if (!state.part)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d simulations", parts->count);
    if (pose_build(parts->rig, arena, &state.work, err))
        return err->status;
    for (int i = 0; i < 2 && parts->has_fast; i++) {
        // a tick that never comes, of the right parity
        state.tick[i].tick = INT64_MIN + i;
        if (pose_build(parts->rig, arena, &state.tick[i].pose, err))
            return err->status;
    }
    for (int i = 0; i < parts->count; i++)
        if (start_part(parts, first, i, arena, &state, err))
            return err->status;
    *out = state;
    return STATUS_OK;
}

uint64_t parts_hash(const Parts *parts, const PartsState *state)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;

    for (int i = 0; i < parts->count; i++) {
        const Part *part = &parts->part[i];
        uint64_t seed = hash ^ (uint64_t)state->part[i].step * 0xbf58476d1ce4e5b9u;

        hash = part->ops->hash(part->model, state->part[i].state, seed);
    }
    return hash;
}
