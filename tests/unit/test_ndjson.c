#include "sim/frames.h"
#include "support/check.h"

static const char *const joint_key[] = {"Head", "Ear \"L\""};
static const int joint_width[] = {7, 10};
static const char *const body_key[] = {"Body"};
static const char *const hair_key[] = {"Body/1"};
static const int mesh_width[] = {6};
static const FrameChannel channels[] = {
    {CHANNEL_POSITIONS, 1, 6, body_key, mesh_width},
    {CHANNEL_JOINTS, 2, 17, joint_key, joint_width},
    {CHANNEL_POSITIONS, 1, 6, hair_key, mesh_width},
};
static const FrameHeader header = {.model_sha256 = "c0ffee",
                                   .fps_numerator = 24000,
                                   .fps_denominator = 1001,
                                   .frame_count = 2,
                                   .start = 0.5,
                                   .precision = 32,
                                   .key_interval = 30,
                                   .channel_count = 3,
                                   .channel = channels};

TEST(ndjson, header_line_lists_channels_with_counts_and_units)
{
    Error err = {0};
    Text text = text_open(1 << 16, &err);

    frames_write_text_header(&header, &text);
    CHECK_EQUAL_TEXT(text_string(&text),
                     "{\"model\":\"c0ffee\",\"fps\":[24000,1001],\"frames\":2,\"first\":0,"
                     "\"start\":0.5,\"loop\":false,\"precision\":32,\"channels\":{"
                     "\"joints\":{\"unit\":\"m, quaternion, 1\","
                     "\"floats\":{\"Head\":7,\"Ear \\\"L\\\"\":10}},"
                     "\"positions\":{\"unit\":\"m\",\"floats\":{\"Body\":6,\"Body/1\":6}}}}\n");
    CHECK_OK(&err);
    text_close(&text);
}

TEST(ndjson, frame_line_groups_channels_by_kind_and_prints_shortest_floats)
{
    static const float body[] = {0.1f, -2.5f, 3.0f, 1e-7f, 16777216.0f, 0.0f};
    static const float hair[] = {1, 2, 3, 4, 5, 6};
    static const float joint[] = {0, 1, 0, 0, 0, 0, 1, 0.25f, 0, 0, 0, 0, 0, 1, 1, 1, 2};
    static const float *const data[] = {body, joint, hair};
    Error err = {0};
    Text text = text_open(1 << 16, &err);

    frames_write_text_frame(&header, &(FrameData){1, 0.5, data}, &text);
    CHECK_EQUAL_TEXT(text_string(&text), "{\"frame\":1,\"time\":0.5,"
                                         "\"joints\":{\"Head\":[0,1,0,0,0,0,1],"
                                         "\"Ear \\\"L\\\"\":[0.25,0,0,0,0,0,1,1,1,2]},"
                                         "\"positions\":{\"Body\":[0.1,-2.5,3,1e-7,16777216,0],"
                                         "\"Body/1\":[1,2,3,4,5,6]}}\n");
    CHECK_OK(&err);
    text_close(&text);
}
