/* Loop: the thread that owns the scheduler and the timers, and hands work to the pool.
 *
 * Work comes in two sorts: runs (simulations, at most `workers` at once, claimed from the store
 * when a slot is free) and tasks (what a request needs and a handler must not compute itself: at
 * most TASKS_MAX at once, of which at most TASKS_LONG_MAX long ones, so that short ones never wait
 * for an export). Other threads reach the loop through its inbox only; its code never waits for a
 * disk.
 */
#pragma once

#include "base/error.h"

#include <uv.h>

#include <stdbool.h>

struct App;
typedef struct Loop Loop;

enum { TASKS_MAX = 4, TASKS_LONG_MAX = 3, TASKS_WAITING_MAX = 10000 };

typedef enum TaskLength { TASK_SHORT, TASK_LONG } TaskLength;

/* Lies in what it is for, untouched from loop_start_task until `finished`. */
typedef struct Task {
    TaskLength length;
    void (*run)(struct Task *task);      /* on a thread of the pool */
    void (*finished)(struct Task *task); /* on the loop's thread; the task may be gone after it */
    uv_work_t work;
    Loop *loop;
    struct Task *next;
} Task;

/* Starts the thread. `app` has an open store. */
NODISCARD Status loop_open(struct App *app, Loop **out, Error *err);
/* After loop_drain. Accepts NULL. */
void loop_close(Loop *loop);

/* Any thread. */
void loop_start_task(Loop *loop, Task *task);
void loop_wake(Loop *loop);                        /* a job may wait */
void loop_cancel_job(Loop *loop, const char *job); /* its run, if any, is told to stop */
/* Any thread: SIGTERM and SIGINT do the same. */
void loop_request_stop(Loop *loop);

/* The main thread: returns when a stop has been requested. */
void loop_wait(Loop *loop);
/* The main thread, after loop_wait: claims no more, lets runs and tasks finish until the drain
 * timeout, then stops them and puts their jobs back; returns when the pool is empty. */
void loop_drain(Loop *loop);

typedef struct LoopGauges {
    int slots, slots_busy, slots_lost;
    int tasks_running, tasks_waiting;
    long long runs;
} LoopGauges;

/* Any thread. */
LoopGauges loop_gauges(Loop *loop);
