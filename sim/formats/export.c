#include "formats/export_formats.h"
#include "formats/export_points.h"

#include <string.h>

static const struct {
    const char *name, *media_type;
    bool needs_positions, takes_reduce, takes_target;
    Status (*write)(const ExportSource *source, Bytes frames, const ExportOptions *options,
                    Arena *scratch, ByteWriter *out, Error *err);
} formats[EXPORT_FORMAT_COUNT] = {
    [EXPORT_GLB] = {"glb", "model/gltf-binary", false, true, false, export_glb},
    [EXPORT_VRM] = {"vrm", "model/gltf-binary", false, true, false, export_vrm},
    [EXPORT_USDA] = {"usda", "model/vnd.usda", true, false, false, export_usda},
    [EXPORT_PC2] = {"pc2", "application/octet-stream", true, false, true, export_pc2},
    [EXPORT_MDD] = {"mdd", "application/octet-stream", true, false, true, export_mdd},
    [EXPORT_CSV] = {"csv", "text/csv; charset=utf-8", false, false, false, export_csv},
};

const char *export_format_name(ExportFormat format)
{
    return formats[format].name;
}

ExportFormat export_format_find(const char *name)
{
    int i = 0;

    while (i < EXPORT_FORMAT_COUNT && strcmp(formats[i].name, name) != 0)
        i++;
    return (ExportFormat)i;
}

const char *export_media_type(ExportFormat format)
{
    return formats[format].media_type;
}

bool export_needs_positions(ExportFormat format)
{
    return formats[format].needs_positions;
}

bool export_takes_reduce(ExportFormat format)
{
    return formats[format].takes_reduce;
}

bool export_takes_target(ExportFormat format)
{
    return formats[format].takes_target;
}

Status export_want_positions(ExportFormat format, Error *err)
{
    return error_set(err, STATUS_INVALID,
                     "the bake holds no positions, of which %s is made: the job must ask for "
                     "them, \"output\": {\"channels\": [\"joints\", \"positions\"]}",
                     formats[format].name);
}

Status export_want_joints(ExportFormat format, Error *err)
{
    return error_set(err, STATUS_INVALID,
                     "the bake holds no joints, of which %s is made: the job must ask for them, "
                     "\"output\": {\"channels\": [\"joints\"]}",
                     formats[format].name);
}

Status export_want_vrm(const Rig *rig, Error *err)
{
    if (strncmp(rig->format, "vrm", 3) == 0)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID, "the model is no VRM but %s: take the format glb",
                     rig->format);
}

Status export_check(ExportFormat format, const Rig *rig, const bool *channel,
                    const ExportOptions *options, Error *err)
{
    int node;

    if (formats[format].needs_positions && !channel[CHANNEL_POSITIONS])
        return export_want_positions(format, err);
    if (!formats[format].needs_positions && !channel[CHANNEL_JOINTS])
        return export_want_joints(format, err);
    if (format == EXPORT_VRM && export_want_vrm(rig, err))
        return err->status;
    return formats[format].takes_target ? points_find_node(rig, options->target, format, &node, err)
                                        : STATUS_OK;
}

size_t export_arena_size(const ExportSource *source, Bytes frames)
{
    return source->file.size * 8 + frames.size * 32 + ((size_t)256 << 20);
}

Status export_write(ExportFormat format, const ExportSource *source, Bytes frames,
                    const ExportOptions *options, Arena *scratch, ByteWriter *out, Error *err)
{
    size_t before = out->size;

    (void)formats[format].write(source, frames, options, scratch, out, err);
    // the writer may fail into an error of its own
    if (out->err->status && !err->status)
        *err = *out->err;
    if (!err->status)
        return STATUS_OK;
    out->size = before;
    return error_context(err, "export");
}
