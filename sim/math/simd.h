/* Simd: what kernels are written in. One source, `NAME.kernel.c`, is compiled once an instruction
 * set; inside it Lanes is a vector of SIMD_WIDTH floats (16, 8 or 1) and Mask one truth value a
 * lane.
 *
 * Only what IEEE 754 rounds correctly is here: + - * / sqrt, comparisons, choices. Nothing crosses
 * lanes but lanes_any, nothing is fused or approximated, so every level computes the same bits.
 *
 * Kernels name what they export with SIMD_NAME(function), the caller lists all levels with
 * SIMD_DECLARE and SIMD_TABLE, indexed by SimdLevel.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define SIMD_JOIN_(a, b) a##_##b
#define SIMD_JOIN(a, b)  SIMD_JOIN_(a, b)
#define SIMD_NAME(name)  SIMD_JOIN(name, KERNEL_SET)

#if defined(__x86_64__)
#define SIMD_DECLARE(type, name, parameter)                                                        \
    type name##_scalar(parameter);                                                                 \
    type name##_avx2(parameter);                                                                   \
    type name##_avx512(parameter)
#define SIMD_TABLE(name)                                                                           \
    {                                                                                              \
        name##_scalar, name##_avx2, name##_avx512                                                  \
    }
#else
#define SIMD_DECLARE(type, name, parameter) type name##_scalar(parameter)
#define SIMD_TABLE(name)                                                                           \
    {                                                                                              \
        name##_scalar, name##_scalar, name##_scalar                                                \
    }
#endif

#if defined(KERNEL_SET_avx512)

#include <immintrin.h>

enum { SIMD_WIDTH = 16 };
typedef __m512 Lanes;
typedef __mmask16 Mask;

static inline Lanes lanes_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void lanes_store(float *p, Lanes a)
{
    _mm512_storeu_ps(p, a);
}
static inline Lanes lanes_all(float a)
{
    return _mm512_set1_ps(a);
}
static inline Lanes lanes_add(Lanes a, Lanes b)
{
    return _mm512_add_ps(a, b);
}
static inline Lanes lanes_sub(Lanes a, Lanes b)
{
    return _mm512_sub_ps(a, b);
}
static inline Lanes lanes_mul(Lanes a, Lanes b)
{
    return _mm512_mul_ps(a, b);
}
static inline Lanes lanes_div(Lanes a, Lanes b)
{
    return _mm512_div_ps(a, b);
}
static inline Lanes lanes_sqrt(Lanes a)
{
    return _mm512_sqrt_ps(a);
}
/* a < b ? a : b, b where either is not a number; lanes_max likewise. */
static inline Lanes lanes_min(Lanes a, Lanes b)
{
    return _mm512_min_ps(a, b);
}
static inline Lanes lanes_max(Lanes a, Lanes b)
{
    return _mm512_max_ps(a, b);
}
/* false where either is not a number */
static inline Mask lanes_less(Lanes a, Lanes b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline Lanes lanes_choose(Mask m, Lanes yes, Lanes no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline Mask mask_and(Mask a, Mask b)
{
    return (Mask)(a & b);
}
static inline Mask mask_or(Mask a, Mask b)
{
    return (Mask)(a | b);
}
/* Bits `first` to first + SIMD_WIDTH - 1 of a word of 16 lanes, and back. */
static inline Mask mask_from_bits(uint32_t bits, int first)
{
    return (Mask)(bits >> first);
}
static inline uint32_t mask_to_bits(Mask m, int first)
{
    return (uint32_t)m << first;
}
static inline bool mask_any(Mask m)
{
    return m != 0;
}

#elif defined(KERNEL_SET_avx2)

#include <immintrin.h>

enum { SIMD_WIDTH = 8 };
typedef __m256 Lanes;
typedef __m256 Mask;

static inline Lanes lanes_load(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void lanes_store(float *p, Lanes a)
{
    _mm256_storeu_ps(p, a);
}
static inline Lanes lanes_all(float a)
{
    return _mm256_set1_ps(a);
}
static inline Lanes lanes_add(Lanes a, Lanes b)
{
    return _mm256_add_ps(a, b);
}
static inline Lanes lanes_sub(Lanes a, Lanes b)
{
    return _mm256_sub_ps(a, b);
}
static inline Lanes lanes_mul(Lanes a, Lanes b)
{
    return _mm256_mul_ps(a, b);
}
static inline Lanes lanes_div(Lanes a, Lanes b)
{
    return _mm256_div_ps(a, b);
}
static inline Lanes lanes_sqrt(Lanes a)
{
    return _mm256_sqrt_ps(a);
}
static inline Lanes lanes_min(Lanes a, Lanes b)
{
    return _mm256_min_ps(a, b);
}
static inline Lanes lanes_max(Lanes a, Lanes b)
{
    return _mm256_max_ps(a, b);
}
static inline Mask lanes_less(Lanes a, Lanes b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline Lanes lanes_choose(Mask m, Lanes yes, Lanes no)
{
    return _mm256_blendv_ps(no, yes, m);
}
static inline Mask mask_and(Mask a, Mask b)
{
    return _mm256_and_ps(a, b);
}
static inline Mask mask_or(Mask a, Mask b)
{
    return _mm256_or_ps(a, b);
}
static inline Mask mask_from_bits(uint32_t bits, int first)
{
    __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    __m256i word = _mm256_and_si256(_mm256_set1_epi32((int)(bits >> first)), lane);

    return _mm256_castsi256_ps(_mm256_cmpeq_epi32(word, lane));
}
static inline uint32_t mask_to_bits(Mask m, int first)
{
    return (uint32_t)_mm256_movemask_ps(m) << first;
}
static inline bool mask_any(Mask m)
{
    return _mm256_movemask_ps(m) != 0;
}

#elif defined(KERNEL_SET_scalar)

enum { SIMD_WIDTH = 1 };
typedef float Lanes;
typedef bool Mask;

static inline Lanes lanes_load(const float *p)
{
    return *p;
}
static inline void lanes_store(float *p, Lanes a)
{
    *p = a;
}
static inline Lanes lanes_all(float a)
{
    return a;
}
static inline Lanes lanes_add(Lanes a, Lanes b)
{
    return a + b;
}
static inline Lanes lanes_sub(Lanes a, Lanes b)
{
    return a - b;
}
static inline Lanes lanes_mul(Lanes a, Lanes b)
{
    return a * b;
}
static inline Lanes lanes_div(Lanes a, Lanes b)
{
    return a / b;
}
static inline Lanes lanes_sqrt(Lanes a)
{
    return sqrtf(a);
}
static inline Lanes lanes_min(Lanes a, Lanes b)
{
    return a < b ? a : b;
}
static inline Lanes lanes_max(Lanes a, Lanes b)
{
    return a > b ? a : b;
}
static inline Mask lanes_less(Lanes a, Lanes b)
{
    return a < b;
}
static inline Lanes lanes_choose(Mask m, Lanes yes, Lanes no)
{
    return m ? yes : no;
}
static inline Mask mask_and(Mask a, Mask b)
{
    return a && b;
}
static inline Mask mask_or(Mask a, Mask b)
{
    return a || b;
}
static inline Mask mask_from_bits(uint32_t bits, int first)
{
    return (bits >> first & 1u) != 0;
}
static inline uint32_t mask_to_bits(Mask m, int first)
{
    return (uint32_t)m << first;
}
static inline bool mask_any(Mask m)
{
    return m;
}

#endif
