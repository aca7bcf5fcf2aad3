#include "expr/wide_number.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;

}  // namespace

Wide Wide::ten_to(int exponent) {
  Wide result(1);
  const Wide ten(10);
  for (int i = 0; i < exponent; ++i) result = result * ten;
  return result;
}

bool Wide::is_zero() const {
  return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
}

int Wide::bit_count() const {
  for (int i = kWords; i-- > 0;) {
    const uint64_t word = words_[static_cast<size_t>(i)];
    if (word != 0) return 64 * (i + 1) - std::countl_zero(word);
  }
  return 0;
}

Wide Wide::shifted_left(int bits) const {
  Wide result;
  const int whole = bits / 64;
  const int part = bits % 64;
  for (int i = kWords; i-- > whole;) {
    const auto at = static_cast<size_t>(i - whole);
    uint64_t word = words_[at] << part;
    if (part != 0 && at > 0) word |= words_[at - 1] >> (64 - part);
    result.words_[static_cast<size_t>(i)] = word;
  }
  return result;
}

Wide Wide::shifted_right(int bits) const {
  Wide result;
  const int whole = bits / 64;
  const int part = bits % 64;
  for (int i = 0; i + whole < kWords; ++i) {
    const auto at = static_cast<size_t>(i + whole);
    uint64_t word = words_[at] >> part;
    if (part != 0 && at + 1 < kWords) word |= words_[at + 1] << (64 - part);
    result.words_[static_cast<size_t>(i)] = word;
  }
  return result;
}

Wide Wide::divided_by(uint64_t divisor) const {
  Wide result;
  U128 rest = 0;
  for (size_t i = kWords; i-- > 0;) {
    const U128 dividend = (rest << 64) | words_[i];
    result.words_[i] = static_cast<uint64_t>(dividend / divisor);
    rest = dividend % divisor;
  }
  return result;
}

// Schoolbook division bit by bit: slow and plainly right; nothing on a hot path divides.
Wide Wide::divided_by(const Wide& divisor, Wide* rest) const {
  WRACKLINE_CHECK(!divisor.is_zero(), "division of a wide number by zero");
  Wide quotient;
  Wide left;
  for (int i = bit_count(); i-- > 0;) {
    left = left.shifted_left(1);
    if (bit(i)) left.words_[0] |= 1;
    if (left >= divisor) {
      left = left - divisor;
      quotient.words_[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
    }
  }
  if (rest != nullptr) *rest = left;
  return quotient;
}

// Newton's iteration from above.
Wide Wide::root() const {
  if (is_zero()) return {};
  Wide guess = Wide(1).shifted_left((bit_count() + 1) / 2);
  for (;;) {
    const Wide next = (guess + divided_by(guess)).shifted_right(1);
    if (next >= guess) return guess;
    guess = next;
  }
}

Wide operator+(const Wide& a, const Wide& b) {
  Wide result;
  uint64_t carry = 0;
  for (size_t i = 0; i < Wide::kWords; ++i) {
    const U128 sum = static_cast<U128>(a.words_[i]) + b.words_[i] + carry;
    result.words_[i] = static_cast<uint64_t>(sum);
    carry = static_cast<uint64_t>(sum >> 64);
  }
  return result;
}

Wide operator-(const Wide& a, const Wide& b) {
  Wide result;
  uint64_t borrow = 0;
  for (size_t i = 0; i < Wide::kWords; ++i) {
    const U128 difference = static_cast<U128>(a.words_[i]) - b.words_[i] - borrow;
    result.words_[i] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) & 1;
  }
  return result;
}

Wide operator*(const Wide& a, const Wide& b) {
  Wide result;
  for (size_t i = 0; i < Wide::kWords; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; i + j < Wide::kWords; ++j) {
      const U128 sum = static_cast<U128>(a.words_[i]) * b.words_[j] + result.words_[i + j] + carry;
      result.words_[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
  }
  return result;
}

Wide Wide::multiply_fixed(const Wide& a, const Wide& b) {
  std::array<uint64_t, 2 * kWords> product{};
  for (size_t i = 0; i < kWords; ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < kWords; ++j) {
      const U128 sum = static_cast<U128>(a.words_[i]) * b.words_[j] + product[i + j] + carry;
      product[i + j] = static_cast<uint64_t>(sum);
      carry = static_cast<uint64_t>(sum >> 64);
    }
    product[i + kWords] = carry;
  }
  Wide result;
  std::copy_n(product.begin() + kFractionBits / 64, kWords, result.words_.begin());
  return result;
}

// The quotient's whole part, then its fraction bit by bit.
Wide Wide::divide_fixed(const Wide& a, const Wide& b) {
  Wide rest;
  Wide quotient = a.divided_by(b, &rest);
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

std::strong_ordering operator<=>(const Wide& a, const Wide& b) {
  for (size_t i = Wide::kWords; i-- > 0;) {
    if (a.words_[i] != b.words_[i]) return a.words_[i] <=> b.words_[i];
  }
  return std::strong_ordering::equal;
}

}  // namespace wrackline::expr
