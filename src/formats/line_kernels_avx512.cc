// The loops of line_kernels.h for machines with AVX-512. The headers come first: what they define is built
// for every machine.
#include "formats/line_kernels.h"

#if defined(__x86_64__)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // gcc 12 warns about its own _mm512_undefined_epi32
#endif
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(                                                                             \
    __attribute__((                                                                                       \
        target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,popcnt,lzcnt"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,popcnt,lzcnt")
#endif

#define WRACKLINE_KERNELS_NAMESPACE avx512
#define WRACKLINE_KERNELS_AVX512
#include "formats/line_kernels.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
