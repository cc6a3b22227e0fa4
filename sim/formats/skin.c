#include "formats/accessor.h"
#include "formats/mesh.h"

/* The first three rows of a matrix stored by columns. */
static Affine affine_of(const float *column)
{
    Affine out;

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            out.m[4 * i + j] = column[4 * j + i];
    return out;
}

static void read_joints(Gltf *gltf, const JsonReader *list, int count, RigSkin *skin)
{
    JsonReader item;
    int *joint = gltf_array(gltf, int, count);

    skin->joint = joint;
    skin->joint_count = count;
    if (!joint || !count)
        return;
    bool more = json_first(list, &item);
    for (int i = 0; more && i < count; i++, more = json_next(&item))
        joint[i] = gltf_as_index(&item, gltf->node_count, "nodes");
}

/* The skin's matrices in temp memory, 16 floats each, counted against the limit of all skins; NULL
 * after a failure. */
static float *read_matrices(Gltf *gltf, int accessor, int joint_count, int64_t *total)
{
    int count = gltf->accessor[accessor].count;

    *total += count;
    if (count < joint_count)
        gltf_fail(gltf, STATUS_INVALID, "it has %d inverse bind matrices for %d joints", count,
                  joint_count);
    else if (*total > GLTF_MAX_SKIN_JOINTS)
        gltf_fail(gltf, STATUS_LIMIT, "the skins have more than %d inverse bind matrices",
                  GLTF_MAX_SKIN_JOINTS);
    float *matrix = gltf_failed(gltf) ? NULL : gltf_temp(gltf, float, 16 * (size_t)count);
    if (!matrix || !accessor_read_floats(gltf, accessor, 16, matrix))
        return NULL;
    for (size_t i = 0; i < 16 * (size_t)joint_count; i++)
        if (!isfinite(matrix[i])) {
            gltf_fail(gltf, STATUS_INVALID, "inverse bind matrix %d is not finite", (int)(i / 16));
            return NULL;
        }
    return matrix;
}

/* Without matrices (or with those of a file that is not there) joints stand at the mesh's origin.
 */
static void read_inverse_bind(Gltf *gltf, int accessor, RigSkin *skin, int64_t *total)
{
    Affine *inverse = gltf_array(gltf, Affine, skin->joint_count);
    size_t mark = arena_mark(gltf->temp);
    const float *matrix = NULL;

    skin->inverse_bind = inverse;
    if (inverse && accessor >= 0 && !accessor_is_missing(gltf, accessor))
        matrix = read_matrices(gltf, accessor, skin->joint_count, total);
    for (int i = 0; !gltf_failed(gltf) && i < skin->joint_count; i++) {
        Affine one = {{1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f}};
        if (matrix)
            one = affine_of(matrix + 16 * (size_t)i);
        inverse[i] = gltf_affine(gltf, &one);
    }
    arena_rewind(gltf->temp, mark);
}

static void read_skin(Gltf *gltf, const JsonReader *object, int count, RigSkin *skin,
                      int64_t *matrix_count)
{
    JsonReader joints = json_member(object, "joints");
    int accessor = gltf_index(object, "inverseBindMatrices", gltf->accessor_count, "accessors");

    skin->key = gltf_name(gltf, object);
    if (!gltf_failed(gltf))
        read_joints(gltf, &joints, count, skin);
    if (!gltf_failed(gltf))
        read_inverse_bind(gltf, accessor, skin, matrix_count);
}

void gltf_read_skins(Gltf *gltf, Rig *rig)
{
    int64_t joint_count = 0, matrix_count = 0;
    JsonReader item;
    JsonReader list =
        gltf_list(gltf, &gltf->root, "skins", GLTF_MAX_SKINS, "skins", &rig->skin_count);
    RigSkin *skin = gltf_array(gltf, RigSkin, rig->skin_count);

    rig->skin = skin;
    if (gltf_failed(gltf) || !rig->skin_count)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        int count;
        (void)gltf_list(gltf, &item, "joints", UINT16_MAX + 1, "joints of a skin", &count);
        joint_count += count;
        if (joint_count > GLTF_MAX_SKIN_JOINTS)
            gltf_fail(gltf, STATUS_LIMIT, "the skins have more than %d joints",
                      GLTF_MAX_SKIN_JOINTS);
        if (!gltf_failed(gltf))
            read_skin(gltf, &item, count, &skin[i], &matrix_count);
        if (gltf_failed(gltf))
            error_context(gltf->err, "skin %d", i);
    }
}
