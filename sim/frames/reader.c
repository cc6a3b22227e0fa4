#include "frames/codec.h"
#include "frames/words.h"

#include <math.h>
#include <string.h>

/* What the reader keeps of a channel of the stream, wanted or not. */
typedef struct ReaderChannel {
    uint32_t id;
    bool is_wanted;
    bool is_quantised;
    FrameChannelKind kind;
    int float_count;
    int vertex_count;
    size_t word_count;
    FrameGrid grid;
    uint16_t *word; /* of the last frame (word_count) */
    float *value;   /* (float_count) */
    int frame;      /* that `word` and `value` hold, -1: none */
} ReaderChannel;

struct FrameReader {
    Arena *arena;
    bool wanted[CHANNEL_KIND_COUNT];
    bool has_header;
    bool has_ended;
    FrameHeader header; /* of the wanted channels */
    int channel_count;  /* of the stream */
    ReaderChannel *channel;
    uint16_t *difference; /* (greatest word_count) */
    const float **data;   /* (header.channel_count) */
    int next;             /* frame that is being read */
    int have;             /* channels of it that have come */
};

Status frame_reader_open(const bool *wanted, Arena *arena, FrameReader **out, Error *err)
{
    FrameReader *reader = arena_array(arena, FrameReader, 1);

    if (!reader)
        return error_set(err, STATUS_NO_MEMORY, "no room for the frames' reader");
    reader->arena = arena;
    for (int k = 0; k < CHANNEL_KIND_COUNT; k++)
        reader->wanted[k] = !wanted || wanted[k];
    *out = reader;
    return STATUS_OK;
}

static void open_channel(FrameReader *reader, const FrameChannel *desc, uint32_t id,
                         ReaderChannel *out)
{
    *out = (ReaderChannel){
        .id = id,
        .is_wanted = reader->wanted[desc->kind],
        .is_quantised = channel_is_quantised(desc->kind, reader->header.precision),
        .kind = desc->kind,
        .float_count = desc->float_count,
        .vertex_count = desc->float_count / 3,
        .frame = -1,
    };
    if (!out->is_wanted)
        return;
    out->value = arena_array(reader->arena, float, out->float_count);
    if (!out->is_quantised)
        return;
    out->word_count = (size_t)out->vertex_count * (size_t)channel_words(out->kind);
    out->word = arena_array(reader->arena, uint16_t, out->word_count);
}

/* All the reader's memory, and the header that the caller sees. */
static Status take_header(FrameReader *reader, Bytes payload, Error *err)
{
    const uint32_t *id = NULL;
    size_t greatest = 0;
    int wanted = 0;

    if (reader->has_header)
        return error_set(err, STATUS_INVALID, "a second header");
    if (header_parse(payload, reader->arena, &reader->header, &id, err))
        return err->status;
    int count = reader->header.channel_count;
    const FrameChannel *desc = reader->header.channel;
    reader->channel_count = count;
    reader->channel = arena_array(reader->arena, ReaderChannel, count);
    reader->data = arena_array(reader->arena, const float *, count);
    FrameChannel *seen = arena_array(reader->arena, FrameChannel, count);
    for (int c = 0; !reader->arena->overflowed && c < count; c++) {
        ReaderChannel *channel = &reader->channel[c];

        open_channel(reader, &desc[c], id[c], channel);
        greatest = channel->word_count > greatest ? channel->word_count : greatest;
        if (channel->is_wanted) {
            reader->data[wanted] = channel->value;
            seen[wanted++] = desc[c];
        }
    }
    reader->difference = arena_array(reader->arena, uint16_t, greatest);
    if (reader->arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for frames of %d channels", count);
    reader->header.channel = seen;
    reader->header.channel_count = wanted;
    reader->next = reader->header.first_frame;
    reader->has_header = true;
    return STATUS_OK;
}

static ReaderChannel *find_channel(const FrameReader *reader, uint32_t id)
{
    int low = 0, high = reader->channel_count;

    while (low < high) {
        int middle = low + (high - low) / 2;
        if (reader->channel[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < reader->channel_count && reader->channel[low].id == id ? &reader->channel[low]
                                                                        : NULL;
}

static Status decode_words(const ReaderChannel *channel, Bytes code, uint16_t *out, Error *err)
{
    if (!words_decode(code, channel->vertex_count, channel_words(channel->kind), out))
        return error_set(err, STATUS_INVALID, "%zu bytes do not decode to %d vertices", code.size,
                         channel->vertex_count);
    return STATUS_OK;
}

static Status check_finite(const ReaderChannel *channel, Error *err)
{
    for (int i = 0; i < channel->float_count; i++)
        if (!isfinite(channel->value[i]))
            return error_set(err, STATUS_INVALID, "value %d is not finite", i);
    return STATUS_OK;
}

static Status decode_floats(ReaderChannel *channel, ByteReader *bytes)
{
    if (bytes->bytes.size - bytes->offset != 4 * (size_t)channel->float_count)
        return error_set(bytes->err, STATUS_INVALID, "%zu bytes are not %d floats",
                         bytes->bytes.size - bytes->offset, channel->float_count);
    const uint8_t *data = bytes->bytes.data + bytes->offset;
    for (int i = 0; i < channel->float_count; i++) {
        uint32_t bits = (uint32_t)data[4 * i] | (uint32_t)data[4 * i + 1] << 8 |
                        (uint32_t)data[4 * i + 2] << 16 | (uint32_t)data[4 * i + 3] << 24;
        memcpy(&channel->value[i], &bits, sizeof bits);
    }
    return check_finite(channel, bytes->err);
}

static Status decode_key(ReaderChannel *channel, ByteReader *bytes)
{
    bool has_grid = channel->kind != CHANNEL_NORMALS;

    for (int k = 0; k < 3 && has_grid; k++)
        channel->grid.low[k] = read_f32(bytes, "box");
    for (int k = 0; k < 3 && has_grid; k++)
        channel->grid.step[k] = read_f32(bytes, "step");
    if (bytes->err->status)
        return bytes->err->status;
    Bytes code = {bytes->bytes.data + bytes->offset, bytes->bytes.size - bytes->offset};
    return decode_words(channel, code, channel->word, bytes->err);
}

static Status decode_delta(const FrameReader *reader, ReaderChannel *channel, int frame,
                           ByteReader *bytes)
{
    Bytes code = {bytes->bytes.data + bytes->offset, bytes->bytes.size - bytes->offset};

    if (channel->frame < 0 || channel->frame != frame - 1)
        return error_set(bytes->err, STATUS_INVALID, "a difference without the frame before");
    if (decode_words(channel, code, reader->difference, bytes->err))
        return bytes->err->status;
    words_add(reader->difference, channel->word_count, channel->word);
    return STATUS_OK;
}

static Status decode_channel(const FrameReader *reader, ReaderChannel *channel,
                             const FrameRecord *record, ByteReader *bytes)
{
    bool is_delta = record->type == RECORD_DELTA;
    int codec = channel->is_quantised ? CODEC_MESHOPT : CODEC_RAW;

    if ((is_delta && !channel->is_quantised) ||
        (!is_delta && record->type != channel_record_type(channel->kind)))
        return error_set(bytes->err, STATUS_INVALID, "a record of type %d does not carry it",
                         (int)record->type);
    if (record->codec != codec)
        return error_set(bytes->err, STATUS_INVALID, "codec %d must be %d", record->codec, codec);
    if (!channel->is_wanted)
        return STATUS_OK;
    if (!channel->is_quantised)
        return decode_floats(channel, bytes);
    if (is_delta ? decode_delta(reader, channel, record->frame, bytes) : decode_key(channel, bytes))
        return bytes->err->status;
    if (channel->kind == CHANNEL_NORMALS)
        normals_dequantise(channel->word, channel->vertex_count, channel->value);
    else
        grid_dequantise(&channel->grid, channel->word, channel->vertex_count, channel->value);
    return check_finite(channel, bytes->err);
}

/* One channel of the frame that is being read. */
static Status take_channel(FrameReader *reader, const FrameRecord *record, Error *err)
{
    ByteReader bytes = byte_reader(record->payload, err);
    uint32_t id = read_u32(&bytes, "channel");
    ReaderChannel *channel = find_channel(reader, id);

    if (err->status)
        return err->status;
    if (!channel)
        return error_set(err, STATUS_INVALID, "frame %d: channel %u is not in the header",
                         record->frame, id);
    if (record->frame != reader->next || channel->frame == record->frame)
        return error_set(err, STATUS_INVALID, "frame %d, channel %u: frame %d is not complete",
                         record->frame, id, reader->next);
    if (decode_channel(reader, channel, record, &bytes))
        return error_context(err, "frame %d, channel %u (%s)", record->frame, id,
                             frame_channel_name(channel->kind));
    channel->frame = record->frame;
    reader->have++;
    return STATUS_OK;
}

static void give_frame(FrameReader *reader, FrameEvent *out)
{
    const FrameHeader *header = &reader->header;

    out->kind = FRAME_EVENT_FRAME;
    out->data =
        (FrameData){.frame = reader->next,
                    .time = (double)reader->next * header->fps_denominator / header->fps_numerator,
                    .data = reader->data};
    reader->next++;
    reader->have = 0;
}

static Status take_end(FrameReader *reader, const FrameRecord *record, FrameEvent *out, Error *err)
{
    ByteReader bytes = byte_reader(record->payload, err);
    uint32_t count = read_u32(&bytes, "frame count");
    uint32_t end = read_u32(&bytes, "kind of end");

    if (err->status)
        return error_context(err, "end");
    if (count != (uint32_t)reader->next || reader->have > 0)
        return error_set(err, STATUS_INVALID, "the stream ends at frame %d, and says %u",
                         reader->next, count);
    if (end > FRAMES_CUT)
        return error_set(err, STATUS_INVALID, "an end of kind %u is unknown", end);
    out->kind = FRAME_EVENT_END;
    out->frame_count = (int)count;
    out->end = (FramesEnd)end;
    reader->has_ended = true;
    return STATUS_OK;
}

static Status take_record(FrameReader *reader, const FrameRecord *record, FrameEvent *out,
                          Error *err)
{
    if (!reader->has_header && record->type != RECORD_HEADER)
        return error_set(err, STATUS_INVALID, "not a file of baked frames: no header first");
    if (reader->has_ended)
        return STATUS_OK;
    switch ((int)record->type) {
    case RECORD_HEADER:
        if (take_header(reader, record->payload, err))
            return err->status;
        out->kind = FRAME_EVENT_HEADER;
        return STATUS_OK;
    case RECORD_MEASURES:
        out->kind = FRAME_EVENT_MEASURES;
        out->json = record->payload;
        return STATUS_OK;
    case RECORD_END:
        return take_end(reader, record, out, err);
    case RECORD_KEY:
    case RECORD_DELTA:
    case RECORD_JOINTS:
    case RECORD_SEGMENTS:
    case RECORD_CURVES:
    case RECORD_WEIGHTS:
        if (take_channel(reader, record, err))
            return err->status;
        if (reader->have == reader->channel_count)
            give_frame(reader, out);
        return STATUS_OK;
    default: // heartbeats, and what a later version may add
        return STATUS_OK;
    }
}

Status frame_reader_next(FrameReader *reader, Bytes bytes, size_t *used, FrameEvent *out,
                         Error *err)
{
    FrameEvent event = {.kind = FRAME_EVENT_NONE};
    size_t offset = 0;

    while (event.kind == FRAME_EVENT_NONE) {
        FrameRecord record;

        if (frame_record_parse(bytes_from(bytes, offset), &record, err))
            return err->status;
        if (record.size == 0)
            break;
        if (take_record(reader, &record, &event, err))
            return err->status;
        offset += record.size;
    }
    event.header = reader->has_header ? &reader->header : NULL;
    *used = offset;
    *out = event;
    return STATUS_OK;
}

void frame_reader_seek(FrameReader *reader, int frame)
{
    for (int c = 0; c < reader->channel_count; c++)
        reader->channel[c].frame = -1;
    reader->next = frame;
    reader->have = 0;
    reader->has_ended = false;
}
