/* Frames: what a bake gives out, and the stream that carries it (schema/frames.md, byte by byte).
 *
 * A channel is one kind of data under one or more keys; a frame is one float array a channel. The
 * writer turns frames into records in memory; the host appends them to a file or socket. The reader
 * takes any bytes, checks every length and checksum, and decodes record by record. Both belong to
 * one thread; their memory is an arena's or their own buffers'.
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
    int channel_count;
    const FrameChannel *channel; /* (channel_count) */
} FrameHeader;

/* One frame: `data[c]` has channel[c].float_count floats. Valid until the bake steps on. */
typedef struct FrameData {
    int frame;
    double time;              /* seconds since frame 0 */
    const float *const *data; /* (channel_count) */
} FrameData;
