/* Codec: the numbers inside records, shared by writer, reader and filter (schema/frames.md).
 *
 * Quantised values are kept four (positions, tets) or two (normals) 16-bit words a vertex, which is
 * how libmeshoptimizer's vertex codec takes them. Plain functions of their arguments.
 */
#pragma once

#include "base/bytes.h"
#include "sim/frames.h"

enum {
    FRAMES_VERSION = 1,
    FRAMES_MAGIC_SIZE = 8,
    FRAMES_PREAMBLE = 12, /* magic and version before the header's JSON */
    CODEC_RAW = 0,        /* float32 */
    CODEC_MESHOPT = 1     /* 16-bit words in meshopt's vertex codec, stream version 0 */
};

/* "BHFRAMES" */
extern const uint8_t frames_magic[FRAMES_MAGIC_SIZE];

/* What is left of `bytes` from `offset` on; no bytes at all have no address. */
static inline Bytes bytes_from(Bytes bytes, size_t offset)
{
    return (Bytes){bytes.data ? bytes.data + offset : NULL, bytes.size - offset};
}

/* The grid of a key frame: value = low + word * step, each rounded to float32. */
typedef struct FrameGrid {
    float low[3];
    float step[3];
} FrameGrid;

/* Does this kind hold vectors of vertices, which precision 16 quantises? */
bool channel_is_quantised(FrameChannelKind kind, int precision);
/* 16-bit words a vertex: 4 or 2. */
int channel_words(FrameChannelKind kind);
/* What carries this kind's exact floats. */
FrameRecordType channel_record_type(FrameChannelKind kind);

/* The grid of `count` points: their box with a margin of 5 % of its longest side on every side.
 * False where a value is not finite or the box too large for a float. */
bool grid_around(const float *point, int count, FrameGrid *out);
/* Words of `count` points; false where one lies outside the grid. */
bool grid_quantise(const FrameGrid *grid, const float *point, int count, uint16_t *out);
void grid_dequantise(const FrameGrid *grid, const uint16_t *word, int count, float *out);

/* Unit vectors on the octahedron, two words each. False where a value is not finite. */
bool normals_quantise(const float *normal, int count, uint16_t *out);
void normals_dequantise(const uint16_t *word, int count, float *out);

/* Differences of words between frames, small ones of either sign to small numbers. */
void words_difference(const uint16_t *now, const uint16_t *before, size_t count, uint16_t *out);
void words_add(const uint16_t *difference, size_t count, uint16_t *value);

/* Append a record; its payload is what `out` holds behind `payload_at` (record_begin's result). */
size_t record_begin(ByteWriter *out);
void record_end(ByteWriter *out, size_t begin, const FrameRecord *head);

/* The JSON of a header record. `id[c]` is the number that channel c's records carry; NULL: its
 * index. */
void header_write(const FrameHeader *header, const uint32_t *id, ByteWriter *out, Error *err);
/* The header of a header record's payload, in the arena; ids likewise. */
NODISCARD Status header_parse(Bytes payload, Arena *arena, FrameHeader *out, const uint32_t **id,
                              Error *err);
/* A failure of `out` becomes the caller's. */
Status writer_status(const ByteWriter *out, Error *err);

/* The reader goes on at the key `frame`. */
void frame_reader_seek(FrameReader *reader, int frame);
/* Does this record carry a channel of a frame? Then its payload starts with the channel's id. */
bool record_has_channel(const FrameRecord *record);
