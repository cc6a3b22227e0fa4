/* Api: the resources of the HTTP interface (schema/openapi.json), one file each. */
#pragma once

#include "server/app.h"
#include "server/http/request.h"

extern const Route model_routes[];
extern const Route upload_routes[];
extern const Route queue_routes[];
extern const Route job_routes[];
extern const Route frame_routes[];
extern const Route event_routes[];
extern const Route measure_routes[];
extern const Route export_routes[];
extern const Route service_routes[];
extern const Route page_routes[];

/* A job as JSON. The long form has the canonical job too. */
typedef enum JobForm { JOB_BRIEF, JOB_LONG } JobForm;
void api_write_job(JsonWriter *json, const char *key, const Job *job, JobForm form);

/* What is told of a job that has ended, as delivery `id`. */
void api_write_end(const char *id, const Job *job, Text *out);

/* The job of the path; INVALID ids are NOT_FOUND. */
NODISCARD Status api_find_job(App *app, Request *request, Job *out, Error *err);

/* "tag=KEY:VALUE" of the query, at most JOB_FILTER_TAGS. */
NODISCARD Status api_read_tags(Request *request, JobTagRow *out, int *out_count, Error *err);
/* "limit" and "cursor". */
NODISCARD Status api_read_page(Request *request, int limit_max, int *out_limit, int64_t *out_before,
                               Error *err);
/* "next": the cursor of the next page, null when this was the last. */
void api_write_next(JsonWriter *json, int count, int limit, int64_t last_seq);
void api_write_time(JsonWriter *json, const char *key, int64_t ms);

/* Fails with the problem that is not what the status says. */
Status api_refuse(Response *response, ProblemKind kind, Error *err, Status status,
                  const char *format, ...) PRINTF_LIKE(5, 6);
/* May another stream be opened? Else UNAVAILABLE. */
NODISCARD Status api_admit_stream(const App *app, Response *response, Error *err);
