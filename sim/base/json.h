/* JsonReader and JsonWriter: JSON in and out, over cJSON.
 *
 * Reading: json_open scans the text first (UTF-8, grammar, one value, depth, finite numbers, no
 * duplicate keys, no \u0000), for cJSON lets all of those pass, and then parses it. A JsonReader is
 * a value with the path that led to it; it lives on the stack beside its parent, which must outlive
 * it. Faults read "/simulations/2/damping must be a number from 0 to 180". They go into the
 * document's Faults: with a capacity of one it keeps the first (file formats); with more it keeps
 * all (jobs are refused with every fault at once). Reads after a fault go on and give defaults, so
 * decoding code runs straight down the page and asks once at the end.
 *
 * Writing: compact JSON into a Text; floats in the shortest form that reads back equal.
 *
 * A document belongs to one thread.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

struct cJSON;

typedef struct Fault {
    const char *pointer; /* RFC 6901, "" for the whole document */
    const char *detail;  /* a sentence without the pointer: "must be a number from 0 to 180" */
} Fault;

/* Where faults are collected; `fault` has room for `capacity`, further ones are only counted. */
typedef struct Faults {
    Arena *arena; /* for the texts */
    Fault *fault;
    int capacity;
    int count; /* may be more than capacity */
} Faults;

/* A list with room for `capacity`, in the arena; one that has no memory at all only counts. */
Faults faults_open(Arena *arena, int capacity);
void faults_add(Faults *faults, const char *pointer, const char *format, ...) PRINTF_LIKE(3, 4);
/* STATUS_OK when there are none, else err filled with the first ("POINTER DETAIL") and, where there
 * are more, how many. */
Status faults_status(const Faults *faults, Error *err);

typedef struct JsonDocument {
    struct cJSON *root;
} JsonDocument;

/* Parse text of at most `max_depth` nested containers. Errors name line and column. Memory is
 * cJSON's (about 64 bytes a value plus strings; a caller limits the size of the text); json_close
 * accepts a zeroed document. */
NODISCARD Status json_open(Bytes text, int max_depth, JsonDocument *out, Error *err);
void json_close(JsonDocument *document);

typedef struct JsonReader {
    const struct cJSON *value; /* NULL where the member is absent */
    const struct JsonReader *parent;
    const char *key; /* of this value in its parent object; NULL for array items */
    int index;       /* of this value in its parent array */
    Faults *faults;
} JsonReader;

JsonReader json_root(const JsonDocument *document, Faults *faults);

bool json_is_absent(const JsonReader *reader); /* no such member, or null */
bool json_is_object(const JsonReader *reader);
bool json_is_array(const JsonReader *reader);
bool json_is_number(const JsonReader *reader);
bool json_is_text(const JsonReader *reader);
bool json_is_bool(const JsonReader *reader);

/* Children. json_member gives an absent reader for a missing key. Arrays and objects are linked
 * lists: walk them with first and next (false at the end), never by index. For objects the walk
 * gives each member with its key. */
JsonReader json_member(const JsonReader *object, const char *key);
int json_count(const JsonReader *container);
bool json_first(const JsonReader *container, JsonReader *out);
bool json_next(JsonReader *item);

/* Members of an object. Without `_or` the member is required. A value of the wrong type or out of
 * the range is a fault, and the default (or `min`, or "") comes back. Ranges are inclusive. */
double json_number(const JsonReader *object, const char *key, double min, double max);
double json_number_or(const JsonReader *object, const char *key, double otherwise, double min,
                      double max);
int json_int(const JsonReader *object, const char *key, int min, int max);
int json_int_or(const JsonReader *object, const char *key, int otherwise, int min, int max);
bool json_bool_or(const JsonReader *object, const char *key, bool otherwise);
/* Text of at most max_size bytes; it lives as long as the document. */
const char *json_text(const JsonReader *object, const char *key, int max_size);
const char *json_text_or(const JsonReader *object, const char *key, const char *otherwise,
                         int max_size);
/* The index of the member's text among `count` names, `otherwise` when absent. */
int json_choice_or(const JsonReader *object, const char *key, const char *const *name, int count,
                   int otherwise);
/* Fills exactly `count` floats from an array member; false (and `out` untouched) when absent. */
bool json_floats(const JsonReader *object, const char *key, int count, float *out);

/* The value itself, for items of arrays. */
double json_as_number(const JsonReader *value, double min, double max);
int json_as_int(const JsonReader *value, int min, int max);
const char *json_as_text(const JsonReader *value, int max_size);

/* A fault about this value. `detail` continues the pointer: "must be ...". */
void json_fault(const JsonReader *reader, const char *format, ...) PRINTF_LIKE(2, 3);
/* A fault for every member whose key is not in the list (closed by NULL), naming the nearest known
 * key where there is a likely one. */
void json_refuse_unknown(const JsonReader *object, const char *const *known);
/* This value's pointer, written into `out` (cut where too long). */
void json_pointer(const JsonReader *reader, char *out, size_t size);

enum { JSON_WRITER_DEPTH = 64 };

typedef struct JsonWriter {
    Text *text;
    int depth;
    bool has_item[JSON_WRITER_DEPTH]; /* a comma is due before the next item */
    int indent;                       /* spaces a level; 0 writes one line */
} JsonWriter;

JsonWriter json_writer(Text *text, int indent);
/* `key` is NULL for items of arrays and for the root. NaN and infinities are written as null. */
void json_begin_object(JsonWriter *writer, const char *key);
void json_end_object(JsonWriter *writer);
void json_begin_array(JsonWriter *writer, const char *key);
void json_end_array(JsonWriter *writer);
void json_write_text(JsonWriter *writer, const char *key, const char *value); /* NULL: null */
void json_write_int(JsonWriter *writer, const char *key, int64_t value);
void json_write_double(JsonWriter *writer, const char *key, double value);
void json_write_float(JsonWriter *writer, const char *key, float value);
void json_write_floats(JsonWriter *writer, const char *key, const float *value, int count);
void json_write_bool(JsonWriter *writer, const char *key, bool value);
void json_write_null(JsonWriter *writer, const char *key);
void json_write_raw(JsonWriter *writer, const char *key, const char *json); /* ready-made JSON */
/* A value that was read, in canonical form; null where it is absent. */
void json_write_value(JsonWriter *writer, const char *key, const JsonReader *value);

/* The shortest decimal that reads back as the same float or double; `out` has at least 32 bytes.
 * Returns the length. Doubles follow ECMAScript's number form, as RFC 8785 asks. */
int json_format_float(float value, char *out);
int json_format_double(double value, char *out);

/* The document in RFC 8785 canonical form (keys sorted by UTF-16 code units, no spaces). */
void json_write_canonical(const JsonDocument *document, Text *out);
