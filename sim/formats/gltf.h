/* Gltf: a glTF 2.0 document while it is being read.
 *
 * gltf_open parses the JSON, refuses what it cannot read, and puts buffers, buffer views and
 * accessors into tables, so that nothing walks a JSON list by index later. The other readers of
 * this folder (accessor, node, mesh, skin, clip, vrm ...) take it from there and fill the Rig.
 *
 * Like ByteReader it remembers its first failure: `err` of the opener, through gltf_fail or a fault
 * of the JSON. Readers ask gltf_failed once a paragraph. What the Rig keeps is allocated in
 * `arena`; tables and decoded buffers in `scratch`, which lives as long as the document; `temp` is
 * rewound by whoever fills it. One thread.
 */
#pragma once

#include "base/json.h"
#include "sim/assets.h"

/* Limits that are not a host's to set: far above real files, low enough for memory and time. */
enum {
    GLTF_MAX_BUFFERS = 4096,
    GLTF_MAX_VIEWS = 1 << 20,
    GLTF_MAX_ACCESSORS = 1 << 20,
    GLTF_MAX_ITEMS = 1 << 16,       /* meshes, primitives, materials, clips, colliders: each */
    GLTF_MAX_SKINS = 4096,          /* ... */
    GLTF_MAX_SKIN_JOINTS = 1 << 20, /* over all skins */
    GLTF_MAX_CHANNELS = 1 << 20,    /* over all clips */
    GLTF_MAX_MORPHS = 1 << 20,      /* over all primitives */
    GLTF_MAX_SPRINGS = 1 << 14,
    GLTF_MAX_SPRING_JOINTS = 1 << 16,       /* over all springs */
    GLTF_MAX_COLLIDER_REFERENCES = 1 << 20, /* over all springs */
    GLTF_MAX_JSON_VALUES = 8 * 1000 * 1000, /* of the document: 64 bytes each while reading */
    GLTF_MAX_WARNINGS = 200
};

/* Limits that follow that of the vertices: so many times as much over the whole file. */
enum {
    GLTF_TRIANGLES_PER_VERTEX = 4,
    GLTF_OFFSETS_PER_VERTEX = 8, /* of morph targets */
    GLTF_CLIP_NUMBERS_PER_VERTEX = 16
};

struct Bundle;

typedef enum MeshoptMode {
    MESHOPT_NONE,
    MESHOPT_ATTRIBUTES,
    MESHOPT_TRIANGLES,
    MESHOPT_INDICES
} MeshoptMode;
typedef enum MeshoptFilter {
    MESHOPT_FILTER_NONE,
    MESHOPT_FILTER_OCTAHEDRAL,
    MESHOPT_FILTER_QUATERNION,
    MESHOPT_FILTER_EXPONENTIAL
} MeshoptFilter;

typedef struct GltfBuffer {
    Bytes bytes;
    bool is_missing; /* its side file is not there, or it is a fallback without data */
} GltfBuffer;

typedef struct GltfView {
    int buffer;
    size_t offset; /* in the buffer */
    size_t size;
    int stride;       /* 0: tightly packed */
    MeshoptMode mode; /* not NONE: EXT_meshopt_compression, with what follows */
    MeshoptFilter filter;
    int packed_buffer;
    size_t packed_offset;
    size_t packed_size;
    int packed_count;
    int packed_stride;
    Bytes decoded; /* of a compressed view once it was used */
} GltfView;

typedef struct GltfAccessor {
    int view; /* -1: zeroes */
    size_t offset;
    int component;      /* 5120 .. 5126 */
    int component_size; /* bytes */
    int width;          /* components an element: 1 2 3 4 9 16 */
    int count;
    bool is_normalized;
    bool is_matrix;
    int sparse_count;
    int sparse_index_view;
    size_t sparse_index_offset;
    int sparse_index_component;
    int sparse_value_view;
    size_t sparse_value_offset;
} GltfAccessor;

/* The forest of the nodes, children in file order; -1 is none. */
typedef struct GltfTree {
    int *first_child;
    int *next_sibling;
    int *enter; /* place in a walk that visits parents first ... */
    int *leave; /* ... and one more than the greatest place below the node */
} GltfTree;

typedef struct Gltf {
    const AssetOptions *options;
    struct Bundle *bundle; /* where side files may be too; NULL */
    Arena *arena;          /* the asset's */
    Arena *scratch;        /* dropped with the document */
    Arena *temp;           /* rewound after use */
    Error *err;
    Warnings *warnings;
    Faults faults;
    JsonDocument json;
    JsonReader root;
    Bytes binary; /* BIN chunk of a GLB */
    bool has_binary;
    float unit; /* metres a file unit */
    int buffer_count;
    int view_count;
    int accessor_count;
    GltfBuffer *buffer;
    GltfView *view;
    GltfAccessor *accessor;
    float **mesh_weight; /* morph weights of the meshes or NULL, in scratch */
    GltfTree tree;
    RigNode *node; /* what readers fill before it becomes the Rig's */
    int node_count;
    const void **decoded; /* what accessors were decoded to, by use (accessor_count USE_COUNT) */
    size_t decoded_size;  /* bytes of decompressed views so far */
} Gltf;

/* What gltf_open needs to know. */
typedef struct GltfSource {
    Bytes json;
    Bytes binary;
    bool has_binary;
} GltfSource;

/* The JSON of a document, its size limited. */
NODISCARD Status gltf_open_json(Bytes json, const AssetLimits *limits, JsonDocument *out,
                                Error *err);

/* Fills `gltf`, whose options, bundle, arenas, err and warnings are set. It must not move until
 * gltf_close, which accepts one that failed to open. */
Status gltf_open(Gltf *gltf, const GltfSource *source);
void gltf_close(Gltf *gltf);

/* Has anything failed so far? Moves a JSON fault into `err`. */
bool gltf_failed(Gltf *gltf);
/* Keep this failure unless there is one. Returns the status. */
Status gltf_fail(Gltf *gltf, Status status, const char *format, ...) PRINTF_LIKE(3, 4);

/* Zeroed memory in `arena`; NULL and a failure where it does not fit. */
void *gltf_alloc(Gltf *gltf, Arena *arena, size_t count, size_t size, size_t alignment);
#define gltf_array(gltf, type, count)                                                              \
    ((type *)gltf_alloc((gltf), (gltf)->arena, (size_t)(count), sizeof(type), alignof(type)))
#define gltf_scratch(gltf, type, count)                                                            \
    ((type *)gltf_alloc((gltf), (gltf)->scratch, (size_t)(count), sizeof(type), alignof(type)))
#define gltf_temp(gltf, type, count)                                                               \
    ((type *)gltf_alloc((gltf), (gltf)->temp, (size_t)(count), sizeof(type), alignof(type)))

/* The array member of `object` and its length, 0 where it is absent. More than `max` is a failure
 * that says "more than MAX WHAT". */
JsonReader gltf_list(Gltf *gltf, const JsonReader *object, const char *key, int max,
                     const char *what, int *out_count);
/* The member as an index below `count`; -1 where it is absent; a fault names `what`. */
int gltf_index(const JsonReader *object, const char *key, int count, const char *what);
/* The same for an item of an array; 0 and a fault where it is none. */
int gltf_as_index(const JsonReader *item, int count, const char *what);
/* The member as an index below `count` without ever being a fault: -1 where it is absent or none.
 */
int gltf_find_index(const JsonReader *object, const char *key, int count);
/* `name` of an object in the asset's arena, "" where it has none; LIMIT where it is too long. */
const char *gltf_name(Gltf *gltf, const JsonReader *object);
/* The name, or "WHATn" where it is empty: the key of a thing before doubles are told apart. */
const char *gltf_key(Gltf *gltf, const char *name, const char *what, int index);
/* The object `extensions.NAME` of an object, absent where there is none. Both readers stay with the
 * caller because the second points to the first. */
typedef struct GltfExtension {
    JsonReader extensions;
    JsonReader value;
} GltfExtension;
void gltf_extension(const JsonReader *object, const char *name, GltfExtension *out);

/* File space to ours: metres, Y up. */
Vec3 gltf_point(const Gltf *gltf, Vec3 v);
Vec3 gltf_direction(const Gltf *gltf, Vec3 v);
Vec3 gltf_scale(const Gltf *gltf, Vec3 v);
Quat gltf_rotation(const Gltf *gltf, Quat q);
Affine gltf_affine(const Gltf *gltf, const Affine *a);
float gltf_length(const Gltf *gltf, float length);
/* Exactly 3 floats of a member into `out`, checked; `otherwise` where it is absent. */
Vec3 gltf_vec3_or(Gltf *gltf, const JsonReader *object, const char *key, Vec3 otherwise);
/* A number member as a finite float. */
float gltf_float_or(const JsonReader *object, const char *key, float otherwise);
