#include "rig/motion.h"

#include "rig/builtin.h"
#include "rig/clip.h"
#include "rig/retarget.h"

#include <string.h>

static double smoothstep(double x)
{
    x = x < 0.0 ? 0.0 : (x > 1.0 ? 1.0 : x);
    return x * x * (3.0 - 2.0 * x);
}

/* --- building --- */

static Status build_tracks(const MotionDesc *desc, Arena *arena, Motion *motion, Error *err)
{
    const Rig *source = desc->spec->source;

    if (!source || desc->spec->clip < 0 || desc->spec->clip >= source->clip_count)
        return error_set(err, STATUS_INVALID, "the animation has no clip %d", desc->spec->clip);
    const Clip *clip = &source->clip[desc->spec->clip];
    MotionTrack *track = arena_array(arena, MotionTrack, clip->channel_count);
    int count = clip->channel_count;
    if (!track)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d channels", clip->channel_count);
    if (source == desc->rig)
        for (int i = 0; i < count; i++)
            track[i] = (MotionTrack){.channel = &clip->channel[i], .node = clip->channel[i].node};
    else
        count = retarget_clip(desc, arena, track);
    if (count < 0)
        return error_set(err, STATUS_NO_MEMORY, "no room to pair the nodes of two models");
    motion->track = track;
    motion->track_count = count;
    return STATUS_OK;
}

static bool moves_whole_scene(MotionKind kind)
{
    return kind == MOTION_HEAD_TURN || kind == MOTION_TURN || kind == MOTION_SWING ||
           kind == MOTION_JUMP || kind == MOTION_DROP || kind == MOTION_BACK_FLIP;
}

static Status mark_nodes(const Rig *rig, Arena *arena, Motion *motion, Error *err)
{
    bool *is_moved = arena_array(arena, bool, rig->node_count);
    bool *is_animated = arena_array(arena, bool, rig->node_count);
    bool *is_scaled = arena_array(arena, bool, rig->node_count);
    bool *is_weighted = arena_array(arena, bool, rig->node_count);

    if (!is_moved || !is_animated || !is_scaled || !is_weighted)
        return error_set(err, STATUS_NO_MEMORY, "no room for a motion of %d nodes",
                         rig->node_count);
    for (int i = 0; i < motion->track_count; i++) {
        const MotionTrack *track = &motion->track[i];

        if (track->channel->path == CLIP_WEIGHTS)
            is_weighted[track->node] = true;
        else
            is_animated[track->node] = true;
        if (track->channel->path == CLIP_SCALE)
            is_scaled[track->node] = true;
    }
    for (int i = 0; i < motion->hinge_count; i++)
        is_animated[motion->hinge[i].node] = true;
    for (int i = 0; i < rig->node_count; i++) {
        bool is_root = rig->node[i].parent < 0;
        bool is_scene = moves_whole_scene(motion->kind) || motion->travel >= 0;

        is_moved[i] = is_animated[i] || (is_scene && is_root);
        // a built-in motion that turns a root turns the scene
        if (is_root && motion->kind != MOTION_CLIP)
            is_animated[i] = false;
    }
    motion->is_moved = is_moved;
    motion->is_animated = is_animated;
    motion->is_scaled = is_scaled;
    motion->is_weighted = is_weighted;
    return STATUS_OK;
}

/* The first node, parents first, whose translation the clip animates; -1 where there is none. */
static int find_travel(const Motion *motion, Arena *arena)
{
    bool *is_translated = arena_array(arena, bool, motion->rig->node_count);

    for (int i = 0; is_translated && i < motion->track_count; i++)
        if (motion->track[i].channel->path == CLIP_TRANSLATION)
            is_translated[motion->track[i].node] = true;
    for (int i = 0; is_translated && i < motion->rig->node_count; i++)
        if (is_translated[motion->rig->order[i]])
            return motion->rig->order[i];
    return -1;
}

static Status find_travel0(Arena *arena, Motion *motion, Error *err)
{
    size_t mark = arena_mark(arena);
    int travel = find_travel(motion, arena);
    Pose pose;

    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", motion->rig->node_count);
    if (travel < 0)
        return STATUS_OK;
    if (pose_build(motion->rig, arena, &pose, err))
        return err->status;
    motion_pose(motion, (MotionMoment){motion->start, 1.0}, &pose);
    motion->travel0 = pose.world[travel].origin;
    motion->travel = travel;
    arena_rewind(arena, mark);
    return STATUS_OK;
}

Status motion_build(const MotionDesc *desc, Arena *arena, Motion *out, Error *err)
{
    const Rig *rig = desc->rig;
    Motion motion = {
        .rig = rig,
        .kind = desc->spec->kind,
        .start = desc->time->start,
        .length = desc->time->end - desc->time->start,
        .warm_up = desc->time->warm_up,
        .is_loop = desc->time->is_loop,
        .travel = -1,
    };
    World *world = arena_array(arena, World, rig->node_count);

    if (!world)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d nodes", rig->node_count);
    rig_rest_worlds(rig, world);
    builtin_find_hinges(desc, world, &motion);
    if (motion.kind == MOTION_CLIP && build_tracks(desc, arena, &motion, err))
        return err->status;
    if (motion.kind == MOTION_CLIP && desc->spec->is_in_place && find_travel0(arena, &motion, err))
        return err->status;
    if (mark_nodes(rig, arena, &motion, err))
        return err->status;
    *out = motion;
    return STATUS_OK;
}

/* --- evaluating --- */

MotionMoment motion_moment(const Motion *motion, double time)
{
    // a loop is run once before frame 0
    double first = motion->is_loop ? -motion->length : 0.0;

    if (time < first) {
        double weight =
            motion->warm_up > 0.0 ? smoothstep((time - first) / motion->warm_up + 1.0) : 0.0;
        return (MotionMoment){motion->start, weight};
    }
    if (time < 0.0)
        time += motion->length;
    return (MotionMoment){motion->start + (time < motion->length ? time : motion->length), 1.0};
}

static void apply_track(const MotionTrack *track, double time, const Rig *rig, Pose *out)
{
    const ClipChannel *channel = track->channel;
    Transform *local = &out->local[track->node];
    float value[4];

    if (channel->path == CLIP_WEIGHTS) {
        clip_sample(channel, time, out->morph_weight + rig->node[track->node].rest_weight);
        return;
    }
    clip_sample(channel, time, value);
    Vec3 v = {value[0], value[1], value[2]};
    if (channel->path == CLIP_SCALE)
        local->scale = v;
    else if (channel->path == CLIP_ROTATION) {
        Quat q = {v.x, v.y, v.z, value[3]};
        local->rotation = track->is_retargeted
                              ? quat_normalize(quat_mul(quat_mul(track->before, q), track->after))
                              : q;
    } else if (track->is_retargeted) {
        Vec3 moved = vec3_scale(vec3_sub(v, track->source_rest), track->scale);
        local->translation =
            vec3_add(rig->node[track->node].rest.translation, quat_rotate(track->before, moved));
    } else {
        local->translation = v;
    }
}

static void apply_builtin(const Motion *motion, double time, Pose *out)
{
    const Rig *rig = motion->rig;
    double angle[MOTION_MAX_HINGES];
    SceneMove move = builtin_evaluate(motion, time, angle);

    for (int i = 0; i < motion->hinge_count; i++) {
        const MotionHinge *hinge = &motion->hinge[i];
        Transform *local = &out->local[hinge->node];

        local->rotation = quat_normalize(
            quat_mul(quat_about(hinge->axis, angle[i]), rig->node[hinge->node].rest.rotation));
    }
    if (!moves_whole_scene(motion->kind))
        return;
    for (int i = 0; i < rig->node_count && rig->node[rig->order[i]].parent < 0; i++) {
        Transform *local = &out->local[rig->order[i]];
        Vec3 arm = vec3_sub(rig->node[rig->order[i]].rest.translation, move.pivot);

        local->rotation = quat_normalize(quat_mul(move.rotation, local->rotation));
        local->translation =
            vec3_add(vec3_add(move.pivot, move.shift), quat_rotate(move.rotation, arm));
    }
}

/* Part of the way from the bind pose to what the clip has. */
static void blend_from_rest(const Motion *motion, float weight, Pose *out)
{
    const Rig *rig = motion->rig;

    for (int i = 0; i < rig->node_count; i++) {
        const Transform *rest = &rig->node[i].rest;
        Transform *local = &out->local[i];

        if (!motion->is_moved[i])
            continue;
        local->translation = vec3_lerp(rest->translation, local->translation, weight);
        local->rotation = quat_nlerp(rest->rotation, local->rotation, weight);
        local->scale = vec3_lerp(rest->scale, local->scale, weight);
    }
    for (int i = 0; i < rig->morph_weight_count; i++) {
        float rest = rig->morph_weight0[i];
        out->morph_weight[i] = rest + (out->morph_weight[i] - rest) * weight;
    }
}

/* Shift the scene so that the travelling node stays above its place at the start. */
static void take_out_travel(const Motion *motion, Pose *out)
{
    const Rig *rig = motion->rig;
    DVec3 place = out->world[motion->travel].origin;
    double x = place.x - motion->travel0.x, z = place.z - motion->travel0.z;

    for (int i = 0; i < rig->node_count && rig->node[rig->order[i]].parent < 0; i++) {
        Vec3 *translation = &out->local[rig->order[i]].translation;
        *translation = vec3((float)((double)translation->x - x), translation->y,
                            (float)((double)translation->z - z));
    }
    pose_update_world(rig, out);
}

void motion_pose(const Motion *motion, MotionMoment moment, Pose *out)
{
    pose_set_rest(motion->rig, out);
    if (motion->kind == MOTION_CLIP)
        for (int i = 0; i < motion->track_count; i++)
            apply_track(&motion->track[i], moment.clip_time, motion->rig, out);
    else if (motion->kind != MOTION_STILL)
        apply_builtin(motion, moment.clip_time, out);
    if (motion->travel >= 0) {
        pose_update_world(motion->rig, out);
        take_out_travel(motion, out);
    }
    if (moment.weight < 1.0)
        blend_from_rest(motion, (float)moment.weight, out);
    pose_update_world(motion->rig, out);
}
