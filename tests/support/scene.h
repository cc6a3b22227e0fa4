/* Scenes and a solver for the tests of core: a small character with a strip of hair, and a solver
 * whose motion can be computed by hand.
 */
#pragma once

#include "core/bake_internal.h"

enum { SCENE_ROOT, SCENE_HEAD, SCENE_HAIR0, SCENE_HAIR1, SCENE_HAIR2, SCENE_STRIP, SCENE_NODES };

/* "root" at (0,1,0), "head" 0.5 m above, "hair0".."hair2" each 0.1 m behind (-z) the one before,
 * the first 0.1 m behind the head; "strip" bears a mesh of 4 x 2 vertices, 0.1 m apart in z from
 * hair0's origin on, 0.02 m wide, each row skinned to one hair node (the last row to hair2). Clip
 * 0, "wave", 1 s: the root moves 0.3 m in x and back, the head turns. One spring along the hair. */
const Rig *scene_rig(Arena *arena);

/* A spec of `count` simulations that share the array; still, 1 s, all channels. */
BakeSpec scene_spec(const Rig *rig, const SimulationSpec *simulation, int count);

/* Drives the nodes listed in `chains.target`, turning each about its z axis by one angle:
 * `parameters.radius` radians where that is a number; else a pendulum with `stiffness` and
 * `damping` that the carrier's speed in x kicks. From `parameters.gravity` seconds on, where that
 * is a number, the angle is not one. */
extern const SolverOps scene_solver;
SimulationSpec scene_simulation(const int *node, int count, int rate);

/* The test solver for every kind but faces, which nobody simulates. */
Status scene_build(const Rig *rig, const BakeSpec *spec, Arena *arena, const BakeModel **out,
                   Error *err);
