/* Keys: unique names within one kind of thing (nodes, meshes, clips ...).
 *
 *     keys_open(&keys, arena, count, "node", err)
 *     for each thing, in file order: key = keys_add(&keys, name)
 *
 * An empty name becomes the kind and the index ("node3"); a name used before gets "#2", "#3" and so
 * on, in the order of the calls. Linear in the names, whatever they are. Memory is the arena's.
 */
#pragma once

#include "base/arena.h"

typedef struct KeyEntry {
    const char *key; /* NULL: free */
    int next;        /* the number that the next thing of this name gets */
} KeyEntry;

typedef struct Keys {
    Arena *arena;
    const char *kind;
    int count; /* of keys given out */
    int slot_count;
    KeyEntry *slot;
} Keys;

NODISCARD Status keys_open(Keys *keys, Arena *arena, int capacity, const char *kind, Error *err);
/* The key of the next thing, in the arena; NULL where the arena is full. */
const char *keys_add(Keys *keys, const char *name);
