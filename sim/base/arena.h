/* Arena: memory that is given out piece by piece and taken back all at once.
 *
 * One arena belongs to one job, one asset or one request; whoever created it destroys it, and
 * nothing inside is freed on its own. Memory comes back zeroed. An arena never grows past the
 * capacity it was created with, which is how memory limits are enforced; pages that were never
 * touched cost nothing, so a generous capacity is free. Used by one thread at a time.
 */
#pragma once

#include "base/error.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Arena {
    char *base;
    size_t used;
    size_t dirty; /* bytes from the start that may not be zero any more */
    size_t capacity;
    bool overflowed; /* an allocation has failed since the arena was created */
} Arena;

NODISCARD Status arena_create(Arena *arena, size_t capacity, Error *err);
void arena_destroy(Arena *arena);

/* Zeroed memory for `count` elements, or NULL when they do not fit; then `overflowed` is set too,
 * so a builder may ask for all its arrays first and check once. A count of 0 gives a valid pointer
 * that must not be read. */
void *arena_alloc(Arena *arena, size_t count, size_t size, size_t alignment);
#define arena_array(arena, type, count)                                                            \
    ((type *)arena_alloc((arena), (size_t)(count), sizeof(type), alignof(type)))

/* The same without the zeroes, for scratch that is written before it is read. */
void *arena_alloc_dirty(Arena *arena, size_t count, size_t size, size_t alignment);
#define arena_scratch(arena, type, count)                                                          \
    ((type *)arena_alloc_dirty((arena), (size_t)(count), sizeof(type), alignof(type)))

/* A copy of `size` bytes with a zero behind them, or NULL. */
char *arena_text(Arena *arena, const void *bytes, size_t size);

/* printf into the arena; NULL when it does not fit. */
char *arena_format(Arena *arena, const char *format, ...) PRINTF_LIKE(2, 3);

/* Remember the fill level; go back to it later, dropping everything allocated since. */
size_t arena_mark(const Arena *arena);
void arena_rewind(Arena *arena, size_t mark);
