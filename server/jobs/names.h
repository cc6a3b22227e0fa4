/* Names: the keys of one kind of thing in a model (nodes, springs ...), sorted for looking up.
 *
 * A job may name thousands of things; each is found in logarithmic time. Lives in an arena, borrows
 * the keys, never changes: any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/json.h"

typedef struct Names {
    const char *kind;       /* "node", for messages: "there is no node \"x\"" */
    int count;              /* things */
    const char *const *key; /* by index (count) */
    const int *sorted;      /* indices in the order of their keys (count) */
} Names;

/* `key` is borrowed. Without room the arena is marked as overflowed and the names are empty. */
Names names_build(const char *kind, const char *const *key, int count, Arena *arena);

/* The index, -1 when there is none. */
int names_find(const Names *names, const char *key);

/* The key that was probably meant, NULL when none is near. */
const char *names_nearest(const Names *names, const char *key);

/* What a JSON value says: a key, or an index. A fault, and -1, when it is neither. */
int names_decode(const Names *names, const JsonReader *value);

/* The same for a member's key of an object; digits that are no key are an index. */
int names_decode_key(const Names *names, const JsonReader *member);
