/* Check: what the header of Rig promises about indices and numbers. Internal to rig_finish. */
#pragma once

#include "sim/rig.h"

/* Every index is in its array, every number finite, skins and weights fit the meshes that use them,
 * key times rise. The arena lends scratch. INVALID with the thing named otherwise. */
NODISCARD Status rig_check(const Rig *rig, Arena *arena, Error *err);
