#include "base/hash.h"
#include "frames/codec.h"

#include <string.h>

const uint8_t frames_magic[FRAMES_MAGIC_SIZE] = {'B', 'H', 'F', 'R', 'A', 'M', 'E', 'S'};

static uint32_t get_u32(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
           (uint32_t)data[3] << 24;
}

static void put_u32(uint8_t *data, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        data[i] = (uint8_t)(value >> (8 * i));
}

/* The checksum covers everything but itself: twelve bytes of head, payload, padding. */
static uint32_t record_checksum(const uint8_t *record, size_t size)
{
    return crc32c(crc32c(0, record, 12), record + FRAME_RECORD_HEAD, size - FRAME_RECORD_HEAD);
}

Status frame_record_parse(Bytes bytes, FrameRecord *out, Error *err)
{
    FrameRecord record = {0};

    if (bytes.size < FRAME_RECORD_HEAD) {
        *out = record;
        return STATUS_OK;
    }
    uint32_t length = get_u32(bytes.data);
    uint32_t frame = get_u32(bytes.data + 8);
    if (length > FRAME_RECORD_MAX)
        return error_set(err, STATUS_INVALID, "a record's length %u is more than %d", length,
                         FRAME_RECORD_MAX);
    size_t size = FRAME_RECORD_HEAD + (((size_t)length + 3) & ~(size_t)3);
    if (bytes.size < size) {
        *out = record;
        return STATUS_OK;
    }
    if (record_checksum(bytes.data, size) != get_u32(bytes.data + 12))
        return error_set(err, STATUS_INVALID, "a record's checksum does not hold");
    if (frame > INT32_MAX)
        return error_set(err, STATUS_INVALID, "a record's frame %u is more than %d", frame,
                         INT32_MAX);
    *out = (FrameRecord){
        .type = (FrameRecordType)bytes.data[4],
        .codec = bytes.data[5],
        .flags = (uint16_t)(bytes.data[6] | bytes.data[7] << 8),
        .frame = (int)frame,
        .payload = {bytes.data + FRAME_RECORD_HEAD, length},
        .size = size,
    };
    return STATUS_OK;
}

size_t record_begin(ByteWriter *out)
{
    size_t begin = out->size;

    (void)byte_writer_extend(out, FRAME_RECORD_HEAD);
    return begin;
}

void record_end(ByteWriter *out, size_t begin, const FrameRecord *head)
{
    if (out->err->status)
        return;
    size_t length = out->size - begin - FRAME_RECORD_HEAD;

    // padding counts from the record's own start
    static const uint8_t zeroes[4] = {0};
    write_bytes(out, zeroes, (4 - length % 4) % 4);
    if (length > FRAME_RECORD_MAX)
        error_set(out->err, STATUS_LIMIT, "a record of %zu bytes is more than %d", length,
                  FRAME_RECORD_MAX);
    if (out->err->status)
        return;
    uint8_t *data = out->data + begin;
    put_u32(data, (uint32_t)length);
    data[4] = (uint8_t)head->type;
    data[5] = head->codec;
    data[6] = (uint8_t)head->flags;
    data[7] = (uint8_t)(head->flags >> 8);
    put_u32(data + 8, (uint32_t)head->frame);
    put_u32(data + 12, record_checksum(data, out->size - begin));
}

void frames_write_heartbeat(ByteWriter *out)
{
    size_t begin = record_begin(out);

    record_end(out, begin, &(FrameRecord){.type = RECORD_HEARTBEAT});
}

Status writer_status(const ByteWriter *out, Error *err)
{
    if (out->err->status && out->err != err)
        *err = *out->err;
    return err->status;
}

bool record_has_channel(const FrameRecord *record)
{
    return (int)record->type >= RECORD_KEY && (int)record->type <= RECORD_WEIGHTS;
}
