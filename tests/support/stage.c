#include "support/stage.h"

#include "support/check.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

Stage *stage_open(size_t capacity)
{
    Arena arena = test_arena(capacity);
    Stage *s = arena_array(&arena, Stage, 1);

    CHECK(s != NULL);
    s->arena = arena;
    s->node = arena_array(&s->arena, RigNode, STAGE_MAX_NODES);
    s->collider = arena_array(&s->arena, RigCollider, STAGE_MAX_COLLIDERS);
    s->spring = arena_array(&s->arena, RigSpring, STAGE_MAX_SPRINGS);
    s->segment = arena_array(&s->arena, RigSegment *, STAGE_MAX_SPRINGS);
    CHECK(!s->arena.overflowed);
    s->spec = (SimulationSpec){.kind = SIMULATION_CHAINS,
                               .is_enabled = true,
                               .rate = 120,
                               .colliders = COLLIDERS_FILE,
                               .chains = chains_spec_default()};
    s->simd = simd_level_best();
    s->warnings = warnings_open(&s->arena, 64);
    s->solver = &chains_solver;
    for (int i = 0; i < ROLE_COUNT; i++)
        s->rig.role[i] = -1;
    return s;
}

void stage_close(Stage *stage)
{
    Arena arena = stage->arena;

    arena_destroy(&arena);
}

int stage_node(Stage *s, const char *name, int parent, Vec3 translation)
{
    assert(s->rig.node_count < STAGE_MAX_NODES);
    s->node[s->rig.node_count] = (RigNode){.name = name,
                                           .parent = parent,
                                           .mesh = -1,
                                           .skin = -1,
                                           .rest_weight = -1,
                                           .rest = transform_identity()};
    s->node[s->rig.node_count].rest.translation = translation;
    return s->rig.node_count++;
}

int stage_chain(Stage *s, const char *name, int parent, Vec3 root, const Vec3 *point, int count)
{
    int index = s->rig.spring_count++;
    RigSegment *segment = arena_array(&s->arena, RigSegment, count);
    int head = stage_node(s, arena_format(&s->arena, "%s0", name), parent, root);

    assert(index < STAGE_MAX_SPRINGS && segment);
    for (int i = 0; i < count; i++) {
        int tail = stage_node(s, arena_format(&s->arena, "%s%d", name, i + 1), head, point[i]);
        segment[i] = (RigSegment){.head = head,
                                  .tail = tail,
                                  .tail_offset = point[i],
                                  .stiffness = 1.0f,
                                  .drag = 0.5f,
                                  .gravity_dir = {0.0f, -1.0f, 0.0f}};
        head = tail;
    }
    s->segment[index] = segment;
    s->spring[index] = (RigSpring){.name = name,
                                   .center = -1,
                                   .segment_count = count,
                                   .segment = segment,
                                   .collider = arena_array(&s->arena, int, STAGE_MAX_COLLIDERS)};
    return index;
}

int stage_collider(Stage *s, RigCollider collider)
{
    int index = s->rig.collider_count++;

    assert(index < STAGE_MAX_COLLIDERS);
    if (!collider.key)
        collider.key = arena_format(&s->arena, "collider%d", index);
    s->collider[index] = collider;
    for (int i = 0; i < s->rig.spring_count; i++) {
        int *list = arena_array(&s->arena, int, s->spring[i].collider_count + 1);
        if (s->spring[i].collider_count)
            memcpy(list, s->spring[i].collider, (size_t)s->spring[i].collider_count * sizeof *list);
        list[s->spring[i].collider_count++] = index;
        s->spring[i].collider = list;
    }
    return index;
}

static PartDesc describe(Stage *s)
{
    return (PartDesc){.rig = &s->rig,
                      .spec = &s->spec,
                      .dt = 1.0f / (float)s->spec.rate,
                      .simd = s->simd,
                      .is_rotated = s->is_rotated,
                      .warnings = &s->warnings};
}

Status stage_build(Stage *s)
{
    s->rig.format = "sample";
    s->rig.name = "scene";
    s->rig.unit = 1.0;
    s->rig.node = s->node;
    s->rig.collider = s->collider;
    s->rig.spring = s->spring;
    if (s->model == NULL && rig_finish(&s->rig, &s->arena, &s->err))
        return s->err.status;
    PartDesc desc = describe(s);
    if (s->solver->build(&desc, &s->arena, &s->model, &s->err) ||
        pose_build(&s->rig, &s->arena, &s->pose, &s->err) ||
        pose_build(&s->rig, &s->arena, &s->before, &s->err) ||
        pose_build(&s->rig, &s->arena, &s->out, &s->err))
        return s->err.status;
    s->solver->describe(s->model, &s->info);
    return s->solver->start(s->model, &s->pose, &s->arena, &s->state, &s->err);
}

void stage_start(Stage *s)
{
    (void)!stage_build(s);
    CHECK_OK(&s->err);
}

Status stage_step(Stage *s)
{
    size_t mark = arena_mark(&s->arena);

    pose_update_world(&s->rig, &s->pose);
    s->time += 1.0 / s->spec.rate;
    StepInput input = {.time = s->time,
                       .dt = 1.0f / (float)s->spec.rate,
                       .forces = &s->forces,
                       .before = &s->before,
                       .now = &s->pose,
                       .scratch = &s->arena};
    Status status = s->solver->step(s->model, s->state, &input, &s->err);
    arena_rewind(&s->arena, mark);
    if (status)
        return status;
    pose_copy(&s->rig, &s->pose, &s->before);
    stage_write(s, 1.0f);
    return status;
}

void stage_write(Stage *s, float t)
{
    pose_copy(&s->rig, &s->pose, &s->out);
    s->solver->pose(s->model, s->state, t, &s->out);
    pose_update_world(&s->rig, &s->out);
}

DVec3 stage_place(const Stage *s, int node)
{
    return s->out.world[node].origin;
}

DVec3 stage_head(const Stage *s, int segment)
{
    return stage_place(s, s->info.segment[segment].head);
}

DVec3 stage_tail(const Stage *s, int segment)
{
    const PartSegment *part = &s->info.segment[segment];

    return world_point(&s->out.world[part->head], part->tail_offset);
}

Vec3 stage_bone(const Stage *s, int segment)
{
    return vec3_normalize_or(dvec3_offset(stage_tail(s, segment), stage_head(s, segment)),
                             vec3(0.0f, 0.0f, 0.0f));
}

const char *stage_warning(const Stage *s, const char *code)
{
    for (int i = 0; i < s->warnings.count; i++) {
        if (!strcmp(s->warnings.warning[i].code, code))
            return s->warnings.warning[i].detail;
    }
    return NULL;
}

double stage_measure(Stage *s, const char *name, const char *target)
{
    enum { ROOM = 4096 };
    double value = (double)NAN;
    size_t mark = arena_mark(&s->arena);
    MeasureSink sink = {.arena = &s->arena,
                        .row_capacity = ROOM,
                        .row = arena_array(&s->arena, MeasureRow, ROOM),
                        .warnings = &s->warnings};

    CHECK(sink.row != NULL);
    s->solver->measure(s->model, s->state, &sink);
    for (int i = 0; i < sink.row_count; i++) {
        if (!strcmp(sink.row[i].name, name) && !strcmp(sink.row[i].target, target))
            value = sink.row[i].is_missing ? (double)NAN : sink.row[i].value;
    }
    arena_rewind(&s->arena, mark);
    return value;
}
