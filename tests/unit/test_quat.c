#include "math/mat3.h"
#include "math/transform.h"
#include "rig/clip.h"
#include "support/check.h"

static Quat random_unit(Random *random)
{
    return quat_normalize(
        (Quat){random_float(random, -1.0f, 1.0f), random_float(random, -1.0f, 1.0f),
               random_float(random, -1.0f, 1.0f), random_float(random, -1.0f, 1.0f)});
}

static Vec3 random_vec3(Random *random)
{
    return vec3(random_float(random, -2.0f, 2.0f), random_float(random, -2.0f, 2.0f),
                random_float(random, -2.0f, 2.0f));
}

static void check_near3(Vec3 actual, Vec3 expected, double tolerance)
{
    CHECK_NEAR(actual.x, expected.x, tolerance);
    CHECK_NEAR(actual.y, expected.y, tolerance);
    CHECK_NEAR(actual.z, expected.z, tolerance);
}

TEST(quat, a_quarter_turn_about_y_takes_z_to_x)
{
    const float h = 0.70710678f;

    check_near3(quat_rotate((Quat){0.0f, h, 0.0f, h}, vec3(0.0f, 0.0f, 1.0f)),
                vec3(1.0f, 0.0f, 0.0f), 1e-6);
}

TEST(quat, products_turn_by_the_right_factor_first)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        Quat a = random_unit(&random), b = random_unit(&random);
        Vec3 v = random_vec3(&random);

        check_near3(quat_rotate(quat_mul(a, b), v), quat_rotate(a, quat_rotate(b, v)), 2e-6);
    }
}

TEST(quat, turns_as_its_matrix_does)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        Quat q = random_unit(&random);
        Vec3 v = random_vec3(&random);
        Mat3 m = mat3_from_quat(q);

        check_near3(mat3_apply(&m, v), quat_rotate(q, v), 2e-6);
        CHECK_NEAR(mat3_determinant(&m), 1.0, 2e-6);
    }
}

TEST(quat, from_to_takes_one_to_the_other_and_no_farther)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        Vec3 a = vec3_normalize_or(random_vec3(&random), vec3(1, 0, 0));
        Vec3 b =
            c % 4 ? vec3_normalize_or(random_vec3(&random), vec3(1, 0, 0)) : vec3_scale(a, -1.0f);
        Quat q = quat_from_to(a, b);

        check_near3(quat_rotate(q, a), b, 4e-6);
        // the axis is at right angles to both
        CHECK_NEAR(vec3_dot(vec3(q.x, q.y, q.z), a), 0.0, 1e-6);
    }
}

TEST(quat, slerp_turns_evenly_along_the_shorter_way)
{
    // 0 to 120 degrees about y, the end written with the other sign
    const Quat a = {0, 0, 0, 1}, b = {0, -0.8660254f, 0, -0.5f};

    for (int i = 0; i <= 8; i++) {
        Quat q = quat_slerp(a, b, i / 8.0);
        double half = 1.0471975511965976 * i / 8.0;

        CHECK_NEAR(q.y, sin(half), 1e-7);
        CHECK_NEAR(q.w, cos(half), 1e-7);
    }
}

TEST(quat, slerp_of_equal_rotations_is_that_rotation)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        Quat q = random_unit(&random);
        Quat s = quat_slerp(q, q, (double)random_float(&random, 0.0f, 1.0f));

        CHECK_NEAR(quat_dot(q, s), 1.0, 3e-7);
    }
}

TEST(world, of_a_child_is_its_parents_applied_to_it)
{
    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);
        Transform outer = {random_vec3(&random), random_unit(&random), random_vec3(&random)};
        Transform inner = {random_vec3(&random), random_unit(&random), random_vec3(&random)};
        Vec3 p = random_vec3(&random);
        World scene = world_identity();
        World parent = world_child(&scene, &outer);
        World child = world_child(&parent, &inner);

        // scale, turn, shift: twice, by hand
        Vec3 q = vec3_add(quat_rotate(inner.rotation, vec3_mul(inner.scale, p)), inner.translation);
        q = vec3_add(quat_rotate(outer.rotation, vec3_mul(outer.scale, q)), outer.translation);
        check_near3(dvec3_float(world_point(&child, p)), q, 3e-5);
    }
}
