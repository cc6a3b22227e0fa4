/* Reduce: which keys of a track may go. */
#pragma once

#include "sim/rig.h"

typedef struct ReduceTrack {
    ClipPath path;
    int width;
    int count;          /* keys, one a frame */
    size_t stride;      /* floats from key to key */
    const float *value; /* the first key's */
} ReduceTrack;

/* Indices of the keys to keep into `out` (room for `count`), rising, the first and the last among
 * them; returns how many. Every other key is off what lies between its kept neighbours by at most
 * `limit`: LINEAR as glTF has it (3.11, appendix C), slerp along the shorter way for rotations.
 * Metres of a translation's length, radians of a rotation, numbers of scale and weights. */
int reduce_keys(const ReduceTrack *track, double limit, int *out);
