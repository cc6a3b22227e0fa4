#include "support/check.h"
#include "support/scene.h"

#include <math.h>
#include <string.h>

static const int hair[3] = {SCENE_HAIR0, SCENE_HAIR1, SCENE_HAIR2};

typedef struct Run {
    Arena arena;
    const Rig *rig;
    const BakeModel *model;
    BakeState *state;
    int frame_count;
    int float_count; /* of a frame, all channels one after another */
    float *frames;   /* (frame_count float_count) */
} Run;

static void put_frame(const BakeModel *model, const FrameData *frame, float *out)
{
    const FrameHeader *header = bake_header(model);

    for (int c = 0; c < header->channel_count; c++) {
        memcpy(out, frame->data[c], (size_t)header->channel[c].float_count * sizeof *out);
        out += header->channel[c].float_count;
    }
}

/* Build, start, run to the end and keep every frame. */
static Run run_bake(BakeSpec spec)
{
    Run run = {.arena = test_arena((size_t)256 << 20)};
    Error err = {0};
    BakeEvent event;

    run.rig = scene_rig(&run.arena);
    spec.motion.source = run.rig;
    CHECK_INT(scene_build(run.rig, &spec, &run.arena, &run.model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(run.model, &run.arena, &run.state, &err), ==, STATUS_OK);
    const FrameHeader *header = bake_header(run.model);
    for (int c = 0; c < header->channel_count; c++)
        run.float_count += header->channel[c].float_count;
    run.frames = arena_array(&run.arena, float, header->frame_count *run.float_count);
    do {
        CHECK_INT(bake_advance(run.model, run.state, &event, &err), ==, STATUS_OK);
        if (event.kind == BAKE_FRAME) {
            CHECK_INT(bake_frame(run.state)->frame, ==, run.frame_count);
            put_frame(run.model, bake_frame(run.state),
                      run.frames + run.frame_count++ * run.float_count);
        }
    } while (event.kind != BAKE_DONE);
    CHECK_NEAR(event.progress, 1.0, 1e-12);
    return run;
}

static void end_run(Run *run)
{
    arena_destroy(&run->arena);
}

static const float *frame_of(const Run *run, int frame)
{
    return run->frames + frame * run->float_count;
}

static bool is_equal_frame(const Run *a, int frame_a, const Run *b, int frame_b)
{
    return a->float_count == b->float_count && memcmp(frame_of(a, frame_a), frame_of(b, frame_b),
                                                      (size_t)a->float_count * sizeof(float)) == 0;
}

static BakeSpec waving_spec(const SimulationSpec *simulation, int count, double end)
{
    BakeSpec spec = scene_spec(NULL, simulation, count);

    spec.motion.kind = MOTION_CLIP;
    spec.time.end = end;
    return spec;
}

/* --- frames and time --- */

TEST(bake, four_seconds_at_30_fps_are_121_frames)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = scene_spec(NULL, &simulation, 1);

    spec.time.end = 4.0;
    Run run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 121);
    CHECK_NEAR(bake_frame(run.state)->time, 4.0, 0.0);
    CHECK_INT(bake_tick_count(run.model), ==, 540); // and half a second of warm-up
    end_run(&run);
}

TEST(bake, a_length_that_doubles_miss_by_a_little_keeps_its_last_frame)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = scene_spec(NULL, &simulation, 1);

    // 4.1 - 0.1 is 3.9999999999999996
    spec.time.start = 0.1;
    spec.time.end = 4.1;
    Run run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 121);
    end_run(&run);
}

TEST(bake, every_output_rate_samples_one_trajectory)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 9.0);
    static const int fps[4] = {24, 25, 30, 60};

    spec.time.fps_numerator = 120;
    Run fine = run_bake(spec);
    for (int i = 0; i < 4; i++) {
        spec.time.fps_numerator = fps[i];
        Run coarse = run_bake(spec);
        int common = 0;

        for (int k = 0; k < coarse.frame_count; k++) {
            if (k * 120 % fps[i])
                continue;
            CHECK(is_equal_frame(&coarse, k, &fine, k * 120 / fps[i]));
            common++;
        }
        CHECK_INT(common, >=, 9 * 5);
        CHECK_INT((long long)(bake_hash(coarse.model, coarse.state) >> 1), ==,
                  (long long)(bake_hash(fine.model, fine.state) >> 1));
        end_run(&coarse);
    }
    // 24000/1001: frame 200 is tick 1001
    spec.time.fps_numerator = 24000;
    spec.time.fps_denominator = 1001;
    Run film = run_bake(spec);
    CHECK(is_equal_frame(&film, 200, &fine, 1001));
    // frame 1 falls between ticks 5 and 6
    CHECK(!is_equal_frame(&film, 1, &fine, 5));
    end_run(&film);
    end_run(&fine);
}

TEST(bake, measures_do_not_depend_on_the_output_rate)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 1.0);
    static const int fps[4] = {7, 24, 60, 240};
    double expected = NAN;

    for (int i = 0; i < 4; i++) {
        Error err = {0};
        Measures measures;

        spec.time.fps_numerator = fps[i];
        Run run = run_bake(spec);
        CHECK_INT(bake_measure(run.model, run.state, &run.arena, &measures, &err), ==, STATUS_OK);
        const MeasureRow *row = measures_find(&measures, "stretch.max", 0, "*");
        CHECK(row != NULL);
        if (i == 0)
            expected = row->value;
        CHECK(expected > 1e-5);
        CHECK_NEAR(row->value, expected, 0.0);
        end_run(&run);
    }
}

TEST(bake, frame_0_is_the_state_before_the_first_step)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 1.0);

    spec.time.warm_up = 0.0;
    Run run = run_bake(spec);
    const float *joints = frame_of(&run, 0);
    // root, head, hair0: in file order; hair is at rest
    CHECK_NEAR(joints[0], 0.0, 0.0);
    CHECK_NEAR(joints[1], 1.0, 0.0);
    CHECK_NEAR(joints[2 * 7 + 5], 0.0, 0.0);
    CHECK_NEAR(joints[2 * 7 + 6], 1.0, 0.0);
    // and moves later
    CHECK(fabsf(frame_of(&run, 5)[2 * 7 + 5]) > 1e-3f);
    end_run(&run);
}

TEST(bake, an_output_between_ticks_lies_between_them)
{
    const int node[1] = {SCENE_HAIR0};
    SimulationSpec simulation = scene_simulation(node, 1, 20);
    BakeSpec spec = waving_spec(&simulation, 1, 1.0);

    // a step is 1/20 s; frames of 1/120 s in between turn the joint evenly
    spec.time.fps_numerator = 120;
    Run run = run_bake(spec);
    for (int k = 12; k < 18; k++) {
        double before = 2.0 * asin((double)frame_of(&run, 12)[2 * 7 + 5]);
        double after = 2.0 * asin((double)frame_of(&run, 18)[2 * 7 + 5]);
        double angle = 2.0 * asin((double)frame_of(&run, k)[2 * 7 + 5]);

        CHECK_NEAR(angle, before + (after - before) * (k - 12) / 6.0, 1e-5);
        CHECK(fabs(after - before) > 1e-3);
    }
    end_run(&run);
}

/* --- several simulations --- */

TEST(bake, a_later_simulation_never_changes_an_earlier_one)
{
    const int first[1] = {SCENE_HAIR0}, second[1] = {SCENE_HAIR2};
    static const int rate[4] = {20, 40, 120, 600};

    for (int i = 0; i < 8; i++) {
        SimulationSpec simulation[2] = {scene_simulation(first, 1, 60),
                                        scene_simulation(second, 1, rate[i % 4])};
        BakeSpec spec = waving_spec(simulation, 1, 1.0);

        spec.output.channel[CHANNEL_SEGMENTS] = spec.output.channel[CHANNEL_POSITIONS] = false;
        // on the steps and between them
        spec.time.fps_numerator = i < 4 ? 60 : 97;
        Run alone = run_bake(spec);
        spec.simulation_count = 2;
        Run both = run_bake(spec);
        for (int k = 0; k < alone.frame_count; k++)
            CHECK(memcmp(frame_of(&alone, k), frame_of(&both, k), 3 * 7 * sizeof(float)) == 0);
        end_run(&both);
        end_run(&alone);
    }
}

TEST(bake, a_later_simulation_sees_what_an_earlier_one_left)
{
    const int first[1] = {SCENE_HAIR0}, second[1] = {SCENE_HAIR2};
    SimulationSpec simulation[2] = {scene_simulation(first, 1, 120),
                                    scene_simulation(second, 1, 120)};
    BakeSpec spec = scene_spec(NULL, simulation, 2);

    // the first one turns slowly from a kick of its own: a pendulum that starts bent
    simulation[0].chains.parameters.radius = 0.5f;
    Run still = run_bake(spec);
    // hair1 hangs on hair0, 0.1 m along z, on the axis of the turn: nothing moves it, or hair2
    CHECK_NEAR(frame_of(&still, 10)[1 * 7 + 5], 0.0, 0.0);
    // segments: the second part's head is placed by the first part's turn
    CHECK_NEAR(frame_of(&still, 10)[5], sin(0.25), 1e-6);
    end_run(&still);
}

TEST(bake, a_node_belongs_to_one_simulation)
{
    Arena arena = test_arena(1 << 22);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation[2] = {scene_simulation(hair, 3, 120), scene_simulation(hair, 1, 60)};
    BakeSpec spec = scene_spec(rig, simulation, 2);
    const BakeModel *model;

    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message,
                     "simulation 1: node \"hair0\" is moved by an earlier simulation already");
    // one that is switched off moves nothing
    simulation[0].is_enabled = false;
    err = (Error){0};
    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_OK);
    arena_destroy(&arena);
}

/* --- refusals --- */

TEST(bake, refuses_what_this_version_cannot_simulate)
{
    Arena arena = test_arena(1 << 22);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation = {.kind = SIMULATION_FLESH, .is_enabled = true, .rate = 600};
    BakeSpec spec = scene_spec(rig, &simulation, 1);
    const BakeOptions options = {.simd = SIMD_SCALAR};
    const BakeModel *model;

    CHECK_INT(bake_build(rig, &spec, &options, &arena, &model, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "simulation 0: this version cannot simulate \"flesh\"");
    arena_destroy(&arena);
}

TEST(bake, refuses_rates_that_do_not_fit_the_tick)
{
    Arena arena = test_arena(1 << 22);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation = scene_simulation(hair, 3, 50);
    BakeSpec spec = scene_spec(rig, &simulation, 1);
    const BakeModel *model;

    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, "simulation 0: rate 50 must be a divisor or a multiple of the "
                                  "120 substeps per second");
    arena_destroy(&arena);
}

TEST(bake, stops_where_a_number_is_not_finite_and_keeps_its_measures)
{
    Arena arena = test_arena(1 << 22);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = scene_spec(rig, &simulation, 1);
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;
    Measures measures;

    simulation.chains.parameters.gravity = 0.5f;
    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &err), ==, STATUS_OK);
    while (!bake_advance(model, state, &event, &err))
        CHECK(event.kind != BAKE_DONE);
    CHECK_INT(err.status, ==, STATUS_DIVERGED);
    CHECK_EQUAL_TEXT(err.message, "simulation 0 (test) diverged at 0.500 s: node \"hair0\" is at "
                                  "no finite place");
    err = (Error){0};
    CHECK_INT(bake_measure(model, state, &arena, &measures, &err), ==, STATUS_OK);
    CHECK(measures.is_partial);
    CHECK_INT(measures.frames, ==, 15);
    CHECK_NEAR(measures_find(&measures, "nonfinite", 0, "*")->value, 3.0, 0.0);
    CHECK_NEAR(measures_find(&measures, "stretch.max", 0, "*")->value, 0.0, 1e-5);
    arena_destroy(&arena);
}

TEST(bake, builds_or_refuses_at_every_arena_size)
{
    Arena scene = test_arena(1 << 20);
    const Rig *rig = scene_rig(&scene);
    SimulationSpec simulation = scene_simulation(hair, 3, 60);
    BakeSpec spec = waving_spec(&simulation, 1, 1.0);
    bool has_built = false;

    spec.motion.source = rig;
    for (size_t capacity = 1; capacity < 100000; capacity += 97) {
        Arena arena = test_arena(capacity);
        Error err = {0};
        const BakeModel *model;
        BakeState *state;
        BakeEvent event;

        if (!scene_build(rig, &spec, &arena, &model, &err) &&
            !bake_start(model, &arena, &state, &err) && !bake_advance(model, state, &event, &err))
            has_built = true;
        else
            CHECK_INT(err.status, ==, STATUS_NO_MEMORY);
        arena_destroy(&arena);
    }
    CHECK(has_built);
    arena_destroy(&scene);
}

TEST(bake, stepping_leaves_the_arena_as_it_was)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    Arena arena = test_arena(1 << 22);
    Error err = {0};
    const Rig *rig = scene_rig(&arena);
    BakeSpec spec = scene_spec(rig, &simulation, 1);
    const BakeModel *model;
    BakeState *state;
    BakeEvent event;

    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_OK);
    CHECK_INT(bake_start(model, &arena, &state, &err), ==, STATUS_OK);
    size_t used = arena.used;
    do {
        CHECK_INT(bake_advance(model, state, &event, &err), ==, STATUS_OK);
        CHECK_INT((long long)arena.used, ==, (long long)used);
    } while (event.kind != BAKE_DONE);
    arena_destroy(&arena);
}

/* --- loops and settling --- */

TEST(bake, a_loop_runs_a_cycle_before_the_one_it_gives_out)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 1.0);
    Error err = {0};
    Measures measures;

    spec.time.is_loop = true;
    Run run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 31);
    CHECK_INT(bake_tick_count(run.model), ==, 60 + 120 + 120);
    CHECK_INT(bake_measure(run.model, run.state, &run.arena, &measures, &err), ==, STATUS_OK);
    const MeasureRow *seam = measures_find(&measures, "loop.seam", 0, "*");
    CHECK(seam != NULL && !seam->is_missing);
    // the seam by hand: hair tips seen from the head, whose turn is the same at both ends
    const float *first = frame_of(&run, 0), *last = frame_of(&run, 30);
    double greatest = 0.0;
    for (int i = 0; i < 3; i++) {
        const float *a = first + 5 * 7 + 6 * i + 3, *b = last + 5 * 7 + 6 * i + 3;
        double gap =
            hypot(hypot((double)(a[0] - b[0]), (double)(a[1] - b[1])), (double)(a[2] - b[2]));
        greatest = gap > greatest ? gap : greatest;
    }
    CHECK_NEAR(seam->value, greatest, 1e-6);
    // a cycle of a pendulum with this damping is nearly periodic
    CHECK_NEAR(seam->value, 0.0, 1e-3);
    end_run(&run);
}

TEST(bake, settling_holds_the_last_pose_and_is_measured)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 0.4);
    Error err = {0};
    Measures measures;

    spec.time.settle = 6.0;
    Run run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 13);
    CHECK_INT(bake_tick_count(run.model), ==, 60 + 768);
    CHECK_INT(bake_measure(run.model, run.state, &run.arena, &measures, &err), ==, STATUS_OK);
    const MeasureRow *speed = measures_find(&measures, "settle.speed", 0, "chain");
    CHECK(speed != NULL && !speed->is_missing);
    CHECK_NEAR(speed->value, 0.0, 3e-5);
    CHECK_INT(measures_find(&measures, "stretch.p99", 0, "*")->is_missing, ==, false);
    end_run(&run);

    spec.time.settle = 5.0;
    run = run_bake(spec);
    CHECK_INT(bake_measure(run.model, run.state, &run.arena, &measures, &err), ==, STATUS_OK);
    CHECK(measures_find(&measures, "settle.speed", 0, "*")->is_missing);
    CHECK_TEXT(measures.warnings.warning[0].detail, "at least 6 s of settle, got 5 s");
    end_run(&run);
}

TEST(bake, no_time_at_all_is_one_frame)
{
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    BakeSpec spec = waving_spec(&simulation, 1, 0.0);

    spec.time.warm_up = 0.0;
    Run run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 1);
    CHECK_INT(bake_tick_count(run.model), ==, 0);
    end_run(&run);

    spec.time.is_loop = true;
    run = run_bake(spec);
    CHECK_INT(run.frame_count, ==, 1);
    end_run(&run);
}

TEST(bake, refuses_times_that_cannot_be_baked)
{
    Arena arena = test_arena(1 << 22);
    const Rig *rig = scene_rig(&arena);
    SimulationSpec simulation = scene_simulation(hair, 3, 120);
    const BakeSpec good = scene_spec(rig, &simulation, 1);
    const BakeModel *model;

    for (int i = 0; i < 6; i++) {
        Error err = {0};
        BakeSpec spec = good;

        if (i == 0)
            spec.time.end = NAN;
        else if (i == 1)
            spec.time.end = -1.0;
        else if (i == 2)
            spec.time.fps_denominator = 0;
        else if (i == 3)
            spec.time.substeps_per_second = 0;
        else if (i == 4)
            spec.measure_rate = 0;
        else
            spec.time.warm_up = INFINITY;
        CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_INVALID);
        CHECK_TEXT(err.message, "cannot be");
    }
    // and what is only too much
    Error err = {0};
    BakeSpec spec = good;
    spec.time.end = 90000.0;
    CHECK_INT(scene_build(rig, &spec, &arena, &model, &err), ==, STATUS_LIMIT);
    CHECK_TEXT(err.message, "2700001 frames are more than 1000000");
    arena_destroy(&arena);
}

TEST(bake, a_model_without_simulations_gives_out_its_motion)
{
    BakeSpec spec = waving_spec(NULL, 0, 1.0);
    Error err = {0};
    Measures measures;
    Run run = run_bake(spec);

    CHECK_INT(run.frame_count, ==, 31);
    // the root at half a second; only what the clip moves is in the joints
    CHECK_NEAR(frame_of(&run, 15)[0], 0.3, 1e-7);
    CHECK_INT(bake_header(run.model)->channel[0].key_count, ==, 2);
    CHECK_INT(bake_measure(run.model, run.state, &run.arena, &measures, &err), ==, STATUS_OK);
    CHECK_INT(measures.row_count, ==, 0);
    CHECK(!measures.is_partial);
    end_run(&run);
}
