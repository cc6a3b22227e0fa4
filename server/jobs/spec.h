/* JobSpec: what a job asks for, decoded from its JSON (schema/job.schema.json) against the model.
 *
 * Two stages, for the assets must be found before their names can be resolved:
 *
 *     json_open(body, JOB_JSON_DEPTH, &document, err)                 400 where this fails
 *     job_assets_decode(&document, &faults, &assets)                  which model, which animation
 *     ... the host finds the rigs (an unknown one is a fault at "/model", job_fault_asset) ...
 *     job_spec_decode(&document, &context, arena, &faults, &spec, err)  everything
 *
 * Every fault is collected with its JSON pointer; a job with faults is refused whole (422, or exit
 * code 1). The spec holds every default filled in, names resolved to indices, and the canonical
 * job, and lives in the arena; nothing in it refers to the document, so that it may be closed. The
 * rigs of the context must outlive the spec. Pure functions: any thread, no I/O.
 */
#pragma once

#include "base/hash.h"
#include "base/json.h"
#include "sim/bake.h"

enum {
    JOB_JSON_DEPTH = 64,
    JOB_BODY_MAX = 1 << 20,
    JOB_NAME_MAX = 200, /* bytes of any name in a job */
    JOB_SIMULATIONS_MAX = 32,
    JOB_TAGS_MAX = 16,
    JOB_GATES_MAX = 64,
    JOB_LIST_MAX = 4096, /* items of targets, colliders, hidden, overrides, define */
    JOB_FAULTS_MAX = 64, /* that are written out; more are counted */
    ASSET_ID_SIZE = 35   /* "m_" or "a_", 32 hex digits, a zero */
};

/* The id of an uploaded file: `prefix` 'm' or 'a', first 32 hex digits of SHA-256 over its bytes
 * and its import options. `hash` has taken the bytes (sha256_add) and is spent. */
void asset_id_finish(char prefix, Sha256 *hash, double unit, bool is_z_up, char out[ASSET_ID_SIZE]);
/* The same of bytes in memory. */
void asset_id_of(char prefix, Bytes file, double unit, bool is_z_up, char out[ASSET_ID_SIZE]);

/* Which assets a job names; texts in the arena of `faults`, NULL where absent. */
typedef struct JobAssets {
    const char *model;
    const char *animation; /* an uploaded animation: "a_..." (or an alias, offline) */
} JobAssets;

void job_assets_decode(const JsonDocument *document, Faults *faults, JobAssets *out);

typedef struct JobLimits {
    int frames;    /* 100,000 */
    size_t memory; /* bytes a job may use: 2 GiB */
} JobLimits;

JobLimits job_limits_default(void);

/* An asset by the name the job calls it: its id (server), or an alias (--asset ALIAS=FILE). */
typedef struct JobAsset {
    const char *name;
    const char *id; /* "a_..." */
    const Rig *rig; /* its clips are what is asked for */
} JobAsset;

typedef struct JobContext {
    const Rig *rig;           /* the model */
    const char *model_id;     /* "m_..." */
    const char *model_sha256; /* of its bytes, hexadecimal; "" where unknown */
    bool is_offline;          /* "model" may be absent, or any text */
    int asset_count;
    const JobAsset *asset;
    JobLimits limits;
} JobContext;

typedef struct JobTag {
    const char *key;
    const char *value;
} JobTag;

typedef struct JobSpec {
    BakeSpec bake;
    const char *name;         /* label, "" where there is none */
    const char *model_id;     /* as in the context */
    const char *animation_id; /* of the uploaded animation, NULL where there is none */
    int gate_count;
    const Gate *gate;
    int priority; /* -10..10 */
    int tag_count;
    const JobTag *tag;
    bool use_cache;
    bool is_kept;
    const char *notify_url;    /* NULL where nobody is told */
    const char *notify_ends;   /* "done failed cancelled " */
    int frame_count;           /* that the bake will have */
    const char *canonical;     /* RFC 8785, defaults filled in, without tags, priority, cache, keep,
                                  notify, names */
    char key[SHA256_HEX_SIZE]; /* of the bake: SHA-256 of `canonical` and SIM_VERSION */
} JobSpec;

/* The spec; `faults` gets what is wrong with the job (then the answer is STATUS_INVALID with the
 * first of them in `err`, and `*out` is untouched). NO_MEMORY when the arena is full. */
NODISCARD Status job_spec_decode(const JsonDocument *document, const JobContext *context,
                                 Arena *arena, Faults *faults, JobSpec *out, Error *err);

/* Bytes of arena that decoding a job of this size against this rig may need. */
size_t job_spec_arena_size(size_t body_size, const Rig *rig);

/* A fault at `pointer` for an asset that is not there: "there is no model \"m_...\"". */
void job_fault_asset(Faults *faults, const char *pointer, const char *kind, const char *id);

/* Frames k = 0..floor((end - start) fps), both ends included (JOB.md section 3). */
int64_t job_frame_count(const TimeSpec *time);

/* A job for this model with every field and its default, one `//` comment a line, as `bake` and
 * `check` read it back (job_strip_comments). */
void job_write_template(const Rig *rig, const char *model, Text *out);

/* Blank out comments (two slashes to the end of the line) outside strings, keeping every line and
 * column. `size` bytes in place. */
void job_strip_comments(char *text, size_t size);
