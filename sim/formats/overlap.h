/* Overlap: does a spring's segment start inside a collider? (The fringe that floats: it is pushed
 * out from the first step on.) */
#pragma once

#include "sim/rig.h"

/* How deep the segment's tail lies inside the collider at rest, in metres: the negative of the
 * signed distance of VRMC_springBone, radii scaled by the longest axis of their node. Above 0 is
 * inside. `world` has the rest worlds of all nodes. */
double segment_overlap(const World *world, const RigSegment *segment, const RigCollider *collider);

/* Length of the segment at rest in the scene, metres. */
double segment_length(const World *world, const RigSegment *segment);
