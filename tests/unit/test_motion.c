#include "rig/motion.h"
#include "support/check.h"

#include <math.h>

enum {
    HIPS,
    HEAD,
    LEFT_UPPER_ARM,
    LEFT_LOWER_ARM,
    LEFT_UPPER_LEG,
    LEFT_LOWER_LEG,
    LEFT_FOOT,
    RIGHT_UPPER_LEG,
    RIGHT_LOWER_LEG,
    RIGHT_FOOT,
    ROOT,
    BODY_NODES
};

/* A figure of bones that faces +Z, its left +X. */
typedef struct Body {
    Arena arena;
    RigNode node[BODY_NODES];
    Rig rig;
    Warnings warnings;
    Pose pose;
} Body;

static void open_body(Body *body, const Vec3 *forward)
{
    static const struct {
        int parent;
        HumanoidRole role;
        Vec3 place;
    } bones[BODY_NODES] = {
        [ROOT] = {-1, ROLE_COUNT, {0.0f, 0.0f, 0.0f}},
        [HIPS] = {ROOT, ROLE_HIPS, {0.0f, 1.0f, 0.0f}},
        [HEAD] = {HIPS, ROLE_HEAD, {0.0f, 0.5f, 0.0f}},
        [LEFT_UPPER_ARM] = {HIPS, ROLE_LEFT_UPPER_ARM, {0.2f, 0.4f, 0.0f}},
        [LEFT_LOWER_ARM] = {LEFT_UPPER_ARM, ROLE_LEFT_LOWER_ARM, {0.25f, 0.0f, 0.0f}},
        [LEFT_UPPER_LEG] = {HIPS, ROLE_LEFT_UPPER_LEG, {0.1f, 0.0f, 0.0f}},
        [LEFT_LOWER_LEG] = {LEFT_UPPER_LEG, ROLE_LEFT_LOWER_LEG, {0.0f, -0.5f, 0.0f}},
        [LEFT_FOOT] = {LEFT_LOWER_LEG, ROLE_LEFT_FOOT, {0.0f, -0.4f, 0.0f}},
        [RIGHT_UPPER_LEG] = {HIPS, ROLE_RIGHT_UPPER_LEG, {-0.1f, 0.0f, 0.0f}},
        [RIGHT_LOWER_LEG] = {RIGHT_UPPER_LEG, ROLE_RIGHT_LOWER_LEG, {0.0f, -0.5f, 0.0f}},
        [RIGHT_FOOT] = {RIGHT_LOWER_LEG, ROLE_RIGHT_FOOT, {0.0f, -0.4f, 0.0f}},
    };
    static const char *const name[BODY_NODES] = {"hips", "head", "lua", "lla", "lul", "lll",
                                                 "lf",   "rul",  "rll", "rf",  "root"};
    Error err = {0};
    bool is_turned = forward && forward->z < 0.0f;

    *body = (Body){.arena = test_arena(1 << 20)};
    body->rig =
        (Rig){.format = "", .node_count = BODY_NODES, .node = body->node, .is_humanoid = true};
    for (int i = 0; i < ROLE_COUNT; i++)
        body->rig.role[i] = -1;
    for (int i = 0; i < BODY_NODES; i++) {
        body->node[i] = (RigNode){.name = name[i],
                                  .key = name[i],
                                  .parent = bones[i].parent,
                                  .mesh = -1,
                                  .skin = -1,
                                  .rest = transform_identity()};
        Vec3 place = bones[i].place;
        body->node[i].rest.translation = is_turned ? vec3(-place.x, place.y, -place.z) : place;
        if (bones[i].role < ROLE_COUNT)
            body->rig.role[bones[i].role] = i;
    }
    if (forward)
        body->rig.forward = *forward;
    CHECK_INT(rig_finish(&body->rig, &body->arena, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(&body->rig, &body->arena, &body->pose, &err), ==, STATUS_OK);
    body->warnings = warnings_open(&body->arena, 8);
}

static void close_body(Body *body)
{
    arena_destroy(&body->arena);
}

static Motion build(Body *body, const MotionSpec *spec, TimeSpec time)
{
    const MotionDesc desc = {.rig = &body->rig,
                             .spec = spec,
                             .time = &time,
                             .attachment = -1,
                             .warnings = &body->warnings};
    Motion motion = {0};
    Error err = {0};

    CHECK_INT(motion_build(&desc, &body->arena, &motion, &err), ==, STATUS_OK);
    return motion;
}

static Motion builtin(Body *body, MotionKind kind)
{
    MotionSpec spec = {.kind = kind};

    return build(body, &spec, (TimeSpec){.end = motion_kind_duration(kind)});
}

static void pose_at(Body *body, const Motion *motion, double time)
{
    motion_pose(motion, motion_moment(motion, time), &body->pose);
}

static void check_place(Body *body, int node, double x, double y, double z, double tolerance)
{
    CHECK_NEAR(body->pose.world[node].origin.x, x, tolerance);
    CHECK_NEAR(body->pose.world[node].origin.y, y, tolerance);
    CHECK_NEAR(body->pose.world[node].origin.z, z, tolerance);
}

/* --- built-in motions --- */

TEST(motion, head_turn_turns_the_head_35_degrees_and_steps_to_the_left)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_HEAD_TURN);

    // at half a second: w = 1, sin(pi / 2) = 1
    pose_at(&body, &motion, 0.5);
    check_place(&body, HIPS, 0.05, 1.0, 0.0, 1e-7);
    CHECK_NEAR(body.pose.local[HEAD].rotation.y, sin(35.0 / 360.0 * 3.14159265358979), 1e-7);
    // at a quarter second the wave is sin(pi / 4); before, the ramp: w(0.5) = 0.5 at 0.125 s
    pose_at(&body, &motion, 0.125);
    check_place(&body, ROOT, 0.05 * 0.5 * sin(0.125 * 3.14159265358979), 0.0, 0.0, 1e-7);
    // from 4 s on all is exactly at rest
    pose_at(&body, &motion, 9.0);
    check_place(&body, HEAD, 0.0, 1.5, 0.0, 0.0);
    CHECK_NEAR(body.pose.local[HEAD].rotation.y, 0.0, 0.0);
    CHECK_INT(body.warnings.count, ==, 0);
    close_body(&body);
}

TEST(motion, head_turn_steps_to_the_characters_own_left)
{
    Body body;
    const Vec3 backward = {0.0f, 0.0f, -1.0f};
    open_body(&body, &backward);
    Motion motion = builtin(&body, MOTION_HEAD_TURN);

    pose_at(&body, &motion, 0.5);
    check_place(&body, HIPS, -0.05, 1.0, 0.0, 1e-7);
    // and the turn about the world's up is the same to the character
    CHECK_NEAR(body.pose.local[HEAD].rotation.y, sin(35.0 / 360.0 * 3.14159265358979), 1e-7);
    close_body(&body);
}

TEST(motion, head_turn_without_a_head_turns_what_carries_the_first_chain)
{
    Body body;
    open_body(&body, NULL);
    MotionSpec spec = {.kind = MOTION_HEAD_TURN};
    TimeSpec time = {.end = 4.0};
    MotionDesc desc = {.rig = &body.rig,
                       .spec = &spec,
                       .time = &time,
                       .attachment = LEFT_LOWER_ARM,
                       .warnings = &body.warnings};
    Error err = {0};
    Motion motion;

    body.rig.role[ROLE_HEAD] = -1;
    CHECK_INT(motion_build(&desc, &body.arena, &motion, &err), ==, STATUS_OK);
    pose_at(&body, &motion, 0.5);
    CHECK(body.pose.local[LEFT_LOWER_ARM].rotation.y > 0.3f);
    CHECK(motion.is_moved[LEFT_LOWER_ARM] && motion.is_moved[ROOT] && !motion.is_moved[HEAD]);
    CHECK_EQUAL_TEXT(body.warnings.warning[0].detail,
                     "the model has no head: head_turn turns \"lla\", which carries the first "
                     "chain");
    close_body(&body);
}

TEST(motion, turn_moves_the_whole_scene_by_yaw_and_pitch)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_TURN);

    // at 1/4 s: yaw 0.8, pitch 0.25 sin(pi / 4); the head is 1.5 m up the y axis
    pose_at(&body, &motion, 0.25);
    double pitch = 0.25 * sin(3.14159265358979 / 4.0);
    check_place(&body, HEAD, 1.5 * sin(pitch) * sin(0.8), 1.5 * cos(pitch),
                1.5 * sin(pitch) * cos(0.8), 1e-6);
    close_body(&body);
}

TEST(motion, swing_jump_and_drop_move_the_root_as_written)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_SWING);
    pose_at(&body, &motion, 0.625);
    check_place(&body, ROOT, 0.075, 0.0, 0.0, 1e-7);
    pose_at(&body, &motion, 1.5);
    check_place(&body, ROOT, 0.15, 0.0, 0.0, 1e-7);

    motion = builtin(&body, MOTION_JUMP);
    pose_at(&body, &motion, 0.4);
    check_place(&body, ROOT, 0.0, 0.0, 0.0, 0.0);
    pose_at(&body, &motion, 0.7); // tau = 0.2
    check_place(&body, ROOT, 0.0, 0.6 - 4.905 * 0.04, 0.0, 1e-7);
    pose_at(&body, &motion, 2.0);
    check_place(&body, ROOT, 0.0, 0.0, 0.0, 0.0);

    motion = builtin(&body, MOTION_DROP);
    pose_at(&body, &motion, 0.2);
    check_place(&body, ROOT, 0.0, -4.905 * 0.04, 0.0, 1e-7);
    pose_at(&body, &motion, 1.0);
    check_place(&body, ROOT, 0.0, -0.5, 0.0, 0.0);
    close_body(&body);
}

TEST(motion, arm_bend_lifts_the_forearm_and_warns_of_the_arm_that_is_not_there)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_ARM_BEND);
    pose_at(&body, &motion, 1.5);
    // 120 degrees about +z: the forearm, along +x at rest, points up and back
    Vec3 along = quat_rotate(body.pose.world[LEFT_LOWER_ARM].rotation, vec3(1.0f, 0.0f, 0.0f));
    CHECK_NEAR(along.x, -0.5, 1e-6);
    CHECK_NEAR(along.y, 0.8660254, 1e-6);
    pose_at(&body, &motion, 0.5);
    along = quat_rotate(body.pose.world[LEFT_LOWER_ARM].rotation, vec3(1.0f, 0.0f, 0.0f));
    CHECK_NEAR(along.x, 0.5, 1e-6); // smoothstep(1/2): 60 degrees
    pose_at(&body, &motion, 3.5);
    along = quat_rotate(body.pose.world[LEFT_LOWER_ARM].rotation, vec3(1.0f, 0.0f, 0.0f));
    CHECK_NEAR(along.x, 1.0, 0.0);
    CHECK_INT(body.warnings.count, ==, 1);
    CHECK_EQUAL_TEXT(body.warnings.warning[0].detail,
                     "the model has no rightLowerArm: arm_bend does not bend that arm");
    close_body(&body);
}

TEST(motion, back_flip_keeps_its_feet_on_the_ground_or_flies_freely)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_BACK_FLIP);
    double lowest = 1e9, highest = 0.0, foot_lowest = 1e9;
    bool was_upside_down = false;

    for (double t = 0.0; t <= 6.0; t += 0.01) {
        pose_at(&body, &motion, t);
        double hips = body.pose.world[HIPS].origin.y;
        double foot = body.pose.world[LEFT_FOOT].origin.y;

        lowest = hips < lowest ? hips : lowest;
        highest = hips > highest ? hips : highest;
        foot_lowest = foot < foot_lowest ? foot : foot_lowest;
        was_upside_down |= body.pose.world[HEAD].origin.y < hips - 0.45;
        // on the ground, or rising to and falling from the air
        if (t < 1.1 || t > 1.9) {
            CHECK_NEAR(foot, 0.1, 1e-5);
            CHECK_NEAR(body.pose.world[LEFT_FOOT].origin.z, 0.0, 1e-5);
            // the foot stays level
            CHECK_NEAR(fabs((double)body.pose.world[LEFT_FOOT].rotation.w), 1.0, 1e-5);
        }
    }
    CHECK(was_upside_down);
    CHECK_NEAR(lowest, 1.0 - 0.27, 0.02);
    CHECK_NEAR(highest, 1.0 + 9.81 * 0.8 * 0.8 / 8.0, 1e-3); // g T^2 / 8
    CHECK(foot_lowest > 0.0);
    // a quarter through the air it leans backwards: the head behind the hips
    pose_at(&body, &motion, 1.1 + 0.8 * 0.3265);
    CHECK(body.pose.world[HEAD].origin.z < -0.4);
    // still at the end
    pose_at(&body, &motion, 2.95);
    check_place(&body, HEAD, 0.0, 1.5, 0.0, 1e-6);
    close_body(&body);
}

TEST(motion, still_is_the_bind_pose)
{
    Body body;
    open_body(&body, NULL);
    Motion motion = builtin(&body, MOTION_STILL);

    pose_at(&body, &motion, 1.0);
    check_place(&body, LEFT_LOWER_ARM, 0.45, 1.4, 0.0, 1e-6);
    for (int i = 0; i < BODY_NODES; i++)
        CHECK(!motion.is_moved[i]);
    close_body(&body);
}

/* --- clips: before, after, around --- */

static const double clip_time[3] = {0.0, 1.0, 2.0};
static const float clip_place[9] = {0, 1, 0, 1, 1, 2, 2, 1.2f, 4};

static MotionSpec with_clip(Body *body, Clip *clip, ClipChannel *channel)
{
    *channel = (ClipChannel){.node = HIPS,
                             .path = CLIP_TRANSLATION,
                             .key_count = 3,
                             .width = 3,
                             .time = clip_time,
                             .value = clip_place};
    *clip = (Clip){.key = "walk", .duration = 2.0, .channel_count = 1, .channel = channel};
    body->rig.clip = clip;
    body->rig.clip_count = 1;
    return (MotionSpec){.kind = MOTION_CLIP, .source = &body->rig};
}

TEST(motion, warm_up_goes_from_the_bind_pose_to_the_first_and_settling_holds_the_last)
{
    Body body;
    Clip clip;
    ClipChannel channel;
    open_body(&body, NULL);
    MotionSpec spec = with_clip(&body, &clip, &channel);
    Motion motion = build(&body, &spec, (TimeSpec){.start = 0.5, .end = 1.5, .warm_up = 0.5});

    pose_at(&body, &motion, -0.5);
    check_place(&body, HIPS, 0.0, 1.0, 0.0, 0.0);
    pose_at(&body, &motion, -0.25); // half of (0.5, 1, 1)
    check_place(&body, HIPS, 0.25, 1.0, 0.5, 1e-7);
    pose_at(&body, &motion, 0.0);
    check_place(&body, HIPS, 0.5, 1.0, 1.0, 1e-7);
    pose_at(&body, &motion, 1.0);
    check_place(&body, HIPS, 1.5, 1.1, 3.0, 1e-6);
    pose_at(&body, &motion, 7.0);
    check_place(&body, HIPS, 1.5, 1.1, 3.0, 1e-6);
    close_body(&body);
}

TEST(motion, a_loop_has_a_cycle_before_frame_0)
{
    Body body;
    Clip clip;
    ClipChannel channel;
    open_body(&body, NULL);
    MotionSpec spec = with_clip(&body, &clip, &channel);
    Motion motion = build(&body, &spec, (TimeSpec){.end = 2.0, .warm_up = 0.5, .is_loop = true});

    pose_at(&body, &motion, -1.0);
    check_place(&body, HIPS, 1.0, 1.0, 2.0, 1e-7);
    pose_at(&body, &motion, -2.0);
    check_place(&body, HIPS, 0.0, 1.0, 0.0, 0.0);
    CHECK_NEAR(motion_moment(&motion, -2.25).weight, 0.5, 1e-12);
    pose_at(&body, &motion, 0.0);
    check_place(&body, HIPS, 0.0, 1.0, 0.0, 0.0);
    close_body(&body);
}

TEST(motion, in_place_takes_out_horizontal_travel_only)
{
    Body body;
    Clip clip;
    ClipChannel channel;
    open_body(&body, NULL);
    MotionSpec spec = with_clip(&body, &clip, &channel);
    spec.is_in_place = true;
    Motion motion = build(&body, &spec, (TimeSpec){.start = 1.0, .end = 2.0});

    pose_at(&body, &motion, 1.0);
    check_place(&body, HIPS, 1.0, 1.2, 2.0, 1e-6);
    CHECK(motion.is_moved[ROOT]);
    close_body(&body);
}

TEST(motion, a_clip_that_is_not_there_is_refused)
{
    Body body;
    open_body(&body, NULL);
    MotionSpec spec = {.kind = MOTION_CLIP, .source = &body.rig, .clip = 3};
    TimeSpec time = {.end = 1.0};
    const MotionDesc desc = {
        .rig = &body.rig, .spec = &spec, .time = &time, .warnings = &body.warnings};
    Error err = {0};
    Motion motion;

    CHECK_INT(motion_build(&desc, &body.arena, &motion, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "the animation has no clip 3");
    close_body(&body);
}

/* --- from one humanoid to another --- */

TEST(motion, a_rotation_is_retargeted_as_the_scene_sees_it)
{
    // the source's head bone is turned about x at rest, the target's is not
    Body source, target;
    static const double time[1] = {0.0};
    const float h = 0.70710678f;
    open_body(&source, NULL);
    open_body(&target, NULL);
    source.node[HEAD].rest.rotation = (Quat){h, 0.0f, 0.0f, h};
    source.rig.node = source.node;
    // turned by 90 degrees about the scene's y, on top of its rest
    Quat value = quat_mul((Quat){0.0f, h, 0.0f, h}, source.node[HEAD].rest.rotation);
    const float values[4] = {value.x, value.y, value.z, value.w};
    ClipChannel channel = {.node = HEAD,
                           .path = CLIP_ROTATION,
                           .key_count = 1,
                           .width = 4,
                           .time = time,
                           .value = values};
    Clip clip = {.key = "nod", .channel_count = 1, .channel = &channel};
    source.rig.clip = &clip;
    source.rig.clip_count = 1;
    MotionSpec spec = {.kind = MOTION_CLIP, .source = &source.rig};
    Motion motion = build(&target, &spec, (TimeSpec){.end = 1.0});

    pose_at(&target, &motion, 0.0);
    CHECK_NEAR(target.pose.local[HEAD].rotation.y, h, 1e-6);
    CHECK_NEAR(target.pose.local[HEAD].rotation.w, h, 1e-6);
    CHECK_NEAR(target.pose.local[HEAD].rotation.x, 0.0, 1e-6);
    close_body(&source);
    close_body(&target);
}

TEST(motion, hips_are_moved_by_the_ratio_of_heights_and_ways_of_facing)
{
    Body source, target;
    Clip clip;
    ClipChannel channel;
    const Vec3 backward = {0.0f, 0.0f, -1.0f};
    open_body(&source, NULL);
    open_body(&target, &backward);
    MotionSpec spec = with_clip(&source, &clip, &channel);
    // hips at 1 m and at 2 m
    target.node[HIPS].rest.translation = vec3(0.0f, 2.0f, 0.0f);
    target.rig.node = target.node;
    source.rig.format = target.rig.format = "vrm1";
    Motion motion = build(&target, &spec, (TimeSpec){.end = 2.0});

    pose_at(&target, &motion, 1.0); // the source has gone by (1, 0, 2)
    check_place(&target, HIPS, -2.0, 2.0, -4.0, 1e-5);
    close_body(&source);
    close_body(&target);
}
