#include "sim/bake.h"

#include <string.h>

const char *simulation_kind_name(SimulationKind kind)
{
    static const char *const names[SIMULATION_KIND_COUNT] = {"face", "flesh", "cloth", "chains",
                                                             "strands"};

    return names[kind];
}

static const struct {
    const char *name;
    double duration; /* seconds */
} motions[MOTION_KIND_COUNT] = {
    [MOTION_STILL] = {"still", 4.0},         [MOTION_CLIP] = {"clip", 0.0},
    [MOTION_HEAD_TURN] = {"head_turn", 4.0}, [MOTION_TURN] = {"turn", 2.0},
    [MOTION_SWING] = {"swing", 1.5},         [MOTION_JUMP] = {"jump", 4.0},
    [MOTION_DROP] = {"drop", 4.0},           [MOTION_ARM_BEND] = {"arm_bend", 4.0},
    [MOTION_BACK_FLIP] = {"back_flip", 6.0},
};

const char *motion_kind_name(MotionKind kind)
{
    return motions[kind].name;
}

MotionKind motion_kind_find(const char *name)
{
    int kind = 0;

    while (kind < MOTION_KIND_COUNT && strcmp(motions[kind].name, name) != 0)
        kind++;
    return (MotionKind)kind;
}

double motion_kind_duration(MotionKind kind)
{
    return motions[kind].duration;
}

BakeSpec bake_spec_default(void)
{
    return (BakeSpec){
        .motion = {.kind = MOTION_STILL},
        .time = {.end = motion_kind_duration(MOTION_STILL),
                 .fps_numerator = 30,
                 .fps_denominator = 1,
                 .substeps_per_second = 120,
                 .warm_up = 0.5},
        .forces = {.gravity = {0.0f, -9.81f, 0.0f}, .wind_seed = 1},
        .output = {.precision = 16},
        .measure_rate = 30,
    };
}

ChainParameters chain_parameters_default(void)
{
    return (ChainParameters){
        .stiffness = NAN,
        .damping = NAN,
        .min_damping_ratio = NAN,
        .gravity = NAN,
        .preload = NAN,
        .radius = NAN,
        .angle_limit = NAN,
        .inertia_scale = NAN,
        .teleport_distance = NAN,
        .contact = -1,
        .center = -2,
    };
}

ChainsSpec chains_spec_default(void)
{
    ChainParameters parameters = chain_parameters_default();

    // stiffness, damping, gravity and radius stay the file's
    parameters.min_damping_ratio = 0.35f;
    parameters.preload = 0.0f;
    parameters.inertia_scale = 1.0f;
    parameters.teleport_distance = 1.0f;
    return (ChainsSpec){
        .mode = CHAINS_REST_FRAME,
        .rest = CHAINS_REST_ATTACHMENT,
        .contact = CHAINS_CONTACT_AUTO,
        .contact_velocity = CHAINS_VELOCITY_REBUILT,
        .vrm_length = CHAINS_LENGTH_TRUE,
        .parameters = parameters,
        .target_count = -1,
    };
}

/* Of the divisors and multiples of the tick, the one nearest to `wanted` in ratio, the higher one
 * of two equally near. */
static int nearest_rate(int wanted, int tick)
{
    int best = tick;
    double best_ratio = (double)INFINITY;

    for (int n = 1; n <= tick || n * tick <= 2 * wanted; n++) {
        const int candidate[2] = {n <= tick && tick % n == 0 ? n : tick, n * tick};

        for (int i = 0; i < 2; i++) {
            double ratio = (double)candidate[i] / wanted;
            ratio = ratio < 1.0 ? 1.0 / ratio : ratio;
            if (ratio < best_ratio || (ratio == best_ratio && candidate[i] > best)) {
                best_ratio = ratio;
                best = candidate[i];
            }
        }
    }
    return best;
}

int simulation_default_rate(SimulationKind kind, int mode, int substeps_per_second)
{
    switch (kind) {
    case SIMULATION_CHAINS:
        return nearest_rate(mode == CHAINS_VRM ? 60 : 120, substeps_per_second);
    case SIMULATION_CLOTH:
        return nearest_rate(60, substeps_per_second);
    case SIMULATION_FLESH:
        return nearest_rate(600, substeps_per_second);
    case SIMULATION_STRANDS:
        return nearest_rate(240, substeps_per_second);
    default:
        return substeps_per_second;
    }
}
