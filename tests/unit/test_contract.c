/* What every solver of the table promises, on one small scene and on a real avatar. */
#include "sim/assets.h"
#include "support/check.h"
#include "support/scene.h"

#include <math.h>
#include <string.h>

/* One simulation of a kind with the contract's defaults. */
static SimulationSpec simulation_of(SimulationKind kind)
{
    return (SimulationSpec){.kind = kind,
                            .is_enabled = true,
                            .rate = simulation_default_rate(kind, 0, 120),
                            .chains = chains_spec_default()};
}

static BakeSpec spec_of(const Rig *rig, const SimulationSpec *simulation)
{
    BakeSpec spec = scene_spec(rig, simulation, 1);

    spec.motion.kind = rig->clip_count ? MOTION_CLIP : MOTION_HEAD_TURN;
    return spec;
}

/* A hash of every float of every frame, and of the state at the end. */
static uint64_t run(const Rig *rig, const BakeSpec *spec, SimdLevel simd)
{
    Arena arena = test_arena((size_t)512 << 20);
    Error err = {0};
    const BakeOptions options = {.simd = simd};
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;
    uint64_t hash = 0;

    CHECK_INT(bake_build(rig, spec, &options, &arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &err), ==, STATUS_OK);
    size_t used = arena.used;
    do {
        CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
        // no scratch is left behind
        CHECK_INT((long long)arena.used, ==, (long long)used);
        const FrameHeader *header = bake_header(model);
        for (int c = 0; event.kind == BAKE_FRAME && c < header->channel_count; c++)
            for (int i = 0; i < header->channel[c].float_count; i++) {
                uint32_t bits;

                CHECK(isfinite(bake_frame(state)->data[c][i]));
                memcpy(&bits, &bake_frame(state)->data[c][i], sizeof bits);
                hash = (hash ^ bits) * 0x100000001b3u;
            }
    } while (event.kind != BAKE_DONE);
    hash ^= bake_hash(model, state);
    arena_destroy(&arena);
    return hash;
}

static void check_equal_bits(const Rig *rig)
{
    for (int kind = 0; kind < SIMULATION_KIND_COUNT; kind++) {
        if (!solver_find((SimulationKind)kind))
            continue;
        SimulationSpec simulation = simulation_of((SimulationKind)kind);
        BakeSpec spec = spec_of(rig, &simulation);
        uint64_t expected = run(rig, &spec, SIMD_SCALAR);

        for (int level = 0; level <= (int)simd_level_best(); level++)
            CHECK(run(rig, &spec, (SimdLevel)level) == expected);
    }
}

TEST(contract, chains_can_be_simulated)
{
    CHECK(solver_find(SIMULATION_CHAINS) == &chains_solver);
    CHECK_EQUAL_TEXT(solver_find(SIMULATION_CHAINS)->name, simulation_kind_name(SIMULATION_CHAINS));
}

TEST(contract, equal_input_gives_equal_bits_at_every_instruction_set)
{
    Arena arena = test_arena(1 << 20);

    check_equal_bits(scene_rig(&arena));
    arena_destroy(&arena);
}

TEST(contract, builds_or_refuses_at_every_arena_size)
{
    Arena scene = test_arena(1 << 20);
    const Rig *rig = scene_rig(&scene);

    for (int kind = 0; kind < SIMULATION_KIND_COUNT; kind++) {
        SimulationSpec simulation = simulation_of((SimulationKind)kind);
        BakeSpec spec = spec_of(rig, &simulation);
        bool has_run = !solver_find((SimulationKind)kind);

        for (size_t capacity = 1; !has_run && capacity < 1000000; capacity += 331) {
            Arena arena = test_arena(capacity);
            Error err = {0};
            const BakeOptions options = {.simd = simd_level_best()};
            const BakeModel *model;
            BakeState *state;
            BakeEvent event = {.kind = BAKE_STEPPED};

            if (!bake_build(rig, &spec, &options, &arena, &model, &err) &&
                !bake_start(model, &arena, &state, &err))
                while (event.kind != BAKE_DONE && !bake_advance(model, state, &event, &err))
                    ;
            has_run = event.kind == BAKE_DONE;
            if (!has_run)
                CHECK_INT(err.status, ==, STATUS_NO_MEMORY);
            arena_destroy(&arena);
        }
        CHECK(has_run);
    }
    arena_destroy(&scene);
}

/* Frames of `spec` at a rate, one after another. */
static float *frames_at(const Rig *rig, BakeSpec spec, int fps, Arena *arena, int *out_floats)
{
    Error err = {0};
    const BakeOptions options = {.simd = simd_level_best()};
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;

    spec.time.fps_numerator = fps;
    CHECK_INT(bake_build(rig, &spec, &options, arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, arena, &state, &err), ==, STATUS_OK);
    const FrameHeader *header = bake_header(model);
    int floats = 0;
    for (int c = 0; c < header->channel_count; c++)
        floats += header->channel[c].float_count;
    float *frames = arena_array(arena, float, (size_t)header->frame_count *(size_t)floats);
    CHECK(frames != NULL);
    float *out = frames;
    do {
        CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
        for (int c = 0; event.kind == BAKE_FRAME && c < header->channel_count; c++) {
            size_t count = (size_t)header->channel[c].float_count;
            memcpy(out, bake_frame(state)->data[c], count * sizeof *out);
            out += count;
        }
    } while (event.kind != BAKE_DONE);
    *out_floats = floats;
    return frames;
}

static void check_frame_rates(const Rig *rig, SimulationKind kind)
{
    static const int fps[3] = {24, 30, 60};
    SimulationSpec simulation = simulation_of(kind);
    BakeSpec spec = spec_of(rig, &simulation);
    Arena arena = test_arena((size_t)512 << 20);
    int floats;

    spec.output.channel[CHANNEL_POSITIONS] = rig->node_count == SCENE_NODES;
    const float *fine = frames_at(rig, spec, 120, &arena, &floats);
    for (int i = 0; i < 3; i++) {
        const float *coarse = frames_at(rig, spec, fps[i], &arena, &floats);

        for (int k = 0; k <= fps[i]; k++)
            CHECK(memcmp(coarse + (size_t)k * (size_t)floats,
                         fine + (size_t)(k * 120 / fps[i]) * (size_t)floats,
                         (size_t)floats * sizeof *fine) == 0);
    }
    arena_destroy(&arena);
}

TEST(contract, every_output_rate_gives_the_same_state_at_common_times)
{
    Arena arena = test_arena(1 << 20);
    const Rig *rig = scene_rig(&arena);

    for (int kind = 0; kind < SIMULATION_KIND_COUNT; kind++)
        if (solver_find((SimulationKind)kind))
            check_frame_rates(rig, (SimulationKind)kind);
    arena_destroy(&arena);
}

TEST(contract, holds_on_a_real_avatar_with_contact)
{
    Bytes file = test_read_file(test_data_path("vrm/mh_ponytail_avatar.vrm"));
    Arena arena = test_arena((size_t)1 << 30);
    Error err = {0};
    AssetOptions options = {.limits = asset_limits_default()};
    const Rig *rig;

    CHECK_INT(asset_read(file, &options, &arena, &rig, &err), ==, STATUS_OK);
    test_close_file(file);
    check_equal_bits(rig);
    check_frame_rates(rig, SIMULATION_CHAINS);
    arena_destroy(&arena);
}

/* Two poses of one part: the last step's before another step, the step before's after it. */
static void check_pose_at_0(const Rig *rig, SimulationKind kind)
{
    Arena arena = test_arena((size_t)64 << 20);
    Error err = {0};
    SimulationSpec simulation = simulation_of(kind);
    BakeSpec spec = spec_of(rig, &simulation);
    const BakeOptions options = {.simd = simd_level_best()};
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;
    Pose last, before;

    CHECK_INT(bake_build(rig, &spec, &options, &arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(rig, &arena, &last, &err), ==, STATUS_OK);
    CHECK_INT(pose_build(rig, &arena, &before, &err), ==, STATUS_OK);
    const Part *part = &model->parts.part[0];
    const PartState *own = &state->parts.part[0];
    for (int i = 0; i < 100; i++) {
        int64_t step = own->step;

        pose_copy(rig, &own->seen[own->now], &last);
        part->ops->pose(part->model, own->state, 1.0f, &last);
        do
            CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
        while (own->step == step);
        pose_copy(rig, &own->seen[own->now], &before);
        part->ops->pose(part->model, own->state, 0.0f, &before);
        for (int j = 0; j < part->driven_count; j++)
            CHECK(memcmp(&last.local[part->driven[j]].rotation,
                         &before.local[part->driven[j]].rotation, sizeof(Quat)) == 0);
    }
    arena_destroy(&arena);
}

TEST(contract, the_step_before_is_written_with_the_bits_it_had)
{
    Arena arena = test_arena(1 << 20);
    const Rig *rig = scene_rig(&arena);

    for (int kind = 0; kind < SIMULATION_KIND_COUNT; kind++)
        if (solver_find((SimulationKind)kind))
            check_pose_at_0(rig, (SimulationKind)kind);
    arena_destroy(&arena);
}
