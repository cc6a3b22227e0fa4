/* Measures: of one job, and across jobs. */
#include "server/api/api.h"

#include <inttypes.h>
#include <string.h>

enum { LIST_MAX = 10000, JOB_ROWS_MAX = 100000 };

/* --- CSV --- */

/* In quotes where it must be. A leading sign of a formula is kept from being one. */
static void write_cell(Text *out, const char *value)
{
    bool is_formula = value[0] && strchr("=+-@\t\r", value[0]);

    if (!is_formula && !strpbrk(value, ",\"\r\n")) {
        text_add(out, value);
        return;
    }
    text_add(out, is_formula ? "\"'" : "\"");
    for (; *value; value++)
        text_add_bytes(out, *value == '"' ? "\"\"" : value, *value == '"' ? 2 : 1);
    text_add(out, "\"");
}

static void write_value(Text *out, const MeasureOfJob *row)
{
    char number[32];

    if (row->simulation >= 0)
        text_format(out, "%d", row->simulation);
    text_add(out, ",");
    write_cell(out, row->target);
    text_add(out, ",");
    if (!row->is_missing) {
        (void)json_format_double(row->value, number);
        text_add(out, number);
    }
    text_add(out, ",");
    write_cell(out, row->unit);
}

static Text *begin_csv(Response *response, const char *header)
{
    response->kind = RESPONSE_TEXT;
    response->type = "text/csv; charset=utf-8";
    text_add(&response->text, header);
    return &response->text;
}

/* --- of one job --- */

static Status answer_csv(App *app, Request *request, const Job *job, Error *err)
{
    MeasureList list;

    if (store_list_job_measures(app->store, job->id, JOB_ROWS_MAX, &request->arena, &list, err))
        return err->status;
    Text *out = begin_csv(&request->response, "name,simulation,target,value,unit\r\n");
    for (int i = 0; i < list.count; i++) {
        write_cell(out, list.measure[i].name);
        text_add(out, ",");
        write_value(out, &list.measure[i]);
        text_add(out, "\r\n");
    }
    return STATUS_OK;
}

/* While the job runs: the rows so far. */
static void answer_so_far(Response *response, const Job *job)
{
    JsonWriter json = response_json(response);

    json_begin_object(&json, NULL);
    json_write_bool(&json, "partial", true);
    json_write_int(&json, "frames", job->frames);
    json_write_raw(&json, "summary", job->measured[0] ? job->measured : "[]");
    json_end_object(&json);
}

/* GET /v1/jobs/{id}/measures: JSON, or CSV by Accept; of a running job the rows so far. */
static Status get_job_measures(App *app, Request *request, Response *response, Error *err)
{
    Error failure = {0};
    Job job;
    int file = -1;
    int64_t size = 0;

    if (api_find_job(app, request, &job, err))
        return err->status;
    if (request_accepts(request, "text/csv"))
        return answer_csv(app, request, &job, err);
    if (!job_state_is_final(job.state) || !job.result_attempt) {
        answer_so_far(response, &job);
        return STATUS_OK;
    }
    Status status = result_open(app->blobs, job.result_job, job.result_attempt, "measures.json",
                                &file, &size, &failure);
    if (status == STATUS_NOT_FOUND) {
        answer_so_far(response, &job); // it ended before anything was measured
        return STATUS_OK;
    }
    if (status) {
        *err = failure;
        return status;
    }
    response_file(response, "application/json", file, size, NULL);
    return STATUS_OK;
}

/* --- across jobs --- */

static Status read_filter(Request *request, JobTagRow *tag, MeasureFilter *out, Error *err)
{
    const char *since = request_query(request, "since");

    *out = (MeasureFilter){.name = request_query(request, "name"),
                           .model = request_query(request, "model"),
                           .target = request_query(request, "target"),
                           .tag = tag};
    if (api_read_tags(request, tag, &out->tag_count, err) ||
        api_read_page(request, LIST_MAX, &out->limit, &out->before, err))
        return err->status;
    return since ? time_parse(since, &out->since, err) : STATUS_OK;
}

static void write_row(JsonWriter *json, const MeasureOfJob *row)
{
    json_begin_object(json, NULL);
    json_write_text(json, "job", row->job);
    json_write_text(json, "job_name", row->job_name);
    json_write_text(json, "model", row->model);
    json_write_raw(json, "tags", row->tags);
    api_write_time(json, "finished", row->finished);
    if (row->passed < 0)
        json_write_null(json, "passed");
    else
        json_write_bool(json, "passed", row->passed != 0);
    json_write_text(json, "name", row->name);
    if (row->simulation < 0)
        json_write_null(json, "simulation");
    else
        json_write_int(json, "simulation", row->simulation);
    json_write_text(json, "target", row->target);
    if (row->is_missing)
        json_write_null(json, "value");
    else
        json_write_double(json, "value", row->value);
    json_write_text(json, "unit", row->unit);
    json_end_object(json);
}

static void write_csv(Response *response, const MeasureList *list)
{
    Text *out =
        begin_csv(response, "job,job_name,model,finished,name,simulation,target,value,unit\r\n");

    for (int i = 0; i < list->count; i++) {
        const MeasureOfJob *row = &list->measure[i];
        char time[TIME_TEXT_SIZE];

        time_format(row->finished, time);
        text_format(out, "%s,", row->job);
        write_cell(out, row->job_name);
        text_format(out, ",%s,%s,", row->model, time);
        write_cell(out, row->name);
        text_add(out, ",");
        write_value(out, row);
        text_add(out, "\r\n");
    }
}

/* A page ends between two jobs, so that the cursor loses no row: the last job's rows are left for
 * the next page, unless the page is all its. */
static int cut_page(const MeasureList *list, int limit)
{
    int count = list->count;
    int64_t last = count ? list->measure[count - 1].seq : 0;

    if (count < limit || list->measure[0].seq == last)
        return count;
    while (list->measure[count - 1].seq == last)
        count--;
    return count;
}

/* GET /v1/measures: of jobs that are done, the newest first. */
static Status list_measures(App *app, Request *request, Response *response, Error *err)
{
    JobTagRow tag[JOB_FILTER_TAGS];
    MeasureFilter filter;
    MeasureList list;

    if (read_filter(request, tag, &filter, err))
        return api_refuse(response, PROBLEM_MALFORMED, err, STATUS_INVALID, "%s", err->message);
    if (store_list_measures(app->store, &filter, &request->arena, &list, err))
        return err->status;
    bool is_last = list.count < filter.limit;
    list.count = cut_page(&list, filter.limit);
    if (request_accepts(request, "text/csv")) {
        write_csv(response, &list);
        return STATUS_OK;
    }
    JsonWriter json = response_json(response);
    json_begin_object(&json, NULL);
    json_begin_array(&json, "items");
    for (int i = 0; i < list.count; i++)
        write_row(&json, &list.measure[i]);
    json_end_array(&json);
    api_write_next(&json, is_last ? 0 : 1, 1, list.count ? list.measure[list.count - 1].seq : 0);
    json_end_object(&json);
    return STATUS_OK;
}

const Route measure_routes[] = {
    {"GET", "/v1/jobs/{id}/measures", ROUTE_READ, false, get_job_measures, ACCESS_READ},
    {"GET", "/v1/measures", ROUTE_READ, false, list_measures, ACCESS_READ},
    {0},
};
