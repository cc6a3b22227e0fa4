#include "formats/clip.h"

#include "formats/accessor.h"

#include <string.h>

/* One sampler of the clip that is read. */
typedef struct Sampler {
    int input, output; /* accessors */
    ClipInterpolation interpolation;
} Sampler;

typedef struct ClipReader {
    Gltf *gltf;
    const Rig *rig;
    const char *clip; /* key, for messages */
    int sampler_count;
    Sampler *sampler; /* in temp */
    int *seen;        /* the last clip (plus one) that had this node and path (4 node_count) */
    int64_t channel_count;
    int64_t number_count; /* times and values of all channels so far, shared ones counted again */
    int pointer_count;    /* channels of this clip that animate no node */
    int broken_count;     /* channels whose keys are of no use */
    int twice_count;
} ClipReader;

static void read_samplers(ClipReader *reader, const JsonReader *object)
{
    static const char *const names[] = {"LINEAR", "STEP", "CUBICSPLINE"};
    Gltf *gltf = reader->gltf;
    JsonReader item;
    JsonReader list = gltf_list(gltf, object, "samplers", GLTF_MAX_CHANNELS, "samplers of a clip",
                                &reader->sampler_count);

    reader->sampler = gltf_temp(gltf, Sampler, reader->sampler_count);
    if (gltf_failed(gltf) || !reader->sampler_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more; i++, more = json_next(&item))
        reader->sampler[i] = (Sampler){
            gltf_index(&item, "input", gltf->accessor_count, "accessors"),
            gltf_index(&item, "output", gltf->accessor_count, "accessors"),
            (ClipInterpolation)json_choice_or(&item, "interpolation", names, 3, CLIP_LINEAR)};
}

/* A zero quaternion turns nothing anywhere; tangents of splines may be zero. */
static bool has_zero_rotation(const ClipChannel *channel)
{
    size_t step = channel->interpolation == CLIP_CUBICSPLINE ? 12 : 4;
    size_t first = channel->interpolation == CLIP_CUBICSPLINE ? 4 : 0;

    for (size_t i = 0; i < (size_t)channel->key_count; i++) {
        const float *q = channel->value + i * step + first;
        float square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
        if (!(square > 1e-12f) || !isfinite(square))
            return true;
    }
    return false;
}

/* Times and values of a channel; false where they are of no use. */
static bool read_keys(ClipReader *reader, const Sampler *sampler, ClipChannel *channel)
{
    Gltf *gltf = reader->gltf;
    int64_t limit = (int64_t)gltf->options->limits.vertices * GLTF_CLIP_NUMBERS_PER_VERTEX;
    static const AccessorUse uses[] = {USE_TRANSLATION, USE_ROTATION, USE_SCALE, USE_WEIGHT};
    bool has_weights = channel->path == CLIP_WEIGHTS;

    if (sampler->input < 0 || sampler->output < 0)
        return false;
    int64_t keys = gltf->accessor[sampler->input].count;
    int64_t values = keys * (sampler->interpolation == CLIP_CUBICSPLINE ? 3 : 1) *
                     (has_weights ? channel->width : 1);
    if (gltf->accessor[sampler->output].count != values)
        return false;
    reader->number_count += keys + values * (has_weights ? 1 : channel->width);
    if (reader->number_count > limit) {
        gltf_fail(gltf, STATUS_LIMIT, "the clips have more than %lld numbers", (long long)limit);
        return false;
    }
    channel->interpolation = sampler->interpolation;
    channel->key_count = (int)keys;
    channel->time = accessor_times(gltf, sampler->input);
    channel->value = accessor_floats(gltf, sampler->output, has_weights ? 1 : channel->width,
                                     uses[channel->path]);
    if (!channel->time || !channel->value)
        return false;
    return channel->path != CLIP_ROTATION || !has_zero_rotation(channel);
}

/* The node and path that a channel animates; false where that is none of ours. */
static bool read_target(ClipReader *reader, const JsonReader *object, ClipChannel *channel)
{
    static const char *const paths[] = {"translation", "rotation", "scale", "weights"};
    Gltf *gltf = reader->gltf;
    JsonReader target = json_member(object, "target");
    JsonReader path = json_member(&target, "path");
    int node = gltf_index(&target, "node", gltf->node_count, "nodes");
    const char *name = json_is_text(&path) ? json_as_text(&path, 1 << 20) : "";
    int index = 0;

    while (index < 4 && strcmp(name, paths[index]) != 0)
        index++;
    if (node < 0 || index == 4) {
        reader->pointer_count++;
        return false;
    }
    int mesh = gltf->node[node].mesh;
    int morphs = mesh < 0 ? 0 : reader->rig->mesh[mesh].morph_count;
    channel->node = node;
    channel->path = (ClipPath)index;
    channel->width = index == CLIP_WEIGHTS ? morphs : index == CLIP_ROTATION ? 4 : 3;
    // the weights of a mesh that was left out go with it
    return channel->width > 0;
}

static bool read_channel(ClipReader *reader, const JsonReader *object, int clip,
                         ClipChannel *channel)
{
    Gltf *gltf = reader->gltf;
    int sampler = gltf_index(object, "sampler", reader->sampler_count, "samplers of the clip");

    if (gltf_failed(gltf) || !read_target(reader, object, channel) || gltf_failed(gltf))
        return false;
    int *seen = &reader->seen[4 * channel->node + (int)channel->path];
    if (*seen == clip + 1) {
        reader->twice_count++;
        return false;
    }
    *seen = clip + 1;
    if (sampler >= 0 && read_keys(reader, &reader->sampler[sampler], channel))
        return true;
    reader->broken_count++;
    return false;
}

static void warn(const ClipReader *reader)
{
    Warnings *warnings = reader->gltf->warnings;

    if (reader->pointer_count)
        warnings_add(warnings, "channels_ignored",
                     "clip \"%.100s\": %d channels animate something else than a node",
                     reader->clip, reader->pointer_count);
    if (reader->twice_count)
        warnings_add(warnings, "channels_twice",
                     "clip \"%.100s\": %d channels animate what an earlier one does and are left "
                     "out",
                     reader->clip, reader->twice_count);
    if (reader->broken_count)
        warnings_add(warnings, "channels_dropped",
                     "clip \"%.100s\": %d channels are left out: their data is missing, of the "
                     "wrong length, not finite or not in order of time",
                     reader->clip, reader->broken_count);
}

static void read_clip(ClipReader *reader, const JsonReader *object, int index, Clip *clip)
{
    Gltf *gltf = reader->gltf;
    int count;

    reader->pointer_count = reader->broken_count = reader->twice_count = 0;
    clip->name = gltf_name(gltf, object);
    reader->clip = gltf_key(gltf, clip->name, "clip", index);
    read_samplers(reader, object);
    JsonReader item,
        list = gltf_list(gltf, object, "channels", GLTF_MAX_CHANNELS, "channels of a clip", &count);
    reader->channel_count += count;
    if (reader->channel_count > GLTF_MAX_CHANNELS)
        gltf_fail(gltf, STATUS_LIMIT, "the clips have more than %d channels", GLTF_MAX_CHANNELS);
    ClipChannel *channel = gltf_array(gltf, ClipChannel, count);
    if (gltf_failed(gltf))
        return;
    clip->channel = channel;
    bool more = count && json_first(&list, &item);
    for (; more && !gltf_failed(gltf); more = json_next(&item)) {
        ClipChannel one = {0};
        if (!read_channel(reader, &item, index, &one))
            continue;
        double end = one.time[one.key_count - 1];
        clip->duration = end > clip->duration ? end : clip->duration;
        channel[clip->channel_count++] = one;
    }
    warn(reader);
}

void gltf_read_clips(Gltf *gltf, Rig *rig)
{
    ClipReader reader = {.gltf = gltf, .rig = rig};
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, &gltf->root, "animations", GLTF_MAX_ITEMS, "clips", &rig->clip_count);
    Clip *clip = gltf_array(gltf, Clip, rig->clip_count);

    reader.seen = gltf_scratch(gltf, int, 4 * (size_t)gltf->node_count);
    rig->clip = clip;
    if (gltf_failed(gltf) || !rig->clip_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        size_t mark = arena_mark(gltf->temp);
        read_clip(&reader, &item, i, &clip[i]);
        arena_rewind(gltf->temp, mark);
        if (gltf_failed(gltf))
            error_context(gltf->err, "clip \"%.100s\"", reader.clip);
    }
}
