/* Box: the extent of all vertices at rest. Internal to rig_finish. */
#pragma once

#include "sim/rig.h"

/* Fills box_min, box_max and height; zero without vertices. INVALID where a node or vertex lands at
 * a place that is not finite. The arena lends scratch. */
NODISCARD Status rig_measure_box(Rig *rig, Arena *arena, Error *err);
