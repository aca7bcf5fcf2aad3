// The distinct values of a group: a hash set in 16 bytes of state and, beyond one number, an arena.
//
// Invariants:
//   1. All-zero bytes are the empty set; a set may be moved by copying its bytes (the old place is then
//   dead).
//   2. Which values are in it does not depend on the order in which they came. Of values that SQL calls equal
//      (1.5 and 1.50, 0 and -0) it keeps the greatest in total_order(), so that does not either.
// Cost: a number or a time 8 bytes in a table between 3/8 and 3/4 full, text 16 and its bytes, numeric and
//       interval 24. Tables that were outgrown stay in the arena: together they are as large as the last.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "base/check.h"
#include "expr/aggregate_states.h"
#include "expr/arena_memory.h"
#include "expr/value_hash.h"

namespace wrackline::expr {

// How a value lies in the table: all-zero bytes are an empty place.
template <class T>
using DistinctPlace = std::conditional_t<std::is_arithmetic_v<T>, uint64_t, Kept<T>>;

template <class T>
class DistinctSet {
 public:
  using Place = DistinctPlace<T>;

  uint64_t size() const { return uint64_t{count_} + (zero_ != 0 ? 1 : 0); }

  // True if the set holds a value equal to this one; it then keeps the greater of the two.
  bool meet(const T& value, Arena& arena) {
    if constexpr (kWord) {
      if (bits_of(value) == 0) {
        if (zero_ == 0) return false;
        zero_ = std::max(zero_, zero_mark(value));
        return true;
      }
      if (log_ == 0) return count_ != 0 && table_ == bits_of(value);
    } else if (log_ == 0) {
      return false;
    }
    Place& place = place_of(value);
    if (is_empty(place)) return false;
    if constexpr (!kWord) {
      if (total_order(value, place.get()) > 0) place.set(value, arena);
    }
    return true;
  }

  // Adds a value. Requires: !meet(value).
  void insert(const T& value, Arena& arena) {
    if constexpr (kWord) {
      if (bits_of(value) == 0) {
        zero_ = zero_mark(value);
        return;
      }
      if (log_ == 0 && count_ == 0) {
        table_ = bits_of(value);
        count_ = 1;
        return;
      }
    }
    if (log_ == 0 || uint64_t{count_} + 1 > capacity() / 4 * 3) grow(arena);
    WRACKLINE_CHECK(count_ < UINT32_MAX, "a group holds 2^32 distinct values");
    fill(place_of(value), value, arena);
    ++count_;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    if constexpr (kWord) {
      if (zero_ != 0) visit(zero_value());
      if (log_ == 0) {
        if (count_ != 0) visit(value_of(table_));
        return;
      }
    }
    if (log_ == 0) return;
    const Place* places = address_in<Place>(table_);
    for (size_t i = 0; i < capacity(); ++i) {
      if (!is_empty(places[i])) visit(value_of(places[i]));
    }
  }

  void save(SnapshotWriter& out) const {
    out.u64(size());
    for_each([&](const T& value) { save_value<T>(value, out); });
  }
  // Requires: empty.
  void restore(SnapshotReader& in, Arena& arena) {
    for (size_t left = in.count(1); left > 0; --left) {
      const T value = restore_value<T>(in);
      if (!in.failed() && meet(value, arena)) in.refuse("a distinct value stands there twice");
      if (in.failed()) return;
      insert(value, arena);
    }
  }

 private:
  static constexpr bool kWord = std::is_arithmetic_v<T>;

  static uint64_t bits_of(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<uint64_t>(plain_double(value));
    } else {
      return static_cast<uint64_t>(value);
    }
  }
  static bool is_empty(const Place& place) {
    if constexpr (kWord) {
      return place == 0;
    } else {
      return place.is_empty();
    }
  }
  static T value_of(const Place& place) {
    if constexpr (std::is_same_v<T, double>) {
      return std::bit_cast<double>(place);
    } else if constexpr (kWord) {
      return static_cast<T>(place);
    } else {
      return place.get();
    }
  }
  static void fill(Place& place, const T& value, Arena& arena) {
    if constexpr (kWord) {
      place = bits_of(value);
    } else {
      place.set(value, arena);
    }
  }
  // 1: only -0 was met; 2: another zero.
  static uint8_t zero_mark(const T& value) {
    return __builtin_signbit(static_cast<double>(value)) != 0 ? 1 : 2;
  }
  T zero_value() const {
    if constexpr (std::is_same_v<T, double>) {
      return zero_ == 1 ? -0.0 : 0.0;
    } else {
      return T{};
    }
  }

  size_t capacity() const { return size_t{1} << log_; }

  // Where the value is, or the empty place where it belongs. Requires: there is a table.
  Place& place_of(const T& value) const {
    Place* places = address_in<Place>(table_);
    const size_t last = capacity() - 1;
    size_t at = hash_value(value) >> (64 - log_);
    while (!is_empty(places[at]) && compare_values(value_of(places[at]), value) != 0) at = (at + 1) & last;
    return places[at];
  }

  void grow(Arena& arena) {
    const uint64_t old_table = table_;
    const size_t old_capacity = log_ == 0 ? 0 : capacity();
    const bool alone = log_ == 0 && count_ != 0;
    log_ = log_ == 0 ? 2 : static_cast<uint8_t>(log_ + 1);
    table_ = word_of(allocate_zeroed<Place>(arena, capacity()));
    if constexpr (kWord) {
      if (alone) place_of(value_of(old_table)) = old_table;
    }
    const Place* places = address_in<Place>(old_table);
    for (size_t i = 0; i < old_capacity; ++i) {
      if (!is_empty(places[i])) place_of(value_of(places[i])) = places[i];
    }
  }

  uint64_t table_;  // its address; or, of numbers, the only value
  uint32_t count_;  // of values whose bits are not all zero
  uint8_t log_;     // the table has 2^log_ places; 0: there is none
  uint8_t zero_;    // the value whose bits are all zero is there
  uint8_t unused_[2];
};

}  // namespace wrackline::expr
