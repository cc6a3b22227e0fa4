#include "rig/pose.h"

#include <string.h>

Status pose_build(const Rig *rig, Arena *arena, Pose *out, Error *err)
{
    Pose pose = {
        .node_count = rig->node_count,
        .local = arena_array(arena, Transform, rig->node_count),
        .world = arena_array(arena, World, rig->node_count),
        .morph_weight = arena_array(arena, float, rig->morph_weight_count),
    };

    if (!pose.local || !pose.world || !pose.morph_weight)
        return error_set(err, STATUS_NO_MEMORY, "no room for a pose of %d nodes", rig->node_count);
    pose_set_rest(rig, &pose);
    pose_update_world(rig, &pose);
    *out = pose;
    return STATUS_OK;
}

void pose_set_rest(const Rig *rig, Pose *pose)
{
    for (int i = 0; i < rig->node_count; i++)
        pose->local[i] = rig->node[i].rest;
    if (rig->morph_weight_count)
        memcpy(pose->morph_weight, rig->morph_weight0,
               (size_t)rig->morph_weight_count * sizeof *pose->morph_weight);
}

void pose_update_nodes(const Rig *rig, const int *node, int count, Pose *pose)
{
    const World scene = world_identity();

    for (int i = 0; i < count; i++) {
        int parent = rig->node[node[i]].parent;

        pose->world[node[i]] =
            world_child(parent < 0 ? &scene : &pose->world[parent], &pose->local[node[i]]);
    }
}

void pose_update_world(const Rig *rig, Pose *pose)
{
    pose_update_nodes(rig, rig->order, rig->node_count, pose);
}

void pose_copy(const Rig *rig, const Pose *from, Pose *to)
{
    memcpy(to->local, from->local, (size_t)rig->node_count * sizeof *to->local);
    memcpy(to->world, from->world, (size_t)rig->node_count * sizeof *to->world);
    memcpy(to->morph_weight, from->morph_weight,
           (size_t)rig->morph_weight_count * sizeof *to->morph_weight);
}

void pose_blend(const Rig *rig, const Pose *before, const Pose *now, float t, Pose *out)
{
    for (int i = 0; i < rig->node_count; i++)
        out->local[i] = transform_blend(&before->local[i], &now->local[i], t);
    for (int i = 0; i < rig->morph_weight_count; i++)
        out->morph_weight[i] =
            before->morph_weight[i] + (now->morph_weight[i] - before->morph_weight[i]) * t;
    pose_update_world(rig, out);
}
