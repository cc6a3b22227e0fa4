/* Which chains are simulated and why others are not, what a job defines and overrides, in which
 * order chains are solved, and whom `contact: auto` lets meet the body. */
#include "solvers/chains/model.h"
#include "support/check.h"
#include "support/stage.h"

#include <math.h>
#include <string.h>

static const Vec3 down[8] = {{0, -0.1f, 0}, {0, -0.1f, 0}, {0, -0.1f, 0}, {0, -0.1f, 0},
                             {0, -0.1f, 0}, {0, -0.1f, 0}, {0, -0.1f, 0}, {0, -0.1f, 0}};

static const ChainsModel *model_of(const Stage *s)
{
    return s->model;
}

static const Chain *find_chain(const Stage *s, const char *key)
{
    const ChainsModel *model = model_of(s);

    for (int i = 0; i < model->chain_count; i++)
        if (strcmp(model->chain[i].key, key) == 0)
            return &model->chain[i];
    return NULL;
}

/* The same, and the test fails where it is not simulated. */
static const Chain *get_chain(const Stage *s, const char *key)
{
    const Chain *chain = find_chain(s, key);

    CHECK(chain != NULL);
    return chain;
}

/* --- refusals --- */

/* A head with the locks "a" and "b" of two links; nodes: head 0, a 1..3, b 4..6. */
static Stage *open_two(void)
{
    Stage *s = stage_open(64 << 20);
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.5f, 0.0f));

    stage_chain(s, "a", head, vec3(0.1f, 0.0f, 0.0f), down, 2);
    stage_chain(s, "b", head, vec3(-0.1f, 0.0f, 0.0f), down, 2);
    return s;
}

/* The other chain goes on, and the warning says which one does not and why. */
static void check_refused(Stage *s, const char *key, const char *reason)
{
    stage_start(s);
    const char *warning = stage_warning(s, "chain_off");
    CHECK_INT(model_of(s)->chain_count, ==, 1);
    CHECK(find_chain(s, key) == NULL);
    CHECK(warning != NULL);
    CHECK_TEXT(warning, key);
    CHECK_TEXT(warning, reason);
    CHECK_INT(stage_step(s), ==, STATUS_OK);
    stage_close(s);
}

TEST(chains_select, a_refused_chain_is_named_with_its_reason_and_the_others_go_on)
{
    Stage *s = open_two();
    s->spring[0].refusal = "its joint 7 does not exist";
    check_refused(s, "a", "its joint 7 does not exist");

    s = open_two();
    s->spring[1].segment_count = 0;
    check_refused(s, "b", "no head-tail pair");

    s = open_two();
    s->segment[1][1].head = 1; // a's first joint
    check_refused(s, "b", "do not hang on one another");

    s = open_two();
    s->segment[1][0].head = 1;
    s->segment[1][0].tail = 2;
    s->segment[1][1].head = 2;
    s->segment[1][1].tail = 3;
    check_refused(s, "b", "an earlier chain has its joints");

    s = open_two();
    s->is_rotated = arena_array(&s->arena, bool, s->rig.node_count);
    s->is_rotated[2] = true;
    check_refused(s, "a", "the clip moves its joints, and the clip wins");

    s = open_two();
    static ChainOverride off;
    off = (ChainOverride){.spring = 1, .parameters = chain_parameters_default()};
    off.parameters.is_disabled = true;
    s->spec.chains.override = &off;
    s->spec.chains.override_count = 1;
    check_refused(s, "b", "the job disables it");
}

TEST(chains_select, a_target_leaves_the_other_chains_alone_without_a_warning)
{
    static const int target[1] = {1};
    Stage *s = open_two();

    s->spec.chains.target = target;
    s->spec.chains.target_count = 1;
    stage_start(s);
    CHECK_INT(model_of(s)->chain_count, ==, 1);
    CHECK(find_chain(s, "b") != NULL);
    CHECK(stage_warning(s, "chain_off") == NULL);
    stage_close(s);
}

/* A trunk of three joints with a branch at its second: two springs of the file share the trunk. */
TEST(chains_select, of_two_springs_on_one_trunk_the_first_in_the_file_has_it)
{
    Stage *s = open_two();
    int branch = stage_node(s, "branch", 2, vec3(0.05f, -0.1f, 0.0f));

    s->segment[1][0].head = 1;
    s->segment[1][0].tail = 2;
    s->segment[1][1].head = 2;
    s->segment[1][1].tail = branch;
    check_refused(s, "b", "an earlier chain has its joints");

    // a branch that begins beside the trunk is a chain of its own, and is solved after it
    s = open_two();
    branch = stage_node(s, "branch", 2, vec3(0.05f, -0.1f, 0.0f));
    int leaf = stage_node(s, "leaf", branch, vec3(0.0f, -0.1f, 0.0f));
    s->spring[1].segment_count = 1;
    s->segment[1][0].head = branch;
    s->segment[1][0].tail = leaf;
    stage_start(s);
    CHECK_INT(model_of(s)->chain_count, ==, 2);
    CHECK_INT(get_chain(s, "a")->level, ==, 0);
    CHECK_INT(get_chain(s, "b")->level, ==, 1);
    CHECK_INT(get_chain(s, "b")->parent_link.chain, ==, 0);
    CHECK_INT(get_chain(s, "b")->parent_link.segment, ==, 1);
    stage_close(s);
}

/* --- order --- */

TEST(chains_select, a_chain_comes_after_what_it_hangs_on_whatever_the_files_order)
{
    // "late" stands first in the file and hangs on the tip of "early"; "free" needs nobody
    Stage *s = stage_open(64 << 20);
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.5f, 0.0f));
    int late = stage_chain(s, "late", head, vec3(0.0f, 0.0f, 0.0f), down, 2);
    stage_chain(s, "early", head, vec3(0.1f, 0.0f, 0.0f), down, 2);
    stage_chain(s, "free", head, vec3(0.2f, 0.0f, 0.0f), down, 1);
    int tip = s->segment[1][1].tail;
    // joints of a chain must come after their parents: late's stand below early's tip now
    int a = stage_node(s, "x0", tip, vec3(0.0f, 0.0f, 0.0f));
    int b = stage_node(s, "x1", a, down[0]);
    int c = stage_node(s, "x2", b, down[0]);
    s->segment[late][0].head = a;
    s->segment[late][0].tail = b;
    s->segment[late][1].head = b;
    s->segment[late][1].tail = c;
    s->spec.chains.parameters.gravity_is_vector = true;
    s->spec.chains.parameters.gravity_vector = vec3(9.0f, 0.0f, 0.0f);
    stage_start(s);
    CHECK_INT(get_chain(s, "early")->level, ==, 0);
    CHECK_INT(get_chain(s, "free")->level, ==, 0);
    CHECK_INT(get_chain(s, "late")->level, ==, 1);
    CHECK_INT(model_of(s)->level_count, ==, 2);
    for (int i = 0; i < 60; i++) {
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        // the root of the late chain is where the early one's tip is in this very step
        DVec3 root = stage_place(s, a), end = stage_place(s, tip);
        CHECK_NEAR(root.x, end.x, 1e-6);
        CHECK_NEAR(root.y, end.y, 1e-6);
    }
    CHECK(stage_place(s, tip).x > 0.01);
    stage_close(s);
}

TEST(chains_select, a_collider_on_another_chain_is_met_where_that_chain_is)
{
    Stage *s = open_two();
    stage_collider(s, (RigCollider){.node = 2, .radius = 0.01f}); // on a
    s->spring[0].collider_count = 0;
    stage_start(s);
    CHECK_INT(get_chain(s, "a")->level, ==, 0);
    CHECK_INT(get_chain(s, "b")->level, ==, 1);
    CHECK(stage_warning(s, "collider_cycle") == NULL);
    stage_close(s);

    // each meets a collider on the other: one of them sees it a step late, and that is said
    s = open_two();
    stage_collider(s, (RigCollider){.node = 2, .radius = 0.01f});
    stage_collider(s, (RigCollider){.node = 5, .radius = 0.01f});
    stage_start(s);
    CHECK(stage_warning(s, "collider_cycle") != NULL);
    CHECK_INT(model_of(s)->level_count, ==, 2);
    stage_close(s);
}

/* --- what the job defines --- */

/* A file without springs: head 0, ear 1..4 with a side branch 5 at its second joint, horn 6. */
static Stage *open_bare(const ChainDefine *define)
{
    Stage *s = stage_open(64 << 20);
    int head = stage_node(s, "head", -1, vec3(0.0f, 1.5f, 0.0f));
    int above = head;

    for (int i = 0; i < 4; i++)
        above = stage_node(s, arena_format(&s->arena, "ear%d", i), above, vec3(0.0f, 0.1f, 0.0f));
    stage_node(s, "side", 2, vec3(0.05f, 0.0f, 0.0f));
    stage_node(s, "horn", head, vec3(0.0f, 0.0f, 0.3f));
    stage_collider(s, (RigCollider){.node = head, .radius = 0.05f});
    s->spec.chains.define = define;
    s->spec.chains.define_count = 1;
    return s;
}

TEST(chains_select, a_defined_chain_goes_down_first_children_to_the_leaf)
{
    Stage *s = open_bare(&(ChainDefine){.name = "ear", .root = 1, .end = -1, .attach = -1});

    stage_start(s);
    const Chain *ear = get_chain(s, "ear");
    CHECK_INT(ear->segment_count, ==, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(ear->segment[i].head, ==, 1 + i);
        CHECK_INT(ear->segment[i].tail, ==, 2 + i);
        CHECK_NEAR(ear->segment[i].length, 0.1, 1e-6);
        // what no file says: CHAINS.md E.1's defaults
        CHECK_NEAR(ear->segment[i].stiffness, 240.0, 0.0);
        CHECK_NEAR(ear->segment[i].damping, 12.0, 0.0);
        CHECK_NEAR(ear->segment[i].gravity.y, -0.5, 0.0);
    }
    CHECK_INT(ear->collider_count, ==, 1);
    CHECK_INT(ear->attach, ==, 0);
    stage_close(s);
}

TEST(chains_select, a_defined_chain_ends_where_the_job_says)
{
    Stage *s = open_bare(&(ChainDefine){.name = "ear", .root = 1, .end = 5, .attach = -1});

    stage_start(s);
    const Chain *ear = get_chain(s, "ear");
    CHECK_INT(ear->segment_count, ==, 2);
    CHECK_INT(ear->segment[1].head, ==, 2);
    CHECK_INT(ear->segment[1].tail, ==, 5);
    CHECK_NEAR(ear->segment[1].rest.x, 0.05, 1e-6);
    stage_close(s);
}

TEST(chains_select, a_defined_leaf_gets_a_virtual_tail_of_seven_centimetres)
{
    Stage *s = open_bare(&(ChainDefine){.name = "horn", .root = 6, .end = -1, .attach = -1});

    stage_start(s);
    const Chain *horn = get_chain(s, "horn");
    CHECK_INT(horn->segment_count, ==, 1);
    CHECK_INT(horn->segment[0].tail, ==, -1);
    CHECK_VEC3(horn->segment[0].tail_offset, 0.0, 0.0, 0.07, 1e-6);
    stage_close(s);
}

TEST(chains_select, a_definition_that_makes_no_chain_is_refused_with_its_reason)
{
    static const struct {
        ChainDefine define;
        const char *reason;
    } kind[] = {
        {{.name = "ear", .root = 2, .end = 6, .attach = -1}, "its end is not below its root"},
        {{.name = "ear", .root = 1, .end = -1, .attach = 6},
         "attached to a node that does not carry its root"},
    };

    for (size_t i = 0; i < sizeof kind / sizeof kind[0]; i++) {
        Stage *s = open_bare(&kind[i].define);

        (void)!stage_build(s);
        CHECK_INT(s->err.status, ==, STATUS_OK);
        CHECK_INT(model_of(s)->chain_count, ==, 0);
        CHECK_TEXT(stage_warning(s, "chain_off"), kind[i].reason);
        stage_close(s);
    }
}

TEST(chains_select, an_attachment_farther_up_carries_the_rest_arc)
{
    // the ear hangs on its first joint, but its arc is the head's
    Stage *s = open_bare(&(ChainDefine){.name = "ear", .root = 2, .end = -1, .attach = 0});

    stage_start(s);
    CHECK_INT(get_chain(s, "ear")->parent, ==, 1);
    CHECK_INT(get_chain(s, "ear")->attach, ==, 0);
    stage_close(s);
}

/* --- overrides --- */

TEST(chains_select, an_override_changes_what_it_names_of_its_chain_alone)
{
    static ChainOverride override;
    Stage *s = open_two();

    override = (ChainOverride){.spring = 1, .parameters = chain_parameters_default()};
    override.parameters.stiffness = 100.0f;
    override.parameters.contact = CHAINS_CONTACT_ENDPOINT;
    s->spec.chains.override = &override;
    s->spec.chains.override_count = 1;
    s->spec.chains.parameters.damping = 30.0f;
    s->spec.chains.parameters.stiffness = 50.0f;
    s->spec.chains.contact = CHAINS_CONTACT_SWEPT;
    stage_start(s);
    const Chain *a = get_chain(s, "a"), *b = get_chain(s, "b");
    CHECK_NEAR(a->segment[0].stiffness, 50.0, 0.0);
    CHECK_NEAR(b->segment[0].stiffness, 100.0, 0.0);
    CHECK_NEAR(a->segment[0].damping, 30.0, 0.0);
    CHECK_NEAR(b->segment[0].damping, 30.0, 0.0);
    CHECK_INT(a->contact, ==, CHAINS_CONTACT_SWEPT);
    CHECK_INT(b->contact, ==, CHAINS_CONTACT_ENDPOINT);
    stage_close(s);
}

/* --- the rule of `contact: auto` --- */

/* A body that is two vertices, soles and crown, with so much of their weight on a joint and the
 * rest on the hips. */
static void weigh(Stage *s, int joint, float share)
{
    static const Vec3 position[2] = {{0.0f, 0.0f, 0.0f}, {0.0f, 1.8f, 0.0f}};
    static const uint32_t index[3] = {0, 1, 1};
    static const uint16_t influence[8] = {0, 1, 0, 0, 0, 1, 0, 0};
    float *weight = arena_array(&s->arena, float, 8);
    int *joints = arena_array(&s->arena, int, 2);
    Affine *bind = arena_array(&s->arena, Affine, 2);
    RigPrimitive *primitive = arena_array(&s->arena, RigPrimitive, 1);
    RigMesh *mesh = arena_array(&s->arena, RigMesh, 1);
    RigSkin *skin = arena_array(&s->arena, RigSkin, 1);

    for (int v = 0; v < 2; v++) {
        weight[v * 4] = share;
        weight[v * 4 + 1] = 1.0f - share;
    }
    joints[0] = joint;
    joints[1] = 0;
    for (int i = 0; i < 2; i++) {
        Vec3 place = {0.0f, 0.0f, 0.0f};

        for (int n = joints[i]; n >= 0; n = s->node[n].parent)
            place = vec3_add(place, s->node[n].rest.translation);
        bind[i] = (Affine){{1, 0, 0, -place.x, 0, 1, 0, -place.y, 0, 0, 1, -place.z}};
    }
    *primitive = (RigPrimitive){.vertex_count = 2,
                                .index_count = 3,
                                .influence_count = 4,
                                .material = -1,
                                .position = position,
                                .index = index,
                                .joint = influence,
                                .weight = weight};
    *mesh = (RigMesh){.name = "body", .primitive_count = 1, .primitive = primitive};
    *skin = (RigSkin){.key = "body", .joint_count = 2, .joint = joints, .inverse_bind = bind};
    s->rig.mesh = mesh;
    s->rig.mesh_count = 1;
    s->rig.skin = skin;
    s->rig.skin_count = 1;
    s->node[0].mesh = 0;
    s->node[0].skin = 0;
}

/* A humanoid: hips at 1 m, neck at 1.5, head at 1.6 of 1.8 m, shoulders 40 cm apart, looking along
 * +z; one lock of `count` links of 10 cm that begins at `root`. */
static Stage *open_humanoid(Vec3 root, int count)
{
    Stage *s = stage_open(64 << 20);
    int hips = stage_node(s, "hips", -1, vec3(0.0f, 1.0f, 0.0f));
    int neck = stage_node(s, "neck", hips, vec3(0.0f, 0.5f, 0.0f));
    int head = stage_node(s, "head", neck, vec3(0.0f, 0.1f, 0.0f));
    int left = stage_node(s, "left", neck, vec3(0.2f, 0.0f, 0.0f));
    int right = stage_node(s, "right", neck, vec3(-0.2f, 0.0f, 0.0f));

    weigh(s, hips, 1.0f);
    s->rig.is_humanoid = true;
    s->rig.role[ROLE_HIPS] = hips;
    s->rig.role[ROLE_NECK] = neck;
    s->rig.role[ROLE_HEAD] = head;
    s->rig.role[ROLE_LEFT_UPPER_ARM] = left;
    s->rig.role[ROLE_RIGHT_UPPER_ARM] = right;
    s->rig.forward = vec3(0.0f, 0.0f, 1.0f);
    stage_chain(s, "lock", head, vec3_sub(root, vec3(0.0f, 1.6f, 0.0f)), down, count);
    return s;
}

/* What auto makes of the lock. */
static ChainsContact choose(Stage *s)
{
    stage_start(s);
    ChainsContact contact = get_chain(s, "lock")->contact;
    CHECK_NEAR(s->rig.height, 1.8, 1e-6);
    CHECK_NEAR(s->rig.box_max.y, 1.8, 1e-6);
    CHECK(get_chain(s, "lock")->is_auto);
    stage_close(s);
    return contact;
}

TEST(chains_select, auto_lets_long_hair_before_or_behind_the_torso_meet_it_swept)
{
    CHECK_INT(choose(open_humanoid(vec3(0.0f, 1.7f, -0.1f), 5)), ==, CHAINS_CONTACT_SWEPT);
    CHECK_INT(choose(open_humanoid(vec3(0.1f, 1.7f, 0.1f), 5)), ==, CHAINS_CONTACT_SWEPT);
}

TEST(chains_select, auto_leaves_what_cannot_reach_the_torso_at_its_endpoints)
{
    // 50 cm above the neck: 20 cm of hair and 20 cm of half a torso do not meet
    CHECK_INT(choose(open_humanoid(vec3(0.0f, 2.0f, 0.0f), 2)), ==, CHAINS_CONTACT_ENDPOINT);
    // 45 cm above, 30 cm of hair do
    CHECK_INT(choose(open_humanoid(vec3(0.0f, 1.95f, 0.0f), 3)), ==, CHAINS_CONTACT_SWEPT);
}

TEST(chains_select, auto_leaves_what_hangs_beside_the_torso_at_its_endpoints)
{
    CHECK_INT(choose(open_humanoid(vec3(0.19f, 1.6f, 0.0f), 4)), ==, CHAINS_CONTACT_SWEPT);
    CHECK_INT(choose(open_humanoid(vec3(0.21f, 1.6f, 0.0f), 4)), ==, CHAINS_CONTACT_ENDPOINT);
}

TEST(chains_select, auto_leaves_a_fringe_at_its_endpoints)
{
    // the head is 20 cm high: a quarter of it are 5 cm
    static const Vec3 shorter[1] = {{0.0f, -0.049f, 0.0f}}, longer[1] = {{0.0f, -0.051f, 0.0f}};
    Stage *s = open_humanoid(vec3(0.0f, 1.6f, 0.1f), 1);

    s->node[s->segment[0][0].tail].rest.translation = shorter[0];
    s->segment[0][0].tail_offset = shorter[0];
    CHECK_INT(choose(s), ==, CHAINS_CONTACT_ENDPOINT);
    s = open_humanoid(vec3(0.0f, 1.6f, 0.1f), 1);
    s->node[s->segment[0][0].tail].rest.translation = longer[0];
    s->segment[0][0].tail_offset = longer[0];
    CHECK_INT(choose(s), ==, CHAINS_CONTACT_SWEPT);
}

TEST(chains_select, auto_wants_half_the_weight_of_the_vertices_a_chain_moves)
{
    static const struct {
        float share;
        ChainsContact contact;
    } kind[] = {{0.51f, CHAINS_CONTACT_SWEPT}, {0.49f, CHAINS_CONTACT_ENDPOINT}};

    for (int k = 0; k < 2; k++) {
        Stage *s = open_humanoid(vec3(0.0f, 1.7f, -0.1f), 5);

        weigh(s, s->segment[0][0].head, kind[k].share);
        CHECK_INT(choose(s), ==, kind[k].contact);
    }
}

TEST(chains_select, auto_lets_head_colliders_meet_tails_alone)
{
    Stage *s = open_humanoid(vec3(0.0f, 1.7f, -0.1f), 5);

    stage_collider(s, (RigCollider){.node = s->rig.role[ROLE_HEAD], .radius = 0.05f});
    stage_collider(s, (RigCollider){.node = s->rig.role[ROLE_HIPS], .radius = 0.05f});
    stage_start(s);
    CHECK(model_of(s)->collider[0].is_on_head);
    CHECK(!model_of(s)->collider[1].is_on_head);
    stage_close(s);
}
