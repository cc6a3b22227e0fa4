#include "rig/box.h"

/* Vertices over all nodes that bear a mesh: a file that has one large mesh on thousands of nodes
 * must not keep the reader busy for minutes. */
enum { MAX_BORNE_VERTICES = 1 << 26 };

/* Where a skin's joints take the vertices of its mesh: joint world times inverse bind, rows. */
typedef struct Map {
    float m[3][3];
    double t[3];
} Map;

static Vec3 affine_column(const Affine *affine, int column)
{
    return vec3(affine->m[column], affine->m[4 + column], affine->m[8 + column]);
}

static Map map_of(const World *world, const Affine *inverse_bind)
{
    Vec3 x = mat3_apply(&world->basis, affine_column(inverse_bind, 0));
    Vec3 y = mat3_apply(&world->basis, affine_column(inverse_bind, 1));
    Vec3 z = mat3_apply(&world->basis, affine_column(inverse_bind, 2));
    DVec3 t = world_point(world, affine_column(inverse_bind, 3));

    return (Map){.m = {{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}, .t = {t.x, t.y, t.z}};
}

static void add_vertex(const Map *map, const uint16_t *joint, const float *weight, int influences,
                       Vec3 p, double box[2][3])
{
    for (int axis = 0; axis < 3; axis++) {
        double sum = 0.0;

        for (int k = 0; k < influences; k++) {
            const Map *m = &map[joint[k]];
            const float *row = m->m[axis];
            sum += (double)weight[k] *
                   (m->t[axis] + (double)(row[0] * p.x + row[1] * p.y + row[2] * p.z));
        }
        // a sum that is not a number is kept: it must not pass for a box
        if (!(sum >= box[0][axis]))
            box[0][axis] = sum;
        if (!(sum <= box[1][axis]))
            box[1][axis] = sum;
    }
}

static void add_node(const Rig *rig, const RigNode *node, const Map *map, double box[2][3])
{
    static const uint16_t first_joint[1] = {0};
    static const float full_weight[1] = {1.0f};
    const RigMesh *mesh = &rig->mesh[node->mesh];

    for (int i = 0; i < mesh->primitive_count; i++) {
        const RigPrimitive *primitive = &mesh->primitive[i];
        size_t influences = (size_t)primitive->influence_count;
        bool is_skinned = node->skin >= 0 && influences > 0;

        for (int v = 0; v < primitive->vertex_count; v++) {
            if (is_skinned)
                add_vertex(map, primitive->joint + influences * (size_t)v,
                           primitive->weight + influences * (size_t)v, (int)influences,
                           primitive->position[v], box);
            else
                add_vertex(map, first_joint, full_weight, 1, primitive->position[v], box);
        }
    }
}

static bool is_finite_world(const World *world)
{
    float sum = world->basis.x.x + world->basis.x.y + world->basis.x.z + world->basis.y.x +
                world->basis.y.y + world->basis.y.z + world->basis.z.x + world->basis.z.y +
                world->basis.z.z;

    return isfinite(sum) && isfinite(world->origin.x) && isfinite(world->origin.y) &&
           isfinite(world->origin.z);
}

static void make_maps(const Rig *rig, const RigNode *node, const World *world, Map *out)
{
    static const Affine identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}};

    if (node->skin < 0) {
        out[0] = map_of(&world[node - rig->node], &identity);
        return;
    }
    const RigSkin *skin = &rig->skin[node->skin];
    for (int j = 0; j < skin->joint_count; j++)
        out[j] = map_of(&world[skin->joint[j]], &skin->inverse_bind[j]);
}

static int most_joints(const Rig *rig)
{
    int most = 1;

    for (int i = 0; i < rig->skin_count; i++)
        if (rig->skin[i].joint_count > most)
            most = rig->skin[i].joint_count;
    return most;
}

static Status check_borne_vertices(const Rig *rig, Error *err)
{
    int64_t count = 0;

    for (int i = 0; i < rig->node_count; i++) {
        const RigMesh *mesh = rig->node[i].mesh < 0 ? NULL : &rig->mesh[rig->node[i].mesh];

        for (int j = 0; mesh && j < mesh->primitive_count; j++)
            count += mesh->primitive[j].vertex_count;
    }
    if (count > MAX_BORNE_VERTICES)
        return error_set(err, STATUS_LIMIT,
                         "the nodes bear %lld vertices, counting a mesh as often as it is used; "
                         "the limit is %d",
                         (long long)count, MAX_BORNE_VERTICES);
    return STATUS_OK;
}

Status rig_measure_box(Rig *rig, Arena *arena, Error *err)
{
    if (check_borne_vertices(rig, err))
        return err->status;

    size_t mark = arena_mark(arena);
    World *world = arena_scratch(arena, World, rig->node_count);
    Map *map = arena_scratch(arena, Map, most_joints(rig));
    double box[2][3] = {{(double)INFINITY, (double)INFINITY, (double)INFINITY},
                        {-(double)INFINITY, -(double)INFINITY, -(double)INFINITY}};

    if (!world || !map)
        return error_set(err, STATUS_NO_MEMORY, "no room to measure %d nodes", rig->node_count);
    rig_rest_worlds(rig, world);
    for (int i = 0; i < rig->node_count; i++)
        if (!is_finite_world(&world[i]))
            return error_set(err, STATUS_INVALID,
                             "node \"%s\" stands at a place that is not finite", rig->node[i].key);
    for (int i = 0; i < rig->node_count; i++) {
        const RigNode *node = &rig->node[i];

        if (node->mesh < 0)
            continue;
        make_maps(rig, node, world, map);
        add_node(rig, node, map, box);
        for (int axis = 0; axis < 3; axis++)
            if (isnan(box[0][axis]) || box[0][axis] < -1e30 || box[1][axis] > 1e30)
                return error_set(err, STATUS_INVALID,
                                 "node \"%s\" has vertices at places that are not finite",
                                 node->key);
    }
    if (box[0][0] <= box[1][0]) {
        rig->box_min = vec3((float)box[0][0], (float)box[0][1], (float)box[0][2]);
        rig->box_max = vec3((float)box[1][0], (float)box[1][1], (float)box[1][2]);
        rig->height = (float)(box[1][1] - box[0][1]);
    }
    arena_rewind(arena, mark);
    return STATUS_OK;
}
