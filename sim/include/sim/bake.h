/* Bake: the simulation of one job. Build it from a rig and a spec, advance it, take frames, read
 * what was measured.
 *
 *     bake_build(rig, &spec, &options, &arena, &model, err)      once, checks everything
 *     bake_start(model, &arena, &state, err)
 *     while (!bake_advance(model, state, &event, err) && event.kind != BAKE_DONE)
 *         if (event.kind == BAKE_FRAME) write(bake_frame(state))
 *     bake_measure(model, state, &arena, &measures, err)
 *
 * Pure functions of their arguments: no I/O, clock or globals. A model is immutable and may be
 * shared; a state belongs to one run on one thread at a time. All memory is the arena's, whose
 * capacity is the job's memory limit. The rig must outlive both. Same rig and spec, same bits:
 * whatever the SIMD level, compiler or thread count.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"
#include "sim/frames.h"
#include "sim/measures.h"
#include "sim/rig.h"

/* Grows with every change that renews a golden hash: part of every bake's key. */
enum { SIM_VERSION = 3 };

typedef enum SimdLevel { SIMD_SCALAR, SIMD_AVX2, SIMD_AVX512, SIMD_LEVEL_COUNT } SimdLevel;

/* "scalar", "avx2", "avx512". */
const char *simd_level_name(SimdLevel level);
/* The best this processor has. */
SimdLevel simd_level_best(void);
/* By name; the best available where name is NULL. INVALID for an unknown name or one that the
 * processor lacks. */
NODISCARD Status simd_level_choose(const char *name, SimdLevel *out, Error *err);

/* --- what is asked for: plain structs, every default filled in by the host's decoder --- */

typedef enum SimulationKind {
    SIMULATION_FACE,
    SIMULATION_FLESH,
    SIMULATION_CLOTH,
    SIMULATION_CHAINS,
    SIMULATION_STRANDS,
    SIMULATION_KIND_COUNT
} SimulationKind;

const char *simulation_kind_name(SimulationKind kind);

typedef enum ChainsMode { CHAINS_REST_FRAME, CHAINS_VRM } ChainsMode;
typedef enum ChainsRest { CHAINS_REST_ATTACHMENT, CHAINS_REST_PARENT } ChainsRest;
typedef enum ChainsContact {
    CHAINS_CONTACT_AUTO,
    CHAINS_CONTACT_NONE,
    CHAINS_CONTACT_ENDPOINT,
    CHAINS_CONTACT_SEGMENT,
    CHAINS_CONTACT_SWEPT
} ChainsContact;
typedef enum ChainsContactVelocity {
    CHAINS_VELOCITY_REBUILT,
    CHAINS_VELOCITY_NAIVE
} ChainsContactVelocity;
typedef enum ChainsLength { CHAINS_LENGTH_TRUE, CHAINS_LENGTH_PEER } ChainsLength;

/* Parameters of one chain. NaN (contact -1, center -2) says nothing: an override's then comes from
 * the simulation's, the simulation's from the file, and what the file lacks from the default. */
typedef struct ChainParameters {
    float stiffness;         /* 1/s^2, 0..14400 */
    float damping;           /* 1/s, 0..180 */
    float min_damping_ratio; /* 0..5 */
    float gravity;           /* m/s^2 along the file's direction (down where it has none) ... */
    Vec3 gravity_vector;     /* ... or as a vector, where gravity_is_vector */
    bool gravity_is_vector;
    float preload;           /* 0..1 */
    float radius;            /* metres */
    float angle_limit;       /* radians from the rest direction; NaN: none */
    float inertia_scale;     /* 0..1: how much of the centre's motion is felt */
    float teleport_distance; /* metres in a tick */
    int contact;             /* a ChainsContact, or -1 for the simulation's */
    int center;              /* node, -1 none, -2 the file's */
    bool is_disabled;
} ChainParameters;

typedef struct ChainOverride {
    int spring; /* index: of the rig's springs, then of `define` */
    ChainParameters parameters;
} ChainOverride;

/* A chain for a file without springs: every node from root down first children to end. */
typedef struct ChainDefine {
    const char *name;
    int root;
    int end;    /* -1: down to the leaf */
    int attach; /* node that carries the root, -1: root's parent */
} ChainDefine;

typedef enum ColliderSource { COLLIDERS_FILE, COLLIDERS_LIST, COLLIDERS_NONE } ColliderSource;

typedef struct ChainsSpec {
    ChainsMode mode;
    ChainsRest rest;
    ChainsContact contact;
    ChainsContactVelocity contact_velocity;
    ChainsLength vrm_length;
    bool is_two_way;
    bool has_self_contact;
    ChainParameters parameters; /* for all chains */
    int override_count;
    const ChainOverride *override;
    int define_count;
    const ChainDefine *define;
    int target_count; /* springs to simulate; -1: all */
    const int *target;
} ChainsSpec;

typedef struct SimulationSpec {
    SimulationKind kind;
    const char *name; /* label, may be NULL */
    bool is_enabled;
    int rate; /* steps a second: a divisor or multiple of the tick */
    ColliderSource colliders;
    int collider_count;
    const int *collider; /* for COLLIDERS_LIST: indices of the rig's colliders */
    bool is_fitted;      /* colliders are fitted to the visible body; the rig stays as it is */
    bool has_surface;    /* the skinned body is a further collider */
    ChainsSpec chains;
} SimulationSpec;

typedef enum MotionKind {
    MOTION_STILL,
    MOTION_CLIP,
    MOTION_HEAD_TURN,
    MOTION_TURN,
    MOTION_SWING,
    MOTION_JUMP,
    MOTION_DROP,
    MOTION_ARM_BEND,
    MOTION_BACK_FLIP,
    MOTION_KIND_COUNT
} MotionKind;

/* "still", "clip", "head_turn" ... and the natural length in seconds of a built-in one. */
const char *motion_kind_name(MotionKind kind);
MotionKind motion_kind_find(const char *name); /* MOTION_KIND_COUNT when unknown */
double motion_kind_duration(MotionKind kind);

typedef struct MotionSpec {
    MotionKind kind;
    const Rig *source; /* whose clip: the rig itself or another asset's */
    int clip;          /* index into source->clip */
    bool is_in_place;  /* the root's horizontal travel is taken out */
    /* nodes of the humanoid roles (ROLE_COUNT), -1 none; NULL: the rigs' own */
    const int *source_role, *target_role;
} MotionSpec;

typedef struct TimeSpec {
    double start, end; /* seconds of the clip, end >= start */
    int fps_numerator, fps_denominator;
    int substeps_per_second; /* the tick, 20..1200 */
    double warm_up;          /* seconds 0..10 */
    double settle;           /* seconds 0..60 */
    bool is_loop;
} TimeSpec;

typedef struct ForcesSpec {
    Vec3 gravity;       /* m/s^2 */
    Vec3 wind_velocity; /* m/s */
    float wind_gust;    /* 0..1 */
    uint64_t wind_seed;
} ForcesSpec;

typedef struct OutputSpec {
    bool channel[CHANNEL_KIND_COUNT];
    int precision;          /* 16 or 32 */
    bool has_hidden_meshes; /* reserved for pictures: hidden nodes below */
    int hidden_count;
    const int *hidden; /* mesh-bearing nodes */
} OutputSpec;

typedef struct BakeSpec {
    MotionSpec motion;
    TimeSpec time;
    ForcesSpec forces;
    OutputSpec output;
    int measure_rate; /* per simulated second, 30 */
    int simulation_count;
    const SimulationSpec *simulation; /* in the job's order */
    char model_sha256[65];
} BakeSpec;

/* A spec with every default of the contract, no simulations. */
BakeSpec bake_spec_default(void);
/* All chains, with the contract's defaults; stiffness, damping, gravity and radius the file's. */
ChainsSpec chains_spec_default(void);
/* Parameters that say nothing: what an override starts from. */
ChainParameters chain_parameters_default(void);
/* A kind's default rate at this tick (chains: 120, 60 in vrm mode). */
int simulation_default_rate(SimulationKind kind, int mode, int substeps_per_second);

typedef struct BakeOptions {
    SimdLevel simd; /* never changes a bit of the result */
} BakeOptions;

/* --- the bake --- */

typedef struct BakeModel BakeModel;
typedef struct BakeState BakeState;

typedef enum BakeEventKind { BAKE_STEPPED, BAKE_FRAME, BAKE_DONE } BakeEventKind;

typedef struct BakeEvent {
    BakeEventKind kind;
    double progress; /* 0..1 of all ticks, warm-up and settle included */
} BakeEvent;

/* Checks the spec against the rig and makes all tables. Faults name the simulation and the chain.
 */
NODISCARD Status bake_build(const Rig *rig, const BakeSpec *spec, const BakeOptions *options,
                            Arena *arena, const BakeModel **out, Error *err);
NODISCARD Status bake_start(const BakeModel *model, Arena *arena, BakeState **out, Error *err);

/* One sub-step at most: BAKE_STEPPED, or BAKE_FRAME when bake_frame has the next frame, or
 * BAKE_DONE. DIVERGED when a number is not finite, naming the simulation and the time. */
NODISCARD Status bake_advance(const BakeModel *model, BakeState *state, BakeEvent *out, Error *err);

/* The frame of the last BAKE_FRAME; its arrays live until the next bake_advance. */
const FrameData *bake_frame(const BakeState *state);

/* What the stream's header says, channels included; lives as long as the model. */
const FrameHeader *bake_header(const BakeModel *model);
const Warnings *bake_warnings(const BakeModel *model);
int64_t bake_tick_count(const BakeModel *model); /* warm-up and settle included */
/* What fields that are left to the file came to, as an item for each enabled simulation of the JSON
 * array that is open: {"simulation": index, "chains": {KEY: {"contact", "stiffness" 1/s^2,
 * "damping" 1/s, "gravity" m/s^2, "radius" m}}}, a value where all joints of the chain have it,
 * else an array of one a joint; in vrm mode {"stiffness", "drag", "gravity", "radius"}, the file's
 * own numbers. Where colliders are fitted there is also "fit": an array of {"collider": KEY,
 * "node", "kind", "added", "kept": null or why, "authored" and "fitted": {"offset", "tail",
 * "radius"} in the node's space, "vertices", "coverage": {"before", "after"}}. */
void bake_write_used(const BakeModel *model, JsonWriter *json);

/* What has been measured so far, in the arena; `is_partial` when the bake is not done. */
NODISCARD Status bake_measure(const BakeModel *model, const BakeState *state, Arena *arena,
                              Measures *out, Error *err);

/* A hash of every byte of state that stepping reads. */
uint64_t bake_hash(const BakeModel *model, const BakeState *state);
