/* Log: one event a line on standard error, "TIME LEVEL EVENT key=value ...". Only server/ logs,
 * and an error is logged once, by the function that decides what happens next. Any thread. */
#pragma once

#include "base/attributes.h"

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR } LogLevel;

/* Lines below `least` are dropped from now on. Called before there are other threads. */
void log_open(LogLevel least);

void log_event(LogLevel level, const char *event, const char *format, ...) PRINTF_LIKE(3, 4);

/* A value in double quotes, with quotes and control characters escaped, cut where too long:
 * log_event(LOG_WARN, "job.failed", "message=%s", log_quote(err.message).text). */
typedef struct LogText {
    char text[1100];
} LogText;

LogText log_quote(const char *value);
