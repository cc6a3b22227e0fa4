/* Gaps, ways out and places on the segment, computed by hand. */
#include "core/collide.h"
#include "support/check.h"

static const double TOLERANCE = 1e-6;

static Shape place(RigCollider collider)
{
    World world = world_identity();

    return collide_place(&collider, &world, (DVec3){0.0, 0.0, 0.0});
}

TEST(collide, a_ball_and_a_sphere)
{
    Shape sphere = place((RigCollider){.offset = {1, 0, 0}, .radius = 0.5f});
    Contact contact = collide_point(&sphere, vec3(1, 2, 0), 0.25f);

    CHECK_NEAR(contact.gap, 1.25, TOLERANCE);
    CHECK_VEC3(contact.normal, 0, 1, 0, TOLERANCE);
    // at the very centre there is no way out
    contact = collide_point(&sphere, vec3(1, 0, 0), 0.25f);
    CHECK_NEAR(contact.gap, -0.75, TOLERANCE);
    CHECK_VEC3(contact.normal, 0, 0, 0, 0.0);
}

TEST(collide, a_ball_beside_and_beyond_a_capsule)
{
    Shape capsule =
        place((RigCollider){.kind = COLLIDER_CAPSULE, .tail = {2, 0, 0}, .radius = 0.5f});

    CHECK_NEAR(collide_point(&capsule, vec3(1, 3, 0), 0.0f).gap, 2.5, TOLERANCE);
    Contact contact = collide_point(&capsule, vec3(5, 4, 0), 0.0f); // 3-4-5 from its end
    CHECK_NEAR(contact.gap, 4.5, TOLERANCE);
    CHECK_VEC3(contact.normal, 0.6, 0.8, 0, TOLERANCE);
}

TEST(collide, a_capsule_without_length_is_a_sphere)
{
    Shape capsule = place((RigCollider){.kind = COLLIDER_CAPSULE, .radius = 0.5f});
    Contact contact = collide_segment(&capsule, vec3(-1, 1, 0), vec3(1, 1, 0), 0.0f);

    CHECK_NEAR(contact.gap, 0.5, TOLERANCE);
    CHECK_NEAR(contact.u, 0.5, TOLERANCE);
    CHECK_VEC3(contact.normal, 0, 1, 0, TOLERANCE);
}

/* The segment runs over the axis at (0.5, 0, 0), 0.3 above it, a quarter of its way along. */
TEST(collide, a_segment_across_a_capsule)
{
    Shape capsule =
        place((RigCollider){.kind = COLLIDER_CAPSULE, .tail = {1, 0, 0}, .radius = 0.2f});
    Contact contact = collide_segment(&capsule, vec3(0.5f, 0.3f, -1), vec3(0.5f, 0.3f, 3), 0.15f);

    CHECK_NEAR(contact.gap, -0.05, TOLERANCE);
    CHECK_NEAR(contact.u, 0.25, TOLERANCE);
    CHECK_VEC3(contact.normal, 0, 1, 0, TOLERANCE);
    CHECK_NEAR(collide_depth(&capsule, vec3(0.5f, 0.3f, -1), vec3(0.5f, 0.3f, 3), 0.15f), 0.05,
               TOLERANCE);
    CHECK_NEAR(collide_depth(&capsule, vec3(0.5f, 9, -1), vec3(0.5f, 9, 3), 0.15f), 0.0, 0.0);
}

/* What keeps things in: 0.4 from the centre with a ball of 0.1 leaves 0.5 of a radius of 1; the way
 * out is towards the centre. A ball that is too big is held at the middle. */
TEST(collide, an_inside_sphere_holds_from_within)
{
    Shape inside = place((RigCollider){.is_inside = true, .radius = 1});
    Contact contact = collide_point(&inside, vec3(0.4f, 0, 0), 0.1f);

    CHECK_NEAR(contact.gap, 0.5, TOLERANCE);
    CHECK_VEC3(contact.normal, -1, 0, 0, TOLERANCE);
    CHECK_NEAR(collide_point(&inside, vec3(1.5f, 0, 0), 0.1f).gap, -0.6, TOLERANCE);
    CHECK_NEAR(collide_point(&inside, vec3(0.4f, 0, 0), 3.0f).gap, -0.4, TOLERANCE);
}

TEST(collide, a_plane)
{
    Shape plane = place((RigCollider){
        .kind = COLLIDER_PLANE, .offset = {0, 1, 0}, .normal = {0, 1, 0}, .radius = 9});

    CHECK_NEAR(collide_point(&plane, vec3(7, 1.5f, 7), 0.1f).gap, 0.4, TOLERANCE);
    CHECK_NEAR(collide_point(&plane, vec3(7, 0.5f, 7), 0.1f).gap, -0.6, TOLERANCE);
}

/* A node at (1, 2, 3), scaled by (1, 2, 1) and turned a quarter about z: x becomes y, y becomes -x.
 * The offset (1, 1, 0) lies at (1 - 2, 2 + 1, 3); radii take the greatest scale; the plane with
 * normal (1, 1, 0) / sqrt 2 there is scaled to (1, 1/2, 0) and turned to (-1/2, 1, 0), whatever
 * the mirror. */
TEST(collide, shapes_are_placed_by_a_turned_and_scaled_node)
{
    Quat quarter = {0, 0, sqrtf(0.5f), sqrtf(0.5f)};
    World world = {{1, 2, 3}, mat3_from_quat_scale(quarter, vec3(1, 2, 1)), quarter};
    World mirror = {{1, 2, 3}, mat3_from_quat_scale(quarter, vec3(1, 2, -1)), quarter};
    RigCollider sphere = {.offset = {1, 1, 0}, .radius = 0.5f};
    RigCollider plane = {.kind = COLLIDER_PLANE, .normal = {sqrtf(0.5f), sqrtf(0.5f), 0}};
    Shape shape = collide_place(&sphere, &world, (DVec3){0, 0, 3});

    CHECK_VEC3(shape.start, -1, 3, 0, TOLERANCE);
    CHECK_NEAR(shape.radius, 1.0, TOLERANCE);
    CHECK_VEC3(collide_place(&plane, &world, (DVec3){0, 0, 0}).normal, -sqrt(0.2), sqrt(0.8), 0,
               TOLERANCE);
    CHECK_VEC3(collide_place(&plane, &mirror, (DVec3){0, 0, 0}).normal, -sqrt(0.2), sqrt(0.8), 0,
               TOLERANCE);
}
