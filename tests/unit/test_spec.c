#include "server/embedded.h"
#include "server/jobs/fields.h"
#include "server/jobs/spec.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A model with what a job may name: the decoder reads nothing else of it. */
static const RigNode nodes[] = {
    {.key = "root", .name = "root", .parent = -1, .mesh = -1, .skin = -1},
    {.key = "head", .name = "head", .parent = 0, .mesh = -1, .skin = -1},
    {.key = "Body", .name = "Body", .parent = 0, .mesh = 0, .skin = -1},
    {.key = "Backpack", .name = "Backpack", .parent = 0, .mesh = 1, .skin = -1},
    {.key = "ear", .name = "ear", .parent = 1, .mesh = -1, .skin = -1},
};
static const RigMesh meshes[] = {{.key = "BodyMesh"}, {.key = "Bag"}};
static const RigSpring springs[] = {
    {.key = "ponytail", .center = -1},
    {.key = "skirt", .center = -1},
    {.key = "broken", .center = -1, .refusal = "its joints are not one below the other"},
};
static const RigCollider colliders[] = {{.key = "chest"}, {.key = "neck"}};
static const Clip clips[] = {{.key = "Idle", .duration = 2.5}, {.key = "Walk", .duration = 1.0}};
static const Clip dance[] = {{.key = "Dance", .duration = 3.0}};

static const Rig model = {
    .node_count = 5,
    .node = nodes,
    .mesh_count = 2,
    .mesh = meshes,
    .spring_count = 3,
    .spring = springs,
    .collider_count = 2,
    .collider = colliders,
    .clip_count = 2,
    .clip = clips,
};
static const RigNode other_nodes[] = {
    {.key = "Root", .name = "Root", .parent = -1, .mesh = -1, .skin = -1},
    {.key = "Kopf", .name = "Kopf", .parent = 0, .mesh = -1, .skin = -1},
};
static const Rig other = {.node_count = 2, .node = other_nodes, .clip_count = 1, .clip = dance};
static const JobAsset assets[] = {{"a_dance", "a_dance", &other}};

typedef struct Fixture {
    Arena arena;
    Faults faults;
    JobContext context;
    JobSpec spec;
    Error err;
} Fixture;

static void open_fixture(Fixture *f)
{
    *f = (Fixture){.arena = test_arena(16 << 20)};
    f->faults = faults_open(&f->arena, JOB_FAULTS_MAX);
    f->context = (JobContext){
        .rig = &model,
        .model_id = "m_1",
        .model_sha256 = "",
        .asset_count = 1,
        .asset = assets,
        .limits = job_limits_default(),
    };
}

static Status decode(Fixture *f, const char *json)
{
    JsonDocument document;

    if (json_open((Bytes){(const uint8_t *)json, strlen(json)}, JOB_JSON_DEPTH, &document, &f->err))
        return f->err.status;
    Status status =
        job_spec_decode(&document, &f->context, &f->arena, &f->faults, &f->spec, &f->err);
    json_close(&document);
    return status;
}

/* Members of a job beside "model" and one simulation. */
static Status decode_members(Fixture *f, const char *members)
{
    char json[4096];

    (void)snprintf(json, sizeof json,
                   "{\"model\": \"m_1\", \"simulations\": [{\"type\": \"chains\"}]%s%s}",
                   members[0] ? ", " : "", members);
    return decode(f, json);
}

/* Members of its simulation. */
static Status decode_chains(Fixture *f, const char *members)
{
    char json[4096];

    (void)snprintf(json, sizeof json,
                   "{\"model\": \"m_1\", \"simulations\": [{\"type\": \"chains\"%s%s}]}",
                   members[0] ? ", " : "", members);
    return decode(f, json);
}

/* CHECK_INT names its arguments twice: the status is taken first. */
static void expect(Status status, Status expected)
{
    CHECK_INT(status, ==, expected);
}

static bool has_fault(const Fixture *f, const char *pointer, const char *detail)
{
    for (int i = 0; i < f->faults.count && i < f->faults.capacity; i++)
        if (strcmp(f->faults.fault[i].pointer, pointer) == 0 &&
            strstr(f->faults.fault[i].detail, detail))
            return true;
    (void)fprintf(stderr, "no fault \"%s ... %s\" among:\n", pointer, detail);
    for (int i = 0; i < f->faults.count && i < f->faults.capacity; i++)
        (void)fprintf(stderr, "  %s %s\n", f->faults.fault[i].pointer, f->faults.fault[i].detail);
    return false;
}

TEST(spec, fills_in_the_defaults_of_the_contract)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_members(&f, ""), STATUS_OK);
    CHECK_OK(&f.err);
    const BakeSpec *bake = &f.spec.bake;
    CHECK_INT(bake->motion.kind, ==, MOTION_STILL);
    CHECK_NEAR(bake->time.start, 0, 0);
    CHECK_NEAR(bake->time.warm_up, 0.5, 0);
    CHECK_NEAR(bake->time.settle, 0, 0);
    CHECK_INT(bake->time.fps_numerator, ==, 30);
    CHECK_INT(bake->time.fps_denominator, ==, 1);
    CHECK_INT(bake->time.substeps_per_second, ==, 120);
    CHECK_NEAR(bake->forces.gravity.y, -9.81f, 0);
    CHECK_INT(bake->forces.wind_seed, ==, 1);
    CHECK_INT(bake->measure_rate, ==, 30);
    CHECK_INT(bake->output.precision, ==, 16);
    CHECK(bake->output.channel[CHANNEL_JOINTS] && bake->output.channel[CHANNEL_SEGMENTS]);
    CHECK(!bake->output.channel[CHANNEL_POSITIONS]);
    CHECK_INT(f.spec.priority, ==, 0);
    CHECK(f.spec.use_cache && !f.spec.is_kept);
    const ChainsSpec *chains = &bake->simulation[0].chains;
    CHECK_INT(bake->simulation_count, ==, 1);
    CHECK_INT(bake->simulation[0].rate, ==, 120);
    CHECK(bake->simulation[0].is_enabled);
    CHECK_INT(bake->simulation[0].colliders, ==, COLLIDERS_FILE);
    CHECK_INT(chains->mode, ==, CHAINS_REST_FRAME);
    CHECK_INT(chains->rest, ==, CHAINS_REST_ATTACHMENT);
    CHECK_INT(chains->contact, ==, CHAINS_CONTACT_AUTO);
    CHECK_INT(chains->contact_velocity, ==, CHAINS_VELOCITY_REBUILT);
    CHECK_INT(chains->target_count, ==, -1);
    CHECK(isnan(chains->parameters.stiffness) && isnan(chains->parameters.damping));
    CHECK(isnan(chains->parameters.gravity) && isnan(chains->parameters.radius));
    CHECK_NEAR(chains->parameters.min_damping_ratio, 0.35f, 0);
    CHECK_NEAR(chains->parameters.teleport_distance, 1, 0);
    CHECK_INT(chains->parameters.center, ==, -2);
    arena_destroy(&f.arena);
}

TEST(spec, resolves_names_and_indices)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_chains(&f, "\"target\": [\"skirt\", 0, \"skirt\"], \"colliders\": [1],"
                             "\"center\": \"head\", \"overrides\": {\"skirt\": {\"damping\": 7,"
                             "\"enabled\": false, \"gravity\": [1, 2, 3]}, \"0\": {\"center\": "
                             "false}}"),
           STATUS_OK);
    CHECK_OK(&f.err);
    const SimulationSpec *simulation = &f.spec.bake.simulation[0];
    const ChainsSpec *chains = &simulation->chains;
    CHECK_INT(chains->target_count, ==, 2);
    CHECK_INT(chains->target[0], ==, 1);
    CHECK_INT(chains->target[1], ==, 0);
    CHECK_INT(simulation->colliders, ==, COLLIDERS_LIST);
    CHECK_INT(simulation->collider[0], ==, 1);
    CHECK_INT(chains->parameters.center, ==, 1);
    CHECK_INT(chains->override_count, ==, 2);
    CHECK_INT(chains->override[0].spring, ==, 1);
    CHECK_NEAR(chains->override[0].parameters.damping, 7, 0);
    CHECK(chains->override[0].parameters.is_disabled);
    CHECK(chains->override[0].parameters.gravity_is_vector);
    CHECK_NEAR(chains->override[0].parameters.gravity_vector.z, 3, 0);
    CHECK(isnan(chains->override[0].parameters.stiffness));
    CHECK_INT(chains->override[1].spring, ==, 0);
    CHECK_INT(chains->override[1].parameters.center, ==, -1);
    arena_destroy(&f.arena);
}

TEST(spec, lets_a_job_define_chains_and_name_them)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_chains(&f, "\"define\": [{\"name\": \"ear\", \"root\": 4}], \"target\": "
                             "\"ear\", \"overrides\": {\"ear\": {\"stiffness\": 100}}"),
           STATUS_OK);
    CHECK_OK(&f.err);
    const ChainsSpec *chains = &f.spec.bake.simulation[0].chains;
    CHECK_INT(chains->define[0].root, ==, 4);
    CHECK_INT(chains->define[0].end, ==, -1);
    CHECK_INT(chains->define[0].attach, ==, -1);
    CHECK_INT(chains->target[0], ==, 3);
    CHECK_INT(chains->override[0].spring, ==, 3);
    arena_destroy(&f.arena);
}

TEST(spec, takes_the_end_from_the_motion)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_members(&f, "\"animation\": {\"clip\": \"Idle\"}"), STATUS_OK);
    CHECK_NEAR(f.spec.bake.time.end, 2.5, 0);
    CHECK_INT(f.spec.frame_count, ==, 76);
    expect(decode_members(&f, "\"animation\": {\"procedural\": \"head_turn\"}"), STATUS_OK);
    CHECK_NEAR(f.spec.bake.time.end, 4, 0);
    CHECK_NEAR(f.spec.bake.time.settle, 8, 0);
    CHECK_INT(f.spec.frame_count, ==, 121);
    expect(decode_members(&f, "\"animation\": {\"animation\": \"a_dance\"}"), STATUS_OK);
    CHECK_NEAR(f.spec.bake.time.end, 3, 0);
    CHECK(f.spec.bake.motion.source == &other);
    CHECK_EQUAL_TEXT(f.spec.animation_id, "a_dance");
    arena_destroy(&f.arena);
}

TEST(spec, takes_ntsc_rates_and_fractions_exactly)
{
    static const struct {
        const char *fps;
        int numerator, denominator;
    } cases[] = {{"23.976", 24000, 1001}, {"29.97", 30000, 1001},
                 {"59.94", 60000, 1001},  {"\"24000/1001\"", 24000, 1001},
                 {"\"60/2\"", 30, 1},     {"25", 25, 1},
                 {"12.5", 25, 2}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        char members[64];

        open_fixture(&f);
        (void)snprintf(members, sizeof members, "\"time\": {\"fps\": %s}", cases[i].fps);
        expect(decode_members(&f, members), STATUS_OK);
        CHECK_INT(f.spec.bake.time.fps_numerator, ==, cases[i].numerator);
        CHECK_INT(f.spec.bake.time.fps_denominator, ==, cases[i].denominator);
        arena_destroy(&f.arena);
    }
}

TEST(spec, refuses_rates_that_are_none)
{
    static const char *const cases[][2] = {
        {"0.5", "must be a number from 1 to 240"},
        {"241", "must be a number from 1 to 240"},
        {"24.97531", "at most three decimals"},
        {"\"24000/0\"", "must be a number or a fraction"},
        {"\"1/1001\"", "must be from 1 to 240"},
        {"\"99999999999999999999/1\"", "must be a number or a fraction"},
        {"\"24\"", "must be a number or a fraction"},
        {"true", "must be a number"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;
        char members[64];

        open_fixture(&f);
        (void)snprintf(members, sizeof members, "\"time\": {\"fps\": %s}", cases[i][0]);
        expect(decode_members(&f, members), STATUS_INVALID);
        CHECK(has_fault(&f, "/time/fps", cases[i][1]));
        CHECK_INT(f.faults.count, ==, 1);
        arena_destroy(&f.arena);
    }
}

TEST(spec, reports_every_fault_at_its_pointer)
{
    Fixture f;

    open_fixture(&f);
    expect(decode(&f, "{\"model\": \"m_1\", \"colour\": 1, \"time\": {\"warmup\": 1, \"settle\": "
                      "61}, \"priority\": 11, \"simulations\": [{\"type\": \"chains\", "
                      "\"stiffness\": -1, \"damping\": \"x\", \"mode\": \"fast\", \"target\": "
                      "\"ponytial\", \"overrides\": {\"skirt\": {\"preload\": 2}}}, {\"type\": "
                      "\"flesh\", \"layers\": {}}, {\"type\": \"hair\"}, 7], \"hidden\": "
                      "[\"head\", \"Backpak\"]}"),
           STATUS_INVALID);
    CHECK(has_fault(&f, "/colour", ""));
    CHECK(has_fault(&f, "/time/warmup", "warm_up"));
    CHECK(has_fault(&f, "/time/settle", "must be a number from 0 to 60"));
    CHECK(has_fault(&f, "/priority", "from -10 to 10"));
    CHECK(has_fault(&f, "/simulations/0/stiffness", "must be a number from 0 to 14400"));
    CHECK(has_fault(&f, "/simulations/0/damping", "must be a number from 0 to 180"));
    CHECK(has_fault(&f, "/simulations/0/mode", "rest_frame"));
    CHECK(has_fault(&f, "/simulations/0/target", "did you mean \"ponytail\"?"));
    CHECK(has_fault(&f, "/simulations/0/overrides/skirt/preload", "from 0 to 1"));
    CHECK(has_fault(&f, "/simulations/1/type", "this version cannot simulate \"flesh\""));
    CHECK(has_fault(&f, "/simulations/2/type", "chains"));
    CHECK(has_fault(&f, "/simulations/3", "must be an object"));
    CHECK(has_fault(&f, "/hidden/0", "has no mesh"));
    CHECK(has_fault(&f, "/hidden/1", "did you mean \"Backpack\"?"));
    CHECK_INT(f.faults.count, ==, 14);
    CHECK_TEXT(f.err.message, "13 more");
    arena_destroy(&f.arena);
}

TEST(spec, refuses_switches_of_the_other_mode)
{
    static const char *const switches[][2] = {
        {"rest", "\"parent\""}, {"contact", "\"none\""},   {"contact_velocity", "\"naive\""},
        {"two_way", "true"},    {"self_contact", "false"}, {"min_damping_ratio", "0.5"},
        {"preload", "1"},
    };

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        Fixture f;
        char members[128];
        char pointer[64];

        open_fixture(&f);
        (void)snprintf(members, sizeof members, "\"mode\": \"vrm\", \"%s\": %s", switches[i][0],
                       switches[i][1]);
        (void)snprintf(pointer, sizeof pointer, "/simulations/0/%s", switches[i][0]);
        expect(decode_chains(&f, members), STATUS_INVALID);
        CHECK(has_fault(&f, pointer, "belongs to the mode \"rest_frame\""));
        arena_destroy(&f.arena);
    }
    Fixture f;
    open_fixture(&f);
    expect(decode_chains(&f, "\"vrm_length\": \"peer\""), STATUS_INVALID);
    CHECK(has_fault(&f, "/simulations/0/vrm_length", "belongs to the mode \"vrm\""));
    arena_destroy(&f.arena);
}

TEST(spec, runs_the_published_algorithm_at_its_own_rate)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_chains(&f, "\"mode\": \"vrm\", \"vrm_length\": \"peer\""), STATUS_OK);
    CHECK_INT(f.spec.bake.simulation[0].rate, ==, 60);
    CHECK_INT(f.spec.bake.simulation[0].chains.vrm_length, ==, CHAINS_LENGTH_PEER);
    arena_destroy(&f.arena);
}

/* Two ways to ask for one thing; not asking leaves the canonical job as it was before there was
 * fitting. */
TEST(spec, fits_colliders_where_it_is_asked_to)
{
    static const char *const wish[] = {"\"fit_colliders\": true", "\"colliders\": \"fitted\"",
                                       "\"fit_colliders\": false", "\"colliders\": \"file\""};
    char key[4][SHA256_HEX_SIZE];

    for (int i = 0; i < 4; i++) {
        Fixture f;

        open_fixture(&f);
        expect(decode_chains(&f, wish[i]), STATUS_OK);
        CHECK_INT(f.spec.bake.simulation[0].is_fitted, ==, i < 2);
        CHECK_INT(f.spec.bake.simulation[0].colliders, ==, COLLIDERS_FILE);
        CHECK((strstr(f.spec.canonical, "fit_colliders") != NULL) == (i < 2));
        memcpy(key[i], f.spec.key, sizeof key[i]);
        arena_destroy(&f.arena);
    }
    CHECK_EQUAL_TEXT(key[0], key[1]);
    CHECK_EQUAL_TEXT(key[2], key[3]);
    CHECK(strcmp(key[0], key[2]) != 0);
}

/* A name counts wherever it is a joint: in the animation, the model or both. */
TEST(spec, takes_roles_of_joints_whose_names_do_not_say_them)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_members(&f, "\"animation\": {\"animation\": \"a_dance\", \"retarget\": "
                              "{\"roles\": {\"hips\": \"Root\", \"head\": [\"Kopf\", \"head\"]}}}"),
           STATUS_OK);
    const MotionSpec *motion = &f.spec.bake.motion;
    CHECK_INT(motion->source_role[ROLE_HIPS], ==, 0);
    CHECK_INT(motion->target_role[ROLE_HIPS], ==, model.role[ROLE_HIPS]);
    CHECK_INT(motion->source_role[ROLE_HEAD], ==, 1);
    CHECK_INT(motion->target_role[ROLE_HEAD], ==, 1);
    CHECK_TEXT(f.spec.canonical, "\"retarget\":{\"roles\":{\"head\":[\"Kopf\",\"head\"]}}");
    arena_destroy(&f.arena);
}

TEST(spec, refuses_roles_and_joints_that_are_none)
{
    static const struct {
        const char *roles, *pointer, *says;
    } cases[] = {
        {"{\"tail\": \"Root\"}", "/animation/retarget/roles/tail", "is no humanoid role"},
        {"{\"head\": \"Kopff\"}", "/animation/retarget/roles/head", "did you mean \"Kopf\"?"},
        {"{\"head\": [\"Kopf\", 3]}", "/animation/retarget/roles/head/1", "must be text"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char members[512];
        Fixture f;

        open_fixture(&f);
        (void)snprintf(members, sizeof members,
                       "\"animation\": {\"animation\": \"a_dance\", \"retarget\": {\"roles\": %s}}",
                       cases[i].roles);
        expect(decode_members(&f, members), STATUS_INVALID);
        CHECK_INT(f.faults.count, ==, 1);
        CHECK_EQUAL_TEXT(f.faults.fault[0].pointer, cases[i].pointer);
        CHECK_TEXT(f.faults.fault[0].detail, cases[i].says);
        arena_destroy(&f.arena);
    }
    Fixture f;
    open_fixture(&f);
    expect(decode_members(&f, "\"animation\": {\"clip\": \"Walk\", \"retarget\": {\"roles\": "
                              "{\"head\": \"head\"}}}"),
           STATUS_INVALID);
    CHECK_TEXT(f.faults.fault[0].detail, "is for the clip of another file");
    arena_destroy(&f.arena);
}

TEST(spec, takes_the_surface_as_a_further_collider_of_rest_frame_chains)
{
    Fixture f;

    open_fixture(&f);
    expect(decode_chains(&f, "\"colliders\": \"surface\""), STATUS_OK);
    CHECK(f.spec.bake.simulation[0].has_surface && !f.spec.bake.simulation[0].is_fitted);
    CHECK_TEXT(f.spec.canonical, "\"colliders\":\"surface\"");
    expect(decode_chains(&f, "\"colliders\": \"surface\", \"fit_colliders\": true"), STATUS_OK);
    CHECK(f.spec.bake.simulation[0].has_surface && f.spec.bake.simulation[0].is_fitted);
    expect(decode_chains(&f, "\"colliders\": \"surface\", \"mode\": \"vrm\""), STATUS_INVALID);
    CHECK(has_fault(&f, "/simulations/0/colliders", "belongs to the mode \"rest_frame\""));
    arena_destroy(&f.arena);
    open_fixture(&f);
    expect(decode_chains(&f, "\"colliders\": \"skin\""), STATUS_INVALID);
    CHECK(has_fault(&f, "/simulations/0/colliders", "must be \"file\", \"fitted\", \"surface\""));
    arena_destroy(&f.arena);
}

TEST(spec, refuses_what_later_versions_bring)
{
    static const struct {
        const char *members, *pointer;
        bool is_chains;
    } cases[] = {
        {"\"setup\": \"hair\"", "/setup", false},
        {"\"preview\": true", "/preview", false},
        {"\"forces\": {\"impulses\": []}", "/forces/impulses", false},
        {"\"fit\": {}", "/simulations/0/fit", true},
        {"\"preset\": \"soft\"", "/simulations/0/preset", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;

        open_fixture(&f);
        Status status = cases[i].is_chains ? decode_chains(&f, cases[i].members)
                                           : decode_members(&f, cases[i].members);
        CHECK_INT(status, ==, STATUS_INVALID);
        CHECK(has_fault(&f, cases[i].pointer, "not in this version"));
        CHECK_INT(f.faults.count, ==, 1);
        arena_destroy(&f.arena);
    }
}

TEST(spec, refuses_what_makes_no_sense_together)
{
    static const struct {
        const char *members, *pointer, *detail;
        bool is_chains;
    } cases[] = {
        {"\"animation\": {\"clip\": 0, \"procedural\": \"still\"}", "/animation", "either", false},
        {"\"animation\": {\"clip\": 2}", "/animation/clip", "from 0 to 1", false},
        {"\"animation\": {\"clip\": \"walk\"}", "/animation/clip", "\"Walk\"", false},
        {"\"animation\": {\"animation\": \"a_2\"}", "/animation/animation", "does not exist",
         false},
        {"\"animation\": {\"procedural\": \"headturn\"}", "/animation/procedural", "head_turn",
         false},
        {"\"time\": {\"start\": 3, \"end\": 2}", "/time/end", "before \"start\"", false},
        {"\"time\": {\"start\": 5}", "/time/start", "after the end", false},
        {"\"time\": {\"end\": 1000, \"fps\": 200}", "/time", "more than the limit of 100000",
         false},
        {"\"gates\": {\"stretch.p99\": {\"min\": 2, \"max\": 1}}", "/gates/stretch.p99",
         "not above", false},
        {"\"gates\": {\"stretch.p99\": {}}", "/gates/stretch.p99", "\"min\" or \"max\"", false},
        {"\"tags\": {\"a:b\": \"c\"}", "/tags/a:b", "without \":\"", false},
        {"\"tags\": {\"a\": 1}", "/tags/a", "", false},
        {"\"output\": {\"precision\": 24}", "/output/precision", "16 or 32", false},
        {"\"output\": {\"channels\": [\"tets\"]}", "/output/channels/0", "no simulation", false},
        {"\"rate\": 50", "/simulations/0/rate", "divisor or multiple", true},
        {"\"target\": \"broken\"", "/simulations/0/target", "not one below the other", true},
        {"\"target\": []", "/simulations/0/target", "at least one", true},
        {"\"gravity\": \"down\"", "/simulations/0/gravity", "a number or a list", true},
        {"\"center\": true", "/simulations/0/center", "false", true},
        {"\"define\": [{\"root\": 1}]", "/simulations/0/define/0/name", "", true},
        {"\"define\": [{\"name\": \"skirt\", \"root\": 1}]", "/simulations/0/define",
         "to two chains", true},
        {"\"overrides\": {\"0\": {}, \"ponytail\": {}}", "/simulations/0/overrides/ponytail",
         "second time", true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Fixture f;

        open_fixture(&f);
        Status status = cases[i].is_chains ? decode_chains(&f, cases[i].members)
                                           : decode_members(&f, cases[i].members);
        CHECK_INT(status, ==, STATUS_INVALID);
        CHECK(has_fault(&f, cases[i].pointer, cases[i].detail));
        arena_destroy(&f.arena);
    }
}

/* Law: the canonical job is a job, and its own canonical job. */
TEST(spec, is_canonical_once_and_for_all)
{
    static const char *const jobs[] = {
        "{\"model\":\"m_1\",\"simulations\":[{\"type\":\"chains\"}]}",
        "{\"model\":\"m_1\",\"simulations\":[{\"type\":\"chains\",\"mode\":\"vrm\",\"rate\":60,"
        "\"target\":[1],\"colliders\":[]}],\"animation\":{\"clip\":1,\"in_place\":true}}",
        "{\"model\":\"m_1\",\"simulations\":[{\"type\":\"chains\",\"define\":[{\"name\":\"ear\","
        "\"root\":4,\"attach\":1}],\"overrides\":{\"ear\":{\"contact\":\"swept\",\"gravity\":[0,"
        "0.1,0]},\"skirt\":{\"center\":false}},\"colliders\":[1,0],\"preload\":1,\"angle_limit\":"
        "0.3}],\"animation\":{\"animation\":\"a_dance\"},\"hidden\":[\"Bag\"],\"gates\":{"
        "\"stretch.p99\":{\"max\":0.1},\"settle.speed\":{\"min\":0}},\"time\":{\"fps\":23.976},"
        "\"forces\":{\"wind\":{\"velocity\":[1,0,0.1],\"gust\":0.3,\"seed\":9007199254740991}},"
        "\"output\":{\"channels\":[\"positions\"],\"normals\":true,\"precision\":32}}",
    };

    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        Fixture f;
        char key[SHA256_HEX_SIZE];

        open_fixture(&f);
        expect(decode(&f, jobs[i]), STATUS_OK);
        CHECK_OK(&f.err);
        const char *canonical = f.spec.canonical;
        memcpy(key, f.spec.key, sizeof key);
        expect(decode(&f, canonical), STATUS_OK);
        CHECK_OK(&f.err);
        CHECK_EQUAL_TEXT(f.spec.canonical, canonical);
        CHECK_EQUAL_TEXT(f.spec.key, key);
        arena_destroy(&f.arena);
    }
}

TEST(spec, has_a_key_that_ignores_labels_and_spelling)
{
    Fixture f;
    char key[SHA256_HEX_SIZE];

    open_fixture(&f);
    expect(decode_members(&f, ""), STATUS_OK);
    memcpy(key, f.spec.key, sizeof key);
    CHECK(!strstr(f.spec.canonical, "tags") && !strstr(f.spec.canonical, "priority"));
    expect(decode_members(&f, "\"tags\": {\"shot\": \"1\"}, \"priority\": 3, \"keep\": true,"
                              "\"cache\": false, \"name\": \"x\", \"time\": {\"fps\": 30.0,"
                              "\"start\": 0}, \"hidden\": []"),
           STATUS_OK);
    CHECK_EQUAL_TEXT(f.spec.key, key);
    CHECK_INT(f.spec.tag_count, ==, 1);
    CHECK_EQUAL_TEXT(f.spec.tag[0].value, "1");
    expect(decode_chains(&f, "\"name\": \"hair\", \"stiffness\": null"), STATUS_OK);
    CHECK_EQUAL_TEXT(f.spec.key, key);
    expect(decode_chains(&f, "\"stiffness\": 240"), STATUS_OK);
    CHECK(strcmp(f.spec.key, key) != 0);
    arena_destroy(&f.arena);
}

TEST(spec, wants_the_model_that_was_looked_up)
{
    Fixture f;

    open_fixture(&f);
    expect(decode(&f, "{\"model\": \"m_2\", \"simulations\": [{\"type\": \"chains\"}]}"),
           STATUS_INVALID);
    CHECK(has_fault(&f, "/model", "does not exist"));
    open_fixture(&f);
    expect(decode(&f, "{\"simulations\": [{\"type\": \"chains\"}]}"), STATUS_INVALID);
    CHECK(has_fault(&f, "/model", "is missing"));
    open_fixture(&f);
    f.context.is_offline = true;
    expect(decode(&f, "{\"simulations\": [{\"type\": \"chains\"}]}"), STATUS_OK);
    arena_destroy(&f.arena);
}

TEST(spec, says_no_memory_at_every_small_arena)
{
    Fixture f;
    int refused = 0;
    Status status = STATUS_NO_MEMORY;

    for (size_t capacity = 64; status == STATUS_NO_MEMORY; capacity += 64) {
        Arena arena = test_arena(capacity);
        static const char job[] = "{\"model\": \"m_1\", \"simulations\": [{\"type\": \"chains\", "
                                  "\"overrides\": {\"skirt\": {}}}]}";
        JsonDocument document;

        open_fixture(&f);
        expect(json_open((Bytes){(const uint8_t *)job, sizeof job - 1}, JOB_JSON_DEPTH, &document,
                         &f.err),
               STATUS_OK);
        status = job_spec_decode(&document, &f.context, &arena, &f.faults, &f.spec, &f.err);
        CHECK(status == STATUS_OK || status == STATUS_NO_MEMORY);
        refused += status == STATUS_NO_MEMORY;
        json_close(&document);
        arena_destroy(&arena);
        arena_destroy(&f.arena);
    }
    CHECK_INT(status, ==, STATUS_OK);
    CHECK_INT(refused, >, 0);
}

TEST(spec, finds_ids_by_bytes_and_import_options)
{
    char plain[ASSET_ID_SIZE];
    char same[ASSET_ID_SIZE];
    char scaled[ASSET_ID_SIZE];
    char turned[ASSET_ID_SIZE];
    const Bytes file = {(const uint8_t *)"abc", 3};

    asset_id_of('m', file, 0, false, plain);
    asset_id_of('m', file, 0, false, same);
    asset_id_of('m', file, 0.01, false, scaled);
    asset_id_of('m', file, 0, true, turned);
    // printf 'abcunit=0 up=y' | sha256sum
    CHECK_EQUAL_TEXT(plain, "m_449f4a393c825a73824866fb02bcc221");
    CHECK_EQUAL_TEXT(same, plain);
    CHECK(strcmp(scaled, plain) != 0 && strcmp(turned, plain) != 0 && strcmp(scaled, turned) != 0);
}

TEST(spec, strips_comments_outside_texts_only)
{
    char text[] = "{ // a \"b\"\n \"url\": \"http://x\\\"//y\" // c\n}";

    job_strip_comments(text, strlen(text));
    CHECK_EQUAL_TEXT(text, "{         \n \"url\": \"http://x\\\"//y\"     \n}");
}

/* The template is a job with nothing but defaults. */
TEST(spec, reads_its_own_template_back)
{
    Fixture f;
    char key[SHA256_HEX_SIZE];

    open_fixture(&f);
    expect(decode_members(&f, "\"animation\": {\"procedural\": \"head_turn\"}"), STATUS_OK);
    memcpy(key, f.spec.key, sizeof key);
    Text text = text_open(1 << 20, &f.err);
    job_write_template(&model, "m_1", &text);
    char *copy = arena_text(&f.arena, text_string(&text), text_length(&text));
    text_close(&text);
    CHECK_TEXT(copy, "// 1/s^2; null: the file's, else 240 (0 to 14400)");
    CHECK_TEXT(copy, "// spring chains of this model: \"ponytail\", \"skirt\", \"broken\"");
    job_strip_comments(copy, strlen(copy));
    expect(decode(&f, copy), STATUS_OK);
    CHECK_OK(&f.err);
    CHECK_EQUAL_TEXT(f.spec.key, key);
    arena_destroy(&f.arena);
}

/* --- the schema says what the decoder does --- */

static JsonReader member_of(const JsonReader *object, const char *key, JsonReader *keep)
{
    *keep = json_member(object, key);
    CHECK(!json_is_absent(keep));
    return *keep;
}

static bool lists_text(const JsonReader *list, const char *text)
{
    JsonReader item;

    for (bool is_item = json_first(list, &item); is_item; is_item = json_next(&item))
        if (json_is_text(&item) && strcmp(json_as_text(&item, 200), text) == 0)
            return true;
    return false;
}

static bool has_type(const JsonReader *property, const char *type)
{
    JsonReader value = json_member(property, "type");

    return json_is_array(&value) ? lists_text(&value, type)
                                 : strcmp(json_as_text(&value, 200), type) == 0;
}

static void check_limits(const JsonReader *property, const char *low, const char *high,
                         const Field *field)
{
    if (low)
        CHECK_NEAR(json_number(property, low, -1e300, 1e300), field->min, 0);
    CHECK_NEAR(json_number(property, high, -1e300, 1e300), field->max, 0);
}

static void check_default(const JsonReader *property, const Field *field)
{
    JsonReader value = json_member(property, "default");

    if (field->kind == FIELD_BOOL)
        CHECK(json_bool_or(property, "default", field->otherwise == 0) == (field->otherwise != 0));
    else if (field->kind == FIELD_CHOICE && !isnan(field->otherwise))
        CHECK_EQUAL_TEXT(json_as_text(&value, 200), field->choice[(int)field->otherwise]);
    else if (!isnan(field->otherwise))
        CHECK_NEAR(json_as_number(&value, -1e300, 1e300), field->otherwise, 0);
    else
        CHECK(json_is_absent(&value));
}

static void check_choices(const JsonReader *property, const Field *field)
{
    JsonReader list = json_member(property, "enum");
    int count = field_choice_count(field) + (field->is_required ? 0 : 1);

    CHECK_INT(json_count(&list), ==, count);
    for (int i = 0; field->choice[i]; i++)
        CHECK(lists_text(&list, field->choice[i]));
}

/* One row of the table against one property. */
static void check_property(const JsonReader *property, const Field *field)
{
    switch (field->kind) {
    case FIELD_NUMBER:
    case FIELD_INTEGER:
        CHECK(has_type(property, field->kind == FIELD_NUMBER ? "number" : "integer"));
        check_limits(property, "minimum", "maximum", field);
        check_default(property, field);
        break;
    case FIELD_BOOL:
        CHECK(has_type(property, "boolean"));
        check_default(property, field);
        break;
    case FIELD_TEXT:
        if (!json_is_absent(&(JsonReader){.value = json_member(property, "maxLength").value}))
            check_limits(property, NULL, "maxLength", field);
        break;
    case FIELD_CHOICE:
        if (strcmp(field->key, "type") != 0)
            check_choices(property, field);
        check_default(property, field);
        break;
    case FIELD_LIST:
        CHECK(has_type(property, "array"));
        check_limits(property, NULL, "maxItems", field);
        break;
    case FIELD_MAP:
        CHECK(has_type(property, "object"));
        check_limits(property, NULL, "maxProperties", field);
        break;
    default:
        break;
    }
}

static void check_table(const JsonReader *root, const FieldTable *table)
{
    JsonReader definitions;
    JsonReader definition = *root;
    JsonReader properties;
    JsonReader property;
    int count = 0;

    if (table->definition[0]) {
        member_of(root, "$defs", &definitions);
        member_of(&definitions, table->definition, &definition);
    }
    CHECK(!json_bool_or(&definition, "additionalProperties", true));
    member_of(&definition, "properties", &properties);
    JsonReader required = json_member(&definition, "required");
    for (const Field *field = table->field; field->key; field++) {
        if (field->kind == FIELD_LATER) {
            property = json_member(&properties, field->key);
            CHECK(json_is_absent(&property));
            continue;
        }
        member_of(&properties, field->key, &property);
        check_property(&property, field);
        CHECK(field->is_required == lists_text(&required, field->key));
        if (field->table && field->table != table)
            check_table(root, field->table);
        count++;
    }
    CHECK_INT(json_count(&properties), ==, count);
}

TEST(spec, and_the_schema_say_the_same)
{
    const EmbeddedFile *file = embedded_find("schema/job.schema.json");
    Arena arena = test_arena(1 << 20);
    Faults faults = faults_open(&arena, 8);
    JsonDocument document;
    Error err = {0};

    CHECK(file != NULL);
    expect(json_open((Bytes){file->data, file->size}, 64, &document, &err), STATUS_OK);
    JsonReader root = json_root(&document, &faults);
    check_table(&root, &job_fields);
    expect(faults_status(&faults, &err), STATUS_OK);
    CHECK_OK(&err);
    json_close(&document);
    arena_destroy(&arena);
}
