/* Colliders fitted to characters whose measures are known: a trunk of tubes, clothes, hair. */
#include "core/fit.h"
#include "support/check.h"
#include "support/stage.h"

enum { SIDES = 24, RINGS = 21, MAX_TUBES = 8 };

/* A character 1.6 m tall: root, hips, spine, chest, neck, head, an arm, and a lock of hair. */
typedef struct Figure {
    Stage *stage;
    RigMesh mesh[MAX_TUBES];
    RigPrimitive primitive[MAX_TUBES];
    RigSkin skin[MAX_TUBES];
    int joint[MAX_TUBES];
    Affine bind[MAX_TUBES];
    int tube_count;
    int root, hips, chest, side, neck, head, lock;
} Figure;

static Figure *open_figure(const char *prefix)
{
    Stage *s = stage_open(64 << 20);
    Figure *f = arena_array(&s->arena, Figure, 1);
    const Vec3 link[3] = {{0.0f, -0.05f, 0.0f}, {0.0f, -0.05f, 0.0f}, {0.0f, -0.05f, 0.0f}};

    CHECK(f != NULL);
    f->stage = s;
    f->root = stage_node(s, "root", -1, vec3(0.0f, 0.0f, 0.0f));
    f->hips = stage_node(s, arena_format(&s->arena, "%sa", prefix), f->root, vec3(0, 0.9f, 0));
    f->chest = stage_node(s, arena_format(&s->arena, "%sb", prefix), f->hips, vec3(0, 0.2f, 0));
    f->side = stage_node(s, arena_format(&s->arena, "%sc", prefix), f->chest, vec3(0, 0.1f, 0));
    f->neck = stage_node(s, arena_format(&s->arena, "%sd", prefix), f->chest, vec3(0, 0.3f, 0));
    f->head = stage_node(s, arena_format(&s->arena, "%se", prefix), f->neck, vec3(0, 0.1f, 0));
    s->rig.is_humanoid = true;
    s->rig.role[ROLE_HIPS] = f->hips;
    s->rig.role[ROLE_CHEST] = f->chest;
    s->rig.role[ROLE_NECK] = f->neck;
    s->rig.role[ROLE_HEAD] = f->head;
    stage_chain(s, arena_format(&s->arena, "%slock", prefix), f->head, vec3(0, 0, -0.1f), link, 3);
    f->lock = s->segment[0][0].head;
    s->rig.mesh = f->mesh;
    s->rig.skin = f->skin;
    return f;
}

/* A tube about the vertical through (x, 0, z), skinned to one joint. Returns the node of its mesh.
 */
static int add_tube(Figure *f, const char *name, int joint, float radius, const float y[2])
{
    Stage *s = f->stage;
    int i = f->tube_count++, count = SIDES * RINGS, indices = 0;
    Vec3 *position = arena_array(&s->arena, Vec3, count);
    uint16_t *joints = arena_array(&s->arena, uint16_t, 4 * count);
    float *weight = arena_array(&s->arena, float, 4 * count);
    uint32_t *index = arena_array(&s->arena, uint32_t, 6 * count);
    DVec3 at = {0.0, 0.0, 0.0};

    CHECK(position && joints && weight && index);
    for (int n = joint; n >= 0; n = s->node[n].parent)
        at = dvec3_add(at, dvec3_from(s->node[n].rest.translation));
    for (int v = 0; v < count; v++) {
        static const float side[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
        float t = (float)(v % SIDES % (SIDES / 4)) / (SIDES / 4.0f);
        const float *a = side[v % SIDES * 4 / SIDES], *b = side[(v % SIDES * 4 / SIDES + 1) % 4];
        Vec3 out = vec3_normalize_or(vec3(a[0] + (b[0] - a[0]) * t, 0, a[1] + (b[1] - a[1]) * t),
                                     vec3(1, 0, 0));

        position[v] = vec3_scale(out, radius);
        int ring = v / SIDES;
        position[v].y = y[0] + (y[1] - y[0]) * (float)ring / (RINGS - 1);
        weight[4 * v] = 1.0f;
    }
    for (int v = 0; v + SIDES + 1 < count; v++) {
        const int corner[6] = {v, v + SIDES, v + 1, v + 1, v + SIDES, v + SIDES + 1};
        for (int k = 0; k < 6; k++)
            index[indices++] = (uint32_t)corner[k];
    }
    f->joint[i] = joint;
    f->bind[i] = (Affine){{1, 0, 0, -(float)at.x, 0, 1, 0, -(float)at.y, 0, 0, 1, -(float)at.z}};
    f->skin[i] =
        (RigSkin){.key = "", .joint_count = 1, .joint = &f->joint[i], .inverse_bind = &f->bind[i]};
    f->primitive[i] = (RigPrimitive){.vertex_count = count,
                                     .index_count = indices,
                                     .influence_count = 4,
                                     .material = -1,
                                     .position = position,
                                     .index = index,
                                     .joint = joints,
                                     .weight = weight,
                                     .position_accessor = -1,
                                     .normal_accessor = -1};
    f->mesh[i] = (RigMesh){.name = name, .primitive_count = 1, .primitive = &f->primitive[i]};
    int node = stage_node(s, name, -1, vec3(0, 0, 0));
    s->node[node].mesh = i;
    s->node[node].skin = i;
    s->rig.mesh_count = s->rig.skin_count = f->tube_count;
    return node;
}

static const float trunk_y[2] = {1.05f, 1.35f};

/* The tube is 12 cm wide, its capsule 10: legs and head make the character 1.6 m tall. */
static Figure *open_clothed(const char *prefix, float clothes)
{
    static const float leg[2] = {0.0f, 0.8f}, skull[2] = {1.5f, 1.6f};
    Figure *f = open_figure(prefix);

    add_tube(f, "trunk", f->chest, 0.12f, trunk_y);
    add_tube(f, "legs", f->root, 0.1f, leg);
    add_tube(f, "skull", f->head, 0.08f, skull);
    if (clothes > 0.0f)
        add_tube(f, "clothes", f->chest, clothes, trunk_y);
    stage_collider(f->stage, (RigCollider){.node = f->chest,
                                           .kind = COLLIDER_CAPSULE,
                                           .offset = {0.0f, 0.0f, 0.0f},
                                           .tail = {0.0f, 0.2f, 0.0f},
                                           .radius = 0.1f});
    return f;
}

/* The fit, in the figure's arena. */
static Fit fit_figure(Figure *f, const int *hidden, int hidden_count)
{
    Stage *s = f->stage;
    Fit fit;

    s->spec.is_fitted = true;
    stage_start(s);
    const FitDesc desc = {.body = {.rig = &s->rig,
                                   .chains = &s->spec.chains,
                                   .hidden_count = hidden_count,
                                   .hidden = hidden},
                          .spec = &s->spec,
                          .warnings = &s->warnings};
    CHECK_INT(fit_colliders(&desc, &s->arena, &fit, &s->err), ==, STATUS_OK);
    return fit;
}

TEST(fit, covers_the_body_and_two_millimetres)
{
    Figure *f = open_clothed("", 0.0f);
    const Fit fit = fit_figure(f, NULL, 0);
    const RigCollider *c = &fit.rig.collider[0];

    CHECK_INT(fit.count, ==, 1);
    CHECK(!fit.collider[0].kept);
    CHECK_NEAR(c->radius, 0.122, 1e-5);
    CHECK_NEAR(fit.collider[0].growth, 0.022, 1e-5);
    CHECK_INT(fit.collider[0].vertex_count, ==, SIDES * RINGS);
    CHECK_INT(fit.collider[0].covered_before, ==, 0);
    // all but the rings at its round ends
    CHECK_INT(fit.collider[0].covered_after, >, SIDES * RINGS * 3 / 4);
    // from 1.05 to 1.35 m: the ends, 1.1 - 0.1 and 1.3 + 0.1 m high with their caps, stay
    CHECK_VEC3(c->offset, 0.0, 0.0, 0.0, 0.0);
    CHECK_VEC3(c->tail, 0.0, (double)0.2f, 0.0, 0.0);
    stage_close(f->stage);
}

TEST(fit, lengthens_a_short_capsule_by_a_twentieth_of_the_height_at_most)
{
    static const float tall[2] = {0.9f, 1.45f};
    Figure *f = open_clothed("", 0.0f);

    add_tube(f, "coat", f->chest, 0.11f, tall);
    const Fit fit = fit_figure(f, NULL, 0);
    // the 97 % quantiles reach beyond the caps by less below, by more above than may be added
    CHECK(fit.rig.collider[0].offset.y < -0.02f && fit.rig.collider[0].offset.y > -0.08f);
    CHECK_NEAR(fit.rig.collider[0].tail.y, 0.2 + (1.45 - 0.1 - 1.3), 0.03);
    CHECK_NEAR(fit.collider[0].authored.offset.y, 0.0, 0.0);
    stage_close(f->stage);
}

TEST(fit, never_shrinks_and_grows_within_bounds_under_thick_clothes)
{
    Figure *thin = open_figure(""), *thick = open_clothed("", 0.3f);
    static const float all[2] = {0.0f, 1.6f};

    add_tube(thin, "stick", thin->chest, 0.05f, all);
    stage_collider(thin->stage, (RigCollider){.node = thin->chest,
                                              .kind = COLLIDER_CAPSULE,
                                              .tail = {0.0f, 0.2f, 0.0f},
                                              .radius = 0.1f});
    Fit fit = fit_figure(thin, NULL, 0);
    CHECK_NEAR(fit.rig.collider[0].radius, 0.1f, 0.0);
    CHECK_NEAR(fit.collider[0].growth, 0.0, 0.0);
    fit = fit_figure(thick, NULL, 0);
    // 3 % of 1.6 m is less than 60 % of 0.1 m
    CHECK_NEAR(fit.rig.collider[0].radius, 0.1 + 0.048, 1e-6);
    stage_close(thin->stage);
    stage_close(thick->stage);
}

TEST(fit, grows_a_small_radius_by_three_fifths_at_most)
{
    Figure *f = open_clothed("", 0.0f);

    f->stage->collider[0].radius = 0.05f;
    const Fit fit = fit_figure(f, NULL, 0);
    CHECK_NEAR(fit.rig.collider[0].radius, 0.05 * 1.6, 1e-6);
    stage_close(f->stage);
}

TEST(fit, does_not_look_at_names)
{
    Figure *plain = open_clothed("", 0.14f), *renamed = open_clothed("Armature|\xc3\xa9_", 0.14f);
    const Fit a = fit_figure(plain, NULL, 0), b = fit_figure(renamed, NULL, 0);

    CHECK(a.rig.collider[0].radius == b.rig.collider[0].radius);
    CHECK_INT(a.collider[0].vertex_count, ==, b.collider[0].vertex_count);
    CHECK(a.rig.collider[0].radius > 0.13f);
    stage_close(plain->stage);
    stage_close(renamed->stage);
}

/* Radii are those of scale 1, so a character of any size has the same. */
TEST(fit, does_not_depend_on_size)
{
    static const float size[3] = {1.0f, 0.1f, 10.0f};
    RigCollider fitted[3];
    int covered[3];

    for (int i = 0; i < 3; i++) {
        Figure *f = open_clothed("", 0.125f);

        f->stage->node[f->root].rest.scale = vec3(size[i], size[i], size[i]);
        const Fit fit = fit_figure(f, NULL, 0);
        fitted[i] = fit.rig.collider[0];
        covered[i] = fit.collider[0].covered_after;
        CHECK_NEAR(fit.collider[0].growth, 0.027 * (double)size[i], 1e-5 * (double)size[i]);
        stage_close(f->stage);
    }
    for (int i = 1; i < 3; i++) {
        CHECK_NEAR(fitted[i].radius, fitted[0].radius, 1e-6);
        CHECK_NEAR(fitted[i].tail.y, fitted[0].tail.y, 1e-6);
        CHECK_INT(covered[i], ==, covered[0]);
    }
}

TEST(fit, leaves_hidden_accessories_out)
{
    for (int is_hidden = 0; is_hidden < 2; is_hidden++) {
        Figure *f = open_clothed("", 0.0f);
        int pack = add_tube(f, "backpack", f->chest, 0.14f, trunk_y);
        const Fit fit = fit_figure(f, &pack, is_hidden);

        CHECK_NEAR(fit.rig.collider[0].radius, is_hidden ? 0.122 : 0.142, 1e-5);
        stage_close(f->stage);
    }
}

/* Hair is what chains on the head move, with what they are on: here a cap, and a lock that is
 * skinned to the chest for a part. */
TEST(fit, leaves_hair_out)
{
    static const float cap_y[2] = {1.5f, 1.62f};
    Figure *f = open_clothed("", 0.0f);
    int hair = add_tube(f, "hair", f->lock, 0.13f, cap_y);
    RigPrimitive *p = &f->primitive[f->stage->node[hair].mesh];
    uint16_t *joint = arena_array(&f->stage->arena, uint16_t, 4 * p->vertex_count);
    static int joints[2];

    // four fifths of it lie on the head itself
    joints[0] = f->head;
    joints[1] = f->lock;
    f->skin[f->stage->node[hair].skin].joint = joints;
    f->skin[f->stage->node[hair].skin].joint_count = 2;
    static Affine bind[2];
    bind[0] = bind[1] = f->bind[f->stage->node[hair].skin];
    f->skin[f->stage->node[hair].skin].inverse_bind = bind;
    for (int v = 0; v < p->vertex_count; v++)
        joint[4 * v] = v % 5 == 0;
    p->joint = joint;
    stage_collider(f->stage,
                   (RigCollider){.node = f->head, .offset = {0, 0.05f, 0}, .radius = 0.08f});
    const Fit fit = fit_figure(f, NULL, 0);
    CHECK_INT(fit.count, ==, 2);
    CHECK_INT(fit.collider[1].vertex_count, ==, SIDES * RINGS);
    CHECK(fit.rig.collider[1].radius < 0.1f);
    stage_close(f->stage);
}

/* The bone below the chest is in no skin of hair, and bears no collider: its vertices are the
 * chest's. The neck's are not. */
TEST(fit, walks_the_whole_hierarchy_of_the_body)
{
    Figure *f = open_clothed("", 0.0f);

    add_tube(f, "shoulders", f->side, 0.14f, trunk_y);
    add_tube(f, "scarf", f->neck, 0.2f, trunk_y);
    const Fit fit = fit_figure(f, NULL, 0);
    CHECK_INT(fit.collider[0].vertex_count, ==, 2 * SIDES * RINGS);
    CHECK_NEAR(fit.rig.collider[0].radius, 0.142, 1e-5);
    stage_close(f->stage);
}

TEST(fit, keeps_what_is_authored_where_a_node_is_mirrored_or_uneven)
{
    static const Vec3 scale[2] = {{-1.0f, 1.0f, 1.0f}, {1.0f, 1.2f, 1.0f}};

    for (int i = 0; i < 2; i++) {
        Figure *f = open_clothed("", 0.14f);

        f->stage->node[f->chest].rest.scale = scale[i];
        const Fit fit = fit_figure(f, NULL, 0);
        const RigCollider *kept = &fit.rig.collider[0], *authored = &f->stage->rig.collider[0];
        CHECK(kept->radius == authored->radius && kept->offset.y == authored->offset.y &&
              kept->tail.y == authored->tail.y);
        CHECK_TEXT(fit.collider[0].kept, "mirrored or not scaled alike");
        CHECK_TEXT(stage_warning(f->stage, "collider_kept"), "keeps its authored size");
        stage_close(f->stage);
    }
}

TEST(fit, keeps_planes_insides_and_what_chains_carry)
{
    Figure *f = open_clothed("", 0.14f);

    stage_collider(
        f->stage,
        (RigCollider){.node = f->chest, .kind = COLLIDER_PLANE, .normal = {0.0f, 1.0f, 0.0f}});
    stage_collider(f->stage, (RigCollider){.node = f->chest, .is_inside = true, .radius = 1.0f});
    stage_collider(f->stage, (RigCollider){.node = f->lock, .radius = 0.01f});
    stage_collider(f->stage, (RigCollider){.node = f->neck, .radius = 0.01f});
    const Fit fit = fit_figure(f, NULL, 0);
    CHECK_INT(fit.count, ==, 5);
    CHECK_TEXT(fit.collider[1].kept, "plane");
    CHECK_TEXT(fit.collider[2].kept, "keeps things in");
    CHECK_TEXT(fit.collider[3].kept, "a chain moves its node");
    CHECK_TEXT(fit.collider[4].kept, "hardly any vertices");
    for (int i = 1; i < 5; i++)
        CHECK(fit.rig.collider[i].radius == f->stage->rig.collider[i].radius);
    stage_close(f->stage);
}

TEST(fit, gives_a_trunk_to_a_body_without_one)
{
    Figure *f = open_figure("");
    static const float trunk[2] = {0.9f, 1.4f}, skull[2] = {1.5f, 1.6f}, leg[2] = {0.0f, 0.8f};

    add_tube(f, "trunk", f->chest, 0.12f, trunk);
    add_tube(f, "skull", f->head, 0.08f, skull);
    add_tube(f, "legs", f->root, 0.1f, leg);
    stage_collider(f->stage, (RigCollider){.node = f->head, .radius = 0.08f});
    const Fit fit = fit_figure(f, NULL, 0);
    CHECK_INT(fit.rig.collider_count, ==, 2);
    CHECK(fit.collider[1].is_added);
    const RigCollider *c = &fit.rig.collider[1];
    CHECK_INT(c->node, ==, f->chest);
    CHECK_NEAR(c->radius, 0.122, 1e-4);
    // from hips to neck, 0.9 to 1.4 m, the caps within
    CHECK_NEAR((double)c->offset.y + 1.1, 0.9 + 0.12, 0.02);
    CHECK_NEAR((double)c->tail.y + 1.1, 1.4 - 0.12, 0.02);
    CHECK_INT(fit.rig.spring[0].collider_count, ==, 2);
    CHECK_INT(fit.rig.spring[0].collider[1], ==, 1);
    CHECK_INT(f->stage->rig.collider_count, ==, 1);
    CHECK_INT(f->stage->rig.spring[0].collider_count, ==, 1);
    stage_close(f->stage);
}

/* A lock blown at the trunk: contact holds it off the fitted capsule, not the authored one. */
TEST(fit, is_what_chains_meet_and_leaves_no_trace_in_a_job_without_it)
{
    uint64_t hash[3];
    double nearest[3];

    for (int run = 0; run < 3; run++) {
        Figure *f = open_clothed("", 0.0f);
        Stage *s = f->stage;

        s->node[f->lock].rest.translation = vec3(0.0f, -0.15f, -0.2f);
        s->spring[0].has_parameters = true;
        for (int i = 0; i < 3; i++)
            s->segment[0][i].stiffness = 0.1f;
        s->spec.chains.contact = CHAINS_CONTACT_SWEPT;
        s->spec.is_fitted = run == 1;
        stage_start(s);
        s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
        for (int step = 0; step < 480; step++)
            CHECK_INT(stage_step(s), ==, STATUS_OK);
        nearest[run] = 1.0;
        for (int i = 0; i < 3; i++)
            nearest[run] = -stage_tail(s, i).z < nearest[run] ? -stage_tail(s, i).z : nearest[run];
        hash[run] = s->solver->hash(s->model, s->state, 1);
        if (run == 1)
            CHECK_NEAR(stage_measure(s, "fit.growth", "*"), 0.022, 1e-5);
        stage_close(s);
    }
    CHECK_NEAR(nearest[0], 0.1, 1e-3);
    CHECK_NEAR(nearest[1], 0.122, 1e-3);
    CHECK(hash[0] == hash[2] && hash[0] != hash[1]);
}

/* Law: with too little memory, nothing is fitted; with enough, it is. */
TEST(fit, fits_or_refuses_at_every_arena_size)
{
    Figure *f = open_clothed("", 0.14f);
    Stage *s = f->stage;
    Status status = STATUS_NO_MEMORY;

    stage_start(s);
    for (size_t capacity = 1024; status == STATUS_NO_MEMORY; capacity += 4096) {
        Arena arena = test_arena(capacity);
        Error err = {0};
        Fit fit = {.count = -1};
        const FitDesc desc = {.body = {.rig = &s->rig, .chains = &s->spec.chains},
                              .spec = &s->spec,
                              .warnings = &s->warnings};

        status = fit_colliders(&desc, &arena, &fit, &err);
        CHECK_INT(status, ==, err.status);
        CHECK((status == STATUS_OK) == (fit.count == 1));
        arena_destroy(&arena);
    }
    CHECK_INT(status, ==, STATUS_OK);
    stage_close(s);
}
