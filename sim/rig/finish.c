#include "rig/box.h"
#include "rig/check.h"
#include "rig/keys.h"

#include <string.h>

/* A copy of an array that may be written; NULL where the arena is full. */
#define copy_array(arena, type, from, count)                                                       \
    ((type *)copy_bytes((arena), (from), (size_t)(count), sizeof(type), alignof(type)))

static void *copy_bytes(Arena *arena, const void *from, size_t count, size_t size, size_t alignment)
{
    void *copy = arena_alloc_dirty(arena, count, size, alignment);

    if (copy && count)
        memcpy(copy, from, count * size);
    return copy;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static Status finish_nodes(Rig *rig, Arena *arena, Error *err)
{
    Keys keys;
    RigNode *node = copy_array(arena, RigNode, rig->node, rig->node_count);

    if (!node || keys_open(&keys, arena, rig->node_count, "node", err))
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", rig->node_count);
    for (int i = 0; i < rig->node_count; i++) {
        node[i].name = text_or_empty(node[i].name);
        node[i].key = keys_add(&keys, node[i].name);
        node[i].rest.rotation = quat_normalize(node[i].rest.rotation);
    }
    rig->node = node;
    return STATUS_OK;
}

static Status finish_meshes(Rig *rig, Arena *arena, Error *err)
{
    Keys mesh_keys, skin_keys;
    RigMesh *mesh = copy_array(arena, RigMesh, rig->mesh, rig->mesh_count);
    RigSkin *skin = copy_array(arena, RigSkin, rig->skin, rig->skin_count);

    if (!mesh || !skin || keys_open(&mesh_keys, arena, rig->mesh_count, "mesh", err) ||
        keys_open(&skin_keys, arena, rig->skin_count, "skin", err))
        return error_set(err, STATUS_NO_MEMORY, "no room for %d meshes and %d skins",
                         rig->mesh_count, rig->skin_count);
    for (int i = 0; i < rig->mesh_count; i++) {
        mesh[i].name = text_or_empty(mesh[i].name);
        mesh[i].key = keys_add(&mesh_keys, mesh[i].name);
    }
    for (int i = 0; i < rig->skin_count; i++)
        skin[i].key = keys_add(&skin_keys, skin[i].key);
    rig->mesh = mesh;
    rig->skin = skin;
    return STATUS_OK;
}

static Status finish_clips_and_springs(Rig *rig, Arena *arena, Error *err)
{
    Keys clip_keys, spring_keys, collider_keys;
    Clip *clip = copy_array(arena, Clip, rig->clip, rig->clip_count);
    RigSpring *spring = copy_array(arena, RigSpring, rig->spring, rig->spring_count);
    RigCollider *collider = copy_array(arena, RigCollider, rig->collider, rig->collider_count);

    if (!clip || !spring || !collider ||
        keys_open(&clip_keys, arena, rig->clip_count, "clip", err) ||
        keys_open(&spring_keys, arena, rig->spring_count, "spring", err) ||
        keys_open(&collider_keys, arena, rig->collider_count, "collider", err))
        return error_set(err, STATUS_NO_MEMORY, "no room for %d clips, %d springs and %d colliders",
                         rig->clip_count, rig->spring_count, rig->collider_count);
    for (int i = 0; i < rig->clip_count; i++) {
        clip[i].name = text_or_empty(clip[i].name);
        clip[i].key = keys_add(&clip_keys, clip[i].name);
    }
    for (int i = 0; i < rig->spring_count; i++) {
        spring[i].name = text_or_empty(spring[i].name);
        spring[i].key = keys_add(&spring_keys, spring[i].name);
    }
    for (int i = 0; i < rig->collider_count; i++)
        collider[i].key = keys_add(&collider_keys, collider[i].key);
    rig->clip = clip;
    rig->spring = spring;
    rig->collider = collider;
    return STATUS_OK;
}

/* Name a node of a cycle, given the nodes that were reached from roots. */
static Status refuse_cycle(const Rig *rig, const int *order, int sorted, Arena *arena, Error *err)
{
    bool *is_reached = arena_array(arena, bool, rig->node_count);
    int node = 0;

    if (!is_reached)
        return error_set(err, STATUS_NO_MEMORY, "no room to sort %d nodes", rig->node_count);
    for (int i = 0; i < sorted; i++)
        is_reached[order[i]] = true;
    while (is_reached[node])
        node++;
    // it hangs below a cycle or is in one: walk up into it
    for (int i = 0; i < rig->node_count; i++)
        node = rig->node[node].parent;
    return error_set(err, STATUS_INVALID, "node \"%s\" is its own ancestor", rig->node[node].key);
}

/* Parents first: roots in file order, then the children of each in file order. What a cycle holds
 * is never reached. */
static Status sort_nodes(Rig *rig, Arena *arena, Error *err)
{
    int count = rig->node_count;
    int *order = arena_array(arena, int, count);
    size_t mark = arena_mark(arena);
    int *first_child = arena_array(arena, int, count);
    int *next_sibling = arena_array(arena, int, count);
    int sorted = 0;

    if (!order || !first_child || !next_sibling)
        return error_set(err, STATUS_NO_MEMORY, "no room to sort %d nodes", count);
    for (int i = 0; i < count; i++)
        first_child[i] = next_sibling[i] = -1;
    for (int i = count - 1; i >= 0; i--) {
        int parent = rig->node[i].parent;

        if (parent >= 0) {
            next_sibling[i] = first_child[parent];
            first_child[parent] = i;
        }
    }
    for (int i = 0; i < count; i++)
        if (rig->node[i].parent < 0)
            order[sorted++] = i;
    for (int i = 0; i < sorted; i++)
        for (int child = first_child[order[i]]; child >= 0; child = next_sibling[child])
            order[sorted++] = child;
    if (sorted < count)
        return refuse_cycle(rig, order, sorted, arena, err);
    arena_rewind(arena, mark);
    rig->order = order;
    return STATUS_OK;
}

/* Morph weights of the nodes with a morphed mesh, one after another in file order. A builder that
 * has none gets zeroes. */
static Status place_morph_weights(Rig *rig, Arena *arena, Error *err)
{
    RigNode *node = copy_array(arena, RigNode, rig->node, rig->node_count);
    int64_t count = 0;

    if (!node)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", rig->node_count);
    for (int i = 0; i < rig->node_count; i++) {
        int morphs = node[i].mesh < 0 ? 0 : rig->mesh[node[i].mesh].morph_count;

        node[i].rest_weight = morphs ? (int)count : -1;
        count += morphs;
        if (count > INT32_MAX)
            return error_set(err, STATUS_LIMIT, "more than %d morph weights", INT32_MAX);
    }
    if (rig->morph_weight0 && rig->morph_weight_count != (int)count)
        return error_set(err, STATUS_INVALID, "%d morph weights where the nodes need %d",
                         rig->morph_weight_count, (int)count);
    if (!rig->morph_weight0)
        rig->morph_weight0 = arena_array(arena, float, count);
    if (!rig->morph_weight0)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d morph weights", (int)count);
    for (int i = 0; i < (int)count; i++)
        if (!isfinite(rig->morph_weight0[i]))
            return error_set(err, STATUS_INVALID, "morph weight %d is not finite", i);
    rig->morph_weight_count = (int)count;
    rig->node = node;
    return STATUS_OK;
}

Status rig_finish(Rig *rig, Arena *arena, Error *err)
{
    if (!rig->is_humanoid)
        for (int i = 0; i < ROLE_COUNT; i++)
            rig->role[i] = -1;
    if (!(vec3_dot(rig->forward, rig->forward) > 0.0f))
        rig->forward = vec3(0.0f, 0.0f, 1.0f);
    rig->format = text_or_empty(rig->format);
    rig->name = text_or_empty(rig->name);

    if (finish_nodes(rig, arena, err) || finish_meshes(rig, arena, err) ||
        finish_clips_and_springs(rig, arena, err))
        return err->status;
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names");
    if (rig_check(rig, arena, err) || sort_nodes(rig, arena, err) ||
        place_morph_weights(rig, arena, err))
        return err->status;
    return rig_measure_box(rig, arena, err);
}
