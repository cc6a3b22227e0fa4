#include "server/config.h"
#include "server/http/guard.h"
#include "server/http/problem.h"
#include "server/log.h"
#include "server/store/ids.h"
#include "support/check.h"

#include <string.h>

/* --- who may talk --- */

TEST(guard, answers_for_loopback_addresses_and_listed_names)
{
    Config config = {.public_hosts = {.count = 1, .item = {"bake.example"}}};
    static const char *const known[] = {"localhost",      "LOCALHOST:80",    "127.0.0.1",
                                        "127.0.0.1:8080", "[::1]:8080",      "10.0.0.7:1",
                                        "bake.example",   "Bake.Example:443"};
    static const char *const unknown[] = {"",
                                          ":80",
                                          "evil.example",
                                          "localhost.evil.example",
                                          "127.0.0.1.evil.example",
                                          "localhost:80x",
                                          "localhost:",
                                          "[::1",
                                          "bake.example.evil.example"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        CHECK(guard_knows_host(&config, known[i]));
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        CHECK(!guard_knows_host(&config, unknown[i]));
}

/* --- problems --- */

TEST(problem, has_a_code_for_every_status)
{
    static const int code[STATUS_COUNT] = {
        [STATUS_OK] = 200,       [STATUS_INVALID] = 422,   [STATUS_NOT_FOUND] = 404,
        [STATUS_CONFLICT] = 409, [STATUS_LIMIT] = 422,     [STATUS_NO_MEMORY] = 503,
        [STATUS_IO] = 503,       [STATUS_CANCELLED] = 503, [STATUS_DIVERGED] = 422,
        [STATUS_FULL] = 507};

    for (int status = 0; status < STATUS_COUNT; status++)
        CHECK_INT(problem_code(problem_of((Status)status)), ==, code[status]);
    CHECK(problem_retry_after(PROBLEM_BUSY) > 0);
    CHECK(problem_retry_after(PROBLEM_UNAVAILABLE) > 0);
    CHECK_INT(problem_retry_after(PROBLEM_INVALID), ==, 0);
}

TEST(problem, lists_faults_and_counts_those_left_out)
{
    Error err = {0};
    Arena arena = test_arena(1 << 16);
    Faults faults = faults_open(&arena, 2);
    Text text = text_open(4096, &err);

    faults_add(&faults, "/a", "must be \"b\"");
    faults_add(&faults, "", "is empty");
    faults_add(&faults, "/c", "is not a known field");
    problem_write(PROBLEM_INVALID, "/a must be \"b\"", &faults, &text);
    CHECK_OK(&err);
    CHECK_EQUAL_TEXT(text_string(&text),
                     "{\"type\":\"/problems/invalid\",\"title\":\"The content has faults\","
                     "\"status\":422,\"detail\":\"/a must be \\\"b\\\"\",\"errors\":["
                     "{\"pointer\":\"/a\",\"detail\":\"must be \\\"b\\\"\"},"
                     "{\"pointer\":\"\",\"detail\":\"is empty\"}],\"errors_left_out\":1}");
    text_close(&text);
    arena_destroy(&arena);
}

/* --- ids and moments --- */

TEST(ids, sort_by_time_and_never_repeat)
{
    enum { COUNT = 1000 };
    static char id[COUNT][STORE_ID_SIZE];
    Error err = {0};

    for (int i = 0; i < COUNT; i++) {
        CHECK_INT(id_create("j_", id[i], &err), ==, STATUS_OK);
        CHECK_INT(strlen(id[i]), ==, 28);
        CHECK(id_is_valid(id[i], "j_"));
        CHECK(i == 0 || strcmp(id[i], id[i - 1]) != 0);
        // the first ten digits are the time
        CHECK(i == 0 || strncmp(id[i - 1], id[i], 12) <= 0);
    }
}

TEST(ids, let_nothing_through_that_could_name_a_file)
{
    static const char *const bad[] = {"",
                                      "j",
                                      "j_",
                                      "m_1",
                                      "j_../a",
                                      "j_a/b",
                                      "j_a.",
                                      "j_A1",
                                      "j_ a",
                                      "j_a\n",
                                      "J_1",
                                      "j_\xc3\xa9",
                                      "j_1234567890123456789012345678901234567890"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!id_is_valid(bad[i], "j_"));
    CHECK(id_is_valid("j_0", "j_"));
}

TEST(ids, read_and_write_moments)
{
    Error err = {0};
    char text[TIME_TEXT_SIZE];
    int64_t ms = 0;

    // 2026-01-31 is day 20484 after 1970-01-01: 56 years, 14 leap days, 30 days
    CHECK_INT(time_parse("2026-01-31T10:15:02.114Z", &ms, &err), ==, STATUS_OK);
    CHECK_INT(ms, ==, 20484LL * 86400000 + 36902114);
    time_format(ms, text);
    CHECK_EQUAL_TEXT(text, "2026-01-31T10:15:02.114Z");
    CHECK_INT(time_parse("2026-01-31T11:15:02+01:00", &ms, &err), ==, STATUS_OK);
    CHECK_INT(ms, ==, 20484LL * 86400000 + 36902000);
    CHECK_INT(time_parse("1970-01-01T00:00:00.5Z", &ms, &err), ==, STATUS_OK);
    CHECK_INT(ms, ==, 500);
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-01-31",
                                      "2026-01-31T10:15:02",
                                      "x",
                                      "2026-01-31T10:15:02+1",
                                      "2026-01-31T10:15:02Zz"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_INT(time_parse(bad[i], &ms, &err), ==, STATUS_INVALID);
}

/* --- configuration --- */

static Status read_config(char *first, char *second, Config *out, Error *err)
{
    char name[] = "serve";
    char *argv[] = {name, first, second, NULL};

    return config_read(1 + (first != NULL) + (second != NULL), argv, out, err);
}

TEST(config, is_closed_unless_loopback)
{
    static char listen[] = "--listen";
    static const char *const far[] = {"0.0.0.0:1", "[::]:1", "10.1.2.3:80", "[2001:db8::1]:80"};
    static const char *const near[] = {"127.0.0.1:1", "127.9.9.9:1", "[::1]:80", "localhost:0"};
    Config config;

    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        char value[64];
        Error err = {0};

        (void)snprintf(value, sizeof value, "%s", far[i]);
        CHECK_INT(read_config(listen, value, &config, &err), ==, STATUS_INVALID);
        CHECK_TEXT(err.message, "--no-auth");
    }
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        char value[64];
        Error err = {0};

        (void)snprintf(value, sizeof value, "%s", near[i]);
        CHECK_INT(read_config(listen, value, &config, &err), ==, STATUS_OK);
        CHECK(config.is_loopback);
    }
}

TEST(log, gives_a_line_as_members_of_an_object)
{
    static const struct {
        const char *line, *members;
    } row[] = {
        {"", ""},
        {"job=j_1 frames=12", ",\"job\":\"j_1\",\"frames\":12"},
        {"ms=1.5 message=\"a \\\"b\\\" c\" code=-3",
         ",\"ms\":1.5,\"message\":\"a \\\"b\\\" c\",\"code\":-3"},
        {"version=0.1.0 zero=0 id=007 dash=- half=5.",
         ",\"version\":\"0.1.0\",\"zero\":0,\"id\":\"007\",\"dash\":\"-\",\"half\":\"5.\""},
    };
    char out[256];

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        (void)log_members(row[i].line, out, sizeof out);
        CHECK_EQUAL_TEXT(out, row[i].members);
    }
    // what does not fit is left out whole
    (void)log_members("one=1 two=22222222", out, 12);
    CHECK_EQUAL_TEXT(out, ",\"one\":1");
    CHECK_EQUAL_TEXT(log_quote("a\xff\n\xc3\xa9\x7f").text, "\"a??\xc3\xa9?\"");
}

TEST(config, opens_to_others_with_tokens)
{
    char name[] = "serve", listen[] = "--listen=0.0.0.0:1", tokens[] = "--token-file=tokens";
    char *argv[] = {name, listen, tokens, NULL};
    Config config;
    Error err = {0};

    CHECK_INT(config_read(3, argv, &config, &err), ==, STATUS_OK);
    CHECK(!config.is_loopback && !config.is_open);
    CHECK_EQUAL_TEXT(config.token_file, "tokens");
}

TEST(config, names_the_flag_at_fault)
{
    char *const given[][2] = {{(char[]){"--workers"}, (char[]){"257"}},
                              {(char[]){"--workers"}, (char[]){"2x"}},
                              {(char[]){"--workers"}, NULL},
                              {(char[]){"--odd"}, NULL}};
    static const char *const message[] = {"--workers must be a whole number from 0 to 256",
                                          "got \"2x\"", "--workers needs a value",
                                          "unknown option \"--odd\""};
    Config config;

    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++) {
        Error err = {0};

        CHECK_INT(read_config(given[i][0], given[i][1], &config, &err), ==, STATUS_INVALID);
        CHECK_TEXT(err.message, message[i]);
    }
}

TEST(log, quotes_values_on_one_line)
{
    CHECK_EQUAL_TEXT(log_quote("a \"b\"\\\nc").text, "\"a \\\"b\\\"\\\\?c\"");
    char longer[4000];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK(strlen(log_quote(longer).text) < sizeof(LogText));
}
