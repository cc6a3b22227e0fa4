#include "server/http/dispatch.h"

#include "server/app.h"
#include "server/http/guard.h"
#include "server/http/request.h"
#include "server/http/resume.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    REQUEST_ARENA = 64 << 20, /* addresses; pages cost nothing until they are touched */
    BODY_MAX = 1 << 20,
    DISCARD_MAX = 4 << 20 /* of a refused body, before the connection is dropped */
};

/* --- routes --- */

/* Does the path have the route's form? What stands for {id} goes into `id`. */
static bool matches(const char *pattern, const char *path, char id[STORE_ID_SIZE])
{
    while (*pattern) {
        if (*pattern == '{') {
            size_t length = strcspn(path, "/");

            if (length == 0 || length >= STORE_ID_SIZE)
                return false;
            memcpy(id, path, length);
            id[length] = '\0';
            path += length;
            pattern += strcspn(pattern, "}") + 1;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *path == '\0';
}

static bool serves(const Route *route, const char *method)
{
    return strcmp(route->method, method) == 0 ||
           (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

/* The route, or NULL; then `allow` lists the methods that the path has, "" when there is no such
 * path. The first pattern that the path has the form of is the path's. */
static const Route *find_route(Request *request, char *allow, size_t size)
{
    char id[STORE_ID_SIZE] = "";
    const char *pattern = NULL;

    allow[0] = '\0';
    for (const Route *const *table = route_tables; *table; table++) {
        for (const Route *route = *table; route->method; route++) {
            if (pattern ? strcmp(pattern, route->path) != 0
                        : !matches(route->path, request->path, id))
                continue;
            pattern = route->path;
            if (serves(route, request->method)) {
                memcpy(request->id, id, sizeof id);
                return route;
            }
            size_t used = strlen(allow);
            (void)snprintf(allow + used, size - used, "%s%s", used ? ", " : "", route->method);
        }
    }
    return NULL;
}

/* --- answers --- */

static void log_request(const Request *request, int code)
{
    double ms = (double)(time_steady_ns() - request->began_ns) / 1e6;
    LogLevel level = code >= 500 ? LOG_WARN : LOG_DEBUG;

    log_event(level, "http.request", "method=%.40s path=%s code=%d ms=%.1f%s%s", request->method,
              log_quote(request->path).text, code, ms, code >= 400 ? " message=" : "",
              code >= 400 ? log_quote(request->err.message).text : "");
}

/* Headers for pages of other origins that are allowed to see the answer. */
static void add_cors(const App *app, Request *request)
{
    const char *origin = guard_cors_origin(app->config, request);

    if (!origin)
        return;
    response_header(&request->response, "Access-Control-Allow-Origin", origin);
    response_header(&request->response, "Access-Control-Expose-Headers",
                    "ETag, Location, Content-Range, Accept-Ranges, Retry-After, Tus-Resumable, "
                    "Upload-Offset, Upload-Length, Upload-Expires, Upload-Metadata");
    response_header(&request->response, "Vary", "Origin");
}

static enum MHD_Result send_answer(App *app, Request *request)
{
    add_cors(app, request);
    request->state = REQUEST_SENT;
    enum MHD_Result result = response_send(request);
    int code = request->response.code ? request->response.code : MHD_HTTP_OK;
    atomic_fetch_add(&app->metrics.requests[result == MHD_YES ? code / 100 : 0], 1);
    if (request->route)
        histogram_add(&app->metrics.answer_seconds[request->route->kind],
                      time_steady_ns() - request->began_ns);
    if (request->response.is_problem)
        atomic_fetch_add(&app->metrics.refused[request->response.problem], 1);
    log_request(request, code);
    return result;
}

static void refuse(Request *request, ProblemKind kind)
{
    response_problem(request, kind);
    request->state = REQUEST_ANSWERED;
}

/* What a client of resumable uploads asks for. */
static void add_tus_options(const App *app, Request *request)
{
    Response *response = &request->response;
    const char *limit =
        arena_format(&request->arena, "%" PRId64, app->config->max_upload_mib << 20);

    response_header(response, "Tus-Resumable", "1.0.0");
    response_header(response, "Tus-Version", "1.0.0");
    response_header(response, "Tus-Extension", "creation,expiration,checksum,termination");
    response_header(response, "Tus-Checksum-Algorithm", "sha1,sha256");
    response_header(response, "Tus-Max-Size", limit ? limit : "0");
}

/* A preflight or a question for methods. */
static void answer_options(const App *app, Request *request, const char *allow)
{
    Response *response = &request->response;
    const char *copy = arena_format(&request->arena, "%s, OPTIONS", allow);

    response_empty(response, MHD_HTTP_NO_CONTENT);
    response_header(response, "Allow", copy ? copy : "OPTIONS");
    response_header(response, "Access-Control-Allow-Methods", copy ? copy : "OPTIONS");
    response_header(response, "Access-Control-Allow-Headers",
                    "Authorization, Content-Type, Range, If-None-Match, Last-Event-ID, "
                    "Idempotency-Key, Tus-Resumable, Upload-Length, Upload-Offset, "
                    "Upload-Metadata, Upload-Checksum, X-HTTP-Method-Override");
    response_header(response, "Access-Control-Max-Age", "600");
    if (strncmp(request->path, "/v1/uploads", 11) == 0)
        add_tus_options(app, request);
    request->state = REQUEST_ANSWERED;
}

/* Runs the handler, on whichever thread. */
static void run_handler(App *app, Request *request)
{
    Response *response = &request->response;

    request->err = (Error){0};
    Status status = request->route->handle(app, request, response, &request->err);
    upload_close(app->blobs, &request->upload);
    if (!status && response->text.buffer.err && response->text.buffer.err->status) {
        request->err = *response->text.buffer.err;
        status = request->err.status;
    }
    if (status)
        response_problem(request, response->problem ? response->problem : problem_of(status));
    request->state = response->kind == RESPONSE_SLEEPING ? REQUEST_SLEEPING : REQUEST_ANSWERED;
}

/* --- the way in --- */

static bool takes_file(const Route *route)
{
    return route->kind == ROUTE_UPLOAD || route->kind == ROUTE_RESUME;
}

static int64_t body_limit(const App *app, const Route *route)
{
    return takes_file(route) ? app->config->max_upload_mib << 20 : BODY_MAX;
}

static bool has_body(const Request *request)
{
    int64_t length = request_length(request);

    return length > 0 || (length < 0 && request_header(request, "Transfer-Encoding"));
}

static bool is_json(const Request *request)
{
    const char *type = request_header(request, "Content-Type");
    static const char wanted[] = "application/json";

    return type && strncasecmp(type, wanted, sizeof wanted - 1) == 0 &&
           strchr("; \t", type[sizeof wanted - 1]);
}

static bool is_multipart(const Request *request)
{
    const char *type = request_header(request, "Content-Type");

    return type && strncasecmp(type, "multipart/", 10) == 0;
}

/* What can be refused before the body comes. */
static void check_head(App *app, Request *request)
{
    int64_t limit = body_limit(app, request->route);

    if (request_length(request) > limit) {
        error_set(&request->err, STATUS_LIMIT,
                  "the body has %.40s bytes, the limit is %" PRId64 "%s",
                  request_header(request, "Content-Length"), limit,
                  takes_file(request->route) ? " (max-upload-mib)" : "");
        refuse(request, PROBLEM_TOO_LARGE);
    } else if (request->route->takes_json && !is_json(request)) {
        error_set(&request->err, STATUS_INVALID, "the body must be application/json");
        refuse(request, PROBLEM_MEDIA_TYPE);
    } else if (request->route->kind == ROUTE_UPLOAD && is_multipart(request)) {
        error_set(&request->err, STATUS_INVALID, "send the file as it is, not as multipart");
        refuse(request, PROBLEM_MEDIA_TYPE);
    } else if (has_body(request) && request_header(request, "Content-Encoding")) {
        error_set(&request->err, STATUS_INVALID, "bodies are taken without Content-Encoding");
        refuse(request, PROBLEM_MEDIA_TYPE);
    }
}

static void begin_upload(App *app, Request *request)
{
    int64_t space = blobs_free_space(app->blobs);

    if (atomic_fetch_add(&app->uploads, 1) >= (int)app->config->max_uploads) {
        atomic_fetch_sub(&app->uploads, 1);
        error_set(&request->err, STATUS_LIMIT, "%" PRId64 " uploads run already",
                  app->config->max_uploads);
        refuse(request, PROBLEM_BUSY);
        return;
    }
    request->is_upload_counted = true;
    if (space >= 0 && space < app->config->reserve_disk_mib << 20) {
        error_set(&request->err, STATUS_FULL, "less than %" PRId64 " MiB are free on the disk",
                  app->config->reserve_disk_mib);
        refuse(request, PROBLEM_FULL);
    } else if (request->route->kind == ROUTE_RESUME) {
        ProblemKind kind = PROBLEM_NONE;

        if (!resume_begin(app, request, &kind))
            refuse(request, kind);
    } else if (upload_begin(app->blobs, &request->upload, &request->err)) {
        refuse(request, problem_of(request->err.status));
    } else {
        request->upload_limit = app->config->max_upload_mib << 20;
    }
}

/* Who asks, by the Authorization header. */
static Bearer find_bearer(const App *app, const Request *request)
{
    const char *header = request_header(request, "Authorization");
    static const char scheme[] = "Bearer ";

    if (!app->tokens)
        return (Bearer){.access = ACCESS_ADMIN};
    if (!header || strncasecmp(header, scheme, sizeof scheme - 1) != 0)
        return (Bearer){.access = ACCESS_NONE};
    return tokens_find(app->tokens, header + sizeof scheme - 1);
}

static void refuse_unknown(Request *request)
{
    error_set(&request->err, STATUS_INVALID,
              request_header(request, "Authorization")
                  ? "the token is not one of this server's"
                  : "this server wants a token: Authorization: Bearer TOKEN");
    refuse(request, PROBLEM_UNAUTHORIZED);
    response_header(&request->response, "WWW-Authenticate", "Bearer realm=\"bakehouse\"");
}

/* Too many requests of one token. */
static void refuse_haste(Request *request, int seconds)
{
    error_set(&request->err, STATUS_LIMIT,
              "more than %" PRId64 " requests a second of the token \"%s\"",
              request->bearer.limits.requests, request->bearer.name);
    request->response.retry_after = seconds;
    refuse(request, PROBLEM_BUSY);
}

/* Does the request's token allow the route, now? */
static bool is_allowed(const App *app, Request *request)
{
    Access wanted = request->route->access;

    request->bearer = find_bearer(app, request);
    if (wanted == ACCESS_OPEN)
        return true;
    if (request->bearer.access == ACCESS_NONE) {
        refuse_unknown(request);
        return false;
    }
    int seconds = app->tokens ? tokens_admit(app->tokens, &request->bearer, request->began_ns) : 0;
    if (seconds) {
        refuse_haste(request, seconds);
        return false;
    }
    if (wanted != ACCESS_NONE && request->bearer.access >= wanted)
        return true;
    error_set(&request->err, STATUS_INVALID, "this needs a token of the role %s, yours has %s",
              access_name(wanted), access_name(request->bearer.access));
    refuse(request, PROBLEM_FORBIDDEN);
    return false;
}

static void begin(App *app, Request *request)
{
    char allow[128];
    ProblemKind kind = PROBLEM_NONE;

    if (!guard_allows(app->config, request, &kind, &request->err)) {
        refuse(request, kind);
        request->is_ambiguous = kind == PROBLEM_MALFORMED;
        return;
    }
    request->route = find_route(request, allow, sizeof allow);
    if (!request->route && allow[0] && strcmp(request->method, "OPTIONS") == 0) {
        answer_options(app, request, allow);
        return;
    }
    if (!request->route) {
        error_set(&request->err, STATUS_NOT_FOUND,
                  allow[0] ? "the method does not apply to \"%.200s\""
                           : "there is nothing at \"%.200s\"",
                  request->path);
        refuse(request, allow[0] ? PROBLEM_METHOD : PROBLEM_NOT_FOUND);
        const char *copy = arena_text(&request->arena, allow, strlen(allow));
        if (allow[0] && copy)
            response_header(&request->response, "Allow", copy);
        return;
    }
    if (!is_allowed(app, request))
        return;
    check_head(app, request);
    if (request->state == REQUEST_BODY && takes_file(request->route))
        begin_upload(app, request);
}

/* "-" for what cannot be a method. Clients of resumable uploads may be behind proxies that know
 * only GET and POST. */
static const char *real_method(const Request *request, const char *url, const char *method)
{
    static const char *const known[] = {"PATCH", "DELETE", "HEAD"};
    const char *wanted = request_header(request, "X-HTTP-Method-Override");

    if (!guard_is_token(method))
        return "-";
    if (!wanted || strcmp(method, "POST") != 0 || strncmp(url, "/v1/uploads/", 12) != 0)
        return method;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(wanted, known[i]) == 0)
            return known[i];
    return method;
}

static Request *create_request(App *app, struct MHD_Connection *connection, const char *url,
                               const char *method)
{
    Caller *caller = caller_of(connection);
    Request *request = caller ? calloc(1, sizeof *request) : NULL;

    if (!request)
        return NULL;
    *request = (Request){.app = app,
                         .connection = connection,
                         .caller = caller,
                         .upload = {.file = -1},
                         .response = {.file = -1},
                         .waiter = {.connection = connection, .deadline_ns = INT64_MAX},
                         .began_ns = time_steady_ns()};
    if (arena_create(&request->arena, REQUEST_ARENA, &request->err)) {
        free(request);
        return NULL;
    }
    // the library's texts live as long as the connection's current request, as this does
    request->path = url;
    request->method = real_method(request, url, method);
    request->body = byte_writer(BODY_MAX, &request->body_err);
    request->response.text = text_open(64 << 20, &request->text_err);
    return request;
}

/* A piece of the body. False when so much comes after a refusal that the connection is dropped. */
static bool take_body(App *app, Request *request, const char *data, size_t size)
{
    Bytes bytes = {(const uint8_t *)data, size};

    if (request->state != REQUEST_BODY) {
        request->discarded += (int64_t)size;
        return request->discarded <= DISCARD_MAX;
    }
    if (!takes_file(request->route)) {
        write_bytes(&request->body, data, size);
        if (request->body_err.status == STATUS_NO_MEMORY) {
            request->err = request->body_err;
            refuse(request, PROBLEM_UNAVAILABLE);
        } else if (request->body_err.status) {
            error_set(&request->err, STATUS_LIMIT, "the body has more than %d bytes", BODY_MAX);
            refuse(request, PROBLEM_TOO_LARGE);
        }
        return true;
    }
    atomic_fetch_add(&app->metrics.upload_bytes, (long long)size);
    if (request->upload.size + (int64_t)size > request->upload_limit) {
        error_set(&request->err, STATUS_LIMIT, "the file has more than %" PRId64 " bytes%s",
                  request->upload_limit,
                  request->route->kind == ROUTE_UPLOAD ? " (max-upload-mib)" : "");
        refuse(request, PROBLEM_TOO_LARGE);
    } else if (upload_add(&request->upload, bytes, &request->err)) {
        refuse(request, problem_of(request->err.status));
    }
    return true;
}

/* --- tasks --- */

static void run_task(Task *task)
{
    Request *request = (Request *)((char *)task - offsetof(Request, task));

    run_handler(request->app, request);
}

/* The last of those that hold the request wakes its connection. */
static void let_go(Request *request)
{
    App *app = request->app;

    if (atomic_fetch_sub(&request->holds, 1) > 1)
        return;
    // after this the connection's thread may end the request
    MHD_resume_connection(request->connection);
    atomic_fetch_sub(&app->tasks, 1);
}

static void finish_task(Task *task)
{
    let_go((Request *)((char *)task - offsetof(Request, task)));
}

/* On the store's thread. */
static void finish_command(Command *command)
{
    let_go(command->context);
}

void request_submit(Request *request)
{
    atomic_fetch_add(&request->holds, 1);
    request->has_submitted = true;
    request->response.kind = RESPONSE_SLEEPING;
    request->command.done = finish_command;
    request->command.context = request;
    store_submit(request->app->store, &request->command);
}

/* False when the server stops: nothing may sleep any more. */
static bool start_task(App *app, Request *request)
{
    atomic_fetch_add(&app->tasks, 1);
    if (atomic_load(&app->is_closing)) {
        atomic_fetch_sub(&app->tasks, 1);
        error_set(&request->err, STATUS_CANCELLED, "the server stops");
        refuse(request, PROBLEM_UNAVAILABLE);
        return false;
    }
    request->task = (Task){.length = request->route->kind == ROUTE_TASK ? TASK_SHORT : TASK_LONG,
                           .run = run_task,
                           .finished = finish_task};
    request->state = REQUEST_RUNNING;
    atomic_store(&request->holds, 1);
    MHD_suspend_connection(request->connection);
    loop_start_task(app->loop, &request->task);
    return true;
}

/* The body is there, or the connection has been woken. */
static enum MHD_Result proceed(App *app, Request *request)
{
    switch (request->state) {
    case REQUEST_BODY:
        request->state = REQUEST_READY;
        if (request->route->kind == ROUTE_READ)
            run_handler(app, request);
        else if (start_task(app, request))
            return MHD_YES;
        break;
    case REQUEST_SLEEPING:
        (void)waiter_arrived(&request->waiter);
        request->response.kind = RESPONSE_TEXT;
        run_handler(app, request);
        break;
    case REQUEST_READY:
    case REQUEST_RUNNING:
    case REQUEST_ANSWERED:
    case REQUEST_SENT:
        break;
    }
    return request->state == REQUEST_ANSWERED ? send_answer(app, request) : MHD_YES;
}

/* A refused body is not even taken when it is large, or when the client asks first; a short one is
 * read and forgotten, for a client that is still writing would not see the answer. */
static bool is_worth_stopping(const Request *request)
{
    int64_t length = request_length(request);
    const char *expect = request_header(request, "Expect");

    return request->is_ambiguous ||
           (has_body(request) && (expect || length < 0 || length > DISCARD_MAX));
}

/* Has the client hung up with its body unfinished? The library learns of an end that comes together
 * with data only by its timeout: it takes a short read for an empty socket. */
static bool has_hung_up(struct MHD_Connection *connection, const Request *request)
{
    char byte;

    // what TLS has decrypted already is not in the socket any more
    if (request->received >= request_length(request) ||
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION))
        return false;
    return recv(request->caller->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// NOLINTNEXTLINE(readability-function-size): the library says what it hands over
enum MHD_Result dispatch_handle(void *app_, struct MHD_Connection *connection, const char *url,
                                const char *method, const char *version, const char *data,
                                size_t *data_size, void **request_)
{
    App *app = app_;
    Request *request = *request_;

    (void)version;
    if (!request) {
        request = create_request(app, connection, url, method);
        if (!request)
            return MHD_NO;
        *request_ = request;
        caller_owes_body(&app->callers, request->caller);
        begin(app, request);
        return request->state == REQUEST_ANSWERED && is_worth_stopping(request)
                   ? send_answer(app, request)
                   : MHD_YES;
    }
    if (*data_size) {
        size_t size = *data_size;

        *data_size = 0;
        request->received += (int64_t)size;
        caller_pays(&app->callers, request->caller, size);
        return take_body(app, request, data, size) && !has_hung_up(connection, request) ? MHD_YES
                                                                                        : MHD_NO;
    }
    caller_owes_nothing(request->caller);
    return proceed(app, request);
}

void dispatch_completed(void *app_, struct MHD_Connection *connection, void **request_,
                        enum MHD_RequestTerminationCode code)
{
    App *app = app_;
    Request *request = *request_;

    (void)connection;
    (void)code;
    if (!request)
        return;
    caller_owes_request(&app->callers, request->caller, request->state == REQUEST_SENT);
    if (request->is_upload_counted)
        atomic_fetch_sub(&app->uploads, 1);
    (void)waiter_arrived(&request->waiter);
    upload_close(app->blobs, &request->upload);
    byte_writer_close(&request->body);
    response_close(&request->response);
    arena_destroy(&request->arena);
    free(request);
    *request_ = NULL;
}
