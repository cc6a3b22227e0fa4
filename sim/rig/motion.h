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

/* One channel of the clip and the node of the rig that it sets. */
typedef struct MotionTrack {
    const ClipChannel *channel;
    int node;
} MotionTrack;

/* A bone that follows another character's: its local rotation is before * links * after. */
typedef struct MotionLink {
    const ClipChannel *rotation; /* NULL: `rest` */
    Quat rest;
    bool is_inverse;
} MotionLink;

typedef struct MotionBone {
    int node;
    Quat before, after;
    int link_count;
    const MotionLink *link; /* (link_count) */
} MotionBone;

/* A node on the way from the scene to another character's hips. */
typedef struct MotionStep {
    const ClipChannel *channel[3]; /* by ClipPath, NULL: at rest */
    Transform rest;
} MotionStep;

/* The way from the scene to a node of another character. */
typedef struct MotionPath {
    int step_count;
    const MotionStep *step; /* (step_count) */
} MotionPath;

/* A leg's foot seen from the hips, so that one that stands on the ground stays where it stands:
 * `offset`, turned as the foot is about the vertical, is what hips of another width add. */
typedef struct MotionFoot {
    int hips; /* -1: no leg */
    MotionPath source_hips;
    float scale; /* as the hips move */
    Vec3 offset;
    Quat rest;      /* inverse of the source's foot at rest, scene */
    Quat hips_rest; /* inverse of the model's hips at rest, scene */
    float length;   /* of the leg at rest, metres */
} MotionFoot;

/* A limb whose end is put where another character's is, seen from the limb's root and scaled: two
 * bones of another proportion would end elsewhere by their rotations alone. */
typedef struct MotionLimb {
    int root, middle, end;
    MotionPath source_root, source_end;
    Quat face;
    float scale;
    Vec3 pole; /* unit: the axis of the joint, world at rest, where the limb is straight */
    MotionFoot foot;
} MotionLimb;

/* The hips that follow another character's: rest + (to_x, to_y, to_z) . (where those are - rest).
 */
typedef struct MotionHips {
    int node; /* -1: they stay */
    MotionPath source;
    DVec3 rest;
    Vec3 to_x, to_y, to_z;
} MotionHips;

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
    int hinge_count, track_count, bone_count, limb_count;
    MotionHinge hinge[MOTION_MAX_HINGES];
    const MotionTrack *track; /* (track_count) */
    const MotionBone *bone;   /* (bone_count) */
    MotionHips hips;
    const MotionLimb *limb; /* (limb_count) */
    int constraint_count;
    const int *constraint;   /* of the rig, in the order of evaluation (constraint_count) */
    const bool *is_moved;    /* nodes whose local transform changes   (node_count) */
    const bool *is_animated; /* the same without what moves the whole scene by its roots */
    const bool *is_scaled;   /* nodes whose scale the clip animates   (node_count) */
    const bool *is_weighted; /* nodes whose morph weights it animates (node_count) */
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
