/* Waiter: a suspended connection in a list of those that wait for the same thing.
 *
 * The rule that no wake-up is lost: under the lock of what is waited for, look; when there is
 * nothing, waiter_suspend; unlock. Who brings news changes it and calls waiter_resume under the
 * same lock. Every function is called with that lock held. A waiter lies in its request and is out
 * of its list whenever its connection runs. */
#pragma once

#include "server/store/ids.h"

#include <microhttpd.h>

typedef struct WaitList {
    struct Waiter *first;
} WaitList;

typedef struct Waiter {
    struct MHD_Connection *connection;
    struct Waiter *next, *previous;
    bool is_linked;
    char job[STORE_ID_SIZE]; /* waits for news of this job only; "" for any */
    int64_t deadline_ns;     /* of the steady clock; INT64_MAX for none */
} Waiter;

/* Into the list, and the connection to sleep. */
void waiter_suspend(WaitList *list, Waiter *waiter);
/* Out of the list, and the connection awake. */
void waiter_resume(WaitList *list, Waiter *waiter);
void waiter_resume_all(WaitList *list);
