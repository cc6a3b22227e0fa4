#include "formats/accessor.h"
#include "formats/mesh.h"

#include <stdio.h>

enum { MAX_SETS = RIG_MAX_INFLUENCES / 4 };

/* Joints and weights of all sets, as in the file: set s of vertex v begins at [s][4 v]. */
typedef struct Sets {
    int count;
    int vertex_count;
    const uint32_t *joint[MAX_SETS];
    const float *weight[MAX_SETS];
} Sets;

/* The influences of one vertex, greatest weight first. */
typedef struct Influences {
    int count; /* of weights above zero */
    uint16_t joint[RIG_MAX_INFLUENCES];
    float weight[RIG_MAX_INFLUENCES];
} Influences;

/* The accessor of "NAME_n", -1 where the primitive has none; a wrong length is a failure. */
static int find_set(Gltf *gltf, const JsonReader *attributes, const char *name, int set, int count)
{
    char key[32];

    (void)snprintf(key, sizeof key, "%s_%d", name, set);
    int accessor = gltf_index(attributes, key, gltf->accessor_count, "accessors");
    if (!gltf_failed(gltf) && accessor >= 0 && gltf->accessor[accessor].count != count)
        gltf_fail(gltf, STATUS_INVALID, "%s has %d elements for %d vertices", key,
                  gltf->accessor[accessor].count, count);
    return accessor;
}

/* One set into temp memory; false at the end of the sets, for missing data and after a failure. */
static bool read_set(Gltf *gltf, const JsonReader *attributes, Sets *sets)
{
    size_t count = (size_t)sets->vertex_count * 4;
    int joints = find_set(gltf, attributes, "JOINTS", sets->count, sets->vertex_count);
    int weights = find_set(gltf, attributes, "WEIGHTS", sets->count, sets->vertex_count);

    if (gltf_failed(gltf) || joints < 0 || weights < 0)
        return false;
    if (accessor_is_missing(gltf, joints) || accessor_is_missing(gltf, weights))
        return false;
    uint32_t *joint = gltf_temp(gltf, uint32_t, count);
    float *weight = gltf_temp(gltf, float, count);
    if (gltf_failed(gltf) || !accessor_read_integers(gltf, joints, 4, joint) ||
        !accessor_read_floats(gltf, weights, 4, weight))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(weight[i]) || (weight[i] > 0.0f && joint[i] > UINT16_MAX)) {
            gltf_fail(gltf, STATUS_INVALID, "vertex %d has joint %u with weight %g", (int)(i / 4),
                      (unsigned)joint[i], (double)weight[i]);
            return false;
        }
    sets->joint[sets->count] = joint;
    sets->weight[sets->count] = weight;
    return true;
}

/* Sorted by insertion: equal weights keep the file's order. Returns the sum of the weights. */
static float gather(const Sets *sets, int vertex, Influences *out)
{
    float sum = 0.0f;

    out->count = 0;
    for (int i = 0; i < 4 * sets->count; i++) {
        float weight = sets->weight[i / 4][4 * (size_t)vertex + (size_t)(i % 4)];
        int place = out->count;
        if (!(weight > 0.0f))
            continue;
        for (; place > 0 && out->weight[place - 1] < weight; place--) {
            out->weight[place] = out->weight[place - 1];
            out->joint[place] = out->joint[place - 1];
        }
        out->weight[place] = weight;
        out->joint[place] = (uint16_t)sets->joint[i / 4][4 * (size_t)vertex + (size_t)(i % 4)];
        out->count++;
        sum += weight;
    }
    return sum;
}

/* The most influences that a vertex has, up to a multiple of four. */
static int count_influences(const Sets *sets)
{
    int most = 1;

    for (int v = 0; v < sets->vertex_count; v++) {
        Influences in;
        (void)gather(sets, v, &in);
        if (in.count > most)
            most = in.count;
    }
    return (most + 3) / 4 * 4;
}

/* What was mended, for one warning a primitive. */
typedef struct Mended {
    int without; /* vertices whose weights are all zero: held by the first joint */
    int off;     /* vertices whose weights did not sum to one */
} Mended;

static void fill(const Sets *sets, int influences, uint16_t *joint, float *weight, Mended *mended)
{
    for (int v = 0; v < sets->vertex_count; v++) {
        uint16_t *joint_of = joint + (size_t)v * (size_t)influences;
        float *weight_of = weight + (size_t)v * (size_t)influences;
        Influences in;
        float sum = gather(sets, v, &in);

        if (!in.count || !isfinite(sum)) {
            mended->without++;
            joint_of[0] = (uint16_t)(in.count ? in.joint[0] : 0);
            weight_of[0] = 1.0f;
            continue;
        }
        // eight bits a weight round by up to half a step each
        if (fabsf(sum - 1.0f) > 0.01f)
            mended->off++;
        for (int i = 0; i < in.count; i++) {
            joint_of[i] = in.joint[i];
            weight_of[i] = in.weight[i] / sum;
        }
    }
}

void gltf_read_influences(Gltf *gltf, const JsonReader *attributes, const char *mesh,
                          RigPrimitive *primitive)
{
    Sets sets = {.vertex_count = primitive->vertex_count};
    size_t mark = arena_mark(gltf->temp);
    Mended mended = {0};

    while (sets.count < MAX_SETS && read_set(gltf, attributes, &sets))
        sets.count++;
    if (!gltf_failed(gltf) && sets.count) {
        int influences = count_influences(&sets);
        size_t count = (size_t)influences * (size_t)sets.vertex_count;
        uint16_t *joint = gltf_array(gltf, uint16_t, count);
        float *weight = gltf_array(gltf, float, count);
        if (joint && weight) {
            fill(&sets, influences, joint, weight, &mended);
            primitive->influence_count = influences;
            primitive->joint = joint;
            primitive->weight = weight;
        }
    }
    arena_rewind(gltf->temp, mark);
    if (mended.off)
        warnings_add(gltf->warnings, "weights_renormalised",
                     "mesh \"%.100s\": the weights of %d vertices did not sum to 1", mesh,
                     mended.off);
    if (mended.without)
        warnings_add(gltf->warnings, "weights_zero",
                     "mesh \"%.100s\": %d vertices have no weights and are held by one joint", mesh,
                     mended.without);
}
