/* Stage: characters built by hand for tests of solvers: nodes, one or more chains, colliders; then
 * the solver alone is stepped with poses that the test sets.
 *
 *     Stage *s = stage_open(64 << 20);
 *     int head = stage_node(s, "head", -1, vec3(0, 1.5f, 0));
 *     stage_chain(s, "lock", head, vec3(0, 0, 0), point, 6);
 *     stage_start(s);
 *     s->pose.local[head].translation = ...; stage_step(s);
 *     Vec3 tail = stage_tail(s, 0, 5);
 *     stage_close(s);
 *
 * Everything is in the scene's arena. Limits are asserted.
 */
#pragma once

#include "core/measure.h"
#include "core/solver.h"

enum { STAGE_MAX_NODES = 70000, STAGE_MAX_COLLIDERS = 64, STAGE_MAX_SPRINGS = 4096 };

typedef struct Stage {
    Arena arena;
    Rig rig;
    RigNode *node;
    RigCollider *collider;
    RigSpring *spring;
    RigSegment **segment; /* of each spring, may be changed before stage_start */
    SimulationSpec spec;
    SimdLevel simd;
    ForcesSpec forces;
    bool *is_rotated; /* (node_count), may be set before stage_start */
    Warnings warnings;
    Pose pose; /* set locals, then stage_step */
    Pose before;
    Pose out; /* what the solver wrote, worlds included */
    const SolverOps *solver;
    const void *model;
    void *state;
    PartInfo info;
    double time;
    Error err;
} Stage;

Stage *stage_open(size_t capacity);
void stage_close(Stage *stage);

int stage_node(Stage *stage, const char *name, int parent, Vec3 translation);
/* A spring of `count` pairs: its first joint at `root` below `parent`, point[i] the tail of pair i
 * from its head. Parameters: none (solver defaults) until the test sets has_parameters. Returns the
 * spring. */
int stage_chain(Stage *stage, const char *name, int parent, Vec3 root, const Vec3 *point,
                int count);
/* Puts the collider into the list of every spring made so far. */
int stage_collider(Stage *stage, RigCollider collider);

/* Finishes the rig, builds and starts the solver in its rest pose; stage->err says why it failed.
 */
Status stage_build(Stage *stage);
/* The same, and the test fails where it fails. */
void stage_start(Stage *stage);
/* One step to what stage->pose says. */
Status stage_step(Stage *stage);
/* The solver's answer after the last step, `t` of the way to it, into stage->out. */
void stage_write(Stage *stage, float t);

/* World places from the last stage_write (stage_step does it, at 1). */
DVec3 stage_place(const Stage *stage, int node);
DVec3 stage_head(const Stage *stage, int segment);
DVec3 stage_tail(const Stage *stage, int segment);
/* Unit, from head to tail. */
Vec3 stage_bone(const Stage *stage, int segment);
/* The first warning of that code, NULL where there is none. */
const char *stage_warning(const Stage *stage, const char *code);
/* A measure of the solver's, NAN where it is missing. */
double stage_measure(Stage *stage, const char *name, const char *target);
