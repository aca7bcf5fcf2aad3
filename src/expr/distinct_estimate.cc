#include "expr/distinct_estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace wrackline::expr {
namespace {

constexpr uint64_t kFewMax = 384;
constexpr int kIndexBits = 12;
constexpr size_t kRegisters = size_t{1} << kIndexBits;
constexpr int kRankMax = 64 - kIndexBits + 1;

// Ertl's sigma and tau: what registers at their lowest and highest value say of the sum of 2^-rank.
double sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double power = 1;
  double sum = x;
  for (double before = -1; sum != before;) {
    x *= x;
    before = sum;
    sum += x * power;
    power += power;
  }
  return sum;
}
double tau(double x) {
  if (x == 0 || x == 1) return 0;
  double power = 1;
  double sum = 1 - x;
  for (double before = -1; sum != before;) {
    x = std::sqrt(x);
    before = sum;
    power *= 0.5;
    sum -= (1 - x) * (1 - x) * power;
  }
  return sum / 3;
}

}  // namespace

void DistinctEstimate::add(uint64_t hash, Arena& arena) {
  if (registers_ != 0) return add_to_registers(hash);
  const auto value = static_cast<int64_t>(hash);
  if (few_.meet(value, arena)) return;
  if (few_.size() < kFewMax) return few_.insert(value, arena);
  make_registers(arena);
  add_to_registers(hash);
}

void DistinctEstimate::make_registers(Arena& arena) {
  registers_ = word_of(allocate_zeroed<uint8_t>(arena, kRegisters));
  few_.for_each([&](int64_t hash) { add_to_registers(static_cast<uint64_t>(hash)); });
  few_ = {};
}

void DistinctEstimate::add_to_registers(uint64_t hash) {
  const size_t index = hash >> (64 - kIndexBits);
  const uint64_t rest = hash << kIndexBits;
  const int rank = rest == 0 ? kRankMax : std::countl_zero(rest) + 1;
  uint8_t& held = registers()[index];
  held = std::max(held, static_cast<uint8_t>(rank));
}

void DistinctEstimate::merge(const DistinctEstimate& other, Arena& arena) {
  if (other.registers_ == 0) {
    other.few_.for_each([&](int64_t hash) { add(static_cast<uint64_t>(hash), arena); });
    return;
  }
  if (registers_ == 0) make_registers(arena);
  for (size_t i = 0; i < kRegisters; ++i) registers()[i] = std::max(registers()[i], other.registers()[i]);
}

int64_t DistinctEstimate::estimate() const {
  if (registers_ == 0) return static_cast<int64_t>(few_.size());
  std::array<uint32_t, kRankMax + 1> counts{};
  for (size_t i = 0; i < kRegisters; ++i) ++counts[registers()[i]];
  constexpr double kCount = kRegisters;
  double z = kCount * tau(1 - counts[kRankMax] / kCount);
  for (size_t rank = kRankMax - 1; rank >= 1; --rank) z = 0.5 * (z + counts[rank]);
  z += kCount * sigma(counts[0] / kCount);
  constexpr double kAlpha = 0.7213475204444817;  // 1 / (2 ln 2)
  return std::llround(kAlpha * kCount * kCount / z);
}

void DistinctEstimate::save(SnapshotWriter& out) const {
  out.u8(registers_ != 0 ? 1 : 0);
  if (registers_ != 0) {
    out.bytes(registers(), kRegisters);
  } else {
    few_.save(out);
  }
}

void DistinctEstimate::restore(SnapshotReader& in, Arena& arena) {
  if (in.u8() == 0) return few_.restore(in, arena);
  make_registers(arena);
  in.bytes(registers(), kRegisters);
  for (size_t i = 0; i < kRegisters; ++i) {
    if (registers()[i] <= kRankMax) continue;
    in.refuse("a register counts more zeros than a hash has bits");
    registers()[i] = 0;
  }
}

}  // namespace wrackline::expr
