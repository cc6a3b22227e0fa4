#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

Status arena_create(Arena *arena, size_t capacity, Error *err)
{
    *arena = (Arena){0};
    if (capacity == 0)
        return error_set(err, STATUS_INVALID, "an arena needs a capacity");
    // pages come zeroed from the system and are only counted once they are touched
    void *base = mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
        return error_set(err, STATUS_NO_MEMORY, "could not reserve %zu bytes", capacity);
    arena->base = base;
    arena->capacity = capacity;
    return STATUS_OK;
}

void arena_destroy(Arena *arena)
{
    if (arena->base)
        (void)munmap(arena->base, arena->capacity);
    *arena = (Arena){0};
}

void *arena_alloc_dirty(Arena *arena, size_t count, size_t size, size_t alignment)
{
    size_t start = (arena->used + alignment - 1) & ~(alignment - 1);

    if (start > arena->capacity || (size && count > (arena->capacity - start) / size)) {
        arena->overflowed = true;
        return NULL;
    }
    arena->used = start + count * size;
    if (arena->used > arena->dirty)
        arena->dirty = arena->used;
    return arena->base + start;
}

void *arena_alloc(Arena *arena, size_t count, size_t size, size_t alignment)
{
    size_t dirty = arena->dirty;
    char *memory = arena_alloc_dirty(arena, count, size, alignment);

    if (!memory)
        return NULL;
    // only what an earlier, rewound allocation may have written needs clearing
    size_t start = (size_t)(memory - arena->base);
    if (start < dirty)
        memset(memory, 0, (arena->used < dirty ? arena->used : dirty) - start);
    return memory;
}

char *arena_text(Arena *arena, const void *bytes, size_t size)
{
    if (size == SIZE_MAX) {
        arena->overflowed = true;
        return NULL;
    }
    char *text = arena_alloc_dirty(arena, size + 1, 1, 1);
    if (!text)
        return NULL;
    if (size)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

char *arena_format(Arena *arena, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return NULL;
    char *text = arena_alloc_dirty(arena, (size_t)length + 1, 1, 1);
    if (!text)
        return NULL;
    va_start(arguments, format);
    (void)vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

size_t arena_mark(const Arena *arena)
{
    return arena->used;
}

void arena_rewind(Arena *arena, size_t mark)
{
    arena->used = mark;
}
