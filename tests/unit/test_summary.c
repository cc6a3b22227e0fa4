#include "base/json.h"
#include "support/check.h"
#include "support/reading.h"

#include <string.h>

/* A summary as text, and as a document. */
typedef struct Summary {
    Reading reading;
    Text text;
    Error err;
    JsonDocument document;
    Faults faults;
    JsonReader root;
} Summary;

static void summarise(Summary *summary)
{
    CHECK_OK(&summary->reading.err);
    summary->err = (Error){0};
    summary->text = text_open((size_t)1 << 22, &summary->err);
    JsonWriter writer = json_writer(&summary->text, 0);
    asset_write_summary(summary->reading.rig, &writer);
    CHECK_OK(&summary->err);
    Bytes bytes = {(const uint8_t *)text_string(&summary->text), text_length(&summary->text)};
    CHECK_INT(json_open(bytes, 64, &summary->document, &summary->err), ==, STATUS_OK);
    summary->faults = faults_open(&summary->reading.arena, 1);
    summary->root = json_root(&summary->document, &summary->faults);
}

static void summary_close(Summary *summary)
{
    CHECK_INT(summary->faults.count, ==, 0);
    json_close(&summary->document);
    text_close(&summary->text);
    reading_close(&summary->reading);
}

static const char *const character =
    "{'asset':{'version':'2.0'},'nodes':[{'mesh':0},{'name':'hair','translation':[0,1,0],"
    "'children':[2]},{'translation':[0,-0.5,0]},{'name':'hair','scale':[2,2,2]}],'meshes':[{"
    "'name':'cap','primitives':[{'attributes':{'POSITION':0},'targets':[{}]}],'extras':{"
    "'targetNames':['smile']}}],'buffers':[{'byteLength':9,'uri':'b.bin'}],'bufferViews':[{"
    "'buffer':0,'byteLength':9}],'accessors':[{'bufferView':0,'count':3,'type':'VEC3',"
    "'componentType':5121}],'extensions':{'VRMC_vrm':{'humanoid':{'humanBones':{'hips':{'node':1}}}"
    "},'VRMC_springBone':{'colliders':[{'node':3,'shape':{'sphere':{'offset':[0,0.25,0.05],"
    "'radius':0.04}}},{'node':3,'shape':{'capsule':{'offset':[1,0,0],'tail':[1,1,0],'radius':0.1}}}"
    "],'colliderGroups':[{'colliders':[0,1]}],'springs':[{'name':'lock','center':1,"
    "'colliderGroups':[0],'joints':[{'node':1,'hitRadius':0.03,'stiffness':2},{'node':2}]},"
    "{'joints':[{'node':2},{'node':1}]}]}}}";

static void read_character(Summary *summary)
{
    static const uint8_t data[9] = {0, 0, 0, 1, 0, 0, 0, 2, 0};

    summary->reading = reading_open();
    CHECK_INT(reading_text(&summary->reading, character, data, sizeof data), ==, STATUS_OK);
    summarise(summary);
}

TEST(summary, counts_and_names_what_is_there)
{
    Summary summary;

    read_character(&summary);
    JsonReader counts = json_member(&summary.root, "counts");
    CHECK_EQUAL_TEXT(json_text(&summary.root, "format", 99), "vrm1");
    CHECK_EQUAL_TEXT(json_text(&summary.root, "name", 99), "test");
    CHECK_NEAR(json_number(&summary.root, "height", 0, 100), 2.0, 0.0);
    CHECK_INT(json_int(&counts, "nodes", 0, 100), ==, 4);
    CHECK_INT(json_int(&counts, "vertices", 0, 100), ==, 3);
    CHECK_INT(json_int(&counts, "triangles", 0, 100), ==, 1);
    CHECK_INT(json_int(&counts, "springs", 0, 100), ==, 2);
    CHECK_INT(json_int(&counts, "chains", 0, 100), ==, 1);
    CHECK_INT(json_int(&counts, "colliders", 0, 100), ==, 2);
    CHECK_TEXT(text_string(&summary.text), "{\"key\":\"hair#2\",\"index\":3,\"name\":\"hair\","
                                           "\"parent\":null}");
    CHECK_TEXT(text_string(&summary.text), "{\"key\":\"node2\",\"index\":2,\"name\":\"\","
                                           "\"parent\":\"hair\"}");
    CHECK_TEXT(text_string(&summary.text),
               "{\"key\":\"cap\",\"index\":0,\"name\":\"cap\",\"primitives\":1,\"vertices\":3,"
               "\"triangles\":1,\"morphs\":[\"smile\"],\"nodes\":[\"node0\"]}");
    CHECK_TEXT(text_string(&summary.text), "\"found\":{\"hips\":\"hair\"},\"missing\":[\"spine\"");
    summary_close(&summary);
}

/* The tail is at (0, 0.5, 0); the sphere, doubled, at (0, 0.5, 0.1) with radius 0.08: their
 * distance 0.1 is 0.01 less than 0.08 + 0.03. The capsule is 2 m away. */
TEST(summary, says_why_a_spring_is_not_simulated_and_what_overlaps_at_rest)
{
    Summary summary;
    JsonReader spring, joint, overlap;

    read_character(&summary);
    JsonReader springs = json_member(&summary.root, "springs");
    CHECK(json_first(&springs, &spring));
    CHECK(json_bool_or(&spring, "simulated", false));
    CHECK_EQUAL_TEXT(json_text(&spring, "center", 99), "hair");
    JsonReader joints = json_member(&spring, "joints");
    CHECK(json_first(&joints, &joint));
    CHECK_EQUAL_TEXT(json_text(&joint, "node", 99), "hair");
    CHECK_NEAR(json_number(&joint, "length", 0, 100), 0.5, 1e-7);
    CHECK_NEAR(json_number(&joint, "radius", 0, 100), 0.03, 1e-7);
    CHECK_NEAR(json_number(&joint, "stiffness", 0, 100), 2.0, 0.0);
    JsonReader overlaps = json_member(&spring, "rest_overlaps");
    CHECK_INT(json_count(&overlaps), ==, 1);
    CHECK(json_first(&overlaps, &overlap));
    CHECK_EQUAL_TEXT(json_text(&overlap, "node", 99), "hair");
    CHECK_EQUAL_TEXT(json_text(&overlap, "collider", 99), "collider0");
    CHECK_NEAR(json_number(&overlap, "depth", 0, 100), 0.01, 1e-6);
    CHECK(json_next(&spring));
    CHECK(!json_bool_or(&spring, "simulated", true));
    CHECK_EQUAL_TEXT(json_text(&spring, "reason", 200),
                     "joint \"hair\" is not below \"\", the one before it");
    summary_close(&summary);
}

TEST(summary, reports_the_fringe_of_a_real_file_that_starts_inside)
{
    Summary summary;
    JsonReader spring;

    summary.reading = reading_open();
    CHECK_INT(reading_file(&summary.reading, "vrm/conformance/"
                                             "springbone_extended_plane_with_base_sphere.vrm"),
              ==, STATUS_OK);
    summarise(&summary);
    JsonReader springs = json_member(&summary.root, "springs");
    CHECK(json_first(&springs, &spring));
    // the plane is 8 cm below the head, the chain hangs 5, 10 and 15 cm below it: 2 cm radius
    CHECK_TEXT(text_string(&summary.text), "\"kind\":\"plane\"");
    JsonReader overlaps = json_member(&spring, "rest_overlaps");
    CHECK_INT(json_count(&overlaps), >, 0);
    summary_close(&summary);
}
