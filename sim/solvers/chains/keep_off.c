/* Keeping a chain off the body's surface: probes that lie too deep turn the segment that they
 * belong to. Each segment is freed as it is stepped, so that those behind it start from where it
 * really is (bones behind it are taken to lie as they lay a step ago); then sweeps over the whole
 * chain bring out what its later segments have moved.
 *
 * A probe is where its vertex is drawn: the weighted sum over the segments and nodes that move it.
 * A turn of segment j that shifts its tail by s shifts the probe by about lever s, with lever = w_j
 * (r_j . b) / (b . b) + the weights of all segments behind j, for bone b and the probe at r_j from
 * its head. The turn that brings the probe out along the surface's normal follows.
 */
#include "solvers/chains/model.h"

enum { SWEEPS = 6, TURNS = 3 /* of a segment in a sweep */, CLUSTER = 8 /* probes */ };

static const float REACH = 0.025f;     /* of the character's height: the band that is looked at */
static const float TOLERANCE = 2e-5f;  /* of the height: what is less deep is out */
static const float LEAST_LEVER = 0.1f; /* probes that a segment hardly moves are pushed as if so */

/* What was seen of a probe in this step. */
typedef struct ChainsLook {
    Vec3 place;
    float gap; /* to the surface there, less what is allowed; never nearer than this within a
                  sphere of as much about `place` */
} ChainsLook;

typedef struct Keeper {
    const ChainsModel *model;
    ChainsState *state;
    const Chain *chain;
    const ChainFrame *frame;
    const Pose *pose;
    ChainsBone *bone;
    float reach, tolerance;
} Keeper;

Status chains_start_surface(const ChainsModel *model, int longest, Arena *arena, ChainsState *state,
                            Error *err)
{
    state->bone = arena_array(arena, ChainsBone, longest);
    state->look = arena_array(arena, ChainsLook, model->probe_count);
    if (!state->bone || !state->look)
        return error_set(err, STATUS_NO_MEMORY, "no room for %d probes", model->probe_count);
    return surface_start(model->surface, arena, &state->surface, err);
}

/* Rotations of the segments from `first` on. */
static void turn_heads(const Keeper *k, int first)
{
    bool is_on_parent = k->model->rest == CHAINS_REST_PARENT;

    for (int i = first; i < k->chain->segment_count; i++) {
        const ChainsSegment *s = &k->chain->segment[i];
        ChainsBone *bone = &k->bone[i];
        Quat above = is_on_parent && i ? k->bone[i - 1].rotation : k->frame->attach;
        Quat unposed = quat_mul(above, is_on_parent ? s->link : s->rest_rotation);

        bone->rotation = chains_turn(s, unposed, bone->head, bone->tail);
    }
}

/* From the head of the segment to the probe, as that segment alone would carry it. */
static Vec3 arm_of(const Keeper *k, const ChainsPull *pull)
{
    float scale = k->frame->scale * k->chain->segment[pull->segment].head_scale;

    return vec3_scale(quat_rotate(k->bone[pull->segment].rotation, pull->local), scale);
}

static Vec3 place_of(const Keeper *k, const ChainsProbe *probe)
{
    Vec3 sum = {0.0f, 0.0f, 0.0f};

    for (int i = 0; i < probe->count; i++) {
        const ChainsPull *pull = &k->model->pull[probe->first + i];
        Vec3 place;

        if (pull->segment >= 0)
            place = vec3_add(k->bone[pull->segment].head, arm_of(k, pull));
        else
            place = dvec3_offset(world_point(&k->pose->world[pull->node], pull->local),
                                 k->state->origin);
        sum = vec3_add_scaled(sum, place, pull->weight);
    }
    return sum;
}

/* How far the probe is from where it may be; the surface's way out where it is too deep. */
static float look_at(const Keeper *k, int index, Vec3 *out_normal)
{
    const ChainsProbe *probe = &k->model->probe[index];
    ChainsLook *look = &k->state->look[index];
    Vec3 place = place_of(k, probe);
    float radius = probe->radius * k->frame->scale;
    float gap = look->gap - vec3_length(vec3_sub(place, look->place));

    // what was far and has not moved as far is still out
    if (gap >= 0.0f)
        return gap;
    SurfacePoint nearest =
        surface_nearest(k->model->surface, &k->state->surface, place, k->reach + radius);
    gap = nearest.distance - radius + probe->depth0 * k->frame->scale;
    *look = (ChainsLook){place, gap};
    *out_normal = nearest.normal;
    return gap;
}

static float lever_of(const Keeper *k, const ChainsProbe *probe, int segment)
{
    Vec3 bone = vec3_sub(k->bone[segment].tail, k->bone[segment].head);
    float length2 = vec3_dot(bone, bone), lever = 0.0f;

    for (int i = 0; i < probe->count; i++) {
        const ChainsPull *pull = &k->model->pull[probe->first + i];

        if (pull->segment > segment)
            lever += pull->weight;
        else if (pull->segment == segment && length2 > 0.0f)
            lever += pull->weight * vec3_dot(arm_of(k, pull), bone) / length2;
    }
    return lever < LEAST_LEVER ? LEAST_LEVER : lever > 1.0f ? 1.0f : lever;
}

/* Turn the segment about its head, with everything behind it carried along. */
static void turn_segment(const Keeper *k, int segment, Vec3 shift)
{
    ChainsBone *bone = &k->bone[segment];
    Vec3 before = bone->tail;
    Vec3 along = vec3_sub(vec3_add(bone->tail, shift), bone->head);

    along = vec3_normalize_or(
        along, vec3_normalize_or(vec3_sub(before, bone->head), vec3(0.0f, -1.0f, 0.0f)));
    bone->tail = vec3_add_scaled(bone->head, along, bone->length);
    Vec3 moved = vec3_sub(bone->tail, before);
    for (int i = segment + 1; i < k->chain->segment_count; i++) {
        k->bone[i].head = vec3_add(k->bone[i].head, moved);
        k->bone[i].tail = vec3_add(k->bone[i].tail, moved);
    }
    turn_heads(k, segment);
}

/* The deepest of a segment's probes that are deeper than `tolerance`; -1 where there is none. */
static int find_deepest(const Keeper *k, int segment, float tolerance, float *out_gap,
                        Vec3 *out_normal)
{
    int found = -1;

    *out_gap = -tolerance;
    for (int i = k->chain->probe[segment]; i < k->chain->probe[segment + 1]; i++) {
        Vec3 normal = {0.0f, 0.0f, 0.0f};
        float gap = look_at(k, i, &normal);

        if (gap >= *out_gap)
            continue;
        *out_gap = gap;
        *out_normal = normal;
        found = i;
    }
    return found;
}

/* Turn one segment until its probes are out; was it turned? The first turn brings out whatever is
 * deeper than `tolerance`. */
static bool free_segment(const Keeper *k, int segment, float tolerance)
{
    bool has_turned = false;

    for (int turn = 0; turn < TURNS; turn++) {
        float gap;
        Vec3 normal = {0.0f, 0.0f, 0.0f};
        int deepest = find_deepest(k, segment, turn ? k->tolerance : tolerance, &gap, &normal);

        if (deepest < 0)
            break;
        float lever = lever_of(k, &k->model->probe[deepest], segment);
        turn_segment(k, segment, vec3_scale(normal, -gap / lever));
        has_turned = true;
    }
    return has_turned;
}

/* What is left: the depth of the deepest probe, metres. */
static float measure_depth(const Keeper *k)
{
    float deepest = 0.0f;

    for (int i = 0; i < k->chain->segment_count; i++) {
        float gap;
        Vec3 normal;

        if (find_deepest(k, i, k->tolerance, &gap, &normal) >= 0 && -gap > deepest)
            deepest = -gap;
    }
    return deepest;
}

static Keeper open_keeper(const ChainsModel *model, ChainsState *state, const Chain *chain,
                          const Pose *pose)
{
    float height = model->rig->height;

    return (Keeper){.model = model,
                    .state = state,
                    .chain = chain,
                    .frame = &state->frame[state->now][chain - model->chain],
                    .pose = pose,
                    .bone = state->bone,
                    .reach = REACH * height,
                    .tolerance = TOLERANCE * height};
}

/* One look for a few probes that lie near one another: where their middle is far enough from the
 * surface, none of them needs a look of its own. */
static void look_at_cluster(const Keeper *k, int first, int count)
{
    ChainsLook *look = &k->state->look[first];
    const ChainsProbe *probe = &k->model->probe[first];
    float scale = k->frame->scale, size = 0.0f;
    Vec3 middle = {0.0f, 0.0f, 0.0f};

    for (int i = 0; i < count; i++) {
        look[i].place = place_of(k, &probe[i]);
        middle = vec3_add_scaled(middle, look[i].place, 1.0f / (float)count);
    }
    for (int i = 0; i < count; i++) {
        float away = vec3_length(vec3_sub(look[i].place, middle)) + probe[i].radius * scale;
        size = away > size ? away : size;
    }
    SurfacePoint nearest =
        surface_nearest(k->model->surface, &k->state->surface, middle, k->reach + size);
    for (int i = 0; i < count; i++) {
        look[i].gap = nearest.distance - vec3_length(vec3_sub(look[i].place, middle)) +
                      (probe[i].depth0 - probe[i].radius) * scale;
    }
}

void chains_keep_begin(const ChainsModel *model, ChainsState *state, const Chain *chain,
                       const Pose *pose)
{
    const Keeper k = open_keeper(model, state, chain, pose);

    turn_heads(&k, 0);
    for (int i = 0; i < chain->segment_count; i++)
        for (int first = chain->probe[i]; first < chain->probe[i + 1]; first += CLUSTER) {
            int left = chain->probe[i + 1] - first;

            look_at_cluster(&k, first, left < CLUSTER ? left : CLUSTER);
        }
}

Vec3 chains_keep_segment(const ChainsModel *model, ChainsState *state, const Chain *chain,
                         const Pose *pose, int segment, Vec3 tail)
{
    const Keeper k = open_keeper(model, state, chain, pose);
    ChainsBone *bone = &state->bone[segment];

    turn_segment(&k, segment, vec3_sub(tail, bone->tail));
    // leaving a little inside at one step and not at the next would be stutter
    return free_segment(&k, segment, 0.0f) ? bone->tail : tail;
}

void chains_keep_all(const ChainsModel *model, ChainsState *state, const Chain *chain,
                     const Pose *pose)
{
    const Keeper k = open_keeper(model, state, chain, pose);
    ChainsTotals *total = &state->total[chain - model->chain];
    bool has_turned = true;

    for (int i = 0; i < SWEEPS && has_turned; i++) {
        has_turned = false;
        for (int j = 0; j < chain->segment_count; j++)
            has_turned |= free_segment(&k, j, i ? k.tolerance : 0.0f);
    }
    float depth = has_turned ? measure_depth(&k) : 0.0f;
    total->surface_depth = total->surface_depth > depth ? total->surface_depth : depth;
}
