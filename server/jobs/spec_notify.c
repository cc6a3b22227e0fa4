/* "notify": whom a job's end is told. */
#include "server/jobs/decoder.h"
#include "server/jobs/notify_url.h"

#include <string.h>

static const char *decode_url(const Decoder *decoder, const JsonReader *value)
{
    NotifyUrl url;
    int before = value->faults->count;
    const char *text = json_as_text(value, NOTIFY_URL_MAX);

    if (value->faults->count != before)
        return NULL;
    const char *fault = notify_url_parse(text, &url);
    if (fault)
        json_fault(value, "%s", fault);
    return fault ? NULL : decoder_keep(decoder, text);
}

enum { ENDS = 3 };

static const char *const end_name[ENDS] = {"done", "failed", "cancelled"};

static void decode_end(const JsonReader *item, bool is_told[ENDS])
{
    const char *text = json_is_text(item) ? json_as_text(item, JOB_NAME_MAX) : "";

    for (int i = 0; i < ENDS; i++) {
        if (strcmp(text, end_name[i]) == 0) {
            is_told[i] = true;
            return;
        }
    }
    json_fault(item, "must be done, failed or cancelled");
}

/* The names of the ends that are told, with spaces between; all without an object or "on". */
static const char *decode_ends(const Decoder *decoder, const JsonReader *object)
{
    bool is_told[ENDS] = {false};
    JsonReader list;
    JsonReader item;
    bool has_list = object && field_open(object, &notify_fields, "on", &list);

    for (bool is_item = has_list && json_first(&list, &item); is_item; is_item = json_next(&item))
        decode_end(&item, is_told);
    const char *ends = arena_format(
        decoder->arena, "%s%s%s", !has_list || is_told[0] ? "done " : "",
        !has_list || is_told[1] ? "failed " : "", !has_list || is_told[2] ? "cancelled " : "");
    return ends ? ends : "";
}

void decode_notify(const Decoder *decoder, const JsonReader *root, JobSpec *out)
{
    JsonReader member = json_member(root, "notify");

    if (json_is_absent(&member))
        return;
    if (json_is_text(&member)) {
        out->notify_url = decode_url(decoder, &member);
        out->notify_ends = decode_ends(decoder, NULL);
        return;
    }
    if (!json_is_object(&member)) {
        json_fault(&member, "must be a URL, or an object with \"url\" and \"on\"");
        return;
    }
    if (!field_check(&member, &notify_fields))
        return;
    JsonReader url = json_member(&member, "url");
    if (json_is_absent(&url))
        json_fault(&url, "is missing");
    else
        out->notify_url = decode_url(decoder, &url);
    out->notify_ends = decode_ends(decoder, &member);
}
