/* GLB writer: builds a binary glTF 2.0 file piece by piece.
 *
 * Every glb_add_... writes its object at once and returns its index in the file's array of that
 * kind, so things are added before what refers to them: accessors, then meshes and skins, nodes,
 * animations. Node indices may be foreseen (nodes are numbered in the order they are added), so a
 * skin may name nodes that come later. glb_write puts the file together.
 *
 *     GlbWriter glb;
 *     glb_writer_open(&glb, 64 << 20, &err);
 *     int position = glb_add_accessor(&glb, &(GlbAccessor){.component = GLB_FLOAT, .width = 3,
 *         .count = n, .data = point, .use = GLB_VERTICES, .has_bounds = true});
 *     ...
 *     glb_write(&glb, out, &err);
 *     glb_writer_close(&glb);
 *
 * The first failure (the maximum, or no memory) stays in the Error it was opened with; later calls
 * do nothing and glb_write returns it. One thread at a time. Format: glTF 2.0, sections 3 and 4.
 */
#pragma once

#include "base/bytes.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum GlbComponent {
    GLB_U8 = 5121,
    GLB_U16 = 5123,
    GLB_U32 = 5125,
    GLB_FLOAT = 5126
} GlbComponent;

typedef enum GlbUse { GLB_DATA, GLB_VERTICES = 34962, GLB_INDICES = 34963 } GlbUse;

/* An array of `count` elements of `width` components (1, 2, 3, 4 or 16), packed in `data`. An
 * element in a buffer of vertices must be a multiple of 4 bytes long. */
typedef struct GlbAccessor {
    GlbComponent component;
    int width;
    int count;
    const void *data; /* little-endian and packed, (count width) components */
    GlbUse use;
    bool has_bounds; /* write min and max: positions, and times of keys, need them */
    bool is_normalized;
} GlbAccessor;

enum { GLB_MAX_TARGETS = 16 };

/* Accessor indices; 0 is an accessor, so absent ones are -1. */
typedef struct GlbPrimitive {
    int index;
    int position;
    int normal;
    int texcoord;
    int joints;
    int weights;
    int material;
    int target_count;
    int target_position[GLB_MAX_TARGETS]; /* offsets of each morph target (target_count) */
} GlbPrimitive;

typedef struct GlbMaterial {
    const char *name;
    float color[4]; /* base colour, linear */
    float roughness;
    bool is_double_sided;
} GlbMaterial;

typedef struct GlbNode {
    const char *name;
    float translation[3];
    int mesh; /* -1 for none */
    int skin; /* -1 for none */
    int child_count;
    const int *child; /* (child_count) */
} GlbNode;

typedef struct GlbSkin {
    const char *name;
    int skeleton; /* node at or above all joints, -1 not to say */
    int joint_count;
    const int *joint;          /* nodes (joint_count) */
    const float *inverse_bind; /* 4 x 4 by columns (16 joint_count) */
} GlbSkin;

typedef enum GlbPath { GLB_TRANSLATION, GLB_ROTATION, GLB_SCALE, GLB_WEIGHTS } GlbPath;

typedef enum GlbSection {
    GLB_ACCESSORS,
    GLB_ANIMATIONS,
    GLB_VIEWS,
    GLB_MATERIALS,
    GLB_MESHES,
    GLB_NODES,
    GLB_SKINS,
    GLB_SECTION_COUNT
} GlbSection;

enum { GLB_MAX_EXTENSIONS = 8 };

typedef struct GlbWriter {
    Error *err;
    ByteWriter binary;
    Text text[GLB_SECTION_COUNT]; /* the items of each array */
    JsonWriter json[GLB_SECTION_COUNT];
    int count[GLB_SECTION_COUNT];
    Text samplers; /* of the open animation */
    JsonWriter samplers_json;
    int sampler_count;
    Text extensions; /* members of the root's "extensions" */
    JsonWriter extensions_json;
    const char *extension[GLB_MAX_EXTENSIONS];
    int extension_count;
    Text roots; /* nodes of the scene */
    JsonWriter roots_json;
    int root_count;
} GlbWriter;

/* `maximum` bounds the binary chunk and each JSON section, in bytes. */
void glb_writer_open(GlbWriter *glb, size_t maximum, Error *err);
void glb_writer_close(GlbWriter *glb);

int glb_add_accessor(GlbWriter *glb, const GlbAccessor *accessor);
/* Triangle corners as 16-bit numbers where all fit, else 32-bit. */
int glb_add_indices(GlbWriter *glb, const uint32_t *index, int count);
int glb_add_material(GlbWriter *glb, const GlbMaterial *material);

/* A mesh: begin, its primitives (all with the same targets), end. `target_name` may be NULL. */
void glb_begin_mesh(GlbWriter *glb, const char *name);
void glb_add_primitive(GlbWriter *glb, const GlbPrimitive *primitive);
int glb_end_mesh(GlbWriter *glb, const char *const *target_name, int target_count);

int glb_add_skin(GlbWriter *glb, const GlbSkin *skin);
int glb_add_node(GlbWriter *glb, const GlbNode *node);
/* Make a node a root of the file's one scene. */
void glb_add_root(GlbWriter *glb, int node);

/* An animation: begin, its channels (accessors of key times and of values, linear), end. */
void glb_begin_animation(GlbWriter *glb, const char *name);
void glb_add_channel(GlbWriter *glb, int node, GlbPath path, int times, int values);
int glb_end_animation(GlbWriter *glb);

/* A root extension, listed as used: `name` is borrowed until glb_write, `json` is ready-made. */
void glb_add_extension(GlbWriter *glb, const char *name, const char *json);

/* The file behind what `out` holds. `generator` is written into its asset. */
NODISCARD Status glb_write(GlbWriter *glb, const char *generator, ByteWriter *out, Error *err);
