// approx_count_distinct and approx_percentile.
#include <type_traits>

#include "data/decimal.h"
#include "expr/aggregate_accumulator.h"
#include "expr/distinct_estimate.h"
#include "expr/percentile_sketch.h"
#include "expr/value_hash.h"

namespace wrackline::expr {
namespace {

template <class T>
struct EstimateOfDistinct {
  using State = DistinctEstimate;
  using Input = T;

  Type result_type() const { return Type::bigint(); }
  static bool add(State& state, const T& value, Arena& arena) {
    state.add(hash_value(value), arena);
    return true;
  }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    out.values<int64_t>()[row] = state.estimate();
    return {};
  }
};

template <class T>
struct PercentileOf {
  using State = PercentileSketch;
  using Input = T;
  Decimal fraction;

  Type result_type() const { return Type::real64(); }
  static bool add(State& state, const T& value, Arena& arena) {
    if constexpr (std::is_same_v<T, Decimal>) {
      state.add(decimal_to_double(value), arena);
    } else {
      state.add(static_cast<double>(value), arena);
    }
    return true;
  }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
    } else {
      out.values<double>()[row] = state.percentile(fraction, std::is_same_v<T, int64_t>);
    }
    return {};
  }
};

}  // namespace

MadeAggregate make_distinct_estimate(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kBoolean:
      return accumulate(EstimateOfDistinct<uint8_t>());
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return accumulate(EstimateOfDistinct<int64_t>());
    case TypeKind::kNumeric:
      return accumulate(EstimateOfDistinct<Decimal>());
    case TypeKind::kDouble:
      return accumulate(EstimateOfDistinct<double>());
    case TypeKind::kText:
      return accumulate(EstimateOfDistinct<std::string_view>());
    case TypeKind::kInterval:
      return accumulate(EstimateOfDistinct<Interval>());
    case TypeKind::kJson:
      return nullptr;
  }
  return nullptr;
}

MadeAggregate make_percentile(const Type& argument, const Decimal& fraction) {
  switch (argument.kind) {
    case TypeKind::kInteger:
      return accumulate(PercentileOf<int64_t>{fraction});
    case TypeKind::kNumeric:
      return accumulate(PercentileOf<Decimal>{fraction});
    case TypeKind::kDouble:
      return accumulate(PercentileOf<double>{fraction});
    default:
      return nullptr;
  }
}

}  // namespace wrackline::expr
