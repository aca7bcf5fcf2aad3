// One block of memory that a table lies in. A large one is mapped in huge pages: fewer page faults and misses
// of the address cache when rows are met in any order, and fewer page-table entries for fork() to copy.
//
// Small blocks come from malloc. Large ones are whole pages, of 2 MB except for an end that fills such a page
// too little; they grow by moving page-table entries, not bytes.
// Threads: one block belongs to one thread.
// Cost:    2 MB of a large block cost some 250 microseconds when they are first touched, a third of what
//          small pages do. Memory that was never touched is not committed.
#pragma once

#include <cstddef>

namespace wrackline::state {

class TableMemory {
 public:
  TableMemory() = default;
  ~TableMemory();
  TableMemory(TableMemory&& other) noexcept;
  TableMemory& operator=(TableMemory&& other) noexcept;
  TableMemory(const TableMemory&) = delete;
  TableMemory& operator=(const TableMemory&) = delete;

  // A block of at least `bytes` zero bytes.
  static TableMemory zeroed(size_t bytes);

  // Grows to at least `bytes` and keeps the content; what is new is unspecified. The block may move.
  void grow(size_t bytes);

  std::byte* data() const { return data_; }
  // What there is room for: it may be more than was asked for, by at most an eighth.
  size_t size() const { return size_; }

 private:
  void release();
  void move_to_mapping(size_t bytes);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace wrackline::state
