#include "server/jobs/notify.h"

#include "base/hash.h"
#include "server/app.h"
#include "server/jobs/address.h"
#include "server/jobs/notify_url.h"
#include "server/log.h"

#include <uv.h>

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    SECRET_MIN = 16,
    SECRET_MAX = 1024,
    FLIGHTS_MAX = 32,
    FLIGHTS_A_PLACE = 4,
    DUE_MAX = 256,
    CONNECT_MS = 5000,
    WHOLE_MS = 15000,
    RECEIVED_MAX = 64 << 10, /* of an answer's body, which nobody reads */
    WAIT_MAX_MS = 600000,    /* between two attempts */
    LOOK_MS = 60000,         /* between two looks at the store, without news */
    AGAIN_MS = 1000,         /* ... after the store or memory failed */
    CLOSE_MS = 2000          /* what is being sent may finish, at the end */
};

/* One attempt at one delivery. It lives until the store knows how it went. */
typedef struct Flight {
    Notify *notify;
    char id[STORE_ID_SIZE];
    char job[STORE_ID_SIZE];
    char place[STORE_PLACE_SIZE];
    char host[NOTIFY_HOST_SIZE];
    int attempt; /* from 1 */
    CURL *easy;  /* NULL when it has come back */
    struct curl_slist *headers;
    bool was_tried;  /* an address was connected to */
    bool is_refused; /* an address was not */
    AddressKind refused;
    bool has_body; /* of the answer some has come */
    size_t received;
    DeliveryEnd end;
    char error[160];
    Command command;
    int64_t settle_ns; /* not before: the store failed to take it */
    bool is_settling;  /* the command is the store's */
    bool is_settled;   /* the store has answered: guarded by `mutex` */
    struct Flight *next;
} Flight;

struct Notify {
    struct App *app;
    char secret[SECRET_MAX + 1];
    size_t secret_size;
    AllowList allowed;
    CURLM *multi;
    uv_thread_t thread;
    uv_mutex_t mutex;
    bool has_mutex;
    bool has_thread;
    atomic_bool is_woken;
    atomic_bool is_closing;

    /* the thread's own */
    Flight *flight;
    int flight_count;
    DueDelivery due[DUE_MAX];
    int64_t look_ns; /* when to look at the store again */

    atomic_llong delivered, retried, failed;
    atomic_int sending;
};

/* --- what may be called --- */

bool notify_is_on(const Notify *notify)
{
    return notify->secret_size > 0;
}

void notify_check(const Notify *notify, const char *text, Faults *faults)
{
    NotifyUrl url;
    struct sockaddr_storage storage;
    const struct sockaddr *address = (const struct sockaddr *)&storage;

    if (!notify_is_on(notify))
        faults_add(faults, "/notify",
                   "cannot be used: the server has no secret to sign with (--notify-secret-file)");
    else if (!notify_url_parse(text, &url) && address_parse(url.host, &storage) &&
             !allow_list_has(&notify->allowed, url.host, address))
        faults_add(faults, "/notify",
                   "names a %s address, which the server does not call (--notify-allow)",
                   address_kind_name(address_classify(address)));
}

/* The address is known here, and connected to next: nothing comes between. */
static curl_socket_t open_socket(void *flight_, curlsocktype purpose, struct curl_sockaddr *address)
{
    Flight *flight = flight_;

    if (purpose != CURLSOCKTYPE_IPCXN)
        return CURL_SOCKET_BAD;
    if (!allow_list_has(&flight->notify->allowed, flight->host, &address->addr)) {
        flight->is_refused = true;
        flight->refused = address_classify(&address->addr);
        return CURL_SOCKET_BAD;
    }
    flight->was_tried = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* --- sending --- */

// NOLINTNEXTLINE(readability-non-const-parameter): libcurl's form
static size_t drop_body(char *bytes, size_t size, size_t count, void *flight_)
{
    Flight *flight = flight_;

    (void)bytes;
    flight->has_body = true;
    flight->received += size * count;
    return flight->received > RECEIVED_MAX ? 0 : size * count;
}

static bool add_header(Flight *flight, const char *line)
{
    struct curl_slist *longer = curl_slist_append(flight->headers, line);

    if (longer)
        flight->headers = longer;
    return longer != NULL;
}

/* Who it is, and that it is us: HMAC over the second, a point and the body. */
static bool add_headers(Flight *flight, const char *body)
{
    const Notify *notify = flight->notify;
    char line[256];
    char stamp[32];
    char hex[SHA256_HEX_SIZE];
    int length = snprintf(stamp, sizeof stamp, "%" PRId64 ".", time_now_ms() / 1000);

    hmac_sha256_of((Bytes){(const uint8_t *)notify->secret, notify->secret_size},
                   (Bytes){(const uint8_t *)stamp, (size_t)length},
                   (Bytes){(const uint8_t *)body, strlen(body)}, hex);
    (void)snprintf(line, sizeof line, "Bakehouse-Signature: t=%.*s,v1=%s", length - 1, stamp, hex);
    if (!add_header(flight, line))
        return false;
    (void)snprintf(line, sizeof line, "Bakehouse-Delivery: %s", flight->id);
    return add_header(flight, line) && add_header(flight, "Content-Type: application/json") &&
           add_header(flight, "Accept: */*") && add_header(flight, "Expect:");
}

/* libcurl with everything off that a URL, an answer or the environment could turn on. */
static bool set_options(Flight *flight, const Delivery *delivery)
{
    CURL *easy = flight->easy;
    unsigned failed = 0;

    failed |= curl_easy_setopt(easy, CURLOPT_URL, delivery->url);
    failed |= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    failed |= curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    failed |= curl_easy_setopt(easy, CURLOPT_PROXY, "");
    failed |= curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    failed |= curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    failed |= curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // a resolver that hangs is left behind, it must not hold up the others
    failed |= curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    failed |= curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_MS);
    failed |= curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)WHOLE_MS);
    failed |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    failed |= curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, flight);
    failed |= curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop_body);
    failed |= curl_easy_setopt(easy, CURLOPT_WRITEDATA, flight);
    failed |= curl_easy_setopt(easy, CURLOPT_PRIVATE, flight);
    failed |= curl_easy_setopt(easy, CURLOPT_USERAGENT, "bakehouse/" BAKEHOUSE_VERSION);
    failed |= curl_easy_setopt(easy, CURLOPT_HTTPHEADER, flight->headers);
    failed |= curl_easy_setopt(easy, CURLOPT_POST, 1L);
    failed |=
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(delivery->body));
    failed |= curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, delivery->body);
    return failed == 0;
}

static void land(Flight *flight)
{
    if (flight->easy) {
        (void)curl_multi_remove_handle(flight->notify->multi, flight->easy);
        curl_easy_cleanup(flight->easy);
        atomic_fetch_sub(&flight->notify->sending, 1);
    }
    curl_slist_free_all(flight->headers);
    flight->easy = NULL;
    flight->headers = NULL;
}

static bool launch(Flight *flight, const Delivery *delivery)
{
    flight->easy = curl_easy_init();
    if (!flight->easy)
        return false;
    atomic_fetch_add(&flight->notify->sending, 1);
    if (add_headers(flight, delivery->body) && set_options(flight, delivery) &&
        curl_multi_add_handle(flight->notify->multi, flight->easy) == CURLM_OK)
        return true;
    land(flight);
    return false;
}

static Status start(Notify *notify, const DueDelivery *due, Error *err)
{
    NotifyUrl url;
    Delivery delivery;
    Arena arena;
    Flight *flight = calloc(1, sizeof *flight);

    if (!flight)
        return error_set(err, STATUS_NO_MEMORY, "no room for delivery %s", due->id);
    if (arena_create(&arena, (size_t)32 << 20, err)) {
        free(flight);
        return err->status;
    }
    if (!store_find_delivery(notify->app->store, due->id, &arena, &delivery, err)) {
        flight->notify = notify;
        flight->attempt = delivery.attempts + 1;
        (void)snprintf(flight->id, sizeof flight->id, "%s", due->id);
        (void)snprintf(flight->job, sizeof flight->job, "%s", delivery.job);
        (void)snprintf(flight->place, sizeof flight->place, "%s", due->place);
        // it was read when the job was taken
        (void)notify_url_parse(delivery.url, &url);
        (void)snprintf(flight->host, sizeof flight->host, "%s", url.host);
        if (!launch(flight, &delivery))
            error_set(err, STATUS_NO_MEMORY, "no room for delivery %s", due->id);
    }
    arena_destroy(&arena);
    if (err->status) {
        free(flight);
        return err->status;
    }
    flight->next = notify->flight;
    notify->flight = flight;
    notify->flight_count++;
    return STATUS_OK;
}

/* --- what came of it --- */

/* Twice as long each time, and never quite the same for those that failed together. */
static int64_t wait_ms(const Config *config, int attempt)
{
    uint16_t random = 0;
    int64_t wait = config->notify_retry_ms;

    if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random)
        random = UINT16_MAX / 2;
    for (int i = 1; i < attempt && wait < WAIT_MAX_MS; i++)
        wait *= 2;
    wait = wait * 3 / 4 + wait * random / (2 * (int64_t)UINT16_MAX);
    return wait < WAIT_MAX_MS ? wait : WAIT_MAX_MS;
}

/* What the receiver asked for counts too, where it is longer. */
static int64_t asked_ms(CURL *easy)
{
    curl_off_t seconds = 0;

    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return seconds < WAIT_MAX_MS / 1000 ? (int64_t)seconds * 1000 : WAIT_MAX_MS;
}

static void describe_failure(Flight *flight, long code, CURLcode result)
{
    if (code)
        (void)snprintf(flight->error, sizeof flight->error, "the receiver answered %ld%s", code,
                       code / 100 == 3 ? ", and redirects are not followed" : "");
    else if (flight->is_refused && !flight->was_tried)
        (void)snprintf(flight->error, sizeof flight->error,
                       "the host has a %s address, which the server does not call",
                       address_kind_name(flight->refused));
    else
        (void)snprintf(flight->error, sizeof flight->error, "no answer: %s",
                       curl_easy_strerror(result));
}

static void judge(Flight *flight, CURLcode result)
{
    const Config *config = flight->notify->app->config;
    long code = 0;

    (void)curl_easy_getinfo(flight->easy, CURLINFO_RESPONSE_CODE, &code);
    // the answer counts once its head is there
    if (code < 200 || (result != CURLE_OK && !flight->has_body))
        code = 0;
    bool is_final = code == 410 || (!code && flight->is_refused && !flight->was_tried);
    flight->end = (DeliveryEnd){.state = DELIVERY_DELIVERED, .code = (int)code, .error = ""};
    if (code / 100 == 2)
        return;
    describe_failure(flight, code, result);
    flight->end.error = flight->error;
    flight->end.state = DELIVERY_FAILED;
    if (is_final || flight->attempt >= config->notify_attempts)
        return;
    int64_t wait = wait_ms(config, flight->attempt);
    int64_t asked = asked_ms(flight->easy);
    flight->end.state = DELIVERY_PENDING;
    flight->end.next = time_now_ms() + (asked > wait ? asked : wait);
}

static void log_attempt(const Flight *flight)
{
    const DeliveryEnd *end = &flight->end;
    LogLevel level = end->state == DELIVERY_DELIVERED ? LOG_INFO : LOG_WARN;

    if (end->state == DELIVERY_DELIVERED)
        log_event(level, "notify.delivered", "job=%s delivery=%s host=%s attempt=%d code=%d",
                  flight->job, flight->id, log_quote(flight->place).text, flight->attempt,
                  end->code);
    else
        log_event(level, end->state == DELIVERY_FAILED ? "notify.failed" : "notify.retry",
                  "job=%s delivery=%s host=%s attempt=%d message=%s", flight->job, flight->id,
                  log_quote(flight->place).text, flight->attempt, log_quote(end->error).text);
}

/* On the store's thread. The wake comes before the flight can be seen as settled, and so before
 * the end of the multi handle. */
static void take_settled(Command *command)
{
    Flight *flight = command->context;
    Notify *notify = flight->notify;

    uv_mutex_lock(&notify->mutex);
    flight->is_settled = true;
    (void)curl_multi_wakeup(notify->multi);
    uv_mutex_unlock(&notify->mutex);
}

static void settle(Flight *flight)
{
    flight->is_settling = true;
    flight->is_settled = false;
    flight->command = (Command){.kind = COMMAND_SETTLE_DELIVERY,
                                .delivery = &flight->end,
                                .done = take_settled,
                                .context = flight};
    memcpy(flight->command.id, flight->id, sizeof flight->id);
    store_submit(flight->notify->app->store, &flight->command);
}

static void finish(Flight *flight, CURLcode result)
{
    Notify *notify = flight->notify;

    judge(flight, result);
    land(flight);
    atomic_fetch_add(flight->end.state == DELIVERY_DELIVERED ? &notify->delivered
                     : flight->end.state == DELIVERY_FAILED  ? &notify->failed
                                                             : &notify->retried,
                     1);
    log_attempt(flight);
    settle(flight);
}

static void take_finished(Notify *notify)
{
    int left = 0;

    for (CURLMsg *message; (message = curl_multi_info_read(notify->multi, &left));) {
        Flight *flight = NULL;

        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode result = message->data.result; // the message goes with its handle
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&flight);
        finish(flight, result);
    }
}

/* True when the flight is over: the store has it, or never will. */
static bool is_over(Flight *flight, int64_t now)
{
    Notify *notify = flight->notify;

    uv_mutex_lock(&notify->mutex);
    bool is_settled = flight->is_settled;
    uv_mutex_unlock(&notify->mutex);
    if (flight->is_settling && is_settled) {
        flight->is_settling = false;
        if (!flight->command.err.status)
            return true;
        // sent and not written down: it would be sent again at once
        log_event(LOG_ERROR, "notify.store", "delivery=%s message=%s", flight->id,
                  log_quote(flight->command.err.message).text);
        flight->settle_ns = now + (int64_t)AGAIN_MS * 1000000;
    }
    if (flight->is_settling || flight->easy)
        return false;
    if (atomic_load(&notify->is_closing))
        return true;
    if (now >= flight->settle_ns)
        settle(flight);
    return false;
}

static void reap(Notify *notify, int64_t now)
{
    for (Flight **link = &notify->flight; *link;) {
        Flight *flight = *link;

        if (is_over(flight, now)) {
            *link = flight->next;
            free(flight);
            notify->flight_count--;
            notify->look_ns = now;
        } else {
            link = &flight->next;
        }
    }
}

/* --- what is due --- */

static bool may_start(const Notify *notify, const DueDelivery *due)
{
    int count = 0;

    for (const Flight *flight = notify->flight; flight; flight = flight->next) {
        if (strcmp(flight->id, due->id) == 0)
            return false;
        count += strcmp(flight->place, due->place) == 0;
    }
    return count < FLIGHTS_A_PLACE;
}

static void look(Notify *notify, int64_t now)
{
    Store *store = notify->app->store;
    Error err = {0};
    int64_t now_ms = time_now_ms();
    int64_t next = 0;
    int count = 0;

    notify->look_ns = now + (int64_t)LOOK_MS * 1000000;
    if (store_list_due(store, now_ms, FLIGHTS_A_PLACE, notify->due, DUE_MAX, &count, &err))
        count = 0;
    for (int i = 0; i < count && notify->flight_count < FLIGHTS_MAX && !err.status; i++)
        if (may_start(notify, &notify->due[i]))
            (void)start(notify, &notify->due[i], &err);
    if (!err.status && !store_next_due(store, now_ms, &next, &err) && next &&
        next - now_ms < LOOK_MS)
        notify->look_ns = now + (next - now_ms) * 1000000;
    if (err.status) {
        log_event(LOG_ERROR, "notify.store", "message=%s", log_quote(err.message).text);
        notify->look_ns = now + (int64_t)AGAIN_MS * 1000000;
    }
}

/* --- the thread --- */

void notify_wake(Notify *notify)
{
    atomic_store(&notify->is_woken, true);
    (void)curl_multi_wakeup(notify->multi);
}

/* Milliseconds that nothing is to be done for, unless something comes. */
static int idle_ms(const Notify *notify, int64_t now)
{
    int64_t idle = (notify->look_ns - now) / 1000000 + 1;

    for (const Flight *flight = notify->flight; flight; flight = flight->next)
        if (!flight->easy && !flight->is_settling && idle > AGAIN_MS)
            idle = AGAIN_MS;
    return idle < 0 ? 0 : (int)idle;
}

static void work(Notify *notify, int64_t now)
{
    int running = 0;

    if (atomic_exchange(&notify->is_woken, false) || now >= notify->look_ns)
        look(notify, now);
    (void)curl_multi_perform(notify->multi, &running);
    take_finished(notify);
    reap(notify, now);
    (void)curl_multi_poll(notify->multi, NULL, 0, idle_ms(notify, now), NULL);
}

/* Nothing new; what does not finish in time stays to be sent. */
static void wind_up(Notify *notify)
{
    int64_t end = time_steady_ns() + (int64_t)CLOSE_MS * 1000000;
    int running = 0;

    while (notify->flight) {
        (void)curl_multi_perform(notify->multi, &running);
        take_finished(notify);
        int64_t now = time_steady_ns();
        for (Flight *flight = notify->flight; flight && now >= end; flight = flight->next)
            land(flight);
        reap(notify, now);
        if (notify->flight)
            (void)curl_multi_poll(notify->multi, NULL, 0, 100, NULL);
    }
}

static void run(void *notify_)
{
    Notify *notify = notify_;

    while (!atomic_load(&notify->is_closing))
        work(notify, time_steady_ns());
    wind_up(notify);
}

/* --- opening --- */

static Status read_secret(const char *path, Notify *notify, Error *err)
{
    char text[128];
    FILE *file = fopen(path, "re");

    if (!file)
        return error_set(err, STATUS_INVALID, "could not read the secret in \"%s\": %s", path,
                         strerror_r(errno, text, sizeof text));
    size_t size = fread(notify->secret, 1, sizeof notify->secret, file);
    bool has_failed = ferror(file) != 0;
    (void)fclose(file);
    if (has_failed)
        return error_set(err, STATUS_IO, "could not read the secret in \"%s\"", path);
    while (size > 0 && (notify->secret[size - 1] == '\n' || notify->secret[size - 1] == '\r'))
        size--;
    if (size < SECRET_MIN || size > SECRET_MAX)
        return error_set(err, STATUS_INVALID,
                         "the secret in \"%s\" must have %d to %d bytes, has %zu%s", path,
                         SECRET_MIN, SECRET_MAX, size, size > SECRET_MAX ? " or more" : "");
    notify->secret_size = size;
    return STATUS_OK;
}

/* Without a secret what waits goes on waiting. */
static void warn_of_waiting(Notify *notify)
{
    int64_t waiting = 0;
    Error err = {0};

    if (!store_count_deliveries(notify->app->store, &waiting, &err) && waiting)
        log_event(LOG_WARN, "notify.off", "waiting=%" PRId64 " message=%s", waiting,
                  log_quote("there is no --notify-secret-file to sign with").text);
}

Status notify_open(struct App *app, Notify **out, Error *err)
{
    const Config *config = app->config;
    Notify *notify = calloc(1, sizeof *notify);

    if (!notify)
        return error_set(err, STATUS_NO_MEMORY, "could not start");
    *out = notify;
    notify->app = app;
    if ((config->notify_secret_file && read_secret(config->notify_secret_file, notify, err)) ||
        allow_list_read(&config->notify_allow, &notify->allowed, err))
        return err->status;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return error_set(err, STATUS_NO_MEMORY, "could not start libcurl");
    notify->multi = curl_multi_init();
    notify->has_mutex = notify->multi && uv_mutex_init(&notify->mutex) == 0;
    if (!notify->has_mutex)
        return error_set(err, STATUS_NO_MEMORY, "could not start libcurl");
    if (!notify_is_on(notify)) {
        warn_of_waiting(notify);
        return STATUS_OK;
    }
    notify->has_thread = uv_thread_create(&notify->thread, run, notify) == 0;
    if (!notify->has_thread)
        return error_set(err, STATUS_NO_MEMORY, "could not start the thread of notifications");
    return STATUS_OK;
}

void notify_close(Notify *notify)
{
    if (!notify)
        return;
    atomic_store(&notify->is_closing, true);
    if (notify->has_thread) {
        (void)curl_multi_wakeup(notify->multi);
        (void)uv_thread_join(&notify->thread);
    }
    if (notify->multi) {
        (void)curl_multi_cleanup(notify->multi);
        curl_global_cleanup();
    }
    if (notify->has_mutex)
        uv_mutex_destroy(&notify->mutex);
    explicit_bzero(notify->secret, sizeof notify->secret);
    free(notify);
}

NotifyGauges notify_gauges(Notify *notify)
{
    return (NotifyGauges){
        .delivered = atomic_load(&notify->delivered),
        .retried = atomic_load(&notify->retried),
        .failed = atomic_load(&notify->failed),
        .sending = atomic_load(&notify->sending),
    };
}
