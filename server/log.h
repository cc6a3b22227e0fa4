/* Log: one event a line on standard error, "TIME LEVEL EVENT key=value ..." or the same as a JSON
 * object {"time", "level", "event", key: value ...}. Only server/ logs,
 * and an error is logged once, by the function that decides what happens next. Any thread. */
#pragma once

#include "base/attributes.h"

#include <stddef.h>

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR } LogLevel;

typedef enum LogFormat { LOG_TEXT, LOG_JSON } LogFormat;

/* Lines below `least` are dropped from now on. Called before there are other threads. */
void log_open(LogLevel least, LogFormat format);

void log_event(LogLevel level, const char *event, const char *format, ...) PRINTF_LIKE(3, 4);

/* A value in double quotes, with quotes and control characters escaped, cut where too long:
 * log_event(LOG_WARN, "job.failed", "message=%s", log_quote(err.message).text). */
typedef struct LogText {
    char text[1100];
} LogText;

LogText log_quote(const char *value);

/* "key=value key="va\"lue"" (a line's text, as log_event formats it) as the members of a JSON
 * object,
 * ",\"key\":value", into `out`; what does not fit is left out whole. Returns the length. */
size_t log_members(const char *text, char *out, size_t size);
