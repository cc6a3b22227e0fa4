#include "math/scalar.h"
#include "support/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Distance from the true value in units of the last place of the double next to it. The reference
 * is libm in 64-bit significands, eleven bits finer. */
static double ulps(double actual, long double expected)
{
    double nearest = fabs((double)expected);
    double unit = nextafter(nearest, INFINITY) - nearest;

    return (double)fabsl(((long double)actual - expected) / (long double)unit);
}

static double uniform(Random *random, double low, double high)
{
    return low + (high - low) * ((double)(random_u64(random) >> 11) * 0x1p-53);
}

typedef double (*Function)(double);
typedef long double (*Reference)(long double);

/* The greatest error over `count` random and `count` evenly spaced arguments. */
static double worst(Function function, Reference reference, double low, double high, int count)
{
    Random random = {1};
    double greatest = 0.0;

    for (int i = 0; i < 2 * count; i++) {
        double x = i < count ? uniform(&random, low, high)
                             : low + (high - low) * (double)(i - count) / (double)(count - 1);
        double error = ulps(function(x), reference((long double)x));
        if (!(error <= greatest))
            greatest = error;
    }
    return greatest;
}

TEST(scalar, sin_and_cos_err_by_less_than_2_ulp)
{
    static const double range[] = {1e-8, 0.8, 4.0, 100.0, 1e5, 1e9};

    for (size_t i = 0; i < sizeof range / sizeof range[0]; i++) {
        CHECK_NEAR(worst(scalar_sin, sinl, -range[i], range[i], 20000), 0.0, 2.0);
        CHECK_NEAR(worst(scalar_cos, cosl, -range[i], range[i], 20000), 0.0, 2.0);
    }
}

TEST(scalar, sin_and_cos_hold_at_the_doubles_nearest_to_multiples_of_a_quarter_turn)
{
    for (int n = 1; n < 600000000; n += n / 64 + 1) {
        double x = (double)((long double)n * 1.57079632679489661923132169163975144L);

        CHECK_NEAR(ulps(scalar_sin(x), sinl((long double)x)), 0.0, 2.0);
        CHECK_NEAR(ulps(scalar_cos(x), cosl((long double)x)), 0.0, 2.0);
    }
    // one of the doubles that lie nearest of all to a multiple of pi/2
    CHECK_NEAR(ulps(scalar_sin(0x1.921fb54442d18p+1), 1.2246467991473531772e-16L), 0.0, 2.0);
}

TEST(scalar, exp_errs_by_less_than_2_ulp_and_ends_where_doubles_end)
{
    CHECK_NEAR(worst(scalar_exp, expl, -708.0, 709.78, 50000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_exp, expl, -1.0, 1.0, 50000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_exp, expl, -745.0, -708.0, 5000), 0.0, 2.0);
    CHECK(scalar_exp(0.0) == 1.0);
    CHECK(scalar_exp(-746.0) == 0.0);
    CHECK(scalar_exp(-INFINITY) == 0.0);
    CHECK(isinf(scalar_exp(709.79)));
    CHECK(isinf(scalar_exp(INFINITY)));
    CHECK(isfinite(scalar_exp(709.78)));
    CHECK(isnan(scalar_exp(NAN)));
}

TEST(scalar, log_errs_by_less_than_2_ulp)
{
    CHECK_NEAR(worst(scalar_log, logl, 0.5, 2.0, 50000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_log, logl, 1.0 - 1e-6, 1.0 + 1e-6, 5000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_log, logl, 1e-3, 1e6, 50000), 0.0, 2.0);
    for (double x = 0x1p-1074; x < DBL_MAX / 2.0; x *= 1.9)
        CHECK_NEAR(ulps(scalar_log(x), logl((long double)x)), 0.0, 2.0);
    CHECK(scalar_log(1.0) == 0.0);
    CHECK(isinf(scalar_log(0.0)) && scalar_log(0.0) < 0.0);
    CHECK(isnan(scalar_log(-1.0)));
    CHECK(isnan(scalar_log(NAN)));
    CHECK(isinf(scalar_log(INFINITY)));
}

TEST(scalar, acos_errs_by_less_than_2_ulp_and_takes_the_nearer_end)
{
    CHECK_NEAR(worst(scalar_acos, acosl, -1.0, 1.0, 100000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_acos, acosl, 1.0 - 1e-9, 1.0, 10000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_acos, acosl, -1.0, -1.0 + 1e-9, 10000), 0.0, 2.0);
    CHECK_NEAR(worst(scalar_acos, acosl, -1e-9, 1e-9, 10000), 0.0, 2.0);
    CHECK(scalar_acos(1.0) == 0.0);
    CHECK(scalar_acos(1.0000001) == 0.0);
    CHECK(scalar_acos(-2.0) == 0x1.921fb54442d18p+1);
    CHECK(isnan(scalar_acos(NAN)));
}

TEST(scalar, atan2_errs_by_less_than_2_ulp_all_around)
{
    Random random = {7};

    for (int i = 0; i < 200000; i++) {
        double y = uniform(&random, -1.0, 1.0);
        double x = uniform(&random, -1.0, 1.0);
        // ratios of many sizes
        if (i % 3 == 0)
            y *= scalar_exp(uniform(&random, -60.0, 60.0));
        CHECK_NEAR(ulps(scalar_atan2(y, x), atan2l((long double)y, (long double)x)), 0.0, 2.0);
    }
}

TEST(scalar, atan2_knows_axes_signs_and_extremes)
{
    static const double place[] = {0.0,     -0.0,     1.0,      -1.0,      0x1p-1074, -0x1p-1074,
                                   DBL_MAX, -DBL_MAX, INFINITY, -INFINITY, 0x1p-600,  3e200};

    for (size_t i = 0; i < sizeof place / sizeof place[0]; i++)
        for (size_t j = 0; j < sizeof place / sizeof place[0]; j++) {
            double actual = scalar_atan2(place[i], place[j]);
            double expected = atan2(place[i], place[j]);

            CHECK_NEAR(actual, expected, 4.5e-16 * fabs(expected));
            CHECK_INT(!signbit(actual), ==, !signbit(expected));
        }
    CHECK(isnan(scalar_atan2(NAN, 1.0)) && isnan(scalar_atan2(1.0, NAN)));
}

static uint64_t add_bits(uint64_t hash, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return (hash ^ bits) * 0x100000001b3u;
}

/* Recorded once: whoever changes a bit of any result changes every bake. */
TEST(scalar, every_bit_is_what_it_was)
{
    static const long long expected[6] = {-2821146727397076570, -4889319280319717483,
                                          -9034435874016295194, -3704904750331587109,
                                          -669660800599148174,  -6479909338089159498};
    uint64_t hash[6] = {0};
    Random random = {42};

    for (int i = 0; i < 100000; i++) {
        double x = uniform(&random, -1.0, 1.0);

        hash[0] = add_bits(hash[0], scalar_sin(x * 1e4));
        hash[1] = add_bits(hash[1], scalar_cos(x * 1e4));
        hash[2] = add_bits(hash[2], scalar_exp(x * 700.0));
        hash[3] = add_bits(hash[3], scalar_log(x + 1.0));
        hash[4] = add_bits(hash[4], scalar_acos(x));
        hash[5] = add_bits(hash[5], scalar_atan2(x, uniform(&random, -1.0, 1.0)));
    }
    for (int i = 0; i < 6; i++)
        CHECK_INT((long long)hash[i], ==, expected[i]);
}
