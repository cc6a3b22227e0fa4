#include "base/json.h"
#include "base/utf8.h"

#include <cjson/cJSON.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

JsonWriter json_writer(Text *text, int indent)
{
    return (JsonWriter){.text = text, .indent = indent};
}

/* How a character is escaped in text, or NULL. RFC 8785 wants exactly these. */
static const char *escape(uint8_t c)
{
    switch (c) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

/* A string with its quotes; a byte that is not UTF-8 becomes U+FFFD. */
static void write_quoted(Text *text, const char *string)
{
    const uint8_t *at = (const uint8_t *)string;
    size_t left = strlen(string);
    size_t plain = 0; // bytes before `at` that go out as they are

    text_add_bytes(text, "\"", 1);
    while (left > 0) {
        size_t length = utf8_length(at, left);
        const char *name = escape(*at);

        if (length > 0 && *at >= 0x20 && !name) {
            at += length;
            left -= length;
            plain += length;
            continue;
        }
        text_add_bytes(text, (const char *)at - plain, plain);
        plain = 0;
        if (name)
            text_add(text, name);
        else if (length == 0)
            text_add(text, "\xef\xbf\xbd");
        else
            text_format(text, "\\u%04x", *at);
        at++;
        left--;
    }
    text_add_bytes(text, (const char *)at - plain, plain);
    text_add_bytes(text, "\"", 1);
}

static void write_new_line(const JsonWriter *writer)
{
    if (writer->indent > 0)
        text_format(writer->text, "\n%*s", writer->indent * writer->depth, "");
}

/* The comma, the line break and the key that come before a value. */
static void write_start(JsonWriter *writer, const char *key)
{
    bool *has_item = &writer->has_item[writer->depth];

    if (*has_item)
        text_add_bytes(writer->text, ",", 1);
    *has_item = true;
    if (writer->depth > 0)
        write_new_line(writer);
    if (!key)
        return;
    write_quoted(writer->text, key);
    text_add(writer->text, writer->indent > 0 ? ": " : ":");
}

static void begin(JsonWriter *writer, const char *key, const char *bracket)
{
    write_start(writer, key);
    text_add(writer->text, bracket);
    if (writer->depth + 1 == JSON_WRITER_DEPTH) {
        error_set(writer->text->buffer.err, STATUS_LIMIT, "JSON to write is nested deeper than %d",
                  JSON_WRITER_DEPTH - 1);
        return;
    }
    writer->depth++;
    writer->has_item[writer->depth] = false;
}

static void end(JsonWriter *writer, const char *bracket)
{
    bool had_item = writer->has_item[writer->depth];

    if (writer->depth > 0)
        writer->depth--;
    if (had_item)
        write_new_line(writer);
    text_add(writer->text, bracket);
}

void json_begin_object(JsonWriter *writer, const char *key)
{
    begin(writer, key, "{");
}

void json_end_object(JsonWriter *writer)
{
    end(writer, "}");
}

void json_begin_array(JsonWriter *writer, const char *key)
{
    begin(writer, key, "[");
}

void json_end_array(JsonWriter *writer)
{
    end(writer, "]");
}

void json_write_raw(JsonWriter *writer, const char *key, const char *json)
{
    write_start(writer, key);
    text_add(writer->text, json);
}

void json_write_text(JsonWriter *writer, const char *key, const char *value)
{
    write_start(writer, key);
    if (value)
        write_quoted(writer->text, value);
    else
        text_add(writer->text, "null");
}

void json_write_int(JsonWriter *writer, const char *key, int64_t value)
{
    write_start(writer, key);
    text_format(writer->text, "%" PRId64, value);
}

void json_write_double(JsonWriter *writer, const char *key, double value)
{
    char number[32];

    json_format_double(value, number);
    json_write_raw(writer, key, number);
}

void json_write_float(JsonWriter *writer, const char *key, float value)
{
    char number[32];

    json_format_float(value, number);
    json_write_raw(writer, key, number);
}

void json_write_floats(JsonWriter *writer, const char *key, const float *value, int count)
{
    write_start(writer, key);
    text_add_bytes(writer->text, "[", 1);
    for (int i = 0; i < count; i++) {
        char number[33] = ",";
        int length = json_format_float(value[i], number + 1);

        if (i > 0)
            text_add_bytes(writer->text, number, (size_t)length + 1);
        else
            text_add_bytes(writer->text, number + 1, (size_t)length);
    }
    text_add_bytes(writer->text, "]", 1);
}

void json_write_bool(JsonWriter *writer, const char *key, bool value)
{
    json_write_raw(writer, key, value ? "true" : "false");
}

void json_write_null(JsonWriter *writer, const char *key)
{
    json_write_raw(writer, key, "null");
}

/* The order of UTF-16 code units: that of code points, except that what lies above U+FFFF is
 * written with surrogates and so comes before U+E000 to U+FFFF. */
static int compare_utf16(const void *a_, const void *b_)
{
    const cJSON *const *a = a_;
    const cJSON *const *b = b_;
    const uint8_t *text_a = (const uint8_t *)(*a)->string;
    const uint8_t *text_b = (const uint8_t *)(*b)->string;

    while (*text_a && *text_a == *text_b) {
        text_a++;
        text_b++;
    }
    // lead bytes rise with the code point; those from 0xf0 on stand for surrogates, 0xee and 0xef
    // for U+E000 to U+FFFF; within one kind, and inside a character, bytes decide
    bool is_pair_a = *text_a >= 0xf0;
    bool is_pair_b = *text_b >= 0xf0;
    if (is_pair_a != is_pair_b) {
        uint8_t other = is_pair_a ? *text_b : *text_a;
        bool other_is_above = other == 0xee || other == 0xef;
        return is_pair_a == other_is_above ? -1 : 1;
    }
    return *text_a < *text_b ? -1 : *text_a > *text_b;
}

static void write_canonical(const cJSON *value, Text *out);

static void write_canonical_object(const cJSON *object, Text *out)
{
    size_t count = 0;
    size_t i = 0;

    for (const cJSON *member = object->child; member; member = member->next)
        count++;
    const cJSON **sorted = malloc((count ? count : 1) * sizeof(cJSON *));
    if (!sorted) {
        error_set(out->buffer.err, STATUS_NO_MEMORY, "no memory to sort %zu keys", count);
        return;
    }
    for (const cJSON *member = object->child; member; member = member->next)
        sorted[i++] = member;
    qsort(sorted, count, sizeof(cJSON *), compare_utf16);
    text_add_bytes(out, "{", 1);
    for (i = 0; i < count && !out->buffer.err->status; i++) {
        if (i > 0)
            text_add_bytes(out, ",", 1);
        write_quoted(out, sorted[i]->string);
        text_add_bytes(out, ":", 1);
        write_canonical(sorted[i], out);
    }
    text_add_bytes(out, "}", 1);
    free(sorted);
}

static void write_canonical(const cJSON *value, Text *out)
{
    char number[32];

    if (cJSON_IsObject(value)) {
        write_canonical_object(value, out);
    } else if (cJSON_IsArray(value)) {
        text_add_bytes(out, "[", 1);
        for (const cJSON *item = value->child; item && !out->buffer.err->status;
             item = item->next) {
            write_canonical(item, out);
            if (item->next)
                text_add_bytes(out, ",", 1);
        }
        text_add_bytes(out, "]", 1);
    } else if (cJSON_IsString(value)) {
        write_quoted(out, value->valuestring);
    } else if (cJSON_IsNumber(value)) {
        json_format_double(value->valuedouble, number);
        text_add(out, number);
    } else {
        text_add(out, cJSON_IsNull(value) ? "null" : cJSON_IsTrue(value) ? "true" : "false");
    }
}

void json_write_canonical(const JsonDocument *document, Text *out)
{
    write_canonical(document->root, out);
}

void json_write_value(JsonWriter *writer, const char *key, const JsonReader *value)
{
    write_start(writer, key);
    if (value->value)
        write_canonical(value->value, writer->text);
    else
        text_add(writer->text, "null");
}
