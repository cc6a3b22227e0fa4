#include "support/check.h"

#include <string.h>

TEST(arena, gives_zeroed_memory_after_a_rewind_too)
{
    Arena arena = test_arena(4096);
    size_t mark = arena_mark(&arena);
    char *memory = arena_array(&arena, char, 100);

    memset(memory, 7, 100);
    arena_rewind(&arena, mark);
    memory = arena_array(&arena, char, 200);
    for (int i = 0; i < 200; i++)
        CHECK_INT(memory[i], ==, 0);
    arena_destroy(&arena);
}

TEST(arena, refuses_what_does_not_fit)
{
    Arena arena = test_arena(4096);

    CHECK(arena_array(&arena, double, 512) != NULL);
    CHECK(!arena.overflowed);
    CHECK(arena_array(&arena, char, 1) == NULL);
    CHECK(arena.overflowed);
    arena_destroy(&arena);
}

TEST(arena, refuses_counts_whose_size_overflows)
{
    Arena arena = test_arena(4096);

    CHECK(arena_alloc(&arena, SIZE_MAX / 2, 16, 8) == NULL);
    CHECK(arena.overflowed);
    arena_destroy(&arena);
}

TEST(error, keeps_whole_characters_when_it_cuts)
{
    Error err = {0};
    char name[600];

    memset(name, 'a', sizeof name);
    for (int i = 509; i + 1 < 600; i += 2)
        memcpy(name + i, "\xc3\xa4", 2);
    name[599] = '\0';
    error_set(&err, STATUS_INVALID, "%s", name);
    CHECK_INT(strlen(err.message), ==, 509);
    error_context(&err, "mesh \"%s\"", "b\nc");
    CHECK_TEXT(err.message, "mesh \"b?c\": aaa");
}
