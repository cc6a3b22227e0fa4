/* Notify: tells the ends of jobs to those who asked for it ("notify" of a job), by signed POSTs.
 *
 * What is to be told lies in the store, written in the transaction of the end itself, so that
 * neither a crash nor a restart loses it; it is sent at least once. One thread with one libcurl
 * multi handle sends: many at once, few of one receiver, so that a slow one holds up itself only.
 * An address that is not public and not allowed is never connected to (address.h), whatever its
 * name, and no redirect or proxy is followed.
 */
#pragma once

#include "base/json.h"

#include <stdbool.h>

struct App;
typedef struct Notify Notify;

/* Reads the secret, starts the thread. `app` has an open store. */
NODISCARD Status notify_open(struct App *app, Notify **out, Error *err);
/* What is being sent gets a moment to finish; the rest is sent after the next start. Accepts NULL.
 * The loop and the HTTP server have stopped. */
void notify_close(Notify *notify);

/* Any thread: there is something to tell. */
void notify_wake(Notify *notify);
/* Any thread: without a secret nothing can be signed, so nothing is sent. */
bool notify_is_on(const Notify *notify);
/* Any thread: a fault at /notify when this server would not call the URL, as far as can be said
 * without resolving its name. */
void notify_check(const Notify *notify, const char *text, Faults *faults);

typedef struct NotifyGauges {
    long long delivered, retried, failed; /* attempts by what came of them */
    int sending;
} NotifyGauges;

/* Any thread. */
NotifyGauges notify_gauges(Notify *notify);
