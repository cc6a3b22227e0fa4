#include "math/scalar.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Sums of two doubles: hi + lo, where lo is what hi could not hold. */
typedef struct Pair {
    double hi, lo;
} Pair;

static const Pair HALF_PI = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
static const Pair PI = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
static const double LN2_HI = 0x1.62e42fee00000p-1; /* 32 bits: times an int it is exact */
static const double LN2_LO = 0x1.a39ef35793c76p-33;

/* a + b exactly (Knuth). */
static Pair two_sum(double a, double b)
{
    double hi = a + b;
    double part = hi - a;

    return (Pair){hi, (a - (hi - part)) + (b - part)};
}

/* a * b exactly, with a and b each cut in two halves (Dekker, Veltkamp); far from overflow. */
static Pair two_product(double a, double b)
{
    double a_cut = a * 0x1.0000002p+27;
    double b_cut = b * 0x1.0000002p+27;
    double a_hi = a_cut - (a_cut - a);
    double b_hi = b_cut - (b_cut - b);
    double a_lo = a - a_hi;
    double b_lo = b - b_hi;
    double hi = a * b;

    return (Pair){hi, ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

/* The nearest whole number, ties to even; |x| below 2^51. */
static double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* x * 2^n for -1022 <= n <= 1023. */
static double power_of_two(int n)
{
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double power;

    memcpy(&power, &bits, sizeof power);
    return power;
}

/* x minus the nearest multiple of pi/2, of which the last two bits of the factor are kept. pi/2 is
 * taken apart into three pieces of 22 bits, whose products with factors below 2^30 are exact, and a
 * rest (Cody and Waite); what the differences lose is carried along. */
static Pair reduce(double x, int *out_quadrant)
{
    double n = nearest(x * 0x1.45f306dc9c883p-1);
    Pair a = two_sum(x, -n * 0x1.921fb00000000p+0);
    Pair b = two_sum(a.hi, -n * 0x1.5110b00000000p-22);
    Pair c = two_sum(b.hi, -n * 0x1.1846980000000p-44);
    double lost = a.lo + b.lo + c.lo - n * 0x1.3198a2e037073p-69;

    *out_quadrant = (int)((int64_t)n & 3);
    return two_sum(c.hi, lost);
}

/* Taylor's series about 0, for |r| up to pi/4; the first term left out is below 2^-62. */
static double sin_near_0(Pair r)
{
    double z = r.hi * r.hi;
    double s = 1.0 / 355687428096000.0;

    s = s * z - 1.0 / 1307674368000.0;
    s = s * z + 1.0 / 6227020800.0;
    s = s * z - 1.0 / 39916800.0;
    s = s * z + 1.0 / 362880.0;
    s = s * z - 1.0 / 5040.0;
    s = s * z + 1.0 / 120.0;
    s = s * z - 1.0 / 6.0;
    return r.hi + (r.hi * z * s + r.lo * (1.0 - 0.5 * z));
}

static double cos_near_0(Pair r)
{
    double z = r.hi * r.hi;
    double c = 1.0 / 6402373705728000.0;

    c = 1.0 / 20922789888000.0 - c * z;
    c = c * z - 1.0 / 87178291200.0;
    c = c * z + 1.0 / 479001600.0;
    c = c * z - 1.0 / 3628800.0;
    c = c * z + 1.0 / 40320.0;
    c = c * z - 1.0 / 720.0;
    c = c * z + 1.0 / 24.0;
    // 1 - z/2 first, and what its rounding lost with the small terms
    double half = 0.5 * z;
    double top = 1.0 - half;
    return top + (((1.0 - top) - half) + (z * z * c - r.hi * r.lo));
}

void scalar_sin_cos(double x, double *out_sin, double *out_cos)
{
    int quadrant;

    if (!(fabs(x) <= 1e9)) {
        *out_sin = *out_cos = (double)NAN;
        return;
    }
    Pair r = reduce(x, &quadrant);
    double s = sin_near_0(r);
    double c = cos_near_0(r);
    if (quadrant & 1) {
        double swap = s;
        s = c;
        c = -swap;
    }
    *out_sin = quadrant & 2 ? -s : s;
    *out_cos = quadrant & 2 ? -c : c;
}

double scalar_sin(double x)
{
    double s, c;

    scalar_sin_cos(x, &s, &c);
    return s;
}

double scalar_cos(double x)
{
    double s, c;

    scalar_sin_cos(x, &s, &c);
    return c;
}

/* e^x = 2^n e^r with |r| up to ln 2 / 2, e^r by Taylor's series; the first term left out is below
 * 2^-57. */
double scalar_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > 709.782712893384)
        return (double)INFINITY;
    if (x < -745.2)
        return 0.0;

    double n = nearest(x * 0x1.71547652b82fep+0);
    Pair r = two_sum(x - n * LN2_HI, -n * LN2_LO);
    double e = 1.0 / 87178291200.0;

    e = e * r.hi + 1.0 / 6227020800.0;
    e = e * r.hi + 1.0 / 479001600.0;
    e = e * r.hi + 1.0 / 39916800.0;
    e = e * r.hi + 1.0 / 3628800.0;
    e = e * r.hi + 1.0 / 362880.0;
    e = e * r.hi + 1.0 / 40320.0;
    e = e * r.hi + 1.0 / 5040.0;
    e = e * r.hi + 1.0 / 720.0;
    e = e * r.hi + 1.0 / 120.0;
    e = e * r.hi + 1.0 / 24.0;
    e = e * r.hi + 1.0 / 6.0;
    e = e * r.hi + 0.5;
    double result = 1.0 + (r.hi + (r.hi * r.hi * e + r.lo * (1.0 + r.hi)));

    // in two steps, for 2^n alone may be out of range where the product is not
    int half = (int)n / 2;
    return result * power_of_two(half) * power_of_two((int)n - half);
}

/* log(2^k (1 + f)) = k ln 2 + log(1 + f), f from sqrt(1/2) - 1 to sqrt(2) - 1. With
 * s = f / (2 + f): log(1 + f) = 2 atanh s = 2s + s R, R = 2/3 s^2 + 2/5 s^4 + ..., and
 * 2s = f - f^2/2 + s f^2/2, whose first terms lose nothing. */
double scalar_log(double x)
{
    if (isnan(x) || x < 0.0)
        return (double)NAN;
    if (!(x > 0.0))
        return -(double)INFINITY;
    if (isinf(x))
        return x;

    int k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    k += (int)(bits >> 52) - 1023;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 0x1.6a09e667f3bcdp+0) {
        m *= 0.5;
        k++;
    }

    double f = m - 1.0;
    double s = f / (2.0 + f);
    double z = s * s;
    double r = 2.0 / 23.0;
    r = r * z + 2.0 / 21.0;
    r = r * z + 2.0 / 19.0;
    r = r * z + 2.0 / 17.0;
    r = r * z + 2.0 / 15.0;
    r = r * z + 2.0 / 13.0;
    r = r * z + 2.0 / 11.0;
    r = r * z + 2.0 / 9.0;
    r = r * z + 2.0 / 7.0;
    r = r * z + 2.0 / 5.0;
    r = r * z + 2.0 / 3.0;
    r *= z;
    double half = 0.5 * f * f;
    return k * LN2_HI + (f - (half - (s * (half + r) + k * LN2_LO)));
}

/* atan(c/8) */
static const Pair ATAN_OF_EIGHTHS[9] = {
    {0x0.0p+0, 0x0.0p+0},
    {0x1.fd5ba9aac2f6ep-4, -0x1.cd37686760c17p-59},
    {0x1.f5b75f92c80ddp-3, 0x1.8ab6e3cf7afbdp-57},
    {0x1.6f61941e4def1p-2, -0x1.c63aae6f6e918p-56},
    {0x1.dac670561bb4fp-2, 0x1.a2b7f222f65e2p-56},
    {0x1.1e00babdefeb4p-1, -0x1.928df287a668fp-58},
    {0x1.4978fa3269ee1p-1, 0x1.2419a87f2a458p-56},
    {0x1.700a7c5784634p-1, -0x1.8c34d25aadef6p-56},
    {0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55},
};

/* atan(y/x) for 0 <= y <= x, x from 1/2 to 2: with the nearest c/8 to y/x,
 * atan(c/8) + atan(u), u = (y - c x / 8) / (x + c y / 8), |u| up to 1/16. */
static Pair atan_of_ratio(double y, double x)
{
    double c = nearest(y / x * 8.0);
    Pair product = two_product(x, c * 0.125);
    double u = ((y - product.hi) - product.lo) / (x + y * (c * 0.125));
    double z = u * u;
    double a = -1.0 / 15.0;

    a = a * z + 1.0 / 13.0;
    a = a * z - 1.0 / 11.0;
    a = a * z + 1.0 / 9.0;
    a = a * z - 1.0 / 7.0;
    a = a * z + 1.0 / 5.0;
    a = a * z - 1.0 / 3.0;
    Pair base = ATAN_OF_EIGHTHS[(int)c];
    Pair sum = two_sum(base.hi, u);
    return (Pair){sum.hi, sum.lo + (u * z * a + base.lo)};
}

/* a - b, as one double. */
static double difference(Pair a, Pair b)
{
    Pair high = two_sum(a.hi, -b.hi);

    return high.hi + (high.lo + (a.lo - b.lo));
}

static int exponent_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (int)((bits >> 52) & 0x7ff) - 1023;
}

/* The angle of (x, y) with x, y >= 0, not both 0; the greater one is brought near 1 first. */
static Pair angle_in_quadrant(double y, double x)
{
    double greater = x > y ? x : y;
    double smaller = x > y ? y : x;

    if (isinf(greater)) {
        greater = 1.0;
        smaller = isinf(smaller) ? 1.0 : 0.0;
    }
    int exponent = exponent_of(greater);
    double scale = power_of_two(exponent > 1000 ? -1000 : (exponent < -1000 ? 1000 : -exponent));
    greater *= scale;
    smaller *= scale;
    exponent = exponent_of(greater);
    if (exponent) {
        // what one step could not scale
        scale = power_of_two(-exponent > 1000 ? 1000 : -exponent);
        greater *= scale;
        smaller *= scale;
    }

    Pair angle = {smaller / greater, 0.0};
    if (angle.hi > 0x1p-28)
        angle = atan_of_ratio(smaller, greater);
    if (x >= y)
        return angle;
    Pair high = two_sum(HALF_PI.hi, -angle.hi);
    return (Pair){high.hi, high.lo + (HALF_PI.lo - angle.lo)};
}

double scalar_atan2(double y, double x)
{
    static const Pair zero = {0.0, 0.0};

    if (isnan(x) || isnan(y))
        return (double)NAN;
    double ay = fabs(y), ax = fabs(x);
    Pair angle = ay > 0.0 || ax > 0.0 ? angle_in_quadrant(ay, ax) : zero;
    double result = signbit(x) ? difference(PI, angle) : angle.hi + angle.lo;
    return copysign(result, y);
}

/* asin(s) - s for |s| up to 1/2: each term of the series is the one before times s^2 and
 * (2n - 1)^2 / (2n (2n + 1)); the first one left out is below 2^-57 of s. */
static double asin_excess(double s)
{
#define RATIO(n) ((2.0 * (n)-1.0) * (2.0 * (n)-1.0) / (2.0 * (n) * (2.0 * (n) + 1.0)))
    static const double ratio[24] = {
        RATIO(1),  RATIO(2),  RATIO(3),  RATIO(4),  RATIO(5),  RATIO(6),  RATIO(7),  RATIO(8),
        RATIO(9),  RATIO(10), RATIO(11), RATIO(12), RATIO(13), RATIO(14), RATIO(15), RATIO(16),
        RATIO(17), RATIO(18), RATIO(19), RATIO(20), RATIO(21), RATIO(22), RATIO(23), RATIO(24)};
#undef RATIO
    double z = s * s;
    double sum = 0.0;

    for (int n = 23; n >= 0; n--)
        sum = ratio[n] * z * (1.0 + sum);
    return s * sum;
}

/* 2 asin(sqrt(z / 2)), with the root's rounding made good. */
static Pair acos_near_1(double z)
{
    double s = sqrt(0.5 * z);
    Pair square = two_product(s, s);
    double lost = s > 0.0 ? ((0.5 * z - square.hi) - square.lo) / (2.0 * s) : 0.0;

    return (Pair){2.0 * s, 2.0 * (lost + asin_excess(s))};
}

double scalar_acos(double x)
{
    if (isnan(x))
        return x;
    if (x > 0.5) {
        Pair near = acos_near_1(x < 1.0 ? 1.0 - x : 0.0);
        return near.hi + near.lo;
    }
    if (x < -0.5)
        return difference(PI, acos_near_1(x > -1.0 ? 1.0 + x : 0.0));
    return difference(HALF_PI, (Pair){x, asin_excess(x)});
}
