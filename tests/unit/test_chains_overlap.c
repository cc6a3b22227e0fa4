/* Hair that begins inside a collider, as its artist drew it: contact keeps off only what is deeper.
 */
#include "support/check.h"
#include "support/stage.h"

enum { LINKS = 4 };

/* A lock of four 5 cm links that hangs behind a sphere on the head; its first link begins 3 cm
 * inside. Without gravity it rests on its arc. */
static Stage *open_lock(ChainsContact contact)
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
        Stage *s = open_lock(kind[k]);

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
    Stage *s = open_lock(CHAINS_CONTACT_SWEPT);

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
