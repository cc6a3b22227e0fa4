#include "formats/export_formats.h"
#include "formats/export_joints.h"
#include "formats/export_points.h"
#include "formats/export_text.h"

#include <string.h>

/* A scene of USD while it is written. */
typedef struct Scene {
    const Rig *rig;
    const char *const *name; /* of each node, an identifier (node_count) */
    Points points;
    JointTable joints;
    int *path;  /* nodes from the root, of put_path (node_count) */
    float *box; /* least and greatest of the points of a frame (6 frame_count) */
    ByteWriter *out;
    Error *err;
} Scene;

/* --- names --- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_identifier(const char *name)
{
    if (!is_letter(name[0]))
        return false;
    for (const char *c = name; *c; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9'))
            return false;
    return true;
}

static bool is_taken(const Rig *rig, const char *const *name, int count, const char *wanted)
{
    for (int i = 0; i < rig->node_count; i++)
        if (strcmp(rig->node[i].key, wanted) == 0 || (i < count && strcmp(name[i], wanted) == 0))
            return true;
    return false;
}

/* A key that is no identifier gets '_' for what USD does not take, and its index so that it stays
 * apart from others. */
static const char *make_identifier(const Rig *rig, const char *const *name, int node,
                                   Arena *scratch)
{
    const char *key = rig->node[node].key;
    char *made = arena_format(scratch, "%s%s_n%d", is_letter(key[0]) ? "" : "_", key, node);

    for (char *c = made; c && *c; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9'))
            *c = '_';
    while (made && is_taken(rig, name, node, made))
        made = arena_format(scratch, "%s_", made);
    return made;
}

static const char *const *name_nodes(const Rig *rig, Arena *scratch)
{
    const char **name = arena_array(scratch, const char *, rig->node_count);

    for (int i = 0; name && i < rig->node_count; i++) {
        name[i] = is_identifier(rig->node[i].key) ? rig->node[i].key
                                                  : make_identifier(rig, name, i, scratch);
        if (!name[i])
            return NULL;
    }
    return (const char *const *)name;
}

/* --- values --- */

static void put_quoted(ByteWriter *out, const char *text)
{
    static const char digits[] = "0123456789abcdef";

    put_text(out, "\"");
    for (const char *c = text; *c; c++) {
        unsigned byte = (unsigned char)*c;
        char hex[5] = {'\\', 'x', digits[byte >> 4], digits[byte & 15], '\0'};
        char escaped[3] = {'\\', *c, '\0'};

        if (byte < 32 || byte == 127)
            put_text(out, hex);
        else if (*c == '"' || *c == '\\')
            put_text(out, escaped);
        else
            write_bytes(out, c, 1);
    }
    put_text(out, "\"");
}

/* The node's names from its root, as a path. */
static void put_path(Scene *scene, int node)
{
    int depth = 0;

    for (int i = node; i >= 0; i = scene->rig->node[i].parent)
        scene->path[depth++] = i;
    while (depth > 0) {
        put_text(scene->out, scene->name[scene->path[--depth]]);
        put_text(scene->out, depth ? "/" : "");
    }
}

/* Row vectors, as USD has them: the images of the axes, then the translation. */
static void put_matrix(ByteWriter *out, const Mat3 *basis, DVec3 origin)
{
    const Vec3 axis[3] = {basis->x, basis->y, basis->z};
    const double last[3] = {origin.x, origin.y, origin.z};

    put_text(out, "( ");
    for (int i = 0; i < 3; i++) {
        put_text(out, "(");
        put_float(out, axis[i].x);
        put_text(out, ", ");
        put_float(out, axis[i].y);
        put_text(out, ", ");
        put_float(out, axis[i].z);
        put_text(out, ", 0), ");
    }
    put_text(out, "(");
    for (int i = 0; i < 3; i++) {
        put_double(out, last[i]);
        put_text(out, ", ");
    }
    put_text(out, "1) )");
}

static void put_separator(ByteWriter *out, int i)
{
    put_text(out, i ? ", " : "");
}

static void put_sample(ByteWriter *out, int frame)
{
    put_text(out, "                ");
    put_int(out, frame);
    put_text(out, ": [");
}

/* --- skeleton --- */

static void put_skeleton_nodes(Scene *scene, const World *world)
{
    const Rig *rig = scene->rig;
    ByteWriter *out = scene->out;

    put_text(out, "            uniform token[] joints = [");
    for (int i = 0; i < rig->node_count; i++) {
        put_separator(out, i);
        put_text(out, "\"");
        put_path(scene, rig->order[i]);
        put_text(out, "\"");
    }
    put_text(out, "]\n            uniform token[] jointNames = [");
    for (int i = 0; i < rig->node_count; i++) {
        put_separator(out, i);
        put_quoted(out, rig->node[rig->order[i]].key);
    }
    put_text(out, "]\n            uniform matrix4d[] bindTransforms = [");
    for (int i = 0; i < rig->node_count; i++) {
        put_separator(out, i);
        put_matrix(out, &world[rig->order[i]].basis, world[rig->order[i]].origin);
    }
    put_text(out, "]\n            uniform matrix4d[] restTransforms = [");
    for (int i = 0; i < rig->node_count; i++) {
        const Transform *rest = &rig->node[rig->order[i]].rest;
        Mat3 basis = mat3_from_quat_scale(rest->rotation, rest->scale);

        put_separator(out, i);
        put_matrix(out, &basis, dvec3_from(rest->translation));
    }
    put_text(out, "]\n");
}

/* Part of a joint's value: translation, rotation (real part first) or scale. */
typedef enum JointPart { PART_TRANSLATION, PART_ROTATION, PART_SCALE } JointPart;

static void put_part(ByteWriter *out, JointPart part, const RigNode *node, const float *value,
                     int width)
{
    const Vec3 *rest = &node->rest.scale;
    const float rotation[4] = {value[6], value[3], value[4], value[5]};
    const float scale[3] = {width > 7 ? value[7] : rest->x, width > 7 ? value[8] : rest->y,
                            width > 7 ? value[9] : rest->z};

    if (part == PART_TRANSLATION)
        put_tuple(out, value, 3);
    else if (part == PART_ROTATION)
        put_tuple(out, rotation, 4);
    else
        put_tuple(out, scale, 3);
}

static Status put_track(Scene *scene, const char *name, JointPart part)
{
    JointTable *joints = &scene->joints;
    const FrameChannel *channel = joints->channel;
    ByteWriter *out = scene->out;
    const float *value = NULL;

    put_text(out, "                ");
    put_text(out, name);
    put_text(out, ".timeSamples = {\n");
    for (int k = 0; k < joints->frame_count && !out->err->status; k++) {
        if (joints_read(joints, k, &value, scene->err))
            return scene->err->status;
        put_text(out, "    ");
        put_sample(out, joints->file.header->first_frame + k);
        for (int i = 0; i < channel->key_count; i++) {
            put_separator(out, i);
            put_part(out, part, &scene->rig->node[joints->node[i]], value, channel->width[i]);
            value += channel->width[i];
        }
        put_text(out, "],\n");
    }
    put_text(out, "                }\n");
    return STATUS_OK;
}

static Status put_animation(Scene *scene)
{
    ByteWriter *out = scene->out;

    put_text(out, "            rel skel:animationSource = </Bake/Rig/Skeleton/Animation>\n"
                  "\n            def SkelAnimation \"Animation\"\n            {\n"
                  "                uniform token[] joints = [");
    for (int i = 0; i < scene->joints.channel->key_count; i++) {
        put_separator(out, i);
        put_text(out, "\"");
        put_path(scene, scene->joints.node[i]);
        put_text(out, "\"");
    }
    put_text(out, "]\n");
    if (put_track(scene, "float3[] translations", PART_TRANSLATION) ||
        put_track(scene, "quatf[] rotations", PART_ROTATION) ||
        put_track(scene, "half3[] scales", PART_SCALE))
        return scene->err->status;
    put_text(out, "            }\n");
    return STATUS_OK;
}

static Status put_skeleton(Scene *scene, Arena *scratch)
{
    ByteWriter *out = scene->out;
    World *world = arena_scratch(scratch, World, scene->rig->node_count);

    if (!world)
        return error_set(scene->err, STATUS_NO_MEMORY, "no room for %d nodes",
                         scene->rig->node_count);
    rig_rest_worlds(scene->rig, world);
    put_text(out, "\n    def SkelRoot \"Rig\"\n    {\n        def Skeleton \"Skeleton\" (\n"
                  "            prepend apiSchemas = [\"SkelBindingAPI\"]\n        )\n        {\n");
    put_skeleton_nodes(scene, world);
    if (put_animation(scene))
        return scene->err->status;
    put_text(out, "        }\n    }\n");
    return STATUS_OK;
}

/* --- meshes --- */

static const RigPrimitive *mesh_primitives(const Scene *scene, const PointMesh *mesh)
{
    return scene->rig->mesh[scene->rig->node[mesh->node].mesh].primitive;
}

static void put_faces(Scene *scene, const PointMesh *mesh)
{
    const RigPrimitive *primitive = mesh_primitives(scene, mesh);
    ByteWriter *out = scene->out;
    int base = 0, count = 0;

    put_text(out, "            int[] faceVertexCounts = [");
    for (int i = 0; i < mesh->primitive_count; i++)
        for (int j = 0; j < primitive[i].index_count; j += 3)
            put_text(out, count++ ? ", 3" : "3");
    put_text(out, "]\n            int[] faceVertexIndices = [");
    count = 0;
    for (int i = 0; i < mesh->primitive_count; i++) {
        for (int j = 0; j < primitive[i].index_count; j++) {
            put_separator(out, count++);
            put_int(out, base + (int64_t)primitive[i].index[j]);
        }
        base += primitive[i].vertex_count;
    }
    put_text(out, "]\n");
}

/* Texture coordinates where every primitive has them: USD's second axis points up. */
static void put_texcoords(Scene *scene, const PointMesh *mesh)
{
    const RigPrimitive *primitive = mesh_primitives(scene, mesh);
    ByteWriter *out = scene->out;
    int count = 0;

    for (int i = 0; i < mesh->primitive_count; i++)
        if (!primitive[i].texcoord)
            return;
    put_text(out, "            texCoord2f[] primvars:st = [");
    for (int i = 0; i < mesh->primitive_count; i++)
        for (int j = 0; j < primitive[i].vertex_count; j++) {
            const float *at = primitive[i].texcoord + 2 * (size_t)j;
            const float st[2] = {at[0], 1.0f - at[1]};

            put_separator(out, count++);
            put_tuple(out, st, 2);
        }
    put_text(out, "] (\n                interpolation = \"vertex\"\n            )\n");
}

static void find_box(const float *point, int count, float box[6])
{
    for (int a = 0; a < 3; a++) {
        box[a] = box[3 + a] = count ? point[a] : 0.0f;
        for (int i = 1; i < count; i++) {
            float x = point[3 * i + a];
            box[a] = x < box[a] ? x : box[a];
            box[3 + a] = x > box[3 + a] ? x : box[3 + a];
        }
    }
}

static Status put_points(Scene *scene, const PointMesh *mesh)
{
    Points *points = &scene->points;
    int first = points->file.header->first_frame;
    ByteWriter *out = scene->out;

    put_text(out, "            point3f[] points.timeSamples = {\n");
    for (int k = 0; k < points->frame_count && !out->err->status; k++) {
        if (points_read(points, mesh, k, scene->err))
            return scene->err->status;
        find_box(points->point, mesh->vertex_count, scene->box + 6 * (size_t)k);
        put_sample(out, first + k);
        for (int i = 0; i < mesh->vertex_count; i++) {
            put_separator(out, i);
            put_tuple(out, points->point + 3 * (size_t)i, 3);
        }
        put_text(out, "],\n");
    }
    put_text(out, "            }\n            float3[] extent.timeSamples = {\n");
    for (int k = 0; k < points->frame_count && !out->err->status; k++) {
        put_sample(out, first + k);
        put_tuple(out, scene->box + 6 * (size_t)k, 3);
        put_text(out, ", ");
        put_tuple(out, scene->box + 6 * (size_t)k + 3, 3);
        put_text(out, "],\n");
    }
    put_text(out, "            }\n");
    return STATUS_OK;
}

static bool is_double_sided(const Scene *scene, const PointMesh *mesh)
{
    const RigPrimitive *primitive = mesh_primitives(scene, mesh);

    for (int i = 0; i < mesh->primitive_count; i++)
        if (primitive[i].material >= 0 &&
            scene->rig->material[primitive[i].material].is_double_sided)
            return true;
    return false;
}

static Status put_mesh(Scene *scene, const PointMesh *mesh)
{
    ByteWriter *out = scene->out;

    put_text(out, "\n        def Mesh \"");
    put_text(out, scene->name[mesh->node]);
    put_text(out, "\" (\n            customData = {\n                string key = ");
    put_quoted(out, scene->rig->node[mesh->node].key);
    put_text(out, "\n            }\n        )\n        {\n");
    if (is_double_sided(scene, mesh))
        put_text(out, "            uniform bool doubleSided = 1\n");
    put_text(out, "            uniform token subdivisionScheme = \"none\"\n");
    put_faces(scene, mesh);
    put_texcoords(scene, mesh);
    if (put_points(scene, mesh))
        return scene->err->status;
    put_text(out, "        }\n");
    return STATUS_OK;
}

/* --- all of it --- */

static void put_head(Scene *scene)
{
    const FrameHeader *header = scene->points.file.header;
    ByteWriter *out = scene->out;
    double fps = (double)header->fps_numerator / header->fps_denominator;

    put_text(out, "#usda 1.0\n(\n    defaultPrim = \"Bake\"\n    endTimeCode = ");
    put_int(out, header->first_frame + scene->points.frame_count - 1);
    put_text(out, "\n    framesPerSecond = ");
    put_double(out, fps);
    put_text(out, "\n    metersPerUnit = 1\n    startTimeCode = ");
    put_int(out, header->first_frame);
    put_text(out, "\n    timeCodesPerSecond = ");
    put_double(out, fps);
    put_text(out, "\n    upAxis = \"Y\"\n)\n\ndef Xform \"Bake\"\n{\n");
}

static Status put_scene(Scene *scene, Arena *scratch)
{
    put_head(scene);
    if (scene->joints.channel && put_skeleton(scene, scratch))
        return scene->err->status;
    put_text(scene->out, "\n    def Scope \"Meshes\"\n    {");
    for (int i = 0; i < scene->points.mesh_count; i++)
        if (put_mesh(scene, &scene->points.mesh[i]))
            return scene->err->status;
    put_text(scene->out, "    }\n}\n");
    return STATUS_OK;
}

Status export_usda(const ExportSource *source, Bytes frames, const ExportOptions *options,
                   Arena *scratch, ByteWriter *out, Error *err)
{
    const Rig *rig = source->rig;
    Scene scene = {.rig = rig, .out = out, .err = err};

    (void)options;
    if (points_open(rig, frames, EXPORT_USDA, scratch, &scene.points, err) ||
        joints_open(rig, frames, scratch, &scene.joints, err))
        return err->status;
    scene.name = name_nodes(rig, scratch);
    scene.path = arena_scratch(scratch, int, rig->node_count);
    scene.box = arena_scratch(scratch, float, 6 * (size_t)scene.points.frame_count);
    if (!scene.name || !scene.path || !scene.box)
        return error_set(err, STATUS_NO_MEMORY, "no room for the names of %d nodes",
                         rig->node_count);
    return put_scene(&scene, scratch);
}
