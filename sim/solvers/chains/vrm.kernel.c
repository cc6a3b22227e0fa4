/* VRMC_springBone 1.0: one step of its Verlet integration for a block of chains, colliders
 * included. Each tail keeps part of its last displacement, is drawn along the unposed bone and
 * along gravity, put back on the sphere about its head, and pushed out of every collider in list
 * order.
 *
 * With nodes given, a bone is as long as the way from its head to where its tail node was left by
 * the step before, carried along by what the chain hangs on, and the next bone begins at the node:
 * so does three-vrm 3.5.5 in a scene whose matrices are brought up to date before the update.
 */
#include "solvers/chains/carry.h"

/* head + (tail - head) at `length`; along `arm` where the tail lies on the head. */
static VecLanes hold_length(VecLanes head, VecLanes tail, Lanes length, VecLanes arm)
{
    VecLanes out = veclanes_sub(tail, head);
    Lanes distance = veclanes_length(out);
    Mask is_long = lanes_less(lanes_all(0.0f), distance);
    Lanes divisor = lanes_choose(is_long, distance, lanes_all(1.0f));

    out = veclanes_choose(is_long, veclanes_scale(out, lanes_div(length, divisor)), arm);
    return veclanes_add(head, out);
}

/* Where the tail goes when it is pushed out of one collider, before its length is fixed; the mask
 * says in which lanes. */
static Mask push_out(const Shape *shape, VecLanes *tail, VecLanes head, Lanes hit)
{
    VecLanes from =
        veclanes_sub(*tail, veclanes_all(shape->start.x, shape->start.y, shape->start.z));
    Mask is_in;

    if (shape->kind == COLLIDER_PLANE) {
        VecLanes normal = veclanes_all(shape->normal.x, shape->normal.y, shape->normal.z);
        Lanes gap = lanes_sub(veclanes_dot(from, normal), hit);
        is_in = lanes_less(gap, lanes_all(0.0f));
        *tail = veclanes_add_scaled(*tail, normal, lanes_sub(lanes_all(0.0f), gap));
        return is_in;
    }
    VecLanes away = from;
    if (shape->inverse_axis2 > 0.0f) {
        VecLanes axis = veclanes_all(shape->axis.x, shape->axis.y, shape->axis.z);
        Lanes w = lanes_mul(veclanes_dot(from, axis), lanes_all(shape->inverse_axis2));
        w = lanes_min(lanes_max(w, lanes_all(0.0f)), lanes_all(1.0f));
        away = veclanes_sub(from, veclanes_scale(axis, w));
    }
    Lanes distance2 = veclanes_dot(away, away);
    Lanes room = lanes_add(lanes_all(shape->radius), lanes_mul(hit, lanes_all(shape->side)));
    room = lanes_max(room, lanes_all(0.0f)); // too big for the inside: held at its middle
    Lanes room2 = lanes_mul(room, room);
    is_in = shape->side > 0.0f ? lanes_less(distance2, room2) : lanes_less(room2, distance2);
    if (!mask_any(is_in))
        return is_in;

    Lanes distance = lanes_sqrt(distance2);
    Mask has_way = lanes_less(lanes_all(0.0f), distance);
    Lanes divisor = lanes_choose(has_way, distance, lanes_all(1.0f));
    VecLanes way = veclanes_scale(away, lanes_div(lanes_all(1.0f), divisor));
    // at the very centre any way across the bone will do
    VecLanes bone = veclanes_sub(*tail, head);
    Lanes bone_length = lanes_max(veclanes_length(bone), lanes_all(1e-12f));
    bone = veclanes_scale(bone, lanes_div(lanes_all(1.0f), bone_length));
    way = veclanes_choose(has_way, way, veclanes_perpendicular(bone));
    *tail = veclanes_add_scaled(*tail, way, lanes_sub(room, distance));
    return is_in;
}

static VecLanes collide(const BlockStep *step, VecLanes tail, VecLanes head, Lanes length,
                        Lanes hit, int lane)
{
    for (int i = 0; i < step->slot_count; i++) {
        VecLanes pushed = tail;
        Mask is_in = push_out(&step->shape[step->slot[i].collider], &pushed, head, hit);

        is_in = mask_and(is_in, mask_from_bits(step->slot[i].lanes, lane));
        if (!mask_any(is_in))
            continue;
        pushed = hold_length(head, pushed, length, veclanes_sub(tail, head));
        tail = veclanes_choose(is_in, pushed, tail);
    }
    return tail;
}

static void step_segment(BlockStep *step, Walk *walk, int i, int lane)
{
    const VrmRow *row = &step->vrm_row[i];
    Lanes scale = lanes_load(&step->frame->scale[lane]);
    Lanes length0 = lanes_mul(lanes_load(&row->length[lane]), scale);
    Lanes length = length0;
    VecLanes head = veclanes_load(&walk->head, lane);
    QuatLanes rotation =
        quatlanes_mul(quatlanes_load(&walk->rotation, lane), quatlanes_load(&row->link, lane));
    VecLanes axis = quatlanes_rotate(rotation, veclanes_load(&row->axis, lane));

    if (step->node_before) {
        VecLanes node = veclanes_load(&step->node_before[i], lane);
        node = apply_carry(step->node_carry, node, lane);
        length = veclanes_length(veclanes_sub(node, head));
        Mask has_node = lanes_less(lanes_all(0.0f), lanes_load(&row->has_node[lane]));
        length = lanes_choose(has_node, length, length0);
    }

    // three-vrm leaves forces and radii to the host when a model is scaled
    Lanes size = step->node_before ? lanes_all(1.0f) : scale;
    VecLanes x = carry_point(step, veclanes_load(&step->before[i].point, lane), lane);
    VecLanes before = carry_point(step, veclanes_load(&step->before[i].other, lane), lane);
    VecLanes tail = veclanes_add_scaled(x, veclanes_sub(x, before), lanes_load(&row->keep[lane]));
    tail = veclanes_add_scaled(tail, axis, lanes_mul(lanes_load(&row->stiffness[lane]), size));
    tail = veclanes_add_scaled(tail, veclanes_load(&row->gravity, lane), size);
    tail = veclanes_add(tail, veclanes_all(step->push.x, step->push.y, step->push.z));
    tail = hold_length(head, tail, length, veclanes_scale(axis, length));
    tail = collide(step, tail, head, length, lanes_mul(lanes_load(&row->radius[lane]), size), lane);
    veclanes_store(&step->now[i].point, lane, tail);
    veclanes_store(&step->now[i].other, lane, x);

    VecLanes out = veclanes_sub(tail, head);
    Lanes distance = veclanes_length(out);
    Mask is_long = lanes_less(lanes_all(0.0f), distance);
    Lanes inverse = lanes_div(lanes_all(1.0f), lanes_choose(is_long, distance, lanes_all(1.0f)));
    out = veclanes_choose(is_long, veclanes_scale(out, inverse), axis);
    rotation = quatlanes_mul(quatlanes_from_to(axis, out), rotation);
    quatlanes_store(&walk->rotation, lane, rotation);
    if (step->node_before) {
        VecLanes node = veclanes_add_scaled(head, out, length0);
        veclanes_store(&step->node_now[i], lane, node);
        veclanes_store(&walk->head, lane, node);
    } else {
        veclanes_store(&walk->head, lane, tail);
    }

    Lanes sum = lanes_add(lanes_add(tail.x, tail.y), tail.z);
    Mask is_finite = lanes_less(lanes_sub(sum, sum), lanes_all(1.0f));
    uint32_t all = SIMD_WIDTH == 16 ? 0xffffu : ((1u << SIMD_WIDTH) - 1u) << lane;
    if (mask_to_bits(is_finite, lane) != all)
        step->out_finite = false;
}

void SIMD_NAME(chains_vrm_kernel)(BlockStep *step)
{
    Walk walk = {.head = step->frame->origin, .rotation = step->frame->rotation};

    step->out_near = 0;
    step->out_finite = true;
    for (int i = 0; i < step->row_count; i++) {
        for (int lane = 0; lane < ROW_LANES; lane += SIMD_WIDTH)
            step_segment(step, &walk, i, lane);
    }
}
