#include "core/output.h"

#include <string.h>

static Status no_room(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room for the output's channels");
}

/* --- layout --- */

typedef struct KeyList {
    const char **key;
    int *width;
    int count, float_count;
} KeyList;

static bool keys_open_list(KeyList *list, Arena *arena, int capacity)
{
    *list = (KeyList){.key = arena_array(arena, const char *, capacity),
                      .width = arena_array(arena, int, capacity)};
    return list->key && list->width;
}

static void keys_push(KeyList *list, const char *key, int width)
{
    list->key[list->count] = key;
    list->width[list->count++] = width;
    list->float_count += width;
}

static void add_channel(Output *output, FrameChannelKind kind, const KeyList *list)
{
    output->channel[output->channel_count++] = (FrameChannel){.kind = kind,
                                                              .key_count = list->count,
                                                              .float_count = list->float_count,
                                                              .key = list->key,
                                                              .width = list->width};
}

static Status lay_joints(const Parts *parts, Arena *arena, Output *output, Error *err)
{
    const Rig *rig = parts->rig;
    bool *is_given = arena_array(arena, bool, rig->node_count);
    int *joint = arena_array(arena, int, rig->node_count);
    KeyList list;

    if (!is_given || !joint || !keys_open_list(&list, arena, rig->node_count))
        return no_room(err);
    for (int i = 0; i < rig->node_count; i++)
        is_given[i] = parts->motion.is_moved[i];
    for (int i = 0; i < parts->count; i++)
        for (int j = 0; j < parts->part[i].driven_count; j++)
            is_given[parts->part[i].driven[j]] = true;
    for (int i = 0; i < rig->node_count; i++)
        if (is_given[i]) {
            joint[output->joint_count++] = i;
            keys_push(&list, rig->node[i].key, parts->motion.is_scaled[i] ? 10 : 7);
        }
    output->joint = joint;
    add_channel(output, CHANNEL_JOINTS, &list);
    return STATUS_OK;
}

static Status lay_segments(const Parts *parts, Arena *arena, Output *output, Error *err)
{
    int count = 0;
    KeyList list;

    for (int i = 0; i < parts->count; i++)
        count += parts->part[i].info.segment_count;
    output->segment = arena_array(arena, const PartSegment *, count);
    if (!output->segment || !keys_open_list(&list, arena, count))
        return no_room(err);
    for (int i = 0; i < parts->count; i++)
        for (int j = 0; j < parts->part[i].info.segment_count; j++) {
            output->segment[output->segment_count++] = &parts->part[i].info.segment[j];
            keys_push(&list, parts->part[i].info.segment[j].key, 6);
        }
    add_channel(output, CHANNEL_SEGMENTS, &list);
    return STATUS_OK;
}

static Status lay_weights(const Parts *parts, Arena *arena, Output *output, Error *err)
{
    const Rig *rig = parts->rig;
    int *weight = arena_array(arena, int, rig->node_count);
    KeyList list;

    if (!weight || !keys_open_list(&list, arena, rig->node_count))
        return no_room(err);
    for (int i = 0; i < rig->node_count; i++)
        if (parts->motion.is_weighted[i]) {
            weight[output->weight_count++] = i;
            keys_push(&list, rig->node[i].key, rig->mesh[rig->node[i].mesh].morph_count);
        }
    output->weight = weight;
    if (list.count)
        add_channel(output, CHANNEL_WEIGHTS, &list);
    return STATUS_OK;
}

static int count_primitives(const Rig *rig)
{
    int count = 0;

    for (int i = 0; i < rig->node_count; i++)
        if (rig->node[i].mesh >= 0)
            count += rig->mesh[rig->node[i].mesh].primitive_count;
    return count;
}

static Status build_batches(const Rig *rig, int count, Arena *arena, Output *output, Error *err)
{
    output->batch = arena_array(arena, SkinBatch, count);
    if (!output->batch)
        return no_room(err);
    for (int i = 0; i < rig->node_count; i++) {
        int primitives = rig->node[i].mesh < 0 ? 0 : rig->mesh[rig->node[i].mesh].primitive_count;

        for (int j = 0; j < primitives; j++)
            if (skin_batch_build(rig, &(SkinSource){.node = i, .primitive = j}, arena,
                                 &output->batch[output->batch_count++], err))
                return err->status;
    }
    return STATUS_OK;
}

static const char *batch_key(const Rig *rig, const SkinBatch *batch, Arena *arena)
{
    const char *key = rig->node[batch->node].key;

    return batch->primitive ? arena_format(arena, "%s/%d", key, batch->primitive) : key;
}

/* One channel a primitive. */
static Status lay_vertices(const Rig *rig, FrameChannelKind kind, Arena *arena, Output *output,
                           Error *err)
{
    for (int i = 0; i < output->batch_count; i++) {
        const char *key = batch_key(rig, &output->batch[i], arena);
        KeyList list;

        if (!key || !keys_open_list(&list, arena, 1))
            return no_room(err);
        keys_push(&list, key, 3 * output->batch[i].vertex_count);
        add_channel(output, kind, &list);
    }
    return STATUS_OK;
}

Status output_build(const Parts *parts, const OutputSpec *spec, SimdLevel simd, Arena *arena,
                    Output *out, Error *err)
{
    const bool *has = spec->channel;
    int primitives = count_primitives(parts->rig);
    Output output = {.rig = parts->rig,
                     .simd = simd,
                     .channel = arena_array(arena, FrameChannel, 3 + 2 * (size_t)primitives),
                     .has_positions = has[CHANNEL_POSITIONS],
                     .has_normals = has[CHANNEL_NORMALS]};

    if (!output.channel)
        return no_room(err);
    if (has[CHANNEL_JOINTS] && lay_joints(parts, arena, &output, err))
        return err->status;
    if (has[CHANNEL_SEGMENTS] && lay_segments(parts, arena, &output, err))
        return err->status;
    if ((output.has_positions || output.has_normals) &&
        build_batches(parts->rig, primitives, arena, &output, err))
        return err->status;
    if (output.has_positions && lay_vertices(parts->rig, CHANNEL_POSITIONS, arena, &output, err))
        return err->status;
    if (output.has_normals && lay_vertices(parts->rig, CHANNEL_NORMALS, arena, &output, err))
        return err->status;
    if (has[CHANNEL_WEIGHTS] && lay_weights(parts, arena, &output, err))
        return err->status;
    *out = output;
    return STATUS_OK;
}

/* --- a run --- */

Status output_start(const Output *output, Arena *arena, FrameStore *out, Error *err)
{
    FrameStore store = {.data = arena_array(arena, float *, output->channel_count)};
    int most = 0;

    if (!store.data)
        return no_room(err);
    for (int i = 0; i < output->channel_count; i++)
        store.data[i] = arena_array(arena, float, output->channel[i].float_count);
    for (int i = 0; i < output->batch_count; i++)
        if (output->batch[i].vertex_count > most)
            most = output->batch[i].vertex_count;
    store.position = arena_array(arena, Vec3, output->has_positions ? 0 : most);
    if (arena->overflowed)
        return no_room(err);
    if (skin_work_build(output->batch, output->batch_count, arena, &store.work, err))
        return err->status;
    *out = store;
    return STATUS_OK;
}

static float *put3(float *out, Vec3 v)
{
    out[0] = v.x;
    out[1] = v.y;
    out[2] = v.z;
    return out + 3;
}

static void fill_joints(const Output *output, const Pose *pose, const FrameChannel *channel,
                        float *out)
{
    for (int i = 0; i < output->joint_count; i++) {
        const Transform *local = &pose->local[output->joint[i]];

        out = put3(out, local->translation);
        out = put3(out, vec3(local->rotation.x, local->rotation.y, local->rotation.z));
        *out++ = local->rotation.w;
        if (channel->width[i] == 10)
            out = put3(out, local->scale);
    }
}

static void fill_segments(const Output *output, const Pose *pose, float *out)
{
    for (int i = 0; i < output->segment_count; i++) {
        const PartSegment *segment = output->segment[i];
        const World *head = &pose->world[segment->head];

        out = put3(out, dvec3_float(head->origin));
        out = put3(out, dvec3_float(part_segment_tail(segment, pose)));
    }
}

static void fill_weights(const Output *output, const Pose *pose, const FrameChannel *channel,
                         float *out)
{
    for (int i = 0; i < output->weight_count; i++) {
        const RigNode *node = &output->rig->node[output->weight[i]];

        memcpy(out, pose->morph_weight + node->rest_weight,
               (size_t)channel->width[i] * sizeof *out);
        out += channel->width[i];
    }
}

/* From relative to an origin to the scene. */
static void add_origin(DVec3 origin, int count, Vec3 *out)
{
    if (origin.x == 0.0 && origin.y == 0.0 && origin.z == 0.0)
        return;
    for (int i = 0; i < count; i++)
        out[i] = dvec3_float(dvec3_add(dvec3_from(out[i]), origin));
}

/* `out` are the channels of positions, if any, then those of normals, if any; floats in threes are
 * vectors. */
static void fill_vertices(const Output *output, const Pose *pose, float **out, FrameStore *store)
{
    for (int i = 0; i < output->batch_count; i++) {
        const SkinBatch *batch = &output->batch[i];
        float **normal = out + (output->has_positions ? output->batch_count : 0);
        Vec3 *positions = output->has_positions ? (Vec3 *)(void *)out[i] : store->position;
        Vec3 *normals = output->has_normals ? (Vec3 *)(void *)normal[i] : NULL;
        DVec3 origin = skin_origin(batch, pose);

        if (i == 0 || !skin_shares_palette(batch, batch - 1))
            skin_palette(batch, pose, origin, &store->work);
        skin_vertices(batch, pose, output->simd, &store->work, positions, normals);
        if (output->has_positions)
            add_origin(origin, batch->vertex_count, positions);
    }
}

void output_fill(const Output *output, const Pose *pose, int frame, double time, FrameStore *store)
{
    bool is_filled = false;

    for (int i = 0; i < output->channel_count; i++) {
        const FrameChannel *channel = &output->channel[i];

        switch (channel->kind) {
        case CHANNEL_JOINTS:
            fill_joints(output, pose, channel, store->data[i]);
            break;
        case CHANNEL_SEGMENTS:
            fill_segments(output, pose, store->data[i]);
            break;
        case CHANNEL_WEIGHTS:
            fill_weights(output, pose, channel, store->data[i]);
            break;
        default:
            // the first of the vertex channels, which stand side by side, fills all
            if (!is_filled)
                fill_vertices(output, pose, store->data + i, store);
            is_filled = true;
        }
    }
    store->frame =
        (FrameData){.frame = frame, .time = time, .data = (const float *const *)store->data};
}
