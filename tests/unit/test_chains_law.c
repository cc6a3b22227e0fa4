/* Laws of chains: the same bits at every SIMD level, the same angles at every size and place,
 * finite whatever comes. */
#include "math/scalar.h"
#include "support/check.h"
#include "support/stage.h"

#include <math.h>

enum { LINKS = 6, STEPS = 240 };

/* One number after another: compilers evaluate arguments in different orders. */
static Vec3 scatter(Random *random, float spread, float y)
{
    float x = random_float(random, -spread, spread);
    float z = random_float(random, -spread, spread);

    return vec3(x, y, z);
}

/* Thirty-seven chains of one to nine links about a head, over a sphere, a capsule and a plane. */
static Stage *open_crowd(ChainsMode mode, SimdLevel level, ChainsRest rest)
{
    Stage *s = stage_open(256 << 20);
    Random random = {7};
    int root = stage_node(s, "root", -1, vec3(0.0f, 0.0f, 0.0f));
    int head = stage_node(s, "head", root, vec3(0.0f, 1.5f, 0.0f));

    for (int c = 0; c < 37; c++) {
        Vec3 point[9];
        for (int i = 0; i < 9; i++)
            point[i] = scatter(&random, 0.02f, -0.04f);
        stage_chain(s, arena_format(&s->arena, "c%d_", c), head, scatter(&random, 0.1f, 0.0f),
                    point, 1 + c % 9);
        s->spring[c].has_parameters = true;
        for (int i = 0; i < 1 + c % 9; i++) {
            s->segment[c][i].gravity_power = 0.2f;
            s->segment[c][i].hit_radius = 0.01f;
        }
    }
    stage_collider(s, (RigCollider){.node = head, .offset = {0.0f, -0.2f, 0.0f}, .radius = 0.05f});
    stage_collider(s, (RigCollider){.node = root,
                                    .kind = COLLIDER_CAPSULE,
                                    .offset = {-0.2f, 1.25f, 0.0f},
                                    .tail = {0.2f, 1.25f, 0.05f},
                                    .radius = 0.04f});
    stage_collider(s, (RigCollider){.node = root,
                                    .kind = COLLIDER_PLANE,
                                    .offset = {0.0f, 1.2f, 0.0f},
                                    .normal = {0.0f, 1.0f, 0.0f}});
    s->spec.chains.mode = mode;
    s->spec.chains.rest = rest;
    s->simd = level;
    stage_start(s);
    return s;
}

static void sway(Stage *s, int step)
{
    double t = step / 120.0;

    s->pose.local[0].translation.x = (float)(0.2 * scalar_sin(7.0 * t));
    s->pose.local[1].rotation = (Quat){0.0f, (float)scalar_sin(0.4 * scalar_sin(9.0 * t)), 0.0f,
                                       (float)scalar_cos(0.4 * scalar_sin(9.0 * t))};
}

static uint64_t hash_crowd(ChainsMode mode, SimdLevel level, ChainsRest rest)
{
    Stage *s = open_crowd(mode, level, rest);
    uint64_t hash = 1;

    for (int step = 0; step < STEPS; step++) {
        sway(s, step);
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        hash = s->solver->hash(s->model, s->state, hash);
    }
    stage_close(s);
    return hash;
}

TEST(chains_law, every_simd_level_and_compiler_gives_the_same_bits)
{
    static const struct {
        ChainsMode mode;
        ChainsRest rest;
        uint64_t hash; /* what GCC and Clang gave at -O0 and -O3; renew it with SIM_VERSION */
    } kind[] = {{CHAINS_REST_FRAME, CHAINS_REST_ATTACHMENT, 0xe93eb7ca96b3df94u},
                {CHAINS_REST_FRAME, CHAINS_REST_PARENT, 0x2f2f67cbb65e9542u},
                {CHAINS_VRM, CHAINS_REST_ATTACHMENT, 0x0a3d252eeb22e5adu}};

    for (int k = 0; k < 3; k++) {
        uint64_t scalar = hash_crowd(kind[k].mode, SIMD_SCALAR, kind[k].rest);
        CHECK(scalar == kind[k].hash);
        for (int level = 1; level <= (int)simd_level_best(); level++)
            CHECK(hash_crowd(kind[k].mode, (SimdLevel)level, kind[k].rest) == scalar);
    }
}

typedef struct Where {
    ChainsMode mode;
    Vec3 place;
    float scale;
    bool has_collider;
} Where;

/* Bones of a lock in a head turn, on a character of a size at a place. */
static void record(Where where, Vec3 (*out)[LINKS])
{
    Stage *s = stage_open(256 << 20);
    Vec3 point[LINKS];
    int far = stage_node(s, "place", -1, where.place);
    int head = stage_node(s, "head", far, vec3(0.0f, 1.5f, 0.0f));

    for (int i = 0; i < LINKS; i++)
        point[i] = vec3(0.0f, -0.04f, -0.03f);
    stage_chain(s, "lock", head, vec3(0.0f, 0.05f, 0.09f), point, LINKS);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < LINKS; i++) {
        s->segment[0][i].gravity_power = 0.3f;
        s->segment[0][i].hit_radius = 0.01f;
    }
    if (where.has_collider)
        stage_collider(
            s, (RigCollider){.node = head, .offset = {0.115f, -0.12f, 0.0f}, .radius = 0.1f});
    s->node[far].rest.scale = vec3(where.scale, where.scale, where.scale);
    s->spec.chains.mode = where.mode;
    stage_start(s);
    for (int step = 0; step < STEPS; step++) {
        double a = 0.5 * scalar_sin(step * 0.08);
        s->pose.local[head].rotation =
            (Quat){0.0f, (float)scalar_sin(a), 0.0f, (float)scalar_cos(a)};
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        for (int i = 0; i < LINKS; i++)
            out[step][i] = stage_bone(s, i);
    }
    if (where.has_collider && where.mode == CHAINS_REST_FRAME)
        CHECK(stage_measure(s, "contact.count", "*") > 20.0);
    stage_close(s);
}

/* Greatest angle between two recordings; by the chord, which is exact for small ones. */
static double compare(Vec3 (*a)[LINKS], Vec3 (*b)[LINKS])
{
    double worst = 0.0;

    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < LINKS; i++)
            worst = fmax(worst, (double)vec3_length(vec3_sub(a[step][i], b[step][i])));
    }
    return worst;
}

static void check_size(Where where, float scale, double tolerance)
{
    static Vec3 one[STEPS][LINKS], other[STEPS][LINKS];

    record(where, one);
    where.scale = scale;
    record(where, other);
    CHECK_NEAR(compare(one, other), 0.0, tolerance);
}

static void check_place(Where where)
{
    static Vec3 one[STEPS][LINKS], other[STEPS][LINKS];

    record(where, one);
    where.place = vec3(10000.0f, 0.0f, -3000.0f);
    record(where, other);
    CHECK_NEAR(compare(one, other), 0.0, 1e-3);
}

TEST(chains_law, free_angles_do_not_depend_on_size)
{
    for (int mode = CHAINS_REST_FRAME; mode <= CHAINS_VRM; mode++) {
        Where where = {(ChainsMode)mode, {0.0f, 0.0f, 0.0f}, 1.0f, false};
        check_size(where, 0.01f, 1e-4);
        check_size(where, 100.0f, 1e-4);
    }
}

TEST(chains_law, angles_in_contact_do_not_depend_on_size)
{
    Where where = {CHAINS_VRM, {0.0f, 0.0f, 0.0f}, 1.0f, true};

    check_size(where, 0.01f, 1e-4);
    check_size(where, 100.0f, 1e-4);
    where.mode = CHAINS_REST_FRAME;
    check_size(where, 0.01f, 1e-4);
    check_size(where, 100.0f, 1e-4);
    // powers of two scale without rounding: nothing of the method itself depends on size
    check_size(where, 0.0078125f, 1e-6);
    check_size(where, 128.0f, 1e-6);
}

TEST(chains_law, angles_do_not_depend_on_place)
{
    check_place((Where){CHAINS_REST_FRAME, {0.0f, 0.0f, 0.0f}, 1.0f, true});
    check_place((Where){CHAINS_VRM, {0.0f, 0.0f, 0.0f}, 1.0f, true});
}

TEST(chains_law, a_link_is_never_stretched)
{
    Stage *s = open_crowd(CHAINS_REST_FRAME, simd_level_best(), CHAINS_REST_ATTACHMENT);

    for (int step = 0; step < STEPS; step++) {
        sway(s, step);
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        for (int i = 0; i < s->info.segment_count; i++) {
            double length = (double)vec3_length(dvec3_offset(stage_tail(s, i), stage_head(s, i)));
            CHECK_NEAR(length, vec3_length(s->info.segment[i].tail_offset), 1e-6);
        }
    }
    stage_close(s);
}

/* Coincident joints, a collider of no size on the tail, one on the root. */
static void check_degenerate(ChainsMode mode)
{
    Stage *s = stage_open(256 << 20);
    const Vec3 point[4] = {{0, -0.1f, 0}, {0, 0, 0}, {0, -0.1f, 0}, {0, 0, 0}};
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.0f, 0.0f));

    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, 0.0f), point, 4);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < 4; i++)
        s->segment[0][i].hit_radius = 0.01f;
    // exactly at the first tail's place: no way out is given
    stage_collider(s, (RigCollider){.node = head, .offset = {0.0f, -0.1f, 0.0f}, .radius = 0.02f});
    stage_collider(s, (RigCollider){.node = head, .kind = COLLIDER_CAPSULE, .radius = 0.0f});
    stage_collider(s, (RigCollider){.node = head, .is_inside = true, .radius = 0.001f});
    s->spec.chains.mode = mode;
    stage_start(s);
    CHECK(stage_warning(s, "zero_length") != NULL);
    CHECK_TEXT(stage_warning(s, "collider_too_small"), "held at its middle");
    for (int step = 0; step < 240; step++) {
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        for (int i = 0; i < 4; i++) {
            DVec3 tail = stage_tail(s, i);
            CHECK(isfinite(tail.x + tail.y + tail.z));
        }
    }
    stage_close(s);
}

TEST(chains_law, coincident_joints_and_colliders_stay_finite)
{
    check_degenerate(CHAINS_REST_FRAME);
    check_degenerate(CHAINS_VRM);
}

TEST(chains_law, a_pose_that_is_not_finite_is_an_error_that_names_the_chain)
{
    Stage *s = open_crowd(CHAINS_REST_FRAME, simd_level_best(), CHAINS_REST_ATTACHMENT);

    s->pose.local[0].translation.x = NAN;
    CHECK_INT(stage_step(s), ==, STATUS_DIVERGED);
    CHECK_TEXT(s->err.message, "is no longer finite");
    stage_close(s);
}

TEST(chains_law, a_lock_at_rest_stays_at_rest)
{
    Stage *s = open_crowd(CHAINS_REST_FRAME, simd_level_best(), CHAINS_REST_ATTACHMENT);

    stage_close(s);
    s = stage_open(256 << 20);
    const Vec3 point[2] = {{0.03f, -0.04f, 0.0f}, {0.0f, -0.05f, 0.0f}};
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.0f, 0.0f));
    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, 0.0f), point, 2);
    s->spec.chains.parameters.preload = 1.0f; // its weight is part of its shape
    stage_start(s);
    for (int step = 0; step < 240; step++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
    DVec3 tail = stage_tail(s, 1);
    CHECK_NEAR(tail.x, 0.03, 1e-6);
    CHECK_NEAR(tail.y, 0.91, 1e-6);
    stage_close(s);
}

TEST(chains_law, self_contact_is_refused_in_words)
{
    Stage *s = stage_open(256 << 20);
    const Vec3 point[1] = {{0.0f, -0.1f, 0.0f}};
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.0f, 0.0f));

    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, 0.0f), point, 1);
    s->spec.chains.has_self_contact = true;
    CHECK_INT(stage_build(s), ==, STATUS_INVALID);
    CHECK_TEXT(s->err.message, "self_contact is not supported");
    stage_close(s);
}
