/* Frames: what a bake gives out, and the stream that carries it (schema/frames.md, byte by byte).
 *
 * A channel is one kind of data under one or more keys; a frame is one float array a channel. The
 * writer turns frames into records in memory; the host appends them to a file or socket. The reader
 * takes any bytes, checks every length and checksum, and decodes record by record. Both belong to
 * one thread; their memory is an arena's. The same frames give the same bytes everywhere.
 *
 *     frame_writer_open(&header, &arena, &out, &writer, err)     the header record is in `out`
 *     frame_writer_frame(writer, frame, &out, err)               append out's bytes, clear it
 *     frame_writer_measures(writer, json, &out, err)
 *     frame_writer_end(writer, FRAMES_COMPLETE, &out, err)
 *
 * Reading a stream as it grows: frame_reader_next. A whole file, in any order: frame_file_read.
 * Fewer channels or frames, without decoding: FrameFilter. A file after a crash: frames_index.
 */
#pragma once

#include "base/bytes.h"
#include "base/json.h"
#include "math/vec3.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum FrameChannelKind {
    CHANNEL_JOINTS,    /* local translation, rotation (7 floats), and scale (10) where the clip
                          animates it; one key a node */
    CHANNEL_SEGMENTS,  /* world head and tail: 6 floats, one key a segment */
    CHANNEL_POSITIONS, /* world positions: 3 floats a vertex, one key */
    CHANNEL_NORMALS,   /* unit normals: 3 floats a vertex, one key */
    CHANNEL_TETS,      /* world positions of tet vertices, one key */
    CHANNEL_CURVES,    /* world points of curves, one key */
    CHANNEL_WEIGHTS,   /* morph weights, one key a node */
    CHANNEL_KIND_COUNT
} FrameChannelKind;

/* "joints", "segments" ... as in jobs and NDJSON; frame_channel_find gives CHANNEL_KIND_COUNT for
 * an unknown name. */
const char *frame_channel_name(FrameChannelKind kind);
FrameChannelKind frame_channel_find(const char *name);

typedef struct FrameChannel {
    FrameChannelKind kind;
    int key_count;
    int float_count;        /* of a frame: the sum of the widths */
    const char *const *key; /* (key_count) */
    const int *width;       /* floats under each key (key_count) */
} FrameChannel;

typedef struct FrameHeader {
    char model_sha256[65]; /* of the model's bytes, hexadecimal, "" when unknown */
    int fps_numerator;     /* 30 and 1; 24000 and 1001 */
    int fps_denominator;
    int frame_count; /* that the whole bake will have */
    double start;    /* seconds of the clip at frame 0 */
    bool is_loop;
    int precision;    /* of positions: 16 (quantised) or 32 (exact) */
    int key_interval; /* frames from key to key: 30 */
    int first_frame;  /* that the stream has; above 0 only where it was cut (FrameFilter) */
    int channel_count;
    const FrameChannel *channel; /* (channel_count) */
} FrameHeader;

/* One frame: `data[c]` has channel[c].float_count floats. Valid until the bake steps on. */
typedef struct FrameData {
    int frame;
    double time;              /* seconds since frame 0 */
    const float *const *data; /* (channel_count) */
} FrameData;

/* --- records --- */

typedef enum FrameRecordType {
    RECORD_HEADER = 1,
    RECORD_KEY,
    RECORD_DELTA,
    RECORD_JOINTS,
    RECORD_SEGMENTS,
    RECORD_CURVES,
    RECORD_WEIGHTS,
    RECORD_MEASURES,
    RECORD_END,
    RECORD_HEARTBEAT /* on live connections only, never in a file */
} FrameRecordType;

enum {
    FRAME_RECORD_HEAD = 16,        /* bytes before a record's payload */
    FRAME_RECORD_MAX = 0x10000000, /* bytes of a payload: 256 MiB */
    FRAME_FLAG_KEY = 1             /* its frame can be decoded without any frame before it */
};

/* A record in somebody else's bytes. */
typedef struct FrameRecord {
    FrameRecordType type; /* or a number that this version does not know */
    uint8_t codec;
    uint16_t flags;
    int frame;
    Bytes payload;
    size_t size; /* of head, payload and padding; 0: `bytes` ends before the record does */
} FrameRecord;

/* The record at the start of `bytes`, its checksum verified. OK with size 0 when more bytes are
 * needed; INVALID for a bad length or checksum. */
NODISCARD Status frame_record_parse(Bytes bytes, FrameRecord *out, Error *err);

/* The 16 bytes that keep a live connection alive. */
void frames_write_heartbeat(ByteWriter *out);

/* --- writing --- */

typedef enum FramesEnd {
    FRAMES_COMPLETE, /* every frame is there */
    FRAMES_STOPPED,  /* failed or cancelled: what there is, is good */
    FRAMES_CUT       /* the end of the range that was asked for */
} FramesEnd;

typedef struct FrameWriter FrameWriter;

/* A writer in the arena; the header record goes to `out`. The header's channels must live as long
 * as the writer. INVALID for a channel whose counts do not fit together. */
NODISCARD Status frame_writer_open(const FrameHeader *header, Arena *arena, ByteWriter *out,
                                   FrameWriter **writer, Error *err);
/* The records of the next frame. INVALID when frame->frame is not the next one or a value is not
 * finite; nothing is written then. */
NODISCARD Status frame_writer_frame(FrameWriter *writer, const FrameData *frame, ByteWriter *out,
                                    Error *err);
/* Was the last frame a key? For the host's index of (frame, offset). */
bool frame_writer_is_key(const FrameWriter *writer);
/* `json`: measures_write_json in the reproducible form. */
NODISCARD Status frame_writer_measures(FrameWriter *writer, const char *json, ByteWriter *out,
                                       Error *err);
NODISCARD Status frame_writer_end(FrameWriter *writer, FramesEnd end, ByteWriter *out, Error *err);
/* The greatest step of the 16-bit grid of all keys so far, metres: positions are off by at most
 * half of it. */
float frame_writer_max_step(const FrameWriter *writer);

/* Arena bytes that a writer or reader of such a header needs. */
size_t frames_arena_size(const FrameHeader *header);

/* --- reading --- */

typedef enum FrameEventKind {
    FRAME_EVENT_NONE, /* more bytes are needed */
    FRAME_EVENT_HEADER,
    FRAME_EVENT_FRAME,
    FRAME_EVENT_MEASURES,
    FRAME_EVENT_END
} FrameEventKind;

typedef struct FrameEvent {
    FrameEventKind kind;
    const FrameHeader *header; /* from the first event on; lives as long as the reader */
    FrameData data;            /* FRAME: valid until the next call */
    Bytes json;                /* MEASURES: in the caller's bytes */
    int frame_count;           /* END: frames that the file says it has */
    FramesEnd end;             /* END */
} FrameEvent;

typedef struct FrameReader FrameReader;

/* A reader in the arena, which takes all it needs when the header comes; the arena's capacity is
 * the limit of what a stream may ask for. `wanted` (CHANNEL_KIND_COUNT, or NULL for all): channels
 * of other kinds are checked and left out of the header. */
NODISCARD Status frame_reader_open(const bool *wanted, Arena *arena, FrameReader **out, Error *err);
/* Reads from the front of `bytes` up to the next event; `*used` is how many bytes it is done with,
 * and the caller gives the rest again, with more behind it. */
NODISCARD Status frame_reader_next(FrameReader *reader, Bytes bytes, size_t *used, FrameEvent *out,
                                   Error *err);

typedef struct FrameKey {
    int frame;
    size_t offset; /* of its first record */
} FrameKey;

typedef struct FrameIndex {
    size_t size;        /* bytes up to the end of the last record that holds */
    size_t header_size; /* bytes of the header record */
    int frame_count;    /* whole frames among them */
    bool has_end;
    FramesEnd end;
    Bytes measures; /* JSON of the last measures record, {0} without */
    int key_count;
    const FrameKey *key; /* rising (key_count) */
} FrameIndex;

/* What a file holds, however it was cut off or damaged: everything before the first record that is
 * incomplete or whose checksum fails. INVALID when there is not even a header. */
NODISCARD Status frames_index(Bytes file, Arena *arena, FrameIndex *out, Error *err);
/* The last key at or before `frame`, NULL when there is none. */
const FrameKey *frame_index_find(const FrameIndex *index, int frame);
/* The length to cut a file back to after a crash: whole records only; 0 when it has no header. */
size_t frames_cut(Bytes file);

/* A whole file with random access. Borrows the bytes. */
typedef struct FrameFile {
    Bytes bytes;
    const FrameHeader *header;
    FrameIndex index;
    FrameReader *reader;
    size_t offset; /* of the reader's next record */
    int next;      /* frame that the reader gives next */
} FrameFile;

NODISCARD Status frame_file_open(Bytes bytes, const bool *wanted, Arena *arena, FrameFile *out,
                                 Error *err);
/* Frame `frame`, 0 to index.frame_count - 1 (from header->first_frame on). Going forward costs one
 * frame each, a jump decodes from the key before. `out` is valid until the next call. */
NODISCARD Status frame_file_read(FrameFile *file, int frame, FrameData *out, Error *err);

/* --- fewer channels, fewer frames --- */

typedef struct FrameFilter FrameFilter;

/* What passes: channels of the wanted kinds (NULL: all), frames from `from`, which must be a key
 * (frame_index_find), to `to` (-1: all). The header is rewritten, other records keep their bytes;
 * the host may leave out what lies between the header record and the key's offset. */
NODISCARD Status frame_filter_open(const bool *wanted, int from, int to, Arena *arena,
                                   FrameFilter **out, Error *err);
/* Takes whole records from the front of `bytes`, writes those that pass, and says in `*used` how
 * far it came. */
NODISCARD Status frame_filter_add(FrameFilter *filter, Bytes bytes, size_t *used, ByteWriter *out,
                                  Error *err);
/* Nothing more will pass: the range or the stream has ended. An end record has been written. */
bool frame_filter_is_done(const FrameFilter *filter);

/* --- as text: ARCHITECTURE's NDJSON --- */

/* One line each, closed by a line feed. */
void frames_write_text_header(const FrameHeader *header, Text *out);
void frames_write_text_frame(const FrameHeader *header, const FrameData *frame, Text *out);
