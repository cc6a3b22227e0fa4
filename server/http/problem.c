#include "server/http/problem.h"

#include <stdio.h>

typedef struct Problem {
    const char *name; /* of its type */
    const char *title;
    int code;
    int retry_after; /* seconds */
} Problem;

static const Problem problem[PROBLEM_KIND_COUNT] = {
    [PROBLEM_NONE] = {"none", "No problem", 200, 0},
    [PROBLEM_MALFORMED] = {"malformed", "The request cannot be read", 400, 0},
    [PROBLEM_UNAUTHORIZED] = {"unauthorized", "The server wants a token", 401, 0},
    [PROBLEM_FORBIDDEN] = {"forbidden", "The request may not do this", 403, 0},
    [PROBLEM_NOT_FOUND] = {"not-found", "There is no such thing", 404, 0},
    [PROBLEM_METHOD] = {"method-not-allowed", "The method does not apply here", 405, 0},
    [PROBLEM_CONFLICT] = {"conflict", "The state does not allow this", 409, 0},
    [PROBLEM_PRECONDITION] = {"precondition", "The version is not spoken here", 412, 0},
    [PROBLEM_TOO_LARGE] = {"too-large", "The body is larger than a limit", 413, 0},
    [PROBLEM_MEDIA_TYPE] = {"media-type", "The media type is not taken", 415, 0},
    [PROBLEM_RANGE] = {"range", "The range lies outside", 416, 0},
    [PROBLEM_INVALID] = {"invalid", "The content has faults", 422, 0},
    [PROBLEM_CHECKSUM] = {"checksum", "The piece is not what its checksum says", 460, 0},
    [PROBLEM_BUSY] = {"busy", "Too much at once", 429, 2},
    [PROBLEM_INTERNAL] = {"internal", "The server failed", 500, 0},
    [PROBLEM_UNAVAILABLE] = {"unavailable", "The server cannot do this now", 503, 5},
    [PROBLEM_FULL] = {"full", "The disk is full or cannot be written", 507, 60},
};

static const ProblemKind problem_of_status[STATUS_COUNT] = {
    [STATUS_OK] = PROBLEM_NONE,
    [STATUS_INVALID] = PROBLEM_INVALID,
    [STATUS_NOT_FOUND] = PROBLEM_NOT_FOUND,
    [STATUS_CONFLICT] = PROBLEM_CONFLICT,
    [STATUS_LIMIT] = PROBLEM_INVALID,
    [STATUS_NO_MEMORY] = PROBLEM_UNAVAILABLE,
    [STATUS_IO] = PROBLEM_UNAVAILABLE,
    [STATUS_CANCELLED] = PROBLEM_UNAVAILABLE,
    [STATUS_DIVERGED] = PROBLEM_INVALID,
    [STATUS_FULL] = PROBLEM_FULL,
};

const char *problem_name(ProblemKind kind)
{
    return problem[kind].name;
}

const char *problem_title(ProblemKind kind)
{
    return problem[kind].title;
}

int problem_code(ProblemKind kind)
{
    return problem[kind].code;
}

int problem_retry_after(ProblemKind kind)
{
    return problem[kind].retry_after;
}

ProblemKind problem_of(Status status)
{
    return problem_of_status[status];
}

void problem_write(ProblemKind kind, const char *detail, const Faults *faults, Text *out)
{
    JsonWriter json = json_writer(out, 0);

    char type[64];

    (void)snprintf(type, sizeof type, "/problems/%s", problem[kind].name);
    json_begin_object(&json, NULL);
    json_write_text(&json, "type", type);
    json_write_text(&json, "title", problem[kind].title);
    json_write_int(&json, "status", problem[kind].code);
    json_write_text(&json, "detail", detail);
    if (faults && faults->count > 0) {
        json_begin_array(&json, "errors");
        for (int i = 0; i < faults->count && i < faults->capacity; i++) {
            json_begin_object(&json, NULL);
            json_write_text(&json, "pointer", faults->fault[i].pointer);
            json_write_text(&json, "detail", faults->fault[i].detail);
            json_end_object(&json);
        }
        json_end_array(&json);
        if (faults->count > faults->capacity)
            json_write_int(&json, "errors_left_out", faults->count - faults->capacity);
    }
    json_end_object(&json);
}
