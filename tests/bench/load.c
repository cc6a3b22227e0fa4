/* Thousands of clients of one server on loopback, and what they saw, as one line of JSON.
 *
 *     load streams [-r BYTES] [-e EVENT] PORT COUNT PATH...   COUNT clients, the paths in turn
 *     load json PORT COUNT PATH...                            COUNT connections, 50 requests a
 *                                                             second each
 *     load post PORT COUNT TOTAL BODY PATH                    COUNT connections, TOTAL requests in
 *                                                             all, each as soon as its last is
 *                                                             answered
 *     load half PORT COUNT TEXT                               COUNT clients that send TEXT, no more
 *
 * Each prints "ready" when every client has its answer's head (of half: is connected), ends when
 * all connections have ended or when stdin does, and then prints its line. Of streams: every client
 * of a path must get the same bytes, heartbeats left out; "sha256" is of these. With -r a client
 * reads so many bytes a second, with -r 0 none; with -e it sends Last-Event-ID. The time of a JSON
 * request counts from when it was due, so that a server that keeps one client waiting is seen to
 * keep all waiting that would have come meanwhile.
 */
#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    HEAD_MAX = 1024,
    RECORD_HEAD = 16, /* of a frame's record (schema/frames.md) */
    RECORD_HEARTBEAT = 10,
    PATHS_MAX = 8,
    OPENING_MAX = 64, /* clients without an answer at once */
    REQUEST_NS = 20000000,
    TICK_MS = 10,
    SLOW_BUFFER = 4096,
};

typedef enum Role { ROLE_STREAMS, ROLE_JSON, ROLE_POST, ROLE_HALF } Role;
typedef enum Form { FORM_PLAIN, FORM_FRAMES, FORM_EVENTS } Form;
typedef enum Phase { PHASE_NEW, PHASE_HEAD, PHASE_BODY, PHASE_CLOSED } Phase;
typedef enum ChunkPhase { CHUNK_SIZE, CHUNK_DATA, CHUNK_END, CHUNK_DONE } ChunkPhase;

/* What is asked for, and what has come of it. */
typedef struct Path {
    const char *text;
    uint8_t *data; /* of the client that is farthest; the others must have the same */
    size_t size, capacity;
    int64_t *latency; /* ns, of JSON requests */
    size_t latency_count, latency_capacity;
} Path;

typedef struct Client {
    int socket;
    Phase phase;
    Path *path;
    char head[HEAD_MAX];
    size_t head_size;
    int status;
    int retry_after;
    Form form;
    bool is_chunked;
    ChunkPhase chunk;
    int64_t left; /* bytes of the chunk, or of the body; -1: until the end */
    uint8_t record[RECORD_HEAD];
    size_t record_size;
    int64_t record_left;
    bool is_skipping, is_line_start, is_block_start;
    bool was_counted; /* among those that are ready */
    bool differs, is_whole;
    size_t kept; /* bytes without heartbeats */
    int events, heartbeats;
    int64_t opened_ns, first_ns, last_ns, gap_ns, closed_ns;
    int64_t due_ns; /* of a JSON request */
    bool is_asking;
    int next_path;
} Client;

typedef struct Load {
    Role role;
    int port;
    int rate; /* bytes a second, -1 for all */
    const char *last_event;
    const char *text;         /* of half */
    const char *body;         /* of post */
    int total, asked;         /* requests of post */
    int64_t asked_ns, had_ns; /* the first, and the last answer */
    int path_count;
    Path path[PATHS_MAX];
    int count;
    Client *client;
    int started, opening, ready, closed;
    int refused_requests;
    int epoll;
    bool was_told;
} Load;

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what)
{
    perror(what);
    exit(2); // NOLINT(concurrency-mt-unsafe): one thread
}

static void *grow(void *old, size_t size)
{
    void *memory = realloc(old, size);

    if (!memory)
        die("load");
    return memory;
}

/* --- what a client has got --- */

/* The client's next bytes of its path's answer. */
static void keep(Client *client, const uint8_t *bytes, size_t size)
{
    Path *path = client->path;
    size_t known = client->kept < path->size ? path->size - client->kept : 0;

    if (known > size)
        known = size;
    if (known && memcmp(path->data + client->kept, bytes, known) != 0)
        client->differs = true;
    if (size > known) {
        size_t end = client->kept + size;

        if (end > path->capacity) {
            path->capacity = end * 2;
            path->data = grow(path->data, path->capacity);
        }
        memcpy(path->data + client->kept + known, bytes + known, size - known);
        path->size = end;
    }
    client->kept += size;
}

/* Up to the end of the record's head; returns what it used. */
static size_t take_record_head(Client *client, const uint8_t *bytes, size_t size)
{
    const uint8_t *r = client->record;
    size_t missing = RECORD_HEAD - client->record_size;
    size_t part = size < missing ? size : missing;

    memcpy(client->record + client->record_size, bytes, part);
    client->record_size += part;
    if (client->record_size < RECORD_HEAD)
        return part;
    uint32_t length =
        (uint32_t)r[0] | (uint32_t)r[1] << 8 | (uint32_t)r[2] << 16 | (uint32_t)r[3] << 24;
    client->record_left = ((int64_t)length + 3) / 4 * 4;
    client->is_skipping = r[4] == RECORD_HEARTBEAT;
    client->heartbeats += client->is_skipping;
    if (!client->is_skipping)
        keep(client, client->record, RECORD_HEAD);
    return part;
}

static void take_frames(Client *client, const uint8_t *bytes, size_t size)
{
    while (size) {
        size_t part = 0;

        if (client->record_size < RECORD_HEAD) {
            part = take_record_head(client, bytes, size);
        } else {
            part = (int64_t)size < client->record_left ? size : (size_t)client->record_left;
            if (!client->is_skipping)
                keep(client, bytes, part);
            client->record_left -= (int64_t)part;
        }
        if (client->record_size == RECORD_HEAD && client->record_left == 0)
            client->record_size = 0;
        bytes += part;
        size -= part;
    }
}

/* Blocks that begin with a colon are comments. */
static void take_events(Client *client, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (client->is_block_start) {
            client->is_skipping = bytes[i] == ':';
            client->heartbeats += bytes[i] == ':';
            client->events += bytes[i] == 'i';
        }
        client->is_block_start = bytes[i] == '\n' && client->is_line_start;
        client->is_line_start = bytes[i] == '\n';
        if (!client->is_skipping)
            keep(client, bytes + i, 1);
    }
}

static void take_body(Client *client, const uint8_t *bytes, size_t size)
{
    int64_t now = now_ns();

    if (client->first_ns && now - client->last_ns > client->gap_ns)
        client->gap_ns = now - client->last_ns;
    if (!client->first_ns)
        client->first_ns = now;
    client->last_ns = now;
    if (client->form == FORM_FRAMES)
        take_frames(client, bytes, size);
    else if (client->form == FORM_EVENTS)
        take_events(client, bytes, size);
}

/* Returns what it used of the bytes. */
static size_t take_chunk_size(Client *client, const uint8_t *bytes)
{
    const char digits[] = "0123456789abcdef";
    const char *digit = strchr(digits, bytes[0] | 0x20);

    if (bytes[0] == '\n') {
        client->chunk = client->left ? CHUNK_DATA : CHUNK_END;
        client->is_whole = client->left == 0;
    } else if (digit && *digit) {
        client->left = client->left * 16 + (digit - digits);
    }
    return 1;
}

static void take_chunked(Client *client, const uint8_t *bytes, size_t size)
{
    while (size && client->chunk != CHUNK_DONE) {
        size_t used = 1;

        if (client->chunk == CHUNK_SIZE) {
            used = take_chunk_size(client, bytes);
        } else if (client->chunk == CHUNK_DATA) {
            used = (int64_t)size < client->left ? size : (size_t)client->left;
            take_body(client, bytes, used);
            client->left -= (int64_t)used;
            if (!client->left)
                client->chunk = CHUNK_END;
        } else if (bytes[0] == '\n') { // behind a chunk's data
            client->chunk = client->is_whole ? CHUNK_DONE : CHUNK_SIZE;
        }
        bytes += used;
        size -= used;
    }
}

static const char *find_header(const Client *client, const char *name)
{
    const char *line = strstr(client->head, "\r\n");
    size_t length = strlen(name);

    for (; line && line[2] != '\r'; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':')
            return line + 3 + length + (line[3 + length] == ' ');
    return NULL;
}

static void parse_head(Client *client)
{
    const char *type = find_header(client, "Content-Type");
    const char *length = find_header(client, "Content-Length");
    const char *retry = find_header(client, "Retry-After");

    client->status = (int)strtol(client->head + strlen("HTTP/1.1 "), NULL, 10);
    client->retry_after = retry ? (int)strtol(retry, NULL, 10) : 0;
    client->is_chunked = find_header(client, "Transfer-Encoding") != NULL;
    client->left = client->is_chunked ? 0 : length ? strtoll(length, NULL, 10) : -1;
    client->form = FORM_PLAIN;
    if (type && strncmp(type, "application/vnd.bakehouse.frames", 32) == 0)
        client->form = FORM_FRAMES;
    else if (type && strncmp(type, "text/event-stream", 17) == 0)
        client->form = FORM_EVENTS;
    client->is_block_start = client->is_line_start = true;
    client->chunk = CHUNK_SIZE;
    client->phase = PHASE_BODY;
}

/* --- connections --- */

static void count_ready(Load *load, Client *client)
{
    if (client->was_counted)
        return;
    client->was_counted = true;
    load->opening--;
    load->ready++;
}

static void close_client(Load *load, Client *client)
{
    if (client->phase == PHASE_CLOSED)
        return;
    (void)close(client->socket);
    client->phase = PHASE_CLOSED;
    client->closed_ns = now_ns();
    load->closed++;
    count_ready(load, client);
}

static void open_client(Load *load, Client *client)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)load->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.ptr = client};
    char request[2048];
    int small = SLOW_BUFFER;
    int length;

    client->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (client->socket < 0)
        die("socket");
    if (load->rate >= 0) {
        (void)setsockopt(client->socket, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        event.events = 0;
    }
    if (connect(client->socket, (struct sockaddr *)&address, sizeof address))
        die("connect");
    (void)fcntl(client->socket, F_SETFL, O_NONBLOCK);
    client->phase = PHASE_HEAD;
    client->opened_ns = now_ns();
    load->opening++;
    if (load->role == ROLE_STREAMS)
        length =
            snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n",
                     client->path->text, load->last_event ? "Last-Event-ID: " : "",
                     load->last_event ? load->last_event : "", load->last_event ? "\r\n" : "");
    else
        length = snprintf(request, sizeof request, "%s", load->text ? load->text : "");
    if (length > 0 && send(client->socket, request, (size_t)length, MSG_NOSIGNAL) != length)
        die("send");
    if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, client->socket, &event))
        die("epoll");
    // those that do not read see no head, the others of half and json have none to wait for
    if (load->role != ROLE_STREAMS || load->rate >= 0)
        count_ready(load, client);
}

static void end_request(Load *load, Client *client)
{
    Path *path = client->path;

    if (path->latency_count == path->latency_capacity) {
        path->latency_capacity = path->latency_capacity * 2 + 1024;
        path->latency = grow(path->latency, path->latency_capacity * sizeof *path->latency);
    }
    load->had_ns = now_ns();
    path->latency[path->latency_count++] = load->had_ns - client->due_ns;
    load->refused_requests += client->status != (load->role == ROLE_POST ? 202 : 200);
    client->due_ns += REQUEST_NS;
    client->is_asking = false;
    client->phase = PHASE_HEAD;
    client->head_size = 0;
}

static void take(Load *load, Client *client, const uint8_t *bytes, size_t size)
{
    if (client->phase == PHASE_HEAD) {
        size_t room = HEAD_MAX - 1 - client->head_size;
        size_t part = size < room ? size : room;
        size_t before = client->head_size;

        memcpy(client->head + before, bytes, part);
        client->head_size += part;
        client->head[client->head_size] = '\0';
        const char *end = strstr(client->head, "\r\n\r\n");
        if (!end)
            return;
        parse_head(client);
        count_ready(load, client);
        size_t used = (size_t)(end + 4 - client->head) - before;
        bytes += used;
        size -= used;
    }
    if (client->is_chunked) {
        take_chunked(client, bytes, size);
        return;
    }
    take_body(client, bytes, size);
    if (client->left >= 0)
        client->left -= (int64_t)size;
    client->is_whole = client->left == 0;
    if (client->is_whole && load->role != ROLE_STREAMS)
        end_request(load, client);
}

static bool is_over(const Load *load, const Client *client)
{
    return load->role == ROLE_STREAMS && client->phase == PHASE_BODY &&
           (client->is_chunked ? client->chunk == CHUNK_DONE : client->left == 0);
}

/* Once: the others have their turn too. */
static void receive(Load *load, Client *client, size_t size)
{
    static uint8_t buffer[1 << 16];

    if (client->phase == PHASE_CLOSED)
        return;
    ssize_t got = recv(client->socket, buffer, size < sizeof buffer ? size : sizeof buffer, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got > 0)
        take(load, client, buffer, (size_t)got);
    if (got <= 0 || is_over(load, client))
        close_client(load, client);
}

static int write_get(const Client *client, char *out, size_t size)
{
    return snprintf(out, size, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", client->path->text);
}

static int write_post(const Load *load, const Client *client, char *out, size_t size)
{
    return snprintf(out, size,
                    "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    "Content-Length: %zu\r\n\r\n%s",
                    client->path->text, strlen(load->body), load->body);
}

/* Is the client's next request due? Of post all are, until there are enough. */
static bool is_due(const Load *load, const Client *client, int64_t now)
{
    if (client->phase == PHASE_CLOSED || client->is_asking)
        return false;
    return load->role == ROLE_POST ? load->asked < load->total : now >= client->due_ns;
}

/* Requests that are due. */
static void ask(Load *load)
{
    int64_t now = now_ns();

    for (int i = 0; i < load->started; i++) {
        Client *client = &load->client[i];
        char request[4096];
        int length = 0;

        if (!is_due(load, client, now))
            continue;
        client->path = &load->path[client->next_path++ % load->path_count];
        if (load->role == ROLE_POST) {
            client->due_ns = now;
            load->asked_ns = load->asked++ ? load->asked_ns : now;
            length = write_post(load, client, request, sizeof request);
        } else {
            length = write_get(client, request, sizeof request);
        }
        client->is_asking = true;
        if (send(client->socket, request, (size_t)length, MSG_NOSIGNAL) != length)
            close_client(load, client);
    }
}

/* Post has had all its answers. */
static bool is_complete(const Load *load)
{
    return load->role == ROLE_POST && load->path[0].latency_count >= (size_t)load->total;
}

static void read_slowly(Load *load, int64_t *read_ns)
{
    int64_t now = now_ns();

    if (load->rate <= 0 || now - *read_ns < 1000000000)
        return;
    *read_ns = now;
    for (int i = 0; i < load->started; i++)
        receive(load, &load->client[i], (size_t)load->rate);
}

/* Is there still somebody who waits for us? */
static bool is_wanted(void)
{
    char byte;
    ssize_t got = read(STDIN_FILENO, &byte, 1);

    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static void open_more(Load *load)
{
    while (load->started < load->count && load->opening < OPENING_MAX) {
        Client *client = &load->client[load->started];

        client->path = load->path_count ? &load->path[load->started % load->path_count] : NULL;
        client->due_ns = now_ns() + load->started++ * (int64_t)REQUEST_NS / load->count;
        open_client(load, client);
    }
    if (!load->was_told && load->ready == load->count) {
        (void)printf("ready\n");
        (void)fflush(stdout);
        load->was_told = true;
    }
}

static void run(Load *load)
{
    struct epoll_event event[256];
    int64_t read_ns = 0;
    int64_t looked_ns = 0;

    while (load->closed < load->count && !is_complete(load)) {
        open_more(load);
        int count = epoll_wait(load->epoll, event, 256,
                               load->role == ROLE_STREAMS || load->role == ROLE_HALF ? TICK_MS : 1);
        for (int i = 0; i < count; i++)
            receive(load, event[i].data.ptr, SIZE_MAX);
        if (load->role == ROLE_JSON || load->role == ROLE_POST)
            ask(load);
        read_slowly(load, &read_ns);
        if (now_ns() - looked_ns > TICK_MS * (int64_t)1000000) {
            looked_ns = now_ns();
            if (!is_wanted())
                break;
        }
    }
}

/* --- the report --- */

static int compare(const void *a_, const void *b_)
{
    const int64_t *a = a_;
    const int64_t *b = b_;

    return (*a > *b) - (*a < *b);
}

static double quantile_ms(const Path *path, double part)
{
    size_t rank = (size_t)(part * (double)path->latency_count);

    if (!path->latency_count)
        return 0;
    return (double)path->latency[rank < path->latency_count ? rank : path->latency_count - 1] / 1e6;
}

static void report_json(Load *load)
{
    double p50 = 0, p99 = 0, max = 0;
    size_t requests = 0;

    for (int i = 0; i < load->path_count; i++) {
        Path *path = &load->path[i];

        qsort(path->latency, path->latency_count, sizeof *path->latency, compare);
        requests += path->latency_count;
        p50 = quantile_ms(path, 0.5) > p50 ? quantile_ms(path, 0.5) : p50;
        p99 = quantile_ms(path, 0.99) > p99 ? quantile_ms(path, 0.99) : p99;
        max = quantile_ms(path, 1.0) > max ? quantile_ms(path, 1.0) : max;
    }
    (void)printf("{\"requests\":%zu,\"refused\":%d,\"closed\":%d,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
                 "\"max_ms\":%.2f,\"seconds\":%.3f}\n",
                 requests, load->refused_requests, load->closed, p50, p99, max,
                 (double)(load->had_ns - load->asked_ns) / 1e9);
}

/* The least and the most of a number of each client. */
typedef struct Span {
    int64_t min, max;
} Span;

static void widen(Span *span, int64_t value)
{
    span->min = value < span->min ? value : span->min;
    span->max = value > span->max ? value : span->max;
}

static void report_clients(const Load *load)
{
    Span kept = {INT64_MAX, 0}, events = {INT64_MAX, 0}, beats = {INT64_MAX, 0};
    Span first = {INT64_MAX, 0}, gap = {INT64_MAX, 0}, closed = {INT64_MAX, 0};
    struct timespec t;
    int64_t last = 0;
    int ok = 0, whole = 0, differing = 0, refused = 0, status = 0, retry_after = INT32_MAX;

    for (int i = 0; i < load->started; i++) {
        const Client *client = &load->client[i];

        if (client->closed_ns)
            widen(&closed, client->closed_ns - client->opened_ns);
        if (client->last_ns > last)
            last = client->last_ns;
        if (client->status && client->status != 200) {
            refused++;
            status = client->status;
            retry_after = client->retry_after < retry_after ? client->retry_after : retry_after;
            continue;
        }
        ok += client->status == 200;
        whole += client->is_whole;
        differing += client->differs;
        widen(&kept, (int64_t)client->kept);
        widen(&events, client->events);
        widen(&beats, client->heartbeats);
        widen(&first, client->first_ns ? client->first_ns - client->opened_ns : 0);
        widen(&gap, client->gap_ns);
    }
    (void)clock_gettime(CLOCK_REALTIME, &t);
    int64_t ago = now_ns() - last;
    (void)printf("{\"clients\":%d,\"ok\":%d,\"whole\":%d,\"differing\":%d,\"refused\":%d,"
                 "\"refused_status\":%d,\"retry_after\":%d,\"bytes\":[%" PRId64 ",%" PRId64
                 "],\"events\":[%" PRId64 ",%" PRId64 "],\"heartbeats\":[%" PRId64 ",%" PRId64
                 "],\"first_ms\":%.1f,\"gap_ms\":%.1f,\"closed\":%d,\"closed_ms\":[%.1f,%.1f],"
                 "\"last\":%.4f,\"sha256\":[",
                 load->started, ok, whole, differing, refused, status, refused ? retry_after : 0,
                 kept.min, kept.max, events.min, events.max, beats.min, beats.max,
                 (double)first.max / 1e6, (double)gap.max / 1e6, load->closed,
                 (double)closed.min / 1e6, (double)closed.max / 1e6,
                 (double)t.tv_sec + 1e-9 * ((double)t.tv_nsec - (double)ago));
    for (int i = 0; i < load->path_count; i++) {
        char hex[SHA256_HEX_SIZE];

        sha256_of((Bytes){load->path[i].data, load->path[i].size}, hex);
        (void)printf("%s\"%s\"", i ? "," : "", hex);
    }
    (void)printf("]}\n");
}

/* --- */

static int usage(void)
{
    (void)fprintf(stderr, "usage: load streams [-r BYTES] [-e EVENT] PORT COUNT PATH...\n"
                          "       load json PORT COUNT PATH...\n"
                          "       load post PORT COUNT TOTAL BODY PATH\n"
                          "       load half PORT COUNT TEXT\n");
    return 2;
}

static bool read_arguments(int argc, char **argv, Load *out)
{
    static const char *const role[] = {"streams", "json", "post", "half"};
    int option;

    while (out->role < ROLE_HALF && (argc < 2 || strcmp(argv[1], role[out->role]) != 0))
        out->role++;
    if (argc < 2 || strcmp(argv[1], role[out->role]) != 0)
        return false;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    for (optind = 2; (option = getopt(argc, argv, "r:e:")) != -1;) {
        if (option == 'r')
            out->rate = (int)strtol(optarg, NULL, 10);
        else if (option == 'e')
            out->last_event = optarg;
        else
            return false;
    }
    if (argc - optind < 3 || argc - optind > 2 + PATHS_MAX)
        return false;
    out->port = (int)strtol(argv[optind], NULL, 10);
    out->count = (int)strtol(argv[optind + 1], NULL, 10);
    int i = optind + 2;
    if (out->role == ROLE_HALF) {
        out->text = argv[i];
        return out->port > 0 && out->count > 0;
    }
    if (out->role == ROLE_POST && argc - i == 3) {
        out->total = (int)strtol(argv[i++], NULL, 10);
        out->body = argv[i++];
    }
    while (i < argc)
        out->path[out->path_count++].text = argv[i++];
    return out->port > 0 && out->count > 0 && (out->role == ROLE_POST) == (out->body != NULL);
}

int main(int argc, char **argv)
{
    Load load = {.rate = -1};
    struct rlimit limit;

    if (!read_arguments(argc, argv, &load))
        return usage();
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    (void)fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    load.client = calloc((size_t)load.count, sizeof *load.client);
    if (load.epoll < 0 || !load.client)
        die("load");
    run(&load);
    if (load.role == ROLE_JSON || load.role == ROLE_POST)
        report_json(&load);
    else
        report_clients(&load);
    for (int i = 0; i < load.path_count; i++) {
        free(load.path[i].data);
        free(load.path[i].latency);
    }
    free(load.client);
    (void)close(load.epoll);
    return 0;
}
