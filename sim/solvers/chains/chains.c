/* The solver of joint chains: build, start, step. See model.h for how it is laid out. */
#include "base/random.h"
#include "solvers/chains/kernel.h"

#include <string.h>

typedef void (*Kernel)(BlockStep *step);
static const Kernel rest_kernels[SIMD_LEVEL_COUNT] = SIMD_TABLE(chains_rest_kernel);
static const Kernel vrm_kernels[SIMD_LEVEL_COUNT] = SIMD_TABLE(chains_vrm_kernel);

static Status list_outputs(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const Rig *rig = desc->rig;
    int *seen = arena_array(arena, int, rig->node_count);
    int count = 0;

    model->chain_key = arena_array(arena, const char *, model->chain_count);
    model->segment = arena_array(arena, PartSegment, model->segment_count);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d segments", model->segment_count);
    for (int i = 0; i < model->chain_count; i++) {
        const Chain *chain = &model->chain[i];

        model->chain_key[i] = chain->key;
        for (int j = 0; j < chain->segment_count; j++) {
            const ChainsSegment *s = &chain->segment[j];
            const char *key = rig->node[s->head].key;

            if (++seen[s->head] > 1)
                key = arena_format(arena, "%s/%d", key, seen[s->head]);
            if (!key)
                return error_set(err, STATUS_NO_MEMORY, "no room for a key");
            model->segment[count++] = (PartSegment){.key = key,
                                                    .chain = i,
                                                    .head = s->head,
                                                    .tail = s->tail,
                                                    .tail_offset = s->tail_offset};
        }
    }
    return STATUS_OK;
}

/* Colliders fitted to the body, where the job asks for them: everything else is built from a rig
 * that has them. */
static Status fit_rig(PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const FitDesc fit_desc = {.body = {.rig = desc->rig,
                                       .chains = &desc->spec->chains,
                                       .hidden_count = desc->hidden_count,
                                       .hidden = desc->hidden},
                              .spec = desc->spec,
                              .warnings = desc->warnings};

    if (!desc->spec->is_fitted)
        return STATUS_OK;
    Fit *fit = arena_array(arena, Fit, 1);
    if (!fit)
        return error_set(err, STATUS_NO_MEMORY, "no room to fit colliders");
    if (fit_colliders(&fit_desc, arena, fit, err))
        return err->status;
    model->fit = fit;
    model->rig = &fit->rig;
    desc->rig = &fit->rig;
    return STATUS_OK;
}

static Status chains_build(const PartDesc *asked, Arena *arena, const void **out, Error *err)
{
    PartDesc fitted = *asked;
    const PartDesc *desc = &fitted;
    const ChainsSpec *spec = &desc->spec->chains;

    if (spec->has_self_contact)
        return error_set(err, STATUS_INVALID,
                         "self_contact is not supported: chains do not meet one another");
    if (!(desc->dt > 0.0f))
        return error_set(err, STATUS_INVALID, "chains need a step longer than 0 s");
    ChainsModel *model = arena_array(arena, ChainsModel, 1);
    if (!model)
        return error_set(err, STATUS_NO_MEMORY, "no room for chains");

    *model = (ChainsModel){.rig = desc->rig,
                           .spec = desc->spec,
                           .mode = spec->mode,
                           .rest = spec->rest,
                           .is_naive = spec->contact_velocity == CHAINS_VELOCITY_NAIVE,
                           .is_two_way = spec->is_two_way,
                           .is_peer = spec->vrm_length == CHAINS_LENGTH_PEER,
                           .h = desc->dt,
                           .simd = desc->simd,
                           .simulation = desc->simulation};
    if (fit_rig(&fitted, arena, model, err) || chains_select(desc, arena, model, err) ||
        chains_link(desc, arena, model, err) || chains_resolve_contact(desc, arena, model, err) ||
        chains_pack(desc, arena, model, err) || chains_find_overlaps(desc, arena, model, err) ||
        chains_find_probes(desc, arena, model, err) || list_outputs(desc, arena, model, err))
        return err->status;
    *out = model;
    return STATUS_OK;
}

static void chains_describe(const void *model_, PartInfo *out)
{
    const ChainsModel *model = model_;

    *out = (PartInfo){.is_driven = model->is_driven,
                      .chain_count = model->chain_count,
                      .chain_key = model->chain_key,
                      .segment_count = model->segment_count,
                      .segment = model->segment,
                      .row_count = model->fit ? CHAINS_FIT_ROWS * (model->fit->count + 1) : 0};
}

/* --- start --- */

static DVec3 find_origin(const ChainsModel *model, const Pose *pose)
{
    if (!model->chain_count)
        return (DVec3){0.0, 0.0, 0.0};
    const Chain *first = &model->chain[0];
    return pose->world[first->parent < 0 ? first->segment[0].head : first->parent].origin;
}

/* The chain on its authored arc, at rest. */
static void lay_chain(const ChainsModel *model, ChainsState *state, const Chain *chain)
{
    const ChainFrame *frame = &state->frame[state->now][chain - model->chain];
    bool is_vrm = model->mode == CHAINS_VRM;
    Quat rotation = is_vrm ? frame->parent : frame->attach;
    int row = model->block[chain->block].first_row;
    Vec3 tail = frame->origin;

    for (int i = 0; i < chain->segment_count; i++) {
        const ChainsSegment *s = &chain->segment[i];
        Vec3 arm = quat_rotate(rotation, s->rest);

        if (is_vrm) {
            rotation = quat_mul(rotation, s->link);
            arm = vec3_scale(quat_rotate(rotation, s->axis), s->length);
        }
        tail = vec3_add_scaled(tail, arm, frame->scale);
        vecrow_set(&state->tail[state->now][row + i].point, chain->lane, tail);
        if (is_vrm)
            vecrow_set(&state->tail[state->now][row + i].other, chain->lane, tail);
        if (state->node[0])
            vecrow_set(&state->node[state->now][row + i], chain->lane, tail);
    }
}

static void place_collider(const ChainsModel *model, ChainsState *state, const Pose *pose,
                           int index)
{
    const RigCollider *collider = &model->rig->collider[index];
    World world =
        chains_node_world(model, state, pose, &model->collider[index].link, collider->node);

    state->shape[1][index] = collide_place(collider, &world, state->origin);
    if (model->is_peer)
        state->shape[1][index].radius = collider->radius;
}

static Status allocate_state(const ChainsModel *model, Arena *arena, ChainsState *state, Error *err)
{
    int longest = 0;

    for (int i = 0; i < model->chain_count; i++) {
        if (longest < model->chain[i].segment_count)
            longest = model->chain[i].segment_count;
    }
    for (int i = 0; i < 2; i++) {
        state->tail[i] = arena_array(arena, TailRow, model->row_count);
        state->frame[i] = arena_array(arena, ChainFrame, model->chain_count);
        state->shape[i] = arena_array(arena, Shape, model->collider_count);
        if (model->is_peer)
            state->node[i] = arena_array(arena, VecRow, model->row_count);
    }
    state->side = arena_array(arena, Vec3, model->side_count);
    state->has_side = arena_array(arena, bool, model->chain_count);
    state->total = arena_array(arena, ChainsTotals, model->chain_count);
    state->frame_row = arena_array(arena, FrameRow, 1);
    state->carry_row = arena_array(arena, CarryRow, 2);
    state->travel = arena_array(arena, float, model->collider_count);
    state->joint = chains_allocate_joints(arena, longest);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the state of %d chains",
                         model->chain_count);
    return model->surface ? chains_start_surface(model, longest, arena, state, err) : STATUS_OK;
}

static Status chains_start(const void *model_, const Pose *pose, Arena *arena, void **out,
                           Error *err)
{
    const ChainsModel *model = model_;
    ChainsState *state = arena_array(arena, ChainsState, 1);

    if (!state)
        return error_set(err, STATUS_NO_MEMORY, "no room for the state of chains");
    if (allocate_state(model, arena, state, err))
        return err->status;
    state->origin = find_origin(model, pose);
    for (int b = 0; b < model->block_count; b++) {
        for (int lane = 0; lane < model->block[b].lane_count; lane++) {
            int index = model->block[b].chain[lane];
            state->frame[0][index] = chains_frame(model, state, pose, &model->chain[index]);
            state->frame[1][index] = state->frame[0][index];
            lay_chain(model, state, &model->chain[index]);
        }
    }
    memcpy(state->tail[1], state->tail[0], (size_t)model->row_count * sizeof *state->tail[0]);
    if (model->is_peer)
        memcpy(state->node[1], state->node[0], (size_t)model->row_count * sizeof *state->node[0]);
    for (int i = 0; i < model->collider_count; i++) {
        place_collider(model, state, pose, i);
        state->shape[0][i] = state->shape[1][i];
    }
    *out = state;
    return STATUS_OK;
}

/* --- step --- */

/* Columns of a linear map and what is added. */
typedef struct Carry {
    Mat3 map;
    Vec3 shift;
} Carry;

/* With the frame from where it was (`from`, relative to the old origin) to where it is. */
static Carry carry_with(Vec3 from, Quat rotation0, Vec3 to, Quat rotation1, float scale)
{
    Quat turn = quat_normalize(quat_mul(rotation1, quat_conjugate(rotation0)));
    Carry carry = {.map = mat3_from_quat_scale(turn, vec3(scale, scale, scale))};

    carry.shift = vec3_sub(to, mat3_apply(&carry.map, from));
    return carry;
}

static bool is_same_quat(Quat a, Quat b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

static Carry blend_carries(const Carry *a, const Carry *b, float t)
{
    return (Carry){{vec3_lerp(a->map.x, b->map.x, t), vec3_lerp(a->map.y, b->map.y, t),
                    vec3_lerp(a->map.z, b->map.z, t)},
                   vec3_lerp(a->shift, b->shift, t)};
}

/* How the chain's state is taken over: as it is (false), with its center, with its attachment. */
static bool find_carry(const Chain *chain, const ChainFrame *before, const ChainFrame *now,
                       const DVec3 *origin, Carry *out)
{
    Vec3 rebase = dvec3_offset(origin[0], origin[1]);
    Vec3 moved = vec3_sub(now->origin, vec3_add(before->origin, rebase));
    float scale = before->scale > 0.0f ? now->scale / before->scale : 1.0f;
    float limit = chain->teleport_distance * now->scale;
    bool is_teleport = vec3_dot(moved, moved) > limit * limit;
    bool is_carried = false;

    *out = (Carry){mat3_identity(), rebase};
    if (is_teleport || chain->inertia_scale < 1.0f) {
        bool is_still = vec3_dot(moved, moved) == 0.0f && scale == 1.0f &&
                        is_same_quat(before->attach, now->attach);
        Carry attach = carry_with(before->origin, before->attach, now->origin, now->attach, scale);
        if (is_teleport) {
            *out = attach;
            return true;
        }
        if (!is_still) {
            Carry base = *out;
            if (chain->center >= 0)
                base = carry_with(
                    dvec3_offset(before->center.origin, origin[0]), before->center.rotation,
                    dvec3_offset(now->center.origin, origin[1]), now->center.rotation, 1.0f);
            *out = blend_carries(&attach, &base, chain->inertia_scale);
            return true;
        }
    }
    if (chain->center >= 0) {
        DVec3 a = before->center.origin, b = now->center.origin;
        is_carried = a.x != b.x || a.y != b.y || a.z != b.z ||
                     !is_same_quat(before->center.rotation, now->center.rotation);
        if (is_carried)
            *out = carry_with(dvec3_offset(a, origin[0]), before->center.rotation,
                              dvec3_offset(b, origin[1]), now->center.rotation, 1.0f);
    }
    return is_carried;
}

static void set_carry(CarryRow *row, int lane, const Carry *carry)
{
    vecrow_set(&row->x, lane, carry->map.x);
    vecrow_set(&row->y, lane, carry->map.y);
    vecrow_set(&row->z, lane, carry->map.z);
    vecrow_set(&row->shift, lane, carry->shift);
}

/* Where the block's chains hang now, and whether any must be carried. */
static bool place_block(const ChainsModel *model, ChainsState *state, const ChainsBlock *block,
                        const Pose *pose, const DVec3 *origin)
{
    bool is_carried = false;

    for (int lane = 0; lane < block->lane_count; lane++) {
        int index = block->chain[lane];
        const Chain *chain = &model->chain[index];
        ChainFrame *now = &state->frame[state->now][index];
        const ChainFrame *before = &state->frame[1 - state->now][index];
        Carry carry;

        *now = chains_frame(model, state, pose, chain);
        is_carried |= find_carry(chain, before, now, origin, &carry);
        set_carry(&state->carry_row[0], lane, &carry);
        if (state->node[0]) {
            float scale = before->scale > 0.0f ? now->scale / before->scale : 1.0f;
            carry = carry_with(before->origin, before->parent, now->origin, now->parent, scale);
            set_carry(&state->carry_row[1], lane, &carry);
        }
        vecrow_set(&state->frame_row->origin, lane, now->origin);
        quatrow_set(&state->frame_row->rotation, lane,
                    model->mode == CHAINS_VRM ? now->parent : now->attach);
        state->frame_row->scale[lane] = now->scale;
    }
    for (int lane = block->lane_count; lane < ROW_LANES; lane++) {
        Carry nothing = {0};
        set_carry(&state->carry_row[0], lane, &nothing);
        set_carry(&state->carry_row[1], lane, &nothing);
        vecrow_set(&state->frame_row->origin, lane, vec3(0.0f, 0.0f, 0.0f));
        quatrow_set(&state->frame_row->rotation, lane, quat_identity());
        state->frame_row->scale[lane] = 0.0f;
    }
    return is_carried;
}

/* A number in [-1, 1] for each whole half second. */
static double gust_key(uint64_t seed, double key)
{
    Random random = {seed ^ ((uint64_t)(int64_t)key * 0x9e3779b97f4a7c15u)};

    return (double)random_float(&random, -1.0f, 1.0f);
}

/* What wind adds to every joint's acceleration: air takes hair along at 1/s of its own speed. */
static Vec3 wind_acceleration(const StepInput *input)
{
    const ForcesSpec *forces = input->forces;

    if (!forces)
        return vec3(0.0f, 0.0f, 0.0f);
    double t = input->time * 2.0;
    double key = floor(t);
    double s = t - key;
    s = s * s * (3.0 - 2.0 * s);
    double gust = gust_key(forces->wind_seed, key);
    gust += (gust_key(forces->wind_seed, key + 1.0) - gust) * s;
    return vec3_scale(forces->wind_velocity, 1.0f + forces->wind_gust * (float)gust);
}

static void place_colliders(const ChainsModel *model, ChainsState *state, const StepInput *input,
                            Vec3 rebase)
{
    for (int i = 0; i < model->collider_count; i++) {
        state->shape[0][i] = collide_shift(&state->shape[1][i], rebase);
        state->shape[1][i] = state->shape[0][i];
        if (model->collider[i].link.chain < 0)
            place_collider(model, state, input->now, i);
        state->travel[i] = collide_travel(&state->shape[0][i], &state->shape[1][i]);
    }
}

/* Colliders on joints of the chains just stepped. */
static void follow_colliders(const ChainsModel *model, ChainsState *state, const StepInput *input,
                             int level)
{
    for (int i = 0; i < model->collider_count; i++) {
        int chain = model->collider[i].link.chain;

        if (chain < 0 || model->chain[chain].level != level)
            continue;
        place_collider(model, state, input->now, i);
        state->travel[i] = collide_travel(&state->shape[0][i], &state->shape[1][i]);
    }
}

static void forget_sides(const ChainsModel *model, ChainsState *state, const Chain *chain)
{
    const ChainsBlock *block = &model->block[chain->block];

    for (int i = 0; i < chain->segment_count; i++) {
        for (int j = 0; j < block->slot_count; j++)
            state->side[chains_side_index(block, i, j, chain->lane)] = vec3(0.0f, 0.0f, 0.0f);
    }
    state->has_side[chain - model->chain] = false;
}

/* Chains near a collider are stepped again with contact. */
static void touch_block(const ChainsModel *model, ChainsState *state, const ChainsBlock *block,
                        const BlockStep *step)
{
    for (int lane = 0; lane < block->lane_count; lane++) {
        const Chain *chain = &model->chain[block->chain[lane]];

        if (step->out_near >> lane & 1u || chain->probe)
            chains_step_contact(model, state, chain, step);
        else if (state->has_side[block->chain[lane]])
            forget_sides(model, state, chain);
    }
}

static bool is_finite_chain(const ChainsModel *model, const ChainsState *state, const Chain *chain)
{
    for (int i = 0; i < chain->segment_count; i++) {
        Vec3 tail = chains_tail(model, state, chain, i, state->now);
        if (!isfinite(tail.x + tail.y + tail.z))
            return false;
    }
    return true;
}

static Status step_block(const ChainsModel *model, ChainsState *state, const ChainsBlock *block,
                         BlockStep *step, Error *err)
{
    bool is_vrm = model->mode == CHAINS_VRM;
    int row = block->first_row;

    step->row_count = block->row_count;
    step->rest_row = is_vrm ? NULL : &model->rest_row[row];
    step->vrm_row = is_vrm ? &model->vrm_row[row] : NULL;
    step->before = &state->tail[1 - state->now][row];
    step->now = &state->tail[state->now][row];
    step->node_before = state->node[0] ? &state->node[1 - state->now][row] : NULL;
    step->node_carry = &state->carry_row[1];
    step->node_now = state->node[0] ? &state->node[state->now][row] : NULL;
    step->slot_count = block->slot_count;
    step->slot = block->slot;
    step->has_limit = block->has_limit;
    (is_vrm ? vrm_kernels : rest_kernels)[model->simd](step);
    if (!is_vrm && (block->slot_count || model->surface))
        touch_block(model, state, block, step);
    if (step->out_finite && !step->out_near && !model->surface)
        return STATUS_OK;
    for (int lane = 0; lane < block->lane_count; lane++) {
        const Chain *chain = &model->chain[block->chain[lane]];
        if (!is_finite_chain(model, state, chain))
            return error_set(err, STATUS_DIVERGED, "chain \"%s\" is no longer finite", chain->key);
    }
    return STATUS_OK;
}

static Status chains_step(const void *model_, void *state_, const StepInput *input, Error *err)
{
    const ChainsModel *model = model_;
    ChainsState *state = state_;

    if (!(input->dt > 0.0f) || !model->chain_count)
        return STATUS_OK;
    const DVec3 origin[2] = {state->origin, find_origin(model, input->now)};
    Vec3 rebase = dvec3_offset(origin[0], origin[1]);
    Vec3 wind = wind_acceleration(input);
    // a VRM file's forces are displacements a step, made for 60 steps a second
    float push = model->mode == CHAINS_VRM ? model->h / 60.0f : model->h;

    state->origin = origin[1];
    state->now = 1 - state->now;
    state->steps++;
    place_colliders(model, state, input, rebase);
    if (model->surface)
        surface_pose(model->surface, input->now, state->origin, model->simd, &state->surface);
    for (int b = 0; b < model->block_count; b++) {
        const ChainsBlock *block = &model->block[b];
        BlockStep step = {.frame = state->frame_row,
                          .shift = rebase,
                          .shape = state->shape[1],
                          .travel = state->travel,
                          .pose = input->now,
                          .h = model->h,
                          .push = vec3_scale(wind, push),
                          .is_parent_rest = model->rest == CHAINS_REST_PARENT};

        if (place_block(model, state, block, input->now, origin))
            step.carry = state->carry_row;
        if (step_block(model, state, block, &step, err))
            return err->status;
        if (b + 1 == model->block_count || model->block[b + 1].level != block->level)
            follow_colliders(model, state, input, block->level);
    }
    return STATUS_OK;
}

/* --- hash --- */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;

    for (size_t i = 0; i + 4 <= size; i += 4) {
        uint32_t word;
        memcpy(&word, byte + i, 4);
        hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static uint64_t mix_shape(uint64_t hash, const Shape *shape)
{
    hash = mix(hash, &shape->start, sizeof shape->start);
    hash = mix(hash, &shape->axis, sizeof shape->axis);
    hash = mix(hash, &shape->normal, sizeof shape->normal);
    return mix(hash, &shape->radius, sizeof shape->radius);
}

static uint64_t chains_hash(const void *model_, const void *state_, uint64_t seed)
{
    const ChainsModel *model = model_;
    const ChainsState *state = state_;
    uint64_t hash = mix(seed, &state->origin, sizeof state->origin);

    hash = mix(hash, state->tail[state->now],
               (size_t)model->row_count * sizeof *state->tail[state->now]);
    if (state->node[0])
        hash = mix(hash, state->node[state->now],
                   (size_t)model->row_count * sizeof *state->node[state->now]);
    for (int i = 0; i < model->chain_count; i++) {
        const ChainFrame *frame = &state->frame[state->now][i];
        hash = mix(hash, &frame->origin, sizeof frame->origin);
        hash = mix(hash, &frame->attach, sizeof frame->attach);
        hash = mix(hash, &frame->parent, sizeof frame->parent);
        hash = mix(hash, &frame->scale, sizeof frame->scale);
        hash = mix(hash, &frame->center.origin, sizeof frame->center.origin);
        hash = mix(hash, &frame->center.rotation, sizeof frame->center.rotation);
    }
    for (int i = 0; i < model->collider_count; i++)
        hash = mix_shape(hash, &state->shape[1][i]);
    return mix(hash, state->side, model->side_count * sizeof *state->side);
}

const SolverOps chains_solver = {
    .name = "chains",
    .build = chains_build,
    .describe = chains_describe,
    .write_used = chains_write_used,
    .write_fit = chains_write_fit,
    .start = chains_start,
    .step = chains_step,
    .pose = chains_pose,
    .sample = chains_sample,
    .measure = chains_measure,
    .hash = chains_hash,
};
