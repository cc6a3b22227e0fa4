/* What each chain and joint is driven by: the file's numbers, what the job says instead, and the
 * bounds that keep a chain calm. */
#include "math/scalar.h"
#include "solvers/chains/model.h"

static const float MAX_STIFFNESS = 14400.0f;
static const float DEFAULT_STIFFNESS = 240.0f; /* 1/s^2 */
static const float DEFAULT_DAMPING = 12.0f;    /* 1/s */
static const float DEFAULT_GRAVITY = 0.5f;     /* m/s^2 */
static const float AUTHORED_RATE = 60.0f;      /* updates a second that VRM files are made for */

static void take(float *value, float other)
{
    if (!isnan(other))
        *value = other;
}

/* The job's word on one chain: its override's, where that is silent the simulation's. */
static ChainParameters merge(const ChainsSpec *spec, int spring)
{
    ChainParameters p = spec->parameters;

    for (int i = 0; i < spec->override_count; i++) {
        const ChainParameters *o = &spec->override[i].parameters;

        if (spec->override[i].spring != spring)
            continue;
        take(&p.stiffness, o->stiffness);
        take(&p.damping, o->damping);
        take(&p.min_damping_ratio, o->min_damping_ratio);
        if (!isnan(o->gravity) || o->gravity_is_vector) {
            p.gravity = o->gravity;
            p.gravity_vector = o->gravity_vector;
            p.gravity_is_vector = o->gravity_is_vector;
        }
        take(&p.preload, o->preload);
        take(&p.radius, o->radius);
        take(&p.angle_limit, o->angle_limit);
        take(&p.inertia_scale, o->inertia_scale);
        take(&p.teleport_distance, o->teleport_distance);
        p.contact = o->contact >= 0 ? o->contact : p.contact;
        p.center = o->center != -2 ? o->center : p.center;
        p.is_disabled = p.is_disabled || o->is_disabled;
    }
    return p;
}

ChainParameters chains_parameters(const ChainsSpec *spec, int spring)
{
    return merge(spec, spring);
}

static Vec3 file_direction(const RigSegment *segment)
{
    return vec3_normalize_or(segment->gravity_dir, vec3(0.0f, -1.0f, 0.0f));
}

static Vec3 resolve_gravity(const ChainParameters *p, const RigSegment *file, bool has_parameters)
{
    if (p->gravity_is_vector)
        return p->gravity_vector;
    if (!isnan(p->gravity))
        return vec3_scale(file_direction(file), p->gravity);
    if (!has_parameters)
        return vec3(0.0f, -DEFAULT_GRAVITY, 0.0f);
    return vec3_scale(file->gravity_dir, AUTHORED_RATE * file->gravity_power);
}

/* k and c as CHAINS.md E.1 "Parameters": what the VRM algorithm does at 60 Hz for small angles. */
static void resolve_spring(const PartDesc *desc, const ChainParameters *p, const RigSegment *file,
                           bool has_parameters, ChainsSegment *out)
{
    const char *joint = desc->rig->node[out->head].key;
    float k = p->stiffness, c = p->damping;

    if (isnan(k) && has_parameters)
        k = out->length > 0.0f ? AUTHORED_RATE * file->stiffness / out->length : 0.0f;
    else if (isnan(k))
        k = DEFAULT_STIFFNESS;
    if (isnan(c) && has_parameters)
        c = -AUTHORED_RATE *
            (float)scalar_log(1.0 - (double)(file->drag < 0.95f ? file->drag : 0.95f));
    else if (isnan(c))
        c = DEFAULT_DAMPING;

    if (k > MAX_STIFFNESS) {
        warnings_add(desc->warnings, "stiffness_capped",
                     "joint \"%s\": stiffness %.0f 1/s^2 is capped at %.0f", joint, (double)k,
                     (double)MAX_STIFFNESS);
        k = MAX_STIFFNESS;
    }
    float ratio = isnan(p->min_damping_ratio) ? 0.35f : p->min_damping_ratio;
    float least = 2.0f * ratio * sqrtf(k);
    // a number that came out of rounding the bound itself is no reason to warn
    if (k > 0.0f && c < least * 0.99999f) {
        warnings_add(desc->warnings, "damping_raised",
                     "joint \"%s\": damping %.2f 1/s is raised to %.2f, a ratio of %.2f", joint,
                     (double)c, (double)least, (double)ratio);
        c = least;
    }
    out->stiffness = k;
    out->damping = c;
}

void chains_resolve_parameters(const PartDesc *desc, const ChainsModel *model, Chain *chain,
                               const RigSpring *spring)
{
    const ChainParameters p = merge(&desc->spec->chains, chain->spring);
    static const RigSegment plain = {
        .stiffness = 1.0f, .drag = 0.5f, .gravity_dir = {0.0f, -1.0f, 0.0f}};

    chain->preload = isnan(p.preload) ? 0.0f : p.preload;
    chain->angle_limit = p.angle_limit;
    chain->inertia_scale = isnan(p.inertia_scale) ? 1.0f : p.inertia_scale;
    chain->teleport_distance = isnan(p.teleport_distance) ? 1.0f : p.teleport_distance;
    chain->contact = p.contact >= 0 ? (ChainsContact)p.contact : desc->spec->chains.contact;
    chain->center = p.center == -2 ? spring->center : p.center;

    for (int i = 0; i < chain->segment_count; i++) {
        ChainsSegment *out = &chain->segment[i];
        const RigSegment *file = spring->has_parameters ? &spring->segment[i] : &plain;

        out->radius = isnan(p.radius) ? file->hit_radius : p.radius;
        if (model->mode == CHAINS_VRM) {
            out->stiffness = file->stiffness;
            out->damping = file->drag;
            out->gravity = vec3_scale(file->gravity_dir, file->gravity_power);
            continue;
        }
        out->gravity = resolve_gravity(&p, file, spring->has_parameters);
        resolve_spring(desc, &p, file, spring->has_parameters, out);
    }
}
