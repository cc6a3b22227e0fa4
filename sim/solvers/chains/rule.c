/* `contact: auto`, rest overlaps, and which colliders are on the head. */
#include "solvers/chains/model.h"

/* Of a segment's length: rounding does not make the authored pose a touch. */
static const float SLACK = 1e-4f;

/* How much of their vertices' weight each chain has. */
typedef struct Share {
    double weight;
    long vertices;
} Share;

static void count_primitive(const RigPrimitive *primitive, const RigSkin *skin, const int *owner,
                            Share *share)
{
    int width = primitive->influence_count;

    for (int v = 0; v < primitive->vertex_count; v++) {
        const uint16_t *joint = &primitive->joint[(size_t)v * (size_t)width];
        const float *weight = &primitive->weight[(size_t)v * (size_t)width];

        for (int i = 0; i < width && weight[i] > 0.0f; i++) {
            int chain = joint[i] < skin->joint_count ? owner[skin->joint[joint[i]]] : -1;
            bool is_first = chain >= 0;

            if (chain < 0)
                continue;
            share[chain].weight += (double)weight[i];
            for (int j = 0; j < i && is_first; j++)
                is_first = joint[j] >= skin->joint_count || owner[skin->joint[joint[j]]] != chain;
            share[chain].vertices += is_first;
        }
    }
}

static void count_shares(const Rig *rig, const int *owner, Share *share)
{
    for (int n = 0; n < rig->node_count; n++) {
        if (rig->node[n].mesh < 0 || rig->node[n].skin < 0)
            continue;
        const RigMesh *mesh = &rig->mesh[rig->node[n].mesh];
        for (int p = 0; p < mesh->primitive_count; p++) {
            if (mesh->primitive[p].influence_count > 0)
                count_primitive(&mesh->primitive[p], &rig->skin[rig->node[n].skin], owner, share);
        }
    }
}

static bool is_at_or_below(const Rig *rig, int node, int top)
{
    while (node >= 0 && node != top)
        node = rig->node[node].parent;
    return node >= 0;
}

/* The trunk as a capsule from hips to neck, half as wide as the shoulders. */
typedef struct Torso {
    Vec3 hips, up; /* up: to the neck */
    Vec3 forward;
    float half_width;
    float head_height;
} Torso;

static bool find_torso(const Rig *rig, const World *world, Torso *out)
{
    int hips = rig->role[ROLE_HIPS], neck = rig->role[ROLE_NECK], head = rig->role[ROLE_HEAD];
    int left = rig->role[ROLE_LEFT_UPPER_ARM], right = rig->role[ROLE_RIGHT_UPPER_ARM];

    if (neck < 0)
        neck = head;
    if (!rig->is_humanoid || hips < 0 || neck < 0)
        return false;
    *out = (Torso){.hips = dvec3_float(world[hips].origin), .forward = rig->forward};
    out->up = dvec3_offset(world[neck].origin, world[hips].origin);
    out->half_width = 0.3f * vec3_length(out->up);
    if (left >= 0 && right >= 0)
        out->half_width = 0.5f * vec3_length(dvec3_offset(world[left].origin, world[right].origin));
    out->head_height = 0.13f * rig->height;
    if (head >= 0 && rig->height > 0.0f)
        out->head_height = rig->box_max.y - (float)world[head].origin.y;
    return true;
}

/* CHAINS.md E.5: segments meet the body where the chain can reach the torso in front of or behind
 * it, is longer than a quarter of the head, and has at least half the weight of its vertices. */
static bool meets_torso(const Chain *chain, const Torso *torso, const World *world,
                        const Share *share)
{
    float scale = chain->parent < 0 ? 1.0f : world_max_scale(&world[chain->parent]);
    float reach = chain->length * scale;
    Vec3 root = dvec3_float(world[chain->segment[0].head].origin);
    Vec3 tip = root;
    float up2 = vec3_dot(torso->up, torso->up);

    for (int i = 0; i < chain->segment_count; i++) {
        const World *head = &world[chain->segment[i].head];
        tip = vec3_add(dvec3_float(head->origin),
                       mat3_apply(&head->basis, chain->segment[i].tail_offset));
    }
    float t = up2 > 0.0f ? vec3_dot(vec3_sub(root, torso->hips), torso->up) / up2 : 0.0f;
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    Vec3 away = vec3_sub(root, vec3_add_scaled(torso->hips, torso->up, t));
    Vec3 right = vec3_normalize_or(vec3_cross(torso->up, torso->forward), vec3(1.0f, 0.0f, 0.0f));
    Vec3 out = vec3_sub(tip, torso->hips);
    bool can_reach = vec3_length(away) < reach + torso->half_width;
    bool is_before_or_behind = fabsf(vec3_dot(out, right)) <= torso->half_width;
    bool is_long = reach > 0.25f * torso->head_height;
    bool has_weight = !share->vertices || share->weight >= 0.5 * (double)share->vertices;

    return can_reach && is_before_or_behind && is_long && has_weight;
}

static void choose_contacts(const PartDesc *desc, ChainsModel *model, const World *world,
                            const Share *share)
{
    Torso torso = {0};
    bool has_torso = find_torso(desc->rig, world, &torso);
    int head = desc->rig->is_humanoid ? desc->rig->role[ROLE_HEAD] : -1;

    for (int i = 0; i < model->chain_count; i++) {
        Chain *chain = &model->chain[i];

        if (chain->contact != CHAINS_CONTACT_AUTO)
            continue;
        chain->is_auto = true;
        chain->contact = !has_torso || meets_torso(chain, &torso, world, &share[i])
                             ? CHAINS_CONTACT_SWEPT
                             : CHAINS_CONTACT_ENDPOINT;
    }
    for (int i = 0; i < model->collider_count && head >= 0; i++)
        model->collider[i].is_on_head =
            is_at_or_below(desc->rig, desc->rig->collider[i].node, head);
}

/* An artist's hair may begin inside the head: pushed out, it would never lie as it was authored,
 * and stretch for ever. So a pair of segment and collider touches only where it is deeper than at
 * rest. Returns how deep the pair lies at rest, metres in the scene. */
static float find_overlap(ChainsModel *model, const Chain *chain, int i, int slot,
                          const World *world)
{
    const ChainsBlock *block = &model->block[chain->block];
    const ChainsSegment *segment = &chain->segment[i];
    const RigCollider *collider =
        &model->rig->collider[model->collider[block->slot[slot].collider].index];
    const World *head = &world[segment->head];
    float scale = world_max_scale(head) / (segment->head_scale > 0.0f ? segment->head_scale : 1.0f);
    Vec3 bone = mat3_apply(&head->basis, segment->tail_offset);
    Shape shape = collide_place(collider, &world[collider->node], head->origin);
    float tail = -collide_point(&shape, bone, segment->radius * scale).gap;
    float all = collide_depth(&shape, vec3(0.0f, 0.0f, 0.0f), bone, segment->radius * scale);
    float slack = SLACK * segment->length;

    if (model->mode == CHAINS_VRM || !(scale > 0.0f))
        return tail;
    size_t index = chains_side_index(block, i, slot, chain->lane);
    model->overlap[index] = all > 0.0f ? all / scale + slack : 0.0f;
    model->tail_overlap[index] = tail > 0.0f ? tail / scale + slack : 0.0f;
    return all;
}

/* All pairs of a chain, and a warning of the deepest. */
static void find_chain_overlaps(const PartDesc *desc, ChainsModel *model, const Chain *chain,
                                const World *world)
{
    const ChainsBlock *block = &model->block[chain->block];
    float worst = 1e-4f;
    int segment = -1, slot = -1;

    for (int i = 0; i < chain->segment_count; i++) {
        for (int k = 0; k < block->slot_count; k++) {
            bool is_met = block->slot[k].lanes >> chain->lane & 1u;
            float depth = is_met ? find_overlap(model, chain, i, k, world) : 0.0f;
            if (depth <= worst)
                continue;
            worst = depth;
            segment = i;
            slot = k;
        }
    }
    if (segment < 0)
        return;
    int collider = model->collider[block->slot[slot].collider].index;
    warnings_add(desc->warnings, "rest_overlap",
                 "chain \"%s\": joint \"%s\" lies %.1f mm inside collider \"%s\" as authored; %s",
                 chain->key, desc->rig->node[chain->segment[segment].head].key,
                 (double)worst * 1000.0, desc->rig->collider[collider].key,
                 model->mode == CHAINS_VRM
                     ? "the published algorithm pushes it out"
                     : "it may stay that deep, contact holds off what is deeper");
}

Status chains_find_overlaps(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    World *world = arena_array(arena, World, desc->rig->node_count);

    model->overlap = arena_array(arena, float, model->side_count);
    model->tail_overlap = arena_array(arena, float, model->side_count);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for contact of %d chains",
                         model->chain_count);
    rig_rest_worlds(desc->rig, world);
    for (int i = 0; i < model->chain_count; i++)
        find_chain_overlaps(desc, model, &model->chain[i], world);
    return STATUS_OK;
}

Status chains_resolve_contact(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const Rig *rig = desc->rig;
    World *world = arena_array(arena, World, rig->node_count);
    int *owner = arena_array(arena, int, rig->node_count);
    Share *share = arena_array(arena, Share, model->chain_count);

    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for contact of %d chains",
                         model->chain_count);
    rig_rest_worlds(rig, world);
    for (int i = 0; i < rig->node_count; i++)
        owner[i] = -1;
    for (int i = 0; i < model->chain_count; i++) {
        for (int j = 0; j < model->chain[i].segment_count; j++) {
            owner[model->chain[i].segment[j].head] = i;
            if (model->chain[i].segment[j].tail >= 0)
                owner[model->chain[i].segment[j].tail] = i;
        }
    }
    if (model->mode == CHAINS_REST_FRAME) {
        count_shares(rig, owner, share);
        choose_contacts(desc, model, world, share);
    }
    return STATUS_OK;
}
