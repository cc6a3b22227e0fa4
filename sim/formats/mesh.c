#include "formats/mesh.h"

#include "formats/accessor.h"

#include <string.h>

enum { MODE_TRIANGLES = 4, MODE_STRIP = 5, MODE_FAN = 6 };

/* What one pass over the meshes carries along. */
typedef struct MeshReader {
    Gltf *gltf;
    Rig *rig;
    const char *mesh; /* key of the one that is read, for messages */
    int64_t vertex_count;
    int64_t triangle_count;
    int64_t primitive_count;
    int64_t morph_count;
    int64_t offset_count;
    int dropped_count; /* points and lines of this mesh */
} MeshReader;

/* --- materials --- */

static void read_material(Gltf *gltf, const JsonReader *object, RigMaterial *out)
{
    static const char *const modes[] = {"OPAQUE", "MASK", "BLEND"};
    JsonReader surface = json_member(object, "pbrMetallicRoughness");

    *out = (RigMaterial){.name = gltf_name(gltf, object),
                         .color = {1.0f, 1.0f, 1.0f, 1.0f},
                         .is_double_sided = json_bool_or(object, "doubleSided", false),
                         .is_blended = json_choice_or(object, "alphaMode", modes, 3, 0) == 2};
    if (!json_is_absent(&surface))
        (void)json_floats(&surface, "baseColorFactor", 4, out->color);
}

void gltf_read_materials(Gltf *gltf, Rig *rig)
{
    JsonReader item;
    JsonReader list = gltf_list(gltf, &gltf->root, "materials", GLTF_MAX_ITEMS, "materials",
                                &rig->material_count);
    RigMaterial *material = gltf_array(gltf, RigMaterial, rig->material_count);

    rig->material = material;
    if (gltf_failed(gltf) || !rig->material_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_material(gltf, &item, &material[i]);
}

/* --- triangles --- */

/* Corners of triangle `i` of a strip or fan (glTF 2.0, 3.7.2.1), keeping the winding. */
static void unroll(int mode, int i, const uint32_t *in, uint32_t *out)
{
    if (mode == MODE_FAN) {
        out[0] = in[i + 1];
        out[1] = in[i + 2];
        out[2] = in[0];
    } else {
        out[0] = in[i];
        out[1] = in[i + 1 + i % 2];
        out[2] = in[i + 2 - i % 2];
    }
}

/* The indices as the file has them, or 0, 1, 2 ... where it has none. */
static bool fill_corners(Gltf *gltf, int accessor, uint32_t *out, int count)
{
    if (accessor >= 0)
        return accessor_read_integers(gltf, accessor, 1, out);
    for (int i = 0; i < count; i++)
        out[i] = (uint32_t)i;
    return true;
}

static void read_triangles(MeshReader *reader, int accessor, int mode, RigPrimitive *out)
{
    Gltf *gltf = reader->gltf;
    int corners = accessor >= 0 ? gltf->accessor[accessor].count : out->vertex_count;
    int triangles = mode == MODE_TRIANGLES ? corners / 3 : corners < 3 ? 0 : corners - 2;
    size_t mark = arena_mark(gltf->temp);
    int64_t limit = (int64_t)gltf->options->limits.vertices * GLTF_TRIANGLES_PER_VERTEX;

    reader->triangle_count += triangles;
    if (reader->triangle_count > limit) {
        gltf_fail(gltf, STATUS_LIMIT, "the meshes have more than %lld triangles", (long long)limit);
        return;
    }
    uint32_t *corner = gltf_temp(gltf, uint32_t, corners);
    uint32_t *index = gltf_array(gltf, uint32_t, 3 * (size_t)triangles);
    if (corner && index && fill_corners(gltf, accessor, corner, corners)) {
        if (mode == MODE_TRIANGLES && triangles)
            memcpy(index, corner, 3 * (size_t)triangles * sizeof *index);
        for (int i = 0; mode != MODE_TRIANGLES && i < triangles; i++)
            unroll(mode, i, corner, index + 3 * (size_t)i);
        out->index = index;
        out->index_count = 3 * triangles;
    }
    arena_rewind(gltf->temp, mark);
    for (int i = 0; !gltf_failed(gltf) && i < out->index_count; i++)
        if (out->index[i] >= (uint32_t)out->vertex_count)
            gltf_fail(gltf, STATUS_INVALID, "index %d refers to vertex %u of %d", i,
                      (unsigned)out->index[i], out->vertex_count);
}

/* --- attributes --- */

/* An attribute that has one element a vertex; NULL where it is absent or missing. */
static const float *read_attribute(Gltf *gltf, int accessor, int width, AccessorUse use,
                                   int vertex_count)
{
    if (accessor < 0 || gltf_failed(gltf) || accessor_is_missing(gltf, accessor))
        return NULL;
    if (gltf->accessor[accessor].count != vertex_count) {
        gltf_fail(gltf, STATUS_INVALID, "accessor %d has %d elements for %d vertices", accessor,
                  gltf->accessor[accessor].count, vertex_count);
        return NULL;
    }
    return accessor_floats(gltf, accessor, width, use);
}

static const Vec3 *vectors(const float *value)
{
    return (const Vec3 *)(const void *)value;
}

/* One kind of offset of a morph target. A target whose accessor has no data at all moves nothing.
 */
static const Vec3 *read_offsets(MeshReader *reader, const JsonReader *target, const char *key,
                                AccessorUse use, int vertex_count)
{
    Gltf *gltf = reader->gltf;
    int64_t limit = (int64_t)gltf->options->limits.vertices * GLTF_OFFSETS_PER_VERTEX;
    int index = gltf_index(target, key, gltf->accessor_count, "accessors");

    if (index < 0 || gltf_failed(gltf))
        return NULL;
    const GltfAccessor *accessor = &gltf->accessor[index];
    if (accessor->view < 0 && !accessor->sparse_count)
        return NULL;
    reader->offset_count += accessor->count;
    if (reader->offset_count > limit) {
        gltf_fail(gltf, STATUS_LIMIT, "the morph targets have more than %lld offsets",
                  (long long)limit);
        return NULL;
    }
    return vectors(read_attribute(gltf, index, 3, use, vertex_count));
}

static void read_morphs(MeshReader *reader, const JsonReader *object, int morph_count,
                        RigPrimitive *out)
{
    Gltf *gltf = reader->gltf;
    JsonReader list = json_member(object, "targets");
    JsonReader target;
    RigMorph *morph = gltf_array(gltf, RigMorph, morph_count);

    out->morph = morph;
    out->morph_count = morph_count;
    if (!morph || !json_is_array(&list))
        return;
    bool more = json_first(&list, &target);
    for (int i = 0; more && i < morph_count && !gltf_failed(gltf); i++, more = json_next(&target)) {
        morph[i].position =
            read_offsets(reader, &target, "POSITION", USE_POSITION, out->vertex_count);
        morph[i].normal = read_offsets(reader, &target, "NORMAL", USE_NORMAL, out->vertex_count);
    }
}

/* --- primitives --- */

static bool count_vertices(MeshReader *reader, int count)
{
    int limit = reader->gltf->options->limits.vertices;

    reader->vertex_count += count;
    if (reader->vertex_count <= limit)
        return true;
    gltf_fail(reader->gltf, STATUS_LIMIT, "the meshes have more than %d vertices", limit);
    return false;
}

/* Is there something to read: triangles with positions whose data is there? */
static bool is_readable(MeshReader *reader, int mode, int position, int indices)
{
    Gltf *gltf = reader->gltf;

    if (gltf_failed(gltf))
        return false;
    if (mode < MODE_TRIANGLES || position < 0) {
        reader->dropped_count++;
        return false;
    }
    return !accessor_is_missing(gltf, position) &&
           (indices < 0 || !accessor_is_missing(gltf, indices));
}

/* False for a primitive that is left out, and after a failure. */
static bool read_primitive(MeshReader *reader, const JsonReader *object, int morph_count,
                           RigPrimitive *out)
{
    Gltf *gltf = reader->gltf;
    JsonReader attributes = json_member(object, "attributes");
    int mode = json_int_or(object, "mode", MODE_TRIANGLES, 0, MODE_FAN);
    int indices = gltf_index(object, "indices", gltf->accessor_count, "accessors");
    int position = gltf_index(&attributes, "POSITION", gltf->accessor_count, "accessors");
    int normal = gltf_index(&attributes, "NORMAL", gltf->accessor_count, "accessors");
    int texcoord = gltf_index(&attributes, "TEXCOORD_0", gltf->accessor_count, "accessors");

    *out = (RigPrimitive){.position_accessor = position, .normal_accessor = normal};
    out->material = gltf_index(object, "material", reader->rig->material_count, "materials");
    if (!is_readable(reader, mode, position, indices))
        return false;
    int count = gltf->accessor[position].count;
    if (!count_vertices(reader, count))
        return false;
    out->vertex_count = count;
    out->position = vectors(read_attribute(gltf, position, 3, USE_POSITION, count));
    out->normal = vectors(read_attribute(gltf, normal, 3, USE_NORMAL, count));
    out->texcoord = read_attribute(gltf, texcoord, 2, USE_TEXCOORD, count);
    if (!gltf_failed(gltf))
        read_triangles(reader, indices, mode, out);
    if (!gltf_failed(gltf))
        gltf_read_influences(gltf, &attributes, reader->mesh, out);
    if (!gltf_failed(gltf))
        read_morphs(reader, object, morph_count, out);
    return !gltf_failed(gltf);
}

/* --- meshes --- */

/* The greatest number of morph targets of a primitive. */
static int count_morphs(MeshReader *reader, const JsonReader *primitives, int primitive_count)
{
    Gltf *gltf = reader->gltf;
    JsonReader item;
    int most = 0, least = INT32_MAX;

    for (bool more = json_first(primitives, &item); more; more = json_next(&item)) {
        int count;
        (void)gltf_list(gltf, &item, "targets", GLTF_MAX_MORPHS, "morph targets", &count);
        most = count > most ? count : most;
        least = count < least ? count : least;
    }
    reader->morph_count += (int64_t)most * primitive_count;
    if (reader->morph_count > GLTF_MAX_MORPHS)
        gltf_fail(gltf, STATUS_LIMIT, "the meshes have more than %d morph targets",
                  GLTF_MAX_MORPHS);
    else if (primitive_count && least < most)
        warnings_add(gltf->warnings, "morphs_differ",
                     "mesh \"%.100s\" has primitives with %d and with %d morph targets",
                     reader->mesh, least, most);
    return most;
}

static void read_morph_names(Gltf *gltf, const JsonReader *object, int count, const char **out)
{
    JsonReader extras = json_member(object, "extras");
    JsonReader names = json_member(&extras, "targetNames");
    JsonReader item;

    if (!json_is_array(&names))
        return;
    bool more = json_first(&names, &item);
    for (int i = 0; more && i < count && !gltf_failed(gltf); i++, more = json_next(&item)) {
        const char *name = json_is_text(&item) ? json_as_text(&item, 1 << 30) : "";
        size_t size = strlen(name);
        if (size > (size_t)gltf->options->limits.name_size) {
            gltf_fail(gltf, STATUS_LIMIT, "the name \"%.40s...\" has %zu bytes, the limit is %d",
                      name, size, gltf->options->limits.name_size);
            return;
        }
        out[i] = arena_text(gltf->arena, name, size);
        if (!out[i])
            gltf_fail(gltf, STATUS_NO_MEMORY, "no room for names");
    }
}

/* Names stand in the mesh's extras; some exporters put them into the first primitive's. */
static void name_morphs(Gltf *gltf, const JsonReader *object, const JsonReader *primitives,
                        RigMesh *mesh)
{
    const char **name = gltf_array(gltf, const char *, mesh->morph_count);
    JsonReader first;

    mesh->morph_name = name;
    if (!name || !mesh->morph_count)
        return;
    for (int i = 0; i < mesh->morph_count; i++)
        name[i] = "";
    if (json_first(primitives, &first))
        read_morph_names(gltf, &first, mesh->morph_count, name);
    read_morph_names(gltf, object, mesh->morph_count, name);
}

/* The first `count` numbers of an array member over `out`. */
static void read_weights(const JsonReader *object, int count, float *out)
{
    JsonReader list = json_member(object, "weights");
    JsonReader item;

    if (!json_is_array(&list))
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && i < count; i++, more = json_next(&item))
        out[i] = (float)json_as_number(&item, -1e30, 1e30);
}

static void read_mesh(MeshReader *reader, const JsonReader *object, int index, RigMesh *mesh)
{
    Gltf *gltf = reader->gltf;
    int count;

    mesh->name = gltf_name(gltf, object);
    reader->mesh = gltf_key(gltf, mesh->name, "mesh", index);
    reader->dropped_count = 0;
    JsonReader item, list = gltf_list(gltf, object, "primitives", GLTF_MAX_ITEMS,
                                      "primitives of a mesh", &count);
    reader->primitive_count += count;
    if (reader->primitive_count > GLTF_MAX_ITEMS)
        gltf_fail(gltf, STATUS_LIMIT, "the meshes have more than %d primitives", GLTF_MAX_ITEMS);
    if (gltf_failed(gltf))
        return;
    mesh->morph_count = count_morphs(reader, &list, count);
    RigPrimitive *primitive = gltf_array(gltf, RigPrimitive, count);
    mesh->primitive = primitive;
    if (gltf_failed(gltf))
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        if (read_primitive(reader, &item, mesh->morph_count, &primitive[mesh->primitive_count]))
            mesh->primitive_count++;
        if (gltf_failed(gltf))
            error_context(gltf->err, "mesh \"%.100s\", primitive %d", reader->mesh, i);
    }
    if (reader->dropped_count)
        warnings_add(gltf->warnings, "primitives_dropped",
                     "mesh \"%.100s\": %d primitives of points or lines, or without positions, are "
                     "left out",
                     reader->mesh, reader->dropped_count);
    name_morphs(gltf, object, &list, mesh);
    gltf->mesh_weight[index] = gltf_scratch(gltf, float, mesh->morph_count);
    if (!gltf_failed(gltf))
        read_weights(object, mesh->morph_count, gltf->mesh_weight[index]);
}

void gltf_read_meshes(Gltf *gltf, Rig *rig)
{
    MeshReader reader = {.gltf = gltf, .rig = rig};
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, &gltf->root, "meshes", GLTF_MAX_ITEMS, "meshes", &rig->mesh_count);
    RigMesh *mesh = gltf_array(gltf, RigMesh, rig->mesh_count);

    gltf->mesh_weight = gltf_scratch(gltf, float *, rig->mesh_count);
    rig->mesh = mesh;
    if (gltf_failed(gltf) || !rig->mesh_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_mesh(&reader, &item, i, &mesh[i]);
}

/* --- nodes --- */

/* Room for the morph weights of all nodes, in node order. */
static float *make_rest_weights(Gltf *gltf, Rig *rig)
{
    int64_t count = 0;

    for (int i = 0; i < gltf->node_count; i++)
        if (gltf->node[i].mesh >= 0)
            count += rig->mesh[gltf->node[i].mesh].morph_count;
    if (count > GLTF_MAX_MORPHS) {
        gltf_fail(gltf, STATUS_LIMIT, "the nodes have more than %d morph weights", GLTF_MAX_MORPHS);
        return NULL;
    }
    rig->morph_weight_count = (int)count;
    return gltf_array(gltf, float, count);
}

static void link_node(Gltf *gltf, const JsonReader *object, const Rig *rig, RigNode *node)
{
    int mesh = gltf_index(object, "mesh", rig->mesh_count, "meshes");
    int skin = gltf_index(object, "skin", rig->skin_count, "skins");

    if (gltf_failed(gltf) || mesh < 0 || !rig->mesh[mesh].primitive_count)
        return;
    node->mesh = mesh;
    node->skin = skin;
}

void gltf_link_nodes(Gltf *gltf, Rig *rig)
{
    JsonReader item, list = json_member(&gltf->root, "nodes");

    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        link_node(gltf, &item, rig, &gltf->node[i]);
    if (gltf_failed(gltf))
        return;
    float *weight = make_rest_weights(gltf, rig);
    rig->morph_weight0 = weight;
    more = json_first(&list, &item);
    for (int i = 0; weight && more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        int mesh = gltf->node[i].mesh;
        int count = mesh < 0 ? 0 : rig->mesh[mesh].morph_count;
        if (!count)
            continue;
        memcpy(weight, gltf->mesh_weight[mesh], (size_t)count * sizeof *weight);
        read_weights(&item, count, weight);
        weight += count;
    }
}
