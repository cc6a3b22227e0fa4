/* Retargeting: what a clip of another rig moves in this one, and how.
 *
 * Two files of one skeleton pair their nodes by key and values are taken as they are; so do rigs of
 * which one is no humanoid. Otherwise the humanoid roles pair them, and the model's bones follow
 * what the other's do in the scene (VRMC_vrm_animation's normalised pose, taken over whole paths):
 * with W a bone's rotation in the scene, W0 the same at rest, F the turn from where the source
 * faces to where the target does,
 *
 *     W'(t) = F W(t) W0^-1 F^-1 C W0'
 *
 * so bones that only the source has turn what is below them, and bones that only the target has
 * stay with their parent. C takes the target's arms and legs at rest to where the source's point
 * (A-pose against T-pose); hands go with their arm, feet stay flat. The hips move by the ratio of
 * the legs' lengths. Then hands and feet are put where the source's are, in lengths of their limb,
 * for rigs have bones of different proportions. Between VRM files, which are in T-pose by their
 * specification, there is neither C nor that, and the hips move by the ratio of their heights.
 * Internal to motion.c.
 */
#pragma once

#include "rig/motion.h"

/* Fills the tracks, bones and hips of `out`, and warns of what has no counterpart. */
NODISCARD Status retarget_clip(const MotionDesc *desc, Arena *arena, Motion *out, Error *err);
