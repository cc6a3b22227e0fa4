/* Retargeting: which node of the rig a channel of another rig's clip moves, and how.
 *
 * Between two humanoids the roles pair the nodes, and rotations pass through the normalised pose
 * (each bone relative to its rest, seen from the scene, facing the same way); only the hips keep
 * translation, scaled by their heights. Otherwise nodes pair by key and values are taken as they
 * are. Internal to motion.c.
 */
#pragma once

#include "rig/motion.h"

/* Fills `out` (room for the clip's channels) and returns how many have a node. Warns of channels
 * that have none. NO_MEMORY where the arena cannot lend scratch: -1. */
int retarget_clip(const MotionDesc *desc, Arena *arena, MotionTrack *out);
