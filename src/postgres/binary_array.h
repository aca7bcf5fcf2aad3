// A column of values as a one-dimensional PostgreSQL array in binary form, ready to be a parameter.
//
// Shape:   any number of elements, NULL or not. bytes() is the whole parameter.
// Threads: one array belongs to one thread at a time.
// Cost:    one append a value; clear() keeps the memory.
// Source:  the servers' array_recv and the types' own *recv functions (timestamps: microseconds since 2000;
//          numeric: digits in base 10 000).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/column.h"
#include "data/types.h"

namespace wrackline::postgres {

// PostgreSQL's name of the array's type without length or precision: "bigint[]", "numeric[]".
std::string array_type(const Type& type);

class BinaryArray {
 public:
  explicit BinaryArray(const Type& type);

  // Appends row `row` of `column`. Requires: the column has the array's type. A text is sent as it is: one
  // with a NUL byte is refused by the server.
  void append(const Column& column, size_t row);
  void append_bigint(int64_t value);        // for arrays of bigint
  void append_boolean(bool value);          // of boolean
  void append_text(std::string_view text);  // of text

  void clear();
  size_t size() const { return size_; }
  // Valid until the next append. Not text: pass it as a binary argument.
  std::string_view bytes();

 private:
  void append_null();
  void begin(int32_t value_bytes);

  Type type_;
  std::string bytes_;
  size_t size_ = 0;
  bool has_nulls_ = false;
};

}  // namespace wrackline::postgres
