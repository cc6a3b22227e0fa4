/* EXT_meshopt_compression: one buffer view decompressed by libmeshoptimizer, sizes checked first.
 */
#pragma once

#include "formats/gltf.h"

/* The decoded bytes of a view whose mode is not NONE; empty after a failure. */
Bytes meshopt_decode(Gltf *gltf, const GltfView *view, Bytes packed);
