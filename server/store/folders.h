/* Folders: what blob.c and its neighbours share about the data folder. Internal to store/.
 *
 * Folders are kept open, so every file is named relative to one of them. */
#pragma once

#include "server/store/blob.h"

#include <dirent.h>
#include <stdatomic.h>

struct Blobs {
    int root;
    int lock;    /* -1: reading only */
    int uploads; /* temporary files */
    int partial; /* ID and ID.about */
    int assets;  /* by SHA-256 */
    int jobs;    /* ID/aATTEMPT/ */
    int cache;
    atomic_uint serial; /* makes temporary names unique */
};

/* The sentence for errno ("could not WHAT: ..."), with the kind of failure that it is. */
Status folder_error(Error *err, const char *what);
/* The folder of an attempt, made and synced where it is missing; the caller closes it. -1 and `err`
 * on failure. */
int attempt_folder(Blobs *blobs, const char *job, int attempt, Error *err);

/* --- walking --- */

typedef enum WalkKind {
    WALK_TEMPORARY, /* files of uploads */
    WALK_UNPAIRED,  /* halves of unfinished uploads: data without a description, or the reverse */
    WALK_BLOB,      /* published files */
    WALK_ATTEMPT    /* folders of attempts */
} WalkKind;

/* One thing that lies in the data folder, whether a row knows it or not. */
typedef struct Walked {
    char name[80]; /* of the temporary file, SHA-256 of the blob, or id of the job */
    int attempt;   /* 0: the job's folder has none */
} Walked;

typedef struct Walk {
    WalkKind kind;
    int parent; /* borrowed */
    DIR *list;
    DIR *inner; /* of the job in `job` */
    char job[STORE_ID_SIZE];
    bool is_empty; /* no attempt of the job has been found yet */
} Walk;

/* Names that are not of the store's making are passed over. */
NODISCARD Status walk_open(const Blobs *blobs, WalkKind kind, Walk *out, Error *err);
bool walk_next(Walk *walk, Walked *out);
void walk_close(Walk *walk);
/* Is it still there? */
bool walk_finds(const Blobs *blobs, WalkKind kind, const Walked *walked);
/* Removes it. */
void walk_remove(Blobs *blobs, WalkKind kind, const Walked *walked);

/* --- copying --- */

typedef struct CopyCounts {
    int64_t files;
    int64_t bytes;
    int64_t linked; /* files that share their bytes with the original */
} CopyCounts;

/* The file under the same name in other folders: a link where both lie on one file system, a copy
 * else; synced. One that is there with this size stays. The first `size` bytes of it where it has
 * more (-1: all). NOT_FOUND when there is none. */
NODISCARD Status blob_copy(const Blobs *from, Blobs *to, const char *sha256, int64_t size,
                           CopyCounts *counts, Error *err);
NODISCARD Status result_copy(const Blobs *from, Blobs *to, const Walked *attempt, const char *name,
                             int64_t size, CopyCounts *counts, Error *err);
