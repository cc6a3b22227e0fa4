/* Resumable uploads: tus 1.0.0. What is whole becomes a model by POST /v1/models?upload=ID. */
#include "server/api/api.h"
#include "server/http/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_number(Request *request, const char *name, int64_t value)
{
    const char *text = arena_format(&request->arena, "%" PRId64, value);

    response_header(&request->response, name, text ? text : "0");
}

/* When it is removed, unless another piece comes. */
static void add_expiry(const App *app, Request *request, const Partial *partial)
{
    time_t moment = (time_t)(partial->touched / 1000 + app->config->upload_hours * 3600);
    struct tm parts = {0};
    char date[64] = "";

    // the process keeps the locale "C": the names are those of RFC 9110, 5.6.7
    if (!gmtime_r(&moment, &parts) ||
        !strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts))
        return;
    const char *text = arena_format(&request->arena, "%s", date);
    if (text)
        response_header(&request->response, "Upload-Expires", text);
}

static void write_upload(Response *response, const char *id, const Partial *partial)
{
    JsonWriter json = response_json(response);

    json_begin_object(&json, NULL);
    json_write_text(&json, "id", id);
    json_write_int(&json, "size", partial->size);
    json_write_int(&json, "offset", partial->offset);
    json_end_object(&json);
}

/* "KEY BASE64, KEY, ..." */
static bool is_metadata(const char *text)
{
    static const char base64[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
    const char *c = text;

    while (*text) {
        size_t key = strcspn(c, " ,\t");

        c += key;
        if (*c == ' ')
            c += 1 + strspn(c + 1, base64);
        if (key == 0 || (*c && *c != ','))
            return false;
        if (!*c)
            break;
        c += 1 + strspn(c + 1, " ");
    }
    return strlen(text) < PARTIAL_NOTE_SIZE;
}

/* Upload-Length and Upload-Metadata. */
static Status read_creation(const App *app, Request *request, Response *response, Partial *out,
                            Error *err)
{
    const char *length = request_header(request, "Upload-Length");
    const char *metadata = request_header(request, "Upload-Metadata");
    int64_t limit = app->config->max_upload_mib << 20;
    int64_t space = blobs_free_space(app->blobs);

    if (!request_read_digits(length, &out->size) || out->size == 0)
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID,
                          "Upload-Length must be the size of the file in bytes, above 0");
    if (out->size > limit)
        return api_refuse(response, PROBLEM_TOO_LARGE, err, STATUS_LIMIT,
                          "the file has %" PRId64 " bytes, the limit is %" PRId64
                          " MiB (max-upload-mib)",
                          out->size, app->config->max_upload_mib);
    if (space >= 0 && space - out->size < app->config->reserve_disk_mib << 20)
        return error_set(err, STATUS_FULL, "the disk has no room for %" PRId64 " bytes", out->size);
    if (metadata && !is_metadata(metadata))
        return api_refuse(
            response, PROBLEM_MALFORMED, err, STATUS_INVALID,
            "Upload-Metadata must be KEY BASE64, KEY BASE64, ... of less than %d bytes",
            PARTIAL_NOTE_SIZE);
    (void)snprintf(out->note, sizeof out->note, "%s", metadata ? metadata : "");
    (void)snprintf(out->owner, sizeof out->owner, "%s", request->bearer.name);
    return STATUS_OK;
}

/* POST /v1/uploads: begin one. 201 with its Location. */
static Status post_upload(App *app, Request *request, Response *response, Error *err)
{
    Partial partial = {.touched = time_now_ms()};
    char id[STORE_ID_SIZE];

    resume_add_headers(request);
    if (resume_check_version(request, response, err) ||
        read_creation(app, request, response, &partial, err))
        return err->status;
    if (request->body.size)
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID,
                          "an upload is begun without a body; its bytes come by PATCH");
    if (id_create("u_", id, err) ||
        partial_create(app->blobs, id, &partial, (int)app->config->max_unfinished, err)) {
        if (err->status == STATUS_LIMIT)
            response->problem = PROBLEM_BUSY;
        return err->status;
    }
    const char *location = arena_format(&request->arena, "/v1/uploads/%s", id);
    write_upload(response, id, &partial);
    response->code = MHD_HTTP_CREATED;
    response_header(response, "Location", location ? location : "");
    response_header(response, "Upload-Offset", "0");
    add_expiry(app, request, &partial);
    return STATUS_OK;
}

static Status find_upload(App *app, Request *request, Partial *out, Error *err)
{
    if (id_is_valid(request->id, "u_") && !partial_find(app->blobs, request->id, out, err) &&
        resume_is_owner(request, out))
        return STATUS_OK;
    if (err->status && err->status != STATUS_NOT_FOUND)
        return err->status;
    return error_set(err, STATUS_NOT_FOUND, "there is no upload \"%s\"", request->id);
}

/* GET and HEAD /v1/uploads/{id}: how much of it is there. */
static Status get_upload(App *app, Request *request, Response *response, Error *err)
{
    Partial partial = {0};

    resume_add_headers(request);
    if ((strcmp(request->method, "HEAD") == 0 || request_header(request, "Tus-Resumable")) &&
        resume_check_version(request, response, err))
        return err->status;
    if (find_upload(app, request, &partial, err))
        return err->status;
    write_upload(response, request->id, &partial);
    add_number(request, "Upload-Offset", partial.offset);
    add_number(request, "Upload-Length", partial.size);
    add_expiry(app, request, &partial);
    if (partial.note[0]) {
        const char *note = arena_text(&request->arena, partial.note, strlen(partial.note));

        response_header(response, "Upload-Metadata", note ? note : "");
    }
    return STATUS_OK;
}

/* PATCH /v1/uploads/{id}: the piece is in its file; 204 once it is durable, 460 (and taken back)
 * when it is not what its checksum says. */
static Status patch_upload(App *app, Request *request, Response *response, Error *err)
{
    Partial partial = {.touched = time_now_ms()};

    resume_add_headers(request);
    if (!resume_is_intact(request))
        return api_refuse(response, PROBLEM_CHECKSUM, err, STATUS_INVALID,
                          "the piece is not what Upload-Checksum says; it was taken back");
    if (file_sync(request->upload.file, err))
        return err->status;
    request->upload.is_provisional = false;
    response_empty(response, MHD_HTTP_NO_CONTENT);
    add_number(request, "Upload-Offset", request->upload.size);
    add_expiry(app, request, &partial);
    return STATUS_OK;
}

/* DELETE /v1/uploads/{id}. */
static Status delete_upload(App *app, Request *request, Response *response, Error *err)
{
    Partial partial = {0};

    resume_add_headers(request);
    if (resume_check_version(request, response, err) || find_upload(app, request, &partial, err))
        return err->status;
    partial_remove(app->blobs, request->id);
    response_empty(response, MHD_HTTP_NO_CONTENT);
    return STATUS_OK;
}

const Route upload_routes[] = {
    {"POST", "/v1/uploads", ROUTE_TASK, false, post_upload, ACCESS_SUBMIT},
    {"GET", "/v1/uploads/{id}", ROUTE_TASK, false, get_upload, ACCESS_SUBMIT},
    {"PATCH", "/v1/uploads/{id}", ROUTE_RESUME, false, patch_upload, ACCESS_SUBMIT},
    {"DELETE", "/v1/uploads/{id}", ROUTE_TASK, false, delete_upload, ACCESS_SUBMIT},
    {0},
};
