// Counts what this test program asks of the heap.
#pragma once

#include <cstddef>

namespace wrackline::expr {

size_t allocation_count();

}  // namespace wrackline::expr
