#include "server/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum OptionKind { OPTION_FLAG, OPTION_TEXT, OPTION_LIST, OPTION_NUMBER } OptionKind;

typedef struct Option {
    const char *flag;     /* "--max-queued" */
    const char *variable; /* "BAKEHOUSE_MAX_QUEUED" */
    const char *value;    /* name of its value in the help */
    OptionKind kind;
    size_t offset; /* of its field in Config */
    int64_t otherwise, min, max;
    const char *help;
} Option;

#define FIELD(name) offsetof(Config, name)

/* cores, as the default number of simulation slots: 0 in the table stands for it */
static const Option option[] = {
    {"--listen", "BAKEHOUSE_LISTEN", "HOST:PORT", OPTION_TEXT, FIELD(listen), 0, 0, 0,
     "where to listen (127.0.0.1:8080); port 0 lets the system choose"},
    {"--data", "BAKEHOUSE_DATA", "DIR", OPTION_TEXT, FIELD(data), 0, 0, 0,
     "folder of the store (./bakehouse-data)"},
    {"--token-file", "BAKEHOUSE_TOKEN_FILE", "FILE", OPTION_TEXT, FIELD(token_file), 0, 0, 0,
     "who may use the server (see bakehouse token); without it anybody who can connect"},
    {"--token-requests", "BAKEHOUSE_TOKEN_REQUESTS", "N", OPTION_NUMBER, FIELD(token_requests),
     1000, 0, 1000000, "requests a second of one token (0: no limit)"},
    {"--token-queued", "BAKEHOUSE_TOKEN_QUEUED", "N", OPTION_NUMBER, FIELD(token_queued), 0, 0,
     10000000, "jobs of one token that may wait (0: no limit of its own)"},
    {"--token-upload-mib", "BAKEHOUSE_TOKEN_UPLOAD_MIB", "N", OPTION_NUMBER,
     FIELD(token_upload_mib), 0, 0, 1 << 30, "stored files of one token (0: no limit)"},
    {"--no-auth", "BAKEHOUSE_NO_AUTH", NULL, OPTION_FLAG, FIELD(is_open), 0, 0, 0,
     "allow an address that other machines can reach, open to all of them"},
    {"--public-host", "BAKEHOUSE_PUBLIC_HOST", "NAME", OPTION_LIST, FIELD(public_hosts), 0, 0, 0,
     "a host name the server is reached by (repeatable)"},
    {"--cors-origin", "BAKEHOUSE_CORS_ORIGIN", "ORIGIN", OPTION_LIST, FIELD(cors_origins), 0, 0, 0,
     "an origin whose web pages may use the server (repeatable)"},
    {"--notify-secret-file", "BAKEHOUSE_NOTIFY_SECRET_FILE", "FILE", OPTION_TEXT,
     FIELD(notify_secret_file), 0, 0, 0,
     "signs what is told of the ends of jobs; without it jobs cannot have \"notify\""},
    {"--notify-allow", "BAKEHOUSE_NOTIFY_ALLOW", "HOST-OR-CIDR", OPTION_LIST, FIELD(notify_allow),
     0, 0, 0, "may be told though not public; with commas between (repeatable)"},
    {"--notify-attempts", "BAKEHOUSE_NOTIFY_ATTEMPTS", "N", OPTION_NUMBER, FIELD(notify_attempts),
     8, 1, 100, "to tell an end"},
    {"--notify-retry-ms", "BAKEHOUSE_NOTIFY_RETRY_MS", "N", OPTION_NUMBER, FIELD(notify_retry_ms),
     2000, 1, 600000, "after the first of them; doubled after each, at most 10 minutes"},
    {"--verbose", "BAKEHOUSE_VERBOSE", NULL, OPTION_FLAG, FIELD(is_verbose), 0, 0, 0,
     "log every request"},
    {"--log-format", "BAKEHOUSE_LOG_FORMAT", "text|json", OPTION_TEXT, FIELD(log_format), 0, 0, 0,
     "a line of text or a JSON object for each event (text)"},
    {"--tls-cert", "BAKEHOUSE_TLS_CERT", "FILE", OPTION_TEXT, FIELD(tls_cert), 0, 0, 0,
     "certificate chain in PEM: serve HTTPS, and nothing else"},
    {"--tls-key", "BAKEHOUSE_TLS_KEY", "FILE", OPTION_TEXT, FIELD(tls_key), 0, 0, 0,
     "its private key in PEM"},
    {"--config", "BAKEHOUSE_CONFIG", "FILE", OPTION_TEXT, FIELD(file), 0, 0, 0,
     "settings, one a line: max-queued = 500; variables and flags win"},
    {"--workers", "BAKEHOUSE_WORKERS", "N", OPTION_NUMBER, FIELD(workers), 0, 0, 256,
     "simulations at once (0: one a core)"},
    {"--isolate", "BAKEHOUSE_ISOLATE", NULL, OPTION_FLAG, FIELD(is_isolating), 0, 0, 0,
     "run each job in a process of its own: a crash fails that job alone"},
    {"--max-upload-mib", "BAKEHOUSE_MAX_UPLOAD_MIB", "N", OPTION_NUMBER, FIELD(max_upload_mib), 512,
     1, 65536, "largest uploaded file"},
    {"--max-uploads", "BAKEHOUSE_MAX_UPLOADS", "N", OPTION_NUMBER, FIELD(max_uploads), 8, 1, 1024,
     "uploads at once"},
    {"--max-queued", "BAKEHOUSE_MAX_QUEUED", "N", OPTION_NUMBER, FIELD(max_queued), 10000, 1,
     10000000, "jobs that may wait"},
    {"--max-job-mib", "BAKEHOUSE_MAX_JOB_MIB", "N", OPTION_NUMBER, FIELD(max_job_mib), 2048, 16,
     1048576, "memory of one job"},
    {"--max-frames", "BAKEHOUSE_MAX_FRAMES", "N", OPTION_NUMBER, FIELD(max_frames), 100000, 1,
     10000000, "frames of one job"},
    {"--max-joints", "BAKEHOUSE_MAX_JOINTS", "N", OPTION_NUMBER, FIELD(max_joints), 4096, 1, 65535,
     "joints of one file"},
    {"--max-vertices", "BAKEHOUSE_MAX_VERTICES", "N", OPTION_NUMBER, FIELD(max_vertices), 4000000,
     1, 100000000, "vertices of one file"},
    {"--max-connections", "BAKEHOUSE_MAX_CONNECTIONS", "N", OPTION_NUMBER, FIELD(max_connections),
     4096, 300, 200000, "open connections; 256 are kept for requests that are no streams"},
    {"--rig-cache-mib", "BAKEHOUSE_RIG_CACHE_MIB", "N", OPTION_NUMBER, FIELD(rig_cache_mib), 512, 0,
     1048576, "parsed files kept in memory"},
    {"--reserve-disk-mib", "BAKEHOUSE_RESERVE_DISK_MIB", "N", OPTION_NUMBER,
     FIELD(reserve_disk_mib), 256, 0, 1048576, "free disk space below which work is refused"},
    {"--event-days", "BAKEHOUSE_EVENT_DAYS", "N", OPTION_NUMBER, FIELD(event_days), 7, 1, 3650,
     "events are kept for replay"},
    {"--keep-days", "BAKEHOUSE_KEEP_DAYS", "N", OPTION_NUMBER, FIELD(keep_days), 0, 0, 36500,
     "jobs and their frames are kept after their end (0: for ever)"},
    {"--keep-unused-days", "BAKEHOUSE_KEEP_UNUSED_DAYS", "N", OPTION_NUMBER,
     FIELD(keep_unused_days), 30, 0, 36500, "files that no job uses are kept (0: for ever)"},
    {"--keep-cache-days", "BAKEHOUSE_KEEP_CACHE_DAYS", "N", OPTION_NUMBER, FIELD(keep_cache_days),
     30, 0, 36500,
     "exports and pictures nobody reads are kept; they can be made again (0: for ever)"},
    {"--upload-hours", "BAKEHOUSE_UPLOAD_HOURS", "N", OPTION_NUMBER, FIELD(upload_hours), 24, 1,
     8760, "an unfinished upload is kept after its last piece"},
    {"--max-unfinished", "BAKEHOUSE_MAX_UNFINISHED", "N", OPTION_NUMBER, FIELD(max_unfinished),
     1000, 1, 1000000, "unfinished uploads at once"},
    {"--heartbeat-ms", "BAKEHOUSE_HEARTBEAT_MS", "N", OPTION_NUMBER, FIELD(heartbeat_ms), 15000, 20,
     3600000, "between heartbeats of live connections"},
    {"--job-heartbeat-ms", "BAKEHOUSE_JOB_HEARTBEAT_MS", "N", OPTION_NUMBER,
     FIELD(job_heartbeat_ms), 10000, 20, 3600000, "between heartbeats of running jobs"},
    {"--sweep-ms", "BAKEHOUSE_SWEEP_MS", "N", OPTION_NUMBER, FIELD(sweep_ms), 30000, 20, 3600000,
     "between looks for jobs whose runner is gone"},
    {"--prune-ms", "BAKEHOUSE_PRUNE_MS", "N", OPTION_NUMBER, FIELD(prune_ms), 3600000, 20, 86400000,
     "between looks for what is older than it is kept"},
    {"--stale-ms", "BAKEHOUSE_STALE_MS", "N", OPTION_NUMBER, FIELD(stale_ms), 60000, 50, 86400000,
     "age of a heartbeat at which a runner counts as gone"},
    {"--stall-ms", "BAKEHOUSE_STALL_MS", "N", OPTION_NUMBER, FIELD(stall_ms), 300000, 50, 86400000,
     "without progress: the job is stopped"},
    {"--stall-grace-ms", "BAKEHOUSE_STALL_GRACE_MS", "N", OPTION_NUMBER, FIELD(stall_grace_ms),
     30000, 50, 86400000, "time a stopped job gets to end before its slot counts as lost"},
    {"--drain-ms", "BAKEHOUSE_DRAIN_MS", "N", OPTION_NUMBER, FIELD(drain_ms), 30000, 0, 86400000,
     "time running jobs get to finish when the server stops"},
    {"--idle-ms", "BAKEHOUSE_IDLE_MS", "N", OPTION_NUMBER, FIELD(idle_ms), 60000, 1000, 3600000,
     "idle connections are closed"},
};

/* The file's text, which options point into; kept here so that it counts as reachable. */
static char *kept_text;

enum { OPTION_COUNT = sizeof option / sizeof option[0] };

static void *field(Config *config, const Option *which)
{
    return (char *)config + which->offset;
}

static Status set_number(Config *config, const Option *which, const char *text, Error *err)
{
    char *end = NULL;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < which->min || value > which->max)
        return error_set(err, STATUS_INVALID,
                         "%s must be a whole number from %lld to %lld, got \"%s\"", which->flag,
                         (long long)which->min, (long long)which->max, text);
    *(int64_t *)field(config, which) = value;
    return STATUS_OK;
}

static Status set_option(Config *config, const Option *which, const char *text, Error *err)
{
    ConfigList *list = field(config, which);

    switch (which->kind) {
    case OPTION_FLAG:
        *(bool *)field(config, which) = strcmp(text, "0") != 0;
        return STATUS_OK;
    case OPTION_TEXT:
        *(const char **)field(config, which) = text;
        return STATUS_OK;
    case OPTION_NUMBER:
        return set_number(config, which, text, err);
    case OPTION_LIST:
        if (list->count == CONFIG_LIST_MAX)
            return error_set(err, STATUS_INVALID, "%s can be given at most %d times", which->flag,
                             CONFIG_LIST_MAX);
        list->item[list->count++] = text;
        return STATUS_OK;
    }
    return STATUS_OK;
}

static const Option *find_option(const char *flag, size_t length)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (strlen(option[i].flag) == length && memcmp(option[i].flag, flag, length) == 0)
            return &option[i];
    return NULL;
}

/* HOST:PORT into its parts; is_loopback from the address. */
static Status split_listen(Config *config, Error *err)
{
    const char *colon = strrchr(config->listen, ':');
    char *end = NULL;

    if (!colon)
        return error_set(err, STATUS_INVALID, "--listen must be HOST:PORT, got \"%s\"",
                         config->listen);
    const char *host = config->listen;
    size_t length = (size_t)(colon - host);
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    long port = strtol(colon + 1, &end, 10);
    if (!length || length >= sizeof config->host || end == colon + 1 || *end || port < 0 ||
        port > 65535)
        return error_set(err, STATUS_INVALID, "--listen must be HOST:PORT, got \"%s\"",
                         config->listen);
    memcpy(config->host, host, length);
    config->host[length] = '\0';
    config->port = (int)port;
    if (strcmp(config->host, "localhost") == 0)
        memcpy(config->host, "127.0.0.1", sizeof "127.0.0.1");
    struct in_addr four;
    struct in6_addr six;
    if (inet_pton(AF_INET, config->host, &four) == 1)
        config->is_loopback = (ntohl(four.s_addr) >> 24) == 127;
    else if (inet_pton(AF_INET6, config->host, &six) == 1)
        config->is_loopback = IN6_IS_ADDR_LOOPBACK(&six);
    else
        return error_set(err, STATUS_INVALID,
                         "--listen needs an address in numbers or localhost, got \"%s\"",
                         config->host);
    return STATUS_OK;
}

/* Closed unless loopback: nothing that others can reach opens by accident. */
static Status check_access(const Config *config, Error *err)
{
    if (config->is_loopback || config->is_open || config->token_file)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "will not listen on %s without access control: other machines could reach it; "
                     "use --token-file, or 127.0.0.1, or --no-auth to open it to all of them",
                     config->host);
}

static Status read_flags(int argc, char **argv, Config *config, Error *err)
{
    for (int i = 1; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - argv[i]) : strlen(argv[i]);
        const Option *which = find_option(argv[i], length);

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            config->wants_help = true;
            return STATUS_OK;
        }
        if (!which)
            return error_set(err, STATUS_INVALID, "unknown option \"%s\"", argv[i]);
        const char *value = equals ? equals + 1 : "1";
        if (!equals && which->kind != OPTION_FLAG) {
            if (i + 1 == argc)
                return error_set(err, STATUS_INVALID, "%s needs a value", which->flag);
            value = argv[++i];
        }
        if (set_option(config, which, value, err))
            return err->status;
    }
    return STATUS_OK;
}

static Status check_words(const Config *config, Error *err)
{
    if (strcmp(config->log_format, "text") != 0 && strcmp(config->log_format, "json") != 0)
        return error_set(err, STATUS_INVALID, "--log-format must be text or json, got \"%s\"",
                         config->log_format);
    if (!config->tls_cert != !config->tls_key)
        return error_set(err, STATUS_INVALID, "--tls-cert and --tls-key come together");
    return STATUS_OK;
}

/* --- the file --- */

/* The value of --config or its variable, NULL without. */
static const char *find_file(int argc, char **argv)
{
    const char *file = getenv("BAKEHOUSE_CONFIG"); // NOLINT(concurrency-mt-unsafe): one thread yet

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--config=", 9) == 0)
            file = argv[i] + 9;
        else if (strcmp(argv[i], "--config") == 0 && i + 1 < argc)
            file = argv[i + 1];
    }
    return file;
}

/* Spaces at both ends go. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    for (size_t length = strlen(text); length && strchr(" \t\r", text[length - 1]); length--)
        text[length - 1] = '\0';
    return text;
}

/* "max-queued = 500"; a flag may stand alone. */
static Status read_setting(char *line, Config *config, Error *err)
{
    char flag[64];
    char *equals = strchr(line, '=');
    char *value = equals ? trim(equals + 1) : NULL;

    if (equals)
        *equals = '\0';
    (void)snprintf(flag, sizeof flag, "--%s", trim(line));
    const Option *which = find_option(flag, strlen(flag));
    if (!which || which->offset == FIELD(file))
        return error_set(err, STATUS_INVALID, "there is no setting \"%s\"", flag + 2);
    if (!value && which->kind != OPTION_FLAG)
        return error_set(err, STATUS_INVALID, "%s needs a value", flag + 2);
    return set_option(config, which, value ? value : "1", err);
}

static Status read_lines(char *text, Config *config, Error *err)
{
    char *rest = NULL;
    int number = 0;

    for (char *line = text; line; line = rest) {
        rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        number++;
        line = trim(line);
        if (*line && *line != '#' && read_setting(line, config, err))
            return error_context(err, "line %d", number);
    }
    return STATUS_OK;
}

static Status read_file(const char *path, Config *config, Error *err)
{
    enum { FILE_MAX = 64 << 10 };
    char *text = calloc(1, FILE_MAX + 1); // options point into it: it is never freed
    FILE *file = text ? fopen(path, "re") : NULL;
    char reason[128];

    if (!file) {
        error_set(err, STATUS_INVALID, "--config: could not read \"%s\": %s", path,
                  strerror_r(errno, reason, sizeof reason));
        free(text);
        return err->status;
    }
    size_t size = fread(text, 1, FILE_MAX + 1, file);
    bool is_read = !ferror(file);
    (void)fclose(file);
    if (!is_read || size > FILE_MAX)
        error_set(err, STATUS_INVALID, "could not be read, or has more than %d bytes", FILE_MAX);
    if (err->status || read_lines(text, config, err)) {
        free(text);
        return error_context(err, "--config \"%s\"", path);
    }
    kept_text = text;
    return STATUS_OK;
}

/* A list of the environment or the flags takes the place of the file's. */
static void forget_lists(Config *config, int argc, char **argv)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        bool is_given = getenv(option[i].variable) != NULL; // NOLINT(concurrency-mt-unsafe)
        size_t length = strlen(option[i].flag);

        for (int j = 1; j < argc; j++)
            is_given = is_given || (strncmp(argv[j], option[i].flag, length) == 0 &&
                                    (argv[j][length] == '=' || !argv[j][length]));
        if (option[i].kind == OPTION_LIST && is_given)
            ((ConfigList *)field(config, &option[i]))->count = 0;
    }
}

Status config_read(int argc, char **argv, Config *out, Error *err)
{
    Config config = {.listen = "127.0.0.1:8080", .data = "bakehouse-data", .log_format = "text"};

    for (int i = 0; i < OPTION_COUNT; i++)
        if (option[i].kind == OPTION_NUMBER)
            *(int64_t *)field(&config, &option[i]) = option[i].otherwise;
    config.file = find_file(argc, argv);
    if (config.file && read_file(config.file, &config, err))
        return err->status;
    forget_lists(&config, argc, argv);
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *value = getenv(option[i].variable); // NOLINT(concurrency-mt-unsafe): one thread

        if (value && set_option(&config, &option[i], value, err))
            return error_context(err, "%s", option[i].variable);
    }
    if (read_flags(argc, argv, &config, err))
        return err->status;
    if (!config.wants_help &&
        (split_listen(&config, err) || check_access(&config, err) || check_words(&config, err)))
        return err->status;
    if (config.workers == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);

        config.workers = cores < 1 ? 1 : cores > 256 ? 256 : cores;
    }
    *out = config;
    return STATUS_OK;
}

void config_write_help(FILE *out)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        char name[64];

        (void)snprintf(name, sizeof name, "%s%s%s", option[i].flag, option[i].value ? " " : "",
                       option[i].value ? option[i].value : "");
        (void)fprintf(out, "  %-26s %s", name, option[i].help);
        if (option[i].kind == OPTION_NUMBER && option[i].otherwise)
            (void)fprintf(out, " (%lld)", (long long)option[i].otherwise);
        (void)fprintf(out, "\n");
    }
    (void)fprintf(out, "Each option can also be given as a variable: --max-queued as "
                       "BAKEHOUSE_MAX_QUEUED.\n");
}
