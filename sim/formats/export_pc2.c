#include "formats/export_formats.h"
#include "formats/export_points.h"

/* PC2, the point cache of 3ds Max and Blender: a head of 32 bytes, then the points of one sample
 * after the other, little-endian. A sample a frame, from frame 0. */
static Status write_pc2(Points *points, const PointMesh *mesh, ByteWriter *out, Error *err)
{
    write_bytes(out, "POINTCACHE2", 12);
    write_u32(out, 1);
    write_u32(out, (uint32_t)mesh->vertex_count);
    write_f32(out, (float)points->file.header->first_frame);
    write_f32(out, 1.0f);
    write_u32(out, (uint32_t)points->frame_count);
    for (int k = 0; k < points->frame_count && !out->err->status; k++) {
        if (points_read(points, mesh, k, err))
            return err->status;
        for (int i = 0; i < 3 * mesh->vertex_count; i++)
            write_f32(out, points->point[i]);
    }
    return STATUS_OK;
}

static void write_big_u32(ByteWriter *out, uint32_t value)
{
    write_u32(out, __builtin_bswap32(value));
}

static void write_big_f32(ByteWriter *out, float value)
{
    union {
        float number;
        uint32_t bits;
    } both = {value};

    write_big_u32(out, both.bits);
}

/* MDD, LightWave's: counts, the time of each frame in seconds, then the points of one frame after
 * the other, big-endian. */
static Status write_mdd(Points *points, const PointMesh *mesh, ByteWriter *out, Error *err)
{
    write_big_u32(out, (uint32_t)points->frame_count);
    write_big_u32(out, (uint32_t)mesh->vertex_count);
    for (int k = 0; k < points->frame_count; k++)
        write_big_f32(out, (float)points_time(points, k));
    for (int k = 0; k < points->frame_count && !out->err->status; k++) {
        if (points_read(points, mesh, k, err))
            return err->status;
        for (int i = 0; i < 3 * mesh->vertex_count; i++)
            write_big_f32(out, points->point[i]);
    }
    return STATUS_OK;
}

Status export_pc2(const ExportSource *source, Bytes frames, const ExportOptions *options,
                  Arena *scratch, ByteWriter *out, Error *err)
{
    const PointMesh *mesh = NULL;
    Points points;

    if (points_open(source->rig, frames, EXPORT_PC2, scratch, &points, err) ||
        points_find(&points, source->rig, options->target, EXPORT_PC2, &mesh, err))
        return err->status;
    return write_pc2(&points, mesh, out, err);
}

Status export_mdd(const ExportSource *source, Bytes frames, const ExportOptions *options,
                  Arena *scratch, ByteWriter *out, Error *err)
{
    const PointMesh *mesh = NULL;
    Points points;

    if (points_open(source->rig, frames, EXPORT_MDD, scratch, &points, err) ||
        points_find(&points, source->rig, options->target, EXPORT_MDD, &mesh, err))
        return err->status;
    return write_mdd(&points, mesh, out, err);
}
