/* Config: what the server was started with, from flags and BAKEHOUSE_* variables (a flag wins).
 * Made once, then read-only; any thread. Texts belong to argv, the environment and the file's text,
 * which lives until the process ends. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { CONFIG_LIST_MAX = 16 };

typedef struct ConfigList {
    int count;
    const char *item[CONFIG_LIST_MAX];
} ConfigList;

typedef struct Config {
    const char
        *listen;    /* HOST:PORT as given; [HOST]:PORT for IPv6; port 0 lets the system choose */
    char host[128]; /* its parts */
    int port;
    bool is_loopback;       /* only this machine can connect */
    const char *token_file; /* NULL: no tokens */
    bool is_open;           /* --no-auth: anybody who can connect may do everything */
    bool is_verbose;
    bool is_isolating;              /* each job in a process of its own */
    const char *log_format;         /* "text" or "json" */
    const char *tls_cert, *tls_key; /* PEM files; both or none */
    const char *file;               /* of further settings */
    bool wants_help;
    int64_t token_requests;   /* a second, of a token whose line says nothing else; 0: no limit */
    int64_t token_queued;     /* ... jobs that wait */
    int64_t token_upload_mib; /* ... files that are stored */
    const char *data;         /* folder of the store */
    ConfigList public_hosts;  /* names the server is reached by, beside loopback names */
    ConfigList cors_origins;  /* web pages of other origins that may use it */
    const char *notify_secret_file; /* signs what is told of ends; NULL: nothing is told */
    ConfigList notify_allow;        /* hosts and addresses that may be told beside public ones */
    int64_t notify_attempts;
    int64_t notify_retry_ms; /* after the first attempt; doubled after each */
    /* limits */
    int64_t workers;          /* simulations at once */
    int64_t max_upload_mib;   /* an uploaded file */
    int64_t max_uploads;      /* at once */
    int64_t max_queued;       /* jobs that wait */
    int64_t max_job_mib;      /* memory of one job */
    int64_t max_frames;       /* of one job */
    int64_t max_joints;       /* of one asset */
    int64_t max_vertices;     /* of one asset */
    int64_t max_connections;  /* 256 of them are kept for requests that are no streams */
    int64_t rig_cache_mib;    /* parsed assets kept in memory */
    int64_t reserve_disk_mib; /* free space below which uploads and jobs are refused */
    int64_t event_days;       /* events are kept */
    int64_t keep_days;        /* jobs are kept after their end; 0: for ever */
    int64_t keep_unused_days; /* files are kept that no job uses; 0: for ever */
    int64_t keep_cache_days;  /* exports and pictures are kept unread; 0: for ever */
    int64_t upload_hours;     /* an unfinished upload is kept */
    int64_t max_unfinished;   /* such uploads at once */
    /* intervals in milliseconds */
    int64_t heartbeat_ms;     /* of live connections */
    int64_t job_heartbeat_ms; /* of running jobs in the store */
    int64_t sweep_ms;         /* look for jobs whose runner is gone */
    int64_t prune_ms;         /* look for what is older than it is kept */
    int64_t stale_ms;         /* age of a job's heartbeat at which it counts as gone */
    int64_t stall_ms;         /* without a finished sub-step: the job is stopped */
    int64_t stall_grace_ms;   /* ... and then failed, its slot counted lost */
    int64_t drain_ms;         /* running jobs may finish, at the end */
    int64_t idle_ms;          /* connections without a request are closed */
} Config;

/* Defaults, then the file, then the environment, then the flags. INVALID names the flag or variable
 * at fault. */
NODISCARD Status config_read(int argc, char **argv, Config *out, Error *err);

/* The options, one a line, for --help. */
void config_write_help(FILE *out);
