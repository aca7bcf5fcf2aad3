// The exact sum of decimals in 24 bytes, whatever the order; it leaves its range only if the final result
// does.
//
// Invariants:
//   1. All-zero bytes are the empty sum; a sum may be moved by copying its bytes.
//   2. The scale of the result is the largest scale that was added, as in PostgreSQL.
//   3. A value that would take the sum beyond 38 digits is refused. Only a merge can go beyond; later values
//      may bring the sum back.
// Owns: nothing; a sum beyond its range keeps 40 bytes in the arena.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

#include "data/column.h"
#include "data/snapshot.h"
#include "data/types.h"

namespace wrackline::expr {

class DecimalSum {
 public:
  // Returns false, and changes nothing, if the sum would have more than 38 digits.
  [[nodiscard]] bool add(const Decimal& value) {
    if (flags_ == kPresent && value.scale == scale_) [[likely]] {
      __int128 sum = 0;
      if (__builtin_add_overflow(narrow(), value.unscaled, &sum) || !in_range(sum)) return false;
      set_narrow(sum);
      return true;
    }
    return add_slowly(value);
  }
  void merge(const DecimalSum& other, Arena& arena);

  bool is_empty() const { return flags_ == 0; }
  // nullopt: more than 38 digits.
  std::optional<Decimal> result() const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  static constexpr uint8_t kPresent = 1;
  static constexpr uint8_t kWide = 2;  // words_[0] is the address of a wide sum

  struct Wide;

  static constexpr __int128 kLimit =
      static_cast<__int128>(10'000'000'000'000'000'000U) * 10'000'000'000'000'000'000U;
  static bool in_range(__int128 sum) { return sum < kLimit && sum > -kLimit; }
  __int128 narrow() const {
    return static_cast<__int128>((static_cast<unsigned __int128>(words_[1]) << 64) | words_[0]);
  }
  void set_narrow(__int128 sum) {
    words_[0] = static_cast<uint64_t>(sum);
    words_[1] = static_cast<uint64_t>(static_cast<unsigned __int128>(sum) >> 64);
  }
  Wide* wide() const;
  Wide* make_wide(Arena& arena);
  bool add_slowly(const Decimal& value);
  bool add_narrow(__int128 unscaled, int scale);

  uint64_t words_[2];
  uint8_t scale_;
  uint8_t flags_;
  uint8_t unused_[6];
};
static_assert(sizeof(DecimalSum) == 24 && std::is_trivially_copyable_v<DecimalSum>);

}  // namespace wrackline::expr
