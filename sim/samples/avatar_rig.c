#include "samples/avatar_rig.h"

#include "math/scalar.h"

#include <string.h>

typedef struct JointDesc {
    int joint; /* AvatarJoint, of the left one for pairs */
    const char *name;
    const char *role;
    int parent;
    bool is_pair;
    Vec3 position; /* of the left one for pairs */
} JointDesc;

static const JointDesc joint_desc[] = {
    {JOINT_ROOT, "Avatar", NULL, -1, false, {0.0f, 0.0f, 0.0f}},
    {JOINT_HIPS, "Hips", "hips", JOINT_ROOT, false, {0.0f, 0.89f, 0.0f}},
    {JOINT_SPINE, "Spine", "spine", JOINT_HIPS, false, {0.0f, 0.975f, -0.008f}},
    {JOINT_CHEST, "Chest", "chest", JOINT_SPINE, false, {0.0f, 1.075f, -0.012f}},
    {JOINT_UPPER_CHEST, "UpperChest", "upperChest", JOINT_CHEST, false, {0.0f, 1.18f, -0.014f}},
    {JOINT_NECK, "Neck", "neck", JOINT_UPPER_CHEST, false, {0.0f, 1.315f, -0.018f}},
    {JOINT_HEAD, "Head", "head", JOINT_NECK, false, {0.0f, 1.39f, -0.008f}},
    {JOINT_UPPER_LEG, "UpperLeg", "UpperLeg", JOINT_HIPS, true, {0.075f, 0.835f, 0.0f}},
    {JOINT_LOWER_LEG, "LowerLeg", "LowerLeg", JOINT_UPPER_LEG, true, {0.075f, 0.455f, 0.004f}},
    {JOINT_FOOT, "Foot", "Foot", JOINT_LOWER_LEG, true, {0.075f, 0.085f, -0.018f}},
    {JOINT_TOES, "Toes", "Toes", JOINT_FOOT, true, {0.075f, 0.022f, 0.095f}},
    {JOINT_SHOULDER, "Shoulder", "Shoulder", JOINT_UPPER_CHEST, true, {0.03f, 1.272f, -0.012f}},
    {JOINT_UPPER_ARM, "UpperArm", "UpperArm", JOINT_SHOULDER, true, {0.138f, 1.268f, -0.012f}},
    {JOINT_LOWER_ARM, "LowerArm", "LowerArm", JOINT_UPPER_ARM, true, {0.375f, 1.268f, -0.014f}},
    {JOINT_HAND, "Hand", "Hand", JOINT_LOWER_ARM, true, {0.59f, 1.268f, -0.01f}},
    {JOINT_THUMB_METACARPAL,
     "ThumbMetacarpal",
     "ThumbMetacarpal",
     JOINT_HAND,
     true,
     {0.612f, 1.262f, 0.014f}},
    {JOINT_THUMB_PROXIMAL,
     "ThumbProximal",
     "ThumbProximal",
     JOINT_THUMB_METACARPAL,
     true,
     {0.638f, 1.258f, 0.038f}},
    {JOINT_INDEX_PROXIMAL,
     "IndexProximal",
     "IndexProximal",
     JOINT_HAND,
     true,
     {0.672f, 1.27f, 0.018f}},
    {JOINT_INDEX_INTERMEDIATE,
     "IndexIntermediate",
     "IndexIntermediate",
     JOINT_INDEX_PROXIMAL,
     true,
     {0.704f, 1.268f, 0.02f}},
    {JOINT_MIDDLE_PROXIMAL,
     "MiddleProximal",
     "MiddleProximal",
     JOINT_HAND,
     true,
     {0.675f, 1.271f, -0.002f}},
    {JOINT_MIDDLE_INTERMEDIATE,
     "MiddleIntermediate",
     "MiddleIntermediate",
     JOINT_MIDDLE_PROXIMAL,
     true,
     {0.71f, 1.269f, -0.002f}},
    {JOINT_RING_PROXIMAL,
     "RingProximal",
     "RingProximal",
     JOINT_HAND,
     true,
     {0.672f, 1.27f, -0.021f}},
    {JOINT_RING_INTERMEDIATE,
     "RingIntermediate",
     "RingIntermediate",
     JOINT_RING_PROXIMAL,
     true,
     {0.704f, 1.268f, -0.0225f}},
    {JOINT_LITTLE_PROXIMAL,
     "LittleProximal",
     "LittleProximal",
     JOINT_HAND,
     true,
     {0.666f, 1.267f, -0.039f}},
    {JOINT_LITTLE_INTERMEDIATE,
     "LittleIntermediate",
     "LittleIntermediate",
     JOINT_LITTLE_PROXIMAL,
     true,
     {0.69f, 1.265f, -0.042f}},
};

static int mirror_joint(int joint)
{
    if (joint < JOINT_UPPER_LEG || joint >= JOINT_HUMANOID_COUNT)
        return joint;
    return (joint - JOINT_UPPER_LEG) % 2 == 0 ? joint + 1 : joint - 1;
}

static void add_humanoid(AvatarRig *rig, Arena *arena)
{
    for (size_t i = 0; i < sizeof joint_desc / sizeof joint_desc[0]; i++) {
        const JointDesc *desc = &joint_desc[i];
        AvatarNode *node = &rig->node[desc->joint];
        if (!desc->is_pair) {
            *node = (AvatarNode){desc->name, desc->role, desc->parent, desc->position};
            continue;
        }
        for (int side = 0; side < 2; side++) {
            bool is_right = side == SIDE_RIGHT;
            Vec3 p = desc->position;
            p.x = is_right ? -p.x : p.x;
            node[side] =
                (AvatarNode){arena_format(arena, "%s%s", is_right ? "Right" : "Left", desc->name),
                             arena_format(arena, "%s%s", is_right ? "right" : "left", desc->role),
                             is_right ? mirror_joint(desc->parent) : desc->parent, p};
        }
    }
    rig->node_count = JOINT_HUMANOID_COUNT;
    for (int i = 0; i < rig->node_count; i++)
        rig->mirror[i] = mirror_joint(i);
}

static void add_chain(AvatarRig *rig, const ChainDesc *desc, Arena *arena)
{
    AvatarChain *chain = &rig->chain[rig->chain_count++];

    *chain = (AvatarChain){*desc, rig->node_count};
    for (int i = 0; i < desc->point_count; i++) {
        int node = rig->node_count++;
        bool is_end = i + 1 == desc->point_count;
        rig->node[node] = (AvatarNode){is_end ? arena_format(arena, "%sEnd", desc->name)
                                              : arena_format(arena, "%s%d", desc->name, i + 1),
                                       NULL, i == 0 ? desc->parent : node - 1, desc->point[i]};
        rig->mirror[node] = node;
    }
}

/* Make two chains of equal length each other's mirror images. */
static void pair_chains(AvatarRig *rig, int a, int b)
{
    for (int i = 0; i < rig->chain[a].desc.point_count; i++) {
        rig->mirror[rig->chain[a].first + i] = rig->chain[b].first + i;
        rig->mirror[rig->chain[b].first + i] = rig->chain[a].first + i;
    }
}

/* The chain on the left as it stands and its mirror image on the right, names with L and R. */
static void add_chain_pair(AvatarRig *rig, const ChainDesc *desc, Arena *arena)
{
    ChainDesc side = *desc;

    side.name = arena_format(arena, "%sL", desc->name);
    add_chain(rig, &side, arena);
    side.name = arena_format(arena, "%sR", desc->name);
    for (int i = 0; i < desc->point_count; i++)
        side.point[i].x = -desc->point[i].x;
    add_chain(rig, &side, arena);
    pair_chains(rig, rig->chain_count - 2, rig->chain_count - 1);
}

static const ChainDesc ponytail = {.name = "Ponytail",
                                   .parent = JOINT_HEAD,
                                   .point_count = 7,
                                   .point = {{0.0f, 1.553f, -0.112f},
                                             {0.0f, 1.571f, -0.180f},
                                             {0.0f, 1.526f, -0.233f},
                                             {0.0f, 1.458f, -0.254f},
                                             {0.0f, 1.388f, -0.258f},
                                             {0.0f, 1.319f, -0.249f},
                                             {0.0f, 1.252f, -0.230f}},
                                   .is_end_skinned = true,
                                   .is_hair = true,
                                   .groups = GROUP_HEAD | GROUP_TORSO | GROUP_ARMS,
                                   .stiffness = 0.6f,
                                   .drag = 0.33f,
                                   .gravity_power = 0.01f,
                                   .hit_radius = 0.02f};

static const ChainDesc side_lock = {.name = "SideLock",
                                    .parent = JOINT_HEAD,
                                    .point_count = 4,
                                    .point = {{0.074f, 1.535f, 0.030f},
                                              {0.0955f, 1.465f, 0.040f},
                                              {0.0965f, 1.398f, 0.043f},
                                              {0.089f, 1.336f, 0.050f}},
                                    .is_end_skinned = true,
                                    .is_hair = true,
                                    .groups = GROUP_HEAD | GROUP_TORSO,
                                    .stiffness = 0.5f,
                                    .drag = 0.32f,
                                    .gravity_power = 0.012f,
                                    .hit_radius = 0.008f};

static const ChainDesc back_lock = {.name = "SideLock",
                                    .parent = JOINT_HEAD,
                                    .point_count = 4,
                                    .point = {{0.0905f, 1.512f, -0.044f},
                                              {0.1015f, 1.447f, -0.052f},
                                              {0.101f, 1.380f, -0.064f},
                                              {0.094f, 1.317f, -0.086f}},
                                    .is_end_skinned = true,
                                    .is_hair = true,
                                    .groups = GROUP_HEAD | GROUP_TORSO | GROUP_ARMS,
                                    .stiffness = 0.5f,
                                    .drag = 0.32f,
                                    .gravity_power = 0.012f,
                                    .hit_radius = 0.01f};

static const ChainDesc front_lock = {.name = "FrontLock",
                                     .parent = JOINT_HEAD,
                                     .point_count = 7,
                                     .point = {{0.066f, 1.545f, 0.036f},
                                               {0.0915f, 1.478f, 0.062f},
                                               {0.096f, 1.405f, 0.078f},
                                               {0.092f, 1.333f, 0.094f},
                                               {0.085f, 1.262f, 0.114f},
                                               {0.080f, 1.190f, 0.136f},
                                               {0.077f, 1.124f, 0.140f}},
                                     .is_end_skinned = true,
                                     .is_hair = true,
                                     .groups = GROUP_HEAD | GROUP_TORSO,
                                     .stiffness = 0.5f,
                                     .drag = 0.32f,
                                     .gravity_power = 0.012f,
                                     .hit_radius = 0.01f};

void avatar_bang_points(int bang, Vec3 out[BANG_POINTS])
{
    float across = ((float)bang - 3.0f) / 3.0f;
    float drop = across * across;

    out[0] = vec3(0.048f * across, 1.582f - 0.014f * drop, 0.040f - 0.018f * drop);
    out[1] = vec3(0.076f * across, 1.546f - 0.016f * drop, 0.090f - 0.034f * drop);
    out[2] = vec3(0.0815f * across, 1.494f - 0.020f * drop, 0.1075f - 0.038f * drop);
}

/* Seven tufts that fan out over the forehead, each on a chain of three nodes. */
static void add_bangs(AvatarRig *rig, Arena *arena)
{
    int first = rig->chain_count;

    for (int i = 0; i < BANG_COUNT; i++) {
        ChainDesc desc = {.name = arena_format(arena, "Bang%d_", i + 1),
                          .parent = JOINT_HEAD,
                          .point_count = BANG_POINTS,
                          .is_hair = true,
                          .groups = GROUP_HEAD,
                          .stiffness = 1.0f,
                          .drag = 0.4f,
                          .gravity_power = 0.005f,
                          .hit_radius = 0.004f};
        avatar_bang_points(i, desc.point);
        add_chain(rig, &desc, arena);
    }
    for (int i = 0; i < 3; i++)
        pair_chains(rig, first + i, first + 6 - i);
}

Vec3 avatar_skirt_point(float turn, float height)
{
    double sine, cosine;
    float t = (0.985f - height) / 0.365f;

    scalar_sin_cos(6.283185307179586 * (double)turn / SKIRT_CHAINS, &sine, &cosine);
    return vec3((0.109f + t * (0.21f - 0.085f * t)) * (float)sine, height,
                -0.006f + (0.084f + t * (0.20f - 0.08f * t)) * (float)cosine);
}

static void add_skirt(AvatarRig *rig, Arena *arena)
{
    static const float height[4] = {0.925f, 0.825f, 0.725f, 0.625f};
    int first = rig->chain_count;

    for (int i = 0; i < SKIRT_CHAINS; i++) {
        ChainDesc desc = {.name = arena_format(arena, "Skirt%d_", i + 1),
                          .parent = JOINT_HIPS,
                          .point_count = 4,
                          .is_end_skinned = true,
                          .groups = GROUP_LEGS,
                          .stiffness = 2.0f,
                          .drag = 0.42f,
                          .gravity_power = 0.02f,
                          .hit_radius = 0.012f};
        for (int k = 0; k < desc.point_count; k++)
            desc.point[k] = avatar_skirt_point((float)i, height[k]);
        add_chain(rig, &desc, arena);
    }
    for (int i = 1; i < SKIRT_CHAINS / 2; i++)
        pair_chains(rig, first + i, first + SKIRT_CHAINS - i);
}

const AvatarRig *avatar_rig_build(AvatarHair hair, Arena *arena)
{
    AvatarRig *rig = arena_array(arena, AvatarRig, 1);

    if (!rig)
        return NULL;
    rig->hair = hair;
    int capacity = JOINT_HUMANOID_COUNT + AVATAR_MAX_CHAINS * CHAIN_MAX_POINTS;
    rig->node = arena_array(arena, AvatarNode, capacity);
    rig->mirror = arena_array(arena, int, capacity);
    if (arena->overflowed)
        return NULL;
    add_humanoid(rig, arena);
    add_chain(rig, &ponytail, arena);
    if (hair == AVATAR_HAIR_LAYERED) {
        add_chain_pair(rig, &front_lock, arena);
        add_chain_pair(rig, &back_lock, arena);
        add_bangs(rig, arena);
    } else {
        add_chain_pair(rig, &side_lock, arena);
    }
    add_skirt(rig, arena);
    return arena->overflowed ? NULL : rig;
}

const AvatarChain *avatar_find_chain(const AvatarRig *rig, const char *name)
{
    for (int i = 0; i < rig->chain_count; i++)
        if (strcmp(rig->chain[i].desc.name, name) == 0)
            return &rig->chain[i];
    return NULL;
}
