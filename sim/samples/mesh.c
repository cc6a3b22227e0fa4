#include "samples/mesh.h"

#include "math/scalar.h"

#include <math.h>

SampleMesh mesh_open(Arena *arena, int vertex_capacity, int index_capacity)
{
    return (SampleMesh){.arena = arena,
                        .vertex_capacity = vertex_capacity,
                        .index_capacity = index_capacity,
                        .position = arena_array(arena, Vec3, vertex_capacity),
                        .normal = arena_array(arena, Vec3, vertex_capacity),
                        .weights = arena_array(arena, MeshWeights, vertex_capacity),
                        .index = arena_array(arena, uint32_t, index_capacity)};
}

uint32_t mesh_add_vertex(SampleMesh *mesh, Vec3 position, Vec3 normal)
{
    if (mesh->arena->overflowed || mesh->vertex_count == mesh->vertex_capacity) {
        mesh->arena->overflowed = true;
        return 0;
    }
    mesh->position[mesh->vertex_count] = position;
    mesh->normal[mesh->vertex_count] = normal;
    return (uint32_t)mesh->vertex_count++;
}

void mesh_add_triangle(SampleMesh *mesh, uint32_t a, uint32_t b, uint32_t c)
{
    if (mesh->arena->overflowed || mesh->index_count + 3 > mesh->index_capacity) {
        mesh->arena->overflowed = true;
        return;
    }
    uint32_t *out = mesh->index + mesh->index_count;
    out[0] = a;
    out[1] = b;
    out[2] = c;
    mesh->index_count += 3;
}

static float distance_squared(Vec3 a, Vec3 b)
{
    Vec3 d = vec3_sub(a, b);

    return vec3_dot(d, d);
}

void mesh_add_quad(SampleMesh *mesh, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    if (mesh->arena->overflowed)
        return;
    const Vec3 *p = mesh->position;
    if (distance_squared(p[a], p[c]) <= distance_squared(p[b], p[d])) {
        mesh_add_triangle(mesh, a, b, c);
        mesh_add_triangle(mesh, a, c, d);
    } else {
        mesh_add_triangle(mesh, b, c, d);
        mesh_add_triangle(mesh, b, d, a);
    }
}

void mesh_smooth_normals(SampleMesh *mesh, int first_vertex, int first_index)
{
    if (mesh->arena->overflowed)
        return;
    for (int v = first_vertex; v < mesh->vertex_count; v++)
        mesh->normal[v] = vec3(0.0f, 0.0f, 0.0f);
    for (int i = first_index; i < mesh->index_count; i += 3) {
        const uint32_t *t = mesh->index + i;
        const Vec3 *p = mesh->position;
        Vec3 area = vec3_cross(vec3_sub(p[t[1]], p[t[0]]), vec3_sub(p[t[2]], p[t[0]]));
        for (int k = 0; k < 3; k++)
            mesh->normal[t[k]] = vec3_add(mesh->normal[t[k]], area);
    }
    for (int v = first_vertex; v < mesh->vertex_count; v++)
        mesh->normal[v] = vec3_normalize_or(mesh->normal[v], vec3(0.0f, 1.0f, 0.0f));
}

int mesh_mirror(SampleMesh *mesh, int first_vertex, int first_index, const int *mirror)
{
    int vertex_end = mesh->vertex_count, index_end = mesh->index_count;
    uint32_t shift = (uint32_t)(vertex_end - first_vertex);

    for (int v = first_vertex; v < vertex_end; v++) {
        Vec3 p = mesh->position[v], n = mesh->normal[v];
        uint32_t to = mesh_add_vertex(mesh, vec3(-p.x, p.y, p.z), vec3(-n.x, n.y, n.z));
        mesh->weights[to] = mesh->weights[v];
        for (int k = 0; k < MESH_INFLUENCES; k++)
            mesh->weights[to].joint[k] = mirror[mesh->weights[v].joint[k]];
    }
    for (int i = first_index; i < index_end; i += 3) {
        const uint32_t *t = mesh->index + i;
        mesh_add_triangle(mesh, t[0] + shift, t[2] + shift, t[1] + shift);
    }
    return vertex_end;
}

void weights_add(MeshWeights *weights, int joint, float share)
{
    int least = 0;

    if (!(share > 0.0f))
        return;
    for (int k = 0; k < MESH_INFLUENCES; k++) {
        if (weights->weight[k] > 0.0f && weights->joint[k] == joint) {
            weights->weight[k] += share;
            return;
        }
        if (weights->weight[k] < weights->weight[least])
            least = k;
    }
    if (share > weights->weight[least]) {
        weights->joint[least] = joint;
        weights->weight[least] = share;
    }
}

void weights_finish(MeshWeights *weights)
{
    float sum = 0.0f;

    for (int k = 0; k < MESH_INFLUENCES; k++)
        sum += weights->weight[k];
    for (int k = 0; k < MESH_INFLUENCES && sum > 0.0f; k++)
        weights->weight[k] /= sum;
}

static void close_end(SampleMesh *mesh, const MeshTube *tube, uint32_t first, int ring)
{
    uint32_t n = (uint32_t)tube->side_count;
    uint32_t start = first + (uint32_t)ring * n;
    uint32_t middle = mesh_add_vertex(mesh, tube->centre[ring], vec3(0.0f, 1.0f, 0.0f));

    for (uint32_t s = 0; s < n; s++) {
        uint32_t a = start + s, b = start + (s + 1) % n;
        if (ring == 0)
            mesh_add_triangle(mesh, middle, b, a);
        else
            mesh_add_triangle(mesh, middle, a, b);
    }
}

int mesh_add_tube(SampleMesh *mesh, const MeshTube *tube)
{
    uint32_t first = (uint32_t)mesh->vertex_count;
    int first_index = mesh->index_count;
    uint32_t n = (uint32_t)tube->side_count;

    for (int r = 0; r < tube->ring_count; r++)
        for (int s = 0; s < tube->side_count; s++) {
            double sine, cosine;
            scalar_sin_cos(6.283185307179586 * s / tube->side_count, &sine, &cosine);
            Vec3 p =
                vec3_add_scaled(tube->centre[r], tube->side[r], (float)cosine * tube->width[r]);
            p = vec3_add_scaled(p, tube->up[r], (float)sine * tube->height[r]);
            mesh_add_vertex(mesh, p, vec3(0.0f, 1.0f, 0.0f));
        }

    int bands = tube->is_loop ? tube->ring_count : tube->ring_count - 1;
    for (int r = 0; r < bands; r++)
        for (uint32_t s = 0; s < n; s++) {
            uint32_t here = first + (uint32_t)r * n;
            uint32_t next = first + (uint32_t)((r + 1) % tube->ring_count) * n;
            uint32_t t = (s + 1) % n;
            mesh_add_quad(mesh, here + s, here + t, next + t, next + s);
        }
    if (!tube->is_loop) {
        close_end(mesh, tube, first, 0);
        close_end(mesh, tube, first, tube->ring_count - 1);
    }
    mesh_smooth_normals(mesh, (int)first, first_index);
    return (int)first;
}

int mesh_add_ring(SampleMesh *mesh, const MeshRing *ring)
{
    Vec3 centre[MESH_MAX_RINGS], side[MESH_MAX_RINGS], up[MESH_MAX_RINGS];
    float width[MESH_MAX_RINGS], height[MESH_MAX_RINGS];
    Vec3 axis = vec3_normalize_or(vec3_cross(ring->u, ring->v), vec3(0.0f, 1.0f, 0.0f));
    int count = ring->ring_count < MESH_MAX_RINGS ? ring->ring_count : MESH_MAX_RINGS;

    for (int i = 0; i < count; i++) {
        double sine, cosine;
        scalar_sin_cos(6.283185307179586 * i / count, &sine, &cosine);
        float s = (float)sine, c = (float)cosine;
        Vec3 along = vec3_add(vec3_scale(ring->u, -s), vec3_scale(ring->v, c));
        centre[i] = vec3_add_scaled(vec3_add_scaled(ring->centre, ring->u, c), ring->v, s);
        side[i] = axis;
        up[i] = vec3_normalize_or(vec3_cross(along, axis), axis);
        width[i] = ring->width;
        height[i] = ring->height;
    }
    return mesh_add_tube(mesh, &(MeshTube){.ring_count = count,
                                           .side_count = ring->side_count,
                                           .centre = centre,
                                           .side = side,
                                           .up = up,
                                           .width = width,
                                           .height = height,
                                           .is_loop = true});
}
