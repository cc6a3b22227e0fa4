#include "server/jobs/submission.h"

#include "server/app.h"

/* The asset in memory, or a fault at the pointer where the store has none. */
static Status acquire(Submission *submission, AssetKind kind, const char *id, Faults *faults,
                      RigEntry **out, Error *err)
{
    const char *name = asset_kind_name(kind);
    const char *pointer = kind == ASSET_MODEL ? "/model" : "/animation/animation";
    Error failure = {0};

    if (!id_is_valid(id, kind == ASSET_MODEL ? "m_" : "a_")) {
        job_fault_asset(faults, pointer, name, id);
        return STATUS_OK;
    }
    Status status = rigs_acquire(submission->app->rigs, kind, id, out, &failure);
    if (status == STATUS_NOT_FOUND) {
        job_fault_asset(faults, pointer, name, id);
        return STATUS_OK;
    }
    if (status)
        *err = failure;
    return status;
}

Status submission_decode(Submission *submission, size_t body_size, const char *animation_id,
                         const JobLimits *limits, Faults *faults, Error *err)
{
    const RigEntry *model = submission->model;
    JobAsset animation = {.name = animation_id,
                          .id = animation_id,
                          .rig = submission->animation ? submission->animation->rig : NULL};
    JobContext context = {.rig = model->rig,
                          .model_id = model->id,
                          .model_sha256 = model->sha256,
                          .asset_count = submission->animation ? 1 : 0,
                          .asset = &animation,
                          .limits = *limits};

    if (arena_create(&submission->arena, job_spec_arena_size(body_size, model->rig), err))
        return err->status;
    return job_spec_decode(&submission->document, &context, &submission->arena, faults,
                           &submission->spec, err);
}

JobLimits submission_limits(const struct App *app)
{
    JobLimits limits = job_limits_default();

    limits.frames = (int)app->config->max_frames;
    limits.memory = (size_t)app->config->max_job_mib << 20;
    return limits;
}

Status submission_open(struct App *app, Bytes body, Faults *faults, Submission *out, Error *err)
{
    JobAssets assets = {0};

    *out = (Submission){.app = app};
    if (json_open(body, JOB_JSON_DEPTH, &out->document, err)) {
        out->is_malformed = err->status == STATUS_INVALID;
        return err->status;
    }
    job_assets_decode(&out->document, faults, &assets);
    if (assets.model && acquire(out, ASSET_MODEL, assets.model, faults, &out->model, err))
        return err->status;
    if (assets.animation &&
        acquire(out, ASSET_ANIMATION, assets.animation, faults, &out->animation, err))
        return err->status;
    if (!out->model)
        return faults_status(faults, err) ? err->status
                                          : error_set(err, STATUS_INVALID, "/model is missing");
    const JobLimits limits = submission_limits(app);
    return submission_decode(out, body.size, assets.animation, &limits, faults, err);
}

void submission_close(Submission *submission)
{
    if (submission->app) {
        rigs_release(submission->app->rigs, submission->model);
        rigs_release(submission->app->rigs, submission->animation);
    }
    arena_destroy(&submission->arena);
    json_close(&submission->document);
}
