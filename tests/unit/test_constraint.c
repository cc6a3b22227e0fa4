#include "rig/constraint.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { NODES = 6, CONSTRAINTS = 6 };

static const float half = 0.70710678f;

/* Nodes a to f, all roots at the origin until a test says otherwise. */
typedef struct Scene {
    Arena arena;
    RigNode node[NODES];
    RigConstraint constraint[CONSTRAINTS];
    Rig rig;
    Warnings warnings;
    Pose pose;
    int count;
    const int *order;
} Scene;

static void open_scene(Scene *s)
{
    static const char *const name[NODES] = {"a", "b", "c", "d", "e", "f"};

    *s = (Scene){.arena = test_arena(1 << 20)};
    for (int i = 0; i < NODES; i++)
        s->node[i] = (RigNode){
            .name = name[i], .parent = -1, .mesh = -1, .skin = -1, .rest = transform_identity()};
    s->rig = (Rig){.node_count = NODES, .node = s->node, .constraint = s->constraint};
}

/* When nodes and constraints are as they shall be; then a test turns what it wants to. */
static void start_scene(Scene *s)
{
    Error err = {0};

    CHECK_INT(rig_finish(&s->rig, &s->arena, &err), ==, STATUS_OK);
    s->warnings = warnings_open(&s->arena, 8);
    CHECK_INT(constraints_sort(&s->rig, &s->arena, &s->warnings, &s->order, &s->count, &err), ==,
              STATUS_OK);
    CHECK_INT(pose_build(&s->rig, &s->arena, &s->pose, &err), ==, STATUS_OK);
    CHECK_OK(&err);
}

static void add(Scene *s, RigConstraint constraint)
{
    s->constraint[s->rig.constraint_count++] = constraint;
}

static void check_rotation(const Scene *s, int node, double x, double y, double z, double w)
{
    Quat q = s->pose.local[node].rotation;
    double dot = (double)q.x * x + (double)q.y * y + (double)q.z * z + (double)q.w * w;

    CHECK_NEAR(fabs(dot), 1.0, 1e-6);
}

static Quat about(Vec3 axis, double degrees)
{
    double angle = 0.5 * degrees * 3.14159265358979 / 180.0;
    float s = (float)sin(angle);

    return (Quat){axis.x * s, axis.y * s, axis.z * s, (float)cos(angle)};
}

TEST(constraint, roll_takes_the_twist_and_leaves_the_swing)
{
    Scene s;

    open_scene(&s);
    add(&s, (RigConstraint){CONSTRAINT_ROLL, 0, 1, {1.0f, 0.0f, 0.0f}, 1.0f});
    add(&s, (RigConstraint){CONSTRAINT_ROLL, 2, 1, {1.0f, 0.0f, 0.0f}, 0.5f});
    start_scene(&s);
    s.pose.local[1].rotation = quat_mul(about(vec3(0, 1, 0), 30), about(vec3(1, 0, 0), 90));
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, (double)half, 0, 0, (double)half);
    check_rotation(&s, 2, sin(M_PI / 8), 0, 0, cos(M_PI / 8));
    arena_destroy(&s.arena);
}

/* The source's x is the node's y: a turn about the source's own x rolls the node about its y. */
TEST(constraint, roll_passes_through_the_rest_rotations)
{
    Scene s;

    open_scene(&s);
    s.node[1].rest.rotation = about(vec3(0, 0, 1), 90);
    add(&s, (RigConstraint){CONSTRAINT_ROLL, 0, 1, {0.0f, 1.0f, 0.0f}, 1.0f});
    start_scene(&s);
    s.pose.local[1].rotation = quat_mul(s.rig.node[1].rest.rotation, about(vec3(1, 0, 0), 40));
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, 0, sin(M_PI / 9), 0, cos(M_PI / 9));
    arena_destroy(&s.arena);
}

TEST(constraint, aim_points_its_axis_at_the_source_in_the_scene)
{
    Scene s;

    open_scene(&s);
    // a below b, which is turned by 90 degrees about y; the source lies on +x of the scene
    s.node[0].parent = 1;
    s.node[2].rest.translation = vec3(2.0f, 0.0f, 0.0f);
    add(&s, (RigConstraint){CONSTRAINT_AIM, 0, 2, {0.0f, 0.0f, 1.0f}, 1.0f});
    start_scene(&s);
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, 0, (double)half, 0, (double)half);
    // with the parent turned its z is there already
    s.pose.local[1].rotation = about(vec3(0, 1, 0), 90);
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, 0, 0, 0, 1);
    CHECK_VEC3(s.pose.world[0].basis.z, 1, 0, 0, 1e-6);
    // a source that lies on the node leaves it at rest
    s.pose.local[2].translation = vec3(0.0f, 0.0f, 0.0f);
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, 0, 0, 0, 1);
    arena_destroy(&s.arena);
}

TEST(constraint, aim_away_from_behind_is_finite)
{
    Scene s;

    open_scene(&s);
    s.node[2].rest.translation = vec3(0.0f, 0.0f, -3.0f);
    add(&s, (RigConstraint){CONSTRAINT_AIM, 0, 2, {0.0f, 0.0f, 1.0f}, 1.0f});
    start_scene(&s);
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    CHECK_VEC3(quat_rotate(s.pose.local[0].rotation, vec3(0.0f, 0.0f, 1.0f)), 0, 0, -1, 1e-6);
    arena_destroy(&s.arena);
}

TEST(constraint, rotation_copies_what_the_source_turns_from_its_rest)
{
    Scene s;

    open_scene(&s);
    s.node[0].rest.rotation = about(vec3(1, 0, 0), 20);
    s.node[1].rest.rotation = about(vec3(0, 0, 1), 70);
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 0, 1, {0.0f, 0.0f, 0.0f}, 1.0f});
    start_scene(&s);
    s.pose.local[1].rotation = quat_mul(s.rig.node[1].rest.rotation, about(vec3(1, 0, 0), 30));
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, sin(25 * M_PI / 180), 0, 0, cos(25 * M_PI / 180));
    arena_destroy(&s.arena);
}

/* a follows b, b follows c, and d follows e, which hangs below b: whatever their order in the file.
 */
TEST(constraint, comes_after_what_it_depends_on)
{
    Scene s;

    open_scene(&s);
    s.node[4].parent = 1;
    s.node[4].rest.translation = vec3(0.0f, 0.0f, 1.0f);
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 0, 1, {0.0f, 0.0f, 0.0f}, 1.0f});
    add(&s, (RigConstraint){CONSTRAINT_AIM, 3, 4, {0.0f, 0.0f, 1.0f}, 1.0f});
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 1, 2, {0.0f, 0.0f, 0.0f}, 1.0f});
    start_scene(&s);
    CHECK_INT(s.count, ==, 3);
    CHECK_INT(s.order[0], ==, 2);
    s.pose.local[2].rotation = about(vec3(0, 1, 0), 90);
    constraints_apply(&s.rig, s.order, s.count, &s.pose);
    check_rotation(&s, 0, 0, (double)half, 0, (double)half);
    check_rotation(&s, 3, 0, (double)half, 0, (double)half);
    arena_destroy(&s.arena);
}

TEST(constraint, those_that_depend_on_each_other_are_left_out_and_named)
{
    Scene s;

    open_scene(&s);
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 0, 1, {0.0f, 0.0f, 0.0f}, 1.0f});
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 1, 0, {0.0f, 0.0f, 0.0f}, 1.0f});
    // its source hangs below it
    s.node[3].parent = 2;
    add(&s, (RigConstraint){CONSTRAINT_AIM, 2, 3, {0.0f, 0.0f, 1.0f}, 1.0f});
    // waits for one of them, and goes on without it
    add(&s, (RigConstraint){CONSTRAINT_ROTATION, 4, 0, {0.0f, 0.0f, 0.0f}, 1.0f});
    start_scene(&s);
    CHECK_INT(s.count, ==, 1);
    CHECK_INT(s.order[0], ==, 3);
    CHECK_INT(s.warnings.count, ==, 1);
    CHECK_EQUAL_TEXT(s.warnings.warning[0].code, "constraint_cycle");
    CHECK_TEXT(s.warnings.warning[0].detail, "left out: a, b, c");
    arena_destroy(&s.arena);
}
