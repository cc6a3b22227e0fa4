/* Edits of a JSON text in place: what is not named keeps its characters.
 *
 * The text must have passed json_open, so that walking it cannot fail. Spans are byte ranges of it.
 * Edits are collected in any order, must not overlap, and are applied in one pass. One thread.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/text.h"

#include <stdbool.h>

typedef struct JsonSpan {
    size_t begin, end;
} JsonSpan;

typedef struct JsonMember {
    JsonSpan key; /* with its quotes */
    JsonSpan value;
} JsonMember;

/* The value of the whole text. */
JsonSpan json_span_root(Bytes json);
/* The member of the object at `object`; false where it has none of that name. Keys with escapes are
 * not recognised. */
bool json_span_member(Bytes json, JsonSpan object, const char *key, JsonMember *out);
/* Items of the array at `array`: start with *item = {0}; false at the end. */
bool json_span_next(Bytes json, JsonSpan array, JsonSpan *item);

typedef struct JsonEdit {
    JsonSpan span;
    const char *text; /* what stands there instead; lives until the edits are applied */
} JsonEdit;

typedef struct JsonEdits {
    Bytes json;
    JsonEdit *edit;
    int count, capacity;
    bool overflowed;
} JsonEdits;

/* Room for `capacity` edits; without memory the first edit overflows. */
JsonEdits json_edits(Bytes json, Arena *arena, int capacity);
void json_edit_replace(JsonEdits *edits, JsonSpan span, const char *text);
/* Takes a member away, and one comma with it. */
void json_edit_remove(JsonEdits *edits, const JsonMember *member);
/* Items (without brackets) before or behind the array's own, or a new member of the root where it
 * has no such array. */
typedef enum JsonPlace { JSON_FIRST, JSON_LAST } JsonPlace;
void json_edit_add_items(JsonEdits *edits, const char *key, JsonPlace place, const char *items,
                         Arena *arena);
/* The edited text behind what `out` holds. */
void json_edits_apply(JsonEdits *edits, Text *out);
