/* Accessors: arrays of numbers out of buffer views, whatever their component type, stride, sparse
 * substitution and normalisation (glTF 2.0, 3.6.2), bounds checked, alignment indifferent. */
#pragma once

#include "formats/gltf.h"

/* What the numbers are for: how they are converted to metres and Y up, and what happens to numbers
 * that are not finite. Those of meshes are refused; for those of clips NULL comes back. */
typedef enum AccessorUse {
    USE_POSITION,
    USE_NORMAL,
    USE_TEXCOORD,
    USE_TRANSLATION, /* from here on: clips */
    USE_ROTATION,
    USE_SCALE,
    USE_WEIGHT,
    USE_TIME,
    USE_COUNT
} AccessorUse;

void gltf_read_accessors(Gltf *gltf);

/* Is the data behind this accessor missing (a side file that is not there)? */
bool accessor_is_missing(const Gltf *gltf, int index);

/* The accessor's numbers as floats in the asset's arena, `width` an element, converted; the same
 * array again for the same accessor and use. NULL after a failure, for missing data, and for a
 * clip's accessor that is not of this width or not finite. */
const float *accessor_floats(Gltf *gltf, int index, int width, AccessorUse use);
/* Key times in double, NULL unless they are finite and rise strictly. */
const double *accessor_times(Gltf *gltf, int index);

/* Into the caller's memory (count width), unconverted. False after a failure. */
bool accessor_read_floats(Gltf *gltf, int index, int width, float *out);
bool accessor_read_integers(Gltf *gltf, int index, int width, uint32_t *out);
