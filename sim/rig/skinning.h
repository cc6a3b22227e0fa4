/* Skinning: where the vertices of a mesh are in a pose.
 *
 * A SkinBatch is a primitive of a mesh-bearing node, whole or a part of its vertices: morph
 * targets, then linear blending of the joints (glTF 3.7.3.3: the node's own transform plays no
 * part), or the node's world where it has no skin. Positions come out relative to an origin that
 * the caller chooses (skin_origin), so that floats stay fine 10 km from the scene's.
 *
 *     skin_batch_build(rig, &source, arena, &batch, err)                     once
 *     skin_work_build(batches, count, arena, &work, err)                     once a run
 *     skin_palette(&batch, &pose, origin, &work)                             a pose
 *     skin_vertices(&batch, &pose, simd, &work, position, normal)
 *
 * Batches are immutable and may be shared; the work belongs to one thread.
 */
#pragma once

#include "rig/pose.h"
#include "sim/bake.h"

#include <stdalign.h>

/* What takes a vertex to the scene: columns of 4, the last row 0. */
typedef struct SkinMatrix {
    alignas(64) float m[16];
} SkinMatrix;

typedef struct SkinBatch {
    int node, primitive;
    int vertex_count;
    int influence_count; /* 0: rigid */
    int joint_count;     /* of the palette */
    int morph_count;
    int rest_weight;            /* of the node, in Pose.morph_weight */
    const Vec3 *position;       /* (vertex_count) */
    const Vec3 *normal;         /* (vertex_count) or NULL */
    const uint16_t *joint;      /* into the palette (influence_count vertex_count) */
    const float *weight;        /* (influence_count vertex_count) */
    const RigMorph *morph;      /* (morph_count) */
    const int *joint_node;      /* (joint_count) */
    const Affine *inverse_bind; /* (joint_count) */
} SkinBatch;

typedef struct SkinWork {
    SkinMatrix *palette;
    Vec3 *position, *normal; /* morphed vertices */
} SkinWork;

/* Vertices of one primitive of a mesh-bearing node: those of the list, in its order, or all. */
typedef struct SkinSource {
    int node, primitive;
    const int *vertex; /* (vertex_count), or NULL: all */
    int vertex_count;
} SkinSource;

NODISCARD Status skin_batch_build(const Rig *rig, const SkinSource *source, Arena *arena,
                                  SkinBatch *out, Error *err);
/* Work that is large enough for each of the batches. */
NODISCARD Status skin_work_build(const SkinBatch *batch, int count, Arena *arena, SkinWork *out,
                                 Error *err);

/* The corner of a 16 m grid nearest to the batch's first joint: 0 for whoever stays near the
 * scene's. */
DVec3 skin_origin(const SkinBatch *batch, const Pose *pose);
/* Do two batches have one palette, so that it need be made only once? */
bool skin_shares_palette(const SkinBatch *a, const SkinBatch *b);
void skin_palette(const SkinBatch *batch, const Pose *pose, DVec3 origin, SkinWork *work);
/* Positions relative to the palette's origin, and unit normals where `out_normal` is not NULL (up
 * where the mesh has none). */
void skin_vertices(const SkinBatch *batch, const Pose *pose, SimdLevel simd, SkinWork *work,
                   Vec3 *out_position, Vec3 *out_normal);
