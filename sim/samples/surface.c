#include "samples/shape.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 4, RELAX_PASSES = 3 };

static const uint32_t NO_VERTEX = UINT32_MAX;

typedef struct Net {
    const Shape *shape;
    SampleMesh *mesh;
    Vec3 origin;
    Vec3 cell;
    int nx, ny, nz;   /* cells */
    float *value;     /* at the corners, x fastest ((nx + 1)(ny + 1)(nz + 1)) */
    uint32_t *vertex; /* of a cell, NO_VERTEX where there is none (nx ny nz) */
} Net;

static size_t corner_at(const Net *net, int x, int y, int z)
{
    size_t row = (size_t)net->nx + 1, plane = row * ((size_t)net->ny + 1);

    return (size_t)z * plane + (size_t)y * row + (size_t)x;
}

static size_t cell_at(const Net *net, int x, int y, int z)
{
    return ((size_t)z * (size_t)net->ny + (size_t)y) * (size_t)net->nx + (size_t)x;
}

static Vec3 corner_point(const Net *net, int x, int y, int z)
{
    return vec3_add(net->origin, vec3_mul(net->cell, vec3((float)x, (float)y, (float)z)));
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Fill the corners of one block. Far from the surface the value at the middle stands for all: only
 * its sign matters there. */
static void sample_block(Net *net, int x0, int y0, int z0)
{
    Vec3 half = vec3_scale(net->cell, 0.5f * BLOCK);
    float value = shape_value(net->shape, vec3_add(corner_point(net, x0, y0, z0), half));
    bool is_far = fabsf(value) > 3.0f * vec3_length(half);

    for (int z = z0; z < least(z0 + BLOCK, net->nz + 1); z++)
        for (int y = y0; y < least(y0 + BLOCK, net->ny + 1); y++)
            for (int x = x0; x < least(x0 + BLOCK, net->nx + 1); x++)
                net->value[corner_at(net, x, y, z)] =
                    is_far ? value : shape_value(net->shape, corner_point(net, x, y, z));
}

/* The mean of the crossings on a cell's twelve edges; false where it has none. */
static bool cell_crossing(const Net *net, int x, int y, int z, Vec3 *out)
{
    static const int edge[12][2] = {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3},
                                    {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}};
    float value[8];
    Vec3 point[8];
    Vec3 sum = {0.0f, 0.0f, 0.0f};
    int count = 0;

    for (int k = 0; k < 8; k++) {
        int i = x + (k & 1), j = y + (k >> 1 & 1), l = z + (k >> 2);
        value[k] = net->value[corner_at(net, i, j, l)];
        point[k] = corner_point(net, i, j, l);
    }
    for (int e = 0; e < 12; e++) {
        float a = value[edge[e][0]], b = value[edge[e][1]];
        if ((a < 0.0f) == (b < 0.0f))
            continue;
        sum = vec3_add(sum, vec3_lerp(point[edge[e][0]], point[edge[e][1]], a / (a - b)));
        count++;
    }
    if (count == 0)
        return false;
    *out = vec3_scale(sum, 1.0f / (float)count);
    return true;
}

static void add_vertices(Net *net)
{
    for (int z = 0; z < net->nz; z++)
        for (int y = 0; y < net->ny; y++)
            for (int x = 0; x < net->nx; x++) {
                Vec3 point;
                bool is_crossed = cell_crossing(net, x, y, z, &point);
                net->vertex[cell_at(net, x, y, z)] =
                    is_crossed ? mesh_add_vertex(net->mesh, point, vec3(0.0f, 1.0f, 0.0f))
                               : NO_VERTEX;
            }
}

/* The four cells around one grid edge make a quad when the edge crosses the surface. `axis` is the
 * edge's, u and v the next two in cyclic order. */
static void add_edge_quad(Net *net, const int at[3], int axis)
{
    int u = (axis + 1) % 3, v = (axis + 2) % 3;
    int end[3] = {at[0], at[1], at[2]};

    end[axis]++;
    bool is_inside = net->value[corner_at(net, at[0], at[1], at[2])] < 0.0f;
    bool is_end_inside = net->value[corner_at(net, end[0], end[1], end[2])] < 0.0f;
    if (is_inside == is_end_inside || at[u] == 0 || at[v] == 0)
        return;
    uint32_t corner[4];
    for (int k = 0; k < 4; k++) {
        int cell[3] = {at[0], at[1], at[2]};
        cell[u] -= k == 0 || k == 3;
        cell[v] -= k < 2;
        corner[k] = net->vertex[cell_at(net, cell[0], cell[1], cell[2])];
    }
    if (is_inside)
        mesh_add_quad(net->mesh, corner[0], corner[1], corner[2], corner[3]);
    else
        mesh_add_quad(net->mesh, corner[3], corner[2], corner[1], corner[0]);
}

static void add_quads(Net *net)
{
    for (int z = 0; z < net->nz; z++)
        for (int y = 0; y < net->ny; y++)
            for (int x = 0; x < net->nx; x++)
                for (int axis = 0; axis < 3; axis++)
                    add_edge_quad(net, (const int[3]){x, y, z}, axis);
}

/* Move each vertex halfway to the mean of its neighbours and back onto the surface. */
static void relax(Net *net, int first_vertex, int first_index, Arena *arena)
{
    SampleMesh *mesh = net->mesh;
    int count = mesh->vertex_count - first_vertex;
    Vec3 *sum = arena_scratch(arena, Vec3, count + 1);
    int *neighbours = arena_scratch(arena, int, count + 1);

    if (arena->overflowed)
        return;
    for (int pass = 0; pass < RELAX_PASSES; pass++) {
        memset(sum, 0, (size_t)count * sizeof *sum);
        memset(neighbours, 0, (size_t)count * sizeof *neighbours);
        for (int i = first_index; i < mesh->index_count; i++) {
            // each edge is seen from both of its triangles, once in each direction
            int next = i % 3 == 2 ? i - 2 : i + 1;
            int a = (int)mesh->index[i] - first_vertex;
            sum[a] = vec3_add(sum[a], mesh->position[mesh->index[next]]);
            neighbours[a]++;
        }
        for (int v = 0; v < count; v++) {
            Vec3 *p = &mesh->position[first_vertex + v];
            if (neighbours[v] > 0)
                *p = vec3_lerp(*p, vec3_scale(sum[v], 1.0f / (float)neighbours[v]), 0.5f);
            *p = shape_project(net->shape, *p);
        }
    }
}

/* Make the vertices of cells at x < 0 exact mirror images of those at x > 0. */
static void mirror_vertices(Net *net)
{
    Vec3 *position = net->mesh->position;

    for (int z = 0; z < net->nz; z++)
        for (int y = 0; y < net->ny; y++)
            for (int x = 0; x < net->nx / 2; x++) {
                // cells pair up, for the corners' signs do
                uint32_t to = net->vertex[cell_at(net, x, y, z)];
                uint32_t from = net->vertex[cell_at(net, net->nx - 1 - x, y, z)];
                if (to != NO_VERTEX && from != NO_VERTEX)
                    position[to] = vec3(-position[from].x, position[from].y, position[from].z);
            }
}

static int cell_count(float length, float cell)
{
    return (int)ceilf(length / cell);
}

void shape_mesh(const Shape *shape, const ShapeGrid *grid, Arena *arena, SampleMesh *mesh)
{
    Net net = {.shape = shape, .mesh = mesh, .origin = grid->min, .cell = grid->cell};
    size_t mark = arena_mark(arena);
    int first_vertex = mesh->vertex_count, first_index = mesh->index_count;

    net.nx = cell_count(grid->max.x - grid->min.x, grid->cell.x);
    net.ny = cell_count(grid->max.y - grid->min.y, grid->cell.y);
    net.nz = cell_count(grid->max.z - grid->min.z, grid->cell.z);
    if (shape->is_symmetric) {
        // a plane of corners at x = 0
        int half = cell_count(grid->max.x, grid->cell.x);
        net.nx = 2 * half;
        net.origin.x = -grid->cell.x * (float)half;
    }
    size_t cells = (size_t)net.nx * (size_t)net.ny * (size_t)net.nz;
    net.value = arena_scratch(arena, float, corner_at(&net, net.nx, net.ny, net.nz) + 1);
    net.vertex = arena_scratch(arena, uint32_t, cells);
    if (arena->overflowed)
        return;

    for (int z = 0; z <= net.nz; z += BLOCK)
        for (int y = 0; y <= net.ny; y += BLOCK)
            for (int x = 0; x <= net.nx; x += BLOCK)
                sample_block(&net, x, y, z);
    add_vertices(&net);
    if (shape->is_symmetric)
        mirror_vertices(&net);
    add_quads(&net);
    relax(&net, first_vertex, first_index, arena);
    if (shape->is_symmetric)
        mirror_vertices(&net);
    for (int v = first_vertex; v < mesh->vertex_count && !arena->overflowed; v++)
        mesh->normal[v] = shape_normal(shape, mesh->position[v]);
    arena_rewind(arena, mark);
}
