/* Moment: a time as a ratio of whole numbers, seconds since frame 0, negative in warm-up.
 *
 * Ticks, steps, frames and measure samples lie on grids of different rates; as ratios they are
 * ordered and compared exactly, and one moment has one double however its ratio is written.
 */
#pragma once

#include <stdint.h>

typedef struct Moment {
    int64_t n, d; /* n/d seconds; d > 0, and products of any two fit (bake_build sees to it) */
} Moment;

static inline double moment_seconds(Moment a)
{
    return (double)a.n / (double)a.d;
}

/* Negative, 0 or positive as a is before, at or after b. */
static inline int moment_compare(Moment a, Moment b)
{
    int64_t left = a.n * b.d, right = b.n * a.d;

    return (left > right) - (left < right);
}

/* The number of the first point at or after `a` of a grid with `rate` points a second. */
static inline int64_t moment_ceil(Moment a, int64_t rate)
{
    int64_t product = a.n * rate;
    int64_t quotient = product / a.d;

    return quotient + (product % a.d > 0);
}
