/* Check: what tests share. TEST registers a test of a suite; the CHECKs print what they saw and
 * fail the test. Values are compared in double (cmocka's own float check passes on NaN).
 *
 *     TEST(arena, refuses_what_does_not_fit) { ... CHECK_INT(status, ==, STATUS_NO_MEMORY); }
 *
 * Each tests/unit/test_NAME.c is a program of its own whose main is in check.c.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "math/vec3.h"

#include <stdbool.h>

typedef struct TestCase {
    const char *name;
    void (*run)(void);
    struct TestCase *next;
} TestCase;

void test_register(TestCase *test);

#define TEST(suite, promise)                                                                       \
    static void suite##_##promise(void);                                                           \
    static TestCase suite##_##promise##_case = {#suite "." #promise, suite##_##promise, 0};        \
    __attribute__((constructor)) static void suite##_##promise##_register(void)                    \
    {                                                                                              \
        test_register(&suite##_##promise##_case);                                                  \
    }                                                                                              \
    static void suite##_##promise(void)

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
/* Whole numbers up to 64 bits, compared signed; each side is evaluated once. */
#define CHECK_INT(actual, relation, expected)                                                      \
    check_int((long long)(actual), #relation, (long long)(expected),                               \
              #actual " " #relation " " #expected, __FILE__, __LINE__)
#define CHECK_NEAR(actual, expected, tolerance)                                                    \
    check_near((double)(actual), (double)(expected), (double)(tolerance), #actual, __FILE__,       \
               __LINE__)
/* Each component within `tolerance`. */
#define CHECK_VEC3(actual, x, y, z, tolerance)                                                     \
    check_vec3((actual), (DVec3){(x), (y), (z)}, (tolerance), #actual, __FILE__, __LINE__)
/* `actual` contains `expected`. */
#define CHECK_TEXT(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_EQUAL_TEXT(actual, expected)                                                         \
    check_equal_text((actual), (expected), #actual, __FILE__, __LINE__)
/* err is empty; prints its message otherwise. */
#define CHECK_OK(err) check_ok((err), __FILE__, __LINE__)
#define SKIP(...)     test_skip(__VA_ARGS__)

void check_true(bool holds, const char *what, const char *file, int line);
void check_int(long long actual, const char *relation, long long expected, const char *what,
               const char *file, int line);
void check_near(double actual, double expected, double tolerance, const char *what,
                const char *file, int line);
void check_vec3(Vec3 actual, DVec3 expected, double tolerance, const char *what, const char *file,
                int line);
void check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line);
void check_equal_text(const char *actual, const char *expected, const char *what, const char *file,
                      int line);
void check_ok(const Error *err, const char *file, int line);
_Noreturn void test_skip(const char *format, ...) PRINTF_LIKE(1, 2);

/* Law tests: cases from seeds 1, 2, ... (100; BAKEHOUSE_LAW_CASES sets another number). A failing
 * check names the seed of its case. */
int test_law_cases(void);
Random test_case_random(int index);

/* An arena for the test; fails the test when there is no memory. */
Arena test_arena(size_t capacity);

/* A whole file; fails the test when it cannot be read. Freed with test_close_file. */
Bytes test_read_file(const char *path);
void test_close_file(Bytes bytes);
/* "FOLDER/name" of the shared test data (BAKEHOUSE_TEST_DATA); skips the test, by name, where the
 * data or the file is missing. The text lives until the next call. */
const char *test_data_path(const char *name);
