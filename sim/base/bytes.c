#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

ByteReader byte_reader(Bytes bytes, Error *err)
{
    return (ByteReader){.bytes = bytes, .err = err};
}

Bytes read_bytes(ByteReader *reader, size_t size, const char *what)
{
    if (reader->err->status)
        return (Bytes){0};
    if (size > reader->bytes.size - reader->offset) {
        error_set(reader->err, STATUS_INVALID,
                  "%s of %zu bytes at byte %zu is cut off: %zu bytes are left", what, size,
                  reader->offset, reader->bytes.size - reader->offset);
        return (Bytes){0};
    }
    Bytes out = {reader->bytes.data + reader->offset, size};
    reader->offset += size;
    return out;
}

static uint64_t read_number(ByteReader *reader, size_t size, const char *what)
{
    Bytes bytes = read_bytes(reader, size, what);
    uint64_t value = 0;

    for (size_t i = 0; i < bytes.size; i++)
        value |= (uint64_t)bytes.data[i] << (8 * i);
    return value;
}

uint8_t read_u8(ByteReader *reader, const char *what)
{
    return (uint8_t)read_number(reader, 1, what);
}

uint16_t read_u16(ByteReader *reader, const char *what)
{
    return (uint16_t)read_number(reader, 2, what);
}

uint32_t read_u32(ByteReader *reader, const char *what)
{
    return (uint32_t)read_number(reader, 4, what);
}

uint64_t read_u64(ByteReader *reader, const char *what)
{
    return read_number(reader, 8, what);
}

float read_f32(ByteReader *reader, const char *what)
{
    uint32_t bits = read_u32(reader, what);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

ByteWriter byte_writer(size_t maximum, Error *err)
{
    return (ByteWriter){.maximum = maximum, .err = err};
}

void byte_writer_close(ByteWriter *writer)
{
    free(writer->data);
    *writer = (ByteWriter){.maximum = writer->maximum, .err = writer->err};
}

void byte_writer_clear(ByteWriter *writer)
{
    writer->size = 0;
}

uint8_t *byte_writer_extend(ByteWriter *writer, size_t size)
{
    if (writer->err->status)
        return NULL;
    if (size > writer->maximum - writer->size) {
        error_set(writer->err, STATUS_LIMIT, "more than %zu bytes to write", writer->maximum);
        return NULL;
    }
    if (size > writer->capacity - writer->size) {
        size_t capacity = writer->capacity > 2048 ? writer->capacity : 2048;
        while (capacity < writer->size + size)
            capacity += capacity / 2;
        if (capacity > writer->maximum)
            capacity = writer->maximum;
        uint8_t *data = realloc(writer->data, capacity);
        if (!data) {
            error_set(writer->err, STATUS_NO_MEMORY, "no memory for %zu bytes", capacity);
            return NULL;
        }
        writer->data = data;
        writer->capacity = capacity;
    }
    writer->size += size;
    return writer->data ? writer->data + (writer->size - size) : NULL;
}

void write_bytes(ByteWriter *writer, const void *data, size_t size)
{
    uint8_t *out = size ? byte_writer_extend(writer, size) : NULL;

    if (out)
        memcpy(out, data, size);
}

static void write_number(ByteWriter *writer, size_t size, uint64_t value)
{
    uint8_t bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    write_bytes(writer, bytes, size);
}

void write_u8(ByteWriter *writer, uint8_t value)
{
    write_number(writer, 1, value);
}

void write_u16(ByteWriter *writer, uint16_t value)
{
    write_number(writer, 2, value);
}

void write_u32(ByteWriter *writer, uint32_t value)
{
    write_number(writer, 4, value);
}

void write_u64(ByteWriter *writer, uint64_t value)
{
    write_number(writer, 8, value);
}

void write_f32(ByteWriter *writer, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    write_u32(writer, bits);
}

void write_padding(ByteWriter *writer, size_t alignment, uint8_t fill)
{
    while (!writer->err->status && writer->size % alignment)
        write_u8(writer, fill);
}

Bytes byte_writer_bytes(const ByteWriter *writer)
{
    return (Bytes){writer->data, writer->size};
}
