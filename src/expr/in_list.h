// The values of an IN list that are known before any row: found by binary search instead of one comparison
// each.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/column.h"

namespace wrackline::expr {

class InList {
 public:
  // Adds the value in row 0 of `item`. Text is borrowed.
  void add(TypeKind kind, const Column& item);
  // Makes the list ready, if it is of a kind that can be searched.
  void seal(TypeKind kind);
  bool usable() const { return usable_; }
  // out[i] = needle[i] IN list, with SQL's nulls. Requires: usable(); out has the rows of needle.
  void find(const Column& needle, Column& out) const;

 private:
  template <class T>
  void find_in(const std::vector<T>& values, const Column& needle, Column& out) const;
  bool usable_ = false;
  bool has_null_ = false;
  bool is_text_ = false;
  std::vector<int64_t> integers_;
  std::vector<std::string_view> texts_;
};

}  // namespace wrackline::expr
