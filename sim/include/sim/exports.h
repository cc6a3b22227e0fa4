/* Exports: a baked model as a file for other programs.
 *
 * Pure functions from bytes to bytes; working memory is the scratch arena's (export_arena_size).
 * Everything is written from the stored frames; numbers in text are the shortest that read back
 * equal. In a looped bake the last frame is the first. One thread at a time.
 *
 * GLB, VRM   The model with the baked joints as an animation, which comes first, so that importers
 *            that play one play it; the file's own follow. Everything else stays: the JSON is the
 *            file's, text for text, but for what is added; buffer views keep their bytes; VRM's and
 *            other extensions and extras are untouched. Translation, rotation and scale get a key
 *            at every frame (or fewer, ExportOptions.reduce), LINEAR, in the file's own unit and
 *            axes; one key where a track never changes, and none where it never leaves the file's
 *            rest or nothing shows it (skinned meshes, whose node's transform glTF ignores).
 *            Buffers of side files and data URIs come into the GLB, images of side files too. VRM
 *            is the same of a model that is one.
 * USDA       Every mesh with its points, time-sampled, in the scene's space; the nodes as a UsdSkel
 *            skeleton with an animation of the joints where the bake has them. Metres, Y up.
 * PC2, MDD   The points of one mesh-bearing node (ExportOptions.target), those of its primitives
 *            one after the other, in the scene's space. Metres, Y up.
 * CSV        A row a frame and joint: local translation, rotation, scale.
 */
#pragma once

#include "sim/assets.h"
#include "sim/frames.h"

typedef enum ExportFormat {
    EXPORT_GLB,
    EXPORT_VRM,
    EXPORT_USDA,
    EXPORT_PC2,
    EXPORT_MDD,
    EXPORT_CSV,
    EXPORT_FORMAT_COUNT
} ExportFormat;

/* "glb", "vrm" ...: the word and the extension. EXPORT_FORMAT_COUNT for an unknown name. */
const char *export_format_name(ExportFormat format);
ExportFormat export_format_find(const char *name);
const char *export_media_type(ExportFormat format);
/* Is it made of the channel positions? Else of joints. */
bool export_needs_positions(ExportFormat format);
bool export_takes_reduce(ExportFormat format);
bool export_takes_target(ExportFormat format);

/* A model's file with what was made of it. */
typedef struct ExportSource {
    Bytes file;                  /* as uploaded: GLB, glTF, VRM, or a bundle of one */
    const AssetOptions *options; /* as it was read with: side files, unit, axis */
    const Rig *rig;              /* what asset_read gave for it */
} ExportSource;

#define EXPORT_REDUCE_MAX 0.1

typedef struct ExportOptions {
    const char *name; /* of the animation */
    /* GLB, VRM: keys may be left out where what lies between those that stay is off by no more:
     * metres of a node's place in its parent, radians of its rotation, 1 of scale and morph
     * weights. 0 keeps a key at every frame. The animation's extras say how many stayed. */
    double reduce;
    const char *target; /* PC2, MDD: key of a mesh-bearing node; NULL where there is only one */
} ExportOptions;

/* Before a bake: will one of this rig, with these channels (CHANNEL_KIND_COUNT), give the format?
 * INVALID with what the job must ask for, or with the meshes that a target can name. */
NODISCARD Status export_check(ExportFormat format, const Rig *rig, const bool *channel,
                              const ExportOptions *options, Error *err);

/* The file behind what `out` holds. INVALID where the bake or the model does not allow the format
 * (the message says what the job must ask for), where the target is no mesh or must be named, and
 * where the frames are not the model's. */
NODISCARD Status export_write(ExportFormat format, const ExportSource *source, Bytes frames,
                              const ExportOptions *options, Arena *scratch, ByteWriter *out,
                              Error *err);
/* Arena bytes that an export may need. */
size_t export_arena_size(const ExportSource *source, Bytes frames);
