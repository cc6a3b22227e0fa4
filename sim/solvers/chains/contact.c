/* One chain's rest-frame step with contact, joint by joint from the root.
 *
 * A segment that would lie in a collider is turned about its head until it is free: closest points
 * of segment and axis, the tail moved by what is missing over u (where along the segment they
 * touch), its length fixed, again. Swept contact looks along the way from the last step to this one
 * for the first touch and remembers the side it came from until the pair is free again, so that a
 * fast collider cannot come out behind. The push out of a collider never becomes speed: a joint
 * keeps the velocity of its free step, less what points into the collider and what would stretch
 * the bone.
 */
#include "math/scalar.h"
#include "solvers/chains/kernel.h"

enum {
    MAX_PASSES = 16,
    MAX_SAMPLES = 128, /* looks along one step */
    MAX_NEAR = 64,     /* colliders that one segment may touch at once */
};

static const float MIN_LEVER =
    0.02f;                         /* a touch nearer to the head than this is pushed as if here */
static const float BEHIND = -0.3f; /* cosine to the side it came from: it has passed the axis */
/* Of a segment's length, so that it grows with the character: passes end below it. */
static const float TOLERANCE = 4e-6f;
/* Of a segment's length: how deep it may lie at its head beyond the depth of the head itself, which
 * is not its to change; less towards its tail, where nothing is allowed. The way a bone leaves a
 * round collider goes with the square root of its head's height above it, so that heads held
 * exactly on the surface would turn rounding into stutter. */
static const float HEAD_SLACK = 2e-4f;
/* Of a segment's length: what is turned by less is only rounded. */
static const float TURN_SLACK = 2e-6f;

typedef struct ChainsJoint {
    Vec3 old;   /* where the tail was after the last step, from the new origin */
    Vec3 start; /* the same, carried: what the free step began from */
    Vec3 rest;  /* unit, the way the segment wants to lie */
    Vec3 drift; /* velocity of the free step before its length was fixed */
    Vec3 free;  /* tail after the free step */
    Vec3 tail;
    Vec3 velocity;
    float length, radius;
} ChainsJoint;

/* The chain being stepped. */
typedef struct Walker {
    const ChainsModel *model;
    ChainsState *state;
    const BlockStep *step;
    const Chain *chain;
    const ChainsBlock *block;
    const ChainFrame *before, *now;
    Vec3 root0; /* where the root was, from the new origin */
    ChainsJoint *joint;
    Quat rotation;   /* with rest parent: of the segment before */
    bool has_jumped; /* carried too far for a sweep to mean anything */
} Walker;

/* A collider that a segment may touch. */
typedef struct Near {
    int slot;
    bool is_tail_only;
    float radius;         /* of the hair, less what overlaps at rest */
    float segment_radius; /* the same for the whole segment, to measure with */
    float slack;          /* depth that is left alone at the head beyond the head's own */
    Vec3 side;            /* the way out a moment ago, zero: none */
    Vec3 entry;           /* the side it came from in this step */
    float gap;            /* of the free segment; -INFINITY where it has to be looked at anyway */
} Near;

struct ChainsJoint *chains_allocate_joints(Arena *arena, int count)
{
    return arena_array(arena, ChainsJoint, count);
}

static Vec3 hold_length(Vec3 head, Vec3 tail, float length, Vec3 otherwise)
{
    Vec3 out = vec3_normalize_or(vec3_sub(tail, head), otherwise);

    return vec3_add_scaled(head, out, length);
}

static Vec3 carried_point(const BlockStep *step, Vec3 x, int lane)
{
    const CarryRow *carry = step->carry;

    if (!carry)
        return vec3_add(x, step->shift);
    Mat3 map = {vecrow_get(&carry->x, lane), vecrow_get(&carry->y, lane),
                vecrow_get(&carry->z, lane)};
    return vec3_add(mat3_apply(&map, x), vecrow_get(&carry->shift, lane));
}

static Vec3 carried_velocity(const BlockStep *step, Vec3 v, int lane)
{
    const CarryRow *carry = step->carry;

    if (!carry)
        return v;
    Mat3 map = {vecrow_get(&carry->x, lane), vecrow_get(&carry->y, lane),
                vecrow_get(&carry->z, lane)};
    return mat3_apply(&map, v);
}

/* `direction` no farther than the limit from `rest`. */
static Vec3 hold_angle(Vec3 direction, Vec3 rest, float limit_cos, float limit_sin)
{
    float c = vec3_dot(direction, rest);

    if (!(c < limit_cos))
        return direction;
    Vec3 side = vec3_sub(direction, vec3_scale(rest, c));
    side = vec3_normalize_or(side, vec3_perpendicular(rest));
    return vec3_add_scaled(vec3_scale(rest, limit_cos), side, limit_sin);
}

/* The free step of one segment about a head that may have been moved by contact. */
static void step_free(Walker *w, int i, Vec3 head)
{
    const RestRow *row = &w->step->rest_row[i];
    const TailRow *before = &w->step->before[i];
    ChainsJoint *joint = &w->joint[i];
    int lane = w->chain->lane;
    float h = w->step->h;
    Vec3 arm;

    joint->length = row->length[lane] * w->now->scale;
    joint->radius = row->radius[lane] * w->now->scale;
    if (w->step->is_parent_rest) {
        w->rotation = quat_mul(w->rotation, quatrow_get(&row->link, lane));
        arm = vec3_scale(quat_rotate(w->rotation, vecrow_get(&row->axis, lane)), joint->length);
    } else {
        arm = vec3_scale(quat_rotate(w->now->attach, vecrow_get(&row->rest, lane)), w->now->scale);
    }
    joint->rest = vec3_normalize_or(arm, vec3(0.0f, -1.0f, 0.0f));
    joint->old = vec3_add(vecrow_get(&before->point, lane), w->step->shift);
    joint->start = carried_point(w->step, vecrow_get(&before->point, lane), lane);

    Vec3 v = carried_velocity(w->step, vecrow_get(&before->other, lane), lane);
    Vec3 pull = vec3_scale(vec3_sub(vec3_add(head, arm), joint->start), row->pull[lane]);
    Vec3 push = vec3_add_scaled(w->step->push, vecrow_get(&row->push, lane), w->now->scale);
    joint->drift = vec3_scale(vec3_add(v, vec3_add(pull, push)), row->keep[lane]);
    Vec3 out = vec3_sub(vec3_add_scaled(joint->start, joint->drift, h), head);
    if (vec3_length(out) > 1e-6f * joint->length)
        out = vec3_normalize_or(out, joint->rest);
    else
        out = joint->rest;
    out = hold_angle(out, joint->rest, row->limit_cos[lane], row->limit_sin[lane]);
    joint->free = vec3_add_scaled(head, out, joint->length);
    joint->tail = joint->free;
}

static void finish_rotation(Walker *w, int i, Vec3 head)
{
    if (w->step->is_parent_rest)
        w->rotation = chains_turn(&w->chain->segment[i], w->rotation, head, w->joint[i].tail);
}

static bool is_round(const Shape *shape)
{
    return shape->kind != COLLIDER_PLANE && shape->side > 0.0f;
}

static bool is_zero(Vec3 a)
{
    return a.x == 0.0f && a.y == 0.0f && a.z == 0.0f;
}

/* The segment's worst touch when it may lie deep at its head and not at all at its tail:
 * the distance to a round collider less what is allowed is convex along the segment, so that its
 * slope is halved to. Planes and shapes to stay inside of are worst at the tail. */
static Contact find_worst(const Shape *shape, const Near *near, Vec3 head, Vec3 tail)
{
    enum { HALVINGS = 10 };
    Vec3 bone = vec3_sub(tail, head);
    Contact worst = collide_point(shape, tail, near->radius);
    float low = 0.0f, high = 1.0f;

    worst.u = 1.0f;
    if (!is_round(shape))
        return worst;
    float head_gap = collide_point(shape, head, near->radius).gap;
    float slack = near->slack + (head_gap < 0.0f ? -head_gap : 0.0f);
    if (vec3_dot(worst.normal, bone) <= slack)
        return worst;
    for (int k = 0; k < HALVINGS; k++) {
        float u = 0.5f * (low + high);

        worst = collide_point(shape, vec3_add_scaled(head, bone, u), near->radius);
        worst.u = u;
        if (vec3_dot(worst.normal, bone) > slack)
            high = u;
        else
            low = u;
    }
    worst.gap += slack * (1.0f - worst.u);
    return worst;
}

/* Gap and way out, seen from the side the segment came from: behind the axis the gap goes on
 * falling. A segment that slides round the collider turns its side with it, so only one that is
 * more than a right angle off has passed through. */
static Contact see(const Shape *shape, const Near *near, Vec3 head, Vec3 tail)
{
    Contact contact = near->is_tail_only ? collide_point(shape, tail, near->radius)
                                         : collide_segment(shape, head, tail, near->radius);

    if (is_zero(contact.normal)) {
        Vec3 bone = vec3_normalize_or(vec3_sub(tail, head), vec3(0.0f, -1.0f, 0.0f));
        contact.normal = is_zero(near->side) ? vec3_perpendicular(bone) : near->side;
    } else if (!is_zero(near->side) && vec3_dot(contact.normal, near->side) < BEHIND) {
        float room = shape->radius + near->radius;
        contact.gap = -(contact.gap + room) - room;
        contact.normal = vec3_scale(contact.normal, -1.0f);
    } else if (contact.gap < 0.0f && !near->is_tail_only) {
        return find_worst(shape, near, head, tail);
    }
    return contact;
}

/* The side from which segment and collider first touch in this step, zero where they do not. */
static Vec3 find_side(const Walker *w, int i, const Near *near, Vec3 head0, Vec3 head)
{
    const ChainsJoint *joint = &w->joint[i];
    int collider = w->block->slot[near->slot].collider;
    const Shape *before = &w->state->shape[0][collider];
    const Shape *now = &w->state->shape[1][collider];
    float room = now->radius + near->radius;
    float a = vec3_length(vec3_sub(head, head0));
    float b = vec3_length(vec3_sub(joint->free, joint->old));
    float way = (a > b ? a : b) + w->state->travel[collider]; // nothing comes nearer by more
    Vec3 side = {0.0f, 0.0f, 0.0f};

    if (!(room > 0.0f) || near->gap > way + TOLERANCE * joint->length)
        return side;
    float wanted = ceilf(4.0f * way / room);
    int count = wanted < 1.0f ? 1 : wanted < (float)MAX_SAMPLES ? (int)wanted : MAX_SAMPLES;
    for (int k = 0; k <= count; k++) {
        float t = (float)k / (float)count;
        Shape shape = collide_between(before, now, t);
        Contact contact = collide_segment(&shape, vec3_lerp(head0, head, t),
                                          vec3_lerp(joint->old, joint->free, t), near->radius);

        if (contact.gap < 0.0f)
            return k ? side : contact.normal;
        side = contact.normal;
    }
    return vec3(0.0f, 0.0f, 0.0f);
}

/* How near the segment may come to the collider. */
static void set_room(const Walker *w, int i, Near *near)
{
    size_t pair = chains_side_index(w->block, i, near->slot, w->chain->lane);
    float radius = w->joint[i].radius, scale = w->now->scale;

    near->segment_radius = radius - w->model->overlap[pair] * scale;
    near->radius =
        near->is_tail_only ? radius - w->model->tail_overlap[pair] * scale : near->segment_radius;
    near->slack = HEAD_SLACK * w->joint[i].length;
}

/* The pair of segment i and the collider in a slot, with what is known of it before contact. */
static Near meet(const Walker *w, int i, int slot, Vec3 side, Vec3 head0, Vec3 head)
{
    int collider = w->block->slot[slot].collider;
    const Shape *shape = &w->state->shape[1][collider];
    Near near = {.slot = slot,
                 .is_tail_only = w->chain->contact == CHAINS_CONTACT_ENDPOINT ||
                                 (w->chain->is_auto && w->model->collider[collider].is_on_head),
                 .gap = -INFINITY};
    bool is_swept = w->chain->contact == CHAINS_CONTACT_SWEPT && !w->has_jumped;

    set_room(w, i, &near);
    if (near.is_tail_only || !is_round(shape))
        return near;
    bool is_known = is_swept && !is_zero(side);
    if (!is_known)
        near.gap = collide_segment(shape, head, w->joint[i].free, near.radius).gap;
    if (is_swept)
        near.side = is_known ? side : find_side(w, i, &near, head0, head);
    near.entry = near.side;
    if (!is_zero(near.side))
        near.gap = -INFINITY;
    return near;
}

/* The colliders that segment i may touch in this step. */
static int find_near(const Walker *w, int i, Vec3 head0, Vec3 head, Near *out)
{
    const ChainsJoint *joint = &w->joint[i];
    float reach = joint->length + vec3_length(vec3_sub(joint->free, joint->old));
    int count = 0;

    for (int k = 0; k < w->block->slot_count && count < MAX_NEAR; k++) {
        int collider = w->block->slot[k].collider;
        const Shape *shape = &w->state->shape[1][collider];
        Vec3 *side = &w->state->side[chains_side_index(w->block, i, k, w->chain->lane)];

        if (!(w->block->slot[k].lanes >> w->chain->lane & 1u))
            continue;
        float gap = collide_point(shape, joint->free, joint->radius).gap;
        if (gap > reach + w->state->travel[collider])
            *side = vec3(0.0f, 0.0f, 0.0f);
        else
            out[count++] = meet(w, i, k, *side, head0, head);
    }
    return count;
}

static const Shape *shape_of(const Walker *w, const Near *near)
{
    return &w->state->shape[1][w->block->slot[near->slot].collider];
}

static Vec3 reject(Vec3 a, Vec3 unit)
{
    return vec3_add_scaled(a, unit, -vec3_dot(a, unit));
}

/* The bone turned by an angle about its head, towards `way`. */
static Vec3 turned_tail(const ChainsJoint *joint, Vec3 head, Vec3 bone, Vec3 way, double angle)
{
    double s, c;

    scalar_sin_cos(angle, &s, &c);
    Vec3 out = vec3_add_scaled(vec3_scale(bone, (float)c), way, (float)s);
    return vec3_add_scaled(head, vec3_normalize_or(out, bone), joint->length);
}

/* The side a segment is seen from turns with it: what was the way out a moment ago says which of
 * two opposite ways is out now. */
static void follow_side(Near *near, const Contact *contact)
{
    if (!is_zero(near->side))
        near->side = contact->normal;
}

/* The smallest turn that frees the segment, on the side it came from: for touches so deep that the
 * way out changes on it, or against which moving the tail does nothing, such as a push along the
 * bone. */
static void turn_until_free(ChainsJoint *joint, const Shape *shape, Near *near, Vec3 head)
{
    enum { COARSE = 48, FINE = 16 };
    const double step = 3.14159265358979323846 / COARSE;
    Vec3 bone = vec3_normalize_or(vec3_sub(joint->tail, head), joint->rest);
    Contact contact = see(shape, near, head, joint->tail);
    Vec3 way = reject(contact.normal, bone);

    if (vec3_length(way) < 0.3f)
        way = reject(near->entry, bone);
    if (vec3_length(way) < 0.1f)
        way = reject(joint->rest, bone);
    way = vec3_normalize_or(way, vec3_perpendicular(bone));
    for (int k = 1; k <= COARSE; k++) {
        double low = step * (k - 1), high = step * k; // free at high
        Vec3 tail = turned_tail(joint, head, bone, way, high);

        if (see(shape, near, head, tail).gap < -TOLERANCE * joint->length)
            continue;
        for (int j = 0; j < FINE; j++) {
            double middle = 0.5 * (low + high);
            Vec3 nearer = turned_tail(joint, head, bone, way, middle);
            if (see(shape, near, head, nearer).gap < -TOLERANCE * joint->length) {
                low = middle;
            } else {
                high = middle;
                tail = nearer;
            }
        }
        joint->tail = tail;
        contact = see(shape, near, head, tail);
        follow_side(near, &contact);
        return;
    }
}

/* One push: the tail is moved so that the touched point comes free, and put back at its length. */
static void push_tail(ChainsJoint *joint, const Contact *contact, Vec3 head)
{
    float lever = contact->u > MIN_LEVER ? contact->u : MIN_LEVER;
    Vec3 tail = vec3_add_scaled(joint->tail, contact->normal, -contact->gap / lever);

    joint->tail = hold_length(head, tail, joint->length, joint->rest);
}

/* Was the free segment so far off that it is still clear where its tail is now? */
static bool is_clear(const ChainsJoint *joint, const Near *near)
{
    return near->gap > 0.0f &&
           near->gap > vec3_length(vec3_sub(joint->tail, joint->free)) + TOLERANCE * joint->length;
}

/* One pair in one pass: the tail is turned out of what it touches. The gap there was. */
static float resolve_pair(const Walker *w, ChainsJoint *joint, Near *near, Vec3 head, int pass)
{
    const Shape *shape = shape_of(w, near);
    Contact c = see(shape, near, head, joint->tail);
    bool is_deep = c.gap < -0.25f * (shape->radius + near->radius);
    bool is_stuck = pass > 8 && c.gap < -10.0f * TOLERANCE * joint->length;

    if (c.gap < 0.0f && (is_deep || is_stuck) && is_round(shape) && !near->is_tail_only) {
        turn_until_free(joint, shape, near, head);
        return c.gap;
    }
    follow_side(near, &c);
    if (c.gap < 0.0f)
        push_tail(joint, &c, head);
    return c.gap;
}

/* Turn segment i about its head out of what it touches. */
static void resolve(const Walker *w, int i, Vec3 head, Near *near, int count)
{
    ChainsJoint *joint = &w->joint[i];
    float worst = -INFINITY;

    for (int pass = 0; pass < MAX_PASSES && worst < -TOLERANCE * joint->length; pass++) {
        worst = 0.0f;
        for (int k = 0; k < count; k++) {
            if (is_clear(joint, &near[k]))
                continue;
            float gap = resolve_pair(w, joint, &near[k], head, pass);
            worst = gap < worst ? gap : worst;
        }
    }
}

/* What is left of the touch: the side for the next step, depth and count for the measures. */
static void remember(const Walker *w, int i, Vec3 head, const Near *near, int count)
{
    const ChainsJoint *joint = &w->joint[i];
    int index = (int)(w->chain - w->model->chain);
    ChainsTotals *total = &w->state->total[index];
    bool is_swept = w->chain->contact == CHAINS_CONTACT_SWEPT;

    for (int k = 0; k < count; k++) {
        Vec3 *side = &w->state->side[chains_side_index(w->block, i, near[k].slot, w->chain->lane)];
        if (is_clear(joint, &near[k])) {
            if (is_swept)
                *side = vec3(0.0f, 0.0f, 0.0f);
            continue;
        }
        const Shape *shape = shape_of(w, &near[k]);
        float depth = collide_depth(shape, head, joint->tail, near[k].segment_radius);
        Contact c = see(shape, &near[k], head, joint->tail);
        bool is_touching =
            c.gap < 0.002f * joint->length + 0.01f * (shape->radius + near[k].radius);

        total->depth = total->depth > depth ? total->depth : depth;
        if (!is_swept)
            continue;
        *side = is_touching && !is_zero(near[k].side) ? c.normal : vec3(0.0f, 0.0f, 0.0f);
        if (!is_zero(*side))
            w->state->has_side[index] = true;
    }
}

static bool is_contact_solved(const Walker *w)
{
    return w->chain->contact != CHAINS_CONTACT_NONE;
}

/* Share what segment i is pushed by among all joints above it: each is turned alike about the root,
 * as a load at the touch would turn springs of one stiffness. */
static bool push_upwards(const Walker *w, int i, const Near *near, int count)
{
    ChainsJoint *joint = w->joint;
    Vec3 head = i ? joint[i - 1].tail : w->now->origin;
    bool has_moved = false;

    for (int k = 0; k < count; k++) {
        Contact c = see(shape_of(w, &near[k]), &near[k], head, joint[i].tail);
        float arm = c.u * joint[i].length, along = 0.0f;

        if (!(c.gap < -TOLERANCE * joint[i].length))
            continue;
        for (int j = 0; j < i; j++)
            arm += joint[j].length;
        for (int j = 0; j <= i && arm > 0.0f; j++) {
            along += joint[j].length;
            joint[j].tail = vec3_add_scaled(joint[j].tail, c.normal, -c.gap * (along / arm));
        }
        has_moved = arm > 0.0f;
    }
    return has_moved;
}

/* Two-way contact before the one-way walk: touches found on the free chain move everything above
 * them, then lengths are fixed from the root. */
static void share_contacts(Walker *w)
{
    Near near[MAX_NEAR];
    int count = w->chain->segment_count;

    for (int pass = 0; pass < 4; pass++) {
        bool has_moved = false;

        for (int i = 0; i < count; i++) {
            Vec3 head0 = i ? w->joint[i - 1].old : w->root0;
            Vec3 head = i ? w->joint[i - 1].tail : w->now->origin;
            int near_count = find_near(w, i, head0, head, near);
            has_moved |= push_upwards(w, i, near, near_count);
        }
        for (int i = 0; i < count; i++)
            w->joint[i].tail = hold_length(i ? w->joint[i - 1].tail : w->now->origin,
                                           w->joint[i].tail, w->joint[i].length, w->joint[i].rest);
        if (!has_moved)
            return;
    }
}

/* Where the chain's bones were a step ago, hung on where it is now. */
static void lay_bones(const Walker *w)
{
    Vec3 head0 = w->root0, head = w->now->origin;

    for (int i = 0; i < w->chain->segment_count; i++) {
        Vec3 tail0 = carried_point(w->step, vecrow_get(&w->step->before[i].point, w->chain->lane),
                                   w->chain->lane);
        float length = w->step->rest_row[i].length[w->chain->lane] * w->now->scale;
        Vec3 tail = hold_length(head, vec3_add(head, vec3_sub(tail0, head0)), length,
                                vec3(0.0f, -1.0f, 0.0f));

        w->state->bone[i] = (ChainsBone){.head = head, .tail = tail, .length = length};
        head0 = tail0;
        head = tail;
    }
    chains_keep_begin(w->model, w->state, w->chain, w->step->pose);
}

/* The sweeps over the whole chain. What a segment is carried along by those above it is no push:
 * its free step is carried along too. */
static void keep_all(const Walker *w)
{
    Vec3 head0 = w->now->origin;

    chains_keep_all(w->model, w->state, w->chain, w->step->pose);
    for (int i = 0; i < w->chain->segment_count; i++) {
        ChainsJoint *joint = &w->joint[i];
        const ChainsBone *bone = &w->state->bone[i];
        Vec3 push = vec3_sub(joint->tail, joint->free);
        Vec3 turned = vec3_sub(vec3_sub(bone->tail, bone->head), vec3_sub(joint->tail, head0));

        // rounding is no turn
        if (vec3_length(turned) > TURN_SLACK * joint->length)
            push = vec3_add(push, turned);
        head0 = joint->tail;
        joint->tail = bone->tail;
        joint->free = vec3_sub(bone->tail, push);
    }
}

static void walk_positions(Walker *w)
{
    Near near[MAX_NEAR];
    Vec3 head0 = w->root0, head = w->now->origin;
    Quat rotation = w->rotation;

    if (w->model->is_two_way && is_contact_solved(w)) {
        for (int i = 0; i < w->chain->segment_count; i++) {
            step_free(w, i, head);
            head = w->joint[i].tail;
            finish_rotation(w, i, i ? w->joint[i - 1].tail : w->now->origin);
        }
        share_contacts(w);
        head = w->now->origin;
        w->rotation = rotation;
    }
    if (w->chain->probe)
        lay_bones(w);
    for (int i = 0; i < w->chain->segment_count; i++) {
        ChainsJoint *joint = &w->joint[i];
        Vec3 shared = joint->tail;

        step_free(w, i, head);
        int count = find_near(w, i, head0, head, near);
        if (w->model->is_two_way && is_contact_solved(w))
            joint->tail = hold_length(head, shared, joint->length, joint->rest);
        if (is_contact_solved(w))
            resolve(w, i, head, near, count);
        if (w->chain->probe)
            joint->tail =
                chains_keep_segment(w->model, w->state, w->chain, w->step->pose, i, joint->tail);
        finish_rotation(w, i, head);
        remember(w, i, head, near, count);
        head0 = joint->old;
        head = joint->tail;
    }
    if (w->chain->probe)
        keep_all(w);
}

/* Velocities after contact. Above the first touch a joint has what it moved; from there down the
 * velocity of its free step, less what points into the collider, less what would stretch it. */
static void walk_velocities(Walker *w)
{
    float inverse_h = 1.0f / w->step->h;
    Vec3 head = w->now->origin;
    Vec3 head_velocity = vec3_scale(vec3_sub(w->now->origin, w->root0), inverse_h);
    ChainsTotals *total = &w->state->total[w->chain - w->model->chain];
    bool is_below = false;

    for (int i = 0; i < w->chain->segment_count; i++) {
        ChainsJoint *joint = &w->joint[i];
        Vec3 push = vec3_sub(joint->tail, joint->free);
        float pushed = vec3_length(push);
        bool is_pushed = pushed > 0.0f;

        total->contacts += is_pushed;
        if (w->model->is_naive) {
            joint->velocity = vec3_scale(vec3_sub(joint->tail, joint->start), inverse_h);
        } else if (!is_pushed && !is_below) {
            joint->velocity = vec3_scale(vec3_sub(joint->free, joint->start), inverse_h);
        } else {
            Vec3 v = is_below ? joint->drift
                              : vec3_scale(vec3_sub(joint->free, joint->start), inverse_h);
            Vec3 bone = vec3_normalize_or(vec3_sub(joint->tail, head), joint->rest);
            if (is_pushed) {
                Vec3 normal = vec3_scale(push, 1.0f / pushed);
                float inwards = vec3_dot(v, normal);
                v = vec3_add_scaled(v, normal, inwards < 0.0f ? -inwards : 0.0f);
            }
            float along = vec3_dot(vec3_sub(v, head_velocity), bone);
            joint->velocity = vec3_add_scaled(v, bone, -along);
            is_below = true;
        }
        head = joint->tail;
        head_velocity = joint->velocity;
    }
}

void chains_step_contact(const ChainsModel *model, ChainsState *state, const Chain *chain,
                         const BlockStep *step)
{
    int index = (int)(chain - model->chain);
    const ChainFrame *before = &state->frame[1 - state->now][index];
    const ChainFrame *now = &state->frame[state->now][index];
    Walker w = {.model = model,
                .state = state,
                .step = step,
                .chain = chain,
                .block = &model->block[chain->block],
                .before = before,
                .now = now,
                .root0 = vec3_add(before->origin, step->shift),
                .joint = state->joint,
                .rotation = now->attach};
    Vec3 moved = vec3_sub(now->origin, w.root0);
    float limit = chain->teleport_distance * now->scale;

    w.has_jumped = vec3_dot(moved, moved) > limit * limit;
    state->has_side[index] = false;
    walk_positions(&w);
    walk_velocities(&w);
    for (int i = 0; i < chain->segment_count; i++) {
        vecrow_set(&step->now[i].point, chain->lane, w.joint[i].tail);
        vecrow_set(&step->now[i].other, chain->lane, w.joint[i].velocity);
    }
}
