/* Any bytes as a stream of frames: read, indexed, cut, filtered; what passes a filter can be read
 * again. Checksums are made good first, so that the payloads are reached. */
#include "base/hash.h"
#include "sim/frames.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_SIZE = 64 << 20 };

static void repair(uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= FRAME_RECORD_HEAD;) {
        size_t length = (size_t)data[at] | (size_t)data[at + 1] << 8 | (size_t)data[at + 2] << 16 |
                        (size_t)data[at + 3] << 24;
        if (length > size - at - FRAME_RECORD_HEAD)
            return;
        size_t padded = (length + 3) & ~(size_t)3;
        if (padded > size - at - FRAME_RECORD_HEAD)
            return;
        uint32_t crc = crc32c(crc32c(0, data + at, 12), data + at + FRAME_RECORD_HEAD, padded);
        memcpy(data + at + 12, &crc, sizeof crc);
        at += FRAME_RECORD_HEAD + padded;
    }
}

static void read_all(Bytes bytes)
{
    Arena arena;
    Error err = {0};
    FrameFile file;
    FrameData frame;

    if (arena_create(&arena, ARENA_SIZE, &err))
        return;
    if (frames_cut(bytes) > bytes.size)
        abort();
    if (!frame_file_open(bytes, NULL, &arena, &file, &err))
        for (int i = 0; !err.status && i < file.index.frame_count && i < 64; i++)
            if (!frame_file_read(&file, file.header->first_frame + i, &frame, &err))
                for (int c = 0; c < file.header->channel_count; c++)
                    for (int k = 0; k < file.header->channel[c].float_count; k++)
                        if (!isfinite(frame.data[c][k]))
                            abort();
    if (err.status && !err.message[0])
        abort();
    arena_destroy(&arena);
}

static void filter_all(Bytes bytes)
{
    static const bool wanted[CHANNEL_KIND_COUNT] = {[CHANNEL_POSITIONS] = true};
    Arena arena;
    Error err = {0};
    FrameFilter *filter;
    ByteWriter out = byte_writer(1 << 26, &err);
    size_t used = 0;

    if (arena_create(&arena, ARENA_SIZE, &err))
        return;
    if (!frame_filter_open(wanted, 0, 2, &arena, &filter, &err) &&
        !frame_filter_add(filter, bytes, &used, &out, &err)) {
        if (used > bytes.size || frames_cut(byte_writer_bytes(&out)) != out.size)
            abort();
        read_all(byte_writer_bytes(&out));
    }
    byte_writer_close(&out);
    arena_destroy(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);

    if (!copy)
        return 0;
    memcpy(copy, data, size);
    read_all((Bytes){copy, size});
    repair(copy, size);
    read_all((Bytes){copy, size});
    filter_all((Bytes){copy, size});
    free(copy);
    return 0;
}
