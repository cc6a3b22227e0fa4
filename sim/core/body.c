#include "core/body.h"

static const double HAIR_MOVED = 0.1;   /* share of a primitive's vertices that chains move */
static const double HAIR_BORNE = 0.9;   /* share of its weight on what carries them */
static const float MOVED_WEIGHT = 0.5f; /* from here on a vertex is the chains' */

static Status no_room(const Rig *rig, Error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no room for the body of %d nodes", rig->node_count);
}

/* --- nodes --- */

/* What is known of nodes while parts are chosen. */
typedef struct Nodes {
    bool *is_moved; /* by any chain (node_count) */
    bool *is_hair;  /* by chains on the head, or by any where there is no head (node_count) */
    bool *is_borne; /* by what carries those chains (node_count) */
    bool *is_joint;
    bool *is_hidden;
} Nodes;

static bool is_at_or_below(const Rig *rig, int node, int top)
{
    while (node >= 0 && node != top)
        node = rig->node[node].parent;
    return node >= 0;
}

static void mark_chain(const Rig *rig, int root, Nodes *nodes)
{
    int head = rig->is_humanoid ? rig->role[ROLE_HEAD] : -1;
    int carrier = rig->node[root].parent;

    nodes->is_moved[root] = true;
    if (head >= 0 && !is_at_or_below(rig, root, head))
        return;
    nodes->is_hair[root] = true;
    if (head >= 0)
        carrier = head;
    if (carrier >= 0)
        nodes->is_borne[carrier] = true;
    else
        nodes->is_borne[root] = true;
}

static void mark_skins(const Rig *rig, bool *is_joint)
{
    for (int i = 0; i < rig->skin_count; i++)
        for (int j = 0; j < rig->skin[i].joint_count; j++)
            is_joint[rig->skin[i].joint[j]] = true;
    for (int i = 0; i < rig->node_count; i++)
        if (rig->node[i].mesh >= 0 && rig->node[i].skin < 0)
            is_joint[i] = true;
}

static void mark_nodes(const BodyDesc *desc, Nodes *nodes)
{
    const Rig *rig = desc->rig;

    for (int i = 0; i < rig->spring_count; i++)
        if (rig->spring[i].segment_count)
            mark_chain(rig, rig->spring[i].segment[0].head, nodes);
    for (int i = 0; desc->chains && i < desc->chains->define_count; i++)
        mark_chain(rig, desc->chains->define[i].root, nodes);
    for (int i = 0; i < rig->node_count; i++) {
        int node = rig->order[i], parent = rig->node[node].parent;

        if (parent < 0)
            continue;
        nodes->is_moved[node] |= nodes->is_moved[parent];
        nodes->is_hair[node] |= nodes->is_hair[parent];
        nodes->is_borne[node] |= nodes->is_borne[parent];
    }
    for (int i = 0; i < desc->hidden_count; i++)
        nodes->is_hidden[desc->hidden[i]] = true;
    mark_skins(rig, nodes->is_joint);
}

/* --- parts --- */

int body_influences(const Body *body, const BodyPart *part, int vertex,
                    int out_node[RIG_MAX_INFLUENCES], float out_weight[RIG_MAX_INFLUENCES])
{
    const Rig *rig = body->rig;
    const RigNode *node = &rig->node[part->node];
    const RigPrimitive *primitive = &rig->mesh[node->mesh].primitive[part->primitive];
    size_t width = (size_t)primitive->influence_count;
    int count = 0;

    if (node->skin < 0 || !width) {
        out_node[0] = part->node;
        out_weight[0] = 1.0f;
        return 1;
    }
    const RigSkin *skin = &rig->skin[node->skin];
    for (size_t i = 0; i < width && i < RIG_MAX_INFLUENCES; i++) {
        float weight = primitive->weight[(size_t)vertex * width + i];

        if (!(weight > 0.0f))
            continue;
        out_node[count] = skin->joint[primitive->joint[(size_t)vertex * width + i]];
        out_weight[count++] = weight;
    }
    return count;
}

/* How much of a part is whose. */
typedef struct Shares {
    double borne; /* weight */
    int hair;     /* vertices */
} Shares;

static Shares share_part(const Body *body, const BodyPart *part, const Nodes *nodes, bool *is_moved)
{
    int node[RIG_MAX_INFLUENCES];
    float weight[RIG_MAX_INFLUENCES];
    Shares shares = {0};

    for (int v = 0; v < part->vertex_count; v++) {
        int count = body_influences(body, part, v, node, weight);
        float moved = 0.0f, hair = 0.0f;

        for (int i = 0; i < count; i++) {
            moved += nodes->is_moved[node[i]] ? weight[i] : 0.0f;
            hair += nodes->is_hair[node[i]] ? weight[i] : 0.0f;
            shares.borne += nodes->is_borne[node[i]] ? (double)weight[i] : 0.0;
        }
        is_moved[v] = moved >= MOVED_WEIGHT;
        shares.hair += hair >= MOVED_WEIGHT;
    }
    return shares;
}

/* Add the primitive, unless it is hair. */
static Status add_part(const Body *body, const Nodes *nodes, BodyPart part, Arena *arena,
                       BodyPart *list, int *count, Error *err)
{
    size_t mark = arena_mark(arena);
    bool *is_moved = arena_array(arena, bool, part.vertex_count);

    if (!is_moved)
        return no_room(body->rig, err);
    part.is_moved = is_moved;
    Shares shares = share_part(body, &part, nodes, is_moved);
    if (shares.hair && shares.hair >= HAIR_MOVED * part.vertex_count &&
        shares.borne >= HAIR_BORNE * part.vertex_count)
        arena_rewind(arena, mark);
    else
        list[(*count)++] = part;
    return STATUS_OK;
}

static Status add_parts(const Body *body, const Nodes *nodes, Arena *arena, BodyPart *list,
                        int *count, Error *err)
{
    const Rig *rig = body->rig;

    for (int n = 0; n < rig->node_count; n++) {
        const RigMesh *mesh = rig->node[n].mesh < 0 ? NULL : &rig->mesh[rig->node[n].mesh];

        for (int p = 0; mesh && !nodes->is_hidden[n] && p < mesh->primitive_count; p++) {
            const BodyPart part = {
                .node = n, .primitive = p, .vertex_count = mesh->primitive[p].vertex_count};

            if (mesh->primitive[p].index_count &&
                add_part(body, nodes, part, arena, list, count, err))
                return err->status;
        }
    }
    return STATUS_OK;
}

static int count_primitives(const Rig *rig)
{
    int count = 0;

    for (int n = 0; n < rig->node_count; n++)
        count += rig->node[n].mesh < 0 ? 0 : rig->mesh[rig->node[n].mesh].primitive_count;
    return count;
}

Status body_find(const BodyDesc *desc, Arena *arena, Body *out, Error *err)
{
    const Rig *rig = desc->rig;
    Nodes nodes = {.is_moved = arena_array(arena, bool, rig->node_count),
                   .is_hair = arena_array(arena, bool, rig->node_count),
                   .is_borne = arena_array(arena, bool, rig->node_count),
                   .is_joint = arena_array(arena, bool, rig->node_count),
                   .is_hidden = arena_array(arena, bool, rig->node_count)};
    BodyPart *part = arena_array(arena, BodyPart, count_primitives(rig));
    Body body = {.rig = rig, .is_moved = nodes.is_moved, .is_joint = nodes.is_joint, .part = part};

    if (!nodes.is_moved || !nodes.is_hair || !nodes.is_borne || !nodes.is_joint ||
        !nodes.is_hidden || !part)
        return no_room(rig, err);
    mark_nodes(desc, &nodes);
    if (add_parts(&body, &nodes, arena, part, &body.part_count, err))
        return err->status;
    *out = body;
    return STATUS_OK;
}

Status body_rest_positions(const Body *body, const BodyPart *part, DVec3 origin, Arena *arena,
                           Vec3 *out, Error *err)
{
    const SkinSource source = {.node = part->node, .primitive = part->primitive};
    size_t mark = arena_mark(arena);
    SkinBatch batch;
    SkinWork work;
    Pose pose;

    if (skin_batch_build(body->rig, &source, arena, &batch, err) ||
        skin_work_build(&batch, 1, arena, &work, err) || pose_build(body->rig, arena, &pose, err))
        return err->status;
    skin_palette(&batch, &pose, origin, &work);
    skin_vertices(&batch, &pose, SIMD_SCALAR, &work, out, NULL);
    arena_rewind(arena, mark);
    return STATUS_OK;
}
