/* Kernel: names of functions that are compiled once per instruction set.
 *
 * A *.kernel.c file is compiled with KERNEL_SET = scalar, avx2 and avx512 and defines its functions
 * as KERNEL(name)(...), which becomes name_scalar, name_avx2, name_avx512. The header declares them
 * with KERNEL_DECLARE(result, name, (parameters)); the caller picks one by SimdLevel with
 * KERNEL_TABLE(name). All give the same bits: they are the same C.
 */
#pragma once

#include "sim/bake.h"

#define KERNEL_PASTE(name, set)  name##_##set
#define KERNEL_EXPAND(name, set) KERNEL_PASTE(name, set)
#define KERNEL(name)             KERNEL_EXPAND(name, KERNEL_SET)

#if defined(__x86_64__)
#define KERNEL_DECLARE(result, name, parameters)                                                   \
    result name##_scalar parameters;                                                               \
    result name##_avx2 parameters;                                                                 \
    result name##_avx512 parameters
#define KERNEL_TABLE(name)                                                                         \
    {                                                                                              \
        name##_scalar, name##_avx2, name##_avx512                                                  \
    }
#else
#define KERNEL_DECLARE(result, name, parameters) result name##_scalar parameters
#define KERNEL_TABLE(name)                                                                         \
    {                                                                                              \
        name##_scalar, name##_scalar, name##_scalar                                                \
    }
#endif

/* Four and sixteen floats that are added and multiplied lane by lane (GCC's and Clang's vectors):
 * registers where the instruction set has them, else several. Only for locals of kernels. */
typedef float Float4 __attribute__((vector_size(16)));
typedef float Float16 __attribute__((vector_size(64)));
