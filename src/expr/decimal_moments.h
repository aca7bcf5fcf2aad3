// The count, exact sum and exact sum of squares of integers or decimals, from which variances come.
//
// Numbers of one scale and at most 18 digits (every integer column, numeric(10,2)) stay in 128 and 192 bits
// of the state. Others take 120 bytes in the arena: sums in units of 10^-38 and 10^-76 that no values can
// fill.
//
// Invariants:
//   1. All-zero bytes are the empty state; it may be moved by copying its bytes.
//   2. Nothing is rounded before spread().
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "data/column.h"
#include "data/snapshot.h"
#include "data/types.h"

namespace wrackline::expr {

struct Spread {
  bool deviation = false;  // the root of the variance
  bool sample = true;      // divided by count - 1, not count
};

class DecimalMoments {
 public:
  // Returns false, and adds nothing, if spread() of `wanted` would not fit 38 digits.
  [[nodiscard]] bool add(const Decimal& value, Spread wanted, Arena& arena) {
    constexpr int64_t kNarrow = 1'000'000'000'000'000'000;
    if (flags_ == kPresent && value.scale == scale_ && value.unscaled < kNarrow && value.unscaled > -kNarrow)
        [[likely]] {
      add_narrow(static_cast<int64_t>(value.unscaled));
      return true;
    }
    return add_slowly(value, wanted, arena);
  }
  void merge(const DecimalMoments& other, Arena& arena);
  // The results have at least this scale, as if a zero of it had been among the values.
  void show_scale(int32_t scale, Arena& arena);

  uint64_t count() const { return count_; }
  // With PostgreSQL's digits: the quotient's scale by its select_div_scale, the root of the variance so
  // rounded. nullopt: its whole part has more than 38 digits. Requires: count() > 0, and > 1 for a sample.
  std::optional<Decimal> spread(Spread wanted) const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  static constexpr uint8_t kPresent = 1;
  static constexpr uint8_t kWide = 2;   // words_[0] is the address of wide sums
  static constexpr uint8_t kLarge = 4;  // a value of 10^18 or more was added: a result may leave its range

  struct Wide;

  void add_narrow(int64_t value) {
    ++count_;
    const auto wide = static_cast<__int128>(value);
    unsigned __int128 sum = (static_cast<unsigned __int128>(words_[1]) << 64) | words_[0];
    sum += static_cast<unsigned __int128>(wide);
    words_[0] = static_cast<uint64_t>(sum);
    words_[1] = static_cast<uint64_t>(sum >> 64);
    const auto square = static_cast<unsigned __int128>(wide * wide);
    const auto low = static_cast<uint64_t>(square);
    words_[2] += low;
    const unsigned __int128 high = (square >> 64) + words_[3] + (words_[2] < low ? 1 : 0);
    words_[3] = static_cast<uint64_t>(high);
    words_[4] += static_cast<uint64_t>(high >> 64);
  }
  bool add_slowly(const Decimal& value, Spread wanted, Arena& arena);
  Wide& wide() const;
  Wide& make_wide(Arena& arena);

  uint64_t count_;
  uint64_t words_[5];  // sum (two's complement), then the sum of squares, in units of 10^-scale_
  uint8_t scale_;
  uint8_t flags_;
  uint8_t unused_[6];
};
static_assert(sizeof(DecimalMoments) == 56 && std::is_trivially_copyable_v<DecimalMoments>);

}  // namespace wrackline::expr
