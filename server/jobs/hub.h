/* Hub: where connections wait for events. The events themselves lie in the store; a client is an
 * id, and the hub only says that there are newer ones.
 *
 * Threads: hub_publish on the store's thread, hub_tick on the loop's, hub_wait on those of HTTP;
 * the mutex guards all fields. */
#pragma once

#include "server/http/waiter.h"
#include "server/store/store.h"

#include <uv.h>

typedef struct Hub {
    uv_mutex_t mutex;
    WaitList waiting;
    int64_t last_event;
    int64_t beaten_ns; /* the last heartbeat */
    unsigned beat;     /* heartbeats so far */
    bool is_closing;
} Hub;

void hub_init(Hub *hub, Pace *pace, int64_t last_event);
void hub_destroy(Hub *hub);

void hub_publish(Hub *hub, const StoreNews *news);
/* Wakes who has waited long enough, and everybody for each heartbeat. */
void hub_tick(Hub *hub, int64_t now_ns, int64_t heartbeat_ns);
/* Wakes all; nobody sleeps any more. */
void hub_shut(Hub *hub);

typedef enum HubLook { HUB_NEWS, HUB_BEAT, HUB_LATE, HUB_CLOSING, HUB_WAITING } HubLook;

int64_t hub_last_event(Hub *hub);
unsigned hub_beat(Hub *hub);
/* Events newer than `*seen` (which is moved on)? A heartbeat since `*beat`? Past the waiter's
 * deadline? Else the connection sleeps. */
HubLook hub_wait(Hub *hub, Waiter *waiter, int64_t *seen, unsigned *beat);
