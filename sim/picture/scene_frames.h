/* What baked frames say about a scene: who is who by name, and the values of one frame. */
#pragma once

#include "picture/scene.h"

/* Opens the frames, if there are any, and finds the nodes, meshes and segments of their keys; says
 * in scene->is_moved what simulations move. A key that the rig lacks is left out. */
NODISCARD Status scene_open_frames(Scene *scene, Bytes frames, Arena *arena, Error *err);
/* Joints and weights into the pose, worlds brought up to date. */
void scene_apply_joints(Scene *scene, const FrameData *data);
/* Positions into the meshes, and where the segments are. */
void scene_apply_points(Scene *scene, const FrameData *data);
