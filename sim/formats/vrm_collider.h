/* Colliders and collider groups of VRMC_springBone, with VRMC_springBone_extended_collider. */
#pragma once

#include "formats/springs.h"

/* Fills springs->collider and springs->groups (rig->collider_count is set). Colliders of no use
 * are left out with a warning. */
void vrm_read_colliders(Springs *springs, const JsonReader *extension, int file_count);
