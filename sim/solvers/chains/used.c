/* What chains are driven by, as a stored job shows it. */
#include "solvers/chains/model.h"

#include <stddef.h>
#include <string.h>

/* A number of every segment: one where all have the same, else an array. */
static void write_numbers(const Chain *chain, const char *key, size_t offset, JsonWriter *json)
{
    const char *first = (const char *)chain->segment + offset;
    bool is_same = true;

    for (int i = 1; i < chain->segment_count && is_same; i++)
        is_same = memcmp((const char *)&chain->segment[i] + offset, first, sizeof(float)) == 0;
    int count = is_same ? 1 : chain->segment_count;
    if (!is_same)
        json_begin_array(json, key);
    for (int i = 0; i < count; i++) {
        float value;

        memcpy(&value, (const char *)&chain->segment[i] + offset, sizeof value);
        json_write_float(json, is_same ? key : NULL, value);
    }
    if (!is_same)
        json_end_array(json);
}

static bool is_equal(Vec3 a, Vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static void write_gravity(const Chain *chain, JsonWriter *json)
{
    bool is_same = true;

    for (int i = 1; i < chain->segment_count && is_same; i++)
        is_same = is_equal(chain->segment[i].gravity, chain->segment[0].gravity);
    int count = is_same ? 1 : chain->segment_count;
    if (!is_same)
        json_begin_array(json, "gravity");
    for (int i = 0; i < count; i++) {
        Vec3 g = chain->segment[i].gravity;

        json_write_floats(json, is_same ? "gravity" : NULL, (const float[]){g.x, g.y, g.z}, 3);
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
        write_numbers(chain, "stiffness", offsetof(ChainsSegment, stiffness), json);
        write_numbers(chain, is_vrm ? "drag" : "damping", offsetof(ChainsSegment, damping), json);
        write_gravity(chain, json);
        write_numbers(chain, "radius", offsetof(ChainsSegment, radius), json);
        json_end_object(json);
    }
}
