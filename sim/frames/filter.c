#include "frames/codec.h"

#include <limits.h>

struct FrameFilter {
    Arena *arena;
    bool wanted[CHANNEL_KIND_COUNT];
    int from;
    int to;
    bool has_header;
    bool is_done;
    int count;    /* channels that pass */
    uint32_t *id; /* rising (count) */
};

Status frame_filter_open(const bool *wanted, int from, int to, Arena *arena, FrameFilter **out,
                         Error *err)
{
    FrameFilter *filter = arena_array(arena, FrameFilter, 1);

    if (!filter)
        return error_set(err, STATUS_NO_MEMORY, "no room for a filter of frames");
    filter->arena = arena;
    filter->from = from;
    filter->to = to < 0 ? INT_MAX : to;
    for (int k = 0; k < CHANNEL_KIND_COUNT; k++)
        filter->wanted[k] = !wanted || wanted[k];
    *out = filter;
    return STATUS_OK;
}

/* The header with the channels that pass; they keep their ids, so that records keep their bytes. */
static Status pass_header(FrameFilter *filter, const FrameRecord *record, ByteWriter *out,
                          Error *err)
{
    FrameHeader header;
    const uint32_t *id;
    int count = 0;

    if (header_parse(record->payload, filter->arena, &header, &id, err))
        return err->status;
    FrameChannel *channel = arena_array(filter->arena, FrameChannel, header.channel_count);
    filter->id = arena_array(filter->arena, uint32_t, header.channel_count);
    if (filter->arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for a filter of frames");
    for (int c = 0; c < header.channel_count; c++) {
        if (!filter->wanted[header.channel[c].kind])
            continue;
        channel[count] = header.channel[c];
        filter->id[count++] = id[c];
    }
    filter->count = count;
    filter->has_header = true;
    header.channel = channel;
    header.channel_count = count;
    if (filter->from > header.first_frame)
        header.first_frame = filter->from;
    header_write(&header, filter->id, out, err);
    return writer_status(out, err);
}

static bool passes(const FrameFilter *filter, const FrameRecord *record)
{
    Error err = {0};
    ByteReader bytes = byte_reader(record->payload, &err);
    int low = 0, high = filter->count;

    if (!record_has_channel(record))
        return record->type != RECORD_HEARTBEAT;
    uint32_t id = read_u32(&bytes, "channel");
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (filter->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return record->frame >= filter->from && low < filter->count && filter->id[low] == id;
}

/* What stands for the end where the range stops before the stream does. */
static void write_cut(const FrameFilter *filter, ByteWriter *out)
{
    size_t begin = record_begin(out);

    write_u32(out, (uint32_t)filter->to + 1);
    write_u32(out, FRAMES_CUT);
    record_end(out, begin, &(FrameRecord){.type = RECORD_END, .frame = filter->to + 1});
}

static Status pass_record(FrameFilter *filter, const FrameRecord *record, Bytes bytes,
                          ByteWriter *out, Error *err)
{
    if (!filter->has_header) {
        if (record->type != RECORD_HEADER)
            return error_set(err, STATUS_INVALID, "not a file of baked frames: no header first");
        return pass_header(filter, record, out, err);
    }
    if (record_has_channel(record) && record->frame > filter->to) {
        write_cut(filter, out);
        filter->is_done = true;
    } else if (passes(filter, record)) {
        write_bytes(out, bytes.data, record->size);
        filter->is_done = record->type == RECORD_END;
    }
    return writer_status(out, err);
}

Status frame_filter_add(FrameFilter *filter, Bytes bytes, size_t *used, ByteWriter *out, Error *err)
{
    size_t offset = 0;

    while (!filter->is_done) {
        Bytes rest = bytes_from(bytes, offset);
        FrameRecord record;

        if (frame_record_parse(rest, &record, err))
            return err->status;
        if (record.size == 0)
            break;
        if (pass_record(filter, &record, rest, out, err))
            return err->status;
        offset += record.size;
    }
    *used = filter->is_done ? bytes.size : offset;
    return STATUS_OK;
}

bool frame_filter_is_done(const FrameFilter *filter)
{
    return filter->is_done;
}
