// Groups of an aggregate, columns and calls as text: what tests of aggregates share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/value.h"
#include "expr/aggregate.h"
#include "expr/casts.h"
#include "expr/type_rules.h"

namespace wrackline::expr {

using Made = std::shared_ptr<const Aggregate>;

// Groups of one aggregate, as a window's table would hold them.
struct Groups {
  Groups(Made made, size_t groups)
      : aggregate(std::move(made)), bytes(groups * aggregate->state_bytes() / sizeof(uint64_t)) {}
  StateRows rows() { return {reinterpret_cast<std::byte*>(bytes.data()), aggregate->state_bytes()}; }
  // Rows stand in their log as in the column.
  void add(std::span<const uint32_t> groups, std::span<const uint32_t> which, const Column* column) {
    std::vector<int64_t> times(column == nullptr ? 0 : column->size());
    std::iota(times.begin(), times.end(), 0);
    const std::vector<uint32_t> partition = {0};
    add(groups, which, column, {times, partition, times});
  }
  void add(std::span<const uint32_t> groups, std::span<const uint32_t> which, const Column* column,
           const RowOrder& order) {
    const std::vector<const Column*> keys(aggregate->sort_key_count(), column);
    aggregate->update(rows(), groups, which, {column, keys, &order}, arena, errors);
  }
  void add_all(const Column& column) {
    const std::vector<uint32_t> group(column.size(), 0);
    std::vector<uint32_t> which(column.size());
    std::iota(which.begin(), which.end(), 0U);
    add(group, which, &column);
  }
  // The text of each group's result, or the error.
  std::vector<std::string> results() {
    std::vector<uint32_t> order(bytes.size() * sizeof(uint64_t) / aggregate->state_bytes());
    std::iota(order.begin(), order.end(), 0U);
    Column out;
    const Status status = aggregate->finish(rows(), order, out, arena);
    if (!status) return {status.error().message};
    std::vector<std::string> texts(out.size());
    for (size_t i = 0; i < out.size(); ++i) {
      if (out.is_null(i)) {
        texts[i] = "NULL";
      } else {
        append_text(texts[i], out, i);
      }
    }
    return texts;
  }

  Made aggregate;
  std::vector<uint64_t> bytes;
  Arena arena;
  RowErrors errors;  // of all updates
};

inline double result_of(Groups& groups) {
  const std::vector<uint32_t> order = {0};
  Column out;
  EXPECT_TRUE(groups.aggregate->finish(groups.rows(), order, out, groups.arena).has_value());
  return out.values<double>()[0];
}

inline Made make(std::string_view name, const Type& type) {
  auto made = make_aggregate(name, &type);
  EXPECT_TRUE(made.has_value()) << name;
  return *made;
}

inline Column column_of(const Type& type, const std::vector<std::string>& texts, Arena& arena) {
  Column column(type);
  column.resize(texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == "NULL") {
      column.set_null(i);
    } else {
      set_value(column, i, *parse_literal(texts[i], type), arena);
    }
  }
  return column;
}

template <class T>
Column column_of(const Type& type, const std::vector<T>& values) {
  Column column(type);
  column.resize(values.size());
  std::ranges::copy(values, column.values<T>().begin());
  return column;
}

inline std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  size_t start = 0;
  for (size_t end = text.find(at); end != std::string::npos; end = text.find(at, start)) {
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

inline std::optional<Type> type_named(const std::string& name) {
  if (name == "numeric(10,2)") return Type{.kind = TypeKind::kNumeric, .precision = 10, .scale = 2};
  if (name == "int2") return type_of(TypeId::kInt2);
  if (name == "int4") return type_of(TypeId::kInt4);
  if (name == "int8") return type_of(TypeId::kInt8);
  if (name == "numeric") return type_of(TypeId::kNumeric);
  if (name == "float4") return type_of(TypeId::kFloat4);
  if (name == "float8") return type_of(TypeId::kFloat8);
  if (name == "text") return type_of(TypeId::kText);
  if (name == "date") return type_of(TypeId::kDate);
  if (name == "timestamp") return type_of(TypeId::kTimestamp);
  if (name == "timestamptz") return type_of(TypeId::kTimestamptz);
  if (name == "interval") return type_of(TypeId::kInterval);
  if (name == "boolean") return type_of(TypeId::kBoolean);
  if (name == "jsonb") return type_of(TypeId::kJson);
  return std::nullopt;
}

// "jsonb_agg desc nulls last": the name, and what stands in the call; string_agg's separator is "-".
inline Result<Made> make_spelled(const std::string& spelled, const Type& type) {
  const std::vector<std::string> words = split(spelled, ' ');
  const auto has = [&](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  AggregateOptions options{.distinct = has("distinct")};
  if (has("asc") || has("desc") || has("nulls")) {
    options.order = {
        {.type = type, .descending = has("desc"), .nulls_first = has("nulls") ? has("first") : has("desc")}};
  }
  if (words[0] == "string_agg") options.constants = {Value{Type::text(), std::string("-")}};
  if (words[0] == "approx_percentile") options.constants = {Value{Type::numeric(), Decimal{9, 1}}};
  return make_aggregate(words[0], &type, options);
}

}  // namespace wrackline::expr
