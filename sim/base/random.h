/* Random: splitmix64, a small seeded generator with the same sequence everywhere. */
#pragma once

#include <stdint.h>

typedef struct Random {
    uint64_t state; /* any seed */
} Random;

static inline uint64_t random_u64(Random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [low, high), on a grid of 2^-24 of the range. */
static inline float random_float(Random *random, float low, float high)
{
    return low + (high - low) * ((float)(random_u64(random) >> 40) * 0x1p-24f);
}
