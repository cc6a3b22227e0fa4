/* Limb: two bones bent so that they end at a place (two-bone inverse kinematics, by the law of
 * cosines). Internal to motion.c. */
#pragma once

#include "rig/motion.h"

/* Turns the bones of `limb` so that its end lies at `way` (metres, scene) from its root, as near as
 * its length allows; the joint keeps its plane, the end its rotation in the scene. Worlds must be
 * right before; locals are changed, worlds are not. */
void limb_reach(const Rig *rig, const MotionLimb *limb, Vec3 way, Pose *pose);
