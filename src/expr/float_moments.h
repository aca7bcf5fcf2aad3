// The count, exact sum and exact sum of squares of doubles: variances are rounded once, in any order.
//
// A square of 53 bits has 106: its double and the rest that rounding cut off (which a fused multiply-add
// gives exactly) go into two exact sums. Squares of values below 2^-450 would lose bits under the smallest
// double, so such values are squared after scaling, in sums of their own.
//
// Invariants: all-zero bytes are the empty state; it may be moved by copying its bytes.
// Source:     T. Dekker, "A Floating-Point Technique for Extending the Available Precision", 1971
// (two-product).
#pragma once

#include <cmath>
#include <cstdint>

#include "data/column.h"
#include "data/snapshot.h"
#include "expr/decimal_moments.h"
#include "expr/float_sum.h"

namespace wrackline::expr {

class FloatMoments {
 public:
  // Returns false, and adds nothing, if the value's square is so large (2^1022) that a variance could leave
  // the range of a double.
  [[nodiscard]] bool add(double value, Arena& arena) {
    const double size = std::fabs(value);
    if (size >= 0x1p511 && !std::isinf(value)) return false;
    sum_.add(value, arena);
    ++count_;
    if (size >= 0x1p-450 && size < 0x1p511) [[likely]] {
      add_square(value, high_, low_, arena);
    } else if (size > 0 && size < 0x1p-450) {
      Small& small = make_small(arena);
      add_square(value * kSmallScale, small.high, small.low, arena);
    }
    return true;
  }
  void merge(const FloatMoments& other, Arena& arena);

  uint64_t count() const { return count_; }
  // NaN if a value was NaN or infinite, as in PostgreSQL. Requires: count() > 0, and > 1 for a sample.
  double spread(Spread wanted) const;

  // Writes the state, and becomes what was written, in an empty one.
  void save(SnapshotWriter& out) const;
  void restore(SnapshotReader& in, Arena& arena);

 private:
  static constexpr double kSmallScale = 0x1p600;
  struct Small {
    FloatSum high;
    FloatSum low;
  };

  static void add_square(double value, FloatSum& high, FloatSum& low, Arena& arena) {
    const double square = value * value;
    high.add(square, arena);
    if (const double rest = std::fma(value, value, -square); rest != 0) low.add(rest, arena);
  }
  Small& make_small(Arena& arena);

  FloatSum sum_;
  FloatSum high_;
  FloatSum low_;
  uint64_t count_;
  uint64_t small_;  // address of a Small, or 0
};

}  // namespace wrackline::expr
