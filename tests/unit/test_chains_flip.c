/* The hardest shot of the sample character: a back flip of 6 s, its long ponytail thrown over head
 * and back. */
#include "core/collide.h"
#include "rig/pose.h"
#include "sim/assets.h"
#include "sim/bake.h"
#include "sim/samples.h"
#include "support/check.h"

#include <string.h>

enum { TIMES = 37, MAX_FLOATS = 1024 }; /* room for the segments of all common times */

typedef struct Shot {
    Arena arena, asset;
    Error err;
    const Rig *rig;
    Pose pose;
    int spring; /* the ponytail */
} Shot;

static Shot shot_open(void)
{
    Shot shot = {.arena = test_arena((size_t)1 << 30)};
    ByteWriter file = byte_writer(16 << 20, &shot.err);
    AssetOptions options = {.limits = asset_limits_default()};

    shot.asset = test_arena(asset_arena_size(16 << 20, &options.limits));
    CHECK_INT(sample_write_avatar(&(AvatarOptions){0}, &file, &shot.err), ==, STATUS_OK);
    CHECK_INT(asset_read(byte_writer_bytes(&file), &options, &shot.asset, &shot.rig, &shot.err), ==,
              STATUS_OK);
    byte_writer_close(&file);
    CHECK_INT(pose_build(shot.rig, &shot.arena, &shot.pose, &shot.err), ==, STATUS_OK);
    shot.spring = rig_find_spring(shot.rig, "Ponytail");
    CHECK_INT(shot.spring, >=, 0);
    return shot;
}

static void shot_close(Shot *shot)
{
    arena_destroy(&shot->arena);
    arena_destroy(&shot->asset);
}

static BakeSpec flip_spec(const Shot *shot, const SimulationSpec *simulation, MotionKind motion,
                          int fps)
{
    BakeSpec spec = bake_spec_default();

    spec.motion.kind = motion;
    spec.motion.source = shot->rig;
    spec.motion.clip = rig_find_clip(shot->rig, "back_flip");
    spec.time.end = 6.0;
    spec.time.fps_numerator = fps;
    spec.simulation_count = 1;
    spec.simulation = simulation;
    memset(spec.output.channel, 0, sizeof spec.output.channel);
    spec.output.channel[CHANNEL_JOINTS] = true;
    spec.output.channel[CHANNEL_SEGMENTS] = true;
    return spec;
}

static SimulationSpec hair(ChainsContact contact)
{
    ChainsSpec chains = chains_spec_default();

    chains.contact = contact;
    return (SimulationSpec){
        .kind = SIMULATION_CHAINS, .is_enabled = true, .rate = 120, .chains = chains};
}

/* The frame's joints into the pose. */
static void set_pose(Shot *shot, const FrameChannel *channel, const float *value)
{
    pose_set_rest(shot->rig, &shot->pose);
    for (int k = 0; k < channel->key_count; k++) {
        Transform *local = &shot->pose.local[rig_find_node(shot->rig, channel->key[k])];

        local->translation = vec3(value[0], value[1], value[2]);
        local->rotation = (Quat){value[3], value[4], value[5], value[6]};
        value += channel->width[k];
    }
    pose_update_world(shot->rig, &shot->pose);
}

static bool is_on_torso(const Rig *rig, const RigCollider *collider)
{
    return collider->kind == COLLIDER_CAPSULE &&
           (collider->node == rig->role[ROLE_SPINE] || collider->node == rig->role[ROLE_CHEST] ||
            collider->node == rig->role[ROLE_UPPER_CHEST] ||
            collider->node == rig->role[ROLE_HIPS]);
}

/* How deep the ponytail's links lie in the torso's capsules that its list names. */
static float torso_depth(const Shot *shot)
{
    const RigSpring *spring = &shot->rig->spring[shot->spring];
    float deepest = 0.0f;

    for (int i = 0; i < spring->segment_count; i++) {
        const RigSegment *segment = &spring->segment[i];
        const World *head = &shot->pose.world[segment->head];
        Vec3 bone = mat3_apply(&head->basis, segment->tail_offset);

        for (int k = 0; k < spring->collider_count; k++) {
            const RigCollider *collider = &shot->rig->collider[spring->collider[k]];
            if (!is_on_torso(shot->rig, collider))
                continue;
            Shape shape = collide_place(collider, &shot->pose.world[collider->node], head->origin);
            float depth = collide_depth(&shape, vec3(0.0f, 0.0f, 0.0f), bone, segment->hit_radius);
            deepest = depth > deepest ? depth : deepest;
        }
    }
    return deepest;
}

static int find_channel(const FrameHeader *header, FrameChannelKind kind)
{
    for (int c = 0; c < header->channel_count; c++)
        if (header->channel[c].kind == kind)
            return c;
    return -1;
}

/* Bakes the flip; the deepest the ponytail is in the torso over all frames. With `keep` the
 * segments of every 1/6 s are kept there, one after the other. */
static float bake_flip(Shot *shot, const SimulationSpec *simulation, MotionKind motion, int fps,
                       float *keep)
{
    const BakeSpec spec = flip_spec(shot, simulation, motion, fps);
    int stride = fps / 6;
    const BakeOptions options = {.simd = simd_level_best()};
    size_t mark = arena_mark(&shot->arena);
    const BakeModel *model;
    BakeState *state;
    BakeEvent event = {0};
    float deepest = 0.0f;

    CHECK_INT(bake_build(shot->rig, &spec, &options, &shot->arena, &model, &shot->err), ==,
              STATUS_OK);
    CHECK_INT(bake_start(model, &shot->arena, &state, &shot->err), ==, STATUS_OK);
    int joints = find_channel(bake_header(model), CHANNEL_JOINTS);
    int segments = find_channel(bake_header(model), CHANNEL_SEGMENTS);
    CHECK_INT(bake_header(model)->channel[segments].float_count, <=, MAX_FLOATS);
    size_t size = (size_t)bake_header(model)->channel[segments].float_count;
    while (event.kind != BAKE_DONE) {
        CHECK_INT(bake_advance(model, state, &event, &shot->err), ==, STATUS_OK);
        if (event.kind != BAKE_FRAME)
            continue;
        const FrameData *frame = bake_frame(state);
        set_pose(shot, &bake_header(model)->channel[joints], frame->data[joints]);
        float depth = torso_depth(shot);
        deepest = depth > deepest ? depth : deepest;
        if (keep && frame->frame % stride == 0)
            memcpy(keep + (size_t)(frame->frame / stride) * size, frame->data[segments],
                   size * sizeof(float));
    }
    Measures measures;
    CHECK_INT(bake_measure(model, state, &shot->arena, &measures, &shot->err), ==, STATUS_OK);
    const MeasureRow *contacts = measures_find(&measures, "contact.count", 0, "Ponytail");
    CHECK(contacts != NULL);
    CHECK((contacts->value > 100.0) == (simulation->chains.contact != CHAINS_CONTACT_NONE));
    arena_rewind(&shot->arena, mark);
    return deepest;
}

/* Every sub-step is a frame at 120 fps; 0.05 mm is the bar of a penetration. */
TEST(chains_flip, keeps_the_ponytail_out_of_the_torso_at_every_sub_step)
{
    Shot shot = shot_open();
    const SimulationSpec with = hair(CHAINS_CONTACT_AUTO), without = hair(CHAINS_CONTACT_NONE);
    for (int motion = MOTION_CLIP; motion <= MOTION_BACK_FLIP;
         motion += MOTION_BACK_FLIP - MOTION_CLIP) {
        CHECK_NEAR(bake_flip(&shot, &with, (MotionKind)motion, 120, NULL), 0.0, 5e-5);
        CHECK(bake_flip(&shot, &without, (MotionKind)motion, 120, NULL) > 0.05f);
    }
    shot_close(&shot);
}

/* Common times of 24, 30, 60 and 120 fps are every 1/6 s: 37 of them in 6 s. */
TEST(chains_flip, gives_the_same_bits_at_every_frame_rate)
{
    static const int fps[] = {24, 30, 60, 120};
    Shot shot = shot_open();
    const SimulationSpec simulation = hair(CHAINS_CONTACT_AUTO);
    float *kept[4];

    for (int i = 0; i < 4; i++) {
        kept[i] = arena_array(&shot.arena, float, TIMES *MAX_FLOATS);
        (void)bake_flip(&shot, &simulation, MOTION_CLIP, fps[i], kept[i]);
        CHECK_INT(memcmp(kept[i], kept[0], TIMES * MAX_FLOATS * sizeof(float)), ==, 0);
    }
    shot_close(&shot);
}
