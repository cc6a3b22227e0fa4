/* What the avatar's writer is made of: its VRM extensions as JSON. */
#pragma once

#include "base/json.h"
#include "samples/avatar_rig.h"

/* VRMC_vrm 1.0: meta, humanoid bones, expressions bound to the morph targets of node `face`. */
void avatar_write_vrm(const AvatarRig *rig, int face, JsonWriter *out);
/* VRMC_springBone 1.0: colliders of the body, one group a limb, one spring a chain. */
void avatar_write_springs(const AvatarRig *rig, JsonWriter *out);
