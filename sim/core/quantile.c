#include "core/quantile.h"

#include <math.h>
#include <string.h>

/* Unsigned numbers in the order of the floats. */
static uint32_t key_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 31 ? 0xffffffffu : 0x80000000u);
}

static float value_of(uint32_t key)
{
    uint32_t bits = key ^ (key >> 31 ? 0x80000000u : 0xffffffffu);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Of the keys, keep those whose eight bits at `shift` are those of the key of rank `rank`
 * (from 0); returns how many, and the rank among them. */
static int narrow(uint32_t *key, int count, int shift, int *rank)
{
    int bin[256] = {0};
    int kept = 0;
    uint32_t b = 0;

    for (int i = 0; i < count; i++)
        bin[key[i] >> shift & 255]++;
    while (*rank >= bin[b])
        *rank -= bin[b++];
    for (int i = 0; i < count; i++)
        if ((key[i] >> shift & 255) == b)
            key[kept++] = key[i];
    return kept;
}

int quantile_rank(int count, double q)
{
    int rank = (int)ceil(q * count) - 1;

    return rank < 0 ? 0 : (rank >= count ? count - 1 : rank);
}

float quantile_of_rank(const float *value, int count, int rank, uint32_t *keys)
{
    for (int i = 0; i < count; i++)
        keys[i] = key_of(value[i]);
    for (int shift = 24; shift >= 0; shift -= 8)
        count = narrow(keys, count, shift, &rank);
    return value_of(keys[0]);
}

float quantile_nearest_rank(const float *value, int count, double q, uint32_t *keys)
{
    return quantile_of_rank(value, count, quantile_rank(count, q), keys);
}
