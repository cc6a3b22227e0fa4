/* Bundle: an uploaded .zip as a folder in memory: the model, and the files beside it.
 *
 * Only stored and deflated entries; their number, total size and ratio are limited before anything
 * is unpacked, and entries are unpacked one by one when asked for. Paths that lead outside are
 * refused. One thread; bundle_close gives the handle back. */
#pragma once

#include "sim/assets.h"

typedef struct Bundle Bundle;

/* Does the file start like a zip? */
bool bundle_matches(Bytes file);

/* Opens a zip and finds its one model (GLB or glTF by content); the bytes of the model are in
 * `arena`. `file` must outlive the bundle. */
NODISCARD Status bundle_open(Bytes file, const AssetLimits *limits, Arena *arena, Bundle **out,
                             Bytes *out_model, Error *err);
void bundle_close(Bundle *bundle);

/* The entry at a path relative to the model's folder, unpacked into `arena`; false where there is
 * none or it could not be unpacked, which `err` says. */
bool bundle_find(Bundle *bundle, const char *path, Arena *arena, Bytes *out, Error *err);
