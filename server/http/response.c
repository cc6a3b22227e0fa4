#include "server/http/request.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TEXT_MAX = 64 << 20,
    STREAM_BLOCK = 512,
    UNSENT_MAX = 64 << 10 /* bytes of a stream that wait in the system for a slow client */
};

void response_header(Response *response, const char *name, const char *value)
{
    if (response->header_count < RESPONSE_HEADERS_MAX)
        response->header[response->header_count++] = (ResponseHeader){name, value};
}

JsonWriter response_json(Response *response)
{
    response->kind = RESPONSE_TEXT;
    response->type = "application/json";
    return json_writer(&response->text, 0);
}

void response_data(Response *response, const char *type, Bytes data)
{
    response->kind = RESPONSE_DATA;
    response->type = type;
    response->data = data;
}

void response_file(Response *response, const char *type, int file, int64_t size, const char *etag)
{
    response->kind = RESPONSE_FILE;
    response->type = type;
    response->file = file;
    response->file_size = size;
    response->etag = etag;
}

void response_empty(Response *response, int code)
{
    response->kind = RESPONSE_TEXT;
    response->code = code;
    response->type = NULL;
}

void response_close(Response *response)
{
    text_close(&response->text);
    if (response->file >= 0)
        (void)close(response->file);
    response->file = -1;
    if (response->source && response->close)
        response->close(response->source);
    response->source = NULL;
}

/* The document where there is no memory for it: what fits into the request's arena. */
static void write_poor_problem(Request *request, ProblemKind kind)
{
    const char *text = arena_format(
        &request->arena,
        "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,\"detail\":\"no memory to say "
        "more\"}",
        problem_name(kind), problem_title(kind), problem_code(kind));

    text_close(&request->response.text);
    if (text)
        response_data(&request->response, request->response.type,
                      (Bytes){(const uint8_t *)text, strlen(text)});
}

void response_problem(Request *request, ProblemKind kind)
{
    Response *response = &request->response;
    const Faults *faults = response->faults;
    int retry = response->retry_after ? response->retry_after : problem_retry_after(kind);

    response_close(response);
    *response =
        (Response){.file = -1, .code = problem_code(kind), .problem = kind, .is_problem = true};
    // what was to be the answer may have failed
    request->text_err = (Error){0};
    response->text = text_open(TEXT_MAX, &request->text_err);
    response->type = "application/problem+json";
    problem_write(kind, request->err.message, faults, &response->text);
    if (request->text_err.status)
        write_poor_problem(request, kind);
    if (retry) {
        const char *value = arena_format(&request->arena, "%d", retry);

        response_header(response, "Retry-After", value ? value : "5");
    }
}

/* --- ranges --- */

typedef enum RangeLook { RANGE_WHOLE, RANGE_PART, RANGE_OUTSIDE } RangeLook;

/* Digits at `*text` into `*out`; false where there are none or they do not fit. */
static bool read_offset(const char **text, int64_t *out)
{
    int64_t value = 0;
    const char *start = *text;

    for (; **text >= '0' && **text <= '9'; (*text)++) {
        if (value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (**text - '0');
    }
    *out = value;
    return *text > start;
}

/* One range of bytes (RFC 9110, 14); anything else, several ranges included, means the whole. */
static RangeLook read_range(const char *text, int64_t size, int64_t *out_first, int64_t *out_count)
{
    int64_t first = 0;
    int64_t last = size - 1;

    if (!text || strncmp(text, "bytes=", 6) != 0)
        return RANGE_WHOLE;
    text += 6;
    bool has_first = read_offset(&text, &first);
    if (*text++ != '-')
        return RANGE_WHOLE;
    bool has_last = read_offset(&text, &last);
    if (*text || (!has_first && !has_last))
        return RANGE_WHOLE;
    if (!has_first) { // the last so many bytes
        first = last < size ? size - last : 0;
        if (last == 0)
            return RANGE_OUTSIDE;
        last = size - 1;
    } else if (!has_last || last > size - 1) {
        if (has_last && last < first)
            return RANGE_WHOLE;
        last = size - 1;
    } else if (last < first) {
        return RANGE_WHOLE;
    }
    if (first >= size)
        return RANGE_OUTSIDE;
    *out_first = first;
    *out_count = last - first + 1;
    return RANGE_PART;
}

/* Is the etag in a list of If-None-Match, or is that "*"? */
static bool matches(const char *list, const char *etag)
{
    return list && etag && (strcmp(list, "*") == 0 || strstr(list, etag) != NULL);
}

static struct MHD_Response *make_file(Request *request)
{
    Response *response = &request->response;
    int64_t first = 0;
    int64_t count = response->file_size;
    const char *if_range = request_header(request, "If-Range");
    const char *range = request_header(request, "Range");

    if (matches(request_header(request, "If-None-Match"), response->etag)) {
        response->code = MHD_HTTP_NOT_MODIFIED;
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    }
    if (if_range && (!response->etag || strcmp(if_range, response->etag) != 0))
        range = NULL;
    switch (read_range(range, response->file_size, &first, &count)) {
    case RANGE_OUTSIDE:
        error_set(&request->err, STATUS_INVALID, "the file has %" PRId64 " bytes",
                  response->file_size);
        const char *size = arena_format(&request->arena, "bytes */%" PRId64, response->file_size);
        response_problem(request, PROBLEM_RANGE);
        response_header(response, "Content-Range", size ? size : "bytes */*");
        return NULL;
    case RANGE_PART:
        response->code = MHD_HTTP_PARTIAL_CONTENT;
        const char *part = arena_format(&request->arena, "bytes %" PRId64 "-%" PRId64 "/%" PRId64,
                                        first, first + count - 1, response->file_size);
        response_header(response, "Content-Range", part ? part : "bytes */*");
        break;
    case RANGE_WHOLE:
        break;
    }
    struct MHD_Response *made =
        MHD_create_response_from_fd_at_offset64((uint64_t)count, response->file, (uint64_t)first);
    if (made)
        response->file = -1; // the library closes it
    return made;
}

/* The text's memory goes to the library, which frees it. */
static struct MHD_Response *make_text(Response *response)
{
    ByteWriter *buffer = &response->text.buffer;
    size_t size = text_length(&response->text);

    if (!size)
        return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *made =
        MHD_create_response_from_buffer(size, buffer->data, MHD_RESPMEM_MUST_FREE);
    if (made)
        response->text = (Text){0};
    return made;
}

static struct MHD_Response *make_response(Request *request)
{
    Response *response = &request->response;
    struct MHD_Response *made = NULL;
    union {
        const uint8_t *read;
        void *any;
    } data = {response->data.data};

    switch (response->kind) {
    case RESPONSE_FILE:
        made = make_file(request);
        // a range outside has become a problem document
        return made || response->kind == RESPONSE_FILE ? made : make_text(response);
    case RESPONSE_DATA:
        return MHD_create_response_from_buffer(response->data.size, data.any,
                                               MHD_RESPMEM_PERSISTENT);
    case RESPONSE_STREAM:
        made = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, response->read,
                                                 response->source, response->close);
        if (made)
            response->source = NULL;
        // the library ends even the answer to HEAD with a chunk, unless it must not use chunks
        if (made && strcmp(request->method, "HEAD") == 0)
            (void)MHD_set_response_options(made, MHD_RF_HTTP_VERSION_1_0_ONLY, MHD_RO_END);
        return made;
    case RESPONSE_TEXT:
    case RESPONSE_SLEEPING:
        break;
    }
    return make_text(response);
}

/* The system would keep megabytes for each client that does not read. */
static void limit_unsent(const Request *request)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    int size = UNSENT_MAX;

    if (info)
        (void)setsockopt(info->connect_fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &size, sizeof size);
}

enum MHD_Result response_send(Request *request)
{
    Response *response = &request->response;
    struct MHD_Response *made = make_response(request);

    if (!made)
        return MHD_NO;
    if (response->type)
        (void)MHD_add_response_header(made, "Content-Type", response->type);
    if (response->etag)
        (void)MHD_add_response_header(made, "ETag", response->etag);
    if (response->kind == RESPONSE_STREAM)
        limit_unsent(request);
    if (response->kind == RESPONSE_FILE)
        (void)MHD_add_response_header(made, "Accept-Ranges", "bytes");
    for (int i = 0; i < response->header_count; i++)
        (void)MHD_add_response_header(made, response->header[i].name, response->header[i].value);
    (void)MHD_add_response_header(made, "X-Content-Type-Options", "nosniff");
    unsigned code = response->code ? (unsigned)response->code : MHD_HTTP_OK;
    enum MHD_Result result = MHD_queue_response(request->connection, code, made);
    MHD_destroy_response(made);
    return result;
}
