#include "sim/rig.h"

#include <string.h>

static const char *const names[ROLE_COUNT] = {
    [ROLE_HIPS] = "hips",
    [ROLE_SPINE] = "spine",
    [ROLE_CHEST] = "chest",
    [ROLE_UPPER_CHEST] = "upperChest",
    [ROLE_NECK] = "neck",
    [ROLE_HEAD] = "head",
    [ROLE_LEFT_EYE] = "leftEye",
    [ROLE_RIGHT_EYE] = "rightEye",
    [ROLE_JAW] = "jaw",
    [ROLE_LEFT_UPPER_LEG] = "leftUpperLeg",
    [ROLE_LEFT_LOWER_LEG] = "leftLowerLeg",
    [ROLE_LEFT_FOOT] = "leftFoot",
    [ROLE_LEFT_TOES] = "leftToes",
    [ROLE_RIGHT_UPPER_LEG] = "rightUpperLeg",
    [ROLE_RIGHT_LOWER_LEG] = "rightLowerLeg",
    [ROLE_RIGHT_FOOT] = "rightFoot",
    [ROLE_RIGHT_TOES] = "rightToes",
    [ROLE_LEFT_SHOULDER] = "leftShoulder",
    [ROLE_LEFT_UPPER_ARM] = "leftUpperArm",
    [ROLE_LEFT_LOWER_ARM] = "leftLowerArm",
    [ROLE_LEFT_HAND] = "leftHand",
    [ROLE_RIGHT_SHOULDER] = "rightShoulder",
    [ROLE_RIGHT_UPPER_ARM] = "rightUpperArm",
    [ROLE_RIGHT_LOWER_ARM] = "rightLowerArm",
    [ROLE_RIGHT_HAND] = "rightHand",
    [ROLE_LEFT_THUMB_METACARPAL] = "leftThumbMetacarpal",
    [ROLE_LEFT_THUMB_PROXIMAL] = "leftThumbProximal",
    [ROLE_LEFT_THUMB_DISTAL] = "leftThumbDistal",
    [ROLE_LEFT_INDEX_PROXIMAL] = "leftIndexProximal",
    [ROLE_LEFT_INDEX_INTERMEDIATE] = "leftIndexIntermediate",
    [ROLE_LEFT_INDEX_DISTAL] = "leftIndexDistal",
    [ROLE_LEFT_MIDDLE_PROXIMAL] = "leftMiddleProximal",
    [ROLE_LEFT_MIDDLE_INTERMEDIATE] = "leftMiddleIntermediate",
    [ROLE_LEFT_MIDDLE_DISTAL] = "leftMiddleDistal",
    [ROLE_LEFT_RING_PROXIMAL] = "leftRingProximal",
    [ROLE_LEFT_RING_INTERMEDIATE] = "leftRingIntermediate",
    [ROLE_LEFT_RING_DISTAL] = "leftRingDistal",
    [ROLE_LEFT_LITTLE_PROXIMAL] = "leftLittleProximal",
    [ROLE_LEFT_LITTLE_INTERMEDIATE] = "leftLittleIntermediate",
    [ROLE_LEFT_LITTLE_DISTAL] = "leftLittleDistal",
    [ROLE_RIGHT_THUMB_METACARPAL] = "rightThumbMetacarpal",
    [ROLE_RIGHT_THUMB_PROXIMAL] = "rightThumbProximal",
    [ROLE_RIGHT_THUMB_DISTAL] = "rightThumbDistal",
    [ROLE_RIGHT_INDEX_PROXIMAL] = "rightIndexProximal",
    [ROLE_RIGHT_INDEX_INTERMEDIATE] = "rightIndexIntermediate",
    [ROLE_RIGHT_INDEX_DISTAL] = "rightIndexDistal",
    [ROLE_RIGHT_MIDDLE_PROXIMAL] = "rightMiddleProximal",
    [ROLE_RIGHT_MIDDLE_INTERMEDIATE] = "rightMiddleIntermediate",
    [ROLE_RIGHT_MIDDLE_DISTAL] = "rightMiddleDistal",
    [ROLE_RIGHT_RING_PROXIMAL] = "rightRingProximal",
    [ROLE_RIGHT_RING_INTERMEDIATE] = "rightRingIntermediate",
    [ROLE_RIGHT_RING_DISTAL] = "rightRingDistal",
    [ROLE_RIGHT_LITTLE_PROXIMAL] = "rightLittleProximal",
    [ROLE_RIGHT_LITTLE_INTERMEDIATE] = "rightLittleIntermediate",
    [ROLE_RIGHT_LITTLE_DISTAL] = "rightLittleDistal",
};

const char *humanoid_role_name(HumanoidRole role)
{
    return names[role];
}

HumanoidRole humanoid_role_find(const char *name)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return (HumanoidRole)i;
    return ROLE_COUNT;
}

bool humanoid_role_is_required(HumanoidRole role)
{
    switch (role) {
    case ROLE_HIPS:
    case ROLE_SPINE:
    case ROLE_HEAD:
    case ROLE_LEFT_UPPER_LEG:
    case ROLE_LEFT_LOWER_LEG:
    case ROLE_LEFT_FOOT:
    case ROLE_RIGHT_UPPER_LEG:
    case ROLE_RIGHT_LOWER_LEG:
    case ROLE_RIGHT_FOOT:
    case ROLE_LEFT_UPPER_ARM:
    case ROLE_LEFT_LOWER_ARM:
    case ROLE_LEFT_HAND:
    case ROLE_RIGHT_UPPER_ARM:
    case ROLE_RIGHT_LOWER_ARM:
    case ROLE_RIGHT_HAND:
        return true;
    default:
        return false;
    }
}
