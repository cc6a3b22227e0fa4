/* Decoder: what the parts of the job decoder share. Internal to server/jobs/spec*.c. */
#pragma once

#include "server/jobs/fields.h"
#include "server/jobs/names.h"
#include "server/jobs/spec.h"

typedef struct Decoder {
    const JobContext *context;
    Arena *arena;
    Names node, mesh, spring, collider;
} Decoder;

/* A copy of a document's text in the arena; "" without room. */
const char *decoder_keep(const Decoder *decoder, const char *text);

/* "animation" and "time" of the job, in this order: the end of the motion is a default. */
void decode_motion(const Decoder *decoder, const JsonReader *root, MotionSpec *out,
                   const char **animation_id);
/* "retarget" of "animation", whose clip is decoded. */
void decode_retarget(const Decoder *decoder, const JsonReader *animation, MotionSpec *out);
/* The same into the canonical job; nothing where the job does not say it. */
void write_retarget(const MotionSpec *motion, const Rig *target, JsonWriter *writer);
void decode_time(const Decoder *decoder, const JsonReader *root, const MotionSpec *motion,
                 TimeSpec *out);

/* One item of "simulations" that is of type chains. */
void decode_chains(const Decoder *decoder, const JsonReader *item, int substeps_per_second,
                   SimulationSpec *out);

/* "notify": url and ends. */
void decode_notify(const Decoder *decoder, const JsonReader *root, JobSpec *out);

/* A list of names or indices: each thing once, in the order of the list; what is at fault is left
 * out. Returns how many. */
int decode_names(const Decoder *decoder, const Names *names, const JsonReader *list,
                 const int **out);

/* Fills canonical and key of a spec that is complete otherwise. */
Status job_spec_identify(const Rig *rig, Arena *arena, JobSpec *spec, Error *err);
