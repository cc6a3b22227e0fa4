#include "rig/retarget.h"

/* The rigs at rest and which node of the target stands for each of the source's. */
typedef struct Pairing {
    const Rig *source, *target;
    World *source_world, *target_world;
    int *node; /* of the target, -1 none     (source->node_count) */
    Quat face; /* turns the source's forward to the target's */
    float scale;
    bool is_humanoid;
} Pairing;

static Quat parent_rotation(const Rig *rig, const World *world, int node)
{
    int parent = rig->node[node].parent;

    return parent < 0 ? quat_identity() : world[parent].rotation;
}

static void pair_by_role(Pairing *pairing)
{
    const Rig *source = pairing->source, *target = pairing->target;
    int hips = source->role[ROLE_HIPS], target_hips = target->role[ROLE_HIPS];

    for (int i = 0; i < source->node_count; i++)
        pairing->node[i] = -1;
    for (int i = 0; i < ROLE_COUNT; i++)
        if (source->role[i] >= 0)
            pairing->node[source->role[i]] = target->role[i];
    pairing->scale = 1.0f;
    if (hips >= 0 && target_hips >= 0) {
        double height = pairing->source_world[hips].origin.y;
        double target_height = pairing->target_world[target_hips].origin.y;
        if (height > 1e-6 && target_height > 1e-6)
            pairing->scale = (float)(target_height / height);
    }
    bool is_same_way = vec3_dot(source->forward, target->forward) > 0.0f;
    pairing->face = is_same_way ? quat_identity() : (Quat){0.0f, 1.0f, 0.0f, 0.0f};
}

/* Each node that has channels is looked up once. */
static void pair_by_key(Pairing *pairing, const Clip *clip)
{
    const Rig *source = pairing->source;

    for (int i = 0; i < source->node_count; i++)
        pairing->node[i] = -2;
    for (int i = 0; i < clip->channel_count; i++) {
        int node = clip->channel[i].node;

        if (pairing->node[node] == -2)
            pairing->node[node] = rig_find_node(pairing->target, source->node[node].key);
    }
}

/* normalised = face Wp q W^-1 face^-1 (source), q' = Wp'^-1 normalised W' (target), with W a bone's
 * world rotation at rest and Wp its parent's. */
static MotionTrack track_of(const Pairing *pairing, const ClipChannel *channel)
{
    int node = pairing->node[channel->node];
    MotionTrack track = {.channel = channel, .node = node};

    if (!pairing->is_humanoid)
        return track;
    Quat parent = parent_rotation(pairing->source, pairing->source_world, channel->node);
    Quat target_parent = parent_rotation(pairing->target, pairing->target_world, node);
    Quat own = pairing->source_world[channel->node].rotation;
    Quat target_own = pairing->target_world[node].rotation;

    track.is_retargeted = true;
    track.before = quat_mul(quat_conjugate(target_parent), quat_mul(pairing->face, parent));
    track.after =
        quat_mul(quat_conjugate(own), quat_mul(quat_conjugate(pairing->face), target_own));
    track.source_rest = pairing->source->node[channel->node].rest.translation;
    track.scale = pairing->scale;
    return track;
}

static bool is_taken(const Pairing *pairing, const ClipChannel *channel)
{
    int node = pairing->node[channel->node];

    if (node < 0)
        return false;
    if (channel->path == CLIP_WEIGHTS) {
        int mesh = pairing->target->node[node].mesh;
        return mesh >= 0 && pairing->target->mesh[mesh].morph_count == channel->width;
    }
    if (!pairing->is_humanoid || channel->path == CLIP_ROTATION)
        return true;
    return channel->path == CLIP_TRANSLATION && node == pairing->target->role[ROLE_HIPS];
}

int retarget_clip(const MotionDesc *desc, Arena *arena, MotionTrack *out)
{
    const Rig *source = desc->spec->source;
    const Clip *clip = &source->clip[desc->spec->clip];
    size_t mark = arena_mark(arena);
    Pairing pairing = {
        .source = source,
        .target = desc->rig,
        .source_world = arena_array(arena, World, source->node_count),
        .target_world = arena_array(arena, World, desc->rig->node_count),
        .node = arena_array(arena, int, source->node_count),
        .is_humanoid = source->is_humanoid && desc->rig->is_humanoid,
    };
    int count = 0, dropped = 0;

    if (!pairing.source_world || !pairing.target_world || !pairing.node)
        return -1;
    rig_rest_worlds(source, pairing.source_world);
    rig_rest_worlds(desc->rig, pairing.target_world);
    if (pairing.is_humanoid)
        pair_by_role(&pairing);
    else
        pair_by_key(&pairing, clip);
    for (int i = 0; i < clip->channel_count; i++) {
        if (is_taken(&pairing, &clip->channel[i]))
            out[count++] = track_of(&pairing, &clip->channel[i]);
        else
            dropped++;
    }
    arena_rewind(arena, mark);
    if (dropped)
        warnings_add(desc->warnings, "retarget_dropped",
                     "%d of the %d channels of clip \"%s\" have no counterpart in the model",
                     dropped, clip->channel_count, clip->key);
    return count;
}
