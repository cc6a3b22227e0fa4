#include "formats/glb_writer.h"

#include <assert.h>
#include <string.h>

static const uint32_t GLB_MAGIC = 0x46546c67;
static const uint32_t GLB_CHUNK_JSON = 0x4e4f534a;
static const uint32_t GLB_CHUNK_BIN = 0x004e4942;

static const char *const section_name[GLB_SECTION_COUNT] = {
    [GLB_ACCESSORS] = "accessors", [GLB_ANIMATIONS] = "animations", [GLB_VIEWS] = "bufferViews",
    [GLB_MATERIALS] = "materials", [GLB_MESHES] = "meshes",         [GLB_NODES] = "nodes",
    [GLB_SKINS] = "skins"};

static void open_list(Text *text, JsonWriter *json, size_t maximum, Error *err)
{
    *text = text_open(maximum, err);
    *json = json_writer(text, 0);
}

void glb_writer_open(GlbWriter *glb, size_t maximum, Error *err)
{
    *glb = (GlbWriter){.err = err, .binary = byte_writer(maximum, err)};
    for (int i = 0; i < GLB_SECTION_COUNT; i++) {
        open_list(&glb->text[i], &glb->json[i], maximum, err);
        json_begin_array(&glb->json[i], NULL);
    }
    open_list(&glb->samplers, &glb->samplers_json, maximum, err);
    open_list(&glb->extensions, &glb->extensions_json, maximum, err);
    json_begin_object(&glb->extensions_json, NULL);
    open_list(&glb->roots, &glb->roots_json, maximum, err);
    json_begin_array(&glb->roots_json, NULL);
}

void glb_writer_close(GlbWriter *glb)
{
    byte_writer_close(&glb->binary);
    for (int i = 0; i < GLB_SECTION_COUNT; i++)
        text_close(&glb->text[i]);
    text_close(&glb->samplers);
    text_close(&glb->extensions);
    text_close(&glb->roots);
}

static size_t component_size(GlbComponent component)
{
    switch (component) {
    case GLB_U8:
        return 1;
    case GLB_U16:
        return 2;
    case GLB_U32:
    case GLB_FLOAT:
        break;
    }
    return 4;
}

static const char *type_name(int width)
{
    static const char *const name[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};

    assert((width >= 1 && width <= 4) || width == 16);
    return width == 16 ? "MAT4" : name[width];
}

/* The view of the next `size` bytes, which the caller writes. */
static int add_view(GlbWriter *glb, size_t size, GlbUse use)
{
    JsonWriter *json = &glb->json[GLB_VIEWS];

    write_padding(&glb->binary, 4, 0);
    json_begin_object(json, NULL);
    json_write_int(json, "buffer", 0);
    json_write_int(json, "byteOffset", (int64_t)glb->binary.size);
    json_write_int(json, "byteLength", (int64_t)size);
    if (use != GLB_DATA)
        json_write_int(json, "target", use);
    json_end_object(json);
    return glb->count[GLB_VIEWS]++;
}

/* The least and the greatest of each component of a float accessor, as glTF wants them. */
static void write_bounds(JsonWriter *json, const GlbAccessor *accessor)
{
    const float *value = accessor->data;
    float min[16], max[16];

    assert(accessor->component == GLB_FLOAT && accessor->count > 0);
    for (int k = 0; k < accessor->width; k++)
        min[k] = max[k] = value[k];
    for (int i = 1; i < accessor->count; i++)
        for (int k = 0; k < accessor->width; k++) {
            float v = value[(size_t)i * (size_t)accessor->width + (size_t)k];
            min[k] = v < min[k] ? v : min[k];
            max[k] = v > max[k] ? v : max[k];
        }
    json_write_floats(json, "min", min, accessor->width);
    json_write_floats(json, "max", max, accessor->width);
}

/* The accessor of a view that holds it alone. */
static int describe_accessor(GlbWriter *glb, const GlbAccessor *accessor, int view)
{
    JsonWriter *json = &glb->json[GLB_ACCESSORS];

    json_begin_object(json, NULL);
    json_write_int(json, "bufferView", view);
    json_write_int(json, "componentType", accessor->component);
    json_write_int(json, "count", accessor->count);
    json_write_text(json, "type", type_name(accessor->width));
    if (accessor->is_normalized)
        json_write_bool(json, "normalized", true);
    if (accessor->has_bounds)
        write_bounds(json, accessor);
    json_end_object(json);
    return glb->count[GLB_ACCESSORS]++;
}

int glb_add_accessor(GlbWriter *glb, const GlbAccessor *accessor)
{
    size_t element = component_size(accessor->component) * (size_t)accessor->width;
    size_t size = element * (size_t)accessor->count;
    int view = add_view(glb, size, accessor->use);

    assert(accessor->count > 0 && (accessor->use != GLB_VERTICES || element % 4 == 0));
    write_bytes(&glb->binary, accessor->data, size);
    return describe_accessor(glb, accessor, view);
}

int glb_add_indices(GlbWriter *glb, const uint32_t *index, int count)
{
    GlbAccessor accessor = {
        .component = GLB_U16, .width = 1, .count = count, .data = index, .use = GLB_INDICES};

    // the greatest number of each width is not allowed: it restarts primitives
    for (int i = 0; i < count; i++)
        if (index[i] >= UINT16_MAX)
            accessor.component = GLB_U32;
    if (accessor.component == GLB_U32)
        return glb_add_accessor(glb, &accessor);
    int view = add_view(glb, (size_t)count * 2, GLB_INDICES);
    for (int i = 0; i < count; i++)
        write_u16(&glb->binary, (uint16_t)index[i]);
    return describe_accessor(glb, &accessor, view);
}

int glb_add_material(GlbWriter *glb, const GlbMaterial *material)
{
    JsonWriter *json = &glb->json[GLB_MATERIALS];

    json_begin_object(json, NULL);
    json_write_text(json, "name", material->name);
    json_begin_object(json, "pbrMetallicRoughness");
    json_write_floats(json, "baseColorFactor", material->color, 4);
    json_write_float(json, "metallicFactor", 0.0f);
    json_write_float(json, "roughnessFactor", material->roughness);
    json_end_object(json);
    if (material->is_double_sided)
        json_write_bool(json, "doubleSided", true);
    json_end_object(json);
    return glb->count[GLB_MATERIALS]++;
}

void glb_begin_mesh(GlbWriter *glb, const char *name)
{
    JsonWriter *json = &glb->json[GLB_MESHES];

    json_begin_object(json, NULL);
    json_write_text(json, "name", name);
    json_begin_array(json, "primitives");
}

static void write_reference(JsonWriter *json, const char *key, int index)
{
    if (index >= 0)
        json_write_int(json, key, index);
}

void glb_add_primitive(GlbWriter *glb, const GlbPrimitive *primitive)
{
    JsonWriter *json = &glb->json[GLB_MESHES];

    assert(primitive->target_count <= GLB_MAX_TARGETS);
    json_begin_object(json, NULL);
    json_begin_object(json, "attributes");
    write_reference(json, "POSITION", primitive->position);
    write_reference(json, "NORMAL", primitive->normal);
    write_reference(json, "TEXCOORD_0", primitive->texcoord);
    write_reference(json, "JOINTS_0", primitive->joints);
    write_reference(json, "WEIGHTS_0", primitive->weights);
    json_end_object(json);
    write_reference(json, "indices", primitive->index);
    write_reference(json, "material", primitive->material);
    if (primitive->target_count > 0) {
        json_begin_array(json, "targets");
        for (int i = 0; i < primitive->target_count; i++) {
            json_begin_object(json, NULL);
            json_write_int(json, "POSITION", primitive->target_position[i]);
            json_end_object(json);
        }
        json_end_array(json);
    }
    json_end_object(json);
}

int glb_end_mesh(GlbWriter *glb, const char *const *target_name, int target_count)
{
    JsonWriter *json = &glb->json[GLB_MESHES];

    json_end_array(json);
    if (target_name && target_count > 0) {
        json_begin_object(json, "extras");
        json_begin_array(json, "targetNames");
        for (int i = 0; i < target_count; i++)
            json_write_text(json, NULL, target_name[i]);
        json_end_array(json);
        json_end_object(json);
    }
    json_end_object(json);
    return glb->count[GLB_MESHES]++;
}

static void write_integers(JsonWriter *json, const char *key, const int *value, int count)
{
    json_begin_array(json, key);
    for (int i = 0; i < count; i++)
        json_write_int(json, NULL, value[i]);
    json_end_array(json);
}

int glb_add_skin(GlbWriter *glb, const GlbSkin *skin)
{
    JsonWriter *json = &glb->json[GLB_SKINS];
    int matrices = glb_add_accessor(glb, &(GlbAccessor){.component = GLB_FLOAT,
                                                        .width = 16,
                                                        .count = skin->joint_count,
                                                        .data = skin->inverse_bind});

    json_begin_object(json, NULL);
    json_write_text(json, "name", skin->name);
    json_write_int(json, "inverseBindMatrices", matrices);
    write_reference(json, "skeleton", skin->skeleton);
    write_integers(json, "joints", skin->joint, skin->joint_count);
    json_end_object(json);
    return glb->count[GLB_SKINS]++;
}

int glb_add_node(GlbWriter *glb, const GlbNode *node)
{
    JsonWriter *json = &glb->json[GLB_NODES];
    const float *t = node->translation;

    json_begin_object(json, NULL);
    json_write_text(json, "name", node->name);
    if (t[0] != 0.0f || t[1] != 0.0f || t[2] != 0.0f)
        json_write_floats(json, "translation", t, 3);
    write_reference(json, "mesh", node->mesh);
    write_reference(json, "skin", node->skin);
    if (node->child_count > 0)
        write_integers(json, "children", node->child, node->child_count);
    json_end_object(json);
    return glb->count[GLB_NODES]++;
}

void glb_add_root(GlbWriter *glb, int node)
{
    json_write_int(&glb->roots_json, NULL, node);
    glb->root_count++;
}

void glb_begin_animation(GlbWriter *glb, const char *name)
{
    JsonWriter *json = &glb->json[GLB_ANIMATIONS];

    text_clear(&glb->samplers);
    glb->samplers_json = json_writer(&glb->samplers, 0);
    glb->sampler_count = 0;
    json_begin_array(&glb->samplers_json, NULL);
    json_begin_object(json, NULL);
    json_write_text(json, "name", name);
    json_begin_array(json, "channels");
}

void glb_add_channel(GlbWriter *glb, int node, GlbPath path, int times, int values)
{
    static const char *const path_name[] = {"translation", "rotation", "scale", "weights"};
    JsonWriter *json = &glb->json[GLB_ANIMATIONS];

    json_begin_object(json, NULL);
    json_write_int(json, "sampler", glb->sampler_count++);
    json_begin_object(json, "target");
    json_write_int(json, "node", node);
    json_write_text(json, "path", path_name[path]);
    json_end_object(json);
    json_end_object(json);

    json = &glb->samplers_json;
    json_begin_object(json, NULL);
    json_write_int(json, "input", times);
    json_write_int(json, "output", values);
    json_end_object(json);
}

int glb_end_animation(GlbWriter *glb)
{
    JsonWriter *json = &glb->json[GLB_ANIMATIONS];

    json_end_array(&glb->samplers_json);
    json_end_array(json);
    json_write_raw(json, "samplers", text_string(&glb->samplers));
    json_end_object(json);
    return glb->count[GLB_ANIMATIONS]++;
}

void glb_add_extension(GlbWriter *glb, const char *name, const char *json)
{
    assert(glb->extension_count < GLB_MAX_EXTENSIONS);
    glb->extension[glb->extension_count++] = name;
    json_write_raw(&glb->extensions_json, name, json);
}

/* The whole of the JSON chunk but its padding. */
static void write_json(GlbWriter *glb, const char *generator, Text *out)
{
    JsonWriter json = json_writer(out, 0);

    json_begin_object(&json, NULL);
    json_begin_object(&json, "asset");
    json_write_text(&json, "version", "2.0");
    json_write_text(&json, "generator", generator);
    json_end_object(&json);
    if (glb->extension_count > 0) {
        json_begin_array(&json, "extensionsUsed");
        for (int i = 0; i < glb->extension_count; i++)
            json_write_text(&json, NULL, glb->extension[i]);
        json_end_array(&json);
    }
    if (glb->root_count > 0) {
        json_write_int(&json, "scene", 0);
        json_begin_array(&json, "scenes");
        json_begin_object(&json, NULL);
        json_write_raw(&json, "nodes", text_string(&glb->roots));
        json_end_object(&json);
        json_end_array(&json);
    }
    // glTF wants no empty arrays
    for (int i = 0; i < GLB_SECTION_COUNT; i++)
        if (glb->count[i] > 0)
            json_write_raw(&json, section_name[i], text_string(&glb->text[i]));
    if (glb->binary.size > 0) {
        json_begin_array(&json, "buffers");
        json_begin_object(&json, NULL);
        json_write_int(&json, "byteLength", (int64_t)glb->binary.size);
        json_end_object(&json);
        json_end_array(&json);
    }
    if (glb->extension_count > 0)
        json_write_raw(&json, "extensions", text_string(&glb->extensions));
    json_end_object(&json);
}

static size_t chunk_size(size_t size)
{
    return size > 0 ? 8 + (size + 3) / 4 * 4 : 0;
}

/* A chunk, filled up to a multiple of four bytes; none where it would be empty. */
static void write_chunk(ByteWriter *out, uint32_t type, Bytes chunk, uint8_t fill)
{
    if (chunk.size == 0)
        return;
    write_u32(out, (uint32_t)(chunk_size(chunk.size) - 8));
    write_u32(out, type);
    write_bytes(out, chunk.data, chunk.size);
    for (size_t i = chunk.size; i % 4 != 0; i++)
        write_u8(out, fill);
}

Status glb_write(GlbWriter *glb, const char *generator, ByteWriter *out, Error *err)
{
    Text text = text_open(glb->binary.maximum, glb->err);

    for (int i = 0; i < GLB_SECTION_COUNT; i++)
        json_end_array(&glb->json[i]);
    json_end_object(&glb->extensions_json);
    json_end_array(&glb->roots_json);
    write_json(glb, generator, &text);
    if (!glb->err->status) {
        Bytes json = byte_writer_bytes(&text.buffer);
        Bytes binary = byte_writer_bytes(&glb->binary);
        json.size = text_length(&text);
        write_u32(out, GLB_MAGIC);
        write_u32(out, 2);
        write_u32(out, (uint32_t)(12 + chunk_size(json.size) + chunk_size(binary.size)));
        write_chunk(out, GLB_CHUNK_JSON, json, ' ');
        write_chunk(out, GLB_CHUNK_BIN, binary, 0);
    }
    text_close(&text);

    const Error *failure = glb->err->status ? glb->err : out->err;
    if (failure->status && failure != err)
        *err = *failure;
    return failure->status;
}
