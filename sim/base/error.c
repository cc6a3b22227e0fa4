#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[STATUS_COUNT] = {
    [STATUS_OK] = "ok",
    [STATUS_INVALID] = "invalid",
    [STATUS_NOT_FOUND] = "not_found",
    [STATUS_CONFLICT] = "conflict",
    [STATUS_LIMIT] = "limit",
    [STATUS_NO_MEMORY] = "no_memory",
    [STATUS_IO] = "io",
    [STATUS_CANCELLED] = "cancelled",
    [STATUS_DIVERGED] = "diverged",
    [STATUS_FULL] = "full",
};

/* Control characters out of a file must not break a log line or a terminal; a cut must not leave
 * half a UTF-8 character. */
static void clean(char *message)
{
    size_t length = strlen(message);

    for (size_t i = 0; i < length; i++)
        if ((unsigned char)message[i] < 0x20 || message[i] == 0x7f)
            message[i] = '?';
    if (length + 1 < ERROR_MESSAGE_SIZE)
        return;
    while (length > 0 && ((unsigned char)message[length - 1] & 0xc0) == 0x80)
        length--;
    if (length > 0 && ((unsigned char)message[length - 1] & 0xc0) == 0xc0)
        length--;
    message[length] = '\0';
}

Status error_set(Error *err, Status status, const char *format, ...)
{
    va_list arguments;

    err->status = status;
    va_start(arguments, format);
    (void)vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    clean(err->message);
    return status;
}

Status error_context(Error *err, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;

    if (!err->status)
        return STATUS_OK;
    memcpy(message, err->message, sizeof message);
    va_start(arguments, format);
    int length = vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
    if (length >= 0 && (size_t)length < sizeof err->message)
        (void)snprintf(err->message + length, sizeof err->message - (size_t)length, ": %s",
                       message);
    clean(err->message);
    return err->status;
}

const char *status_name(Status status)
{
    return status >= 0 && status < STATUS_COUNT ? names[status] : "unknown";
}
