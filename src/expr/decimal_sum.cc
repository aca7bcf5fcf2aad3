#include "expr/decimal_sum.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/check.h"
#include "data/decimal.h"

namespace wrackline::expr {
namespace {

using U128 = unsigned __int128;
constexpr int kScaleMax = 38;
constexpr size_t kWideWords = 5;  // 10^76 times 2^63 addends is below 2^316

U128 absolute(__int128 value) {
  return value < 0 ? -static_cast<U128>(value) : static_cast<U128>(value);
}

}  // namespace

// Two's complement in units of 10^-38, lowest word first.
struct DecimalSum::Wide {
  std::array<uint64_t, kWideWords> words;

  void add(const Wide& other) {
    uint64_t carry = 0;
    for (size_t i = 0; i < kWideWords; ++i) {
      const U128 total = static_cast<U128>(words[i]) + other.words[i] + carry;
      words[i] = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64);
    }
  }
  void negate() {
    uint64_t carry = 1;
    for (uint64_t& word : words) {
      const U128 total = static_cast<U128>(~word) + carry;
      word = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64);
    }
  }
  void multiply(uint64_t factor) {
    uint64_t carry = 0;
    for (uint64_t& word : words) {
      const U128 total = static_cast<U128>(word) * factor + carry;
      word = static_cast<uint64_t>(total);
      carry = static_cast<uint64_t>(total >> 64);
    }
  }
  void divide(uint64_t divisor) {
    U128 rest = 0;
    for (size_t i = kWideWords; i-- > 0;) {
      const U128 dividend = (rest << 64) | words[i];
      words[i] = static_cast<uint64_t>(dividend / divisor);
      rest = dividend % divisor;
    }
    WRACKLINE_DCHECK(rest == 0);  // no addend had a finer scale
  }

  static Wide from(__int128 unscaled, int scale) {
    const U128 size = absolute(unscaled);
    Wide result{{static_cast<uint64_t>(size), static_cast<uint64_t>(size >> 64), 0, 0, 0}};
    for (int left = kScaleMax - scale; left > 0; left -= 19) {
      result.multiply(static_cast<uint64_t>(power_of_ten(std::min(left, 19))));
    }
    if (unscaled < 0) result.negate();
    return result;
  }
};

DecimalSum::Wide* DecimalSum::wide() const {
  Wide* address = nullptr;
  std::memcpy(&address, &words_[0], sizeof address);
  return address;
}

DecimalSum::Wide* DecimalSum::make_wide(Arena& arena) {
  if ((flags_ & kWide) != 0) return wide();
  char* room = arena.allocate(sizeof(Wide) + alignof(Wide));
  room += (alignof(Wide) - reinterpret_cast<uintptr_t>(room) % alignof(Wide)) % alignof(Wide);
  Wide* made = new (room) Wide(Wide::from(narrow(), scale_));
  std::memcpy(&words_[0], &made, sizeof made);
  words_[1] = 0;
  flags_ |= kWide;
  return made;
}

// Brings sum and value to one scale and adds, if the result stays in range.
bool DecimalSum::add_narrow(__int128 unscaled, int scale) {
  __int128 sum = narrow();
  if (flags_ != 0 && scale > scale_) {
    if (__builtin_mul_overflow(sum, power_of_ten(scale - scale_), &sum)) return false;
  } else if (scale < scale_) {
    if (__builtin_mul_overflow(unscaled, power_of_ten(scale_ - scale), &unscaled)) return false;
  }
  if (__builtin_add_overflow(sum, unscaled, &sum) || !in_range(sum)) return false;
  set_narrow(sum);
  scale_ = std::max(scale_, static_cast<uint8_t>(scale));
  flags_ |= kPresent;
  return true;
}

bool DecimalSum::add_slowly(const Decimal& value) {
  if ((flags_ & kWide) == 0) return add_narrow(value.unscaled, value.scale);
  const Wide before = *wide();
  const uint8_t scale_before = scale_;
  wide()->add(Wide::from(value.unscaled, value.scale));
  scale_ = std::max(scale_, static_cast<uint8_t>(value.scale));
  if (result()) return true;
  *wide() = before;
  scale_ = scale_before;
  return false;
}

void DecimalSum::merge(const DecimalSum& other, Arena& arena) {
  if (other.is_empty()) return;
  const bool other_wide = (other.flags_ & kWide) != 0;
  if (!other_wide && (flags_ & kWide) == 0 && add_narrow(other.narrow(), other.scale_)) return;
  make_wide(arena)->add(other_wide ? *other.wide() : Wide::from(other.narrow(), other.scale_));
  scale_ = std::max(scale_, other.scale_);
  flags_ |= kPresent;
}

std::optional<Decimal> DecimalSum::result() const {
  __int128 sum = narrow();
  if ((flags_ & kWide) != 0) {
    Wide size = *wide();
    const bool negative = static_cast<int64_t>(size.words.back()) < 0;
    if (negative) size.negate();
    for (int left = kScaleMax - scale_; left > 0; left -= 19) {
      size.divide(static_cast<uint64_t>(power_of_ten(std::min(left, 19))));
    }
    if (size.words[4] != 0 || size.words[3] != 0 || size.words[2] != 0 || size.words[1] >> 63 != 0)
      return std::nullopt;
    sum = static_cast<__int128>((static_cast<U128>(size.words[1]) << 64) | size.words[0]);
    if (negative) sum = -sum;
  }
  if (!in_range(sum)) return std::nullopt;
  return Decimal{sum, scale_};
}

void DecimalSum::save(SnapshotWriter& out) const {
  out.u8(flags_);
  out.u8(scale_);
  if ((flags_ & kWide) != 0) {
    out.bytes(wide()->words.data(), sizeof wide()->words);
  } else {
    out.bytes(words_, sizeof words_);
  }
}

void DecimalSum::restore(SnapshotReader& in, Arena& arena) {
  flags_ = in.u8();
  scale_ = in.u8();
  if (scale_ > kScaleMax || flags_ > (kPresent | kWide)) in.refuse("a sum has marks that no sum has");
  if (in.failed()) {
    *this = {};
    return;
  }
  if ((flags_ & kWide) == 0) {
    in.bytes(words_, sizeof words_);
    return;
  }
  const uint8_t flags = flags_;
  flags_ = 0;
  Wide* const made = make_wide(arena);
  in.bytes(made->words.data(), sizeof made->words);
  flags_ = flags;
}

}  // namespace wrackline::expr
