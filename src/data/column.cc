#include "data/column.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace wrackline {

void Arena::clear() {
  block_ = 0;
  next_ = nullptr;
  room_ = 0;
  used_ = 0;
}

void Arena::grow(size_t size) {
  while (block_ < blocks_.size() && blocks_[block_].size < size) ++block_;
  if (block_ == blocks_.size()) {
    const size_t doubled =
        blocks_.empty() ? size_t{64} << 10 : std::min(blocks_.back().size * 2, size_t{8} << 20);
    const size_t bytes = std::max(size, doubled);
    blocks_.push_back({std::make_unique_for_overwrite<char[]>(bytes), bytes});
  }
  next_ = blocks_[block_].bytes.get();
  room_ = blocks_[block_].size;
  ++block_;
}

void Column::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

void Column::resize(size_t rows) {
  const size_t width = value_bytes(type_.kind);
  if (rows * width > capacity_bytes_) {
    const size_t wanted = std::max(rows * width, capacity_bytes_ * 2);
    const size_t bytes = (wanted + 63) / 64 * 64 + 64;
    auto* grown = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
    if (grown == nullptr) throw std::bad_alloc();
    if (size_ > 0) std::memcpy(grown, bytes_.get(), size_ * width);
    bytes_.reset(grown);
    capacity_bytes_ = bytes;
  }
  if (has_nulls_) {
    valid_.resize(std::max(valid_.size(), rows));
    if (rows > size_)
      std::fill(valid_.begin() + static_cast<ptrdiff_t>(size_), valid_.begin() + static_cast<ptrdiff_t>(rows),
                uint8_t{1});
  }
  size_ = rows;
}

void Column::copy_from(const Column& other) {
  reset(other.type_);
  resize(other.size_);
  if (size_ > 0) std::memcpy(bytes_.get(), other.bytes_.get(), size_ * value_bytes(type_.kind));
  if (!other.has_nulls_) return;
  make_validity();
  std::copy_n(other.valid_.begin(), size_, valid_.begin());
}

void Column::copy_rows(size_t at, const Column& from) {
  WRACKLINE_DCHECK(at + from.size_ <= size_);
  const size_t width = value_bytes(type_.kind);
  if (from.size_ > 0) std::memcpy(bytes_.get() + at * width, from.bytes_.get(), from.size_ * width);
  if (!has_nulls_ && !from.has_nulls_) return;
  if (!has_nulls_) make_validity();
  const auto to = valid_.begin() + static_cast<ptrdiff_t>(at);
  if (from.has_nulls_) {
    std::copy_n(from.valid_.begin(), from.size_, to);
  } else {
    std::fill_n(to, from.size_, uint8_t{1});
  }
}

void Column::copy_value(size_t row, const Column& from, size_t from_row) {
  const size_t width = value_bytes(type_.kind);
  std::memcpy(bytes_.get() + row * width, from.bytes_.get() + from_row * width, width);
  if (from.is_null(from_row)) {
    set_null(row);
  } else if (has_nulls_) {
    valid_[row] = 1;
  }
}

std::span<uint8_t> Column::make_validity() {
  if (!has_nulls_) {
    valid_.resize(std::max(valid_.size(), size_));
    std::fill_n(valid_.begin(), size_, uint8_t{1});
    has_nulls_ = true;
  }
  return {valid_.data(), size_};
}

}  // namespace wrackline
