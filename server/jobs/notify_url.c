#include "server/jobs/notify_url.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>

/* A part of the URL; false when it is absent or too long. */
static bool copy_part(CURLU *url, CURLUPart part, unsigned flags, char *out, size_t size)
{
    char *text = NULL;

    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return false;
    size_t length = strlen(text);
    if (length < size)
        memcpy(out, text, length + 1);
    curl_free(text);
    return length < size;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool is_there = curl_url_get(url, part, &text, 0) == CURLUE_OK;

    curl_free(text);
    return is_there;
}

static const char *read_parts(CURLU *url, const char *text, NotifyUrl *out)
{
    char scheme[16] = "";
    char port[16] = "";

    switch (curl_url_set(url, CURLUPART_URL, text, CURLU_DISALLOW_USER)) {
    case CURLUE_OK:
        break;
    case CURLUE_USER_NOT_ALLOWED:
        return "must not hold a user name or password";
    default:
        return "must be a whole URL, like https://farm.example/hook";
    }
    if (!copy_part(url, CURLUPART_SCHEME, 0, scheme, sizeof scheme) ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
        return "must begin with http:// or https://";
    if (has_part(url, CURLUPART_ZONEID))
        return "must not name a zone";
    if (!copy_part(url, CURLUPART_HOST, 0, out->host, sizeof out->host) || !out->host[0])
        return "must name a host of at most 255 bytes";
    for (char *c = out->host; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!copy_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, port, sizeof port))
        return "must be a whole URL, like https://farm.example/hook";
    (void)snprintf(out->place, sizeof out->place, "%s:%s", out->host, port);
    (void)curl_url_set(url, CURLUPART_QUERY, NULL, 0);
    (void)curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    if (!copy_part(url, CURLUPART_URL, 0, out->shown, sizeof out->shown))
        return "is too long";
    return NULL;
}

const char *notify_url_parse(const char *text, NotifyUrl *out)
{
    *out = (NotifyUrl){0};
    if (strlen(text) > NOTIFY_URL_MAX)
        return "must have at most 2048 bytes";
    for (const char *c = text; *c; c++)
        if (*c <= ' ' || *c > '~')
            return "must be printable ASCII without spaces; other characters are written as %XX";
    CURLU *url = curl_url();
    if (!url)
        return "could not be read: there is no memory";
    const char *fault = read_parts(url, text, out);
    curl_url_cleanup(url);
    return fault;
}
