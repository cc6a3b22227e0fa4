#include "server/http/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *request_header(const Request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

const char *request_query(const Request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, name);
}

bool request_read_digits(const char *text, int64_t *out)
{
    if (!text || !*text || text[strspn(text, "0123456789")])
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

bool request_read_serial(const char *text, int64_t *out)
{
    return text && strlen(text) <= 18 && request_read_digits(text, out);
}

int64_t request_length(const Request *request)
{
    int64_t length = -1;

    (void)request_read_digits(request_header(request, "Content-Length"), &length);
    return length;
}

Status request_query_int(const Request *request, const char *name, int64_t otherwise, int64_t min,
                         int64_t max, int64_t *out, Error *err)
{
    const char *text = request_query(request, name);
    int64_t value = otherwise;

    if (text && (!request_read_digits(text, &value) || value < min || value > max))
        return error_set(err, STATUS_INVALID, "%s must be a whole number from %lld to %lld", name,
                         (long long)min, (long long)max);
    *out = value;
    return STATUS_OK;
}

/* What request_query_all gathers. */
typedef struct Gathering {
    const char *name;
    const char **out;
    int capacity;
    int count;
} Gathering;

static enum MHD_Result gather(void *gathering_, enum MHD_ValueKind kind, const char *name,
                              const char *value)
{
    Gathering *gathering = gathering_;

    (void)kind;
    if (strcmp(name, gathering->name) == 0) {
        if (gathering->count < gathering->capacity)
            gathering->out[gathering->count] = value ? value : "";
        gathering->count++;
    }
    return MHD_YES;
}

int request_query_all(const Request *request, const char *name, const char **out, int capacity)
{
    Gathering gathering = {.name = name, .out = out, .capacity = capacity};

    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, gather, &gathering);
    return gathering.count;
}

bool request_accepts(const Request *request, const char *type)
{
    const char *accept = request_header(request, "Accept");

    return accept && strcasestr(accept, type) != NULL;
}
