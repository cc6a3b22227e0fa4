/* Tracks: the joints of baked frames as samplers and channels of a glTF animation (glTF 2.0, 3.11).
 */
#pragma once

#include "base/text.h"
#include "sim/exports.h"

/* Where an animation goes in the file that is being extended. */
typedef struct TrackTarget {
    const Rig *rig;
    double unit;        /* metres a file unit */
    bool is_z_up;       /* the file's */
    double reduce;      /* ExportOptions.reduce */
    int view;           /* buffer view that will show all of `data` */
    int first_accessor; /* index of the first one added */
    int accessor_count; /* that were added */
    ByteWriter *data;   /* of the buffer view */
    Text *accessors;    /* items for "accessors" */
    Text *animation;    /* an item for "animations" */
} TrackTarget;

/* Adds the animation of all frames. A stream without joints, and a joint that the rig lacks, are
 * INVALID. `accessors` begins with an open bracket, which the caller leaves out; data and texts
 * fail into the same `err`. */
NODISCARD Status tracks_write(Bytes frames, const char *name, Arena *scratch, TrackTarget *target,
                              Error *err);
