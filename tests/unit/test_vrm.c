#include "base/json.h"
#include "support/check.h"
#include "support/reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A few roundings of the numbers that stand in these tests. */
static const double TOLERANCE = 1e-6;

#define HEAD "{'asset':{'version':'2.0'},"

/* Nodes 0 (root) - 1 (a) - 2 (b) - 3 (c) - 4 (d), and 5 (other) beside the root. b is turned a
 * quarter about z, c is scaled by 2. */
#define CHAIN                                                                                      \
    "'nodes':[{'name':'root','children':[1]},{'name':'a','translation':[0,1,0],'children':[2]},"   \
    "{'name':'b','translation':[0,2,0],'rotation':[0,0,0.7071067811865476,0.7071067811865476],"    \
    "'children':[3]},{'name':'c','translation':[3,0,0],'scale':[2,2,2],'children':[4]},"           \
    "{'name':'d','translation':[0,0,1]},{'name':'other'}],"

static Status read_vrm(Reading *reading, const char *nodes, const char *extensions)
{
    char text[8192];

    (void)snprintf(text, sizeof text, HEAD "%s'extensions':{%s}}", nodes, extensions);
    return reading_text(reading, text, NULL, 0);
}

/* The chain's springs, read without failure. */
static void read_springs(Reading *reading, const char *body)
{
    char extension[4096];

    (void)snprintf(extension, sizeof extension, "'VRMC_springBone':{'specVersion':'1.0',%s}", body);
    CHECK_INT(read_vrm(reading, CHAIN, extension), ==, STATUS_OK);
    CHECK_OK(&reading->err);
}

/* --- VRM 1.0 springs --- */

TEST(vrm, joints_have_the_defaults_of_the_specification)
{
    Reading reading = reading_open();

    read_springs(&reading, "'springs':[{'joints':[{'node':1},{'node':2}]}]");
    const RigSpring *spring = &reading.rig->spring[0];
    CHECK_INT(spring->segment_count, ==, 1);
    CHECK(spring->refusal == NULL && spring->has_parameters);
    CHECK_INT(spring->center, ==, -1);
    CHECK_EQUAL_TEXT(spring->key, "spring0");
    const RigSegment *segment = &spring->segment[0];
    CHECK_NEAR(segment->stiffness, 1.0, 0.0);
    CHECK_NEAR(segment->drag, 0.5, 0.0);
    CHECK_NEAR(segment->gravity_power, 0.0, 0.0);
    CHECK_NEAR(segment->hit_radius, 0.0, 0.0);
    CHECK_VEC3(segment->gravity_dir, 0, -1, 0, TOLERANCE);
    CHECK_VEC3(segment->tail_offset, 0, 2, 0, TOLERANCE);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    reading_close(&reading);
}

/* The head's entry holds for its pair; the last entry's parameters are nobody's. */
TEST(vrm, parameters_of_the_head_drive_a_segment)
{
    Reading reading = reading_open();

    read_springs(&reading,
                 "'springs':[{'name':'lock','joints':[{'node':1,'hitRadius':0.1,'stiffness':2,"
                 "'dragForce':0.25,'gravityPower':3,'gravityDir':[1,0,0]},{'node':2,'hitRadius':"
                 "0.2},{'node':3,'hitRadius':0.9,'stiffness':9}]}]");
    const RigSpring *spring = &reading.rig->spring[0];
    CHECK_INT(spring->segment_count, ==, 2);
    CHECK_INT(spring->segment[0].head, ==, 1);
    CHECK_INT(spring->segment[0].tail, ==, 2);
    CHECK_NEAR(spring->segment[0].hit_radius, 0.1, 1e-7);
    CHECK_NEAR(spring->segment[0].stiffness, 2.0, 0.0);
    CHECK_NEAR(spring->segment[0].drag, 0.25, 0.0);
    CHECK_NEAR(spring->segment[0].gravity_power, 3.0, 0.0);
    CHECK_VEC3(spring->segment[0].gravity_dir, 1, 0, 0, TOLERANCE);
    CHECK_NEAR(spring->segment[1].hit_radius, 0.2, 1e-7);
    CHECK_NEAR(spring->segment[1].stiffness, 1.0, 0.0);
    reading_close(&reading);
}

/* From a to d: d in c is (0,0,1), in b (3,0,2) for c's scale, in a Rz(90)(3,0,2) + (0,2,0). */
TEST(vrm, tail_of_skipped_nodes_is_their_whole_transform)
{
    Reading reading = reading_open();

    read_springs(&reading, "'springs':[{'joints':[{'node':1},{'node':4}]}]");
    CHECK_VEC3(reading.rig->spring[0].segment[0].tail_offset, 0, 5, 2, TOLERANCE);
    reading_close(&reading);
}

/* Node 2 is the root, 0 its child, 1 the child of that. */
TEST(vrm, finds_chains_whose_children_come_before_their_parents)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading,
                       "'nodes':[{'translation':[0,1,0],'children':[1]},{'translation':[0,2,0]},"
                       "{'children':[0]}],",
                       "'VRMC_springBone':{'springs':[{'joints':[{'node':2},{'node':0},{'node':1}]}"
                       "]}"),
              ==, STATUS_OK);
    CHECK_INT(reading.rig->spring[0].segment_count, ==, 2);
    CHECK_VEC3(reading.rig->spring[0].segment[1].tail_offset, 0, 2, 0, TOLERANCE);
    reading_close(&reading);
}

TEST(vrm, lists_of_one_joint_and_of_none_are_no_error)
{
    Reading reading = reading_open();

    read_springs(&reading, "'springs':[{'joints':[{'node':1}]},{'joints':[]},{}]");
    CHECK_INT(reading.rig->spring_count, ==, 3);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(reading.rig->spring[i].segment_count, ==, 0);
        CHECK(reading.rig->spring[i].refusal == NULL);
    }
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    reading_close(&reading);
}

TEST(vrm, refuses_a_joint_that_is_not_below_the_one_before)
{
    Reading reading = reading_open();

    read_springs(&reading,
                 "'springs':[{'joints':[{'node':1},{'node':2},{'node':5}]},"
                 "{'joints':[{'node':3},{'node':2}]},{'joints':[{'node':3},{'node':3}]},"
                 "{'joints':[{'node':1},{'node':2}]},{'joints':[{'node':99},{'node':2}]}]");
    const RigSpring *spring = reading.rig->spring;
    CHECK_EQUAL_TEXT(spring[0].refusal, "joint \"other\" is not below \"b\", the one before it");
    CHECK_INT(spring[0].segment_count, ==, 0);
    CHECK_EQUAL_TEXT(spring[1].refusal, "joint \"b\" is not below \"c\", the one before it");
    CHECK_EQUAL_TEXT(spring[2].refusal, "joint \"c\" is not below \"c\", the one before it");
    // what a refused spring had is free again
    CHECK(spring[3].refusal == NULL);
    CHECK_INT(spring[3].segment_count, ==, 1);
    CHECK_EQUAL_TEXT(spring[4].refusal, "joint 0 is a node that does not exist");
    CHECK_INT(reading_warnings(&reading, "spring_refused"), ==, 4);
    reading_close(&reading);
}

TEST(vrm, keeps_the_first_of_two_springs_that_share_a_joint)
{
    Reading reading = reading_open();

    read_springs(&reading, "'springs':[{'joints':[{'node':2},{'node':3}]},"
                           "{'joints':[{'node':2},{'node':4}]},"
                           "{'joints':[{'node':0},{'node':1},{'node':2},{'node':4}]}]");
    const RigSpring *spring = reading.rig->spring;
    CHECK_INT(spring[0].segment_count, ==, 1);
    CHECK_EQUAL_TEXT(spring[1].refusal, "node 2 \"b\" belongs to spring 0 already");
    CHECK(spring[2].refusal == NULL);
    CHECK_INT(spring[2].segment_count, ==, 2);
    CHECK_TEXT(reading_warning(&reading, "spring_shortened"),
               "spring 2 \"\" ends after 2 segments: node 2 \"b\" belongs to spring 0 already");
    reading_close(&reading);
}

TEST(vrm, a_skipped_node_belongs_to_its_spring)
{
    Reading reading = reading_open();

    read_springs(&reading,
                 "'springs':[{'joints':[{'node':1},{'node':3}]},"
                 "{'joints':[{'node':2},{'node':3}]},{'joints':[{'node':3},{'node':4}]}]");
    const RigSpring *spring = reading.rig->spring;
    CHECK_EQUAL_TEXT(spring[1].refusal, "node 2 \"b\" belongs to spring 0 already");
    // a tail is moved, not turned: a spring may begin there
    CHECK(spring[2].refusal == NULL);
    CHECK_INT(spring[2].segment_count, ==, 1);

    read_springs(&reading, "'springs':[{'joints':[{'node':2},{'node':3}]},"
                           "{'joints':[{'node':1},{'node':4}]}]");
    CHECK_EQUAL_TEXT(reading.rig->spring[1].refusal, "node 2 \"b\" belongs to spring 0 already");
    reading_close(&reading);
}

TEST(vrm, centers_are_above_or_at_the_first_joint)
{
    Reading reading = reading_open();

    read_springs(&reading, "'springs':[{'center':0,'joints':[{'node':1},{'node':2}]},"
                           "{'center':2,'joints':[{'node':2},{'node':3}]},"
                           "{'center':4,'joints':[{'node':3},{'node':4}]},"
                           "{'center':5,'joints':[{'node':0},{'node':1}]},"
                           "{'center':6,'joints':[]},{'center':-1,'joints':[]}]");
    const RigSpring *spring = reading.rig->spring;
    CHECK_INT(spring[0].center, ==, 0);
    CHECK_INT(spring[1].center, ==, 2);
    // below its own spring: of no use; beside it: odd, but what other programs do
    CHECK_INT(spring[2].center, ==, -1);
    CHECK_INT(spring[3].center, ==, 5);
    CHECK_INT(spring[4].center, ==, -1);
    CHECK_INT(spring[5].center, ==, -1);
    CHECK_INT(reading_warnings(&reading, "spring_center"), ==, 4);
    reading_close(&reading);
}

/* Power times length of the direction is what moves the joint. */
TEST(vrm, brings_parameters_into_range)
{
    Reading reading = reading_open();

    read_springs(&reading,
                 "'springs':[{'joints':[{'node':1,'gravityDir':[0,-2,0],'gravityPower':0.5,"
                 "'dragForce':1.5,'stiffness':-1,'hitRadius':-0.1},{'node':2,'gravityDir':[0,0,0],"
                 "'gravityPower':1},{'node':3}]}]");
    const RigSegment *segment = reading.rig->spring[0].segment;
    CHECK_VEC3(segment[0].gravity_dir, 0, -1, 0, TOLERANCE);
    CHECK_NEAR(segment[0].gravity_power, 1.0, 1e-7);
    CHECK_NEAR(segment[0].drag, 1.0, 0.0);
    CHECK_NEAR(segment[0].stiffness, 0.0, 0.0);
    CHECK_NEAR(segment[0].hit_radius, 0.0, 0.0);
    CHECK_VEC3(segment[1].gravity_dir, 0, 0, 0, TOLERANCE);
    CHECK_INT(reading_warnings(&reading, "spring_parameter"), ==, 1);
    CHECK_INT(reading_warnings(&reading, "spring_gravity"), ==, 1);
    reading_close(&reading);
}

TEST(vrm, keeps_the_order_of_colliders_and_each_once)
{
    Reading reading = reading_open();

    read_springs(&reading,
                 "'colliders':[{'node':0,'shape':{'sphere':{}}},{'node':1,'shape':{'sphere':{}}},"
                 "{'node':99,'shape':{'sphere':{}}},{'node':2,'shape':{'sphere':{}}}],"
                 "'colliderGroups':[{'colliders':[3,2,1]},{'colliders':[0,1,7]},{}],"
                 "'springs':[{'joints':[{'node':1},{'node':2}],'colliderGroups':[0,2,1,5]}]");
    const RigSpring *spring = &reading.rig->spring[0];
    CHECK_INT(reading.rig->collider_count, ==, 3);
    CHECK_EQUAL_TEXT(reading.rig->collider[2].key, "collider3");
    CHECK_INT(spring->collider_count, ==, 3);
    CHECK_INT(spring->collider[0], ==, 2);
    CHECK_INT(spring->collider[1], ==, 1);
    CHECK_INT(spring->collider[2], ==, 0);
    CHECK_TEXT(reading_warning(&reading, "collider_node"), "collider 2");
    CHECK_TEXT(reading_warning(&reading, "collider_missing"), "collider group 1 names collider 7");
    CHECK_TEXT(reading_warning(&reading, "collider_group_missing"), "names collider group 5 of 3");
    reading_close(&reading);
}

/* --- colliders --- */

static const RigCollider *read_collider(Reading *reading, const char *collider)
{
    char body[2048];

    (void)snprintf(body, sizeof body, "'colliders':[{'node':1,%s}]", collider);
    read_springs(reading, body);
    return reading->rig->collider_count ? &reading->rig->collider[0] : NULL;
}

TEST(vrm, reads_spheres_and_capsules)
{
    Reading reading = reading_open();
    const RigCollider *collider = read_collider(
        &reading, "'shape':{'capsule':{'offset':[1,2,3],'tail':[4,5,6],'radius':0.5}}");

    CHECK_INT(collider->kind, ==, COLLIDER_CAPSULE);
    CHECK_INT(collider->node, ==, 1);
    CHECK_VEC3(collider->offset, 1, 2, 3, TOLERANCE);
    CHECK_VEC3(collider->tail, 4, 5, 6, TOLERANCE);
    CHECK_NEAR(collider->radius, 0.5, 0.0);
    collider = read_collider(&reading, "'shape':{'sphere':{'radius':0.25}}");
    CHECK_INT(collider->kind, ==, COLLIDER_SPHERE);
    CHECK_VEC3(collider->offset, 0, 0, 0, TOLERANCE);
    CHECK(!collider->is_inside);
    // a missing radius is 0, as in the specification
    CHECK_NEAR(read_collider(&reading, "'shape':{'sphere':{}}")->radius, 0.0, 0.0);
    CHECK(read_collider(&reading, "'shape':{'cube':{}}") == NULL);
    CHECK(read_collider(&reading, "'shape':{'plane':{}}") == NULL);
    reading_close(&reading);
}

#define EXTENDED(content)                                                                          \
    "'extensions':{'VRMC_springBone_extended_collider':{" content "}},'shape':{'sphere':{"         \
    "'offset':[0,-10000,0]}}"

TEST(vrm, reads_extended_shapes)
{
    Reading reading = reading_open();
    const RigCollider *collider =
        read_collider(&reading, EXTENDED("'specVersion':'1.0','shape':{'plane':{'normal':[0,3,4],"
                                         "'offset':[1,0,0]}}"));

    CHECK_INT(collider->kind, ==, COLLIDER_PLANE);
    CHECK_VEC3(collider->normal, 0, 0.6, 0.8, TOLERANCE);
    CHECK_VEC3(collider->offset, 1, 0, 0, TOLERANCE);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    collider = read_collider(&reading, EXTENDED("'specVersion':'1.0','shape':{'plane':{}}"));
    CHECK_VEC3(collider->normal, 0, 0, 1, TOLERANCE);
    collider = read_collider(&reading, EXTENDED("'specVersion':'1.0','shape':{'sphere':{'radius':2,"
                                                "'inside':true}}"));
    CHECK_INT(collider->kind, ==, COLLIDER_SPHERE);
    CHECK(collider->is_inside);
    collider = read_collider(&reading, EXTENDED("'specVersion':'1.0','shape':{'capsule':{'radius':"
                                                "2,'tail':[0,1,0],'inside':true}}"));
    CHECK_INT(collider->kind, ==, COLLIDER_CAPSULE);
    CHECK(collider->is_inside);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    reading_close(&reading);
}

TEST(vrm, uses_an_extended_shape_without_version_and_the_plain_one_of_another_version)
{
    Reading reading = reading_open();

    CHECK_INT(read_collider(&reading, EXTENDED("'shape':{'plane':{}}"))->kind, ==, COLLIDER_PLANE);
    CHECK_TEXT(reading_warning(&reading, "collider_version"), "no specVersion and is read as 1.0");

    const RigCollider *plain =
        read_collider(&reading, EXTENDED("'specVersion':'2.0','shape':{'plane':{}}"));
    CHECK_INT(plain->kind, ==, COLLIDER_SPHERE);
    CHECK_VEC3(plain->offset, 0, -10000, 0, TOLERANCE);
    CHECK_NEAR(plain->radius, 0.0, 0.0);
    CHECK_TEXT(reading_warning(&reading, "collider_version"), "another version than 1.0");

    // the specification's misprint is no shape
    plain = read_collider(&reading, EXTENDED("'specVersion':'1.0','shape':{'palne':{}}"));
    CHECK_INT(plain->kind, ==, COLLIDER_SPHERE);
    CHECK_TEXT(reading_warning(&reading, "collider_shape"), "its plain shape is used");
    reading_close(&reading);
}

TEST(vrm, uses_an_extended_shape_without_a_plain_one)
{
    Reading reading = reading_open();
    const RigCollider *collider =
        read_collider(&reading, "'extensions':{'VRMC_springBone_extended_collider':{'specVersion':"
                                "'1.0','shape':{'plane':{}}}}");

    CHECK_INT(collider->kind, ==, COLLIDER_PLANE);
    CHECK_TEXT(reading_warning(&reading, "collider_shape"), "has an extended shape only");
    reading_close(&reading);
}

TEST(vrm, warns_of_colliders_on_nodes_with_uneven_or_mirrored_scale)
{
    Reading reading = reading_open();
    const char *springs = "'VRMC_springBone':{'colliders':[{'node':0,'shape':{'sphere':{}}}]}";

    CHECK_INT(read_vrm(&reading, "'nodes':[{'scale':[1,2,1]}],", springs), ==, STATUS_OK);
    CHECK_TEXT(reading_warning(&reading, "collider_scale"), "scaled by 1, 2, 1");
    CHECK_INT(read_vrm(&reading, "'nodes':[{'scale':[-2,2,2]}],", springs), ==, STATUS_OK);
    CHECK_TEXT(reading_warning(&reading, "collider_scale"), "mirrored");
    CHECK_INT(read_vrm(&reading, "'nodes':[{'scale':[2,2,2]}],", springs), ==, STATUS_OK);
    CHECK_INT(reading_warnings(&reading, "collider_scale"), ==, 0);
    reading_close(&reading);
}

/* (x, y, z) becomes 0.01 (x, z, -y); directions turn, parameters without length stay. */
TEST(vrm, converts_springs_and_colliders)
{
    Reading reading = reading_open();

    reading.options.unit = 0.01;
    reading.options.is_z_up = true;
    read_springs(&reading, "'colliders':[{'node':1,'shape':{'capsule':{'offset':[1,2,3],'tail':"
                           "[4,5,6],'radius':7}}}],'springs':[{'joints':[{'node':1,'hitRadius':8,"
                           "'gravityPower':9,'gravityDir':[0,0,-1]},{'node':4}]}]");
    const RigSegment *segment = &reading.rig->spring[0].segment[0];
    CHECK_VEC3(segment->tail_offset, 0, 0.02, -0.05, TOLERANCE);
    CHECK_VEC3(segment->gravity_dir, 0, -1, 0, TOLERANCE);
    CHECK_NEAR(segment->hit_radius, 0.08, 1e-7);
    CHECK_NEAR(segment->gravity_power, 9.0, 0.0);
    const RigCollider *collider = &reading.rig->collider[0];
    CHECK_VEC3(collider->offset, 0.01, 0.03, -0.02, TOLERANCE);
    CHECK_VEC3(collider->tail, 0.04, 0.06, -0.05, TOLERANCE);
    CHECK_NEAR(collider->radius, 0.07, 1e-7);
    reading_close(&reading);
}

TEST(vrm, limits_springs_and_their_colliders)
{
    Reading reading = reading_open();
    Error err = {0};
    Text text = text_open((size_t)1 << 24, &err);

    // 65,000 references in a group, taken by 40 springs
    text_add(&text, "{\"asset\":{\"version\":\"2.0\"},\"nodes\":[{}],\"extensions\":{"
                    "\"VRMC_springBone\":{\"colliders\":[{\"node\":0,\"shape\":{\"sphere\":{}}}],"
                    "\"colliderGroups\":[{\"colliders\":[0");
    for (int i = 0; i < 65000; i++)
        text_add(&text, ",0");
    text_add(&text, "]}],\"springs\":[{}");
    for (int i = 0; i < 40; i++)
        text_add(&text, ",{\"colliderGroups\":[0]}");
    text_add(&text, "]}}}");
    CHECK_OK(&err);
    CHECK_INT(reading_bytes(&reading, text_string(&text), text_length(&text)), ==, STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "the springs have more than 1048576 collider references");
    text_close(&text);
    reading_close(&reading);
}

/* --- humanoid, constraints --- */

TEST(vrm, reads_the_humanoid_of_version_1)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, CHAIN,
                       "'VRMC_vrm':{'specVersion':'1.0','humanoid':{'humanBones':{'hips':{'node':0}"
                       ",'leftThumbMetacarpal':{'node':1},'tail':{'node':2},'head':{'node':0},"
                       "'jaw':{'node':77}}}}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_EQUAL_TEXT(reading.rig->format, "vrm1");
    CHECK(reading.rig->is_humanoid);
    CHECK_INT(reading.rig->role[ROLE_HIPS], ==, 0);
    CHECK_INT(reading.rig->role[ROLE_LEFT_THUMB_METACARPAL], ==, 1);
    CHECK_INT(reading.rig->role[ROLE_HEAD], ==, -1);
    CHECK_VEC3(reading.rig->forward, 0, 0, 1, TOLERANCE);
    CHECK_INT(reading_warnings(&reading, "humanoid_bone_ignored"), ==, 2);
    CHECK_TEXT(reading_warning(&reading, "humanoid_node_twice"),
               "node 0 is the humanoid bones \"hips\" and \"head\"");
    CHECK_TEXT(reading_warning(&reading, "humanoid_incomplete"),
               "required humanoid bones are missing: spine, head, leftUpperLeg");
    reading_close(&reading);
}

TEST(vrm, parses_node_constraints)
{
    Reading reading = reading_open();

    CHECK_INT(
        read_vrm(
            &reading,
            "'nodes':[{},{'extensions':{'VRMC_node_constraint':{'specVersion':'1.0','constraint':{"
            "'roll':{'source':0,'rollAxis':'Y','weight':0.5}}}}},{'extensions':{"
            "'VRMC_node_constraint':{'constraint':{'aim':{'source':0,'aimAxis':'NegativeZ'}}}}},"
            "{'extensions':{'VRMC_node_constraint':{'constraint':{'rotation':{'source':1,'weight':"
            "7}}}}},{'extensions':{'VRMC_node_constraint':{'constraint':{'rotation':{'source':4}}}}"
            "},{'extensions':{'VRMC_node_constraint':{'constraint':{'aim':{'source':1,'aimAxis':"
            "'Z-'}}}}}],",
            ""),
        ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->constraint_count, ==, 3);
    const RigConstraint *constraint = reading.rig->constraint;
    CHECK_INT(constraint[0].kind, ==, CONSTRAINT_ROLL);
    CHECK_INT(constraint[0].node, ==, 1);
    CHECK_INT(constraint[0].source, ==, 0);
    CHECK_VEC3(constraint[0].axis, 0, 1, 0, TOLERANCE);
    CHECK_NEAR(constraint[0].weight, 0.5, 0.0);
    CHECK_INT(constraint[1].kind, ==, CONSTRAINT_AIM);
    CHECK_VEC3(constraint[1].axis, 0, 0, -1, TOLERANCE);
    CHECK_NEAR(constraint[1].weight, 1.0, 0.0);
    CHECK_INT(constraint[2].kind, ==, CONSTRAINT_ROTATION);
    CHECK_NEAR(constraint[2].weight, 1.0, 0.0);
    CHECK_INT(reading_warnings(&reading, "constraint_ignored"), ==, 2);
    reading_close(&reading);
}

/* --- VRM 0.x --- */

/* Node 0 has children 1 and 4; 1 has 2 and 3. */
#define TREE                                                                                       \
    "'nodes':[{'name':'r','children':[1,4]},{'name':'a','translation':[0,-1,0],'children':[2,3]}," \
    "{'name':'aa','translation':[0,-2,0]},{'name':'ab','translation':[3,0,4]},{'name':'b',"        \
    "'translation':[1,0,0]}],"

TEST(vrm0, every_descendant_of_a_root_is_a_joint)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, TREE,
                       "'VRM':{'secondaryAnimation':{'boneGroups':[{'bones':[0],'stiffiness':2.5,"
                       "'dragForce':0.3,'gravityPower':0.1,'gravityDir':{'x':0,'y':0,'z':1},"
                       "'hitRadius':0.04,'center':-1}]}}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigSpring *spring = reading.rig->spring;
    CHECK_EQUAL_TEXT(reading.rig->format, "vrm0");
    CHECK_VEC3(reading.rig->forward, 0, 0, -1, TOLERANCE);
    // r - a - aa and its virtual tail; ab and b begin chains of their own, in file order
    CHECK_INT(reading.rig->spring_count, ==, 3);
    CHECK_INT(spring[0].segment_count, ==, 3);
    CHECK_INT(spring[0].segment[0].tail, ==, 1);
    CHECK_INT(spring[0].segment[1].tail, ==, 2);
    CHECK_INT(spring[0].segment[2].head, ==, 2);
    CHECK_INT(spring[0].segment[2].tail, ==, -1);
    CHECK_EQUAL_TEXT(spring[1].key, "ab");
    CHECK_INT(spring[1].segment_count, ==, 1);
    CHECK_EQUAL_TEXT(spring[2].key, "b");
    CHECK_INT(spring[0].center, ==, -1);
    CHECK_NEAR(spring[2].segment[0].stiffness, 2.5, 0.0);
    CHECK_NEAR(spring[2].segment[0].drag, 0.3, 1e-7);
    CHECK_NEAR(spring[2].segment[0].hit_radius, 0.04, 1e-7);
    // its direction keeps its sign, unlike the offsets of colliders
    CHECK_VEC3(spring[2].segment[0].gravity_dir, 0, 0, 1, TOLERANCE);
    CHECK_VEC3(spring[0].segment[0].tail_offset, 0, -1, 0, TOLERANCE);
    CHECK_VEC3(spring[0].segment[2].tail_offset, 0, -0.07, 0, TOLERANCE);
    CHECK_VEC3(spring[1].segment[0].tail_offset, 0.6 * 0.07, 0, 0.8 * 0.07, TOLERANCE);
    reading_close(&reading);
}

TEST(vrm0, leaf_tails_go_on_from_the_parent_in_every_direction)
{
    static const int directions[8][3] = {{1, 1, 1},  {1, 1, -1},  {1, -1, 1},  {1, -1, -1},
                                         {-1, 1, 1}, {-1, 1, -1}, {-1, -1, 1}, {-1, -1, -1}};

    for (int i = 0; i < 8; i++) {
        char nodes[512];
        const int *d = directions[i];
        Reading reading = reading_open();

        (void)snprintf(nodes, sizeof nodes,
                       "'nodes':[{'children':[1]},{'translation':[%d,%d,%d],'scale':[3,3,3],"
                       "'rotation':[0.5,0.5,0.5,0.5]}],",
                       2 * d[0], 2 * d[1], 2 * d[2]);
        CHECK_INT(read_vrm(&reading, nodes,
                           "'VRM':{'secondaryAnimation':{'boneGroups':[{'bones':[1]}]}}"),
                  ==, STATUS_OK);
        const RigSegment *segment = &reading.rig->spring[0].segment[0];
        CHECK_NEAR(vec3_length(segment->tail_offset), 0.07, 1e-7);
        // in the scene it is scaled by the node and points away from the parent
        World world[2];
        rig_rest_worlds(reading.rig, world);
        DVec3 tail = world_point(&world[1], segment->tail_offset);
        double reach = 3.0 * 0.07 / sqrt(3.0);
        CHECK_NEAR(tail.x, (2.0 + reach) * d[0], 1e-6);
        CHECK_NEAR(tail.y, (2.0 + reach) * d[1], 1e-6);
        CHECK_NEAR(tail.z, (2.0 + reach) * d[2], 1e-6);
        reading_close(&reading);
    }
}

TEST(vrm0, leaf_at_its_parent_has_no_direction)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, "'nodes':[{'children':[1]},{}],",
                       "'VRM':{'secondaryAnimation':{'boneGroups':[{'bones':[1]}]}}"),
              ==, STATUS_OK);
    CHECK_VEC3(reading.rig->spring[0].segment[0].tail_offset, 0, 0, 0, TOLERANCE);
    reading_close(&reading);
}

TEST(vrm0, collider_offsets_are_left_handed)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, TREE,
                       "'VRM':{'secondaryAnimation':{'colliderGroups':[{'node':2,'colliders':[{"
                       "'offset':{'x':1,'y':2,'z':3},'radius':0.5},{'radius':0.25}]},{'node':9,"
                       "'colliders':[{}]},{'node':1,'colliders':[{'radius':1}]}],'boneGroups':[{"
                       "'bones':[1],'colliderGroups':[2,0]}]}}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(reading.rig->collider_count, ==, 3);
    const RigCollider *collider = reading.rig->collider;
    CHECK_INT(collider[0].node, ==, 2);
    CHECK_VEC3(collider[0].offset, 1, 2, -3, TOLERANCE);
    CHECK_NEAR(collider[1].radius, 0.25, 0.0);
    CHECK_INT(collider[2].node, ==, 1);
    // every chain of the group has all of its colliders, in list order
    for (int i = 0; i < reading.rig->spring_count; i++) {
        const RigSpring *spring = &reading.rig->spring[i];
        CHECK_INT(spring->collider_count, ==, 3);
        CHECK_INT(spring->collider[0], ==, 2);
        CHECK_INT(spring->collider[1], ==, 0);
    }
    CHECK_TEXT(reading_warning(&reading, "collider_node"), "collider group 1");
    reading_close(&reading);
}

TEST(vrm0, a_bone_belongs_to_its_first_chain)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, TREE,
                       "'VRM':{'secondaryAnimation':{'boneGroups':[{'bones':[2,99]},{'bones':[0,2],"
                       "'center':4}]}}"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const RigSpring *spring = reading.rig->spring;
    CHECK_INT(reading.rig->spring_count, ==, 4);
    CHECK_EQUAL_TEXT(spring[0].key, "aa");
    CHECK_EQUAL_TEXT(spring[1].key, "r");
    CHECK_INT(spring[1].segment_count, ==, 2);
    CHECK_INT(spring[1].segment[1].tail, ==, 2);
    CHECK_INT(spring[1].center, ==, 4);
    CHECK_EQUAL_TEXT(spring[2].key, "ab");
    CHECK_TEXT(reading_warning(&reading, "spring_shared"), "bone group 1 has 1 roots");
    CHECK_TEXT(reading_warning(&reading, "spring_bone_missing"), "bone group 0 has root 99");
    reading_close(&reading);
}

TEST(vrm0, renames_the_bones_of_thumbs)
{
    Reading reading = reading_open();

    CHECK_INT(read_vrm(&reading, TREE,
                       "'VRM':{'humanoid':{'humanBones':[{'bone':'leftThumbProximal','node':1},"
                       "{'bone':'leftThumbIntermediate','node':2},{'bone':'leftThumbDistal','node':"
                       "3},{'bone':'jaw','node':-1}]}}"),
              ==, STATUS_OK);
    CHECK_INT(reading.rig->role[ROLE_LEFT_THUMB_METACARPAL], ==, 1);
    CHECK_INT(reading.rig->role[ROLE_LEFT_THUMB_PROXIMAL], ==, 2);
    CHECK_INT(reading.rig->role[ROLE_LEFT_THUMB_DISTAL], ==, 3);
    CHECK_INT(reading_warnings(&reading, "humanoid_bone_ignored"), ==, 0);
    reading_close(&reading);
}

/* --- real files --- */

TEST(vrm, refuses_the_file_whose_transform_is_not_finite)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/usd-vrm/nonfinite_transform.vrm"), ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "NaN is not JSON");
    reading_close(&reading);
}

TEST(vrm, refuses_the_file_whose_json_is_malformed)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/usd-vrm/malformed_glb_json.vrm"), ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message, "the JSON cannot be read: line 1, column 1");
    reading_close(&reading);
}

TEST(vrm, refuses_the_file_whose_joints_are_out_of_range)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/usd-vrm/out_of_range_joints.vrm"), ==, STATUS_INVALID);
    CHECK_TEXT(reading.err.message,
               "mesh \"Body\" uses joint 5 of skin \"skin0\", which has 2 joints");
    reading_close(&reading);
}

TEST(vrm, reads_the_file_with_a_duplicate_humanoid_bone)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/usd-vrm/duplicate_humanoid_bone.vrm"), ==, STATUS_OK);
    CHECK_INT(reading.rig->role[ROLE_HIPS], ==, 1);
    CHECK_INT(reading.rig->role[ROLE_SPINE], ==, 2);
    CHECK_TEXT(reading_warning(&reading, "humanoid_bone_twice"),
               "humanoid bone \"hips\" is given to nodes 1 and 2: the first is used");
    reading_close(&reading);
}

TEST(vrm, reads_the_file_with_a_missing_collider_group)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/usd-vrm/missing_spring_collider_group.vrm"), ==,
              STATUS_OK);
    CHECK_INT(reading.rig->spring[0].segment_count, ==, 1);
    CHECK_INT(reading.rig->spring[0].collider_count, ==, 0);
    CHECK_TEXT(reading_warning(&reading, "collider_group_missing"),
               "spring 0 \"Hair\" names collider group 5 of 1");
    reading_close(&reading);
}

TEST(vrm, reads_the_animation_as_nodes_and_a_clip)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/test.vrma"), ==, STATUS_OK);
    CHECK_EQUAL_TEXT(reading.rig->format, "vrma");
    CHECK_INT(reading.rig->node_count, ==, 53);
    CHECK_INT(reading.rig->clip[0].channel_count, ==, 3);
    CHECK_NEAR(reading.rig->clip[0].duration, 3.0, 0.05);
    CHECK_INT(reading.rig->role[ROLE_HIPS], ==, 0);
    reading_close(&reading);
}

/* The other program writes spaces in names as underscores. */
static void check_name(const char *actual, const char *expected)
{
    CHECK_INT(strlen(actual), ==, strlen(expected));
    for (size_t i = 0; actual[i] && expected[i]; i++)
        CHECK(actual[i] == expected[i] || (actual[i] == ' ' && expected[i] == '_'));
}

/* What an independent program made of a file: its list of joints. */
static void check_joint(const Rig *rig, const RigSegment *segment, const JsonReader *joint)
{
    check_name(rig->node[segment->head].name, json_text_or(joint, "bone", "", 200));
    check_name(segment->tail < 0 ? "" : rig->node[segment->tail].name,
               json_text_or(joint, "child", "", 200));
    CHECK_NEAR(segment->stiffness, json_number(joint, "stiffness", 0, 1e9), 1e-6);
    CHECK_NEAR(segment->drag, json_number(joint, "dragForce", 0, 1), 1e-6);
    CHECK_NEAR(segment->gravity_power, json_number(joint, "gravityPower", 0, 1e9), 1e-6);
    CHECK_NEAR(segment->hit_radius, json_number(joint, "hitRadius", 0, 1e9), 1e-6);
}

static void check_joints(const char *model, const char *expected)
{
    Error err = {0};
    JsonDocument document = {0};
    Bytes text = test_read_file(test_data_path(expected));
    Reading reading = reading_open();
    Faults faults = faults_open(&reading.arena, 1);
    JsonReader joint;
    bool more;

    CHECK_INT(reading_file(&reading, model), ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(json_open(text, 64, &document, &err), ==, STATUS_OK);
    JsonReader root = json_root(&document, &faults);
    JsonReader joints = json_member(&root, "joints");
    more = json_first(&joints, &joint);
    for (int i = 0; i < reading.rig->spring_count; i++)
        for (int j = 0; j < reading.rig->spring[i].segment_count; j++) {
            CHECK(more);
            check_joint(reading.rig, &reading.rig->spring[i].segment[j], &joint);
            more = json_next(&joint);
        }
    CHECK(!more);
    CHECK_INT(faults.count, ==, 0);
    json_close(&document);
    test_close_file(text);
    reading_close(&reading);
}

TEST(vrm, finds_the_joints_that_an_independent_program_finds)
{
    static const char *const conformance[] = {"smoke_spring",
                                              "springbone_collider_capsule_x0p02_r0p05",
                                              "springbone_collider_sphere_x0p02_r0p05",
                                              "springbone_extended_icaps_pmed",
                                              "springbone_extended_icaps_ptight",
                                              "springbone_extended_isphere_anglelimit_60",
                                              "springbone_extended_isphere_pmed",
                                              "springbone_extended_isphere_ptight",
                                              "springbone_extended_plane_ploose",
                                              "springbone_extended_plane_pmed",
                                              "springbone_extended_plane_ptight",
                                              "springbone_extended_plane_with_base_sphere",
                                              "swing_springbone_stiffness_0",
                                              "swing_springbone_stiffness_0p8",
                                              "swing_springbone_stiffness_1"};
    char model[256], expected[256];

    for (size_t i = 0; i < sizeof conformance / sizeof conformance[0]; i++) {
        (void)snprintf(model, sizeof model, "vrm/conformance/%s.vrm", conformance[i]);
        (void)snprintf(expected, sizeof expected, "vrm/expected/%s.json", conformance[i]);
        check_joints(model, expected);
    }
    check_joints("vrm/Godette_vrm_v4.vrm", "vrm/expected/Godette_vrm_v4.json");
    check_joints("vrm/mh_ponytail_avatar.vrm", "vrm/expected/mh_ponytail_avatar.json");
    check_joints("vrm/three-vrm/plane-collider.gltf", "vrm/expected/three-vrm_plane-collider.json");
    check_joints("vrm/three-vrm/sphere-collider.gltf",
                 "vrm/expected/three-vrm_sphere-collider.json");
    check_joints("vrm/usd-vrm/springbone.vrm", "vrm/expected/usd-vrm_springbone.json");
}

/* The first collider's offset in the file is (0, 0.06, -0.04): z turns. */
TEST(vrm0, reads_godette)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/Godette_vrm_v4.vrm"), ==, STATUS_OK);
    CHECK_EQUAL_TEXT(reading.rig->format, "vrm0");
    CHECK_INT(reading.rig->spring_count, ==, 8);
    CHECK_INT(reading.rig->collider_count, ==, 4);
    CHECK_NEAR(reading.rig->collider[0].offset.z, 0.04, 1e-6);
    CHECK_INT(reading.rig->mesh[0].morph_count, ==, 15);
    CHECK_EQUAL_TEXT(reading.rig->mesh[0].morph_name[3], "blink_left");
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    // FrontHair_Center_L_End is a leaf at (0, -0.06813, -0.03334) from its parent
    const RigSegment *leaf = &reading.rig->spring[0].segment[1];
    CHECK_INT(leaf->tail, ==, -1);
    CHECK_VEC3(leaf->tail_offset, 0.0, -0.07 * 0.06813443 / 0.07585480,
               -0.07 * 0.03334194 / 0.07585480, TOLERANCE);
    reading_close(&reading);
}

TEST(vrm, reads_the_ponytail_avatar)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "vrm/mh_ponytail_avatar.vrm"), ==, STATUS_OK);
    CHECK_EQUAL_TEXT(reading.rig->format, "vrm1");
    CHECK_INT(reading.rig->spring_count, ==, 3);
    CHECK_INT(reading.rig->spring[0].segment_count, ==, 5);
    CHECK_INT(reading.rig->spring[0].collider_count, ==, 4);
    CHECK_INT(reading.rig->spring[1].center, ==, 1);
    CHECK_NEAR(reading.rig->height, 1.674, 0.001);
    CHECK_INT(reading.rig->warnings.count, ==, 0);
    reading_close(&reading);
}
