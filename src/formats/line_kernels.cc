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

namespace {

struct DateBytes {
  uint64_t low = 0;
  uint32_t high = 0;
};

DateBytes date_bytes(std::string_view text) {
  constexpr size_t kHighBytes = 3;
  DateBytes bytes;
  std::memcpy(&bytes.low, text.data(), sizeof bytes.low);
  std::memcpy(&bytes.high, text.data() + sizeof bytes.low, kHighBytes);
  return bytes;
}

}  // namespace

void remember_date(std::string_view text, int64_t midnight_us, DateMemory& memory) {
  const DateBytes bytes = date_bytes(text);
  memory = {bytes.low, bytes.high, midnight_us};
}

bool is_remembered(std::string_view text, const DateMemory& memory) {
  const DateBytes bytes = date_bytes(text);
  return bytes.low == memory.low && bytes.high == memory.high;
}

}  // namespace wrackline::formats
