/* SampleMesh: the triangles of one material while a sample is made: growing arrays of fixed
 * capacity in an arena. What does not fit is dropped and marks the arena as overflowed, so a sample
 * checks once at its end. Plain data, one thread. */
#pragma once

#include "base/arena.h"
#include "math/vec3.h"

#include <stdbool.h>
#include <stdint.h>

enum { MESH_INFLUENCES = 4 };

/* Joints that move a vertex; unused entries have weight 0. */
typedef struct MeshWeights {
    int joint[MESH_INFLUENCES];
    float weight[MESH_INFLUENCES];
} MeshWeights;

typedef struct SampleMesh {
    Arena *arena;
    int vertex_count;
    int index_count;
    int vertex_capacity;
    int index_capacity;
    Vec3 *position;       /* metres                      (vertex_count) */
    Vec3 *normal;         /* unit                        (vertex_count) */
    MeshWeights *weights; /*                             (vertex_count) */
    uint32_t *index;      /* triangles, counter-clockwise from outside (index_count) */
} SampleMesh;

SampleMesh mesh_open(Arena *arena, int vertex_capacity, int index_capacity);
/* The new vertex's index. */
uint32_t mesh_add_vertex(SampleMesh *mesh, Vec3 position, Vec3 normal);
void mesh_add_triangle(SampleMesh *mesh, uint32_t a, uint32_t b, uint32_t c);
/* Two triangles around a, b, c, d, divided along the shorter diagonal. */
void mesh_add_quad(SampleMesh *mesh, uint32_t a, uint32_t b, uint32_t c, uint32_t d);
/* Set normals of the vertices from `first` on to the mean of their triangles', by area. */
void mesh_smooth_normals(SampleMesh *mesh, int first_vertex, int first_index);

/* Append the mirror image in x of all from the given vertex and index on, with the joints that
 * `mirror` maps theirs to. Returns the image's first vertex. */
int mesh_mirror(SampleMesh *mesh, int first_vertex, int first_index, const int *mirror);

/* Zero weights; add shares of joints (the smallest gives way where there are more than four); make
 * the sum 1. */
void weights_add(MeshWeights *weights, int joint, float share);
void weights_finish(MeshWeights *weights);

/* A band of elliptic sections around a curve: hair locks, rings. */
typedef struct MeshTube {
    int ring_count;      /* at least 2 */
    int side_count;      /* at least 3 */
    const Vec3 *centre;  /* (ring_count) */
    const Vec3 *side;    /* unit, across the curve: direction of the width (ring_count) */
    const Vec3 *up;      /* unit, across both: direction of the thickness (ring_count) */
    const float *width;  /* half, metres (ring_count) */
    const float *height; /* half the thickness, metres (ring_count) */
    bool is_loop;        /* the last ring joins the first; else the ends are closed by caps */
} MeshTube;

/* Append the closed surface of a tube; normals are smooth. Ring r, side s is vertex first +
 * r side_count + s; the two caps' middles come last. Side, up and the curve's direction are
 * right-handed in that order. Returns the first vertex. */
int mesh_add_tube(SampleMesh *mesh, const MeshTube *tube);

/* A band of elliptic section along an ellipse; it stands along u x v. */
typedef struct MeshRing {
    Vec3 centre;
    Vec3 u, v;    /* half axes of the ellipse, metres */
    float width;  /* half of the band, along u x v */
    float height; /* half of its thickness */
    int ring_count, side_count;
} MeshRing;

enum { MESH_MAX_RINGS = 96 };

/* Append the closed surface of a band, of at most MESH_MAX_RINGS rings. Returns the first vertex.
 */
int mesh_add_ring(SampleMesh *mesh, const MeshRing *ring);
