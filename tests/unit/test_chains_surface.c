/* Chains that meet the skinned body itself: what is drawn of the hair stays outside of what is
 * drawn of the body. */
#include "core/collide.h"
#include "core/fit.h"
#include "core/surface.h"
#include "sim/samples.h"
#include "support/check.h"
#include "support/reading.h"
#include "support/stage.h"

#include <stdio.h>
#include <string.h>

/* --- a lock beside a box --- */

enum { LINKS = 4 };

typedef struct Box {
    Vec3 position[8];
    uint32_t index[36];
    RigPrimitive primitive;
    RigMesh mesh;
} Box;

/* A box on the body, 0.2 m wide and deep; its back is 0.1 m behind the axis. */
static void add_box(Stage *s, Box *box, int body)
{
    static const uint32_t index[36] = {0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5, 0, 1, 5, 0, 5, 4,
                                       2, 6, 7, 2, 7, 3, 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6};

    for (int i = 0; i < 8; i++)
        box->position[i] = vec3(i & 1 ? 0.1f : -0.1f, i & 2 ? 0.4f : -0.4f, i & 4 ? 0.1f : -0.1f);
    memcpy(box->index, index, sizeof index);
    box->primitive = (RigPrimitive){.vertex_count = 8,
                                    .index_count = 36,
                                    .material = -1,
                                    .position = box->position,
                                    .index = box->index,
                                    .position_accessor = -1,
                                    .normal_accessor = -1};
    box->mesh = (RigMesh){.name = "box", .primitive_count = 1, .primitive = &box->primitive};
    s->rig.mesh = &box->mesh;
    s->rig.mesh_count = 1;
    s->node[body].mesh = 0;
}

/* The lock hangs `behind` the axis of the box, from a head above it. */
static Stage *open_lock(Box *box, float behind)
{
    Stage *s = stage_open(64 << 20);
    Vec3 point[LINKS];
    int body = stage_node(s, "body", -1, vec3(0.0f, 1.0f, 0.0f));
    int head = stage_node(s, "head", body, vec3(0.0f, 0.45f, 0.0f));

    for (int i = 0; i < LINKS; i++)
        point[i] = vec3(0.0f, -0.05f, 0.0f);
    stage_chain(s, "lock", head, vec3(0.0f, 0.0f, -behind), point, LINKS);
    s->spring[0].has_parameters = true;
    for (int i = 0; i < LINKS; i++) {
        s->segment[0][i].stiffness = 0.1f;
        s->segment[0][i].hit_radius = 0.01f;
    }
    add_box(s, box, body);
    s->spec.has_surface = true;
    return s;
}

static double least_behind(const Stage *s, int first)
{
    double least = 1e9;

    for (int i = first; i < LINKS; i++)
        least = -stage_tail(s, i).z < least ? -stage_tail(s, i).z : least;
    return least;
}

TEST(chains_surface, keeps_a_blown_lock_off_the_mesh)
{
    static Box box;

    for (int has_surface = 0; has_surface < 2; has_surface++) {
        Stage *s = open_lock(&box, 0.15f);

        s->spec.has_surface = has_surface;
        stage_start(s);
        s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
        for (int step = 0; step < 480; step++)
            CHECK_INT(stage_step(s), ==, STATUS_OK);
        // the first tail is above the box
        if (!has_surface) {
            CHECK(least_behind(s, 1) < 0.09);
        } else {
            CHECK_NEAR(least_behind(s, 1), 0.11, 1e-3);
            CHECK(stage_measure(s, "contact.count", "lock") > 100.0);
            CHECK_NEAR(stage_measure(s, "surface.depth", "*"), 0.0, 5e-5);
        }
        stage_close(s);
    }
}

/* Speed is not made of being pushed out: where it lies, it rests. */
TEST(chains_surface, comes_to_rest_on_the_mesh)
{
    static Box box;
    Stage *s = open_lock(&box, 0.15f);
    DVec3 before = {0};

    stage_start(s);
    s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
    for (int step = 0; step < 960; step++) {
        CHECK_INT(stage_step(s), ==, STATUS_OK);
        DVec3 tail = stage_tail(s, LINKS - 1);
        if (step > 720)
            CHECK_NEAR(vec3_length(dvec3_offset(tail, before)), 0.0, 1e-6);
        before = tail;
    }
    stage_close(s);
}

/* A lock that is drawn inside of the mesh stays as it is drawn. */
TEST(chains_surface, leaves_what_is_authored_inside)
{
    static Box box;
    Stage *s = open_lock(&box, 0.09f);

    s->segment[0][0].hit_radius = 0.0f;
    stage_start(s);
    for (int step = 0; step < 240; step++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
    for (int i = 0; i < LINKS; i++)
        CHECK_NEAR(vec3_length(vec3_sub(stage_bone(s, i), vec3(0, -1, 0))), 0.0, 1e-5);
    CHECK_NEAR(stage_measure(s, "contact.count", "*"), 0.0, 0.0);
    stage_close(s);
}

/* An artist who gives one spring a collider and another none wants the other to be free. */
TEST(chains_surface, leaves_chains_alone_that_alone_have_no_collider)
{
    static Box box;
    Stage *s = open_lock(&box, 0.15f);
    const Vec3 point = {0.0f, -0.2f, 0.0f};

    stage_collider(s, (RigCollider){.node = 0, .offset = {1.0f, 0.0f, 0.0f}, .radius = 0.01f});
    stage_chain(s, "free", 1, vec3(0.05f, -0.06f, -0.15f), &point, 1);
    s->spring[1].has_parameters = true;
    s->segment[1][0].stiffness = 0.05f;
    stage_start(s);
    s->forces.wind_velocity = vec3(0.0f, 0.0f, 60.0f);
    for (int step = 0; step < 480; step++)
        CHECK_INT(stage_step(s), ==, STATUS_OK);
    CHECK(-stage_tail(s, LINKS).z < 0.09);
    CHECK_NEAR(least_behind(s, 1), 0.11, 1e-3);
    stage_close(s);
}

TEST(chains_surface, says_where_there_is_none)
{
    static Box box;
    Stage *s = open_lock(&box, 0.15f);

    s->node[0].mesh = -1;
    s->rig.mesh_count = 0;
    stage_start(s);
    CHECK_TEXT(stage_warning(s, "no_surface"), "no visible mesh");
    CHECK_INT(stage_step(s), ==, STATUS_OK);
    stage_close(s);
}

TEST(chains_surface, does_not_depend_on_size)
{
    static Vec3 bone[2][240 * LINKS];
    static Box box;

    for (int k = 0; k < 2; k++) {
        Stage *s = open_lock(&box, 0.15f);

        s->node[0].rest.scale = k ? vec3(128.0f, 128.0f, 128.0f) : vec3(1.0f, 1.0f, 1.0f);
        stage_start(s);
        s->forces.wind_velocity = vec3(0.0f, 0.0f, k ? 128.0f * 60.0f : 60.0f);
        for (int step = 0; step < 240; step++) {
            CHECK_INT(stage_step(s), ==, STATUS_OK);
            for (int i = 0; i < LINKS; i++)
                bone[k][step * LINKS + i] = stage_bone(s, i);
        }
        CHECK(stage_measure(s, "contact.count", "*") > 0.0);
        stage_close(s);
    }
    for (int i = 0; i < 240 * LINKS; i++)
        CHECK_NEAR(vec3_length(vec3_sub(bone[0][i], bone[1][i])), 0.0, 2e-3);
}

/* Law: with too little memory, build refuses; with enough, it succeeds. */
TEST(chains_surface, builds_or_refuses_at_every_arena_size)
{
    static Box box;
    Stage *s = open_lock(&box, 0.15f);
    Status status = STATUS_NO_MEMORY;

    stage_start(s);
    for (size_t capacity = 64; status == STATUS_NO_MEMORY; capacity += 512) {
        Arena arena = test_arena(capacity);
        Error err = {0};
        const void *model = NULL;
        Warnings warnings = warnings_open(&arena, 4);
        const PartDesc desc = {
            .rig = &s->rig, .spec = &s->spec, .dt = 1.0f / 120.0f, .warnings = &warnings};

        status = chains_solver.build(&desc, &arena, &model, &err);
        CHECK((status == STATUS_OK) == (model != NULL));
        arena_destroy(&arena);
    }
    CHECK_INT(status, ==, STATUS_OK);
    stage_close(s);
}

/* --- a real avatar --- */

typedef struct Shot {
    Arena arena, moves;
    Reading reading;
    const Rig *rig, *source; /* the avatar; whose clips it walks and jumps by */
    Fit fit;
    Surface surface;
    SurfaceState state;
    Pose pose;
    int hair;            /* node of the ponytail's mesh */
    bool *is_hair;       /* vertices that the ponytail has at least half of */
    float *depth0;       /* of them in the body, as authored */
    double link0[64][8]; /* depth of tail and segment in each fitted collider, as authored */
} Shot;

static const RigPrimitive *hair_of(const Shot *shot)
{
    return &shot->rig->mesh[shot->rig->node[shot->hair].mesh].primitive[0];
}

static bool is_below(const Rig *rig, int node, int top)
{
    while (node >= 0 && node != top)
        node = rig->node[node].parent;
    return node >= 0;
}

static float depth_at(const Shot *shot, Vec3 place)
{
    float distance = surface_nearest(&shot->surface, &shot->state, place, 0.1f).distance;

    return distance < 0.0f ? -distance : 0.0f;
}

static void find_hair(Shot *shot)
{
    const RigPrimitive *p = hair_of(shot);
    const RigSkin *skin = &shot->rig->skin[shot->rig->node[shot->hair].skin];
    int top = shot->rig->spring[0].segment[0].head, count = 0;
    const SkinSource source = {.node = shot->hair, .primitive = 0};
    SkinBatch batch;
    SkinWork work;
    Vec3 *place = arena_array(&shot->arena, Vec3, p->vertex_count);

    shot->is_hair = arena_array(&shot->arena, bool, p->vertex_count);
    shot->depth0 = arena_array(&shot->arena, float, p->vertex_count);
    CHECK_INT(skin_batch_build(shot->rig, &source, &shot->arena, &batch, &shot->reading.err), ==,
              STATUS_OK);
    CHECK_INT(skin_work_build(&batch, 1, &shot->arena, &work, &shot->reading.err), ==, STATUS_OK);
    skin_palette(&batch, &shot->pose, (DVec3){0.0, 0.0, 0.0}, &work);
    skin_vertices(&batch, &shot->pose, SIMD_SCALAR, &work, place, NULL);
    surface_pose(&shot->surface, &shot->pose, (DVec3){0.0, 0.0, 0.0}, SIMD_SCALAR, &shot->state);
    for (int v = 0; v < p->vertex_count; v++) {
        float sum = 0.0f;

        for (int k = 0; k < p->influence_count; k++) {
            size_t at = (size_t)v * (size_t)p->influence_count + (size_t)k;
            sum += is_below(shot->rig, skin->joint[p->joint[at]], top) ? p->weight[at] : 0.0f;
        }
        shot->is_hair[v] = sum >= 0.5f;
        count += shot->is_hair[v];
        shot->depth0[v] = depth_at(shot, place[v]);
    }
    CHECK_INT(count, >, 500);
}

static Shot shot_open(void)
{
    Shot shot = {.reading = reading_open(), .arena = test_arena((size_t)1 << 30)};
    AssetOptions options = {.limits = asset_limits_default()};
    ByteWriter file = byte_writer(16 << 20, &shot.reading.err);
    SimulationSpec spec = {.kind = SIMULATION_CHAINS, .is_fitted = true};
    Warnings warnings = warnings_open(&shot.arena, 8);

    CHECK_INT(reading_file(&shot.reading, "vrm/mh_ponytail_avatar.vrm"), ==, STATUS_OK);
    shot.rig = shot.reading.rig;
    shot.moves = test_arena(asset_arena_size(16 << 20, &options.limits));
    CHECK_INT(sample_write_avatar(&(AvatarOptions){0}, &file, &shot.reading.err), ==, STATUS_OK);
    CHECK_INT(asset_read(byte_writer_bytes(&file), &options, &shot.moves, &shot.source,
                         &shot.reading.err),
              ==, STATUS_OK);
    byte_writer_close(&file);
    shot.hair = rig_find_node(shot.rig, "ponytail_mesh");
    CHECK_INT(shot.hair, >=, 0);
    const FitDesc fit = {.body = {.rig = shot.rig}, .spec = &spec, .warnings = &warnings};
    CHECK_INT(fit_colliders(&fit, &shot.arena, &shot.fit, &shot.reading.err), ==, STATUS_OK);
    CHECK_INT(surface_build(&fit.body, &shot.arena, &shot.surface, &shot.reading.err), ==,
              STATUS_OK);
    CHECK_INT(surface_start(&shot.surface, &shot.arena, &shot.state, &shot.reading.err), ==,
              STATUS_OK);
    CHECK_INT(pose_build(shot.rig, &shot.arena, &shot.pose, &shot.reading.err), ==, STATUS_OK);
    find_hair(&shot);
    return shot;
}

static void shot_close(Shot *shot)
{
    arena_destroy(&shot->arena);
    arena_destroy(&shot->moves);
    reading_close(&shot->reading);
}

static const float *find_channel(const FrameHeader *header, const FrameData *frame,
                                 FrameChannelKind kind, const char *key, int *out_channel)
{
    for (int c = 0; c < header->channel_count; c++)
        if (header->channel[c].kind == kind &&
            (!key || strcmp(header->channel[c].key[0], key) == 0)) {
            *out_channel = c;
            return frame->data[c];
        }
    return NULL;
}

/* The frame's joints into the pose, and the surface to it. */
static void set_pose(Shot *shot, const FrameHeader *header, const FrameData *frame)
{
    int c = 0;
    const float *value = find_channel(header, frame, CHANNEL_JOINTS, NULL, &c);

    CHECK(value != NULL);
    pose_set_rest(shot->rig, &shot->pose);
    for (int k = 0; value && k < header->channel[c].key_count; k++) {
        Transform *local = &shot->pose.local[rig_find_node(shot->rig, header->channel[c].key[k])];

        local->translation = vec3(value[0], value[1], value[2]);
        local->rotation = (Quat){value[3], value[4], value[5], value[6]};
        value += header->channel[c].width[k];
    }
    pose_update_world(shot->rig, &shot->pose);
    surface_pose(&shot->surface, &shot->pose, (DVec3){0.0, 0.0, 0.0}, SIMD_SCALAR, &shot->state);
}

/* The deepest vertex of the ponytail in the body, beyond what is authored. */
static double deepest_vertex(Shot *shot, const FrameHeader *header, const FrameData *frame)
{
    int c = 0;
    const float *place = find_channel(header, frame, CHANNEL_POSITIONS, "ponytail_mesh", &c);
    double deepest = 0.0;

    CHECK(place != NULL);
    for (int v = 0; place && v < hair_of(shot)->vertex_count; v++) {
        Vec3 p;

        memcpy(&p, place + 3 * (size_t)v, sizeof p);
        if (!shot->is_hair[v])
            continue;
        double depth = (double)(depth_at(shot, p) - shot->depth0[v]);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest;
}

/* Depth of a link of the ponytail in a fitted collider: of its tail in the head's, which contact
 * meets by tails, of all of it in others. */
static double depth_of_link(const Shot *shot, int link, int collider)
{
    const RigSegment *s = &shot->rig->spring[0].segment[link];
    const RigCollider *from = &shot->fit.rig.collider[collider];
    Shape shape =
        collide_place(from, &shot->pose.world[from->node], shot->pose.world[s->head].origin);
    Vec3 tail = mat3_apply(&shot->pose.world[s->head].basis, s->tail_offset);
    bool is_on_head = is_below(shot->rig, from->node, shot->rig->role[ROLE_HEAD]);
    float gap = is_on_head ? collide_point(&shape, tail, s->hit_radius).gap
                           : collide_segment(&shape, vec3(0, 0, 0), tail, s->hit_radius).gap;

    return gap < 0.0f ? -(double)gap : 0.0;
}

/* How links lie in fitted colliders: those that are authored outside, and how much deeper those
 * that are not. */
typedef struct Links {
    double outside, inside; /* metres, the deepest */
} Links;

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static Links deepest_links(Shot *shot, bool is_rest)
{
    Links deepest = {0};

    for (int i = 0; i < shot->rig->spring[0].segment_count && i < 64; i++)
        for (int c = 0; c < shot->fit.rig.collider_count && c < 8; c++) {
            double depth = depth_of_link(shot, i, c);

            if (is_rest)
                shot->link0[i][c] = depth;
            else if (shot->link0[i][c] > 0.0)
                deepest.inside = greater(deepest.inside, depth - shot->link0[i][c]);
            else
                deepest.outside = greater(deepest.outside, depth);
        }
    return deepest;
}

typedef struct Outcome {
    double vertex; /* metres, the deepest over all frames looked at */
    Links link;
} Outcome;

static Outcome bake(Shot *shot, const BakeSpec *asked, SimulationSpec simulation, int every)
{
    size_t mark = arena_mark(&shot->arena);
    BakeSpec spec = *asked;
    BakeOptions options = {.simd = simd_level_best()};
    BakeEvent event = {0};
    const BakeModel *model;
    BakeState *state;
    Outcome outcome = {0};

    spec.simulation = &simulation;
    spec.simulation_count = 1;
    memset(spec.output.channel, 0, sizeof spec.output.channel);
    spec.output.channel[CHANNEL_POSITIONS] = spec.output.channel[CHANNEL_JOINTS] = true;
    CHECK_INT(bake_build(shot->rig, &spec, &options, &shot->arena, &model, &shot->reading.err), ==,
              STATUS_OK);
    CHECK_INT(bake_start(model, &shot->arena, &state, &shot->reading.err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE) {
        CHECK_INT(bake_advance(model, state, &event, &shot->reading.err), ==, STATUS_OK);
        if (event.kind != BAKE_FRAME || bake_frame(state)->frame % every)
            continue;
        set_pose(shot, bake_header(model), bake_frame(state));
        const Links link = deepest_links(shot, false);
        outcome.vertex =
            greater(outcome.vertex, deepest_vertex(shot, bake_header(model), bake_frame(state)));
        outcome.link.outside = greater(outcome.link.outside, link.outside);
        outcome.link.inside = greater(outcome.link.inside, link.inside);
    }
    arena_rewind(&shot->arena, mark);
    return outcome;
}

/* A shot as authored, with fitted colliders and with the surface. */
static void check_shot(Shot *shot, const char *clip, int fps, bool is_thorough)
{
    static const int ponytail;
    BakeSpec spec = bake_spec_default();
    SimulationSpec simulation = {.kind = SIMULATION_CHAINS,
                                 .is_enabled = true,
                                 .rate = 120,
                                 .chains = chains_spec_default()};
    int every = is_thorough ? 1 : fps / 10;

    simulation.chains.target = &ponytail;
    simulation.chains.target_count = 1;
    spec.motion.kind = clip ? MOTION_CLIP : MOTION_JUMP;
    spec.motion.source = shot->source;
    spec.motion.clip = clip ? rig_find_clip(shot->source, clip) : -1;
    spec.time.end = is_thorough && (!clip || strcmp(clip, "jump") == 0) ? 3.0 : 1.0;
    spec.time.fps_numerator = fps;
    Outcome plain = bake(shot, &spec, simulation, every);
    simulation.is_fitted = true;
    Outcome fitted = bake(shot, &spec, simulation, every);
    simulation.is_fitted = false;
    simulation.has_surface = true;
    Outcome surface = bake(shot, &spec, simulation, every);
    printf("%s at %d fps: deepest vertex in the body %.2f mm as authored, %.2f mm fitted, %.2f mm "
           "with the surface; deepest link in fitted colliders %.2f, then %.3f mm (%.3f mm of "
           "those authored inside)\n",
           clip ? clip : "procedural jump", fps, 1000.0 * plain.vertex, 1000.0 * fitted.vertex,
           1000.0 * surface.vertex, 1000.0 * plain.link.outside, 1000.0 * fitted.link.outside,
           1000.0 * fitted.link.inside);
    CHECK(plain.vertex > 0.005);
    CHECK(surface.vertex <= 0.002);
    CHECK(fitted.link.outside <= 5e-5);
    CHECK(fitted.link.inside <= 1e-3);
}

/* The trajectory is one at every output rate: a few looks at two shots do; with many law cases it
 * is every frame of longer ones. */
TEST(chains_surface, keeps_a_real_ponytail_out_of_its_body_and_of_fitted_colliders)
{
    static const char *const clip[] = {"walk", "jump", NULL};
    Shot shot = shot_open();

    pose_set_rest(shot.rig, &shot.pose);
    pose_update_world(shot.rig, &shot.pose);
    (void)deepest_links(&shot, true);
    if (test_law_cases() <= 100) {
        check_shot(&shot, "walk", 30, false);
        check_shot(&shot, NULL, 120, false);
    }
    for (int i = 0; i < 6 && test_law_cases() > 100; i++)
        check_shot(&shot, clip[i / 2], i % 2 ? 120 : 30, true);
    shot_close(&shot);
}

/* After a head turn the ponytail lies on the neck and is still: the bar is 0.001 mm in 1/30 s. */
TEST(chains_surface, settles_on_a_real_neck)
{
    Reading reading = reading_open();
    Arena arena = test_arena((size_t)1 << 29);
    static const int ponytail;
    SimulationSpec simulation = {.kind = SIMULATION_CHAINS,
                                 .is_enabled = true,
                                 .rate = 120,
                                 .has_surface = true,
                                 .chains = chains_spec_default()};
    BakeSpec spec = bake_spec_default();
    BakeOptions options = {.simd = simd_level_best()};
    BakeEvent event = {0};
    const BakeModel *model;
    BakeState *state;
    Measures measures;

    CHECK_INT(reading_file(&reading, "vrm/mh_ponytail_avatar.vrm"), ==, STATUS_OK);
    simulation.chains.target = &ponytail;
    simulation.chains.target_count = 1;
    spec.motion.kind = MOTION_HEAD_TURN;
    spec.time.end = 0.75;
    spec.time.warm_up = 0.0;
    spec.time.settle = 6.0;
    spec.simulation = &simulation;
    spec.simulation_count = 1;
    CHECK_INT(bake_build(reading.rig, &spec, &options, &arena, &model, &reading.err), ==,
              STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &reading.err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE)
        CHECK_INT(bake_advance(model, state, &event, &reading.err), ==, STATUS_OK);
    CHECK_INT(bake_measure(model, state, &arena, &measures, &reading.err), ==, STATUS_OK);
    CHECK(measures_find(&measures, "contact.count", 0, "*")->value > 10.0);
    CHECK(measures_find(&measures, "settle.speed", 0, "*")->value < 3e-5);
    CHECK_NEAR(measures_find(&measures, "surface.depth", 0, "*")->value, 0.0, 1e-4);
    arena_destroy(&arena);
    reading_close(&reading);
}
