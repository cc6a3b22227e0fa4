/* Built-in motions: formulas that move any character, so that a bare model can be tried at once.
 * Internal to motion.c.
 *
 * A motion is a transform of the whole scene (applied to the root nodes) and angles of a few
 * hinges.
 */
#pragma once

#include "rig/motion.h"

/* What the scene is moved by: turned about `pivot`, then shifted. */
typedef struct SceneMove {
    Quat rotation;
    Vec3 pivot, shift; /* metres */
} SceneMove;

/* Find the nodes that the motion turns, `world` being the rig at rest; warns where a role is
 * missing.
 */
void builtin_find_hinges(const MotionDesc *desc, const World *world, Motion *motion);

/* The move and the hinges' angles (hinge_count, radians) at `t` seconds. */
SceneMove builtin_evaluate(const Motion *motion, double t, double *out_angle);

/* A turn by `angle` radians about a unit axis. */
Quat quat_about(Vec3 axis, double angle);
