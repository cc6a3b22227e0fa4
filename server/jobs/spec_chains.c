#include "server/jobs/decoder.h"

#include <math.h>
#include <string.h>

/* Spring keys of the rig, then the names that the job defines. */
typedef struct ChainNames {
    Names names;
    int first_defined;
} ChainNames;

static void decode_gravity(const JsonReader *object, const FieldTable *table, ChainParameters *out)
{
    JsonReader member = json_member(object, "gravity");
    float vector[3];

    if (json_is_array(&member)) {
        if (field_vector(object, table, "gravity", vector)) {
            out->gravity_vector = (Vec3){vector[0], vector[1], vector[2]};
            out->gravity_is_vector = true;
        }
        return;
    }
    if (json_is_absent(&member) || json_is_number(&member))
        out->gravity = (float)field_number(object, table, "gravity");
    else
        json_fault(&member, "must be a number or a list of three numbers");
}

static void decode_center(const Decoder *decoder, const JsonReader *object, ChainParameters *out)
{
    JsonReader member = json_member(object, "center");

    out->center = -2;
    if (json_is_absent(&member))
        return;
    if (!json_is_bool(&member))
        out->center = names_decode(&decoder->node, &member);
    else if (json_bool_or(object, "center", false))
        json_fault(&member, "must be a node's name or index, or false");
    else
        out->center = -1;
}

/* What chains and their overrides have in common. */
static ChainParameters decode_parameters(const Decoder *decoder, const JsonReader *object,
                                         const FieldTable *table)
{
    ChainParameters parameters = chain_parameters_default();

    parameters.stiffness = (float)field_number(object, table, "stiffness");
    parameters.damping = (float)field_number(object, table, "damping");
    parameters.min_damping_ratio = (float)field_number(object, table, "min_damping_ratio");
    decode_gravity(object, table, &parameters);
    parameters.preload = (float)field_number(object, table, "preload");
    parameters.radius = (float)field_number(object, table, "radius");
    parameters.angle_limit = (float)field_number(object, table, "angle_limit");
    parameters.inertia_scale = (float)field_number(object, table, "inertia_scale");
    parameters.teleport_distance = (float)field_number(object, table, "teleport_distance");
    parameters.contact = -1;
    decode_center(decoder, object, &parameters);
    return parameters;
}

/* --- define --- */

static int decode_node(const Decoder *decoder, const JsonReader *object, const char *key)
{
    JsonReader member = json_member(object, key);

    if (!json_is_absent(&member))
        return names_decode(&decoder->node, &member);
    if (field_get(&define_fields, key)->is_required)
        json_fault(&member, "is missing");
    return -1;
}

static ChainDefine decode_define(const Decoder *decoder, const JsonReader *item)
{
    ChainDefine define = {.name = "", .root = -1, .end = -1, .attach = -1};
    const Field *name = field_get(&define_fields, "name");

    if (!field_check(item, &define_fields))
        return define;
    int before = item->faults->count;
    define.name = decoder_keep(decoder, json_text(item, "name", (int)name->max));
    if (item->faults->count == before && define.name[0] == '\0') {
        JsonReader member = json_member(item, "name");

        json_fault(&member, "must not be empty");
    }
    define.root = decode_node(decoder, item, "root");
    define.end = decode_node(decoder, item, "end");
    define.attach = decode_node(decoder, item, "attach");
    return define;
}

static void decode_defines(const Decoder *decoder, const JsonReader *object, ChainsSpec *out)
{
    JsonReader list;
    JsonReader item;

    if (!field_open(object, &chains_fields, "define", &list))
        return;
    ChainDefine *define = arena_array(decoder->arena, ChainDefine, json_count(&list));
    if (decoder->arena->overflowed)
        return;
    for (bool is_item = json_first(&list, &item); is_item; is_item = json_next(&item))
        define[out->define_count++] = decode_define(decoder, &item);
    out->define = define;
}

/* The rig's springs and what the job defines, under one list of names. */
static Names name_chains(const Decoder *decoder, const ChainsSpec *chains, const JsonReader *object)
{
    int count = decoder->spring.count + chains->define_count;
    const char **key = arena_array(decoder->arena, const char *, count);

    if (chains->define_count == 0 || decoder->arena->overflowed)
        return decoder->spring;
    for (int i = 0; i < decoder->spring.count; i++)
        key[i] = decoder->spring.key[i];
    for (int i = 0; i < chains->define_count; i++)
        key[decoder->spring.count + i] = chains->define[i].name;
    Names names = names_build("spring chain", key, count, decoder->arena);
    for (int i = 1; i < names.count; i++) {
        const char *name = key[names.sorted[i]];
        JsonReader define = json_member(object, "define");

        if (strcmp(name, key[names.sorted[i - 1]]) == 0 && name[0] != '\0')
            json_fault(&define, "gives the name \"%s\" to two chains", name);
    }
    return names;
}

/* --- target --- */

static void check_simulated(const Decoder *decoder, const JsonReader *value, int spring)
{
    const Rig *rig = decoder->context->rig;

    if (spring >= 0 && spring < rig->spring_count && rig->spring[spring].refusal)
        json_fault(value, "names the spring chain \"%s\", which cannot be simulated: %s",
                   rig->spring[spring].key, rig->spring[spring].refusal);
}

static void decode_target(const Decoder *decoder, const JsonReader *object, const Names *names,
                          ChainsSpec *out)
{
    JsonReader value = json_member(object, "target");

    if (json_is_absent(&value))
        return;
    if (json_is_array(&value)) {
        JsonReader item;

        out->target_count = decode_names(decoder, names, &value, &out->target);
        for (bool is_item = json_first(&value, &item); is_item; is_item = json_next(&item))
            if (json_is_text(&item))
                check_simulated(decoder, &item,
                                names_find(names, json_as_text(&item, JOB_NAME_MAX)));
        if (json_count(&value) == 0)
            json_fault(&value, "must name at least one spring chain");
        return;
    }
    if (json_is_text(&value) && strcmp(json_as_text(&value, JOB_NAME_MAX), "*") == 0)
        return;
    int spring = names_decode(names, &value);
    int *target = arena_array(decoder->arena, int, 1);
    if (!target || spring < 0)
        return;
    check_simulated(decoder, &value, spring);
    *target = spring;
    out->target = target;
    out->target_count = 1;
}

/* --- overrides --- */

static void decode_override(const Decoder *decoder, const JsonReader *member, ChainOverride *out)
{
    if (!field_check(member, &override_fields))
        return;
    out->parameters = decode_parameters(decoder, member, &override_fields);
    out->parameters.contact = field_choice(member, &override_fields, "contact");
    out->parameters.is_disabled = !field_bool(member, &override_fields, "enabled");
}

static void decode_overrides(const Decoder *decoder, const JsonReader *object, const Names *names,
                             ChainsSpec *out)
{
    JsonReader map;
    JsonReader member;

    if (!field_open(object, &chains_fields, "overrides", &map))
        return;
    ChainOverride *override = arena_array(decoder->arena, ChainOverride, json_count(&map));
    bool *is_named = arena_array(decoder->arena, bool, names->count);
    if (decoder->arena->overflowed)
        return;
    for (bool is_member = json_first(&map, &member); is_member; is_member = json_next(&member)) {
        int spring = names_decode_key(names, &member);

        if (spring < 0)
            continue;
        if (is_named[spring])
            json_fault(&member, "overrides \"%s\" a second time", names->key[spring]);
        is_named[spring] = true;
        override[out->override_count] =
            (ChainOverride){.spring = spring, .parameters = chain_parameters_default()};
        decode_override(decoder, &member, &override[out->override_count++]);
    }
    out->override = override;
}

/* --- the simulation --- */

static void decode_colliders(const Decoder *decoder, const JsonReader *object, SimulationSpec *out)
{
    JsonReader value = json_member(object, "colliders");

    out->colliders = COLLIDERS_FILE;
    if (json_is_absent(&value))
        return;
    if (json_is_array(&value)) {
        out->collider_count = decode_names(decoder, &decoder->collider, &value, &out->collider);
        out->colliders = json_count(&value) ? COLLIDERS_LIST : COLLIDERS_NONE;
        return;
    }
    const char *text = json_is_text(&value) ? json_as_text(&value, JOB_NAME_MAX) : "";
    if (strcmp(text, "fitted") == 0)
        out->is_fitted = true;
    else if (strcmp(text, "surface") == 0)
        out->has_surface = true;
    else if (strcmp(text, "file") != 0)
        json_fault(&value, "must be \"file\", \"fitted\", \"surface\" or a list of colliders");
}

static void decode_rate(const JsonReader *object, int tick, SimulationSpec *out)
{
    JsonReader value = json_member(object, "rate");
    int rate = field_integer(object, &chains_fields, "rate");

    out->rate = rate > 0 ? rate : simulation_default_rate(out->kind, (int)out->chains.mode, tick);
    if (rate > 0 && rate % tick != 0 && tick % rate != 0)
        json_fault(&value, "must be a divisor or multiple of \"substeps_per_second\" (%d), is %d",
                   tick, rate);
}

/* Switches of the rest-frame solver have no meaning in the published algorithm, and its length
 * quirk none in ours. */
static void check_mode(const JsonReader *object, ChainsMode mode)
{
    static const char *const of_rest_frame[] = {
        "rest",         "contact",           "contact_velocity", "two_way",
        "self_contact", "min_damping_ratio", "preload",          NULL};
    static const char *const of_vrm[] = {"vrm_length", NULL};
    const char *const *foreign = mode == CHAINS_VRM ? of_rest_frame : of_vrm;

    for (int i = 0; foreign[i]; i++) {
        JsonReader member = json_member(object, foreign[i]);

        if (!json_is_absent(&member))
            json_fault(&member, "belongs to the mode \"%s\"; this simulation's mode is \"%s\"",
                       mode == CHAINS_VRM ? "rest_frame" : "vrm",
                       mode == CHAINS_VRM ? "vrm" : "rest_frame");
    }
}

static void check_surface(const JsonReader *object, ChainsMode mode, const SimulationSpec *out)
{
    JsonReader member = json_member(object, "colliders");

    if (out->has_surface && mode == CHAINS_VRM)
        json_fault(&member,
                   "\"surface\" belongs to the mode \"rest_frame\"; this simulation's mode is "
                   "\"vrm\"");
}

void decode_chains(const Decoder *decoder, const JsonReader *item, int substeps_per_second,
                   SimulationSpec *out)
{
    ChainsSpec chains = chains_spec_default();
    const FieldTable *table = &chains_fields;

    if (!field_check(item, table))
        return;
    out->kind = SIMULATION_CHAINS;
    out->name = decoder_keep(decoder, json_text_or(item, "name", "", JOB_NAME_MAX));
    out->is_enabled = field_bool(item, table, "enabled");
    out->is_fitted = field_bool(item, table, "fit_colliders");
    decode_colliders(decoder, item, out);
    chains.mode = (ChainsMode)field_choice(item, table, "mode");
    check_mode(item, chains.mode);
    check_surface(item, chains.mode, out);
    chains.rest = (ChainsRest)field_choice(item, table, "rest");
    chains.contact = (ChainsContact)field_choice(item, table, "contact");
    chains.contact_velocity = (ChainsContactVelocity)field_choice(item, table, "contact_velocity");
    if (field_choice(item, table, "vrm_length") >= 0)
        chains.vrm_length = (ChainsLength)field_choice(item, table, "vrm_length");
    chains.is_two_way = field_bool(item, table, "two_way");
    chains.has_self_contact = field_bool(item, table, "self_contact");
    chains.parameters = decode_parameters(decoder, item, table);
    decode_defines(decoder, item, &chains);
    Names names = name_chains(decoder, &chains, item);
    decode_target(decoder, item, &names, &chains);
    decode_overrides(decoder, item, &names, &chains);
    out->chains = chains;
    decode_rate(item, substeps_per_second, out);
}
