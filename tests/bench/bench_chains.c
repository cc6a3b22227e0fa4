/* Time a step of chains: scene,level,joints,steps,ns_per_joint_step,step_p95_ms, the medians of
 * five runs after one to warm up.
 *
 *     bench_chains [SCENE...]
 *
 * Scenes: 1000x8 and 12x8, "+10" with ten capsules (vrm mode, one step at 60 Hz as three-vrm makes
 * it), rest_Nx8 (rest_frame, N chains of 8 without colliders), head (12 chains, 96 joints, 10
 * capsules in swept contact). The root moves in every step, so that chains swing and touch.
 */
#include "math/scalar.h"
#include "support/stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct BenchScene {
    const char *name;
    int chains;
    int capsules;
    ChainsMode mode;
    int steps;
} BenchScene;

static const BenchScene scenes[] = {
    {"1000x8+10", 1000, 10, CHAINS_VRM, 200},
    {"12x8+10", 12, 10, CHAINS_VRM, 4000},
    {"1000x8", 1000, 0, CHAINS_VRM, 200},
    {"12x8", 12, 0, CHAINS_VRM, 4000},
    {"rest_12x8", 12, 0, CHAINS_REST_FRAME, 4000},
    {"rest_250x8", 250, 0, CHAINS_REST_FRAME, 800},
    {"rest_1000x8", 1000, 0, CHAINS_REST_FRAME, 200},
    {"rest_4000x8", 4000, 0, CHAINS_REST_FRAME, 50},
    {"head_12x8_swept", 12, 10, CHAINS_REST_FRAME, 2000},
};

enum { LINKS = 8, RUNS = 5, MAX_STEPS = 4000 };

static double now_seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Chains round a head, hanging outside of ten capsules about it, some touching them. */
static Stage *open_scene(const BenchScene *scene, SimdLevel level, int *out_root)
{
    Stage *s = stage_open((size_t)1 << 30);
    Vec3 point[LINKS];

    for (int i = 0; i < LINKS; i++)
        point[i] = vec3(0.0f, -0.05f, 0.0f);
    *out_root = stage_node(s, "root", -1, vec3(0.0f, 0.0f, 0.0f));
    int head = stage_node(s, "head", *out_root, vec3(0.0f, 1.5f, 0.0f));
    for (int c = 0; c < scene->chains; c++) {
        double angle = 6.283185307179586 * c / scene->chains;
        char *name = arena_format(&s->arena, "c%d_", c);
        Vec3 root = vec3(0.12f * (float)scalar_cos(angle), 0.05f, 0.12f * (float)scalar_sin(angle));
        stage_chain(s, name, head, root, point, LINKS);
        s->spring[c].has_parameters = scene->mode == CHAINS_VRM;
        for (int i = 0; i < LINKS; i++) {
            s->segment[c][i].gravity_power = 0.2f;
            s->segment[c][i].drag = 0.4f;
            s->segment[c][i].hit_radius = 0.01f;
        }
    }
    for (int k = 0; k < scene->capsules; k++) {
        double angle = 6.283185307179586 * k / scene->capsules;
        float x = (float)scalar_cos(angle), z = (float)scalar_sin(angle);
        stage_collider(s, (RigCollider){.node = head,
                                        .kind = COLLIDER_CAPSULE,
                                        .offset = {0.06f * x, -0.1f, 0.06f * z},
                                        .tail = {0.09f * x, -0.3f, 0.09f * z},
                                        .radius = 0.04f});
    }
    s->simd = level;
    s->spec.rate = scene->mode == CHAINS_VRM ? 60 : 120;
    s->spec.chains.mode = scene->mode;
    stage_start(s);
    return s;
}

/* Seconds of all steps; each one's into `cost` (scene->steps). */
static double run_once(Stage *s, const BenchScene *scene, int root, double *cost)
{
    StepInput input = {.dt = 1.0f / (float)s->spec.rate,
                       .forces = &s->forces,
                       .before = &s->before,
                       .now = &s->pose,
                       .scratch = &s->arena};
    double spent = 0.0;

    for (int step = 0; step < scene->steps; step++) {
        double t = (double)step / s->spec.rate;
        s->pose.local[root].translation.x = 0.1f * (float)scalar_sin(6.0 * t);
        s->pose.local[root].rotation.y = 0.2f * (float)scalar_sin(4.0 * t);
        s->pose.local[root].rotation = quat_normalize(s->pose.local[root].rotation);
        pose_update_world(&s->rig, &s->pose);
        double start = now_seconds();
        if (s->solver->step(s->model, s->state, &input, &s->err))
            exit(1);
        cost[step] = now_seconds() - start;
        spent += cost[step];
    }
    return spent;
}

static int compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_;
    const double *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static void run_scene(const BenchScene *scene, SimdLevel level)
{
    int root;
    Stage *s = open_scene(scene, level, &root);
    double spent[RUNS], p95[RUNS];
    static double cost[MAX_STEPS];
    int joints = scene->chains * LINKS;

    (void)run_once(s, scene, root, cost);
    for (int i = 0; i < RUNS; i++) {
        spent[i] = run_once(s, scene, root, cost);
        qsort(cost, (size_t)scene->steps, sizeof *cost, compare_doubles);
        p95[i] = cost[(scene->steps * 95 + 99) / 100 - 1]; // nearest rank
    }
    qsort(spent, RUNS, sizeof *spent, compare_doubles);
    qsort(p95, RUNS, sizeof *p95, compare_doubles);
    printf("%s,%s,%d,%d,%.2f,%.4f\n", scene->name, simd_level_name(level), joints, scene->steps,
           spent[RUNS / 2] * 1e9 / joints / scene->steps, p95[RUNS / 2] * 1e3);
    (void)fflush(stdout);
    stage_close(s);
}

static bool is_asked_for(const char *name, int argc, char **argv)
{
    bool is_asked = argc < 2;

    for (int i = 1; i < argc; i++)
        is_asked |= !strcmp(name, argv[i]);
    return is_asked;
}

int main(int argc, char **argv)
{
    printf("scene,level,joints,steps,ns_per_joint_step,step_p95_ms\n");
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        for (int level = 0; level <= (int)simd_level_best(); level++) {
            if (is_asked_for(scenes[i].name, argc, argv))
                run_scene(&scenes[i], (SimdLevel)level);
        }
    }
    return 0;
}
