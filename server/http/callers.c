#include "server/http/callers.h"

#include "server/store/ids.h"

#include <stdlib.h>
#include <sys/socket.h>

void callers_init(Callers *callers, int64_t idle_ms)
{
    *callers = (Callers){.idle_ns = idle_ms * 1000000};
    (void)uv_mutex_init(&callers->lock);
}

void callers_destroy(Callers *callers)
{
    uv_mutex_destroy(&callers->lock);
}

static void owe(const Callers *callers, Caller *caller)
{
    caller->received = 0;
    atomic_store(&caller->due_ns, time_steady_ns() + callers->idle_ns);
}

static Caller *add(Callers *callers, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    Caller *caller = info ? calloc(1, sizeof *caller) : NULL;

    if (!caller)
        return NULL;
    caller->socket = info->connect_fd;
    owe(callers, caller);
    uv_mutex_lock(&callers->lock);
    caller->next = callers->first;
    if (caller->next)
        caller->next->previous = caller;
    callers->first = caller;
    uv_mutex_unlock(&callers->lock);
    return caller;
}

/* The library closes the socket after this. */
static void drop(Callers *callers, Caller *caller)
{
    uv_mutex_lock(&callers->lock);
    if (caller->next)
        caller->next->previous = caller->previous;
    if (caller->previous)
        caller->previous->next = caller->next;
    else
        callers->first = caller->next;
    uv_mutex_unlock(&callers->lock);
    if (caller->has_line || !caller->was_heard)
        atomic_fetch_add(&callers->unheard, 1);
    free(caller);
}

void callers_notify(void *callers, struct MHD_Connection *connection, void **caller,
                    enum MHD_ConnectionNotificationCode code)
{
    Callers *all = callers;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        atomic_fetch_add(&all->count, 1);
        *caller = add(all, connection);
        return;
    }
    atomic_fetch_sub(&all->count, 1);
    if (*caller)
        drop(all, *caller);
    *caller = NULL;
}

Caller *caller_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

void caller_owes_body(Callers *callers, Caller *caller)
{
    caller->has_line = false;
    caller->was_heard = true;
    owe(callers, caller);
}

void caller_pays(Callers *callers, Caller *caller, size_t size)
{
    caller->received += (long long)size;
    if (caller->received >= BODY_RATE_LEAST * (callers->idle_ns / 1000000000))
        owe(callers, caller);
}

void caller_owes_nothing(Caller *caller)
{
    atomic_store(&caller->due_ns, INT64_MAX);
}

void caller_owes_request(Callers *callers, Caller *caller, bool was_answered)
{
    if (!was_answered)
        atomic_fetch_add(&callers->unheard, 1);
    owe(callers, caller);
}

void callers_tick(Callers *callers, int64_t now_ns)
{
    if (now_ns - callers->looked_ns < callers->idle_ns / 16)
        return;
    callers->looked_ns = now_ns;
    uv_mutex_lock(&callers->lock);
    for (Caller *caller = callers->first; caller; caller = caller->next)
        if (now_ns >= atomic_load(&caller->due_ns)) {
            // the library sees an end, and closes
            (void)shutdown(caller->socket, SHUT_RDWR);
            atomic_store(&caller->due_ns, INT64_MAX);
        }
    uv_mutex_unlock(&callers->lock);
}
