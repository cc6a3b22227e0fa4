/* Jobs: taking them in, looking at them, moving them. */
#include "server/api/api.h"
#include "server/jobs/notify_url.h"
#include "server/jobs/runner.h"
#include "server/jobs/submission.h"
#include "server/log.h"

#include <assert.h>
#include <string.h>

enum { LIST_MAX = 1000, WAIT_MAX = 60, IDEMPOTENCY_KEY_MAX = 200 };

/* --- taking in --- */

static Bytes body_of(const Request *request)
{
    return (Bytes){request->body.data ? request->body.data : (const uint8_t *)"",
                   request->body.size};
}

/* The decoded job with what it refers to; a failure has its faults and its problem. */
static Status open_submission(App *app, const Request *request, Response *response, Faults *faults,
                              Submission *out, Error *err)
{
    response->faults = faults;
    if (submission_open(app, body_of(request), faults, out, err) && out->is_malformed)
        response->problem = PROBLEM_MALFORMED;
    return err->status;
}

/* A copy that lives as long as the request. */
static const char *keep(Request *request, const char *text)
{
    return arena_text(&request->arena, text, text ? strlen(text) : 0);
}

/* What the bake would be, found by building it: whatever its tables refuse is refused now. */
static Status plan(App *app, const Submission *submission, Faults *faults, Arena *arena,
                   RunPlan *out, Error *err)
{
    assert(submission->model);
    if (arena_create(arena, (size_t)app->config->max_job_mib << 20, err))
        return err->status;
    return run_plan(submission->model->rig, &submission->spec, faults, arena, out, err);
}

static void write_plan(Response *response, const JobSpec *spec, const RunPlan *plan)
{
    JsonWriter json = response_json(response);

    json_begin_object(&json, NULL);
    json_write_raw(&json, "job", spec->canonical);
    json_write_raw(&json, "used", plan->used);
    json_write_text(&json, "key", spec->key);
    json_write_int(&json, "frames", plan->frame_count);
    json_write_int(&json, "sub_steps", plan->tick_count);
    json_write_int(&json, "bytes", plan->stream_bytes);
    json_write_int(&json, "memory", (int64_t)plan->memory);
    json_begin_array(&json, "warnings");
    for (int i = 0; i < plan->warnings.count; i++) {
        json_begin_object(&json, NULL);
        json_write_text(&json, "code", plan->warnings.warning[i].code);
        json_write_text(&json, "detail", plan->warnings.warning[i].detail);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
}

/* The tags as rows and, returned, as JSON. */
static const char *write_tags(Request *request, const JobSpec *spec, JobTagRow *out, Error *err)
{
    Text text = text_open(1 << 20, err);
    JsonWriter json = json_writer(&text, 0);

    json_begin_object(&json, NULL);
    for (int i = 0; i < spec->tag_count; i++) {
        json_write_text(&json, spec->tag[i].key, spec->tag[i].value);
        out[i] = (JobTagRow){keep(request, spec->tag[i].key), keep(request, spec->tag[i].value)};
    }
    json_end_object(&json);
    const char *copy = keep(request, text_string(&text));
    text_close(&text);
    return copy;
}

static const char *idempotency_key(const Request *request)
{
    const char *key = request_header(request, "Idempotency-Key");

    return key ? key : "";
}

/* Who is told of the end. */
static JobNotify make_notify(Request *request, const JobSpec *spec)
{
    NotifyUrl url;

    if (!spec->notify_url || notify_url_parse(spec->notify_url, &url))
        return (JobNotify){0};
    return (JobNotify){.url = keep(request, spec->notify_url),
                       .place = keep(request, url.place),
                       .ends = keep(request, spec->notify_ends)};
}

/* The row goes to the store; all of it is kept by the request. */
static Status insert_job(App *app, Request *request, const JobSpec *spec, const char *used,
                         Error *err)
{
    Bytes body = body_of(request);
    Command *command = &request->command;
    Job *job = arena_array(&request->arena, Job, 1);
    JobTagRow *tag = arena_array(&request->arena, JobTagRow, JOB_TAGS_MAX);
    char *hash = arena_array(&request->arena, char, SHA256_HEX_SIZE);

    if (!job || !tag || !hash)
        return error_set(err, STATUS_NO_MEMORY, "no room for the job");
    sha256_of(body, hash);
    *job = (Job){.id = command->id,
                 .name = keep(request, spec->name),
                 .model = keep(request, spec->model_id),
                 .animation = keep(request, spec->animation_id ? spec->animation_id : ""),
                 .key = keep(request, spec->key),
                 .body = arena_text(&request->arena, body.data, body.size),
                 .canonical = keep(request, spec->canonical),
                 .used = keep(request, used),
                 .tags = write_tags(request, spec, tag, err),
                 .priority = spec->priority,
                 .is_kept = spec->is_kept,
                 .frame_count = spec->frame_count,
                 .created = time_now_ms(),
                 .passed = -1,
                 .reason = "",
                 .idempotency_key = idempotency_key(request),
                 .owner = request->bearer.name,
                 .notify = make_notify(request, spec),
                 .body_sha256 = hash};
    *command = (Command){.kind = COMMAND_INSERT_JOB,
                         .job = job,
                         .tag = tag,
                         .tag_count = spec->tag_count,
                         .use_cache = spec->use_cache,
                         .max_queued = (int)app->config->max_queued,
                         .owner_queued = (int)request->bearer.limits.queued};
    if (request->arena.overflowed)
        return error_set(err, STATUS_NO_MEMORY, "no room for the job");
    if (err->status || id_create("j_", command->id, err))
        return err->status;
    request_submit(request);
    return STATUS_OK;
}

static Status answer_job(App *app, Request *request, const char *id, int code, Error *err)
{
    Response *response = &request->response;
    Job job;

    if (store_find_job(app->store, id, &request->arena, &job, err))
        return err->status;
    const char *location = arena_format(&request->arena, "/v1/jobs/%s", job.id);
    response_header(response, "Location", location ? location : "");
    response->code = code;
    JsonWriter json = response_json(response);
    api_write_job(&json, NULL, &job, JOB_LONG);
    return STATUS_OK;
}

/* The same Idempotency-Key was used before: the same job for the same body, else a fault. NOT_FOUND
 * when it was not. */
static Status answer_again(App *app, Request *request, Response *response, Error *err)
{
    const char *key = idempotency_key(request);
    char hash[SHA256_HEX_SIZE];
    Job job;

    if (!request_header(request, "Idempotency-Key"))
        return STATUS_NOT_FOUND;
    if (!key[0] || strlen(key) > IDEMPOTENCY_KEY_MAX)
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID,
                          "Idempotency-Key must have 1 to %d bytes", IDEMPOTENCY_KEY_MAX);
    if (store_find_job_by_idempotency(app->store, request->bearer.name, key, &request->arena, &job,
                                      err)) {
        Status status = err->status;

        if (status == STATUS_NOT_FOUND)
            *err = (Error){0};
        return status;
    }
    sha256_of(body_of(request), hash);
    if (strcmp(hash, job.body_sha256) != 0)
        return error_set(err, STATUS_INVALID, "this Idempotency-Key was used for another job, %s",
                         job.id);
    return answer_job(app, request, job.id, MHD_HTTP_OK, err);
}

static Status read_validate(const Request *request, bool *out, Error *err)
{
    const char *text = request_query(request, "validate");

    *out = text && strcmp(text, "true") == 0;
    if (text && !*out && strcmp(text, "false") != 0)
        return error_set(err, STATUS_INVALID, "validate must be true or false");
    return STATUS_OK;
}

/* Of all that decides whether the bake can be built and its gates are measured. */
static void hash_plan(const JobSpec *spec, char out[SHA256_HEX_SIZE])
{
    uint8_t digest[SHA256_SIZE];
    Sha256 hash;

    sha256_begin(&hash);
    sha256_add(&hash, spec->key, strlen(spec->key));
    for (int i = 0; i < spec->gate_count; i++)
        sha256_add(&hash, spec->gate[i].name, strlen(spec->gate[i].name) + 1);
    sha256_end(&hash, digest);
    sha256_hex(digest, out);
}

/* A dry run is always built: it says more than is kept of others. */
static Status submit_dry(App *app, Response *response, Faults *faults, const Submission *submission,
                         Error *err)
{
    RunPlan planned = {0};
    Arena arena = {0};

    if (!plan(app, submission, faults, &arena, &planned, err))
        write_plan(response, &submission->spec, &planned);
    arena_destroy(&arena);
    return err->status;
}

static Status submit(App *app, Request *request, Faults *faults, const Submission *submission,
                     Error *err)
{
    const JobSpec *spec = &submission->spec;
    char hash[SHA256_HEX_SIZE];
    RunPlan planned = {0};
    Arena arena = {0};

    hash_plan(spec, hash);
    const char *used = plans_find(app->plans, hash, &request->arena);
    if (!used && !plan(app, submission, faults, &arena, &planned, err)) {
        used = planned.used;
        plans_keep(app->plans, hash, used);
    }
    if (!err->status)
        insert_job(app, request, spec, used, err);
    arena_destroy(&arena);
    return err->status;
}

/* The store has answered: the job is durable, or refused. */
static Status answer_submitted(App *app, Request *request, Error *err)
{
    const Command *command = &request->command;

    if (command->err.status) {
        *err = command->err;
        if (err->status == STATUS_LIMIT)
            request->response.problem = PROBLEM_BUSY;
        return err->status;
    }
    log_event(LOG_INFO, command->is_cached ? "job.cached" : "job.queued",
              "job=%s model=%s frames=%d", command->id, command->job->model,
              command->job->frame_count);
    return answer_job(app, request, command->id, MHD_HTTP_ACCEPTED, err);
}

/* POST /v1/jobs: take a job. 202 with the job, which is durable by then (done at birth when the
 * store has its answer); 422 with every fault; 429 when too many wait; 200 for a dry run
 * (?validate=true) and for a repeated Idempotency-Key. */
static Status post_job(App *app, Request *request, Response *response, Error *err)
{
    Submission submission = {0};
    bool is_dry = false;

    if (request->has_submitted)
        return answer_submitted(app, request, err);
    if (read_validate(request, &is_dry, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    Faults *faults = arena_array(&request->arena, Faults, 1);
    Status status = answer_again(app, request, response, err);

    if (status != STATUS_NOT_FOUND)
        return status;
    int64_t space = blobs_free_space(app->blobs);
    if (space >= 0 && space < app->config->reserve_disk_mib << 20)
        return error_set(err, STATUS_FULL, "less than %lld MiB are free on the disk",
                         (long long)app->config->reserve_disk_mib);
    if (!faults)
        return error_set(err, STATUS_NO_MEMORY, "no room for the job");
    *faults = faults_open(&request->arena, JOB_FAULTS_MAX);
    if (!open_submission(app, request, response, faults, &submission, err)) {
        if (submission.spec.notify_url)
            notify_check(app->notify, submission.spec.notify_url, faults);
        if (faults_status(faults, err) == STATUS_OK)
            (void)(is_dry ? submit_dry(app, response, faults, &submission, err)
                          : submit(app, request, faults, &submission, err));
    }
    submission_close(&submission);
    return err->status;
}

/* --- looking --- */

/* GET /v1/jobs: the newest first. */
static Status list_jobs(App *app, Request *request, Response *response, Error *err)
{
    JobTagRow tag[JOB_FILTER_TAGS];
    JobFilter filter = {.state = request_query(request, "state"),
                        .model = request_query(request, "model"),
                        .owner = request_query(request, "owner"),
                        .tag = tag};
    JobList list;

    if (filter.state && job_state_find(filter.state) == JOB_STATE_COUNT)
        error_set(err, STATUS_INVALID, "state must be queued, running, done, failed or cancelled");
    if (err->status || api_read_tags(request, tag, &filter.tag_count, err) ||
        api_read_page(request, LIST_MAX, &filter.limit, &filter.before, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    if (store_list_jobs(app->store, &filter, &request->arena, &list, err))
        return err->status;
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "items");
    for (int i = 0; i < list.count; i++)
        api_write_job(&json, NULL, &list.job[i], JOB_BRIEF);
    json_end_array(&json);
    api_write_next(&json, list.count, filter.limit, list.count ? list.job[list.count - 1].seq : 0);
    json_end_object(&json);
    return STATUS_OK;
}

/* Sleeps until the job may have changed; false when it is to be answered as it is. */
static bool wait_for_news(App *app, Request *request, Response *response)
{
    switch (hub_wait(&app->hub, &request->waiter, &request->seen_event, &request->seen_beat)) {
    case HUB_WAITING:
        response->kind = RESPONSE_SLEEPING;
        return true;
    case HUB_NEWS:
    case HUB_BEAT:
        return true;
    case HUB_LATE:
    case HUB_CLOSING:
        break;
    }
    return false;
}

/* GET /v1/jobs/{id}?wait=SECONDS: the job, with wait once it has ended or the time is over. */
static Status get_job(App *app, Request *request, Response *response, Error *err)
{
    int64_t wait = 0;
    bool goes_on = true;
    Job job = {0};

    if (request_query_int(request, "wait", 0, 0, WAIT_MAX, &wait, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    if (request->waiter.deadline_ns == INT64_MAX) {
        request->waiter.deadline_ns = request->began_ns + wait * 1000000000;
        memcpy(request->waiter.job, request->id, sizeof request->id);
        request->seen_event = hub_last_event(&app->hub);
        request->seen_beat = hub_beat(&app->hub);
    }
    while (goes_on) {
        arena_rewind(&request->arena, 0);
        if (api_find_job(app, request, &job, err))
            return err->status;
        goes_on =
            wait > 0 && !job_state_is_final(job.state) && wait_for_news(app, request, response);
        if (response->kind == RESPONSE_SLEEPING)
            return STATUS_OK;
    }
    JsonWriter json = response_json(response);
    api_write_job(&json, NULL, &job, JOB_LONG);
    return STATUS_OK;
}

/* Of each simulation in `used` that fits colliders. */
static void write_fits(JsonWriter *json, const JsonReader *used)
{
    JsonReader item;

    for (bool is_item = json_first(used, &item); is_item; is_item = json_next(&item)) {
        JsonReader fit = json_member(&item, "fit");
        JsonReader simulation = json_member(&item, "simulation");

        if (json_is_absent(&fit))
            continue;
        json_begin_object(json, NULL);
        json_write_value(json, "simulation", &simulation);
        json_write_value(json, "colliders", &fit);
        json_end_object(json);
    }
}

/* GET /v1/jobs/{id}/fit: how colliders were fitted, known as soon as the job is taken; an empty
 * list where nothing is fitted. */
static Status get_fit(App *app, Request *request, Response *response, Error *err)
{
    JsonDocument document = {0};
    Job job;

    if (api_find_job(app, request, &job, err))
        return err->status;
    Faults faults = faults_open(&request->arena, 1);
    Bytes text = {(const uint8_t *)job.used, strlen(job.used)};
    if (text.size && json_open(text, JOB_JSON_DEPTH, &document, err))
        return error_context(err, "what job %s uses", job.id);
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_write_text(&json, "job", job.id);
    json_begin_array(&json, "simulations");
    if (document.root) {
        JsonReader used = json_root(&document, &faults);
        write_fits(&json, &used);
    }
    json_end_array(&json);
    json_end_object(&json);
    json_close(&document);
    return STATUS_OK;
}

/* --- moving --- */

static Status move_job(App *app, Request *request, Command *command, Error *err)
{
    if (!id_is_valid(request->id, "j_"))
        return error_set(err, STATUS_NOT_FOUND, "there is no job \"%s\"", request->id);
    memcpy(command->id, request->id, sizeof request->id);
    return store_execute(app->store, command, err);
}

/* POST /v1/jobs/{id}/cancel. 202, or 409 when the job has ended. */
static Status post_cancel(App *app, Request *request, Response *response, Error *err)
{
    Command command = {.kind = COMMAND_CANCEL_JOB};

    (void)response;
    if (move_job(app, request, &command, err))
        return err->status;
    if (command.was_running)
        loop_cancel_job(app->loop, request->id);
    return answer_job(app, request, request->id, MHD_HTTP_ACCEPTED, err);
}

/* POST /v1/jobs/{id}/retry. 202, or 409 when the job has not failed and was not cancelled. */
static Status post_retry(App *app, Request *request, Response *response, Error *err)
{
    Command command = {.kind = COMMAND_RETRY_JOB};

    (void)response;
    if (move_job(app, request, &command, err))
        return err->status;
    return answer_job(app, request, request->id, MHD_HTTP_ACCEPTED, err);
}

/* POST /v1/jobs/{id}/notify: tell its end again. 202, or 409 where there is nothing to tell. */
static Status post_notify(App *app, Request *request, Response *response, Error *err)
{
    Command command = {.kind = COMMAND_DELIVER_AGAIN};

    (void)response;
    if (!notify_is_on(app->notify))
        return error_set(err, STATUS_CONFLICT,
                         "the server has no secret to sign with (--notify-secret-file)");
    if (move_job(app, request, &command, err))
        return err->status;
    notify_wake(app->notify);
    return answer_job(app, request, request->id, MHD_HTTP_ACCEPTED, err);
}

/* DELETE /v1/jobs/{id}. 204, or 409 when the job has not ended. */
static Status delete_job(App *app, Request *request, Response *response, Error *err)
{
    Command command = {.kind = COMMAND_DELETE_JOB};

    if (move_job(app, request, &command, err))
        return err->status;
    response_empty(response, MHD_HTTP_NO_CONTENT);
    return STATUS_OK;
}

const Route job_routes[] = {
    {"POST", "/v1/jobs", ROUTE_LONG_TASK, true, post_job, ACCESS_SUBMIT},
    {"GET", "/v1/jobs", ROUTE_READ, false, list_jobs, ACCESS_READ},
    {"GET", "/v1/jobs/{id}", ROUTE_READ, false, get_job, ACCESS_READ},
    {"GET", "/v1/jobs/{id}/fit", ROUTE_READ, false, get_fit, ACCESS_READ},
    {"DELETE", "/v1/jobs/{id}", ROUTE_TASK, false, delete_job, ACCESS_SUBMIT},
    {"POST", "/v1/jobs/{id}/cancel", ROUTE_TASK, false, post_cancel, ACCESS_SUBMIT},
    {"POST", "/v1/jobs/{id}/notify", ROUTE_TASK, false, post_notify, ACCESS_SUBMIT},
    {"POST", "/v1/jobs/{id}/retry", ROUTE_TASK, false, post_retry, ACCESS_SUBMIT},
    {0},
};
