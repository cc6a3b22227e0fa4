#include "formats/export_points.h"

#include "formats/export_formats.h"

#include <stdio.h>
#include <string.h>

static bool is_primitive_key(const char *key, const char *node, int primitive)
{
    char suffix[16] = "";
    size_t size = strlen(node);

    if (primitive > 0)
        (void)snprintf(suffix, sizeof suffix, "/%d", primitive);
    return strncmp(key, node, size) == 0 && strcmp(key + size, suffix) == 0;
}

/* The node's primitives at the channel `first`; 0 where they are not there. */
static int count_primitives(const Rig *rig, int node, const FrameHeader *header, int first)
{
    const RigMesh *mesh = &rig->mesh[rig->node[node].mesh];
    int count = 0;

    while (count < mesh->primitive_count && first + count < header->channel_count) {
        const FrameChannel *channel = &header->channel[first + count];
        if (channel->key_count != 1 ||
            !is_primitive_key(channel->key[0], rig->node[node].key, count) ||
            channel->float_count != 3 * mesh->primitive[count].vertex_count)
            break;
        count++;
    }
    return count == mesh->primitive_count ? count : 0;
}

/* Channels stand in the order of nodes and their primitives; meshes may have been left out. */
static Status list_meshes(const Rig *rig, const FrameHeader *header, Points *points, Error *err)
{
    int next = 0;

    for (int i = 0; i < rig->node_count; i++) {
        int count = rig->node[i].mesh >= 0 ? count_primitives(rig, i, header, next) : 0;
        PointMesh mesh = {.node = i, .first_channel = next, .primitive_count = count};

        if (!count)
            continue;
        for (int j = 0; j < count; j++)
            mesh.vertex_count += header->channel[next + j].float_count / 3;
        points->mesh[points->mesh_count++] = mesh;
        next += count;
    }
    if (next < header->channel_count)
        return error_set(err, STATUS_INVALID,
                         "the frames hold positions of \"%s\", which the model lacks",
                         header->channel[next].key_count ? header->channel[next].key[0] : "");
    return STATUS_OK;
}

Status points_open(const Rig *rig, Bytes frames, ExportFormat format, Arena *scratch, Points *out,
                   Error *err)
{
    static const bool wanted[CHANNEL_KIND_COUNT] = {[CHANNEL_POSITIONS] = true};
    Points points = {.mesh = arena_array(scratch, PointMesh, rig->node_count)};
    int most = 0;

    if (!points.mesh)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", rig->node_count);
    if (frame_file_open(frames, wanted, scratch, &points.file, err))
        return error_context(err, "frames");
    points.frame_count = points.file.index.frame_count;
    if (points.file.header->channel_count == 0)
        return export_want_positions(format, err);
    if (points.frame_count == 0)
        return error_set(err, STATUS_INVALID, "the bake holds no whole frame to export");
    if (list_meshes(rig, points.file.header, &points, err))
        return err->status;
    for (int i = 0; i < points.mesh_count; i++)
        if (points.mesh[i].vertex_count > most)
            most = points.mesh[i].vertex_count;
    points.point = arena_scratch(scratch, float, 3 * (size_t)most);
    if (!points.point)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d vertices", most);
    *out = points;
    return STATUS_OK;
}

/* "A", "B", "C" of the meshes' nodes: for the message. */
static void list_keys(const Rig *rig, char *out, size_t size)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < rig->node_count && used + 64 < size; i++)
        if (rig->node[i].mesh >= 0)
            used += (size_t)snprintf(out + used, size - used, "%s\"%.40s\"", used ? ", " : "",
                                     rig->node[i].key);
}

Status points_find_node(const Rig *rig, const char *target, ExportFormat format, int *out,
                        Error *err)
{
    int found = -1, count = 0;
    char keys[256];

    for (int i = 0; i < rig->node_count; i++)
        if (rig->node[i].mesh >= 0) {
            count++;
            if (!target || strcmp(rig->node[i].key, target) == 0)
                found = i;
        }
    if (found >= 0 && (target || count == 1)) {
        *out = found;
        return STATUS_OK;
    }
    list_keys(rig, keys, sizeof keys);
    if (target)
        return error_set(err, STATUS_INVALID,
                         "target: the model has no mesh at a node \"%.80s\", but at %s", target,
                         count ? keys : "none");
    return error_set(err, STATUS_INVALID,
                     "target: %s holds one mesh and the model has %d: name the node of one, of %s",
                     export_format_name(format), count, count ? keys : "none");
}

Status points_find(const Points *points, const Rig *rig, const char *target, ExportFormat format,
                   const PointMesh **out, Error *err)
{
    int node = -1;

    if (points_find_node(rig, target, format, &node, err))
        return err->status;
    for (int i = 0; i < points->mesh_count; i++)
        if (points->mesh[i].node == node) {
            *out = &points->mesh[i];
            return STATUS_OK;
        }
    return error_set(err, STATUS_INVALID, "target: the bake holds no positions of \"%.80s\"",
                     rig->node[node].key);
}

Status points_read(Points *points, const PointMesh *mesh, int k, Error *err)
{
    const FrameHeader *header = points->file.header;
    bool is_seam = header->is_loop && k == points->frame_count - 1;
    float *to = points->point;
    FrameData data;

    // the seam of a cycle is closed for good
    if (frame_file_read(&points->file, header->first_frame + (is_seam ? 0 : k), &data, err))
        return error_context(err, "frames");
    for (int i = 0; i < mesh->primitive_count; i++) {
        int c = mesh->first_channel + i;
        size_t count = (size_t)header->channel[c].float_count;

        memcpy(to, data.data[c], count * sizeof *to);
        to += count;
    }
    return STATUS_OK;
}

double points_time(const Points *points, int k)
{
    const FrameHeader *header = points->file.header;

    return (double)(header->first_frame + k) * header->fps_denominator / header->fps_numerator;
}
