#include "expr/float_moments.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "expr/arena_memory.h"
#include "expr/wide_number.h"

namespace wrackline::expr {
namespace {

// Sums reach from 2^-2274 (squares of the smallest double, 2^600 times itself) to 2^1213 (the square of a sum
// of 2^63 values of 2^511, times 2^63): less than 4,096 bits.
using Number = WideNumber<64>;

// A sum as size * 2^exponent, without zeros below.
struct Term {
  Number size;
  int exponent = 0;
  bool negative = false;
};

Term term_of(const FloatSum& sum, int scale) {
  const FloatSum::Exact exact = sum.exact();
  Term term{Number(std::span<const uint64_t>(exact.words)), exact.exponent + scale, exact.negative};
  if (term.size.is_zero()) return term;
  const int zeros = term.size.zeros_below();
  term.size = term.size.shifted_right(zeros);
  term.exponent += zeros;
  return term;
}

// size * 2^exponent, a little more if there is a rest, rounded once to nearest, ties to even.
double to_double(const Number& size, bool rest, int exponent) {
  constexpr int kPrecision = 53;
  constexpr int kExponentMin = -1074;
  const int lowest = std::max(size.bit_count() - kPrecision, kExponentMin - exponent);
  if (lowest <= 0) return std::ldexp(static_cast<double>(static_cast<uint64_t>(size.low128())), exponent);
  auto kept = static_cast<uint64_t>(size.shifted_right(lowest).low128());
  const bool half = size.bit(lowest - 1);
  const bool below = rest || size.zeros_below() < lowest - 1;
  if (half && (below || (kept & 1) != 0)) ++kept;
  return std::ldexp(static_cast<double>(kept), exponent + lowest);
}

}  // namespace

FloatMoments::Small& FloatMoments::make_small(Arena& arena) {
  if (small_ == 0) small_ = word_of(allocate_zeroed<Small>(arena, 1));
  return *address_in<Small>(small_);
}

void FloatMoments::merge(const FloatMoments& other, Arena& arena) {
  sum_.merge(other.sum_, arena);
  high_.merge(other.high_, arena);
  low_.merge(other.low_, arena);
  count_ += other.count_;
  if (other.small_ == 0) return;
  Small& small = make_small(arena);
  const Small& more = *address_in<Small>(other.small_);
  small.high.merge(more.high, arena);
  small.low.merge(more.low, arena);
}

// (N * sum of squares - sum^2) / (N * N or N * (N - 1)) in whole numbers of one power of two; then the
// quotient, or its root, with more bits than a double has and one that says whether anything is left.
double FloatMoments::spread(Spread wanted) const {
  if (!sum_.is_finite()) return std::numeric_limits<double>::quiet_NaN();
  const Term sum = term_of(sum_, 0);
  std::vector<Term> squares = {term_of(high_, 0), term_of(low_, 0)};
  if (small_ != 0) {
    const Small& small = *address_in<Small>(small_);
    squares.push_back(term_of(small.high, -1200));
    squares.push_back(term_of(small.low, -1200));
  }
  std::erase_if(squares, [](const Term& term) { return term.size.is_zero(); });
  if (squares.empty()) return 0;
  int base = sum.size.is_zero() ? std::numeric_limits<int>::max() : 2 * sum.exponent;
  for (const Term& term : squares) base = std::min(base, term.exponent);
  Number positive;
  Number negative;
  for (const Term& term : squares) {
    Number& side = term.negative ? negative : positive;
    side = side + (Number(count_) * term.size).shifted_left(term.exponent - base);
  }
  if (!sum.size.is_zero()) {
    negative = negative + (sum.size * sum.size).shifted_left(2 * sum.exponent - base);
  }
  const Number numerator = positive - negative;
  if (numerator.is_zero()) return 0;
  const Number denominator(static_cast<unsigned __int128>(count_) * (wanted.sample ? count_ - 1 : count_));
  constexpr int kBitsWanted = 140;  // a root of them has 70
  int up = std::max(kBitsWanted + denominator.bit_count() - numerator.bit_count(), 0);
  if ((base - up) % 2 != 0) ++up;
  Number rest;
  const Number quotient = numerator.shifted_left(up).divided_by(denominator, &rest);
  if (!wanted.deviation) return to_double(quotient, !rest.is_zero(), base - up);
  const Number root = quotient.root();
  return to_double(root, !rest.is_zero() || root * root != quotient, (base - up) / 2);
}

void FloatMoments::save(SnapshotWriter& out) const {
  out.u64(count_);
  sum_.save(out);
  high_.save(out);
  low_.save(out);
  out.u8(small_ != 0 ? 1 : 0);
  if (small_ == 0) return;
  address_in<const Small>(small_)->high.save(out);
  address_in<const Small>(small_)->low.save(out);
}

void FloatMoments::restore(SnapshotReader& in, Arena& arena) {
  count_ = in.u64();
  sum_.restore(in, arena);
  high_.restore(in, arena);
  low_.restore(in, arena);
  if (in.u8() == 0) return;
  Small& small = make_small(arena);
  small.high.restore(in, arena);
  small.low.restore(in, arena);
}

}  // namespace wrackline::expr
