#include "formats/buffer.h"
#include "formats/bundle.h"
#include "formats/bvh.h"
#include "formats/clip.h"
#include "formats/glb.h"
#include "formats/gltf.h"
#include "formats/mesh.h"
#include "formats/node.h"
#include "formats/vrm.h"
#include "rig/roles.h"
#include "sim/assets.h"

#include <stdio.h>
#include <string.h>

AssetLimits asset_limits_default(void)
{
    return (AssetLimits){.file_size = (int64_t)512 << 20,
                         .joints = 4096,
                         .vertices = 4 * 1000 * 1000,
                         .json_depth = 128,
                         .name_size = 200,
                         .bundle_entries = 256,
                         .bundle_ratio = 200};
}

/* What a vertex may take: position, normal, texture coordinate, joints and weights; twice, for what
 * accessors hold beyond what is used. */
enum { VERTEX_SIZE = 12 + 12 + 8 + RIG_MAX_INFLUENCES * 6 };

size_t asset_arena_size(size_t file_size, const AssetLimits *limits)
{
    size_t vertices = (size_t)limits->vertices;
    size_t size = (size_t)256 << 20; // tables, names, warnings, and those of rig_finish

    size += vertices * VERTEX_SIZE * 2;
    size += (size_t)limits->joints * (4096 + 4 * (size_t)limits->name_size);
    size += vertices * GLTF_TRIANGLES_PER_VERTEX * 12;
    size += vertices * GLTF_OFFSETS_PER_VERTEX * sizeof(Vec3);
    size += (size_t)GLTF_MAX_MORPHS * (sizeof(RigMorph) + 16);
    size += vertices * GLTF_CLIP_NUMBERS_PER_VERTEX * sizeof(double);
    size += (size_t)GLTF_MAX_CHANNELS * sizeof(ClipChannel);
    size += (size_t)GLTF_MAX_SKIN_JOINTS * (2 * sizeof(Affine) + 64);
    return size + 2 * file_size;
}

/* Tables of the document, and every byte that is decoded, decompressed or unpacked. */
static size_t scratch_size(const AssetLimits *limits)
{
    size_t tables = (size_t)GLTF_MAX_VIEWS * sizeof(GltfView) +
                    (size_t)GLTF_MAX_ACCESSORS * (sizeof(GltfAccessor) + 64);

    return tables + ((size_t)64 << 20) + (size_t)limits->file_size * 4;
}

static size_t temp_size(const AssetLimits *limits)
{
    size_t vertices = (size_t)limits->vertices;

    return ((size_t)256 << 20) + vertices * RIG_MAX_INFLUENCES * 8 +
           vertices * GLTF_TRIANGLES_PER_VERTEX * 12 + vertices * GLTF_CLIP_NUMBERS_PER_VERTEX * 4;
}

/* --- what kind of file --- */

static bool starts_like_json(Bytes file)
{
    size_t i = file.size >= 3 && memcmp(file.data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    while (i < file.size && (file.data[i] == ' ' || file.data[i] == '\t' || file.data[i] == '\r' ||
                             file.data[i] == '\n'))
        i++;
    return i < file.size && file.data[i] == '{';
}

static Status refuse_other_file(Bytes file, Error *err)
{
    static const struct {
        const char *start, *name;
    } known[] = {{"Kaydara FBX", "an FBX scene"},
                 {"#usda", "a USD scene"},
                 {"PXR-USDC", "a USD scene"},
                 {"PathFileType", "a TRC take"}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t size = strlen(known[i].start);
        if (file.size >= size && memcmp(file.data, known[i].start, size) == 0)
            return error_set(err, STATUS_INVALID,
                             "the file is %s, not a character model: send a .vrm, .glb, .gltf or a "
                             ".zip of one, or a .bvh or .vrma motion",
                             known[i].name);
    }
    return error_set(
        err, STATUS_INVALID,
        "the file is not a character model: send a .vrm, .glb, .gltf or a .zip of one, or a .bvh "
        "or .vrma motion");
}

/* The JSON and binary of a GLB or glTF. */
static Status find_document(Bytes file, GltfSource *out, const char **out_format, Error *err)
{
    if (glb_matches(file)) {
        Glb glb;
        if (glb_parse(file, &glb, err))
            return err->status;
        *out = (GltfSource){glb.json, glb.binary, true};
        *out_format = "glb";
        return STATUS_OK;
    }
    if (!starts_like_json(file))
        return refuse_other_file(file, err);
    *out = (GltfSource){.json = file};
    *out_format = "gltf";
    return STATUS_OK;
}

/* --- what can be said about the whole --- */

typedef struct UnitName {
    const char *name;
    double metres;
} UnitName;

/* The unit in which a model of `size` file units has a person's size, else one in which it has some
 * size a character may have (a head, a dragon); NULL where there is none. */
static const UnitName *find_likely_unit(double size)
{
    static const UnitName units[] = {
        {"cm", 0.01}, {"mm", 0.001}, {"dm", 0.1}, {"m", 1.0}, {"in", 0.0254}};
    enum { UNITS = sizeof units / sizeof units[0] };

    for (int i = 0; i < UNITS; i++)
        if (size * units[i].metres >= 1.0 && size * units[i].metres <= 2.2)
            return &units[i];
    for (int i = 0; i < UNITS; i++)
        if (size * units[i].metres >= 0.2 && size * units[i].metres <= 5.0)
            return &units[i];
    return NULL;
}

/* A character is between a hand and a house in size. */
static void warn_of_unit(const Rig *rig, Warnings *warnings)
{
    double x = (double)rig->box_max.x - (double)rig->box_min.x;
    double y = (double)rig->box_max.y - (double)rig->box_min.y;
    double z = (double)rig->box_max.z - (double)rig->box_min.z;
    double size = x > y ? x : y;

    size = size > z ? size : z;
    if (!(size > 0.0) || (size >= 0.2 && size <= 5.0))
        return;
    const UnitName *unit = find_likely_unit(size / rig->unit);
    if (unit)
        warnings_add(warnings, "unit_suspect",
                     "the model is %.3g m in size: unit=%s would make it %.3g m", size, unit->name,
                     size / rig->unit * unit->metres);
    else
        warnings_add(warnings, "unit_suspect",
                     "the model is %.3g m in size: unit=%.3g would make it 1.7 m", size,
                     1.7 / size * rig->unit);
}

/* Radii take the longest axis of their node; say so where the axes differ or are mirrored. */
static void warn_of_collider_scales(const Rig *rig, Arena *temp, Warnings *warnings)
{
    size_t mark = arena_mark(temp);
    World *world = arena_array(temp, World, rig->node_count);

    if (world)
        rig_rest_worlds(rig, world);
    for (int i = 0; world && i < rig->collider_count; i++) {
        const RigCollider *collider = &rig->collider[i];
        const Mat3 *basis = &world[collider->node].basis;
        float x = vec3_length(basis->x), y = vec3_length(basis->y), z = vec3_length(basis->z);
        float most = world_max_scale(&world[collider->node]);
        if (x < 0.99f * most || y < 0.99f * most || z < 0.99f * most ||
            mat3_determinant(basis) < 0.0f)
            warnings_add(warnings, "collider_scale",
                         "collider \"%.100s\" is on a node whose axes are scaled by %.3g, %.3g, "
                         "%.3g%s: its radius takes the greatest",
                         collider->key, (double)x, (double)y, (double)z,
                         mat3_determinant(basis) < 0.0f ? " and mirrored" : "");
    }
    arena_rewind(temp, mark);
}

/* A person whose head lies beside the hips: the file has z up, or stands in no T-pose. */
static void warn_of_lying(const Rig *rig, Arena *temp, Warnings *warnings)
{
    size_t mark = arena_mark(temp);
    World *world = arena_array(temp, World, rig->node_count);

    if (world && rig->is_humanoid && rig->role[ROLE_HEAD] >= 0) {
        rig_rest_worlds(rig, world);
        DVec3 hips = world[rig->role[ROLE_HIPS]].origin, head = world[rig->role[ROLE_HEAD]].origin;
        double up = head.y - hips.y, along = fabs(head.z - hips.z);

        if (along > fabs(up))
            warnings_add(warnings, "up_suspect",
                         "the skeleton lies on its %s at rest: up=z would stand it",
                         head.z > hips.z ? "back" : "face");
    }
    arena_rewind(temp, mark);
}

/* --- reading --- */

static Status finish(Rig *rig, Gltf *gltf)
{
    if (rig_finish(rig, gltf->arena, gltf->err) || rig->is_humanoid)
        return gltf->err->status;
    return roles_guess(rig, gltf->temp, gltf->err);
}

static Status fill_rig(Gltf *gltf, Rig *rig)
{
    static void (*const steps[])(Gltf *, Rig *) = {gltf_read_materials, gltf_read_meshes,
                                                   gltf_read_skins,     gltf_link_nodes,
                                                   gltf_read_clips,     vrm_read};

    gltf_read_nodes(gltf);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !gltf_failed(gltf); i++)
        steps[i](gltf, rig);
    if (gltf_failed(gltf))
        return gltf->err->status;
    rig->node = gltf->node;
    rig->node_count = gltf->node_count;
    if (finish(rig, gltf))
        return gltf->err->status;
    warn_of_unit(rig, gltf->warnings);
    warn_of_collider_scales(rig, gltf->temp, gltf->warnings);
    return STATUS_OK;
}

/* Centimetres, where nobody says otherwise. */
static Status read_bvh(Gltf *gltf, Bytes file, Rig *rig)
{
    const AssetOptions *options = gltf->options;

    rig->format = "bvh";
    rig->unit = options->unit > 0.0 ? options->unit : 0.01;
    if (bvh_read(file, options, gltf->arena, gltf->temp, rig, gltf->err) || finish(rig, gltf))
        return gltf->err->status;
    warn_of_lying(rig, gltf->temp, gltf->warnings);
    return STATUS_OK;
}

static Status read_document(Gltf *gltf, Bytes file, const Rig **out)
{
    Error *err = gltf->err;
    const AssetOptions *options = gltf->options;
    GltfSource source = {0};
    const char *format = "";
    Rig *rig = gltf_array(gltf, Rig, 1);

    if (!rig)
        return err->status;
    rig->warnings = warnings_open(gltf->arena, GLTF_MAX_WARNINGS);
    gltf->warnings = &rig->warnings;
    const char *name = options->name ? options->name : "";
    rig->name = arena_text(gltf->arena, name, strlen(name));
    if (!rig->name)
        return error_set(err, STATUS_NO_MEMORY, "no room for the model's name");
    if (bvh_matches(file)) {
        if (read_bvh(gltf, file, rig))
            return err->status;
        *out = rig;
        return STATUS_OK;
    }
    if (find_document(file, &source, &format, err) || gltf_open(gltf, &source))
        return err->status;
    rig->format = format;
    rig->unit = options->unit > 0.0 ? options->unit : 1.0;
    if (fill_rig(gltf, rig))
        return err->status;
    *out = rig;
    return STATUS_OK;
}

/* The model itself, or the one in a zip; side files stay in the bundle until they are asked for. */
static Status read_file(Gltf *gltf, Bytes file, const Rig **out)
{
    const AssetLimits *limits = &gltf->options->limits;

    if (bundle_matches(file) &&
        bundle_open(file, limits, gltf->scratch, &gltf->bundle, &file, gltf->err))
        return gltf->err->status;
    (void)read_document(gltf, file, out);
    gltf_close(gltf);
    bundle_close(gltf->bundle);
    return gltf->err->status;
}

static Status open_arenas(const AssetLimits *limits, Arena *scratch, Arena *temp, Error *err)
{
    *temp = (Arena){0};
    if (arena_create(scratch, scratch_size(limits), err))
        return err->status;
    return arena_create(temp, temp_size(limits), err);
}

Status asset_read(Bytes file, const AssetOptions *options, Arena *arena, const Rig **out,
                  Error *err)
{
    Arena scratch, temp;

    if ((int64_t)file.size > options->limits.file_size)
        return error_set(err, STATUS_LIMIT, "the file has %zu bytes, the limit is %lld", file.size,
                         (long long)options->limits.file_size);
    if (!open_arenas(&options->limits, &scratch, &temp, err)) {
        Gltf gltf = {.options = options,
                     .arena = arena,
                     .scratch = &scratch,
                     .temp = &temp,
                     .err = err,
                     .unit = options->unit > 0.0 ? (float)options->unit : 1.0f};
        (void)read_file(&gltf, file, out);
    }
    arena_destroy(&scratch);
    arena_destroy(&temp);
    return err->status;
}

/* --- side files --- */

static bool is_given(const AssetOptions *options, const char *path)
{
    for (int i = 0; i < options->side_file_count; i++)
        if (strcmp(options->side_file[i].name, path) == 0)
            return true;
    return false;
}

static int collect_names(const JsonDocument *document, const AssetOptions *options, Arena *arena,
                         const char **out, int capacity)
{
    int count = 0;
    Faults faults = faults_open(arena, 1);
    JsonReader root = json_root(document, &faults);
    JsonReader buffers = json_member(&root, "buffers");
    JsonReader item;

    if (!json_is_array(&buffers))
        return 0;
    for (bool more = json_first(&buffers, &item); more && count < capacity;
         more = json_next(&item)) {
        JsonReader uri = json_member(&item, "uri");
        if (!json_is_text(&uri))
            continue;
        const char *path = gltf_uri_path(arena, json_as_text(&uri, 1 << 30));
        if (path && !is_given(options, path))
            out[count++] = path;
    }
    return count;
}

int asset_side_names(Bytes file, const AssetOptions *options, Arena *arena, const char **out,
                     int capacity)
{
    Error err = {0};
    GltfSource source = {0};
    const char *format = "";
    JsonDocument document = {0};
    int count = 0;

    if ((int64_t)file.size > options->limits.file_size || bundle_matches(file) ||
        find_document(file, &source, &format, &err))
        return 0;
    if (!gltf_open_json(source.json, &options->limits, &document, &err))
        count = collect_names(&document, options, arena, out, capacity);
    json_close(&document);
    return count;
}
