/* A body's triangles, how they hang together, and the trees over them. */
#include "core/surface.h"

#include <stdlib.h>
#include <string.h>

enum { LEAF = 4 }; /* triangles of a leaf at most */

typedef struct Builder {
    const Body *body;
    Arena *arena;
    Surface *surface;
    const World *world; /* at rest (node_count) */
    SkinBatch *skin;
    int *first_vertex;
    Vec3 *place; /* in the meshes' own spaces (vertex_count) */
    int *layer;  /* node that bears a vertex (vertex_count) */
    int *corner; /* (3 triangle_count) */
} Builder;

static Status no_room(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room for the surface of the body");
}

static const RigPrimitive *primitive_of(const Body *body, const BodyPart *part)
{
    return &body->rig->mesh[body->rig->node[part->node].mesh].primitive[part->primitive];
}

/* --- triangles --- */

/* Is the part turned inside out by where it hangs? Then its triangles are listed the other way. */
static bool is_mirrored(const Builder *b, const SkinBatch *skin)
{
    const float *a = skin->inverse_bind[0].m;
    const Mat3 bind = {vec3(a[0], a[4], a[8]), vec3(a[1], a[5], a[9]), vec3(a[2], a[6], a[10])};
    const Mat3 *basis = &b->world[skin->joint_node[0]].basis;

    return mat3_determinant(basis) * mat3_determinant(&bind) < 0.0f;
}

static bool is_kept(const BodyPart *part, const RigPrimitive *primitive, int index)
{
    const uint32_t *v = &primitive->index[index];
    const Vec3 *p = primitive->position;

    if (part->is_moved[v[0]] || part->is_moved[v[1]] || part->is_moved[v[2]])
        return false;
    Vec3 area = vec3_cross(vec3_sub(p[v[1]], p[v[0]]), vec3_sub(p[v[2]], p[v[0]]));
    return vec3_dot(area, area) > 0.0f;
}

static void add_triangles(Builder *b, int part)
{
    const BodyPart *from = &b->body->part[part];
    const RigPrimitive *primitive = primitive_of(b->body, from);
    int turn = is_mirrored(b, &b->skin[part]) ? 1 : 0;

    for (int i = 0; i + 2 < primitive->index_count; i += 3) {
        if (!is_kept(from, primitive, i))
            continue;
        int *corner = &b->corner[3 * (size_t)b->surface->triangle_count++];
        corner[0] = b->first_vertex[part] + (int)primitive->index[i];
        corner[1] = b->first_vertex[part] + (int)primitive->index[i + 1 + turn];
        corner[2] = b->first_vertex[part] + (int)primitive->index[i + 2 - turn];
    }
}

static Status add_parts(Builder *b, Error *err)
{
    Surface *surface = b->surface;

    for (int i = 0; i < b->body->part_count; i++) {
        const BodyPart *from = &b->body->part[i];
        const SkinSource source = {.node = from->node, .primitive = from->primitive};
        int first = surface->vertex_count;

        b->first_vertex[i] = first;
        if (skin_batch_build(b->body->rig, &source, b->arena, &b->skin[i], err))
            return err->status;
        memcpy(&b->place[first], primitive_of(b->body, from)->position,
               (size_t)from->vertex_count * sizeof *b->place);
        for (int v = 0; v < from->vertex_count; v++)
            b->layer[first + v] = from->node;
        surface->vertex_count += from->vertex_count;
        add_triangles(b, i);
    }
    surface->part_count = b->body->part_count;
    return STATUS_OK;
}

/* --- how triangles hang together --- */

/* A key with where it belongs: sorted by key, then place, so that every sort has one outcome. */
typedef struct Item {
    uint32_t key[4];
    int place;
} Item;

static int compare_items(const void *a_, const void *b_)
{
    const Item *a = a_, *b = b_;

    for (int i = 0; i < 4; i++)
        if (a->key[i] != b->key[i])
            return a->key[i] < b->key[i] ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static bool has_same_key(const Item *a, const Item *b)
{
    return memcmp(a->key, b->key, sizeof a->key) == 0;
}

static void sort(Item *item, int count)
{
    if (count)
        qsort(item, (size_t)count, sizeof *item, compare_items);
}

/* Vertices of one layer in exactly one place are one. */
static void weld(const Builder *b, Item *item, int *out)
{
    int count = b->surface->vertex_count;

    for (int v = 0; v < count; v++) {
        // + 0 makes one zero of two
        const Vec3 p = vec3_add(b->place[v], vec3(0.0f, 0.0f, 0.0f));
        memcpy(item[v].key, &p, sizeof p);
        item[v].key[3] = (uint32_t)b->layer[v];
        item[v].place = v;
    }
    sort(item, count);
    for (int i = 0; i < count; i++)
        out[item[i].place] =
            i && has_same_key(&item[i], &item[i - 1]) ? out[item[i - 1].place] : item[i].place;
}

static int next_corner(int corner)
{
    return corner % 3 == 2 ? corner - 2 : corner + 1;
}

/* Pair the two triangles of each edge; what is not paired one to one, and run along in opposite
 * ways, is a rim. */
static void join_edges(const Builder *b, const int *welded, Item *item, int *across, bool *is_rim)
{
    int count = 3 * b->surface->triangle_count;

    for (int c = 0; c < count; c++) {
        uint32_t from = (uint32_t)welded[b->corner[c]];
        uint32_t to = (uint32_t)welded[b->corner[next_corner(c)]];

        item[c] = (Item){.key = {from < to ? from : to, from < to ? to : from}, .place = c};
        across[c] = -1;
    }
    sort(item, count);
    for (int i = 0, end = 0; i < count; i = end) {
        for (end = i + 1; end < count && has_same_key(&item[i], &item[end]);)
            end++;
        int a = item[i].place, c = item[end - 1].place;
        if (end - i == 2 && welded[b->corner[a]] == welded[b->corner[next_corner(c)]]) {
            across[a] = c / 3;
            across[c] = a / 3;
            continue;
        }
        is_rim[item[i].key[0]] = is_rim[item[i].key[1]] = true;
    }
}

/* The corners around every welded vertex. */
static void list_fans(const Builder *b, const int *welded, int *first, int *fan)
{
    int corners = 3 * b->surface->triangle_count, vertices = b->surface->vertex_count;

    for (int c = 0; c < corners; c++)
        first[welded[b->corner[c]] + 1]++;
    for (int v = 0; v < vertices; v++)
        first[v + 1] += first[v];
    for (int c = corners - 1; c >= 0; c--)
        fan[--first[welded[b->corner[c]] + 1]] = c;
    // what was counted down is the start of the next one
    for (int v = 0; v < vertices; v++)
        first[v] = first[v + 1];
    first[vertices] = corners;
}

static Status join(Builder *b, Error *err)
{
    Surface *surface = b->surface;
    int corners = 3 * surface->triangle_count, vertices = surface->vertex_count;
    int *welded = arena_array(b->arena, int, vertices);
    int *across = arena_array(b->arena, int, corners);
    int *first = arena_array(b->arena, int, vertices + 1);
    int *fan = arena_array(b->arena, int, corners);
    bool *is_rim = arena_array(b->arena, bool, vertices);
    size_t mark = arena_mark(b->arena);
    Item *item = arena_array(b->arena, Item, corners > vertices ? corners : vertices);

    if (!welded || !across || !first || !fan || !is_rim || !item)
        return no_room(err);
    weld(b, item, welded);
    join_edges(b, welded, item, across, is_rim);
    list_fans(b, welded, first, fan);
    arena_rewind(b->arena, mark);
    surface->weld = welded;
    surface->across = across;
    surface->fan_first = first;
    surface->fan = fan;
    surface->is_rim = is_rim;
    return STATUS_OK;
}

/* --- trees --- */

/* Bits of a number of ten, two zeroes between each. */
static uint32_t spread(uint32_t x)
{
    x = (x | x << 16) & 0x030000ffu;
    x = (x | x << 8) & 0x0300f00fu;
    x = (x | x << 4) & 0x030c30c3u;
    return (x | x << 2) & 0x09249249u;
}

static uint32_t cell(float at, float low, float size)
{
    float x = size > 0.0f ? (at - low) / size * 1023.0f : 0.0f;

    return (uint32_t)(x < 0.0f ? 0.0f : x > 1023.0f ? 1023.0f : x);
}

/* Triangles layer by layer, each along a space-filling curve through its mesh. */
static void sort_triangles(const Builder *b, Item *item, int *scratch)
{
    int count = b->surface->triangle_count;
    Vec3 low = vec3(INFINITY, INFINITY, INFINITY), high = vec3_scale(low, -1.0f);

    for (int v = 0; v < b->surface->vertex_count; v++) {
        Vec3 p = b->place[v];

        low = vec3(p.x < low.x ? p.x : low.x, p.y < low.y ? p.y : low.y, p.z < low.z ? p.z : low.z);
        high = vec3(p.x > high.x ? p.x : high.x, p.y > high.y ? p.y : high.y,
                    p.z > high.z ? p.z : high.z);
    }
    float size = vec3_max(vec3_sub(high, low));
    for (int t = 0; t < count; t++) {
        const int *v = &b->corner[3 * (size_t)t];
        Vec3 sum = vec3_add(b->place[v[0]], vec3_add(b->place[v[1]], b->place[v[2]]));
        Vec3 c = vec3_scale(sum, 1.0f / 3.0f);

        item[t] = (Item){.key = {(uint32_t)b->layer[v[0]], spread(cell(c.x, low.x, size)) |
                                                               spread(cell(c.y, low.y, size)) << 1 |
                                                               spread(cell(c.z, low.z, size)) << 2},
                         .place = t};
    }
    sort(item, count);
    for (int c = 0; c < 3 * count; c++)
        scratch[c] = b->corner[c];
    for (int t = 0; t < count; t++)
        memcpy(&b->corner[3 * (size_t)t], &scratch[3 * (size_t)item[t].place], 3 * sizeof *scratch);
}

/* Halve a range of triangles until it is a leaf; depth is the logarithm of their number. */
static void add_tree(Surface *surface, SurfaceNode *node, int first, int count)
{
    int own = surface->node_count++;

    if (count <= LEAF) {
        node[own] = (SurfaceNode){.first = first, .count = count};
        return;
    }
    add_tree(surface, node, first, count / 2);
    node[own].second = surface->node_count;
    add_tree(surface, node, first + count / 2, count - count / 2);
}

static Status grow_trees(Builder *b, Error *err)
{
    Surface *surface = b->surface;
    int count = surface->triangle_count;
    SurfaceNode *node = arena_array(b->arena, SurfaceNode, 2 * (size_t)count + 1);
    int *root = arena_array(b->arena, int, surface->part_count + 1);

    if (!node || !root)
        return no_room(err);
    for (int first = 0, end = 0; first < count; first = end) {
        int layer = b->layer[b->corner[3 * (size_t)first]];

        for (end = first; end < count && b->layer[b->corner[3 * (size_t)end]] == layer;)
            end++;
        root[surface->layer_count++] = surface->node_count;
        add_tree(surface, node, first, end - first);
    }
    surface->node = node;
    surface->root = root;
    return STATUS_OK;
}

Status surface_build(const BodyDesc *desc, Arena *arena, Surface *out, Error *err)
{
    Surface surface = {0};
    Body body;
    size_t vertices = 0, indices = 0;

    if (body_find(desc, arena, &body, err))
        return err->status;
    for (int i = 0; i < body.part_count; i++) {
        vertices += (size_t)body.part[i].vertex_count;
        indices += (size_t)primitive_of(&body, &body.part[i])->index_count;
    }
    if (vertices > INT32_MAX / 4 || indices > INT32_MAX / 4)
        return error_set(err, STATUS_LIMIT, "the body has more than %d vertices or corners",
                         INT32_MAX / 4);
    World *world = arena_array(arena, World, desc->rig->node_count);
    Builder b = {.body = &body,
                 .arena = arena,
                 .surface = &surface,
                 .world = world,
                 .skin = arena_array(arena, SkinBatch, body.part_count),
                 .first_vertex = arena_array(arena, int, body.part_count),
                 .place = arena_array(arena, Vec3, vertices),
                 .layer = arena_array(arena, int, vertices),
                 .corner = arena_array(arena, int, indices)};
    int *scratch = arena_array(arena, int, indices);
    Item *item = arena_array(arena, Item, indices / 3);
    if (arena->overflowed || !world)
        return no_room(err);
    rig_rest_worlds(desc->rig, world);
    if (add_parts(&b, err))
        return err->status;
    sort_triangles(&b, item, scratch);
    surface.skin = b.skin;
    surface.first_vertex = b.first_vertex;
    surface.corner = b.corner;
    if (join(&b, err) || grow_trees(&b, err))
        return err->status;
    *out = surface;
    return STATUS_OK;
}
