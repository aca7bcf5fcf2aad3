#include "expr/in_list.h"

#include <algorithm>

namespace wrackline::expr {
namespace {

bool is_integer_like(TypeKind kind) {
  return kind == TypeKind::kInteger || kind == TypeKind::kTimestamp || kind == TypeKind::kDate;
}

}  // namespace

void InList::add(TypeKind kind, const Column& item) {
  if (item.is_null(0)) {
    has_null_ = true;
  } else if (is_integer_like(kind)) {
    integers_.push_back(item.values<int64_t>()[0]);
  } else if (kind == TypeKind::kText) {
    texts_.push_back(item.values<std::string_view>()[0]);
  }
}

void InList::seal(TypeKind kind) {
  is_text_ = kind == TypeKind::kText;
  usable_ = is_text_ || is_integer_like(kind);
  std::ranges::sort(integers_);
  std::ranges::sort(texts_);
}

template <class T>
void InList::find_in(const std::vector<T>& values, const Column& needle, Column& out) const {
  const auto in = needle.values<T>();
  const auto found = out.values<uint8_t>();
  for (size_t i = 0; i < in.size(); ++i) {
    if (needle.is_null(i)) {
      out.set_null(i);
      continue;
    }
    found[i] = std::ranges::binary_search(values, in[i]) ? 1 : 0;
    if (found[i] == 0 && has_null_) out.set_null(i);
  }
}

void InList::find(const Column& needle, Column& out) const {
  if (is_text_) {
    find_in(texts_, needle, out);
  } else {
    find_in(integers_, needle, out);
  }
}

}  // namespace wrackline::expr
