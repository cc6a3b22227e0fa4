/* VRM: what makes a glTF document a character: humanoid bones, spring bones, colliders and node
 * constraints, of VRM 1.0 (VRMC_vrm, VRMC_springBone, VRMC_springBone_extended_collider,
 * VRMC_node_constraint), of VRM 0.x (VRM) and the humanoid of VRMC_vrm_animation.
 *
 * A bone, collider or chain that names what does not exist, or breaks a rule, costs that one and a
 * warning, never the file. Values of the wrong type are refused by their pointer. */
#pragma once

#include "formats/gltf.h"

/* Fills roles, springs, colliders, constraints, forward, and `format` where the document is VRM. */
void vrm_read(Gltf *gltf, Rig *rig);

/* VRM 0.x (vrm0.c). `vrm` is the extension's object. */
void vrm0_read(Gltf *gltf, const JsonReader *vrm, Rig *rig);
/* VRMC_springBone (vrm_spring.c). */
void vrm_read_springs(Gltf *gltf, const JsonReader *extension, Rig *rig);
/* VRMC_node_constraint of all nodes (vrm_constraint.c). */
void vrm_read_constraints(Gltf *gltf, Rig *rig);

/* Give `role` to `node`; a role or node that is taken keeps its first, with a warning. `name` is
 * the file's for the role. */
void vrm_set_role(Gltf *gltf, Rig *rig, HumanoidRole role, int node, const char *name);
