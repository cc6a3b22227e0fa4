/* Body: the meshes that hair has to stay out of: skin and clothes, as they are at rest or in a
 * pose.
 *
 * A part is a visible primitive of a mesh-bearing node that is not hair. Nodes' names play no role:
 * what chains move is known, and a primitive is hair when at least a tenth of its vertices are
 * moved by chains that hang on the head (by any chain, where the character has no head) and nine
 * tenths of its weight lie on or below what carries those chains. Lives in an arena, borrows the
 * rig; immutable once found.
 */
#pragma once

#include "rig/skinning.h"

typedef struct BodyPart {
    int node, primitive;
    int vertex_count;
    const bool *is_moved; /* vertices of which chains have at least half (vertex_count) */
} BodyPart;

typedef struct Body {
    const Rig *rig;
    const bool *is_moved; /* nodes that chains move, with what hangs below them (node_count) */
    const bool *is_joint; /* nodes that skins or meshes hang on                 (node_count) */
    int part_count;
    const BodyPart *part;
} Body;

typedef struct BodyDesc {
    const Rig *rig;
    const ChainsSpec *chains; /* its `define` adds chains to the rig's */
    int hidden_count;
    const int *hidden; /* mesh-bearing nodes that do not count (hidden_count) */
} BodyDesc;

NODISCARD Status body_find(const BodyDesc *desc, Arena *arena, Body *out, Error *err);

/* Joints and weights of a vertex of a part: nodes, most weight first. Returns how many. */
int body_influences(const Body *body, const BodyPart *part, int vertex,
                    int out_node[RIG_MAX_INFLUENCES], float out_weight[RIG_MAX_INFLUENCES]);

/* Where a part's vertices are at rest, relative to `origin` (vertex_count). */
NODISCARD Status body_rest_positions(const Body *body, const BodyPart *part, DVec3 origin,
                                     Arena *arena, Vec3 *out, Error *err);
