/* Meshes, materials and skins of a glTF document. */
#pragma once

#include "formats/gltf.h"

/* Fill the rig's arrays; nodes come first, for they are linked to meshes and skins here. */
void gltf_read_materials(Gltf *gltf, Rig *rig);
void gltf_read_meshes(Gltf *gltf, Rig *rig);
void gltf_read_skins(Gltf *gltf, Rig *rig);
/* mesh, skin and rest weights of the nodes. */
void gltf_link_nodes(Gltf *gltf, Rig *rig);

/* JOINTS_n and WEIGHTS_n of a primitive, sorted and normalised (influence.c). */
void gltf_read_influences(Gltf *gltf, const JsonReader *attributes, const char *mesh,
                          RigPrimitive *primitive);
