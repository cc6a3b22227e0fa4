/* Scene: a rig in the pose of a baked frame, as meshes and segments that can be drawn.
 *
 * scene_open makes everything in an arena; scene_pose puts it at a frame, scene_rest at rest.
 * Arrays hold what was last asked for. One thread.
 */
#pragma once

#include "picture/camera.h"
#include "rig/skinning.h"
#include "sim/frames.h"

typedef struct SceneMesh {
    const RigPrimitive *primitive;
    SkinBatch batch;
    Vec3 color;      /* of the material, linear */
    bool is_touched; /* a simulation moves some of its vertices */
    int channel;     /* of its positions in the frames, -1: skinned */
    Vec3 *position;  /* scene, metres                  (vertex_count) */
    Vec3 *normal;    /* unit                           (vertex_count) */
    uint32_t *weld;  /* first vertex in the same place at rest, for meshes without normals
                        (vertex_count), else NULL */
    bool *touched;   /* moved by a simulation          (vertex_count) */
    float *stretch;  /* greatest of a vertex's edges   (vertex_count) */
    int edge_count;
    uint32_t *edge; /* pairs of vertices, of which one is touched (2 edge_count) */
    float *rest;    /* lengths at rest (edge_count) */
} SceneMesh;

typedef struct SceneSegment {
    Vec3 head, tail;
} SceneSegment;

/* A float of the frames that goes somewhere in the pose. */
typedef struct SceneJoint {
    int node;
    int channel;
    int offset;
    int width;
} SceneJoint;

typedef struct Scene {
    const Rig *rig;
    bool has_frames;
    FrameFile file;
    Pose pose;
    SkinWork work;
    bool *is_moved; /* by a simulation, with what hangs on it (node_count) */
    int mesh_count;
    SceneMesh *mesh;
    int joint_count;
    SceneJoint *joint;
    int segment_channel; /* -1: from the rig's springs and the pose */
    int segment_count;
    SceneSegment *segment;
} Scene;

/* `frames` may be empty: a rig at rest. `hidden` nodes give no meshes. */
NODISCARD Status scene_open(const Rig *rig, Bytes frames, const PictureOptions *options,
                            Arena *arena, Scene *out, Error *err);
NODISCARD Status scene_pose(Scene *scene, int frame, Error *err);
/* Normals of a mesh that has none of its own in this pose: the sum of the triangles' around each
 * place, by area. */
void scene_find_normals(SceneMesh *mesh);
/* The box of what simulations move, or of everything. */
Box scene_box(const Scene *scene, bool is_whole);
