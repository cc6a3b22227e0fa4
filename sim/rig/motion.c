#include "rig/motion.h"

#include "rig/builtin.h"
#include "rig/clip.h"
#include "rig/constraint.h"
#include "rig/limb.h"
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
    if (source != desc->rig)
        return retarget_clip(desc, arena, motion, err);
    const Clip *clip = &source->clip[desc->spec->clip];
    MotionTrack *track = arena_array(arena, MotionTrack, clip->channel_count);
    if (!track)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d channels", clip->channel_count);
    for (int i = 0; i < clip->channel_count; i++)
        track[i] = (MotionTrack){.channel = &clip->channel[i], .node = clip->channel[i].node};
    motion->track = track;
    motion->track_count = clip->channel_count;
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
    for (int i = 0; i < motion->bone_count; i++)
        is_animated[motion->bone[i].node] = true;
    if (motion->hips.node >= 0)
        is_animated[motion->hips.node] = true;
    for (int i = 0; i < motion->hinge_count; i++)
        is_animated[motion->hinge[i].node] = true;
    for (int i = 0; i < motion->constraint_count; i++)
        is_animated[rig->constraint[motion->constraint[i]].node] = true;
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
    if (is_translated && motion->hips.node >= 0)
        is_translated[motion->hips.node] = true;
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
        .hips = {.node = -1},
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
    if (constraints_sort(rig, arena, desc->warnings, &motion.constraint, &motion.constraint_count,
                         err) ||
        mark_nodes(rig, arena, &motion, err))
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
    if (channel->path == CLIP_ROTATION)
        local->rotation = (Quat){value[0], value[1], value[2], value[3]};
    else if (channel->path == CLIP_SCALE)
        local->scale = vec3(value[0], value[1], value[2]);
    else
        local->translation = vec3(value[0], value[1], value[2]);
}

static void apply_bone(const MotionBone *bone, double time, Pose *out)
{
    Quat q = bone->before;

    for (int i = 0; i < bone->link_count; i++) {
        const MotionLink *link = &bone->link[i];
        Quat turn = link->rest;
        float value[4];

        if (link->rotation) {
            clip_sample(link->rotation, time, value);
            turn = (Quat){value[0], value[1], value[2], value[3]};
        }
        q = quat_mul(q, link->is_inverse ? quat_conjugate(turn) : turn);
    }
    out->local[bone->node].rotation = quat_normalize(quat_mul(q, bone->after));
}

/* A node of the other character in its scene. */
static World follow_path(const MotionPath *path, double time)
{
    World world = world_identity();

    for (int i = 0; i < path->step_count; i++) {
        const MotionStep *step = &path->step[i];
        Transform local = step->rest;
        float value[4];

        for (int k = CLIP_TRANSLATION; k <= CLIP_SCALE; k++) {
            if (!step->channel[k])
                continue;
            clip_sample(step->channel[k], time, value);
            if (k == CLIP_TRANSLATION)
                local.translation = vec3(value[0], value[1], value[2]);
            else if (k == CLIP_ROTATION)
                local.rotation = (Quat){value[0], value[1], value[2], value[3]};
            else
                local.scale = vec3(value[0], value[1], value[2]);
        }
        world = world_child(&world, &local);
    }
    return world;
}

static void apply_hips(const Motion *motion, double time, Pose *out)
{
    const MotionHips *hips = &motion->hips;
    Vec3 way = dvec3_offset(follow_path(&hips->source, time).origin, hips->rest);
    Vec3 moved = {vec3_dot(hips->to_x, way), vec3_dot(hips->to_y, way), vec3_dot(hips->to_z, way)};

    out->local[hips->node].translation =
        vec3_add(motion->rig->node[hips->node].rest.translation, moved);
}

/* The turn about the vertical in a rotation. */
static Quat heading(Quat q)
{
    return quat_normalize((Quat){0.0f, q.y, 0.0f, q.w});
}

/* How far a foot may be off its place in the leg's own proportion: what hips of another width need
 * when they turn over feet that stand, and little where the character lies. */
static float foot_slack(const MotionFoot *foot, const Pose *pose)
{
    Quat turn = quat_mul(pose->world[foot->hips].rotation, foot->hips_rest);
    float upright = 2.0f * quat_rotate(turn, vec3(0.0f, 1.0f, 0.0f)).y - 1.0f;

    return foot->length * (0.04f + 0.1f * (upright > 0.0f ? upright : 0.0f));
}

/* From the limb's root to where it is to end, in the model's scene. */
static Vec3 find_way(const MotionLimb *limb, double time, const Pose *pose)
{
    const MotionFoot *foot = &limb->foot;
    World end = follow_path(&limb->source_end, time);
    Vec3 own = dvec3_offset(end.origin, follow_path(&limb->source_root, time).origin);

    own = vec3_scale(quat_rotate(limb->face, own), limb->scale);
    if (foot->hips < 0)
        return own;
    Vec3 way = dvec3_offset(end.origin, follow_path(&foot->source_hips, time).origin);
    Vec3 hips = dvec3_offset(pose->world[foot->hips].origin, pose->world[limb->root].origin);
    Quat turn = heading(quat_mul(end.rotation, foot->rest));
    way = vec3_add(hips, vec3_scale(quat_rotate(limb->face, way), foot->scale));
    way = vec3_add(way, quat_rotate(turn, foot->offset));
    Vec3 off = vec3_sub(way, own);
    float length = vec3_length(off), slack = foot_slack(foot, pose);
    return length > slack ? vec3_add_scaled(own, off, slack / length) : way;
}

/* The clip's pose of what it moves. */
static void apply_clip(const Motion *motion, double time, Pose *out)
{
    for (int i = 0; i < motion->track_count; i++)
        apply_track(&motion->track[i], time, motion->rig, out);
    for (int i = 0; i < motion->bone_count; i++)
        apply_bone(&motion->bone[i], time, out);
    if (motion->hips.node >= 0)
        apply_hips(motion, time, out);
    if (motion->limb_count == 0)
        return;
    pose_update_world(motion->rig, out);
    for (int i = 0; i < motion->limb_count; i++) {
        const MotionLimb *limb = &motion->limb[i];

        limb_reach(motion->rig, limb, find_way(limb, time, out), out);
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
        apply_clip(motion, moment.clip_time, out);
    else if (motion->kind != MOTION_STILL)
        apply_builtin(motion, moment.clip_time, out);
    if (motion->travel >= 0) {
        pose_update_world(motion->rig, out);
        take_out_travel(motion, out);
    }
    if (moment.weight < 1.0)
        blend_from_rest(motion, (float)moment.weight, out);
    pose_update_world(motion->rig, out);
    constraints_apply(motion->rig, motion->constraint, motion->constraint_count, out);
}
