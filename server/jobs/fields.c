#include "server/jobs/fields.h"

#include "server/jobs/notify_url.h"
#include "server/jobs/spec.h"
#include "sim/rig.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { KNOWN_MAX = 48 };

static const char *const kind_names[] = {"face", "flesh", "cloth", "chains", "strands", NULL};
static const char *const mode_names[] = {"rest_frame", "vrm", NULL};
static const char *const rest_names[] = {"attachment", "parent", NULL};
static const char *const contact_names[] = {"auto", "none", "endpoint", "segment", "swept", NULL};
static const char *const velocity_names[] = {"rebuilt", "naive", NULL};
static const char *const length_names[] = {"true", "peer", NULL};

static const Field retarget_field[] = {
    {"roles", FIELD_MAP, 0, ROLE_COUNT, (double)NAN,
     .note = "humanoid roles of joints whose names do not say them: {\"hips\": \"Root\"}"},
    {0},
};
const FieldTable retarget_fields = {"retarget", retarget_field};

static const Field animation_field[] = {
    {"clip", FIELD_UNION, .otherwise = (double)NAN, .note = "name or index of a clip"},
    {"animation", FIELD_TEXT, 0, JOB_NAME_MAX, (double)NAN,
     .note = "an uploaded animation (a_...) whose clip is taken; clip 0 unless \"clip\" says"},
    {"procedural", FIELD_TEXT, 0, JOB_NAME_MAX, (double)NAN,
     .note = "still, head_turn, turn, swing, jump, drop, arm_bend or back_flip"},
    {"in_place", FIELD_BOOL, .note = "take out the root's horizontal travel"},
    {"retarget", FIELD_OBJECT, .table = &retarget_fields},
    {0},
};
const FieldTable animation_fields = {"animation", animation_field};

static const Field time_field[] = {
    {"start", FIELD_NUMBER, -3600, 36000, 0, .note = "s of the clip at frame 0"},
    {"end", FIELD_NUMBER, -3600, 36000, (double)NAN, .note = "s of the clip; null: its end"},
    {"fps", FIELD_UNION, 1, 240, 30,
     .note = "1 to 240, or a fraction: \"24000/1001\"; 23.976, 29.97 and 59.94 are NTSC"},
    {"substeps_per_second", FIELD_INTEGER, 20, 1200, 120, .note = "the tick"},
    {"warm_up", FIELD_NUMBER, 0, 10, 0.5, .note = "s simulated before frame 0"},
    {"settle", FIELD_NUMBER, 0, 60, (double)NAN,
     .note = "s simulated and measured after end; null: 8 for head_turn, else 0"},
    {"loop", FIELD_BOOL, .note = "run the clip twice, give out the second cycle"},
    {0},
};
const FieldTable time_fields = {"time", time_field};

static const Field wind_field[] = {
    {"velocity", FIELD_VECTOR, -200, 200, 0, .note = "m/s"},
    {"gust", FIELD_NUMBER, 0, 1, 0, .note = "0: steady"},
    {"seed", FIELD_NUMBER, 0, 9007199254740991.0, 1, .note = "of the gusts, a whole number"},
    {0},
};
const FieldTable wind_fields = {"wind", wind_field};

static const Field forces_field[] = {
    {"gravity", FIELD_VECTOR, -1000, 1000, (double)NAN,
     .note = "m/s^2; null: [0, -9.81, 0]; chains have a gravity of their own"},
    {"wind", FIELD_OBJECT, .table = &wind_fields},
    {"impulses", FIELD_LATER, .note = "not in this version"},
    {0},
};
const FieldTable forces_fields = {"forces", forces_field};

static const Field measures_field[] = {
    {"rate", FIELD_INTEGER, 1, 240, 30, .note = "samples per simulated second"},
    {0},
};
const FieldTable measures_fields = {"measures", measures_field};

static const Field output_field[] = {
    {"channels", FIELD_LIST, 0, CHANNEL_KIND_COUNT, (double)NAN,
     .note = "of joints, segments, positions, normals, weights; null: by simulation type"},
    {"precision", FIELD_UNION, 16, 32, 16, .note = "of positions: 16 (quantised) or 32 (exact)"},
    {"normals", FIELD_BOOL, .note = "the same as the channel normals"},
    {0},
};
const FieldTable output_fields = {"output", output_field};

static const Field gate_field[] = {
    {"min", FIELD_NUMBER, -1e30, 1e30, (double)NAN, .note = "least value that passes"},
    {"max", FIELD_NUMBER, -1e30, 1e30, (double)NAN, .note = "greatest value that passes"},
    {0},
};
const FieldTable gate_fields = {"gate", gate_field};

static const Field notify_field[] = {
    {"url", FIELD_TEXT, 1, NOTIFY_URL_MAX, (double)NAN, .note = "http or https",
     .is_required = true},
    {"on", FIELD_LIST, 1, 3, (double)NAN, .note = "of done, failed, cancelled; null: all"},
    {0},
};
const FieldTable notify_fields = {"notify", notify_field};

static const Field override_field[] = {
    {"enabled", FIELD_BOOL, .otherwise = 1, .note = "false: the chain follows its parent rigidly"},
    {"stiffness", FIELD_NUMBER, 0, 14400, (double)NAN, .note = "1/s^2; null: the simulation's"},
    {"damping", FIELD_NUMBER, 0, 180, (double)NAN, .note = "1/s; null: the simulation's"},
    {"min_damping_ratio", FIELD_NUMBER, 0, 5, (double)NAN, .note = "null: the simulation's"},
    {"gravity", FIELD_UNION, -1000, 1000, (double)NAN,
     .note = "m/s^2 or a vector; null: the simulation's"},
    {"preload", FIELD_NUMBER, 0, 1, (double)NAN, .note = "null: the simulation's"},
    {"radius", FIELD_NUMBER, 0, 1, (double)NAN, .note = "m; null: the simulation's"},
    {"contact", FIELD_CHOICE, .otherwise = (double)NAN, .choice = contact_names,
     .note = "null: the simulation's"},
    {"angle_limit", FIELD_NUMBER, 0, 3.141592653589793, (double)NAN,
     .note = "rad; null: the simulation's"},
    {"center", FIELD_UNION, .otherwise = (double)NAN,
     .note = "node, false for none; null: the file's"},
    {"inertia_scale", FIELD_NUMBER, 0, 1, (double)NAN, .note = "null: the simulation's"},
    {"teleport_distance", FIELD_NUMBER, 0, 1000, (double)NAN, .note = "m; null: the simulation's"},
    {0},
};
const FieldTable override_fields = {"override", override_field};

static const Field define_field[] = {
    {"name", FIELD_TEXT, 1, JOB_NAME_MAX, (double)NAN, .note = "of the new chain",
     .is_required = true},
    {"root", FIELD_UNION, .otherwise = (double)NAN, .note = "node that moves first",
     .is_required = true},
    {"end", FIELD_UNION, .otherwise = (double)NAN, .note = "last node; null: down to the leaf"},
    {"attach", FIELD_UNION, .otherwise = (double)NAN,
     .note = "node that carries it; null: root's parent"},
    {0},
};
const FieldTable define_fields = {"define", define_field};

static const Field chains_field[] = {
    {"type", FIELD_CHOICE, .otherwise = (double)NAN, .choice = kind_names, .note = "chains",
     .is_required = true},
    {"name", FIELD_TEXT, 0, JOB_NAME_MAX, (double)NAN, .note = "a label"},
    {"target", FIELD_UNION, 0, JOB_LIST_MAX, (double)NAN,
     .note = "springs: a name, an index, a list of them, or \"*\" for all"},
    {"rate", FIELD_INTEGER, 1, 2400, (double)NAN,
     .note = "steps a second, a divisor or multiple of the tick; null: 120, 60 in vrm mode"},
    {"enabled", FIELD_BOOL, .otherwise = 1, .note = "false leaves the simulation out"},
    {"colliders", FIELD_UNION, 0, JOB_LIST_MAX, (double)NAN,
     .note =
         "\"file\", \"fitted\" (file with fit_colliders), \"surface\" (file and the skinned body), "
         "or a list ([]: none)"},
    {"preset", FIELD_LATER, .note = "not in this version"},
    {"mode", FIELD_CHOICE, .choice = mode_names,
     .note = "rest_frame keeps the authored arc; vrm is the published algorithm"},
    {"rest", FIELD_CHOICE, .choice = rest_names,
     .note = "attachment or parent: what a segment's rest direction turns with"},
    {"stiffness", FIELD_NUMBER, 0, 14400, (double)NAN, .note = "1/s^2; null: the file's, else 240"},
    {"damping", FIELD_NUMBER, 0, 180, (double)NAN, .note = "1/s; null: the file's, else 12"},
    {"min_damping_ratio", FIELD_NUMBER, 0, 5, 0.35, .note = "damping is raised to it"},
    {"gravity", FIELD_UNION, -1000, 1000, (double)NAN,
     .note = "m/s^2 along the file's direction, or a vector; null: the file's, else 0.5"},
    {"preload", FIELD_NUMBER, 0, 1, 0, .note = "1: settle exactly on the authored arc"},
    {"radius", FIELD_NUMBER, 0, 1, (double)NAN, .note = "m, for collision; null: the file's"},
    {"contact", FIELD_CHOICE, .choice = contact_names,
     .note = "auto, none, endpoint, segment or swept"},
    {"contact_velocity", FIELD_CHOICE, .choice = velocity_names,
     .note = "rebuilt, or naive (the push-out becomes speed)"},
    {"two_way", FIELD_BOOL, .note = "contacts push the upper joint too"},
    {"self_contact", FIELD_BOOL, .note = "chains against each other"},
    {"angle_limit", FIELD_NUMBER, 0, 3.141592653589793, (double)NAN,
     .note = "rad from the rest direction; null: none"},
    {"center", FIELD_UNION, .otherwise = (double)NAN,
     .note = "node in whose space motion is felt, false for none; null: the file's"},
    {"inertia_scale", FIELD_NUMBER, 0, 1, 1, .note = "how much of the centre's motion is felt"},
    {"teleport_distance", FIELD_NUMBER, 0, 1000, 1, .note = "m in a tick that carry state along"},
    {"vrm_length", FIELD_CHOICE, .otherwise = (double)NAN, .choice = length_names,
     .note = "vrm mode only: true or peer; null: true"},
    {"fit", FIELD_LATER, .note = "not in this version"},
    {"fit_colliders", FIELD_BOOL, .note = "fit colliders to the visible body (never the model)"},
    {"define", FIELD_LIST, 0, JOB_LIST_MAX, (double)NAN, .table = &define_fields,
     .note = "chains for a file without springs"},
    {"overrides", FIELD_MAP, 0, JOB_LIST_MAX, (double)NAN, .table = &override_fields,
     .note = "parameters of single chains, by name"},
    {0},
};
const FieldTable chains_fields = {"chains", chains_field};

static const Field job_field[] = {
    {"model", FIELD_TEXT, 1, JOB_NAME_MAX, (double)NAN,
     .note = "id of an uploaded model (m_...); offline a file, seen from the job's folder",
     .is_required = true},
    {"name", FIELD_TEXT, 0, JOB_NAME_MAX, (double)NAN, .note = "a label"},
    {"animation", FIELD_OBJECT, .table = &animation_fields, .note = "none: still"},
    {"time", FIELD_OBJECT, .table = &time_fields, .note = NULL},
    {"simulations", FIELD_LIST, 1, JOB_SIMULATIONS_MAX, (double)NAN, .table = &chains_fields,
     .is_required = true},
    {"forces", FIELD_OBJECT, .table = &forces_fields},
    {"setup", FIELD_LATER, .note = "not in this version"},
    {"hidden", FIELD_LIST, 0, JOB_LIST_MAX, (double)NAN,
     .note = "meshes left out of pictures and occlusion"},
    {"measures", FIELD_OBJECT, .table = &measures_fields},
    {"output", FIELD_OBJECT, .table = &output_fields},
    {"gates", FIELD_MAP, 0, JOB_GATES_MAX, (double)NAN, .table = &gate_fields,
     .note = "bounds on measures; a bake outside of them is not passed"},
    {"priority", FIELD_INTEGER, -10, 10, 0, .note = "higher runs first"},
    {"tags", FIELD_MAP, 0, JOB_TAGS_MAX, (double)NAN, .note = "texts to find the job by"},
    {"cache", FIELD_BOOL, .otherwise = 1, .note = "answer an identical job from the store"},
    {"keep", FIELD_BOOL, .note = "protect from retention"},
    {"notify", FIELD_UNION, 1, NOTIFY_URL_MAX, (double)NAN, .table = &notify_fields,
     .note = "URL that is told of the end, or {\"url\": URL, \"on\": [\"failed\"]}; null: none"},
    {"preview", FIELD_FALSE, .note = "not in this version"},
    {0},
};
const FieldTable job_fields = {"", job_field};

const Field *field_get(const FieldTable *table, const char *key)
{
    const Field *field = table->field;

    while (field->key && strcmp(field->key, key) != 0)
        field++;
    assert(field->key);
    return field;
}

int field_choice_count(const Field *field)
{
    int count = 0;

    while (field->choice && field->choice[count])
        count++;
    return count;
}

static void refuse_later(const JsonReader *object, const Field *field)
{
    JsonReader member = json_member(object, field->key);

    if (json_is_absent(&member))
        return;
    if (field->kind == FIELD_LATER)
        json_fault(&member, "is not in this version");
    else if (!json_is_bool(&member))
        json_fault(&member, "must be true or false");
    else if (json_bool_or(object, field->key, false))
        json_fault(&member, "must be false: it is not in this version");
}

bool field_check(const JsonReader *object, const FieldTable *table)
{
    const char *known[KNOWN_MAX] = {NULL};
    int count = 0;

    if (!json_is_object(object)) {
        json_fault(object, "must be an object");
        return false;
    }
    for (const Field *field = table->field; field->key && count + 1 < KNOWN_MAX; field++) {
        known[count++] = field->key;
        if (field->kind == FIELD_LATER || field->kind == FIELD_FALSE)
            refuse_later(object, field);
    }
    json_refuse_unknown(object, known);
    return true;
}

double field_number(const JsonReader *object, const FieldTable *table, const char *key)
{
    const Field *field = field_get(table, key);

    return json_number_or(object, key, field->otherwise, field->min, field->max);
}

int field_integer(const JsonReader *object, const FieldTable *table, const char *key)
{
    const Field *field = field_get(table, key);
    int otherwise = isnan(field->otherwise) ? 0 : (int)field->otherwise;

    return json_int_or(object, key, otherwise, (int)field->min, (int)field->max);
}

bool field_bool(const JsonReader *object, const FieldTable *table, const char *key)
{
    return json_bool_or(object, key, field_get(table, key)->otherwise != 0);
}

int field_choice(const JsonReader *object, const FieldTable *table, const char *key)
{
    const Field *field = field_get(table, key);
    int otherwise = isnan(field->otherwise) ? -1 : (int)field->otherwise;

    return json_choice_or(object, key, field->choice, field_choice_count(field), otherwise);
}

bool field_vector(const JsonReader *object, const FieldTable *table, const char *key, float out[3])
{
    const Field *field = field_get(table, key);
    JsonReader member = json_member(object, key);
    float value[3];

    if (json_is_absent(&member))
        return false;
    if (!json_is_array(&member) || json_count(&member) != 3) {
        json_fault(&member, "must be a list of three numbers");
        return false;
    }
    JsonReader item;
    bool is_item = json_first(&member, &item);
    for (int i = 0; is_item; i++) {
        int before = item.faults->count;

        value[i] = (float)json_as_number(&item, field->min, field->max);
        if (item.faults->count != before)
            return false;
        is_item = json_next(&item);
    }
    memcpy(out, value, sizeof value);
    return true;
}

bool field_open(const JsonReader *object, const FieldTable *table, const char *key, JsonReader *out)
{
    const Field *field = field_get(table, key);
    JsonReader member = json_member(object, key);
    bool is_list = field->kind == FIELD_LIST;

    if (json_is_absent(&member))
        return false;
    if (is_list ? !json_is_array(&member) : !json_is_object(&member)) {
        json_fault(&member, is_list ? "must be a list" : "must be an object");
        return false;
    }
    int count = json_count(&member);
    if (field->kind != FIELD_OBJECT && (count < field->min || count > field->max)) {
        json_fault(&member, "must have %d to %d %s, has %d", (int)field->min, (int)field->max,
                   is_list ? "items" : "members", count);
        return false;
    }
    *out = member;
    return true;
}
