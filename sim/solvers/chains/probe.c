/* Which places of the chains are kept off the body's surface, where the job asks for it: the
 * vertices of their hair, thinned out, for chains that meet the body along their segments; places
 * on the segments themselves, with their radius, for all that have colliders. */
#include "solvers/chains/model.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_VERTEX_PROBES = 2048 /* of a chain */ };

static const float CELL = 0.005f;       /* of the height: one vertex of each cube is a probe */
static const float REST_REACH = 0.1f;   /* of the height: how deep hair may begin */
static const float SLACK = 2e-5f;       /* of the height: rounding does not make rest a touch */
static const float OWN_LEVER = 0.3f;    /* from here on a segment can turn a probe out */
static const float MOVED_WEIGHT = 0.5f; /* from here on a vertex is a chain's */

/* A vertex that a chain moves. */
typedef struct Strand {
    int chain;
    int32_t cell[3];
    int number; /* in the order of nodes, primitives and vertices */
    int node, primitive, vertex;
    Vec3 place; /* in the mesh's own space */
} Strand;

typedef struct Finder {
    const PartDesc *desc;
    Arena *arena;
    ChainsModel *model;
    const World *world; /* at rest (node_count) */
    int *chain;         /* whose segment carries a node, -1 (node_count) */
    int *segment;
    DVec3 origin;
    SurfaceState surface; /* at rest */
    int strand_count, probe_room, pull_room, probe_count, pull_count;
    Strand *strand;
    ChainsProbe *probe;
    ChainsPull *pull;
} Finder;

static Status no_room(Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room for what is kept off the surface");
}

/* --- which chains --- */

/* A chain whose artist gave it no collider while others have some is meant to be free. */
static bool meets_surface(const Finder *f, const Chain *chain)
{
    const Rig *rig = f->desc->rig;

    return chain->contact != CHAINS_CONTACT_NONE &&
           (chain->collider_count || !rig->collider_count || chain->spring >= rig->spring_count);
}

static bool has_vertices(const Finder *f, int chain)
{
    const Chain *c = &f->model->chain[chain];

    return meets_surface(f, c) && c->contact != CHAINS_CONTACT_ENDPOINT;
}

/* The segment that carries each node: its own, or that of the joint above. */
static void map_nodes(Finder *f)
{
    const Rig *rig = f->desc->rig;

    for (int i = 0; i < rig->node_count; i++)
        f->chain[i] = -1;
    for (int i = 0; i < f->model->chain_count; i++)
        for (int j = 0; j < f->model->chain[i].segment_count; j++) {
            f->chain[f->model->chain[i].segment[j].head] = i;
            f->segment[f->model->chain[i].segment[j].head] = j;
        }
    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i], parent = rig->node[node].parent;

        if (f->chain[node] >= 0 || parent < 0)
            continue;
        f->chain[node] = f->chain[parent];
        f->segment[node] = f->segment[parent];
    }
}

/* --- which vertices --- */

typedef struct Influence {
    int node;
    float weight;
    Vec3 local; /* in the node's space */
} Influence;

static Vec3 apply_affine(const Affine *a, Vec3 v)
{
    const float *m = a->m;

    return vec3(m[0] * v.x + m[1] * v.y + m[2] * v.z + m[3],
                m[4] * v.x + m[5] * v.y + m[6] * v.z + m[7],
                m[8] * v.x + m[9] * v.y + m[10] * v.z + m[11]);
}

static int list_influences(const Rig *rig, int node, int primitive, int vertex,
                           Influence out[RIG_MAX_INFLUENCES])
{
    const RigNode *bearer = &rig->node[node];
    const RigPrimitive *from = &rig->mesh[bearer->mesh].primitive[primitive];
    int width = from->influence_count, count = 0;

    if (bearer->skin < 0 || !width) {
        out[0] = (Influence){node, 1.0f, from->position[vertex]};
        return 1;
    }
    const RigSkin *skin = &rig->skin[bearer->skin];
    for (int i = 0; i < width && i < RIG_MAX_INFLUENCES; i++) {
        size_t at = (size_t)vertex * (size_t)width + (size_t)i;
        int joint = from->joint[at];

        if (from->weight[at] > 0.0f)
            out[count++] =
                (Influence){skin->joint[joint], from->weight[at],
                            apply_affine(&skin->inverse_bind[joint], from->position[vertex])};
    }
    return count;
}

/* The chain with at least half of the vertex, -1. */
static int chain_of(const Finder *f, const Influence *influence, int count)
{
    for (int i = 0; i < count; i++) {
        int chain = f->chain[influence[i].node];
        float sum = 0.0f;

        for (int j = 0; j < count && chain >= 0; j++)
            sum += f->chain[influence[j].node] == chain ? influence[j].weight : 0.0f;
        if (sum >= MOVED_WEIGHT)
            return chain;
    }
    return -1;
}

static int count_vertices(const Rig *rig)
{
    int count = 0;

    for (int n = 0; n < rig->node_count; n++)
        for (int p = 0; rig->node[n].mesh >= 0 && p < rig->mesh[rig->node[n].mesh].primitive_count;
             p++)
            count += rig->mesh[rig->node[n].mesh].primitive[p].vertex_count;
    return count;
}

static void list_strands_of(Finder *f, int node, int primitive, int vertices)
{
    Influence influence[RIG_MAX_INFLUENCES];
    const Rig *rig = f->desc->rig;

    for (int v = 0; v < vertices; v++) {
        int count = list_influences(rig, node, primitive, v, influence);
        int chain = chain_of(f, influence, count);

        if (chain < 0 || !has_vertices(f, chain))
            continue;
        Vec3 place = rig->mesh[rig->node[node].mesh].primitive[primitive].position[v];
        f->strand[f->strand_count] = (Strand){.chain = chain,
                                              .number = f->strand_count,
                                              .node = node,
                                              .primitive = primitive,
                                              .vertex = v,
                                              .place = place};
        f->strand_count++;
    }
}

static int compare_strands(const void *a_, const void *b_)
{
    const Strand *a = a_, *b = b_;

    if (a->chain != b->chain)
        return a->chain < b->chain ? -1 : 1;
    for (int i = 0; i < 3; i++)
        if (a->cell[i] != b->cell[i])
            return a->cell[i] < b->cell[i] ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static bool shares_cell(const Strand *a, const Strand *b)
{
    return a->chain == b->chain && memcmp(a->cell, b->cell, sizeof a->cell) == 0;
}

static int32_t cell_of(float at, float size)
{
    float cell = floorf(at / size);

    return (int32_t)(cell < -1e9f ? -1e9f : cell > 1e9f ? 1e9f : cell);
}

/* Sort the vertices by cubes of that size; how many cubes there are. */
static int sort_cells(Strand *strand, int count, float size)
{
    int cells = 0;

    for (int i = 0; i < count; i++) {
        strand[i].cell[0] = cell_of(strand[i].place.x, size);
        strand[i].cell[1] = cell_of(strand[i].place.y, size);
        strand[i].cell[2] = cell_of(strand[i].place.z, size);
    }
    qsort(strand, (size_t)count, sizeof *strand, compare_strands);
    for (int i = 0; i < count; i++)
        cells += !i || !shares_cell(&strand[i], &strand[i - 1]);
    return cells;
}

/* Of the vertices of a chain in one cube the first; cubes grow until there are few enough. Returns
 * how many are left, at the front. */
static int thin_out(Strand *strand, int count, float size)
{
    enum { ROUNDS = 32 };
    int kept = 0;

    for (int round = 0; sort_cells(strand, count, size) > MAX_VERTEX_PROBES && round < ROUNDS;
         round++)
        size *= 1.5f;
    for (int i = 0; i < count; i++)
        if (!kept || !shares_cell(&strand[i], &strand[kept - 1]))
            strand[kept++] = strand[i];
    return kept;
}

/* All vertices of chains, then chain by chain only those that become probes. */
static Status list_strands(Finder *f, Error *err)
{
    const Rig *rig = f->desc->rig;
    int kept = 0;

    f->strand = arena_array(f->arena, Strand, count_vertices(rig));
    if (!f->strand)
        return no_room(err);
    for (int n = 0; n < rig->node_count; n++)
        for (int p = 0; rig->node[n].mesh >= 0 && p < rig->mesh[rig->node[n].mesh].primitive_count;
             p++)
            list_strands_of(f, n, p, rig->mesh[rig->node[n].mesh].primitive[p].vertex_count);
    if (f->strand_count)
        qsort(f->strand, (size_t)f->strand_count, sizeof *f->strand, compare_strands);
    for (int first = 0, end = 0; first < f->strand_count; first = end) {
        for (end = first + 1;
             end < f->strand_count && f->strand[end].chain == f->strand[first].chain;)
            end++;
        int count = thin_out(&f->strand[first], end - first, CELL * rig->height);
        memmove(&f->strand[kept], &f->strand[first], (size_t)count * sizeof *f->strand);
        kept += count;
    }
    f->strand_count = kept;
    return STATUS_OK;
}

/* --- probes --- */

/* A point of the scene in a node's space, at rest. */
static Vec3 to_node(const World *world, DVec3 place)
{
    Mat3 cofactor = mat3_cofactor(&world->basis);
    float determinant = mat3_determinant(&world->basis);
    Vec3 from = dvec3_offset(place, world->origin);
    Vec3 local =
        vec3(vec3_dot(cofactor.x, from), vec3_dot(cofactor.y, from), vec3_dot(cofactor.z, from));

    return determinant != 0.0f ? vec3_scale(local, 1.0f / determinant) : vec3(0.0f, 0.0f, 0.0f);
}

static Vec3 rest_place(const Finder *f, const Chain *chain, const ChainsProbe *probe)
{
    Vec3 sum = {0.0f, 0.0f, 0.0f};

    for (int i = 0; i < probe->count; i++) {
        const ChainsPull *pull = &f->pull[probe->first + i];
        int node = pull->segment >= 0 ? chain->segment[pull->segment].head : pull->node;
        Vec3 place = dvec3_offset(world_point(&f->world[node], pull->local), f->origin);

        sum = vec3_add_scaled(sum, place, pull->weight);
    }
    return sum;
}

/* The last segment that can turn the probe, of those that move it; else the one that does most. */
static int owner_of(const Finder *f, const Chain *chain, const ChainsProbe *probe)
{
    float behind = 0.0f, best = -INFINITY;
    int found = 0;

    for (int j = chain->segment_count - 1; j >= 0; j--) {
        const ChainsSegment *s = &chain->segment[j];
        float length2 = vec3_dot(s->tail_offset, s->tail_offset), own = 0.0f;
        float lever = behind;

        for (int i = 0; i < probe->count; i++) {
            const ChainsPull *pull = &f->pull[probe->first + i];
            if (pull->segment != j)
                continue;
            own += pull->weight;
            if (length2 > 0.0f)
                lever += pull->weight * vec3_dot(pull->local, s->tail_offset) / length2;
        }
        behind += own;
        if (s->length > 0.0f && lever >= OWN_LEVER)
            return j;
        if (s->length > 0.0f && lever > best) {
            best = lever;
            found = j;
        }
    }
    return found;
}

/* The probe with pulls from `first` on: whose it is, and how deep it lies as authored. */
static void finish_probe(Finder *f, const Chain *chain, int first, float radius)
{
    ChainsProbe probe = {.first = first, .count = f->pull_count - first, .radius = radius};
    float scale = chain->parent < 0 ? 1.0f : world_max_scale(&f->world[chain->parent]);
    float height = f->desc->rig->height;

    if (!(scale > 0.0f))
        return;
    SurfacePoint nearest =
        surface_nearest(f->model->surface, &f->surface, rest_place(f, chain, &probe),
                        REST_REACH * height + radius * scale);
    float depth = radius * scale - nearest.distance;
    probe.depth0 = ((depth > 0.0f ? depth : 0.0f) + SLACK * height) / scale;
    probe.segment = owner_of(f, chain, &probe);
    f->probe[f->probe_count++] = probe;
}

static void add_pull(Finder *f, int chain, const Influence *influence)
{
    ChainsPull pull = {.segment = -1,
                       .node = influence->node,
                       .weight = influence->weight,
                       .local = influence->local};

    if (f->chain[influence->node] == chain) {
        int segment = f->segment[influence->node];
        int head = f->model->chain[chain].segment[segment].head;

        pull.segment = segment;
        if (head != influence->node)
            pull.local =
                to_node(&f->world[head], world_point(&f->world[influence->node], influence->local));
    }
    f->pull[f->pull_count++] = pull;
}

static void add_strand(Finder *f, const Strand *strand)
{
    Influence influence[RIG_MAX_INFLUENCES];
    int count =
        list_influences(f->desc->rig, strand->node, strand->primitive, strand->vertex, influence);
    int first = f->pull_count;

    for (int i = 0; i < count; i++)
        add_pull(f, strand->chain, &influence[i]);
    finish_probe(f, &f->model->chain[strand->chain], first, 0.0f);
}

/* The middle and the tail of every segment, with its radius. */
static void add_segments(Finder *f, int index)
{
    const Chain *chain = &f->model->chain[index];

    for (int i = 0; i < chain->segment_count; i++)
        for (int half = chain->contact == CHAINS_CONTACT_ENDPOINT ? 2 : 1; half <= 2; half++) {
            const ChainsSegment *s = &chain->segment[i];

            f->pull[f->pull_count] =
                (ChainsPull){.segment = i,
                             .node = s->head,
                             .weight = 1.0f,
                             .local = vec3_scale(s->tail_offset, 0.5f * (float)half)};
            finish_probe(f, chain, f->pull_count++, s->radius);
        }
}

static int compare_probes(const void *a_, const void *b_)
{
    const ChainsProbe *a = a_, *b = b_;

    if (a->segment != b->segment)
        return a->segment < b->segment ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The chain's probes, segment by segment. */
static Status add_chain(Finder *f, int index, int *strand, Error *err)
{
    Chain *chain = &f->model->chain[index];
    int first = f->probe_count;
    int *start = arena_array(f->arena, int, chain->segment_count + 1);

    if (!start)
        return no_room(err);
    add_segments(f, index);
    for (; *strand < f->strand_count && f->strand[*strand].chain == index; (*strand)++)
        add_strand(f, &f->strand[*strand]);
    int count = f->probe_count - first;
    if (count)
        qsort(&f->probe[first], (size_t)count, sizeof *f->probe, compare_probes);
    start[0] = first;
    for (int i = 0; i < chain->segment_count; i++) {
        start[i + 1] = start[i];
        while (start[i + 1] < f->probe_count && f->probe[start[i + 1]].segment == i)
            start[i + 1]++;
    }
    chain->probe = start;
    return STATUS_OK;
}

static Status pose_at_rest(Finder *f, Error *err)
{
    const Rig *rig = f->desc->rig;
    Pose pose;

    f->origin = dvec3_from(vec3_scale(vec3_add(rig->box_min, rig->box_max), 0.5f));
    if (surface_start(f->model->surface, f->arena, &f->surface, err) ||
        pose_build(rig, f->arena, &pose, err))
        return err->status;
    surface_pose(f->model->surface, &pose, f->origin, SIMD_SCALAR, &f->surface);
    return STATUS_OK;
}

static Status build_surface(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const BodyDesc body = {.rig = desc->rig,
                           .chains = &desc->spec->chains,
                           .hidden_count = desc->hidden_count,
                           .hidden = desc->hidden};
    Surface *surface = arena_array(arena, Surface, 1);

    if (!surface)
        return no_room(err);
    if (surface_build(&body, arena, surface, err))
        return err->status;
    model->surface = surface;
    if (!surface->triangle_count)
        warnings_add(desc->warnings, "no_surface",
                     "the model has no visible mesh that is not hair: there is no surface to meet");
    return STATUS_OK;
}

Status chains_find_probes(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const Rig *rig = desc->rig;
    Finder f = {.desc = desc, .arena = arena, .model = model};
    int strand = 0;

    if (!desc->spec->has_surface || model->mode == CHAINS_VRM)
        return STATUS_OK;
    World *world = arena_array(arena, World, rig->node_count);
    f.chain = arena_array(arena, int, rig->node_count);
    f.segment = arena_array(arena, int, rig->node_count);
    f.world = world;
    if (!world || !f.chain || !f.segment)
        return no_room(err);
    rig_rest_worlds(rig, world);
    map_nodes(&f);
    if (build_surface(desc, arena, model, err) || pose_at_rest(&f, err) || list_strands(&f, err))
        return err->status;
    f.probe = arena_array(arena, ChainsProbe, f.strand_count + 2 * model->segment_count);
    f.pull =
        arena_array(arena, ChainsPull,
                    (size_t)f.strand_count * RIG_MAX_INFLUENCES + 2 * (size_t)model->segment_count);
    if (!f.probe || !f.pull)
        return no_room(err);
    for (int i = 0; i < model->chain_count; i++)
        if (meets_surface(&f, &model->chain[i]) && add_chain(&f, i, &strand, err))
            return err->status;
    model->probe = f.probe;
    model->probe_count = f.probe_count;
    model->pull = f.pull;
    return STATUS_OK;
}
