#include "formats/node.h"

/* --- matrices --- */

/* The rotation of an orthonormal right-handed basis (Shepperd: divide by the greatest component).
 */
static Quat quat_of_basis(const Mat3 *m)
{
    float trace = m->x.x + m->y.y + m->z.z;
    Quat q;

    if (trace > 0.0f)
        q = (Quat){m->y.z - m->z.y, m->z.x - m->x.z, m->x.y - m->y.x, 1.0f + trace};
    else if (m->x.x >= m->y.y && m->x.x >= m->z.z)
        q = (Quat){1.0f + m->x.x - m->y.y - m->z.z, m->x.y + m->y.x, m->z.x + m->x.z,
                   m->y.z - m->z.y};
    else if (m->y.y >= m->z.z)
        q = (Quat){m->x.y + m->y.x, 1.0f + m->y.y - m->x.x - m->z.z, m->y.z + m->z.y,
                   m->z.x - m->x.z};
    else
        q = (Quat){m->z.x + m->x.z, m->y.z + m->z.y, 1.0f + m->z.z - m->x.x - m->y.y,
                   m->x.y - m->y.x};
    return quat_normalize(q);
}

static float cosine(Vec3 a, Vec3 b)
{
    float size = vec3_length(a) * vec3_length(b);

    return size > 0.0f ? fabsf(vec3_dot(a, b)) / size : 0.0f;
}

float gltf_decompose(const Affine *matrix, Transform *out)
{
    const float *m = matrix->m;
    Vec3 x = {m[0], m[4], m[8]}, y = {m[1], m[5], m[9]}, z = {m[2], m[6], m[10]};
    Vec3 size = {vec3_length(x), vec3_length(y), vec3_length(z)};
    Mat3 given = {x, y, z};
    float xy = cosine(x, y), yz = cosine(y, z), zx = cosine(z, x);

    // a mirrored matrix gets a negative scale along x
    if (mat3_determinant(&given) < 0.0f) {
        size.x = -size.x;
        x = vec3_scale(x, -1.0f);
    }
    // square the axes by Gram and Schmidt; one without length takes what is left
    Mat3 basis;
    basis.x = vec3_normalize_or(x, vec3_normalize_or(vec3_cross(y, z), vec3(1.0f, 0.0f, 0.0f)));
    y = vec3_add_scaled(y, basis.x, -vec3_dot(basis.x, y));
    basis.y = vec3_normalize_or(
        y, vec3_normalize_or(vec3_cross(z, basis.x), vec3_perpendicular(basis.x)));
    basis.z = vec3_cross(basis.x, basis.y);
    *out = (Transform){vec3(m[3], m[7], m[11]), quat_of_basis(&basis), size};
    float worst = xy > yz ? xy : yz;
    return worst > zx ? worst : zx;
}

static void read_matrix(Gltf *gltf, const JsonReader *object, int index)
{
    float column[16];
    RigNode *node = &gltf->node[index];

    if (!json_floats(object, "matrix", 16, column))
        return;
    if (column[3] != 0.0f || column[7] != 0.0f || column[11] != 0.0f || column[15] != 1.0f) {
        JsonReader matrix = json_member(object, "matrix");
        json_fault(&matrix, "must end its columns with 0, 0, 0, 1");
        return;
    }
    Affine matrix;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            matrix.m[4 * i + j] = column[4 * j + i];
    matrix = gltf_affine(gltf, &matrix);
    if (gltf_decompose(&matrix, &node->rest) > 1e-3f)
        warnings_add(gltf->warnings, "node_shear",
                     "node %d \"%.100s\" has a sheared matrix: the nearest rotation and scale are "
                     "used",
                     index, node->name);
}

/* --- transforms --- */

static void read_transform(Gltf *gltf, const JsonReader *object, int index)
{
    RigNode *node = &gltf->node[index];
    float q[4] = {0.0f, 0.0f, 0.0f, 1.0f};
    JsonReader matrix = json_member(object, "matrix");

    node->rest = transform_identity();
    if (!json_is_absent(&matrix)) {
        read_matrix(gltf, object, index);
        return;
    }
    Vec3 translation = gltf_vec3_or(gltf, object, "translation", vec3(0.0f, 0.0f, 0.0f));
    Vec3 scale = gltf_vec3_or(gltf, object, "scale", vec3(1.0f, 1.0f, 1.0f));
    (void)json_floats(object, "rotation", 4, q);
    Quat rotation = {q[0], q[1], q[2], q[3]};
    float length = quat_dot(rotation, rotation);
    if (!isfinite(length) || !(length > 0.0f)) {
        JsonReader member = json_member(object, "rotation");
        json_fault(&member, "must be a unit quaternion");
    }
    node->rest.translation = gltf_point(gltf, translation);
    node->rest.rotation = quat_normalize(gltf_rotation(gltf, rotation));
    node->rest.scale = gltf_scale(gltf, scale);
}

static bool is_finite_transform(const Transform *t)
{
    const Quat *q = &t->rotation;
    float sum = t->translation.x + t->translation.y + t->translation.z + t->scale.x + t->scale.y +
                t->scale.z + q->x + q->y + q->z + q->w;

    return isfinite(sum);
}

/* --- the forest --- */

/* Hang the children under their parent, in file order. */
static void read_children(Gltf *gltf, const JsonReader *object, int index)
{
    JsonReader item;
    int count, last = -1;
    JsonReader list = gltf_list(gltf, object, "children", gltf->node_count, "children", &count);

    for (bool more = count && json_first(&list, &item); more; more = json_next(&item)) {
        int child = gltf_as_index(&item, gltf->node_count, "nodes");
        if (gltf_failed(gltf))
            return;
        if (gltf->node[child].parent >= 0) {
            gltf_fail(gltf, STATUS_INVALID, "node %d \"%.100s\" has two parents, nodes %d and %d",
                      child, gltf->node[child].name, gltf->node[child].parent, index);
            return;
        }
        gltf->node[child].parent = index;
        if (last < 0)
            gltf->tree.first_child[index] = child;
        else
            gltf->tree.next_sibling[last] = child;
        last = child;
    }
}

/* Walk one tree, parents first, without recursion: down, else on, else up and on. */
static int walk_tree(Gltf *gltf, int root, int place)
{
    GltfTree *tree = &gltf->tree;
    int node = root;

    tree->enter[node] = place++;
    for (;;) {
        if (tree->first_child[node] >= 0) {
            node = tree->first_child[node];
        } else {
            while (node != root && tree->next_sibling[node] < 0) {
                tree->leave[node] = place;
                node = gltf->node[node].parent;
            }
            tree->leave[node] = place;
            if (node == root)
                return place;
            node = tree->next_sibling[node];
        }
        tree->enter[node] = place++;
    }
}

static void walk_forest(Gltf *gltf)
{
    int place = 0;

    for (int i = 0; i < gltf->node_count; i++)
        if (gltf->node[i].parent < 0)
            place = walk_tree(gltf, i, place);
    for (int i = 0; place < gltf->node_count && i < gltf->node_count; i++)
        if (!gltf->tree.leave[i]) {
            gltf_fail(gltf, STATUS_INVALID,
                      "node %d \"%.100s\" is its own ancestor or below one that is", i,
                      gltf->node[i].name);
            return;
        }
}

static bool make_tables(Gltf *gltf)
{
    int count = gltf->node_count;
    GltfTree *tree = &gltf->tree;

    gltf->node = gltf_array(gltf, RigNode, count);
    tree->first_child = gltf_scratch(gltf, int, count);
    tree->next_sibling = gltf_scratch(gltf, int, count);
    tree->enter = gltf_scratch(gltf, int, count);
    tree->leave = gltf_scratch(gltf, int, count);
    if (gltf_failed(gltf))
        return false;
    for (int i = 0; i < count; i++) {
        gltf->node[i] = (RigNode){.name = "", .parent = -1, .mesh = -1, .skin = -1};
        tree->first_child[i] = tree->next_sibling[i] = -1;
    }
    return true;
}

void gltf_read_nodes(Gltf *gltf)
{
    JsonReader item;
    JsonReader list = gltf_list(gltf, &gltf->root, "nodes", gltf->options->limits.joints, "nodes",
                                &gltf->node_count);

    if (!gltf_failed(gltf) && !gltf->node_count)
        gltf_fail(gltf, STATUS_INVALID, "the file has no nodes: there is nothing to simulate");
    if (gltf_failed(gltf) || !make_tables(gltf))
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        gltf->node[i].name = gltf_name(gltf, &item);
        read_transform(gltf, &item, i);
        if (!gltf_failed(gltf) && !is_finite_transform(&gltf->node[i].rest))
            gltf_fail(gltf, STATUS_INVALID, "node %d \"%.100s\" has a transform that is not finite",
                      i, gltf->node[i].name);
    }
    more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item))
        read_children(gltf, &item, i);
    if (!gltf_failed(gltf))
        walk_forest(gltf);
}

bool gltf_is_below(const Gltf *gltf, int node, int ancestor)
{
    return node != ancestor && gltf->tree.enter[node] > gltf->tree.enter[ancestor] &&
           gltf->tree.enter[node] < gltf->tree.leave[ancestor];
}

Vec3 gltf_rest_offset(const Gltf *gltf, int node, int ancestor)
{
    Vec3 point = {0.0f, 0.0f, 0.0f};

    for (int i = node; i != ancestor; i = gltf->node[i].parent) {
        const Transform *t = &gltf->node[i].rest;
        point = vec3_add(t->translation, quat_rotate(t->rotation, vec3_mul(t->scale, point)));
    }
    return point;
}
