#include "server/http/guard.h"

#include "base/utf8.h"

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

/* --- the target --- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte at `*uri`, which moves behind it: escaped or plain; -1 for a bad escape. */
static int read_byte(const char **uri)
{
    const char *at = *uri;

    *uri += 1;
    if (*at != '%')
        return (uint8_t)*at;
    int high = hex_digit(at[1]);
    int low = high < 0 ? -1 : hex_digit(at[2]);
    if (low < 0)
        return -1;
    *uri += 2;
    return high << 4 | low;
}

/* Does a character of UTF-8 begin with `byte`, going on at `*uri`, which moves behind it? */
static bool read_character(int byte, const char **uri)
{
    uint8_t character[4] = {(uint8_t)byte};
    size_t size = 1;

    while (size < 4 && utf8_length(character, size) == 0) {
        const char *next = *uri;
        int more = *next ? read_byte(&next) : -1;

        if ((more & 0xc0) != 0x80 || more < 0)
            return false;
        character[size++] = (uint8_t)more;
        *uri = next;
    }
    return utf8_length(character, size) == size;
}

const char *guard_uri_fault(const char *uri)
{
    if (!uri || (uri[0] != '/' && strcmp(uri, "*") != 0))
        return "the request must name a path: /v1/jobs";
    while (*uri) {
        char raw = *uri;
        int byte = read_byte(&uri);

        if (byte < 0)
            return "a % in the path or query must have two hex digits behind it";
        if (byte == 0)
            return "the path and query must not have zero bytes";
        if ((raw > 0 && raw <= ' ') || raw == 0x7f)
            return "spaces and control characters in the path or query must be escaped";
        if (!read_character(byte, &uri))
            return "the path and query must be UTF-8";
    }
    return NULL;
}

/* --- headers --- */

bool guard_is_token(const char *text)
{
    static const char allowed[] = "!#$%&'*+-.^_`|~0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    return *text && text[strspn(text, allowed)] == '\0';
}

/* Headers that may be there once only: the library shows the first, a proxy may have read another.
 * Their values are plain text. */
static const char *const single[] = {
    "Authorization",   "Content-Encoding",
    "Content-Length",  "Content-Type",
    "Expect",          "Host",
    "Idempotency-Key", "If-Range",
    "Last-Event-ID",   "Origin",
    "Range",           "Transfer-Encoding",
    "Tus-Resumable",   "Upload-Checksum",
    "Upload-Length",   "Upload-Metadata",
    "Upload-Offset",   "X-HTTP-Method-Override",
};

enum { SINGLE_COUNT = sizeof single / sizeof single[0] };

typedef struct HeaderLook {
    bool was_seen[SINGLE_COUNT];
    Error *err;
} HeaderLook;

static bool has_only(const char *value, uint8_t least, uint8_t most)
{
    for (; *value; value++)
        if (((uint8_t)*value < least || (uint8_t)*value > most) && *value != '\t')
            return false;
    return true;
}

static enum MHD_Result look_at_header(void *look_, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    HeaderLook *look = look_;
    int which = 0;

    (void)kind;
    if (!guard_is_token(name)) {
        error_set(look->err, STATUS_INVALID, "\"%.60s\" cannot be the name of a header", name);
        return MHD_NO;
    }
    while (which < SINGLE_COUNT && strcasecmp(single[which], name) != 0)
        which++;
    if (which < SINGLE_COUNT && look->was_seen[which])
        error_set(look->err, STATUS_INVALID, "the header %s is there twice", single[which]);
    else if (!has_only(value ? value : "", ' ', which < SINGLE_COUNT ? '~' : UINT8_MAX) ||
             (value && strchr(value, 0x7f)))
        error_set(look->err, STATUS_INVALID, "the header %.60s has characters that it cannot have",
                  name);
    if (which < SINGLE_COUNT)
        look->was_seen[which] = true;
    return look->err->status ? MHD_NO : MHD_YES;
}

/* --- the query --- */

typedef struct QueryLook {
    const Request *request;
    Error *err;
} QueryLook;

/* Only tags may be given more than once: of others the library shows the first. */
static enum MHD_Result look_at_query(void *look_, enum MHD_ValueKind kind, const char *name,
                                     const char *value)
{
    QueryLook *look = look_;
    const char *first = NULL;

    (void)kind;
    (void)value;
    if (strcmp(name, "tag") == 0 || request_query_all(look->request, name, &first, 1) == 1)
        return MHD_YES;
    error_set(look->err, STATUS_INVALID, "%.60s is there twice in the query", name);
    return MHD_NO;
}

static bool is_readable(const Request *request, Error *err)
{
    HeaderLook headers = {.err = err};
    QueryLook query = {.request = request, .err = err};

    if (request->caller->uri_fault) {
        error_set(err, STATUS_INVALID, "%s", request->caller->uri_fault);
        return false;
    }
    (void)MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_header, &headers);
    if (!err->status)
        (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, look_at_query,
                                        &query);
    return !err->status;
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
    if (!is_readable(request, err))
        return false;
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
