#include "rig/skinning.h"

#include "rig/skinning_kernel.h"

#include <string.h>

static const Affine identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

/* --- building --- */

static const Vec3 *pick3(const Vec3 *from, const int *vertex, int count, Arena *arena)
{
    Vec3 *to = from ? arena_scratch(arena, Vec3, count) : NULL;

    for (int i = 0; to && i < count; i++)
        to[i] = from[vertex[i]];
    return to;
}

static bool pick_morphs(const RigPrimitive *primitive, const int *vertex, int count, Arena *arena,
                        SkinBatch *out)
{
    RigMorph *morph = arena_array(arena, RigMorph, primitive->morph_count);

    for (int i = 0; morph && i < primitive->morph_count; i++)
        morph[i] = (RigMorph){pick3(primitive->morph[i].position, vertex, count, arena),
                              pick3(primitive->morph[i].normal, vertex, count, arena)};
    out->morph = morph;
    return morph != NULL;
}

/* Only the joints that the picked vertices use stay in the palette. */
static bool pick_joints(const RigSkin *skin, Arena *arena, uint16_t *joint, size_t joint_count,
                        SkinBatch *out)
{
    int *place = arena_array(arena, int, skin->joint_count);
    int *node = arena_array(arena, int, skin->joint_count);
    Affine *inverse_bind = arena_array(arena, Affine, skin->joint_count);
    int used = 0;

    if (!place || !node || !inverse_bind)
        return false;
    for (size_t i = 0; i < joint_count; i++) {
        int *slot = &place[joint[i]];

        // 0 is free; places are kept one higher
        if (!*slot) {
            node[used] = skin->joint[joint[i]];
            inverse_bind[used] = skin->inverse_bind[joint[i]];
            *slot = ++used;
        }
        joint[i] = (uint16_t)(*slot - 1);
    }
    out->joint_count = used;
    out->joint_node = node;
    out->inverse_bind = inverse_bind;
    return true;
}

static bool pick_influences(const RigPrimitive *primitive, const RigSkin *skin, const int *vertex,
                            int count, Arena *arena, SkinBatch *out)
{
    size_t influences = (size_t)primitive->influence_count;
    uint16_t *joint = arena_array(arena, uint16_t, influences * (size_t)count);
    float *weight = arena_array(arena, float, influences *(size_t)count);

    if (!joint || !weight)
        return false;
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < influences; k++) {
            size_t from = (size_t)vertex[i] * influences + k, to = (size_t)i * influences + k;

            weight[to] = primitive->weight[from];
            // an unused influence must not keep a joint in the palette
            joint[to] = weight[to] != 0.0f || k == 0 ? primitive->joint[from] : joint[to - k];
        }
    out->joint = joint;
    out->weight = weight;
    return pick_joints(skin, arena, joint, influences * (size_t)count, out);
}

/* A part of the vertices, packed. */
static Status build_part(const Rig *rig, const RigPrimitive *primitive, const int *vertex,
                         Arena *arena, SkinBatch *out, Error *err)
{
    int count = out->vertex_count;
    bool is_ok = true;

    out->position = pick3(primitive->position, vertex, count, arena);
    out->normal = pick3(primitive->normal, vertex, count, arena);
    if (out->morph_count)
        is_ok = pick_morphs(primitive, vertex, count, arena, out);
    if (is_ok && out->influence_count)
        is_ok = pick_influences(primitive, &rig->skin[rig->node[out->node].skin], vertex, count,
                                arena, out);
    if (!is_ok || arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room to skin %d vertices", count);
    return STATUS_OK;
}

Status skin_batch_build(const Rig *rig, const SkinSource *source, Arena *arena, SkinBatch *out,
                        Error *err)
{
    const RigNode *bearer = &rig->node[source->node];
    const RigPrimitive *from = &rig->mesh[bearer->mesh].primitive[source->primitive];
    bool is_skinned = bearer->skin >= 0 && from->influence_count > 0;
    SkinBatch batch = {
        .node = source->node,
        .primitive = source->primitive,
        .vertex_count = source->vertex ? source->vertex_count : from->vertex_count,
        .influence_count = is_skinned ? from->influence_count : 0,
        .joint_count = 1,
        .morph_count = from->morph_count,
        .rest_weight = bearer->rest_weight,
        .position = from->position,
        .normal = from->normal,
        .joint = from->joint,
        .weight = from->weight,
        .morph = from->morph,
        .inverse_bind = &identity,
    };

    if (is_skinned) {
        batch.joint_count = rig->skin[bearer->skin].joint_count;
        batch.joint_node = rig->skin[bearer->skin].joint;
        batch.inverse_bind = rig->skin[bearer->skin].inverse_bind;
    } else {
        int *joint_node = arena_array(arena, int, 1);
        if (!joint_node)
            return error_set(err, STATUS_NO_MEMORY, "no room to skin %d vertices",
                             batch.vertex_count);
        *joint_node = source->node;
        batch.joint_node = joint_node;
    }
    if (source->vertex && build_part(rig, from, source->vertex, arena, &batch, err))
        return err->status;
    *out = batch;
    return STATUS_OK;
}

Status skin_work_build(const SkinBatch *batch, int count, Arena *arena, SkinWork *out, Error *err)
{
    int joints = 1, vertices = 0;

    for (int i = 0; i < count; i++) {
        if (batch[i].joint_count > joints)
            joints = batch[i].joint_count;
        if (batch[i].morph_count && batch[i].vertex_count > vertices)
            vertices = batch[i].vertex_count;
    }
    SkinWork work = {
        .palette = arena_array(arena, SkinMatrix, joints),
        .position = arena_array(arena, Vec3, vertices),
        .normal = arena_array(arena, Vec3, vertices),
    };
    if (!work.palette || !work.position || !work.normal)
        return error_set(err, STATUS_NO_MEMORY, "no room to skin %d vertices with %d joints",
                         vertices, joints);
    *out = work;
    return STATUS_OK;
}

/* --- a pose --- */

static double to_grid(double x)
{
    return floor(x / 16.0 + 0.5) * 16.0;
}

DVec3 skin_origin(const SkinBatch *batch, const Pose *pose)
{
    DVec3 place = pose->world[batch->joint_node[0]].origin;

    return (DVec3){to_grid(place.x), to_grid(place.y), to_grid(place.z)};
}

bool skin_shares_palette(const SkinBatch *a, const SkinBatch *b)
{
    return a->inverse_bind == b->inverse_bind && a->joint_count == b->joint_count &&
           a->joint_node[0] == b->joint_node[0];
}

void skin_palette(const SkinBatch *batch, const Pose *pose, DVec3 origin, SkinWork *work)
{
    for (int j = 0; j < batch->joint_count; j++) {
        const World *world = &pose->world[batch->joint_node[j]];
        const float *a = batch->inverse_bind[j].m;
        Vec3 x = mat3_apply(&world->basis, vec3(a[0], a[4], a[8]));
        Vec3 y = mat3_apply(&world->basis, vec3(a[1], a[5], a[9]));
        Vec3 z = mat3_apply(&world->basis, vec3(a[2], a[6], a[10]));
        Vec3 t = dvec3_offset(world_point(world, vec3(a[3], a[7], a[11])), origin);

        work->palette[j] = (SkinMatrix){
            {x.x, x.y, x.z, 0.0f, y.x, y.y, y.z, 0.0f, z.x, z.y, z.z, 0.0f, t.x, t.y, t.z, 0.0f}};
    }
}

static void add_scaled(const Vec3 *offset, float weight, int count, Vec3 *out)
{
    const float *from = &offset->x;
    float *to = &out->x;

    for (int i = 0; i < 3 * count; i++)
        to[i] += from[i] * weight;
}

/* The vertices with the morph targets of this pose; the batch's own where none is on. */
static const Vec3 *morph(const SkinBatch *batch, const Pose *pose, const Vec3 *base,
                         const Vec3 *(*offset_of)(const RigMorph *), Vec3 *work)
{
    bool is_on = false;

    for (int i = 0; i < batch->morph_count; i++) {
        float weight = pose->morph_weight[batch->rest_weight + i];
        const Vec3 *offset = offset_of(&batch->morph[i]);

        if (weight == 0.0f || !offset)
            continue;
        if (!is_on)
            memcpy(work, base, (size_t)batch->vertex_count * sizeof *work);
        is_on = true;
        add_scaled(offset, weight, batch->vertex_count, work);
    }
    return is_on ? work : base;
}

static const Vec3 *position_offset(const RigMorph *target)
{
    return target->position;
}

static const Vec3 *normal_offset(const RigMorph *target)
{
    return target->normal;
}

void skin_vertices(const SkinBatch *batch, const Pose *pose, SimdLevel simd, SkinWork *work,
                   Vec3 *out_position, Vec3 *out_normal)
{
    typedef void (*Kernel)(const SkinBatch *, const SkinMatrix *, const Vec3 *, Vec3 *);
    static const Kernel positions[SIMD_LEVEL_COUNT] = KERNEL_TABLE(skin_positions);
    static const Kernel normals[SIMD_LEVEL_COUNT] = KERNEL_TABLE(skin_normals);
    const Vec3 *position = morph(batch, pose, batch->position, position_offset, work->position);

    positions[simd](batch, work->palette, position, out_position);
    if (out_normal && batch->normal) {
        const Vec3 *normal = morph(batch, pose, batch->normal, normal_offset, work->normal);
        normals[simd](batch, work->palette, normal, out_normal);
    } else if (out_normal) {
        for (int i = 0; i < batch->vertex_count; i++)
            out_normal[i] = vec3(0.0f, 1.0f, 0.0f);
    }
}
