#include "rig/constraint.h"

#include "rig/clip.h"

#include <stdio.h>
#include <string.h>

/* --- the order --- */

typedef enum Mark { MARK_NEW, MARK_OPEN, MARK_DONE, MARK_CYCLE } Mark;

typedef struct Sort {
    const Rig *rig;
    int *of_node; /* constraint of a node or -1 (node_count) */
    Mark *mark;   /* (constraint_count) */
    int *stack;   /* open constraints, each waits for the next (constraint_count) */
    int *order;
    int count;
} Sort;

/* The constraint of the nearest node from `node` upwards that has one and is not done; -1: none. */
static int pending_above(const Sort *sort, int node)
{
    for (; node >= 0; node = sort->rig->node[node].parent) {
        int constraint = sort->of_node[node];

        if (constraint >= 0 && sort->mark[constraint] != MARK_DONE &&
            sort->mark[constraint] != MARK_CYCLE)
            return constraint;
    }
    return -1;
}

/* What must come before: the source and what carries it, then what carries the node itself. */
static int find_pending(const Sort *sort, int constraint)
{
    const RigConstraint *it = &sort->rig->constraint[constraint];
    int pending = pending_above(sort, it->source);

    return pending >= 0 ? pending : pending_above(sort, sort->rig->node[it->node].parent);
}

/* From the constraint that is waited for to the top of the stack: they wait for each other. */
static int drop_cycle(Sort *sort, int depth, int waited)
{
    do
        sort->mark[sort->stack[--depth]] = MARK_CYCLE;
    while (sort->stack[depth] != waited);
    return depth;
}

static void visit(Sort *sort, int first)
{
    int depth = 0;

    if (sort->mark[first] != MARK_NEW)
        return;
    sort->stack[depth++] = first;
    sort->mark[first] = MARK_OPEN;
    while (depth > 0) {
        int top = sort->stack[depth - 1];
        int pending = find_pending(sort, top);

        if (pending < 0) {
            sort->mark[top] = MARK_DONE;
            sort->order[sort->count++] = top;
            depth--;
        } else if (sort->mark[pending] == MARK_OPEN) {
            depth = drop_cycle(sort, depth, pending);
        } else {
            sort->mark[pending] = MARK_OPEN;
            sort->stack[depth++] = pending;
        }
    }
}

static void warn_of_cycles(const Sort *sort, Warnings *warnings)
{
    char list[300] = "";

    for (int i = 0; i < sort->rig->constraint_count; i++) {
        size_t used = strlen(list);

        if (sort->mark[i] == MARK_CYCLE)
            (void)snprintf(list + used, sizeof list - used, "%s%.60s", used ? ", " : "",
                           sort->rig->node[sort->rig->constraint[i].node].key);
    }
    if (list[0])
        warnings_add(warnings, "constraint_cycle",
                     "constraints that depend on each other are left out: %s", list);
}

Status constraints_sort(const Rig *rig, Arena *arena, Warnings *warnings, const int **out,
                        int *out_count, Error *err)
{
    int count = rig->constraint_count;
    Sort sort = {.rig = rig, .order = arena_array(arena, int, count)};

    // scratch stays: the warning's text is in the same arena
    sort.of_node = arena_array(arena, int, rig->node_count);
    sort.mark = arena_array(arena, Mark, count);
    sort.stack = arena_array(arena, int, count);
    if (!sort.order || !sort.of_node || !sort.mark || !sort.stack)
        return error_set(err, STATUS_NO_MEMORY, "no room to sort %d constraints", count);
    for (int i = 0; i < rig->node_count; i++)
        sort.of_node[i] = -1;
    // of two on one node the last counts, as it would overwrite the first
    for (int i = 0; i < count; i++)
        sort.of_node[rig->constraint[i].node] = i;
    for (int i = 0; i < count; i++)
        if (sort.of_node[rig->constraint[i].node] == i)
            visit(&sort, i);
    warn_of_cycles(&sort, warnings);
    *out = sort.order;
    *out_count = sort.count;
    return STATUS_OK;
}

/* --- evaluating: VRMC_node_constraint 1.0, with its names --- */

/* Where a node is and how it is turned, from locals alone: those above may have been turned since
 * worlds were right. */
typedef struct Place {
    DVec3 origin;
    Quat rotation;
} Place;

static Place place_of(const Rig *rig, const Pose *pose, int node)
{
    Place place = {{0.0, 0.0, 0.0}, quat_identity()};

    for (; node >= 0; node = rig->node[node].parent) {
        const Transform *local = &pose->local[node];
        Vec3 inside = dvec3_float(place.origin);

        inside =
            vec3(inside.x * local->scale.x, inside.y * local->scale.y, inside.z * local->scale.z);
        place.origin = dvec3_add(dvec3_from(quat_rotate(local->rotation, inside)),
                                 dvec3_from(local->translation));
        place.rotation = quat_mul(local->rotation, place.rotation);
    }
    return place;
}

/* The source's turn seen from the node, without what would tilt the axis. */
static Quat roll(const RigConstraint *it, Quat rest, Quat source_rest, Quat source)
{
    Quat delta = quat_mul(quat_mul(quat_conjugate(rest), source),
                          quat_mul(quat_conjugate(source_rest), rest));
    Quat swing = quat_from_to(it->axis, quat_rotate(delta, it->axis));

    return quat_mul(rest, quat_mul(quat_conjugate(swing), delta));
}

/* The smallest turn that points the axis at the source; none where that lies on the node. */
static Quat aim(const Rig *rig, const RigConstraint *it, Quat rest, const Pose *pose)
{
    Quat above = place_of(rig, pose, rig->node[it->node].parent).rotation;
    DVec3 own = place_of(rig, pose, it->node).origin;
    Vec3 way = dvec3_offset(place_of(rig, pose, it->source).origin, own);
    float distance = vec3_length(way);
    Quat base = quat_mul(above, rest);

    if (!(distance > 1e-6f))
        return rest;
    Quat turn = quat_from_to(quat_rotate(base, it->axis), vec3_scale(way, 1.0f / distance));
    return quat_mul(quat_conjugate(above), quat_mul(turn, base));
}

/* Where the constraint would have its node turned with all its weight. */
static Quat target_of(const Rig *rig, const RigConstraint *it, const Pose *pose)
{
    Quat rest = rig->node[it->node].rest.rotation;
    Quat source_rest = rig->node[it->source].rest.rotation;
    Quat source = pose->local[it->source].rotation;

    if (it->kind == CONSTRAINT_ROLL)
        return roll(it, rest, source_rest, source);
    if (it->kind == CONSTRAINT_AIM)
        return aim(rig, it, rest, pose);
    return quat_mul(rest, quat_mul(quat_conjugate(source_rest), source));
}

void constraints_apply(const Rig *rig, const int *order, int count, Pose *pose)
{
    for (int i = 0; i < count; i++) {
        const RigConstraint *it = &rig->constraint[order[i]];
        Quat target = quat_normalize(target_of(rig, it, pose));

        pose->local[it->node].rotation =
            quat_slerp(rig->node[it->node].rest.rotation, target, (double)it->weight);
    }
    if (count)
        pose_update_world(rig, pose);
}
