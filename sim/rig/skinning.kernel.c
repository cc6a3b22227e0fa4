#include "rig/skinning_kernel.h"

#include <string.h>

/* A vertex's matrix: the joints' blended by its weights, greatest first. Always whole groups of
 * four: a weight of 0 costs less than a branch. */
static inline void blend(const SkinMatrix *palette, const uint16_t *joint, const float *weight,
                         int influences, Float16 *out)
{
    Float16 m = *(const Float16 *)palette[joint[0]].m * weight[0];

    m += *(const Float16 *)palette[joint[1]].m * weight[1];
    m += *(const Float16 *)palette[joint[2]].m * weight[2];
    m += *(const Float16 *)palette[joint[3]].m * weight[3];
    for (int k = 4; k < influences && weight[k] != 0.0f; k += 4)
        for (int i = k; i < k + 4; i++)
            m += *(const Float16 *)palette[joint[i]].m * weight[i];
    *out = m;
}

static inline void apply(const Float16 *m, Vec3 p, Vec3 *out)
{
    Float4 x, y, z, t;

    memcpy(&x, m, sizeof x);
    memcpy(&y, (const char *)m + 16, sizeof y);
    memcpy(&z, (const char *)m + 32, sizeof z);
    memcpy(&t, (const char *)m + 48, sizeof t);
    x = (x * p.x + y * p.y) + (z * p.z + t);
    memcpy(out, &x, 2 * sizeof out->x);
    out->z = x[2];
}

/* Normals go by the cofactors. */
static inline Vec3 apply_to_normal(const Float16 *blended, Vec3 n)
{
    float m[16];

    memcpy(m, blended, sizeof m);
    const Mat3 map = {{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}};
    Mat3 cofactor = mat3_cofactor(&map);

    return vec3_normalize_or(mat3_apply(&cofactor, n), n);
}

void KERNEL(skin_positions)(const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *position,
                            Vec3 *out)
{
    const uint16_t *joint = batch->joint;
    const float *weight = batch->weight;
    int influences = batch->influence_count, count = batch->vertex_count;

    if (!influences) {
        for (int v = 0; v < count; v++)
            apply((const Float16 *)palette[0].m, position[v], &out[v]);
        return;
    }
    for (int v = 0; v < count; v++, joint += influences, weight += influences) {
        Float16 m;

        blend(palette, joint, weight, influences, &m);
        apply(&m, position[v], &out[v]);
    }
}

void KERNEL(skin_normals)(const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *normal,
                          Vec3 *out)
{
    const uint16_t *joint = batch->joint;
    const float *weight = batch->weight;
    int influences = batch->influence_count, count = batch->vertex_count;

    if (!influences) {
        for (int v = 0; v < count; v++)
            out[v] = apply_to_normal((const Float16 *)palette[0].m, normal[v]);
        return;
    }
    for (int v = 0; v < count; v++, joint += influences, weight += influences) {
        Float16 m;

        blend(palette, joint, weight, influences, &m);
        out[v] = apply_to_normal(&m, normal[v]);
    }
}
