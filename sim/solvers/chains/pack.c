/* Chains into blocks of 16 lanes: alike in level, colliders and number of segments. */
#include "math/scalar.h"
#include "solvers/chains/model.h"

#include <stdlib.h>
#include <string.h>

typedef struct PackKey {
    int level;
    int segment_count;
    uint32_t colliders; /* hash of the list */
    int chain;
} PackKey;

static uint32_t hash_colliders(const Chain *chain)
{
    uint32_t hash = 2166136261u;

    for (int i = 0; i < chain->collider_count; i++)
        hash = (hash ^ (uint32_t)chain->collider[i]) * 16777619u;
    return hash ^ (uint32_t)chain->collider_count;
}

static int compare_keys(const void *a_, const void *b_)
{
    const PackKey *a = a_;
    const PackKey *b = b_;

    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    if (a->segment_count != b->segment_count)
        return a->segment_count > b->segment_count ? -1 : 1;
    if (a->colliders != b->colliders)
        return a->colliders < b->colliders ? -1 : 1;
    return a->chain < b->chain ? -1 : 1;
}

/* Put a lane's list into the block's: a collider is found behind the last one used, near by, or put
 * in there, so that every lane keeps the order of its own list. */
static int merge_slots(ChainsSlot *slot, int count, const Chain *chain, int lane)
{
    enum { WINDOW = 64 };
    int at = 0;

    for (int i = 0; i < chain->collider_count; i++) {
        int found = at;
        int end = count < at + WINDOW ? count : at + WINDOW;

        while (found < end && slot[found].collider != chain->collider[i])
            found++;
        if (found == end) {
            found = at;
            memmove(&slot[found + 1], &slot[found], (size_t)(count - found) * sizeof *slot);
            slot[found] = (ChainsSlot){.collider = chain->collider[i]};
            count++;
        }
        slot[found].lanes |= 1u << lane;
        at = found + 1;
    }
    return count;
}

static void fill_rest_lane(const ChainsModel *model, const Chain *chain)
{
    double h = (double)model->h;
    bool has_limit = !isnan(chain->angle_limit);
    RestRow *rows = &model->rest_row[model->block[chain->block].first_row];
    int lane = chain->lane;

    for (int i = 0; i < chain->segment_count; i++) {
        const ChainsSegment *segment = &chain->segment[i];
        RestRow *row = &rows[i];
        double k = (double)segment->stiffness;

        // pulled to r - preload g / k instead of r
        float share = k > 0.0 ? 1.0f - chain->preload : 1.0f;
        vecrow_set(&row->rest, lane, segment->rest);
        vecrow_set(&row->push, lane, vec3_scale(segment->gravity, model->h * share));
        quatrow_set(&row->link, lane, segment->link);
        vecrow_set(&row->axis, lane, segment->axis);
        row->pull[lane] = (float)(h * k);
        row->keep[lane] = (float)scalar_exp(-(double)segment->damping * h);
        row->length[lane] = segment->length;
        row->radius[lane] = segment->radius;
        row->limit_cos[lane] = has_limit ? (float)scalar_cos((double)chain->angle_limit) : -2.0f;
        row->limit_sin[lane] = has_limit ? (float)scalar_sin((double)chain->angle_limit) : 0.0f;
    }
}

static void fill_vrm_lane(const ChainsModel *model, const Chain *chain)
{
    VrmRow *rows = &model->vrm_row[model->block[chain->block].first_row];
    int lane = chain->lane;

    for (int i = 0; i < chain->segment_count; i++) {
        const ChainsSegment *segment = &chain->segment[i];
        VrmRow *row = &rows[i];

        quatrow_set(&row->link, lane, segment->link);
        vecrow_set(&row->axis, lane, segment->axis);
        vecrow_set(&row->gravity, lane, vec3_scale(segment->gravity, model->h));
        row->stiffness[lane] = segment->stiffness * model->h;
        row->keep[lane] = 1.0f - segment->damping;
        row->length[lane] = segment->length;
        row->radius[lane] = segment->radius;
        row->has_node[lane] = segment->tail >= 0 && segment->length > 0.0f ? 1.0f : 0.0f;
    }
}

static Status make_slots(Arena *arena, ChainsModel *model, ChainsBlock *block, Error *err)
{
    int room = 0;

    for (int lane = 0; lane < block->lane_count; lane++)
        room += model->chain[block->chain[lane]].collider_count;
    size_t mark = arena_mark(arena);
    ChainsSlot *slot = arena_array(arena, ChainsSlot, room);
    if (!slot)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d colliders", room);
    for (int lane = 0; lane < block->lane_count; lane++)
        block->slot_count =
            merge_slots(slot, block->slot_count, &model->chain[block->chain[lane]], lane);
    // give back what the merge saved
    arena_rewind(arena, mark);
    block->slot = arena_scratch(arena, ChainsSlot, block->slot_count);

    block->first_side = model->side_count;
    if (model->mode == CHAINS_REST_FRAME)
        model->side_count += (size_t)block->row_count * (size_t)block->slot_count * ROW_LANES;
    return STATUS_OK;
}

static void make_blocks(ChainsModel *model, const PackKey *key)
{
    for (int i = 0; i < model->chain_count; i++) {
        Chain *chain = &model->chain[key[i].chain];
        ChainsBlock *block = model->block_count ? &model->block[model->block_count - 1] : NULL;

        if (!block || block->lane_count == ROW_LANES || block->level != chain->level) {
            block = &model->block[model->block_count++];
            block->level = chain->level;
            block->first_row = model->row_count;
        }
        if (block->row_count < chain->segment_count) {
            model->row_count += chain->segment_count - block->row_count;
            block->row_count = chain->segment_count;
        }
        chain->block = (int)(block - model->block);
        chain->lane = block->lane_count;
        block->has_limit |= !isnan(chain->angle_limit);
        block->chain[block->lane_count++] = key[i].chain;
    }
}

Status chains_pack(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    int count = model->chain_count;
    PackKey *key = arena_array(arena, PackKey, count);

    (void)desc;
    model->block = arena_array(arena, ChainsBlock, count);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d chains", count);
    for (int i = 0; i < count; i++)
        key[i] = (PackKey){.level = model->chain[i].level,
                           .segment_count = model->chain[i].segment_count,
                           .colliders = hash_colliders(&model->chain[i]),
                           .chain = i};
    if (count)
        qsort(key, (size_t)count, sizeof *key, compare_keys);
    make_blocks(model, key);
    for (int i = 0; i < model->block_count; i++) {
        if (make_slots(arena, model, &model->block[i], err))
            return err->status;
    }

    if (model->mode == CHAINS_REST_FRAME)
        model->rest_row = arena_array(arena, RestRow, model->row_count);
    else
        model->vrm_row = arena_array(arena, VrmRow, model->row_count);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d segments", model->segment_count);
    for (int i = 0; i < count; i++) {
        if (model->mode == CHAINS_REST_FRAME)
            fill_rest_lane(model, &model->chain[i]);
        else
            fill_vrm_lane(model, &model->chain[i]);
    }
    return STATUS_OK;
}
