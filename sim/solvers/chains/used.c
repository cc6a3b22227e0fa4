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
