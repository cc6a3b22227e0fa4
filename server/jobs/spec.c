#include "server/jobs/spec.h"

#include "server/jobs/decoder.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

JobLimits job_limits_default(void)
{
    return (JobLimits){.frames = 100000, .memory = (size_t)2 << 30};
}

/* --- ids --- */

void asset_id_finish(char prefix, Sha256 *hash, double unit, bool is_z_up, char out[ASSET_ID_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    char number[32];
    char options[64];

    (void)json_format_double(unit, number);
    int length = snprintf(options, sizeof options, "unit=%s up=%c", number, is_z_up ? 'z' : 'y');
    sha256_add(hash, options, (size_t)length);
    sha256_end(hash, digest);
    sha256_hex(digest, hex);
    (void)snprintf(out, ASSET_ID_SIZE, "%c_%.32s", prefix, hex);
}

void asset_id_of(char prefix, Bytes file, double unit, bool is_z_up, char out[ASSET_ID_SIZE])
{
    Sha256 hash;

    sha256_begin(&hash);
    sha256_add(&hash, file.data, file.size);
    asset_id_finish(prefix, &hash, unit, is_z_up, out);
}

static const char *keep_text(Arena *arena, const JsonReader *object, const char *key)
{
    JsonReader member = json_member(object, key);
    int before = member.faults->count;

    if (json_is_absent(&member))
        return NULL;
    const char *text = json_as_text(&member, JOB_NAME_MAX);
    if (member.faults->count != before)
        return NULL;
    return arena_text(arena, text, strlen(text));
}

void job_assets_decode(const JsonDocument *document, Faults *faults, JobAssets *out)
{
    JsonReader root = json_root(document, faults);
    JobAssets assets = {0};

    *out = assets;
    if (!json_is_object(&root)) {
        json_fault(&root, "must be an object");
        return;
    }
    JsonReader animation = json_member(&root, "animation");
    assets.model = keep_text(faults->arena, &root, "model");
    if (json_is_object(&animation))
        assets.animation = keep_text(faults->arena, &animation, "animation");
    *out = assets;
}

void job_fault_asset(Faults *faults, const char *pointer, const char *kind, const char *id)
{
    faults_add(faults, pointer, "names the %s \"%s\", which does not exist", kind, id);
}

/* --- names --- */

const char *decoder_keep(const Decoder *decoder, const char *text)
{
    const char *copy = arena_text(decoder->arena, text, strlen(text));

    return copy ? copy : "";
}

int decode_names(const Decoder *decoder, const Names *names, const JsonReader *list,
                 const int **out)
{
    int room = json_count(list);
    int count = 0;
    JsonReader item;

    if (room > JOB_LIST_MAX) {
        json_fault(list, "must have at most %d items, has %d", JOB_LIST_MAX, room);
        return 0;
    }
    int *index = arena_array(decoder->arena, int, room);
    bool *is_named = arena_array(decoder->arena, bool, names->count);
    if (decoder->arena->overflowed)
        return 0;
    for (bool is_item = json_first(list, &item); is_item; is_item = json_next(&item)) {
        int named = names_decode(names, &item);

        if (named >= 0 && !is_named[named]) {
            is_named[named] = true;
            index[count++] = named;
        }
    }
    *out = index;
    return count;
}

static Decoder open_decoder(const JobContext *context, Arena *arena)
{
    const Rig *rig = context->rig;
    Decoder decoder = {.context = context, .arena = arena};
    const char **node = arena_array(arena, const char *, rig->node_count);
    const char **mesh = arena_array(arena, const char *, rig->mesh_count);
    const char **spring = arena_array(arena, const char *, rig->spring_count);
    const char **collider = arena_array(arena, const char *, rig->collider_count);

    if (arena->overflowed)
        return decoder;
    for (int i = 0; i < rig->node_count; i++)
        node[i] = rig->node[i].key;
    for (int i = 0; i < rig->mesh_count; i++)
        mesh[i] = rig->mesh[i].key;
    for (int i = 0; i < rig->spring_count; i++)
        spring[i] = rig->spring[i].key;
    for (int i = 0; i < rig->collider_count; i++)
        collider[i] = rig->collider[i].key;
    decoder.node = names_build("node", node, rig->node_count, arena);
    decoder.mesh = names_build("mesh", mesh, rig->mesh_count, arena);
    decoder.spring = names_build("spring chain", spring, rig->spring_count, arena);
    decoder.collider = names_build("collider", collider, rig->collider_count, arena);
    return decoder;
}

/* --- members of the job --- */

static void decode_model(const Decoder *decoder, const JsonReader *root)
{
    JsonReader member = json_member(root, "model");
    const char *id = decoder->context->model_id;
    int before = member.faults->count;

    if (json_is_absent(&member)) {
        if (!decoder->context->is_offline)
            json_fault(&member, "is missing");
        return;
    }
    const char *text = json_as_text(&member, JOB_NAME_MAX);
    if (member.faults->count == before && !decoder->context->is_offline && strcmp(text, id) != 0)
        json_fault(&member, "names the model \"%s\", which does not exist", text);
}

static void decode_forces(const JsonReader *root, ForcesSpec *out)
{
    JsonReader object;
    JsonReader wind;
    float vector[3];

    if (!field_open(root, &job_fields, "forces", &object) || !field_check(&object, &forces_fields))
        return;
    if (field_vector(&object, &forces_fields, "gravity", vector))
        out->gravity = (Vec3){vector[0], vector[1], vector[2]};
    if (!field_open(&object, &forces_fields, "wind", &wind) || !field_check(&wind, &wind_fields))
        return;
    if (field_vector(&wind, &wind_fields, "velocity", vector))
        out->wind_velocity = (Vec3){vector[0], vector[1], vector[2]};
    out->wind_gust = (float)field_number(&wind, &wind_fields, "gust");
    double seed = field_number(&wind, &wind_fields, "seed");
    JsonReader member = json_member(&wind, "seed");
    if (seed != floor(seed))
        json_fault(&member, "must be a whole number");
    out->wind_seed = (uint64_t)seed;
}

/* What this version's simulations write. */
static bool is_written(FrameChannelKind kind)
{
    return kind != CHANNEL_TETS && kind != CHANNEL_CURVES;
}

static void decode_channels(const JsonReader *object, OutputSpec *out)
{
    JsonReader list;
    JsonReader item;
    bool channel[CHANNEL_KIND_COUNT] = {false};

    if (!field_open(object, &output_fields, "channels", &list))
        return;
    for (bool is_item = json_first(&list, &item); is_item; is_item = json_next(&item)) {
        int before = item.faults->count;
        const char *name = json_as_text(&item, JOB_NAME_MAX);
        FrameChannelKind kind = frame_channel_find(name);

        if (item.faults->count != before)
            continue;
        if (kind == CHANNEL_KIND_COUNT)
            json_fault(&item, "must be joints, segments, positions, normals or weights, is \"%s\"",
                       name);
        else if (!is_written(kind))
            json_fault(&item, "names \"%s\", which no simulation of this job writes", name);
        else
            channel[kind] = true;
    }
    memcpy(out->channel, channel, sizeof channel);
}

static void decode_output(const JsonReader *root, OutputSpec *out)
{
    JsonReader object;

    // chains write joints; what follows from joints is made on request
    out->channel[CHANNEL_JOINTS] = true;
    out->channel[CHANNEL_SEGMENTS] = true;
    if (!field_open(root, &job_fields, "output", &object) || !field_check(&object, &output_fields))
        return;
    decode_channels(&object, out);
    if (field_bool(&object, &output_fields, "normals"))
        out->channel[CHANNEL_NORMALS] = true;
    out->precision = json_int_or(&object, "precision", out->precision, 16, 32);
    JsonReader precision = json_member(&object, "precision");
    if (out->precision != 16 && out->precision != 32)
        json_fault(&precision, "must be 16 or 32, is %d", out->precision);
}

/* A mesh by its key, where no node with a mesh has that key; -1: it is something else. */
static int find_hidden_mesh(const Decoder *decoder, const JsonReader *item)
{
    const char *key = json_is_text(item) ? json_as_text(item, JOB_NAME_MAX) : "";
    int node = names_find(&decoder->node, key);

    if (node >= 0 && decoder->context->rig->node[node].mesh >= 0)
        return -1;
    return names_find(&decoder->mesh, key);
}

static int find_hidden_node(const Decoder *decoder, const JsonReader *item)
{
    const Rig *rig = decoder->context->rig;
    int node = names_decode(&decoder->node, item);

    if (node < 0 || rig->node[node].mesh >= 0)
        return node;
    json_fault(item, "names the node \"%s\", which has no mesh", rig->node[node].key);
    return -1;
}

/* Hidden things are named by node or by mesh; a mesh stands for all its nodes. */
static void decode_hidden(const Decoder *decoder, const JsonReader *root, OutputSpec *out)
{
    const Rig *rig = decoder->context->rig;
    JsonReader list;
    JsonReader item;
    bool *is_hidden = arena_array(decoder->arena, bool, rig->node_count);
    int *hidden = arena_array(decoder->arena, int, rig->node_count);

    if (!field_open(root, &job_fields, "hidden", &list) || decoder->arena->overflowed)
        return;
    bool *is_hidden_mesh = arena_array(decoder->arena, bool, rig->mesh_count);
    if (decoder->arena->overflowed)
        return;
    for (bool is_item = json_first(&list, &item); is_item; is_item = json_next(&item)) {
        int mesh = find_hidden_mesh(decoder, &item);
        int node = mesh < 0 ? find_hidden_node(decoder, &item) : -1;

        if (mesh >= 0)
            is_hidden_mesh[mesh] = true;
        else if (node >= 0)
            is_hidden[node] = true;
    }
    for (int i = 0; i < rig->node_count; i++)
        if (is_hidden[i] || (rig->node[i].mesh >= 0 && is_hidden_mesh[rig->node[i].mesh]))
            hidden[out->hidden_count++] = i;
    out->hidden = hidden;
    out->has_hidden_meshes = out->hidden_count > 0;
}

static void decode_gates(const Decoder *decoder, const JsonReader *root, JobSpec *out)
{
    JsonReader map;
    JsonReader member;

    if (!field_open(root, &job_fields, "gates", &map))
        return;
    Gate *gate = arena_array(decoder->arena, Gate, json_count(&map));
    if (decoder->arena->overflowed)
        return;
    for (bool is_member = json_first(&map, &member); is_member; is_member = json_next(&member)) {
        if (!field_check(&member, &gate_fields))
            continue;
        Gate bounds = {
            .name = decoder_keep(decoder, member.key),
            .min = field_number(&member, &gate_fields, "min"),
            .max = field_number(&member, &gate_fields, "max"),
        };

        if (strlen(member.key) > JOB_NAME_MAX || member.key[0] == '\0')
            json_fault(&member, "must have a name of 1 to %d bytes", JOB_NAME_MAX);
        else if (isnan(bounds.min) && isnan(bounds.max))
            json_fault(&member, "must have \"min\" or \"max\"");
        else if (bounds.min > bounds.max)
            json_fault(&member, "must have a \"min\" (%g) that is not above its \"max\" (%g)",
                       bounds.min, bounds.max);
        gate[out->gate_count++] = bounds;
    }
    out->gate = gate;
}

static void decode_tags(const Decoder *decoder, const JsonReader *root, JobSpec *out)
{
    JsonReader map;
    JsonReader member;

    if (!field_open(root, &job_fields, "tags", &map))
        return;
    JobTag *tag = arena_array(decoder->arena, JobTag, json_count(&map));
    if (decoder->arena->overflowed)
        return;
    for (bool is_member = json_first(&map, &member); is_member; is_member = json_next(&member)) {
        size_t size = strlen(member.key);

        if (size == 0 || size > JOB_NAME_MAX || strchr(member.key, ':'))
            json_fault(&member, "must have a key of 1 to %d bytes without \":\"", JOB_NAME_MAX);
        tag[out->tag_count].key = decoder_keep(decoder, member.key);
        tag[out->tag_count++].value = decoder_keep(decoder, json_as_text(&member, JOB_NAME_MAX));
    }
    out->tag = tag;
}

/* --- simulations --- */

static bool check_kind(const JsonReader *item)
{
    JsonReader type = json_member(item, "type");

    if (!json_is_object(item)) {
        json_fault(item, "must be an object");
        return false;
    }
    if (json_is_absent(&type)) {
        json_fault(&type, "is missing: must be \"chains\"");
        return false;
    }
    int before = type.faults->count;
    int kind = field_choice(item, &chains_fields, "type");
    if (type.faults->count != before)
        return false;
    if (kind != SIMULATION_CHAINS) {
        json_fault(&type, "this version cannot simulate \"%s\"",
                   simulation_kind_name((SimulationKind)kind));
        return false;
    }
    return true;
}

static void decode_simulations(const Decoder *decoder, const JsonReader *root, BakeSpec *out)
{
    JsonReader list = json_member(root, "simulations");
    JsonReader item;

    if (json_is_absent(&list)) {
        json_fault(&list, "is missing: must be a list of 1 to %d simulations", JOB_SIMULATIONS_MAX);
        return;
    }
    if (!field_open(root, &job_fields, "simulations", &list))
        return;
    SimulationSpec *simulation = arena_array(decoder->arena, SimulationSpec, json_count(&list));
    if (decoder->arena->overflowed)
        return;
    for (bool is_item = json_first(&list, &item); is_item; is_item = json_next(&item))
        if (check_kind(&item))
            decode_chains(decoder, &item, out->time.substeps_per_second,
                          &simulation[out->simulation_count++]);
    out->simulation = simulation;
}

/* --- the job --- */

static void decode_measures(const JsonReader *root, BakeSpec *out)
{
    JsonReader object;

    if (field_open(root, &job_fields, "measures", &object) &&
        field_check(&object, &measures_fields))
        out->measure_rate = field_integer(&object, &measures_fields, "rate");
}

static void decode_labels(const Decoder *decoder, const JsonReader *root, JobSpec *out)
{
    out->name = decoder_keep(decoder, json_text_or(root, "name", "", JOB_NAME_MAX));
    out->priority = field_integer(root, &job_fields, "priority");
    out->use_cache = field_bool(root, &job_fields, "cache");
    out->is_kept = field_bool(root, &job_fields, "keep");
    decode_tags(decoder, root, out);
    decode_notify(decoder, root, out);
}

static void decode_job(const Decoder *decoder, const JsonReader *root, JobSpec *out)
{
    BakeSpec *bake = &out->bake;

    if (!field_check(root, &job_fields))
        return;
    decode_model(decoder, root);
    decode_labels(decoder, root, out);
    decode_motion(decoder, root, &bake->motion, &out->animation_id);
    decode_time(decoder, root, &bake->motion, &bake->time);
    decode_forces(root, &bake->forces);
    decode_hidden(decoder, root, &bake->output);
    decode_measures(root, bake);
    decode_output(root, &bake->output);
    decode_gates(decoder, root, out);
    decode_simulations(decoder, root, bake);
}

Status job_spec_decode(const JsonDocument *document, const JobContext *context, Arena *arena,
                       Faults *faults, JobSpec *out, Error *err)
{
    JsonReader root = json_root(document, faults);
    Decoder decoder = open_decoder(context, arena);
    JobSpec spec = {.bake = bake_spec_default(), .model_id = context->model_id};

    (void)snprintf(spec.bake.model_sha256, sizeof spec.bake.model_sha256, "%s",
                   context->model_sha256);
    if (!arena->overflowed)
        decode_job(&decoder, &root, &spec);
    if (faults_status(faults, err))
        return err->status;
    if (arena->overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room to decode the job");
    spec.frame_count = (int)job_frame_count(&spec.bake.time);
    if (job_spec_identify(context->rig, arena, &spec, err))
        return err->status;
    *out = spec;
    return STATUS_OK;
}

size_t job_spec_arena_size(size_t body_size, const Rig *rig)
{
    size_t things = (size_t)rig->node_count + (size_t)rig->mesh_count + (size_t)rig->spring_count +
                    (size_t)rig->collider_count + (size_t)rig->clip_count;

    // the tables of names, what is named once a list (at most body / 2 lists of this kind), texts
    return ((size_t)1 << 20) + 96 * things + 32 * JOB_SIMULATIONS_MAX * things + 256 * body_size;
}
