/* Samples: built-in assets, made by code alone, so that everything can be tried without a file of
 * one's own. The same options give the same bytes on every machine, compiler and optimisation
 * level.
 *
 *     Error err = {0};
 *     ByteWriter file = byte_writer(SAMPLE_FILE_MAX, &err);
 *     const SampleInfo *sample = sample_find("avatar");
 *     if (sample_write(sample, &(SampleOptions){0}, &file, &err) == STATUS_OK)
 *         ... byte_writer_bytes(&file) is a GLB with VRM 1.0 extensions ...
 *     byte_writer_close(&file);
 *
 * Working memory is an arena of the call's own; nothing is kept. Any number of threads may call.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"

#include <stddef.h>

enum { SAMPLE_FILE_MAX = 64 << 20 }; /* bytes; no sample is larger */

/* "simple": a cap with fixed bangs, two side locks and a ponytail, on the body's skin. "layered":
 * 12 chains and about 12,000 vertices on a skin of its own that stands before the body's: seven
 * bangs that end in nodes of no skin, two long front locks over the shirt, two side locks and a
 * ponytail. */
typedef enum AvatarHair { AVATAR_HAIR_SIMPLE, AVATAR_HAIR_LAYERED, AVATAR_HAIR_COUNT } AvatarHair;

const char *avatar_hair_name(AvatarHair hair);
/* The style of that name, or AVATAR_HAIR_COUNT. */
AvatarHair avatar_hair_find(const char *name);

typedef struct AvatarOptions {
    AvatarHair hair;
} AvatarOptions;

/* What every sample may be told; a zeroed struct means the defaults. */
typedef struct SampleOptions {
    AvatarOptions avatar;
} SampleOptions;

typedef struct SampleInfo {
    const char *name;        /* as the command line takes it: "avatar" */
    const char *extension;   /* of a file of it, without the dot: "vrm" */
    const char *description; /* one line for the list of samples */
} SampleInfo;

/* All samples in order, and how many there are. */
const SampleInfo *sample_list(int *out_count);
/* The sample of that name, or NULL. */
const SampleInfo *sample_find(const char *name);

/* The sample's file behind what `out` holds already. Fails with STATUS_NO_MEMORY, or with
 * STATUS_LIMIT where `out` is full. */
NODISCARD Status sample_write(const SampleInfo *sample, const SampleOptions *options,
                              ByteWriter *out, Error *err);

/* The avatar: a rigged character 1.6 m tall in a T-pose, right-handed, Y up, facing +Z, feet on the
 * ground, in metres: a GLB with VRMC_vrm and VRMC_springBone, six clips (idle, walk, jump, crouch,
 * back_flip, dance), expressions, spring bones for hair and skirt, colliders. */
NODISCARD Status sample_write_avatar(const AvatarOptions *options, ByteWriter *out, Error *err);
