/* Callers: the open connections, each with the time by which it must have sent what it owes: the
 * whole head of its next request, or enough of a body. The library's own timeout begins again with
 * every byte, so that a client that sends one now and then would stay for ever.
 *
 * The library's threads call all but callers_tick, each for its own connections; the loop's thread
 * calls that. The lock guards the list, and keeps a socket open while it is looked at. */
#pragma once

#include <microhttpd.h>
#include <uv.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { BODY_RATE_LEAST = 1024 /* bytes a second, over each idle time */ };

typedef struct Caller {
    struct Caller *next, *previous;
    int socket;
    atomic_llong due_ns;   /* then the connection is cut; INT64_MAX: nothing is owed */
    long long received;    /* of the body since `due_ns` was set */
    bool has_line;         /* the first line of a request has come, its handler has not begun */
    bool was_heard;        /* a handler has begun */
    const char *uri_fault; /* of the request's line; NULL: none */
} Caller;

typedef struct Callers {
    uv_mutex_t lock;
    Caller *first;
    int64_t idle_ns;
    int64_t looked_ns;    /* by callers_tick */
    atomic_int count;     /* of connections */
    atomic_llong unheard; /* requests that ended before a handler could answer */
} Callers;

void callers_init(Callers *callers, int64_t idle_ms);
void callers_destroy(Callers *callers);

/* For MHD_OPTION_NOTIFY_CONNECTION. */
void callers_notify(void *callers, struct MHD_Connection *connection, void **caller,
                    enum MHD_ConnectionNotificationCode code);
/* The connection's; NULL where there was no memory for it. */
Caller *caller_of(struct MHD_Connection *connection);
/* The head is whole; its body, if any, comes now. */
void caller_owes_body(Callers *callers, Caller *caller);
/* So much of the body has come. */
void caller_pays(Callers *callers, Caller *caller, size_t size);
/* The request is whole: the answer is ours to give. */
void caller_owes_nothing(Caller *caller);
/* The request has ended; `was_answered` says how. Another may come. */
void caller_owes_request(Callers *callers, Caller *caller, bool was_answered);

/* Cuts the connections of those that are late. */
void callers_tick(Callers *callers, int64_t now_ns);
