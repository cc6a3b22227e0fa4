/* Assets: bytes of a file to a Rig, and a Rig's summary.
 *
 * asset_read recognises the format by content (GLB, glTF, VRM 0.x and 1.0, a zip bundle of them),
 * checks everything against the limits before it allocates or loops, and builds the Rig in the
 * asset's arena. The Rig borrows nothing from the file's bytes. Any bytes fail cleanly.
 */
#pragma once

#include "base/bytes.h"
#include "base/json.h"
#include "sim/rig.h"

typedef struct AssetLimits {
    int64_t file_size;  /* bytes, unpacked: 512 MiB */
    int joints;         /* nodes: 4096 */
    int vertices;       /* over all primitives: 4 M */
    int json_depth;     /* 128 */
    int name_size;      /* bytes: 200 */
    int bundle_entries; /* 256 */
    int bundle_ratio;   /* unpacked over packed: 200 */
} AssetLimits;

AssetLimits asset_limits_default(void);

/* A file that stands beside the main one: "model.bin" of a glTF. */
typedef struct SideFile {
    const char *name; /* relative path, '/' between parts */
    Bytes bytes;
} SideFile;

typedef struct AssetOptions {
    AssetLimits limits;
    double unit;      /* metres a file unit; 0: what the format says */
    bool is_z_up;     /* turn Z up into Y up */
    const char *name; /* label for messages and the summary, may be NULL */
    int side_file_count;
    const SideFile *side_file;
} AssetOptions;

/* The model in `file`. Fails with STATUS_INVALID, STATUS_LIMIT (names the limit) or
 * STATUS_NO_MEMORY; `*out` is untouched then. */
NODISCARD Status asset_read(Bytes file, const AssetOptions *options, Arena *arena, const Rig **out,
                            Error *err);

/* The arena capacity that reading a file of this size may need. */
size_t asset_arena_size(size_t file_size, const AssetLimits *limits);

/* Names of the side files the main file asks for and that are not in `options` (relative URIs of
 * its buffers), for a command line that finds them beside the file. At most `capacity` are written
 * (in the arena); returns how many, 0 where the file is no glTF. */
int asset_side_names(Bytes file, const AssetOptions *options, Arena *arena, const char **out,
                     int capacity);

/* The summary as one JSON object: format, name, box, height, counts, nodes, meshes, skins, clips,
 * springs with their joints and parameters and why one is not simulated, colliders, humanoid roles
 * found and missing, warnings. schema/openapi.json has its form. */
void asset_write_summary(const Rig *rig, JsonWriter *out);

/* The number of metres in "m", "dm", "cm", "mm", "in" or a number as text; 0 when it is none. */
double asset_unit(const char *text);
