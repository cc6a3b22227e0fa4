#include "support/scene.h"

#include "math/scalar.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

/* --- the character --- */

static RigNode node_at(const char *name, int parent, float x, float y, float z)
{
    RigNode node = {
        .name = name, .parent = parent, .mesh = -1, .skin = -1, .rest = transform_identity()};

    node.rest.translation = vec3(x, y, z);
    return node;
}

static const RigNode *scene_nodes(Arena *arena)
{
    RigNode *node = arena_array(arena, RigNode, SCENE_NODES);

    node[SCENE_ROOT] = node_at("root", -1, 0.0f, 1.0f, 0.0f);
    node[SCENE_HEAD] = node_at("head", SCENE_ROOT, 0.0f, 0.5f, 0.0f);
    node[SCENE_HAIR0] = node_at("hair0", SCENE_HEAD, 0.0f, 0.0f, -0.1f);
    node[SCENE_HAIR1] = node_at("hair1", SCENE_HAIR0, 0.0f, 0.0f, -0.1f);
    node[SCENE_HAIR2] = node_at("hair2", SCENE_HAIR1, 0.0f, 0.0f, -0.1f);
    node[SCENE_STRIP] = node_at("strip", -1, 0.0f, 0.0f, 0.0f);
    node[SCENE_STRIP].mesh = 0;
    node[SCENE_STRIP].skin = 0;
    return node;
}

static const RigMesh *scene_mesh(Arena *arena)
{
    static const uint32_t index[18] = {0, 1, 2, 2, 1, 3, 2, 3, 4, 4, 3, 5, 4, 5, 6, 6, 5, 7};
    Vec3 *position = arena_array(arena, Vec3, 8);
    uint16_t *joint = arena_array(arena, uint16_t, 32);
    float *weight = arena_array(arena, float, 32);
    RigPrimitive *primitive = arena_array(arena, RigPrimitive, 1);
    RigMesh *mesh = arena_array(arena, RigMesh, 1);

    for (int v = 0; v < 8; v++) {
        position[v] = vec3(v & 1 ? 0.01f : -0.01f, 1.5f, -0.1f - 0.1f * (float)(v / 2));
        joint[4 * v] = (uint16_t)(v / 2 < 3 ? v / 2 : 2);
        weight[4 * v] = 1.0f;
    }
    *primitive = (RigPrimitive){.vertex_count = 8,
                                .index_count = 18,
                                .influence_count = 4,
                                .material = -1,
                                .position = position,
                                .index = index,
                                .joint = joint,
                                .weight = weight};
    *mesh = (RigMesh){.name = "hair", .primitive_count = 1, .primitive = primitive};
    return mesh;
}

static const RigSkin *scene_skin(Arena *arena)
{
    static const int joint[3] = {SCENE_HAIR0, SCENE_HAIR1, SCENE_HAIR2};
    Affine *inverse_bind = arena_array(arena, Affine, 3);
    RigSkin *skin = arena_array(arena, RigSkin, 1);

    for (int j = 0; j < 3; j++)
        inverse_bind[j] = (Affine){{1, 0, 0, 0, 0, 1, 0, -1.5f, 0, 0, 1, 0.1f + 0.1f * (float)j}};
    *skin = (RigSkin){.joint_count = 3, .joint = joint, .inverse_bind = inverse_bind};
    return skin;
}

static const Clip *scene_clip(Arena *arena)
{
    static const double time[3] = {0.0, 0.5, 1.0};
    static const float place[9] = {0, 1, 0, 0.3f, 1, 0, 0, 1, 0};
    static const float turned[12] = {0, 0, 0, 1, 0, 0.6f, 0, 0.8f, 0, 0, 0, 1};
    ClipChannel *channel = arena_array(arena, ClipChannel, 2);
    Clip *clip = arena_array(arena, Clip, 1);

    channel[0] = (ClipChannel){.node = SCENE_ROOT,
                               .path = CLIP_TRANSLATION,
                               .key_count = 3,
                               .width = 3,
                               .time = time,
                               .value = place};
    channel[1] = (ClipChannel){.node = SCENE_HEAD,
                               .path = CLIP_ROTATION,
                               .key_count = 3,
                               .width = 4,
                               .time = time,
                               .value = turned};
    *clip = (Clip){.name = "wave", .duration = 1.0, .channel_count = 2, .channel = channel};
    return clip;
}

static const RigSpring *scene_spring(Arena *arena)
{
    RigSegment *segment = arena_array(arena, RigSegment, 2);
    RigSpring *spring = arena_array(arena, RigSpring, 1);

    for (int i = 0; i < 2; i++)
        segment[i] = (RigSegment){.head = SCENE_HAIR0 + i,
                                  .tail = SCENE_HAIR1 + i,
                                  .tail_offset = {0.0f, 0.0f, -0.1f},
                                  .stiffness = 1.0f,
                                  .drag = 0.4f,
                                  .gravity_dir = {0.0f, -1.0f, 0.0f}};
    *spring = (RigSpring){.name = "hair",
                          .center = -1,
                          .has_parameters = true,
                          .segment_count = 2,
                          .segment = segment};
    return spring;
}

const Rig *scene_rig(Arena *arena)
{
    Error err = {0};
    Rig *rig = arena_array(arena, Rig, 1);

    *rig = (Rig){.format = "sample",
                 .name = "scene",
                 .unit = 1.0,
                 .node_count = SCENE_NODES,
                 .mesh_count = 1,
                 .skin_count = 1,
                 .clip_count = 1,
                 .spring_count = 1,
                 .node = scene_nodes(arena),
                 .mesh = scene_mesh(arena),
                 .skin = scene_skin(arena),
                 .clip = scene_clip(arena),
                 .spring = scene_spring(arena)};
    CHECK_INT(rig_finish(rig, arena, &err), ==, STATUS_OK);
    return rig;
}

BakeSpec scene_spec(const Rig *rig, const SimulationSpec *simulation, int count)
{
    BakeSpec spec = bake_spec_default();

    spec.motion = (MotionSpec){.kind = MOTION_STILL, .source = rig};
    spec.time.end = 1.0;
    spec.simulation = simulation;
    spec.simulation_count = count;
    spec.output.channel[CHANNEL_JOINTS] = true;
    spec.output.channel[CHANNEL_SEGMENTS] = true;
    spec.output.channel[CHANNEL_POSITIONS] = true;
    return spec;
}

/* --- the solver --- */

typedef struct SceneModel {
    const Rig *rig;
    ChainParameters parameters;
    int count;
    const int *node;
    bool *is_driven;
    const char **key;
    PartSegment *segment;
} SceneModel;

typedef struct SceneState {
    float angle, before, velocity, carrier_speed;
} SceneState;

static Status scene_solver_build(const PartDesc *desc, Arena *arena, const void **out, Error *err)
{
    const ChainsSpec *chains = &desc->spec->chains;
    SceneModel *model = arena_array(arena, SceneModel, 1);
    bool *is_driven = arena_array(arena, bool, desc->rig->node_count);
    const char **key = arena_array(arena, const char *, 1);
    PartSegment *segment = arena_array(arena, PartSegment, chains->target_count);

    if (!model || !is_driven || !key || !segment)
        return error_set(err, STATUS_NO_MEMORY, "no room for the test's solver");
    for (int i = 0; i < chains->target_count; i++) {
        int node = chains->target[i];

        is_driven[node] = true;
        segment[i] = (PartSegment){.key = desc->rig->node[node].key,
                                   .head = node,
                                   .tail = -1,
                                   .tail_offset = {0.0f, 0.0f, -0.1f}};
    }
    key[0] = "chain";
    *model = (SceneModel){.rig = desc->rig,
                          .parameters = chains->parameters,
                          .count = chains->target_count,
                          .node = chains->target,
                          .is_driven = is_driven,
                          .key = key,
                          .segment = segment};
    *out = model;
    return STATUS_OK;
}

static void scene_solver_describe(const void *model_, PartInfo *out)
{
    const SceneModel *model = model_;

    *out = (PartInfo){.is_driven = model->is_driven,
                      .chain_count = 1,
                      .chain_key = model->key,
                      .segment_count = model->count,
                      .segment = model->segment};
}

static Status scene_solver_start(const void *model_, const Pose *pose, Arena *arena, void **out,
                                 Error *err)
{
    const SceneModel *model = model_;
    SceneState *state = arena_array(arena, SceneState, 1);

    (void)pose;
    if (!state)
        return error_set(err, STATUS_NO_MEMORY, "no room for the test's solver");
    if (!isnan(model->parameters.radius))
        state->angle = state->before = model->parameters.radius;
    *out = state;
    return STATUS_OK;
}

static Status scene_solver_step(const void *model_, void *state_, const StepInput *input,
                                Error *err)
{
    const SceneModel *model = model_;
    const ChainParameters *parameters = &model->parameters;
    SceneState *state = state_;
    int carrier = model->rig->node[model->node[0]].parent;
    float *scratch = arena_scratch(input->scratch, float, 2);

    if (!scratch)
        return error_set(err, STATUS_NO_MEMORY, "no room for a step of the test's solver");
    scratch[0] =
        dvec3_offset(input->now->world[carrier].origin, input->before->world[carrier].origin).x /
        input->dt;
    scratch[1] = scratch[0] - state->carrier_speed;
    state->carrier_speed = scratch[0];
    state->before = state->angle;
    if (isnan(parameters->radius)) {
        state->velocity += scratch[1] * 5.0f - input->dt * (parameters->stiffness * state->angle +
                                                            parameters->damping * state->velocity);
        state->angle += input->dt * state->velocity;
    }
    if (input->time >= (double)parameters->gravity)
        state->angle = NAN;
    return STATUS_OK;
}

static void scene_solver_pose(const void *model_, const void *state_, float t, Pose *pose)
{
    const SceneModel *model = model_;
    const SceneState *state = state_;
    double angle =
        (double)(t < 1.0f ? state->before + (state->angle - state->before) * t : state->angle);
    double s, c;

    scalar_sin_cos(0.5 * angle, &s, &c);
    for (int i = 0; i < model->count; i++)
        pose->local[model->node[i]].rotation = (Quat){0.0f, 0.0f, (float)s, (float)c};
}

static uint64_t scene_solver_hash(const void *model_, const void *state_, uint64_t seed)
{
    const SceneState *state = state_;
    uint32_t bits[4];

    (void)model_;
    memcpy(bits, state, sizeof bits);
    for (int i = 0; i < 4; i++)
        seed = (seed ^ bits[i]) * 0x100000001b3u;
    return seed;
}

const SolverOps scene_solver = {.name = "test",
                                .build = scene_solver_build,
                                .describe = scene_solver_describe,
                                .start = scene_solver_start,
                                .step = scene_solver_step,
                                .pose = scene_solver_pose,
                                .hash = scene_solver_hash};

SimulationSpec scene_simulation(const int *node, int count, int rate)
{
    SimulationSpec simulation = {.kind = SIMULATION_CHAINS,
                                 .is_enabled = true,
                                 .rate = rate,
                                 .chains = chains_spec_default()};

    simulation.chains.target = node;
    simulation.chains.target_count = count;
    simulation.chains.parameters.stiffness = 240.0f;
    simulation.chains.parameters.damping = 12.0f;
    return simulation;
}

Status scene_build(const Rig *rig, const BakeSpec *spec, Arena *arena, const BakeModel **out,
                   Error *err)
{
    const SolverOps *const solver[SIMULATION_KIND_COUNT] = {NULL, &scene_solver, &scene_solver,
                                                            &scene_solver, &scene_solver};
    const BakeOptions options = {.simd = simd_level_best()};

    return bake_build_with(&(BakeDesc){rig, spec, &options, solver}, arena, out, err);
}
