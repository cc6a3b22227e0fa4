/* Places in the scene: of nodes that may hang on simulated joints, of chains, of segments. */
#include "solvers/chains/model.h"

Vec3 chains_tail(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                 int segment, int which)
{
    int row = model->block[chain->block].first_row + segment;

    if (state->node[which])
        return vecrow_get(&state->node[which][row], chain->lane);
    return vecrow_get(&state->tail[which][row].point, chain->lane);
}

Quat chains_turn(const ChainsSegment *segment, Quat unposed, Vec3 head, Vec3 tail)
{
    Vec3 axis = quat_rotate(unposed, segment->axis);

    if (!(segment->length > 0.0f))
        return unposed;
    Vec3 bone = vec3_normalize_or(vec3_sub(tail, head), axis);
    return quat_normalize(quat_mul(quat_from_to(axis, bone), unposed));
}

Quat chains_rotation(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                     int segment, int which)
{
    const ChainFrame *frame = &state->frame[which][chain - model->chain];
    Vec3 head = frame->origin;

    if (model->mode == CHAINS_REST_FRAME && model->rest == CHAINS_REST_ATTACHMENT) {
        const ChainsSegment *s = &chain->segment[segment];
        if (segment > 0)
            head = chains_tail(model, state, chain, segment - 1, which);
        return chains_turn(s, quat_mul(frame->attach, s->rest_rotation), head,
                           chains_tail(model, state, chain, segment, which));
    }
    Quat rotation = model->mode == CHAINS_VRM ? frame->parent : frame->attach;
    for (int i = 0; i <= segment; i++) {
        const ChainsSegment *s = &chain->segment[i];
        Vec3 tail = chains_tail(model, state, chain, i, which);
        rotation = chains_turn(s, quat_mul(rotation, s->link), head, tail);
        head = tail;
    }
    return rotation;
}

World chains_node_world(const ChainsModel *model, const ChainsState *state, const Pose *pose,
                        const ChainsLink *link, int node)
{
    if (node < 0)
        return world_identity();
    if (link->chain < 0)
        return pose->world[node];

    const Chain *chain = &model->chain[link->chain];
    const ChainFrame *frame = &state->frame[state->now][link->chain];
    const ChainsSegment *segment = &chain->segment[link->segment];
    Vec3 head = link->segment > 0 ? chains_tail(model, state, chain, link->segment - 1, state->now)
                                  : frame->origin;
    float scale = frame->scale * segment->head_scale;
    World world = {.origin = dvec3_add(state->origin, dvec3_from(head)),
                   .rotation = chains_rotation(model, state, chain, link->segment, state->now)};
    world.basis = mat3_from_quat_scale(world.rotation, vec3(scale, scale, scale));
    for (int i = 0; i < link->path_count; i++)
        world = world_child(&world, &pose->local[link->path[i]]);
    return world;
}

/* What moves a chain that hangs on nothing: its first joint is a root, and the pose's local of it
 * is the scene's motion on top of its rest. */
static void follow_scene(const Rig *rig, const Pose *pose, const Chain *chain, ChainFrame *frame,
                         DVec3 origin)
{
    int root = chain->segment[0].head;
    const Transform *rest = &rig->node[root].rest;
    const Transform *local = &pose->local[root];
    float size0 = vec3_max(vec3_abs(rest->scale));
    float size = vec3_max(vec3_abs(local->scale));

    frame->origin = dvec3_offset(dvec3_from(local->translation), origin);
    frame->parent = quat_normalize(quat_mul(local->rotation, quat_conjugate(rest->rotation)));
    frame->attach = frame->parent;
    frame->scale = size0 > 0.0f ? size / size0 : 1.0f;
}

ChainFrame chains_frame(const ChainsModel *model, const ChainsState *state, const Pose *pose,
                        const Chain *chain)
{
    ChainFrame frame = {0};

    if (chain->parent >= 0) {
        World parent = chains_node_world(model, state, pose, &chain->parent_link, chain->parent);
        frame.origin = dvec3_offset(world_point(&parent, chain->root_offset), state->origin);
        frame.parent = parent.rotation;
        frame.attach = parent.rotation;
        frame.scale = world_max_scale(&parent);
    } else {
        follow_scene(model->rig, pose, chain, &frame, state->origin);
    }
    if (chain->attach != chain->parent)
        frame.attach =
            chains_node_world(model, state, pose, &chain->attach_link, chain->attach).rotation;
    if (chain->center >= 0)
        frame.center = chains_node_world(model, state, pose, &chain->center_link, chain->center);
    return frame;
}
