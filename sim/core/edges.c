#include "core/edges.h"

#include "core/edges_kernel.h"
#include "core/quantile.h"

#include <string.h>

static Status no_room(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room for the measured edges");
}

/* --- which edges --- */

/* An open-addressing set of pairs of ints. */
typedef struct PairSet {
    uint64_t *slot; /* pair + 1, 0 free */
    uint64_t mask;
} PairSet;

static bool pairs_open(PairSet *set, Arena *arena, int64_t capacity)
{
    uint64_t count = 16;

    while ((int64_t)count < 2 * capacity)
        count *= 2;
    set->mask = count - 1;
    set->slot = arena_array(arena, uint64_t, count);
    return set->slot != NULL;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Was the pair new? */
static bool pairs_add(PairSet *set, int a, int b)
{
    uint32_t low = (uint32_t)(a < b ? a : b), high = (uint32_t)(a < b ? b : a);
    uint64_t pair = ((uint64_t)high << 32 | low) + 1;
    uint64_t i = mix(pair) & set->mask;

    while (set->slot[i] && set->slot[i] != pair)
        i = (i + 1) & set->mask;
    bool is_new = !set->slot[i];
    set->slot[i] = pair;
    return is_new;
}

static int64_t count_vertices(const RigMesh *mesh)
{
    int64_t count = 0;

    for (int i = 0; i < mesh->primitive_count; i++)
        count += mesh->primitive[i].vertex_count;
    return count;
}

static uint64_t hash_of(Vec3 p)
{
    uint32_t bits[3];

    // + 0 makes one zero of two
    p = vec3(p.x + 0.0f, p.y + 0.0f, p.z + 0.0f);
    memcpy(bits, &p, sizeof bits);
    return mix(((uint64_t)bits[0] << 32 | bits[1]) ^ mix(bits[2]));
}

static bool is_same(Vec3 a, Vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* One number for all vertices of the mesh at one position: `out` has them primitive after
 * primitive. */
static bool weld(const RigMesh *mesh, Arena *arena, int *out)
{
    int64_t count = count_vertices(mesh);
    uint64_t slots = 16;

    while ((int64_t)slots < 2 * count)
        slots *= 2;
    int *slot = arena_array(arena, int, slots); // vertex + 1, 0 free
    const Vec3 **place = arena_array(arena, const Vec3 *, count);
    if (!slot || !place)
        return false;
    int vertex = 0;
    for (int i = 0; i < mesh->primitive_count; i++)
        for (int v = 0; v < mesh->primitive[i].vertex_count; v++, vertex++) {
            uint64_t at = hash_of(mesh->primitive[i].position[v]) & (slots - 1);

            place[vertex] = &mesh->primitive[i].position[v];
            while (slot[at] && !is_same(*place[slot[at] - 1], *place[vertex]))
                at = (at + 1) & (slots - 1);
            if (!slot[at])
                slot[at] = vertex + 1;
            out[vertex] = slot[at] - 1;
        }
    return true;
}

static bool is_vertex_moved(const Rig *rig, const bool *is_moved, int node, int primitive, int v)
{
    const RigPrimitive *from = &rig->mesh[rig->node[node].mesh].primitive[primitive];
    size_t influences = (size_t)from->influence_count;

    if (rig->node[node].skin < 0 || !influences)
        return is_moved[node];
    const RigSkin *skin = &rig->skin[rig->node[node].skin];
    for (size_t k = 0; k < influences; k++)
        if (from->weight[influences * (size_t)v + k] > 0.0f &&
            is_moved[skin->joint[from->joint[influences * (size_t)v + k]]])
            return true;
    return false;
}

/* Can any vertex of the node's mesh be moved at all? Spares the look at every vertex. */
static bool is_node_touched(const Rig *rig, const bool *is_moved, int node)
{
    if (is_moved[node])
        return true;
    if (rig->node[node].skin < 0)
        return false;
    const RigSkin *skin = &rig->skin[rig->node[node].skin];
    for (int i = 0; i < skin->joint_count; i++)
        if (is_moved[skin->joint[i]])
            return true;
    return false;
}

typedef struct Builder {
    const Rig *rig;
    const bool *is_moved; /* nodes that the part moves */
    Arena *arena;
    EdgeSet *set;
    int *a, *b; /* ends; vertices of the primitive until it is packed */
    int capacity;
} Builder;

/* The primitive's new edges, appended with its own vertex numbers. */
static bool collect(Builder *builder, int node, int primitive, const int *welded, PairSet *pairs)
{
    const RigPrimitive *from =
        &builder->rig->mesh[builder->rig->node[node].mesh].primitive[primitive];
    EdgeSet *set = builder->set;
    bool *is_moved = arena_array(builder->arena, bool, from->vertex_count);

    if (!is_moved)
        return false;
    for (int v = 0; v < from->vertex_count; v++)
        is_moved[v] = is_vertex_moved(builder->rig, builder->is_moved, node, primitive, v);
    for (int i = 0; i < from->index_count; i++) {
        int a = (int)from->index[i];
        int b = (int)from->index[i % 3 == 2 ? i - 2 : i + 1];

        if ((!is_moved[a] && !is_moved[b]) || welded[a] == welded[b] ||
            !pairs_add(pairs, welded[a], welded[b]))
            continue;
        builder->a[set->edge_count] = a;
        builder->b[set->edge_count++] = b;
    }
    return true;
}

/* Keep only the vertices at edges' ends, numbered on in the set. */
static Status pack(Builder *builder, int node, int primitive, EdgeBatch *batch, Error *err)
{
    EdgeSet *set = builder->set;
    const RigPrimitive *from =
        &builder->rig->mesh[builder->rig->node[node].mesh].primitive[primitive];
    int ends = 2 * batch->edge_count;
    int most = ends < from->vertex_count ? ends : from->vertex_count;
    int *vertex = arena_array(builder->arena, int, most);
    size_t mark = arena_mark(builder->arena);
    int *place = arena_array(builder->arena, int, from->vertex_count); // + 1, 0 none
    int count = 0;

    if (!vertex || !place)
        return no_room(err);
    for (int i = 0; i < ends; i++) {
        int *end = (i & 1 ? builder->b : builder->a) + batch->first_edge + i / 2;

        if (!place[*end]) {
            vertex[count] = *end;
            place[*end] = ++count;
        }
        *end = set->vertex_count + place[*end] - 1;
    }
    arena_rewind(builder->arena, mark);
    batch->vertex = vertex;
    batch->first_vertex = set->vertex_count;
    set->vertex_count += count;
    const char *key = builder->rig->node[node].key;
    batch->key = primitive ? arena_format(builder->arena, "%s/%d", key, primitive) : key;
    if (!batch->key)
        return no_room(err);
    const SkinSource source = {node, primitive, vertex, count};
    return skin_batch_build(builder->rig, &source, builder->arena, &batch->skin, err);
}

static int64_t count_indices(const Rig *rig, const bool *is_moved, int *out_batches)
{
    int64_t indices = 0;

    *out_batches = 0;
    for (int i = 0; i < rig->node_count; i++) {
        const RigMesh *mesh = rig->node[i].mesh < 0 ? NULL : &rig->mesh[rig->node[i].mesh];

        if (!mesh || !is_node_touched(rig, is_moved, i))
            continue;
        *out_batches += mesh->primitive_count;
        for (int j = 0; j < mesh->primitive_count; j++)
            indices += mesh->primitive[j].index_count;
    }
    return indices;
}

static Status collect_node(Builder *builder, int node, Error *err)
{
    const RigMesh *mesh = &builder->rig->mesh[builder->rig->node[node].mesh];
    EdgeSet *set = builder->set;
    int first_batch = set->batch_count;
    size_t mark = arena_mark(builder->arena);
    int *welded = arena_array(builder->arena, int, count_vertices(mesh));
    int64_t indices = 0;
    int vertices = 0;
    PairSet pairs;

    for (int i = 0; i < mesh->primitive_count; i++)
        indices += mesh->primitive[i].index_count;
    if (!welded || !weld(mesh, builder->arena, welded) ||
        !pairs_open(&pairs, builder->arena, indices))
        return no_room(err);
    for (int i = 0; i < mesh->primitive_count; i++) {
        EdgeBatch batch = {.first_edge = set->edge_count};

        if (!collect(builder, node, i, welded + vertices, &pairs))
            return no_room(err);
        vertices += mesh->primitive[i].vertex_count;
        batch.edge_count = set->edge_count - batch.first_edge;
        batch.skin = (SkinBatch){.node = node, .primitive = i};
        if (batch.edge_count)
            set->batch[set->batch_count++] = batch;
    }
    arena_rewind(builder->arena, mark);
    for (int i = first_batch; i < set->batch_count; i++)
        if (pack(builder, node, set->batch[i].skin.primitive, &set->batch[i], err))
            return err->status;
    return STATUS_OK;
}

/* --- lengths at rest --- */

static void skin_all(const EdgeSet *set, const Pose *pose, SimdLevel simd, SkinWork *work,
                     Vec3 *out)
{
    for (int i = 0; i < set->batch_count; i++) {
        const SkinBatch *skin = &set->batch[i].skin;

        skin_palette(skin, pose, skin_origin(skin, pose), work);
        skin_vertices(skin, pose, simd, work, out + set->batch[i].first_vertex, NULL);
    }
}

static Status work_of(const EdgeSet *set, Arena *arena, SkinWork *out, Error *err)
{
    SkinBatch *batch = arena_array(arena, SkinBatch, set->batch_count);

    if (!batch)
        return no_room(err);
    for (int i = 0; i < set->batch_count; i++)
        batch[i] = set->batch[i].skin;
    return skin_work_build(batch, set->batch_count, arena, out, err);
}

/* Lengths in the bind pose; edges that are too short to measure leave the set. */
static Status measure_rest(const Rig *rig, Arena *arena, Builder *builder, float *rest_inverse,
                           Error *err)
{
    EdgeSet *set = builder->set;
    size_t mark = arena_mark(arena);
    Vec3 *position = arena_array(arena, Vec3, set->vertex_count);
    SkinWork work;
    Pose pose;
    float shortest = 1e-5f * vec3_length(vec3_sub(rig->box_max, rig->box_min));
    int count = 0;

    if (!position)
        return no_room(err);
    if (work_of(set, arena, &work, err) || pose_build(rig, arena, &pose, err))
        return err->status;
    skin_all(set, &pose, SIMD_SCALAR, &work, position);
    for (int i = 0; i < set->batch_count; i++) {
        EdgeBatch *batch = &set->batch[i];
        int first = count;

        for (int e = batch->first_edge; e < batch->first_edge + batch->edge_count; e++) {
            int a = builder->a[e], b = builder->b[e];
            float length = vec3_length(vec3_sub(position[b], position[a]));

            if (!(length > shortest))
                continue;
            builder->a[count] = a;
            builder->b[count] = b;
            rest_inverse[count++] = 1.0f / length;
        }
        batch->first_edge = first;
        batch->edge_count = count - first;
    }
    set->edge_count = count;
    arena_rewind(arena, mark);
    return STATUS_OK;
}

Status edges_build(const Rig *rig, const Part *part, Arena *arena, EdgeSet *out, Error *err)
{
    EdgeSet set = {.simulation = part->simulation};
    bool *is_moved = arena_array(arena, bool, rig->node_count);
    Builder builder = {.rig = rig, .is_moved = is_moved, .arena = arena, .set = &set};
    int batches;

    if (!is_moved)
        return no_room(err);
    for (int i = 0; i < part->affected_count; i++)
        is_moved[part->affected[i]] = true;
    int64_t indices = count_indices(rig, is_moved, &batches);
    if (indices > INT32_MAX)
        return error_set(err, STATUS_LIMIT, "more than %d edges to measure", INT32_MAX);
    set.batch = arena_array(arena, EdgeBatch, batches);
    builder.a = arena_array(arena, int, indices);
    builder.b = arena_array(arena, int, indices);
    float *rest_inverse = arena_array(arena, float, indices);
    if (!set.batch || !builder.a || !builder.b || !rest_inverse)
        return no_room(err);
    for (int i = 0; i < rig->node_count; i++)
        if (rig->node[i].mesh >= 0 && is_node_touched(rig, is_moved, i) &&
            collect_node(&builder, i, err))
            return err->status;
    if (measure_rest(rig, arena, &builder, rest_inverse, err))
        return err->status;
    set.a = builder.a;
    set.b = builder.b;
    set.rest_inverse = rest_inverse;
    *out = set;
    return STATUS_OK;
}

/* --- a run --- */

Status edges_start(const EdgeSet *set, Arena *arena, EdgeState *out, Error *err)
{
    EdgeState state = {
        .position = arena_array(arena, Vec3, (size_t)set->vertex_count + 1),
        .stretch = arena_array(arena, float, set->edge_count),
        .max = arena_array(arena, float, set->edge_count),
        .min = arena_array(arena, float, set->edge_count),
        .when = arena_array(arena, int, set->edge_count),
        .middle = arena_array(arena, DVec3, set->edge_count),
        .picked = arena_array(arena, float, set->edge_count),
        .keys = arena_array(arena, uint32_t, set->edge_count),
        .block = arena_array(arena, unsigned char, set->edge_count / EDGE_BLOCK + 1),
        .high = -INFINITY,
    };

    if (!state.position || !state.stretch || !state.max || !state.min || !state.when ||
        !state.middle || !state.picked || !state.keys || !state.block)
        return no_room(err);
    if (work_of(set, arena, &state.work, err))
        return err->status;
    for (int i = 0; i < set->edge_count; i++) {
        state.max[i] = -INFINITY;
        state.min[i] = INFINITY;
    }
    *out = state;
    return STATUS_OK;
}

/* The edges of one block that are longer than ever before. */
static void keep_greatest(const EdgeSet *set, int first, int end, DVec3 origin, EdgeState *state)
{
    for (int e = first; e < end; e++) {
        if (!(state->stretch[e] > state->max[e]))
            continue;
        Vec3 middle = vec3_lerp(state->position[set->a[e]], state->position[set->b[e]], 0.5f);
        state->max[e] = state->stretch[e];
        state->when[e] = state->sample_count;
        state->middle[e] = dvec3_add(origin, dvec3_from(middle));
    }
}

/* Measure one batch; its stretches of interest are appended to state->picked. */
static int scan_batch(const EdgeSet *set, const EdgeBatch *batch, const Pose *pose, SimdLevel simd,
                      int picked, EdgeState *state)
{
    typedef void (*Kernel)(const EdgeScan *, unsigned char *);
    static const Kernel scans[SIMD_LEVEL_COUNT] = KERNEL_TABLE(edge_scan);
    DVec3 origin = skin_origin(&batch->skin, pose);
    int first = batch->first_edge;
    const EdgeScan scan = {.position = state->position,
                           .a = set->a + first,
                           .b = set->b + first,
                           .rest_inverse = set->rest_inverse + first,
                           .max = state->max + first,
                           .min = state->min + first,
                           .stretch = state->stretch + first,
                           .high = state->high,
                           .count = batch->edge_count};

    scans[simd](&scan, state->block);
    for (int i = 0; i * EDGE_BLOCK < batch->edge_count; i++) {
        int start = first + i * EDGE_BLOCK;
        int end = first + batch->edge_count;

        end = start + EDGE_BLOCK < end ? start + EDGE_BLOCK : end;
        if (state->block[i] & 1)
            keep_greatest(set, start, end, origin, state);
        if (state->block[i] & 2)
            for (int e = start; e < end; e++) {
                state->picked[picked] = state->stretch[e];
                picked += state->stretch[e] >= state->high;
            }
    }
    return picked;
}

/* Is `value` itself the least of the `above` greatest? So it is when nothing moves any more and
 * most edges have one length. */
static bool is_least_of(const float *stretch, int count, int above, float value)
{
    int greater = 0, equal = 0;

    for (int i = 0; i < count; i++) {
        greater += stretch[i] > value;
        equal += stretch[i] == value;
    }
    return greater < above && greater + equal >= above;
}

/* The quantile of all by the few at the top, where they are enough. */
static EdgeSummary summarise(const EdgeSet *set, int picked, EdgeState *state)
{
    const float *value = state->picked;
    EdgeSummary summary = {0.0f, -INFINITY};
    int count = set->edge_count;
    int above = count - quantile_rank(count, 0.99); // the quantile is the least of so many

    if (picked < above) {
        value = state->stretch;
        picked = count;
    }
    if (picked > 4 * above && is_least_of(value, picked, above, state->high))
        summary.p99 = state->high;
    else
        summary.p99 = quantile_of_rank(value, picked, picked - above, state->keys);
    for (int i = 0; i < picked; i++)
        summary.max = value[i] > summary.max ? value[i] : summary.max;
    // a little lower, so that the next moment's quantile is likely among what is picked
    state->high = summary.p99 - 0.1f * fabsf(summary.p99);
    return summary;
}

EdgeSummary edges_sample(const EdgeSet *set, const Pose *pose, SimdLevel simd, EdgeState *state)
{
    int picked = 0;

    if (!set->edge_count)
        return (EdgeSummary){0.0f, 0.0f};
    skin_all(set, pose, simd, &state->work, state->position);
    for (int i = 0; i < set->batch_count; i++)
        picked = scan_batch(set, &set->batch[i], pose, simd, picked, state);
    EdgeSummary summary = summarise(set, picked, state);
    state->sample_count++;
    return summary;
}
