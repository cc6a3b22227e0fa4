/* Exports and pictures: made from a bake when they are first asked for, then kept under the bake's
 * key, so that the second request is a file. */
#include "sim/exports.h"

#include "base/hash.h"
#include "server/api/api.h"
#include "server/jobs/rigs.h"
#include "server/jobs/spec.h"
#include "server/jobs/submission.h"
#include "sim/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OUT_MAX = 1 << 30 };

#define REDUCE_MIN 1e-6

/* One thing that can be made, and all that it is made from. */
typedef struct Making {
    const char *kind; /* part of its name in the cache: "glb", "sheet" */
    const char *type; /* media type */
    ExportFormat format;
    ExportOptions export_options;
    Status (*make)(const struct Making *making, Arena *scratch, ByteWriter *out, Error *err);
    const Submission *submission;
    const Asset *model;
    Bytes model_bytes;
    Bytes frames;
    const AssetOptions *options;
    const char *title;
} Making;

static ExportSource export_source(const Making *making)
{
    return (ExportSource){.file = making->model_bytes,
                          .options = making->options,
                          .rig = making->submission->model->rig};
}

static Status make_export(const Making *making, Arena *scratch, ByteWriter *out, Error *err)
{
    ExportSource source = export_source(making);
    ExportOptions options = making->export_options;

    options.name = making->title;
    return export_write(making->format, &source, making->frames, &options, scratch, out, err);
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
    PictureOptions options = sheet_options(making);
    ExportSource source = export_source(making);
    size_t size = strcmp(making->kind, "sheet") == 0
                      ? picture_arena_size(source.rig, making->frames, &options)
                      : export_arena_size(&source, making->frames);

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

/* "reduce", taken to one digit and downwards, so that the files that are kept are few. */
static Status read_reduce(const char *text, double *out, Error *err)
{
    char *end = NULL;
    char digits[40], first[16];
    double value = strtod(text, &end);

    if (!(text[0] >= '0' && text[0] <= '9') || *end || !(value >= 0.0) ||
        value > EXPORT_REDUCE_MAX || (value > 0.0 && value < REDUCE_MIN))
        return error_set(err, STATUS_INVALID,
                         "reduce must be 0 or a number from %g to %g (metres, radians), got "
                         "\"%.40s\"",
                         REDUCE_MIN, EXPORT_REDUCE_MAX, text);
    // all its digits, and of those the first alone
    (void)snprintf(digits, sizeof digits, "%.16e", value);
    (void)snprintf(first, sizeof first, "%c%s", digits[0], strchr(digits, 'e'));
    *out = strtod(first, NULL);
    return STATUS_OK;
}

/* What the query asks for. Options that the format does not take are refused. */
static Status read_export(Request *request, Making *out, Error *err)
{
    const char *name = request_query(request, "format");
    const char *reduce = request_query(request, "reduce");
    const char *target = request_query(request, "target");

    out->format = export_format_find(name ? name : "glb");
    if (out->format == EXPORT_FORMAT_COUNT)
        return error_set(err, STATUS_INVALID,
                         "format must be glb, vrm, usda, pc2, mdd or csv, got \"%.40s\"", name);
    const char *format = export_format_name(out->format);
    if (reduce && !export_takes_reduce(out->format))
        return error_set(err, STATUS_INVALID, "reduce goes with glb and vrm, not with %s", format);
    if (target && !export_takes_target(out->format))
        return error_set(err, STATUS_INVALID, "target goes with pc2 and mdd, not with %s", format);
    if (reduce && read_reduce(reduce, &out->export_options.reduce, err))
        return err->status;
    out->export_options.target = target;
    out->type = export_media_type(out->format);
    out->kind = format;
    return STATUS_OK;
}

/* Its name in the cache says its options: a target by its hash, for any text may be a key. */
static const char *export_kind(Request *request, const Making *making)
{
    const ExportOptions *options = &making->export_options;

    if (options->target) {
        char hash[SHA256_HEX_SIZE];

        sha256_of((Bytes){(const uint8_t *)options->target, strlen(options->target)}, hash);
        return arena_format(&request->arena, "%.16s.%s", hash, making->kind);
    }
    if (options->reduce > 0.0)
        return arena_format(&request->arena, "r%.0e.%s", options->reduce, making->kind);
    return making->kind;
}

/* GET /v1/jobs/{id}/export?format=&reduce=&target=: the bake as a file of another program. */
static Status get_export(App *app, Request *request, Response *response, Error *err)
{
    Making making = {.make = make_export};
    Job job;

    if (find_finished(app, request, &job, err))
        return err->status;
    if (read_export(request, &making, err))
        return err->status;
    const char *extension = making.kind;
    making.kind = export_kind(request, &making);
    if (!making.kind)
        return error_set(err, STATUS_NO_MEMORY, "no room for the name of an export");
    if (answer_made(app, request, &job, &making, err))
        return err->status;
    const char *name =
        arena_format(&request->arena, "attachment; filename=\"%s.%s\"", job.id, extension);
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
