#include "rig/skinning.h"
#include "support/check.h"
#include "support/scene.h"

#include <math.h>
#include <string.h>

static void check_near3(Vec3 actual, Vec3 expected, double tolerance)
{
    CHECK_NEAR(actual.x, expected.x, tolerance);
    CHECK_NEAR(actual.y, expected.y, tolerance);
    CHECK_NEAR(actual.z, expected.z, tolerance);
}

/* The scene's strip in a pose whose hair nodes are turned about x by these angles. */
static void skin_strip(Arena *arena, const Rig *rig, const Pose *pose, SimdLevel simd, Vec3 out[8])
{
    Error err = {0};
    SkinBatch batch;
    SkinWork work;

    CHECK_INT(skin_batch_build(rig, &(SkinSource){.node = SCENE_STRIP}, arena, &batch, &err), ==,
              STATUS_OK);
    CHECK_INT(skin_work_build(&batch, 1, arena, &work, &err), ==, STATUS_OK);
    skin_palette(&batch, pose, skin_origin(&batch, pose), &work);
    skin_vertices(&batch, pose, simd, &work, out, NULL);
}

static Pose pose_of(const Rig *rig, Arena *arena)
{
    Error err = {0};
    Pose pose = {0};

    CHECK_INT(pose_build(rig, arena, &pose, &err), ==, STATUS_OK);
    return pose;
}

TEST(skinning, the_bind_pose_gives_the_mesh)
{
    Arena arena = test_arena(1 << 20);
    const Rig *rig = scene_rig(&arena);
    Pose pose = pose_of(rig, &arena);
    Vec3 out[8];

    skin_strip(&arena, rig, &pose, SIMD_SCALAR, out);
    for (int v = 0; v < 8; v++)
        check_near3(out[v], rig->mesh[0].primitive[0].position[v], 1e-7);
    arena_destroy(&arena);
}

TEST(skinning, vertices_follow_their_joint)
{
    Arena arena = test_arena(1 << 20);
    const Rig *rig = scene_rig(&arena);
    Pose pose = pose_of(rig, &arena);
    Vec3 out[8];

    // hair0 looks up: a quarter turn about x takes -z to +y
    pose.local[SCENE_HAIR0].rotation = (Quat){0.70710678f, 0.0f, 0.0f, 0.70710678f};
    pose_update_world(rig, &pose);
    skin_strip(&arena, rig, &pose, SIMD_SCALAR, out);
    for (int row = 0; row < 4; row++)
        check_near3(out[2 * row], vec3(-0.01f, 1.5f + 0.1f * (float)row, -0.1f), 1e-6);
    arena_destroy(&arena);
}

TEST(skinning, weights_blend_where_joints_take_a_vertex)
{
    Arena arena = test_arena(1 << 20);
    static const Vec3 position[1] = {{1, 0, 0}};
    static const uint16_t joint[4] = {0, 1, 0, 0};
    static const float weight[4] = {0.75f, 0.25f, 0, 0};
    static const int joints[2] = {0, 1};
    static const Affine inverse_bind[2] = {{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}},
                                           {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}};
    const RigPrimitive primitive = {.vertex_count = 1,
                                    .influence_count = 4,
                                    .material = -1,
                                    .position = position,
                                    .joint = joint,
                                    .weight = weight};
    const RigMesh mesh = {.primitive_count = 1, .primitive = &primitive};
    const RigSkin skin = {.joint_count = 2, .joint = joints, .inverse_bind = inverse_bind};
    RigNode node[2] = {{.parent = -1, .mesh = 0, .skin = 0, .rest = transform_identity()},
                       {.parent = -1, .mesh = -1, .skin = -1, .rest = transform_identity()}};
    Rig rig = {.node_count = 2,
               .mesh_count = 1,
               .skin_count = 1,
               .node = node,
               .mesh = &mesh,
               .skin = &skin};
    Error err = {0};
    SkinBatch batch;
    SkinWork work;
    Vec3 out;

    // one joint stays, the other goes 4 m up and scales by 2: 0.75 (1,0,0) + 0.25 (2,4,0)
    node[1].rest.translation = vec3(0.0f, 4.0f, 0.0f);
    node[1].rest.scale = vec3(2.0f, 2.0f, 2.0f);
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    Pose pose = pose_of(&rig, &arena);
    CHECK_INT(skin_batch_build(&rig, &(SkinSource){.node = 0}, &arena, &batch, &err), ==,
              STATUS_OK);
    CHECK_INT(skin_work_build(&batch, 1, &arena, &work, &err), ==, STATUS_OK);
    skin_palette(&batch, &pose, skin_origin(&batch, &pose), &work);
    skin_vertices(&batch, &pose, SIMD_SCALAR, &work, &out, NULL);
    check_near3(out, vec3(1.25f, 1.0f, 0.0f), 1e-7);
    arena_destroy(&arena);
}

TEST(skinning, morph_targets_are_added_before_and_normals_go_by_cofactors)
{
    Arena arena = test_arena(1 << 20);
    static const Vec3 position[2] = {{0, 0, 0}, {1, 0, 0}};
    static const Vec3 normal[2] = {{0.6f, 0.8f, 0}, {0, 0, 1}};
    static const Vec3 offset[2] = {{0, 0, 0}, {0, 0, 4}};
    const RigMorph morph[1] = {{.position = offset}};
    const RigPrimitive primitive = {.vertex_count = 2,
                                    .material = -1,
                                    .morph_count = 1,
                                    .position = position,
                                    .normal = normal,
                                    .morph = morph};
    const RigMesh mesh = {.primitive_count = 1, .morph_count = 1, .primitive = &primitive};
    RigNode node[1] = {{.parent = -1, .mesh = 0, .skin = -1, .rest = transform_identity()}};
    Rig rig = {.node_count = 1, .mesh_count = 1, .node = node, .mesh = &mesh};
    Error err = {0};
    SkinBatch batch;
    SkinWork work;
    Vec3 out[2], out_normal[2];

    node[0].rest.scale = vec3(2.0f, 1.0f, 1.0f);
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    Pose pose = pose_of(&rig, &arena);
    CHECK_INT(skin_batch_build(&rig, &(SkinSource){.node = 0}, &arena, &batch, &err), ==,
              STATUS_OK);
    CHECK_INT(skin_work_build(&batch, 1, &arena, &work, &err), ==, STATUS_OK);
    pose.morph_weight[0] = 0.5f;
    skin_palette(&batch, &pose, skin_origin(&batch, &pose), &work);
    skin_vertices(&batch, &pose, SIMD_SCALAR, &work, out, out_normal);
    check_near3(out[1], vec3(2.0f, 0.0f, 2.0f), 1e-7);
    // stretched along x, the normal leans away from it: (0.3, 0.8) normalised
    double length = hypot(0.3, 0.8);
    check_near3(out_normal[0], vec3((float)(0.3 / length), (float)(0.8 / length), 0.0f), 1e-6);
    arena_destroy(&arena);
}

TEST(skinning, a_part_is_the_whole_at_those_vertices_and_every_instruction_set_agrees)
{
    Arena arena = test_arena((size_t)16 << 20);
    const Rig *rig = scene_rig(&arena);
    static const int vertex[3] = {6, 1, 3};

    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        size_t mark = arena_mark(&arena);
        Pose pose = pose_of(rig, &arena);
        Error err = {0};
        Vec3 whole[8], other[8], part[3];
        SkinBatch batch;
        SkinWork work;

        for (int i = 0; i < SCENE_NODES; i++) {
            pose.local[i].rotation =
                quat_normalize((Quat){random_float(&random, -1, 1), random_float(&random, -1, 1),
                                      random_float(&random, -1, 1), random_float(&random, -1, 1)});
            pose.local[i].translation = vec3(random_float(&random, -5, 5), 1.0f, 2.0f);
        }
        pose_update_world(rig, &pose);
        skin_strip(&arena, rig, &pose, SIMD_SCALAR, whole);
        for (int level = 1; level <= (int)simd_level_best(); level++) {
            skin_strip(&arena, rig, &pose, (SimdLevel)level, other);
            CHECK(memcmp(whole, other, sizeof whole) == 0);
        }
        CHECK_INT(
            skin_batch_build(rig, &(SkinSource){SCENE_STRIP, 0, vertex, 3}, &arena, &batch, &err),
            ==, STATUS_OK);
        CHECK_INT(batch.joint_count, <=, 3);
        CHECK_INT(skin_work_build(&batch, 1, &arena, &work, &err), ==, STATUS_OK);
        // the origin of the whole, whose first joint may be another
        SkinBatch all;
        CHECK_INT(skin_batch_build(rig, &(SkinSource){.node = SCENE_STRIP}, &arena, &all, &err), ==,
                  STATUS_OK);
        skin_palette(&batch, &pose, skin_origin(&all, &pose), &work);
        skin_vertices(&batch, &pose, SIMD_SCALAR, &work, part, NULL);
        for (int i = 0; i < 3; i++)
            CHECK(memcmp(&part[i], &whole[vertex[i]], sizeof part[i]) == 0);
        arena_rewind(&arena, mark);
    }
    arena_destroy(&arena);
}

TEST(skinning, is_as_fine_ten_kilometres_away)
{
    Arena arena = test_arena(1 << 20);
    const Rig *rig = scene_rig(&arena);
    Pose near = pose_of(rig, &arena), far = pose_of(rig, &arena);
    Vec3 a[8], b[8];

    for (int i = 0; i < SCENE_NODES; i++)
        if (rig->node[i].parent < 0)
            far.local[i].translation.x += 9984.0f; // 624 corners of the grid
    pose_update_world(rig, &far);
    skin_strip(&arena, rig, &near, SIMD_SCALAR, a);
    skin_strip(&arena, rig, &far, SIMD_SCALAR, b);
    for (int v = 0; v < 8; v++)
        check_near3(b[v], a[v], 1e-7);
    arena_destroy(&arena);
}
