/* Check: does the store hold what it says, and nothing else? Reads every page, row and file; beside
 * a running server it takes no lock and holds no read transaction for long, and what is merely in
 * progress is no finding. Repair is for a store that no server has open. */
#pragma once

#include "server/store/store.h"

typedef enum FindingKind {
    FINDING_DATABASE,       /* pages or indexes are damaged */
    FINDING_REFERENCE,      /* a row refers to one that is not there */
    FINDING_BLOB_MISSING,   /* of an uploaded file */
    FINDING_BLOB_DAMAGED,   /* its size or SHA-256 is another */
    FINDING_FRAMES_MISSING, /* of a finished bake */
    FINDING_FRAMES_DAMAGED, /* size, SHA-256, or a record that does not hold */
    FINDING_FRAMES_SHORT,   /* of a bake that failed or was cancelled: fewer than the store says */
    FINDING_MEASURES,       /* measures.json of a finished bake is missing or no JSON */
    FINDING_RUNNING,        /* no server runs this job */
    FINDING_ORPHAN_BLOB,    /* a file without a row */
    FINDING_ORPHAN_ATTEMPT, /* a folder of frames without a row */
    FINDING_TEMPORARY,      /* a file of an upload that nobody continues */
    FINDING_KIND_COUNT
} FindingKind;

/* "blob.missing", as reports name it. */
const char *finding_name(FindingKind kind);
/* What repair does about it, in words. */
const char *finding_remedy(FindingKind kind);

typedef struct Finding {
    FindingKind kind;
    char subject[112]; /* whose: an id, "j_… attempt 2", or a file's name */
    char detail[192];
    bool is_repaired;
} Finding;

typedef struct CheckReport {
    bool has_server;               /* a server had the folder open */
    int64_t blobs, results, bytes; /* looked at */
    int count;                     /* findings; those beyond `capacity` are only counted */
    int left;                      /* of them not repaired */
    int capacity;
    Finding *finding; /* the caller's (capacity) */
} CheckReport;

/* Looks at everything in the folder. INVALID or IO where it cannot look at all. */
NODISCARD Status store_check(const char *folder, CheckReport *report, Error *err);
/* The same, and repairs what can be. CONFLICT while a server has the folder. What a row refers to
 * is never deleted. */
NODISCARD Status store_repair(const char *folder, CheckReport *report, Error *err);
