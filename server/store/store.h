/* Store: assets, jobs, results, measures and events, in SQLite. With blob.h the only door to
 * persistence; nothing above knows SQL.
 *
 * Reading: the store_find, store_list and store_count functions, from any thread; each takes a
 * read-only connection for the length of the call. Texts of results lie in the arena given.
 *
 * Writing: a Command goes to the one thread that owns the one writing connection. It gathers what
 * waits into one transaction; `done` (on that thread) or store_execute's return comes after the
 * commit, when the change is durable. After a commit that added events, the listener is told.
 */
#pragma once

#include "server/jobs/job.h"
#include "server/store/blob.h"
#include "server/store/ids.h"
#include "sim/measures.h"

typedef struct Store Store;

enum { STORE_PLACE_SIZE = 264 }; /* room for HOST:PORT and its zero */

typedef enum AssetKind { ASSET_MODEL, ASSET_ANIMATION } AssetKind;

/* "model", "animation". */
const char *asset_kind_name(AssetKind kind);

typedef struct Asset {
    int64_t seq; /* order of arrival: the cursor of lists */
    AssetKind kind;
    const char *id;
    const char *name;
    const char *format;
    const char *sha256; /* of the bytes */
    int64_t size;
    double unit; /* import options: metres a unit, 0 what the format says */
    bool is_z_up;
    const char *summary; /* JSON object */
    const char *owner;   /* name of the token that uploaded it, "" where there was none */
    int64_t created;     /* ms */
} Asset;

typedef enum DeliveryState {
    DELIVERY_NONE, /* there is nothing to tell, or not yet */
    DELIVERY_PENDING,
    DELIVERY_DELIVERED,
    DELIVERY_FAILED, /* given up */
    DELIVERY_STATE_COUNT
} DeliveryState;

/* "pending", "delivered" ... */
const char *delivery_state_name(DeliveryState state);

/* Whom a job's end is told, and how far that has come. */
typedef struct JobNotify {
    const char *url;   /* whole: it may hold a secret; NULL where there is none */
    const char *place; /* HOST:PORT of it */
    const char *ends;  /* the states that are told, with spaces between */
    DeliveryState state;
    int attempts;
    int last_code;          /* of the receiver's answer, 0 where there was none */
    const char *last_error; /* "" where there was none */
    int64_t next;           /* ms; of the next attempt, 0 where there is none */
} JobNotify;

typedef struct Job {
    int64_t seq;
    const char *id;
    JobState state;
    const char *name;
    const char *model;
    const char *animation; /* "" where there is none */
    const char *key;       /* of the bake */
    const char *body;      /* as it was sent */
    const char *canonical;
    const char *used; /* JSON array: what its simulations came to (bake_write_used) */
    const char *tags; /* JSON object */
    int priority;
    bool is_cached;
    bool is_kept;
    int attempt;
    int crashes;
    bool is_cancelling;
    int64_t heartbeat; /* ms, 0 before the first */
    int frame_count;
    int frames; /* written so far */
    double progress;
    int64_t created, started, finished; /* ms, 0 where it has not happened */
    const char *error_status;           /* "" where there is none */
    const char *error;
    int passed;         /* 1, 0, or -1 without gates or before the end */
    const char *reason; /* the gate that failed */
    int position;       /* in the queue from 1; 0 where it is not queued */
    /* the newest result; result_attempt 0 where there is none */
    const char *result_job;
    int result_attempt;
    bool is_complete;
    int64_t result_size;
    const char *result_sha256;
    double seconds, simulated;
    const char *measured;        /* JSON array of measures so far, "" where there are none */
    const char *idempotency_key; /* "" where there is none (insert only) */
    const char *body_sha256;
    const char *owner; /* name of the token that submitted it, "" where there was none */
    JobNotify notify;  /* (insert and find only) */
} Job;

typedef struct JobTagRow {
    const char *key;
    const char *value;
} JobTagRow;

typedef struct Event {
    int64_t id;
    const char *job;  /* "" for the server's own */
    const char *kind; /* "state", "progress", "measure" ... */
    const char *data; /* JSON object */
} Event;

/* A measure of one job, for tables across jobs. */
typedef struct MeasureOfJob {
    const char *job;
    const char *job_name;
    const char *model;
    const char *tags;
    int64_t finished;
    int passed;
    const char *name;
    int simulation;
    const char *target;
    double value;
    bool is_missing;
    const char *unit;
    int64_t seq; /* cursor */
} MeasureOfJob;

/* --- writing --- */

typedef enum CommandKind {
    COMMAND_INSERT_ASSET, /* publishes the upload too; answers was_new */
    COMMAND_TOUCH_ASSET,  /* it was uploaded again; the upload takes the place of lost bytes */
    COMMAND_DELETE_ASSET,
    COMMAND_INSERT_JOB, /* answers id and was_new; done at birth when the key is there */
    COMMAND_CANCEL_JOB, /* CONFLICT when it has ended */
    COMMAND_RETRY_JOB,
    COMMAND_DELETE_JOB, /* CONFLICT when it has not ended */
    COMMAND_CLAIM_JOB,  /* NOT_FOUND when nothing waits; answers id and attempt */
    COMMAND_PROGRESS,   /* the attempt's frames and share; an event "progress" */
    COMMAND_EVENT,      /* an event of the attempt with `data` */
    COMMAND_FINISH_JOB, /* CONFLICT when the attempt is not the job's any more */
    COMMAND_RELEASE_JOB,
    COMMAND_HEARTBEAT,
    COMMAND_SWEEP,           /* running jobs whose runner is gone; answers count */
    COMMAND_UPDATE_RESULT,   /* size and frames of an attempt, after its file was cut back */
    COMMAND_PRUNE,           /* what `retention` says; answers count */
    COMMAND_SETTLE_DELIVERY, /* an attempt at delivery `id` is over */
    COMMAND_DELIVER_AGAIN,   /* what was told of the end of job `id`; CONFLICT without it */
    COMMAND_SET,             /* the setting `name` to `data`, and an event */
    COMMAND_BREAK_RESULT,    /* its files are damaged: its jobs fail with `data`; size and frames */
    COMMAND_KIND_COUNT
} CommandKind;

/* How an attempt ended. */
typedef struct JobEnd {
    JobState state; /* done, failed or cancelled */
    const char *error_status;
    const char *error;
    const char *key; /* of what was really baked */
    int frames;
    int64_t size;
    const char *sha256;
    double seconds, simulated;
    int passed; /* 1, 0, -1 */
    const char *reason;
    const char *measured;     /* JSON array of the rows, NULL to keep what is there */
    const Measures *measures; /* NULL where nothing was measured */
} JobEnd;

/* How an attempt at a delivery went. */
typedef struct DeliveryEnd {
    DeliveryState state; /* pending: it is tried again */
    int64_t next;        /* ms, where it is */
    int code;
    const char *error;
} DeliveryEnd;

/* What is older goes, at most RETENTION_CHUNK jobs and as many assets a command; 0: nothing. ms. */
enum { RETENTION_CHUNK = 24 };
typedef struct Retention {
    int64_t events_before;
    int64_t jobs_before;    /* ended then, and not to be kept */
    int64_t assets_before;  /* of no job, and last uploaded or used then */
    int64_t uploads_before; /* unfinished, last added to then */
    int64_t cache_before;   /* derived files, last read then */
} Retention;

typedef struct Command {
    CommandKind kind;
    /* in; what is pointed to must live until the command is done */
    AssetKind asset_kind;
    const Asset *asset;
    Upload *upload;
    const Job *job;
    const JobTagRow *tag;
    int tag_count;
    bool use_cache;
    int max_queued;
    const JobEnd *end;
    const DeliveryEnd *delivery;
    const char *owner;    /* who runs the job */
    int owner_queued;     /* jobs of the job's owner that may wait; 0: no limit */
    int64_t owner_bytes;  /* of the asset's owner that may be stored; 0: no limit */
    const char *event;    /* kind of an event */
    const char *data;     /* JSON */
    const char *measured; /* JSON array of measures so far, NULL where the event has none */
    int64_t age;          /* ms: a heartbeat that is older is none */
    Retention retention;
    const char *name; /* of a setting */
    int64_t size;
    int frames;
    double progress;
    bool is_lazy; /* may wait for others up to 100 ms */
    /* in and out */
    char id[STORE_ID_SIZE];
    int attempt;
    /* out */
    bool was_new;
    bool was_running; /* the cancelled job runs: its worker must be told */
    bool is_cached;
    int count;
    Error err;
    /* called on the store's thread when all is durable (or has failed: err); NULL for none */
    void (*done)(struct Command *command);
    void *context; /* the caller's own */
    struct Command *next;
} Command;

/* What a commit changed: called on the store's thread. */
typedef struct StoreNews {
    int64_t last_event;
    int job_count; /* of jobs with events; more than `capacity` when not all are listed */
    int capacity;
    const char (*job)[STORE_ID_SIZE];
    const bool *has_ended; /* the job is done, failed or cancelled */
    bool has_queued;       /* some job waits that did not before */
    bool has_deliveries;   /* there is something to tell */
} StoreNews;

typedef struct StoreListener {
    void (*published)(void *context, const StoreNews *news);
    /* Writes what is told of a job that has ended as delivery `id`; inside the transaction. */
    void (*describe)(void *context, const char *id, const Job *job, Text *out);
    void *context;
} StoreListener;

/* Opens FOLDER/store.sqlite, applies migrations, starts the writer. `blobs` must outlive it. */
NODISCARD Status store_open(const char *folder, Blobs *blobs, const StoreListener *listener,
                            Store **out, Error *err);
/* Opens a store that is there for reading, beside a server that may have it: nothing may be
 * submitted. CONFLICT where it is no store, or one of another version. */
NODISCARD Status store_open_reading(const char *folder, Blobs *blobs, Store **out, Error *err);
/* Finishes what was submitted, checkpoints, closes. Accepts NULL. */
void store_close(Store *store);

/* Hands the command over; it belongs to the store until `done`. */
void store_submit(Store *store, Command *command);
/* The same, and waits. Not for the loop thread. */
Status store_execute(Store *store, Command *command, Error *err);

/* --- reading --- */

NODISCARD Status store_find_asset(Store *store, AssetKind kind, const char *id, Arena *arena,
                                  Asset *out, Error *err);
typedef struct AssetList {
    int count;
    Asset *asset; /* without summaries */
} AssetList;
/* The newest first, `before` (a seq) and older; at most `limit`. */
NODISCARD Status store_list_assets(Store *store, AssetKind kind, int64_t before, int limit,
                                   Arena *arena, AssetList *out, Error *err);

NODISCARD Status store_find_job(Store *store, const char *id, Arena *arena, Job *out, Error *err);
/* NULL or empty: any. */
typedef struct JobFilter {
    const char *state;
    const char *model;
    const char *owner;
    int tag_count;
    const JobTagRow *tag; /* all must hold */
    int64_t before;       /* seq, exclusive; 0 for the newest */
    int limit;
} JobFilter;
enum { JOB_FILTER_TAGS = 4 };
typedef struct JobList {
    int count;
    Job *job;
} JobList;
NODISCARD Status store_list_jobs(Store *store, const JobFilter *filter, Arena *arena, JobList *out,
                                 Error *err);
/* By the key that a client gave; NOT_FOUND when there is none. */
NODISCARD Status store_find_job_by_idempotency(Store *store, const char *owner, const char *key,
                                               Arena *arena, Job *out, Error *err);

typedef struct JobCounts {
    int64_t in_state[JOB_STATE_COUNT];
    int64_t passed, not_passed; /* of jobs with gates; with tags only */
} JobCounts;
/* All of them, from memory. */
void store_count_jobs(Store *store, JobCounts *out);
/* Those with all the tags, of which there is at least one. */
NODISCARD Status store_count_tagged(Store *store, const JobTagRow *tag, int tag_count,
                                    JobCounts *out, Error *err);

/* The value of a setting, "" where it was never set; cut where it is longer. */
NODISCARD Status store_find_setting(Store *store, const char *name, char *out, size_t size,
                                    Error *err);

typedef struct EventFilter {
    int64_t after;   /* id, exclusive */
    const char *job; /* NULL: all jobs */
    int limit;
} EventFilter;
typedef struct EventList {
    int count;
    Event *event;
} EventList;
NODISCARD Status store_list_events(Store *store, const EventFilter *filter, Arena *arena,
                                   EventList *out, Error *err);
NODISCARD Status store_last_event(Store *store, int64_t *out, Error *err);

typedef struct MeasureFilter {
    const char *name; /* NULL: all */
    const char *model;
    const char *target;
    int tag_count;
    const JobTagRow *tag;
    int64_t since;  /* ms; finished at or after */
    int64_t before; /* seq, exclusive; 0 for the newest */
    int limit;
} MeasureFilter;
typedef struct MeasureList {
    int count;
    MeasureOfJob *measure;
} MeasureList;
/* Those of one job, in whatever state. */
NODISCARD Status store_list_job_measures(Store *store, const char *job, int limit, Arena *arena,
                                         MeasureList *out, Error *err);
NODISCARD Status store_list_measures(Store *store, const MeasureFilter *filter, Arena *arena,
                                     MeasureList *out, Error *err);

/* Attempts that were running when the store was last used. */
typedef struct Interrupted {
    char job[STORE_ID_SIZE];
    int attempt;
} Interrupted;
typedef struct InterruptedList {
    int count;
    Interrupted *attempt;
} InterruptedList;
NODISCARD Status store_list_interrupted(Store *store, Arena *arena, InterruptedList *out,
                                        Error *err);

/* Deliveries that may be tried now, at most `per_place` of a place, the longest due first. */
typedef struct DueDelivery {
    char id[STORE_ID_SIZE];
    char place[STORE_PLACE_SIZE];
} DueDelivery;
NODISCARD Status store_list_due(Store *store, int64_t now, int per_place, DueDelivery *out,
                                int capacity, int *out_count, Error *err);
/* When the next one after `now` may be tried, 0 when there is none. */
NODISCARD Status store_next_due(Store *store, int64_t now, int64_t *out, Error *err);

typedef struct Delivery {
    const char *job;
    const char *url;
    const char *body;
    DeliveryState state;
    int attempts; /* so far */
} Delivery;
NODISCARD Status store_find_delivery(Store *store, const char *id, Arena *arena, Delivery *out,
                                     Error *err);
NODISCARD Status store_count_deliveries(Store *store, int64_t *out_pending, Error *err);

/* For /metrics and /readyz. */
typedef struct StoreGauges {
    int64_t commits;
    int64_t commands;
    int64_t wal_pages;
    int64_t wal_bytes, bytes; /* of the files */
    double commit_seconds;    /* all commits together */
    bool is_failing;          /* the last commit failed */
} StoreGauges;
StoreGauges store_gauges(Store *store);
