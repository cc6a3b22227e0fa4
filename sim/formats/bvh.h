/* BVH: the motion of a skeleton as text (Biovision, 1999; read as MotionBuilder, Blender and the
 * CMU library write it).
 *
 * A joint has an offset from its parent and channels in any order: rotations about its axes in
 * degrees, applied in the order in which they stand, and positions, which replace the offset. A
 * joint whose positions are all zero though its offset is not keeps the offset. Keywords in any
 * case; any white space; several roots; lengths are centimetres unless the options say otherwise.
 */
#pragma once

#include "sim/assets.h"

bool bvh_matches(Bytes file);

/* Fills `rig` up to rig_finish: nodes (end sites have no name) and one clip. INVALID with the line.
 * `temp` is scratch. */
NODISCARD Status bvh_read(Bytes file, const AssetOptions *options, Arena *arena, Arena *temp,
                          Rig *rig, Error *err);
