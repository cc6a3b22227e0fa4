#include "base/json_scan.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key as it stands in the text, between its quotes. */
typedef struct Key {
    const uint8_t *text;
    size_t size;
} Key;

typedef struct Scanner {
    const uint8_t *data;
    size_t size;
    size_t at;
    int depth;
    int max_depth;
    ByteWriter keys; /* Key[]: those of all open objects, the innermost last */
    Error *err;
} Scanner;

static void scan_value(Scanner *scanner);

/* Fail at a place: lines and columns count from 1, columns in characters. */
static PRINTF_LIKE(3, 4) void fail_at(Scanner *scanner, size_t at, const char *format, ...)
{
    char detail[256];
    size_t line = 1;
    size_t column = 1;
    va_list arguments;

    if (scanner->err->status)
        return;
    for (size_t i = 0; i < at; i++) {
        bool starts_character = (scanner->data[i] & 0xc0) != 0x80;
        line += scanner->data[i] == '\n';
        column = scanner->data[i] == '\n' ? 1 : column + starts_character;
    }
    va_start(arguments, format);
    (void)vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    error_set(scanner->err, STATUS_INVALID, "line %zu, column %zu: %s", line, column, detail);
}

static int peek(const Scanner *scanner)
{
    return scanner->at < scanner->size ? scanner->data[scanner->at] : -1;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '+' || c == '-' || c == '.';
}

static void skip_space(Scanner *scanner)
{
    int c = peek(scanner);

    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        scanner->at++;
        c = peek(scanner);
    }
}

/* The text ends, or something else stands here than `wanted`. */
static void fail_expected(Scanner *scanner, const char *wanted)
{
    size_t at = scanner->at;
    size_t length = utf8_length(scanner->data + at, scanner->size - at);

    if (at >= scanner->size)
        fail_at(scanner, at, "the text ends where %s should stand", wanted);
    else if (length == 0 || scanner->data[at] < 0x20 || scanner->data[at] == 0x7f)
        fail_at(scanner, at, "byte 0x%02x stands where %s should stand", scanner->data[at], wanted);
    else
        fail_at(scanner, at, "\"%.*s\" stands where %s should stand", (int)length,
                (const char *)scanner->data + at, wanted);
}

/* A word that is no value: NaN, Infinity, undefined, True, 012, 1. and their like. */
static void fail_word(Scanner *scanner, size_t start)
{
    size_t end = start;

    while (end < scanner->size && end - start < 40 && is_word(scanner->data[end]))
        end++;
    fail_at(scanner, start, "%.*s is not JSON", (int)(end - start),
            (const char *)scanner->data + start);
}

static void scan_word(Scanner *scanner, const char *word)
{
    size_t length = strlen(word);
    size_t start = scanner->at;

    if (scanner->size - start < length || memcmp(scanner->data + start, word, length) != 0) {
        fail_word(scanner, start);
        return;
    }
    scanner->at += length;
    if (is_word(peek(scanner)))
        fail_word(scanner, start);
}

static int scan_digits(Scanner *scanner)
{
    size_t start = scanner->at;

    while (is_digit(peek(scanner)))
        scanner->at++;
    return (int)(scanner->at - start);
}

/* Only a number with a large exponent can be beyond the range of a double. */
static void check_finite(Scanner *scanner, size_t start)
{
    char number[JSON_NUMBER_MAX_SIZE + 1];
    size_t length = scanner->at - start;

    memcpy(number, scanner->data + start, length);
    number[length] = '\0';
    double value = strtod(number, NULL);
    if (value - value != 0.0)
        fail_at(scanner, start, "the number %s is too large", number);
}

static void scan_number(Scanner *scanner)
{
    size_t start = scanner->at;
    bool is_valid = true;
    bool has_exponent = false;

    if (peek(scanner) == '-')
        scanner->at++;
    if (peek(scanner) == '0')
        scanner->at++;
    else
        is_valid = scan_digits(scanner) > 0;
    if (is_valid && peek(scanner) == '.') {
        scanner->at++;
        is_valid = scan_digits(scanner) > 0;
    }
    if (is_valid && (peek(scanner) == 'e' || peek(scanner) == 'E')) {
        has_exponent = true;
        scanner->at++;
        if (peek(scanner) == '+' || peek(scanner) == '-')
            scanner->at++;
        is_valid = scan_digits(scanner) > 0;
    }
    if (!is_valid || is_word(peek(scanner)))
        fail_word(scanner, start);
    else if (scanner->at - start > JSON_NUMBER_MAX_SIZE)
        fail_at(scanner, start, "a number of %zu characters, at most %d are read",
                scanner->at - start, JSON_NUMBER_MAX_SIZE);
    else if (has_exponent)
        check_finite(scanner, start);
}

/* Four hexadecimal digits, or -1. */
static int32_t read_hex(const uint8_t *text, size_t size)
{
    int32_t code = 0;

    if (size < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        uint8_t c = text[i];
        int digit = is_digit(c)              ? c - '0'
                    : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                    : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                             : -1;
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

static bool is_high_surrogate(int32_t code)
{
    return code >= 0xd800 && code <= 0xdbff;
}

static bool is_low_surrogate(int32_t code)
{
    return code >= 0xdc00 && code <= 0xdfff;
}

/* The second half of a pair that has to follow at `text`, or -1. */
static int32_t read_low_surrogate(const uint8_t *text, size_t size)
{
    int32_t low = size >= 6 && text[0] == '\\' && text[1] == 'u' ? read_hex(text + 2, 4) : -1;

    return is_low_surrogate(low) ? low : -1;
}

/* A backslash and what belongs to it. */
static void scan_escape(Scanner *scanner)
{
    size_t start = scanner->at++;
    int c = peek(scanner);

    scanner->at++;
    if (c > 0 && strchr("\"\\/bfnrt", c))
        return;
    if (c != 'u') {
        fail_at(scanner, start, "a backslash in text must be followed by one of \"\\/bfnrtu");
        return;
    }
    int32_t code = read_hex(scanner->data + scanner->at, scanner->size - scanner->at);
    scanner->at += 4;
    if (code < 0)
        fail_at(scanner, start, "\\u must be followed by four hexadecimal digits");
    else if (code == 0)
        fail_at(scanner, start, "text cannot hold the character \\u0000");
    else if (is_low_surrogate(code))
        fail_at(scanner, start, "\\u%04x is half a character", (unsigned)code);
    if (scanner->err->status || !is_high_surrogate(code))
        return;
    if (read_low_surrogate(scanner->data + scanner->at, scanner->size - scanner->at) < 0)
        fail_at(scanner, start, "\\u%04x is half a character", (unsigned)code);
    scanner->at += 6;
}

/* A string with its quotes; gives what stands between them. */
static Key scan_string(Scanner *scanner)
{
    size_t start = ++scanner->at;

    while (!scanner->err->status && peek(scanner) != '"') {
        int c = peek(scanner);
        size_t length = utf8_length(scanner->data + scanner->at, scanner->size - scanner->at);

        if (c < 0)
            fail_at(scanner, start - 1, "the text that starts here has no end");
        else if (length == 0)
            fail_at(scanner, scanner->at, "byte 0x%02x is not UTF-8", (unsigned)c);
        else if (c < 0x20)
            fail_at(scanner, scanner->at,
                    "the control character 0x%02x in text must be written as \\u%04x", (unsigned)c,
                    (unsigned)c);
        else if (c == '\\')
            scan_escape(scanner);
        else
            scanner->at += length;
    }
    if (scanner->err->status)
        return (Key){0};
    return (Key){scanner->data + start, scanner->at++ - start};
}

/* The code point that a checked key has at `at`, which is moved behind it. */
static uint32_t read_key_code(const Key *key, size_t *at)
{
    static const char letter[] = "bfnrt";
    static const char meaning[] = "\b\f\n\r\t";
    const uint8_t *text = key->text + *at;

    if (text[0] != '\\') {
        size_t length = utf8_length(text, key->size - *at);
        *at += length;
        return utf8_code(text, length);
    }
    if (text[1] != 'u') {
        const char *place = strchr(letter, text[1]);
        *at += 2;
        return place ? (uint32_t)meaning[place - letter] : text[1];
    }
    int32_t code = read_hex(text + 2, 4);
    *at += 6;
    if (is_high_surrogate(code)) {
        code = 0x10000 + (code - 0xd800) * 0x400 + (read_hex(text + 8, 4) - 0xdc00);
        *at += 6;
    }
    return (uint32_t)code;
}

/* Order by code points, so that "a" and "\u0061" are one key. */
static int compare_keys(const void *a_, const void *b_)
{
    const Key *a = a_;
    const Key *b = b_;
    size_t shorter = a->size < b->size ? a->size : b->size;
    size_t same = 0;
    size_t at_a;
    size_t at_b;

    while (same < shorter && a->text[same] == b->text[same] && a->text[same] != '\\')
        same++;
    // go back to the start of the character in which they differ
    while (same > 0 && same < shorter && (a->text[same] & 0xc0) == 0x80)
        same--;
    at_a = same;
    at_b = same;
    while (at_a < a->size && at_b < b->size) {
        uint32_t code_a = read_key_code(a, &at_a);
        uint32_t code_b = read_key_code(b, &at_b);

        if (code_a != code_b)
            return code_a < code_b ? -1 : 1;
    }
    return (at_a < a->size) - (at_b < b->size);
}

/* The keys from the `first` on belong to one object that ends here. */
static void refuse_duplicates(Scanner *scanner, size_t first)
{
    if (scanner->keys.size - first > sizeof(Key)) {
        Key *key = (Key *)(void *)(scanner->keys.data + first);
        size_t count = (scanner->keys.size - first) / sizeof(Key);

        qsort(key, count, sizeof *key, compare_keys);
        for (size_t i = 1; i < count; i++) {
            if (compare_keys(&key[i - 1], &key[i]) != 0)
                continue;
            const Key *later = key[i].text > key[i - 1].text ? &key[i] : &key[i - 1];
            size_t shown = later->size;
            while (shown > 80 || (shown < later->size && (later->text[shown] & 0xc0) == 0x80))
                shown--;
            fail_at(scanner, (size_t)(later->text - scanner->data) - 1,
                    "the key \"%.*s\" stands twice in one object", (int)shown,
                    (const char *)later->text);
            return;
        }
    }
    scanner->keys.size = first;
}

static void scan_member(Scanner *scanner)
{
    if (peek(scanner) != '"') {
        fail_expected(scanner, "a key in quotes");
        return;
    }
    Key key = scan_string(scanner);
    uint8_t *out = scanner->err->status ? NULL : byte_writer_extend(&scanner->keys, sizeof key);
    if (!out)
        return;
    memcpy(out, &key, sizeof key);
    skip_space(scanner);
    if (peek(scanner) != ':') {
        fail_expected(scanner, "a colon");
        return;
    }
    scanner->at++;
    scan_value(scanner);
}

/* The items between the brackets; `scan_item` reads one of them. */
static void scan_items(Scanner *scanner, char closing, void (*scan_item)(Scanner *))
{
    scanner->at++;
    skip_space(scanner);
    if (peek(scanner) == closing) {
        scanner->at++;
        return;
    }
    while (!scanner->err->status) {
        skip_space(scanner);
        scan_item(scanner);
        if (scanner->err->status)
            return;
        skip_space(scanner);
        int c = peek(scanner);
        if (c != ',' && c != closing) {
            fail_expected(scanner, closing == '}' ? "a comma or \"}\"" : "a comma or \"]\"");
            return;
        }
        scanner->at++;
        if (c == closing)
            return;
    }
}

static void scan_container(Scanner *scanner)
{
    size_t first_key = scanner->keys.size;

    if (scanner->depth == scanner->max_depth) {
        fail_at(scanner, scanner->at, "nested deeper than the limit of %d", scanner->max_depth);
        return;
    }
    scanner->depth++;
    if (peek(scanner) == '{')
        scan_items(scanner, '}', scan_member);
    else
        scan_items(scanner, ']', scan_value);
    scanner->depth--;
    if (!scanner->err->status)
        refuse_duplicates(scanner, first_key);
}

static void scan_value(Scanner *scanner)
{
    skip_space(scanner);
    int c = peek(scanner);

    if (c == '{' || c == '[')
        scan_container(scanner);
    else if (c == '"')
        (void)scan_string(scanner);
    else if (c == '-' || is_digit(c))
        scan_number(scanner);
    else if (c == 't')
        scan_word(scanner, "true");
    else if (c == 'f')
        scan_word(scanner, "false");
    else if (c == 'n')
        scan_word(scanner, "null");
    else if (is_word(c))
        fail_word(scanner, scanner->at);
    else
        fail_expected(scanner, "a value");
}

Status json_scan(Bytes text, int max_depth, Error *err)
{
    Scanner scanner = {.data = text.data,
                       .size = text.size,
                       .max_depth = max_depth < JSON_MAX_DEPTH ? max_depth : JSON_MAX_DEPTH,
                       .keys = byte_writer(SIZE_MAX / 4, err),
                       .err = err};

    if (text.size == 0)
        return error_set(err, STATUS_INVALID, "the text is empty");
    if (text.size >= 3 && memcmp(text.data, "\xef\xbb\xbf", 3) == 0)
        return error_set(err, STATUS_INVALID,
                         "the text starts with a byte order mark, which is not JSON");
    scan_value(&scanner);
    skip_space(&scanner);
    if (!err->status && scanner.at < scanner.size)
        fail_expected(&scanner, "the end");
    byte_writer_close(&scanner.keys);
    return err->status;
}
