#include "sim/rig.h"

#include <stdarg.h>
#include <stdio.h>

enum { DETAIL_SIZE = 512 };

Warnings warnings_open(Arena *arena, int capacity)
{
    Warning *warning = arena_array(arena, Warning, capacity);

    return (Warnings){.arena = arena, .warning = warning, .capacity = warning ? capacity : 0};
}

void warnings_add(Warnings *warnings, const char *code, const char *format, ...)
{
    char detail[DETAIL_SIZE];
    va_list arguments;

    if (warnings->count == warnings->capacity) {
        warnings->dropped++;
        return;
    }
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);

    // a full arena is no fault of what is warned about: the warning is dropped and counted
    bool had_overflowed = warnings->arena->overflowed;
    char *copy = arena_format(warnings->arena, "%s", detail);
    warnings->arena->overflowed = had_overflowed;
    if (!copy) {
        warnings->dropped++;
        return;
    }
    warnings->warning[warnings->count++] = (Warning){.code = code, .detail = copy};
}
