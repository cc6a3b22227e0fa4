#include "rig/keys.h"
#include "sim/rig.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

static RigNode node_at(const char *name, int parent, float x, float y, float z)
{
    RigNode node = {
        .name = name, .parent = parent, .mesh = -1, .skin = -1, .rest = transform_identity()};

    node.rest.translation = vec3(x, y, z);
    return node;
}

TEST(keys, are_names_or_kind_and_index_and_unique)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    Keys keys;

    CHECK_INT(keys_open(&keys, &arena, 7, "node", &err), ==, STATUS_OK);
    CHECK_EQUAL_TEXT(keys_add(&keys, "a"), "a");
    CHECK_EQUAL_TEXT(keys_add(&keys, ""), "node1");
    CHECK_EQUAL_TEXT(keys_add(&keys, "a"), "a#2");
    CHECK_EQUAL_TEXT(keys_add(&keys, "a#3"), "a#3");
    CHECK_EQUAL_TEXT(keys_add(&keys, "a"), "a#4");
    CHECK_EQUAL_TEXT(keys_add(&keys, "node1"), "node1#2");
    CHECK_EQUAL_TEXT(keys_add(&keys, NULL), "node6");
    arena_destroy(&arena);
}

TEST(rig, sorts_parents_first_whatever_the_files_order)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    const RigNode node[4] = {node_at("tip", 2, 0, 1, 0), node_at("root", -1, 1, 0, 0),
                             node_at("middle", 1, 0, 2, 0), node_at("", -1, 0, 0, 5)};
    Rig rig = {.node_count = 4, .node = node};
    World world[4];

    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    CHECK_OK(&err);
    CHECK_INT(rig.order[0], ==, 1);
    CHECK_INT(rig.order[1], ==, 3);
    CHECK_INT(rig.order[2], ==, 2);
    CHECK_INT(rig.order[3], ==, 0);
    CHECK_INT(rig_find_node(&rig, "node3"), ==, 3);
    CHECK_INT(rig_find_node(&rig, "nobody"), ==, -1);
    CHECK_INT(rig.role[ROLE_HEAD], ==, -1);
    rig_rest_worlds(&rig, world);
    CHECK_NEAR(world[0].origin.x, 1.0, 0.0);
    CHECK_NEAR(world[0].origin.y, 3.0, 0.0);
    arena_destroy(&arena);
}

TEST(rig, refuses_nodes_that_are_their_own_ancestors)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    const RigNode node[4] = {node_at("root", -1, 0, 0, 0), node_at("below", 2, 0, 0, 0),
                             node_at("hen", 3, 0, 0, 0), node_at("egg", 2, 0, 0, 0)};
    Rig rig = {.node_count = 4, .node = node};

    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "is its own ancestor");
    CHECK(strstr(err.message, "below") == NULL);
    arena_destroy(&arena);
}

TEST(rig, refuses_what_is_not_finite)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    RigNode node[2] = {node_at("root", -1, 0, 0, 0), node_at("far", 0, NAN, 0, 0)};
    Rig rig = {.node_count = 2, .node = node};

    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "node \"far\" has a transform that is not finite");

    // every number is finite, and yet the place is not
    node[0].rest.scale = vec3(1e30f, 1.0f, 1.0f);
    node[1].rest.translation = vec3(1e30f, 0.0f, 0.0f);
    rig = (Rig){.node_count = 2, .node = node};
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "node \"far\" stands at a place that is not finite");
    arena_destroy(&arena);
}

/* A unit square in the plane z = 0 on a node, skinned half to it and half to a child. */
static Rig square_rig(RigNode node[2], RigPrimitive *primitive, RigMesh *mesh, RigSkin *skin)
{
    static const Vec3 position[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    static const uint32_t index[6] = {0, 1, 2, 0, 2, 3};
    static const uint16_t joint[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    static const float weight[16] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    static const int joints[2] = {0, 1};
    static const Affine inverse_bind[2] = {{{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}},
                                           {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}}};

    node[0] = node_at("body", -1, 10, 0, 0);
    node[1] = node_at("top", 0, 0, 2, 0);
    node[0].mesh = 0;
    *primitive = (RigPrimitive){.vertex_count = 4,
                                .index_count = 6,
                                .material = -1,
                                .influence_count = 4,
                                .position = position,
                                .index = index,
                                .joint = joint,
                                .weight = weight};
    *mesh = (RigMesh){.name = "square", .primitive_count = 1, .primitive = primitive};
    *skin = (RigSkin){.joint_count = 2, .joint = joints, .inverse_bind = inverse_bind};
    return (Rig){.node_count = 2,
                 .mesh_count = 1,
                 .skin_count = 1,
                 .node = node,
                 .mesh = mesh,
                 .skin = skin};
}

TEST(rig, measures_the_box_of_skinned_and_rigid_meshes)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    RigNode node[2];
    RigPrimitive primitive;
    RigMesh mesh;
    RigSkin skin;
    Rig rig = square_rig(node, &primitive, &mesh, &skin);

    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    CHECK_OK(&err);
    CHECK_NEAR(rig.height, 1.0, 0.0);
    CHECK_NEAR(rig.box_min.x, 10.0, 0.0);
    CHECK_NEAR(rig.box_max.x, 11.0, 0.0);

    // skinned: the upper vertices follow "top", 2 m above
    rig = square_rig(node, &primitive, &mesh, &skin);
    node[0].skin = 0;
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    CHECK_OK(&err);
    CHECK_NEAR(rig.height, 3.0, 0.0);
    arena_destroy(&arena);
}

TEST(rig, refuses_a_large_mesh_on_very_many_nodes)
{
    enum { NODES = 64, VERTICES = 1100000 };
    Arena arena = test_arena((size_t)64 << 20);
    Error err = {0};
    RigNode node[NODES];
    Vec3 *position = arena_array(&arena, Vec3, VERTICES);
    RigPrimitive primitive = {.vertex_count = VERTICES, .material = -1, .position = position};
    RigMesh mesh = {.primitive_count = 1, .primitive = &primitive};
    Rig rig = {.node_count = NODES, .mesh_count = 1, .node = node, .mesh = &mesh};

    for (int i = 0; i < NODES; i++) {
        node[i] = node_at("", -1, 0, 0, 0);
        node[i].mesh = 0;
    }
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_LIMIT);
    CHECK_TEXT(err.message, "the nodes bear 70400000 vertices");
    arena_destroy(&arena);
}

TEST(rig, refuses_joints_that_the_skin_does_not_have)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    RigNode node[2];
    RigPrimitive primitive;
    RigMesh mesh;
    RigSkin skin;
    Rig rig = square_rig(node, &primitive, &mesh, &skin);

    node[0].skin = 0;
    skin.joint_count = 1;
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message,
                     "mesh \"square\" uses joint 1 of skin \"skin0\", which has 1 joints");
    arena_destroy(&arena);
}

TEST(rig, refuses_indices_behind_the_last_vertex)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    RigNode node[2];
    RigPrimitive primitive;
    RigMesh mesh;
    RigSkin skin;
    Rig rig = square_rig(node, &primitive, &mesh, &skin);

    primitive.vertex_count = 3;
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "mesh \"square\", primitive 0: index 5 refers to vertex 3 of 3");
    arena_destroy(&arena);
}

TEST(rig, places_morph_weights_of_nodes_one_after_another)
{
    Arena arena = test_arena(1 << 16);
    Error err = {0};
    static const float weight0[4] = {0.25f, 0.5f, 0.75f, 1.0f};
    const RigMorph morph[2] = {{NULL, NULL}, {NULL, NULL}};
    RigNode node[3] = {node_at("a", -1, 0, 0, 0), node_at("b", -1, 0, 0, 0),
                       node_at("c", -1, 0, 0, 0)};
    RigPrimitive primitive = {.morph_count = 2, .material = -1, .morph = morph};
    RigMesh mesh = {.primitive_count = 1, .morph_count = 2, .primitive = &primitive};
    Rig rig = {.node_count = 3, .mesh_count = 1, .node = node, .mesh = &mesh};

    node[0].mesh = node[2].mesh = 0;
    rig.morph_weight0 = weight0;
    rig.morph_weight_count = 4;
    CHECK_INT(rig_finish(&rig, &arena, &err), ==, STATUS_OK);
    CHECK_OK(&err);
    CHECK_INT(rig.node[0].rest_weight, ==, 0);
    CHECK_INT(rig.node[1].rest_weight, ==, -1);
    CHECK_INT(rig.node[2].rest_weight, ==, 2);
    arena_destroy(&arena);
}

TEST(rig, is_finished_or_refused_at_every_arena_size)
{
    for (size_t capacity = 1; capacity < 8192; capacity += 61) {
        Arena arena = test_arena(capacity);
        Error err = {0};
        RigNode node[2];
        RigPrimitive primitive;
        RigMesh mesh;
        RigSkin skin;
        Rig rig = square_rig(node, &primitive, &mesh, &skin);

        if (rig_finish(&rig, &arena, &err))
            CHECK_INT(err.status, ==, STATUS_NO_MEMORY);
        else
            CHECK_EQUAL_TEXT(rig.node[1].key, "top");
        arena_destroy(&arena);
    }
}

TEST(humanoid, every_role_is_found_by_its_name)
{
    for (int i = 0; i < ROLE_COUNT; i++)
        CHECK_INT((int)humanoid_role_find(humanoid_role_name((HumanoidRole)i)), ==, i);
    CHECK_INT(humanoid_role_find("tail"), ==, ROLE_COUNT);
}

TEST(warnings, are_kept_up_to_their_number_and_then_counted)
{
    Arena arena = test_arena(1 << 12);
    Warnings warnings = warnings_open(&arena, 2);

    for (int i = 0; i < 5; i++)
        warnings_add(&warnings, "code", "number %d", i);
    CHECK_INT(warnings.count, ==, 2);
    CHECK_INT(warnings.dropped, ==, 3);
    CHECK_EQUAL_TEXT(warnings.warning[1].detail, "number 1");
    arena_destroy(&arena);
}
