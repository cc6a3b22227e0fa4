/* Agreement with an independent program: trajectories of three-vrm-springbone 3.5.5 over real files
 * (vrm/expected of the shared data), joint by joint and frame by frame. */
#include "base/json.h"
#include "core/solver.h"
#include "math/scalar.h"
#include "sim/assets.h"
#include "support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOINTS = 64 };

/* One file's chains, driven by a motion of the whole scene. */
typedef struct Puppet {
    Arena arena;
    const Rig *rig;
    SimulationSpec spec;
    Warnings warnings;
    Pose now, before, out;
    const void *model;
    void *state;
    PartInfo info;
    int joint_count;
    bool is_folded;                  /* see Reference */
    int segment[MAX_JOINTS];         /* of our part, for each joint of the reference */
    double reference[MAX_JOINTS][6]; /* heads and tails of the last frame read */
} Puppet;

/* How far we are from the reference, in metres. */
typedef struct Distance {
    double greatest;      /* over all joints and frames */
    double settled;       /* over the frames in which the reference rests */
    double settled_chain; /* the same, summed over a file's joints */
} Distance;

static void open_side_files(const char *path, AssetOptions *options, Arena *arena)
{
    Bytes file = test_read_file(path);
    const char *name[4];
    int count = asset_side_names(file, options, arena, name, 4);
    SideFile *side = arena_array(arena, SideFile, 4);
    char full[1024];
    const char *slash = strrchr(path, '/');

    for (int i = 0; i < count && i < 4; i++) {
        (void)snprintf(full, sizeof full, "%.*s/%s", (int)(slash - path), path, name[i]);
        side[i] = (SideFile){.name = name[i], .bytes = test_read_file(full)};
    }
    options->side_file = side;
    options->side_file_count = count < 4 ? count : 4;
    test_close_file(file);
}

static void open_rig(Puppet *p, const char *path)
{
    AssetOptions options = {.limits = asset_limits_default()};
    Error err = {0};

    p->arena = test_arena((size_t)1 << 30);
    open_side_files(path, &options, &p->arena);
    Bytes file = test_read_file(path);
    (void)!asset_read(file, &options, &p->arena, &p->rig, &err);
    test_close_file(file);
    for (int i = 0; i < options.side_file_count; i++)
        test_close_file(options.side_file[i].bytes);
    CHECK_OK(&err);
}

static void start(Puppet *p, ChainsLength length)
{
    Error err = {0};

    p->warnings = warnings_open(&p->arena, 64);
    p->spec = (SimulationSpec){
        .kind = SIMULATION_CHAINS, .is_enabled = true, .rate = 60, .chains = chains_spec_default()};
    p->spec.chains.mode = CHAINS_VRM;
    p->spec.chains.vrm_length = length;
    // carried as the reference does: by its center alone
    p->spec.chains.parameters.teleport_distance = 1e6f;
    PartDesc desc = {.rig = p->rig,
                     .spec = &p->spec,
                     .dt = (float)(1.0 / 60.0),
                     .simd = simd_level_best(),
                     .warnings = &p->warnings};
    (void)!chains_solver.build(&desc, &p->arena, &p->model, &err);
    CHECK_OK(&err);
    (void)!pose_build(p->rig, &p->arena, &p->now, &err);
    (void)!pose_build(p->rig, &p->arena, &p->before, &err);
    (void)!pose_build(p->rig, &p->arena, &p->out, &err);
    (void)!chains_solver.start(p->model, &p->now, &p->arena, &p->state, &err);
    CHECK_OK(&err);
    chains_solver.describe(p->model, &p->info);
}

/* The reference writes blanks as underscores. */
static bool is_same_name(const char *ours, const char *theirs)
{
    while (*ours && (*ours == *theirs || (*ours == ' ' && *theirs == '_'))) {
        ours++;
        theirs++;
    }
    return *ours == *theirs;
}

static void match_joints(Puppet *p, const JsonReader *joints)
{
    JsonReader joint;

    p->joint_count = 0;
    for (bool more = json_first(joints, &joint); more; more = json_next(&joint)) {
        const char *bone = json_text(&joint, "bone", 200);
        int found = -1;

        for (int i = 0; i < p->info.segment_count && found < 0; i++) {
            if (is_same_name(p->rig->node[p->info.segment[i].head].name, bone))
                found = i;
        }
        if (found < 0)
            printf("    %s is not simulated\n", bone);
        CHECK(found >= 0 && p->joint_count < MAX_JOINTS);
        p->segment[p->joint_count++] = found;
    }
}

static void show(Puppet *p)
{
    pose_copy(p->rig, &p->now, &p->out);
    chains_solver.pose(p->model, p->state, 1.0f, &p->out);
    pose_update_world(p->rig, &p->out);
}

/* The whole scene moved, and one step to there. */
static void step(Puppet *p, Vec3 translation, Quat rotation)
{
    Error err = {0};

    for (int i = 0; i < p->rig->node_count; i++) {
        const Transform *rest = &p->rig->node[i].rest;

        p->now.local[i] = *rest;
        if (p->rig->node[i].parent >= 0)
            continue;
        p->now.local[i].translation =
            vec3_add(translation, quat_rotate(rotation, rest->translation));
        p->now.local[i].rotation = quat_mul(rotation, rest->rotation);
    }
    pose_update_world(p->rig, &p->now);
    StepInput input = {
        .dt = (float)(1.0 / 60.0), .before = &p->before, .now = &p->now, .scratch = &p->arena};
    (void)!chains_solver.step(p->model, p->state, &input, &err);
    CHECK_OK(&err);
    pose_copy(p->rig, &p->now, &p->before);
    show(p);
}

/* Head and tail of one joint in the reference; how far it moved since the frame before. */
static double read_joint(const JsonReader *joint, double *p)
{
    JsonReader number;
    double moved = 0.0;
    int count = 0;

    for (bool more = json_first(joint, &number); more && count < 6; more = json_next(&number)) {
        double value = json_as_number(&number, -1e6, 1e6);
        moved = fmax(moved, fabs(value - p[count]));
        p[count++] = value;
    }
    return moved;
}

static double compare_point(const double *p, const DVec3 *ours)
{
    double greatest = 0.0;

    for (int i = 0; i < 2; i++) {
        double x = p[3 * i] - ours[i].x, y = p[3 * i + 1] - ours[i].y, z = p[3 * i + 2] - ours[i].z;
        double distance = sqrt(x * x + y * y + z * z);
        greatest = distance > greatest ? distance : greatest;
    }
    return greatest;
}

typedef struct FrameDistance {
    double greatest;
    double settled, sum; /* without a folded last bone */
    double moved;        /* the reference, since the frame before */
} FrameDistance;

static FrameDistance compare_frame(Puppet *p, const JsonReader *frame)
{
    JsonReader joints = json_member(frame, "j");
    JsonReader joint;
    FrameDistance d = {0};
    int i = 0;

    for (bool more = json_first(&joints, &joint); more && i < p->joint_count;
         more = json_next(&joint), i++) {
        const PartSegment *segment = &p->info.segment[p->segment[i]];
        const World *head = &p->out.world[segment->head];
        const DVec3 ours[2] = {head->origin, world_point(head, segment->tail_offset)};
        d.moved = fmax(d.moved, read_joint(&joint, p->reference[i]));
        double distance = compare_point(p->reference[i], ours);

        d.greatest = fmax(d.greatest, distance);
        if (i + 1 < p->joint_count || !p->is_folded) {
            d.sum += distance;
            d.settled = fmax(d.settled, distance);
        }
    }
    CHECK_INT(i, ==, p->joint_count);
    return d;
}

static Distance follow(Puppet *p, const JsonReader *frames)
{
    Distance distance = {0};
    JsonReader frame;
    int f = 0, still = 0;
    bool has_rested = false;

    for (bool more = json_first(frames, &frame); more; more = json_next(&frame), f++) {
        float t[3] = {0}, q[4] = {0, 0, 0, 1};

        (void)json_floats(&frame, "root_t", 3, t);
        (void)json_floats(&frame, "root_q", 4, q);
        // frame 0 is the pose before the first update
        if (f == 0)
            show(p);
        else
            step(p, vec3(t[0], t[1], t[2]), quat_normalize((Quat){q[0], q[1], q[2], q[3]}));
        FrameDistance d = compare_frame(p, &frame);
        distance.greatest = fmax(distance.greatest, d.greatest);
        // it rests when no number has changed in its sixth decimal for ten frames
        still = d.moved <= 1e-6 ? still + 1 : 0;
        has_rested |= still >= 10;
        if (still < 10 && has_rested)
            continue;
        // as long as it has not rested, the frame read last stands for rest
        distance.settled = still < 10 ? d.settled : fmax(distance.settled, d.settled);
        distance.settled_chain = still < 10 ? d.sum : fmax(distance.settled_chain, d.sum);
    }
    return distance;
}

typedef struct Reference {
    const char *expected; /* of vrm/expected */
    const char *model;
    bool is_folded; /* a plane folds the last bone straight back: it rests up as well as down, and
                       which one depends on the lengths of its first three steps */
} Reference;

static const Reference references[] = {
    {"Godette_vrm_v4", "vrm/Godette_vrm_v4.vrm", false},
    {"mh_ponytail_avatar", "vrm/mh_ponytail_avatar.vrm", false},
    {"smoke_spring", "vrm/conformance/smoke_spring.vrm", false},
    {"springbone_collider_capsule_x0p02_r0p05",
     "vrm/conformance/springbone_collider_capsule_x0p02_r0p05.vrm", false},
    {"springbone_collider_sphere_x0p02_r0p05",
     "vrm/conformance/springbone_collider_sphere_x0p02_r0p05.vrm", false},
    {"springbone_extended_icaps_pmed", "vrm/conformance/springbone_extended_icaps_pmed.vrm", false},
    {"springbone_extended_icaps_ptight", "vrm/conformance/springbone_extended_icaps_ptight.vrm",
     false},
    {"springbone_extended_isphere_anglelimit_60",
     "vrm/conformance/springbone_extended_isphere_anglelimit_60.vrm", false},
    {"springbone_extended_isphere_pmed", "vrm/conformance/springbone_extended_isphere_pmed.vrm",
     false},
    {"springbone_extended_isphere_ptight", "vrm/conformance/springbone_extended_isphere_ptight.vrm",
     false},
    {"springbone_extended_plane_ploose", "vrm/conformance/springbone_extended_plane_ploose.vrm",
     false},
    {"springbone_extended_plane_pmed", "vrm/conformance/springbone_extended_plane_pmed.vrm", true},
    {"springbone_extended_plane_ptight", "vrm/conformance/springbone_extended_plane_ptight.vrm",
     true},
    {"springbone_extended_plane_with_base_sphere",
     "vrm/conformance/springbone_extended_plane_with_base_sphere.vrm", true},
    {"swing_springbone_stiffness_0", "vrm/conformance/swing_springbone_stiffness_0.vrm", false},
    {"swing_springbone_stiffness_0p8", "vrm/conformance/swing_springbone_stiffness_0p8.vrm", false},
    {"swing_springbone_stiffness_1", "vrm/conformance/swing_springbone_stiffness_1.vrm", false},
    {"three-vrm_plane-collider", "vrm/three-vrm/plane-collider.gltf", false},
    {"three-vrm_sphere-collider", "vrm/three-vrm/sphere-collider.gltf", false},
    {"usd-vrm_springbone", "vrm/usd-vrm/springbone.vrm", false},
};
enum { REFERENCE_COUNT = sizeof references / sizeof *references };

static Distance run(const Reference *reference, const char *clip, ChainsLength length)
{
    char name[256], path[1024];
    Puppet puppet = {0};
    JsonDocument document = {0};
    Error err = {0};

    (void)snprintf(name, sizeof name, "vrm/expected/%s.json", reference->expected);
    Bytes text = test_read_file(test_data_path(name));
    (void)!json_open(text, 16, &document, &err);
    CHECK_OK(&err);
    (void)snprintf(path, sizeof path, "%s", test_data_path(reference->model));
    open_rig(&puppet, path);
    start(&puppet, length);
    Faults faults = faults_open(&puppet.arena, 4);
    JsonReader root = json_root(&document, &faults);
    JsonReader joints = json_member(&root, "joints");
    JsonReader frames = json_member(&root, clip);
    match_joints(&puppet, &joints);
    puppet.is_folded = reference->is_folded;
    Distance distance = follow(&puppet, &frames);
    CHECK_INT(faults.count, ==, 0);
    json_close(&document);
    test_close_file(text);
    arena_destroy(&puppet.arena);
    return distance;
}

TEST(chains_peer, follows_three_vrm_to_a_tenth_of_a_millimetre_on_every_joint_and_frame)
{
    double worst = 0.0;

    for (int i = 0; i < REFERENCE_COUNT; i++) {
        Distance swing = run(&references[i], "swing", CHAINS_LENGTH_PEER);
        Distance turn = run(&references[i], "turn", CHAINS_LENGTH_PEER);

        printf("    %-45s swing %.2g m, turn %.2g m\n", references[i].expected, swing.greatest,
               turn.greatest);
        worst = fmax(worst, fmax(swing.greatest, turn.greatest));
    }
    CHECK_NEAR(worst, 0.0, 1e-4);
}

TEST(chains_peer, settles_where_three_vrm_settles_with_true_lengths_too)
{
    double worst = 0.0, worst_sum = 0.0;

    for (int i = 0; i < REFERENCE_COUNT; i++) {
        Distance swing = run(&references[i], "swing", CHAINS_LENGTH_TRUE);

        printf("    %-45s settled %.2g m, sum %.2g m\n", references[i].expected, swing.settled,
               swing.settled_chain);
        worst = fmax(worst, swing.settled);
        worst_sum = fmax(worst_sum, swing.settled_chain);
    }
    CHECK_NEAR(worst, 0.0, 0.005);
    CHECK_NEAR(worst_sum, 0.0, 0.02);
}
