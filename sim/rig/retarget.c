#include "rig/retarget.h"

#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 300 };

/* The rigs at rest and which node of one stands for which of the other. */
typedef struct Pairing {
    const Rig *source, *target;
    const Clip *clip;
    const int *source_role, *target_role; /* (ROLE_COUNT) */
    World *source_world, *target_world;
    ClipChannel const **channel; /* by source node and path (4 source->node_count) */
    bool *is_used;               /* channels that move something (channel_count) */
    int *source_of;              /* by target node, -1 (target->node_count) */
    Quat *align;                 /* C, by target node; identity without a role */
    Quat face;                   /* F */
    float scale;                 /* of the way of the hips */
    bool is_normalised;          /* both are in VRM's T-pose at rest */
} Pairing;

static Quat rest_rotation(const World *world, int node)
{
    return node < 0 ? quat_identity() : world[node].rotation;
}

static bool is_vrm(const Rig *rig)
{
    return strncmp(rig->format, "vrm", 3) == 0;
}

/* From where one character faces to where the other does, about the vertical. */
static Quat face_to_face(Vec3 from, Vec3 to)
{
    static const float half = 0.70710678f;
    float cosine = vec3_dot(from, to);
    float sine = from.z * to.x - from.x * to.z;

    if (cosine > 0.5f)
        return quat_identity();
    if (cosine < -0.5f)
        return (Quat){0.0f, 1.0f, 0.0f, 0.0f};
    return (Quat){0.0f, sine > 0.0f ? half : -half, 0.0f, half};
}

/* --- pairs --- */

/* What a rig stands on at rest: its own zero, or its feet where the file has the hips there. */
static double ground_of(const World *world, const int *role)
{
    static const HumanoidRole feet[] = {ROLE_LEFT_FOOT, ROLE_RIGHT_FOOT, ROLE_LEFT_TOES,
                                        ROLE_RIGHT_TOES};
    double hips = world[role[ROLE_HIPS]].origin.y, lowest = hips;

    for (size_t i = 0; i < sizeof feet / sizeof feet[0]; i++)
        if (role[feet[i]] >= 0 && world[role[feet[i]]].origin.y < lowest)
            lowest = world[role[feet[i]]].origin.y;
    return lowest < -0.25 * (hips - lowest) ? lowest : 0.0;
}

/* Height of the hips above it; 0 without hips. */
static double hip_height(const World *world, const int *role)
{
    return world[role[ROLE_HIPS]].origin.y - ground_of(world, role);
}

/* How long two bones are at rest. */
static float limb_length(const World *world, const int *role, HumanoidRole upper)
{
    DVec3 root = world[role[upper]].origin, middle = world[role[upper + 1]].origin;
    DVec3 end = world[role[upper + 2]].origin;

    return vec3_length(dvec3_offset(middle, root)) + vec3_length(dvec3_offset(end, middle));
}

static bool has_limb(const int *role, HumanoidRole upper)
{
    return role[upper] >= 0 && role[upper + 1] >= 0 && role[upper + 2] >= 0;
}

/* How much farther the target's hips go: the ratio of their heights, as VRMC_vrm_animation has it;
 * where `by_legs`, that of the legs, with which feet that stand stay where they stand. */
static float find_scale(const Pairing *pairing, bool by_legs)
{
    const int *source = pairing->source_role, *target = pairing->target_role;
    const World *from = pairing->source_world, *to = pairing->target_world;
    double size = hip_height(from, source), target_size = hip_height(to, target);

    if (by_legs && has_limb(source, ROLE_LEFT_UPPER_LEG) && has_limb(target, ROLE_LEFT_UPPER_LEG)) {
        size = (double)limb_length(from, source, ROLE_LEFT_UPPER_LEG);
        target_size = (double)limb_length(to, target, ROLE_LEFT_UPPER_LEG);
    }
    return size > 1e-6 && target_size > 1e-6 ? (float)(target_size / size) : 1.0f;
}

static void pair_by_role(Pairing *pairing)
{
    for (int i = 0; i < pairing->target->node_count; i++) {
        pairing->source_of[i] = -1;
        pairing->align[i] = quat_identity();
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (pairing->source_role[i] >= 0 && pairing->target_role[i] >= 0)
            pairing->source_of[pairing->target_role[i]] = pairing->source_role[i];
    pairing->face = face_to_face(pairing->source->forward, pairing->target->forward);
    pairing->scale = find_scale(pairing, !pairing->is_normalised);
}

/* The nearest node above that has a counterpart, -1 for none. */
static int paired_above(const Pairing *pairing, int node)
{
    do
        node = pairing->target->node[node].parent;
    while (node >= 0 && pairing->source_of[node] < 0);
    return node;
}

/* The bone at the other end of a limb's, ROLE_COUNT for what is no limb. */
static HumanoidRole limb_end(HumanoidRole role)
{
    switch (role) {
    case ROLE_LEFT_UPPER_LEG:
    case ROLE_LEFT_LOWER_LEG:
    case ROLE_RIGHT_UPPER_LEG:
    case ROLE_RIGHT_LOWER_LEG:
    case ROLE_LEFT_UPPER_ARM:
    case ROLE_LEFT_LOWER_ARM:
    case ROLE_RIGHT_UPPER_ARM:
    case ROLE_RIGHT_LOWER_ARM:
        return (HumanoidRole)(role + 1);
    default:
        return ROLE_COUNT;
    }
}

static bool is_foot(HumanoidRole role)
{
    return role == ROLE_LEFT_FOOT || role == ROLE_RIGHT_FOOT || role == ROLE_LEFT_TOES ||
           role == ROLE_RIGHT_TOES;
}

/* Where a bone points at rest; false where it has no length. */
static bool direction(const World *world, int from, int to, Vec3 *out)
{
    Vec3 way = from < 0 || to < 0 ? vec3(0.0f, 0.0f, 0.0f)
                                  : dvec3_offset(world[to].origin, world[from].origin);
    float length = vec3_length(way);

    if (!(length > 1e-5f))
        return false;
    *out = vec3_scale(way, 1.0f / length);
    return true;
}

static HumanoidRole role_of(const int *roles, int node)
{
    int role = 0;

    while (role < ROLE_COUNT && roles[role] != node)
        role++;
    return (HumanoidRole)role;
}

/* C of one bone, from that of the bone above. */
static Quat find_alignment(const Pairing *pairing, int node)
{
    int above = paired_above(pairing, node);
    HumanoidRole role = role_of(pairing->target_role, node);
    Quat align = above < 0 || is_foot(role) ? quat_identity() : pairing->align[above];
    HumanoidRole end = limb_end(role);
    Vec3 from, to;

    if (end == ROLE_COUNT ||
        !direction(pairing->target_world, node, pairing->target_role[end], &from) ||
        !direction(pairing->source_world, pairing->source_of[node], pairing->source_role[end], &to))
        return align;
    Quat turn = quat_from_to(quat_rotate(align, from), quat_rotate(pairing->face, to));
    return quat_normalize(quat_mul(turn, align));
}

static void align_limbs(Pairing *pairing)
{
    const Rig *target = pairing->target;

    for (int i = 0; i < target->node_count; i++) {
        int node = target->order[i];

        if (pairing->source_of[node] >= 0)
            pairing->align[node] = find_alignment(pairing, node);
    }
}

/* --- bones --- */

static MotionLink link_of(const Pairing *pairing, int node, bool is_inverse)
{
    return (MotionLink){.rotation = pairing->channel[4 * node + (int)CLIP_ROTATION],
                        .rest = pairing->source->node[node].rest.rotation,
                        .is_inverse = is_inverse};
}

/* The rotation of source node `to` as `from` sees it: up to their common ancestor and down again.
 * Links are in the order of the product. */
static int fill_links(const Pairing *pairing, int from, int to, MotionLink *out)
{
    const RigNode *node = pairing->source->node;
    int top = rig_common_ancestor(pairing->source, from, to);
    int count = 0;

    for (int i = from; i != top; i = node[i].parent)
        out[count++] = link_of(pairing, i, true);
    int first = count;
    for (int i = to; i != top; i = node[i].parent)
        out[count++] = link_of(pairing, i, false);
    for (int a = first, b = count - 1; a < b; a++, b--) {
        MotionLink swap = out[a];
        out[a] = out[b];
        out[b] = swap;
    }
    return count;
}

static void mark_used(Pairing *pairing, const ClipChannel *channel)
{
    if (channel)
        pairing->is_used[channel - pairing->clip->channel] = true;
}

/* A bone moves where the clip moves something on its path. */
static bool build_bone(Pairing *pairing, int node, Arena *arena, MotionBone *out)
{
    int source = pairing->source_of[node], above = paired_above(pairing, node);
    int source_above = above < 0 ? -1 : pairing->source_of[above];
    int parent = pairing->target->node[node].parent;
    MotionLink *link =
        arena_array(arena, MotionLink,
                    rig_depth(pairing->source, source) + rig_depth(pairing->source, source_above));
    bool is_moved = false;

    if (!link)
        return false;
    *out = (MotionBone){
        .node = node, .link = link, .link_count = fill_links(pairing, source_above, source, link)};
    for (int i = 0; i < out->link_count; i++) {
        mark_used(pairing, link[i].rotation);
        is_moved |= link[i].rotation != NULL;
    }
    Quat align_above = above < 0 ? quat_identity() : pairing->align[above];
    Quat back = quat_conjugate(quat_mul(align_above, rest_rotation(pairing->target_world, parent)));
    out->before = quat_normalize(quat_mul(
        back, quat_mul(pairing->face, rest_rotation(pairing->source_world, source_above))));
    out->after = quat_normalize(
        quat_mul(quat_conjugate(quat_mul(pairing->face, pairing->source_world[source].rotation)),
                 quat_mul(pairing->align[node], pairing->target_world[node].rotation)));
    // where the rigs rest differently a bone is turned though nothing moves it
    Quat align = pairing->align[node];
    return is_moved || fabsf(align.w) < 0.9999999f || fabsf(align_above.w) < 0.9999999f;
}

static Status build_bones(Pairing *pairing, Arena *arena, Motion *out, Error *err)
{
    const Rig *target = pairing->target;
    MotionBone *bone = arena_array(arena, MotionBone, ROLE_COUNT);
    int count = 0;

    for (int i = 0; bone && i < target->node_count; i++)
        if (pairing->source_of[target->order[i]] >= 0 &&
            build_bone(pairing, target->order[i], arena, &bone[count]))
            count++;
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room to pair the bones of two models");
    out->bone = bone;
    out->bone_count = count;
    return STATUS_OK;
}

/* --- the hips --- */

static bool is_translated(const Pairing *pairing, int node)
{
    for (; node >= 0; node = pairing->source->node[node].parent)
        if (pairing->channel[4 * node + (int)CLIP_TRANSLATION])
            return true;
    return false;
}

/* From the scene to a node of the source. */
static MotionPath build_path(Pairing *pairing, int node, Arena *arena)
{
    int count = rig_depth(pairing->source, node);
    MotionStep *step = arena_array(arena, MotionStep, count);

    for (int i = count - 1; step && i >= 0; i--, node = pairing->source->node[node].parent) {
        step[i].rest = pairing->source->node[node].rest;
        for (int path = 0; path < 3; path++) {
            step[i].channel[path] = pairing->channel[4 * node + path];
            mark_used(pairing, step[i].channel[path]);
        }
    }
    return (MotionPath){.step_count = step ? count : 0, .step = step};
}

static Status build_hips(Pairing *pairing, Arena *arena, Motion *out, Error *err)
{
    int source = pairing->source_role[ROLE_HIPS], target = pairing->target_role[ROLE_HIPS];

    if (source < 0 || target < 0 || !is_translated(pairing, source))
        return STATUS_OK;
    MotionPath path = build_path(pairing, source, arena);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room to pair the hips of two models");
    DVec3 rest = pairing->source_world[source].origin;
    rest.y -= ground_of(pairing->source_world, pairing->source_role);
    int parent = pairing->target->node[target].parent;
    Mat3 basis = parent < 0 ? mat3_identity() : pairing->target_world[parent].basis;
    Mat3 cofactor = mat3_cofactor(&basis);
    float determinant = mat3_determinant(&basis);
    if (!(fabsf(determinant) > 1e-20f))
        return STATUS_OK;
    Quat back = quat_conjugate(pairing->face);
    float factor = pairing->scale / determinant;
    out->hips = (MotionHips){.node = target,
                             .source = path,
                             .rest = rest,
                             .to_x = vec3_scale(quat_rotate(back, cofactor.x), factor),
                             .to_y = vec3_scale(quat_rotate(back, cofactor.y), factor),
                             .to_z = vec3_scale(quat_rotate(back, cofactor.z), factor)};
    return STATUS_OK;
}

/* --- limbs --- */

/* Bones of the limb hang below each other. */
static bool is_chain(const Rig *rig, const int *role, HumanoidRole upper)
{
    return rig_common_ancestor(rig, role[upper], role[upper + 1]) == role[upper] &&
           rig_common_ancestor(rig, role[upper + 1], role[upper + 2]) == role[upper + 1];
}

/* What a foot needs beside its leg: see MotionFoot. `scale` is the leg's own. */
static MotionFoot build_foot(Pairing *pairing, HumanoidRole upper, float scale, float length,
                             Arena *arena)
{
    const int *source = pairing->source_role, *target = pairing->target_role;
    const World *from = pairing->source_world, *to = pairing->target_world;
    Vec3 joint = dvec3_offset(from[source[upper]].origin, from[source[ROLE_HIPS]].origin);
    Vec3 leg = dvec3_offset(from[source[upper + 2]].origin, from[source[upper]].origin);
    Vec3 own_joint = dvec3_offset(to[target[upper]].origin, to[target[ROLE_HIPS]].origin);
    Vec3 offset =
        vec3_sub(own_joint, vec3_scale(quat_rotate(pairing->face, joint), pairing->scale));

    offset = vec3_add_scaled(offset, quat_rotate(pairing->face, leg), scale - pairing->scale);
    return (MotionFoot){.hips = target[ROLE_HIPS],
                        .source_hips = build_path(pairing, source[ROLE_HIPS], arena),
                        .scale = pairing->scale,
                        .offset = offset,
                        .rest = quat_conjugate(from[source[upper + 2]].rotation),
                        .hips_rest = quat_conjugate(to[target[ROLE_HIPS]].rotation),
                        .length = length};
}

static Status build_limbs(Pairing *pairing, Arena *arena, Motion *out, Error *err)
{
    static const HumanoidRole roots[] = {ROLE_LEFT_UPPER_LEG, ROLE_RIGHT_UPPER_LEG,
                                         ROLE_LEFT_UPPER_ARM, ROLE_RIGHT_UPPER_ARM};
    enum { LIMBS = sizeof roots / sizeof roots[0] };
    MotionLimb *limb = arena_array(arena, MotionLimb, LIMBS);
    const int *source = pairing->source_role, *target = pairing->target_role;

    for (int i = 0; limb && i < LIMBS; i++) {
        HumanoidRole root = roots[i];

        if (!has_limb(source, root) || !has_limb(target, root) ||
            !is_chain(pairing->target, target, root))
            continue;
        float from = limb_length(pairing->source_world, source, root);
        float to = limb_length(pairing->target_world, target, root);
        if (!(from > 1e-5f && to > 1e-5f))
            continue;
        // knees bend backwards, elbows forwards
        Vec3 up = {0.0f, 1.0f, 0.0f};
        Vec3 left = vec3_cross(up, pairing->target->forward);
        Vec3 pole = i < 2 ? left : i == 2 ? vec3_scale(up, -1.0f) : up;
        limb[out->limb_count++] =
            (MotionLimb){.root = target[root],
                         .middle = target[root + 1],
                         .end = target[root + 2],
                         .source_root = build_path(pairing, source[root], arena),
                         .source_end = build_path(pairing, source[root + 2], arena),
                         .face = pairing->face,
                         .scale = to / from,
                         .pole = pole,
                         .foot = i < 2 ? build_foot(pairing, root, to / from, to, arena)
                                       : (MotionFoot){.hips = -1}};
    }
    out->limb = limb;
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room to pair the limbs of two models");
    return STATUS_OK;
}

/* --- by key --- */

/* Channels whose node the target has under the same key; `with_weights_only` for humanoids. */
static Status build_tracks(Pairing *pairing, Arena *arena, bool with_weights_only, Motion *out,
                           Error *err)
{
    const Clip *clip = pairing->clip;
    MotionTrack *track = arena_array(arena, MotionTrack, clip->channel_count);
    int count = 0;

    if (!track)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d channels", clip->channel_count);
    for (int i = 0; i < clip->channel_count; i++) {
        const ClipChannel *channel = &clip->channel[i];
        bool is_weights = channel->path == CLIP_WEIGHTS;

        if (with_weights_only && !is_weights)
            continue;
        int node = rig_find_node(pairing->target, pairing->source->node[channel->node].key);
        int mesh = node < 0 ? -1 : pairing->target->node[node].mesh;
        if (node < 0 ||
            (is_weights && (mesh < 0 || pairing->target->mesh[mesh].morph_count != channel->width)))
            continue;
        track[count++] = (MotionTrack){.channel = channel, .node = node};
        mark_used(pairing, channel);
    }
    out->track = track;
    out->track_count = count;
    return STATUS_OK;
}

static bool is_near(Vec3 a, Vec3 b)
{
    float size = vec3_length(a) + vec3_length(b);

    return vec3_length(vec3_sub(a, b)) <= 1e-4f * (0.1f + size);
}

/* Does the target have every node that the clip moves, the same way at rest? */
static bool is_same_skeleton(const Pairing *pairing)
{
    for (int i = 0; i < pairing->clip->channel_count; i++) {
        const ClipChannel *channel = &pairing->clip->channel[i];
        const RigNode *source = &pairing->source->node[channel->node];
        int node = rig_find_node(pairing->target, source->key);

        if (node < 0)
            return false;
        const Transform *rest = &pairing->target->node[node].rest;
        if (fabsf(quat_dot(rest->rotation, source->rest.rotation)) < 0.999999f ||
            !is_near(rest->translation, source->rest.translation))
            return false;
    }
    return true;
}

/* --- what has no counterpart --- */

static void add_to_list(char *list, HumanoidRole role)
{
    size_t used = strlen(list);

    (void)snprintf(list + used, LIST_SIZE - used, "%s%s", used ? ", " : "",
                   humanoid_role_name(role));
}

static void warn_of_roles(const Pairing *pairing, Warnings *warnings)
{
    char model[LIST_SIZE] = "", animation[LIST_SIZE] = "";

    for (int i = 0; i < ROLE_COUNT; i++) {
        int source = pairing->source_role[i], target = pairing->target_role[i];

        if (source >= 0 && target < 0 && pairing->channel[4 * source + (int)CLIP_ROTATION])
            add_to_list(model, (HumanoidRole)i);
        if (source < 0 && target >= 0 && humanoid_role_is_required((HumanoidRole)i))
            add_to_list(animation, (HumanoidRole)i);
    }
    if (model[0])
        warnings_add(warnings, "retarget_model_lacks",
                     "the model lacks bones that the animation moves, which turn those below them: "
                     "%s",
                     model);
    if (animation[0])
        warnings_add(warnings, "retarget_animation_lacks",
                     "the animation lacks bones of the model, which stay at rest: %s", animation);
}

static void warn_of_channels(const Pairing *pairing, Warnings *warnings)
{
    int dropped = 0;

    for (int i = 0; i < pairing->clip->channel_count; i++)
        dropped += !pairing->is_used[i];
    if (dropped)
        warnings_add(warnings, "retarget_dropped",
                     "%d of the %d channels of clip \"%s\" have no counterpart in the model",
                     dropped, pairing->clip->channel_count, pairing->clip->key);
}

/* --- all of it --- */

static Status open_pairing(const MotionDesc *desc, Arena *arena, Pairing *out, Error *err)
{
    const Rig *source = desc->spec->source, *target = desc->rig;
    const Clip *clip = &source->clip[desc->spec->clip];

    *out = (Pairing){
        .source = source,
        .target = target,
        .clip = clip,
        .source_role = desc->spec->source_role ? desc->spec->source_role : source->role,
        .target_role = desc->spec->target_role ? desc->spec->target_role : target->role,
        .source_world = arena_array(arena, World, source->node_count),
        .target_world = arena_array(arena, World, target->node_count),
        .channel = arena_array(arena, const ClipChannel *, 4 * (size_t)source->node_count),
        .is_used = arena_array(arena, bool, clip->channel_count),
        .source_of = arena_array(arena, int, target->node_count),
        .align = arena_array(arena, Quat, target->node_count),
    };
    if (arena->overflowed || !out->align || !out->channel)
        return error_set(err, STATUS_NO_MEMORY, "no room to pair the nodes of two models");
    rig_rest_worlds(source, out->source_world);
    rig_rest_worlds(target, out->target_world);
    for (int i = 0; i < clip->channel_count; i++)
        out->channel[4 * clip->channel[i].node + (int)clip->channel[i].path] = &clip->channel[i];
    return STATUS_OK;
}

static bool has_hips(const int *role)
{
    return role[ROLE_HIPS] >= 0;
}

Status retarget_clip(const MotionDesc *desc, Arena *arena, Motion *out, Error *err)
{
    Pairing pairing;

    if (open_pairing(desc, arena, &pairing, err))
        return err->status;
    bool is_humanoid = has_hips(pairing.source_role) && has_hips(pairing.target_role) &&
                       !is_same_skeleton(&pairing);
    if (is_humanoid) {
        pairing.is_normalised = is_vrm(pairing.source) && is_vrm(pairing.target);
        pair_by_role(&pairing);
        if (!pairing.is_normalised)
            align_limbs(&pairing);
        if (build_bones(&pairing, arena, out, err) || build_hips(&pairing, arena, out, err) ||
            (!pairing.is_normalised && build_limbs(&pairing, arena, out, err)))
            return err->status;
        warn_of_roles(&pairing, desc->warnings);
    }
    if (build_tracks(&pairing, arena, is_humanoid, out, err))
        return err->status;
    warn_of_channels(&pairing, desc->warnings);
    return STATUS_OK;
}
