#include "rig/builtin.h"

#include "math/scalar.h"

static const double PI = 3.14159265358979323846;
static const double GRAVITY = 9.81; /* m/s^2 */
static const Vec3 ORIGIN = {0.0f, 0.0f, 0.0f};

Quat quat_about(Vec3 axis, double angle)
{
    double s, c;

    scalar_sin_cos(0.5 * angle, &s, &c);
    return (Quat){(float)(s * (double)axis.x), (float)(s * (double)axis.y),
                  (float)(s * (double)axis.z), (float)c};
}

static double clamp01(double x)
{
    return x < 0.0 ? 0.0 : (x > 1.0 ? 1.0 : x);
}

static double smoothstep(double x)
{
    x = clamp01(x);
    return x * x * (3.0 - 2.0 * x);
}

/* --- finding what is turned --- */

static int first_root(const Rig *rig)
{
    return rig->node_count ? rig->order[0] : -1;
}

/* The node of a role; the root, with a warning, where the character has none. */
static int role_or_root(const MotionDesc *desc, HumanoidRole role)
{
    int node = desc->rig->role[role];

    if (node >= 0)
        return node;
    warnings_add(desc->warnings, "role_missing", "the model has no %s: %s moves its root instead",
                 humanoid_role_name(role), motion_kind_name(desc->spec->kind));
    return first_root(desc->rig);
}

/* Let the motion turn `node` about an axis given in the scene, as the node's parent stands at rest.
 */
static void add_hinge(const MotionDesc *desc, const World *world, int node, Vec3 axis,
                      Motion *motion)
{
    if (node < 0 || motion->hinge_count == MOTION_MAX_HINGES)
        return;
    int parent = desc->rig->node[node].parent;
    if (parent >= 0)
        axis = quat_rotate(quat_conjugate(world[parent].rotation), axis);
    motion->hinge[motion->hinge_count++] =
        (MotionHinge){.node = node, .axis = vec3_normalize_or(axis, vec3(0.0f, 1.0f, 0.0f))};
}

static void find_head(const MotionDesc *desc, const World *world, Motion *motion)
{
    int node = desc->rig->role[ROLE_HEAD];

    if (node < 0 && desc->attachment >= 0) {
        node = desc->attachment;
        warnings_add(desc->warnings, "role_missing",
                     "the model has no head: head_turn turns \"%s\", which carries the first chain",
                     desc->rig->node[node].key);
    }
    if (node < 0)
        node = role_or_root(desc, ROLE_HEAD);
    add_hinge(desc, world, node, vec3(0.0f, 1.0f, 0.0f), motion);
}

static Vec3 between(const World *world, int from, int to)
{
    return dvec3_offset(world[to].origin, world[from].origin);
}

/* A positive angle lifts the forearm towards the world's up. */
static void find_arm(const MotionDesc *desc, const World *world, HumanoidRole upper,
                     HumanoidRole lower, Motion *motion)
{
    const Vec3 up = {0.0f, 1.0f, 0.0f};
    int node = desc->rig->role[lower];
    int above = desc->rig->role[upper];

    if (node < 0 || above < 0) {
        warnings_add(desc->warnings, "role_missing",
                     "the model has no %s: arm_bend does not bend that arm",
                     humanoid_role_name(node < 0 ? lower : upper));
        return;
    }
    Vec3 axis = vec3_cross(between(world, above, node), up);
    add_hinge(desc, world, node, vec3_normalize_or(axis, motion->left), motion);
}

static void find_arms(const MotionDesc *desc, const World *world, Motion *motion)
{
    find_arm(desc, world, ROLE_LEFT_UPPER_ARM, ROLE_LEFT_LOWER_ARM, motion);
    find_arm(desc, world, ROLE_RIGHT_UPPER_ARM, ROLE_RIGHT_LOWER_ARM, motion);
    // the root lies down instead
    if (!motion->hinge_count)
        add_hinge(desc, world, role_or_root(desc, ROLE_LEFT_LOWER_ARM),
                  vec3_cross(motion->left, vec3(0.0f, 1.0f, 0.0f)), motion);
}

/* Thigh, shin and foot of one leg; false where one is missing. */
static bool find_leg(const MotionDesc *desc, const World *world, const HumanoidRole role[3],
                     Motion *motion)
{
    const int *node = desc->rig->role;

    if (node[role[0]] < 0 || node[role[1]] < 0 || node[role[2]] < 0)
        return false;
    for (int i = 0; i < 3; i++)
        add_hinge(desc, world, node[role[i]], motion->left, motion);
    motion->legs = (MotionLegs){
        .thigh = (double)vec3_length(between(world, node[role[0]], node[role[1]])),
        .shin = (double)vec3_length(between(world, node[role[1]], node[role[2]])),
    };
    return true;
}

static void find_hips_and_legs(const MotionDesc *desc, const World *world, Motion *motion)
{
    static const HumanoidRole legs[2][3] = {
        {ROLE_LEFT_UPPER_LEG, ROLE_LEFT_LOWER_LEG, ROLE_LEFT_FOOT},
        {ROLE_RIGHT_UPPER_LEG, ROLE_RIGHT_LOWER_LEG, ROLE_RIGHT_FOOT}};
    const Rig *rig = desc->rig;

    if (rig->role[ROLE_HIPS] >= 0)
        motion->pivot = dvec3_float(world[rig->role[ROLE_HIPS]].origin);
    else {
        motion->pivot = vec3_scale(vec3_add(rig->box_min, rig->box_max), 0.5f);
        warnings_add(desc->warnings, "role_missing",
                     "the model has no hips: back_flip turns it about the middle of its box");
    }
    if (!find_leg(desc, world, legs[0], motion) || !find_leg(desc, world, legs[1], motion)) {
        motion->hinge_count = 0;
        motion->legs = (MotionLegs){0.0, 0.0};
        warnings_add(desc->warnings, "role_missing",
                     "the model lacks a leg's bones: back_flip does not bend its legs");
    }
}

void builtin_find_hinges(const MotionDesc *desc, const World *world, Motion *motion)
{
    motion->left = vec3_normalize_or(vec3_cross(vec3(0.0f, 1.0f, 0.0f), desc->rig->forward),
                                     vec3(1.0f, 0.0f, 0.0f));
    switch (motion->kind) {
    case MOTION_HEAD_TURN:
        find_head(desc, world, motion);
        break;
    case MOTION_ARM_BEND:
        find_arms(desc, world, motion);
        break;
    case MOTION_BACK_FLIP:
        find_hips_and_legs(desc, world, motion);
        break;
    default:
        break;
    }
}

/* --- formulas --- */

/* yaw = 35 degrees w sin(pi t), side step 0.05 m w sin(pi t) to the character's left,
 * w = smoothstep(t / 0.25 s), for 4 s; then all zero at once. */
static SceneMove head_turn(const Motion *motion, double t, double *out_angle)
{
    double wave = t > 0.0 && t < 4.0 ? smoothstep(t / 0.25) * scalar_sin(PI * t) : 0.0;

    for (int i = 0; i < motion->hinge_count; i++)
        out_angle[i] = 35.0 * PI / 180.0 * wave;
    return (SceneMove){quat_identity(), ORIGIN, vec3_scale(motion->left, (float)(0.05 * wave))};
}

/* The scene turned by YXZ(yaw, pitch) about the origin. */
static SceneMove turn(double t)
{
    Quat yaw = quat_about(vec3(0.0f, 1.0f, 0.0f), 0.8 * scalar_sin(2.0 * PI * t));
    Quat pitch = quat_about(vec3(1.0f, 0.0f, 0.0f), 0.25 * scalar_sin(PI * t));

    return (SceneMove){quat_mul(yaw, pitch), ORIGIN, ORIGIN};
}

static SceneMove shift(double x, double y)
{
    return (SceneMove){quat_identity(), ORIGIN, vec3((float)x, (float)y, 0.0f)};
}

static double jump_height(double t)
{
    double tau = t > 0.5 ? t - 0.5 : 0.0;
    double height = 3.0 * tau - 0.5 * GRAVITY * tau * tau;

    return height > 0.0 ? height : 0.0;
}

static double drop_height(double t)
{
    double height = t > 0.0 ? -0.5 * GRAVITY * t * t : 0.0;

    return height > -0.5 ? height : -0.5;
}

/* 0 to 120 degrees in a second, held a second, back in a second, then rest. */
static void arm_bend(const Motion *motion, double t, double *out_angle)
{
    double bent = smoothstep(t) - smoothstep(t - 2.0);

    for (int i = 0; i < motion->hinge_count; i++)
        out_angle[i] = 120.0 * PI / 180.0 * bent;
}

/* Hermite's cubic from (y0, v0) to (y1, v1) in `length` seconds. */
static double hermite(double y0, double v0, double y1, double v1, double t, double length)
{
    double u = t / length, u2 = u * u, u3 = u2 * u;

    return (2.0 * u3 - 3.0 * u2 + 1.0) * y0 + (u3 - 2.0 * u2 + u) * length * v0 +
           (3.0 * u2 - 2.0 * u3) * y1 + (u3 - u2) * length * v1;
}

/* The back flip's times: crouching, extending, in the air, landing, rising; still before and after.
 */
static const double CROUCH = 0.4, EXTEND = 0.9, TAKE_OFF = 1.1, LAND = 1.9, RISE = 2.2, STAND = 2.9;

/* Height of the hips over their rest; `depth` is how far they sink. */
static double flip_height(double t, double depth)
{
    double air = LAND - TAKE_OFF;
    double speed = 0.5 * GRAVITY * air; /* leaves the ground and meets it with this */

    if (t <= CROUCH || t >= STAND)
        return 0.0;
    if (t < EXTEND)
        return -depth * smoothstep((t - CROUCH) / (EXTEND - CROUCH));
    if (t < TAKE_OFF)
        return hermite(-depth, 0.0, 0.0, speed, t - EXTEND, TAKE_OFF - EXTEND);
    if (t < LAND)
        return (t - TAKE_OFF) * (speed - 0.5 * GRAVITY * (t - TAKE_OFF));
    if (t < RISE)
        return hermite(0.0, -speed, -depth, 0.0, t - LAND, RISE - LAND);
    return -depth * (1.0 - smoothstep((t - RISE) / (STAND - RISE)));
}

/* Bend both legs so that the foot is `drop` nearer to the hip, on the line it hangs down at rest
 * (law of cosines). Hinges turn about the character's left: positive takes a hanging leg back. */
static void bend_legs(const Motion *motion, double drop, double *out_angle)
{
    double a = motion->legs.thigh, b = motion->legs.shin;
    double reach = a + b - drop;

    if (!(a > 0.0) || !(b > 0.0) || !(drop > 0.0))
        return;
    double thigh = scalar_acos((a * a + reach * reach - b * b) / (2.0 * a * reach));
    double shin = scalar_acos((b * b + reach * reach - a * a) / (2.0 * b * reach));
    for (int i = 0; i < motion->hinge_count; i += 3) {
        out_angle[i] = -thigh;
        out_angle[i + 1] = thigh + shin;
        out_angle[i + 2] = -shin;
    }
}

/* A crouch, a take-off, one full turn backwards about the hips in the air with the legs drawn up,
 * a landing that sinks in, and stillness. */
static SceneMove back_flip(const Motion *motion, double t, double *out_angle)
{
    double leg = motion->legs.thigh + motion->legs.shin;
    double depth = 0.3 * leg;
    double height = flip_height(t, depth);
    double flown = clamp01((t - TAKE_OFF) / (LAND - TAKE_OFF));
    double rise = scalar_sin(PI * flown);
    double tuck = 0.35 * leg * rise * rise;

    bend_legs(motion, height < 0.0 ? -height : tuck, out_angle);
    Quat rotation = flown > 0.0 && flown < 1.0
                        ? quat_about(motion->left, -2.0 * PI * smoothstep(flown))
                        : quat_identity();
    return (SceneMove){rotation, motion->pivot, vec3(0.0f, (float)height, 0.0f)};
}

SceneMove builtin_evaluate(const Motion *motion, double t, double *out_angle)
{
    for (int i = 0; i < motion->hinge_count; i++)
        out_angle[i] = 0.0;
    switch (motion->kind) {
    case MOTION_HEAD_TURN:
        return head_turn(motion, t, out_angle);
    case MOTION_TURN:
        return turn(t);
    case MOTION_SWING:
        return shift(0.15 * clamp01((t - 0.5) / 0.25), 0.0);
    case MOTION_JUMP:
        return shift(0.0, jump_height(t));
    case MOTION_DROP:
        return shift(0.0, drop_height(t));
    case MOTION_ARM_BEND:
        arm_bend(motion, t, out_angle);
        return shift(0.0, 0.0);
    case MOTION_BACK_FLIP:
        return back_flip(motion, t, out_angle);
    default:
        return shift(0.0, 0.0);
    }
}
