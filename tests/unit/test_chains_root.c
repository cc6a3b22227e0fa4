/* Chains that hang on nothing: their first joint is a root of the scene, which a whole-scene motion
 * moves without animating it. */
#include "math/scalar.h"
#include "sim/bake.h"
#include "support/check.h"
#include "support/reading.h"

#include <string.h>

/* Three nodes, each 0.1 m below the one before; the first is a root at (0, 1, 0.2). */
static const char *const strand =
    "{'asset':{'version':'2.0'},'nodes':[{'name':'a','translation':[0,1,0.2],'children':[1]},"
    "{'name':'b','translation':[0,-0.1,0],'children':[2]},{'name':'c','translation':[0,-0.1,0]}],"
    "'scenes':[{'nodes':[0]}]}";

typedef struct Sway {
    Reading reading;
    Arena arena;
    const BakeModel *model;
    BakeState *state;
    float segment[12]; /* two heads and tails of the last frame */
} Sway;

static void open_sway(Sway *s, MotionKind motion, double end)
{
    static const ChainDefine define = {.name = "lock", .root = 0, .end = -1, .attach = -1};
    static SimulationSpec simulation;
    BakeSpec spec = bake_spec_default();
    BakeOptions options = {.simd = simd_level_best()};

    s->reading = reading_open();
    s->arena = test_arena(64 << 20);
    CHECK_INT(reading_text(&s->reading, strand, NULL, 0), ==, STATUS_OK);
    simulation = (SimulationSpec){.kind = SIMULATION_CHAINS,
                                  .is_enabled = true,
                                  .rate = 120,
                                  .chains = chains_spec_default()};
    simulation.chains.define = &define;
    simulation.chains.define_count = 1;
    spec.motion.kind = motion;
    spec.time.end = end;
    spec.time.fps_numerator = 20;
    spec.time.warm_up = 0.0;
    spec.simulation = &simulation;
    spec.simulation_count = 1;
    memset(spec.output.channel, 0, sizeof spec.output.channel);
    spec.output.channel[CHANNEL_SEGMENTS] = true;
    CHECK_INT(bake_build(s->reading.rig, &spec, &options, &s->arena, &s->model, &s->reading.err),
              ==, STATUS_OK);
    CHECK_INT(bake_start(s->model, &s->arena, &s->state, &s->reading.err), ==, STATUS_OK);
}

static void close_sway(Sway *s)
{
    arena_destroy(&s->arena);
    reading_close(&s->reading);
}

/* Bakes up to that frame. */
static void bake_to(Sway *s, int frame)
{
    BakeEvent event = {0};

    do {
        CHECK_INT(bake_advance(s->model, s->state, &event, &s->reading.err), ==, STATUS_OK);
        CHECK(event.kind != BAKE_DONE);
    } while (event.kind != BAKE_FRAME || bake_frame(s->state)->frame < frame);
    CHECK_INT(bake_header(s->model)->channel[0].float_count, ==, 12);
    memcpy(s->segment, bake_frame(s->state)->data[0], sizeof s->segment);
}

static void check_lengths(const Sway *s)
{
    for (int i = 0; i < 2; i++) {
        const float *p = &s->segment[6 * i];
        Vec3 bone = {p[3] - p[0], p[4] - p[1], p[5] - p[2]};
        CHECK_NEAR(vec3_length(bone), 0.1, 1e-6);
    }
}

TEST(chains_root, whole_scene_motions_do_not_switch_the_chain_off)
{
    static const MotionKind kind[] = {MOTION_STILL, MOTION_HEAD_TURN, MOTION_TURN,     MOTION_SWING,
                                      MOTION_JUMP,  MOTION_DROP,      MOTION_BACK_FLIP};

    for (size_t k = 0; k < sizeof kind / sizeof kind[0]; k++) {
        Sway s;
        open_sway(&s, kind[k], 1.0);
        for (int i = 0; i < bake_warnings(s.model)->count; i++)
            CHECK(strcmp(bake_warnings(s.model)->warning[i].code, "chain_off") != 0);
        bake_to(&s, 20);
        check_lengths(&s);
        close_sway(&s);
    }
}

/* swing: x = 0.15 clamp((t - 0.5) / 0.25). At 0.6 s the root stands at 0.06 m, the tip behind it;
 * a second after the stop the lock hangs straight again. */
TEST(chains_root, the_lock_follows_its_root_later_and_comes_to_rest_below_it)
{
    Sway s;

    open_sway(&s, MOTION_SWING, 4.0);
    bake_to(&s, 12);
    CHECK_NEAR(s.segment[0], 0.06, 1e-6);
    CHECK_NEAR(s.segment[1], 1.0, 1e-6);
    CHECK(s.segment[9] < s.segment[0] - 0.005f);
    check_lengths(&s);
    bake_to(&s, 80);
    CHECK_NEAR(s.segment[0], 0.15, 1e-6);
    CHECK_NEAR(s.segment[9], 0.15, 1e-5);
    CHECK_NEAR(s.segment[10], 0.8, 1e-5);
    close_sway(&s);
}

/* turn at 0.25 s: YXZ of yaw 0.8 and pitch 0.25 sin(pi / 4) about the origin takes (0, 1, 0.2) to
 * (sin yaw z', cos pitch - 0.2 sin pitch, cos yaw z'), z' = sin pitch + 0.2 cos pitch. */
TEST(chains_root, the_root_goes_where_the_scene_turns_it)
{
    double pitch = 0.25 * scalar_sin(0.25 * 3.14159265358979323846);
    double z = scalar_sin(pitch) + 0.2 * scalar_cos(pitch);
    Sway s;

    open_sway(&s, MOTION_TURN, 1.0);
    bake_to(&s, 5);
    CHECK_NEAR(s.segment[0], scalar_sin(0.8) * z, 1e-6);
    CHECK_NEAR(s.segment[1], scalar_cos(pitch) - 0.2 * scalar_sin(pitch), 1e-6);
    CHECK_NEAR(s.segment[2], scalar_cos(0.8) * z, 1e-6);
    check_lengths(&s);
    close_sway(&s);
}
