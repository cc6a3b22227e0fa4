/* Nodes: the transform forest of a glTF document. All nodes are read, whatever scene they are in.
 */
#pragma once

#include "formats/gltf.h"

/* Fills gltf->node and gltf->tree. Two parents of a node and cycles are refused. */
void gltf_read_nodes(Gltf *gltf);

/* Is `node` below `ancestor`, not itself? */
bool gltf_is_below(const Gltf *gltf, int node, int ancestor);
/* Where the node's origin lies at rest in the space of a node above it, through all between. */
Vec3 gltf_rest_offset(const Gltf *gltf, int node, int ancestor);

/* A transform from an affine matrix: nearest translation, rotation, scale. Returns how far from
 * square its axes are (the greatest cosine between two): above 1e-3 there is shear. */
float gltf_decompose(const Affine *matrix, Transform *out);
