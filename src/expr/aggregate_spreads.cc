// stddev, variance and their kin.
#include <type_traits>

#include "base/text.h"
#include "data/decimal.h"
#include "expr/aggregate_accumulator.h"
#include "expr/decimal_moments.h"
#include "expr/float_moments.h"

namespace wrackline::expr {
namespace {

template <class T>
struct SpreadOfNumbers {
  using State = DecimalMoments;
  using Input = T;
  Spread spread;

  Type result_type() const { return Type::numeric(); }
  static Decimal decimal(const T& value) {
    if constexpr (std::is_same_v<T, Decimal>) {
      return value;
    } else {
      return {value, 0};
    }
  }
  bool add(State& state, const T& value, Arena& arena) const {
    return state.add(decimal(value), spread, arena);
  }
  static void meet_equal(State& state, const T& value, Arena& arena) {
    state.show_scale(decimal(value).scale, arena);
  }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count() <= (spread.sample ? 1 : 0)) {
      out.set_null(row);
      return {};
    }
    const std::optional<Decimal> result = state.spread(spread);
    if (!result) {
      return result_too_large(spread.deviation ? "stddev" : "variance", Type::numeric(),
                              "A numeric has at most 38 digits; cast the argument to double precision.");
    }
    out.values<Decimal>()[row] = *result;
    return {};
  }
};

struct SpreadOfFloats {
  using State = FloatMoments;
  using Input = double;
  Spread spread;

  Type result_type() const { return Type::real64(); }
  static bool add(State& state, double value, Arena& arena) { return state.add(value, arena); }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count() > (spread.sample ? 1 : 0)) {
      out.values<double>()[row] = state.spread(spread);
    } else {
      out.set_null(row);
    }
    return {};
  }
};

}  // namespace

MadeAggregate make_spread(std::string_view name, const Type& argument, bool distinct) {
  const Spread spread{.deviation = name.starts_with("stddev"), .sample = !name.ends_with("_pop")};
  switch (argument.kind) {
    case TypeKind::kInteger:
      return accumulate(SpreadOfNumbers<int64_t>{spread}, distinct);
    case TypeKind::kNumeric:
      return accumulate(SpreadOfNumbers<Decimal>{spread}, distinct);
    case TypeKind::kDouble:
      return accumulate(SpreadOfFloats{spread}, distinct);
    default:
      return nullptr;
  }
}

}  // namespace wrackline::expr
