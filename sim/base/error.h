/* Status and Error: which kind of failure, and in words for the person who sent the input.
 *
 * A caller starts with `Error err = {0};` and passes `&err` down. A function that fails has filled
 * it and returns its status. Whoever knows the name of the thing adds it on the way up with
 * error_context. Messages are one line, lower case, without a final stop. Plain values: no
 * ownership, no threads.
 */
#pragma once

#include "base/attributes.h"

typedef enum Status {
    STATUS_OK = 0,
    STATUS_INVALID,   /* the input breaks a rule of its schema or file format */
    STATUS_NOT_FOUND, /* the named object does not exist */
    STATUS_CONFLICT,  /* the object is in a state that does not allow this */
    STATUS_LIMIT,     /* the request is well formed but larger than configured */
    STATUS_NO_MEMORY, /* an arena is full or the system refused memory */
    STATUS_IO,        /* a file, socket or database could not be used */
    STATUS_CANCELLED, /* somebody asked for this work to stop */
    STATUS_DIVERGED,  /* a solver produced numbers that are not finite */
    STATUS_FULL,      /* a disk has no room left */
    STATUS_COUNT
} Status;

enum { ERROR_MESSAGE_SIZE = 512 };

typedef struct Error {
    Status status;
    char message[ERROR_MESSAGE_SIZE]; /* UTF-8, cut at a character's start where it is too long */
} Error;

/* Fill `err` and return `status`. A failure that is already there is replaced. */
Status error_set(Error *err, Status status, const char *format, ...) PRINTF_LIKE(3, 4);

/* Put "context: " before the message of a failure; nothing when there is none. Returns the status.
 */
Status error_context(Error *err, const char *format, ...) PRINTF_LIKE(2, 3);

/* The word for a status as it stands in logs and problem documents: "invalid", "not_found" ... */
const char *status_name(Status status);
