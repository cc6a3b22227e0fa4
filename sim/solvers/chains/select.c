/* Which chains are simulated, why others are not, and how each one looks at rest. */
#include "math/scalar.h"
#include "solvers/chains/model.h"

#include <string.h>

/* What is known while chains are chosen. */
typedef struct Selection {
    const PartDesc *desc;
    Arena *arena;
    const World *world;     /* at rest (node_count) */
    const int *first_child; /* (node_count), -1 none */
    bool *is_taken;         /* heads of chains chosen so far (node_count) */
    ChainsModel *model;
} Selection;

static bool is_target(const ChainsSpec *spec, int spring)
{
    if (spec->target_count < 0)
        return true;
    for (int i = 0; i < spec->target_count; i++) {
        if (spec->target[i] == spring)
            return true;
    }
    return false;
}

static bool is_above(const Rig *rig, int node, int below)
{
    while (below >= 0 && below != node)
        below = rig->node[below].parent;
    return below >= 0 || node < 0;
}

/* A chain of the job's own: from root down first children to end. NULL where there is no memory. */
static const RigSpring *define_spring(Selection *s, const ChainDefine *define)
{
    const Rig *rig = s->desc->rig;
    int count = 0;

    if (define->end >= 0) {
        for (int n = define->end; n >= 0 && n != define->root; n = rig->node[n].parent)
            count++;
    } else {
        for (int n = s->first_child[define->root]; n >= 0; n = s->first_child[n])
            count++;
    }
    int segment_count = count ? count : 1;
    RigSpring *spring = arena_array(s->arena, RigSpring, 1);
    RigSegment *segment = arena_array(s->arena, RigSegment, segment_count);
    int *collider = arena_array(s->arena, int, rig->collider_count);
    if (!spring || !segment || !collider)
        return NULL;

    *spring = (RigSpring){.key = define->name,
                          .name = define->name,
                          .center = -1,
                          .segment_count = segment_count,
                          .segment = segment,
                          .collider_count = rig->collider_count,
                          .collider = collider};
    for (int i = 0; i < rig->collider_count; i++)
        collider[i] = i;
    if (define->end >= 0 && !is_above(rig, define->root, define->end)) {
        spring->refusal = "its end is not below its root";
        return spring;
    }
    int tail = define->end;
    for (int i = segment_count - 1; define->end >= 0 && count && i >= 0; i--) {
        segment[i] = (RigSegment){.head = rig->node[tail].parent, .tail = tail};
        tail = rig->node[tail].parent;
    }
    int head = define->root;
    for (int i = 0; define->end < 0 && i < count; i++) {
        segment[i] = (RigSegment){.head = head, .tail = s->first_child[head]};
        head = s->first_child[head];
    }
    for (int i = 0; i < count; i++)
        segment[i].tail_offset = rig->node[segment[i].tail].rest.translation;
    if (!count) {
        Vec3 along =
            vec3_normalize_or(rig->node[define->root].rest.translation, vec3(0.0f, -1.0f, 0.0f));
        segment[0] =
            (RigSegment){.head = define->root, .tail = -1, .tail_offset = vec3_scale(along, 0.07f)};
    }
    return spring;
}

/* Nodes from one head up to the one before (or the root's parent): what forbids simulating them. */
static const char *find_fault_between(const Selection *s, int from, int above)
{
    const PartDesc *desc = s->desc;

    for (int n = from; n != above; n = desc->rig->node[n].parent) {
        if (n < 0)
            return "its joints do not hang on one another";
        if (desc->is_rotated && desc->is_rotated[n])
            return "the clip moves its joints, and the clip wins";
        if (desc->is_driven && desc->is_driven[n])
            return "an earlier simulation drives its joints";
        if (s->is_taken[n])
            return "an earlier chain has its joints";
    }
    return NULL;
}

/* Why the chain is not simulated, or NULL. */
static const char *find_fault(const Selection *s, const RigSpring *spring)
{
    if (spring->refusal)
        return spring->refusal;
    if (spring->segment_count == 0)
        return "it has no head-tail pair";

    const RigSegment *segment = spring->segment;
    int above = s->desc->rig->node[segment[0].head].parent;
    for (int i = 0; i < spring->segment_count; i++) {
        if (i > 0 && segment[i].head != segment[i - 1].tail)
            return "its joints do not hang on one another";
        const char *fault = find_fault_between(s, segment[i].head, above);
        if (fault)
            return fault;
        above = segment[i].head;
    }
    return NULL;
}

static World rest_world(const Selection *s, int node)
{
    return node < 0 ? world_identity() : s->world[node];
}

static Vec3 turn_back(Quat q, Vec3 v)
{
    return quat_rotate(quat_conjugate(q), v);
}

static void fill_segment(const Selection *s, Chain *chain, const RigSegment *file, int i)
{
    const Rig *rig = s->desc->rig;
    ChainsSegment *out = &chain->segment[i];
    World attach = rest_world(s, chain->attach);
    World parent = rest_world(s, chain->parent);
    World head = s->world[file->head];
    int above = rig->node[file->head].parent;
    Quat base = i ? s->world[chain->segment[i - 1].head].rotation
                  : (s->model->mode == CHAINS_VRM ? parent.rotation : attach.rotation);
    float scale = world_max_scale(&parent);
    float inverse = scale > 0.0f && isfinite(scale) ? 1.0f / scale : 0.0f;
    Vec3 arm = vec3_scale(mat3_apply(&head.basis, file->tail_offset), inverse);

    *out =
        (ChainsSegment){.head = file->head, .tail = file->tail, .tail_offset = file->tail_offset};
    out->length = vec3_length(arm);
    out->link = quat_mul(quat_conjugate(base), head.rotation);
    out->rest_rotation = quat_mul(quat_conjugate(attach.rotation), head.rotation);
    out->skip = i ? quat_mul(quat_conjugate(base), rest_world(s, above).rotation) : quat_identity();
    out->head_scale = world_max_scale(&head) * inverse;
    if (!(out->length > 1e-7f)) {
        out->length = 0.0f;
        warnings_add(s->desc->warnings, "zero_length",
                     "chain \"%s\": joint \"%s\" has no length and keeps its rest rotation",
                     chain->key, rig->node[file->head].key);
        return;
    }
    out->rest = turn_back(attach.rotation, arm);
    out->axis = vec3_scale(turn_back(head.rotation, arm), 1.0f / out->length);
}

static double angle_between(Vec3 a, Vec3 b)
{
    double lengths = (double)vec3_length(a) * (double)vec3_length(b);

    return lengths > 0.0 ? scalar_acos((double)vec3_dot(a, b) / lengths) : 0.0;
}

static void measure_rest(Chain *chain)
{
    Vec3 chord = {0.0f, 0.0f, 0.0f};
    double bend = 0.0;

    for (int i = 0; i < chain->segment_count; i++) {
        chord = vec3_add(chord, chain->segment[i].rest);
        chain->length += chain->segment[i].length;
        if (i > 0)
            bend += angle_between(chain->segment[i - 1].rest, chain->segment[i].rest);
    }
    chain->bend0 = (float)bend;
    chain->chord0 = vec3_length(chord);
}

static void warn_scale(const Selection *s, const Chain *chain)
{
    World world = rest_world(s, chain->segment[0].head);
    Vec3 scale = {vec3_length(world.basis.x), vec3_length(world.basis.y),
                  vec3_length(world.basis.z)};
    float most = vec3_max(scale), least = vec3_min(scale);

    if (most > least * 1.001f || mat3_determinant(&world.basis) < 0.0f)
        warnings_add(s->desc->warnings, "scale_not_uniform",
                     "chain \"%s\": its scale is not the same along all axes, or mirrored; the "
                     "greatest is used",
                     chain->key);
}

static void choose_colliders(const Selection *s, Chain *chain, const RigSpring *spring)
{
    const SimulationSpec *spec = s->desc->spec;

    chain->collider = spring->collider;
    chain->collider_count = spring->collider_count;
    if (spec->colliders == COLLIDERS_LIST) {
        chain->collider = spec->collider;
        chain->collider_count = spec->collider_count;
    }
    if (spec->colliders == COLLIDERS_NONE)
        chain->collider_count = 0;
    if (chain->collider_count > CHAINS_MAX_SLOTS) {
        warnings_add(s->desc->warnings, "colliders_dropped",
                     "chain \"%s\" meets the first %d of its %d colliders", chain->key,
                     CHAINS_MAX_SLOTS, chain->collider_count);
        chain->collider_count = CHAINS_MAX_SLOTS;
    }
}

static void warn_inside(const Selection *s, const Chain *chain)
{
    for (int i = 0; i < chain->collider_count; i++) {
        const RigCollider *collider = &s->desc->rig->collider[chain->collider[i]];

        for (int j = 0; collider->is_inside && j < chain->segment_count; j++) {
            if (chain->segment[j].radius <= collider->radius)
                continue;
            warnings_add(s->desc->warnings, "collider_too_small",
                         "chain \"%s\": joint \"%s\" is thicker than the inside of collider \"%s\" "
                         "and is held at its middle",
                         chain->key, s->desc->rig->node[chain->segment[j].head].key, collider->key);
            break;
        }
    }
}

static Status add_chain(Selection *s, const RigSpring *spring, int index, int attach, Error *err)
{
    ChainsModel *model = s->model;
    const Rig *rig = s->desc->rig;
    Chain *chain = &model->chain[model->chain_count];
    int root = spring->segment[0].head;

    if (spring->segment_count > CHAINS_MAX_SEGMENTS - model->segment_count)
        return error_set(err, STATUS_LIMIT, "chains have more than %d segments",
                         CHAINS_MAX_SEGMENTS);
    *chain = (Chain){.key = spring->key, .spring = index, .parent = rig->node[root].parent};
    chain->attach = attach >= 0 ? attach : chain->parent;
    chain->root_offset = rig->node[root].rest.translation;
    chain->segment_count = spring->segment_count;
    chain->segment = arena_array(s->arena, ChainsSegment, spring->segment_count);
    if (!chain->segment)
        return error_set(err, STATUS_NO_MEMORY, "no room for chain \"%s\"", spring->key);

    for (int i = 0; i < spring->segment_count; i++) {
        fill_segment(s, chain, &spring->segment[i], i);
        s->is_taken[spring->segment[i].head] = true;
    }
    measure_rest(chain);
    chains_resolve_parameters(s->desc, model, chain, spring);
    choose_colliders(s, chain, spring);
    warn_scale(s, chain);
    warn_inside(s, chain);
    model->chain_count++;
    model->segment_count += spring->segment_count;
    return STATUS_OK;
}

static Status consider(Selection *s, const RigSpring *spring, int index, int attach, Error *err)
{
    const ChainsSpec *spec = &s->desc->spec->chains;
    const char *fault = find_fault(s, spring);

    if (!is_target(spec, index))
        return STATUS_OK;
    if (!fault && chains_parameters(spec, index).is_disabled)
        fault = "the job disables it";
    if (!fault && attach >= 0 && !is_above(s->desc->rig, attach, spring->segment[0].head))
        fault = "it is attached to a node that does not carry its root";
    if (fault) {
        warnings_add(s->desc->warnings, "chain_off", "chain \"%s\" is not simulated: %s",
                     spring->key, fault);
        return STATUS_OK;
    }
    return add_chain(s, spring, index, attach, err);
}

static int *find_first_children(const Rig *rig, Arena *arena)
{
    int *first = arena_array(arena, int, rig->node_count);

    for (int i = 0; first && i < rig->node_count; i++)
        first[i] = -1;
    for (int i = rig->node_count - 1; first && i >= 0; i--) {
        if (rig->node[i].parent >= 0)
            first[rig->node[i].parent] = i;
    }
    return first;
}

Status chains_select(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const Rig *rig = desc->rig;
    const ChainsSpec *spec = &desc->spec->chains;
    World *world = arena_array(arena, World, rig->node_count);
    const int *first_child = find_first_children(rig, arena);
    Selection s = {.desc = desc,
                   .arena = arena,
                   .world = world,
                   .first_child = first_child,
                   .is_taken = arena_array(arena, bool, rig->node_count),
                   .model = model};

    model->chain = arena_array(arena, Chain, rig->spring_count + spec->define_count);
    if (arena->overflowed || !first_child)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d chains",
                         rig->spring_count + spec->define_count);
    rig_rest_worlds(rig, world);
    for (int i = 0; i < rig->spring_count; i++) {
        if (consider(&s, &rig->spring[i], i, -1, err))
            return err->status;
    }
    for (int i = 0; i < spec->define_count; i++) {
        const RigSpring *spring = define_spring(&s, &spec->define[i]);
        if (!spring)
            return error_set(err, STATUS_NO_MEMORY, "no room for chain \"%s\"",
                             spec->define[i].name);
        if (consider(&s, spring, rig->spring_count + i, spec->define[i].attach, err))
            return err->status;
    }
    return STATUS_OK;
}
