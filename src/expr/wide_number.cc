#include "expr/wide_number.h"

#include <bit>
#include <cmath>

#include "base/check.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;

}  // namespace

template <int N>
WideNumber<N> WideNumber<N>::ten_to(int exponent) {
  WideNumber result(1);
  WideNumber power(10);
  for (int left = exponent; left > 0; left /= 2) {
    if (left % 2 != 0) result = result * power;
    if (left > 1) power = power * power;
  }
  return result;
}

template <int N>
size_t WideNumber<N>::word_count() const {
  size_t count = N;
  while (count > 0 && words_[count - 1] == 0) --count;
  return count;
}

template <int N>
bool WideNumber<N>::is_zero() const {
  return word_count() == 0;
}

template <int N>
int WideNumber<N>::bit_count() const {
  const size_t count = word_count();
  return count == 0 ? 0 : 64 * static_cast<int>(count) - std::countl_zero(words_[count - 1]);
}

template <int N>
int WideNumber<N>::zeros_below() const {
  size_t at = 0;
  while (at + 1 < N && words_[at] == 0) ++at;
  return 64 * static_cast<int>(at) + std::countr_zero(words_[at]);
}

template <int N>
WideNumber<N> WideNumber<N>::shifted_left(int bits) const {
  WideNumber result;
  const int whole = bits / 64;
  const int part = bits % 64;
  for (int i = N; i-- > whole;) {
    const auto at = static_cast<size_t>(i - whole);
    uint64_t word = words_[at] << part;
    if (part != 0 && at > 0) word |= words_[at - 1] >> (64 - part);
    result.words_[static_cast<size_t>(i)] = word;
  }
  return result;
}

template <int N>
WideNumber<N> WideNumber<N>::shifted_right(int bits) const {
  WideNumber result;
  const int whole = bits / 64;
  const int part = bits % 64;
  for (int i = 0; i + whole < N; ++i) {
    const auto at = static_cast<size_t>(i + whole);
    uint64_t word = words_[at] >> part;
    if (part != 0 && at + 1 < N) word |= words_[at + 1] << (64 - part);
    result.words_[static_cast<size_t>(i)] = word;
  }
  return result;
}

template <int N>
WideNumber<N> WideNumber<N>::divided_by(uint64_t divisor) const {
  WideNumber result;
  U128 rest = 0;
  for (size_t i = word_count(); i-- > 0;) {
    const U128 dividend = (rest << 64) | words_[i];
    result.words_[i] = static_cast<uint64_t>(dividend / divisor);
    rest = dividend % divisor;
  }
  return result;
}

namespace {

// One digit of algorithm D: divides the words above `u` by `v`, whose top bit is set, and leaves the rest
// there. `u` has one word more than `v`, and its upper words are less than `v`. Requires: v has two words or
// more.
uint64_t divide_digit(std::span<uint64_t> u, std::span<const uint64_t> v) {
  const size_t n = v.size();
  const U128 leading = (static_cast<U128>(u[n]) << 64) | u[n - 1];
  U128 digit = u[n] >= v[n - 1] ? ~uint64_t{0} : leading / v[n - 1];
  U128 rest = leading - digit * v[n - 1];
  // At most two too large: the second word of the divisor tells.
  while (rest >> 64 == 0 && digit * v[n - 2] > ((rest << 64) | u[n - 2])) {
    --digit;
    rest += v[n - 1];
  }
  uint64_t borrow = 0;
  uint64_t carry = 0;
  for (size_t i = 0; i < n; ++i) {
    const U128 product = digit * v[i] + carry;
    carry = static_cast<uint64_t>(product >> 64);
    const U128 difference = static_cast<U128>(u[i]) - static_cast<uint64_t>(product) - borrow;
    u[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
  const U128 top = static_cast<U128>(u[n]) - carry - borrow;
  u[n] = static_cast<uint64_t>(top);
  if (top >> 64 == 0) return static_cast<uint64_t>(digit);
  uint64_t over = 0;  // it was one too large after all: add the divisor back
  for (size_t i = 0; i < n; ++i) {
    const U128 sum = static_cast<U128>(u[i]) + v[i] + over;
    u[i] = static_cast<uint64_t>(sum);
    over = static_cast<uint64_t>(sum >> 64);
  }
  u[n] += over;
  return static_cast<uint64_t>(digit - 1);
}

}  // namespace

template <int N>
WideNumber<N> WideNumber<N>::divided_by(const WideNumber& divisor, WideNumber* rest) const {
  const size_t n = divisor.word_count();
  WRACKLINE_CHECK(n > 0, "division of a wide number by zero");
  if (*this < divisor) {
    if (rest != nullptr) *rest = *this;
    return {};
  }
  if (n == 1) {
    const WideNumber quotient = divided_by(divisor.words_[0]);
    if (rest != nullptr) *rest = *this - quotient * divisor;
    return quotient;
  }
  const size_t m = word_count();
  const int shift = std::countl_zero(divisor.words_[n - 1]);
  const WideNumber v = divisor.shifted_left(shift);
  const WideNumber low = shifted_left(shift);
  std::array<uint64_t, N + 1> u{};
  std::copy_n(low.words_.begin(), m, u.begin());
  u[m] = shift == 0 ? 0 : words_[m - 1] >> (64 - shift);
  WideNumber quotient;
  for (size_t at = m - n + 1; at-- > 0;) {
    quotient.words_[at] = divide_digit(std::span(u).subspan(at, n + 1), std::span(v.words_).first(n));
  }
  if (rest != nullptr) *rest = WideNumber(std::span<const uint64_t>(u).first(n)).shifted_right(shift);
  return quotient;
}

// Newton's iteration from above; a double's root of the leading bits is a first guess that is off by little.
template <int N>
WideNumber<N> WideNumber<N>::root() const {
  if (is_zero()) return {};
  constexpr int kLeadingBits = 104;
  const int cut = (std::max(bit_count() - kLeadingBits, 0) + 1) / 2 * 2;
  const double leading = std::sqrt(static_cast<double>(shifted_right(cut).low128()));
  WideNumber guess = WideNumber(static_cast<U128>(leading) + 2).shifted_left(cut / 2);
  for (;;) {
    const WideNumber next = (guess + divided_by(guess)).shifted_right(1);
    if (next >= guess) return guess;
    guess = next;
  }
}

template <int N>
WideNumber<N> WideNumber<N>::plus(const WideNumber& other) const {
  WideNumber result;
  uint64_t carry = 0;
  for (size_t i = 0; i < N; ++i) {
    const U128 sum = static_cast<U128>(words_[i]) + other.words_[i] + carry;
    result.words_[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
  return result;
}

template <int N>
WideNumber<N> WideNumber<N>::minus(const WideNumber& other) const {
  WideNumber result;
  uint64_t borrow = 0;
  for (size_t i = 0; i < N; ++i) {
    const U128 difference = static_cast<U128>(words_[i]) - other.words_[i] - borrow;
    result.words_[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
  return result;
}

template <int N>
WideNumber<N> WideNumber<N>::times(const WideNumber& other) const {
  WideNumber result;
  const size_t count = word_count();
  const size_t other_count = other.word_count();
  for (size_t i = 0; i < count; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; i + j < N && (j < other_count || carry != 0); ++j) {
      const uint64_t factor = j < other_count ? other.words_[j] : 0;
      const U128 sum = static_cast<U128>(words_[i]) * factor + result.words_[i + j] + carry;
      result.words_[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
  }
  return result;
}

template <int N>
WideNumber<N> WideNumber<N>::multiply_fixed(const WideNumber& a, const WideNumber& b) {
  std::array<uint64_t, 2 * N> product{};
  for (size_t i = 0; i < N; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < N; ++j) {
      const U128 sum = static_cast<U128>(a.words_[i]) * b.words_[j] + product[i + j] + carry;
      product[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    product[i + N] = carry;
  }
  WideNumber result;
  std::copy_n(product.begin() + kFractionBits / 64, N, result.words_.begin());
  return result;
}

// The quotient's whole part, then its fraction bit by bit.
template <int N>
WideNumber<N> WideNumber<N>::divide_fixed(const WideNumber& a, const WideNumber& b) {
  WideNumber rest;
  WideNumber quotient = a.divided_by(b, &rest);
  for (int i = 0; i < kFractionBits; ++i) {
    quotient = quotient.shifted_left(1);
    rest = rest.shifted_left(1);
    if (rest >= b) {
      rest = rest - b;
      quotient.words_[0] |= 1;
    }
  }
  return quotient;
}

template <int N>
std::strong_ordering WideNumber<N>::compared(const WideNumber& other) const {
  for (size_t i = N; i-- > 0;) {
    if (words_[i] != other.words_[i]) return words_[i] <=> other.words_[i];
  }
  return std::strong_ordering::equal;
}

template class WideNumber<6>;
template class WideNumber<8>;
template class WideNumber<9>;
template class WideNumber<16>;
template class WideNumber<64>;

}  // namespace wrackline::expr
