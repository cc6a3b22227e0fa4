/* Waiter: a suspended connection in a list of those that wait for the same thing.
 *
 * The rule that no wake-up is lost: under the lock of what is waited for, look; when there is
 * nothing, waiter_suspend; unlock. Who brings news changes it and calls waiter_wake under the same
 * lock. A waiter lies in its request or stream, and is in no list whenever its connection runs.
 *
 * Pace: thousands that are woken at once would keep the threads of HTTP busy for so long that other
 * requests wait. So they are woken in turn: at most AWAKE_MAX whose connections have not run yet;
 * each that runs wakes the next. A stream that has much to send gives its turn back after a while.
 * Its own mutex guards it; it is taken last. */
#pragma once

#include "server/store/ids.h"

#include <microhttpd.h>
#include <uv.h>

typedef struct Pace {
    uv_mutex_t mutex;
    struct Waiter *first, *last; /* whose turn will come */
    int awake;                   /* woken, and not come to run yet */
    bool is_closing;
} Pace;

typedef struct WaitList {
    Pace *pace;
    struct Waiter *first, *last;
} WaitList;

typedef struct Waiter {
    struct MHD_Connection *connection;
    struct Waiter *next, *previous;
    Pace *woken_by;          /* set while it counts among the awake */
    char job[STORE_ID_SIZE]; /* waits for news of this job only; "" for any */
    int64_t deadline_ns;     /* of the steady clock; INT64_MAX for none */
} Waiter;

void pace_init(Pace *pace);
void pace_destroy(Pace *pace);
/* Wakes all; from now on nobody waits for a turn. */
void pace_shut(Pace *pace);

/* These three with the lock of what is waited for. Into the list, and the connection to sleep. */
void waiter_suspend(WaitList *list, Waiter *waiter);
/* Out of the list; awake when its turn comes. */
void waiter_wake(WaitList *list, Waiter *waiter);
void waiter_wake_all(WaitList *list);

/* On its connection's thread, whenever that runs or ends. True where it had been asleep. */
bool waiter_arrived(Waiter *waiter);
/* The same thread: sleeps until its turn comes again; false when it may go on at once. */
bool waiter_yield(Pace *pace, Waiter *waiter);
