/* The avatar's skeleton: humanoid joints in a T-pose, and the joint chains of hair and skirt.
 *
 * All joints' rest rotations are identities: their axes are the scene's (X to the character's left,
 * Y up, Z forward), so rest worlds are positions. Sided joints come in pairs, left then right:
 * `JOINT_UPPER_ARM + side`. Made once in an arena; const afterwards. */
#pragma once

#include "base/arena.h"
#include "math/vec3.h"
#include "samples/mesh.h"
#include "sim/samples.h"

#include <stdbool.h>

typedef enum AvatarJoint {
    JOINT_ROOT,
    JOINT_HIPS,
    JOINT_SPINE,
    JOINT_CHEST,
    JOINT_UPPER_CHEST,
    JOINT_NECK,
    JOINT_HEAD,
    JOINT_UPPER_LEG,
    JOINT_LOWER_LEG = JOINT_UPPER_LEG + 2,
    JOINT_FOOT = JOINT_LOWER_LEG + 2,
    JOINT_TOES = JOINT_FOOT + 2,
    JOINT_SHOULDER = JOINT_TOES + 2,
    JOINT_UPPER_ARM = JOINT_SHOULDER + 2,
    JOINT_LOWER_ARM = JOINT_UPPER_ARM + 2,
    JOINT_HAND = JOINT_LOWER_ARM + 2,
    JOINT_THUMB_METACARPAL = JOINT_HAND + 2,
    JOINT_THUMB_PROXIMAL = JOINT_THUMB_METACARPAL + 2,
    JOINT_INDEX_PROXIMAL = JOINT_THUMB_PROXIMAL + 2,
    JOINT_INDEX_INTERMEDIATE = JOINT_INDEX_PROXIMAL + 2,
    JOINT_MIDDLE_PROXIMAL = JOINT_INDEX_INTERMEDIATE + 2,
    JOINT_MIDDLE_INTERMEDIATE = JOINT_MIDDLE_PROXIMAL + 2,
    JOINT_RING_PROXIMAL = JOINT_MIDDLE_INTERMEDIATE + 2,
    JOINT_RING_INTERMEDIATE = JOINT_RING_PROXIMAL + 2,
    JOINT_LITTLE_PROXIMAL = JOINT_RING_INTERMEDIATE + 2,
    JOINT_LITTLE_INTERMEDIATE = JOINT_LITTLE_PROXIMAL + 2,
    JOINT_HUMANOID_COUNT = JOINT_LITTLE_INTERMEDIATE + 2
} AvatarJoint;

enum { SIDE_LEFT, SIDE_RIGHT };

typedef struct AvatarNode {
    const char *name;
    const char *role; /* VRM 1.0 humanoid bone, NULL for others */
    int parent;       /* -1 for the root */
    Vec3 position;    /* rest, metres in the scene */
} AvatarNode;

/* Colliders a spring meets, by group. */
typedef enum AvatarGroup {
    GROUP_HEAD = 1,
    GROUP_TORSO = 2,
    GROUP_ARMS = 4,
    GROUP_LEGS = 8
} AvatarGroup;

enum { CHAIN_MAX_POINTS = 8, AVATAR_MAX_CHAINS = 32 };

/* What a chain is made of. `point` is its joints at rest, root first; the last is an end node. */
typedef struct ChainDesc {
    const char *name;
    int parent;
    int point_count;
    Vec3 point[CHAIN_MAX_POINTS];
    bool is_end_skinned; /* the end node is one of the skin's joints */
    bool is_hair;
    unsigned groups; /* AvatarGroup, or-ed */
    float stiffness; /* VRM units, as are the next two */
    float drag;
    float gravity_power;
    float hit_radius; /* metres */
} ChainDesc;

typedef struct AvatarChain {
    ChainDesc desc;
    int first; /* node of point 0; the others follow */
} AvatarChain;

typedef struct AvatarRig {
    AvatarHair hair;
    int node_count;
    AvatarNode *node; /* parents first (node_count) */
    int *mirror;      /* the node on the other side, itself for those in the middle (node_count) */
    int chain_count;
    AvatarChain chain[AVATAR_MAX_CHAINS];
} AvatarRig;

/* The skeleton with its chains; NULL where the arena is full. */
const AvatarRig *avatar_rig_build(AvatarHair hair, Arena *arena);
/* The chain of that name, or NULL. */
const AvatarChain *avatar_find_chain(const AvatarRig *rig, const char *name);
enum { SKIRT_CHAINS = 10 };

/* A point of the skirt at rest: `turn` counts chains around from the front over the left; pleats
 * are not in it. */
Vec3 avatar_skirt_point(float turn, float height);

/* The joints of one of the seven bangs at rest, from the character's right to its left. */
enum { BANG_COUNT = 7, BANG_POINTS = 3 };
void avatar_bang_points(int bang, Vec3 out[BANG_POINTS]);

/* A smooth step from 0 at `low` to 1 at `high`. */
float avatar_ramp(float low, float high, float x);
/* Which joint a place of the body follows, by where it is at rest: limbs lie along the axes, so
 * each border between two joints is a ramp along one. `side` is SIDE_LEFT or SIDE_RIGHT where the
 * part belongs to that limb alone. */
MeshWeights avatar_torso_weights(Vec3 p);
MeshWeights avatar_arm_weights(Vec3 p, int side);
MeshWeights avatar_leg_weights(Vec3 p, int side);
MeshWeights avatar_hips_weights(Vec3 p);
/* `u` counts segments from the chain's root. Linear across a full segment: joint i takes over from
 * joint i - 1 between the middles of their segments; the root joint takes over from the chain's
 * parent across the first segment (hair), or by its middle (skirt, so that two chains need four
 * joints). `share` scales all. */
void avatar_chain_weights(const AvatarChain *chain, float u, float share, MeshWeights *out);
