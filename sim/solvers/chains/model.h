/* Chains, inside: what the files of this folder share.
 *
 * A chain is a row of segments; chains are packed 16 to a block (a lane each), sorted by level: a
 * chain that hangs on, or collides with something on, another chain's joint comes in a later level.
 * A block's segments are rows; a row holds one segment of every lane. Positions are float, relative
 * to the part's origin: where the first chain is attached, in double, re-based every step.
 */
#pragma once

#include "core/collide.h"
#include "core/fit.h"
#include "core/solver.h"
#include "core/surface.h"
#include "math/rows.h"

#include <stdalign.h>

enum {
    CHAINS_MAX_SEGMENTS = 65536, /* of all chains together; the limits of readers are below it */
    CHAINS_MAX_SLOTS = 1024,     /* colliders of one chain */
    CHAINS_FIT_ROWS = 3,         /* measures of a fitted collider */
};

/* A node whose place depends on a simulated joint. */
typedef struct ChainsLink {
    int chain;   /* -1: on no simulated joint, the pose knows it */
    int segment; /* its head is the joint */
    int path_count;
    const int *path; /* nodes from the joint's child down to the node (path_count) */
} ChainsLink;

typedef struct ChainsSegment {
    int head, tail;     /* nodes; tail -1 for a virtual one */
    Vec3 tail_offset;   /* in the head's space */
    Vec3 axis;          /* unit, head space; zero where the segment has no length */
    Quat link;          /* unposed rotation of the head in the head before (or the parent) */
    Quat skip;          /* of the head's parent in the head before (or the parent) */
    Quat rest_rotation; /* unposed rotation of the head in the attachment */
    Vec3 rest;          /* tail minus head at rest, attachment frame, scale 1 */
    float length;       /* scale 1 */
    float head_scale;   /* world scale of the head's space over that of the attachment, at rest */
    float stiffness;    /* rest_frame: 1/s^2; vrm: the file's number */
    float damping;      /* rest_frame: 1/s; vrm: drag */
    Vec3 gravity;       /* m/s^2; vrm: power times direction */
    float radius;       /* scale 1 */
} ChainsSegment;

typedef struct Chain {
    const char *key;
    int spring; /* index among the rig's springs and then `define` */
    int parent; /* node of the root's parent, -1 the scene */
    int attach; /* node whose frame carries the rest arc, -1 the scene */
    int center; /* node or -1 */
    ChainsLink parent_link, attach_link, center_link;
    Vec3 root_offset; /* the root in its parent's space */
    int block, lane, level;
    int segment_count;
    ChainsSegment *segment; /* (segment_count) */
    int collider_count;
    const int *collider;   /* rig's colliders in list order (collider_count) */
    ChainsContact contact; /* never AUTO after build */
    bool is_auto;          /* contact was chosen by rule: head colliders meet tails only */
    float preload;
    float angle_limit; /* radians, NaN none */
    float inertia_scale;
    float teleport_distance;
    const int *probe; /* first of each segment's probes, all of them at the end (segment_count + 1);
                         NULL: the chain does not meet the surface */
    float length;     /* of all segments, scale 1 */
    float bend0, chord0; /* at rest: sum of joint angles, root to tip */
} Chain;

/* What moves a probe: a segment of its chain, or a node that no chain moves. */
typedef struct ChainsPull {
    int segment; /* -1: the node */
    int node;
    float weight;
    Vec3 local; /* the probe in the space of the segment's head or the node, at rest */
} ChainsPull;

/* A place of a chain that is kept off the surface: a vertex of its hair, skinned as it is drawn, or
 * a place on a segment with the segment's radius. */
typedef struct ChainsProbe {
    int segment;      /* that is turned where the probe is too deep */
    int first, count; /* of the model's pulls */
    float radius;     /* scale 1 */
    float depth0;     /* that it may lie inside: as authored, scale 1 */
} ChainsProbe;

/* One segment of 16 chains, rest_frame. */
typedef struct RestRow {
    alignas(64) VecRow rest; /* attachment frame, scale 1 */
    VecRow push;             /* h (g - c-th part of preload), see build: m/s, scale 1 */
    float pull[16];          /* h k */
    float keep[16];          /* exp(-c h) */
    float length[16];        /* scale 1 */
    float radius[16];        /* scale 1 */
    float limit_cos[16];     /* -2: none */
    float limit_sin[16];
    QuatRow link; /* with rest parent only */
    VecRow axis;
} RestRow;

/* One segment of 16 chains, vrm. */
typedef struct VrmRow {
    alignas(64) QuatRow link;
    VecRow axis;
    VecRow gravity;      /* dt power dir: metres, scale 1 */
    float stiffness[16]; /* dt stiffness: metres, scale 1 */
    float keep[16];      /* 1 - drag */
    float length[16];
    float radius[16];
    float has_node[16]; /* 1: the tail is a node; 0: virtual, or no length */
} VrmRow;

/* What moves. rest_frame: tails and their velocities (m/s). vrm: tails and the tails before. */
typedef struct TailRow {
    alignas(64) VecRow point;
    VecRow other;
} TailRow;

/* A collider some lanes of a block meet, in the order of their lists. */
typedef struct ChainsSlot {
    int collider;   /* index of ChainsModel.collider */
    uint32_t lanes; /* a bit each */
} ChainsSlot;

typedef struct ChainsBlock {
    int first_row, row_count;
    int lane_count;
    int level;
    int chain[16];
    int slot_count;
    const ChainsSlot *slot; /* (slot_count) */
    size_t first_side;      /* of ChainsState.side, row_count slot_count 16 of them */
    bool has_limit;
    bool has_link; /* some lane's attachment depends on a simulated joint */
} ChainsBlock;

/* A collider of the rig. */
typedef struct ChainsCollider {
    int index; /* of the rig's */
    ChainsLink link;
    bool is_on_head; /* on the humanoid head or below it */
} ChainsCollider;

typedef struct ChainsModel {
    const Rig *rig; /* with fitted colliders, where the job asks for them */
    const Fit *fit; /* NULL: colliders are as authored */
    const SimulationSpec *spec;
    ChainsMode mode;
    ChainsRest rest;
    bool is_naive, is_two_way, is_peer;
    float h; /* seconds a step */
    SimdLevel simd;
    int simulation;
    int chain_count, block_count, row_count, level_count, collider_count;
    int segment_count;
    size_t side_count;
    float *overlap;      /* how deep a segment lies in a collider at rest, scale 1 (side_count) */
    float *tail_overlap; /* the same of its tail alone                              (side_count) */
    Chain *chain;
    ChainsBlock *block;
    RestRow *rest_row; /* (row_count) or NULL */
    VrmRow *vrm_row;   /* (row_count) or NULL */
    ChainsCollider *collider;
    const Surface *surface; /* NULL: not asked for */
    int probe_count;
    const ChainsProbe *probe; /* chain by chain, segment by segment (probe_count) */
    const ChainsPull *pull;
    bool *is_driven;
    const char **chain_key;
    PartSegment *segment;
} ChainsModel;

/* How what is kept from the last step is taken over: x' = M x + t for points, v' = M v for
 * velocities. */
typedef struct CarryRow {
    alignas(64) VecRow x, y, z; /* columns of M */
    VecRow shift;               /* t */
} CarryRow;

/* Where 16 chains hang. */
typedef struct FrameRow {
    alignas(64) VecRow origin;
    QuatRow rotation;
    float scale[16];
} FrameRow;

/* Where a chain hangs at the end of a step. */
typedef struct ChainFrame {
    Vec3 origin;  /* the root's place, relative */
    Quat attach;  /* world rotation of the attachment */
    Quat parent;  /* of the root's parent */
    World center; /* only with a center; its origin is absolute */
    float scale;  /* of the parent */
} ChainFrame;

typedef struct ChainsTotals {
    double bend_peak, bend_settled, chord_peak; /* rad, rad, fraction */
    float depth;                                /* metres */
    float surface_depth;                        /* of a probe beyond rest, metres */
    long contacts;                              /* segments met by a collider, over all steps */
    bool has_settled;
} ChainsTotals;

typedef struct ChainsState {
    DVec3 origin;         /* of `now` */
    int now;              /* which of the two below the last step wrote */
    TailRow *tail[2];     /* (row_count) each */
    ChainFrame *frame[2]; /* (chain_count) each, relative to the origin of their own step */
    VecRow *node[2];      /* peer lengths: tail nodes (row_count) or NULL */
    Shape *shape[2];      /* (collider_count): before, now; relative to `origin` */
    Vec3 *side;           /* the way out of each contact, zero where free (side_count) */
    bool *has_side;       /* (chain_count) */
    uint64_t steps;
    ChainsTotals *total;       /* (chain_count) */
    FrameRow *frame_row;       /* scratch: where the lanes of one block hang */
    CarryRow *carry_row;       /* scratch: how they are carried */
    float *travel;             /* scratch: how far each collider moves (collider_count) */
    struct ChainsJoint *joint; /* scratch of a step with contact (longest chain) */
    SurfaceState surface;      /* with a surface: at the end of the last step */
    struct ChainsBone *bone;   /* scratch of a step with a surface (longest chain) */
    struct ChainsLook *look;   /* scratch of the same (probe_count) */
} ChainsState;

/* build.c and its parts */
Status chains_select(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);
ChainParameters chains_parameters(const ChainsSpec *spec, int spring);
void chains_resolve_parameters(const PartDesc *desc, const ChainsModel *model, Chain *chain,
                               const RigSpring *spring);
void chains_write_used(const void *model, JsonWriter *json);
void chains_write_fit(const void *model, JsonWriter *json);
Status chains_resolve_contact(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);
Status chains_link(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);
Status chains_pack(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);
/* Where contact begins: beyond the authored shape. After packing. */
Status chains_find_overlaps(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);

/* The surface and what is kept off it, where the job asks for it. After packing. */
Status chains_find_probes(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err);

/* frame.c: places in the scene */
World chains_node_world(const ChainsModel *model, const ChainsState *state, const Pose *pose,
                        const ChainsLink *link, int node);
ChainFrame chains_frame(const ChainsModel *model, const ChainsState *state, const Pose *pose,
                        const Chain *chain);
/* World rotation of the segment's head in the step `which` of the two kept. */
Quat chains_rotation(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                     int segment, int which);
/* The segment's rotation when its bone lies from head to tail: the smallest one on top of
 * `unposed`. */
Quat chains_turn(const ChainsSegment *segment, Quat unposed, Vec3 head, Vec3 tail);
Vec3 chains_tail(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                 int segment, int which);

struct BlockStep;
struct ChainsJoint *chains_allocate_joints(Arena *arena, int count);
static inline size_t chains_side_index(const ChainsBlock *block, int row, int slot, int lane)
{
    return block->first_side +
           ((size_t)row * (size_t)block->slot_count + (size_t)slot) * ROW_LANES + (size_t)lane;
}
/* The step of one chain again, this time with contact: the frames are relative to the new origin;
 * the step's results are replaced. */
void chains_step_contact(const ChainsModel *model, ChainsState *state, const Chain *chain,
                         const struct BlockStep *step);

/* keep_off.c: turn a chain's segments until its probes are out of the surface. */
typedef struct ChainsBone {
    Vec3 head, tail; /* relative to the origin */
    float length;
    Quat rotation; /* of the head, world */
} ChainsBone;
/* `state->bone` has heads, tails and lengths of the last step, from the new origin. */
void chains_keep_begin(const ChainsModel *model, ChainsState *state, const Chain *chain,
                       const Pose *pose);
/* The segment's tail, which is at `tail` after everything else, out of the surface. */
Vec3 chains_keep_segment(const ChainsModel *model, ChainsState *state, const Chain *chain,
                         const Pose *pose, int segment, Vec3 tail);
/* All of the chain, whose tails are then in `state->bone`. */
void chains_keep_all(const ChainsModel *model, ChainsState *state, const Chain *chain,
                     const Pose *pose);
Status chains_start_surface(const ChainsModel *model, int longest, Arena *arena, ChainsState *state,
                            Error *err);

void chains_pose(const void *model_, const void *state_, float t, Pose *pose);
void chains_sample(const void *model_, void *state_, const Pose *pose, bool is_settling);
void chains_measure(const void *model_, const void *state_, MeasureSink *out);
