/* Node constraints (VRMC_node_constraint 1.0): nodes that follow others by roll, aim or rotation.
 * Internal to motion.c.
 *
 * Evaluated on top of the body's pose, before anything simulates, each after what it depends on:
 * its source with the nodes above, and the nodes above itself. Those that depend on each other are
 * left out, with a warning.
 */
#pragma once

#include "rig/pose.h"

/* Indices into rig->constraint in the order of evaluation, cycles left out; `*out_count` of them.
 */
NODISCARD Status constraints_sort(const Rig *rig, Arena *arena, Warnings *warnings, const int **out,
                                  int *out_count, Error *err);

/* Turns the constrained nodes; worlds are brought up to date. */
void constraints_apply(const Rig *rig, const int *order, int count, Pose *pose);
