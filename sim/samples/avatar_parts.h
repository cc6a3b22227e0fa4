/* The avatar's surfaces: one SampleMesh a material, made at rest in the scene's space.
 *
 * Everything is made from shapes (samples/shape.h), tubes and sheets; every part is a closed
 * surface of its own, except the sheets of the face, which lie on the head a fraction of a
 * millimetre off. */
#pragma once

#include "samples/avatar_rig.h"
#include "samples/mesh.h"
#include "samples/shape.h"

typedef enum AvatarMaterial {
    MATERIAL_SKIN,
    MATERIAL_EYE_WHITE,
    MATERIAL_IRIS,
    MATERIAL_PUPIL,
    MATERIAL_GLINT,
    MATERIAL_LASH,
    MATERIAL_BROW,
    MATERIAL_MOUTH,
    MATERIAL_BLUSH,
    MATERIAL_SHIRT,
    MATERIAL_TRIM,
    MATERIAL_SKIRT,
    MATERIAL_SHORTS,
    MATERIAL_SOCKS,
    MATERIAL_SHOES,
    MATERIAL_SOLES,
    MATERIAL_HAIR,
    MATERIAL_HAIR_BAND,
    MATERIAL_COUNT
} AvatarMaterial;

/* Expressions of the face: morph targets of its materials. */
typedef enum AvatarMorph {
    MORPH_BLINK_LEFT,
    MORPH_BLINK_RIGHT,
    MORPH_HAPPY,
    MORPH_AA,
    MORPH_COUNT
} AvatarMorph;

typedef struct AvatarParts {
    SampleMesh mesh[MATERIAL_COUNT];
    Vec3 *morph[MATERIAL_COUNT][MORPH_COUNT]; /* offsets; of the face only (vertex_count) */
} AvatarParts;

/* The head's shape, on which face and hair are laid. */
extern const Shape avatar_head;

/* All parts; check the arena's `overflowed` afterwards. */
void avatar_build_parts(const AvatarRig *rig, Arena *arena, AvatarParts *out);

/* Its pieces, one a file. */
void avatar_add_body(const AvatarRig *rig, Arena *arena, AvatarParts *parts);
void avatar_add_clothes(const AvatarRig *rig, AvatarParts *parts);
void avatar_add_face(const AvatarRig *rig, Arena *arena, AvatarParts *parts);
void avatar_add_hair(const AvatarRig *rig, Arena *arena, AvatarParts *parts);
