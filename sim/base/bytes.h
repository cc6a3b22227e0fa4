/* Bytes: a view of somebody else's memory; ByteReader and ByteWriter: little-endian numbers out of
 * one and into one.
 *
 * Both remember their first failure (in the Error they were given), after which reads give zeroes
 * and writes do nothing, so parsing code runs straight down the page and asks once at the end.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Bytes {
    const uint8_t *data;
    size_t size;
} Bytes;

typedef struct ByteReader {
    Bytes bytes;
    size_t offset; /* of the next read */
    Error *err;
} ByteReader;

/* `what` in every read names the thing for the message "WHAT at byte 12 is cut off". */
ByteReader byte_reader(Bytes bytes, Error *err);
uint8_t read_u8(ByteReader *reader, const char *what);
uint16_t read_u16(ByteReader *reader, const char *what);
uint32_t read_u32(ByteReader *reader, const char *what);
uint64_t read_u64(ByteReader *reader, const char *what);
float read_f32(ByteReader *reader, const char *what);
/* A view of the next `size` bytes; it borrows from the input. */
Bytes read_bytes(ByteReader *reader, size_t size, const char *what);

/* A growing buffer in memory of its own (malloc), which fails at its maximum like everything else.
 * byte_writer_close gives the memory back and accepts a zeroed writer. */
typedef struct ByteWriter {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t maximum;
    Error *err;
} ByteWriter;

ByteWriter byte_writer(size_t maximum, Error *err);
void byte_writer_close(ByteWriter *writer);
/* Forget the content, keep the memory. */
void byte_writer_clear(ByteWriter *writer);
/* Room for `size` more bytes at the end, counted in, contents undefined; NULL after a failure. */
uint8_t *byte_writer_extend(ByteWriter *writer, size_t size);
void write_u8(ByteWriter *writer, uint8_t value);
void write_u16(ByteWriter *writer, uint16_t value);
void write_u32(ByteWriter *writer, uint32_t value);
void write_u64(ByteWriter *writer, uint64_t value);
void write_f32(ByteWriter *writer, float value);
void write_bytes(ByteWriter *writer, const void *data, size_t size);
/* Bytes of value `fill` up to the next multiple of `alignment`. */
void write_padding(ByteWriter *writer, size_t alignment, uint8_t fill);
/* What has been written; valid until the next write. */
Bytes byte_writer_bytes(const ByteWriter *writer);
