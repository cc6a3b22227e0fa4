/* The rest-frame step without contact: each tail is pulled to its authored place about the head,
 * then put back at its length from it.
 *
 *   u = exp(-c h) [v + h (k (r - x) + g)],  y = x + h u,  x' = o + L (y - o) / |y - o|,
 *   v' = (x' - x) / h
 *
 * with r = o + R s a. Damping is exact, the pull explicit.
 */
#include "solvers/chains/carry.h"

/* `direction` no farther than the limit from `rest`, both unit. */
static VecLanes hold_angle(VecLanes direction, VecLanes rest, Lanes limit_cos, Lanes limit_sin)
{
    Lanes c = veclanes_dot(direction, rest);
    VecLanes side = veclanes_sub(direction, veclanes_scale(rest, c));
    Lanes length = veclanes_length(side);
    Mask is_beyond = lanes_less(c, limit_cos);

    if (!mask_any(is_beyond))
        return direction;
    Mask has_side = lanes_less(lanes_all(1e-6f), length);
    Lanes divisor = lanes_max(length, lanes_all(1e-6f));
    side = veclanes_choose(has_side, veclanes_scale(side, lanes_div(lanes_all(1.0f), divisor)),
                           veclanes_perpendicular(rest));
    VecLanes edge = veclanes_add_scaled(veclanes_scale(rest, limit_cos), side, limit_sin);
    return veclanes_choose(is_beyond, edge, direction);
}

/* Lanes in which a collider may meet the segment on its way: how far the tail is from it, against
 * the segment's length and everything that moves. */
static Mask find_near(const BlockStep *step, VecLanes tail, Lanes reach, int lane)
{
    Mask near = mask_from_bits(0, lane);

    for (int i = 0; i < step->slot_count; i++) {
        const ChainsSlot *slot = &step->slot[i];
        const Shape *shape = &step->shape[slot->collider];
        VecLanes from =
            veclanes_sub(tail, veclanes_all(shape->start.x, shape->start.y, shape->start.z));
        Lanes gap;

        if (shape->kind == COLLIDER_PLANE) {
            gap =
                veclanes_dot(from, veclanes_all(shape->normal.x, shape->normal.y, shape->normal.z));
        } else {
            VecLanes axis = veclanes_all(shape->axis.x, shape->axis.y, shape->axis.z);
            Lanes w = lanes_mul(veclanes_dot(from, axis), lanes_all(shape->inverse_axis2));
            w = lanes_min(lanes_max(w, lanes_all(0.0f)), lanes_all(1.0f));
            Lanes distance = veclanes_length(veclanes_sub(from, veclanes_scale(axis, w)));
            gap = lanes_mul(lanes_sub(distance, lanes_all(shape->radius)), lanes_all(shape->side));
        }
        Mask is_near = lanes_less(gap, lanes_add(reach, lanes_all(step->travel[slot->collider])));
        near = mask_or(near, mask_and(is_near, mask_from_bits(slot->lanes, lane)));
    }
    return near;
}

static void step_segment(BlockStep *step, Walk *walk, int i, int lane)
{
    const RestRow *row = &step->rest_row[i];
    Lanes scale = lanes_load(&step->frame->scale[lane]);
    Lanes length = lanes_mul(lanes_load(&row->length[lane]), scale);
    VecLanes head = veclanes_load(&walk->head, lane);
    QuatLanes rotation = quatlanes_load(&walk->rotation, lane);
    VecLanes arm;

    if (step->is_parent_rest) {
        rotation = quatlanes_mul(rotation, quatlanes_load(&row->link, lane));
        arm = veclanes_scale(quatlanes_rotate(rotation, veclanes_load(&row->axis, lane)), length);
    } else {
        arm = veclanes_scale(quatlanes_rotate(rotation, veclanes_load(&row->rest, lane)), scale);
    }

    VecLanes x = carry_point(step, veclanes_load(&step->before[i].point, lane), lane);
    VecLanes v = carry_velocity(step, veclanes_load(&step->before[i].other, lane), lane);
    VecLanes pull =
        veclanes_scale(veclanes_sub(veclanes_add(head, arm), x), lanes_load(&row->pull[lane]));
    VecLanes push = veclanes_add_scaled(veclanes_all(step->push.x, step->push.y, step->push.z),
                                        veclanes_load(&row->push, lane), scale);
    VecLanes u =
        veclanes_scale(veclanes_add(v, veclanes_add(pull, push)), lanes_load(&row->keep[lane]));
    VecLanes out = veclanes_sub(veclanes_add_scaled(x, u, lanes_all(step->h)), head);

    Lanes distance = veclanes_length(out);
    Mask is_long = lanes_less(lanes_mul(length, lanes_all(1e-6f)), distance);
    Lanes divisor = lanes_choose(is_long, distance, lanes_all(1.0f));
    out = veclanes_choose(is_long, veclanes_scale(out, lanes_div(length, divisor)), arm);
    if (step->has_limit) {
        Lanes inverse = lanes_div(lanes_all(1.0f), lanes_choose(is_long, length, lanes_all(1.0f)));
        VecLanes held =
            hold_angle(veclanes_scale(out, inverse), veclanes_scale(arm, inverse),
                       lanes_load(&row->limit_cos[lane]), lanes_load(&row->limit_sin[lane]));
        out = veclanes_choose(is_long, veclanes_scale(held, length), out);
    }

    VecLanes tail = veclanes_add(head, out);
    VecLanes moved = veclanes_sub(tail, x);
    veclanes_store(&step->now[i].point, lane, tail);
    veclanes_store(&step->now[i].other, lane, veclanes_scale(moved, lanes_all(1.0f / step->h)));
    veclanes_store(&walk->head, lane, tail);
    if (step->is_parent_rest) {
        Lanes inverse = lanes_div(lanes_all(1.0f), lanes_max(length, lanes_all(1e-12f)));
        QuatLanes turn =
            quatlanes_from_to(veclanes_scale(arm, inverse), veclanes_scale(out, inverse));
        quatlanes_store(&walk->rotation, lane, quatlanes_mul(turn, rotation));
    }

    Lanes sum = lanes_add(lanes_add(tail.x, tail.y), tail.z);
    Mask is_finite = lanes_less(lanes_sub(sum, sum), lanes_all(1.0f));
    uint32_t all = SIMD_WIDTH == 16 ? 0xffffu : ((1u << SIMD_WIDTH) - 1u) << lane;
    if (mask_to_bits(is_finite, lane) != all)
        step->out_finite = false;
    if (step->slot_count) {
        Lanes reach = lanes_add(lanes_add(length, veclanes_length(moved)),
                                lanes_mul(lanes_load(&row->radius[lane]), scale));
        step->out_near |= mask_to_bits(find_near(step, tail, reach, lane), lane);
    }
}

void SIMD_NAME(chains_rest_kernel)(BlockStep *step)
{
    Walk walk = {.head = step->frame->origin, .rotation = step->frame->rotation};

    step->out_near = 0;
    step->out_finite = true;
    for (int i = 0; i < step->row_count; i++) {
        for (int lane = 0; lane < ROW_LANES; lane += SIMD_WIDTH)
            step_segment(step, &walk, i, lane);
    }
}
