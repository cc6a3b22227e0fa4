#include "math/scalar.h"
#include "samples/avatar_motion.h"

static const double DEGREE = 0.017453292519943295;

/* Places at rest that the legs are solved with; the same numbers as in the rig. */
static const Vec3 HEEL = {0.075f, 0.0f, -0.058f};

static Quat turn_about(Vec3 axis, double angle)
{
    double sine, cosine;

    scalar_sin_cos(0.5 * angle, &sine, &cosine);
    return (Quat){axis.x * (float)sine, axis.y * (float)sine, axis.z * (float)sine, (float)cosine};
}

static Quat turn_x(double angle)
{
    return turn_about(vec3(1.0f, 0.0f, 0.0f), angle);
}

static Quat turn_y(double angle)
{
    return turn_about(vec3(0.0f, 1.0f, 0.0f), angle);
}

static Quat turn_z(double angle)
{
    return turn_about(vec3(0.0f, 0.0f, 1.0f), angle);
}

/* Yaw, then pitch, then roll in the turned axes, of a share of the angles. */
static Quat turn_by(Vec3 degrees, double share)
{
    Quat yaw = turn_y(share * DEGREE * (double)degrees.y);
    Quat pitch = turn_x(share * DEGREE * (double)degrees.x);

    return quat_mul(yaw, quat_mul(pitch, turn_z(-share * DEGREE * (double)degrees.z)));
}

/* Half of the triangle's angle at `a` between sides a and c, opposite b; flat where it cannot be.
 */
static double corner(double a, double b, double c)
{
    return scalar_acos((a * a + c * c - b * b) / (2.0 * a * c));
}

static double length_of(Vec3 v)
{
    return sqrt((double)v.x * (double)v.x + (double)v.y * (double)v.y + (double)v.z * (double)v.z);
}

/* How far a link of the leg leans forwards from straight down. */
static double lean(Vec3 link)
{
    return scalar_atan2((double)link.z, -(double)link.y);
}

/* Two-bone inverse kinematics: turn thigh and shin so that the ankle comes to `ankle` (from the hip
 * joint, in the hips' axes), knee forwards. Out of reach, the leg is straight. */
static void solve_leg(const AvatarRig *rig, Vec3 ankle, int side, AvatarPose *out)
{
    const AvatarNode *node = rig->node;
    Vec3 thigh =
        vec3_sub(node[JOINT_LOWER_LEG + side].position, node[JOINT_UPPER_LEG + side].position);
    Vec3 shin = vec3_sub(node[JOINT_FOOT + side].position, node[JOINT_LOWER_LEG + side].position);
    double a = length_of(thigh), b = length_of(shin), reach = length_of(ankle);
    double longest = 0.9995 * (a + b), x = (double)ankle.x, y = (double)ankle.y;

    reach = reach > longest ? longest : reach;
    double along = scalar_atan2((double)ankle.z, sqrt(x * x + y * y));
    double thigh_lean = along + corner(a, b, reach) - lean(thigh);
    double shin_lean = along - corner(b, a, reach) - lean(shin);
    Quat aside = turn_z(scalar_atan2(x, -y));
    out->rotation[JOINT_UPPER_LEG + side] = quat_mul(aside, turn_x(-thigh_lean));
    out->rotation[JOINT_LOWER_LEG + side] = turn_x(thigh_lean - shin_lean);
}

static void pose_leg(const AvatarRig *rig, const Stance *stance, int side, AvatarPose *out)
{
    const AvatarNode *node = rig->node;
    const Foot *foot = &stance->foot[side];
    Quat hips = out->rotation[JOINT_HIPS];
    double outwards = DEGREE * (double)(side == SIDE_LEFT ? foot->yaw : -foot->yaw);
    Quat aim = quat_mul(turn_y(outwards), turn_x(DEGREE * (double)foot->pitch));
    Vec3 joint = vec3_sub(node[JOINT_UPPER_LEG + side].position, node[JOINT_HIPS].position);
    Vec3 ankle = foot->ankle; // from the hips, in their axes

    if (stance->is_free) {
        aim = quat_mul(hips, aim);
    } else {
        ankle = vec3_sub(vec3_add(node[JOINT_FOOT + side].position, ankle), out->hips);
        ankle = quat_rotate(quat_conjugate(hips), ankle);
    }
    solve_leg(rig, vec3_sub(ankle, joint), side, out);
    Quat shin = quat_mul(hips, quat_mul(out->rotation[JOINT_UPPER_LEG + side],
                                        out->rotation[JOINT_LOWER_LEG + side]));
    out->rotation[JOINT_FOOT + side] = quat_normalize(quat_mul(quat_conjugate(shin), aim));
    out->rotation[JOINT_TOES + side] = turn_x(-DEGREE * (double)foot->toes);
}

static void pose_arm(const Stance *stance, int side, AvatarPose *out)
{
    const Arm *arm = &stance->arm[side];
    double sign = side == SIDE_LEFT ? 1.0 : -1.0;
    // the collar bone takes a small part of lowering and raising
    double down = DEGREE * (double)arm->down, collar = 0.1 * down - DEGREE * (double)stance->shrug;

    out->rotation[JOINT_SHOULDER + side] = turn_z(-sign * collar);
    out->rotation[JOINT_UPPER_ARM + side] =
        quat_mul(turn_x(-DEGREE * (double)arm->swing), turn_z(-sign * (down - collar)));
    out->rotation[JOINT_LOWER_ARM + side] = turn_y(-sign * DEGREE * (double)arm->elbow);
    out->rotation[JOINT_HAND + side] = turn_z(-sign * DEGREE * (double)arm->wrist);
    for (int finger = 0; finger < 4; finger++) {
        int joint = JOINT_INDEX_PROXIMAL + 4 * finger + side;
        out->rotation[joint] = turn_z(-sign * DEGREE * (12.0 + 4.0 * finger));
        out->rotation[joint + 2] = turn_z(-sign * DEGREE * (20.0 + 3.0 * finger));
    }
}

void avatar_pose(const AvatarRig *rig, const Stance *stance, AvatarPose *out)
{
    for (int i = 0; i < JOINT_HUMANOID_COUNT; i++)
        out->rotation[i] = quat_identity();
    out->hips = vec3_add(rig->node[JOINT_HIPS].position, stance->hips);
    out->rotation[JOINT_HIPS] = turn_by(stance->turn, 1.0);
    out->rotation[JOINT_SPINE] = turn_by(stance->spine, 0.35);
    out->rotation[JOINT_CHEST] = turn_by(stance->spine, 0.35);
    out->rotation[JOINT_UPPER_CHEST] = turn_by(stance->spine, 0.3);
    out->rotation[JOINT_NECK] = turn_by(stance->head, 0.4);
    out->rotation[JOINT_HEAD] = turn_by(stance->head, 0.6);
    for (int side = 0; side < 2; side++) {
        pose_arm(stance, side, out);
        pose_leg(rig, stance, side, out);
    }
}

Vec3 avatar_ankle(float pitch)
{
    const Vec3 ankle = {0.075f, 0.085f, -0.018f}, ball = {0.075f, 0.022f, 0.095f};
    Vec3 pivot = pitch > 0.0f ? ball : HEEL;
    Vec3 turned = quat_rotate(turn_x(DEGREE * (double)pitch), vec3_sub(ankle, pivot));

    return vec3_sub(vec3_add(pivot, turned), ankle);
}

/* The slope at key i: none at ends and turning points, else the harmonic mean of both sides'
 * (Fritsch and Butland, 1984), which never overshoots. */
static float curve_slope(const CurveKey *key, int count, int i)
{
    if (i == 0 || i + 1 == count)
        return 0.0f;
    float before = (key[i].value - key[i - 1].value) / (key[i].time - key[i - 1].time);
    float after = (key[i + 1].value - key[i].value) / (key[i + 1].time - key[i].time);
    return before * after > 0.0f ? 2.0f * before * after / (before + after) : 0.0f;
}

float avatar_curve(const CurveKey *key, int count, double time)
{
    int i = 0;
    float x = (float)time;

    while (i + 2 < count && x > key[i + 1].time)
        i++;
    float step = key[i + 1].time - key[i].time, t = (x - key[i].time) / step;
    t = t < 0.0f ? 0.0f : t > 1.0f ? 1.0f : t;
    float a = key[i].value, b = key[i + 1].value;
    float p = curve_slope(key, count, i) * step, q = curve_slope(key, count, i + 1) * step;
    float c = 3.0f * (b - a) - 2.0f * p - q, d = 2.0f * (a - b) + p + q;
    return a + t * (p + t * (c + t * d));
}

Stance avatar_standing(void)
{
    Stance out = {.hips = {0.0f, -0.006f, 0.0f}};

    for (int side = 0; side < 2; side++) {
        out.arm[side] = (Arm){.down = 74.0f, .swing = 2.0f, .elbow = 14.0f, .wrist = 4.0f};
        out.foot[side].yaw = 6.0f;
    }
    return out;
}
