#include "sim/bake.h"

#include <string.h>

static const char *const names[SIMD_LEVEL_COUNT] = {"scalar", "avx2", "avx512"};

const char *simd_level_name(SimdLevel level)
{
    return names[level];
}

SimdLevel simd_level_best(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        return SIMD_AVX512;
    if (__builtin_cpu_supports("avx2"))
        return SIMD_AVX2;
#endif
    return SIMD_SCALAR;
}

Status simd_level_choose(const char *name, SimdLevel *out, Error *err)
{
    SimdLevel best = simd_level_best();

    if (!name || !*name) {
        *out = best;
        return STATUS_OK;
    }
    for (int i = 0; i < SIMD_LEVEL_COUNT; i++) {
        if (strcmp(name, names[i]) != 0)
            continue;
        if (i > (int)best)
            return error_set(err, STATUS_INVALID, "this processor has no %s, only %s", name,
                             names[best]);
        *out = (SimdLevel)i;
        return STATUS_OK;
    }
    return error_set(err, STATUS_INVALID, "SIMD level \"%s\" must be scalar, avx2 or avx512", name);
}
