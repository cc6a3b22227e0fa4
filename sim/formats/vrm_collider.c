#include "formats/vrm_collider.h"

#include <string.h>

typedef enum ShapeForm { SHAPE_BASE, SHAPE_EXTENDED } ShapeForm;

/* A shape in metres, Y up; false where the object is none that the form knows. */
static bool read_shape(Gltf *gltf, const JsonReader *shape, ShapeForm form, RigCollider *out)
{
    JsonReader sphere = json_member(shape, "sphere");
    JsonReader capsule = json_member(shape, "capsule");
    JsonReader plane = json_member(shape, "plane");
    Vec3 origin = {0.0f, 0.0f, 0.0f};
    const JsonReader *body = &sphere;

    if (json_is_object(&sphere)) {
        out->kind = COLLIDER_SPHERE;
    } else if (json_is_object(&capsule)) {
        out->kind = COLLIDER_CAPSULE;
        body = &capsule;
    } else if (form == SHAPE_EXTENDED && json_is_object(&plane)) {
        Vec3 normal = gltf_vec3_or(gltf, &plane, "normal", vec3(0.0f, 0.0f, 1.0f));
        out->kind = COLLIDER_PLANE;
        out->normal = vec3_normalize_or(gltf_direction(gltf, normal), origin);
        out->offset = gltf_point(gltf, gltf_vec3_or(gltf, &plane, "offset", origin));
        return vec3_dot(out->normal, out->normal) > 0.5f;
    } else {
        return false;
    }
    float radius = gltf_float_or(body, "radius", 0.0f);
    out->radius = gltf_length(gltf, radius > 0.0f ? radius : 0.0f);
    out->offset = gltf_point(gltf, gltf_vec3_or(gltf, body, "offset", origin));
    if (out->kind == COLLIDER_CAPSULE)
        out->tail = gltf_point(gltf, gltf_vec3_or(gltf, body, "tail", origin));
    if (form == SHAPE_EXTENDED)
        out->is_inside = json_bool_or(body, "inside", false);
    return true;
}

/* The extension's shape, where it is there, of a version we know, and valid. A missing version is
 * taken for 1.0. */
static bool read_extended_shape(Gltf *gltf, const JsonReader *object, int index, RigCollider *out)
{
    GltfExtension extended;

    gltf_extension(object, "VRMC_springBone_extended_collider", &extended);
    if (json_is_absent(&extended.value))
        return false;
    JsonReader version = json_member(&extended.value, "specVersion");
    JsonReader shape = json_member(&extended.value, "shape");
    if (json_is_absent(&version))
        warnings_add(gltf->warnings, "collider_version",
                     "collider %d: its extended shape has no specVersion and is read as 1.0",
                     index);
    else if (!json_is_text(&version) || strcmp(json_as_text(&version, 1 << 20), "1.0") != 0) {
        warnings_add(gltf->warnings, "collider_version",
                     "collider %d: its extended shape is of another version than 1.0: its plain "
                     "shape is used",
                     index);
        return false;
    }
    RigCollider collider = *out;
    if (!read_shape(gltf, &shape, SHAPE_EXTENDED, &collider)) {
        warnings_add(gltf->warnings, "collider_shape",
                     "collider %d: its extended shape is no sphere, capsule or plane: its plain "
                     "shape is used",
                     index);
        return false;
    }
    *out = collider;
    return true;
}

static bool read_collider(Gltf *gltf, const JsonReader *object, int index, RigCollider *out)
{
    JsonReader shape = json_member(object, "shape");

    *out = (RigCollider){.node = gltf_find_index(object, "node", gltf->node_count)};
    if (out->node < 0) {
        warnings_add(gltf->warnings, "collider_node",
                     "collider %d is on a node that does not exist: it is left out", index);
        return false;
    }
    out->key = gltf_key(gltf, "", "collider", index);
    if (read_extended_shape(gltf, object, index, out)) {
        if (json_is_absent(&shape))
            warnings_add(gltf->warnings, "collider_shape",
                         "collider %d has an extended shape only: other programs may refuse it",
                         index);
        return true;
    }
    if (read_shape(gltf, &shape, SHAPE_BASE, out))
        return true;
    warnings_add(gltf->warnings, "collider_shape",
                 "collider %d has no shape that is known: it is left out", index);
    return false;
}

/* The rig's colliders of a group, through the table of what became of the file's. */
static void read_group(Springs *springs, const JsonReader *object, int index, const int *place,
                       int file_count)
{
    ColliderGroups *groups = &springs->groups;
    int end = groups->first[index];
    JsonReader item, list = json_member(object, "colliders");

    for (bool more = json_first(&list, &item); more; more = json_next(&item)) {
        double value = json_is_number(&item) ? json_as_number(&item, -1e300, 1e300) : -1.0;
        if (!(value >= 0.0 && value < (double)file_count))
            warnings_add(springs->gltf->warnings, "collider_missing",
                         "collider group %d names collider %g of %d", index, value, file_count);
        else if (place[(int)value] >= 0)
            groups->item[end++] = place[(int)value];
    }
    groups->first[index + 1] = end;
}

static void read_groups(Springs *springs, const JsonReader *extension, const int *place,
                        int file_count)
{
    Gltf *gltf = springs->gltf;
    ColliderGroups *groups = &springs->groups;
    int64_t items = 0;
    JsonReader item;
    JsonReader list = gltf_list(gltf, extension, "colliderGroups", GLTF_MAX_ITEMS,
                                "collider groups", &groups->count);

    for (bool more = json_first(&list, &item); more; more = json_next(&item)) {
        JsonReader colliders = json_member(&item, "colliders");
        items += json_count(&colliders);
    }
    if (items > GLTF_MAX_COLLIDER_REFERENCES)
        gltf_fail(gltf, STATUS_LIMIT, "the collider groups have more than %d colliders",
                  GLTF_MAX_COLLIDER_REFERENCES);
    if (gltf_failed(gltf))
        return;
    groups->first = gltf_scratch(gltf, int, groups->count + 1);
    groups->item = gltf_scratch(gltf, int, items);
    if (gltf_failed(gltf))
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more; i++, more = json_next(&item))
        read_group(springs, &item, i, place, file_count);
}

void vrm_read_colliders(Springs *springs, const JsonReader *extension, int file_count)
{
    Gltf *gltf = springs->gltf;
    int *place = gltf_scratch(gltf, int, file_count);
    int count = 0;
    JsonReader item, list = json_member(extension, "colliders");

    if (gltf_failed(gltf))
        return;
    bool more = json_first(&list, &item);
    for (int i = 0; more && i < file_count && !gltf_failed(gltf); i++, more = json_next(&item))
        place[i] = read_collider(gltf, &item, i, &springs->collider[count]) ? count++ : -1;
    springs->rig->collider_count = count;
    if (!gltf_failed(gltf))
        read_groups(springs, extension, place, file_count);
}
