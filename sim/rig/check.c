#include "rig/check.h"

static bool in_range(int index, int count)
{
    return index >= 0 && index < count;
}

static bool is_none_or_in_range(int index, int count)
{
    return index == -1 || in_range(index, count);
}

static bool is_finite3(Vec3 v)
{
    return isfinite(v.x) && isfinite(v.y) && isfinite(v.z);
}

static bool are_finite(const float *value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(value[i]))
            return false;
    return true;
}

static bool are_finite3(const Vec3 *value, int count)
{
    return !value || are_finite(&value->x, (size_t)count * 3);
}

static bool is_finite_transform(const Transform *transform)
{
    const Quat *q = &transform->rotation;

    return is_finite3(transform->translation) && is_finite3(transform->scale) && isfinite(q->x) &&
           isfinite(q->y) && isfinite(q->z) && isfinite(q->w);
}

static Status check_nodes(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->node_count; i++) {
        const RigNode *node = &rig->node[i];

        if (!is_none_or_in_range(node->parent, rig->node_count))
            return error_set(err, STATUS_INVALID, "node \"%s\" has parent %d of %d nodes",
                             node->key, node->parent, rig->node_count);
        if (!is_none_or_in_range(node->mesh, rig->mesh_count))
            return error_set(err, STATUS_INVALID, "node \"%s\" has mesh %d of %d", node->key,
                             node->mesh, rig->mesh_count);
        if (!is_none_or_in_range(node->skin, rig->skin_count) ||
            (node->skin >= 0 && node->mesh < 0))
            return error_set(err, STATUS_INVALID, "node \"%s\" has skin %d of %d and mesh %d",
                             node->key, node->skin, rig->skin_count, node->mesh);
        if (!is_finite_transform(&node->rest))
            return error_set(err, STATUS_INVALID, "node \"%s\" has a transform that is not finite",
                             node->key);
    }
    return STATUS_OK;
}

static Status check_skins(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->skin_count; i++) {
        const RigSkin *skin = &rig->skin[i];

        for (int j = 0; j < skin->joint_count; j++) {
            if (!in_range(skin->joint[j], rig->node_count))
                return error_set(err, STATUS_INVALID, "skin \"%s\": joint %d is node %d of %d",
                                 skin->key, j, skin->joint[j], rig->node_count);
            if (!are_finite(skin->inverse_bind[j].m, 12))
                return error_set(err, STATUS_INVALID,
                                 "skin \"%s\": inverse bind matrix %d is not finite", skin->key, j);
        }
    }
    return STATUS_OK;
}

static Status check_primitive(const Rig *rig, const RigMesh *mesh, int index, Error *err)
{
    const RigPrimitive *primitive = &mesh->primitive[index];
    int vertices = primitive->vertex_count;

    if (primitive->index_count % 3 || primitive->influence_count % 4 ||
        primitive->influence_count < 0 || primitive->influence_count > RIG_MAX_INFLUENCES)
        return error_set(err, STATUS_INVALID, "%d indices and %d influences a vertex",
                         primitive->index_count, primitive->influence_count);
    if (primitive->morph_count != mesh->morph_count)
        return error_set(err, STATUS_INVALID, "%d morph targets where the mesh has %d",
                         primitive->morph_count, mesh->morph_count);
    if (!is_none_or_in_range(primitive->material, rig->material_count))
        return error_set(err, STATUS_INVALID, "material %d of %d", primitive->material,
                         rig->material_count);
    for (int i = 0; i < primitive->index_count; i++)
        if (primitive->index[i] >= (uint32_t)vertices)
            return error_set(err, STATUS_INVALID, "index %d refers to vertex %u of %d", i,
                             (unsigned)primitive->index[i], vertices);
    if (!are_finite3(primitive->position, vertices) || !are_finite3(primitive->normal, vertices))
        return error_set(err, STATUS_INVALID, "a position or normal is not finite");
    if (!are_finite(primitive->weight, (size_t)vertices * (size_t)primitive->influence_count))
        return error_set(err, STATUS_INVALID, "a skin weight is not finite");
    for (int i = 0; i < primitive->morph_count; i++)
        if (!are_finite3(primitive->morph[i].position, vertices) ||
            !are_finite3(primitive->morph[i].normal, vertices))
            return error_set(err, STATUS_INVALID, "morph target %d is not finite", i);
    return STATUS_OK;
}

static Status check_meshes(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->mesh_count; i++) {
        const RigMesh *mesh = &rig->mesh[i];

        for (int j = 0; j < mesh->primitive_count; j++)
            if (check_primitive(rig, mesh, j, err))
                return error_context(err, "mesh \"%s\", primitive %d", mesh->key, j);
    }
    return STATUS_OK;
}

/* The greatest joint index that the primitive's vertices use, -1 where it is not skinned. */
static int greatest_joint(const RigPrimitive *primitive)
{
    int greatest = -1;
    size_t count = (size_t)primitive->vertex_count * (size_t)primitive->influence_count;

    for (size_t i = 0; i < count; i++)
        if (primitive->joint[i] > greatest)
            greatest = primitive->joint[i];
    return greatest;
}

/* Joints of a mesh against the skins of the nodes that bear it: the mesh is read once, however many
 * nodes share it. */
static Status check_skinned_nodes(const Rig *rig, Arena *arena, Error *err)
{
    size_t mark = arena_mark(arena);
    int *greatest = arena_array(arena, int, rig->mesh_count);

    if (!greatest)
        return error_set(err, STATUS_NO_MEMORY, "no room to check %d meshes", rig->mesh_count);
    for (int i = 0; i < rig->mesh_count; i++) {
        greatest[i] = -1;
        for (int j = 0; j < rig->mesh[i].primitive_count; j++) {
            int joint = greatest_joint(&rig->mesh[i].primitive[j]);
            greatest[i] = joint > greatest[i] ? joint : greatest[i];
        }
    }
    for (int i = 0; i < rig->node_count; i++) {
        const RigNode *node = &rig->node[i];

        if (node->skin >= 0 && greatest[node->mesh] >= rig->skin[node->skin].joint_count)
            return error_set(err, STATUS_INVALID,
                             "mesh \"%s\" uses joint %d of skin \"%s\", which has %d joints",
                             rig->mesh[node->mesh].key, greatest[node->mesh],
                             rig->skin[node->skin].key, rig->skin[node->skin].joint_count);
    }
    arena_rewind(arena, mark);
    return STATUS_OK;
}

static int path_width(const Rig *rig, const ClipChannel *channel)
{
    int mesh = rig->node[channel->node].mesh;

    switch (channel->path) {
    case CLIP_ROTATION:
        return 4;
    case CLIP_WEIGHTS:
        return mesh < 0 ? 0 : rig->mesh[mesh].morph_count;
    default:
        return 3;
    }
}

static Status check_channel(const Rig *rig, const ClipChannel *channel, Error *err)
{
    if (!in_range(channel->node, rig->node_count))
        return error_set(err, STATUS_INVALID, "node %d of %d", channel->node, rig->node_count);
    if (channel->width != path_width(rig, channel) || channel->width < 1 || channel->key_count < 1)
        return error_set(err, STATUS_INVALID, "node \"%s\": %d keys of %d numbers",
                         rig->node[channel->node].key, channel->key_count, channel->width);
    for (int i = 0; i < channel->key_count; i++)
        if (!isfinite(channel->time[i]) || (i > 0 && !(channel->time[i] > channel->time[i - 1])))
            return error_set(err, STATUS_INVALID, "node \"%s\": the time of key %d does not rise",
                             rig->node[channel->node].key, i);
    size_t values = (size_t)channel->key_count * (size_t)channel->width *
                    (channel->interpolation == CLIP_CUBICSPLINE ? 3 : 1);
    if (!are_finite(channel->value, values))
        return error_set(err, STATUS_INVALID, "node \"%s\": a key is not finite",
                         rig->node[channel->node].key);
    return STATUS_OK;
}

static Status check_clips(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->clip_count; i++)
        for (int j = 0; j < rig->clip[i].channel_count; j++)
            if (check_channel(rig, &rig->clip[i].channel[j], err))
                return error_context(err, "clip \"%s\", channel %d", rig->clip[i].key, j);
    return STATUS_OK;
}

static Status check_springs(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->spring_count; i++) {
        const RigSpring *spring = &rig->spring[i];

        if (!is_none_or_in_range(spring->center, rig->node_count))
            return error_set(err, STATUS_INVALID, "spring \"%s\": center is node %d of %d",
                             spring->key, spring->center, rig->node_count);
        for (int j = 0; j < spring->segment_count; j++) {
            const RigSegment *segment = &spring->segment[j];

            if (!in_range(segment->head, rig->node_count) ||
                !is_none_or_in_range(segment->tail, rig->node_count))
                return error_set(err, STATUS_INVALID,
                                 "spring \"%s\": segment %d goes from node %d to %d of %d",
                                 spring->key, j, segment->head, segment->tail, rig->node_count);
            if (!is_finite3(segment->tail_offset) || !is_finite3(segment->gravity_dir) ||
                !are_finite((const float[]){segment->stiffness, segment->drag,
                                            segment->gravity_power, segment->hit_radius},
                            4))
                return error_set(err, STATUS_INVALID,
                                 "spring \"%s\": segment %d has a number that is not finite",
                                 spring->key, j);
        }
        for (int j = 0; j < spring->collider_count; j++)
            if (!in_range(spring->collider[j], rig->collider_count))
                return error_set(err, STATUS_INVALID, "spring \"%s\": collider %d of %d",
                                 spring->key, spring->collider[j], rig->collider_count);
    }
    return STATUS_OK;
}

static Status check_colliders_and_constraints(const Rig *rig, Error *err)
{
    for (int i = 0; i < rig->collider_count; i++) {
        const RigCollider *collider = &rig->collider[i];

        if (!in_range(collider->node, rig->node_count) || !is_finite3(collider->offset) ||
            !is_finite3(collider->tail) || !is_finite3(collider->normal) ||
            !isfinite(collider->radius))
            return error_set(err, STATUS_INVALID,
                             "collider \"%s\" is on node %d of %d or has a number that is not "
                             "finite",
                             collider->key, collider->node, rig->node_count);
    }
    for (int i = 0; i < rig->constraint_count; i++) {
        const RigConstraint *constraint = &rig->constraint[i];

        if (!in_range(constraint->node, rig->node_count) ||
            !in_range(constraint->source, rig->node_count) || !is_finite3(constraint->axis) ||
            !isfinite(constraint->weight))
            return error_set(err, STATUS_INVALID,
                             "constraint %d joins nodes %d and %d of %d or has a number that is "
                             "not finite",
                             i, constraint->node, constraint->source, rig->node_count);
    }
    for (int i = 0; i < ROLE_COUNT; i++)
        if (!is_none_or_in_range(rig->role[i], rig->node_count))
            return error_set(err, STATUS_INVALID, "humanoid bone \"%s\" is node %d of %d",
                             humanoid_role_name((HumanoidRole)i), rig->role[i], rig->node_count);
    return STATUS_OK;
}

Status rig_check(const Rig *rig, Arena *arena, Error *err)
{
    if (check_nodes(rig, err) || check_skins(rig, err) || check_meshes(rig, err) ||
        check_skinned_nodes(rig, arena, err) || check_clips(rig, err) || check_springs(rig, err) ||
        check_colliders_and_constraints(rig, err))
        return err->status;
    return STATUS_OK;
}
