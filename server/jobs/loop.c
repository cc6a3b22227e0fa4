#include "server/jobs/loop.h"

#include "server/app.h"
#include "server/jobs/worker.h"
#include "server/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum {
    TICK_MS = 66,
    POLL_MS = 1000,
    HOUR_MS = 3600000,
    DAY_MS = 24 * HOUR_MS,
    JUMP_MS = 60000,
    NICE = 5
};

/* What other threads ask for. */
typedef struct Cancellation {
    char job[STORE_ID_SIZE];
    struct Cancellation *next;
} Cancellation;

struct Loop {
    struct App *app;
    uv_loop_t uv;
    uv_async_t inbox;
    uv_timer_t timer;
    uv_signal_t terminate, interrupt, hang_up;
    uv_thread_t thread;
    bool has_thread;
    int nice; /* of threads that compute */

    /* the inbox and what the main thread waits for: guarded by `mutex` */
    uv_mutex_t mutex;
    uv_cond_t changed;
    Task *first_task, *last_task;
    Cancellation *first_cancellation, *last_cancellation;
    Run *first_claimed; /* answers of the store */
    bool is_woken;
    bool is_stop_requested;
    bool is_drain_requested;
    bool is_close_requested;
    bool is_drained;

    /* the loop's thread alone */
    Task *waiting[2], *waiting_last[2]; /* by length */
    int running[2];
    Run *run; /* running and lost ones */
    int slots_busy, slots_lost;
    bool is_claiming, may_wait; /* a claim is on its way; more jobs may wait behind it */
    bool is_draining, was_hurried;
    int64_t drain_began_ns, beaten_ns, swept_ns, polled_ns, pruned_ns;
    Task reload;
    bool is_reloading;
    Command beat, sweep, prune;
    char *beat_jobs;        /* of the heartbeat: a JSON array of ids */
    bool is_disk_low;       /* no job is begun */
    int64_t began_ms;       /* of the wall's clock, ... */
    int64_t began_awake_ms; /* ... when the clock that nobody sets said so */
    int64_t drift_ms;       /* by which the wall's clock was wrong */
    atomic_bool is_beating, is_sweeping, is_pruning;

    /* gauges */
    atomic_int slots_busy_gauge, slots_lost_gauge, tasks_running, tasks_waiting;
    atomic_llong runs;
};

static size_t beat_size(const Config *config)
{
    return (size_t)config->workers * (STORE_ID_SIZE + 3) + 3;
}

/* --- the inbox: any thread --- */

void loop_start_task(Loop *loop, Task *task)
{
    task->loop = loop;
    task->next = NULL;
    uv_mutex_lock(&loop->mutex);
    if (loop->last_task)
        loop->last_task->next = task;
    else
        loop->first_task = task;
    loop->last_task = task;
    uv_mutex_unlock(&loop->mutex);
    (void)uv_async_send(&loop->inbox);
}

void loop_wake(Loop *loop)
{
    uv_mutex_lock(&loop->mutex);
    loop->is_woken = true;
    uv_mutex_unlock(&loop->mutex);
    (void)uv_async_send(&loop->inbox);
}

void loop_cancel_job(Loop *loop, const char *job)
{
    Cancellation *cancellation = calloc(1, sizeof *cancellation);

    // without memory for it the job just ends later: the store has it as being cancelled
    if (!cancellation)
        return;
    (void)snprintf(cancellation->job, sizeof cancellation->job, "%s", job);
    uv_mutex_lock(&loop->mutex);
    if (loop->last_cancellation)
        loop->last_cancellation->next = cancellation;
    else
        loop->first_cancellation = cancellation;
    loop->last_cancellation = cancellation;
    uv_mutex_unlock(&loop->mutex);
    (void)uv_async_send(&loop->inbox);
}

void loop_request_stop(Loop *loop)
{
    uv_mutex_lock(&loop->mutex);
    loop->is_stop_requested = true;
    uv_cond_broadcast(&loop->changed);
    uv_mutex_unlock(&loop->mutex);
}

/* On the store's thread: the claim is answered. */
static void take_claim(Command *command)
{
    Run *run = command->context;
    Loop *loop = run->app->loop;

    uv_mutex_lock(&loop->mutex);
    run->next = loop->first_claimed;
    loop->first_claimed = run;
    uv_mutex_unlock(&loop->mutex);
    (void)uv_async_send(&loop->inbox);
}

/* --- tasks --- */

static void start_tasks(Loop *loop);

/* A thread of the pool computes for long: those that answer come first. */
static void step_back(const Loop *loop)
{
    (void)setpriority(PRIO_PROCESS, 0, loop->nice); // of this thread alone
}

static void run_task(uv_work_t *work)
{
    Task *task = work->data;

    step_back(task->loop);
    task->run(task);
}

static void finish_task(uv_work_t *work, int status)
{
    Task *task = work->data;
    Loop *loop = task->loop;

    (void)status;
    loop->running[task->length]--;
    task->finished(task);
    start_tasks(loop);
}

static bool may_start(const Loop *loop, TaskLength length)
{
    int all = loop->running[TASK_SHORT] + loop->running[TASK_LONG];

    return loop->waiting[length] && all < TASKS_MAX &&
           (length == TASK_SHORT || loop->running[TASK_LONG] < TASKS_LONG_MAX);
}

static void start_tasks(Loop *loop)
{
    int waiting = 0;

    for (int length = TASK_SHORT; length <= TASK_LONG; length++) {
        while (may_start(loop, (TaskLength)length)) {
            Task *task = loop->waiting[length];

            loop->waiting[length] = task->next;
            if (!task->next)
                loop->waiting_last[length] = NULL;
            loop->running[length]++;
            task->work.data = task;
            (void)uv_queue_work(&loop->uv, &task->work, run_task, finish_task);
        }
        for (const Task *task = loop->waiting[length]; task; task = task->next)
            waiting++;
    }
    atomic_store(&loop->tasks_waiting, waiting);
    atomic_store(&loop->tasks_running, loop->running[TASK_SHORT] + loop->running[TASK_LONG]);
}

static void queue_tasks(Loop *loop, Task *first)
{
    while (first) {
        Task *task = first;

        first = task->next;
        task->next = NULL;
        if (loop->waiting_last[task->length])
            loop->waiting_last[task->length]->next = task;
        else
            loop->waiting[task->length] = task;
        loop->waiting_last[task->length] = task;
    }
    start_tasks(loop);
}

/* --- runs --- */

/* Jobs wait while there is no room for their frames: the whole queue would fail, one by one. */
static bool is_disk_low(Loop *loop)
{
    int64_t space = blobs_free_space(loop->app->blobs);
    bool is_low = space >= 0 && space < loop->app->config->reserve_disk_mib << 20;

    if (is_low != loop->is_disk_low)
        log_event(is_low ? LOG_WARN : LOG_INFO, is_low ? "disk.low" : "disk.free",
                  "free_mib=%" PRId64 " reserve_mib=%" PRId64, space >> 20,
                  loop->app->config->reserve_disk_mib);
    loop->is_disk_low = is_low;
    return is_low;
}

/* Asks the store for a job when a slot is free; one claim at a time. */
static void claim(Loop *loop)
{
    struct App *app = loop->app;

    if (loop->is_claiming || loop->is_draining || atomic_load(&app->is_paused) ||
        loop->slots_busy + loop->slots_lost >= (int)app->config->workers || is_disk_low(loop))
        return;
    Run *run = calloc(1, sizeof *run);
    if (!run)
        return; // the poll tries again
    loop->is_claiming = true;
    loop->may_wait = false;
    run->app = app;
    run->command = (Command){
        .kind = COMMAND_CLAIM_JOB, .owner = app->owner, .done = take_claim, .context = run};
    store_submit(app->store, &run->command);
}

static void work_run(uv_work_t *work)
{
    Run *run = work->data;

    step_back(run->app->loop);
    worker_run(run);
}

static void unlink_run(Loop *loop, const Run *run)
{
    Run **link = &loop->run;

    while (*link != run)
        link = &(*link)->next;
    *link = run->next;
}

static void finish_run(uv_work_t *work, int status)
{
    Run *run = work->data;
    Loop *loop = run->app->loop;

    (void)status;
    unlink_run(loop, run);
    if (run->is_lost)
        loop->slots_lost--;
    else
        loop->slots_busy--;
    atomic_fetch_add(&loop->runs, 1);
    free(run);
    claim(loop);
}

static void stop_run(Run *run, RunStop reason)
{
    if (run->stopped_ns)
        return;
    run->stopped_ns = time_steady_ns();
    atomic_store(&run->reason, reason);
    atomic_store(&run->stop, true);
}

static void start_run(Loop *loop, Run *run)
{
    loop->is_claiming = false;
    if (run->command.err.status) {
        if (run->command.err.status != STATUS_NOT_FOUND)
            log_event(LOG_ERROR, "job.claim", "message=%s",
                      log_quote(run->command.err.message).text);
        free(run);
        if (loop->may_wait)
            claim(loop);
        return;
    }
    memcpy(run->job, run->command.id, sizeof run->job);
    run->attempt = run->command.attempt;
    atomic_store(&run->moved_ns, time_steady_ns());
    run->next = loop->run;
    loop->run = run;
    loop->slots_busy++;
    run->work.data = run;
    if (loop->is_draining)
        stop_run(run, RUN_DRAINED);
    (void)uv_queue_work(&loop->uv, &run->work, work_run, finish_run);
    claim(loop);
}

static void cancel_runs(Loop *loop, Cancellation *first)
{
    while (first) {
        Cancellation *cancellation = first;

        first = cancellation->next;
        for (Run *run = loop->run; run; run = run->next)
            if (strcmp(run->job, cancellation->job) == 0)
                stop_run(run, RUN_CANCELLED);
        free(cancellation);
    }
}

/* The end of a lost run, told to the store; it lives until the store has taken it. */
typedef struct Obituary {
    Command command;
    JobEnd end;
} Obituary;

static void bury(Command *command)
{
    free(command->context);
}

/* The run does not even stop: its job fails, its slot is lost until the thread comes back. */
static void give_up(Loop *loop, Run *run)
{
    Obituary *obituary = calloc(1, sizeof *obituary);

    if (!obituary)
        return; // the next tick tries again
    run->is_lost = true;
    loop->slots_busy--;
    loop->slots_lost++;
    bool was_cancelled = atomic_load(&run->reason) == RUN_CANCELLED;
    obituary->end = (JobEnd){.state = was_cancelled ? JOB_CANCELLED : JOB_FAILED,
                             .error_status = was_cancelled ? "cancelled" : "stalled",
                             .error = was_cancelled ? "the job was cancelled"
                                                    : "the job made no progress and did not stop",
                             .key = "",
                             .sha256 = "",
                             .passed = -1,
                             .frames = atomic_load(&run->frames),
                             .reason = ""};
    obituary->command = (Command){.kind = COMMAND_FINISH_JOB,
                                  .attempt = run->attempt,
                                  .end = &obituary->end,
                                  .done = bury,
                                  .context = obituary};
    memcpy(obituary->command.id, run->job, sizeof run->job);
    store_submit(loop->app->store, &obituary->command);
    log_event(LOG_ERROR, "job.lost", "job=%s attempt=%d", run->job, run->attempt);
}

static void watch_runs(Loop *loop, int64_t now)
{
    const Config *config = loop->app->config;
    // a job's process is ended after the grace, by the thread that waits for it
    int64_t grace_ns = config->stall_grace_ms * 1000000 * (config->is_isolating ? 2 : 1);

    for (Run *run = loop->run; run; run = run->next) {
        if (run->is_lost)
            continue;
        if (run->stopped_ns && now - run->stopped_ns > grace_ns)
            give_up(loop, run);
        else if (!run->stopped_ns && now - atomic_load(&run->moved_ns) > config->stall_ms * 1000000)
            stop_run(run, RUN_STALLED);
    }
}

/* --- the timer --- */

static void take_back(Command *command)
{
    atomic_bool *is_busy = command->context;

    atomic_store(is_busy, false);
}

/* A command of the loop's own, unless the last one is still on its way. */
static void submit_own(Loop *loop, Command *slot, const Command *command, atomic_bool *is_busy)
{
    if (atomic_exchange(is_busy, true))
        return;
    *slot = *command;
    slot->done = take_back;
    slot->context = is_busy;
    store_submit(loop->app->store, slot);
}

/* Is it time again for what is done every so many milliseconds? */
static bool is_due(int64_t *last_ns, int64_t now, int64_t interval_ms)
{
    if (now - *last_ns < interval_ms * 1000000)
        return false;
    *last_ns = now;
    return true;
}

static int64_t days_ago(int64_t now, int64_t days)
{
    return days ? now - days * DAY_MS : 0;
}

static int64_t time_awake_ms(void)
{
    struct timespec now;

    // counts while the machine sleeps too
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* By how much the clock has been set since the start. */
static int64_t clock_drift_ms(const Loop *loop)
{
    return time_now_ms() - loop->began_ms - (time_awake_ms() - loop->began_awake_ms);
}

static void watch_clock(Loop *loop)
{
    int64_t drift = clock_drift_ms(loop);

    if (drift - loop->drift_ms > JUMP_MS || loop->drift_ms - drift > JUMP_MS)
        log_event(LOG_WARN, "clock.jumped", "seconds=%" PRId64, (drift - loop->drift_ms) / 1000);
    loop->drift_ms = drift;
}

/* A clock that is set forward makes nothing older, or all would go at once: time goes on from the
 * start. */
static Retention retention_now(const Loop *loop)
{
    const Config *config = loop->app->config;
    int64_t drift = clock_drift_ms(loop);
    int64_t now = time_now_ms() - (drift > 0 ? drift : 0);

    return (Retention){.events_before = days_ago(now, config->event_days),
                       .jobs_before = days_ago(now, config->keep_days),
                       .assets_before = days_ago(now, config->keep_unused_days),
                       .uploads_before = now - config->upload_hours * HOUR_MS,
                       .cache_before = days_ago(now, config->keep_cache_days)};
}

/* Of the runs that are here: a job that the store has as running, and nobody runs, gets old. */
static void beat(Loop *loop)
{
    size_t used = 0, size = beat_size(loop->app->config);

    if (atomic_load(&loop->is_beating))
        return;
    for (const Run *run = loop->run; run && used < size; run = run->next)
        if (!run->is_lost)
            used += (size_t)snprintf(loop->beat_jobs + used, size - used, "%s\"%s\"",
                                     used ? "," : "[", run->job);
    (void)snprintf(loop->beat_jobs + used, size - used, used ? "]" : "[]");
    submit_own(loop, &loop->beat,
               &(Command){.kind = COMMAND_HEARTBEAT,
                          .owner = loop->app->owner,
                          .data = loop->beat_jobs,
                          .is_lazy = true},
               &loop->is_beating);
}

/* Behind a heartbeat always: a clock that is set forward makes no run old. */
static void sweep(Loop *loop)
{
    beat(loop);
    submit_own(loop, &loop->sweep,
               &(Command){.kind = COMMAND_SWEEP,
                          .owner = loop->app->owner,
                          .age = loop->app->config->stale_ms,
                          .is_lazy = true},
               &loop->is_sweeping);
}

/* A loop that drains and has no runs left sends nothing more: what it sends lives in it. */
static void keep_house(Loop *loop, int64_t now)
{
    const Config *config = loop->app->config;

    if (loop->is_draining && !loop->run)
        return;
    if (is_due(&loop->beaten_ns, now, config->job_heartbeat_ms) && loop->run)
        beat(loop);
    if (is_due(&loop->swept_ns, now, config->sweep_ms))
        sweep(loop);
    // a full chunk means that there is more
    if (!atomic_load(&loop->is_pruning) && loop->prune.count >= RETENTION_CHUNK)
        loop->pruned_ns = 0;
    if (is_due(&loop->pruned_ns, now, config->prune_ms))
        submit_own(
            loop, &loop->prune,
            &(Command){.kind = COMMAND_PRUNE, .retention = retention_now(loop), .is_lazy = true},
            &loop->is_pruning);
    if (is_due(&loop->polled_ns, now, POLL_MS)) {
        watch_clock(loop);
        claim(loop);
    }
}

static void report_drained(Loop *loop)
{
    uv_mutex_lock(&loop->mutex);
    loop->is_drained = true;
    uv_cond_broadcast(&loop->changed);
    uv_mutex_unlock(&loop->mutex);
}

/* Runs may finish until the timeout, then they are told to stop. */
static void drain(Loop *loop, int64_t now)
{
    bool has_work = loop->run || loop->is_claiming || loop->running[TASK_SHORT] ||
                    loop->running[TASK_LONG] || loop->waiting[TASK_SHORT] ||
                    loop->waiting[TASK_LONG];
    bool has_commands = atomic_load(&loop->is_beating) || atomic_load(&loop->is_sweeping) ||
                        atomic_load(&loop->is_pruning);

    if (!has_work && !has_commands) {
        report_drained(loop);
        return;
    }
    if (now - loop->drain_began_ns < loop->app->config->drain_ms * 1000000)
        return;
    for (Run *run = loop->run; run; run = run->next) {
        stop_run(run, RUN_DRAINED);
        atomic_store(&run->is_hurried, true);
    }
}

static void tick(uv_timer_t *timer)
{
    Loop *loop = timer->data;
    int64_t now = time_steady_ns();
    int64_t heartbeat = loop->app->config->heartbeat_ms * 1000000;

    segments_tick(&loop->app->segments, now, heartbeat);
    hub_tick(&loop->app->hub, now, heartbeat);
    callers_tick(&loop->app->callers, now);
    watch_runs(loop, now);
    keep_house(loop, now);
    atomic_store(&loop->slots_busy_gauge, loop->slots_busy);
    atomic_store(&loop->slots_lost_gauge, loop->slots_lost);
    if (loop->is_draining)
        drain(loop, now);
}

/* --- the thread --- */

static void close_handle(uv_handle_t *handle, void *nothing)
{
    (void)nothing;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void read_inbox(uv_async_t *inbox)
{
    Loop *loop = inbox->data;

    uv_mutex_lock(&loop->mutex);
    Task *tasks = loop->first_task;
    Run *claimed = loop->first_claimed;
    Cancellation *cancellations = loop->first_cancellation;
    bool is_woken = loop->is_woken;
    bool is_draining = loop->is_drain_requested;
    bool is_closing = loop->is_close_requested;
    loop->first_task = loop->last_task = NULL;
    loop->first_claimed = NULL;
    loop->first_cancellation = loop->last_cancellation = NULL;
    loop->is_woken = false;
    uv_mutex_unlock(&loop->mutex);

    if (is_draining && !loop->is_draining) {
        loop->is_draining = true;
        loop->drain_began_ns = time_steady_ns();
    }
    // claims before cancellations: a job is cancelled after it was claimed
    while (claimed) {
        Run *run = claimed;

        claimed = run->next;
        start_run(loop, run);
    }
    cancel_runs(loop, cancellations);
    queue_tasks(loop, tasks);
    if (is_woken) {
        loop->may_wait = true;
        claim(loop);
    }
    if (loop->is_draining)
        drain(loop, time_steady_ns());
    if (is_closing)
        uv_walk(&loop->uv, close_handle, NULL);
}

static void take_signal(uv_signal_t *signal, int number)
{
    (void)number;
    loop_request_stop(signal->data);
}

/* On the pool: a file is read. */
static void reload_tokens(Task *task)
{
    struct App *app = task->loop->app;
    Error err = {0};

    if (tokens_reload(app->tokens, &err))
        log_event(LOG_ERROR, "tokens.kept", "message=%s", log_quote(err.message).text);
    else
        log_event(LOG_INFO, "tokens.read", "count=%d", tokens_count(app->tokens));
}

static void finish_reload(Task *task)
{
    task->loop->is_reloading = false;
}

static void take_hang_up(uv_signal_t *signal, int number)
{
    Loop *loop = signal->data;

    (void)number;
    if (!loop->app->tokens || loop->is_reloading || loop->is_draining)
        return;
    loop->is_reloading = true;
    loop->reload =
        (Task){.length = TASK_SHORT, .run = reload_tokens, .finished = finish_reload, .loop = loop};
    queue_tasks(loop, &loop->reload);
}

static void run_loop(void *loop_)
{
    Loop *loop = loop_;

    (void)uv_run(&loop->uv, UV_RUN_DEFAULT);
}

Status loop_open(struct App *app, Loop **out, Error *err)
{
    Loop *loop = calloc(1, sizeof *loop);

    if (!loop)
        return error_set(err, STATUS_NO_MEMORY, "could not start");
    loop->app = app;
    loop->began_ms = time_now_ms();
    loop->began_awake_ms = time_awake_ms();
    loop->beat_jobs = calloc(1, beat_size(app->config));
    if (!loop->beat_jobs) {
        free(loop);
        return error_set(err, STATUS_NO_MEMORY, "could not start");
    }
    loop->nice = getpriority(PRIO_PROCESS, 0) + NICE;
    (void)uv_mutex_init(&loop->mutex);
    (void)uv_cond_init(&loop->changed);
    int code = uv_loop_init(&loop->uv);
    if (code == 0) {
        loop->inbox.data = loop->timer.data = loop;
        loop->terminate.data = loop->interrupt.data = loop->hang_up.data = loop;
        (void)uv_timer_init(&loop->uv, &loop->timer);
        (void)uv_timer_start(&loop->timer, tick, TICK_MS, TICK_MS);
        (void)uv_signal_init(&loop->uv, &loop->terminate);
        (void)uv_signal_start(&loop->terminate, take_signal, SIGTERM);
        (void)uv_signal_init(&loop->uv, &loop->interrupt);
        (void)uv_signal_start(&loop->interrupt, take_signal, SIGINT);
        (void)uv_signal_init(&loop->uv, &loop->hang_up);
        (void)uv_signal_start(&loop->hang_up, take_hang_up, SIGHUP);
        code = uv_async_init(&loop->uv, &loop->inbox, read_inbox);
    }
    if (code == 0) {
        *out = loop; // the thread's first callbacks look for it in the app
        code = uv_thread_create(&loop->thread, run_loop, loop);
        loop->has_thread = code == 0;
    }
    if (code != 0)
        return error_set(err, STATUS_NO_MEMORY, "could not start the loop: %s", uv_strerror(code));
    return STATUS_OK;
}

void loop_wait(Loop *loop)
{
    uv_mutex_lock(&loop->mutex);
    while (!loop->is_stop_requested)
        uv_cond_wait(&loop->changed, &loop->mutex);
    uv_mutex_unlock(&loop->mutex);
}

void loop_drain(Loop *loop)
{
    uv_mutex_lock(&loop->mutex);
    loop->is_drain_requested = true;
    loop->is_drained = false;
    uv_mutex_unlock(&loop->mutex);
    (void)uv_async_send(&loop->inbox);
    uv_mutex_lock(&loop->mutex);
    while (!loop->is_drained)
        uv_cond_wait(&loop->changed, &loop->mutex);
    uv_mutex_unlock(&loop->mutex);
}

void loop_close(Loop *loop)
{
    if (!loop)
        return;
    if (loop->has_thread) {
        uv_mutex_lock(&loop->mutex);
        loop->is_close_requested = true;
        uv_mutex_unlock(&loop->mutex);
        (void)uv_async_send(&loop->inbox);
        (void)uv_thread_join(&loop->thread);
    }
    (void)uv_loop_close(&loop->uv);
    uv_cond_destroy(&loop->changed);
    uv_mutex_destroy(&loop->mutex);
    free(loop->beat_jobs);
    free(loop);
}

LoopGauges loop_gauges(Loop *loop)
{
    return (LoopGauges){
        .slots = (int)loop->app->config->workers,
        .slots_busy = atomic_load(&loop->slots_busy_gauge),
        .slots_lost = atomic_load(&loop->slots_lost_gauge),
        .tasks_running = atomic_load(&loop->tasks_running),
        .tasks_waiting = atomic_load(&loop->tasks_waiting),
        .runs = atomic_load(&loop->runs),
    };
}
