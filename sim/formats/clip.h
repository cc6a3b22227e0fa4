/* Animations of a glTF document. */
#pragma once

#include "formats/gltf.h"

/* Fills rig->clip; after meshes are linked to nodes. Channels of no use are left out with a
 * warning.
 */
void gltf_read_clips(Gltf *gltf, Rig *rig);
