#include "formats/overlap.h"
#include "sim/assets.h"

enum { MAX_OVERLAP_TESTS = 1 << 20, MAX_OVERLAPS = 100 /* listed for a spring */ };

/* What is computed once for a summary. */
typedef struct Summary {
    const Rig *rig;
    World *world;   /* at rest (node_count), NULL without memory */
    bool *is_joint; /* of some skin (node_count), NULL without memory */
    int overlap_tests;
} Summary;

/* --- small parts --- */

static const char *node_key(const Rig *rig, int node)
{
    return node < 0 ? NULL : rig->node[node].key;
}

static void write_vec3(JsonWriter *out, const char *key, Vec3 v)
{
    json_write_floats(out, key, &v.x, 3);
}

static bool is_simulated(const RigSpring *spring)
{
    return !spring->refusal && spring->segment_count > 0;
}

typedef struct MeshCounts {
    int64_t vertices, triangles;
} MeshCounts;

static MeshCounts count_mesh(const RigMesh *mesh)
{
    MeshCounts counts = {0};

    for (int i = 0; i < mesh->primitive_count; i++) {
        counts.vertices += mesh->primitive[i].vertex_count;
        counts.triangles += mesh->primitive[i].index_count / 3;
    }
    return counts;
}

/* Nodes that are joints, each counted once. */
static int count_joints(const Summary *summary)
{
    const Rig *rig = summary->rig;
    int count = 0;

    for (int i = 0; summary->is_joint && i < rig->skin_count; i++)
        for (int j = 0; j < rig->skin[i].joint_count; j++) {
            bool *is_joint = &summary->is_joint[rig->skin[i].joint[j]];
            count += !*is_joint;
            *is_joint = true;
        }
    return count;
}

static void write_counts(const Summary *summary, JsonWriter *out)
{
    const Rig *rig = summary->rig;
    MeshCounts sum = {0};
    int chains = 0;

    for (int i = 0; i < rig->mesh_count; i++) {
        MeshCounts one = count_mesh(&rig->mesh[i]);
        sum.vertices += one.vertices;
        sum.triangles += one.triangles;
    }
    for (int i = 0; i < rig->spring_count; i++)
        chains += is_simulated(&rig->spring[i]);
    json_begin_object(out, "counts");
    json_write_int(out, "nodes", rig->node_count);
    json_write_int(out, "joints", count_joints(summary));
    json_write_int(out, "skins", rig->skin_count);
    json_write_int(out, "meshes", rig->mesh_count);
    json_write_int(out, "vertices", sum.vertices);
    json_write_int(out, "triangles", sum.triangles);
    json_write_int(out, "clips", rig->clip_count);
    json_write_int(out, "springs", rig->spring_count);
    json_write_int(out, "chains", chains);
    json_write_int(out, "colliders", rig->collider_count);
    json_write_int(out, "constraints", rig->constraint_count);
    json_end_object(out);
}

/* --- nodes, meshes, clips --- */

static void write_nodes(const Rig *rig, JsonWriter *out)
{
    json_begin_array(out, "nodes");
    for (int i = 0; i < rig->node_count; i++) {
        json_begin_object(out, NULL);
        json_write_text(out, "key", rig->node[i].key);
        json_write_int(out, "index", i);
        json_write_text(out, "name", rig->node[i].name);
        json_write_text(out, "parent", node_key(rig, rig->node[i].parent));
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_mesh(const Rig *rig, int index, JsonWriter *out)
{
    const RigMesh *mesh = &rig->mesh[index];
    MeshCounts counts = count_mesh(mesh);

    json_begin_object(out, NULL);
    json_write_text(out, "key", mesh->key);
    json_write_int(out, "index", index);
    json_write_text(out, "name", mesh->name);
    json_write_int(out, "primitives", mesh->primitive_count);
    json_write_int(out, "vertices", counts.vertices);
    json_write_int(out, "triangles", counts.triangles);
    json_begin_array(out, "morphs");
    for (int i = 0; i < mesh->morph_count; i++)
        json_write_text(out, NULL, mesh->morph_name[i]);
    json_end_array(out);
    json_begin_array(out, "nodes");
    for (int i = 0; i < rig->node_count; i++)
        if (rig->node[i].mesh == index)
            json_write_text(out, NULL, rig->node[i].key);
    json_end_array(out);
    json_end_object(out);
}

static void write_meshes(const Rig *rig, JsonWriter *out)
{
    json_begin_array(out, "meshes");
    for (int i = 0; i < rig->mesh_count; i++)
        write_mesh(rig, i, out);
    json_end_array(out);
    json_begin_array(out, "skins");
    for (int i = 0; i < rig->skin_count; i++) {
        json_begin_object(out, NULL);
        json_write_text(out, "key", rig->skin[i].key);
        json_write_int(out, "index", i);
        json_write_int(out, "joints", rig->skin[i].joint_count);
        json_end_object(out);
    }
    json_end_array(out);
}

static void write_clips(const Rig *rig, JsonWriter *out)
{
    json_begin_array(out, "clips");
    for (int i = 0; i < rig->clip_count; i++) {
        const Clip *clip = &rig->clip[i];
        int64_t keys = 0;
        for (int j = 0; j < clip->channel_count; j++)
            keys += clip->channel[j].key_count;
        json_begin_object(out, NULL);
        json_write_text(out, "key", clip->key);
        json_write_int(out, "index", i);
        json_write_text(out, "name", clip->name);
        json_write_double(out, "duration", clip->duration);
        json_write_int(out, "channels", clip->channel_count);
        json_write_int(out, "keys", keys);
        json_end_object(out);
    }
    json_end_array(out);
}

/* --- springs and colliders --- */

static void write_segment(const Summary *summary, const RigSegment *segment, JsonWriter *out)
{
    const Rig *rig = summary->rig;
    const World *world = summary->world;

    json_begin_object(out, NULL);
    json_write_text(out, "node", rig->node[segment->head].key);
    json_write_text(out, "tail", node_key(rig, segment->tail));
    json_write_float(out, "stiffness", segment->stiffness);
    json_write_float(out, "drag", segment->drag);
    json_write_float(out, "gravity_power", segment->gravity_power);
    write_vec3(out, "gravity_dir", segment->gravity_dir);
    // as they are in the scene: scaled by the node
    if (world) {
        double scale = (double)world_max_scale(&world[segment->head]);
        json_write_float(out, "radius", (float)((double)segment->hit_radius * scale));
        json_write_float(out, "length", (float)segment_length(world, segment));
    }
    json_end_object(out);
}

static void write_overlap(const Summary *summary, const RigSegment *segment,
                          const RigCollider *collider, double depth, JsonWriter *out)
{
    json_begin_object(out, NULL);
    json_write_text(out, "node", summary->rig->node[segment->head].key);
    json_write_text(out, "collider", collider->key);
    json_write_float(out, "depth", (float)depth);
    json_end_object(out);
}

static void write_overlaps(Summary *summary, const RigSpring *spring, JsonWriter *out)
{
    const Rig *rig = summary->rig;
    int found = 0;

    json_begin_array(out, "rest_overlaps");
    for (int i = 0; summary->world && i < spring->segment_count; i++)
        for (int j = 0; j < spring->collider_count && found < MAX_OVERLAPS; j++) {
            const RigCollider *collider = &rig->collider[spring->collider[j]];
            if (++summary->overlap_tests > MAX_OVERLAP_TESTS)
                break;
            double depth = segment_overlap(summary->world, &spring->segment[i], collider);
            // what only touches by rounding is no overlap
            if (!(depth > 1e-6))
                continue;
            write_overlap(summary, &spring->segment[i], collider, depth, out);
            found++;
        }
    json_end_array(out);
}

static void write_spring(Summary *summary, int index, JsonWriter *out)
{
    const Rig *rig = summary->rig;
    const RigSpring *spring = &rig->spring[index];
    const char *reason = spring->refusal;

    if (!reason && !spring->segment_count)
        reason = "it has fewer than two joints";
    json_begin_object(out, NULL);
    json_write_text(out, "key", spring->key);
    json_write_int(out, "index", index);
    json_write_text(out, "name", spring->name);
    json_write_bool(out, "simulated", is_simulated(spring));
    json_write_text(out, "reason", reason);
    json_write_text(out, "center", node_key(rig, spring->center));
    json_begin_array(out, "joints");
    for (int i = 0; i < spring->segment_count; i++)
        write_segment(summary, &spring->segment[i], out);
    json_end_array(out);
    json_begin_array(out, "colliders");
    for (int i = 0; i < spring->collider_count; i++)
        json_write_text(out, NULL, rig->collider[spring->collider[i]].key);
    json_end_array(out);
    write_overlaps(summary, spring, out);
    json_end_object(out);
}

static void write_collider(const Rig *rig, int index, JsonWriter *out)
{
    static const char *const kinds[] = {"sphere", "capsule", "plane"};
    const RigCollider *collider = &rig->collider[index];

    json_begin_object(out, NULL);
    json_write_text(out, "key", collider->key);
    json_write_int(out, "index", index);
    json_write_text(out, "node", node_key(rig, collider->node));
    json_write_text(out, "kind", kinds[collider->kind]);
    json_write_bool(out, "inside", collider->is_inside);
    write_vec3(out, "offset", collider->offset);
    if (collider->kind == COLLIDER_CAPSULE)
        write_vec3(out, "tail", collider->tail);
    if (collider->kind == COLLIDER_PLANE)
        write_vec3(out, "normal", collider->normal);
    else
        json_write_float(out, "radius", collider->radius);
    json_end_object(out);
}

static void write_springs(Summary *summary, JsonWriter *out)
{
    json_begin_array(out, "springs");
    for (int i = 0; i < summary->rig->spring_count; i++)
        write_spring(summary, i, out);
    json_end_array(out);
    json_begin_array(out, "colliders");
    for (int i = 0; i < summary->rig->collider_count; i++)
        write_collider(summary->rig, i, out);
    json_end_array(out);
}

/* --- humanoid and warnings --- */

static void write_humanoid(const Rig *rig, JsonWriter *out)
{
    json_begin_object(out, "humanoid");
    json_write_bool(out, "guessed", rig->is_guessed);
    json_begin_object(out, "found");
    for (int i = 0; i < ROLE_COUNT; i++)
        if (rig->role[i] >= 0)
            json_write_text(out, humanoid_role_name((HumanoidRole)i), node_key(rig, rig->role[i]));
    json_end_object(out);
    json_begin_array(out, "missing");
    for (int i = 0; i < ROLE_COUNT; i++)
        if (rig->role[i] < 0 && humanoid_role_is_required((HumanoidRole)i))
            json_write_text(out, NULL, humanoid_role_name((HumanoidRole)i));
    json_end_array(out);
    json_end_object(out);
}

static void write_warnings(const Warnings *warnings, JsonWriter *out)
{
    json_begin_array(out, "warnings");
    for (int i = 0; i < warnings->count; i++) {
        json_begin_object(out, NULL);
        json_write_text(out, "code", warnings->warning[i].code);
        json_write_text(out, "detail", warnings->warning[i].detail);
        json_end_object(out);
    }
    json_end_array(out);
    json_write_int(out, "warnings_dropped", warnings->dropped);
}

void asset_write_summary(const Rig *rig, JsonWriter *out)
{
    Error err = {0};
    Arena arena = {0};
    Summary summary = {.rig = rig};

    // memory of its own, for a summary is written long after the asset was read
    if (!arena_create(&arena, (size_t)(rig->node_count + 1) * (sizeof(World) + 64), &err)) {
        summary.world = arena_array(&arena, World, rig->node_count);
        summary.is_joint = arena_array(&arena, bool, rig->node_count);
        if (summary.world)
            rig_rest_worlds(rig, summary.world);
    }
    json_begin_object(out, NULL);
    json_write_text(out, "format", rig->format);
    json_write_text(out, "name", rig->name);
    json_write_double(out, "unit", rig->unit);
    json_begin_object(out, "box");
    write_vec3(out, "min", rig->box_min);
    write_vec3(out, "max", rig->box_max);
    json_end_object(out);
    json_write_float(out, "height", rig->height);
    write_vec3(out, "forward", rig->forward);
    write_counts(&summary, out);
    write_nodes(rig, out);
    write_meshes(rig, out);
    write_clips(rig, out);
    write_springs(&summary, out);
    write_humanoid(rig, out);
    write_warnings(&rig->warnings, out);
    json_end_object(out);
    arena_destroy(&arena);
}
