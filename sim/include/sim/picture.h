/* Picture: small shaded pictures of a rig and of baked frames, and what a camera sees of them.
 *
 * A depth-buffer rasteriser of our own: the same input gives the same pixels everywhere. Colours
 * are those of the materials, without textures. Pictures are PNG files in memory. Working memory is
 * the scratch arena's (picture_arena_size). One thread a picture.
 */
#pragma once

#include "sim/frames.h"
#include "sim/rig.h"

typedef enum PictureView {
    PICTURE_FRONT,
    PICTURE_SIDE,          /* from the character's left */
    PICTURE_THREE_QUARTER, /* from above and behind the left shoulder, where hair is */
    PICTURE_VIEW_COUNT
} PictureView;

typedef struct PictureOptions {
    const char *title; /* above the sheet, may be NULL */
    int cell_width;    /* pixels of one picture, 64..1024: 300 */
    int cell_height;   /* 64..1024: 400 */
    int column_count;  /* frames shown, 1..16, spread evenly over the bake: 6 */
    int frame_count;   /* above 0: these frames instead */
    const int *frame;
    bool view[PICTURE_VIEW_COUNT]; /* rows: front, side, three-quarter; all */
    bool is_stretch;               /* colour what moves by the stretch of its edges */
    bool has_chains;               /* draw segments */
    bool has_colliders;            /* draw colliders */
    bool is_whole;                 /* frame the whole character, not its simulated part */
    int hidden_count;              /* mesh-bearing nodes that are not drawn */
    const int *hidden;
} PictureOptions;

PictureOptions picture_options_default(void);

/* Arena bytes that a picture of this rig needs. */
size_t picture_arena_size(const Rig *rig, Bytes frames, const PictureOptions *options);

/* Frames by views as a PNG behind what `out` holds, with a legend and the bake's numbers from the
 * frames' measures. Meshes come from the `positions` channel where there is one, else from skinning
 * the rig by the `joints` channel. A frame that the bake lacks is NOT_FOUND. */
NODISCARD Status picture_sheet(const Rig *rig, Bytes frames, const PictureOptions *options,
                               Arena *scratch, ByteWriter *out, Error *err);

/* The rig at rest, seen from before its left shoulder, `size` pixels square (16..1024), as a PNG.
 */
NODISCARD Status picture_thumbnail(const Rig *rig, int size, Arena *scratch, ByteWriter *out,
                                   Error *err);

/* Triangles in the scene, and points in the scene. */
typedef struct PictureMesh {
    int vertex_count;
    int index_count;
    const Vec3 *position;  /* (vertex_count) */
    const uint32_t *index; /* (index_count), each below vertex_count */
} PictureMesh;

/* What stands before the points, and where the camera is: in front, looking along -forward. */
typedef struct PictureScreen {
    int mesh_count;
    const PictureMesh *mesh; /* (mesh_count) */
    Vec3 forward;            /* where the character faces, Rig.forward */
} PictureScreen;

typedef struct PictureOcclusion {
    int point_count;
    bool *is_hidden; /* by any call so far; the caller's, zeroed once (point_count) */
    int count;       /* points that were hidden in any call so far */
    float depth;     /* of the deepest behind the surface, metres */
} PictureOcclusion;

/* Which of the points (out->point_count) does the front camera not see because the screen stands
 * before them? Orthographic, 2048 pixels over the screen's larger side; hidden is what lies more
 * than 1 mm behind. Called with the same `out` for every frame it gives the union over time. */
NODISCARD Status picture_occlusion(const PictureScreen *screen, const Vec3 *point, Arena *scratch,
                                   PictureOcclusion *out, Error *err);
