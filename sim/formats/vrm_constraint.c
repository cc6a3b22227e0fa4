#include "formats/vrm.h"

#include <string.h>

/* The axis of a roll (X Y Z) or aim (PositiveX, NegativeX ...) constraint, in our space. */
static bool find_axis(const Gltf *gltf, const char *name, Vec3 *out)
{
    float sign = 1.0f;
    size_t length = strlen(name);

    if (strncmp(name, "Negative", 8) == 0)
        sign = -1.0f;
    else if (strncmp(name, "Positive", 8) != 0 && length != 1)
        return false;
    if (length != 1 && length != 9)
        return false;
    char axis = name[length - 1];
    if (axis < 'X' || axis > 'Z')
        return false;
    Vec3 v = {axis == 'X' ? sign : 0.0f, axis == 'Y' ? sign : 0.0f, axis == 'Z' ? sign : 0.0f};
    *out = gltf_direction(gltf, v);
    return true;
}

/* One of roll, aim and rotation; false where it is none or its source is no other node. */
static bool read_constraint(Gltf *gltf, const JsonReader *object, int node, RigConstraint *out)
{
    static const char *const kinds[] = {"roll", "aim", "rotation"};
    static const char *const axes[] = {"rollAxis", "aimAxis", ""};

    for (int i = 0; i < 3; i++) {
        JsonReader body = json_member(object, kinds[i]);
        JsonReader axis = json_member(&body, axes[i]);
        if (!json_is_object(&body))
            continue;
        float weight = gltf_float_or(&body, "weight", 1.0f);
        *out = (RigConstraint){.kind = (ConstraintKind)i,
                               .node = node,
                               .source = gltf_find_index(&body, "source", gltf->node_count),
                               .weight = weight < 0.0f   ? 0.0f
                                         : weight > 1.0f ? 1.0f
                                                         : weight};
        if (out->source < 0 || out->source == node)
            return false;
        return i == CONSTRAINT_ROTATION ||
               (json_is_text(&axis) && find_axis(gltf, json_as_text(&axis, 1 << 20), &out->axis));
    }
    return false;
}

void vrm_read_constraints(Gltf *gltf, Rig *rig)
{
    JsonReader item, list = json_member(&gltf->root, "nodes");
    RigConstraint *constraint = gltf_array(gltf, RigConstraint, gltf->node_count);

    rig->constraint = constraint;
    if (!constraint)
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && !gltf_failed(gltf); i++, more = json_next(&item)) {
        GltfExtension extension;
        gltf_extension(&item, "VRMC_node_constraint", &extension);
        JsonReader body = json_member(&extension.value, "constraint");
        if (!json_is_object(&body))
            continue;
        if (read_constraint(gltf, &body, i, &constraint[rig->constraint_count]))
            rig->constraint_count++;
        else
            warnings_add(gltf->warnings, "constraint_ignored",
                         "node %d \"%.100s\": its constraint has no known kind, axis or source", i,
                         gltf->node[i].name);
    }
}
