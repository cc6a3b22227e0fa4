/* Rig: an uploaded character at rest. Immutable once its reader or sample has made it; it lives in
 * the asset's arena and may be shared by any number of bakes on any threads.
 *
 * Everything is in metres, kilograms, radians, Y up, whatever the file used. Keys are unique within
 * their kind (the file's name; "node3" where it has none; "#2" appended to a name used before).
 * Indices refer to the arrays of this struct; -1 is none. Readers have checked every index, that
 * the nodes form a forest, and that every number is finite.
 */
#pragma once

#include "base/arena.h"
#include "math/transform.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Warning {
    const char *code;   /* a fixed word: "unit_suspect" */
    const char *detail; /* a sentence for the person who sent the input */
} Warning;

/* A bounded list; what does not fit is counted. */
typedef struct Warnings {
    Arena *arena;
    Warning *warning;
    int count;
    int capacity;
    int dropped;
} Warnings;

Warnings warnings_open(Arena *arena, int capacity);
void warnings_add(Warnings *warnings, const char *code, const char *format, ...) PRINTF_LIKE(3, 4);

/* VRM 1.0's humanoid bones, in the order of its specification; VRM 0.x's thumbs are renamed to it.
 */
typedef enum HumanoidRole {
    ROLE_HIPS,
    ROLE_SPINE,
    ROLE_CHEST,
    ROLE_UPPER_CHEST,
    ROLE_NECK,
    ROLE_HEAD,
    ROLE_LEFT_EYE,
    ROLE_RIGHT_EYE,
    ROLE_JAW,
    ROLE_LEFT_UPPER_LEG,
    ROLE_LEFT_LOWER_LEG,
    ROLE_LEFT_FOOT,
    ROLE_LEFT_TOES,
    ROLE_RIGHT_UPPER_LEG,
    ROLE_RIGHT_LOWER_LEG,
    ROLE_RIGHT_FOOT,
    ROLE_RIGHT_TOES,
    ROLE_LEFT_SHOULDER,
    ROLE_LEFT_UPPER_ARM,
    ROLE_LEFT_LOWER_ARM,
    ROLE_LEFT_HAND,
    ROLE_RIGHT_SHOULDER,
    ROLE_RIGHT_UPPER_ARM,
    ROLE_RIGHT_LOWER_ARM,
    ROLE_RIGHT_HAND,
    ROLE_LEFT_THUMB_METACARPAL,
    ROLE_LEFT_THUMB_PROXIMAL,
    ROLE_LEFT_THUMB_DISTAL,
    ROLE_LEFT_INDEX_PROXIMAL,
    ROLE_LEFT_INDEX_INTERMEDIATE,
    ROLE_LEFT_INDEX_DISTAL,
    ROLE_LEFT_MIDDLE_PROXIMAL,
    ROLE_LEFT_MIDDLE_INTERMEDIATE,
    ROLE_LEFT_MIDDLE_DISTAL,
    ROLE_LEFT_RING_PROXIMAL,
    ROLE_LEFT_RING_INTERMEDIATE,
    ROLE_LEFT_RING_DISTAL,
    ROLE_LEFT_LITTLE_PROXIMAL,
    ROLE_LEFT_LITTLE_INTERMEDIATE,
    ROLE_LEFT_LITTLE_DISTAL,
    ROLE_RIGHT_THUMB_METACARPAL,
    ROLE_RIGHT_THUMB_PROXIMAL,
    ROLE_RIGHT_THUMB_DISTAL,
    ROLE_RIGHT_INDEX_PROXIMAL,
    ROLE_RIGHT_INDEX_INTERMEDIATE,
    ROLE_RIGHT_INDEX_DISTAL,
    ROLE_RIGHT_MIDDLE_PROXIMAL,
    ROLE_RIGHT_MIDDLE_INTERMEDIATE,
    ROLE_RIGHT_MIDDLE_DISTAL,
    ROLE_RIGHT_RING_PROXIMAL,
    ROLE_RIGHT_RING_INTERMEDIATE,
    ROLE_RIGHT_RING_DISTAL,
    ROLE_RIGHT_LITTLE_PROXIMAL,
    ROLE_RIGHT_LITTLE_INTERMEDIATE,
    ROLE_RIGHT_LITTLE_DISTAL,
    ROLE_COUNT
} HumanoidRole;

/* "hips", "leftUpperLeg" ...: as VRM 1.0 writes them. */
const char *humanoid_role_name(HumanoidRole role);
/* The role of that VRM 1.0 name, or ROLE_COUNT. */
HumanoidRole humanoid_role_find(const char *name);
/* Is it one of the bones without which VRM calls nothing a humanoid? */
bool humanoid_role_is_required(HumanoidRole role);

typedef struct RigNode {
    const char *key;
    const char *name; /* as in the file, "" where it has none */
    int parent;       /* -1 for a root */
    int mesh;         /* index or -1 */
    int skin;         /* index or -1; only with a mesh */
    int rest_weight; /* first of its mesh's morph weights in Rig.morph_weight0; -1 without morphs */
    Transform rest;  /* local, as in the file: the bind pose of procedural motion and springs */
} RigNode;

enum { RIG_MAX_INFLUENCES = 16 };

/* One morph target of a primitive: offsets before skinning. */
typedef struct RigMorph {
    const Vec3 *position; /* (vertex_count) or NULL */
    const Vec3 *normal;   /* (vertex_count) or NULL */
} RigMorph;

typedef struct RigPrimitive {
    int vertex_count;
    int index_count; /* a multiple of 3: triangles only; strips and fans are unrolled, points and
                        lines dropped */
    int influence_count; /* joints a vertex, 0 (not skinned) or 4 to 16 in steps of 4; weights sum
                            to 1 */
    int morph_count;
    int material;          /* index or -1 */
    const Vec3 *position;  /* (vertex_count), the accessor's order */
    const Vec3 *normal;    /* (vertex_count) or NULL */
    const float *texcoord; /* (2 vertex_count) or NULL: TEXCOORD_0 */
    const uint32_t *index; /* (index_count) */
    const uint16_t *joint; /* (influence_count vertex_count), index into the skin's joints */
    const float *weight;   /* (influence_count vertex_count), greatest first, unused ones 0 */
    const RigMorph *morph; /* (morph_count) */
    /* where it came from, for exports: accessor indices of the file, -1 where there is none */
    int position_accessor;
    int normal_accessor;
} RigPrimitive;

typedef struct RigMesh {
    const char *key;
    const char *name;
    int primitive_count;
    int morph_count;               /* the same for all its primitives */
    const RigPrimitive *primitive; /* (primitive_count) */
    const char *const *morph_name; /* (morph_count), "" where the file has none */
} RigMesh;

typedef struct RigMaterial {
    const char *name;
    float color[4]; /* base colour factor, linear, times vertex colour not included */
    bool is_double_sided;
    bool is_blended; /* alphaMode BLEND */
} RigMaterial;

/* 3 x 4, rows: what takes a mesh vertex to a joint's space. */
typedef struct Affine {
    float m[12];
} Affine;

typedef struct RigSkin {
    const char *key;
    int joint_count;
    const int *joint;           /* nodes                      (joint_count) */
    const Affine *inverse_bind; /* mesh space to joint space  (joint_count) */
} RigSkin;

typedef enum ClipPath { CLIP_TRANSLATION, CLIP_ROTATION, CLIP_SCALE, CLIP_WEIGHTS } ClipPath;
typedef enum ClipInterpolation { CLIP_LINEAR, CLIP_STEP, CLIP_CUBICSPLINE } ClipInterpolation;

/* Keys of one property of one node, as glTF defines them (3.11 and appendix C): times rise
 * strictly; CUBICSPLINE stores in-tangent, value, out-tangent a key. */
typedef struct ClipChannel {
    int node;
    ClipPath path;
    ClipInterpolation interpolation;
    int key_count;
    int width;          /* floats a value: 3, 4, or the number of morph targets */
    const double *time; /* seconds (key_count) */
    const float *value; /* (key_count width), times 3 for CUBICSPLINE */
} ClipChannel;

typedef struct Clip {
    const char *key;
    const char *name;
    double duration; /* seconds: the last key of any channel */
    int channel_count;
    const ClipChannel *channel; /* (channel_count) */
} Clip;

typedef enum ColliderKind { COLLIDER_SPHERE, COLLIDER_CAPSULE, COLLIDER_PLANE } ColliderKind;

typedef struct RigCollider {
    const char *key;
    int node;
    ColliderKind kind;
    bool is_inside; /* keeps things in, not out: spheres and capsules */
    Vec3 offset;    /* centre, first end, or a point of the plane; node space */
    Vec3 tail;      /* second end of a capsule */
    Vec3 normal;    /* of a plane, unit */
    float radius;   /* at scale 1 */
} RigCollider;

/* One head-tail pair of a spring chain: the head's parameters drive it, the tail is what moves. */
typedef struct RigSegment {
    int head;         /* node that is rotated */
    int tail;         /* node, or -1 for a virtual tail (VRM 0.x leaf: 7 cm) */
    Vec3 tail_offset; /* the tail's place in the head's space at rest, through skipped nodes too */
    float stiffness;  /* the file's number */
    float drag;       /* 0..1 */
    float gravity_power;
    Vec3 gravity_dir; /* unit, or zero */
    float hit_radius; /* metres at scale 1, applies at the tail */
} RigSegment;

/* Segments root to tip: each one's head is the tail of the one before, or a node between. */
typedef struct RigSpring {
    const char *key;
    const char *name;
    const char *refusal; /* why it is not simulated, NULL when it is */
    int center;          /* node or -1 */
    bool has_parameters; /* false: made by a job's `define`, solver defaults apply */
    int segment_count;
    int collider_count;
    const RigSegment *segment; /* (segment_count) */
    const int *collider;       /* in list order (collider_count) */
} RigSpring;

typedef enum ConstraintKind { CONSTRAINT_ROLL, CONSTRAINT_AIM, CONSTRAINT_ROTATION } ConstraintKind;

typedef struct RigConstraint {
    ConstraintKind kind;
    int node;   /* what is constrained */
    int source; /* what it follows */
    Vec3 axis;  /* roll axis (+X +Y +Z) or aim axis (with sign) */
    float weight;
} RigConstraint;

typedef struct Rig {
    const char *format; /* "glb", "gltf", "vrm0", "vrm1", "sample" ... */
    const char *name;
    double unit; /* metres a file unit, applied already */
    int node_count;
    int mesh_count;
    int material_count;
    int skin_count;
    int clip_count;
    int spring_count;
    int collider_count;
    int constraint_count;
    int morph_weight_count; /* over all nodes with a morphed mesh */
    const RigNode *node;
    const int *order; /* nodes, parents first          (node_count) */
    const RigMesh *mesh;
    const RigMaterial *material;
    const RigSkin *skin;
    const Clip *clip;
    const RigSpring *spring;
    const RigCollider *collider;
    const RigConstraint *constraint;
    const float *morph_weight0; /* weights at rest               (morph_weight_count) */
    int role[ROLE_COUNT];       /* node of each humanoid role or -1 */
    bool is_humanoid;
    bool is_guessed;       /* the roles are from names: the file does not say them */
    Vec3 forward;          /* where the character faces at rest: +Z; -Z for VRM 0.x; an axis */
    float height;          /* of the box of all vertices at rest, metres; 0 without meshes */
    Vec3 box_min, box_max; /* of all vertices at rest in the scene, metres */
    Warnings warnings;     /* found while reading */
} Rig;

/* Index of what has that key, -1 when there is none. */
int rig_find_node(const Rig *rig, const char *key);
int rig_find_mesh(const Rig *rig, const char *key);
int rig_find_clip(const Rig *rig, const char *key);
int rig_find_spring(const Rig *rig, const char *key);

/* How many nodes lead from a root to `node`, both counted; 0 for -1. */
int rig_depth(const Rig *rig, int node);
/* The nearest node that is or carries both; -1 for none. */
int rig_common_ancestor(const Rig *rig, int a, int b);

/* Worlds of all nodes at rest into `out` (node_count). */
void rig_rest_worlds(const Rig *rig, World *out);

/* What a builder (reader or sample) calls last, with names filled in: makes keys from them (of
 * skins and colliders, which have no name, from what stands in `key`), sorts `order`, normalises
 * rotations at rest, measures box and height, fills rest_weight, and checks what this header
 * promises. morph_weight0 is NULL (all zero) or has the weights of every node with a morphed mesh,
 * in file order. role counts where is_humanoid is set; forward (0,0,0) becomes +Z. Arrays that
 * change are copied, so the builder's may be const. */
NODISCARD Status rig_finish(Rig *rig, Arena *arena, Error *err);
