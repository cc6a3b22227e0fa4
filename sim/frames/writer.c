#include "frames/codec.h"
#include "frames/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the writer keeps of a channel that it quantises. */
typedef struct WriterChannel {
    bool is_quantised;
    int vertex_count;
    size_t word_count;
    FrameGrid grid;   /* of the last key, positions and tets */
    uint16_t *before; /* words of the last frame (word_count) */
    uint16_t *now;    /* (word_count) */
} WriterChannel;

struct FrameWriter {
    const FrameHeader *header;
    WriterChannel *channel; /* (header->channel_count) */
    uint16_t *difference;   /* (greatest word_count) */
    int next;               /* frame that comes next */
    int since_key;          /* frames since the last key */
    bool is_key;            /* of the last frame */
    float max_step;
};

size_t frames_arena_size(const FrameHeader *header)
{
    size_t size = 4096;
    size_t greatest = 0;

    for (int c = 0; c < header->channel_count; c++) {
        const FrameChannel *channel = &header->channel[c];
        size_t bytes = sizeof(float) * (size_t)channel->float_count;

        size += 8 * bytes / 3 + bytes + 256 + sizeof(WriterChannel);
        size += (size_t)channel->key_count * (sizeof(char *) + sizeof(int) + 32);
        for (int i = 0; i < channel->key_count; i++)
            size += strlen(channel->key[i]) + 1;
        greatest = bytes > greatest ? bytes : greatest;
    }
    return size + 4 * greatest / 3 + 64;
}

static Status check_channel(const FrameChannel *channel, Error *err)
{
    int64_t sum = 0;
    bool is_vector = channel->kind == CHANNEL_POSITIONS || channel->kind == CHANNEL_NORMALS ||
                     channel->kind == CHANNEL_TETS;

    if ((unsigned)channel->kind >= CHANNEL_KIND_COUNT)
        return error_set(err, STATUS_INVALID, "channel kind %d is unknown", (int)channel->kind);
    for (int i = 0; i < channel->key_count; i++)
        sum += channel->width[i];
    if (sum != channel->float_count || (is_vector && sum % 3))
        return error_set(err, STATUS_INVALID, "%s of %d floats: the widths add up to %lld",
                         frame_channel_name(channel->kind), channel->float_count, (long long)sum);
    return STATUS_OK;
}

static void open_channel(const FrameChannel *channel, int precision, Arena *arena,
                         WriterChannel *out)
{
    *out = (WriterChannel){.is_quantised = channel_is_quantised(channel->kind, precision)};
    if (!out->is_quantised)
        return;
    out->vertex_count = channel->float_count / 3;
    out->word_count = (size_t)out->vertex_count * (size_t)channel_words(channel->kind);
    out->before = arena_array(arena, uint16_t, out->word_count);
    out->now = arena_array(arena, uint16_t, out->word_count);
}

Status frame_writer_open(const FrameHeader *header, Arena *arena, ByteWriter *out,
                         FrameWriter **writer, Error *err)
{
    FrameWriter *made = arena_array(arena, FrameWriter, 1);
    WriterChannel *channel = arena_array(arena, WriterChannel, header->channel_count);
    size_t greatest = 0;

    if (header->precision != 16 && header->precision != 32)
        return error_set(err, STATUS_INVALID, "precision %d must be 16 or 32", header->precision);
    for (int c = 0; channel && c < header->channel_count; c++) {
        if (check_channel(&header->channel[c], err))
            return err->status;
        open_channel(&header->channel[c], header->precision, arena, &channel[c]);
        greatest = channel[c].word_count > greatest ? channel[c].word_count : greatest;
    }
    uint16_t *difference = arena_array(arena, uint16_t, greatest);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the frames' writer");

    *made = (FrameWriter){.header = header,
                          .channel = channel,
                          .difference = difference,
                          .next = header->first_frame};
    header_write(header, NULL, out, err);
    if (writer_status(out, err))
        return err->status;
    *writer = made;
    return STATUS_OK;
}

/* Words of the frame on the grids of the last key; false where one is left. */
static bool quantise_on_last_grids(FrameWriter *writer, const FrameData *frame)
{
    for (int c = 0; c < writer->header->channel_count; c++) {
        WriterChannel *channel = &writer->channel[c];

        if (!channel->is_quantised)
            continue;
        if (writer->header->channel[c].kind == CHANNEL_NORMALS) {
            if (!normals_quantise(frame->data[c], channel->vertex_count, channel->now))
                return false;
        } else if (!grid_quantise(&channel->grid, frame->data[c], channel->vertex_count,
                                  channel->now)) {
            return false;
        }
    }
    return true;
}

static Status refuse_value(const FrameWriter *writer, int c, int frame, Error *err)
{
    const FrameChannel *channel = &writer->header->channel[c];

    return error_set(err, STATUS_INVALID, "frame %d: %s \"%s\" holds a value that is not finite",
                     frame, frame_channel_name(channel->kind),
                     channel->key_count ? channel->key[0] : "");
}

static Status quantise_on_new_grids(FrameWriter *writer, const FrameData *frame, Error *err)
{
    for (int c = 0; c < writer->header->channel_count; c++) {
        WriterChannel *channel = &writer->channel[c];
        bool is_good = true;

        if (!channel->is_quantised)
            continue;
        if (writer->header->channel[c].kind == CHANNEL_NORMALS)
            is_good = normals_quantise(frame->data[c], channel->vertex_count, channel->now);
        else
            is_good =
                grid_around(frame->data[c], channel->vertex_count, &channel->grid) &&
                grid_quantise(&channel->grid, frame->data[c], channel->vertex_count, channel->now);
        if (!is_good)
            return refuse_value(writer, c, frame->frame, err);
        for (int k = 0; k < 3; k++)
            writer->max_step =
                channel->grid.step[k] > writer->max_step ? channel->grid.step[k] : writer->max_step;
    }
    return STATUS_OK;
}

/* x - x is 0 for every finite x and not a number for the others; so is a sum of them. */
static bool is_all_finite(const float *value, int count)
{
    float sum = 0.0f;

    for (int i = 0; i < count; i++)
        sum += value[i] - value[i];
    return sum == 0.0f;
}

static void write_floats(ByteWriter *out, const float *value, int count)
{
    uint8_t *data = count ? byte_writer_extend(out, 4 * (size_t)count) : NULL;

    for (int i = 0; data && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        for (int k = 0; k < 4; k++)
            data[4 * i + k] = (uint8_t)(bits >> (8 * k));
    }
}

static void write_grid(ByteWriter *out, const FrameGrid *grid)
{
    for (int k = 0; k < 3; k++)
        write_f32(out, grid->low[k]);
    for (int k = 0; k < 3; k++)
        write_f32(out, grid->step[k]);
}

static void write_channel(FrameWriter *writer, int c, const FrameData *frame, ByteWriter *out)
{
    const FrameChannel *desc = &writer->header->channel[c];
    WriterChannel *channel = &writer->channel[c];
    FrameRecord head = {.type = channel_record_type(desc->kind),
                        .codec = CODEC_RAW,
                        .flags = writer->is_key ? FRAME_FLAG_KEY : 0,
                        .frame = frame->frame};
    size_t begin = record_begin(out);

    write_u32(out, (uint32_t)c);
    if (!channel->is_quantised) {
        write_floats(out, frame->data[c], desc->float_count);
        record_end(out, begin, &head);
        return;
    }
    const uint16_t *word = channel->now;
    head.codec = CODEC_MESHOPT;
    if (!writer->is_key) {
        head.type = RECORD_DELTA;
        words_difference(channel->now, channel->before, channel->word_count, writer->difference);
        word = writer->difference;
    } else if (desc->kind != CHANNEL_NORMALS) {
        write_grid(out, &channel->grid);
    }
    words_encode(word, channel->vertex_count, channel_words(desc->kind), out);
    record_end(out, begin, &head);

    uint16_t *before = channel->before;
    channel->before = channel->now;
    channel->now = before;
}

Status frame_writer_frame(FrameWriter *writer, const FrameData *frame, ByteWriter *out, Error *err)
{
    const FrameHeader *header = writer->header;
    size_t begin = out->size;

    if (frame->frame != writer->next)
        return error_set(err, STATUS_INVALID, "frame %d is not the next one, %d", frame->frame,
                         writer->next);
    for (int c = 0; c < header->channel_count; c++)
        if (!writer->channel[c].is_quantised &&
            !is_all_finite(frame->data[c], header->channel[c].float_count))
            return refuse_value(writer, c, frame->frame, err);

    bool is_due = writer->next == header->first_frame || writer->since_key >= header->key_interval;
    bool is_key = is_due || !quantise_on_last_grids(writer, frame);
    if (is_key && quantise_on_new_grids(writer, frame, err))
        return err->status;
    writer->is_key = is_key;
    for (int c = 0; c < header->channel_count; c++)
        write_channel(writer, c, frame, out);
    if (writer_status(out, err)) {
        out->size = begin;
        return err->status;
    }
    writer->since_key = is_key ? 1 : writer->since_key + 1;
    writer->next++;
    return STATUS_OK;
}

bool frame_writer_is_key(const FrameWriter *writer)
{
    return writer->is_key;
}

float frame_writer_max_step(const FrameWriter *writer)
{
    return writer->max_step;
}

Status frame_writer_measures(FrameWriter *writer, const char *json, ByteWriter *out, Error *err)
{
    size_t begin = record_begin(out);

    write_bytes(out, json, strlen(json));
    record_end(out, begin, &(FrameRecord){.type = RECORD_MEASURES, .frame = writer->next});
    return writer_status(out, err);
}

Status frame_writer_end(FrameWriter *writer, FramesEnd end, ByteWriter *out, Error *err)
{
    size_t begin = record_begin(out);

    write_u32(out, (uint32_t)writer->next);
    write_u32(out, (uint32_t)end);
    record_end(out, begin, &(FrameRecord){.type = RECORD_END, .frame = writer->next});
    return writer_status(out, err);
}
