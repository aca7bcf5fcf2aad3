// A column of values of one type, and the arena that text built during a batch lives in.
//
// Shape:   row i is values<T>()[i]; a null row has valid[i] == 0 and an unspecified value.
// Owns:    its value buffer; text values point elsewhere (the batch's bytes, an Arena, a literal).
// Threads: one column belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "data/types.h"

namespace wrackline {

// Bump allocator for text. `clear` keeps the memory, so a steady stream does not allocate.
class Arena {
 public:
  // Returns `size` writable bytes that stay in place until clear().
  char* allocate(size_t size) {
    if (size > room_) grow(size);
    char* at = next_;
    next_ += size;
    room_ -= size;
    used_ += size;
    return at;
  }
  std::string_view copy(std::string_view text) {
    if (text.empty()) return {};
    char* at = allocate(text.size());
    std::memcpy(at, text.data(), text.size());
    return {at, text.size()};
  }
  void clear();
  size_t bytes() const { return used_; }

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size = 0;
  };
  void grow(size_t size);
  std::vector<Block> blocks_;
  size_t block_ = 0;  // blocks before this one are in use
  char* next_ = nullptr;
  size_t room_ = 0;
  size_t used_ = 0;
};

// Bytes per value of a kind in a column.
constexpr size_t value_bytes(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBoolean:
      return sizeof(uint8_t);
    case TypeKind::kNumeric:
      return sizeof(Decimal);
    case TypeKind::kText:
    case TypeKind::kJson:
      return sizeof(std::string_view);
    case TypeKind::kInterval:
      return sizeof(Interval);
    case TypeKind::kInteger:
    case TypeKind::kDouble:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return 8;
  }
  return 8;
}

class Column {
 public:
  Column() = default;
  explicit Column(Type type) : type_(type) {}

  const Type& type() const { return type_; }
  size_t size() const { return size_; }

  // Sets the number of rows; new rows are valid and unspecified. Keeps capacity.
  void resize(size_t rows);
  // Empties the column and gives it a type. Keeps capacity.
  void reset(Type type) {
    type_ = type;
    size_ = 0;
    has_nulls_ = false;
  }

  template <class T>
  std::span<T> values() {
    WRACKLINE_DCHECK(sizeof(T) == value_bytes(type_.kind));
    return {reinterpret_cast<T*>(bytes_.get()), size_};
  }
  template <class T>
  std::span<const T> values() const {
    WRACKLINE_DCHECK(sizeof(T) == value_bytes(type_.kind));
    return {reinterpret_cast<const T*>(bytes_.get()), size_};
  }

  // Becomes a copy of `other`: type, values and validity. Text values still point where they did.
  void copy_from(const Column& other);
  // Rows at.. become copies of all rows of a column of the same type. Requires: they exist.
  void copy_rows(size_t at, const Column& from);
  // Row `row` becomes a copy of row `from_row` of a column of the same type. Requires: both rows exist.
  void copy_value(size_t row, const Column& from, size_t from_row);

  // Validity. `has_nulls` false means that every row is valid and valid() need not be read.
  bool has_nulls() const { return has_nulls_; }
  bool is_null(size_t row) const { return has_nulls_ && valid_[row] == 0; }
  void set_null(size_t row) {
    if (!has_nulls_) make_validity();
    valid_[row] = 0;
  }
  void set_all_valid() { has_nulls_ = false; }
  // One byte a row, 1 valid and 0 null. Requires: has_nulls().
  std::span<uint8_t> valid() { return {valid_.data(), size_}; }
  std::span<const uint8_t> valid() const { return {valid_.data(), size_}; }
  // Makes the validity bytes exist (all valid) so that they can be written in a loop.
  std::span<uint8_t> make_validity();

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  Type type_;
  size_t size_ = 0;
  size_t capacity_bytes_ = 0;
  std::unique_ptr<std::byte, Free> bytes_;  // 64-byte aligned
  bool has_nulls_ = false;
  std::vector<uint8_t> valid_;
};

}  // namespace wrackline
