/* Quantile: order statistics without sorting, exact and in linear time. Pure functions. */
#pragma once

#include <stdint.h>

/* The nearest-rank quantile (the smallest value with at least a share q of all at or below it) of
 * `count` > 0 values without NaN; `keys` is scratch for as many. */
float quantile_nearest_rank(const float *value, int count, double q, uint32_t *keys);
