/* Blobs: the files under the data folder. With store.h the only door to persistence; nothing above
 * knows a path.
 *
 *     uploads   a temporary file that is hashed while it grows, then published under its SHA-256
 *     partial   uploads that come in pieces, with what was said of them; until they are adopted
 *     results   what one attempt of a job has written: frames, measures
 *     cache     answers that are made from a bake (exports, sheets), by name; may vanish
 *
 * What is published has been synced, file and folder, before the call returns. Functions may be
 * called from any thread; an Upload belongs to one request. Errors: NOT_FOUND; FULL when the disk
 * is; IO else. Descriptors that come back belong to the caller.
 */
#pragma once

#include "base/bytes.h"
#include "base/hash.h"
#include "server/store/ids.h"

#include <stdbool.h>

typedef struct Blobs Blobs;

/* Makes the folders, takes the lock that keeps a second server out (CONFLICT), removes temporary
 * files of a run that died. */
NODISCARD Status blobs_open(const char *folder, Blobs **out, Error *err);
typedef enum BlobsMode {
    BLOBS_SERVE,  /* blobs_open */
    BLOBS_REPAIR, /* a folder that is there, with the lock; temporary files stay */
    BLOBS_READ    /* without the lock, beside a server that may run; changes nothing */
} BlobsMode;
NODISCARD Status blobs_open_as(const char *folder, BlobsMode mode, Blobs **out, Error *err);
void blobs_close(Blobs *blobs);
/* Does somebody hold the lock of the folder? (For BLOBS_READ.) */
bool blobs_are_locked(const Blobs *blobs);

/* Bytes that can still be written; -1 where the system does not say. */
int64_t blobs_free_space(const Blobs *blobs);

typedef struct Upload {
    int file; /* -1 when there is none */
    int64_t size;
    Sha256 hash;
    char sha256[SHA256_HEX_SIZE]; /* after upload_finish */
    char name[80];                /* of the temporary file; "" for a piece of a partial */
    int64_t base;                 /* bytes that were there before this piece */
    bool is_provisional;          /* closing takes the piece back */
    bool wants_sha1;
    Sha1 sha1; /* of the piece, where wanted */
} Upload;

NODISCARD Status upload_begin(Blobs *blobs, Upload *out, Error *err);
NODISCARD Status upload_add(Upload *upload, Bytes bytes, Error *err);
/* Synced and hashed; `hash` stays usable for what is to be added to it. */
NODISCARD Status upload_finish(Upload *upload, Error *err);
/* Removes the temporary file if it was not published. Accepts one that was never begun
 * (file == -1). */
void upload_close(Blobs *blobs, Upload *upload);

/* An upload that comes in pieces. */
enum { PARTIAL_OWNER_SIZE = 72, PARTIAL_NOTE_SIZE = 1025 };
typedef struct Partial {
    int64_t size;                   /* bytes it will have */
    int64_t offset;                 /* bytes there */
    int64_t touched;                /* ms: when it was last added to */
    char owner[PARTIAL_OWNER_SIZE]; /* name of a token */
    char note[PARTIAL_NOTE_SIZE];   /* what the client said of it; one line */
} Partial;

/* Durable when this returns. LIMIT when there are `max_count` already. */
NODISCARD Status partial_create(Blobs *blobs, const char *id, const Partial *partial, int max_count,
                                Error *err);
NODISCARD Status partial_find(Blobs *blobs, const char *id, Partial *out, Error *err);
/* The next piece, from `offset` on: CONFLICT when that is not the end of what is there, or another
 * piece comes in now. upload_add adds, file_sync makes it durable, upload_close ends. */
NODISCARD Status partial_resume(Blobs *blobs, const char *id, int64_t offset, Upload *out,
                                Error *err);
/* All of it as an upload, hashed; CONFLICT when it is not whole. The partial stays until
 * partial_remove. */
NODISCARD Status partial_adopt(Blobs *blobs, const char *id, Upload *out, Error *err);
void partial_remove(Blobs *blobs, const char *id);

/* The upload under its SHA-256, in place of what was there (the same bytes). */
NODISCARD Status blob_publish(Blobs *blobs, Upload *upload, Error *err);
NODISCARD Status blob_open(Blobs *blobs, const char *sha256, int *out_file, int64_t *out_size,
                           Error *err);
void blob_remove(Blobs *blobs, const char *sha256);
/* Renames a damaged file to SHA256.broken, so that nothing is made from it. */
void blob_set_aside(Blobs *blobs, const char *sha256);

/* A file of one attempt: "frames", "measures.json". Creating makes it empty. */
NODISCARD Status result_create(Blobs *blobs, const char *job, int attempt, const char *name,
                               int *out_file, Error *err);
NODISCARD Status result_open(Blobs *blobs, const char *job, int attempt, const char *name,
                             int *out_file, int64_t *out_size, Error *err);
/* A whole small file, written and synced at once, never seen half. */
NODISCARD Status result_write(Blobs *blobs, const char *job, int attempt, const char *name,
                              Bytes bytes, Error *err);
/* Cut a file back to `size` bytes, synced. */
NODISCARD Status result_cut(Blobs *blobs, const char *job, int attempt, const char *name,
                            int64_t size, Error *err);
void result_remove(Blobs *blobs, const char *job, int attempt);

/* Opening marks the file as read. `name` holds hexadecimal digits, letters, '.', '-' and '_' only.
 */
NODISCARD Status cache_open(Blobs *blobs, const char *name, int *out_file, int64_t *out_size,
                            Error *err);
NODISCARD Status cache_write(Blobs *blobs, const char *name, Bytes bytes, Error *err);

/* Unfinished uploads last added to, and cached files last read, before then (ms) are removed. */
void blobs_prune(Blobs *blobs, int64_t uploads_before, int64_t cache_before);

/* A file's bytes, read-only, until file_unmap. The file may be closed at once. */
NODISCARD Status file_map(int file, int64_t size, Bytes *out, Error *err);
void file_unmap(Bytes bytes);
/* All of `bytes` at `offset`. */
NODISCARD Status file_write(int file, int64_t offset, Bytes bytes, Error *err);
NODISCARD Status file_sync(int file, Error *err);
