// The values that states of aggregates hold, in a snapshot.
#pragma once

#include <string_view>
#include <type_traits>

#include "data/snapshot.h"
#include "data/types.h"

namespace wrackline::expr {

template <class T>
void save_value(const T& value, SnapshotWriter& out) {
  if constexpr (std::is_same_v<T, std::string_view>) {
    out.text(value);
  } else if constexpr (std::is_same_v<T, Decimal>) {
    out.bytes(&value.unscaled, sizeof value.unscaled);
    out.u8(static_cast<uint8_t>(value.scale));
  } else if constexpr (std::is_same_v<T, Interval>) {
    out.u32(static_cast<uint32_t>(value.months));
    out.u32(static_cast<uint32_t>(value.days));
    out.i64(value.micros);
  } else {
    static_assert(std::is_arithmetic_v<T>);
    out.bytes(&value, sizeof value);
  }
}

// Text points into the snapshot.
template <class T>
T restore_value(SnapshotReader& in) {
  T value{};
  if constexpr (std::is_same_v<T, std::string_view>) {
    value = in.text();
  } else if constexpr (std::is_same_v<T, Decimal>) {
    in.bytes(&value.unscaled, sizeof value.unscaled);
    value.scale = in.u8();
    if (value.scale > 38) {
      in.refuse("a number has more than 38 digits after the point");
      value = {};
    }
  } else if constexpr (std::is_same_v<T, Interval>) {
    value.months = static_cast<int32_t>(in.u32());
    value.days = static_cast<int32_t>(in.u32());
    value.micros = in.i64();
  } else {
    static_assert(std::is_arithmetic_v<T>);
    in.bytes(&value, sizeof value);
  }
  return value;
}

}  // namespace wrackline::expr
