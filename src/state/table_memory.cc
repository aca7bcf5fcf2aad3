#include "state/table_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace wrackline::state {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSmallPage = size_t{4} << 10;
constexpr size_t kMappedFrom = size_t{1} << 20;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Whole huge pages unless the last would add more than an eighth.
size_t mapped_size(size_t bytes) {
  const size_t huge = round_up(bytes, kHugePage);
  return huge - bytes <= bytes / 8 ? huge : round_up(bytes, kSmallPage);
}

// Address space for `size` bytes that begins where a huge page may.
std::byte* map_aligned(size_t size) {
  const size_t wide = size + kHugePage;
  void* const mapping = mmap(nullptr, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapping);
  const size_t before =
      round_up(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, wide - before - size);
  // A kernel without huge pages refuses, and the block works all the same.
  madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

TableMemory::~TableMemory() {
  release();
}

TableMemory::TableMemory(TableMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, false)) {}

TableMemory& TableMemory::operator=(TableMemory&& other) noexcept {
  if (this == &other) return *this;
  release();
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  mapped_ = std::exchange(other.mapped_, false);
  return *this;
}

void TableMemory::release() {
  if (mapped_) {
    munmap(data_, size_);
  } else {
    std::free(data_);
  }
}

TableMemory TableMemory::zeroed(size_t bytes) {
  TableMemory block;
  if (bytes >= kMappedFrom) {
    block.size_ = mapped_size(bytes);
    block.data_ = map_aligned(block.size_);
    block.mapped_ = true;
    return block;
  }
  block.data_ = static_cast<std::byte*>(std::calloc(bytes, 1));
  if (block.data_ == nullptr) throw std::bad_alloc();
  block.size_ = bytes;
  return block;
}

void TableMemory::grow(size_t bytes) {
  if (bytes <= size_) return;
  if (bytes >= kMappedFrom) return move_to_mapping(bytes);
  auto* const grown = static_cast<std::byte*>(std::realloc(data_, bytes));
  if (grown == nullptr) throw std::bad_alloc();
  data_ = grown;
  size_ = bytes;
}

void TableMemory::move_to_mapping(size_t bytes) {
  const size_t wanted = mapped_size(bytes);
  if (mapped_ && mremap(data_, size_, wanted, 0) != MAP_FAILED) {
    size_ = wanted;
    return;
  }
  TableMemory grown;
  grown.data_ = map_aligned(wanted);
  grown.size_ = wanted;
  grown.mapped_ = true;
  if (mapped_) {
    // Moved and grown in one call: two neighbouring mappings could not be moved together the next time.
    if (mremap(data_, size_, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, grown.data_) == MAP_FAILED) {
      throw std::bad_alloc();
    }
    data_ = nullptr;
    mapped_ = false;
  } else if (size_ > 0) {
    std::memcpy(grown.data_, data_, size_);
  }
  *this = std::move(grown);
}

}  // namespace wrackline::state
