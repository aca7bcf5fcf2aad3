#include "expr/allocation_count_test.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> count = 0;

}  // namespace

// Replaces the program's own; in a file of its own, so that the compiler does not look through it.
void* operator new(size_t size) {
  ++count;
  if (void* bytes = std::malloc(size == 0 ? 1 : size)) return bytes;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* bytes) noexcept {
  std::free(bytes);
}
void operator delete(void* bytes, size_t) noexcept {
  std::free(bytes);
}

namespace wrackline::expr {

size_t allocation_count() {
  return count;
}

}  // namespace wrackline::expr
