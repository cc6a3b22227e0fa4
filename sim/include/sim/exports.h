/* Exports: a baked model as a file of the format that it came in.
 *
 * Pure functions from bytes to bytes; working memory is the scratch arena's (about the size of the
 * model's file twice over, plus the frames of one export). One thread at a time.
 */
#pragma once

#include "sim/assets.h"
#include "sim/frames.h"

/* A model's file with what was made of it. */
typedef struct ExportSource {
    Bytes file;                  /* as uploaded: GLB, glTF, VRM, or a bundle of one */
    const AssetOptions *options; /* as it was read with: side files, unit, axis */
    const Rig *rig;              /* what asset_read gave for it */
} ExportSource;

/* The model as a GLB with the baked joints as an animation called `name`, which comes first, so
 * that importers that play one play it; the file's own follow. Everything else stays: the JSON is
 * the file's, text for text, but for what is added; buffer views keep their bytes; VRM's and other
 * extensions and extras are untouched. Translation, rotation and scale get a key at every frame,
 * LINEAR, in the file's own unit and axes; one key where a track never changes, and none where it
 * never leaves the file's rest. In a looped bake the last key is the first. Buffers of side files
 * and data URIs come into the GLB, images of side files too.
 *
 * INVALID where the frames have no joints or name a joint that the model lacks. `out` gets the file
 * behind what it holds. */
NODISCARD Status export_glb(const ExportSource *source, Bytes frames, const char *name,
                            Arena *scratch, ByteWriter *out, Error *err);
