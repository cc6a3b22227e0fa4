/* Quantile: order statistics without sorting, exact and in linear time. Pure functions. */
#pragma once

#include <stdint.h>

/* The place of the nearest-rank quantile in the sorted list of `count` > 0 values, from 0: of the
 * smallest value with at least a share q of all at or below it. */
int quantile_rank(int count, double q);
/* The value at that place; values without NaN, `keys` is scratch for as many. */
float quantile_of_rank(const float *value, int count, int rank, uint32_t *keys);
float quantile_nearest_rank(const float *value, int count, double q, uint32_t *keys);
