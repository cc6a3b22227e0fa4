#include "base/json.h"
#include "support/check.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Fixture {
    Arena arena;
    Faults faults;
    JsonDocument document;
    JsonReader root;
    Error err;
} Fixture;

static Bytes bytes_of(const char *text)
{
    return (Bytes){(const uint8_t *)text, strlen(text)};
}

static void open_text(Fixture *f, const char *text)
{
    *f = (Fixture){.arena = test_arena(1 << 16)};
    f->faults = faults_open(&f->arena, 16);
    if (json_open(bytes_of(text), 16, &f->document, &f->err))
        CHECK_OK(&f->err);
    f->root = json_root(&f->document, &f->faults);
}

static void close_text(Fixture *f)
{
    json_close(&f->document);
    arena_destroy(&f->arena);
}

static void check_refused_bytes(Bytes text, const char *message)
{
    JsonDocument document = {0};
    Error err = {0};

    CHECK_INT(json_open(text, 16, &document, &err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(err.message, message);
    CHECK(document.root == NULL);
}

static void check_refused(const char *text, const char *message)
{
    check_refused_bytes(bytes_of(text), message);
}

static void check_accepted(const char *text)
{
    Fixture f;

    open_text(&f, text);
    close_text(&f);
}

static void check_fault(const Fixture *f, int index, const char *pointer, const char *detail)
{
    CHECK_INT(index, <, f->faults.count);
    CHECK_EQUAL_TEXT(f->faults.fault[index].pointer, pointer);
    CHECK_EQUAL_TEXT(f->faults.fault[index].detail, detail);
}

TEST(json, accepts_what_rfc_8259_allows)
{
    check_accepted(" null ");
    check_accepted("\r\n\t[ ]\n");
    check_accepted("[1,-0,0.5,-1.25e-3,1E+2,1e300,0e999,1e-999]");
    check_accepted("{\"\":{},\"a\":[true,false,null,\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\"]}");
    check_accepted("\"\xf0\x9f\x98\x80 \\ud83d\\ude00 \x7f\"");
    check_accepted("{\"a\":1,\"A\":2,\"b\":{\"a\":3}}");
}

TEST(json, names_words_that_are_not_json)
{
    check_refused("{\"a\": NaN}", "line 1, column 7: NaN is not JSON");
    check_refused("[-Infinity]", "line 1, column 2: -Infinity is not JSON");
    check_refused("[nan]", "line 1, column 2: nan is not JSON");
    check_refused("[nullx]", "line 1, column 2: nullx is not JSON");
    check_refused("True", "line 1, column 1: True is not JSON");
    check_refused("[tru", "line 1, column 2: tru is not JSON");
}

TEST(json, refuses_numbers_in_other_forms)
{
    check_refused("[012]", "line 1, column 2: 012 is not JSON");
    check_refused("[1.]", "line 1, column 2: 1. is not JSON");
    check_refused("[.5]", "line 1, column 2: .5 is not JSON");
    check_refused("[+1]", "line 1, column 2: +1 is not JSON");
    check_refused("[-]", "line 1, column 2: - is not JSON");
    check_refused("[1e]", "line 1, column 2: 1e is not JSON");
    check_refused("[0x10]", "line 1, column 2: 0x10 is not JSON");
    check_refused("[1e999]", "line 1, column 2: the number 1e999 is too large");
    check_refused("[-1e309]", "line 1, column 2: the number -1e309 is too large");
}

TEST(json, refuses_numbers_longer_than_cjson_reads)
{
    char text[80];

    (void)snprintf(text, sizeof text, "[0.%061d]", 7);
    check_accepted(text);
    (void)snprintf(text, sizeof text, "[0.%062d]", 7);
    check_refused(text, "line 1, column 2: a number of 64 characters, at most 63 are read");
}

TEST(json, tells_where_and_what_was_expected)
{
    check_refused("", "the text is empty");
    check_refused(" ", "line 1, column 2: the text ends where a value should stand");
    check_refused("{\n \"a\" 1}", "line 2, column 6: \"1\" stands where a colon should stand");
    check_refused("[1,\n2,\n]", "line 3, column 1: \"]\" stands where a value should stand");
    check_refused("{\"a\":1,}",
                  "line 1, column 8: \"}\" stands where a key in quotes should stand");
    check_refused("[1 2]", "line 1, column 4: \"2\" stands where a comma or \"]\" should stand");
    check_refused("{\"a\":1]",
                  "line 1, column 7: \"]\" stands where a comma or \"}\" should stand");
    check_refused("[1", "line 1, column 3: the text ends where a comma or \"]\" should stand");
    check_refused("[\"\xc3\xa4\", \xc3\xb6]",
                  "line 1, column 7: \"\xc3\xb6\" stands where a value should stand");
    check_refused("['a']", "line 1, column 2: \"'\" stands where a value should stand");
    check_refused("\xef\xbb\xbf{}", "the text starts with a byte order mark, which is not JSON");
}

TEST(json, takes_one_value_only)
{
    check_refused("{} {}", "line 1, column 4: \"{\" stands where the end should stand");
    check_refused("1,", "line 1, column 2: \",\" stands where the end should stand");
    check_refused_bytes((Bytes){(const uint8_t *)"{}\0", 3},
                        "line 1, column 3: byte 0x00 stands where the end should stand");
}

TEST(json, refuses_broken_text)
{
    check_refused("[\"abc", "line 1, column 2: the text that starts here has no end");
    check_refused("[\"abc\\", "line 1, column 6: a backslash in text must be followed by one of "
                              "\"\\/bfnrtu");
    check_refused("\"\\x\"", "line 1, column 2: a backslash in text must be followed by one of "
                             "\"\\/bfnrtu");
    check_refused("\"\\u12g4\"",
                  "line 1, column 2: \\u must be followed by four hexadecimal digits");
    check_refused("\"\\u12", "line 1, column 2: \\u must be followed by four hexadecimal digits");
    check_refused(
        "\"a\nb\"",
        "line 1, column 3: the control character 0x0a in text must be written as \\u000a");
}

TEST(json, refuses_what_is_not_utf8)
{
    check_refused("\"\xff\"", "line 1, column 2: byte 0xff is not UTF-8");
    check_refused("\"\xc0\xaf\"", "line 1, column 2: byte 0xc0 is not UTF-8");
    check_refused("\"\xe0\x80\xaf\"", "line 1, column 2: byte 0xe0 is not UTF-8");
    check_refused("\"\xed\xa0\x80\"", "line 1, column 2: byte 0xed is not UTF-8");
    check_refused("\"\xf4\x90\x80\x80\"", "line 1, column 2: byte 0xf4 is not UTF-8");
    check_refused("\"a\xc3\"", "line 1, column 3: byte 0xc3 is not UTF-8");
}

TEST(json, refuses_zero_and_half_characters)
{
    check_refused("\"a\\u0000\"", "line 1, column 3: text cannot hold the character \\u0000");
    check_refused("\"\\ud83d\"", "line 1, column 2: \\ud83d is half a character");
    check_refused("\"\\ud83d\\u0041\"", "line 1, column 2: \\ud83d is half a character");
    check_refused("\"\\ude00\"", "line 1, column 2: \\ude00 is half a character");
    check_refused("\"\\ud83d", "line 1, column 2: \\ud83d is half a character");
}

TEST(json, refuses_keys_that_stand_twice)
{
    check_refused("{\"a\":1,\n\"b\":2,\"a\":3}",
                  "line 2, column 7: the key \"a\" stands twice in one object");
    check_refused("{\"a\":1,\"\\u0061\":3}",
                  "line 1, column 8: the key \"\\u0061\" stands twice in one object");
    check_refused("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":3}",
                  "line 1, column 19: the key \"\xf0\x9f\x98\x80\" stands twice in one object");
    check_refused("[{\"x\":{\"\\n\":1,\"\\u000a\":2}}]",
                  "line 1, column 15: the key \"\\u000a\" stands twice in one object");
    check_accepted("{\"ab\":1,\"a\":2,\"\":3,\"abc\":4,\"a\\u0062d\":5}");
}

TEST(json, refuses_what_is_nested_too_deep)
{
    char text[64] = "";

    memset(text, '[', 16);
    memset(text + 16, ']', 16);
    check_accepted(text);
    memset(text, '[', 17);
    memset(text + 17, ']', 17);
    check_refused(text, "line 1, column 17: nested deeper than the limit of 16");
}

/* The text of an object with keys k0 .. k(count - 1), and one more at the end. */
static Text many_keys(int count, const char *last, Error *err)
{
    Text text = text_open(1 << 26, err);

    text_add(&text, "{");
    for (int i = 0; i < count; i++)
        text_format(&text, "\"k%d\":%d,", i, i);
    text_format(&text, "\"%s\":-1}", last);
    CHECK_OK(err);
    return text;
}

TEST(json, finds_every_key_of_a_large_object_and_only_those)
{
    enum { COUNT = 200000 };
    Error err = {0};
    Text text = many_keys(COUNT, "last", &err);
    JsonDocument document;
    JsonReader item;
    Faults faults = {0};
    int seen = 0;

    // both the scan and the look-ups would take minutes if they were quadratic
    if (json_open(bytes_of(text_string(&text)), 4, &document, &err))
        CHECK_OK(&err);
    JsonReader root = json_root(&document, &faults);
    CHECK_INT(json_count(&root), ==, COUNT + 1);
    for (int i = 0; i < COUNT; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "k%d", i);
        if (json_int(&root, key, 0, COUNT) != i)
            CHECK_INT(json_int(&root, key, 0, COUNT), ==, i);
    }
    CHECK_INT(json_int(&root, "last", -1, COUNT), ==, -1);
    item = json_member(&root, "K1");
    CHECK(json_is_absent(&item));
    // the walk keeps the order of the text
    for (bool more = json_first(&root, &item); more && seen < COUNT; more = json_next(&item))
        if (json_as_int(&item, -1, COUNT) != seen++)
            CHECK_INT(json_as_int(&item, -1, COUNT), ==, seen - 1);
    CHECK_INT(seen, ==, COUNT);
    CHECK_INT(faults.count, ==, 0);
    json_close(&document);
    text_close(&text);

    text = many_keys(COUNT, "k777", &err);
    CHECK_INT(json_open(bytes_of(text_string(&text)), 4, &document, &err), ==, STATUS_INVALID);
    CHECK_TEXT(err.message, "the key \"k777\" stands twice in one object");
    text_close(&text);
}

TEST(json, reads_members_of_every_kind)
{
    static const char *const kind[] = {"flesh", "cloth"};
    Fixture f;
    float gravity[3];

    open_text(&f, "{\"n\":1.5,\"i\":2e1,\"b\":true,\"t\":\"a\\u00e4\",\"k\":\"cloth\","
                  "\"g\":[0,-9.81,1e-50],\"z\":null}");
    CHECK_NEAR(json_number(&f.root, "n", 0, 2), 1.5, 0);
    CHECK_INT(json_int(&f.root, "i", 0, 20), ==, 20);
    CHECK(json_bool_or(&f.root, "b", false));
    CHECK_EQUAL_TEXT(json_text(&f.root, "t", 3), "a\xc3\xa4");
    CHECK_INT(json_choice_or(&f.root, "k", kind, 2, 0), ==, 1);
    CHECK(json_floats(&f.root, "g", 3, gravity));
    CHECK_NEAR(gravity[1], -9.81f, 0);
    CHECK_INT(f.faults.count, ==, 0);
    close_text(&f);
}

TEST(json, gives_defaults_for_what_is_absent_or_null)
{
    static const char *const kind[] = {"flesh", "cloth"};
    Fixture f;
    float gravity[3] = {7, 8, 9};

    open_text(&f, "{\"N\":1,\"z\":null}");
    CHECK_NEAR(json_number_or(&f.root, "n", 5, 0, 2), 5, 0);
    CHECK_NEAR(json_number_or(&f.root, "z", 6, 0, 2), 6, 0);
    CHECK_INT(json_int_or(&f.root, "z", 7, 0, 2), ==, 7);
    CHECK(json_bool_or(&f.root, "z", true));
    CHECK_EQUAL_TEXT(json_text_or(&f.root, "z", "d", 1), "d");
    CHECK_INT(json_choice_or(&f.root, "z", kind, 2, 1), ==, 1);
    CHECK(!json_floats(&f.root, "z", 3, gravity));
    CHECK_NEAR(gravity[0], 7, 0);
    CHECK_INT(f.faults.count, ==, 0);
    close_text(&f);
}

TEST(json, blames_by_pointer_and_names_the_rule)
{
    static const char *const kind[] = {"flesh", "cloth", "chains"};
    Fixture f;
    float gravity[3] = {7, 8, 9};

    open_text(&f, "{\"a/b~\":[{\"damping\":181},{\"damping\":\"x\",\"k\":\"rope\",\"g\":[1,2],"
                  "\"i\":1.5,\"h\":[1,2,1e39],\"t\":\"four\"}]}");
    JsonReader list = json_member(&f.root, "a/b~");
    JsonReader item;
    CHECK(json_first(&list, &item));
    CHECK_NEAR(json_number_or(&item, "damping", 12, 0, 180), 12, 0);
    check_fault(&f, 0, "/a~1b~0/0/damping", "must be a number from 0 to 180, not 181");
    CHECK(json_next(&item));
    CHECK_NEAR(json_number(&item, "damping", 3, 180), 3, 0);
    check_fault(&f, 1, "/a~1b~0/1/damping", "must be a number from 3 to 180, not text");
    CHECK_INT(json_choice_or(&item, "k", kind, 3, 2), ==, 2);
    check_fault(&f, 2, "/a~1b~0/1/k", "must be \"flesh\", \"cloth\" or \"chains\", not \"rope\"");
    CHECK(!json_floats(&item, "g", 3, gravity));
    check_fault(&f, 3, "/a~1b~0/1/g", "must be an array of 3 numbers");
    CHECK(!json_floats(&item, "h", 3, gravity));
    check_fault(&f, 4, "/a~1b~0/1/h", "must be an array of 3 numbers");
    CHECK_NEAR(gravity[0], 7, 0);
    CHECK_INT(json_int_or(&item, "i", 4, 0, INT_MAX), ==, 4);
    check_fault(&f, 5, "/a~1b~0/1/i", "must be a whole number of at least 0, not 1.5");
    CHECK_EQUAL_TEXT(json_text_or(&item, "t", "d", 3), "d");
    check_fault(&f, 6, "/a~1b~0/1/t", "must be text of at most 3 bytes, not 4");
    CHECK_NEAR(json_number(&item, "m", 0, DBL_MAX), 0, 0);
    check_fault(&f, 7, "/a~1b~0/1/m", "is missing, must be a number of at least 0");
    CHECK(!json_next(&item));
    CHECK_INT(faults_status(&f.faults, &f.err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(f.err.message,
                     "/a~1b~0/0/damping must be a number from 0 to 180, not 181 (and 7 more)");
    close_text(&f);
}

TEST(json, keeps_as_many_faults_as_asked_for_and_counts_the_rest)
{
    Fixture f;

    open_text(&f, "{\"a\":1}");
    f.faults = faults_open(&f.arena, 1);
    for (int i = 0; i < 3; i++)
        (void)json_text(&f.root, "a", 10);
    CHECK_INT(f.faults.count, ==, 3);
    CHECK_INT(faults_status(&f.faults, &f.err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(f.err.message, "/a must be text, not 1 (and 2 more)");
    close_text(&f);
}

TEST(json, counts_faults_even_without_memory)
{
    Fixture f;
    Arena none = {0};

    open_text(&f, "[1]");
    f.faults = faults_open(&none, 4);
    (void)json_number(&f.root, "a", 0, 1);
    CHECK_INT(faults_status(&f.faults, &f.err), ==, STATUS_INVALID);
    CHECK_EQUAL_TEXT(f.err.message, "1 faults, and no memory left to name them");
    close_text(&f);
}

TEST(json, refuses_unknown_keys_and_suggests_near_ones)
{
    static const char *const known[] = {"stiffness", "damping", "fps", NULL};
    Fixture f;

    open_text(&f, "{\"stifness\":1,\"fps\":2,\"Damping\":3,\"zebra\":4,\"o\":[]}");
    json_refuse_unknown(&f.root, known);
    CHECK_INT(f.faults.count, ==, 4);
    check_fault(&f, 0, "/stifness", "is not a known field, did you mean \"stiffness\"?");
    check_fault(&f, 1, "/Damping", "is not a known field, did you mean \"damping\"?");
    check_fault(&f, 2, "/zebra", "is not a known field");
    JsonReader list = json_member(&f.root, "o");
    json_refuse_unknown(&list, known);
    check_fault(&f, 4, "/o", "must be an object, not an array");
    close_text(&f);
}

TEST(json, cuts_long_pointers_in_front_of_a_character)
{
    Fixture f;
    char pointer[8];

    open_text(&f, "{\"ab\xc3\xa4\xc3\xb6\":1}");
    JsonReader member = json_member(&f.root, "ab\xc3\xa4\xc3\xb6");
    json_pointer(&member, pointer, 8);
    CHECK_EQUAL_TEXT(pointer, "/ab\xc3\xa4\xc3\xb6");
    json_pointer(&member, pointer, 7);
    CHECK_EQUAL_TEXT(pointer, "/ab\xc3\xa4");
    json_pointer(&member, pointer, 5);
    CHECK_EQUAL_TEXT(pointer, "/ab");
    json_pointer(&f.root, pointer, 8);
    CHECK_EQUAL_TEXT(pointer, "");
    close_text(&f);
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The vectors of RFC 8785, appendix B, and 2^-44, whose nearest 16 digits do not read back but the
 * next larger ones do. */
TEST(json, writes_doubles_as_ecmascript_does)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } vector[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "295147905179352830000"},
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "999999999999999700000"},
        {0x444b1ae4d6e2ef4f, "999999999999999900000"},
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
        {0x3d30000000000000, "5.684341886080802e-14"},
        {0x7ff0000000000000, "null"},
        {0x7ff8000000000000, "null"},
    };

    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++) {
        char text[32];
        int length = json_format_double(double_of(vector[i].bits), text);
        CHECK_EQUAL_TEXT(text, vector[i].text);
        CHECK_INT(length, ==, (int)strlen(text));
    }
}

TEST(json, writes_floats_in_the_shortest_form)
{
    static const struct {
        float value;
        const char *text;
    } vector[] = {
        {0.0f, "0"},
        {-0.0f, "-0"},
        {0.1f, "0.1"},
        {-9.81f, "-9.81"},
        {1.0f / 3, "0.33333334"},
        {16777216.0f, "16777216"},
        {0x1p-149f, "1e-45"},
        {FLT_MIN, "1.1754944e-38"},
        {FLT_MAX, "3.4028235e+38"},
        {0.001f, "0.001"},
        {0.0009765625f, "0.0009765625"},
        {100.0f, "100"},
        {1e-7f, "1e-7"},
        {123456792.0f, "123456790"},
        {0.015625f, "0.015625"},
    };

    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++) {
        char text[32];
        int length = json_format_float(vector[i].value, text);
        CHECK_EQUAL_TEXT(text, vector[i].text);
        CHECK_INT(length, ==, (int)strlen(text));
    }
}

static int digits_of(const char *text)
{
    int count = 0;
    int zeroes = 0;

    for (; *text && *text != 'e'; text++) {
        if (*text == '0') {
            zeroes += count > 0;
        } else if (*text >= '1' && *text <= '9') {
            count += zeroes + 1;
            zeroes = 0;
        }
    }
    return count;
}

/* Law: a float's text reads back as the same bits, and no %.Ng with fewer digits does. */
TEST(json, floats_read_back_equal_and_no_shorter_form_does)
{
    for (int i = 0; i < test_law_cases() * 20; i++) {
        Random random = test_case_random(i);
        uint32_t bits = (uint32_t)random_u64(&random);
        float value;
        char text[32];
        char shorter[40];

        if (i % 2)
            bits = (bits & 0x807fffff) | (100 + bits % 50) << 23;
        if (i % 16 == 3)
            bits &= 0xff800000;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        json_format_float(value, text);
        float back = strtof(text, NULL);
        CHECK(back == value && signbit(back) == signbit(value));
        int digits = digits_of(text);
        if (digits > 1) {
            (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
            CHECK(strtof(shorter, NULL) != value);
        }
    }
}

/* Law: the same for doubles. */
TEST(json, doubles_read_back_equal_and_no_shorter_form_does)
{
    for (int i = 0; i < test_law_cases() * 20; i++) {
        Random random = test_case_random(i);
        double value = double_of(random_u64(&random));
        char text[32];
        char shorter[40];

        if (!isfinite(value))
            continue;
        if (i % 3 == 1)
            value = (double)(int64_t)random_u64(&random) / 1e9;
        json_format_double(value, text);
        CHECK(strtod(text, NULL) == value);
        int digits = digits_of(text);
        if (digits > 1) {
            (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
            CHECK(strtod(shorter, NULL) != value);
        }
    }
}

TEST(json, writes_compact_and_indented_text)
{
    static const float list[] = {1, 0.5f, NAN};

    for (int indent = 0; indent <= 2; indent += 2) {
        Error err = {0};
        Text text = text_open(4096, &err);
        JsonWriter writer = json_writer(&text, indent);

        json_begin_object(&writer, NULL);
        json_write_text(&writer, "a\"\\", "\x01\n\xc3\xa4\xff\x7f");
        json_begin_array(&writer, "b");
        json_write_int(&writer, NULL, INT64_MIN);
        json_write_bool(&writer, NULL, true);
        json_write_null(&writer, NULL);
        json_end_array(&writer);
        json_begin_object(&writer, "c");
        json_end_object(&writer);
        json_write_floats(&writer, "d", list, 3);
        json_write_double(&writer, "e", 1e21);
        json_write_float(&writer, "f", 0.1f);
        json_write_text(&writer, "g", NULL);
        json_write_raw(&writer, "h", "[{}]");
        json_end_object(&writer);
        CHECK_OK(&err);
        if (indent == 0)
            CHECK_EQUAL_TEXT(text_string(&text),
                             "{\"a\\\"\\\\\":\"\\u0001\\n\xc3\xa4\xef\xbf\xbd\x7f\","
                             "\"b\":[-9223372036854775808,true,null],\"c\":{},"
                             "\"d\":[1,0.5,null],\"e\":1e+21,\"f\":0.1,\"g\":null,\"h\":[{}]}");
        else
            CHECK_EQUAL_TEXT(text_string(&text),
                             "{\n  \"a\\\"\\\\\": \"\\u0001\\n\xc3\xa4\xef\xbf\xbd\x7f\",\n"
                             "  \"b\": [\n    -9223372036854775808,\n    true,\n    null\n  ],\n"
                             "  \"c\": {},\n  \"d\": [1,0.5,null],\n  \"e\": 1e+21,\n"
                             "  \"f\": 0.1,\n  \"g\": null,\n  \"h\": [{}]\n}");
        text_close(&text);
    }
}

TEST(json, writer_fails_cleanly_at_its_depth)
{
    Error err = {0};
    Text text = text_open(4096, &err);
    JsonWriter writer = json_writer(&text, 0);

    for (int i = 0; i < 100; i++)
        json_begin_array(&writer, NULL);
    CHECK_INT(err.status, ==, STATUS_LIMIT);
    CHECK_TEXT(err.message, "nested deeper than 63");
    for (int i = 0; i < 100; i++)
        json_end_array(&writer);
    text_close(&text);
}

/* The sorting example of RFC 8785, section 3.2.3, and its number and text forms. */
TEST(json, writes_the_canonical_form_of_rfc_8785)
{
    Fixture f;
    Text text;

    open_text(&f,
              "{ \"\\u20ac\": \"Euro Sign\", \"\\r\": \"Carriage Return\", \"\\ufb33\": \"Hebrew\","
              " \"1\": \"One\", \"\\ud83d\\ude00\": \"Emoji\", \"\\u0080\": \"Control\","
              " \"\\u00f6\": \"Latin\", \"12\": [ 1.0, -0, 1e30, 4.50, 2e-3, 333333333.33333329,"
              " true, null, {} ], \"\": \"\\u000f\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\" }");
    text = text_open(4096, &f.err);
    json_write_canonical(&f.document, &text);
    CHECK_OK(&f.err);
    CHECK_EQUAL_TEXT(
        text_string(&text),
        "{\"\":\"\\u000f\\nA'B\\\"\\\\\\\\\\\"/\",\"\\r\":\"Carriage Return\","
        "\"1\":\"One\",\"12\":[1,0,1e+30,4.5,0.002,333333333.3333333,true,null,{}],"
        "\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"Latin\",\"\xe2\x82\xac\":\"Euro Sign\","
        "\"\xf0\x9f\x98\x80\":\"Emoji\",\"\xef\xac\xb3\":\"Hebrew\"}");
    text_close(&text);
    close_text(&f);
}
