#include "base/json.h"

#include "base/json_scan.h"

#include <cjson/cJSON.h>

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTER_SIZE = 512,
    INDEX_FROM = 16,      /* objects of more members get an index */
    SUGGESTION_SIZE = 64, /* longer keys get no suggestion */
};

Faults faults_open(Arena *arena, int capacity)
{
    Fault *fault = arena_array(arena, Fault, capacity);

    return (Faults){.arena = arena, .fault = fault, .capacity = fault ? capacity : 0};
}

static void add_fault(Faults *faults, const char *pointer, const char *detail)
{
    if (faults->count < faults->capacity) {
        Fault fault = {arena_text(faults->arena, pointer, strlen(pointer)),
                       arena_text(faults->arena, detail, strlen(detail))};

        if (fault.pointer && fault.detail)
            faults->fault[faults->count] = fault;
        else
            faults->capacity = faults->count; // the arena is full: from here on, only count
    }
    if (faults->count < INT_MAX)
        faults->count++;
}

void faults_add(Faults *faults, const char *pointer, const char *format, ...)
{
    char detail[POINTER_SIZE] = "";
    va_list arguments;

    va_start(arguments, format);
    if (faults->count < faults->capacity)
        (void)vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    add_fault(faults, pointer, detail);
}

Status faults_status(const Faults *faults, Error *err)
{
    char more[40] = "";

    if (faults->count == 0)
        return STATUS_OK;
    if (faults->capacity == 0)
        return error_set(err, STATUS_INVALID, "%d faults, and no memory left to name them",
                         faults->count);
    if (faults->count > 1)
        (void)snprintf(more, sizeof more, " (and %d more)", faults->count - 1);
    const Fault *first = &faults->fault[0];
    return error_set(err, STATUS_INVALID, "%s %s%s",
                     first->pointer[0] ? first->pointer : "the document", first->detail, more);
}

static int compare_members(const void *a_, const void *b_)
{
    const cJSON *const *a = a_;
    const cJSON *const *b = b_;

    return strcmp((*a)->string, (*b)->string);
}

/* Where a container keeps what cJSON has no place for: the count of its children in `valueint`;
 * those of a large object, sorted by key, in the memory behind `valuestring`, which cJSON_Delete
 * frees. Both fields are unused in containers. */
static const cJSON **index_of(const cJSON *object)
{
    return (const cJSON **)(void *)object->valuestring;
}

static bool index_object(cJSON *object)
{
    const cJSON **sorted = cJSON_malloc((size_t)object->valueint * sizeof(cJSON *));
    size_t i = 0;

    if (!sorted)
        return false;
    for (const cJSON *member = object->child; member; member = member->next)
        sorted[i++] = member;
    qsort(sorted, i, sizeof(cJSON *), compare_members);
    object->valuestring = (char *)sorted;
    return true;
}

/* Count and index all containers; the depth has been checked. */
static bool index_containers(cJSON *value)
{
    if (!cJSON_IsObject(value) && !cJSON_IsArray(value))
        return true;
    value->valueint = 0;
    for (cJSON *child = value->child; child; child = child->next) {
        if (value->valueint == INT_MAX || !index_containers(child))
            return false;
        value->valueint++;
    }
    return cJSON_IsArray(value) || value->valueint <= INDEX_FROM || index_object(value);
}

Status json_open(Bytes text, int max_depth, JsonDocument *out, Error *err)
{
    if (json_scan(text, max_depth, err))
        return err->status;
    cJSON *root = cJSON_ParseWithLength((const char *)text.data, text.size);
    if (!root || !index_containers(root)) {
        cJSON_Delete(root);
        return error_set(err, STATUS_NO_MEMORY, "no memory for JSON of %zu bytes", text.size);
    }
    *out = (JsonDocument){root};
    return STATUS_OK;
}

void json_close(JsonDocument *document)
{
    cJSON_Delete(document->root);
    *document = (JsonDocument){0};
}

JsonReader json_root(const JsonDocument *document, Faults *faults)
{
    return (JsonReader){.value = document->root, .faults = faults};
}

static bool has_type(const JsonReader *reader, int types)
{
    return reader->value && (reader->value->type & types);
}

bool json_is_absent(const JsonReader *reader)
{
    return !reader->value || has_type(reader, cJSON_NULL);
}

bool json_is_object(const JsonReader *reader)
{
    return has_type(reader, cJSON_Object);
}

bool json_is_array(const JsonReader *reader)
{
    return has_type(reader, cJSON_Array);
}

bool json_is_number(const JsonReader *reader)
{
    return has_type(reader, cJSON_Number);
}

bool json_is_text(const JsonReader *reader)
{
    return has_type(reader, cJSON_String);
}

bool json_is_bool(const JsonReader *reader)
{
    return has_type(reader, cJSON_False | cJSON_True);
}

static const cJSON *find_member(const cJSON *object, const char *key)
{
    const cJSON *member = object->child;

    if (object->valueint > INDEX_FROM) {
        cJSON sought_item = {.string = (char *)(uintptr_t)key};
        const cJSON *sought = &sought_item;
        const cJSON **place = bsearch(&sought, index_of(object), (size_t)object->valueint,
                                      sizeof(cJSON *), compare_members);
        return place ? *place : NULL;
    }
    while (member && strcmp(member->string, key) != 0)
        member = member->next;
    return member;
}

JsonReader json_member(const JsonReader *object, const char *key)
{
    JsonReader member = {.parent = object, .key = key, .faults = object->faults};

    if (json_is_object(object))
        member.value = find_member(object->value, key);
    return member;
}

int json_count(const JsonReader *container)
{
    return json_is_object(container) || json_is_array(container) ? container->value->valueint : 0;
}

bool json_first(const JsonReader *container, JsonReader *out)
{
    if (json_count(container) == 0)
        return false;
    const cJSON *child = container->value->child;
    *out = (JsonReader){
        .value = child, .parent = container, .key = child->string, .faults = container->faults};
    return true;
}

bool json_next(JsonReader *item)
{
    const cJSON *next = item->value->next;

    if (!next)
        return false;
    item->value = next;
    item->key = next->string;
    item->index++;
    return true;
}

/* A piece of text into `out` from `used` on, as far as it fits; the length it would have. */
static size_t append(char *out, size_t size, size_t used, const char *piece)
{
    for (; *piece; piece++, used++)
        if (used + 1 < size)
            out[used] = *piece;
    return used;
}

static size_t append_pointer(const JsonReader *reader, char *out, size_t size)
{
    char number[16];

    if (!reader->parent)
        return 0;
    size_t used = append(out, size, append_pointer(reader->parent, out, size), "/");
    if (!reader->key) {
        (void)snprintf(number, sizeof number, "%d", reader->index);
        return append(out, size, used, number);
    }
    for (const char *at = reader->key; *at && used < size; at++) {
        const char piece[2] = {*at, '\0'};
        used = append(out, size, used, *at == '~' ? "~0" : *at == '/' ? "~1" : piece);
    }
    return used;
}

void json_pointer(const JsonReader *reader, char *out, size_t size)
{
    size_t used = append_pointer(reader, out, size);

    if (used >= size) {
        // cut in front of a character, not inside it
        used = size - 1;
        while (used > 0 && ((unsigned char)out[used - 1] & 0xc0) == 0x80)
            used--;
        if (used > 0 && ((unsigned char)out[used - 1] & 0xc0) == 0xc0)
            used--;
    }
    out[used] = '\0';
}

void json_fault(const JsonReader *reader, const char *format, ...)
{
    Faults *faults = reader->faults;
    char pointer[POINTER_SIZE] = "";
    char detail[POINTER_SIZE] = "";
    va_list arguments;

    va_start(arguments, format);
    if (faults->count < faults->capacity) {
        json_pointer(reader, pointer, sizeof pointer);
        (void)vsnprintf(detail, sizeof detail, format, arguments);
    }
    va_end(arguments);
    add_fault(faults, pointer, detail);
}

/* "must be WANTED", with what is there instead. */
static void fault_wanted(const JsonReader *reader, const char *wanted)
{
    const cJSON *value = reader->value;
    char number[32];

    if (json_is_absent(reader)) {
        json_fault(reader, "is missing, must be %s", wanted);
    } else if (cJSON_IsNumber(value)) {
        json_format_double(value->valuedouble, number);
        json_fault(reader, "must be %s, not %s", wanted, number);
    } else {
        json_fault(reader, "must be %s, not %s", wanted,
                   cJSON_IsString(value)   ? "text"
                   : cJSON_IsBool(value)   ? "true or false"
                   : cJSON_IsObject(value) ? "an object"
                                           : "an array");
    }
}

/* "must be a number from 0 to 180"; an infinite bound is left out. */
static void fault_range(const JsonReader *reader, const char *kind, double min, double max)
{
    char wanted[120];
    char low[32];
    char high[32];

    json_format_double(min, low);
    json_format_double(max, high);
    if (isfinite(min) && isfinite(max))
        (void)snprintf(wanted, sizeof wanted, "%s from %s to %s", kind, low, high);
    else if (isfinite(min))
        (void)snprintf(wanted, sizeof wanted, "%s of at least %s", kind, low);
    else if (isfinite(max))
        (void)snprintf(wanted, sizeof wanted, "%s of at most %s", kind, high);
    else
        (void)snprintf(wanted, sizeof wanted, "%s", kind);
    fault_wanted(reader, wanted);
}

double json_as_number(const JsonReader *value, double min, double max)
{
    double number = json_is_number(value) ? value->value->valuedouble : (double)NAN;

    if (number >= min && number <= max)
        return number;
    fault_range(value, "a number", min <= -(double)FLT_MAX ? -(double)INFINITY : min,
                max >= (double)FLT_MAX ? (double)INFINITY : max);
    return min;
}

int json_as_int(const JsonReader *value, int min, int max)
{
    double number = json_is_number(value) ? value->value->valuedouble : (double)NAN;

    if (number >= min && number <= max && number == floor(number))
        return (int)number;
    fault_range(value, "a whole number", min == INT_MIN ? -(double)INFINITY : min,
                max == INT_MAX ? (double)INFINITY : max);
    return min;
}

const char *json_as_text(const JsonReader *value, int max_size)
{
    if (!json_is_text(value)) {
        fault_wanted(value, "text");
        return "";
    }
    const char *text = value->value->valuestring;
    size_t size = strlen(text);
    if (size <= (size_t)max_size)
        return text;
    json_fault(value, "must be text of at most %d bytes, not %zu", max_size, size);
    return "";
}

double json_number(const JsonReader *object, const char *key, double min, double max)
{
    JsonReader member = json_member(object, key);

    return json_as_number(&member, min, max);
}

double json_number_or(const JsonReader *object, const char *key, double otherwise, double min,
                      double max)
{
    JsonReader member = json_member(object, key);
    int faults = object->faults->count;
    double number = json_is_absent(&member) ? otherwise : json_as_number(&member, min, max);

    return object->faults->count == faults ? number : otherwise;
}

int json_int(const JsonReader *object, const char *key, int min, int max)
{
    JsonReader member = json_member(object, key);

    return json_as_int(&member, min, max);
}

int json_int_or(const JsonReader *object, const char *key, int otherwise, int min, int max)
{
    JsonReader member = json_member(object, key);
    int faults = object->faults->count;
    int number = json_is_absent(&member) ? otherwise : json_as_int(&member, min, max);

    return object->faults->count == faults ? number : otherwise;
}

bool json_bool_or(const JsonReader *object, const char *key, bool otherwise)
{
    JsonReader member = json_member(object, key);

    if (json_is_absent(&member))
        return otherwise;
    if (json_is_bool(&member))
        return cJSON_IsTrue(member.value);
    fault_wanted(&member, "true or false");
    return otherwise;
}

const char *json_text(const JsonReader *object, const char *key, int max_size)
{
    JsonReader member = json_member(object, key);

    return json_as_text(&member, max_size);
}

const char *json_text_or(const JsonReader *object, const char *key, const char *otherwise,
                         int max_size)
{
    JsonReader member = json_member(object, key);
    int faults = object->faults->count;
    const char *text = json_is_absent(&member) ? otherwise : json_as_text(&member, max_size);

    return object->faults->count == faults ? text : otherwise;
}

int json_choice_or(const JsonReader *object, const char *key, const char *const *name, int count,
                   int otherwise)
{
    JsonReader member = json_member(object, key);
    char wanted[256] = "";
    size_t used = 0;

    if (json_is_absent(&member))
        return otherwise;
    for (int i = 0; i < count && json_is_text(&member); i++)
        if (strcmp(name[i], member.value->valuestring) == 0)
            return i;
    for (int i = 0; i < count; i++) {
        const char *joint = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        used = append(wanted, sizeof wanted, used, joint);
        used = append(wanted, sizeof wanted, used, "\"");
        used = append(wanted, sizeof wanted, used, name[i]);
        used = append(wanted, sizeof wanted, used, "\"");
    }
    if (json_is_text(&member))
        json_fault(&member, "must be %s, not \"%.64s\"", wanted, member.value->valuestring);
    else
        fault_wanted(&member, wanted);
    return otherwise;
}

bool json_floats(const JsonReader *object, const char *key, int count, float *out)
{
    JsonReader member = json_member(object, key);
    bool is_valid = json_is_array(&member) && json_count(&member) == count;
    int i = 0;

    if (json_is_absent(&member))
        return false;
    for (const cJSON *item = is_valid ? member.value->child : NULL; item; item = item->next)
        is_valid = is_valid && cJSON_IsNumber(item) && fabs(item->valuedouble) <= (double)FLT_MAX;
    if (!is_valid) {
        json_fault(&member, "must be an array of %d numbers", count);
        return false;
    }
    for (const cJSON *item = member.value->child; item; item = item->next)
        out[i++] = (float)item->valuedouble;
    return true;
}

/* Levenshtein's distance between texts of at most SUGGESTION_SIZE bytes. */
static int edit_distance(const char *a, const char *b)
{
    int row[SUGGESTION_SIZE + 1];
    int size = (int)strlen(b);

    for (int j = 0; j <= size; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < size; j++) {
            int replaced = diagonal + (a[i] != b[j]);
            int shorter = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;
            diagonal = row[j + 1];
            row[j + 1] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[size];
}

/* The known key that was probably meant: at most a third of its letters are wrong. */
static const char *find_nearest(const char *key, const char *const *known)
{
    const char *nearest = NULL;
    int least = INT_MAX;

    if (strlen(key) > SUGGESTION_SIZE)
        return NULL;
    for (; *known; known++) {
        size_t size = strlen(*known);
        int distance = size <= SUGGESTION_SIZE ? edit_distance(key, *known) : INT_MAX;

        if (distance < least && distance <= (int)(size + 2) / 3) {
            least = distance;
            nearest = *known;
        }
    }
    return nearest;
}

static bool is_listed(const char *key, const char *const *known)
{
    while (*known && strcmp(*known, key) != 0)
        known++;
    return *known != NULL;
}

void json_refuse_unknown(const JsonReader *object, const char *const *known)
{
    JsonReader member;

    if (!json_is_absent(object) && !json_is_object(object))
        fault_wanted(object, "an object");
    if (!json_is_object(object))
        return;
    for (bool more = json_first(object, &member); more; more = json_next(&member)) {
        if (is_listed(member.key, known))
            continue;
        bool is_told = object->faults->count < object->faults->capacity;
        const char *nearest = is_told ? find_nearest(member.key, known) : NULL;
        if (nearest)
            json_fault(&member, "is not a known field, did you mean \"%s\"?", nearest);
        else
            json_fault(&member, "is not a known field");
    }
}
