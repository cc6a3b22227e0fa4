#include "server/http/server.h"

#include "server/app.h"
#include "server/http/dispatch.h"
#include "server/http/guard.h"
#include "server/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

struct Server {
    App *app;
    struct MHD_Daemon *daemon;
    int quiesced; /* the listening socket, when it is ours again; else -1 */
    atomic_llong complained_ms;
    char address[160];
    char *certificate, *key; /* PEM, for the library; NULL without TLS */
};

enum { PEM_MAX = 1 << 20 };

/* A whole small file as a text. */
static Status read_pem(const char *path, char **out, Error *err)
{
    char *text = calloc(1, PEM_MAX + 1);
    FILE *file = text ? fopen(path, "re") : NULL;
    size_t size = file ? fread(text, 1, PEM_MAX, file) : 0;

    if (file)
        (void)fclose(file);
    *out = text; // freed with the server
    if (size == 0 || size == PEM_MAX || !strstr(text, "-----BEGIN "))
        return error_set(err, STATUS_INVALID, "\"%s\" cannot be read, or is not PEM", path);
    return STATUS_OK;
}

/* The library's own complaints: counted, and at most one a second logged. */
static void complain(void *server_, const char *format, va_list arguments) PRINTF_LIKE(2, 0);

static void complain(void *server_, const char *format, va_list arguments)
{
    Server *server = server_;
    char text[512];
    long long now = time_now_ms();
    long long last = atomic_load(&server->complained_ms);

    (void)vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    atomic_fetch_add(&server->app->metrics.complaints, 1);
    if (now - last >= 1000 && atomic_compare_exchange_strong(&server->complained_ms, &last, now))
        log_event(LOG_WARN, "http.library", "message=%s", log_quote(text).text);
}

/* As many descriptors as the system lets us have, and no more connections than half of them. */
static unsigned choose_connections(const Config *config)
{
    struct rlimit limit;
    unsigned wanted = (unsigned)config->max_connections;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return 512;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 2 > wanted)
        return wanted;
    return (unsigned)(limit.rlim_cur / 2);
}

static unsigned choose_threads(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    return cores / 2 < 2 ? 2u : cores / 2 > 8 ? 8u : (unsigned)(cores / 2);
}

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} Address;

static void fill_address(const Config *config, Address *out)
{
    *out = (Address){0};
    if (inet_pton(AF_INET, config->host, &out->four.sin_addr) == 1) {
        out->four.sin_family = AF_INET;
        out->four.sin_port = htons((uint16_t)config->port);
        return;
    }
    (void)inet_pton(AF_INET6, config->host, &out->six.sin6_addr);
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = htons((uint16_t)config->port);
}

/* The first line of a request, before the library unescapes it: a zero byte would cut it. */
static void *take_line(void *nothing, const char *uri, struct MHD_Connection *connection)
{
    Caller *caller = caller_of(connection);

    (void)nothing;
    if (caller) {
        caller->has_line = true;
        caller->uri_fault = guard_uri_fault(uri);
    }
    return NULL;
}

Status server_open(struct App *app, Server **out, Error *err)
{
    Server *server = calloc(1, sizeof *server);
    const Config *config = app->config;
    Address address;

    if (!server)
        return error_set(err, STATUS_NO_MEMORY, "could not start the HTTP server");
    server->app = app;
    server->quiesced = -1;
    app->connections_max = choose_connections(config);
    fill_address(config, &address);
    bool is_six = address.any.sa_family == AF_INET6;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG |
                     (is_six ? (unsigned)MHD_USE_IPv6 : 0u);
    if (config->tls_cert && (read_pem(config->tls_cert, &server->certificate, err) ||
                             read_pem(config->tls_key, &server->key, err))) {
        server_close(server);
        return err->status;
    }
    struct MHD_OptionItem secrets[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, server->certificate},
                                       {MHD_OPTION_HTTPS_MEM_KEY, 0, server->key},
                                       {MHD_OPTION_END, 0, NULL}};
    if (config->tls_cert)
        flags |= (unsigned)MHD_USE_TLS;
    else
        secrets[0].option = MHD_OPTION_END;
    server->daemon = MHD_start_daemon(
        flags, (uint16_t)config->port, NULL, NULL, dispatch_handle, app, MHD_OPTION_EXTERNAL_LOGGER,
        complain, server, MHD_OPTION_SOCK_ADDR, &address.any, MHD_OPTION_THREAD_POOL_SIZE,
        choose_threads(), MHD_OPTION_CONNECTION_LIMIT, app->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(config->idle_ms / 1000),
        MHD_OPTION_NOTIFY_COMPLETED, dispatch_completed, app, MHD_OPTION_NOTIFY_CONNECTION,
        callers_notify, &app->callers, MHD_OPTION_URI_LOG_CALLBACK, take_line, NULL,
        MHD_OPTION_ARRAY, secrets, MHD_OPTION_END);
    const union MHD_DaemonInfo *port =
        server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
    if (!port) {
        char text[128];

        error_set(err, STATUS_IO, "could not listen on %s: %s%s", config->listen,
                  config->tls_cert && !errno ? "the certificate or its key is not taken"
                                             : strerror_r(errno, text, sizeof text),
                  config->tls_cert ? " (with TLS)" : "");
        server_close(server);
        return err->status;
    }
    (void)snprintf(server->address, sizeof server->address, is_six ? "[%s]:%u" : "%s:%u",
                   config->host, (unsigned)port->port);
    *out = server;
    return STATUS_OK;
}

const char *server_address(const Server *server)
{
    return server->address;
}

void server_quiesce(Server *server)
{
    if (server->quiesced < 0)
        server->quiesced = MHD_quiesce_daemon(server->daemon);
}

void server_close(Server *server)
{
    if (!server)
        return;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->quiesced >= 0)
        (void)close(server->quiesced);
    free(server->certificate);
    if (server->key)
        explicit_bzero(server->key, PEM_MAX);
    free(server->key);
    free(server);
}
