/* What users of other programs reported (numbers: the table of field reports), each as a promise.
 */
#include "math/scalar.h"
#include "support/check.h"
#include "support/stage.h"

#include <math.h>

enum { LINKS = 4 };

static const Vec3 down[LINKS] = {{0, -0.05f, 0}, {0, -0.05f, 0}, {0, -0.05f, 0}, {0, -0.05f, 0}};

/* A hanging lock on a head, on a root. */
static Stage *open_lock(int *out_root, int *out_head)
{
    Stage *s = stage_open(256 << 20);

    *out_root = stage_node(s, "root", -1, vec3(0.0f, 0.0f, 0.0f));
    *out_head = stage_node(s, "head", *out_root, vec3(0.0f, 1.0f, 0.0f));
    stage_chain(s, "lock", *out_head, vec3(0.0f, 0.0f, 0.0f), down, LINKS);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < LINKS; i++)
        s->segment[0][i].gravity_power = 0.1f;
    return s;
}

static void step(Stage *s, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
}

static double tip_x(const Stage *s)
{
    return stage_tail(s, LINKS - 1).x;
}

/* 7, 13, 15: the centre takes its own motion out, and nothing jumps at the start. */
TEST(chains_field, with_a_center_the_walk_of_the_root_is_not_felt)
{
    for (int mode = CHAINS_REST_FRAME; mode <= CHAINS_VRM; mode++) {
        double lag[2];
        for (int has_center = 0; has_center < 2; has_center++) {
            int root, head;
            Stage *s = open_lock(&root, &head);
            s->spec.chains.mode = (ChainsMode)mode;
            s->node[root].rest.translation = vec3(5.0f, 0.0f, 3.0f);
            s->spring[0].center = has_center ? root : -1;
            stage_start(s);
            step(s, 1);
            CHECK_NEAR(tip_x(s), 5.0, 1e-6);
            for (int i = 1; i <= 60; i++) {
                s->pose.local[root].translation.x = 5.0f + 0.01f * (float)i;
                step(s, 1);
            }
            lag[has_center] = (double)s->pose.local[root].translation.x - tip_x(s);
            stage_close(s);
        }
        CHECK(lag[0] > 0.005);
        CHECK_NEAR(lag[1], 0.0, 1e-5);
    }
}

/* 14: where the centre stands does not matter. */
TEST(chains_field, a_center_away_from_the_origin_leans_nothing)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    s->node[root].rest.translation = vec3(5.0f, 0.0f, 3.0f);
    s->spring[0].center = root;
    s->spec.chains.mode = CHAINS_VRM;
    stage_start(s);
    step(s, 240);
    CHECK_NEAR(tip_x(s), 5.0, 1e-6);
    CHECK_NEAR(stage_tail(s, 3).z, 3.0, 1e-6);
    stage_close(s);
}

/* A.2: a teleport carries the chain with it. */
TEST(chains_field, a_teleport_is_not_felt)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    stage_start(s);
    step(s, 240);
    double before = stage_tail(s, 3).y;
    s->pose.local[root].translation = vec3(50.0f, 0.0f, -20.0f);
    s->pose.local[root].rotation = (Quat){0.0f, 1.0f, 0.0f, 0.0f};
    step(s, 1);
    CHECK_NEAR(tip_x(s), 50.0, 1e-5);
    CHECK_NEAR(stage_tail(s, 3).y, before, 1e-5);
    stage_close(s);
}

/* 9, 10, 11, 12: at any rate the lock stays finite, and from 30 steps a second on it settles alike.
 */
TEST(chains_field, every_rate_is_stable)
{
    static const int rate[] = {5, 10, 15, 30, 60, 120, 240, 1000};

    for (int r = 0; r < 8; r++) {
        int root, head;
        Stage *s = open_lock(&root, &head);
        s->spec.rate = rate[r];
        stage_start(s);
        s->pose.local[root].translation.x = 0.3f;
        step(s, rate[r] * 20);
        CHECK(tip_x(s) > 0.0 && tip_x(s) < 0.3001);
        if (rate[r] >= 30)
            CHECK_NEAR(tip_x(s), 0.3, 1e-4);
        stage_close(s);
    }
}

/* 2: a model that grows while it runs is not stretched. */
TEST(chains_field, growing_while_it_runs_stretches_nothing)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    stage_start(s);
    for (int i = 0; i < 120; i++) {
        float size = 1.0f + 0.02f * (float)i;
        s->pose.local[root].scale = vec3(size, size, size);
        step(s, 1);
        for (int k = 0; k < LINKS; k++) {
            double length = (double)vec3_length(dvec3_offset(stage_tail(s, k), stage_head(s, k)));
            CHECK_NEAR(length / (double)size, 0.05, 1e-6);
        }
    }
    stage_close(s);
}

/* 33: the head's radius holds at its tail, the last one included. */
TEST(chains_field, the_last_radius_holds_at_the_last_tail)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    s->segment[0][LINKS - 1].hit_radius = 0.03f;
    stage_collider(s, (RigCollider){.node = root, .offset = {0.04f, 0.8f, 0.0f}, .radius = 0.02f});
    s->spec.chains.mode = CHAINS_VRM;
    stage_start(s);
    step(s, 240);
    DVec3 tail = stage_tail(s, LINKS - 1);
    // 0.04 where it hangs freely, 0.02 + 0.03 with its own radius
    CHECK_NEAR(hypot(tail.x - 0.04, tail.y - 0.8), 0.05, 5e-4);
    stage_close(s);
}

/* 25: a collider on a simulated joint is where the simulation put it. */
TEST(chains_field, a_collider_on_a_simulated_joint_follows_it)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    stage_chain(s, "other", head, vec3(-0.06f, 0.0f, 0.0f), down, LINKS);
    s->spec.chains.parameters.radius = 0.0f;
    // a ball on the lock's last joint; the wind blows the lock, the ball pushes the other
    s->collider[s->rig.collider_count] =
        (RigCollider){.key = "ball", .node = s->segment[0][LINKS - 1].head, .radius = 0.05f};
    int *list = arena_array(&s->arena, int, 1);
    list[0] = s->rig.collider_count++;
    s->spring[1].collider = list;
    s->spring[1].collider_count = 1;
    stage_start(s);
    CHECK(stage_warning(s, "collider_cycle") == NULL);
    for (int i = 0; i < 240; i++) {
        s->pose.local[head].rotation =
            (Quat){0.0f, 0.0f, (float)scalar_sin(-0.002 * i), (float)scalar_cos(-0.002 * i)};
        step(s, 1);
        DVec3 ball = stage_head(s, LINKS - 1);
        Vec3 off = dvec3_offset(stage_tail(s, 2 * LINKS - 1), ball);
        CHECK((double)vec3_length(off) > 0.05 - 1e-4);
    }
    stage_close(s);
}

/* 26: with two-way contact a push at the tip bends what is above it. */
TEST(chains_field, a_push_at_the_tip_bends_upper_segments_two_way)
{
    double bend[2];

    for (int two_way = 0; two_way < 2; two_way++) {
        int root, head;
        Stage *s = open_lock(&root, &head);
        s->spec.chains.is_two_way = two_way != 0;
        stage_collider(s, (RigCollider){.node = root, .radius = 0.03f, .offset = {0, 0.8f, 0}});
        s->collider[0].node = stage_node(s, "ball", -1, vec3(0.2f, 0.0f, 0.0f));
        stage_start(s);
        for (int i = 0; i < 120; i++) {
            s->pose.local[s->collider[0].node].translation.x = 0.2f - 0.0017f * (float)i;
            step(s, 1);
        }
        bend[two_way] = -(double)stage_bone(s, 0).x;
        stage_close(s);
    }
    CHECK_NEAR(bend[0], 0.0, 1e-3);
    CHECK(bend[1] > 0.01);
}

/* 30: moved evenly, the lock hangs still behind. */
TEST(chains_field, even_motion_makes_no_ripple)
{
    int root, head;
    Stage *s = open_lock(&root, &head);
    double lag = 0.0;

    s->spec.chains.parameters.damping = 12.0f;
    stage_start(s);
    for (int i = 0; i < 1200; i++) {
        s->pose.local[root].translation.x = 0.5f * (float)i / 120.0f;
        step(s, 1);
        double now = (double)s->pose.local[root].translation.x - tip_x(s);
        if (i > 1000)
            CHECK_NEAR(now, lag, 2e-6);
        lag = now;
    }
    stage_close(s);
}

/* 41: wind that changes leaves the state alone. */
TEST(chains_field, changing_wind_does_not_reset_the_motion)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    stage_start(s);
    s->forces.wind_velocity = vec3(4.0f, 0.0f, 0.0f);
    step(s, 240);
    double blown = tip_x(s);
    s->forces.wind_velocity = vec3(4.1f, 0.0f, 0.0f);
    step(s, 1);
    CHECK(blown > 0.01);
    CHECK_NEAR(tip_x(s), blown, 1e-4);
    stage_close(s);
}

/* 44: every chain that is not simulated says why. */
TEST(chains_field, a_chain_that_is_not_simulated_says_why)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    s->is_rotated = arena_array(&s->arena, bool, STAGE_MAX_NODES);
    s->is_rotated[s->segment[0][1].head] = true;
    stage_start(s);
    CHECK_INT(s->info.chain_count, ==, 0);
    CHECK_TEXT(stage_warning(s, "chain_off"), "chain \"lock\" is not simulated: the clip moves");
    step(s, 2);
    stage_close(s);
}

/* 34: what lies in a collider as authored is reported. */
TEST(chains_field, an_overlap_at_rest_is_reported)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    stage_collider(s, (RigCollider){.key = "skull", .node = head, .radius = 0.02f});
    stage_start(s);
    CHECK_TEXT(stage_warning(s, "rest_overlap"), "lies 20.0 mm inside collider \"skull\"");
    stage_close(s);
}

/* 21: an angle limit holds. */
TEST(chains_field, an_angle_limit_holds)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    s->spec.chains.parameters.angle_limit = 0.2f;
    stage_start(s);
    s->forces.wind_velocity = vec3(40.0f, 0.0f, 0.0f);
    step(s, 240);
    for (int i = 0; i < LINKS; i++)
        CHECK_NEAR(scalar_acos(-(double)stage_bone(s, i).y), 0.2, 1e-3);
    stage_close(s);
}

/* 49: parameters matter, and a run is the same twice. */
TEST(chains_field, stiffness_matters_and_reruns_are_equal)
{
    uint64_t hash[3];

    for (int run = 0; run < 3; run++) {
        int root, head;
        Stage *s = open_lock(&root, &head);
        s->spec.chains.parameters.stiffness = run < 2 ? 240.0f : 300.0f;
        stage_start(s);
        s->pose.local[root].translation.x = 0.2f;
        step(s, 60);
        hash[run] = s->solver->hash(s->model, s->state, 1);
        stage_close(s);
    }
    CHECK(hash[0] == hash[1]);
    CHECK(hash[0] != hash[2]);
}

/* E.1: authored values enter by what the algorithm does at 60 Hz; bounds warn by joint. */
TEST(chains_field, authored_values_are_bounded_with_a_warning_that_names_the_joint)
{
    int root, head;
    Stage *s = open_lock(&root, &head);

    s->segment[0][1].stiffness = 100.0f; // k = 60 100 / 0.05 = 120000
    s->segment[0][2].drag = 0.0f;        // c = 0
    stage_start(s);
    CHECK_TEXT(stage_warning(s, "stiffness_capped"), "joint \"lock1\": stiffness 120000");
    CHECK_TEXT(stage_warning(s, "damping_raised"), "joint \"lock1\"");
    stage_close(s);
}
