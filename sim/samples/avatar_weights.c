#include "samples/avatar_rig.h"

#include <math.h>

float avatar_ramp(float low, float high, float x)
{
    float t = (x - low) / (high - low);

    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    return t * t * (3.0f - 2.0f * t);
}

/* Where along an axis a joint takes over from the one before. */
typedef struct Border {
    int joint;
    float at, half; /* middle and half width of the ramp, metres */
} Border;

/* The shares of joints in a row along one axis; borders' ramps do not overlap. */
static void add_row(MeshWeights *out, int first, const Border *border, int count, float x,
                    float share)
{
    int joint = first;
    float left = share;

    for (int i = 0; i < count; i++) {
        float next =
            share * avatar_ramp(border[i].at - border[i].half, border[i].at + border[i].half, x);
        weights_add(out, joint, left - next);
        joint = border[i].joint;
        left = next;
    }
    weights_add(out, joint, left);
}

static void add_torso(MeshWeights *out, Vec3 p, float share)
{
    static const Border border[] = {{JOINT_SPINE, 0.975f, 0.045f},
                                    {JOINT_CHEST, 1.075f, 0.045f},
                                    {JOINT_UPPER_CHEST, 1.17f, 0.04f},
                                    {JOINT_NECK, 1.32f, 0.022f},
                                    {JOINT_HEAD, 1.388f, 0.022f}};
    // the head's border climbs towards the nape, to leave the whole jaw to the head
    float height = p.y > 1.3f ? p.y + 0.5f * p.z * avatar_ramp(1.33f, 1.37f, p.y) : p.y;

    add_row(out, JOINT_HIPS, border, 5, height, share);
}

/* How much of a place belongs to the arm on its side: the sleeve but not the flank below it. */
static float arm_share(Vec3 p, float x)
{
    float flank = avatar_ramp(1.15f, 1.235f, p.y);

    flank += (1.0f - flank) * avatar_ramp(0.15f, 0.2f, x);
    return flank * avatar_ramp(0.085f, 0.19f, x);
}

/* The collar bone's part of the torso. */
static float shoulder_share(Vec3 p, float x)
{
    return avatar_ramp(1.19f, 1.27f, p.y) * avatar_ramp(0.03f, 0.1f, x) *
           avatar_ramp(1.36f, 1.32f, p.y);
}

MeshWeights avatar_torso_weights(Vec3 p)
{
    MeshWeights out = {0};
    int side = p.x < 0.0f ? SIDE_RIGHT : SIDE_LEFT;
    float x = p.x < 0.0f ? -p.x : p.x;
    float arm = arm_share(p, x);
    float shoulder = (1.0f - arm) * shoulder_share(p, x);

    weights_add(&out, JOINT_UPPER_ARM + side, arm);
    weights_add(&out, JOINT_SHOULDER + side, shoulder);
    add_torso(&out, p, 1.0f - arm - shoulder);
    weights_finish(&out);
    return out;
}

/* A finger: its joints and where it lies, as in the rig and the arm's shape. */
static const struct Finger {
    int proximal, intermediate;
    float z, spread;     /* of its middle at the knuckle, and how much further out a metre on */
    float first, second; /* x of its joints */
} finger[4] = {
    {JOINT_INDEX_PROXIMAL, JOINT_INDEX_INTERMEDIATE, 0.0195f, 0.104f, 0.674f, 0.704f},
    {JOINT_MIDDLE_PROXIMAL, JOINT_MIDDLE_INTERMEDIATE, -0.002f, 0.013f, 0.678f, 0.71f},
    {JOINT_RING_PROXIMAL, JOINT_RING_INTERMEDIATE, -0.0225f, -0.055f, 0.674f, 0.704f},
    {JOINT_LITTLE_PROXIMAL, JOINT_LITTLE_INTERMEDIATE, -0.0415f, -0.167f, 0.668f, 0.69f}};

static float finger_distance(int i, float x, float z)
{
    return fabsf(z - finger[i].z - finger[i].spread * (x - 0.666f));
}

/* Shares of the hand, its fingers and its thumb; x is the distance from the middle plane. */
static void add_hand(MeshWeights *out, Vec3 p, float x, int side, float share)
{
    int best = 0;

    // along and across the thumb, which leaves the hand towards the front
    float along = 0.73f * (x - 0.612f) + 0.68f * (p.z - 0.014f);
    float across = 0.68f * (x - 0.612f) - 0.73f * (p.z - 0.014f);
    float thumb = avatar_ramp(0.006f, -0.004f, across - 0.012f) * avatar_ramp(0.022f, 0.03f, p.z);
    Border thumb_border = {JOINT_THUMB_PROXIMAL + side, 0.035f, 0.008f};
    add_row(out, JOINT_THUMB_METACARPAL + side, &thumb_border, 1, along, share * thumb);

    for (int i = 1; i < 4; i++)
        if (finger_distance(i, x, p.z) < finger_distance(best, x, p.z))
            best = i;
    Border border[2] = {{finger[best].proximal + side, finger[best].first, 0.008f},
                        {finger[best].intermediate + side, finger[best].second, 0.006f}};
    add_row(out, JOINT_HAND + side, border, 2, x, share * (1.0f - thumb));
}

MeshWeights avatar_arm_weights(Vec3 p, int side)
{
    MeshWeights out = {0};
    float x = p.x < 0.0f ? -p.x : p.x;
    float hand = avatar_ramp(0.565f, 0.61f, x);
    Border elbow = {JOINT_LOWER_ARM + side, 0.375f, 0.045f};

    if (x < 0.21f)
        return avatar_torso_weights(p);
    add_row(&out, JOINT_UPPER_ARM + side, &elbow, 1, x, 1.0f - hand);
    if (hand > 0.0f)
        add_hand(&out, p, x, side, hand);
    weights_finish(&out);
    return out;
}

MeshWeights avatar_leg_weights(Vec3 p, int side)
{
    static const Border border[] = {{JOINT_LOWER_LEG, -0.455f, 0.05f}, {JOINT_FOOT, -0.09f, 0.03f}};
    MeshWeights out = {0};
    float leg = avatar_ramp(0.905f, 0.79f, p.y);
    float toes = avatar_ramp(0.075f, 0.115f, p.z) * avatar_ramp(0.12f, 0.08f, p.y);
    Border row[2] = {border[0], border[1]};

    for (int i = 0; i < 2; i++)
        row[i].joint += side;
    weights_add(&out, JOINT_HIPS, 1.0f - leg);
    weights_add(&out, JOINT_TOES + side, toes);
    add_row(&out, JOINT_UPPER_LEG + side, row, 2, -p.y, leg - toes);
    weights_finish(&out);
    return out;
}

MeshWeights avatar_hips_weights(Vec3 p)
{
    MeshWeights out = {0};
    float leg = avatar_ramp(0.905f, 0.79f, p.y);
    float left = avatar_ramp(-0.02f, 0.02f, p.x);

    if (p.y > 0.93f)
        return avatar_torso_weights(p);
    weights_add(&out, JOINT_HIPS, 1.0f - leg);
    weights_add(&out, JOINT_UPPER_LEG + SIDE_LEFT, leg * left);
    weights_add(&out, JOINT_UPPER_LEG + SIDE_RIGHT, leg * (1.0f - left));
    weights_finish(&out);
    return out;
}

static float clamp_unit(float x)
{
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
}

void avatar_chain_weights(const AvatarChain *chain, float u, float share, MeshWeights *out)
{
    int joints = chain->desc.point_count - 1;
    float left = chain->desc.is_hair ? clamp_unit(u) : clamp_unit(u + 0.5f);

    weights_add(out, chain->desc.parent, share * (1.0f - left));
    for (int i = 0; i < joints; i++) {
        float next = i + 1 < joints ? clamp_unit(u - (float)i - 0.5f) : 0.0f;
        weights_add(out, chain->first + i, share * (left - next));
        left = next;
    }
}
