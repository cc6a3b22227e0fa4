#include "formats/accessor.h"

#include "formats/buffer.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "glTF's numbers are little-endian");

enum {
    COMPONENT_INT8 = 5120,
    COMPONENT_UINT8 = 5121,
    COMPONENT_INT16 = 5122,
    COMPONENT_UINT16 = 5123,
    COMPONENT_UINT32 = 5125,
    COMPONENT_FLOAT = 5126
};

/* --- the table --- */

/* Bytes of a component, 0 for a type that glTF does not have. */
static int component_size(int component)
{
    switch (component) {
    case COMPONENT_INT8:
    case COMPONENT_UINT8:
        return 1;
    case COMPONENT_INT16:
    case COMPONENT_UINT16:
        return 2;
    case COMPONENT_UINT32:
    case COMPONENT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static void read_sparse(Gltf *gltf, const JsonReader *object, GltfAccessor *accessor)
{
    JsonReader sparse = json_member(object, "sparse");
    JsonReader indices = json_member(&sparse, "indices");
    JsonReader values = json_member(&sparse, "values");

    if (json_is_absent(&sparse))
        return;
    accessor->sparse_count = json_int(&sparse, "count", 1, accessor->count);
    accessor->sparse_index_view =
        gltf_index(&indices, "bufferView", gltf->view_count, "buffer views");
    accessor->sparse_index_offset = (size_t)json_number_or(&indices, "byteOffset", 0, 0, 1e15);
    accessor->sparse_index_component = json_int(&indices, "componentType", 0, 1 << 16);
    accessor->sparse_value_view =
        gltf_index(&values, "bufferView", gltf->view_count, "buffer views");
    accessor->sparse_value_offset = (size_t)json_number_or(&values, "byteOffset", 0, 0, 1e15);
    if (accessor->sparse_index_view < 0 || accessor->sparse_value_view < 0)
        json_fault(&sparse, "must have views of its indices and values");
    int component = accessor->sparse_index_component;
    if (component != COMPONENT_UINT8 && component != COMPONENT_UINT16 &&
        component != COMPONENT_UINT32)
        json_fault(&indices, "must have unsigned integers");
}

static void read_accessor(Gltf *gltf, const JsonReader *object, GltfAccessor *accessor)
{
    static const char *const types[] = {"",     "SCALAR", "VEC2", "VEC3",
                                        "VEC4", "MAT2",   "MAT3", "MAT4"};
    static const int widths[] = {0, 1, 2, 3, 4, 4, 9, 16};
    int type = json_choice_or(object, "type", types, 8, 0);

    accessor->view = gltf_index(object, "bufferView", gltf->view_count, "buffer views");
    accessor->offset = (size_t)json_number_or(object, "byteOffset", 0, 0, 1e15);
    accessor->component = json_int(object, "componentType", 0, 1 << 16);
    accessor->component_size = component_size(accessor->component);
    accessor->count = json_int(object, "count", 0, INT32_MAX);
    accessor->is_normalized = json_bool_or(object, "normalized", false);
    accessor->width = widths[type];
    accessor->is_matrix = type >= 5;
    if (!accessor->width)
        json_fault(object, "must have a \"type\": SCALAR, VEC2, VEC3, VEC4, MAT2, MAT3 or MAT4");
    if (!accessor->component_size)
        json_fault(object, "has the component type %d, which glTF does not have",
                   accessor->component);
    read_sparse(gltf, object, accessor);
}

void gltf_read_accessors(Gltf *gltf)
{
    JsonReader item;
    JsonReader list = gltf_list(gltf, &gltf->root, "accessors", GLTF_MAX_ACCESSORS, "accessors",
                                &gltf->accessor_count);

    gltf->accessor = gltf_scratch(gltf, GltfAccessor, gltf->accessor_count);
    gltf->decoded = gltf_scratch(gltf, const void *, gltf->accessor_count *USE_COUNT);
    if (gltf_failed(gltf) || !gltf->accessor_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_accessor(gltf, &item, &gltf->accessor[i]);
}

bool accessor_is_missing(const Gltf *gltf, int index)
{
    const GltfAccessor *accessor = &gltf->accessor[index];

    if (accessor->view >= 0 && gltf_view_is_missing(gltf, accessor->view))
        return true;
    return accessor->sparse_count && (gltf_view_is_missing(gltf, accessor->sparse_index_view) ||
                                      gltf_view_is_missing(gltf, accessor->sparse_value_view));
}

/* --- elements in bytes --- */

/* `count` elements somewhere in a view: element i begins at data + i stride. */
typedef struct Elements {
    const uint8_t *data;
    size_t stride;
    int count;
    int width;
    int component;
    bool is_normalized;
} Elements;

/* The place of `count` elements of `size` bytes in a view, or a failure when they do not fit. */
static bool locate(Gltf *gltf, int view, size_t offset, size_t size, Elements *out)
{
    Bytes bytes = gltf_view_bytes(gltf, view);
    size_t stride = gltf->view[view].stride ? (size_t)gltf->view[view].stride : size;

    if (gltf_failed(gltf))
        return false;
    // offset < 2^50, count < 2^31 and stride <= 256: no sum overflows
    size_t end = out->count ? offset + stride * ((size_t)out->count - 1) + size : offset;
    if (end > bytes.size) {
        gltf_fail(gltf, STATUS_INVALID,
                  "%d elements end at byte %zu of buffer view %d, which has "
                  "%zu",
                  out->count, end, view, bytes.size);
        return false;
    }
    out->data = bytes.data + offset;
    out->stride = stride;
    return true;
}

static int32_t integer_at(const uint8_t *at, int component)
{
    int16_t i16;
    uint16_t u16;

    switch (component) {
    case COMPONENT_INT8:
        return (int8_t)*at;
    case COMPONENT_UINT8:
        return *at;
    case COMPONENT_INT16:
        memcpy(&i16, at, sizeof i16);
        return i16;
    default:
        memcpy(&u16, at, sizeof u16);
        return u16;
    }
}

/* A component as a number; normalised integers as glTF 3.11 maps them to [0, 1] and [-1, 1]. */
static float float_at(const uint8_t *at, int component, bool is_normalized)
{
    static const float top[4] = {127.0f, 255.0f, 32767.0f, 65535.0f};
    float value;
    uint32_t u32;

    if (component == COMPONENT_FLOAT) {
        memcpy(&value, at, sizeof value);
        return value;
    }
    if (component == COMPONENT_UINT32) {
        memcpy(&u32, at, sizeof u32);
        return is_normalized ? (float)((double)u32 / 4294967295.0) : (float)u32;
    }
    value = (float)integer_at(at, component);
    if (!is_normalized)
        return value;
    value /= top[component - COMPONENT_INT8];
    return value < -1.0f ? -1.0f : value;
}

static void copy_floats(const Elements *from, float *out)
{
    size_t size = (size_t)component_size(from->component);
    size_t width = (size_t)from->width;

    for (size_t i = 0; i < (size_t)from->count; i++) {
        const uint8_t *at = from->data + i * from->stride;
        if (from->component == COMPONENT_FLOAT)
            memcpy(out + i * width, at, width * sizeof *out);
        else
            for (size_t c = 0; c < width; c++)
                out[i * width + c] = float_at(at + c * size, from->component, from->is_normalized);
    }
}

static void copy_integers(const Elements *from, uint32_t *out)
{
    size_t size = (size_t)component_size(from->component);
    size_t width = (size_t)from->width;

    for (size_t i = 0; i < (size_t)from->count; i++) {
        const uint8_t *at = from->data + i * from->stride;
        for (size_t c = 0; c < width; c++)
            if (size == 4)
                memcpy(out + i * width + c, at + c * size, 4);
            else
                out[i * width + c] = (uint32_t)integer_at(at + c * size, from->component);
    }
}

/* --- sparse substitution --- */

/* The indices of the substituted elements, in temp; NULL after a failure. */
static uint32_t *read_sparse_indices(Gltf *gltf, const GltfAccessor *accessor)
{
    Elements from = {
        .count = accessor->sparse_count, .width = 1, .component = accessor->sparse_index_component};
    size_t size = (size_t)component_size(from.component);

    // substituted data is packed tightly whatever its view says (3.6.2.3)
    if (!locate(gltf, accessor->sparse_index_view, accessor->sparse_index_offset, size, &from))
        return NULL;
    uint32_t *index = gltf_temp(gltf, uint32_t, accessor->sparse_count);
    if (!index)
        return NULL;
    copy_integers(&from, index);
    for (int i = 0; i < accessor->sparse_count; i++)
        if (index[i] >= (uint32_t)accessor->count) {
            gltf_fail(gltf, STATUS_INVALID, "its sparse index %d is %u of %d elements", i, index[i],
                      accessor->count);
            return NULL;
        }
    return index;
}

static bool locate_sparse_values(Gltf *gltf, const GltfAccessor *accessor, Elements *out)
{
    size_t size = (size_t)accessor->width * (size_t)accessor->component_size;

    *out = (Elements){.count = accessor->sparse_count,
                      .width = accessor->width,
                      .component = accessor->component,
                      .is_normalized = accessor->is_normalized};
    return locate(gltf, accessor->sparse_value_view, accessor->sparse_value_offset, size, out);
}

static bool substitute_floats(Gltf *gltf, const GltfAccessor *accessor, float *out)
{
    size_t width = (size_t)accessor->width, mark = arena_mark(gltf->temp);
    Elements from;
    uint32_t *index = read_sparse_indices(gltf, accessor);

    if (index && locate_sparse_values(gltf, accessor, &from))
        for (int i = 0; i < accessor->sparse_count; i++) {
            Elements one = from;
            one.data += (size_t)i * from.stride;
            one.count = 1;
            copy_floats(&one, out + index[i] * width);
        }
    arena_rewind(gltf->temp, mark);
    return !gltf->err->status;
}

static bool substitute_integers(Gltf *gltf, const GltfAccessor *accessor, uint32_t *out)
{
    size_t width = (size_t)accessor->width, mark = arena_mark(gltf->temp);
    Elements from;
    uint32_t *index = read_sparse_indices(gltf, accessor);

    if (index && locate_sparse_values(gltf, accessor, &from))
        for (int i = 0; i < accessor->sparse_count; i++) {
            Elements one = from;
            one.data += (size_t)i * from.stride;
            one.count = 1;
            copy_integers(&one, out + index[i] * width);
        }
    arena_rewind(gltf->temp, mark);
    return !gltf->err->status;
}

/* --- whole accessors --- */

/* The accessor's own elements; data stays NULL for one without a view (zeroes). */
static bool locate_elements(Gltf *gltf, const GltfAccessor *accessor, int width, Elements *out)
{
    // columns of narrow matrices are padded to four bytes; nothing that is read here has them
    if (accessor->width != width || (accessor->is_matrix && accessor->component_size != 4)) {
        gltf_fail(gltf, STATUS_INVALID, "it has elements of %d numbers instead of %d",
                  accessor->width, width);
        return false;
    }
    *out = (Elements){.count = accessor->count,
                      .width = width,
                      .component = accessor->component,
                      .is_normalized = accessor->is_normalized};
    if (accessor->view < 0)
        return true;
    return locate(gltf, accessor->view, accessor->offset,
                  (size_t)width * (size_t)accessor->component_size, out);
}

bool accessor_read_floats(Gltf *gltf, int index, int width, float *out)
{
    const GltfAccessor *accessor = &gltf->accessor[index];
    Elements from = {0};
    bool is_read = locate_elements(gltf, accessor, width, &from);

    if (is_read && from.data)
        copy_floats(&from, out);
    else if (is_read)
        memset(out, 0, (size_t)accessor->count * (size_t)width * sizeof *out);
    if (is_read && accessor->sparse_count)
        is_read = substitute_floats(gltf, accessor, out);
    if (!is_read)
        error_context(gltf->err, "accessor %d", index);
    return is_read;
}

bool accessor_read_integers(Gltf *gltf, int index, int width, uint32_t *out)
{
    const GltfAccessor *accessor = &gltf->accessor[index];
    Elements from = {0};
    bool is_read = locate_elements(gltf, accessor, width, &from);

    if (is_read && accessor->component == COMPONENT_FLOAT)
        is_read = !gltf_fail(gltf, STATUS_INVALID, "it has floats instead of integers");
    if (is_read && from.data)
        copy_integers(&from, out);
    else if (is_read)
        memset(out, 0, (size_t)accessor->count * (size_t)width * sizeof *out);
    if (is_read && accessor->sparse_count)
        is_read = substitute_integers(gltf, accessor, out);
    if (!is_read)
        error_context(gltf->err, "accessor %d", index);
    return is_read;
}

/* Turn to metres and Y up in place. */
static void convert(const Gltf *gltf, AccessorUse use, float *value, size_t count)
{
    if (gltf->unit == 1.0f && !gltf->options->is_z_up)
        return;
    for (size_t i = 0; i < count; i++) {
        Vec3 *v = (Vec3 *)(void *)(value + 3 * i);
        Quat *q = (Quat *)(void *)(value + 4 * i);
        switch (use) {
        case USE_POSITION:
        case USE_TRANSLATION:
            *v = gltf_point(gltf, *v);
            break;
        case USE_NORMAL:
            *v = gltf_direction(gltf, *v);
            break;
        case USE_SCALE:
            *v = gltf_scale(gltf, *v);
            break;
        case USE_ROTATION:
            *q = gltf_rotation(gltf, *q);
            break;
        default:
            return;
        }
    }
}

/* The first number that is not finite, -1 when all are. */
static int64_t find_not_finite(const float *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return (int64_t)i;
    return -1;
}

static const float *decode_floats(Gltf *gltf, int index, int width, AccessorUse use)
{
    const GltfAccessor *accessor = &gltf->accessor[index];
    bool is_clip = use >= USE_TRANSLATION;
    size_t count = (size_t)accessor->count * (size_t)width;

    if (is_clip && accessor->width != width)
        return NULL;
    float *value = gltf_array(gltf, float, count);
    if (!value || !accessor_read_floats(gltf, index, width, value))
        return NULL;
    convert(gltf, use, value, (size_t)accessor->count);
    int64_t bad = find_not_finite(value, count);
    if (bad >= 0 && !is_clip)
        gltf_fail(gltf, STATUS_INVALID, "accessor %d: component %d of element %d is not finite",
                  index, (int)(bad % width), (int)(bad / width));
    return bad < 0 ? value : NULL;
}

const float *accessor_floats(Gltf *gltf, int index, int width, AccessorUse use)
{
    const void **known = &gltf->decoded[(size_t)index * USE_COUNT + (size_t)use];

    if (accessor_is_missing(gltf, index) || gltf_failed(gltf))
        return NULL;
    // the table itself stands for "of no use"
    if (!*known) {
        const float *value = decode_floats(gltf, index, width, use);
        *known = value ? (const void *)value : (const void *)gltf->decoded;
    }
    if (*known == (const void *)gltf->decoded)
        return NULL;
    return gltf->accessor[index].width == width ? *known : NULL;
}

static const double *decode_times(Gltf *gltf, int index)
{
    const GltfAccessor *accessor = &gltf->accessor[index];
    size_t count = (size_t)accessor->count, mark = arena_mark(gltf->temp);

    if (accessor->width != 1 || !count)
        return NULL;
    double *time = gltf_array(gltf, double, count);
    float *value = gltf_temp(gltf, float, count);
    bool is_good = time && value && accessor_read_floats(gltf, index, 1, value);
    for (size_t i = 0; is_good && i < count; i++) {
        time[i] = (double)value[i];
        is_good = isfinite(value[i]) && (i == 0 || value[i] > value[i - 1]);
    }
    arena_rewind(gltf->temp, mark);
    return is_good ? time : NULL;
}

const double *accessor_times(Gltf *gltf, int index)
{
    const void **known = &gltf->decoded[(size_t)index * USE_COUNT + USE_TIME];

    if (accessor_is_missing(gltf, index) || gltf_failed(gltf))
        return NULL;
    if (!*known) {
        const double *time = decode_times(gltf, index);
        *known = time ? (const void *)time : (const void *)gltf->decoded;
    }
    return *known == (const void *)gltf->decoded ? NULL : *known;
}
