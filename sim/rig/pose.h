/* Pose: where every node of a rig is at one moment. Made in an arena, owned by one thread.
 *
 * `local` is what motion, constraints and chains write; pose_update_world brings `world` up to
 * date, parents first.
 */
#pragma once

#include "sim/rig.h"

typedef struct Pose {
    int node_count;
    Transform *local;    /* (node_count) */
    World *world;        /* (node_count) */
    float *morph_weight; /* (rig->morph_weight_count) */
} Pose;

NODISCARD Status pose_build(const Rig *rig, Arena *arena, Pose *out, Error *err);
void pose_set_rest(const Rig *rig, Pose *pose);
void pose_update_world(const Rig *rig, Pose *pose);
/* The worlds of some nodes, each one's parent being right already or before it in the list. */
void pose_update_nodes(const Rig *rig, const int *node, int count, Pose *pose);
void pose_copy(const Rig *rig, const Pose *from, Pose *to);
/* Locals and weights between two poses (rotations by nlerp), worlds brought up to date. */
void pose_blend(const Rig *rig, const Pose *before, const Pose *now, float t, Pose *out);
