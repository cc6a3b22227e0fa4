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

/* Without matrices (or with those of a file that is not there) joints stand at the mesh's origin.
 */
static void read_inverse_bind(Gltf *gltf, int accessor, RigSkin *skin)
{
    Affine *inverse = gltf_array(gltf, Affine, skin->joint_count);
    const float *matrix = NULL;

    skin->inverse_bind = inverse;
    if (gltf_failed(gltf))
        return;
    if (accessor >= 0 && !accessor_is_missing(gltf, accessor)) {
        int count = gltf->accessor[accessor].count;
        if (count < skin->joint_count || count > GLTF_MAX_SKIN_JOINTS) {
            gltf_fail(gltf, STATUS_INVALID, "it has %d inverse bind matrices for %d joints", count,
                      skin->joint_count);
            return;
        }
        matrix = accessor_floats(gltf, accessor, 16, USE_MATRIX);
    }
    for (int i = 0; i < skin->joint_count; i++) {
        Affine one = {{1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f}};
        if (matrix)
            one = affine_of(matrix + 16 * (size_t)i);
        inverse[i] = gltf_affine(gltf, &one);
    }
}

void gltf_read_skins(Gltf *gltf, Rig *rig)
{
    int64_t joints = 0;
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
        JsonReader joint_list =
            gltf_list(gltf, &item, "joints", UINT16_MAX + 1, "joints of a skin", &count);
        int accessor = gltf_index(&item, "inverseBindMatrices", gltf->accessor_count, "accessors");

        joints += count;
        if (joints > GLTF_MAX_SKIN_JOINTS)
            gltf_fail(gltf, STATUS_LIMIT, "the skins have more than %d joints",
                      GLTF_MAX_SKIN_JOINTS);
        skin[i].key = gltf_name(gltf, &item);
        if (!gltf_failed(gltf))
            read_joints(gltf, &joint_list, count, &skin[i]);
        if (!gltf_failed(gltf))
            read_inverse_bind(gltf, accessor, &skin[i]);
        if (gltf_failed(gltf))
            error_context(gltf->err, "skin %d", i);
    }
}
