/* What fitted colliders are for: long front locks over a shirt, in a head turn. */
#include "sim/assets.h"
#include "sim/bake.h"
#include "sim/picture.h"
#include "sim/samples.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SHIRT = 4 };

typedef struct Shot {
    Arena arena, asset, scratch;
    Error err;
    const Rig *rig;
    int lock_count;
    int *lock;       /* vertices of the hair that a front lock has at least half of (lock_count) */
    int lock_part;   /* primitive of the hair that has them */
    int hair, shirt; /* nodes */
} Shot;

/* What a bake came to. */
typedef struct Outcome {
    double p99, worst;
    int hidden; /* front-lock vertices behind the shirt by more than 1 mm, at any frame */
    double depth;
} Outcome;

static bool is_lock_joint(const Rig *rig, int node)
{
    return strncmp(rig->node[node].key, "FrontLock", 9) == 0;
}

static void find_locks(Shot *shot)
{
    const Rig *rig = shot->rig;
    const RigNode *hair = &rig->node[shot->hair];
    const RigSkin *skin = &rig->skin[hair->skin];
    const RigPrimitive *p = &rig->mesh[hair->mesh].primitive[0];

    shot->lock = arena_array(&shot->arena, int, p->vertex_count);
    for (int v = 0; v < p->vertex_count; v++) {
        float sum = 0.0f;

        for (int k = 0; k < p->influence_count; k++) {
            size_t at = (size_t)v * (size_t)p->influence_count + (size_t)k;
            if (p->weight[at] > 0.0f && is_lock_joint(rig, skin->joint[p->joint[at]]))
                sum += p->weight[at];
        }
        if (sum >= 0.5f)
            shot->lock[shot->lock_count++] = v;
    }
    CHECK_INT(shot->lock_count, >, 1000);
}

static Shot shot_open(void)
{
    Shot shot = {.arena = test_arena((size_t)1 << 30), .scratch = test_arena((size_t)1 << 27)};
    ByteWriter file = byte_writer(16 << 20, &shot.err);
    AssetOptions options = {.limits = asset_limits_default()};
    AvatarOptions avatar = {.hair = AVATAR_HAIR_LAYERED};

    shot.asset = test_arena(asset_arena_size(16 << 20, &options.limits));
    CHECK_INT(sample_write_avatar(&avatar, &file, &shot.err), ==, STATUS_OK);
    CHECK_INT(asset_read(byte_writer_bytes(&file), &options, &shot.asset, &shot.rig, &shot.err), ==,
              STATUS_OK);
    byte_writer_close(&file);
    shot.hair = rig_find_node(shot.rig, "Hair");
    shot.shirt = rig_find_node(shot.rig, "Shirt");
    CHECK_INT(shot.hair, >=, 0);
    CHECK_INT(shot.shirt, >=, 0);
    find_locks(&shot);
    return shot;
}

static void shot_close(Shot *shot)
{
    arena_destroy(&shot->arena);
    arena_destroy(&shot->asset);
    arena_destroy(&shot->scratch);
}

static const float *positions_of(const FrameHeader *header, const FrameData *frame, const char *key)
{
    for (int c = 0; c < header->channel_count; c++)
        if (header->channel[c].kind == CHANNEL_POSITIONS &&
            strcmp(header->channel[c].key[0], key) == 0)
            return frame->data[c];
    return NULL;
}

/* Union over frames of what the front camera does not see of the locks. */
static void look(Shot *shot, const FrameHeader *header, const FrameData *frame,
                 PictureOcclusion *seen)
{
    const RigMesh *shirt = &shot->rig->mesh[shot->rig->node[shot->shirt].mesh];
    PictureMesh mesh[MAX_SHIRT];
    size_t mark = arena_mark(&shot->scratch);
    Vec3 *point = arena_scratch(&shot->scratch, Vec3, shot->lock_count);
    const float *hair = positions_of(header, frame, "Hair");

    for (int p = 0; p < shirt->primitive_count && p < MAX_SHIRT; p++) {
        char key[16];

        (void)snprintf(key, sizeof key, p ? "Shirt/%d" : "Shirt", p);
        const float *at = positions_of(header, frame, key);
        CHECK(at != NULL);
        mesh[p] = (PictureMesh){.vertex_count = shirt->primitive[p].vertex_count,
                                .index_count = shirt->primitive[p].index_count,
                                .position = (const Vec3 *)at,
                                .index = shirt->primitive[p].index};
    }
    CHECK(hair && point);
    for (int i = 0; hair && point && i < shot->lock_count; i++)
        memcpy(&point[i], hair + 3 * (size_t)shot->lock[i], sizeof *point);
    const PictureScreen screen = {shirt->primitive_count, mesh, shot->rig->forward};
    CHECK_INT(picture_occlusion(&screen, point, &shot->scratch, seen, &shot->err), ==, STATUS_OK);
    arena_rewind(&shot->scratch, mark);
}

static Outcome bake(Shot *shot, SimulationSpec simulation, int fps, int every)
{
    size_t mark = arena_mark(&shot->arena);
    BakeSpec spec = bake_spec_default();
    BakeOptions options = {.simd = simd_level_best()};
    BakeEvent event = {0};
    const BakeModel *model;
    BakeState *state;
    Measures measures;
    PictureOcclusion seen = {.point_count = shot->lock_count,
                             .is_hidden = arena_array(&shot->arena, bool, shot->lock_count)};

    spec.motion.kind = MOTION_HEAD_TURN;
    spec.time.end = test_law_cases() > 100 ? 4.0 : 2.0;
    spec.time.settle = test_law_cases() > 100 ? 8.0 : 0.0;
    spec.time.fps_numerator = fps;
    spec.simulation = &simulation;
    spec.simulation_count = 1;
    memset(spec.output.channel, 0, sizeof spec.output.channel);
    spec.output.channel[CHANNEL_POSITIONS] = true;
    CHECK_INT(bake_build(shot->rig, &spec, &options, &shot->arena, &model, &shot->err), ==,
              STATUS_OK);
    CHECK_INT(bake_start(model, &shot->arena, &state, &shot->err), ==, STATUS_OK);
    while (event.kind != BAKE_DONE) {
        CHECK_INT(bake_advance(model, state, &event, &shot->err), ==, STATUS_OK);
        if (event.kind == BAKE_FRAME && bake_frame(state)->frame % every == 0)
            look(shot, bake_header(model), bake_frame(state), &seen);
    }
    CHECK_INT(bake_measure(model, state, &shot->arena, &measures, &shot->err), ==, STATUS_OK);
    Outcome outcome = {.p99 = measures_find(&measures, "stretch.p99", 0, "*")->value,
                       .worst = measures_find(&measures, "stretch.max", 0, "*")->value,
                       .hidden = seen.count,
                       .depth = (double)seen.depth};
    arena_rewind(&shot->arena, mark);
    return outcome;
}

static SimulationSpec hair(void)
{
    return (SimulationSpec){.kind = SIMULATION_CHAINS,
                            .is_enabled = true,
                            .rate = 120,
                            .chains = chains_spec_default()};
}

static void print(const char *title, const Shot *shot, const Outcome *o)
{
    printf("%s: p99 %.1f %%, worst %.1f %%, %d of %d lock vertices hidden, %.1f mm deep\n", title,
           100.0 * o->p99, 100.0 * o->worst, o->hidden, shot->lock_count, 1000.0 * o->depth);
}

/* Every output rate samples one trajectory, so a few looks at one cycle do; with many law cases
 * (BAKEHOUSE_LAW_CASES above 100) it is every frame of the whole bake. */
TEST(fit_shot, no_lock_is_hidden_by_the_shirt_at_any_frame_rate)
{
    Shot shot = shot_open();
    SimulationSpec before_all = hair();
    SimulationSpec fitted = hair();
    bool is_thorough = test_law_cases() > 100;

    before_all.chains.rest = CHAINS_REST_PARENT;
    before_all.chains.contact = CHAINS_CONTACT_ENDPOINT;
    before_all.chains.contact_velocity = CHAINS_VELOCITY_NAIVE;
    fitted.is_fitted = true;
    Outcome first = bake(&shot, before_all, 30, is_thorough ? 1 : 10);
    print("before all", &shot, &first);
    CHECK_INT(first.hidden, >, 200);
    Outcome second = bake(&shot, hair(), 30, is_thorough ? 1 : 10);
    print("before the fit", &shot, &second);
    CHECK_INT(second.hidden, >, 0);
    CHECK_INT(second.hidden, <, first.hidden);
    for (int fps = 30; fps <= 120; fps += 90) {
        Outcome after = bake(&shot, fitted, fps, is_thorough ? 1 : fps == 30 ? 6 : 17);
        print(fps == 30 ? "after the fit, 30 fps" : "after the fit, 120 fps", &shot, &after);
        CHECK_INT(after.hidden, ==, 0);
        CHECK(after.p99 < second.p99 + 0.03 && after.worst < second.worst + 0.01);
    }
    shot_close(&shot);
}
