/* Surface: the skinned body as a signed distance field, for what has to stay outside of it.
 *
 * Every visible mesh of the body (core/body.h) is a layer of its own; a point's distance is the
 * least of its distances from the layers, negative inside of one, so that the space between skin
 * and clothes is inside. The sign is that of the angle-weighted pseudonormal of the nearest feature
 * (Baerentzen and Aanaes, 2005); what is nearest to an open rim counts as outside. Triangles whose
 * vertices chains move (skirts) are left out.
 *
 * Nearest points are found in trees of boxes that are built once, at rest, and refitted to each
 * pose. Only points nearer than `reach` are found: the field is a band about the body.
 *
 *     surface_build(&desc, arena, &surface, err)                  once
 *     surface_start(&surface, arena, &state, err)                 once a run
 *     surface_pose(&surface, pose, origin, simd, &state)          a pose
 *     surface_nearest(&surface, &state, point, reach)
 *
 * The surface is immutable and may be shared; a state belongs to one thread. Same bits everywhere.
 */
#pragma once

#include "core/body.h"

/* A box of a tree. Children come behind their parent: the first at once, the second at `second`. */
typedef struct SurfaceNode {
    int first, count; /* triangles of a leaf; count 0: an inner node */
    int second;
} SurfaceNode;

typedef struct Surface {
    int part_count, vertex_count, triangle_count, node_count, layer_count;
    const SkinBatch *skin;   /* primitives of the body             (part_count) */
    const int *first_vertex; /* of each                            (part_count) */
    const int *corner;       /* vertices of triangles, outwards   (3 triangle_count) */
    const int *across;       /* triangle behind the edge from a corner to the next, -1 a rim
                                (3 triangle_count) */
    const int *weld;         /* the first vertex in the same place   (vertex_count) */
    const int *fan_first;    /* of a welded vertex's triangles in `fan` (vertex_count + 1) */
    const int *fan;          /* corners in one place                 (3 triangle_count) */
    const bool *is_rim;      /* welded vertices on an open edge      (vertex_count) */
    const SurfaceNode *node; /* (node_count) */
    const int *root;         /* of each layer's tree                 (layer_count) */
} Surface;

typedef struct SurfaceBox {
    Vec3 min, max;
} SurfaceBox;

typedef struct SurfaceState {
    Vec3 *position;  /* relative to the origin of the last pose (vertex_count) */
    SurfaceBox *box; /* (node_count) */
    SkinWork work;
} SurfaceState;

typedef struct SurfacePoint {
    bool is_found;  /* within reach */
    float distance; /* metres, negative inside */
    Vec3 normal;    /* unit, the way out */
} SurfacePoint;

NODISCARD Status surface_build(const BodyDesc *desc, Arena *arena, Surface *out, Error *err);
NODISCARD Status surface_start(const Surface *surface, Arena *arena, SurfaceState *out, Error *err);
void surface_pose(const Surface *surface, const Pose *pose, DVec3 origin, SimdLevel simd,
                  SurfaceState *state);
SurfacePoint surface_nearest(const Surface *surface, const SurfaceState *state, Vec3 point,
                             float reach);
