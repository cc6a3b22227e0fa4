/* The bytes behind a glTF document: where its buffers are (BIN chunk, data URI, side file, bundle)
 * and what a buffer view shows of them, decompressed where it is EXT_meshopt_compression. */
#pragma once

#include "formats/gltf.h"

/* Fills gltf->buffer and gltf->view. A side file that is not there makes its buffer missing, with a
 * warning. */
void gltf_read_buffers(Gltf *gltf);
void gltf_read_views(Gltf *gltf);

/* Is the data behind this view missing? */
bool gltf_view_is_missing(const Gltf *gltf, int index);
/* All bytes of a view; empty after a failure. Compressed ones are decoded once. */
Bytes gltf_view_bytes(Gltf *gltf, int index);

/* A relative URI as a path: percent codes decoded, "./" dropped; NULL where it is no relative path
 * inside the main file's folder (another scheme, absolute, "..", backslash) or too long. */
const char *gltf_uri_path(Arena *arena, const char *uri);
