/* The avatar's clips: poses as functions of time, sampled to keys by the writer.
 *
 * A clip describes what a body does by a Stance (hips, bends of the spine, arms, where the feet
 * are); avatar_pose turns that into joint rotations, the legs by two-bone inverse kinematics, so
 * that feet stay where they stand. Every clip ends as it begins. Pure functions; any thread. */
#pragma once

#include "math/quat.h"
#include "samples/avatar_rig.h"

enum { AVATAR_CLIP_COUNT = 6, AVATAR_KEYS_PER_SECOND = 30 };

typedef struct AvatarPose {
    Vec3 hips; /* translation of the hips in the root, metres */
    Quat rotation[JOINT_HUMANOID_COUNT];
} AvatarPose;

/* Angles in degrees. */
typedef struct Arm {
    float down;  /* from the T-pose to the side of the body: 90 hangs straight, -90 points up */
    float swing; /* forwards */
    float elbow;
    float wrist;
} Arm;

typedef struct Foot {
    Vec3 ankle;  /* metres; from its place at rest, or `is_free`: from the hips in their axes */
    float pitch; /* toes down; degrees */
    float toes;  /* bend of the toes upwards, degrees */
    float yaw;   /* toes outwards, degrees */
} Foot;

typedef struct Stance {
    Vec3 hips;  /* metres from rest */
    Vec3 turn;  /* of the hips: pitch forwards, yaw to the left, roll to the right; degrees */
    Vec3 spine; /* the same, spread over spine, chest and upper chest */
    Vec3 head;  /* the same, spread over neck and head */
    float shrug;
    Arm arm[2];
    Foot foot[2];
    bool is_free; /* the feet go with the hips */
} Stance;

typedef struct AvatarClip {
    const char *name;
    int keys; /* steps of 1/30 s */
    void (*stance)(double time, Stance *out);
} AvatarClip;

extern const AvatarClip avatar_clip[AVATAR_CLIP_COUNT];

void avatar_pose(const AvatarRig *rig, const Stance *stance, AvatarPose *out);

/* Helpers of clips: the place of an ankle whose foot stands on its ball (pitch > 0) or heel. */
Vec3 avatar_ankle(float pitch);
/* A key of a curve; curves rise and fall between keys without overshooting, and are level at both
 * ends. */
typedef struct CurveKey {
    float time, value;
} CurveKey;
float avatar_curve(const CurveKey *key, int count, double time);
/* The stance that clips start and end with: arms at the sides. */
Stance avatar_standing(void);
