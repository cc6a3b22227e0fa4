#include "formats/meshopt.h"

#include <meshoptimizer.h>

/* The combinations the extension allows, and that the decoder asserts. */
static bool is_allowed(const GltfView *view)
{
    int stride = view->packed_stride;

    if (view->mode == MESHOPT_TRIANGLES)
        return (stride == 2 || stride == 4) && view->packed_count % 3 == 0 && !view->filter;
    if (view->mode == MESHOPT_INDICES)
        return (stride == 2 || stride == 4) && !view->filter;
    switch (view->filter) {
    case MESHOPT_FILTER_OCTAHEDRAL:
        return stride == 4 || stride == 8;
    case MESHOPT_FILTER_QUATERNION:
        return stride == 8;
    default:
        return stride % 4 == 0 && stride <= 256;
    }
}

static int decode(const GltfView *view, Bytes packed, uint8_t *out)
{
    size_t count = (size_t)view->packed_count;
    size_t stride = (size_t)view->packed_stride;

    switch (view->mode) {
    case MESHOPT_TRIANGLES:
        return meshopt_decodeIndexBuffer(out, count, stride, packed.data, packed.size);
    case MESHOPT_INDICES:
        return meshopt_decodeIndexSequence(out, count, stride, packed.data, packed.size);
    default:
        return meshopt_decodeVertexBuffer(out, count, stride, packed.data, packed.size);
    }
}

static void filter(const GltfView *view, uint8_t *out)
{
    size_t count = (size_t)view->packed_count;
    size_t stride = (size_t)view->packed_stride;

    switch (view->filter) {
    case MESHOPT_FILTER_OCTAHEDRAL:
        meshopt_decodeFilterOct(out, count, stride);
        break;
    case MESHOPT_FILTER_QUATERNION:
        meshopt_decodeFilterQuat(out, count, stride);
        break;
    case MESHOPT_FILTER_EXPONENTIAL:
        meshopt_decodeFilterExp(out, count, stride);
        break;
    default:
        break;
    }
}

Bytes meshopt_decode(Gltf *gltf, const GltfView *view, Bytes packed)
{
    size_t size = (size_t)view->packed_count * (size_t)view->packed_stride;
    size_t limit = (size_t)gltf->options->limits.file_size;

    if (!is_allowed(view) || size != view->size) {
        gltf_fail(gltf, STATUS_INVALID,
                  "EXT_meshopt_compression of %d elements of %d bytes is not valid",
                  view->packed_count, view->packed_stride);
        return (Bytes){0};
    }
    if (size > limit - gltf->decoded_size) {
        gltf_fail(gltf, STATUS_LIMIT, "the file has more than %zu bytes decompressed", limit);
        return (Bytes){0};
    }
    gltf->decoded_size += size;
    // the alignment of the filters' widest access
    uint8_t *out = gltf_alloc(gltf, gltf->scratch, size ? size : 1, 1, 16);
    if (!out)
        return (Bytes){0};
    if (decode(view, packed, out)) {
        gltf_fail(gltf, STATUS_INVALID, "the data of EXT_meshopt_compression is damaged");
        return (Bytes){0};
    }
    filter(view, out);
    return (Bytes){out, size};
}
