// Memory of an arena for what the states of aggregates keep outside themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "data/column.h"

namespace wrackline::expr {

// `count` objects of all-zero bytes that last as long as the arena.
template <class T>
T* allocate_zeroed(Arena& arena, size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  char* room = arena.allocate(count * sizeof(T) + alignof(T));
  room += (alignof(T) - reinterpret_cast<uintptr_t>(room) % alignof(T)) % alignof(T);
  std::memset(room, 0, count * sizeof(T));
  return reinterpret_cast<T*>(room);
}

// An address as a word of a state, and back.
template <class T>
uint64_t word_of(T* address) {
  return reinterpret_cast<uintptr_t>(address);
}
template <class T>
T* address_in(uint64_t word) {
  return reinterpret_cast<T*>(word);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace wrackline::expr
