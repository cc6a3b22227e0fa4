#include "formats/export_formats.h"
#include "formats/export_joints.h"
#include "formats/export_text.h"

#include <string.h>

/* A field as RFC 4180 has it: quoted where it must be. */
static void put_field(ByteWriter *out, const char *field)
{
    bool is_quoted = strpbrk(field, ",\"\r\n") != NULL;

    put_text(out, is_quoted ? "\"" : "");
    for (const char *c = field; *c; c++) {
        if (*c == '"')
            put_text(out, "\"");
        write_bytes(out, c, 1);
    }
    put_text(out, is_quoted ? "\"" : "");
}

/* A joint whose scale never changes has that of its rest. */
static void put_row(const RigNode *node, const float *value, int width, ByteWriter *out)
{
    const Vec3 *scale = &node->rest.scale;
    float row[10] = {[7] = scale->x, [8] = scale->y, [9] = scale->z};

    memcpy(row, value, (size_t)width * sizeof *row);

    put_text(out, ",");
    put_field(out, node->key);
    for (int i = 0; i < 10; i++) {
        put_text(out, ",");
        put_float(out, row[i]);
    }
    put_text(out, "\r\n");
}

Status export_csv(const ExportSource *source, Bytes frames, const ExportOptions *options,
                  Arena *scratch, ByteWriter *out, Error *err)
{
    JointTable table;

    (void)options;
    if (joints_open(source->rig, frames, scratch, &table, err))
        return err->status;
    if (!table.channel)
        return export_want_joints(EXPORT_CSV, err);
    const FrameHeader *header = table.file.header;
    put_text(out, "frame,time,joint,tx,ty,tz,qx,qy,qz,qw,sx,sy,sz\r\n");
    for (int k = 0; k < table.frame_count && !out->err->status; k++) {
        const float *value = NULL;
        int frame = header->first_frame + k;

        if (joints_read(&table, k, &value, err))
            return err->status;
        for (int i = 0; i < table.channel->key_count; i++) {
            put_int(out, frame);
            put_text(out, ",");
            put_double(out, (double)frame * header->fps_denominator / header->fps_numerator);
            put_row(&source->rig->node[table.node[i]], value, table.channel->width[i], out);
            value += table.channel->width[i];
        }
    }
    return err->status;
}
