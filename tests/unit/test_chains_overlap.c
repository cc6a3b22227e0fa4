/* Hair that begins inside a collider, as its artist drew it: contact keeps off only what is deeper.
 */
#include "sim/bake.h"
#include "support/check.h"
#include "support/reading.h"
#include "support/stage.h"

enum { LINKS = 4 };

/* A lock of four 5 cm links that hangs behind a sphere on the head; its first link begins 3 cm
 * inside. Without gravity it rests on its arc. */
static Stage *open_lock(ChainsContact contact, float size)
{
    Stage *s = stage_open(64 << 20);
    Vec3 point[LINKS];
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.5f, 0.0f));

    for (int i = 0; i < LINKS; i++)
        point[i] = i ? vec3(0.0f, -0.05f, 0.0f) : vec3(0.0f, 0.0f, -0.05f);
    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, -0.08f), point, LINKS);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < LINKS; i++) {
        s->segment[0][i].stiffness = 0.2f;
        s->segment[0][i].hit_radius = 0.01f;
    }
    stage_collider(s, (RigCollider){.node = head, .radius = 0.1f});
    s->node[head].rest.scale = vec3(size, size, size);
    s->spec.chains.contact = contact;
    stage_start(s);
    return s;
}

static float sideways(const Stage *s)
{
    float worst = 0.0f;

    for (int i = 0; i < LINKS; i++) {
        Vec3 wanted = i ? vec3(0.0f, -1.0f, 0.0f) : vec3(0.0f, 0.0f, -1.0f);
        float off = vec3_length(vec3_sub(stage_bone(s, i), wanted));
        worst = off > worst ? off : worst;
    }
    return worst;
}

TEST(chains_overlap, authored_overlap_is_left_as_it_was_drawn)
{
    static const ChainsContact kind[] = {CHAINS_CONTACT_AUTO, CHAINS_CONTACT_ENDPOINT,
                                         CHAINS_CONTACT_SEGMENT, CHAINS_CONTACT_SWEPT};

    for (int k = 0; k < 4; k++) {
        Stage *s = open_lock(kind[k], 1.0f);

        CHECK_TEXT(stage_warning(s, "rest_overlap"), "30.0 mm inside");
        for (int step = 0; step < 240; step++)
            CHECK_INT(stage_step(s), ==, STATUS_OK);
        CHECK_NEAR(sideways(s), 0.0, 1e-5);
        CHECK_NEAR(stage_measure(s, "penetration.max", "*"), 0.0, 0.0);
        CHECK_NEAR(stage_measure(s, "contact.count", "*"), 0.0, 0.0);
        stage_close(s);
    }
}

/* The second link, 3 cm behind the sphere's surface less its own 1 cm, is free at rest: pushed
 * towards the sphere, it comes to lie on it. */
TEST(chains_overlap, what_is_free_at_rest_is_still_kept_out)
{
    Stage *s = open_lock(CHAINS_CONTACT_SWEPT, 1.0f);

    s->forces.wind_velocity = vec3(0.0f, 0.0f, 40.0f);
    for (int step = 0; step < 480; step++) {
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        for (int i = 1; i < LINKS; i++) {
            double y = stage_tail(s, i).y - 1.5, z = stage_tail(s, i).z;
            CHECK(sqrt(y * y + z * z) > 0.11 - 5e-5);
        }
    }
    CHECK(stage_measure(s, "contact.count", "*") > 0.0);
    CHECK_NEAR(stage_measure(s, "penetration.max", "*"), 0.0, 5e-5);
    stage_close(s);
}

/* On a character of 128 times the size, under a wind that is as much stronger: the same angles. */
TEST(chains_overlap, does_not_depend_on_size)
{
    static Vec3 bone[2][240 * LINKS];

    for (int k = 0; k < 2; k++) {
        Stage *s = open_lock(CHAINS_CONTACT_SWEPT, k ? 128.0f : 1.0f);

        s->forces.wind_velocity = vec3(0.0f, 0.0f, k ? 128.0f * 40.0f : 40.0f);
        for (int step = 0; step < 240; step++) {
            CHECK_INT(stage_step(s), ==, STATUS_OK);
            for (int i = 0; i < LINKS; i++)
                bone[k][step * LINKS + i] = stage_bone(s, i);
        }
        CHECK(stage_measure(s, "contact.count", "*") > 0.0);
        stage_close(s);
    }
    for (int i = 0; i < 240 * LINKS; i++)
        CHECK_NEAR(vec3_length(vec3_sub(bone[0][i], bone[1][i])), 0.0, 1e-4);
}

/* The published algorithm knows no such thing: it pushes the tail of the first link out. */
TEST(chains_overlap, vrm_mode_pushes_out_as_published)
{
    Stage *s = stage_open(64 << 20);
    Vec3 point = {0.0f, -0.05f, 0.0f};
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.5f, 0.0f));

    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, -0.08f), &point, 1);
    s->spring[0].has_parameters = true;
    s->segment[0][0].stiffness = 1.0f;
    s->segment[0][0].drag = 0.5f;
    stage_collider(s, (RigCollider){.node = head, .radius = 0.1f});
    s->spec.chains.mode = CHAINS_VRM;
    stage_start(s);
    for (int step = 0; step < 60; step++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
    double y = stage_tail(s, 0).y - 1.5, z = stage_tail(s, 0).z;
    CHECK(sqrt(y * y + z * z) > 0.0985);
    stage_close(s);
}

/* A row of a head turn of the real avatar, whose ponytail begins 4 cm inside its head's sphere. */
static double bake_avatar(ChainsContact contact, const char *row)
{
    Reading reading = reading_open();
    Arena arena = test_arena((size_t)1 << 30);
    SimulationSpec simulation = {.kind = SIMULATION_CHAINS,
                                 .is_enabled = true,
                                 .rate = 120,
                                 .chains = chains_spec_default()};
    BakeSpec spec = bake_spec_default();
    BakeOptions options = {.simd = simd_level_best()};
    BakeEvent event = {0};
    const BakeModel *model;
    BakeState *state;
    Measures measures;

    CHECK_INT(reading_file(&reading, "vrm/mh_ponytail_avatar.vrm"), ==, STATUS_OK);
    simulation.chains.contact = contact;
    spec.motion.kind = MOTION_HEAD_TURN;
    spec.time.end = 4.0;
    spec.time.settle = 8.0;
    spec.simulation = &simulation;
    spec.simulation_count = 1;
    CHECK_INT(bake_build(reading.rig, &spec, &options, &arena, &model, &reading.err), ==,
              STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &reading.err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE)
        CHECK_INT(bake_advance(model, state, &event, &reading.err), ==, STATUS_OK);
    CHECK_INT(bake_measure(model, state, &arena, &measures, &reading.err), ==, STATUS_OK);
    const MeasureRow *found = measures_find(&measures, row, 0, "*");
    CHECK(found && !found->is_missing);
    double value = found->value;
    arena_destroy(&arena);
    reading_close(&reading);
    return value;
}

/* Pushed out of its own head the ponytail stretched by 97.7 % at worst, p99 10.8 %. */
TEST(chains_overlap, contact_does_not_stretch_a_real_avatar)
{
    double free = bake_avatar(CHAINS_CONTACT_NONE, "stretch.p99");

    CHECK(free > 0.02);
    CHECK(bake_avatar(CHAINS_CONTACT_AUTO, "stretch.p99") < free + 0.01);
    CHECK(bake_avatar(CHAINS_CONTACT_AUTO, "stretch.max") < 0.10);
}
