/* Exports and pictures: made from a bake when they are first asked for, then kept under the bake's
 * key, so that the second request is a file. */
#include "sim/exports.h"

#include "server/api/api.h"
#include "server/jobs/rigs.h"
#include "server/jobs/spec.h"
#include "server/jobs/submission.h"
#include "sim/picture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUT_MAX = 1 << 30 };

/* One thing that can be made, and all that it is made from. */
typedef struct Making {
    const char *kind; /* part of its name in the cache: "glb", "sheet" */
    const char *type; /* media type */
    Status (*make)(const struct Making *making, Arena *scratch, ByteWriter *out, Error *err);
    const Submission *submission;
    const Asset *model;
    Bytes model_bytes;
    Bytes frames;
    const AssetOptions *options;
    const char *title;
} Making;

static Status make_glb(const Making *making, Arena *scratch, ByteWriter *out, Error *err)
{
    ExportSource source = {.file = making->model_bytes,
                           .options = making->options,
                           .rig = making->submission->model->rig};

    return export_glb(&source, making->frames, making->title, scratch, out, err);
}

static PictureOptions sheet_options(const Making *making)
{
    PictureOptions options = picture_options_default();

    options.title = making->title;
    options.hidden_count = making->submission->spec.bake.output.hidden_count;
    options.hidden = making->submission->spec.bake.output.hidden;
    return options;
}

static Status make_sheet(const Making *making, Arena *scratch, ByteWriter *out, Error *err)
{
    PictureOptions options = sheet_options(making);

    return picture_sheet(making->submission->model->rig, making->frames, &options, scratch, out,
                         err);
}

/* --- making --- */

static Status map_result(App *app, const Job *job, Bytes *out, Error *err)
{
    int file = -1;
    int64_t size = 0;

    if (result_open(app->blobs, job->result_job, job->result_attempt, "frames", &file, &size, err))
        return err->status;
    Status status = file_map(file, size < job->result_size ? size : job->result_size, out, err);
    (void)close(file);
    return status;
}

static Status map_model(App *app, const Asset *asset, Bytes *out, Error *err)
{
    int file = -1;
    int64_t size = 0;

    if (blob_open(app->blobs, asset->sha256, &file, &size, err))
        return err->status;
    Status status = file_map(file, size, out, err);
    (void)close(file);
    return status;
}

/* Runs `make` in scratch memory and keeps what comes out. */
static Status make_and_keep(App *app, Making *making, const char *name, Error *err)
{
    ByteWriter out = byte_writer(OUT_MAX, err);
    Arena scratch;
    bool is_sheet = strcmp(making->kind, "sheet") == 0;
    PictureOptions options = sheet_options(making);
    size_t size =
        is_sheet ? picture_arena_size(making->submission->model->rig, making->frames, &options)
                 : making->model_bytes.size * 8 + making->frames.size * 32 + ((size_t)256 << 20);

    if (arena_create(&scratch, size, err))
        return err->status;
    Status status = making->make(making, &scratch, &out, err);
    if (!status)
        status = cache_write(app->blobs, name, byte_writer_bytes(&out), err);
    byte_writer_close(&out);
    arena_destroy(&scratch);
    return status;
}

static Status make_from_files(App *app, Request *request, const Job *job, const Making *wanted,
                              const char *name, Error *err)
{
    Making making = *wanted;
    Asset model = {0};

    if (store_find_asset(app->store, ASSET_MODEL, job->model, &request->arena, &model, err))
        return err->status;
    AssetOptions options = rigs_options(app, model.unit, model.is_z_up, model.name);
    making.model = &model;
    making.options = &options;
    if (map_model(app, &model, &making.model_bytes, err))
        return err->status;
    if (!map_result(app, job, &making.frames, err)) {
        make_and_keep(app, &making, name, err);
        file_unmap(making.frames);
    }
    file_unmap(making.model_bytes);
    return err->status;
}

/* The cached file, made when it is not there. */
static Status answer_made(App *app, Request *request, const Job *job, const Making *wanted,
                          Error *err)
{
    Response *response = &request->response;
    Submission submission = {0};
    Error missing = {0};
    char name[128];
    int file = -1;
    int64_t size = 0;

    // a job that was answered from the store shares the bake, but its title is its own
    (void)snprintf(name, sizeof name, "%s-%s.%s", job->key, job->id, wanted->kind);
    if (cache_open(app->blobs, name, &file, &size, &missing)) {
        Faults faults = faults_open(&request->arena, 1);
        Bytes body = {(const uint8_t *)job->body, strlen(job->body)};
        Making making = *wanted;

        making.submission = &submission;
        making.title = job->name[0] ? job->name : job->id;
        if (!submission_open(app, body, &faults, &submission, err))
            (void)make_from_files(app, request, job, &making, name, err);
        submission_close(&submission);
        if (err->status || cache_open(app->blobs, name, &file, &size, err))
            return err->status;
    }
    const char *etag = arena_format(&request->arena, "\"%.32s-%s\"", job->key, wanted->kind);
    response_file(response, wanted->type, file, size, etag);
    response_header(response, "Cache-Control", "private, max-age=86400");
    return STATUS_OK;
}

static Status find_finished(App *app, Request *request, Job *out, Error *err)
{
    if (api_find_job(app, request, out, err))
        return err->status;
    if (out->state != JOB_DONE)
        return error_set(err, STATUS_CONFLICT, "job %s is %s: only finished bakes have this",
                         out->id, job_state_name(out->state));
    return STATUS_OK;
}

/* GET /v1/jobs/{id}/export?format=glb: the model with the bake as its first animation. */
static Status get_export(App *app, Request *request, Response *response, Error *err)
{
    const char *format = request_query(request, "format");
    Making making = {.kind = "glb", .type = "model/gltf-binary", .make = make_glb};
    Job job;

    if (find_finished(app, request, &job, err))
        return err->status;
    if (format && strcmp(format, "glb") != 0)
        return api_refuse(response, PROBLEM_INVALID, err, STATUS_INVALID,
                          "format must be glb, got \"%.40s\"", format);
    if (answer_made(app, request, &job, &making, err))
        return err->status;
    const char *name = arena_format(&request->arena, "attachment; filename=\"%s.glb\"", job.id);
    response_header(response, "Content-Disposition", name ? name : "attachment");
    return STATUS_OK;
}

/* GET /v1/jobs/{id}/sheet.png: frames by views. */
static Status get_sheet(App *app, Request *request, Response *response, Error *err)
{
    Making making = {.kind = "sheet", .type = "image/png", .make = make_sheet};
    Job job;

    (void)response;
    if (find_finished(app, request, &job, err))
        return err->status;
    return answer_made(app, request, &job, &making, err);
}

const Route export_routes[] = {
    {"GET", "/v1/jobs/{id}/export", ROUTE_LONG_TASK, false, get_export, ACCESS_READ},
    {"GET", "/v1/jobs/{id}/sheet.png", ROUTE_LONG_TASK, false, get_sheet, ACCESS_READ},
    {0},
};
