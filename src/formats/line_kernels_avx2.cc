// The loops of line_kernels.h for machines with AVX2. The headers come first: what they define is built for
// every machine.
#include "formats/line_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt")
#endif

#define WRACKLINE_KERNELS_NAMESPACE avx2
#define WRACKLINE_KERNELS_AVX2
#include "formats/line_kernels.inc"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
