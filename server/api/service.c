/* The server itself: health, readiness, figures, version, contract. */
#include "server/api/api.h"
#include "server/embedded.h"
#include "sim/bake.h"

#include <inttypes.h>
#include <string.h>

/* GET /healthz: the process answers. Says nothing about load. */
static Status get_health(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    (void)err;
    response_data(response, "text/plain", (Bytes){(const uint8_t *)"ok\n", 3});
    return STATUS_OK;
}

/* GET /readyz: can it take and run jobs? 503 says what cannot. */
static Status get_ready(App *app, Request *request, Response *response, Error *err)
{
    JobCounts counts;
    char paused[8];
    LoopGauges loop = loop_gauges(app->loop);
    int64_t space = blobs_free_space(app->blobs);

    (void)request;
    if (atomic_load(&app->is_closing))
        return error_set(err, STATUS_CANCELLED, "the server stops");
    // any read will do
    if (store_find_setting(app->store, "paused", paused, sizeof paused, err))
        return err->status;
    store_count_jobs(app->store, &counts);
    if (store_gauges(app->store).is_failing)
        return error_set(err, STATUS_IO, "the store cannot be written");
    if (space >= 0 && space < app->config->reserve_disk_mib << 20)
        return api_refuse(response, PROBLEM_UNAVAILABLE, err, STATUS_FULL, "the disk is full");
    if (loop.slots_lost >= loop.slots)
        return error_set(err, STATUS_IO, "every simulation slot is lost to a job that hangs");
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_write_bool(&json, "ready", true);
    json_write_bool(&json, "paused", atomic_load(&app->is_paused));
    json_write_int(&json, "queued", counts.in_state[JOB_QUEUED]);
    json_write_int(&json, "slots", loop.slots);
    json_write_int(&json, "slots_busy", loop.slots_busy);
    json_write_int(&json, "free_bytes", space);
    json_end_object(&json);
    return STATUS_OK;
}

static void write_gauge(Text *out, const char *name, const char *help, int64_t value)
{
    text_format(out,
                "# HELP bakehouse_%s %s\n# TYPE bakehouse_%s gauge\nbakehouse_%s %" PRId64 "\n",
                name, help, name, name, value);
}

static void write_counter(Text *out, const char *name, const char *help, int64_t value)
{
    text_format(out,
                "# HELP bakehouse_%s %s\n# TYPE bakehouse_%s counter\nbakehouse_%s %" PRId64 "\n",
                name, help, name, name, value);
}

/* One histogram of a metric; `labels` as "kind=\"read\"," or "". */
/* `label` is one such as kind="read", or "". */
static void write_histogram(Text *out, const char *name, const char *label, Histogram *histogram)
{
    const char *comma = *label ? "," : "", *open = *label ? "{" : "", *close = *label ? "}" : "";
    long long count = 0;

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        count += atomic_load(&histogram->bucket[i]);
        text_format(out, "bakehouse_%s_bucket{%s%sle=\"%g\"} %lld\n", name, label, comma,
                    histogram_bound[i], count);
    }
    count += atomic_load(&histogram->bucket[HISTOGRAM_BUCKETS]);
    text_format(out, "bakehouse_%s_bucket{%s%sle=\"+Inf\"} %lld\n", name, label, comma, count);
    text_format(out, "bakehouse_%s_sum%s%s%s %.6f\n", name, open, label, close,
                (double)atomic_load(&histogram->microseconds) * 1e-6);
    text_format(out, "bakehouse_%s_count%s%s%s %lld\n", name, open, label, close, count);
}

static void write_times(App *app, Text *out)
{
    static const char *const kind[] = {"kind=\"read\"", "kind=\"task\"", "kind=\"long_task\"",
                                       "kind=\"upload\"", "kind=\"resume\""};
    Metrics *metrics = &app->metrics;

    text_add(out,
             "# HELP bakehouse_http_answer_seconds From a request to the start of its answer.\n"
             "# TYPE bakehouse_http_answer_seconds histogram\n");
    for (int i = 0; i < 5; i++)
        write_histogram(out, "http_answer_seconds", kind[i], &metrics->answer_seconds[i]);
    text_add(out, "# HELP bakehouse_job_wait_seconds From the queue to a slot.\n"
                  "# TYPE bakehouse_job_wait_seconds histogram\n");
    write_histogram(out, "job_wait_seconds", "", &metrics->wait_seconds);
    text_add(out, "# HELP bakehouse_run_seconds Of attempts that have ended.\n"
                  "# TYPE bakehouse_run_seconds histogram\n");
    write_histogram(out, "run_seconds", "", &metrics->run_seconds);
    text_add(out, "# HELP bakehouse_attempts_total Attempts by how they ended.\n"
                  "# TYPE bakehouse_attempts_total counter\n");
    for (int state = JOB_DONE; state < JOB_STATE_COUNT; state++)
        text_format(out, "bakehouse_attempts_total{state=\"%s\"} %lld\n",
                    job_state_name((JobState)state), atomic_load(&metrics->ended[state]));
}

static void write_http(App *app, Text *out)
{
    Metrics *metrics = &app->metrics;

    text_add(out, "# HELP bakehouse_http_requests_total Answers by class of code.\n"
                  "# TYPE bakehouse_http_requests_total counter\n");
    for (int class = 1; class < 6; class ++)
        text_format(out, "bakehouse_http_requests_total{code=\"%dxx\"} %lld\n", class,
                    atomic_load(&metrics->requests[class]));
    text_format(out, "bakehouse_http_requests_total{code=\"dropped\"} %lld\n",
                atomic_load(&metrics->requests[0]));
    text_add(out, "# HELP bakehouse_refused_total Problem documents by the name of the problem.\n"
                  "# TYPE bakehouse_refused_total counter\n");
    for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_KIND_COUNT; kind++)
        text_format(out, "bakehouse_refused_total{reason=\"%s\"} %lld\n",
                    problem_name((ProblemKind)kind), atomic_load(&metrics->refused[kind]));
    write_counter(out, "http_refused_below_total",
                  "Requests that ended without an answer of ours: unreadable, too slow, cut off.",
                  atomic_load(&app->callers.unheard));
    write_counter(out, "http_complaints_total", "Messages of the HTTP library.",
                  atomic_load(&metrics->complaints));
    write_gauge(out, "http_connections", "Open connections.", atomic_load(&app->callers.count));
    write_gauge(out, "http_streams", "Open streams of frames and events.",
                atomic_load(&app->streams));
    write_gauge(out, "uploads", "Uploads in progress.", atomic_load(&app->uploads));
    write_counter(out, "upload_bytes_total", "Bytes of uploads received.",
                  atomic_load(&metrics->upload_bytes));
}

static Status write_notify(App *app, Text *out, Error *err)
{
    NotifyGauges notify = notify_gauges(app->notify);
    int64_t waiting = 0;

    if (store_count_deliveries(app->store, &waiting, err))
        return err->status;
    text_format(out,
                "# HELP bakehouse_notify_attempts_total Attempts to tell the end of a job.\n"
                "# TYPE bakehouse_notify_attempts_total counter\n"
                "bakehouse_notify_attempts_total{result=\"delivered\"} %lld\n"
                "bakehouse_notify_attempts_total{result=\"retried\"} %lld\n"
                "bakehouse_notify_attempts_total{result=\"failed\"} %lld\n",
                notify.delivered, notify.retried, notify.failed);
    write_gauge(out, "notify_waiting", "Ends that are still to be told.", waiting);
    write_gauge(out, "notify_sending", "Ends that are being told.", notify.sending);
    return STATUS_OK;
}

static void write_store(App *app, Text *out)
{
    StoreGauges store = store_gauges(app->store);

    write_counter(out, "store_commits_total", "Transactions.", store.commits);
    write_counter(out, "store_commands_total", "Commands in them.", store.commands);
    text_format(out,
                "# HELP bakehouse_store_commit_seconds_total All transactions together.\n"
                "# TYPE bakehouse_store_commit_seconds_total counter\n"
                "bakehouse_store_commit_seconds_total %.6f\n",
                store.commit_seconds);
    write_gauge(out, "store_bytes", "Of the database.", store.bytes);
    write_gauge(out, "store_wal_bytes", "Of its write-ahead log.", store.wal_bytes);
    write_gauge(out, "store_wal_pages", "Pages in the write-ahead log.", store.wal_pages);
    write_gauge(out, "store_failing", "1 when the last transaction failed.", store.is_failing);
    write_gauge(out, "free_bytes", "Space on the disk of the store.", blobs_free_space(app->blobs));
}

/* GET /metrics, in the text form of Prometheus. */
static Status get_metrics(App *app, Request *request, Response *response, Error *err)
{
    Text *out = &response->text;
    LoopGauges loop = loop_gauges(app->loop);
    JobCounts counts;

    (void)request;
    store_count_jobs(app->store, &counts);
    response->kind = RESPONSE_TEXT;
    response->type = "text/plain; version=0.0.4";
    text_add(out, "# HELP bakehouse_jobs Jobs by state.\n# TYPE bakehouse_jobs gauge\n");
    for (int state = 0; state < JOB_STATE_COUNT; state++)
        text_format(out, "bakehouse_jobs{state=\"%s\"} %" PRId64 "\n",
                    job_state_name((JobState)state), counts.in_state[state]);
    write_gauge(out, "slots", "Simulations at once.", loop.slots);
    write_gauge(out, "slots_busy", "Simulations that run.", loop.slots_busy);
    write_gauge(out, "slots_lost", "Slots of jobs that hang.", loop.slots_lost);
    write_gauge(out, "tasks_running", "Tasks of requests that run.", loop.tasks_running);
    write_gauge(out, "tasks_waiting", "Tasks of requests that wait.", loop.tasks_waiting);
    write_counter(out, "runs_total", "Attempts that have ended.", loop.runs);
    write_counter(out, "crashes_total", "Jobs whose process crashed (--isolate).",
                  atomic_load(&app->metrics.crashed));
    write_counter(out, "frames_total", "Frames written.", atomic_load(&app->metrics.frames));
    write_gauge(out, "queue_paused", "1 while no job is begun.", atomic_load(&app->is_paused));
    write_times(app, out);
    write_http(app, out);
    write_store(app, out);
    if (write_notify(app, out, err))
        return err->status;
    write_gauge(out, "uptime_seconds", "Since the start.",
                (time_steady_ns() - app->started_ns) / 1000000000);
    return STATUS_OK;
}

/* GET /v1/version. */
static Status get_version(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    (void)err;
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_write_text(&json, "version", BAKEHOUSE_VERSION);
    json_write_int(&json, "simulation", SIM_VERSION);
    json_end_object(&json);
    return STATUS_OK;
}

static Status answer_embedded(Response *response, const char *path, const char *type, Error *err)
{
    const EmbeddedFile *file = embedded_find(path);

    if (!file)
        return error_set(err, STATUS_NOT_FOUND, "there is no \"%s\" in this build", path);
    response_data(response, type, (Bytes){file->data, file->size});
    return STATUS_OK;
}

/* GET /v1/openapi.json. */
static Status get_openapi(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    return answer_embedded(response, "schema/openapi.json", "application/json", err);
}

/* GET /problems/{id}: what each problem means is one page. */
static Status get_problem(App *app, Request *request, Response *response, Error *err)
{
    (void)app;
    (void)request;
    return answer_embedded(response, "schema/problems.md", "text/markdown; charset=utf-8", err);
}

const Route service_routes[] = {
    {"GET", "/healthz", ROUTE_READ, false, get_health, ACCESS_OPEN},
    {"GET", "/readyz", ROUTE_READ, false, get_ready, ACCESS_OPEN},
    {"GET", "/metrics", ROUTE_READ, false, get_metrics, ACCESS_READ},
    {"GET", "/v1/version", ROUTE_READ, false, get_version, ACCESS_OPEN},
    {"GET", "/v1/openapi.json", ROUTE_READ, false, get_openapi, ACCESS_OPEN},
    {"GET", "/problems/{id}", ROUTE_READ, false, get_problem, ACCESS_OPEN},
    {0},
};
