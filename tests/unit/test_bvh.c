#include "support/check.h"
#include "support/reading.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEADER                                                                                     \
    "HIERARCHY\n"                                                                                  \
    "ROOT Hips\n{\n OFFSET 0 100 0\n"                                                              \
    " CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation\n"                    \
    " JOINT Chest\n {\n  OFFSET 0 20 0\n  CHANNELS 3 Zrotation Xrotation Yrotation\n"              \
    "  End Site\n  {\n   OFFSET 0 30 0\n  }\n }\n}\n"

static Status read_text(Reading *reading, const char *text)
{
    return reading_bytes(reading, text, strlen(text));
}

/* The channel of that node and path, or NULL. */
static const ClipChannel *channel(const Rig *rig, const char *key, ClipPath path)
{
    const Clip *clip = &rig->clip[0];

    for (int i = 0; i < clip->channel_count; i++)
        if (clip->channel[i].path == path && clip->channel[i].node == rig_find_node(rig, key))
            return &clip->channel[i];
    return NULL;
}

static void check_value(const ClipChannel *channel, int key, const double *expected)
{
    CHECK(channel != NULL);
    for (int i = 0; channel && i < channel->width; i++)
        CHECK_NEAR(channel->value[key * channel->width + i], expected[i], 1e-6);
}

TEST(bvh, reads_joints_end_sites_and_keys_in_centimetres)
{
    Reading reading = reading_open();

    CHECK_INT(read_text(&reading, HEADER "MOTION\nFrames: 2\nFrame Time: 0.02\n"
                                         "0 100 0  0 0 0  0 0 0\n"
                                         "10 101 -5  0 0 90  90 0 0\n"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    const Rig *rig = reading.rig;
    CHECK_EQUAL_TEXT(rig->format, "bvh");
    CHECK_INT(rig->node_count, ==, 3);
    CHECK_EQUAL_TEXT(rig->node[2].key, "node2");
    CHECK_INT(rig->node[2].parent, ==, 1);
    CHECK_VEC3(rig->node[2].rest.translation, 0, 0.3, 0, 1e-7);
    CHECK_INT(rig->clip_count, ==, 1);
    CHECK_NEAR(rig->clip[0].duration, 0.02, 1e-12);
    check_value(channel(rig, "Hips", CLIP_TRANSLATION), 1, (double[]){0.1, 1.01, -0.05});
    check_value(channel(rig, "Hips", CLIP_ROTATION), 1, (double[]){0, sqrt(0.5), 0, sqrt(0.5)});
    check_value(channel(rig, "Chest", CLIP_ROTATION), 1, (double[]){0, 0, sqrt(0.5), sqrt(0.5)});
    CHECK(channel(rig, "Chest", CLIP_TRANSLATION) == NULL);
    reading_close(&reading);
}

/* Z then X: a vector is turned about x first. (0, 1, 0) goes to z, and stays there. */
TEST(bvh, rotations_apply_in_the_order_of_their_channels)
{
    Reading reading = reading_open();

    CHECK_INT(read_text(&reading, HEADER "MOTION\nFrames: 1\nFrame Time: 0.02\n"
                                         "0 100 0  90 90 0  0 0 0\n"),
              ==, STATUS_OK);
    const ClipChannel *hips = channel(reading.rig, "Hips", CLIP_ROTATION);
    Quat q = {hips->value[0], hips->value[1], hips->value[2], hips->value[3]};
    CHECK_VEC3(quat_rotate(q, vec3(0.0f, 1.0f, 0.0f)), 0, 0, 1, 1e-6);
    // x is not moved by x, and goes to y by z
    CHECK_VEC3(quat_rotate(q, vec3(1.0f, 0.0f, 0.0f)), 0, 1, 0, 1e-6);
    reading_close(&reading);
}

TEST(bvh, z_up_stands_the_skeleton_and_turns_its_rotations)
{
    Reading reading = reading_open();

    reading.options.is_z_up = true;
    reading.options.unit = 1.0;
    CHECK_INT(read_text(&reading, "HIERARCHY ROOT a { OFFSET 1 2 3 CHANNELS 4 Zposition Zrotation "
                                  "Yrotation Xrotation End Site { OFFSET 0 0 1 } } MOTION "
                                  "Frames: 1 Frame Time: 1  7 90 0 0"),
              ==, STATUS_OK);
    CHECK_VEC3(reading.rig->node[0].rest.translation, 1, 3, -2, 1e-6);
    CHECK_VEC3(reading.rig->node[1].rest.translation, 0, 1, 0, 1e-6);
    // only z is given: it is our y, the others keep the offset
    check_value(channel(reading.rig, "a", CLIP_TRANSLATION), 0, (double[]){1, 7, -2});
    check_value(channel(reading.rig, "a", CLIP_ROTATION), 0,
                (double[]){0, sqrt(0.5), 0, sqrt(0.5)});
    reading_close(&reading);
}

TEST(bvh, positions_that_are_all_zero_keep_the_offset)
{
    Reading reading = reading_open();

    CHECK_INT(read_text(&reading,
                        "HIERARCHY\r\nROOT a\r\n{\r\nOFFSET 0 0 0\r\nCHANNELS 3 Xposition "
                        "Yposition Zposition\r\nJOINT b c\r\n{\r\nOFFSET 0 1 0\r\nCHANNELS 3 "
                        "Xposition Yposition Zposition\r\n}\r\n}\r\nMOTION\r\nFrames:\t1\r\n"
                        "Frame Time:\t.1\r\n1 0 0 0 0 0\r\n"),
              ==, STATUS_OK);
    CHECK_OK(&reading.err);
    CHECK_INT(rig_find_node(reading.rig, "b c"), ==, 1);
    CHECK(channel(reading.rig, "a", CLIP_TRANSLATION) != NULL);
    CHECK(channel(reading.rig, "b c", CLIP_TRANSLATION) == NULL);
    reading_close(&reading);
}

TEST(bvh, keys_take_the_shorter_way)
{
    Reading reading = reading_open();

    CHECK_INT(read_text(&reading, "HIERARCHY ROOT a { OFFSET 0 0 0 CHANNELS 1 Xrotation } MOTION "
                                  "Frames: 2 Frame Time: 1 170 190"),
              ==, STATUS_OK);
    const float *value = channel(reading.rig, "a", CLIP_ROTATION)->value;
    CHECK(value[0] * value[4] + value[3] * value[7] > 0.98f);
    reading_close(&reading);
}

TEST(bvh, says_what_is_wrong_and_in_which_line)
{
    static const struct {
        const char *text, *message;
        Status status;
    } cases[] = {
        {"HIERARCHY", "BVH, line 1: expected ROOT, found the end of the file", STATUS_INVALID},
        {"HIERARCHY\nMOTION\n", "BVH, line 2: expected ROOT, found \"MOTION\"", STATUS_INVALID},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 x 0", "BVH, line 4: expected a number, found \"x\"",
         STATUS_INVALID},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 nan 0", "line 4: expected a number", STATUS_INVALID},
        {"HIERARCHY\nROOT a\n{\nOFFSET 0 1e99 0", "line 4: expected a number", STATUS_INVALID},
        {"HIERARCHY ROOT a { CHANNELS 7", "expected 0 to 6 channels, found \"7\"", STATUS_INVALID},
        {"HIERARCHY ROOT a { CHANNELS 2 Xrotation Xrotation",
         "expected each channel once, found \"Xrotation\"", STATUS_INVALID},
        {"HIERARCHY ROOT a { CHANNELS 1 Wrotation", "expected Xposition,", STATUS_INVALID},
        {"HIERARCHY ROOT a { OFFSET 0 0 0", "expected }, found the end", STATUS_INVALID},
        {"HIERARCHY ROOT a { TWIST", "expected OFFSET, CHANNELS, JOINT", STATUS_INVALID},
        {HEADER, "expected ROOT or MOTION, found the end", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 0\n", "line 17: expected a number of frames from 1, found \"0\"",
         STATUS_INVALID},
        {HEADER "MOTION\nFrames: -3\n", "expected a number of frames from 1", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 2.5\n", "expected a number of frames from 1", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 1000000\nFrame Time: 1\n0 0 0",
         "1000000 frames of 9 numbers do not fit in the rest of the file", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 1\nFrame Time: 0\n0 0 0 0 0 0 0 0 0",
         "expected a frame time above 0", STATUS_INVALID},
        {HEADER "MOTION\nTime: 1", "expected Frames:, found \"Time:\"", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 1\nTime: 1\n0 0 0 0 0 0 0 0 0",
         "expected Frame Time:, found \"Time:\"", STATUS_INVALID},
        {HEADER "MOTION\nFrames: 2\nFrame Time: 1\n100 0 0 0 0 0 0 0 0\n100 0 0 0",
         "frame 2 of 2: BVH, line 20: expected a number, found the end of the file",
         STATUS_INVALID},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        Reading reading = reading_open();

        CHECK_INT(read_text(&reading, cases[i].text), ==, cases[i].status);
        CHECK_TEXT(reading.err.message, cases[i].message);
        reading_close(&reading);
    }
}

TEST(bvh, limits_are_named)
{
    char text[4096];
    Reading reading = reading_open();

    (void)snprintf(text, sizeof text, "HIERARCHY ROOT %0300d { OFFSET 0 0 0 }", 0);
    CHECK_INT(read_text(&reading, text), ==, STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "a name has 300 bytes, the limit is 200");
    reading_close(&reading);
    reading = reading_open();
    reading.options.limits.joints = 2;
    CHECK_INT(read_text(&reading, HEADER), ==, STATUS_LIMIT);
    CHECK_TEXT(reading.err.message, "more than 2 joints");
    reading_close(&reading);
}

TEST(bvh, names_that_are_not_utf8_are_made_so_and_extra_numbers_are_told)
{
    Reading reading = reading_open();

    CHECK_INT(read_text(&reading, "HIERARCHY ROOT a\xff\xc3\xa4 { OFFSET 0 0 0 CHANNELS 1 "
                                  "Xrotation } MOTION Frames: 1 Frame Time: 1 0 5 5"),
              ==, STATUS_OK);
    CHECK_EQUAL_TEXT(reading.rig->node[0].key, "a_\xc3\xa4");
    CHECK_TEXT(reading_warning(&reading, "motion_longer"), "more than the 1 frames");
    reading_close(&reading);
}

TEST(bvh, reads_a_real_capture)
{
    Reading reading = reading_open();

    CHECK_INT(reading_file(&reading, "skel/mocopi-mobile-arm-raise-turn.bvh"), ==, STATUS_OK);
    const Rig *rig = reading.rig;
    CHECK_INT(rig->node_count, ==, 27 + 5);
    CHECK_NEAR(rig->clip[0].duration, 852 * 0.02, 1e-9);
    CHECK_INT(rig->clip[0].channel[0].key_count, ==, 853);
    CHECK(rig->is_humanoid && rig->is_guessed);
    CHECK_EQUAL_TEXT(rig->node[rig->role[ROLE_HIPS]].key, "root");
    CHECK_EQUAL_TEXT(rig->node[rig->role[ROLE_UPPER_CHEST]].key, "torso_7");
    CHECK_EQUAL_TEXT(rig->node[rig->role[ROLE_LEFT_LOWER_ARM]].key, "l_low_arm");
    reading_close(&reading);
}
