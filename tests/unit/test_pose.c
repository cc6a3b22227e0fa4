#include "support/check.h"
#include "support/scene.h"

#include <math.h>
#include <string.h>

/* Equal bits, whatever lies between the members. */
static bool are_equal(const World *a, const World *b, int count)
{
    for (int i = 0; i < count; i++)
        if (memcmp(&a[i].origin, &b[i].origin, sizeof a->origin) ||
            memcmp(&a[i].basis, &b[i].basis, sizeof a->basis) ||
            memcmp(&a[i].rotation, &b[i].rotation, sizeof a->rotation))
            return false;
    return true;
}

TEST(pose, starts_at_rest)
{
    Arena arena = test_arena(1 << 20);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    World world[SCENE_NODES];
    Pose pose;

    CHECK_INT(pose_build(rig, &arena, &pose, &err), ==, STATUS_OK);
    rig_rest_worlds(rig, world);
    CHECK(are_equal(pose.world, world, SCENE_NODES));
    CHECK_NEAR(pose.world[SCENE_HAIR2].origin.z, -0.3, 1e-7);
    CHECK_NEAR(pose.world[SCENE_HAIR2].origin.y, 1.5, 1e-7);
    arena_destroy(&arena);
}

TEST(pose, some_worlds_are_brought_up_to_date_as_all_are)
{
    Arena arena = test_arena(1 << 20);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    static const int below[3] = {SCENE_HAIR0, SCENE_HAIR1, SCENE_HAIR2};
    Pose some, all;

    CHECK_INT(pose_build(rig, &arena, &some, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(rig, &arena, &all, &err), ==, STATUS_OK);
    some.local[SCENE_HAIR0].rotation = (Quat){0.6f, 0.0f, 0.0f, 0.8f};
    pose_copy(rig, &some, &all);
    pose_update_nodes(rig, below, 3, &some);
    pose_update_world(rig, &all);
    CHECK(are_equal(some.world, all.world, SCENE_NODES));
    arena_destroy(&arena);
}

TEST(pose, blends_meet_both_ends_and_the_middle)
{
    Arena arena = test_arena(1 << 20);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    Pose before, now, out;

    CHECK_INT(pose_build(rig, &arena, &before, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(rig, &arena, &now, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(rig, &arena, &out, &err), ==, STATUS_OK);
    now.local[SCENE_ROOT].translation = vec3(2.0f, 1.0f, 0.0f);
    now.local[SCENE_HEAD].rotation = (Quat){0.0f, 0.70710678f, 0.0f, 0.70710678f};
    pose_update_world(rig, &now);
    pose_blend(rig, &before, &now, 0.5f, &out);
    CHECK_NEAR(out.world[SCENE_HEAD].origin.x, 1.0, 1e-7);
    CHECK_NEAR(out.local[SCENE_HEAD].rotation.y, 0.38268343, 1e-6);
    pose_blend(rig, &before, &now, 0.0f, &out);
    CHECK_NEAR(out.world[SCENE_HEAD].origin.x, 0.0, 0.0);
    pose_blend(rig, &before, &now, 1.0f, &out);
    CHECK_NEAR(out.world[SCENE_HEAD].origin.x, 2.0, 0.0);
    arena_destroy(&arena);
}
