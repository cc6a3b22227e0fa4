#include "server/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_name[] = {"debug", "info ", "warn ", "error"};

static _Atomic LogLevel least_level = LOG_INFO;

void log_open(LogLevel least)
{
    atomic_store(&least_level, least);
}

/* The moment as RFC 3339 with milliseconds; returns its length. */
static int write_time(char *out, size_t size)
{
    struct timespec now;
    struct tm parts;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    return snprintf(out, size, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
                    parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                    (int)(now.tv_nsec / 1000000));
}

void log_event(LogLevel level, const char *event, const char *format, ...)
{
    char line[4096];
    size_t room = sizeof line - 1;
    va_list arguments;

    if (level < atomic_load(&least_level))
        return;
    size_t used = (size_t)write_time(line, room);
    int piece = snprintf(line + used, room - used, " %s %s ", level_name[level], event);
    if (piece > 0)
        used += (size_t)piece < room - used ? (size_t)piece : room - used - 1;
    va_start(arguments, format);
    piece = vsnprintf(line + used, room - used, format, arguments);
    va_end(arguments);
    if (piece > 0)
        used += (size_t)piece < room - used ? (size_t)piece : room - used - 1;
    line[used++] = '\n';
    // one call a line, so that lines of different threads never mix
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written;
}

LogText log_quote(const char *value)
{
    LogText out;
    size_t used = 0;

    out.text[used++] = '"';
    for (const char *c = value; *c && used + 4 < sizeof out.text; c++) {
        if (*c == '"' || *c == '\\')
            out.text[used++] = '\\';
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            out.text[used++] = '?';
        else
            out.text[used++] = *c;
    }
    out.text[used++] = '"';
    out.text[used] = '\0';
    return out;
}
