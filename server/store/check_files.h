/* Rows and single files for check.c and backup.c. Internal to store/. */
#pragma once

#include "server/store/check.h"

/* A row of results as the check reads it. */
typedef struct CheckedResult {
    int64_t id;
    char job[STORE_ID_SIZE];
    int attempt;
    bool is_complete;
    bool is_running;
    int frames;
    int64_t size;
    char sha256[SHA256_HEX_SIZE];
} CheckedResult;

/* The published bytes of one or more assets. */
typedef struct CheckedBlob {
    char sha256[SHA256_HEX_SIZE];
    int64_t size;
    char id[STORE_ID_SIZE + 48]; /* of an asset that has it */
} CheckedBlob;

/* The next rows, in the order of SHA-256 and of id; their number, 0 at the end and on failure. */
int check_read_blobs(Store *store, const char *after, CheckedBlob *out, int limit, Error *err);
int check_read_results(Store *store, int64_t after, CheckedResult *out, int limit, Error *err);

typedef enum FileState { FILE_GOOD, FILE_MISSING, FILE_DAMAGED } FileState;

/* Size and SHA-256 of a published file; what is wrong goes into `detail`. Bytes are counted. */
FileState check_blob(Blobs *blobs, const char *sha256, int64_t size, char *detail, size_t room,
                     int64_t *bytes);

/* A complete result's frames: size, SHA-256, every record, and as many frames as the row says; an
 * incomplete one's: at least as many whole records as the row says. */
FileState check_frames(Blobs *blobs, const CheckedResult *result, char *detail, size_t room,
                       int64_t *bytes);
/* Its measures.json is there and is JSON. */
FileState check_measures(Blobs *blobs, const CheckedResult *result, char *detail, size_t room);

/* Writes measures.json anew from the record in the frame file. */
NODISCARD Status restore_measures(Blobs *blobs, const CheckedResult *result, Error *err);
