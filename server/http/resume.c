#include "server/http/resume.h"

#include "server/app.h"

#include <inttypes.h>
#include <nettle/base64.h>
#include <string.h>
#include <strings.h>

static const char version[] = "1.0.0";

void resume_add_headers(Request *request)
{
    response_header(&request->response, "Tus-Resumable", version);
    response_header(&request->response, "Cache-Control", "no-store");
}

Status resume_check_version(Request *request, Response *response, Error *err)
{
    const char *wanted = request_header(request, "Tus-Resumable");

    if (wanted && strcmp(wanted, version) == 0)
        return STATUS_OK;
    response->problem = PROBLEM_PRECONDITION;
    return error_set(err, STATUS_INVALID, "Tus-Resumable must be %s", version);
}

bool resume_is_owner(const Request *request, const Partial *partial)
{
    return request->bearer.access == ACCESS_ADMIN ||
           strcmp(request->bearer.name, partial->owner) == 0;
}

/* --- checksums --- */

typedef enum ChecksumKind {
    CHECKSUM_NONE,
    CHECKSUM_SHA1,
    CHECKSUM_SHA256,
    CHECKSUM_BAD
} ChecksumKind;

/* "sha256 BASE64" into its bytes. */
static ChecksumKind read_checksum(const Request *request, uint8_t out[SHA256_SIZE])
{
    const char *text = request_header(request, "Upload-Checksum");
    struct base64_decode_ctx decoder;
    uint8_t digest[BASE64_DECODE_LENGTH(64)];
    size_t size = sizeof digest;

    if (!text)
        return CHECKSUM_NONE;
    const char *value = strchr(text, ' ');
    if (!value || strlen(value + 1) > 64)
        return CHECKSUM_BAD;
    base64_decode_init(&decoder);
    if (!base64_decode_update(&decoder, &size, digest, strlen(value + 1), value + 1) ||
        !base64_decode_final(&decoder))
        return CHECKSUM_BAD;
    size_t name = (size_t)(value - text);
    ChecksumKind kind = name == 4 && strncasecmp(text, "sha1", name) == 0     ? CHECKSUM_SHA1
                        : name == 6 && strncasecmp(text, "sha256", name) == 0 ? CHECKSUM_SHA256
                                                                              : CHECKSUM_BAD;
    if (size != (kind == CHECKSUM_SHA1 ? SHA1_SIZE : SHA256_SIZE))
        return CHECKSUM_BAD;
    memcpy(out, digest, size);
    return kind;
}

bool resume_is_intact(const Request *request)
{
    uint8_t wanted[SHA256_SIZE], found[SHA256_SIZE];
    Sha256 sha256 = request->upload.hash;
    Sha1 sha1 = request->upload.sha1;

    switch (read_checksum(request, wanted)) {
    case CHECKSUM_NONE:
        return true;
    case CHECKSUM_SHA1:
        sha1_end(&sha1, found);
        return memcmp(wanted, found, SHA1_SIZE) == 0;
    case CHECKSUM_SHA256:
        sha256_end(&sha256, found);
        return memcmp(wanted, found, SHA256_SIZE) == 0;
    case CHECKSUM_BAD:
        break;
    }
    return false;
}

/* --- a piece --- */

/* What can be refused by the head alone. */
static ProblemKind check_head(Request *request, int64_t offset)
{
    const char *type = request_header(request, "Content-Type");
    uint8_t digest[SHA256_SIZE];

    if (resume_check_version(request, &request->response, &request->err))
        return PROBLEM_PRECONDITION;
    if (!type || strcmp(type, "application/offset+octet-stream") != 0) {
        error_set(&request->err, STATUS_INVALID,
                  "the Content-Type of a piece is application/offset+octet-stream");
        return PROBLEM_MEDIA_TYPE;
    }
    if (offset < 0) {
        error_set(&request->err, STATUS_INVALID, "Upload-Offset must be the offset of the piece");
        return PROBLEM_MALFORMED;
    }
    if (read_checksum(request, digest) == CHECKSUM_BAD) {
        error_set(&request->err, STATUS_INVALID,
                  "Upload-Checksum must be sha1 or sha256 and the checksum in base64");
        return PROBLEM_MALFORMED;
    }
    return PROBLEM_NONE;
}

bool resume_begin(App *app, Request *request, ProblemKind *out_kind)
{
    int64_t offset = -1;
    int64_t length = request_length(request);
    Partial partial;

    (void)request_read_digits(request_header(request, "Upload-Offset"), &offset);
    *out_kind = check_head(request, offset);
    if (*out_kind)
        return false;
    *out_kind = PROBLEM_NOT_FOUND;
    if (!id_is_valid(request->id, "u_") ||
        partial_find(app->blobs, request->id, &partial, &request->err) ||
        !resume_is_owner(request, &partial)) {
        error_set(&request->err, STATUS_NOT_FOUND, "there is no upload \"%s\"", request->id);
        return false;
    }
    *out_kind = PROBLEM_TOO_LARGE;
    if (length > partial.size - offset && offset <= partial.size) {
        error_set(&request->err, STATUS_LIMIT,
                  "the upload was said to have %" PRId64 " bytes, this piece ends at %" PRId64,
                  partial.size, offset + length);
        return false;
    }
    if (partial_resume(app->blobs, request->id, offset, &request->upload, &request->err)) {
        *out_kind = problem_of(request->err.status);
        return false;
    }
    request->upload_limit = partial.size;
    request->upload.wants_sha1 = request_header(request, "Upload-Checksum") != NULL;
    request->upload.is_provisional = request->upload.wants_sha1;
    return true;
}
