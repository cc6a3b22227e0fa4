/* Problem: what went wrong, as HTTP says it: RFC 9457 documents of type /problems/NAME
 * (schema/problems.md). The one place that knows codes. */
#pragma once

#include "base/json.h"

typedef enum ProblemKind {
    PROBLEM_NONE,
    PROBLEM_MALFORMED, /* 400 a request or body that cannot be read */
    PROBLEM_UNAUTHORIZED,
    PROBLEM_FORBIDDEN,    /* 403 a foreign origin or host */
    PROBLEM_NOT_FOUND,    /* 404 */
    PROBLEM_METHOD,       /* 405 */
    PROBLEM_CONFLICT,     /* 409 */
    PROBLEM_PRECONDITION, /* 412 a version of the upload protocol that is not spoken */
    PROBLEM_TOO_LARGE,    /* 413 a limit of a body, named */
    PROBLEM_MEDIA_TYPE,   /* 415 */
    PROBLEM_RANGE,        /* 416 */
    PROBLEM_INVALID,      /* 422 a readable body with faults, or a limit of its content */
    PROBLEM_CHECKSUM,     /* 460 a piece of an upload is not what its checksum says */
    PROBLEM_BUSY,         /* 429 too many at once: Retry-After */
    PROBLEM_INTERNAL,     /* 500 */
    PROBLEM_UNAVAILABLE,  /* 503 the store cannot be used now, or the server stops: Retry-After */
    PROBLEM_FULL,         /* 507 the disk is full */
    PROBLEM_KIND_COUNT
} ProblemKind;

/* The last part of its type. */
const char *problem_name(ProblemKind kind);
const char *problem_title(ProblemKind kind);
int problem_code(ProblemKind kind);
/* Seconds for Retry-After, 0 for none. */
int problem_retry_after(ProblemKind kind);
/* The kind that a failure is where the handler does not say. */
ProblemKind problem_of(Status status);
/* The document. `faults` may be NULL. */
void problem_write(ProblemKind kind, const char *detail, const Faults *faults, Text *out);
