#include "picture/scene.h"

#include "picture/scene_frames.h"

#include <stdlib.h>
#include <string.h>

/* Of meshes whose material is white because its texture is not drawn: quiet colours to tell the
 * parts apart. */
static const Vec3 palette[] = {
    {0.56f, 0.42f, 0.34f}, {0.30f, 0.38f, 0.50f}, {0.46f, 0.25f, 0.22f}, {0.34f, 0.42f, 0.33f},
    {0.50f, 0.46f, 0.38f}, {0.37f, 0.31f, 0.45f}, {0.26f, 0.40f, 0.42f}, {0.52f, 0.38f, 0.24f},
};

static Vec3 mesh_color(const Rig *rig, int material, int mesh)
{
    int index = material >= 0 ? material : mesh;
    const float *c = material >= 0 ? rig->material[material].color : NULL;

    if (c && (c[0] < 0.95f || c[1] < 0.95f || c[2] < 0.95f))
        return vec3(c[0], c[1], c[2]);
    return palette[index % (int)(sizeof palette / sizeof palette[0])];
}

static bool is_hidden(const PictureOptions *options, int node)
{
    for (int i = 0; i < options->hidden_count; i++)
        if (options->hidden[i] == node)
            return true;
    return false;
}

/* Nearly transparent overlays, such as blush, are left out. */
static bool is_drawn(const Rig *rig, const RigPrimitive *primitive)
{
    const RigMaterial *material =
        primitive->material >= 0 ? &rig->material[primitive->material] : NULL;

    return primitive->index_count > 0 && primitive->vertex_count > 0 &&
           !(material && material->is_blended && material->color[3] < 0.5f);
}

static void open_mesh(const Rig *rig, int node, int p, Arena *arena, SceneMesh *out)
{
    const RigPrimitive *primitive = &rig->mesh[rig->node[node].mesh].primitive[p];

    *out = (SceneMesh){.primitive = primitive,
                       .color = mesh_color(rig, primitive->material, rig->node[node].mesh),
                       .channel = -1};
    out->position = arena_array(arena, Vec3, primitive->vertex_count);
    out->normal = arena_array(arena, Vec3, primitive->vertex_count);
    out->touched = arena_array(arena, bool, primitive->vertex_count);
    out->stretch = arena_array(arena, float, primitive->vertex_count);
}

static Status open_meshes(Scene *scene, const PictureOptions *options, Arena *arena, Error *err)
{
    const Rig *rig = scene->rig;
    int capacity = 0;

    for (int n = 0; n < rig->node_count; n++)
        capacity += rig->node[n].mesh >= 0 ? rig->mesh[rig->node[n].mesh].primitive_count : 0;
    scene->mesh = arena_array(arena, SceneMesh, capacity);
    SkinBatch *batch = arena_array(arena, SkinBatch, capacity);
    for (int n = 0; n < rig->node_count && !arena->overflowed; n++) {
        const RigMesh *mesh = rig->node[n].mesh >= 0 ? &rig->mesh[rig->node[n].mesh] : NULL;
        if (!mesh || is_hidden(options, n))
            continue;
        for (int p = 0; p < mesh->primitive_count && !arena->overflowed; p++) {
            SceneMesh *out = &scene->mesh[scene->mesh_count];
            if (!is_drawn(rig, &mesh->primitive[p]))
                continue;
            open_mesh(rig, n, p, arena, out);
            const SkinSource source = {.node = n, .primitive = p};
            if (skin_batch_build(rig, &source, arena, &out->batch, err))
                return err->status;
            batch[scene->mesh_count++] = out->batch;
        }
    }
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the meshes of a picture");
    return skin_work_build(batch, scene->mesh_count, arena, &scene->work, err);
}

/* --- what moves --- */

static bool touch_vertices(const Scene *scene, SceneMesh *mesh)
{
    const SkinBatch *batch = &mesh->batch;
    bool any = false;

    for (int v = 0; v < batch->vertex_count; v++) {
        bool is_touched = batch->influence_count == 0 && scene->is_moved[batch->node];
        for (int k = 0; k < batch->influence_count; k++) {
            size_t at = (size_t)v * (size_t)batch->influence_count + (size_t)k;
            int joint = batch->joint[at];
            is_touched |= batch->weight[at] > 0.0f && scene->is_moved[batch->joint_node[joint]];
        }
        mesh->touched[v] = is_touched;
        any |= is_touched;
    }
    return any;
}

static int compare_edges(const void *a_, const void *b_)
{
    const uint32_t *a = a_;
    const uint32_t *b = b_;

    if (a[0] != b[0])
        return a[0] < b[0] ? -1 : 1;
    return (a[1] > b[1]) - (a[1] < b[1]);
}

static void add_edge(SceneMesh *mesh, uint32_t a, uint32_t b)
{
    if (a == b || !(mesh->touched[a] || mesh->touched[b]))
        return;
    mesh->edge[2 * mesh->edge_count] = a < b ? a : b;
    mesh->edge[2 * mesh->edge_count + 1] = a < b ? b : a;
    mesh->edge_count++;
}

static void find_edges(SceneMesh *mesh, Arena *arena)
{
    const RigPrimitive *primitive = mesh->primitive;
    int unique = 0;

    mesh->edge = arena_array(arena, uint32_t, 2 * (size_t)primitive->index_count);
    mesh->rest = arena_array(arena, float, primitive->index_count);
    if (arena->overflowed)
        return;
    for (int i = 0; i + 2 < primitive->index_count; i += 3)
        for (int k = 0; k < 3; k++)
            add_edge(mesh, primitive->index[i + k], primitive->index[i + (k + 1) % 3]);
    if (mesh->edge_count > 0)
        qsort(mesh->edge, (size_t)mesh->edge_count, 2 * sizeof(uint32_t), compare_edges);
    for (int e = 0; e < mesh->edge_count; e++) {
        const uint32_t *edge = mesh->edge + 2 * (size_t)e;
        if (e > 0 && compare_edges(edge, edge - 2) == 0)
            continue;
        memmove(mesh->edge + 2 * (size_t)unique, edge, 2 * sizeof(uint32_t));
        unique++;
    }
    mesh->edge_count = unique;
}

static float edge_length(const SceneMesh *mesh, int e)
{
    Vec3 a = mesh->position[mesh->edge[2 * e]];
    Vec3 b = mesh->position[mesh->edge[2 * e + 1]];

    return vec3_length(vec3_sub(b, a));
}

static void measure_stretch(SceneMesh *mesh)
{
    memset(mesh->stretch, 0, sizeof(float) * (size_t)mesh->batch.vertex_count);
    for (int e = 0; e < mesh->edge_count; e++) {
        float stretch = mesh->rest[e] > 1e-9f ? edge_length(mesh, e) / mesh->rest[e] - 1.0f : 0.0f;
        for (int k = 0; k < 2; k++) {
            float *greatest = &mesh->stretch[mesh->edge[2 * e + k]];
            *greatest = stretch > *greatest ? stretch : *greatest;
        }
    }
}

/* --- normals --- */

typedef struct Place {
    Vec3 point;
    uint32_t vertex;
} Place;

static int compare_places(const void *a_, const void *b_)
{
    const Place *a = a_;
    const Place *b = b_;

    if (a->point.x != b->point.x)
        return a->point.x < b->point.x ? -1 : 1;
    if (a->point.y != b->point.y)
        return a->point.y < b->point.y ? -1 : 1;
    if (a->point.z != b->point.z)
        return a->point.z < b->point.z ? -1 : 1;
    return (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

static void weld_vertices(SceneMesh *mesh, Arena *arena)
{
    int count = mesh->primitive->vertex_count;
    uint32_t *weld = arena_array(arena, uint32_t, count);
    size_t mark = arena_mark(arena);
    Place *place = arena_array(arena, Place, count);

    for (int v = 0; place && weld && v < count; v++)
        place[v] = (Place){mesh->primitive->position[v], (uint32_t)v};
    if (!place || !weld)
        return;
    qsort(place, (size_t)count, sizeof *place, compare_places);
    for (int i = 0; i < count; i++) {
        Place *before = &place[i > 0 ? i - 1 : 0];
        bool is_same = before->point.x == place[i].point.x && before->point.y == place[i].point.y &&
                       before->point.z == place[i].point.z;
        weld[place[i].vertex] = is_same ? weld[before->vertex] : place[i].vertex;
        if (i == 0)
            weld[place[i].vertex] = place[i].vertex;
    }
    arena_rewind(arena, mark);
    mesh->weld = weld;
}

void scene_find_normals(SceneMesh *mesh)
{
    const RigPrimitive *primitive = mesh->primitive;

    memset(mesh->normal, 0, sizeof(Vec3) * (size_t)primitive->vertex_count);
    for (int i = 0; i + 2 < primitive->index_count; i += 3) {
        const uint32_t *v = primitive->index + i;
        Vec3 a = mesh->position[v[0]];
        Vec3 n = vec3_cross(vec3_sub(mesh->position[v[1]], a), vec3_sub(mesh->position[v[2]], a));
        for (int k = 0; k < 3; k++) {
            Vec3 *sum = &mesh->normal[mesh->weld[v[k]]];
            *sum = vec3_add(*sum, n);
        }
    }
    for (int v = 0; v < primitive->vertex_count; v++)
        mesh->normal[v] = vec3_normalize_or(mesh->normal[mesh->weld[v]], vec3(0.0f, 1.0f, 0.0f));
}

/* --- posing --- */

static void skin_meshes(Scene *scene)
{
    for (int m = 0; m < scene->mesh_count; m++) {
        SceneMesh *mesh = &scene->mesh[m];
        DVec3 origin = skin_origin(&mesh->batch, &scene->pose);

        skin_palette(&mesh->batch, &scene->pose, origin, &scene->work);
        skin_vertices(&mesh->batch, &scene->pose, SIMD_SCALAR, &scene->work, mesh->position,
                      mesh->normal);
        for (int v = 0; v < mesh->batch.vertex_count; v++)
            mesh->position[v] = dvec3_float(dvec3_add(origin, dvec3_from(mesh->position[v])));
        if (mesh->weld)
            scene_find_normals(mesh);
    }
}

static Status open_rest(Scene *scene, Arena *arena, Error *err)
{
    for (int m = 0; m < scene->mesh_count; m++)
        if (!scene->mesh[m].primitive->normal ||
            (scene->mesh[m].channel >= 0 && scene->joint_count == 0))
            weld_vertices(&scene->mesh[m], arena);
    skin_meshes(scene);
    for (int m = 0; m < scene->mesh_count; m++) {
        SceneMesh *mesh = &scene->mesh[m];

        mesh->is_touched = touch_vertices(scene, mesh);
        if (mesh->is_touched)
            find_edges(mesh, arena);
        for (int e = 0; e < mesh->edge_count && !arena->overflowed; e++)
            mesh->rest[e] = edge_length(mesh, e);
    }
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the edges of a picture");
    return STATUS_OK;
}

Status scene_open(const Rig *rig, Bytes frames, const PictureOptions *options, Arena *arena,
                  Scene *out, Error *err)
{
    Scene scene = {.rig = rig, .has_frames = frames.size > 0, .segment_channel = -1};

    if (pose_build(rig, arena, &scene.pose, err) || open_meshes(&scene, options, arena, err))
        return err->status;
    pose_set_rest(rig, &scene.pose);
    pose_update_world(rig, &scene.pose);
    scene.is_moved = arena_array(arena, bool, rig->node_count);
    if (!scene.is_moved)
        return error_set(err, STATUS_NO_MEMORY, "no room for the nodes of a picture");
    if (scene_open_frames(&scene, frames, arena, err) || open_rest(&scene, arena, err))
        return err->status;
    *out = scene;
    return STATUS_OK;
}

Status scene_pose(Scene *scene, int frame, Error *err)
{
    FrameData data;

    if (frame_file_read(&scene->file, frame, &data, err))
        return err->status;
    scene_apply_joints(scene, &data);
    skin_meshes(scene);
    scene_apply_points(scene, &data);
    for (int m = 0; m < scene->mesh_count; m++)
        if (scene->mesh[m].is_touched)
            measure_stretch(&scene->mesh[m]);
    return STATUS_OK;
}

Box scene_box(const Scene *scene, bool is_whole)
{
    Box box = box_empty();

    for (int s = 0; s < scene->segment_count; s++) {
        box_add(&box, scene->segment[s].head);
        box_add(&box, scene->segment[s].tail);
    }
    bool is_all = is_whole || box_is_empty(&box);
    for (int m = 0; m < scene->mesh_count; m++)
        for (int v = 0; v < scene->mesh[m].batch.vertex_count; v++)
            if (is_all || scene->mesh[m].touched[v])
                box_add(&box, scene->mesh[m].position[v]);
    if (box_is_empty(&box))
        box = (Box){{-0.5f, -0.5f, -0.5f}, {0.5f, 0.5f, 0.5f}};
    return box;
}
