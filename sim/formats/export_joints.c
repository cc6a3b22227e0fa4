#include "formats/export_joints.h"

static Status find_nodes(const Rig *rig, const FrameChannel *channel, Arena *scratch,
                         const int **out, Error *err)
{
    int *node = arena_array(scratch, int, channel->key_count);

    if (!node)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d joints", channel->key_count);
    for (int i = 0; i < channel->key_count; i++) {
        node[i] = rig_find_node(rig, channel->key[i]);
        if (node[i] < 0)
            return error_set(err, STATUS_INVALID, "the frames move \"%s\", which the model lacks",
                             channel->key[i]);
        if (channel->width[i] != 7 && channel->width[i] != 10)
            return error_set(err, STATUS_INVALID, "the frames hold %d floats for \"%s\"",
                             channel->width[i], channel->key[i]);
    }
    *out = node;
    return STATUS_OK;
}

Status joints_open(const Rig *rig, Bytes frames, Arena *scratch, JointTable *out, Error *err)
{
    static const bool wanted[CHANNEL_KIND_COUNT] = {[CHANNEL_JOINTS] = true};
    JointTable table = {0};

    if (frame_file_open(frames, wanted, scratch, &table.file, err))
        return error_context(err, "frames");
    table.frame_count = table.file.index.frame_count;
    if (table.file.header->channel_count > 0) {
        table.channel = &table.file.header->channel[0];
        if (table.frame_count == 0)
            return error_set(err, STATUS_INVALID, "the bake holds no whole frame to export");
        if (find_nodes(rig, table.channel, scratch, &table.node, err))
            return err->status;
    }
    *out = table;
    return STATUS_OK;
}

Status joints_read(JointTable *table, int k, const float **out, Error *err)
{
    const FrameHeader *header = table->file.header;
    bool is_seam = header->is_loop && k == table->frame_count - 1;
    FrameData data;

    // the seam of a cycle is closed for good
    if (frame_file_read(&table->file, header->first_frame + (is_seam ? 0 : k), &data, err))
        return error_context(err, "frames");
    *out = data.data[0];
    return STATUS_OK;
}
