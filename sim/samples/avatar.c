#include "formats/glb_writer.h"
#include "samples/avatar_motion.h"
#include "samples/avatar_parts.h"
#include "samples/avatar_write.h"
#include "sim/samples.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

enum { ARENA_SIZE = 512 << 20, JSON_MAX = 4 << 20 };

static const GlbMaterial material_desc[MATERIAL_COUNT] = {
    [MATERIAL_SKIN] = {"Skin", {0.9131f, 0.6308f, 0.4851f, 1.0f}, 0.75f, false},
    [MATERIAL_EYE_WHITE] = {"EyeWhite", {0.9647f, 0.9560f, 0.9387f, 1.0f}, 0.5f, false},
    [MATERIAL_IRIS] = {"Iris", {0.0273f, 0.2623f, 0.2384f, 1.0f}, 0.4f, false},
    [MATERIAL_PUPIL] = {"Pupil", {0.0080f, 0.0497f, 0.0595f, 1.0f}, 0.4f, false},
    [MATERIAL_GLINT] = {"Glint", {1.0f, 1.0f, 1.0f, 1.0f}, 0.4f, false},
    [MATERIAL_LASH] = {"Lash", {0.0423f, 0.0176f, 0.0160f, 1.0f}, 0.9f, false},
    [MATERIAL_BROW] = {"Brow", {0.1470f, 0.0497f, 0.0273f, 1.0f}, 0.9f, false},
    [MATERIAL_MOUTH] = {"Mouth", {0.4621f, 0.0802f, 0.0782f, 1.0f}, 0.7f, false},
    [MATERIAL_BLUSH] = {"Blush", {0.8960f, 0.5271f, 0.4179f, 1.0f}, 0.8f, false},
    [MATERIAL_SHIRT] = {"Shirt", {0.9047f, 0.8550f, 0.7605f, 1.0f}, 0.9f, false},
    [MATERIAL_TRIM] = {"Trim", {0.7454f, 0.1441f, 0.0908f, 1.0f}, 0.8f, false},
    [MATERIAL_SKIRT] = {"Skirt", {0.0284f, 0.1095f, 0.1714f, 1.0f}, 0.9f, false},
    [MATERIAL_SHORTS] = {"Shorts", {0.0242f, 0.0423f, 0.0612f, 1.0f}, 0.9f, false},
    [MATERIAL_SOCKS] = {"Socks", {0.8796f, 0.8388f, 0.7758f, 1.0f}, 0.9f, false},
    [MATERIAL_SHOES] = {"Shoes", {0.1470f, 0.0612f, 0.0319f, 1.0f}, 0.5f, false},
    [MATERIAL_SOLES] = {"Soles", {0.0331f, 0.0176f, 0.0123f, 1.0f}, 0.8f, false},
    [MATERIAL_HAIR] = {"Hair", {0.2542f, 0.0704f, 0.0284f, 1.0f}, 0.55f, false},
    [MATERIAL_HAIR_BAND] = {"HairBand", {0.7454f, 0.1441f, 0.0908f, 1.0f}, 0.8f, false},
};

/* The meshes of the file: each takes a row of materials. */
static const struct MeshDesc {
    const char *name;
    AvatarMaterial first, last;
    bool has_morphs, is_hair;
} mesh_desc[] = {{"Body", MATERIAL_SKIN, MATERIAL_SKIN, false, false},
                 {"Face", MATERIAL_EYE_WHITE, MATERIAL_BLUSH, true, false},
                 {"Shirt", MATERIAL_SHIRT, MATERIAL_TRIM, false, false},
                 {"Skirt", MATERIAL_SKIRT, MATERIAL_SKIRT, false, false},
                 {"Legwear", MATERIAL_SHORTS, MATERIAL_SOLES, false, false},
                 {"Hair", MATERIAL_HAIR, MATERIAL_HAIR_BAND, false, true}};

enum { MESH_FACE = 1 };

/* One skin: which nodes are its joints, and each node's place among them. */
typedef struct SkinTable {
    int count;
    int *joint; /* nodes (count) */
    int *slot;  /* of a node, -1 where it is none of the skin's (node_count) */
} SkinTable;

typedef enum SkinUse { SKIN_ALL, SKIN_BODY, SKIN_HAIR } SkinUse;

static bool chain_is_used(const AvatarChain *chain, SkinUse use)
{
    return use == SKIN_ALL || chain->desc.is_hair == (use == SKIN_HAIR);
}

static void add_joint(SkinTable *skin, int node)
{
    skin->slot[node] = skin->count;
    skin->joint[skin->count++] = node;
}

static SkinTable make_skin(const AvatarRig *rig, SkinUse use, Arena *arena)
{
    SkinTable skin = {.joint = arena_array(arena, int, rig->node_count),
                      .slot = arena_array(arena, int, rig->node_count)};

    if (arena->overflowed)
        return skin;
    for (int i = 0; i < rig->node_count; i++)
        skin.slot[i] = -1;
    if (use == SKIN_HAIR)
        add_joint(&skin, JOINT_HEAD);
    for (int i = JOINT_HIPS; i < JOINT_HUMANOID_COUNT && use != SKIN_HAIR; i++)
        add_joint(&skin, i);
    for (int c = 0; c < rig->chain_count; c++) {
        const AvatarChain *chain = &rig->chain[c];
        int points = chain->desc.point_count - (chain->desc.is_end_skinned ? 0 : 1);
        for (int i = 0; i < points && chain_is_used(chain, use); i++)
            add_joint(&skin, chain->first + i);
    }
    return skin;
}

static int write_skin(const AvatarRig *rig, const SkinTable *skin, const char *name, Arena *arena,
                      GlbWriter *glb)
{
    float *matrix = arena_array(arena, float, 16 * skin->count);

    if (!matrix)
        return 0;
    for (int i = 0; i < skin->count; i++) {
        Vec3 p = rig->node[skin->joint[i]].position;
        float *m = matrix + 16 * (size_t)i;
        m[0] = m[5] = m[10] = m[15] = 1.0f;
        m[12] = -p.x;
        m[13] = -p.y;
        m[14] = -p.z;
    }
    return glb_add_skin(glb, &(GlbSkin){.name = name,
                                        .skeleton = skin->joint[0],
                                        .joint_count = skin->count,
                                        .joint = skin->joint,
                                        .inverse_bind = matrix});
}

static int write_vectors(GlbWriter *glb, const Vec3 *value, int count, bool has_bounds)
{
    return glb_add_accessor(glb, &(GlbAccessor){.component = GLB_FLOAT,
                                                .width = 3,
                                                .count = count,
                                                .data = value,
                                                .use = GLB_VERTICES,
                                                .has_bounds = has_bounds});
}

/* The vertices' joints as places in the skin, and their weights. */
static void write_influences(const SampleMesh *mesh, const SkinTable *skin, Arena *arena,
                             GlbWriter *glb, GlbPrimitive *out)
{
    size_t total = (size_t)mesh->vertex_count * MESH_INFLUENCES;
    uint8_t *joint = arena_array(arena, uint8_t, total);
    float *weight = arena_array(arena, float, total);

    if (arena->overflowed)
        return;
    for (size_t i = 0; i < total; i++) {
        const MeshWeights *weights = &mesh->weights[i / MESH_INFLUENCES];
        size_t k = i % MESH_INFLUENCES;
        weight[i] = weights->weight[k];
        joint[i] = weight[i] > 0.0f ? (uint8_t)skin->slot[weights->joint[k]] : 0;
    }
    GlbAccessor accessor = {.component = GLB_U8,
                            .width = MESH_INFLUENCES,
                            .count = mesh->vertex_count,
                            .data = joint,
                            .use = GLB_VERTICES};
    out->joints = glb_add_accessor(glb, &accessor);
    accessor.component = GLB_FLOAT;
    accessor.data = weight;
    out->weights = glb_add_accessor(glb, &accessor);
}

static void write_primitive(const AvatarParts *parts, AvatarMaterial material, bool has_morphs,
                            const SkinTable *skin, Arena *arena, GlbWriter *glb)
{
    const SampleMesh *mesh = &parts->mesh[material];
    size_t mark = arena_mark(arena);
    GlbPrimitive primitive = {.texcoord = -1, .material = (int)material};

    primitive.position = write_vectors(glb, mesh->position, mesh->vertex_count, true);
    primitive.normal = write_vectors(glb, mesh->normal, mesh->vertex_count, false);
    write_influences(mesh, skin, arena, glb, &primitive);
    primitive.index = glb_add_indices(glb, mesh->index, mesh->index_count);
    for (int m = 0; m < MORPH_COUNT && has_morphs; m++)
        primitive.target_position[primitive.target_count++] =
            write_vectors(glb, parts->morph[material][m], mesh->vertex_count, true);
    glb_add_primitive(glb, &primitive);
    arena_rewind(arena, mark);
}

static void write_meshes(const AvatarParts *parts, const SkinTable *body, const SkinTable *hair,
                         Arena *arena, GlbWriter *glb)
{
    static const char *const morph_name[MORPH_COUNT] = {"blinkLeft", "blinkRight", "happy", "aa"};

    for (int i = 0; i < MATERIAL_COUNT; i++)
        glb_add_material(glb, &material_desc[i]);
    for (int i = 0; i < COUNT(mesh_desc); i++) {
        glb_begin_mesh(glb, mesh_desc[i].name);
        for (int m = (int)mesh_desc[i].first; m <= (int)mesh_desc[i].last; m++)
            write_primitive(parts, (AvatarMaterial)m, mesh_desc[i].has_morphs,
                            mesh_desc[i].is_hair ? hair : body, arena, glb);
        glb_end_mesh(glb, morph_name, mesh_desc[i].has_morphs ? MORPH_COUNT : 0);
    }
}

/* The skeleton's nodes, numbered as in the rig, then one node a mesh. */
static void write_nodes(const AvatarRig *rig, int body_skin, int hair_skin, Arena *arena,
                        GlbWriter *glb)
{
    int *child = arena_array(arena, int, rig->node_count);

    if (!child)
        return;
    for (int i = 0; i < rig->node_count; i++) {
        const AvatarNode *node = &rig->node[i];
        Vec3 at = node->position;
        int count = 0;
        if (node->parent >= 0)
            at = vec3_sub(at, rig->node[node->parent].position);
        for (int c = i + 1; c < rig->node_count; c++)
            if (rig->node[c].parent == i)
                child[count++] = c;
        glb_add_node(glb, &(GlbNode){.name = node->name,
                                     .translation = {at.x, at.y, at.z},
                                     .mesh = -1,
                                     .skin = -1,
                                     .child_count = count,
                                     .child = child});
    }
    glb_add_root(glb, JOINT_ROOT);
    for (int i = 0; i < COUNT(mesh_desc); i++) {
        int skin = mesh_desc[i].is_hair ? hair_skin : body_skin;
        glb_add_root(
            glb, glb_add_node(glb, &(GlbNode){.name = mesh_desc[i].name, .mesh = i, .skin = skin}));
    }
}

static int write_keys(GlbWriter *glb, int width, int count, const void *data, bool has_bounds)
{
    return glb_add_accessor(glb, &(GlbAccessor){.component = GLB_FLOAT,
                                                .width = width,
                                                .count = count,
                                                .data = data,
                                                .has_bounds = has_bounds});
}

/* A joint's rotations over a clip, or only the first and last where it does not move. */
static void write_rotations(GlbWriter *glb, int joint, const AvatarPose *pose, int count,
                            const int times[2], Quat *scratch)
{
    bool is_still = true;

    for (int k = 0; k < count; k++) {
        scratch[k] = pose[k].rotation[joint];
        // the nearer of the two signs, for players that do not choose it
        if (k > 0 && quat_dot(scratch[k], scratch[k - 1]) < 0.0f)
            scratch[k] = (Quat){-scratch[k].x, -scratch[k].y, -scratch[k].z, -scratch[k].w};
        is_still = is_still && scratch[k].x == scratch[0].x && scratch[k].y == scratch[0].y &&
                   scratch[k].z == scratch[0].z && scratch[k].w == scratch[0].w;
    }
    if (is_still)
        scratch[1] = scratch[0];
    int values = write_keys(glb, 4, is_still ? 2 : count, scratch, false);
    glb_add_channel(glb, joint, GLB_ROTATION, times[is_still ? 1 : 0], values);
}

static void write_clip(const AvatarRig *rig, const AvatarClip *clip, Arena *arena, GlbWriter *glb)
{
    size_t mark = arena_mark(arena);
    int count = clip->keys + 1;
    float *time = arena_array(arena, float, count);
    AvatarPose *pose = arena_array(arena, AvatarPose, count);
    Vec3 *hips = arena_array(arena, Vec3, count);
    Quat *scratch = arena_array(arena, Quat, count);

    if (arena->overflowed)
        return;
    for (int k = 0; k < count; k++) {
        Stance stance;
        time[k] = (float)k / AVATAR_KEYS_PER_SECOND;
        // the last key is the first
        clip->stance((double)(k % clip->keys) / AVATAR_KEYS_PER_SECOND, &stance);
        avatar_pose(rig, &stance, &pose[k]);
        hips[k] = pose[k].hips;
    }
    const float ends[2] = {time[0], time[count - 1]};
    int times[2] = {write_keys(glb, 1, count, time, true), write_keys(glb, 1, 2, ends, true)};
    glb_begin_animation(glb, clip->name);
    glb_add_channel(glb, JOINT_HIPS, GLB_TRANSLATION, times[0],
                    write_keys(glb, 3, count, hips, false));
    for (int joint = JOINT_HIPS; joint < JOINT_HUMANOID_COUNT; joint++)
        write_rotations(glb, joint, pose, count, times, scratch);
    glb_end_animation(glb);
    arena_rewind(arena, mark);
}

static void write_extensions(const AvatarRig *rig, GlbWriter *glb)
{
    Text text = text_open(JSON_MAX, glb->err);
    JsonWriter json = json_writer(&text, 0);

    avatar_write_vrm(rig, rig->node_count + MESH_FACE, &json);
    glb_add_extension(glb, "VRMC_vrm", text_string(&text));
    text_clear(&text);
    json = json_writer(&text, 0);
    avatar_write_springs(rig, &json);
    glb_add_extension(glb, "VRMC_springBone", text_string(&text));
    text_close(&text);
}

static void write_avatar(const AvatarOptions *options, Arena *arena, GlbWriter *glb)
{
    const AvatarRig *rig = avatar_rig_build(options->hair, arena);
    AvatarParts *parts = arena_array(arena, AvatarParts, 1);

    if (!rig || !parts)
        return;
    avatar_build_parts(rig, arena, parts);
    bool is_layered = options->hair == AVATAR_HAIR_LAYERED;
    SkinTable hair = make_skin(rig, SKIN_HAIR, arena);
    SkinTable body = make_skin(rig, is_layered ? SKIN_BODY : SKIN_ALL, arena);
    if (arena->overflowed)
        return;
    int hair_skin = is_layered ? write_skin(rig, &hair, "Hair", arena, glb) : 0;
    int body_skin = write_skin(rig, &body, "Body", arena, glb);
    write_meshes(parts, &body, is_layered ? &hair : &body, arena, glb);
    write_nodes(rig, body_skin, hair_skin, arena, glb);
    for (int i = 0; i < AVATAR_CLIP_COUNT; i++)
        write_clip(rig, &avatar_clip[i], arena, glb);
    write_extensions(rig, glb);
}

void avatar_build_parts(const AvatarRig *rig, Arena *arena, AvatarParts *out)
{
    enum { MAX_VERTICES = 1 << 15, MAX_INDICES = 6 * MAX_VERTICES };

    for (int i = 0; i < MATERIAL_COUNT; i++)
        out->mesh[i] = mesh_open(arena, MAX_VERTICES, MAX_INDICES);
    if (arena->overflowed)
        return;
    avatar_add_body(rig, arena, out);
    avatar_add_clothes(rig, out);
    avatar_add_face(rig, arena, out);
    avatar_add_hair(rig, arena, out);
}

Status sample_write_avatar(const AvatarOptions *options, ByteWriter *out, Error *err)
{
    Arena arena;
    GlbWriter glb;
    Error inner = {0};

    if (arena_create(&arena, ARENA_SIZE, err))
        return error_context(err, "sample avatar");
    glb_writer_open(&glb, SAMPLE_FILE_MAX, &inner);
    write_avatar(options, &arena, &glb);
    if (arena.overflowed)
        error_set(&inner, STATUS_NO_MEMORY, "no room in %d bytes", ARENA_SIZE);
    Status status = glb_write(&glb, "bakehouse", out, err);
    glb_writer_close(&glb);
    arena_destroy(&arena);
    return status ? error_context(err, "sample avatar") : STATUS_OK;
}
