/* Motion: the pose of the body at any moment of a bake, before anything simulates. It is a clip or
 * a motion made by a formula, with the time before it (warm-up, first cycle of a loop) and after it
 * (settling).
 *
 * Pure functions of the time, which counts seconds from frame 0: the warm-up is before 0, settling
 * behind the last frame. Immutable once built; lives in the arena it was built in; shared freely.
 */
#pragma once

#include "rig/pose.h"
#include "sim/bake.h"

typedef struct MotionDesc {
    const Rig *rig;
    const MotionSpec *spec;
    const TimeSpec *time;
    int attachment; /* of the first chain: what head_turn turns without a head; -1 none */
    Warnings *warnings;
} MotionDesc;

/* A node that a built-in motion turns about an axis of its parent's space. */
typedef struct MotionHinge {
    int node;
    Vec3 axis; /* unit */
} MotionHinge;

enum { MOTION_MAX_HINGES = 6 };

/* Legs of the back flip, metres. */
typedef struct MotionLegs {
    double thigh, shin;
} MotionLegs;

/* One channel of the clip and where it goes. From another character's rig, rotations become
 * before * q * after and translations rest + turned(before, p - source_rest) scale. */
typedef struct MotionTrack {
    const ClipChannel *channel;
    int node; /* of the rig */
    bool is_retargeted;
    Quat before, after;
    Vec3 source_rest;
    float scale;
} MotionTrack;

typedef struct Motion {
    const Rig *rig;
    MotionKind kind;
    double start;   /* seconds of the clip at frame 0 */
    double length;  /* seconds from frame 0 to the last pose */
    double warm_up; /* seconds of blending before the first pose */
    bool is_loop;
    int travel;       /* node whose horizontal travel is taken out, -1 none */
    DVec3 travel0;    /* its place at `start` */
    Vec3 left, pivot; /* of the character: unit; the point that a back flip turns about */
    MotionLegs legs;
    int hinge_count, track_count;
    MotionHinge hinge[MOTION_MAX_HINGES];
    const MotionTrack *track; /* (track_count) */
    const bool *is_moved;     /* nodes whose local transform changes   (node_count) */
    const bool *is_animated;  /* the same without what moves the whole scene by its roots */
    const bool *is_scaled;    /* nodes whose scale the clip animates   (node_count) */
    const bool *is_weighted;  /* nodes whose morph weights it animates (node_count) */
} Motion;

NODISCARD Status motion_build(const MotionDesc *desc, Arena *arena, Motion *out, Error *err);

/* Which pose is due at a moment: two moments that agree have the same pose. */
typedef struct MotionMoment {
    double clip_time; /* seconds of the clip */
    double weight;    /* 1: the clip's pose; 0: the bind pose; between: warming up */
} MotionMoment;

MotionMoment motion_moment(const Motion *motion, double time);

/* The pose at a moment: locals, morph weights and worlds. */
void motion_pose(const Motion *motion, MotionMoment moment, Pose *out);
