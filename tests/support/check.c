#include "support/check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_TESTS = 512 };

static TestCase *first;
static int seed; /* of the law case that runs, 0: none */

void test_register(TestCase *test)
{
    TestCase **place = &first;

    while (*place)
        place = &(*place)->next;
    *place = test;
}

static _Noreturn void fail_here(const char *file, int line)
{
    if (seed)
        print_error("seed %d\n", seed);
    _fail(file, line);
    abort();
}

void check_true(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    print_error("%s does not hold\n", what);
    fail_here(file, line);
}

static bool relation_holds(long long actual, const char *relation, long long expected)
{
    bool or_equal = relation[1] == '=' && actual == expected;

    switch (relation[0]) {
    case '<':
        return or_equal || actual < expected;
    case '>':
        return or_equal || actual > expected;
    case '!':
        return actual != expected;
    default:
        return actual == expected;
    }
}

void check_int(long long actual, const char *relation, long long expected, const char *what,
               const char *file, int line)
{
    if (relation_holds(actual, relation, expected))
        return;
    print_error("%s: got %lld, expected %s %lld\n", what, actual, relation, expected);
    fail_here(file, line);
}

void check_near(double actual, double expected, double tolerance, const char *what,
                const char *file, int line)
{
    if (fabs(actual - expected) <= tolerance)
        return;
    print_error("%s: expected %.9g within %g, got %.9g, off by %.3g\n", what, expected, tolerance,
                actual, fabs(actual - expected));
    fail_here(file, line);
}

void check_vec3(Vec3 actual, DVec3 expected, double tolerance, const char *what, const char *file,
                int line)
{
    check_near((double)actual.x, expected.x, tolerance, what, file, line);
    check_near((double)actual.y, expected.y, tolerance, what, file, line);
    check_near((double)actual.z, expected.z, tolerance, what, file, line);
}

void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line)
{
    if (actual && strstr(actual, expected))
        return;
    print_error("%s: expected text with \"%s\", got \"%s\"\n", what, expected,
                actual ? actual : "(null)");
    fail_here(file, line);
}

void check_equal_text(const char *actual, const char *expected, const char *what, const char *file,
                      int line)
{
    if (actual && strcmp(actual, expected) == 0)
        return;
    print_error("%s: expected \"%s\", got \"%s\"\n", what, expected, actual ? actual : "(null)");
    fail_here(file, line);
}

void check_ok(const Error *err, const char *file, int line)
{
    if (!err->status)
        return;
    print_error("%s: %s\n", status_name(err->status), err->message);
    fail_here(file, line);
}

void test_skip(const char *format, ...)
{
    char reason[256];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    print_message("skipped: %s\n", reason);
    skip();
    abort();
}

int test_law_cases(void)
{
    const char *text = getenv("BAKEHOUSE_LAW_CASES");
    int count = text ? atoi(text) : 0;

    return count > 0 ? count : 100;
}

Random test_case_random(int index)
{
    seed = index + 1;
    return (Random){(uint64_t)seed};
}

Arena test_arena(size_t capacity)
{
    Arena arena;
    Error err = {0};

    if (arena_create(&arena, capacity, &err))
        check_ok(&err, __FILE__, __LINE__);
    return arena;
}

Bytes test_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;

    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    uint8_t *data = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (!data || fseek(file, 0, SEEK_SET) != 0 ||
        fread(data, 1, (size_t)size, file) != (size_t)size) {
        print_error("cannot read \"%s\"\n", path);
        fail_here(__FILE__, __LINE__);
    }
    (void)fclose(file);
    return (Bytes){data, (size_t)size};
}

void test_close_file(Bytes bytes)
{
    // Bytes are views, this one owns its memory
    free((void *)(uintptr_t)bytes.data);
}

const char *test_data_path(const char *name)
{
    static char path[1024];
    const char *folder = getenv("BAKEHOUSE_TEST_DATA");

    if (!folder)
        test_skip("%s: BAKEHOUSE_TEST_DATA is not set", name);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) != 0)
        test_skip("%s is not there", path);
    return path;
}

static void run_case(void **state)
{
    const TestCase *test = *state;

    seed = 0;
    test->run();
}

/* All tests, or with an argument those whose name contains it. */
/* Weak: a benchmark has a main of its own. */
__attribute__((weak)) int main(int argc, char **argv)
{
    static struct CMUnitTest test[MAX_TESTS];
    size_t count = 0;

    for (TestCase *each = first; each && count < MAX_TESTS; each = each->next)
        if (argc < 2 || strstr(each->name, argv[1]))
            test[count++] = (struct CMUnitTest){each->name, run_case, NULL, NULL, each};
    return _cmocka_run_group_tests(argv[0], test, count, NULL, NULL);
}
