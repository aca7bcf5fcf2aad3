#include "formats/line_kernels.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define WRACKLINE_KERNELS_NAMESPACE baseline
#include "formats/line_kernels.inc"

namespace wrackline::formats {

#if defined(__x86_64__)
namespace avx2 {
extern const LineKernels kKernels;
}
namespace avx512 {
extern const LineKernels kKernels;
}
#endif

SimdLevel best_simd_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi2")) {
    return SimdLevel::kAvx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kBaseline;
}

std::string_view to_string(SimdLevel level) {
  switch (level) {
    case SimdLevel::kBaseline:
      return "baseline";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kAvx512:
      return "avx512";
  }
  return "baseline";
}

const LineKernels& line_kernels(SimdLevel level) {
#if defined(__x86_64__)
  WRACKLINE_CHECK(level <= best_simd_level(), "a machine without the vectors asked for");
  if (level == SimdLevel::kAvx512) return avx512::kKernels;
  if (level == SimdLevel::kAvx2) return avx2::kKernels;
#else
  WRACKLINE_CHECK(level == SimdLevel::kBaseline, "a machine without the vectors asked for");
#endif
  return baseline::kKernels;
}

void remember_date(std::string_view text, int64_t midnight_us, DateMemory& memory) {
  std::memcpy(&memory.low, text.data(), 8);
  uint32_t high = 0;
  std::memcpy(&high, text.data() + 8, 3);
  memory.high = high;
  memory.midnight_us = midnight_us;
}

}  // namespace wrackline::formats
