#include "base/json.h"
#include "sim/frames.h"

static const char *const units[CHANNEL_KIND_COUNT] = {
    [CHANNEL_JOINTS] = "m, quaternion, 1",
    [CHANNEL_SEGMENTS] = "m",
    [CHANNEL_POSITIONS] = "m",
    [CHANNEL_NORMALS] = "1",
    [CHANNEL_TETS] = "m",
    [CHANNEL_CURVES] = "m",
    [CHANNEL_WEIGHTS] = "1",
};

static bool has_kind(const FrameHeader *header, int kind)
{
    for (int c = 0; c < header->channel_count; c++)
        if ((int)header->channel[c].kind == kind)
            return true;
    return false;
}

static void write_keys(const FrameHeader *header, int kind, JsonWriter *json)
{
    json_begin_object(json, frame_channel_name((FrameChannelKind)kind));
    json_write_text(json, "unit", units[kind]);
    json_begin_object(json, "floats");
    for (int c = 0; c < header->channel_count; c++) {
        const FrameChannel *channel = &header->channel[c];
        for (int i = 0; (int)channel->kind == kind && i < channel->key_count; i++)
            json_write_int(json, channel->key[i], channel->width[i]);
    }
    json_end_object(json);
    json_end_object(json);
}

void frames_write_text_header(const FrameHeader *header, Text *out)
{
    JsonWriter json = json_writer(out, 0);

    json_begin_object(&json, NULL);
    json_write_text(&json, "model", header->model_sha256);
    json_begin_array(&json, "fps");
    json_write_int(&json, NULL, header->fps_numerator);
    json_write_int(&json, NULL, header->fps_denominator);
    json_end_array(&json);
    json_write_int(&json, "frames", header->frame_count);
    json_write_int(&json, "first", header->first_frame);
    json_write_double(&json, "start", header->start);
    json_write_bool(&json, "loop", header->is_loop);
    json_write_int(&json, "precision", header->precision);
    json_begin_object(&json, "channels");
    for (int kind = 0; kind < CHANNEL_KIND_COUNT; kind++)
        if (has_kind(header, kind))
            write_keys(header, kind, &json);
    json_end_object(&json);
    json_end_object(&json);
    text_add(out, "\n");
}

static void write_values(const FrameHeader *header, const FrameData *frame, int kind,
                         JsonWriter *json)
{
    json_begin_object(json, frame_channel_name((FrameChannelKind)kind));
    for (int c = 0; c < header->channel_count; c++) {
        const FrameChannel *channel = &header->channel[c];
        const float *value = frame->data[c];
        for (int i = 0; (int)channel->kind == kind && i < channel->key_count; i++) {
            json_write_floats(json, channel->key[i], value, channel->width[i]);
            value += channel->width[i];
        }
    }
    json_end_object(json);
}

void frames_write_text_frame(const FrameHeader *header, const FrameData *frame, Text *out)
{
    JsonWriter json = json_writer(out, 0);

    json_begin_object(&json, NULL);
    json_write_int(&json, "frame", frame->frame);
    json_write_double(&json, "time", frame->time);
    for (int kind = 0; kind < CHANNEL_KIND_COUNT; kind++)
        if (has_kind(header, kind))
            write_values(header, frame, kind, &json);
    json_end_object(&json);
    text_add(out, "\n");
}
