#include "rig/clip.h"
#include "support/check.h"

static const double times[4] = {0.5, 1.0, 2.0, 4.0};
static const float places[12] = {0, 0, 0, 1, 2, 3, 3, 2, 1, 3, 2, -7};

static ClipChannel channel_of(ClipInterpolation interpolation)
{
    return (ClipChannel){.path = CLIP_TRANSLATION,
                         .interpolation = interpolation,
                         .key_count = 4,
                         .width = 3,
                         .time = times,
                         .value = places};
}

TEST(clip, lines_go_straight_from_key_to_key)
{
    ClipChannel channel = channel_of(CLIP_LINEAR);
    float out[3];

    clip_sample(&channel, 0.75, out);
    CHECK_NEAR(out[0], 0.5, 0.0);
    CHECK_NEAR(out[2], 1.5, 0.0);
    clip_sample(&channel, 3.5, out);
    CHECK_NEAR(out[0], 3.0, 0.0);
    CHECK_NEAR(out[2], -5.0, 0.0);
}

TEST(clip, steps_keep_a_keys_value_until_the_next)
{
    ClipChannel channel = channel_of(CLIP_STEP);
    float out[3];

    clip_sample(&channel, 0.9999999, out);
    CHECK_NEAR(out[0], 0.0, 0.0);
    clip_sample(&channel, 1.0, out);
    CHECK_NEAR(out[0], 1.0, 0.0);
}

TEST(clip, keys_are_hit_exactly_and_ends_are_held)
{
    ClipChannel channel = channel_of(CLIP_LINEAR);
    float out[3];

    for (int k = 0; k < 4; k++) {
        clip_sample(&channel, times[k], out);
        CHECK_NEAR(out[2], places[3 * k + 2], 0.0);
    }
    clip_sample(&channel, -100.0, out);
    CHECK_NEAR(out[1], 0.0, 0.0);
    clip_sample(&channel, 100.0, out);
    CHECK_NEAR(out[2], -7.0, 0.0);
}

TEST(clip, one_key_is_a_constant)
{
    ClipChannel channel = channel_of(CLIP_LINEAR);
    float out[3];

    channel.key_count = 1;
    for (double t = 0.0; t < 2.0; t += 0.25) {
        clip_sample(&channel, t, out);
        CHECK_NEAR(out[0], 0.0, 0.0);
    }
}

TEST(clip, the_right_interval_is_found_whatever_the_spacing)
{
    enum { COUNT = 200 };
    double time[COUNT];
    float value[3 * COUNT] = {0};
    ClipChannel channel = {
        .interpolation = CLIP_STEP, .key_count = COUNT, .width = 3, .time = time, .value = value};

    for (int c = 0; c < test_law_cases(); c++) {
        Random random = test_case_random(c);

        time[0] = (double)random_float(&random, -1.0f, 1.0f);
        for (int i = 1; i < COUNT; i++) {
            // tight and wide gaps
            double gap = (double)random_float(&random, 1e-6f, 1.0f);
            time[i] = time[i - 1] + (c % 2 ? gap * gap * gap * gap : 1.0 / 30.0);
        }
        for (int i = 0; i < COUNT; i++)
            value[3 * i] = (float)i;
        for (int i = 0; i < COUNT; i++) {
            float out[3];
            double t =
                time[0] + (time[COUNT - 1] - time[0]) * (double)random_float(&random, 0.0f, 1.0f);
            int expected = 0;

            // by a plain walk
            while (expected + 1 < COUNT && time[expected + 1] <= t)
                expected++;
            clip_sample(&channel, t, out);
            CHECK_INT((int)out[0], ==, expected);
        }
    }
}

TEST(clip, rotations_turn_evenly_the_shorter_way)
{
    // 0 to 90 degrees about z; the second key has the other sign
    static const float turns[8] = {0, 0, 0, 1, 0, 0, -0.70710678f, -0.70710678f};
    ClipChannel channel = {
        .path = CLIP_ROTATION, .key_count = 2, .width = 4, .time = times, .value = turns};
    float out[4];

    clip_sample(&channel, 0.5 + 0.5 / 3.0, out); // 30 degrees
    CHECK_NEAR(out[2], 0.25881905, 1e-7);
    CHECK_NEAR(out[3], 0.96592583, 2e-7);
}

TEST(clip, splines_follow_hermites_cubic)
{
    // from 0 with a slope of 2 a second to 1 with a slope of -1, in 1.5 s: tangents are per second
    static const double time[2] = {0.0, 1.5};
    static const float value[18] = {9, 9, 9, 0, 0, 0, 2, 0, 0, -1, 0, 0, 1, 0, 0, 9, 9, 9};
    ClipChannel channel = {.path = CLIP_TRANSLATION,
                           .interpolation = CLIP_CUBICSPLINE,
                           .key_count = 2,
                           .width = 3,
                           .time = time,
                           .value = value};
    float out[3];

    // u = 1/2: v0/2 + v1/2 + dt (m0 - m1) / 8 = 0.5 + 1.5 * 3 / 8
    clip_sample(&channel, 0.75, out);
    CHECK_NEAR(out[0], 1.0625, 1e-7);
    clip_sample(&channel, 0.0, out);
    CHECK_NEAR(out[0], 0.0, 0.0);
    clip_sample(&channel, 1.5, out);
    CHECK_NEAR(out[0], 1.0, 0.0);
    CHECK_NEAR(out[1], 0.0, 0.0);
}

TEST(clip, splined_rotations_come_out_unit)
{
    static const float value[24] = {0, 0, 0, 0, 0, 0, 0,    1,    1, 0, 0, 0,
                                    0, 1, 0, 0, 0, 1, 0.0f, 0.0f, 0, 0, 0, 0};
    ClipChannel channel = {.path = CLIP_ROTATION,
                           .interpolation = CLIP_CUBICSPLINE,
                           .key_count = 2,
                           .width = 4,
                           .time = times,
                           .value = value};
    float out[4];

    for (double t = 0.5; t <= 1.0; t += 0.01) {
        clip_sample(&channel, t, out);
        CHECK_NEAR(out[0] * out[0] + out[1] * out[1] + out[2] * out[2] + out[3] * out[3], 1.0,
                   1e-6);
    }
}

TEST(clip, weights_of_many_targets_are_sampled_together)
{
    static const float value[10] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
    ClipChannel channel = {
        .path = CLIP_WEIGHTS, .key_count = 2, .width = 5, .time = times, .value = value};
    float out[5];

    clip_sample(&channel, 0.625, out);
    for (int i = 0; i < 5; i++)
        CHECK_NEAR(out[i], i % 2 ? 0.75 : 0.25, 0.0);
}
