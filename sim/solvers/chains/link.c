/* Which chains and colliders depend on simulated joints, and the order that follows from it. */
#include "solvers/chains/model.h"

enum { MAX_EDGES = 4096 }; /* between chains, by colliders; what is beyond uses the last step */

typedef struct Edge {
    int from, to; /* `from` needs `to` */
    int next;     /* of the same `from`, -1 none */
} Edge;

typedef struct Graph {
    int *first; /* edge of each chain, -1 none (chain_count) */
    Edge *edge; /* (edge_count) */
    int edge_count;
    int *visited; /* by which search (chain_count) */
    int *stack;   /* (chain_count) */
    int search;
} Graph;

/* The joint above the node, itself included, and the way down from it. */
static Status find_link(const Rig *rig, const int *owner, const int *owner_segment, int node,
                        Arena *arena, ChainsLink *out)
{
    int count = 0;
    int n = node;

    *out = (ChainsLink){.chain = -1};
    while (n >= 0 && owner[n] < 0) {
        n = rig->node[n].parent;
        count++;
    }
    if (n < 0)
        return STATUS_OK;
    int *path = arena_array(arena, int, count);
    if (!path)
        return STATUS_NO_MEMORY;
    *out = (ChainsLink){
        .chain = owner[n], .segment = owner_segment[n], .path_count = count, .path = path};
    for (n = node; count > 0; n = rig->node[n].parent)
        path[--count] = n;
    return STATUS_OK;
}

/* Does `from` need `to`, through any number of others? */
static bool reaches(Graph *graph, int from, int to)
{
    int count = 0;

    graph->search++;
    graph->stack[count++] = from;
    graph->visited[from] = graph->search;
    while (count) {
        int chain = graph->stack[--count];
        if (chain == to)
            return true;
        for (int e = graph->first[chain]; e >= 0; e = graph->edge[e].next) {
            int next = graph->edge[e].to;
            if (graph->visited[next] == graph->search)
                continue;
            graph->visited[next] = graph->search;
            graph->stack[count++] = next;
        }
    }
    return false;
}

static void add_edge(Graph *graph, int from, int to)
{
    graph->edge[graph->edge_count] = (Edge){from, to, graph->first[from]};
    graph->first[from] = graph->edge_count++;
}

/* Colliders of a chain that stand on other chains' joints: those chains come first, save where they
 * need this one. */
static void add_collider_edges(const PartDesc *desc, const ChainsModel *model, Graph *graph,
                               int index, int room)
{
    const Chain *chain = &model->chain[index];
    int last = -1;
    bool is_lagged = false;

    for (int i = 0; i < chain->collider_count; i++) {
        int other = model->collider[chain->collider[i]].link.chain;

        if (other < 0 || other == last)
            continue;
        last = other;
        if (graph->edge_count < room && !reaches(graph, other, index))
            add_edge(graph, index, other);
        else
            is_lagged = true;
    }
    if (is_lagged)
        warnings_add(desc->warnings, "collider_cycle",
                     "chain \"%s\" meets colliders on joints that depend on it: it sees them where "
                     "they were a step before",
                     chain->key);
}

/* Longest way to a chain that needs nothing: rounds over edges, each raising levels. The graph has
 * no cycle, so there are no more rounds than levels. */
static void assign_levels(ChainsModel *model, const Graph *graph)
{
    bool has_changed = true;

    while (has_changed) {
        has_changed = false;
        for (int i = 0; i < graph->edge_count; i++) {
            Chain *from = &model->chain[graph->edge[i].from];
            int least = model->chain[graph->edge[i].to].level + 1;
            if (from->level < least) {
                from->level = least;
                has_changed = true;
            }
        }
    }
    for (int i = 0; i < model->chain_count; i++) {
        if (model->level_count < model->chain[i].level + 1)
            model->level_count = model->chain[i].level + 1;
    }
}

static Status order_chains(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    int count = model->chain_count;
    int room = 3 * count + MAX_EDGES;
    Graph graph = {.first = arena_array(arena, int, count),
                   .edge = arena_array(arena, Edge, room),
                   .visited = arena_array(arena, int, count),
                   .stack = arena_array(arena, int, count)};

    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the order of %d chains", count);
    for (int i = 0; i < count; i++)
        graph.first[i] = -1;
    for (int i = 0; i < count; i++) {
        const Chain *chain = &model->chain[i];
        const int needs[3] = {chain->parent_link.chain, chain->attach_link.chain,
                              chain->center_link.chain};
        for (int j = 0; j < 3; j++) {
            if (needs[j] >= 0 && needs[j] != i)
                add_edge(&graph, i, needs[j]);
        }
    }
    for (int i = 0; i < count; i++)
        add_collider_edges(desc, model, &graph, i, room);
    assign_levels(model, &graph);
    return STATUS_OK;
}

/* A center should be at or above the first joint. One that is elsewhere still says how a space
 * moves, unless it is itself simulated. */
static void check_center(const PartDesc *desc, Chain *chain)
{
    const Rig *rig = desc->rig;
    int node = chain->segment[0].head;

    while (node >= 0 && node != chain->center)
        node = rig->node[node].parent;
    if (chain->center < 0 || node >= 0)
        return;
    bool is_simulated = chain->center_link.chain >= 0;
    warnings_add(desc->warnings, is_simulated ? "center_ignored" : "center_beside",
                 "chain \"%s\": its center \"%s\" is not at or above its first joint%s", chain->key,
                 rig->node[chain->center].key,
                 is_simulated ? " but simulated, and is ignored" : "");
    if (is_simulated) {
        chain->center = -1;
        chain->center_link = (ChainsLink){.chain = -1};
    }
}

static Status link_nodes(const PartDesc *desc, Arena *arena, ChainsModel *model, const int *owner,
                         const int *owner_segment)
{
    const Rig *rig = desc->rig;

    for (int i = 0; i < model->chain_count; i++) {
        Chain *chain = &model->chain[i];
        if (find_link(rig, owner, owner_segment, chain->parent, arena, &chain->parent_link) ||
            find_link(rig, owner, owner_segment, chain->attach, arena, &chain->attach_link) ||
            find_link(rig, owner, owner_segment, chain->center, arena, &chain->center_link))
            return STATUS_NO_MEMORY;
        check_center(desc, chain);
    }
    for (int i = 0; i < model->collider_count; i++) {
        model->collider[i].index = i;
        if (find_link(rig, owner, owner_segment, rig->collider[i].node, arena,
                      &model->collider[i].link))
            return STATUS_NO_MEMORY;
    }
    return STATUS_OK;
}

Status chains_link(const PartDesc *desc, Arena *arena, ChainsModel *model, Error *err)
{
    const Rig *rig = desc->rig;
    int *owner = arena_array(arena, int, rig->node_count);
    int *owner_segment = arena_array(arena, int, rig->node_count);

    model->collider_count = rig->collider_count;
    model->collider = arena_array(arena, ChainsCollider, rig->collider_count);
    model->is_driven = arena_array(arena, bool, rig->node_count);
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for links of %d nodes", rig->node_count);
    for (int i = 0; i < rig->node_count; i++)
        owner[i] = -1;
    for (int i = 0; i < model->chain_count; i++) {
        for (int j = 0; j < model->chain[i].segment_count; j++) {
            int head = model->chain[i].segment[j].head;
            owner[head] = i;
            owner_segment[head] = j;
            model->is_driven[head] = true;
        }
    }
    if (link_nodes(desc, arena, model, owner, owner_segment))
        return error_set(err, STATUS_NO_MEMORY, "no room for links of %d nodes", rig->node_count);
    return order_chains(desc, arena, model, err);
}
