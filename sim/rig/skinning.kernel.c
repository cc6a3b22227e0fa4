#include "rig/skinning_kernel.h"

/* The matrix of vertex v: the joints' blended by its weights, greatest first. */
static inline void blend(const SkinBatch *batch, const SkinMatrix *palette, int v, float *m)
{
    size_t influences = (size_t)batch->influence_count;
    const uint16_t *joint = batch->joint + influences * (size_t)v;
    const float *weight = batch->weight + influences * (size_t)v;
    const float *a = palette[joint[0]].m;
    float w = weight[0];

    for (int i = 0; i < 16; i++)
        m[i] = a[i] * w;
    for (size_t k = 1; k < influences && weight[k] != 0.0f; k++) {
        a = palette[joint[k]].m;
        w = weight[k];
        for (int i = 0; i < 16; i++)
            m[i] += a[i] * w;
    }
}

static inline Vec3 apply(const float *m, Vec3 p)
{
    float r[4];

    for (int i = 0; i < 4; i++)
        r[i] = (m[i] * p.x + m[4 + i] * p.y) + (m[8 + i] * p.z + m[12 + i]);
    return (Vec3){r[0], r[1], r[2]};
}

/* Normals go by the cofactors. */
static inline Vec3 apply_to_normal(const float *m, Vec3 n)
{
    const Mat3 map = {{m[0], m[1], m[2]}, {m[4], m[5], m[6]}, {m[8], m[9], m[10]}};
    Mat3 cofactor = mat3_cofactor(&map);

    return vec3_normalize_or(mat3_apply(&cofactor, n), n);
}

void KERNEL(skin_positions)(const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *position,
                            Vec3 *out)
{
    if (!batch->influence_count) {
        for (int v = 0; v < batch->vertex_count; v++)
            out[v] = apply(palette[0].m, position[v]);
        return;
    }
    for (int v = 0; v < batch->vertex_count; v++) {
        float m[16];

        blend(batch, palette, v, m);
        out[v] = apply(m, position[v]);
    }
}

void KERNEL(skin_normals)(const SkinBatch *batch, const SkinMatrix *palette, const Vec3 *normal,
                          Vec3 *out)
{
    if (!batch->influence_count) {
        for (int v = 0; v < batch->vertex_count; v++)
            out[v] = apply_to_normal(palette[0].m, normal[v]);
        return;
    }
    for (int v = 0; v < batch->vertex_count; v++) {
        float m[16];

        blend(batch, palette, v, m);
        out[v] = apply_to_normal(m, normal[v]);
    }
}
