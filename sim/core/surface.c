#include "core/surface.h"

#include "math/scalar.h"

#include <assert.h>

enum { STACK = 64 }; /* a tree is as deep as the logarithm of its triangles */

Status surface_start(const Surface *surface, Arena *arena, SurfaceState *out, Error *err)
{
    SurfaceState state = {.position = arena_array(arena, Vec3, surface->vertex_count),
                          .box = arena_array(arena, SurfaceBox, surface->node_count)};

    if (skin_work_build(surface->skin, surface->part_count, arena, &state.work, err))
        return err->status;
    if (!state.position || !state.box)
        return error_set(err, STATUS_NO_MEMORY, "no room for the surface of the body");
    *out = state;
    return STATUS_OK;
}

/* --- a pose --- */

static Vec3 least(Vec3 a, Vec3 b)
{
    return vec3(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z);
}

static Vec3 most(Vec3 a, Vec3 b)
{
    return vec3(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z);
}

static SurfaceBox box_of_leaf(const Surface *surface, const Vec3 *position, const SurfaceNode *leaf)
{
    const int *corner = &surface->corner[3 * (size_t)leaf->first];
    SurfaceBox box = {position[corner[0]], position[corner[0]]};

    for (int i = 1; i < 3 * leaf->count; i++) {
        box.min = least(box.min, position[corner[i]]);
        box.max = most(box.max, position[corner[i]]);
    }
    return box;
}

void surface_pose(const Surface *surface, const Pose *pose, DVec3 origin, SimdLevel simd,
                  SurfaceState *state)
{
    for (int i = 0; i < surface->part_count; i++) {
        const SkinBatch *skin = &surface->skin[i];

        if (!i || !skin_shares_palette(skin, &surface->skin[i - 1]))
            skin_palette(skin, pose, origin, &state->work);
        skin_vertices(skin, pose, simd, &state->work, &state->position[surface->first_vertex[i]],
                      NULL);
    }
    for (int i = surface->node_count - 1; i >= 0; i--) {
        const SurfaceNode *node = &surface->node[i];
        SurfaceBox *box = &state->box[i];

        if (node->count) {
            *box = box_of_leaf(surface, state->position, node);
            continue;
        }
        box->min = least(state->box[i + 1].min, state->box[node->second].min);
        box->max = most(state->box[i + 1].max, state->box[node->second].max);
    }
}

/* --- nearest points --- */

/* A feature of a triangle: its inside, an edge (from a corner to the next), or a corner. */
typedef enum Feature { FACE, EDGE, CORNER } Feature;

typedef struct Nearest {
    float distance2; /* squared, of the nearest so far */
    int triangle;
    Feature feature;
    int corner; /* 0..2, of an edge or corner */
    Vec3 place;
} Nearest;

static float box_distance2(const SurfaceBox *box, Vec3 p)
{
    Vec3 below = vec3_sub(box->min, p), above = vec3_sub(p, box->max);
    Vec3 out = most(most(below, above), vec3(0.0f, 0.0f, 0.0f));

    return vec3_dot(out, out);
}

static void offer(Nearest *nearest, Vec3 p, Vec3 place, int triangle, Feature feature, int corner)
{
    Vec3 away = vec3_sub(p, place);
    float distance2 = vec3_dot(away, away);

    if (distance2 < nearest->distance2)
        *nearest = (Nearest){distance2, triangle, feature, corner, place};
}

/* Ericson, Real-Time Collision Detection (2005), 5.1.5. */
static void look_at_triangle(const Vec3 v[3], Vec3 p, int triangle, Nearest *nearest)
{
    Vec3 ab = vec3_sub(v[1], v[0]), ac = vec3_sub(v[2], v[0]);
    Vec3 ap = vec3_sub(p, v[0]), bp = vec3_sub(p, v[1]), cp = vec3_sub(p, v[2]);
    float d1 = vec3_dot(ab, ap), d2 = vec3_dot(ac, ap);
    float d3 = vec3_dot(ab, bp), d4 = vec3_dot(ac, bp);
    float d5 = vec3_dot(ab, cp), d6 = vec3_dot(ac, cp);
    float va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    float sum = va + vb + vc;

    if (d1 <= 0.0f && d2 <= 0.0f) {
        offer(nearest, p, v[0], triangle, CORNER, 0);
    } else if (d3 >= 0.0f && d4 <= d3) {
        offer(nearest, p, v[1], triangle, CORNER, 1);
    } else if (d6 >= 0.0f && d5 <= d6) {
        offer(nearest, p, v[2], triangle, CORNER, 2);
    } else if (vc <= 0.0f && d1 >= 0.0f && d3 <= 0.0f && d1 - d3 > 0.0f) {
        offer(nearest, p, vec3_add_scaled(v[0], ab, d1 / (d1 - d3)), triangle, EDGE, 0);
    } else if (vb <= 0.0f && d2 >= 0.0f && d6 <= 0.0f && d2 - d6 > 0.0f) {
        offer(nearest, p, vec3_add_scaled(v[0], ac, d2 / (d2 - d6)), triangle, EDGE, 2);
    } else if (va <= 0.0f && d4 - d3 >= 0.0f && d5 - d6 >= 0.0f && (d4 - d3) + (d5 - d6) > 0.0f) {
        float w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        offer(nearest, p, vec3_lerp(v[1], v[2], w), triangle, EDGE, 1);
    } else if (sum > 0.0f) {
        Vec3 place = vec3_add_scaled(vec3_add_scaled(v[0], ab, vb / sum), ac, vc / sum);
        offer(nearest, p, place, triangle, FACE, 0);
    }
}

static void look_at_leaf(const Surface *surface, const SurfaceState *state, const SurfaceNode *leaf,
                         Vec3 p, Nearest *nearest)
{
    for (int t = leaf->first; t < leaf->first + leaf->count; t++) {
        const int *corner = &surface->corner[3 * (size_t)t];
        const Vec3 v[3] = {state->position[corner[0]], state->position[corner[1]],
                           state->position[corner[2]]};

        look_at_triangle(v, p, t, nearest);
    }
}

/* A box that is still to be looked into. */
typedef struct Waiting {
    int node;
    float distance2;
} Waiting;

static Waiting wait_for(const SurfaceState *state, int node, Vec3 p)
{
    return (Waiting){node, box_distance2(&state->box[node], p)};
}

static void swap(Waiting *a, Waiting *b)
{
    Waiting other = *a;

    *a = *b;
    *b = other;
}

/* Down a layer's tree, the nearer box first. */
static Nearest find_nearest(const Surface *surface, const SurfaceState *state, int root, Vec3 p,
                            float reach)
{
    Nearest nearest = {.distance2 = reach * reach, .triangle = -1};
    Waiting stack[STACK];
    int count = 0;

    stack[count++] = wait_for(state, root, p);
    while (count) {
        const Waiting next = stack[--count];
        const SurfaceNode *node = &surface->node[next.node];

        if (next.distance2 >= nearest.distance2)
            continue;
        if (node->count) {
            look_at_leaf(surface, state, node, p, &nearest);
            continue;
        }
        Waiting near = wait_for(state, next.node + 1, p);
        Waiting far = wait_for(state, node->second, p);
        if (far.distance2 < near.distance2)
            swap(&near, &far);
        assert(count + 2 <= STACK);
        stack[count++] = far;
        stack[count++] = near;
    }
    return nearest;
}

/* --- the side --- */

static Vec3 face_normal(const Surface *surface, const SurfaceState *state, int triangle)
{
    const int *corner = &surface->corner[3 * (size_t)triangle];
    Vec3 a = state->position[corner[0]];
    Vec3 normal = vec3_cross(vec3_sub(state->position[corner[1]], a),
                             vec3_sub(state->position[corner[2]], a));

    return vec3_normalize_or(normal, vec3(0.0f, 0.0f, 0.0f));
}

/* Normals around a vertex, each by the angle of its triangle there. */
static Vec3 fan_normal(const Surface *surface, const SurfaceState *state, int vertex)
{
    int welded = surface->weld[vertex];
    Vec3 sum = {0.0f, 0.0f, 0.0f};

    for (int i = surface->fan_first[welded]; i < surface->fan_first[welded + 1]; i++) {
        int c = surface->fan[i], t = c / 3;
        const int *corner = &surface->corner[3 * (size_t)t];
        Vec3 at = state->position[corner[c % 3]];
        Vec3 a = vec3_sub(state->position[corner[(c + 1) % 3]], at);
        Vec3 b = vec3_sub(state->position[corner[(c + 2) % 3]], at);
        double lengths = (double)vec3_length(a) * (double)vec3_length(b);
        double angle = lengths > 0.0 ? scalar_acos((double)vec3_dot(a, b) / lengths) : 0.0;

        sum = vec3_add_scaled(sum, face_normal(surface, state, t), (float)angle);
    }
    return sum;
}

/* The pseudonormal at the nearest place; false where that is on an open rim. */
static bool find_normal(const Surface *surface, const SurfaceState *state, const Nearest *nearest,
                        Vec3 *out)
{
    size_t corner = 3 * (size_t)nearest->triangle + (size_t)nearest->corner;

    *out = face_normal(surface, state, nearest->triangle);
    if (nearest->feature == EDGE) {
        int across = surface->across[corner];
        if (across < 0)
            return false;
        *out = vec3_add(*out, face_normal(surface, state, across));
    }
    if (nearest->feature == CORNER) {
        int vertex = surface->corner[corner];
        if (surface->is_rim[surface->weld[vertex]])
            return false;
        *out = fan_normal(surface, state, vertex);
    }
    return true;
}

static SurfacePoint look_at_layer(const Surface *surface, const SurfaceState *state, int root,
                                  Vec3 p, float reach)
{
    const Nearest nearest = find_nearest(surface, state, root, p, reach);
    Vec3 normal;

    if (nearest.triangle < 0)
        return (SurfacePoint){.distance = reach};
    Vec3 away = vec3_sub(p, nearest.place);
    bool is_inside =
        find_normal(surface, state, &nearest, &normal) && vec3_dot(away, normal) < 0.0f;
    float distance = sqrtf(nearest.distance2);
    // on the surface itself the way out is the surface's own
    normal = vec3_normalize_or(normal, vec3(0.0f, 1.0f, 0.0f));
    if (distance > 1e-6f)
        normal = vec3_scale(away, (is_inside ? -1.0f : 1.0f) / distance);
    return (SurfacePoint){true, is_inside ? -distance : distance, normal};
}

SurfacePoint surface_nearest(const Surface *surface, const SurfaceState *state, Vec3 point,
                             float reach)
{
    SurfacePoint nearest = {.distance = reach};

    for (int i = 0; i < surface->layer_count; i++) {
        SurfacePoint layer = look_at_layer(surface, state, surface->root[i], point, reach);

        if (layer.is_found && (!nearest.is_found || layer.distance < nearest.distance))
            nearest = layer;
    }
    return nearest;
}
