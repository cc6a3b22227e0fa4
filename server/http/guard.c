#include "server/http/guard.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The name in "NAME:PORT" or "[V6]:PORT"; false where it is neither. */
static bool split_host(const char *host, char *out, size_t size)
{
    size_t length = strcspn(host, ":");
    const char *rest = host + length;

    if (host[0] == '[') {
        const char *end = strchr(host, ']');

        if (!end)
            return false;
        host++;
        length = (size_t)(end - host);
        rest = end + 1;
    }
    if (!length || length >= size)
        return false;
    memcpy(out, host, length);
    out[length] = '\0';
    return !*rest ||
           (*rest == ':' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1));
}

static bool is_address(const char *name)
{
    struct in_addr four;
    struct in6_addr six;

    return inet_pton(AF_INET, name, &four) == 1 || inet_pton(AF_INET6, name, &six) == 1;
}

bool guard_knows_host(const Config *config, const char *host)
{
    char name[256];

    if (!split_host(host, name, sizeof name))
        return false;
    if (strcasecmp(name, "localhost") == 0 || is_address(name))
        return true;
    for (int i = 0; i < config->public_hosts.count; i++)
        if (strcasecmp(config->public_hosts.item[i], name) == 0)
            return true;
    return false;
}

/* "http://HOST" or "https://HOST" of the very Host that the request names. */
static bool is_own(const char *origin, const char *host)
{
    const char *rest = strstr(origin, "://");

    if (!rest || (strncmp(origin, "http://", 7) != 0 && strncmp(origin, "https://", 8) != 0))
        return false;
    return host && strcasecmp(rest + 3, host) == 0;
}

static bool is_listed(const ConfigList *list, const char *origin)
{
    for (int i = 0; i < list->count; i++)
        if (strcasecmp(list->item[i], origin) == 0)
            return true;
    return false;
}

const char *guard_cors_origin(const Config *config, const Request *request)
{
    const char *origin = request_header(request, "Origin");

    if (!origin || is_own(origin, request_header(request, "Host")))
        return NULL;
    return is_listed(&config->cors_origins, origin) ? origin : NULL;
}

/* What a proxy in front could read another way than we do. */
static bool is_smuggling(const Request *request)
{
    const char *coding = request_header(request, "Transfer-Encoding");

    return coding &&
           (request_header(request, "Content-Length") || strcasecmp(coding, "chunked") != 0);
}

bool guard_allows(const Config *config, const Request *request, ProblemKind *out_kind, Error *err)
{
    const char *host = request_header(request, "Host");
    const char *origin = request_header(request, "Origin");

    *out_kind = PROBLEM_MALFORMED;
    if (is_smuggling(request)) {
        error_set(err, STATUS_INVALID,
                  "the body's length is given in two ways, or in none we know");
        return false;
    }
    if (!host) {
        error_set(err, STATUS_INVALID, "the request names no Host");
        return false;
    }
    *out_kind = PROBLEM_FORBIDDEN;
    if (!guard_knows_host(config, host)) {
        error_set(err, STATUS_INVALID,
                  "the server does not answer for host \"%.100s\" (see --public-host)", host);
        return false;
    }
    if (origin && !is_own(origin, host) && !is_listed(&config->cors_origins, origin)) {
        error_set(err, STATUS_INVALID,
                  "pages of origin \"%.100s\" may not use this server "
                  "(see --cors-origin)",
                  origin);
        return false;
    }
    return true;
}
