/* Models and animations: uploaded files. */
#include "server/api/api.h"
#include "server/http/resume.h"
#include "server/jobs/spec.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 1000, SUMMARY_MAX = 64 << 20 };

static AssetKind kind_of(const Request *request)
{
    return strncmp(request->path, "/v1/models", 10) == 0 ? ASSET_MODEL : ASSET_ANIMATION;
}

static Status find_asset(App *app, Request *request, Asset *out, Error *err)
{
    AssetKind kind = kind_of(request);

    if (!id_is_valid(request->id, kind == ASSET_MODEL ? "m_" : "a_"))
        return error_set(err, STATUS_NOT_FOUND, "there is no %s \"%s\"", asset_kind_name(kind),
                         request->id);
    return store_find_asset(app->store, kind, request->id, &request->arena, out, err);
}

static void write_asset(JsonWriter *json, const char *key, const Asset *asset)
{
    json_begin_object(json, key);
    json_write_text(json, "id", asset->id);
    json_write_text(json, "name", asset->name);
    json_write_text(json, "format", asset->format);
    json_write_text(json, "sha256", asset->sha256);
    json_write_int(json, "size", asset->size);
    json_write_double(json, "unit", asset->unit);
    json_write_text(json, "up", asset->is_z_up ? "z" : "y");
    json_write_text(json, "owner", asset->owner && asset->owner[0] ? asset->owner : NULL);
    api_write_time(json, "created", asset->created);
    if (asset->summary && asset->summary[0])
        json_write_raw(json, "summary", asset->summary);
    json_end_object(json);
}

/* --- upload --- */

/* Import options of the query. */
static Status read_import(Request *request, Asset *asset, Error *err)
{
    const char *unit = request_query(request, "unit");
    const char *up = request_query(request, "up");
    const char *name = request_query(request, "name");

    asset->unit = unit ? asset_unit(unit) : 0.0;
    if (unit && asset->unit <= 0.0)
        return error_set(err, STATUS_INVALID,
                         "unit must be m, dm, cm, mm, in or metres as a number");
    if (up && strcmp(up, "y") != 0 && strcmp(up, "z") != 0)
        return error_set(err, STATUS_INVALID, "up must be y or z");
    if (name && strlen(name) > JOB_NAME_MAX)
        return error_set(err, STATUS_INVALID, "name must have at most %d bytes", JOB_NAME_MAX);
    asset->is_z_up = up && up[0] == 'z';
    asset->name = name ? name : "";
    return STATUS_OK;
}

/* What the file holds; fills in format and summary. */
static Status read_file(App *app, Request *request, Asset *asset, RigEntry **out, Error *err)
{
    AssetOptions options = rigs_options(app, asset->unit, asset->is_z_up, asset->name);
    Text summary = text_open(SUMMARY_MAX, err);
    JsonWriter json = json_writer(&summary, 0);
    RigEntry *entry = NULL;
    Bytes bytes;

    if (file_map(request->upload.file, request->upload.size, &bytes, err))
        return err->status;
    if (!rigs_read(app->rigs, bytes, &options, &entry, err)) {
        asset_write_summary(entry->rig, &json);
        asset->format = entry->rig->format;
        asset->summary = arena_text(&request->arena, text_string(&summary), text_length(&summary));
        if (!err->status && !asset->summary)
            error_set(err, STATUS_NO_MEMORY, "no room for the summary of the file");
        if (!err->status && asset->kind == ASSET_ANIMATION && entry->rig->clip_count == 0)
            error_set(err, STATUS_INVALID, "the file has no animation");
    }
    file_unmap(bytes);
    text_close(&summary);
    if (err->status) {
        rigs_drop(entry);
        return err->status;
    }
    *out = entry;
    return STATUS_OK;
}

/* The file was not there before. */
static Status add_asset(App *app, Request *request, Asset *asset, Response *response, Error *err)
{
    RigEntry *entry = NULL;
    Command command = {.kind = COMMAND_INSERT_ASSET,
                       .asset = asset,
                       .upload = &request->upload,
                       .owner_bytes = request->bearer.limits.upload_mib << 20};

    if (read_file(app, request, asset, &entry, err))
        return err->status;
    if (store_execute(app->store, &command, err)) {
        rigs_drop(entry);
        return err->status;
    }
    log_event(LOG_INFO, "asset.added", "id=%s kind=%s format=%s bytes=%" PRId64 " name=%s",
              asset->id, asset_kind_name(asset->kind), asset->format, asset->size,
              log_quote(asset->name).text);
    rigs_keep(app->rigs, entry, asset->id, asset->sha256);
    response->code = command.was_new ? MHD_HTTP_CREATED : MHD_HTTP_OK;
    return STATUS_OK;
}

/* It is in use again: its time of being kept begins anew. */
static Status touch_asset(App *app, Request *request, const char *id, Error *err)
{
    Command command = {.kind = COMMAND_TOUCH_ASSET, .upload = &request->upload};

    (void)snprintf(command.id, sizeof command.id, "%s", id);
    return store_execute(app->store, &command, err);
}

/* The resumable upload in place of a body. With faults in the file it stays until it expires, and
 * can be taken with other options. */
static Status take_partial(App *app, Request *request, Response *response, const char *id,
                           Error *err)
{
    Partial partial;

    if (request->upload.size)
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID,
                          "send a file or name an upload, not both");
    if (!id_is_valid(id, "u_") || partial_find(app->blobs, id, &partial, err) ||
        !resume_is_owner(request, &partial))
        return api_refuse(response, PROBLEM_INVALID, err, STATUS_INVALID,
                          "upload: there is no upload \"%.80s\"", id);
    upload_close(app->blobs, &request->upload);
    return partial_adopt(app->blobs, id, &request->upload, err);
}

/* POST /v1/models, /v1/animations: take a file, or a resumable upload (?upload=ID). 201 with the
 * summary, 200 when the same bytes with the same options are there already. The file is durable
 * before the answer. */
static Status post_asset(App *app, Request *request, Response *response, Error *err)
{
    AssetKind kind = kind_of(request);
    Asset asset = {.kind = kind,
                   .size = request->upload.size,
                   .owner = request->bearer.name,
                   .created = time_now_ms()};
    char id[ASSET_ID_SIZE];
    const char *partial = request_query(request, "upload");

    if (read_import(request, &asset, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    if (partial && take_partial(app, request, response, partial, err))
        return err->status;
    asset.size = request->upload.size;
    if (request->upload.size == 0)
        return error_set(err, STATUS_INVALID, "the file is empty");
    if (upload_finish(&request->upload, err))
        return err->status;
    asset_id_finish(kind == ASSET_MODEL ? 'm' : 'a', &request->upload.hash, asset.unit,
                    asset.is_z_up, id);
    asset.id = id;
    asset.sha256 = request->upload.sha256;
    Status status = store_find_asset(app->store, kind, id, &request->arena, &asset, err);
    if (status == STATUS_NOT_FOUND) {
        *err = (Error){0};
        status = add_asset(app, request, &asset, response, err);
    } else if (!status) {
        status = touch_asset(app, request, id, err);
    }
    if (status)
        return status;
    if (partial)
        partial_remove(app->blobs, partial);
    const char *location = arena_format(&request->arena, "/v1/%ss/%s", asset_kind_name(kind), id);
    response_header(response, "Location", location ? location : "");
    JsonWriter json = response_json(response);
    write_asset(&json, NULL, &asset);
    return STATUS_OK;
}

/* --- reading --- */

/* GET /v1/models, /v1/animations: the newest first, without summaries. */
static Status list_assets(App *app, Request *request, Response *response, Error *err)
{
    AssetList list;
    int limit = 0;
    int64_t before = 0;

    if (api_read_page(request, LIST_MAX, &limit, &before, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    if (store_list_assets(app->store, kind_of(request), before, limit, &request->arena, &list, err))
        return err->status;
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "items");
    for (int i = 0; i < list.count; i++)
        write_asset(&json, NULL, &list.asset[i]);
    json_end_array(&json);
    api_write_next(&json, list.count, limit, list.count ? list.asset[list.count - 1].seq : 0);
    json_end_object(&json);
    return STATUS_OK;
}

/* GET /v1/models/{id}: its summary. */
static Status get_asset(App *app, Request *request, Response *response, Error *err)
{
    Asset asset = {0};

    if (find_asset(app, request, &asset, err))
        return err->status;
    JsonWriter json = response_json(response);
    write_asset(&json, NULL, &asset);
    return STATUS_OK;
}

/* GET /v1/models/{id}/content: the bytes as they came. */
static Status get_content(App *app, Request *request, Response *response, Error *err)
{
    Asset asset = {0};
    int file = -1;
    int64_t size = 0;

    if (find_asset(app, request, &asset, err) ||
        blob_open(app->blobs, asset.sha256, &file, &size, err))
        return err->status;
    const char *etag = arena_format(&request->arena, "\"%s\"", asset.sha256);
    response_file(response, "application/octet-stream", file, size, etag);
    response_header(response, "Cache-Control", "private, max-age=31536000, immutable");
    return STATUS_OK;
}

/* DELETE /v1/models/{id}: 204, or 409 while jobs use it. */
static Status delete_asset(App *app, Request *request, Response *response, Error *err)
{
    Command command = {.kind = COMMAND_DELETE_ASSET, .asset_kind = kind_of(request)};
    Asset asset = {0};

    if (find_asset(app, request, &asset, err))
        return err->status;
    memcpy(command.id, request->id, sizeof request->id);
    if (store_execute(app->store, &command, err))
        return err->status;
    rigs_forget(app->rigs, request->id);
    response_empty(response, MHD_HTTP_NO_CONTENT);
    return STATUS_OK;
}

const Route model_routes[] = {
    {"POST", "/v1/models", ROUTE_UPLOAD, false, post_asset, ACCESS_SUBMIT},
    {"GET", "/v1/models", ROUTE_READ, false, list_assets, ACCESS_READ},
    {"GET", "/v1/models/{id}", ROUTE_READ, false, get_asset, ACCESS_READ},
    {"GET", "/v1/models/{id}/content", ROUTE_READ, false, get_content, ACCESS_READ},
    {"DELETE", "/v1/models/{id}", ROUTE_TASK, false, delete_asset, ACCESS_ADMIN},
    {"POST", "/v1/animations", ROUTE_UPLOAD, false, post_asset, ACCESS_SUBMIT},
    {"GET", "/v1/animations", ROUTE_READ, false, list_assets, ACCESS_READ},
    {"GET", "/v1/animations/{id}", ROUTE_READ, false, get_asset, ACCESS_READ},
    {"GET", "/v1/animations/{id}/content", ROUTE_READ, false, get_content, ACCESS_READ},
    {"DELETE", "/v1/animations/{id}", ROUTE_TASK, false, delete_asset, ACCESS_ADMIN},
    {0},
};
