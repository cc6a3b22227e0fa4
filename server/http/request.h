/* Request and Response: what handlers see of HTTP.
 *
 * A request has one arena, which dies with it. The handler fills the response; when it returns a
 * failure instead, the dispatcher writes the problem document. Both belong to one thread at a time:
 * the connection's, or the pool's while the connection sleeps. */
#pragma once

#include "base/arena.h"
#include "server/http/callers.h"
#include "server/http/problem.h"
#include "server/http/token.h"
#include "server/http/waiter.h"
#include "server/jobs/loop.h"
#include "server/store/blob.h"
#include "server/store/ids.h"
#include "server/store/store.h"

#include <microhttpd.h>

typedef struct App App;
typedef struct Request Request;
typedef struct Response Response;

typedef Status (*Handler)(App *app, Request *request, Response *response, Error *err);

typedef enum RouteKind {
    ROUTE_READ,      /* answers at once, on the connection's thread, within 5 ms */
    ROUTE_TASK,      /* writes, or computes shortly: on the pool, the connection sleeps */
    ROUTE_LONG_TASK, /* the same, and may take seconds */
    ROUTE_UPLOAD,    /* the body goes to a file while it comes; then a long task */
    ROUTE_RESUME     /* the same, to the end of a file that is there (http/resume.h) */
} RouteKind;

typedef struct Route {
    const char *method;
    const char *path; /* "/v1/jobs/{id}/cancel" */
    RouteKind kind;
    bool takes_json; /* the body must be application/json */
    Handler handle;
    Access access; /* what its token must allow, where the server wants tokens */
} Route;

/* All routes, closed by a NULL method. */
extern const Route *const route_tables[];

typedef enum ResponseKind {
    RESPONSE_TEXT,    /* `text` */
    RESPONSE_DATA,    /* `data`, which lives as long as the server */
    RESPONSE_FILE,    /* `file`, with Range and If-None-Match where it has an etag */
    RESPONSE_STREAM,  /* `read` until it says end */
    RESPONSE_SLEEPING /* none yet: the connection sleeps (request_sleep), then it is asked again */
} ResponseKind;

enum { RESPONSE_HEADERS_MAX = 12 };

typedef struct ResponseHeader {
    const char *name;
    const char *value;
} ResponseHeader;

struct Response {
    ResponseKind kind;
    int code;            /* 0: 200 */
    const char *type;    /* media type */
    ProblemKind problem; /* where a failure is not what its status says */
    bool is_problem;     /* the document of `problem` is its content */
    int retry_after;     /* seconds; 0: what the problem says */
    const Faults *faults;
    int header_count;
    ResponseHeader header[RESPONSE_HEADERS_MAX];
    Text text;
    Bytes data;
    int file; /* belongs to the response from here on */
    int64_t file_size;
    const char *etag; /* with its quotes */
    MHD_ContentReaderCallback read;
    MHD_ContentReaderFreeCallback close;
    void *source; /* of read and close */
};

typedef enum RequestState {
    REQUEST_BODY,     /* comes in */
    REQUEST_READY,    /* is all there */
    REQUEST_RUNNING,  /* on the pool */
    REQUEST_SLEEPING, /* waits for news */
    REQUEST_ANSWERED, /* the response can go out */
    REQUEST_SENT
} RequestState;

struct Request {
    App *app;
    struct MHD_Connection *connection;
    Caller *caller; /* the connection's */
    const Route *route;
    const char *method;
    const char *path;
    char id[STORE_ID_SIZE]; /* what stands for {id} */
    Arena arena;
    ByteWriter body;
    Upload upload;
    bool is_upload_counted;
    bool is_ambiguous;    /* where it ends is not sure: nothing more is read */
    int64_t upload_limit; /* bytes the file may have */
    Bearer bearer;        /* who asks */
    int64_t received;     /* bytes of the body */
    int64_t discarded;    /* bytes of a body that has been refused */
    RequestState state;
    Response response;
    Error err;
    Error body_err; /* the body writer's own */
    Error text_err; /* the response's */
    Task task;
    atomic_int holds;   /* a task and a command that still keep the connection asleep */
    Command command;    /* of request_submit */
    bool has_submitted; /* and has its answer whenever the handler runs again */
    /* of handlers that wait */
    Waiter waiter;
    int64_t seen_event;
    unsigned seen_beat;
    int64_t began_ns;
};

/* NULL when absent. */
const char *request_header(const Request *request, const char *name);
const char *request_query(const Request *request, const char *name);
/* A text of digits only; what is too great is INT64_MAX. False for anything else, NULL too. */
bool request_read_digits(const char *text, int64_t *out);
/* A cursor, or the id of an event: at most 18 digits. */
bool request_read_serial(const char *text, int64_t *out);
/* Bytes of the body as the head says; -1 where it does not. */
int64_t request_length(const Request *request);
/* The number under that name in the query; `otherwise` when absent, INVALID outside the range. */
NODISCARD Status request_query_int(const Request *request, const char *name, int64_t otherwise,
                                   int64_t min, int64_t max, int64_t *out, Error *err);
/* Every value under that name; at most `capacity` are written; returns how many there are. */
int request_query_all(const Request *request, const char *name, const char **out, int capacity);
/* Does the client prefer this media type: is it named in Accept? */
bool request_accepts(const Request *request, const char *type);

/* On a task's thread: gives `command` to the store, and no thread waits for it. The handler returns
 * STATUS_OK; once the store has answered, it is called again on the connection's thread. What the
 * command points to lives as long as the request. */
void request_submit(Request *request);

/* A header; texts must live as long as the request. */
void response_header(Response *response, const char *name, const char *value);
/* JSON into `text`, type application/json. */
JsonWriter response_json(Response *response);
/* Bytes that live as long as the server. */
void response_data(Response *response, const char *type, Bytes data);
/* A file, which belongs to the response from here on. */
void response_file(Response *response, const char *type, int file, int64_t size, const char *etag);
/* No content. */
void response_empty(Response *response, int code);

/* Queues the response on its connection. */
enum MHD_Result response_send(Request *request);
/* What the response holds that was not handed to the library. */
void response_close(Response *response);

/* The problem document in place of the response. */
void response_problem(Request *request, ProblemKind kind);
