/* Fields: the table of everything a job may say, with type, range and default.
 *
 * The decoder reads members through it, the template is printed from it, and a test walks it
 * against schema/job.schema.json, so that the three cannot differ. Constant data; the readers keep
 * faults as base/json.h says.
 */
#pragma once

#include "base/json.h"

typedef enum FieldKind {
    FIELD_NUMBER,
    FIELD_INTEGER,
    FIELD_BOOL,
    FIELD_TEXT,   /* at most `max` bytes */
    FIELD_CHOICE, /* one of `choice` */
    FIELD_VECTOR, /* three numbers from min to max */
    FIELD_OBJECT, /* a table of its own, `table` */
    FIELD_LIST,   /* of at most `max` items; of `table` where there is one */
    FIELD_MAP,    /* names to values, at most `max`; of `table` where there is one */
    FIELD_UNION,  /* several forms, `note` says which */
    FIELD_FALSE,  /* only false in this version */
    FIELD_LATER   /* a word of the contract that this version refuses */
} FieldKind;

typedef struct FieldTable FieldTable;

typedef struct Field {
    const char *key;
    FieldKind kind;
    double min, max;
    double otherwise;          /* the default; NaN: `note` says */
    const char *const *choice; /* closed by NULL; otherwise is an index */
    const FieldTable *table;
    const char *note; /* unit and meaning, one line */
    bool is_required;
} Field;

struct FieldTable {
    const char *definition; /* name under $defs in the schema, "" for the root */
    const Field *field;     /* closed by a NULL key */
};

extern const FieldTable job_fields;
extern const FieldTable animation_fields;
extern const FieldTable retarget_fields;
extern const FieldTable time_fields;
extern const FieldTable forces_fields;
extern const FieldTable wind_fields;
extern const FieldTable output_fields;
extern const FieldTable measures_fields;
extern const FieldTable gate_fields;
extern const FieldTable notify_fields;
extern const FieldTable chains_fields;
extern const FieldTable override_fields;
extern const FieldTable define_fields;

/* The field of that key; it must be there. */
const Field *field_get(const FieldTable *table, const char *key);
int field_choice_count(const Field *field);

/* Faults for unknown members and for those of later versions. False when `object` is no object
 * (which is a fault too). */
bool field_check(const JsonReader *object, const FieldTable *table);

/* Members by the table's range and default. */
double field_number(const JsonReader *object, const FieldTable *table, const char *key);
int field_integer(const JsonReader *object, const FieldTable *table, const char *key);
bool field_bool(const JsonReader *object, const FieldTable *table, const char *key);
int field_choice(const JsonReader *object, const FieldTable *table, const char *key);
/* False, and `out` untouched, when absent or at fault. */
bool field_vector(const JsonReader *object, const FieldTable *table, const char *key, float out[3]);
/* A member that is an object or list: true when it is there and of that form; the wrong form and
 * too many items are faults. */
bool field_open(const JsonReader *object, const FieldTable *table, const char *key,
                JsonReader *out);
