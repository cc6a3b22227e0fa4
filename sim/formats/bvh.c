#include "formats/bvh.h"

#include "base/utf8.h"
#include "math/scalar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHANNELS_MAX = 6, WORD_MAX = 63, DEPTH_MAX = 512, NUMBERS_PER_VERTEX = 16 };

static const double degree = 0.017453292519943295;

typedef struct BvhJoint {
    int channel_count;
    uint8_t axis[CHANNELS_MAX]; /* 0 x, 1 y, 2 z */
    bool is_rotation[CHANNELS_MAX];
    bool has_rotation, has_position;
    bool is_moved;   /* a position is not zero */
    float *rotation; /* (4 frame_count) or NULL */
    float *position; /* (3 frame_count) or NULL */
} BvhJoint;

typedef struct Bvh {
    const uint8_t *at, *end;
    int line;
    char word[WORD_MAX + 1]; /* the last one read, cut */
    const AssetOptions *options;
    Arena *arena;
    Error *err;
    float unit;
    int node_count, column_count, frame_count;
    double frame_time;
    RigNode *node;   /* (limits.joints) */
    BvhJoint *joint; /* (limits.joints); end sites have no channels */
} Bvh;

/* --- words --- */

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

static void skip_space(Bvh *bvh)
{
    while (bvh->at < bvh->end && is_space(*bvh->at))
        bvh->line += *bvh->at++ == '\n';
}

/* The next word; false at the end of the file. */
static bool next_word(Bvh *bvh)
{
    size_t size = 0;

    skip_space(bvh);
    for (; bvh->at < bvh->end && !is_space(*bvh->at); bvh->at++)
        if (size < WORD_MAX)
            bvh->word[size++] = (char)*bvh->at;
    bvh->word[size] = '\0';
    return size > 0;
}

static bool is_word(const Bvh *bvh, const char *word)
{
    return strcasecmp(bvh->word, word) == 0;
}

static Status fail(Bvh *bvh, const char *expected)
{
    return error_set(bvh->err, STATUS_INVALID, "BVH, line %d: expected %s, found %s%.40s%s",
                     bvh->line, expected, bvh->word[0] ? "\"" : "the end of the file", bvh->word,
                     bvh->word[0] ? "\"" : "");
}

static Status expect(Bvh *bvh, const char *word)
{
    if (next_word(bvh) && is_word(bvh, word))
        return STATUS_OK;
    return fail(bvh, word);
}

/* Decimal and finite. */
static Status read_number(Bvh *bvh, double *out)
{
    char *end = NULL;

    if (!next_word(bvh) || strspn(bvh->word, "+-.0123456789eE") != strlen(bvh->word))
        return fail(bvh, "a number");
    *out = strtod(bvh->word, &end);
    return *end || end == bvh->word || !isfinite((float)*out) ? fail(bvh, "a number") : STATUS_OK;
}

/* What is left of the line as a name; what is not UTF-8 becomes '_'. */
static Status read_name(Bvh *bvh, const char **out)
{
    while (bvh->at < bvh->end && *bvh->at != '\n' && is_space(*bvh->at))
        bvh->at++;
    const uint8_t *begin = bvh->at;
    while (bvh->at < bvh->end && *bvh->at != '\n' && *bvh->at != '{')
        bvh->at++;
    size_t size = (size_t)(bvh->at - begin);
    while (size > 0 && is_space(begin[size - 1]))
        size--;
    if (size > (size_t)bvh->options->limits.name_size)
        return error_set(bvh->err, STATUS_LIMIT,
                         "BVH, line %d: a name has %zu bytes, the limit is %d", bvh->line, size,
                         bvh->options->limits.name_size);
    char *name = arena_text(bvh->arena, begin, size);
    if (!name)
        return error_set(bvh->err, STATUS_NO_MEMORY, "no room for a name");
    for (size_t i = 0; i < size;) {
        size_t length = utf8_length((const uint8_t *)name + i, size - i);

        if (length == 0 || (uint8_t)name[i] < ' ')
            name[i] = '_';
        i += length ? length : 1;
    }
    *out = name;
    return STATUS_OK;
}

/* --- the hierarchy --- */

static Vec3 place(const Bvh *bvh, const double v[3])
{
    float unit = bvh->unit;
    Vec3 p = {(float)v[0] * unit, (float)v[1] * unit, (float)v[2] * unit};

    return bvh->options->is_z_up ? vec3(p.x, p.z, -p.y) : p;
}

static Status add_node(Bvh *bvh, int parent, const char *name, int *out)
{
    if (bvh->node_count >= bvh->options->limits.joints)
        return error_set(bvh->err, STATUS_LIMIT, "the file has more than %d joints",
                         bvh->options->limits.joints);
    *out = bvh->node_count++;
    bvh->node[*out] = (RigNode){.name = name,
                                .parent = parent,
                                .mesh = -1,
                                .skin = -1,
                                .rest_weight = -1,
                                .rest = transform_identity()};
    bvh->joint[*out] = (BvhJoint){0};
    return STATUS_OK;
}

static Status read_offset(Bvh *bvh, int node)
{
    double v[3] = {0};

    for (int i = 0; i < 3; i++)
        if (read_number(bvh, &v[i]))
            return bvh->err->status;
    bvh->node[node].rest.translation = place(bvh, v);
    return STATUS_OK;
}

static Status read_channel(Bvh *bvh, BvhJoint *joint)
{
    static const char *const kind[] = {"position", "rotation"};
    int index = joint->channel_count;

    if (!next_word(bvh))
        return fail(bvh, "a channel");
    int axis = (bvh->word[0] | 0x20) - 'x';
    for (int i = 0; i < 2 && axis >= 0 && axis < 3; i++) {
        if (strcasecmp(bvh->word + 1, kind[i]) != 0)
            continue;
        for (int k = 0; k < index; k++)
            if (joint->axis[k] == axis && joint->is_rotation[k] == (i == 1))
                return fail(bvh, "each channel once");
        joint->axis[index] = (uint8_t)axis;
        joint->is_rotation[index] = i == 1;
        joint->has_rotation |= i == 1;
        joint->has_position |= i == 0;
        joint->channel_count++;
        return STATUS_OK;
    }
    return fail(bvh, "Xposition, Yposition, Zposition, Xrotation, Yrotation or Zrotation");
}

static Status read_channels(Bvh *bvh, int node)
{
    BvhJoint *joint = &bvh->joint[node];
    double count = 0;

    if (joint->channel_count)
        return fail(bvh, "the channels of a joint once");
    if (read_number(bvh, &count))
        return bvh->err->status;
    if (!(count >= 0.0 && count <= CHANNELS_MAX) || count != floor(count))
        return fail(bvh, "0 to 6 channels");
    for (int i = 0; i < (int)count; i++)
        if (read_channel(bvh, joint))
            return bvh->err->status;
    bvh->column_count += joint->channel_count;
    return STATUS_OK;
}

/* A child of `*node`, which becomes the current one. */
static Status open_child(Bvh *bvh, int *node)
{
    const char *name = "";
    bool is_site = is_word(bvh, "End");
    int parent = *node;

    if (is_site && expect(bvh, "Site"))
        return bvh->err->status;
    // some writers name their end sites
    if (read_name(bvh, &name) || add_node(bvh, parent, is_site ? "" : name, node))
        return bvh->err->status;
    return expect(bvh, "{");
}

/* One thing of a joint, whose first word is read; `*node` and `*depth` follow the braces. */
static Status read_item(Bvh *bvh, int *node, int *depth)
{
    if (is_word(bvh, "}")) {
        *node = bvh->node[*node].parent;
        --*depth;
        return STATUS_OK;
    }
    if (is_word(bvh, "OFFSET"))
        return read_offset(bvh, *node);
    if (is_word(bvh, "CHANNELS"))
        return read_channels(bvh, *node);
    if (!is_word(bvh, "JOINT") && !is_word(bvh, "End"))
        return fail(bvh, "OFFSET, CHANNELS, JOINT, End Site or }");
    if (++*depth > DEPTH_MAX)
        return error_set(bvh->err, STATUS_LIMIT, "joints are nested deeper than %d", DEPTH_MAX);
    return open_child(bvh, node);
}

/* Everything inside one root's braces. */
static Status read_root(Bvh *bvh)
{
    int node = -1, depth = 1;

    if (open_child(bvh, &node))
        return bvh->err->status;
    while (depth > 0) {
        if (!next_word(bvh))
            return fail(bvh, "}");
        if (read_item(bvh, &node, &depth))
            return bvh->err->status;
    }
    return STATUS_OK;
}

static Status read_hierarchy(Bvh *bvh)
{
    if (expect(bvh, "HIERARCHY"))
        return bvh->err->status;
    while (next_word(bvh) && is_word(bvh, "ROOT"))
        if (read_root(bvh))
            return bvh->err->status;
    if (!is_word(bvh, "MOTION"))
        return fail(bvh, bvh->node_count ? "ROOT or MOTION" : "ROOT");
    return bvh->node_count ? STATUS_OK : fail(bvh, "ROOT");
}

/* --- the motion --- */

/* "Frames: 3", "Frames:3". */
static Status read_labelled(Bvh *bvh, const char *label, double *out)
{
    size_t length = strlen(label);

    skip_space(bvh);
    if ((size_t)(bvh->end - bvh->at) < length ||
        strncasecmp((const char *)bvh->at, label, length) != 0) {
        (void)next_word(bvh);
        return fail(bvh, label);
    }
    bvh->at += length;
    return read_number(bvh, out);
}

static Status read_counts(Bvh *bvh)
{
    const AssetLimits *limits = &bvh->options->limits;
    int64_t most = (int64_t)limits->vertices * NUMBERS_PER_VERTEX;
    double frames = 0;

    if (read_labelled(bvh, "Frames:", &frames))
        return bvh->err->status;
    if (!(frames >= 1.0 && frames <= 1e9) || frames != floor(frames))
        return fail(bvh, "a number of frames from 1");
    // a number and a space take two bytes
    int64_t left = (int64_t)(bvh->end - bvh->at) / 2 + 1;
    if (bvh->column_count > 0 && (int64_t)frames > left / bvh->column_count)
        return error_set(
            bvh->err, STATUS_INVALID,
            "BVH, line %d: %.0f frames of %d numbers do not fit in the rest of the file", bvh->line,
            frames, bvh->column_count);
    if ((int64_t)frames * (bvh->column_count + 1) > most || frames > (double)INT32_MAX / 4)
        return error_set(bvh->err, STATUS_LIMIT, "the motion has more than %lld numbers",
                         (long long)most);
    bvh->frame_count = (int)frames;
    skip_space(bvh);
    if (read_labelled(bvh, "Frame Time:", &bvh->frame_time))
        return bvh->err->status;
    if (!(bvh->frame_time > 0.0 && bvh->frame_time <= 60.0))
        return fail(bvh, "a frame time above 0 and up to 60 seconds");
    return STATUS_OK;
}

static Quat turn(int axis, double degrees)
{
    double s, c;

    scalar_sin_cos(0.5 * degree * degrees, &s, &c);
    return (Quat){axis == 0 ? (float)s : 0.0f, axis == 1 ? (float)s : 0.0f,
                  axis == 2 ? (float)s : 0.0f, (float)c};
}

static void store_rotation(const Bvh *bvh, float *key, int frame, Quat q)
{
    if (bvh->options->is_z_up)
        q = (Quat){q.x, q.z, -q.y, q.w};
    q = quat_normalize(q);
    float *out = key + 4 * (size_t)frame;
    // the shorter way from the key before
    if (frame > 0 && quat_dot((Quat){out[-4], out[-3], out[-2], out[-1]}, q) < 0.0f)
        q = (Quat){-q.x, -q.y, -q.z, -q.w};
    memcpy(out, (const float[]){q.x, q.y, q.z, q.w}, 4 * sizeof *out);
}

static Status read_joint_frame(Bvh *bvh, int node, int frame)
{
    BvhJoint *joint = &bvh->joint[node];
    Quat rotation = quat_identity();
    double position[3] = {0}, value = 0;

    for (int i = 0; i < joint->channel_count; i++) {
        if (read_number(bvh, &value))
            return error_context(bvh->err, "frame %d of %d", frame + 1, bvh->frame_count);
        if (joint->is_rotation[i])
            rotation = quat_mul(rotation, turn(joint->axis[i], value));
        else
            position[joint->axis[i]] = value;
    }
    if (joint->has_rotation)
        store_rotation(bvh, joint->rotation, frame, rotation);
    if (joint->has_position) {
        Vec3 p = place(bvh, position);
        joint->is_moved |= position[0] != 0.0 || position[1] != 0.0 || position[2] != 0.0;
        memcpy(joint->position + 3 * (size_t)frame, (const float[]){p.x, p.y, p.z}, 12);
    }
    return STATUS_OK;
}

/* Axes without a position channel keep the offset. */
static void fill_missing_axes(const Bvh *bvh, int node)
{
    const BvhJoint *joint = &bvh->joint[node];
    bool has[3] = {false};
    Vec3 rest = bvh->node[node].rest.translation;
    const float offset[3] = {rest.x, rest.y, rest.z};

    for (int i = 0; i < joint->channel_count; i++) {
        // z of a file that is z-up is our y
        int axis = joint->axis[i];
        if (bvh->options->is_z_up)
            axis = axis == 0 ? 0 : 3 - axis;
        if (!joint->is_rotation[i])
            has[axis] = true;
    }
    for (int axis = 0; axis < 3; axis++)
        for (int frame = 0; !has[axis] && frame < bvh->frame_count; frame++)
            joint->position[3 * (size_t)frame + (size_t)axis] = offset[axis];
}

static Status make_room(Bvh *bvh)
{
    for (int i = 0; i < bvh->node_count; i++) {
        BvhJoint *joint = &bvh->joint[i];

        if (joint->has_rotation)
            joint->rotation = arena_array(bvh->arena, float, 4 * (size_t)bvh->frame_count);
        if (joint->has_position)
            joint->position = arena_array(bvh->arena, float, 3 * (size_t)bvh->frame_count);
        if ((joint->has_rotation && !joint->rotation) || (joint->has_position && !joint->position))
            return error_set(bvh->err, STATUS_NO_MEMORY, "no room for %d frames", bvh->frame_count);
    }
    return STATUS_OK;
}

static Status read_motion(Bvh *bvh)
{
    if (read_counts(bvh) || make_room(bvh))
        return bvh->err->status;
    for (int frame = 0; frame < bvh->frame_count; frame++)
        for (int i = 0; i < bvh->node_count; i++)
            if (read_joint_frame(bvh, i, frame))
                return bvh->err->status;
    for (int i = 0; i < bvh->node_count; i++)
        if (bvh->joint[i].has_position && bvh->joint[i].is_moved)
            fill_missing_axes(bvh, i);
    return STATUS_OK;
}

static Status make_clip(const Bvh *bvh, Rig *rig)
{
    Clip *clip = arena_array(bvh->arena, Clip, 1);
    ClipChannel *channel = arena_array(bvh->arena, ClipChannel, 2 * (size_t)bvh->node_count);
    double *time = arena_array(bvh->arena, double, bvh->frame_count);

    if (!clip || !channel || !time)
        return error_set(bvh->err, STATUS_NO_MEMORY, "no room for the clip");
    for (int i = 0; i < bvh->frame_count; i++)
        time[i] = i * bvh->frame_time;
    *clip = (Clip){.name = "", .duration = time[bvh->frame_count - 1], .channel = channel};
    for (int i = 0; i < bvh->node_count; i++) {
        const BvhJoint *joint = &bvh->joint[i];
        ClipChannel base = {.node = i, .key_count = bvh->frame_count, .time = time};

        if (joint->has_position && joint->is_moved) {
            base.path = CLIP_TRANSLATION;
            base.width = 3;
            base.value = joint->position;
            channel[clip->channel_count++] = base;
        }
        if (joint->has_rotation) {
            base.path = CLIP_ROTATION;
            base.width = 4;
            base.value = joint->rotation;
            channel[clip->channel_count++] = base;
        }
    }
    rig->clip = clip;
    rig->clip_count = 1;
    return STATUS_OK;
}

/* --- the file --- */

bool bvh_matches(Bytes file)
{
    Bvh bvh = {.at = file.data, .end = file.data + file.size};

    if (file.size >= 3 && memcmp(file.data, "\xEF\xBB\xBF", 3) == 0)
        bvh.at += 3;
    return next_word(&bvh) && is_word(&bvh, "HIERARCHY");
}

Status bvh_read(Bytes file, const AssetOptions *options, Arena *arena, Arena *temp, Rig *rig,
                Error *err)
{
    Bvh bvh = {.at = file.data,
               .end = file.data + file.size,
               .line = 1,
               .options = options,
               .arena = arena,
               .err = err,
               .unit = (float)rig->unit,
               .node = arena_array(temp, RigNode, options->limits.joints),
               .joint = arena_array(temp, BvhJoint, options->limits.joints)};

    if (!bvh.node || !bvh.joint)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d joints", options->limits.joints);
    if (file.size >= 3 && memcmp(file.data, "\xEF\xBB\xBF", 3) == 0)
        bvh.at += 3;
    if (read_hierarchy(&bvh) || read_motion(&bvh) || make_clip(&bvh, rig))
        return err->status;
    if (next_word(&bvh))
        warnings_add(&rig->warnings, "motion_longer",
                     "BVH, line %d: there is more than the %d frames of the motion, which is left "
                     "out",
                     bvh.line, bvh.frame_count);
    rig->node = bvh.node;
    rig->node_count = bvh.node_count;
    return STATUS_OK;
}
