/* Hair against a body that moves, grows and is oddly modelled: reports from the field about
 * colliders and rest poses. */
#include "support/check.h"
#include "support/stage.h"

enum { LINKS = 4, ROOT = 0, BODY = 1, HEAD = 2 };

/* A character of root, body and head; a lock of four 5 cm links hangs 16 cm behind the body's
 * axis. */
static Stage *open_character(void)
{
    Stage *s = stage_open(64 << 20);
    Vec3 point[LINKS];
    int root = stage_node(s, "root", -1, vec3(0.0f, 0.0f, 0.0f));
    int body = stage_node(s, "body", root, vec3(0.0f, 1.2f, 0.0f));
    int head = stage_node(s, "head", body, vec3(0.0f, 0.2f, 0.0f));

    for (int i = 0; i < LINKS; i++)
        point[i] = vec3(0.0f, -0.05f, 0.0f);
    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, -0.16f), point, LINKS);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < LINKS; i++) {
        s->segment[0][i].stiffness = 0.1f;
        s->segment[0][i].hit_radius = 0.01f;
    }
    s->spec.chains.contact = CHAINS_CONTACT_SWEPT;
    return s;
}

/* How far the lock's tails are from the vertical axis through the body, the nearest. */
static double nearest(const Stage *s)
{
    DVec3 body = stage_place(s, BODY);
    double least = 1e9;

    for (int i = 0; i < LINKS; i++) {
        DVec3 tail = stage_tail(s, i);
        double x = tail.x - body.x, z = tail.z - body.z;
        double distance = sqrt(x * x + z * z);
        least = distance < least ? distance : least;
    }
    return least;
}

static const RigCollider trunk = {.node = BODY,
                                  .kind = COLLIDER_CAPSULE,
                                  .offset = {0.0f, -0.5f, 0.0f},
                                  .tail = {0.0f, 0.5f, 0.0f},
                                  .radius = 0.1f};

/* A capsule keeps its 0.1 m, and the lock its 0.01 m, times what the character has grown to. */
TEST(chains_body, colliders_grow_with_a_character_that_is_scaled_after_loading)
{
    Stage *s = open_character();

    stage_collider(s, trunk);
    stage_start(s);
    s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
    for (int step = 0; step < 240; step++) {
        float scale = 1.0f + (float)step / 240.0f;
        s->pose.local[ROOT].scale = vec3(scale, scale, scale);
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        CHECK(nearest(s) > 0.11 * (double)scale - 1e-4);
    }
    CHECK_NEAR(nearest(s), 0.22, 0.01);
    stage_close(s);
}

/* A controller moves the root alone; the lock is behind the body, which is pushed into it. */
TEST(chains_body, a_body_that_only_its_root_moves_keeps_the_lock_out)
{
    Stage *s = open_character();

    stage_collider(s, trunk);
    stage_start(s);
    for (int step = 0; step < 120; step++) {
        s->pose.local[ROOT].translation.z = -3.0f * (float)step / 120.0f;
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        CHECK(nearest(s) > 0.11 - 5e-5);
    }
    CHECK(stage_measure(s, "contact.count", "*") > 20.0);
    stage_close(s);
}

/* Bones of the lock, blown at a sphere beside the body, after a second. */
static void blow(Stage *s, Vec3 *out)
{
    stage_start(s);
    s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
    for (int step = 0; step < 120; step++) {
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        for (int i = 0; i < LINKS; i++)
            out[step * LINKS + i] = stage_bone(s, i);
    }
    CHECK(stage_measure(s, "contact.count", "*") > 20.0);
}

/* The same sphere given in a node that is turned a quarter about x and scaled by 2: the place
 * (x, y, z) of the body is (x, z, -y) / 2 there. */
TEST(chains_body, offsets_are_in_the_space_of_a_node_that_is_turned_and_scaled)
{
    static Vec3 plain[120 * LINKS], turned[120 * LINKS];
    Stage *s = open_character();

    stage_collider(s,
                   (RigCollider){.node = BODY, .offset = {0.01f, 0.06f, -0.02f}, .radius = 0.08f});
    blow(s, plain);
    stage_close(s);

    s = open_character();
    int odd = stage_node(s, "odd", BODY, vec3(0.0f, 0.0f, 0.0f));
    s->node[odd].rest.rotation = (Quat){sqrtf(0.5f), 0.0f, 0.0f, sqrtf(0.5f)};
    s->node[odd].rest.scale = vec3(2.0f, 2.0f, 2.0f);
    stage_collider(s,
                   (RigCollider){.node = odd, .offset = {0.005f, -0.01f, -0.03f}, .radius = 0.04f});
    blow(s, turned);
    stage_close(s);
    for (int i = 0; i < 120 * LINKS; i++)
        CHECK_NEAR(vec3_length(vec3_sub(plain[i], turned[i])), 0.0, 1e-4);
}

/* What stands in the hair's joints of the incoming pose is not its rest, and is never read: the arc
 * is the file's, in the frame of the head wherever that starts. */
TEST(chains_body, a_start_pose_is_not_taken_for_the_rest_pose)
{
    Stage *s = open_character();
    Quat tilt = {sqrtf(0.5f), 0.0f, 0.0f, sqrtf(0.5f)}; // down becomes backwards

    stage_start(s);
    s->pose.local[HEAD].rotation = tilt;
    for (int i = 0; i < LINKS; i++)
        s->pose.local[s->segment[0][i].head].rotation = (Quat){0.0f, 0.0f, 0.6f, 0.8f};
    for (int step = 0; step < 960; step++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
    Vec3 wanted = quat_rotate(tilt, vec3(0.0f, -1.0f, 0.0f));
    for (int i = 0; i < LINKS; i++)
        CHECK_NEAR(vec3_length(vec3_sub(stage_bone(s, i), wanted)), 0.0, 1e-4);
    stage_close(s);
}

/* 29: what no key moves keeps what was authored, however long the character is simulated: nothing
 * that the solver wrote is read back as its input. */
TEST(chains_body, a_scale_without_keys_does_not_grow_on_itself)
{
    Stage *s = open_character();
    int second = s->segment[0][1].head;

    s->node[second].rest.scale = vec3(1.5f, 1.5f, 1.5f);
    stage_start(s);
    for (int step = 0; step < 1200; step++) {
        s->pose.local[ROOT].translation.x =
            0.1f * (float)(step % 60 < 30 ? step % 30 : 30 - step % 30) / 30.0f;
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        CHECK_VEC3(s->pose.local[second].scale, 1.5, 1.5, 1.5, 0.0);
        CHECK_VEC3(s->out.local[second].scale, 1.5, 1.5, 1.5, 0.0);
        for (int i = 0; i < LINKS; i++) {
            DVec3 head = stage_head(s, i), tail = stage_tail(s, i);
            double length = (double)vec3_length(dvec3_offset(tail, head));

            CHECK_NEAR(length, i < 1 ? 0.05 : 0.075, 1e-6);
        }
    }
    stage_close(s);
}
