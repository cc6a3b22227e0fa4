/* Wire: what a server and the process that runs one of its jobs (--isolate) tell each other, both
 * the same binary, over a socket pair.
 *
 * Either side sends messages: a kind (one byte), the payload's size (four bytes), the payload;
 * numbers little-endian, texts with their size before them. The server sends one order and then,
 * where the job is to stop, the end of its side. The process answers with
 *
 *     started, pieces and progress as they come, end
 *
 * Writers append a whole message to a ByteWriter. Readers read a payload, which may be anything: a
 * process whose memory is damaged sends it. Texts they give are the arena's.
 */
#pragma once

#include "server/jobs/runner.h"
#include "sim/assets.h"

typedef enum WireKind { WIRE_ORDER, WIRE_STARTED, WIRE_PIECE, WIRE_PROGRESS, WIRE_END } WireKind;

/* Bytes of a message before its payload, and of the longest payload. */
enum { WIRE_HEAD = 5, WIRE_MAX = (1 << 30) + (1 << 20) };

/* A file of the job; the process has it open. */
typedef struct WireAsset {
    const char *id;
    const char *sha256;
    const char *name; /* label */
    double unit;
    bool is_z_up;
} WireAsset;

typedef struct WireOrder {
    Bytes body; /* the job as it was posted */
    JobLimits limits;
    AssetLimits asset_limits; /* the others are the default */
    WireAsset model;
    bool has_animation;
    WireAsset animation;
} WireOrder;

typedef struct WireEnd {
    Error failure; /* STATUS_OK: done */
    RunResult result;
    Bytes measures; /* whole, as JSON; none where nothing was measured */
} WireEnd;

void wire_write_order(const WireOrder *order, ByteWriter *out);
/* `key` is the cache key of what is really baked. */
void wire_write_started(int frame_count, const char *key, ByteWriter *out);
void wire_write_piece(const RunPiece *piece, ByteWriter *out);
void wire_write_progress(const RunProgress *progress, ByteWriter *out);
void wire_write_end(const WireEnd *end, ByteWriter *out);

/* The kind and the payload's size; INVALID for what is neither. `head` has WIRE_HEAD bytes. */
NODISCARD Status wire_read_head(const uint8_t *head, WireKind *out_kind, size_t *out_size,
                                Error *err);
NODISCARD Status wire_read_order(Bytes payload, Arena *arena, WireOrder *out, Error *err);
NODISCARD Status wire_read_started(Bytes payload, Arena *arena, int *out_frame_count,
                                   const char **out_key, Error *err);
/* The bytes are the payload's. */
NODISCARD Status wire_read_piece(Bytes payload, RunPiece *out, Error *err);
/* `measures` is what `out` points to where the message has rows. */
NODISCARD Status wire_read_progress(Bytes payload, Arena *arena, RunProgress *out,
                                    Measures *measures, Error *err);
NODISCARD Status wire_read_end(Bytes payload, Arena *arena, WireEnd *out, Error *err);
