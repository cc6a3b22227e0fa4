/* NotifyUrl: where the end of a job is told, taken apart. libcurl reads it, which will also call
 * it, so that the two cannot disagree. Pure: any thread. */
#pragma once

#include <stdbool.h>

enum { NOTIFY_URL_MAX = 2048, NOTIFY_HOST_SIZE = 256 };

typedef struct NotifyUrl {
    char host[NOTIFY_HOST_SIZE];        /* in lower case, IPv6 in brackets */
    char place[NOTIFY_HOST_SIZE + 8];   /* HOST:PORT: what may be logged */
    char shown[NOTIFY_URL_MAX * 3 + 1]; /* without query and fragment: what may be shown */
} NotifyUrl;

/* NULL, or what is wrong with it: "must be ...". Never quotes the text: it may hold a secret. */
const char *notify_url_parse(const char *text, NotifyUrl *out);
