#include "formats/gltf.h"

#include "formats/accessor.h"
#include "formats/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool gltf_failed(Gltf *gltf)
{
    return gltf->err->status || (gltf->faults.count && faults_status(&gltf->faults, gltf->err));
}

Status gltf_fail(Gltf *gltf, Status status, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;

    if (gltf_failed(gltf))
        return gltf->err->status;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_set(gltf->err, status, "%s", message);
}

void *gltf_alloc(Gltf *gltf, Arena *arena, size_t count, size_t size, size_t alignment)
{
    void *memory = arena_alloc(arena, count, size, alignment);

    if (!memory)
        gltf_fail(gltf, STATUS_NO_MEMORY, "no room for %zu items of %zu bytes", count, size);
    return memory;
}

/* --- JSON members --- */

JsonReader gltf_list(Gltf *gltf, const JsonReader *object, const char *key, int max,
                     const char *what, int *out_count)
{
    JsonReader list = json_member(object, key);

    *out_count = 0;
    if (json_is_absent(&list))
        return list;
    if (!json_is_array(&list)) {
        json_fault(&list, "must be an array");
        return list;
    }
    int count = json_count(&list);
    if (count > max)
        gltf_fail(gltf, STATUS_LIMIT, "the file has %d %s, the limit is %d", count, what, max);
    else
        *out_count = count;
    return list;
}

int gltf_as_index(const JsonReader *item, int count, const char *what)
{
    double value = json_is_number(item) ? json_as_number(item, -1e300, 1e300) : -1.0;

    if (value >= 0.0 && value < (double)count && value == (double)(int)value)
        return (int)value;
    if (json_is_number(item))
        json_fault(item, "is %.17g, but the file has %d %s", value, count, what);
    else
        json_fault(item, "must be an index of the file's %d %s", count, what);
    return 0;
}

int gltf_index(const JsonReader *object, const char *key, int count, const char *what)
{
    JsonReader member = json_member(object, key);

    return json_is_absent(&member) ? -1 : gltf_as_index(&member, count, what);
}

int gltf_find_index(const JsonReader *object, const char *key, int count)
{
    JsonReader member = json_member(object, key);
    double value = json_is_number(&member) ? json_as_number(&member, -1e300, 1e300) : -1.0;

    return value >= 0.0 && value < (double)count && value == (double)(int)value ? (int)value : -1;
}

const char *gltf_name(Gltf *gltf, const JsonReader *object)
{
    JsonReader member = json_member(object, "name");

    if (!json_is_text(&member))
        return "";
    const char *name = json_as_text(&member, 1 << 30);
    size_t size = strlen(name);
    if (size > (size_t)gltf->options->limits.name_size) {
        gltf_fail(gltf, STATUS_LIMIT, "the name \"%.40s...\" has %zu bytes, the limit is %d", name,
                  size, gltf->options->limits.name_size);
        return "";
    }
    char *copy = arena_text(gltf->arena, name, size);
    if (!copy)
        gltf_fail(gltf, STATUS_NO_MEMORY, "no room for names");
    return copy ? copy : "";
}

const char *gltf_key(Gltf *gltf, const char *name, const char *what, int index)
{
    if (*name)
        return name;
    const char *key = arena_format(gltf->arena, "%s%d", what, index);
    if (!key)
        gltf_fail(gltf, STATUS_NO_MEMORY, "no room for names");
    return key ? key : "";
}

void gltf_extension(const JsonReader *object, const char *name, GltfExtension *out)
{
    out->extensions = json_member(object, "extensions");
    out->value = json_member(&out->extensions, name);
    if (!json_is_absent(&out->value) && !json_is_object(&out->value))
        json_fault(&out->value, "must be an object");
}

float gltf_float_or(const JsonReader *object, const char *key, float otherwise)
{
    return (float)json_number_or(object, key, (double)otherwise, -1e30, 1e30);
}

Vec3 gltf_vec3_or(Gltf *gltf, const JsonReader *object, const char *key, Vec3 otherwise)
{
    float v[3];

    if (!json_floats(object, key, 3, v))
        return otherwise;
    if (!isfinite(v[0]) || !isfinite(v[1]) || !isfinite(v[2])) {
        JsonReader member = json_member(object, key);
        json_fault(&member, "must hold finite numbers");
        return otherwise;
    }
    (void)gltf;
    return vec3(v[0], v[1], v[2]);
}

/* --- file space to ours --- */

/* (x, y, z) of a Z-up file is (x, z, -y) with Y up: a quarter turn about x. */
Vec3 gltf_direction(const Gltf *gltf, Vec3 v)
{
    return gltf->options->is_z_up ? vec3(v.x, v.z, -v.y) : v;
}

Vec3 gltf_point(const Gltf *gltf, Vec3 v)
{
    return vec3_scale(gltf_direction(gltf, v), gltf->unit);
}

Vec3 gltf_scale(const Gltf *gltf, Vec3 v)
{
    return gltf->options->is_z_up ? vec3(v.x, v.z, v.y) : v;
}

Quat gltf_rotation(const Gltf *gltf, Quat q)
{
    return gltf->options->is_z_up ? (Quat){q.x, q.z, -q.y, q.w} : q;
}

/* C M C^-1 with the turn C above; the translation in metres. */
Affine gltf_affine(const Gltf *gltf, const Affine *a)
{
    static const int from[3] = {0, 2, 1};
    static const float sign[3] = {1.0f, 1.0f, -1.0f};
    Affine out = *a;

    for (int i = 0; gltf->options->is_z_up && i < 3; i++) {
        for (int j = 0; j < 3; j++)
            out.m[4 * i + j] = sign[i] * sign[j] * a->m[4 * from[i] + from[j]];
        out.m[4 * i + 3] = sign[i] * a->m[4 * from[i] + 3];
    }
    for (int i = 0; i < 3; i++)
        out.m[4 * i + 3] *= gltf->unit;
    return out;
}

float gltf_length(const Gltf *gltf, float length)
{
    return length * gltf->unit;
}

/* --- opening --- */

/* What a file may require without losing anything that a simulation sees. */
static bool is_known_extension(const char *name)
{
    static const char *const known[] = {"KHR_mesh_quantization",
                                        "EXT_meshopt_compression",
                                        "KHR_texture_transform",
                                        "KHR_texture_basisu",
                                        "EXT_texture_webp",
                                        "EXT_texture_avif",
                                        "MSFT_texture_dds",
                                        "KHR_lights_punctual",
                                        "EXT_lights_image_based",
                                        "KHR_animation_pointer",
                                        "KHR_node_visibility",
                                        "KHR_xmp",
                                        "KHR_xmp_json_ld",
                                        "VRM",
                                        "VRMC_vrm",
                                        "VRMC_vrm_animation",
                                        "VRMC_springBone",
                                        "VRMC_springBone_extended_collider",
                                        "VRMC_node_constraint",
                                        "VRMC_materials_mtoon",
                                        "VRMC_materials_hdr_emissiveMultiplier"};

    if (strncmp(name, "KHR_materials_", 14) == 0)
        return true;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

static const char *extension_advice(const char *name)
{
    static const struct {
        const char *name, *advice;
    } advice[] = {
        {"KHR_draco_mesh_compression", "export it again without Draco mesh compression"},
        {"KHR_meshopt_compression",
         "export it again with EXT_meshopt_compression or without compression"},
        {"EXT_mesh_gpu_instancing", "export it again with instances as nodes"},
        {"KHR_gaussian_splatting", "splats have no mesh to simulate"},
    };

    for (size_t i = 0; i < sizeof advice / sizeof advice[0]; i++)
        if (strcmp(name, advice[i].name) == 0)
            return advice[i].advice;
    return "export it again without this extension";
}

static void check_required_extensions(Gltf *gltf)
{
    int count;
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, &gltf->root, "extensionsRequired", 1000, "required extensions", &count);

    for (bool more = count && json_first(&list, &item); more; more = json_next(&item)) {
        const char *name = json_as_text(&item, 1000);
        if (gltf_failed(gltf))
            return;
        if (!is_known_extension(name))
            gltf_fail(gltf, STATUS_INVALID, "the file requires \"%.100s\", which is not read: %s",
                      name, extension_advice(name));
    }
}

static void check_asset_version(Gltf *gltf)
{
    JsonReader asset = json_member(&gltf->root, "asset");
    JsonReader version = json_member(&asset, "version");

    if (!json_is_object(&gltf->root) || json_is_absent(&asset))
        gltf_fail(gltf, STATUS_INVALID, "not a glTF file: it has no \"asset\"");
    else if (!json_is_text(&version) || strncmp(json_as_text(&version, 100), "2.", 2) != 0)
        gltf_fail(gltf, STATUS_INVALID,
                  "only glTF 2 is read, and \"asset.version\" is not \"2.0\": export it again");
}

/* The place of the quote that ends the text beginning at `start`; the end where there is none. */
static size_t find_end_of_text(Bytes json, size_t start)
{
    const uint8_t *at = json.data + start;
    const uint8_t *end = json.data + json.size;

    while (at < end && (at = memchr(at, '"', (size_t)(end - at)))) {
        const uint8_t *before = at;
        while (before > json.data + start && before[-1] == '\\')
            before--;
        // an odd number of backslashes escapes the quote
        if ((at - before) % 2 == 0)
            return (size_t)(at - json.data);
        at++;
    }
    return json.size;
}

/* Every value but the last of a container has a comma behind it; counting those outside of texts
 * bounds what the parser will allocate. */
static int64_t count_values(Bytes json)
{
    int64_t count = 1;

    for (size_t i = 0; i < json.size; i++) {
        uint8_t c = json.data[i];
        if (c == '"')
            i = find_end_of_text(json, i + 1);
        else
            count += c == ',' || c == '[' || c == '{';
    }
    return count;
}

Status gltf_open_json(Bytes json, const AssetLimits *limits, JsonDocument *out, Error *err)
{
    // a byte order mark is forbidden and harmless
    if (json.size >= 3 && memcmp(json.data, "\xEF\xBB\xBF", 3) == 0)
        json = (Bytes){json.data + 3, json.size - 3};
    if (count_values(json) > GLTF_MAX_JSON_VALUES)
        return error_set(err, STATUS_LIMIT, "the JSON has more than %d values",
                         GLTF_MAX_JSON_VALUES);
    if (json_open(json, limits->json_depth, out, err))
        return error_context(err, "the JSON cannot be read");
    return STATUS_OK;
}

Status gltf_open(Gltf *gltf, const GltfSource *source)
{
    if (gltf_open_json(source->json, &gltf->options->limits, &gltf->json, gltf->err))
        return gltf->err->status;
    gltf->faults = faults_open(gltf->scratch, 1);
    gltf->root = json_root(&gltf->json, &gltf->faults);
    gltf->binary = source->binary;
    gltf->has_binary = source->has_binary;
    check_asset_version(gltf);
    if (gltf_failed(gltf))
        return gltf->err->status;
    check_required_extensions(gltf);
    gltf_read_buffers(gltf);
    if (!gltf_failed(gltf))
        gltf_read_views(gltf);
    if (!gltf_failed(gltf))
        gltf_read_accessors(gltf);
    return gltf_failed(gltf) ? gltf->err->status : STATUS_OK;
}

void gltf_close(Gltf *gltf)
{
    json_close(&gltf->json);
}
