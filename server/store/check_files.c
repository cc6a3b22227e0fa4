#include "server/store/check_files.h"

#include "base/json.h"
#include "server/store/folders.h"
#include "sim/frames.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    INDEX_ARENA = 64 << 20,  /* bytes for the index of a frame file */
    MEASURES_DEPTH = 16,     /* of measures.json */
    MEASURES_MAX = 256 << 20 /* bytes that are parsed */
};

/* A whole file in memory. */
typedef struct Look {
    Bytes bytes;
    FileState state;
    char sha256[SHA256_HEX_SIZE];
} Look;

static FileState say(FileState state, const char *text, char *detail, size_t room)
{
    (void)snprintf(detail, room, "%s", text);
    return state;
}

/* Reads all of it, so that a bad sector is an error and not the end of the process, as it would be
 * in a mapping. */
static Status read_through(int file, char out[SHA256_HEX_SIZE], Error *err)
{
    enum { PIECE = 64 << 10 };
    uint8_t piece[PIECE];
    uint8_t digest[SHA256_SIZE];
    Sha256 hash;
    ssize_t got = 0;

    sha256_begin(&hash);
    for (off_t at = 0; (got = pread(file, piece, sizeof piece, at)) > 0; at += got)
        sha256_add(&hash, piece, (size_t)got);
    if (got < 0)
        return folder_error(err, "read it");
    sha256_end(&hash, digest);
    sha256_hex(digest, out);
    return STATUS_OK;
}

/* Reads and maps a file that has just been opened. */
static Look look_at(Status opened, int file, int64_t size, const Error *failure, char *detail,
                    size_t room)
{
    Look look = {.state = FILE_GOOD};
    Error err = *failure;

    if (opened) {
        look.state = say(opened == STATUS_NOT_FOUND ? FILE_MISSING : FILE_DAMAGED, err.message,
                         detail, room);
        return look;
    }
    if (read_through(file, look.sha256, &err) || file_map(file, size, &look.bytes, &err))
        look.state = say(FILE_DAMAGED, err.message, detail, room);
    (void)close(file);
    return look;
}

static FileState compare(const Look *look, const char *sha256, int64_t size, char *detail,
                         size_t room)
{
    if ((int64_t)look->bytes.size != size) {
        (void)snprintf(detail, room, "it has %zu bytes, the store says %lld", look->bytes.size,
                       (long long)size);
        return FILE_DAMAGED;
    }
    if (strcmp(look->sha256, sha256) != 0) {
        (void)snprintf(detail, room, "its SHA-256 is %.16s..., the store says %.16s...",
                       look->sha256, sha256);
        return FILE_DAMAGED;
    }
    return FILE_GOOD;
}

FileState check_blob(Blobs *blobs, const char *sha256, int64_t size, char *detail, size_t room,
                     int64_t *bytes)
{
    Error err = {0};
    int file = -1;
    int64_t found = 0;
    Status opened = blob_open(blobs, sha256, &file, &found, &err);
    Look look = look_at(opened, file, found, &err, detail, room);

    if (look.state)
        return look.state;
    FileState state = compare(&look, sha256, size, detail, room);
    *bytes += (int64_t)look.bytes.size;
    file_unmap(look.bytes);
    return state;
}

static Look open_result(Blobs *blobs, const CheckedResult *result, const char *name, char *detail,
                        size_t room)
{
    Error err = {0};
    int file = -1;
    int64_t size = 0;
    Status opened = result_open(blobs, result->job, result->attempt, name, &file, &size, &err);

    return look_at(opened, file, size, &err, detail, room);
}

/* Every record holds, to the end record, and there are as many frames as the row says. */
static FileState check_complete(const Look *look, const CheckedResult *result, char *detail,
                                size_t room)
{
    Bytes bytes = look->bytes;
    FrameIndex index = {0};
    Arena arena;
    Error err = {0};

    if (compare(look, result->sha256, result->size, detail, room))
        return FILE_DAMAGED;
    if (arena_create(&arena, INDEX_ARENA, &err))
        return say(FILE_DAMAGED, err.message, detail, room);
    Status status = frames_index(bytes, &arena, &index, &err);
    arena_destroy(&arena);
    if (status)
        return say(FILE_DAMAGED, err.message, detail, room);
    if (index.size == bytes.size && index.has_end && index.end == FRAMES_COMPLETE &&
        index.frame_count == result->frames)
        return FILE_GOOD;
    (void)snprintf(detail, room, "%d whole frames in %zu good bytes of %zu, the store says %d",
                   index.frame_count, index.size, bytes.size, result->frames);
    return FILE_DAMAGED;
}

/* What readers of an unfinished bake are given: whole records up to the row's size. */
static FileState check_part(Bytes bytes, const CheckedResult *result, char *detail, size_t room)
{
    size_t size = (size_t)result->size;
    size_t good = frames_cut((Bytes){bytes.data, bytes.size < size ? bytes.size : size});

    if (good == size)
        return FILE_GOOD;
    (void)snprintf(detail, room, "%zu good bytes, the store says %zu", good, size);
    return FILE_DAMAGED;
}

FileState check_frames(Blobs *blobs, const CheckedResult *result, char *detail, size_t room,
                       int64_t *bytes)
{
    // a bake may have failed before its first byte
    if (!result->is_complete && result->size == 0)
        return FILE_GOOD;
    Look look = open_result(blobs, result, "frames", detail, room);
    if (look.state)
        return look.state;
    FileState state = result->is_complete ? check_complete(&look, result, detail, room)
                                          : check_part(look.bytes, result, detail, room);
    *bytes += (int64_t)look.bytes.size;
    file_unmap(look.bytes);
    return state;
}

FileState check_measures(Blobs *blobs, const CheckedResult *result, char *detail, size_t room)
{
    JsonDocument document = {0};
    Error err = {0};

    if (!result->is_complete)
        return FILE_GOOD;
    Look look = open_result(blobs, result, "measures.json", detail, room);
    if (look.state)
        return look.state;
    if (look.bytes.size <= MEASURES_MAX) {
        if (json_open(look.bytes, MEASURES_DEPTH, &document, &err))
            look.state = say(FILE_DAMAGED, err.message, detail, room);
        json_close(&document);
    }
    file_unmap(look.bytes);
    return look.state;
}

/* The JSON lies in the frame file, which is mapped while it is written. */
static Status write_from(Blobs *blobs, const CheckedResult *result, Bytes frames, Error *err)
{
    FrameIndex index = {0};
    Arena arena;

    if (arena_create(&arena, INDEX_ARENA, err))
        return err->status;
    if (!frames_index(frames, &arena, &index, err)) {
        if (index.measures.size == 0)
            error_set(err, STATUS_NOT_FOUND, "the frames have no measures");
        else if (result_write(blobs, result->job, result->attempt, "measures.json", index.measures,
                              err))
            error_context(err, "measures of job %s", result->job);
    }
    arena_destroy(&arena);
    return err->status;
}

Status restore_measures(Blobs *blobs, const CheckedResult *result, Error *err)
{
    char detail[192];
    Look look = open_result(blobs, result, "frames", detail, sizeof detail);

    if (look.state)
        return error_set(err, STATUS_IO, "%s", detail);
    write_from(blobs, result, look.bytes, err);
    file_unmap(look.bytes);
    return err->status;
}
