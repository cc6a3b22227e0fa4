#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 17 };

typedef enum Width { WIDTH_FLOAT, WIDTH_DOUBLE } Width;

/* 0.DIGITS times ten to the `point`; the sign is kept apart. */
typedef struct Decimal {
    char digit[MAX_DIGITS + 1]; /* no zeroes at the end */
    int count;
    int point;
} Decimal;

static void drop_zeroes(Decimal *decimal)
{
    while (decimal->count > 1 && decimal->digit[decimal->count - 1] == '0')
        decimal->count--;
}

/* The nearest decimal of `precision` digits, value > 0. */
static Decimal round_to(double value, int precision)
{
    Decimal out = {.count = precision};
    char text[40];

    (void)snprintf(text, sizeof text, "%.*e", precision - 1, value);
    out.digit[0] = text[0];
    if (precision > 1)
        memcpy(out.digit + 1, text + 2, (size_t)precision - 1);
    const char *exponent = strchr(text, 'e');
    out.point = exponent ? (int)strtol(exponent + 1, NULL, 10) + 1 : 0;
    drop_zeroes(&out);
    return out;
}

/* The next larger decimal of `precision` digits. */
static Decimal round_up(Decimal decimal, int precision)
{
    memset(decimal.digit + decimal.count, '0', (size_t)(precision - decimal.count));
    int i = precision - 1;
    while (i >= 0 && decimal.digit[i] == '9')
        decimal.digit[i--] = '0';
    decimal.count = precision;
    if (i < 0) {
        decimal.digit[0] = '1';
        decimal.point++;
    } else {
        decimal.digit[i]++;
    }
    drop_zeroes(&decimal);
    return decimal;
}

static bool reads_back(const Decimal *decimal, double value, Width width)
{
    char text[40];

    (void)snprintf(text, sizeof text, "0.%.*se%d", decimal->count, decimal->digit, decimal->point);
    return width == WIDTH_FLOAT ? (double)strtof(text, NULL) == value : strtod(text, NULL) == value;
}

/* The fewest digits that read back as `value` > 0. Six digits always survive in a normal float and
 * fifteen in a normal double, so a shorter decimal shows up there with zeroes at its end. Below a
 * power of two numbers lie twice as dense, so there the nearest decimal may miss where the next
 * larger one hits. */
static Decimal find_shortest(double value, Width width)
{
    double smallest_normal = width == WIDTH_FLOAT ? 0x1p-126 : 0x1p-1022;
    int last = width == WIDTH_FLOAT ? 9 : MAX_DIGITS;
    int first = value < smallest_normal ? 1 : width == WIDTH_FLOAT ? 6 : 15;
    int exponent;
    bool is_power = frexp(value, &exponent) == 0.5;

    for (int precision = first; precision < last; precision++) {
        Decimal decimal = round_to(value, precision);
        if (reads_back(&decimal, value, width))
            return decimal;
        decimal = round_up(decimal, precision);
        if (is_power && reads_back(&decimal, value, width))
            return decimal;
    }
    return round_to(value, last);
}

/* The same for floats from 1e-3 to 2^24, fast and exact: a bound between neighbours has at most 26
 * bits and 5^11 has 26, so their product is exact in a double. Looks for the fewest decimals that
 * have a whole number between the bounds. False where it does not apply. */
static bool find_shortest_float(float value, Decimal *out)
{
    static const double power[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11};
    int exponent;

    if (!(value >= 1e-3f && value < 0x1p24f))
        return false;
    double fraction = frexp((double)value, &exponent);
    double half = ldexp(1.0, exponent - 25);
    double low = (double)value - (fraction == 0.5 ? half / 2 : half);
    double high = (double)value + half;
    for (int decimals = 0; decimals <= 11; decimals++) {
        double scale = power[decimals];
        double nearest = rint((double)value * scale);
        if (nearest <= low * scale)
            nearest += 1.0;
        if (nearest <= low * scale || nearest >= high * scale || nearest == 0.0)
            continue;
        char text[24];
        out->count = snprintf(text, sizeof text, "%lld", (long long)nearest);
        if (out->count > MAX_DIGITS)
            return false;
        memcpy(out->digit, text, (size_t)out->count);
        out->point = out->count - decimals;
        drop_zeroes(out);
        return true;
    }
    return false;
}

/* ECMAScript's Number::toString: plain from 1e-6 to 1e21, with an exponent beyond. */
static int write_decimal(const Decimal *decimal, char *out)
{
    const char *digit = decimal->digit;
    int count = decimal->count;
    int point = decimal->point;
    static const char zeroes[] = "000000000000000000000";

    if (point > 21 || point <= -6) {
        const char *dot = count > 1 ? "." : "";
        return snprintf(out, 30, "%c%s%.*se%+d", digit[0], dot, count - 1, digit + 1, point - 1);
    }
    if (point <= 0)
        return snprintf(out, 30, "0.%.*s%.*s", -point, zeroes, count, digit);
    if (point >= count)
        return snprintf(out, 30, "%.*s%.*s", count, digit, point - count, zeroes);
    return snprintf(out, 30, "%.*s.%.*s", point, digit, count - point, digit + point);
}

static int write_null(char *out)
{
    memcpy(out, "null", 5);
    return 4;
}

int json_format_float(float value, char *out)
{
    float size = fabsf(value);
    int sign = signbit(value) ? 1 : 0;
    Decimal decimal = {0};

    if (!isfinite(value))
        return write_null(out);
    out[0] = '-';
    if (size == 0.0f) {
        memcpy(out + sign, "0", 2);
        return sign + 1;
    }
    if (!find_shortest_float(size, &decimal))
        decimal = find_shortest((double)size, WIDTH_FLOAT);
    return sign + write_decimal(&decimal, out + sign);
}

int json_format_double(double value, char *out)
{
    double size = fabs(value);
    int sign = value < 0.0 ? 1 : 0;

    if (!isfinite(value))
        return write_null(out);
    // whole numbers up to here have neighbours at most 1 apart, so every digit counts
    if (size < 0x1p53 && size == floor(size))
        return snprintf(out, 30, "%lld", (long long)value);
    out[0] = '-';
    Decimal decimal = find_shortest(size, WIDTH_DOUBLE);
    return sign + write_decimal(&decimal, out + sign);
}
