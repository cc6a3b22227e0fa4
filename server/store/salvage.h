/* Salvage: what is left of the files of an attempt after a crash, and what lies in the data folder
 * without a row. For a store that no server is running on yet. */
#pragma once

#include "server/store/store.h"

/* What a frame file holds. */
typedef struct FrameRemains {
    int64_t size; /* of its whole records */
    int frames;   /* whole frames among them */
} FrameRemains;

/* What holds, from the start of the attempt's frame file; nothing (and no failure) when there is no
 * file or no header in it. */
void salvage_measure(Blobs *blobs, const char *job, int attempt, FrameRemains *out);

/* Cuts the frame file of an interrupted attempt back to its last good record, and notes in the
 * store what there is. A file that is not there has nothing. */
NODISCARD Status salvage_attempt(Store *store, Blobs *blobs, const char *job, int attempt,
                                 FrameRemains *out, Error *err);

/* Removes published files and folders of attempts that no row knows: what a crash leaves between a
 * change of the files and the commit, or between the commit and the change of the files. */
NODISCARD Status salvage_orphans(Store *store, Blobs *blobs, int *out_count, Error *err);

/* Puts a job that no server runs back into the queue; it does not count as a crash. */
NODISCARD Status salvage_run(Store *store, Blobs *blobs, const char *job, int attempt, Error *err);
