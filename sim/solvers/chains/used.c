/* What chains are driven by, as a stored job shows it. */
#include "solvers/chains/model.h"

#include <stddef.h>
#include <string.h>

/* `width` numbers of every segment: once where all have the same, else an array of all. */
static void write_numbers(const Chain *chain, const char *key, size_t offset, int width,
                          JsonWriter *json)
{
    const char *first = (const char *)chain->segment + offset;
    size_t size = (size_t)width * sizeof(float);
    float value[3];
    bool is_same = true;

    for (int i = 1; i < chain->segment_count && is_same; i++)
        is_same = memcmp((const char *)&chain->segment[i] + offset, first, size) == 0;
    if (!is_same)
        json_begin_array(json, key);
    for (int i = 0; i < (is_same ? 1 : chain->segment_count); i++) {
        memcpy(value, (const char *)&chain->segment[i] + offset, size);
        if (width == 1)
            json_write_float(json, is_same ? key : NULL, value[0]);
        else
            json_write_floats(json, is_same ? key : NULL, value, width);
    }
    if (!is_same)
        json_end_array(json);
}

void chains_write_used(const void *model_, JsonWriter *json)
{
    static const char *const contact[] = {"auto", "none", "endpoint", "segment", "swept"};
    const ChainsModel *model = model_;
    bool is_vrm = model->mode == CHAINS_VRM;

    for (int i = 0; i < model->chain_count; i++) {
        const Chain *chain = &model->chain[i];

        json_begin_object(json, chain->key);
        if (!is_vrm)
            json_write_text(json, "contact", contact[chain->contact]);
        write_numbers(chain, "stiffness", offsetof(ChainsSegment, stiffness), 1, json);
        write_numbers(chain, is_vrm ? "drag" : "damping", offsetof(ChainsSegment, damping), 1,
                      json);
        write_numbers(chain, "gravity", offsetof(ChainsSegment, gravity), 3, json);
        write_numbers(chain, "radius", offsetof(ChainsSegment, radius), 1, json);
        json_end_object(json);
    }
}

static void write_size(JsonWriter *json, const char *key, const RigCollider *collider)
{
    const Vec3 *a = &collider->offset, *b = &collider->tail;

    json_begin_object(json, key);
    json_write_floats(json, "offset", (const float[3]){a->x, a->y, a->z}, 3);
    if (collider->kind == COLLIDER_CAPSULE)
        json_write_floats(json, "tail", (const float[3]){b->x, b->y, b->z}, 3);
    json_write_float(json, "radius", collider->radius);
    json_end_object(json);
}

void chains_write_fit(const void *model_, JsonWriter *json)
{
    static const char *const kind[] = {"sphere", "capsule", "plane"};
    const ChainsModel *model = model_;
    const Fit *fit = model->fit;

    if (!fit)
        return;
    json_begin_array(json, "fit");
    for (int i = 0; i < fit->count; i++) {
        const FitCollider *one = &fit->collider[i];
        const RigCollider *fitted = &fit->rig.collider[one->collider];

        json_begin_object(json, NULL);
        json_write_text(json, "collider", fitted->key);
        json_write_text(json, "node", fit->rig.node[fitted->node].key);
        json_write_text(json, "kind", kind[fitted->kind]);
        json_write_bool(json, "added", one->is_added);
        json_write_text(json, "kept", one->kept);
        write_size(json, "authored", &one->authored);
        write_size(json, "fitted", fitted);
        json_write_int(json, "vertices", one->vertex_count);
        json_begin_object(json, "coverage");
        json_write_double(json, "before", fit_coverage(one->covered_before, one->vertex_count));
        json_write_double(json, "after", fit_coverage(one->covered_after, one->vertex_count));
        json_end_object(json);
        json_end_object(json);
    }
    json_end_array(json);
}
