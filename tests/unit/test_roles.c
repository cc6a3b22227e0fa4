/* Roles from names: every rig's own way of naming, as BVH skeletons, whose hierarchy is short to
 * write. A line is a joint and its parent (index). */
#include "support/check.h"
#include "support/reading.h"

#include <stdio.h>
#include <string.h>

typedef struct Joint {
    const char *name;
    int parent;
    const char *role; /* that it must get; NULL: none */
} Joint;

static void write_joint(const Joint *joint, int count, int index, char *out, size_t size)
{
    size_t used = strlen(out);

    (void)snprintf(out + used, size - used, "%s %s\n{\nOFFSET %d 10 0\nCHANNELS 1 Xrotation\n",
                   joint[index].parent < 0 ? "ROOT" : "JOINT", joint[index].name,
                   strstr(joint[index].name, "eft") || strstr(joint[index].name, "l_") ||
                           strstr(joint[index].name, "_l") || strstr(joint[index].name, ".L") ||
                           strstr(joint[index].name, ".l") || strstr(joint[index].name, " L ") ||
                           joint[index].name[0] == 'l'
                       ? 5
                       : 0);
    for (int i = 0; i < count; i++)
        if (joint[i].parent == index)
            write_joint(joint, count, i, out, size);
    used = strlen(out);
    (void)snprintf(out + used, size - used, "}\n");
}

static void check_rig(const Joint *joint, int count)
{
    static char text[32768];
    Reading reading = reading_open();

    (void)snprintf(text, sizeof text, "HIERARCHY\n");
    write_joint(joint, count, 0, text, sizeof text);
    size_t used = strlen(text);
    used += (size_t)snprintf(text + used, sizeof text - used, "MOTION\nFrames: 1\nFrame Time: 1\n");
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "0 ");
    CHECK_INT(reading_bytes(&reading, text, used), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK(reading.rig && reading.rig->is_guessed);
    for (int i = 0; reading.rig && i < count; i++) {
        int node = rig_find_node(reading.rig, joint[i].name), role = 0;

        while (role < ROLE_COUNT && reading.rig->role[role] != node)
            role++;
        const char *found = role < ROLE_COUNT ? humanoid_role_name((HumanoidRole)role) : "none";
        char actual[128], expected[128];
        (void)snprintf(actual, sizeof actual, "%s is %s", joint[i].name, found);
        (void)snprintf(expected, sizeof expected, "%s is %s", joint[i].name,
                       joint[i].role ? joint[i].role : "none");
        CHECK_EQUAL_TEXT(actual, expected);
    }
    reading_close(&reading);
}

#define CHECK_RIG(...)                                                                             \
    do {                                                                                           \
        static const Joint joints[] = {__VA_ARGS__};                                               \
        check_rig(joints, (int)(sizeof joints / sizeof joints[0]));                                \
    } while (0)

TEST(roles, of_mixamo)
{
    CHECK_RIG(
        {"mixamorig:Hips", -1, "hips"}, {"mixamorig:Spine", 0, "spine"},
        {"mixamorig:Spine1", 1, "chest"}, {"mixamorig:Spine2", 2, "upperChest"},
        {"mixamorig:Neck", 3, "neck"}, {"mixamorig:Head", 4, "head"},
        {"mixamorig:HeadTop_End", 5, NULL}, {"mixamorig:LeftShoulder", 3, "leftShoulder"},
        {"mixamorig:LeftArm", 7, "leftUpperArm"}, {"mixamorig:LeftForeArm", 8, "leftLowerArm"},
        {"mixamorig:LeftHand", 9, "leftHand"},
        {"mixamorig:LeftHandThumb1", 10, "leftThumbMetacarpal"},
        {"mixamorig:LeftHandThumb2", 11, "leftThumbProximal"},
        {"mixamorig:LeftHandIndex1", 10, "leftIndexProximal"},
        {"mixamorig:LeftHandIndex4", 13, NULL},
        {"mixamorig:LeftHandPinky3", 10, "leftLittleDistal"},
        {"mixamorig:RightShoulder", 3, "rightShoulder"},
        {"mixamorig:RightArm", 16, "rightUpperArm"},
        {"mixamorig:RightForeArm", 17, "rightLowerArm"}, {"mixamorig:RightHand", 18, "rightHand"},
        {"mixamorig:LeftUpLeg", 0, "leftUpperLeg"}, {"mixamorig:LeftLeg", 20, "leftLowerLeg"},
        {"mixamorig:LeftFoot", 21, "leftFoot"}, {"mixamorig:LeftToeBase", 22, "leftToes"},
        {"mixamorig:RightUpLeg", 0, "rightUpperLeg"}, {"mixamorig:RightLeg", 24, "rightLowerLeg"},
        {"mixamorig:RightFoot", 25, "rightFoot"});
}

TEST(roles, of_unreal_and_its_twist_bones)
{
    CHECK_RIG(
        {"root", -1, NULL}, {"pelvis", 0, "hips"}, {"spine_01", 1, "spine"},
        {"spine_02", 2, "chest"}, {"spine_03", 3, "upperChest"}, {"neck_01", 4, "neck"},
        {"head", 5, "head"}, {"clavicle_l", 4, "leftShoulder"}, {"upperarm_l", 7, "leftUpperArm"},
        {"upperarm_twist_01_l", 8, NULL}, {"lowerarm_l", 8, "leftLowerArm"},
        {"hand_l", 10, "leftHand"}, {"thumb_01_l", 11, "leftThumbMetacarpal"},
        {"pinky_03_l", 11, "leftLittleDistal"}, {"clavicle_r", 4, "rightShoulder"},
        {"upperarm_r", 14, "rightUpperArm"}, {"lowerarm_r", 15, "rightLowerArm"},
        {"hand_r", 16, "rightHand"}, {"thigh_l", 1, "leftUpperLeg"}, {"calf_l", 18, "leftLowerLeg"},
        {"foot_l", 19, "leftFoot"}, {"ball_l", 20, "leftToes"}, {"thigh_r", 1, "rightUpperLeg"},
        {"calf_r", 22, "rightLowerLeg"}, {"foot_r", 23, "rightFoot"}, {"ik_foot_root", 0, NULL});
}

TEST(roles, of_rigify_whose_hips_and_head_are_called_spine)
{
    CHECK_RIG({"DEF-spine", -1, "hips"}, {"DEF-spine.001", 0, "spine"},
              {"DEF-spine.002", 1, "chest"}, {"DEF-spine.003", 2, "upperChest"},
              {"DEF-spine.004", 3, "neck"}, {"DEF-spine.005", 4, NULL},
              {"DEF-spine.006", 5, "head"}, {"DEF-shoulder.L", 3, "leftShoulder"},
              {"DEF-upper_arm.L", 7, "leftUpperArm"}, {"DEF-forearm.L", 8, "leftLowerArm"},
              {"DEF-hand.L", 9, "leftHand"}, {"DEF-f_index.01.L", 10, "leftIndexProximal"},
              {"DEF-thumb.01.L", 10, "leftThumbMetacarpal"}, {"DEF-shoulder.R", 3, "rightShoulder"},
              {"DEF-upper_arm.R", 13, "rightUpperArm"}, {"DEF-forearm.R", 14, "rightLowerArm"},
              {"DEF-hand.R", 15, "rightHand"}, {"DEF-thigh.L", 0, "leftUpperLeg"},
              {"DEF-shin.L", 17, "leftLowerLeg"}, {"DEF-foot.L", 18, "leftFoot"},
              {"DEF-toe.L", 19, "leftToes"}, {"DEF-thigh.R", 0, "rightUpperLeg"},
              {"DEF-shin.R", 21, "rightLowerLeg"}, {"DEF-foot.R", 22, "rightFoot"});
}

TEST(roles, of_the_cmu_library)
{
    CHECK_RIG({"Hips", -1, "hips"}, {"LHipJoint", 0, NULL}, {"LeftUpLeg", 1, "leftUpperLeg"},
              {"LeftLeg", 2, "leftLowerLeg"}, {"LeftFoot", 3, "leftFoot"},
              {"LeftToeBase", 4, "leftToes"}, {"RHipJoint", 0, NULL},
              {"RightUpLeg", 6, "rightUpperLeg"}, {"RightLeg", 7, "rightLowerLeg"},
              {"RightFoot", 8, "rightFoot"}, {"LowerBack", 0, "spine"}, {"Spine", 10, "chest"},
              {"Spine1", 11, "upperChest"}, {"Neck", 12, "neck"}, {"Neck1", 13, NULL},
              {"Head", 14, "head"}, {"LeftShoulder", 12, "leftShoulder"},
              {"LeftArm", 16, "leftUpperArm"}, {"LeftForeArm", 17, "leftLowerArm"},
              {"LeftHand", 18, "leftHand"}, {"LThumb", 19, "leftThumbMetacarpal"},
              {"RightShoulder", 12, "rightShoulder"}, {"RightArm", 21, "rightUpperArm"},
              {"RightForeArm", 22, "rightLowerArm"}, {"RightHand", 23, "rightHand"});
}

TEST(roles, of_biovision_where_the_shoulder_is_the_upper_arm)
{
    CHECK_RIG({"Hips", -1, "hips"}, {"Chest", 0, "spine"}, {"Neck", 1, "neck"}, {"Head", 2, "head"},
              {"LeftCollar", 1, "leftShoulder"}, {"LeftShoulder", 4, "leftUpperArm"},
              {"LeftElbow", 5, "leftLowerArm"}, {"LeftWrist", 6, "leftHand"},
              {"RightCollar", 1, "rightShoulder"}, {"RightShoulder", 8, "rightUpperArm"},
              {"RightElbow", 9, "rightLowerArm"}, {"RightWrist", 10, "rightHand"},
              {"LeftHip", 0, "leftUpperLeg"}, {"LeftKnee", 12, "leftLowerLeg"},
              {"LeftAnkle", 13, "leftFoot"}, {"RightHip", 0, "rightUpperLeg"},
              {"RightKnee", 15, "rightLowerLeg"}, {"RightAnkle", 16, "rightFoot"});
}

TEST(roles, of_3ds_max_poser_vroid_and_kaykit)
{
    CHECK_RIG({"Bip01", -1, NULL}, {"Bip01 Pelvis", 0, "hips"}, {"Bip01 Spine", 1, "spine"},
              {"Bip01 Neck", 2, "neck"}, {"Bip01 Head", 3, "head"},
              {"Bip01 L Clavicle", 3, "leftShoulder"}, {"Bip01 L UpperArm", 5, "leftUpperArm"},
              {"Bip01 L Forearm", 6, "leftLowerArm"}, {"Bip01 L Hand", 7, "leftHand"},
              {"Bip01 L Finger0", 8, "leftThumbMetacarpal"},
              {"Bip01 L Finger01", 9, "leftThumbProximal"},
              {"Bip01 L Finger1", 8, "leftIndexProximal"},
              {"Bip01 L Finger12", 11, "leftIndexDistal"}, {"Bip01 R Clavicle", 3, "rightShoulder"},
              {"Bip01 R UpperArm", 13, "rightUpperArm"}, {"Bip01 R Forearm", 14, "rightLowerArm"},
              {"Bip01 R Hand", 15, "rightHand"}, {"Bip01 L Thigh", 1, "leftUpperLeg"},
              {"Bip01 L Calf", 17, "leftLowerLeg"}, {"Bip01 L Foot", 18, "leftFoot"},
              {"Bip01 L Toe0", 19, "leftToes"}, {"Bip01 R Thigh", 1, "rightUpperLeg"},
              {"Bip01 R Calf", 21, "rightLowerLeg"}, {"Bip01 R Foot", 22, "rightFoot"});
    CHECK_RIG(
        {"hip", -1, "hips"}, {"abdomen", 0, "spine"}, {"chest", 1, "chest"}, {"neck", 2, "neck"},
        {"head", 3, "head"}, {"lCollar", 2, "leftShoulder"}, {"lShldr", 5, "leftUpperArm"},
        {"lForeArm", 6, "leftLowerArm"}, {"lHand", 7, "leftHand"}, {"rCollar", 2, "rightShoulder"},
        {"rShldr", 9, "rightUpperArm"}, {"rForeArm", 10, "rightLowerArm"},
        {"rHand", 11, "rightHand"}, {"lThigh", 0, "leftUpperLeg"}, {"lShin", 13, "leftLowerLeg"},
        {"lFoot", 14, "leftFoot"}, {"rThigh", 0, "rightUpperLeg"}, {"rShin", 16, "rightLowerLeg"},
        {"rFoot", 17, "rightFoot"});
    CHECK_RIG({"J_Bip_C_Hips", -1, "hips"}, {"J_Bip_C_Spine", 0, "spine"},
              {"J_Bip_C_Chest", 1, "chest"}, {"J_Bip_C_UpperChest", 2, "upperChest"},
              {"J_Bip_C_Neck", 3, "neck"}, {"J_Bip_C_Head", 4, "head"}, {"J_Sec_Hair1_01", 5, NULL},
              {"J_Bip_L_Shoulder", 3, "leftShoulder"}, {"J_Bip_L_UpperArm", 7, "leftUpperArm"},
              {"J_Bip_L_LowerArm", 8, "leftLowerArm"}, {"J_Bip_L_Hand", 9, "leftHand"},
              {"J_Bip_L_Little2", 10, "leftLittleIntermediate"},
              {"J_Bip_R_Shoulder", 3, "rightShoulder"}, {"J_Bip_R_UpperArm", 12, "rightUpperArm"},
              {"J_Bip_R_LowerArm", 13, "rightLowerArm"}, {"J_Bip_R_Hand", 14, "rightHand"},
              {"J_Bip_L_UpperLeg", 0, "leftUpperLeg"}, {"J_Bip_L_LowerLeg", 16, "leftLowerLeg"},
              {"J_Bip_L_Foot", 17, "leftFoot"}, {"J_Bip_L_ToeBase", 18, "leftToes"},
              {"J_Bip_R_UpperLeg", 0, "rightUpperLeg"}, {"J_Bip_R_LowerLeg", 20, "rightLowerLeg"},
              {"J_Bip_R_Foot", 21, "rightFoot"});
    CHECK_RIG(
        {"root", -1, NULL}, {"hips", 0, "hips"}, {"spine", 1, "spine"}, {"chest", 2, "chest"},
        {"upperarm.l", 3, "leftUpperArm"}, {"lowerarm.l", 4, "leftLowerArm"}, {"wrist.l", 5, NULL},
        {"hand.l", 6, "leftHand"}, {"handslot.l", 7, NULL}, {"upperarm.r", 3, "rightUpperArm"},
        {"lowerarm.r", 9, "rightLowerArm"}, {"wrist.r", 10, NULL}, {"hand.r", 11, "rightHand"},
        {"head", 3, "head"}, {"upperleg.l", 1, "leftUpperLeg"}, {"lowerleg.l", 14, "leftLowerLeg"},
        {"foot.l", 15, "leftFoot"}, {"toes.l", 16, "leftToes"}, {"upperleg.r", 1, "rightUpperLeg"},
        {"lowerleg.r", 18, "rightLowerLeg"}, {"foot.r", 19, "rightFoot"});
}

TEST(roles, of_an_animal_are_none)
{
    static const char text[] = "HIERARCHY ROOT Hips { OFFSET 0 0 0 JOINT Head { OFFSET 0 1 0 } "
                               "JOINT LeftFrontFoot { OFFSET 1 0 0 } JOINT Tail { OFFSET 0 0 1 } } "
                               "MOTION Frames: 1 Frame Time: 1";
    Reading reading = reading_open();

    CHECK_INT(reading_bytes(&reading, text, sizeof text - 1), ==, STATUS_OK);
    CHECK(reading.rig && !reading.rig->is_humanoid);
    reading_close(&reading);
}

TEST(roles, of_the_robot_are_all_that_vrm_requires)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "skel/robot_expressive.glb"), ==, STATUS_OK);
    for (int i = 0; reading.rig && i < ROLE_COUNT; i++)
        CHECK(reading.rig->role[i] >= 0 || !humanoid_role_is_required((HumanoidRole)i));
    reading_close(&reading);
}
