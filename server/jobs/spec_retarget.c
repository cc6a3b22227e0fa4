#include "server/jobs/decoder.h"

#include <string.h>

enum { NAMES_A_ROLE_MAX = 8 };

/* What "roles" changes: the animation's bones and the model's. */
typedef struct Roles {
    const Rig *source, *target;
    int *source_role, *target_role; /* (ROLE_COUNT) */
} Roles;

/* A name counts in the animation and in the model, wherever it is a node. */
static void take_name(const Decoder *decoder, const JsonReader *value, HumanoidRole role,
                      Roles *roles)
{
    int before = value->faults->count;
    const char *name = json_as_text(value, JOB_NAME_MAX);

    if (value->faults->count != before)
        return;
    int source = rig_find_node(roles->source, name), target = rig_find_node(roles->target, name);
    if (source < 0 && target < 0) {
        const char **key = arena_array(decoder->arena, const char *, roles->source->node_count);
        for (int i = 0; key && i < roles->source->node_count; i++)
            key[i] = roles->source->node[i].key;
        if (!key)
            return;
        Names names = names_build("joint", key, roles->source->node_count, decoder->arena);
        const char *near = names_nearest(&names, name);
        json_fault(value, "names \"%s\", a joint of neither the animation nor the model%s%s%s",
                   name, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
        return;
    }
    if (source >= 0)
        roles->source_role[role] = source;
    if (target >= 0)
        roles->target_role[role] = target;
}

static void take_role(const Decoder *decoder, const JsonReader *value, Roles *roles)
{
    HumanoidRole role = humanoid_role_find(value->key);
    JsonReader item;
    int count = 0;

    if (role == ROLE_COUNT) {
        json_fault(value, "is no humanoid role; roles are named as in VRM 1.0: hips, leftUpperArm");
        return;
    }
    if (!json_is_array(value)) {
        take_name(decoder, value, role, roles);
        return;
    }
    for (bool more = json_first(value, &item); more; more = json_next(&item)) {
        if (count++ == NAMES_A_ROLE_MAX) {
            json_fault(value, "has more than %d names", NAMES_A_ROLE_MAX);
            return;
        }
        take_name(decoder, &item, role, roles);
    }
}

static int *copy_roles(const Decoder *decoder, const int *role)
{
    int *copy = arena_array(decoder->arena, int, ROLE_COUNT);

    if (copy)
        memcpy(copy, role, ROLE_COUNT * sizeof *copy);
    return copy;
}

void decode_retarget(const Decoder *decoder, const JsonReader *animation, MotionSpec *out)
{
    Roles roles = {.source = out->source, .target = decoder->context->rig};
    JsonReader object, map, item;

    if (!field_open(animation, &animation_fields, "retarget", &object) ||
        !field_check(&object, &retarget_fields) ||
        !field_open(&object, &retarget_fields, "roles", &map) || !json_first(&map, &item))
        return;
    if (out->kind != MOTION_CLIP || roles.source == roles.target) {
        json_fault(&map, "is for the clip of another file: \"animation\" names none");
        return;
    }
    roles.source_role = copy_roles(decoder, roles.source->role);
    roles.target_role = copy_roles(decoder, roles.target->role);
    if (!roles.source_role || !roles.target_role)
        return;
    for (bool more = true; more; more = json_next(&item))
        take_role(decoder, &item, &roles);
    out->source_role = roles.source_role;
    out->target_role = roles.target_role;
}

/* The names that a role was given: what the rigs do not say themselves. */
static void write_role(const MotionSpec *motion, const Rig *target, HumanoidRole role,
                       JsonWriter *writer)
{
    int source = motion->source_role[role], own = motion->target_role[role];
    bool has_source = source != motion->source->role[role], has_own = own != target->role[role];

    if (!has_source && !has_own)
        return;
    json_begin_array(writer, humanoid_role_name(role));
    if (has_source)
        json_write_text(writer, NULL, motion->source->node[source].key);
    if (has_own)
        json_write_text(writer, NULL, target->node[own].key);
    json_end_array(writer);
}

void write_retarget(const MotionSpec *motion, const Rig *target, JsonWriter *writer)
{
    if (!motion->source_role)
        return;
    json_begin_object(writer, "retarget");
    json_begin_object(writer, "roles");
    for (int i = 0; i < ROLE_COUNT; i++)
        write_role(motion, target, (HumanoidRole)i, writer);
    json_end_object(writer);
    json_end_object(writer);
}
