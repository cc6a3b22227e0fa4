#include "core/fit.h"

#include "core/collide.h"
#include "core/quantile.h"

#include <string.h>

enum { LEAST_VERTICES = 16 };

static const float MARGIN = 0.00125f;          /* of the height: 2 mm of 1.6 m */
static const float MOST_GROWTH = 0.6f;         /* of the radius ... */
static const float MOST_GROWTH_HEIGHT = 0.03f; /* ... and of the height */
static const float MOST_LENGTHENING = 0.05f;   /* of the height, at each end */
static const double LOW = 0.03, HIGH = 0.97;   /* quantiles */

/* A collider that is fitted, placed at rest relative to the fitter's origin. */
typedef struct Candidate {
    FitCollider *result;
    RigCollider *collider; /* in the fitted rig */
    int bone;              /* whose vertices it answers for */
    Shape shape;
} Candidate;

typedef struct Fitter {
    const FitDesc *desc;
    Arena *arena;
    Body body;
    const World *world; /* at rest (node_count) */
    DVec3 origin;
    float height;
    int *owner; /* candidates' bone in whose part of the hierarchy a node lies, -1 (node_count) */
    int candidate_count;
    Candidate *candidate;
    int point_count;
    Vec3 *point;         /* vertices of the body that some candidate answers for */
    int *whose;          /* candidate of each (point_count) */
    float *along, *away; /* scratch (point_count) */
    uint32_t *keys;
} Fitter;

double fit_coverage(int covered, int vertex_count)
{
    return vertex_count ? (double)covered / vertex_count : 0.0;
}

static Status no_room(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room to fit colliders");
}

/* --- which colliders --- */

/* The joint that carries the collider: helper nodes without vertices stand for what is above. */
static int bone_of(const Fitter *f, int node)
{
    const Rig *rig = f->desc->body.rig;
    int bone = node;

    while (bone >= 0 && !f->body.is_joint[bone])
        bone = rig->node[bone].parent;
    return bone < 0 ? node : bone;
}

static bool is_even(const World *world)
{
    const Mat3 *m = &world->basis;
    float x = vec3_length(m->x), y = vec3_length(m->y), z = vec3_length(m->z);
    float most = vec3_max(vec3(x, y, z)), least = vec3_min(vec3(x, y, z));
    float skew =
        vec3_max(vec3_abs(vec3(vec3_dot(m->x, m->y), vec3_dot(m->y, m->z), vec3_dot(m->z, m->x))));

    return mat3_determinant(m) > 0.0f && most <= least * 1.001f && skew <= 1e-3f * most * most;
}

static bool is_wanted(const SimulationSpec *spec, int collider)
{
    if (spec->colliders != COLLIDERS_LIST)
        return spec->colliders != COLLIDERS_NONE;
    for (int i = 0; i < spec->collider_count; i++)
        if (spec->collider[i] == collider)
            return true;
    return false;
}

/* Why a collider stays as it is, or NULL. */
static const char *find_obstacle(const Fitter *f, const RigCollider *collider)
{
    if (collider->kind == COLLIDER_PLANE)
        return "it is a plane";
    if (collider->is_inside)
        return "it keeps things in";
    if (!is_even(&f->world[collider->node]))
        return "its node is mirrored or not scaled alike along all axes";
    if (f->body.is_moved[collider->node])
        return "a chain moves its node";
    return NULL;
}

static void add_candidate(Fitter *f, FitCollider *result, RigCollider *collider, int bone)
{
    f->candidate[f->candidate_count++] =
        (Candidate){.result = result,
                    .collider = collider,
                    .bone = bone,
                    .shape = collide_place(collider, &f->world[collider->node], f->origin)};
}

static void warn_kept(const Fitter *f, const FitCollider *result)
{
    warnings_add(f->desc->warnings, "collider_kept", "collider \"%s\" keeps its authored size: %s",
                 result->authored.key, result->kept);
}

/* Of the trunk: on hips or below, with no limb, neck or head between. */
static bool is_limb(const Rig *rig, int node)
{
    static const HumanoidRole limb[] = {
        ROLE_NECK,      ROLE_HEAD,       ROLE_LEFT_UPPER_ARM, ROLE_RIGHT_UPPER_ARM,
        ROLE_LEFT_HAND, ROLE_RIGHT_HAND, ROLE_LEFT_UPPER_LEG, ROLE_RIGHT_UPPER_LEG,
        ROLE_LEFT_FOOT, ROLE_RIGHT_FOOT};

    for (int i = 0; rig->is_humanoid && i < (int)(sizeof limb / sizeof limb[0]); i++)
        if (rig->role[limb[i]] == node)
            return true;
    return false;
}

static bool is_on_trunk(const Rig *rig, int node)
{
    while (node >= 0 && !is_limb(rig, node) && node != rig->role[ROLE_HIPS])
        node = rig->node[node].parent;
    return node >= 0 && node == rig->role[ROLE_HIPS];
}

/* The trunk's own capsule rides on the chest, or on what there is of the spine. */
static int trunk_node(const Rig *rig)
{
    static const HumanoidRole choice[] = {ROLE_CHEST, ROLE_SPINE, ROLE_UPPER_CHEST, ROLE_HIPS};

    for (int i = 0; i < 4; i++)
        if (rig->role[choice[i]] >= 0)
            return rig->role[choice[i]];
    return -1;
}

static Vec3 to_node(const World *world, DVec3 place)
{
    Mat3 cofactor = mat3_cofactor(&world->basis);
    Vec3 from = dvec3_offset(place, world->origin);
    float inverse = 1.0f / mat3_determinant(&world->basis);

    return vec3_scale(
        vec3(vec3_dot(cofactor.x, from), vec3_dot(cofactor.y, from), vec3_dot(cofactor.z, from)),
        inverse);
}

/* A capsule from hips to neck, still without a radius, where no candidate is on the trunk. */
static void add_trunk(Fitter *f, Rig *rig, RigCollider *collider, FitCollider *result)
{
    int neck = rig->role[ROLE_NECK] >= 0 ? rig->role[ROLE_NECK] : rig->role[ROLE_HEAD];
    int hips = rig->role[ROLE_HIPS], node = trunk_node(rig);

    if (!rig->is_humanoid || hips < 0 || neck < 0 || node < 0 || !is_even(&f->world[node]) ||
        f->desc->spec->colliders != COLLIDERS_FILE)
        return;
    for (int i = 0; i < rig->collider_count; i++)
        if (collider[i].kind != COLLIDER_PLANE && !collider[i].is_inside &&
            is_on_trunk(rig, bone_of(f, collider[i].node)))
            return;
    int index = rig->collider_count++;
    collider[index] = (RigCollider){.key = "trunk (fitted)",
                                    .node = node,
                                    .kind = COLLIDER_CAPSULE,
                                    .offset = to_node(&f->world[node], f->world[hips].origin),
                                    .tail = to_node(&f->world[node], f->world[neck].origin)};
    *result = (FitCollider){.collider = index, .is_added = true};
    add_candidate(f, result, &collider[index], hips);
}

/* --- whose vertices --- */

static void map_owners(Fitter *f)
{
    const Rig *rig = f->desc->body.rig;

    for (int i = 0; i < rig->node_count; i++)
        f->owner[i] = -1;
    for (int i = 0; i < f->candidate_count; i++)
        f->owner[f->candidate[i].bone] = f->candidate[i].bone;
    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i], parent = rig->node[node].parent;

        if (f->owner[node] < 0 && parent >= 0 && !is_limb(rig, node))
            f->owner[node] = f->owner[parent];
    }
}

/* The bone with at least half the vertex's weight, -1: none. */
static int owner_of(const Fitter *f, const BodyPart *part, int vertex)
{
    int node[RIG_MAX_INFLUENCES];
    float weight[RIG_MAX_INFLUENCES];
    int count = part->is_moved[vertex] ? 0 : body_influences(&f->body, part, vertex, node, weight);

    for (int i = 0; i < count; i++) {
        float sum = 0.0f;

        for (int j = 0; j < count; j++)
            sum += f->owner[node[j]] == f->owner[node[i]] ? weight[j] : 0.0f;
        if (sum >= 0.5f)
            return f->owner[node[i]];
    }
    return -1;
}

/* The candidate of the bone whose surface is nearest, -1: none. */
static int find_candidate(const Fitter *f, int bone, Vec3 point)
{
    float best = INFINITY;
    int found = -1;

    for (int i = 0; i < f->candidate_count && bone >= 0; i++) {
        if (f->candidate[i].bone != bone)
            continue;
        float gap = collide_point(&f->candidate[i].shape, point, 0.0f).gap;
        if (gap < best) {
            best = gap;
            found = i;
        }
    }
    return found;
}

static Status collect_points(Fitter *f, Error *err)
{
    int room = 0, most = 0;

    for (int i = 0; i < f->body.part_count; i++) {
        room += f->body.part[i].vertex_count;
        most = f->body.part[i].vertex_count > most ? f->body.part[i].vertex_count : most;
    }
    f->point = arena_scratch(f->arena, Vec3, room);
    f->whose = arena_scratch(f->arena, int, room);
    f->along = arena_scratch(f->arena, float, room);
    f->away = arena_scratch(f->arena, float, room);
    f->keys = arena_scratch(f->arena, uint32_t, room);
    Vec3 *position = arena_scratch(f->arena, Vec3, most);
    if (f->arena->overflowed)
        return no_room(err);
    for (int i = 0; i < f->body.part_count; i++) {
        const BodyPart *part = &f->body.part[i];

        if (body_rest_positions(&f->body, part, f->origin, f->arena, position, err))
            return err->status;
        for (int v = 0; v < part->vertex_count; v++) {
            int found = find_candidate(f, owner_of(f, part, v), position[v]);

            if (found < 0)
                continue;
            f->point[f->point_count] = position[v];
            f->whose[f->point_count++] = found;
            f->candidate[found].result->vertex_count++;
        }
    }
    return STATUS_OK;
}

/* --- fitting --- */

static float clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

static float quantile(const Fitter *f, const float *value, int count, double q)
{
    return quantile_nearest_rank(value, count, q, f->keys);
}

/* Distances of a candidate's points along its axis from its start, into f->along. */
static int list_along(const Fitter *f, int candidate, Vec3 start, Vec3 direction)
{
    int count = 0;

    for (int i = 0; i < f->point_count; i++)
        if (f->whose[i] == candidate)
            f->along[count++] = vec3_dot(vec3_sub(f->point[i], start), direction);
    return count;
}

/* Distances from the axis, into f->away: of the points beside it, of all where those are few. */
static int list_away(const Fitter *f, int candidate, const Shape *shape)
{
    Shape line = *shape;
    int count = 0;

    line.radius = 0.0f;
    for (int pass = 0; pass < 2 && count < LEAST_VERTICES; pass++) {
        count = 0;
        for (int i = 0; i < f->point_count; i++) {
            if (f->whose[i] != candidate)
                continue;
            float w = vec3_dot(vec3_sub(f->point[i], line.start), line.axis) * line.inverse_axis2;
            bool is_beside = line.inverse_axis2 == 0.0f || (w >= 0.0f && w <= 1.0f);
            if (is_beside || pass)
                f->away[count++] = collide_point(&line, f->point[i], 0.0f).gap;
        }
    }
    return count;
}

static void set_axis(Shape *shape, Vec3 start, Vec3 end)
{
    shape->start = start;
    shape->axis = vec3_sub(end, start);
    float axis2 = vec3_dot(shape->axis, shape->axis);
    shape->inverse_axis2 = axis2 > 1e-24f ? 1.0f / axis2 : 0.0f;
}

/* How far the ends go out: metres before the start and behind the end. */
static void lengthen(const Fitter *f, int candidate, Shape *shape, float out[2])
{
    float length = vec3_length(shape->axis), most = MOST_LENGTHENING * f->height;

    out[0] = out[1] = 0.0f;
    if (!(length > 1e-6f))
        return;
    Vec3 direction = vec3_scale(shape->axis, 1.0f / length);
    int count = list_along(f, candidate, shape->start, direction);
    float low = quantile(f, f->along, count, LOW), high = quantile(f, f->along, count, HIGH);
    out[0] = clamp(-(low + shape->radius), 0.0f, most);
    out[1] = clamp(high - shape->radius - length, 0.0f, most);
    Vec3 start = vec3_add_scaled(shape->start, direction, -out[0]);
    set_axis(shape, start, vec3_add_scaled(start, direction, out[0] + length + out[1]));
}

static void write_back(const Fitter *f, const Candidate *candidate, const float ends[2],
                       float growth)
{
    RigCollider *to = candidate->collider;
    float scale = world_max_scale(&f->world[to->node]);
    Vec3 direction = vec3_normalize_or(vec3_sub(to->tail, to->offset), vec3(0.0f, 0.0f, 0.0f));

    // what does not change keeps its bits
    if (ends[0] > 0.0f)
        to->offset = vec3_add_scaled(to->offset, direction, -ends[0] / scale);
    if (ends[1] > 0.0f)
        to->tail = vec3_add_scaled(to->tail, direction, ends[1] / scale);
    if (growth > 0.0f)
        to->radius += growth / scale;
}

static int count_covered(const Fitter *f, int candidate, const Shape *shape)
{
    int count = 0;

    for (int i = 0; i < f->point_count; i++)
        count += f->whose[i] == candidate && collide_point(shape, f->point[i], 0.0f).gap <= 0.0f;
    return count;
}

/* The trunk's capsule begins with half of its vertices inside, its ends drawn in by the radius. */
static void start_trunk(const Fitter *f, int index)
{
    Candidate *candidate = &f->candidate[index];
    RigCollider *to = candidate->collider;
    int count = list_away(f, index, &candidate->shape);

    if (count < LEAST_VERTICES)
        return;
    float radius = quantile(f, f->away, count, 0.5);
    float length = vec3_length(candidate->shape.axis);
    float share = length > 2.0f * radius ? radius / length : 0.5f;
    Vec3 low = vec3_lerp(to->offset, to->tail, share);
    to->tail = vec3_lerp(to->tail, to->offset, share);
    to->offset = low;
    to->radius = radius / world_max_scale(&f->world[to->node]);
    candidate->shape = collide_place(to, &f->world[to->node], f->origin);
}

static void fit_candidate(const Fitter *f, int index)
{
    Candidate *candidate = &f->candidate[index];
    FitCollider *result = candidate->result;
    float ends[2] = {0.0f, 0.0f};

    if (result->is_added)
        start_trunk(f, index);
    result->authored = *candidate->collider;
    Shape shape = candidate->shape;
    result->covered_before = result->covered_after = count_covered(f, index, &shape);
    if (result->vertex_count < LEAST_VERTICES) {
        result->kept = "hardly any vertices of the body lie on its bone";
        return;
    }
    lengthen(f, index, &shape, ends);
    int count = list_away(f, index, &shape);
    float wanted = quantile(f, f->away, count, HIGH) + MARGIN * f->height;
    float most =
        vec3_min(vec3(MOST_GROWTH * shape.radius, MOST_GROWTH_HEIGHT * f->height, INFINITY));
    result->growth = clamp(wanted - shape.radius, 0.0f, most);
    write_back(f, candidate, ends, result->growth);
    shape = collide_place(candidate->collider, &f->world[candidate->collider->node], f->origin);
    result->covered_after = count_covered(f, index, &shape);
}

/* --- the rig --- */

/* The trunk's capsule joins the lists of springs, save those that alone have none. */
static Status extend_springs(Rig *rig, int collider, Arena *arena, Error *err)
{
    RigSpring *spring = arena_array(arena, RigSpring, rig->spring_count);

    if (!spring)
        return no_room(err);
    for (int i = 0; i < rig->spring_count; i++) {
        int count = rig->spring[i].collider_count;

        spring[i] = rig->spring[i];
        if (!count && collider > 0)
            continue;
        int *list = arena_array(arena, int, count + 1);
        if (!list)
            return no_room(err);
        if (count)
            memcpy(list, spring[i].collider, (size_t)count * sizeof *list);
        list[count] = collider;
        spring[i].collider = list;
        spring[i].collider_count = count + 1;
    }
    rig->spring = spring;
    return STATUS_OK;
}

/* Copies of the colliders, and what can be fitted of them. */
static Status list_candidates(Fitter *f, Fit *fit, Error *err)
{
    const Rig *from = f->desc->body.rig;
    RigCollider *collider = arena_array(f->arena, RigCollider, from->collider_count + 1);
    FitCollider *result = arena_array(f->arena, FitCollider, from->collider_count + 1);

    f->candidate = arena_array(f->arena, Candidate, from->collider_count + 1);
    f->owner = arena_array(f->arena, int, from->node_count);
    if (f->arena->overflowed)
        return no_room(err);
    for (int i = 0; i < from->collider_count; i++)
        collider[i] = from->collider[i];
    for (int i = 0; i < from->collider_count; i++) {
        if (!is_wanted(f->desc->spec, i))
            continue;
        FitCollider *one = &result[fit->count++];
        *one = (FitCollider){.collider = i, .authored = collider[i]};
        one->kept = find_obstacle(f, &collider[i]);
        if (one->kept)
            warn_kept(f, one);
        else
            add_candidate(f, one, &collider[i], bone_of(f, collider[i].node));
    }
    fit->rig.collider = collider;
    add_trunk(f, &fit->rig, collider, &result[fit->count]);
    fit->collider = result;
    return STATUS_OK;
}

Status fit_colliders(const FitDesc *desc, Arena *arena, Fit *out, Error *err)
{
    const Rig *rig = desc->body.rig;
    World *world = arena_array(arena, World, rig->node_count);
    Fitter f = {.desc = desc, .arena = arena, .world = world, .height = rig->height};
    Fit fit = {.rig = *rig};

    if (!world)
        return no_room(err);
    rig_rest_worlds(rig, world);
    f.origin = dvec3_from(vec3_scale(vec3_add(rig->box_min, rig->box_max), 0.5f));
    if (body_find(&desc->body, arena, &f.body, err) || list_candidates(&f, &fit, err))
        return err->status;
    map_owners(&f);
    if (collect_points(&f, err))
        return err->status;
    for (int i = 0; i < f.candidate_count; i++)
        fit_candidate(&f, i);
    // a trunk without vertices is none
    if (fit.rig.collider_count > rig->collider_count && fit.collider[fit.count].kept)
        fit.rig.collider_count--;
    if (fit.rig.collider_count > rig->collider_count) {
        fit.count++;
        if (extend_springs(&fit.rig, rig->collider_count, arena, err))
            return err->status;
    }
    *out = fit;
    return STATUS_OK;
}
