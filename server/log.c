#include "server/log.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char *const level_name[] = {"debug", "info", "warn", "error"};

static _Atomic LogLevel least_level = LOG_INFO;

static _Atomic LogFormat line_format = LOG_TEXT;

void log_open(LogLevel least, LogFormat format)
{
    atomic_store(&line_format, format);
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

/* --- as JSON --- */

static bool is_number(const char *text, size_t length)
{
    char copy[32];
    char *end = NULL;

    if (length == 0 || length >= sizeof copy || strspn(text, "0123456789.-") < length ||
        !((text[0] >= '0' && text[0] <= '9') || text[0] == '-'))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    (void)strtod(copy, &end);
    // JSON has no leading zeros
    return !*end && !(copy[0] == '0' && length > 1 && copy[1] != '.') && copy[length - 1] != '.' &&
           copy[length - 1] != '-';
}

/* The length of one value: up to a space, or a text in quotes. */
static size_t measure_value(const char *text)
{
    size_t length = 1;

    if (*text != '"')
        return strcspn(text, " ");
    while (text[length] && text[length] != '"')
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return length + (text[length] == '"');
}

size_t log_members(const char *text, char *out, size_t size)
{
    size_t used = 0;

    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t key = strcspn(text, "= ");
        const char *value = text + key + (text[key] == '=');
        size_t length = measure_value(value);
        const char *quote = *value == '"' || is_number(value, length) ? "" : "\"";
        int piece = snprintf(out + used, size - used, ",\"%.*s\":%s%.*s%s", (int)key, text, quote,
                             (int)length, value, quote);

        if (piece < 0 || (size_t)piece >= size - used)
            break;
        used += (size_t)piece;
        text = value + length;
    }
    out[used] = '\0';
    return used;
}

static void write_line(const char *line, size_t length)
{
    // one call a line, so that lines of different threads never mix
    ssize_t written = write(STDERR_FILENO, line, length);

    (void)written;
}

static void write_json(LogLevel level, const char *event, const char *text)
{
    char line[8192], time[40];
    size_t room = sizeof line - 2;

    (void)write_time(time, sizeof time);
    int head = snprintf(line, room, "{\"time\":\"%s\",\"level\":\"%s\",\"event\":\"%s\"", time,
                        level_name[level], event);
    size_t used = head > 0 ? (size_t)head : 0;
    used += log_members(text, line + used, room - used);
    line[used++] = '}';
    line[used++] = '\n';
    write_line(line, used);
}

void log_event(LogLevel level, const char *event, const char *format, ...)
{
    char text[4096], line[4352], time[40];
    va_list arguments;

    if (level < atomic_load(&least_level))
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (atomic_load(&line_format) == LOG_JSON) {
        write_json(level, event, text);
        return;
    }
    (void)write_time(time, sizeof time);
    int length =
        snprintf(line, sizeof line, "%s %-5s %s %s\n", time, level_name[level], event, text);
    write_line(line, length < (int)sizeof line ? (size_t)length : sizeof line - 1);
}

LogText log_quote(const char *value)
{
    LogText out;
    size_t used = 0;
    size_t left = strlen(value);

    out.text[used++] = '"';
    while (left && used + 6 < sizeof out.text) {
        size_t length = utf8_length((const uint8_t *)value, left);
        bool is_plain =
            length > 1 || (length == 1 && (unsigned char)*value >= 0x20 && *value != 0x7f);

        if (*value == '"' || *value == '\\')
            out.text[used++] = '\\';
        // what is no UTF-8, and what a terminal would obey, becomes a question mark
        length = length ? length : 1;
        if (is_plain)
            memcpy(out.text + used, value, length);
        else
            out.text[used] = '?';
        used += is_plain ? length : 1;
        value += length;
        left -= length;
    }
    out.text[used++] = '"';
    out.text[used] = '\0';
    return out;
}
