/* Points: the positions of a bake by mesh-bearing node, frame by frame. */
#pragma once

#include "sim/exports.h"

/* A mesh-bearing node whose vertices are in the frames: its primitives' stand in neighbouring
 * channels. */
typedef struct PointMesh {
    int node;
    int first_channel;
    int primitive_count;
    int vertex_count; /* of all primitives */
} PointMesh;

typedef struct Points {
    FrameFile file; /* with positions only */
    int frame_count;
    int mesh_count;
    PointMesh *mesh; /* in the rig's order (mesh_count) */
    float *point;    /* of points_read (3 of the greatest vertex_count) */
} Points;

/* INVALID where the frames have no positions (the message asks for them),
 * no whole frame, or are not of this rig. Borrows the frames. */
NODISCARD Status points_open(const Rig *rig, Bytes frames, ExportFormat format, Arena *scratch,
                             Points *out, Error *err);
/* The mesh-bearing node of the target's key; without a target the only one. INVALID with the keys
 * that there are. */
NODISCARD Status points_find_node(const Rig *rig, const char *target, ExportFormat format, int *out,
                                  Error *err);
/* The same in the frames. */
NODISCARD Status points_find(const Points *points, const Rig *rig, const char *target,
                             ExportFormat format, const PointMesh **out, Error *err);
/* Frame k of frame_count into points->point: the mesh's vertices, three floats each. */
NODISCARD Status points_read(Points *points, const PointMesh *mesh, int k, Error *err);
/* Seconds from frame 0. */
double points_time(const Points *points, int k);
