#include "core/tally.h"

Status tally_build(TallyModel *tally, Arena *arena, Error *err)
{
    const Parts *parts = tally->parts;

    tally->edges = arena_array(arena, EdgeSet, parts->count);
    if (!tally->edges)
        return error_set(err, STATUS_NO_MEMORY, "no room for measures");
    for (int i = 0; i < parts->count; i++)
        if (edges_build(parts->rig, &parts->part[i], arena, &tally->edges[i], err))
            return error_context(err, "simulation %d", parts->part[i].simulation);
    return STATUS_OK;
}

static Status start_part(const TallyModel *tally, int index, Arena *arena, TallyPart *out,
                         Error *err)
{
    const PartInfo *info = &tally->parts->part[index].info;
    TallyPart part = {
        .p99 = arena_array(arena, float, tally->sample_count),
        .max = arena_array(arena, float, tally->sample_count),
        .tail = arena_array(arena, DVec3, info->segment_count),
        .seam = arena_array(arena, Vec3, info->segment_count),
        .speed = arena_array(arena, float, info->chain_count),
        .seam_gap = -1.0,
    };

    if (!part.p99 || !part.max || !part.tail || !part.seam || !part.speed)
        return error_set(err, STATUS_NO_MEMORY, "no room for measures");
    if (edges_start(&tally->edges[index], arena, &part.edges, err))
        return err->status;
    *out = part;
    return STATUS_OK;
}

Status tally_start(const TallyModel *tally, Arena *arena, TallyState *out, Error *err)
{
    TallyState state = {.part = arena_array(arena, TallyPart, tally->parts->count)};

    if (!state.part)
        return error_set(err, STATUS_NO_MEMORY, "no room for measures");
    for (int i = 0; i < tally->parts->count; i++)
        if (start_part(tally, i, arena, &state.part[i], err))
            return err->status;
    *out = state;
    return STATUS_OK;
}

/* --- samples --- */

static bool is_finite_node(const Pose *pose, int node)
{
    const World *world = &pose->world[node];
    const Mat3 *m = &world->basis;
    float sum = m->x.x + m->x.y + m->x.z + m->y.x + m->y.y + m->y.z + m->z.x + m->z.y + m->z.z;

    return isfinite(sum) && isfinite(world->origin.x + world->origin.y + world->origin.z);
}

Status tally_check(const TallyModel *tally, TallyState *state, const Pose *pose, double time,
                   Error *err)
{
    for (int i = 0; i < tally->parts->count; i++) {
        const Part *part = &tally->parts->part[i];
        int first = -1, count = 0;

        for (int j = 0; j < part->affected_count; j++)
            if (!is_finite_node(pose, part->affected[j])) {
                first = first < 0 ? part->affected[j] : first;
                count++;
            }
        state->part[i].nonfinite = count;
        if (count)
            return error_set(err, STATUS_DIVERGED,
                             "simulation %d (%s) diverged at %.3f s: node \"%s\" is at no finite "
                             "place",
                             part->simulation, part->ops->name, time,
                             tally->parts->rig->node[first].key);
    }
    return STATUS_OK;
}

/* The greatest speed of each chain's tails since the sample before, where both lie in the last two
 * seconds of settling. */
static void sample_tails(const TallyModel *tally, int index, const Pose *pose, bool is_settling,
                         TallyPart *part)
{
    const PartInfo *info = &tally->parts->part[index].info;

    for (int i = 0; i < info->segment_count; i++) {
        DVec3 tail = part_segment_tail(&info->segment[i], pose);
        float *speed = &part->speed[info->segment[i].chain];

        if (is_settling) {
            float moved = vec3_length(dvec3_offset(tail, part->tail[i])) * (float)tally->rate;
            *speed = moved > *speed ? moved : *speed;
        }
        part->tail[i] = tail;
    }
}

void tally_sample(const TallyModel *tally, TallyState *state, const PartsState *parts,
                  const Pose *pose, double time)
{
    // rounding must not lose the window's first sample
    bool is_settling = time >= tally->settled_from - 1e-9;
    bool was_settling = state->sample > 0 && state->time >= tally->settled_from - 1e-9;

    for (int i = 0; i < tally->parts->count; i++) {
        const Part *part = &tally->parts->part[i];

        EdgeSummary now = edges_sample(&tally->edges[i], pose, tally->simd, &state->part[i].edges);
        state->part[i].p99[state->sample] = now.p99;
        state->part[i].max[state->sample] = now.max;
        sample_tails(tally, i, pose, was_settling, &state->part[i]);
        if (part->ops->sample)
            part->ops->sample(part->model, parts->part[i].state, pose, is_settling);
    }
    state->speed_count += was_settling;
    state->time = time;
    state->sample++;
}

/* The nearest ancestor of `node` that the part does not move, -1 for the scene. */
static int carrier_of(const Rig *rig, const bool *is_driven, int node)
{
    int carrier = -1;

    // a driven ancestor may stand above an undriven one: the carrier stands above all of them
    for (int i = node; i >= 0; i = rig->node[i].parent)
        if (is_driven[i])
            carrier = rig->node[i].parent;
    return carrier;
}

/* Where a tail is as its carrier sees it, in metres of the scene. */
static Vec3 seen_from_carrier(const Rig *rig, const PartInfo *info, const PartSegment *segment,
                              const Pose *pose)
{
    int carrier = carrier_of(rig, info->is_driven, segment->head);
    DVec3 tail = part_segment_tail(segment, pose);

    if (carrier < 0)
        return dvec3_float(tail);
    return quat_rotate(quat_conjugate(pose->world[carrier].rotation),
                       dvec3_offset(tail, pose->world[carrier].origin));
}

void tally_seam(const TallyModel *tally, TallyState *state, const Pose *pose, TallySeam seam)
{
    const Rig *rig = tally->parts->rig;

    for (int i = 0; i < tally->parts->count; i++) {
        const PartInfo *info = &tally->parts->part[i].info;
        TallyPart *part = &state->part[i];
        float greatest = 0.0f;

        for (int j = 0; j < info->segment_count; j++) {
            Vec3 tail = seen_from_carrier(rig, info, &info->segment[j], pose);

            if (seam == TALLY_LOOP_START) {
                part->seam[j] = tail;
                continue;
            }
            float gap = vec3_length(vec3_sub(tail, part->seam[j]));
            greatest = gap > greatest ? gap : greatest;
        }
        if (seam == TALLY_LOOP_END)
            part->seam_gap = (double)greatest;
    }
}
