// The states of the aggregates: plain bytes, empty when zero, moved by copying.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "data/column.h"
#include "expr/decimal_sum.h"
#include "expr/float_sum.h"
#include "expr/ordering.h"
#include "expr/state_values.h"

namespace wrackline::expr {

// A sum of integers and whether anything was added, in one 128-bit number: twice the sum, plus one if not
// empty. 2^63 addends of 2^63 each stay below 2^126, so the bit is free.
struct IntegerSum {
  uint64_t words[2];

  __int128 raw() const {
    return static_cast<__int128>((static_cast<unsigned __int128>(words[1]) << 64) | words[0]);
  }
  void set_raw(__int128 value) {
    words[0] = static_cast<uint64_t>(value);
    words[1] = static_cast<uint64_t>(static_cast<unsigned __int128>(value) >> 64);
  }
  void add(int64_t value) { set_raw((raw() + 2 * static_cast<__int128>(value)) | 1); }
  // Returns false, and adds nothing, if the sum would not fit a bigint.
  [[nodiscard]] bool add_in_bigint(int64_t value) {
    const __int128 next = (raw() + 2 * static_cast<__int128>(value)) | 1;
    if (next >> 1 != static_cast<int64_t>(next >> 1)) return false;
    set_raw(next);
    return true;
  }
  void merge(const IntegerSum& other) {
    const __int128 mark = (raw() | other.raw()) & 1;
    set_raw(((raw() >> 1) + (other.raw() >> 1)) * 2 | mark);
  }
  bool is_empty() const { return (words[0] & 1) == 0; }
  __int128 sum() const { return raw() >> 1; }
  void save(SnapshotWriter& out) const { out.bytes(words, sizeof words); }
  void restore(SnapshotReader& in, Arena&) { in.bytes(words, sizeof words); }
};

// A sum and how many values it holds.
template <class Sum>
struct Mean {
  Sum sum;
  uint64_t count;

  void save(SnapshotWriter& out) const {
    sum.save(out);
    out.u64(count);
  }
  void restore(SnapshotReader& in, Arena& arena) {
    sum.restore(in, arena);
    count = in.u64();
  }
};

struct IntervalSum {
  int64_t months;
  int64_t days;
  uint64_t micros[2];
  uint64_t count;

  __int128 micros_sum() const {
    return static_cast<__int128>((static_cast<unsigned __int128>(micros[1]) << 64) | micros[0]);
  }
  void add_micros(__int128 value) {
    const __int128 sum = micros_sum() + value;
    micros[0] = static_cast<uint64_t>(sum);
    micros[1] = static_cast<uint64_t>(static_cast<unsigned __int128>(sum) >> 64);
  }
  bool fits() const {
    const __int128 sum = micros_sum();
    return months == static_cast<int32_t>(months) && days == static_cast<int32_t>(days) &&
           sum == static_cast<int64_t>(sum);
  }
  // Returns false, and adds nothing, if a part of the sum would not fit an interval.
  [[nodiscard]] bool add(const Interval& value) {
    const IntervalSum before = *this;
    months += value.months;
    days += value.days;
    add_micros(value.micros);
    ++count;
    if (fits()) return true;
    *this = before;
    return false;
  }
  void merge(const IntervalSum& other) {
    months += other.months;
    days += other.days;
    add_micros(other.micros_sum());
    count += other.count;
  }
  void save(SnapshotWriter& out) const {
    out.i64(months);
    out.i64(days);
    out.bytes(micros, sizeof micros);
    out.u64(count);
  }
  void restore(SnapshotReader& in, Arena&) {
    months = in.i64();
    days = in.i64();
    in.bytes(micros, sizeof micros);
    count = in.u64();
  }
};

// The order that min and max use. Values that SQL calls equal (1.5 and 1.50, 0 and -0, 30 days and 1 month)
// still have an order here, so that the result does not depend on which of them came first.
inline int total_order(uint8_t a, uint8_t b) {
  return compare_values(a, b);
}
inline int total_order(int64_t a, int64_t b) {
  return compare_values(a, b);
}
inline int total_order(std::string_view a, std::string_view b) {
  return compare_values(a, b);
}
inline int total_order(double a, double b) {
  const int order = compare_values(a, b);
  return order != 0 ? order : compare_plain(__builtin_signbit(b) != 0, __builtin_signbit(a) != 0);
}
inline int total_order(const Decimal& a, const Decimal& b) {
  const int order = compare_values(a, b);
  return order != 0 ? order : compare_plain(a.scale, b.scale);
}
inline int total_order(const Interval& a, const Interval& b) {
  if (const int order = compare_values(a, b); order != 0) return order;
  if (a.months != b.months) return compare_plain(a.months, b.months);
  return compare_plain(a.days, b.days);
}

template <class T>
struct Kept {
  T value;
  uint64_t present;

  bool is_empty() const { return present == 0; }
  T get() const { return value; }
  void set(const T& better, Arena&) {
    value = better;
    present = 1;
  }
};
template <>
struct Kept<Decimal> {
  uint64_t words[2];
  int32_t scale;
  uint32_t present;

  bool is_empty() const { return present == 0; }
  Decimal get() const {
    return {static_cast<__int128>((static_cast<unsigned __int128>(words[1]) << 64) | words[0]), scale};
  }
  void set(const Decimal& better, Arena&) {
    words[0] = static_cast<uint64_t>(better.unscaled);
    words[1] = static_cast<uint64_t>(static_cast<unsigned __int128>(better.unscaled) >> 64);
    scale = better.scale;
    present = 1;
  }
};
// The text lies in the arena. A text that fits takes the place of the one before; else its room doubles, so a
// stream of ever better values wastes at most as much as it keeps.
template <>
struct Kept<std::string_view> {
  char* bytes;
  uint32_t size;
  uint32_t capacity;

  bool is_empty() const { return bytes == nullptr; }
  std::string_view get() const { return {bytes, size}; }
  void set(std::string_view better, Arena& arena) {
    if (bytes == nullptr || better.size() > capacity) {
      capacity = static_cast<uint32_t>(better.size() < 8                      ? 8
                                       : better.size() > 2 * size_t{capacity} ? better.size()
                                                                              : 2 * capacity);
      bytes = arena.allocate(capacity);
    }
    size = static_cast<uint32_t>(better.size());
    if (size > 0) std::memcpy(bytes, better.data(), size);
  }
};

// A value that is kept, or that there is none.
template <class T>
void save_kept(const Kept<T>& kept, SnapshotWriter& out) {
  out.u8(kept.is_empty() ? 0 : 1);
  if (!kept.is_empty()) save_value<T>(kept.get(), out);
}
template <class T>
void restore_kept(Kept<T>& kept, SnapshotReader& in, Arena& arena) {
  kept = {};
  if (in.u8() != 0) kept.set(restore_value<T>(in), arena);
}

// The least (kSign -1) or greatest (kSign 1) value.
template <class T, int kSign>
struct Extreme {
  Kept<T> kept;

  void add(const T& value, Arena& arena) {
    if (kept.is_empty() || kSign * total_order(value, kept.get()) > 0) kept.set(value, arena);
  }
  void merge(const Extreme& other, Arena& arena) {
    if (!other.kept.is_empty()) add(other.kept.get(), arena);
  }
  void save(SnapshotWriter& out) const { save_kept(kept, out); }
  void restore(SnapshotReader& in, Arena& arena) { restore_kept(kept, in, arena); }
};

}  // namespace wrackline::expr
