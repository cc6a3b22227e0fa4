#include "base/json.h"
#include "frames/codec.h"

#include <string.h>

enum {
    MAX_CHANNELS = 16384,
    MAX_KEYS = 65536,
    MAX_FLOATS = 1 << 26,      /* of a frame, all channels */
    MAX_HEADER = 64 * 1048576, /* bytes of JSON */
    MAX_KEY_SIZE = 1024,
    MAX_FRAMES = 10000000
};

static const char *const kind_names[CHANNEL_KIND_COUNT] = {
    "joints", "segments", "positions", "normals", "tets", "curves", "weights",
};

const char *frame_channel_name(FrameChannelKind kind)
{
    return kind_names[kind];
}

FrameChannelKind frame_channel_find(const char *name)
{
    int kind = 0;

    while (kind < CHANNEL_KIND_COUNT && strcmp(name, kind_names[kind]) != 0)
        kind++;
    return (FrameChannelKind)kind;
}

static void write_channel(const FrameChannel *channel, uint32_t id, JsonWriter *json)
{
    json_begin_object(json, NULL);
    json_write_int(json, "id", id);
    json_write_text(json, "kind", frame_channel_name(channel->kind));
    json_begin_array(json, "keys");
    for (int i = 0; i < channel->key_count; i++)
        json_write_text(json, NULL, channel->key[i]);
    json_end_array(json);
    json_begin_array(json, "widths");
    for (int i = 0; i < channel->key_count; i++)
        json_write_int(json, NULL, channel->width[i]);
    json_end_array(json);
    json_end_object(json);
}

static void write_json(const FrameHeader *header, const uint32_t *id, JsonWriter *json)
{
    json_begin_object(json, NULL);
    json_write_text(json, "model", header->model_sha256);
    json_begin_array(json, "fps");
    json_write_int(json, NULL, header->fps_numerator);
    json_write_int(json, NULL, header->fps_denominator);
    json_end_array(json);
    json_write_int(json, "frames", header->frame_count);
    json_write_int(json, "first", header->first_frame);
    json_write_double(json, "start", header->start);
    json_write_bool(json, "loop", header->is_loop);
    json_write_int(json, "precision", header->precision);
    json_write_int(json, "key_interval", header->key_interval);
    json_begin_array(json, "channels");
    for (int c = 0; c < header->channel_count; c++)
        write_channel(&header->channel[c], id ? id[c] : (uint32_t)c, json);
    json_end_array(json);
    json_end_object(json);
}

void header_write(const FrameHeader *header, const uint32_t *id, ByteWriter *out, Error *err)
{
    Text text = text_open(MAX_HEADER, err);
    JsonWriter json = json_writer(&text, 0);
    size_t begin = record_begin(out);

    write_json(header, id, &json);
    write_bytes(out, frames_magic, FRAMES_MAGIC_SIZE);
    write_u32(out, FRAMES_VERSION);
    write_bytes(out, text_string(&text), text_length(&text));
    record_end(out, begin, &(FrameRecord){.type = RECORD_HEADER, .flags = 0});
    text_close(&text);
}

/* Keys and widths of a channel; false when the arena is full. */
static bool parse_keys(const JsonReader *keys, const JsonReader *widths, Arena *arena,
                       FrameChannel *out)
{
    int count = json_count(keys);
    const char **key = arena_array(arena, const char *, count);
    int *width = arena_array(arena, int, count);
    int64_t sum = 0;
    JsonReader item;

    if (!key || !width)
        return false;
    bool is_there = json_first(keys, &item);
    for (int i = 0; is_there && i < count; i++, is_there = json_next(&item)) {
        const char *text = json_as_text(&item, MAX_KEY_SIZE);
        key[i] = arena_text(arena, text, strlen(text));
        if (!key[i])
            return false;
    }
    is_there = json_first(widths, &item);
    for (int i = 0; is_there && i < count; i++, is_there = json_next(&item)) {
        width[i] = json_as_int(&item, 0, MAX_FLOATS);
        sum += width[i];
    }
    if (sum > MAX_FLOATS)
        json_fault(widths, "must not add up to more than %d", MAX_FLOATS);
    out->key_count = count;
    out->float_count = sum > MAX_FLOATS ? 0 : (int)sum;
    out->key = key;
    out->width = width;
    return true;
}

static bool parse_channel(const JsonReader *item, Arena *arena, FrameChannel *out, uint32_t *id)
{
    int kind = json_choice_or(item, "kind", kind_names, CHANNEL_KIND_COUNT, 0);
    JsonReader keys = json_member(item, "keys");
    JsonReader widths = json_member(item, "widths");

    *id = (uint32_t)json_int(item, "id", 0, INT32_MAX);
    *out = (FrameChannel){.kind = (FrameChannelKind)kind};
    if (!json_is_array(&keys) || json_count(&keys) > MAX_KEYS) {
        json_fault(item, "must have an array \"keys\" of at most %d", MAX_KEYS);
        return true;
    }
    if (!json_is_array(&widths) || json_count(&widths) != json_count(&keys)) {
        json_fault(item, "must have an array \"widths\" as long as \"keys\"");
        return true;
    }
    if (!parse_keys(&keys, &widths, arena, out))
        return false;
    bool is_vector = kind == CHANNEL_POSITIONS || kind == CHANNEL_NORMALS || kind == CHANNEL_TETS;
    if (is_vector && out->float_count % 3)
        json_fault(&widths, "must add up to a multiple of 3");
    return true;
}

static Status parse_channels(const JsonReader *channels, Arena *arena, FrameHeader *out,
                             const uint32_t **out_id, Error *err)
{
    int count = json_count(channels);
    JsonReader item;
    int64_t floats = 0;

    if (!json_is_array(channels) || count > MAX_CHANNELS) {
        json_fault(channels, "must be an array of at most %d", MAX_CHANNELS);
        return STATUS_OK;
    }
    FrameChannel *channel = arena_array(arena, FrameChannel, count);
    uint32_t *id = arena_array(arena, uint32_t, count);
    bool is_there = json_first(channels, &item);
    for (int c = 0; channel && id && is_there && c < count; c++, is_there = json_next(&item)) {
        if (!parse_channel(&item, arena, &channel[c], &id[c]))
            break;
        floats += channel[c].float_count;
        // rising ids cannot repeat, and are found by bisection
        if (c > 0 && id[c] <= id[c - 1])
            json_fault(&item, "must have an \"id\" above the one before");
        if (floats > MAX_FLOATS) {
            json_fault(&item, "makes a frame larger than %d floats", MAX_FLOATS);
            break;
        }
    }
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d channels", count);
    out->channel_count = count;
    out->channel = channel;
    *out_id = id;
    return STATUS_OK;
}

static void parse_numbers(const JsonReader *root, FrameHeader *out)
{
    JsonReader fps = json_member(root, "fps");
    JsonReader item;
    const char *model = json_text_or(root, "model", "", 64);

    (void)strncpy(out->model_sha256, model, sizeof out->model_sha256 - 1);
    out->frame_count = json_int(root, "frames", 0, MAX_FRAMES);
    out->first_frame = json_int_or(root, "first", 0, 0, MAX_FRAMES);
    out->start = json_number_or(root, "start", 0.0, -1e9, 1e9);
    out->is_loop = json_bool_or(root, "loop", false);
    out->precision = json_int(root, "precision", 16, 32);
    out->key_interval = json_int(root, "key_interval", 1, MAX_FRAMES);
    if (out->precision != 16 && out->precision != 32)
        json_fault(root, "must have a \"precision\" of 16 or 32");
    out->fps_numerator = out->fps_denominator = 1;
    if (json_count(&fps) != 2 || !json_first(&fps, &item)) {
        json_fault(root, "must have an array \"fps\" of 2");
        return;
    }
    out->fps_numerator = json_as_int(&item, 1, 1000000000);
    if (json_next(&item))
        out->fps_denominator = json_as_int(&item, 1, 1000000000);
}

Status header_parse(Bytes payload, Arena *arena, FrameHeader *out, const uint32_t **id, Error *err)
{
    ByteReader reader = byte_reader(payload, err);
    Bytes magic = read_bytes(&reader, FRAMES_MAGIC_SIZE, "magic");
    uint32_t version = read_u32(&reader, "version");
    FrameHeader header = {0};

    if (err->status)
        return err->status;
    if (memcmp(magic.data, frames_magic, FRAMES_MAGIC_SIZE) != 0)
        return error_set(err, STATUS_INVALID, "not a file of baked frames");
    if (version != FRAMES_VERSION)
        return error_set(err, STATUS_INVALID, "frames of version %u, this reader knows %d", version,
                         FRAMES_VERSION);
    if (payload.size > MAX_HEADER)
        return error_set(err, STATUS_LIMIT, "a header of %zu bytes is more than %d", payload.size,
                         MAX_HEADER);

    Bytes text = {payload.data + FRAMES_PREAMBLE, payload.size - FRAMES_PREAMBLE};
    JsonDocument document = {0};
    if (json_open(text, 8, &document, err))
        return error_context(err, "header");
    Faults faults = faults_open(arena, 1);
    JsonReader root = json_root(&document, &faults);
    JsonReader channels = json_member(&root, "channels");
    parse_numbers(&root, &header);
    if (!parse_channels(&channels, arena, &header, id, err) && faults_status(&faults, err))
        error_context(err, "header");
    json_close(&document);
    if (!err->status)
        *out = header;
    return err->status;
}
