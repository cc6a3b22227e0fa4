/* Edges: how far a simulation stretches the render meshes that it moves.
 *
 * The edges of a simulation are the unique edges of the triangles of every mesh-bearing node
 * (vertices at equal positions are one) of which an end is moved by it: has weight on a joint that
 * it drives or that hangs below one, or is borne rigidly by such a node. Stretch is length over
 * length in the bind pose in world scale, less 1. Edges whose length there is below 1e-5 of the
 * model's box are left out: rounding alone would stretch them by percents.
 *
 * The set is immutable; the state belongs to one run.
 */
#pragma once

#include "core/parts.h"
#include "rig/skinning.h"

/* The edges of one primitive of one node. */
typedef struct EdgeBatch {
    SkinBatch skin;    /* the vertices at the ends of its edges */
    const char *key;   /* of the primitive's positions: "NODEKEY", "NODEKEY/1" */
    const int *vertex; /* accessor's index of each of them (skin.vertex_count) */
    int first_vertex;  /* of its vertices in the set */
    int first_edge;
    int edge_count;
} EdgeBatch;

typedef struct EdgeSet {
    int simulation;
    int batch_count, vertex_count, edge_count;
    EdgeBatch *batch;
    const int *a, *b;          /* ends: vertices of the set    (edge_count) */
    const float *rest_inverse; /* 1 / length at rest, 1/m    (edge_count) */
} EdgeSet;

typedef struct EdgeState {
    SkinWork work;
    Vec3 *position;       /* relative to each batch's origin (vertex_count + 1) */
    float *stretch;       /* now             (edge_count) */
    float *max, *min;     /* over time       (edge_count) */
    int *when;            /* sample of max   (edge_count) */
    DVec3 *middle;        /* of the edge then, world (edge_count) */
    float *picked;        /* stretches of interest   (edge_count) */
    uint32_t *keys;       /* for quantiles   (edge_count) */
    unsigned char *block; /* what the kernel found */
    float high;           /* stretches from here on are of interest */
    int sample_count;
} EdgeState;

/* Of all edges at one moment. */
typedef struct EdgeSummary {
    float p99, max; /* stretch; 0 without edges */
} EdgeSummary;

NODISCARD Status edges_build(const Rig *rig, const Part *part, Arena *arena, EdgeSet *out,
                             Error *err);
NODISCARD Status edges_start(const EdgeSet *set, Arena *arena, EdgeState *out, Error *err);
/* Measure the edges in a pose; each one's greatest is kept with its moment. */
EdgeSummary edges_sample(const EdgeSet *set, const Pose *pose, SimdLevel simd, EdgeState *state);
