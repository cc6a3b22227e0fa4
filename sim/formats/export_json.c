#include "formats/export_json.h"

#include <stdlib.h>
#include <string.h>

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(Bytes json, size_t at)
{
    while (at < json.size && is_space(json.data[at]))
        at++;
    return at;
}

/* From the opening quote to behind the closing one. */
static size_t skip_text(Bytes json, size_t at)
{
    for (at++; at < json.size && json.data[at] != '"'; at++)
        if (json.data[at] == '\\')
            at++;
    return at < json.size ? at + 1 : json.size;
}

static size_t skip_value(Bytes json, size_t at)
{
    int depth = 0;

    do {
        uint8_t c = at < json.size ? json.data[at] : 0;
        if (c == '"') {
            at = skip_text(json, at);
            continue;
        }
        if (c == '{' || c == '[')
            depth++;
        else if (c == '}' || c == ']')
            depth--;
        at++;
    } while (at < json.size && depth > 0);
    // a number or word goes on to what ends it
    while (at < json.size && !is_space(json.data[at]) && !strchr(",]}", json.data[at]))
        at++;
    return at;
}

JsonSpan json_span_root(Bytes json)
{
    size_t begin = skip_space(json, 0);

    return (JsonSpan){begin, skip_value(json, begin)};
}

bool json_span_member(Bytes json, JsonSpan object, const char *key, JsonMember *out)
{
    size_t size = strlen(key);
    size_t at = skip_space(json, object.begin + 1);

    while (at < object.end && json.data[at] == '"') {
        JsonMember member = {.key = {at, skip_text(json, at)}};
        member.value.begin = skip_space(json, skip_space(json, member.key.end) + 1);
        member.value.end = skip_value(json, member.value.begin);
        if (member.key.end - member.key.begin == size + 2 &&
            memcmp(json.data + at + 1, key, size) == 0) {
            *out = member;
            return true;
        }
        at = skip_space(json, skip_space(json, member.value.end) + 1);
    }
    return false;
}

bool json_span_next(Bytes json, JsonSpan array, JsonSpan *item)
{
    size_t at = item->end ? skip_space(json, item->end) : array.begin;

    // over the bracket or the comma
    if (at >= array.end || (item->end && json.data[at] != ','))
        return false;
    at = skip_space(json, at + 1);
    if (at >= array.end || json.data[at] == ']')
        return false;
    *item = (JsonSpan){at, skip_value(json, at)};
    return true;
}

JsonEdits json_edits(Bytes json, Arena *arena, int capacity)
{
    JsonEdit *edit = arena_array(arena, JsonEdit, capacity);

    return (JsonEdits){.json = json, .edit = edit, .capacity = edit ? capacity : 0};
}

void json_edit_replace(JsonEdits *edits, JsonSpan span, const char *text)
{
    if (edits->count < edits->capacity && text)
        edits->edit[edits->count++] = (JsonEdit){span, text};
    else
        edits->overflowed = true;
}

void json_edit_remove(JsonEdits *edits, const JsonMember *member)
{
    Bytes json = edits->json;
    JsonSpan span = {member->key.begin, member->value.end};
    size_t after = skip_space(json, span.end);
    size_t before = span.begin;

    while (before > 0 && is_space(json.data[before - 1]))
        before--;
    if (after < json.size && json.data[after] == ',')
        span.end = after + 1;
    else if (before > 0 && json.data[before - 1] == ',')
        span.begin = before - 1;
    json_edit_replace(edits, span, "");
}

void json_edit_add_items(JsonEdits *edits, const char *key, JsonPlace place, const char *items,
                         Arena *arena)
{
    JsonSpan root = json_span_root(edits->json);
    JsonSpan item = {0};
    JsonMember member;

    if (!json_span_member(edits->json, root, key, &member)) {
        bool is_alone = edits->json.data[skip_space(edits->json, root.begin + 1)] == '}';
        json_edit_replace(edits, (JsonSpan){root.begin + 1, root.begin + 1},
                          arena_format(arena, "\"%s\":[%s]%s", key, items, is_alone ? "" : ","));
        return;
    }
    bool is_empty = !json_span_next(edits->json, member.value, &item);
    size_t at = place == JSON_FIRST ? member.value.begin + 1 : member.value.end - 1;
    const char *comma = is_empty ? "" : ",";
    json_edit_replace(edits, (JsonSpan){at, at},
                      place == JSON_FIRST ? arena_format(arena, "%s%s", items, comma)
                                          : arena_format(arena, "%s%s", comma, items));
}

static int compare_edits(const void *a_, const void *b_)
{
    const JsonEdit *a = a_;
    const JsonEdit *b = b_;

    return (a->span.begin > b->span.begin) - (a->span.begin < b->span.begin);
}

void json_edits_apply(JsonEdits *edits, Text *out)
{
    const char *json = (const char *)edits->json.data;
    size_t at = 0;

    if (edits->count > 0)
        qsort(edits->edit, (size_t)edits->count, sizeof *edits->edit, compare_edits);
    for (int i = 0; i < edits->count; i++) {
        const JsonEdit *edit = &edits->edit[i];
        text_add_bytes(out, json + at, edit->span.begin - at);
        text_add(out, edit->text);
        at = edit->span.end;
    }
    text_add_bytes(out, json + at, edits->json.size - at);
}
