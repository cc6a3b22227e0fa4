#include "server/store/ids.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

Status id_create(const char *prefix, char out[STORE_ID_SIZE], Error *err)
{
    uint8_t random[10];
    uint64_t now = (uint64_t)time_now_ms();
    size_t length = strlen(prefix);

    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return error_set(err, STATUS_IO, "the system gave no random bytes");
    memcpy(out, prefix, length);
    // 48 bits of time in ten digits, 80 random bits in sixteen
    for (int i = 0; i < 10; i++)
        out[length++] = alphabet[(now >> (45 - 5 * i)) & 31];
    for (int i = 0; i < 16; i++) {
        int bit = 5 * i;
        unsigned pair = (unsigned)random[bit / 8] << 8 | (bit / 8 < 9 ? random[bit / 8 + 1] : 0u);

        out[length++] = alphabet[(pair >> (11 - bit % 8)) & 31];
    }
    out[length] = '\0';
    return STATUS_OK;
}

bool id_is_valid(const char *id, const char *prefix)
{
    size_t length = strlen(prefix);

    if (strncmp(id, prefix, length) != 0)
        return false;
    size_t digits = strspn(id + length, "0123456789abcdefghijklmnopqrstuvwxyz");
    return digits >= 1 && id[length + digits] == '\0' && length + digits < STORE_ID_SIZE;
}

int64_t time_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t time_steady_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void time_format(int64_t ms, char out[TIME_TEXT_SIZE])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;

    if (!gmtime_r(&seconds, &parts))
        parts = (struct tm){.tm_year = 70, .tm_mday = 1};
    (void)snprintf(out, TIME_TEXT_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
                   (parts.tm_year + 1900) % 10000, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                   parts.tm_min, parts.tm_sec, (int)(ms % 1000));
}

/* Milliseconds of the part behind the point; `text` moves behind it. */
static int64_t read_fraction(const char **text)
{
    int64_t value = 0;
    int64_t unit = 100;

    if (**text != '.')
        return 0;
    for ((*text)++; **text >= '0' && **text <= '9'; (*text)++) {
        value += unit * (**text - '0');
        unit /= 10;
    }
    return value;
}

/* "Z" or "+HH:MM" into milliseconds to take away; false where it is neither. */
static bool read_zone(const char *text, int64_t *out)
{
    int hours = 0;
    int minutes = 0;
    int used = 0;

    *out = 0;
    if ((text[0] == 'Z' || text[0] == 'z') && !text[1])
        return true;
    if (text[0] != '+' && text[0] != '-')
        return false;
    // NOLINTNEXTLINE(cert-err34-c): two digits cannot overflow
    if (sscanf(text + 1, "%2d:%2d%n", &hours, &minutes, &used) != 2 || used != 5 || text[6] ||
        hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
        return false;
    *out = (text[0] == '-' ? -1 : 1) * (int64_t)(hours * 60 + minutes) * 60000;
    return true;
}

Status time_parse(const char *text, int64_t *out, Error *err)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    int64_t zone = 0;

    if (!end)
        return error_set(err, STATUS_INVALID, "\"%.40s\" is no time like 2026-01-31T10:15:00Z",
                         text);
    int64_t fraction = read_fraction(&end);
    if (!read_zone(end, &zone))
        return error_set(err, STATUS_INVALID, "\"%.40s\" is no time like 2026-01-31T10:15:00Z",
                         text);
    *out = (int64_t)timegm(&parts) * 1000 + fraction - zone;
    return STATUS_OK;
}
