#include "server/jobs/decoder.h"

#include <stdio.h>
#include <string.h>

enum { CANONICAL_MAX = 16 << 20 };

static void write_vector(JsonWriter *writer, const char *key, Vec3 vector)
{
    json_write_floats(writer, key, (const float[]){vector.x, vector.y, vector.z}, 3);
}

static void write_fps(const TimeSpec *time, JsonWriter *writer)
{
    char fraction[32];

    if (time->fps_denominator == 1) {
        json_write_int(writer, "fps", time->fps_numerator);
        return;
    }
    (void)snprintf(fraction, sizeof fraction, "%d/%d", time->fps_numerator, time->fps_denominator);
    json_write_text(writer, "fps", fraction);
}

static void write_motion(const JobSpec *spec, const Rig *rig, JsonWriter *writer)
{
    const MotionSpec *motion = &spec->bake.motion;

    json_begin_object(writer, "animation");
    if (motion->kind == MOTION_CLIP)
        json_write_text(writer, "clip", motion->source->clip[motion->clip].key);
    else
        json_write_text(writer, "procedural", motion_kind_name(motion->kind));
    if (spec->animation_id)
        json_write_text(writer, "animation", spec->animation_id);
    json_write_bool(writer, "in_place", motion->is_in_place);
    write_retarget(motion, rig, writer);
    json_end_object(writer);
}

static void write_time(const TimeSpec *time, JsonWriter *writer)
{
    json_begin_object(writer, "time");
    json_write_double(writer, "start", time->start);
    json_write_double(writer, "end", time->end);
    write_fps(time, writer);
    json_write_int(writer, "substeps_per_second", time->substeps_per_second);
    json_write_double(writer, "warm_up", time->warm_up);
    json_write_double(writer, "settle", time->settle);
    json_write_bool(writer, "loop", time->is_loop);
    json_end_object(writer);
}

static void write_forces(const ForcesSpec *forces, JsonWriter *writer)
{
    json_begin_object(writer, "forces");
    write_vector(writer, "gravity", forces->gravity);
    json_begin_object(writer, "wind");
    write_vector(writer, "velocity", forces->wind_velocity);
    json_write_float(writer, "gust", forces->wind_gust);
    json_write_int(writer, "seed", (int64_t)forces->wind_seed);
    json_end_object(writer);
    json_end_object(writer);
}

static void write_output(const Rig *rig, const OutputSpec *output, JsonWriter *writer)
{
    json_begin_array(writer, "hidden");
    for (int i = 0; i < output->hidden_count; i++)
        json_write_text(writer, NULL, rig->node[output->hidden[i]].key);
    json_end_array(writer);
    json_begin_object(writer, "output");
    json_begin_array(writer, "channels");
    for (int i = 0; i < CHANNEL_KIND_COUNT; i++)
        if (output->channel[i])
            json_write_text(writer, NULL, frame_channel_name((FrameChannelKind)i));
    json_end_array(writer);
    json_write_bool(writer, "normals", output->channel[CHANNEL_NORMALS]);
    json_write_int(writer, "precision", output->precision);
    json_end_object(writer);
}

static void write_gates(const JobSpec *spec, JsonWriter *writer)
{
    json_begin_object(writer, "gates");
    for (int i = 0; i < spec->gate_count; i++) {
        json_begin_object(writer, spec->gate[i].name);
        json_write_double(writer, "min", spec->gate[i].min);
        json_write_double(writer, "max", spec->gate[i].max);
        json_end_object(writer);
    }
    json_end_object(writer);
}

/* --- chains --- */

static const char *chain_key(const Rig *rig, const ChainsSpec *chains, int spring)
{
    return spring < rig->spring_count ? rig->spring[spring].key
                                      : chains->define[spring - rig->spring_count].name;
}

static void write_node(const Rig *rig, JsonWriter *writer, const char *key, int node)
{
    json_write_text(writer, key, node < 0 ? NULL : rig->node[node].key);
}

/* NaN is written as null: the file's or the simulation's own. */
static void write_parameters(const Rig *rig, const ChainParameters *parameters, JsonWriter *writer)
{
    json_write_float(writer, "stiffness", parameters->stiffness);
    json_write_float(writer, "damping", parameters->damping);
    if (parameters->gravity_is_vector)
        write_vector(writer, "gravity", parameters->gravity_vector);
    else
        json_write_float(writer, "gravity", parameters->gravity);
    json_write_float(writer, "radius", parameters->radius);
    json_write_float(writer, "angle_limit", parameters->angle_limit);
    json_write_float(writer, "inertia_scale", parameters->inertia_scale);
    json_write_float(writer, "teleport_distance", parameters->teleport_distance);
    if (parameters->center == -1)
        json_write_bool(writer, "center", false);
    else
        write_node(rig, writer, "center", parameters->center);
}

static void write_overrides(const Rig *rig, const ChainsSpec *chains, JsonWriter *writer)
{
    const Field *contact = field_get(&override_fields, "contact");

    json_begin_object(writer, "overrides");
    for (int i = 0; i < chains->override_count; i++) {
        const ChainOverride *override = &chains->override[i];
        const ChainParameters *parameters = &override->parameters;

        json_begin_object(writer, chain_key(rig, chains, override->spring));
        json_write_bool(writer, "enabled", !parameters->is_disabled);
        write_parameters(rig, parameters, writer);
        json_write_float(writer, "min_damping_ratio", parameters->min_damping_ratio);
        json_write_float(writer, "preload", parameters->preload);
        json_write_text(writer, "contact",
                        parameters->contact < 0 ? NULL : contact->choice[parameters->contact]);
        json_end_object(writer);
    }
    json_end_object(writer);
}

static void write_defines(const Rig *rig, const ChainsSpec *chains, JsonWriter *writer)
{
    json_begin_array(writer, "define");
    for (int i = 0; i < chains->define_count; i++) {
        json_begin_object(writer, NULL);
        json_write_text(writer, "name", chains->define[i].name);
        write_node(rig, writer, "root", chains->define[i].root);
        write_node(rig, writer, "end", chains->define[i].end);
        write_node(rig, writer, "attach", chains->define[i].attach);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_choice(JsonWriter *writer, const char *key, int value)
{
    json_write_text(writer, key, field_get(&chains_fields, key)->choice[value]);
}

static void write_target(const Rig *rig, const ChainsSpec *chains, JsonWriter *writer)
{
    if (chains->target_count < 0) {
        json_write_text(writer, "target", "*");
        return;
    }
    json_begin_array(writer, "target");
    for (int i = 0; i < chains->target_count; i++)
        json_write_text(writer, NULL, chain_key(rig, chains, chains->target[i]));
    json_end_array(writer);
}

static void write_colliders(const Rig *rig, const SimulationSpec *simulation, JsonWriter *writer)
{
    if (simulation->colliders == COLLIDERS_FILE) {
        json_write_text(writer, "colliders", simulation->has_surface ? "surface" : "file");
        return;
    }
    json_begin_array(writer, "colliders");
    for (int i = 0; i < simulation->collider_count; i++)
        json_write_text(writer, NULL, rig->collider[simulation->collider[i]].key);
    json_end_array(writer);
}

static void write_simulation(const Rig *rig, const SimulationSpec *simulation, JsonWriter *writer)
{
    const ChainsSpec *chains = &simulation->chains;

    json_begin_object(writer, NULL);
    json_write_text(writer, "type", simulation_kind_name(simulation->kind));
    json_write_bool(writer, "enabled", simulation->is_enabled);
    json_write_int(writer, "rate", simulation->rate);
    write_colliders(rig, simulation, writer);
    // left out where it is false, as in jobs of before there was fitting: their keys stay
    if (simulation->is_fitted)
        json_write_bool(writer, "fit_colliders", true);
    write_target(rig, chains, writer);
    write_choice(writer, "mode", (int)chains->mode);
    if (chains->mode == CHAINS_VRM) {
        write_choice(writer, "vrm_length", (int)chains->vrm_length);
    } else {
        write_choice(writer, "rest", (int)chains->rest);
        write_choice(writer, "contact", (int)chains->contact);
        write_choice(writer, "contact_velocity", (int)chains->contact_velocity);
        json_write_bool(writer, "two_way", chains->is_two_way);
        json_write_bool(writer, "self_contact", chains->has_self_contact);
        json_write_float(writer, "min_damping_ratio", chains->parameters.min_damping_ratio);
        json_write_float(writer, "preload", chains->parameters.preload);
    }
    write_parameters(rig, &chains->parameters, writer);
    write_defines(rig, chains, writer);
    write_overrides(rig, chains, writer);
    json_end_object(writer);
}

/* --- the job --- */

static void write_job(const Rig *rig, const JobSpec *spec, JsonWriter *writer)
{
    const BakeSpec *bake = &spec->bake;

    json_begin_object(writer, NULL);
    json_write_text(writer, "model", spec->model_id);
    write_motion(spec, rig, writer);
    write_time(&bake->time, writer);
    json_begin_array(writer, "simulations");
    for (int i = 0; i < bake->simulation_count; i++)
        write_simulation(rig, &bake->simulation[i], writer);
    json_end_array(writer);
    write_forces(&bake->forces, writer);
    json_begin_object(writer, "measures");
    json_write_int(writer, "rate", bake->measure_rate);
    json_end_object(writer);
    write_output(rig, &bake->output, writer);
    write_gates(spec, writer);
    json_end_object(writer);
}

static void compute_key(JobSpec *spec)
{
    uint8_t digest[SHA256_SIZE];
    char version[32];
    Sha256 hash;

    int length = snprintf(version, sizeof version, "\nsim %d", (int)SIM_VERSION);
    sha256_begin(&hash);
    sha256_add(&hash, spec->canonical, strlen(spec->canonical));
    sha256_add(&hash, version, (size_t)length);
    sha256_end(&hash, digest);
    sha256_hex(digest, spec->key);
}

Status job_spec_identify(const Rig *rig, Arena *arena, JobSpec *spec, Error *err)
{
    Text plain = text_open(CANONICAL_MAX, err);
    Text sorted = text_open(CANONICAL_MAX, err);
    JsonWriter writer = json_writer(&plain, 0);
    JsonDocument document = {0};

    write_job(rig, spec, &writer);
    Bytes bytes = {(const uint8_t *)text_string(&plain), text_length(&plain)};
    if (!err->status && !json_open(bytes, JOB_JSON_DEPTH, &document, err))
        json_write_canonical(&document, &sorted);
    if (!err->status) {
        spec->canonical = arena_text(arena, text_string(&sorted), text_length(&sorted));
        if (!spec->canonical)
            error_set(err, STATUS_NO_MEMORY, "no room for the canonical job");
        else
            compute_key(spec);
    }
    json_close(&document);
    text_close(&plain);
    text_close(&sorted);
    return err->status;
}
