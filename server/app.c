#include "server/app.h"

#include "server/api/api.h"
#include "server/jobs/recovery.h"
#include "server/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const double histogram_bound[HISTOGRAM_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                   0.1,   0.5,    1.0,   5.0,  30.0,  300.0};

void histogram_add(Histogram *histogram, int64_t nanoseconds)
{
    // the clock may have been set back meanwhile
    nanoseconds = nanoseconds > 0 ? nanoseconds : 0;
    double seconds = (double)nanoseconds * 1e-9;
    int i = 0;

    while (i < HISTOGRAM_BUCKETS && seconds > histogram_bound[i])
        i++;
    atomic_fetch_add(&histogram->bucket[i], 1);
    atomic_fetch_add(&histogram->microseconds, (long long)(nanoseconds / 1000));
}

/* On the store's thread, after each commit that added events. */
static void spread_news(void *app_, const StoreNews *news)
{
    App *app = app_;

    if (!app->has_parts)
        return;
    for (int i = 0; i < news->job_count && i < news->capacity; i++) {
        if (news->has_ended[i])
            segments_end(&app->segments, news->job[i]);
        else
            segments_reopen(&app->segments, news->job[i]);
    }
    hub_publish(&app->hub, news);
    if (news->has_queued && app->loop)
        loop_wake(app->loop);
    if (news->has_deliveries && app->notify)
        notify_wake(app->notify);
}

/* On the store's thread, inside the transaction of a job's end. */
static void describe_end(void *app_, const char *id, const Job *job, Text *out)
{
    (void)app_;
    api_write_end(id, job, out);
}

static Status open_parts(App *app, Error *err)
{
    StoreListener listener = {.published = spread_news, .describe = describe_end, .context = app};
    int64_t last_event = 0;

    if (id_create("s_", app->owner, err) || blobs_open(app->config->data, &app->blobs, err) ||
        store_open(app->config->data, app->blobs, &listener, &app->store, err) ||
        recover_jobs(app, err) || store_last_event(app->store, &last_event, err))
        return err->status;
    char paused[8];
    if (store_find_setting(app->store, "paused", paused, sizeof paused, err))
        return err->status;
    atomic_store(&app->is_paused, strcmp(paused, "true") == 0);
    pace_init(&app->pace);
    segments_init(&app->segments, &app->pace);
    hub_init(&app->hub, &app->pace, last_event);
    callers_init(&app->callers, app->config->idle_ms);
    app->has_parts = true;
    if (rigs_open(app, &app->rigs, err) || plans_open(&app->plans, err) ||
        notify_open(app, &app->notify, err) || loop_open(app, &app->loop, err) ||
        server_open(app, &app->server, err))
        return err->status;
    loop_wake(app->loop);
    return STATUS_OK;
}

static Status open_tokens(App *app, Error *err)
{
    const Config *config = app->config;
    TokenLimits limits = {.requests = config->token_requests,
                          .queued = config->token_queued,
                          .upload_mib = config->token_upload_mib};

    return tokens_open(config->token_file, &limits, &app->tokens, err);
}

Status app_open(const Config *config, App **out, Error *err)
{
    App *app = calloc(1, sizeof *app);

    if (!app)
        return error_set(err, STATUS_NO_MEMORY, "could not start");
    app->config = config;
    app->started_ns = time_steady_ns();
    if ((config->token_file && open_tokens(app, err)) || open_parts(app, err)) {
        app_close(app);
        return err->status;
    }
    log_event(LOG_INFO, "server.listening",
              "address=%s scheme=%s version=%s workers=%" PRId64 " data=%s",
              server_address(app->server), config->tls_cert ? "https" : "http", BAKEHOUSE_VERSION,
              config->workers, log_quote(config->data).text);
    *out = app;
    return STATUS_OK;
}

void app_run(App *app)
{
    loop_wait(app->loop);
    log_event(LOG_INFO, "server.draining", "timeout_ms=%" PRId64, app->config->drain_ms);
    server_quiesce(app->server);
    loop_drain(app->loop);
}

/* Every connection must be awake before the HTTP server may stop. */
void app_close(App *app)
{
    if (!app)
        return;
    atomic_store(&app->is_closing, true);
    for (bool is_first = true; app->loop && (is_first || atomic_load(&app->tasks) > 0);) {
        loop_drain(app->loop);
        uv_sleep(is_first ? 0 : 1);
        is_first = false;
    }
    if (app->has_parts) {
        segments_shut(&app->segments);
        hub_shut(&app->hub);
        pace_shut(&app->pace);
    }
    server_close(app->server);
    loop_close(app->loop);
    notify_close(app->notify);
    app->notify = NULL;
    plans_close(app->plans);
    rigs_close(app->rigs);
    store_close(app->store);
    if (app->has_parts) {
        callers_destroy(&app->callers);
        hub_destroy(&app->hub);
        segments_destroy(&app->segments);
        pace_destroy(&app->pace);
    }
    blobs_close(app->blobs);
    tokens_close(app->tokens);
    log_event(LOG_INFO, "server.stopped", "seconds=%.1f",
              (double)(time_steady_ns() - app->started_ns) * 1e-9);
    free(app);
}
