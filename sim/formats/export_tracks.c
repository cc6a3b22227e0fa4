#include "formats/export_tracks.h"

#include "formats/export_formats.h"
#include "formats/export_reduce.h"

#include <stdlib.h>
#include <string.h>

/* All frames of the channels that an animation can hold. */
typedef struct Baked {
    const FrameHeader *header;
    int frame_count;
    int stride;          /* floats a frame */
    const float *value;  /* (frame_count stride) */
    int time_accessor;   /* of all frames, -1 until it is needed */
    int start_accessor;  /* of a single key */
    int *key;            /* frames of the track at hand that become keys (frame_count) */
    int64_t kept, keys;  /* of all tracks that move, after and before reduction */
    const bool *is_idle; /* nodes whose transform shows nowhere (node_count) */
} Baked;

/* A property of a node in the frames. */
typedef struct Track {
    int node;
    ClipPath path;
    int width;
    int offset; /* of its first float in a frame */
} Track;

typedef struct NamedNode {
    const char *key;
    int node;
} NamedNode;

/* Text of the animation while it grows. */
typedef struct AnimationText {
    JsonWriter channels, samplers, accessors;
    Text channel_text, sampler_text;
    int sampler_count;
} AnimationText;

static int compare_named(const void *a_, const void *b_)
{
    const NamedNode *a = a_;
    const NamedNode *b = b_;

    return strcmp(a->key, b->key);
}

static NamedNode *sort_nodes(const Rig *rig, Arena *scratch)
{
    NamedNode *named = arena_array(scratch, NamedNode, rig->node_count);

    for (int i = 0; named && i < rig->node_count; i++)
        named[i] = (NamedNode){rig->node[i].key, i};
    if (named && rig->node_count > 0)
        qsort(named, (size_t)rig->node_count, sizeof *named, compare_named);
    return named;
}

/* glTF ignores the transform of a skinned mesh's node, and validators warn of keys there; what is
 * below such a node is moved by it all the same. */
static const bool *find_idle(const Rig *rig, Arena *scratch)
{
    bool *is_idle = arena_array(scratch, bool, rig->node_count);

    for (int i = 0; is_idle && i < rig->node_count; i++)
        is_idle[i] = rig->node[i].mesh >= 0 && rig->node[i].skin >= 0;
    for (int i = 0; is_idle && i < rig->node_count; i++)
        if (rig->node[i].parent >= 0)
            is_idle[rig->node[i].parent] = false;
    return is_idle;
}

static Status read_frames(Bytes frames, Arena *scratch, Baked *out, Error *err)
{
    static const bool wanted[CHANNEL_KIND_COUNT] = {
        [CHANNEL_JOINTS] = true, [CHANNEL_WEIGHTS] = true};
    bool has_joints = false;
    FrameFile file;
    FrameData data;

    if (frame_file_open(frames, wanted, scratch, &file, err))
        return error_context(err, "frames");
    Baked baked = {.header = file.header,
                   .frame_count = file.index.frame_count,
                   .time_accessor = -1,
                   .start_accessor = -1};
    for (int c = 0; c < file.header->channel_count; c++) {
        baked.stride += file.header->channel[c].float_count;
        has_joints |= file.header->channel[c].kind == CHANNEL_JOINTS;
    }
    if (!has_joints)
        return export_want_joints(EXPORT_GLB, err);
    if (baked.frame_count == 0)
        return error_set(err, STATUS_INVALID, "the bake holds no whole frame to export");
    size_t stride = (size_t)baked.stride;
    float *value = arena_alloc_dirty(scratch, (size_t)baked.frame_count, stride * sizeof(float),
                                     alignof(float));
    baked.key = arena_scratch(scratch, int, baked.frame_count);
    if (!value || !baked.key)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d frames of %d floats",
                         baked.frame_count, baked.stride);
    for (int k = 0; k < baked.frame_count; k++) {
        float *to = value + (size_t)k * stride;
        if (frame_file_read(&file, file.header->first_frame + k, &data, err))
            return error_context(err, "frames");
        for (int c = 0; c < file.header->channel_count; c++) {
            size_t count = (size_t)file.header->channel[c].float_count;
            memcpy(to, data.data[c], count * sizeof(float));
            to += count;
        }
    }
    // the seam of a cycle is closed for good
    if (baked.header->is_loop && baked.frame_count > 1)
        memcpy(value + (size_t)(baked.frame_count - 1) * stride, value, stride * sizeof(float));
    baked.value = value;
    *out = baked;
    return STATUS_OK;
}

static const float *track_value(const Baked *baked, const Track *track, int frame)
{
    return baked->value + (size_t)frame * (size_t)baked->stride + track->offset;
}

static bool is_constant(const Baked *baked, const Track *track)
{
    const float *first = track_value(baked, track, 0);

    for (int k = 1; k < baked->frame_count; k++)
        if (memcmp(track_value(baked, track, k), first, sizeof(float) * (size_t)track->width) != 0)
            return false;
    return true;
}

static bool is_at_rest(const Rig *rig, const Track *track, const float *value)
{
    const RigNode *node = &rig->node[track->node];
    const Transform *rest = &node->rest;
    const float *at = NULL;

    switch (track->path) {
    case CLIP_TRANSLATION:
        at = &rest->translation.x;
        break;
    case CLIP_ROTATION:
        at = &rest->rotation.x;
        break;
    case CLIP_SCALE:
        at = &rest->scale.x;
        break;
    case CLIP_WEIGHTS:
        at = node->rest_weight >= 0 ? rig->morph_weight0 + node->rest_weight : NULL;
        break;
    }
    for (int i = 0; at && i < track->width; i++)
        if (at[i] != value[i])
            return false;
    return at != NULL;
}

/* Ours to the file's unit and axes: (x, y, z) with Y up is (x, -z, y) with Z up. */
static void to_file(const TrackTarget *target, const Track *track, const float *value, float *out)
{
    float scale = track->path == CLIP_TRANSLATION ? (float)target->unit : 1.0f;

    for (int i = 0; i < track->width; i++)
        out[i] = scale != 1.0f ? value[i] / scale : value[i];
    if (!target->is_z_up || track->path == CLIP_WEIGHTS)
        return;
    float y = out[1];
    out[1] = track->path == CLIP_SCALE ? out[2] : -out[2];
    out[2] = y;
}

static int add_accessor(TrackTarget *target, JsonWriter *json, size_t offset, int count, int width)
{
    static const char *const types[] = {"", "SCALAR", "", "VEC3", "VEC4"};

    json_begin_object(json, NULL);
    json_write_int(json, "bufferView", target->view);
    json_write_int(json, "byteOffset", (int64_t)offset);
    json_write_int(json, "componentType", 5126);
    json_write_int(json, "count", count);
    json_write_text(json, "type", types[width]);
    return target->first_accessor + target->accessor_count++;
}

static float frame_time(const Baked *baked, int k)
{
    double frame = (double)(baked->header->first_frame + k);

    return (float)(frame * baked->header->fps_denominator / baked->header->fps_numerator);
}

/* Times of the first `count` of baked->key. */
static int add_times(TrackTarget *target, const Baked *baked, int count, JsonWriter *json)
{
    size_t offset = target->data->size;
    float first = frame_time(baked, baked->key[0]);
    float last = frame_time(baked, baked->key[count - 1]);

    for (int k = 0; k < count; k++)
        write_f32(target->data, frame_time(baked, baked->key[k]));
    int accessor = add_accessor(target, json, offset, count, 1);
    json_write_floats(json, "min", &first, 1);
    json_write_floats(json, "max", &last, 1);
    json_end_object(json);
    return accessor;
}

/* The keys of a track, each rotation on the same side as the one before. */
static int add_values(TrackTarget *target, const Baked *baked, const Track *track, int count,
                      JsonWriter *json)
{
    size_t offset = target->data->size;
    float before[4] = {0}, now[4];

    for (int k = 0; k < count; k++) {
        const float *value = track_value(baked, track, baked->key[k]);
        if (track->path == CLIP_WEIGHTS) {
            for (int i = 0; i < track->width; i++)
                write_f32(target->data, value[i]);
            continue;
        }
        to_file(target, track, value, now);
        float dot = now[0] * before[0] + now[1] * before[1] + now[2] * before[2] +
                    (track->width > 3 ? now[3] * before[3] : 0.0f);
        float sign = track->path == CLIP_ROTATION && dot < 0.0f ? -1.0f : 1.0f;
        for (int i = 0; i < track->width; i++) {
            before[i] = sign * now[i];
            write_f32(target->data, before[i]);
        }
    }
    bool is_weights = track->path == CLIP_WEIGHTS;
    int accessor = add_accessor(target, json, offset, is_weights ? count * track->width : count,
                                is_weights ? 1 : track->width);
    json_end_object(json);
    return accessor;
}

/* Fills baked->key with the frames that become keys. */
static int choose_keys(const TrackTarget *target, Baked *baked, const Track *track)
{
    ReduceTrack all = {.path = track->path,
                       .width = track->width,
                       .count = baked->frame_count,
                       .stride = (size_t)baked->stride,
                       .value = track_value(baked, track, 0)};
    int count = baked->frame_count;

    if (target->reduce > 0.0)
        count = reduce_keys(&all, target->reduce, baked->key);
    else
        for (int k = 0; k < count; k++)
            baked->key[k] = k;
    baked->kept += count;
    baked->keys += baked->frame_count;
    return count;
}

/* The accessor of the times of baked->key: one for all tracks of one key, one for all that have
 * every frame, else the track's own. */
static int find_times(TrackTarget *target, Baked *baked, int count, JsonWriter *json)
{
    int own = -1;
    int *times = count == 1                    ? &baked->start_accessor
                 : count == baked->frame_count ? &baked->time_accessor
                                               : &own;

    if (*times < 0)
        *times = add_times(target, baked, count, json);
    return *times;
}

static void add_track(TrackTarget *target, Baked *baked, const Track *track, AnimationText *text)
{
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    bool is_still = is_constant(baked, track);
    int count = 1;

    if (track->width == 0 ||
        (is_still && is_at_rest(target->rig, track, track_value(baked, track, 0))))
        return;
    baked->key[0] = 0;
    if (!is_still)
        count = choose_keys(target, baked, track);
    int times = find_times(target, baked, count, &text->accessors);
    int values = add_values(target, baked, track, count, &text->accessors);

    json_begin_object(&text->channels, NULL);
    json_write_int(&text->channels, "sampler", text->sampler_count++);
    json_begin_object(&text->channels, "target");
    json_write_int(&text->channels, "node", track->node);
    json_write_text(&text->channels, "path", paths[track->path]);
    json_end_object(&text->channels);
    json_end_object(&text->channels);

    json_begin_object(&text->samplers, NULL);
    json_write_int(&text->samplers, "input", times);
    json_write_text(&text->samplers, "interpolation", "LINEAR");
    json_write_int(&text->samplers, "output", values);
    json_end_object(&text->samplers);
}

/* The tracks of one key of the stream. */
static void add_key(TrackTarget *target, Baked *baked, const Track *key, bool is_joint,
                    AnimationText *text)
{
    static const Track parts[] = {{.path = CLIP_TRANSLATION, .width = 3, .offset = 0},
                                  {.path = CLIP_ROTATION, .width = 4, .offset = 3},
                                  {.path = CLIP_SCALE, .width = 3, .offset = 7}};

    if (!is_joint) {
        add_track(target, baked, key, text);
        return;
    }
    if (baked->is_idle[key->node])
        return;
    for (int i = 0; i < 3 && parts[i].offset < key->width; i++) {
        Track part = parts[i];
        part.node = key->node;
        part.offset += key->offset;
        add_track(target, baked, &part, text);
    }
}

/* Is this a width that the key's node can take? */
static bool fits_node(const Rig *rig, int node, FrameChannelKind kind, int width)
{
    int mesh = rig->node[node].mesh;

    if (kind == CHANNEL_JOINTS)
        return width == 7 || width == 10;
    return mesh >= 0 && width == rig->mesh[mesh].morph_count;
}

static Status add_channel(TrackTarget *target, Baked *baked, int c, const NamedNode *named,
                          AnimationText *text, Error *err)
{
    const FrameChannel *channel = &baked->header->channel[c];
    const Rig *rig = target->rig;
    Track key = {.path = CLIP_WEIGHTS};

    for (int i = 0; i < c; i++)
        key.offset += baked->header->channel[i].float_count;
    for (int i = 0; i < channel->key_count; i++) {
        NamedNode sought = {channel->key[i], 0};
        const NamedNode *found =
            rig->node_count > 0
                ? bsearch(&sought, named, (size_t)rig->node_count, sizeof *named, compare_named)
                : NULL;
        if (!found)
            return error_set(err, STATUS_INVALID, "the frames move \"%s\", which the model lacks",
                             channel->key[i]);
        if (!fits_node(rig, found->node, channel->kind, channel->width[i]))
            return error_set(err, STATUS_INVALID, "the frames hold %d floats for \"%s\"",
                             channel->width[i], channel->key[i]);
        key.node = found->node;
        key.width = channel->width[i];
        add_key(target, baked, &key, channel->kind == CHANNEL_JOINTS, text);
        key.offset += channel->width[i];
    }
    return STATUS_OK;
}

/* glTF wants a channel in every animation: where nothing moves, one key of a node at its rest. */
static void add_still_track(TrackTarget *target, Baked *baked, AnimationText *text)
{
    float rest[4];
    Track track = {.path = CLIP_ROTATION, .width = 4};
    Baked still = *baked;

    while (track.node + 1 < target->rig->node_count && baked->is_idle[track.node])
        track.node++;
    memcpy(rest, &target->rig->node[track.node].rest.rotation, sizeof rest);
    rest[3] = -rest[3]; // the same rotation by another name, so that it counts as a change
    for (int i = 0; i < 3; i++)
        rest[i] = -rest[i];
    still.value = rest;
    still.stride = 4;
    still.frame_count = 1;
    add_track(target, &still, &track, text);
}

static void write_animation(const char *name, const TrackTarget *target, const Baked *baked,
                            AnimationText *text)
{
    Text *out = target->animation;
    JsonWriter json = json_writer(out, 0);

    json_end_array(&text->channels);
    json_end_array(&text->samplers);
    json_begin_object(&json, NULL);
    json_write_text(&json, "name", name);
    json_write_raw(&json, "channels", text_string(&text->channel_text));
    json_write_raw(&json, "samplers", text_string(&text->sampler_text));
    if (target->reduce > 0.0) {
        json_begin_object(&json, "extras");
        json_write_double(&json, "reduce", target->reduce);
        json_write_int(&json, "keys", baked->kept);
        json_write_int(&json, "keys_before", baked->keys);
        json_end_object(&json);
    }
    json_end_object(&json);
}

Status tracks_write(Bytes frames, const char *name, Arena *scratch, TrackTarget *target, Error *err)
{
    enum { MAX_TEXT = 256 << 20 };
    NamedNode *named = sort_nodes(target->rig, scratch);
    Baked baked = {0};

    const bool *is_idle = find_idle(target->rig, scratch);
    if (!named || !is_idle)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of nodes");
    if (read_frames(frames, scratch, &baked, err) || !baked.header)
        return err->status;
    baked.is_idle = is_idle;
    AnimationText text = {.channel_text = text_open(MAX_TEXT, err),
                          .sampler_text = text_open(MAX_TEXT, err)};
    text.channels = json_writer(&text.channel_text, 0);
    text.samplers = json_writer(&text.sampler_text, 0);
    text.accessors = json_writer(target->accessors, 0);
    json_begin_array(&text.channels, NULL);
    json_begin_array(&text.samplers, NULL);
    json_begin_array(&text.accessors, NULL);
    for (int c = 0; !err->status && c < baked.header->channel_count; c++)
        (void)add_channel(target, &baked, c, named, &text, err);
    if (!err->status && text.sampler_count == 0 && target->rig->node_count > 0)
        add_still_track(target, &baked, &text);
    write_animation(name, target, &baked, &text);
    text_close(&text.channel_text);
    text_close(&text.sampler_text);
    return err->status;
}
