#include "picture/scene_frames.h"

#include <stdlib.h>
#include <string.h>

/* Something with a key, for finding it by bisection. */
typedef struct Named {
    const char *key;
    int index;
} Named;

static int compare_named(const void *a_, const void *b_)
{
    const Named *a = a_;
    const Named *b = b_;

    return strcmp(a->key, b->key);
}

static int find_named(const Named *named, int count, const char *key)
{
    Named sought = {key, 0};
    const Named *found =
        count > 0 ? bsearch(&sought, named, (size_t)count, sizeof *named, compare_named) : NULL;

    return found ? found->index : -1;
}

static Named *name_nodes(const Rig *rig, Arena *arena)
{
    Named *named = arena_array(arena, Named, rig->node_count);

    for (int n = 0; named && n < rig->node_count; n++)
        named[n] = (Named){rig->node[n].key, n};
    if (named && rig->node_count > 0)
        qsort(named, (size_t)rig->node_count, sizeof *named, compare_named);
    return named;
}

static int count_keys(const FrameHeader *header)
{
    int count = 0;

    for (int c = 0; c < header->channel_count; c++)
        count += header->channel[c].key_count;
    return count;
}

static void open_joints(Scene *scene, const Named *named)
{
    const FrameHeader *header = scene->file.header;

    for (int c = 0; c < header->channel_count; c++) {
        const FrameChannel *channel = &header->channel[c];
        int offset = 0;
        bool is_joint = channel->kind == CHANNEL_JOINTS;

        for (int i = 0; i < channel->key_count; i++) {
            int width = channel->width[i];
            int node = is_joint || channel->kind == CHANNEL_WEIGHTS
                           ? find_named(named, scene->rig->node_count, channel->key[i])
                           : -1;
            if (node >= 0 && (!is_joint || width == 7 || width == 10))
                scene->joint[scene->joint_count++] = (SceneJoint){node, c, offset, width};
            offset += width;
        }
    }
}

/* Positions of a mesh stand under its node's key, with "/1" and so on for further primitives. */
static void open_positions(Scene *scene, Arena *arena)
{
    const FrameHeader *header = scene->file.header;
    Named *named = arena_array(arena, Named, header->channel_count);
    int count = 0;

    for (int c = 0; named && c < header->channel_count; c++)
        if (header->channel[c].kind == CHANNEL_POSITIONS && header->channel[c].key_count == 1)
            named[count++] = (Named){header->channel[c].key[0], c};
    if (count > 0)
        qsort(named, (size_t)count, sizeof *named, compare_named);
    for (int m = 0; m < scene->mesh_count && count > 0; m++) {
        SceneMesh *mesh = &scene->mesh[m];
        size_t mark = arena_mark(arena);
        const char *node = scene->rig->node[mesh->batch.node].key;
        const char *key = mesh->batch.primitive > 0
                              ? arena_format(arena, "%s/%d", node, mesh->batch.primitive)
                              : node;
        int c = key ? find_named(named, count, key) : -1;
        arena_rewind(arena, mark);
        if (c >= 0 && header->channel[c].float_count == 3 * mesh->batch.vertex_count)
            mesh->channel = c;
    }
}

/* The node of a segment's key: itself, or what stands before the last "/". */
static int segment_node(const char *key, const Named *named, int count)
{
    char head[1100];
    int node = find_named(named, count, key);
    const char *slash = strrchr(key, '/');

    if (node >= 0 || !slash || (size_t)(slash - key) >= sizeof head)
        return node;
    memcpy(head, key, (size_t)(slash - key));
    head[slash - key] = '\0';
    return find_named(named, count, head);
}

static void mark_segments(Scene *scene, const Named *named)
{
    const FrameHeader *header = scene->file.header;

    for (int c = 0; c < header->channel_count; c++) {
        const FrameChannel *channel = &header->channel[c];
        if (channel->kind != CHANNEL_SEGMENTS || channel->float_count != 6 * channel->key_count)
            continue;
        scene->segment_channel = c;
        scene->segment_count = channel->key_count;
        for (int i = 0; i < channel->key_count; i++) {
            int node = segment_node(channel->key[i], named, scene->rig->node_count);
            if (node >= 0)
                scene->is_moved[node] = true;
        }
    }
}

static void mark_springs(Scene *scene)
{
    const Rig *rig = scene->rig;

    for (int s = 0; s < rig->spring_count; s++)
        for (int i = 0; i < rig->spring[s].segment_count && !rig->spring[s].refusal; i++) {
            scene->is_moved[rig->spring[s].segment[i].head] = true;
            scene->segment_count++;
        }
}

/* What hangs on what is moved is moved. */
static void mark_children(Scene *scene)
{
    const Rig *rig = scene->rig;

    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i];
        int parent = rig->node[node].parent;
        if (parent >= 0 && scene->is_moved[parent])
            scene->is_moved[node] = true;
    }
}

static void place_spring_segments(Scene *scene)
{
    const Rig *rig = scene->rig;
    int count = 0;

    for (int s = 0; s < rig->spring_count; s++)
        for (int i = 0; i < rig->spring[s].segment_count && !rig->spring[s].refusal; i++) {
            const RigSegment *segment = &rig->spring[s].segment[i];
            const World *head = &scene->pose.world[segment->head];
            DVec3 tail = segment->tail >= 0 ? scene->pose.world[segment->tail].origin
                                            : world_point(head, segment->tail_offset);
            scene->segment[count++] = (SceneSegment){dvec3_float(head->origin), dvec3_float(tail)};
        }
}

Status scene_open_frames(Scene *scene, Bytes frames, Arena *arena, Error *err)
{
    Named *named = name_nodes(scene->rig, arena);

    if (!named)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of nodes");
    if (scene->has_frames) {
        if (frame_file_open(frames, NULL, arena, &scene->file, err))
            return error_context(err, "frames");
        scene->joint = arena_array(arena, SceneJoint, count_keys(scene->file.header));
        if (!scene->joint)
            return error_set(err, STATUS_NO_MEMORY, "no room for the joints of a picture");
        open_joints(scene, named);
        open_positions(scene, arena);
        mark_segments(scene, named);
    }
    if (scene->segment_channel < 0)
        mark_springs(scene);
    mark_children(scene);
    scene->segment = arena_array(arena, SceneSegment, scene->segment_count);
    if (!scene->segment)
        return error_set(err, STATUS_NO_MEMORY, "no room for the segments of a picture");
    if (scene->segment_channel < 0)
        place_spring_segments(scene);
    return STATUS_OK;
}

void scene_apply_joints(Scene *scene, const FrameData *data)
{
    const Rig *rig = scene->rig;

    for (int i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joint[i];
        const float *value = data->data[joint->channel] + joint->offset;
        Transform *local = &scene->pose.local[joint->node];

        if (scene->file.header->channel[joint->channel].kind == CHANNEL_WEIGHTS) {
            const RigNode *node = &rig->node[joint->node];
            if (node->rest_weight >= 0 && joint->width == rig->mesh[node->mesh].morph_count)
                memcpy(scene->pose.morph_weight + node->rest_weight, value,
                       sizeof(float) * (size_t)joint->width);
            continue;
        }
        local->translation = vec3(value[0], value[1], value[2]);
        local->rotation = quat_normalize((Quat){value[3], value[4], value[5], value[6]});
        if (joint->width == 10)
            local->scale = vec3(value[7], value[8], value[9]);
    }
    pose_update_world(rig, &scene->pose);
}

void scene_apply_points(Scene *scene, const FrameData *data)
{
    for (int m = 0; m < scene->mesh_count; m++) {
        SceneMesh *mesh = &scene->mesh[m];
        const float *value = mesh->channel >= 0 ? data->data[mesh->channel] : NULL;

        for (int v = 0; value && v < mesh->batch.vertex_count; v++)
            mesh->position[v] = vec3(value[3 * v], value[3 * v + 1], value[3 * v + 2]);
        if (value && mesh->weld)
            scene_find_normals(mesh);
    }
    if (scene->segment_channel < 0) {
        place_spring_segments(scene);
        return;
    }
    const float *value = data->data[scene->segment_channel];
    for (int s = 0; s < scene->segment_count; s++, value += 6)
        scene->segment[s] =
            (SceneSegment){vec3(value[0], value[1], value[2]), vec3(value[3], value[4], value[5])};
}
