/* What leaves the solver: joint rotations and measures. */
#include "core/measure.h"
#include "math/scalar.h"
#include "solvers/chains/model.h"

/* --- pose --- */

/* The local rotations of one chain in one of the two steps kept, joint by joint from the root. */
typedef struct JointWalk {
    int which;
    Quat above; /* world rotation of the head before, or of the root's parent */
    Quat base;  /* what unposed rotations are on top of */
    Vec3 head;
} JointWalk;

static bool is_parent_rest(const ChainsModel *model)
{
    return model->mode == CHAINS_VRM || model->rest == CHAINS_REST_PARENT;
}

static JointWalk begin_walk(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                            int which)
{
    const ChainFrame *frame = &state->frame[which][chain - model->chain];

    return (JointWalk){.which = which,
                       .above = chain->parent < 0 ? quat_identity() : frame->parent,
                       .base = model->mode == CHAINS_VRM ? frame->parent : frame->attach,
                       .head = frame->origin};
}

static Quat walk_joint(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                       int i, JointWalk *walk)
{
    const ChainsSegment *s = &chain->segment[i];
    bool is_on_parent = is_parent_rest(model);
    Vec3 tail = chains_tail(model, state, chain, i, walk->which);
    Quat unposed = quat_mul(walk->base, is_on_parent ? s->link : s->rest_rotation);
    Quat world = chains_turn(s, unposed, walk->head, tail);
    Quat local = quat_mul(quat_conjugate(quat_mul(walk->above, s->skip)), world);

    walk->above = world;
    if (is_on_parent)
        walk->base = world;
    walk->head = tail;
    return local;
}

/* Local rotations of one chain, `t` of the way between its last two steps. */
static void pose_chain(const ChainsModel *model, const ChainsState *state, const Chain *chain,
                       float t, Pose *pose)
{
    JointWalk before = begin_walk(model, state, chain, 1 - state->now);
    JointWalk now = begin_walk(model, state, chain, state->now);

    for (int i = 0; i < chain->segment_count; i++) {
        Quat from = walk_joint(model, state, chain, i, &before);
        Quat to = walk_joint(model, state, chain, i, &now);

        pose->local[chain->segment[i].head].rotation =
            t >= 1.0f ? quat_normalize(to) : quat_nlerp(from, to, t);
    }
}

void chains_pose(const void *model_, const void *state_, float t, Pose *pose)
{
    const ChainsModel *model = model_;

    for (int i = 0; i < model->chain_count; i++)
        pose_chain(model, state_, &model->chain[i], t, pose);
}

/* --- measures --- */

static double angle_between(Vec3 a, Vec3 b)
{
    double lengths = (double)vec3_length(a) * (double)vec3_length(b);

    return lengths > 0.0 ? scalar_acos((double)vec3_dot(a, b) / lengths) : 0.0;
}

static void sample_chain(const ChainsModel *model, const Chain *chain, const Pose *pose,
                         bool is_settling, ChainsTotals *total)
{
    Vec3 chord = {0.0f, 0.0f, 0.0f}, before = {0.0f, 0.0f, 0.0f};
    double bend = 0.0;

    for (int i = 0; i < chain->segment_count; i++) {
        const World *world = &pose->world[chain->segment[i].head];
        Vec3 bone = mat3_apply(&world->basis, chain->segment[i].tail_offset);

        if (i > 0)
            bend += angle_between(before, bone);
        chord = vec3_add(chord, bone);
        before = bone;
    }
    float scale = chain->parent < 0 ? 1.0f : world_max_scale(&pose->world[chain->parent]);
    double excess = bend - (double)chain->bend0;
    double chord0 = (double)(chain->chord0 * scale);
    double shortening = chord0 > 0.0 ? 1.0 - (double)vec3_length(chord) / chord0 : 0.0;
    (void)model;
    if (total->bend_peak < excess)
        total->bend_peak = excess;
    if (total->chord_peak < shortening)
        total->chord_peak = shortening;
    if (is_settling) {
        total->bend_settled = excess;
        total->has_settled = true;
    }
}

void chains_sample(const void *model_, void *state_, const Pose *pose, bool is_settling)
{
    const ChainsModel *model = model_;
    ChainsState *state = state_;

    for (int i = 0; i < model->chain_count; i++)
        sample_chain(model, &model->chain[i], pose, is_settling, &state->total[i]);
}

static void report(const ChainsModel *model, MeasureSink *out, const char *target,
                   const ChainsTotals *total)
{
    measure_row(out, "bend.excess_peak", target, total->bend_peak, "rad");
    if (total->has_settled)
        measure_row(out, "bend.excess_settled", target, total->bend_settled, "rad");
    else
        measure_missing(out, "bend.excess_settled", target, "rad");
    measure_row(out, "chord.shortening_peak", target, total->chord_peak, "1");
    measure_row(out, "penetration.max", target, (double)total->depth, "m");
    measure_row(out, "contact.count", target, (double)total->contacts, "1");
    if (model->surface)
        measure_row(out, "surface.depth", target, (double)total->surface_depth, "m");
}

static void report_fit(MeasureSink *out, const Fit *fit)
{
    FitCollider all = {0};

    for (int i = 0; i <= fit->count; i++) {
        const FitCollider *one = i < fit->count ? &fit->collider[i] : &all;
        const char *target = i < fit->count ? fit->rig.collider[one->collider].key : "*";

        measure_row(out, "fit.coverage_before", target,
                    fit_coverage(one->covered_before, one->vertex_count), "1");
        measure_row(out, "fit.coverage_after", target,
                    fit_coverage(one->covered_after, one->vertex_count), "1");
        measure_row(out, "fit.growth", target, (double)one->growth, "m");
        all.vertex_count += one->vertex_count;
        all.covered_before += one->covered_before;
        all.covered_after += one->covered_after;
        all.growth = all.growth > one->growth ? all.growth : one->growth;
    }
}

void chains_measure(const void *model_, const void *state_, MeasureSink *out)
{
    const ChainsModel *model = model_;
    const ChainsState *state = state_;
    ChainsTotals all = {0};

    for (int i = 0; i < model->chain_count; i++) {
        const ChainsTotals *total = &state->total[i];

        report(model, out, model->chain_key[i], total);
        if (all.bend_peak < total->bend_peak)
            all.bend_peak = total->bend_peak;
        if (all.chord_peak < total->chord_peak)
            all.chord_peak = total->chord_peak;
        if (all.depth < total->depth)
            all.depth = total->depth;
        if (all.surface_depth < total->surface_depth)
            all.surface_depth = total->surface_depth;
        if (total->has_settled && fabs(all.bend_settled) <= fabs(total->bend_settled))
            all.bend_settled = total->bend_settled;
        all.has_settled |= total->has_settled;
        all.contacts += total->contacts;
    }
    if (model->chain_count)
        report(model, out, "*", &all);
    if (model->fit)
        report_fit(out, model->fit);
}
