// count, sum and avg.
#include <cmath>
#include <optional>

#include "base/text.h"
#include "data/decimal.h"
#include "expr/aggregate_accumulator.h"
#include "expr/aggregate_states.h"
#include "expr/interval_math.h"

namespace wrackline::expr {
namespace {

// count(*) and count(x).
class Count : public Aggregate {
 public:
  Type result_type() const override { return Type::bigint(); }
  size_t state_bytes() const override { return sizeof(int64_t); }

  void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
              const AggregateInput& input, Arena&, RowErrors&) const override {
    const Column* argument = input.argument;
    if (argument == nullptr || !argument->has_nulls()) {
      for (const uint32_t group : groups) ++count(states.at(group));
      return;
    }
    const auto valid = argument->valid();
    for (size_t i = 0; i < groups.size(); ++i) count(states.at(groups[i])) += valid[rows[i]];
  }
  void merge(std::byte* into, const std::byte* from, Arena&) const override {
    count(into) += *reinterpret_cast<const int64_t*>(from);
  }
  Status finish(StateRows states, std::span<const uint32_t> order, Column& out, Arena&) const override {
    out.reset(result_type());
    out.resize(order.size());
    const auto values = out.values<int64_t>();
    for (size_t i = 0; i < order.size(); ++i) values[i] = count(states.at(order[i]));
    return {};
  }
  void save(const std::byte* state, SnapshotWriter& out) const override {
    out.i64(*reinterpret_cast<const int64_t*>(state));
  }
  Status restore(SnapshotReader& in, std::byte* state, Arena&) const override {
    count(state) = in.i64();
    return in.status();
  }

 private:
  static int64_t& count(std::byte* state) { return *reinterpret_cast<int64_t*>(state); }
};

// count(DISTINCT x), around a set.
template <class T>
struct CountOf {
  struct State {
    int64_t count;

    void save(SnapshotWriter& out) const { out.i64(count); }
    void restore(SnapshotReader& in, Arena&) { count = in.i64(); }
  };
  using Input = T;

  Type result_type() const { return Type::bigint(); }
  static bool add(State& state, const T&, Arena&) {
    ++state.count;
    return true;
  }
  static void merge(State& into, const State& from, Arena&) { into.count += from.count; }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    out.values<int64_t>()[row] = state.count;
    return {};
  }
};

// sum(smallint), sum(integer) -> bigint.
struct SumOfIntegers {
  using State = IntegerSum;
  using Input = int64_t;

  explicit SumOfIntegers(const Type&) {}
  Type result_type() const { return Type::bigint(); }
  static bool add(State& state, int64_t value, Arena&) { return state.add_in_bigint(value); }
  static void merge(State& into, const State& from, Arena&) { into.merge(from); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
      return {};
    }
    const __int128 sum = state.sum();
    if (sum != static_cast<int64_t>(sum)) {
      return result_too_large("sum(integer)", result_type(),
                              "Write sum(CAST(x AS bigint)), which is numeric.");
    }
    out.values<int64_t>()[row] = static_cast<int64_t>(sum);
    return {};
  }
};

// sum(bigint) -> numeric, which holds every sum that the state can.
struct SumOfBigints {
  using State = IntegerSum;
  using Input = int64_t;

  explicit SumOfBigints(const Type&) {}
  Type result_type() const { return Type::numeric(); }
  static bool add(State& state, int64_t value, Arena&) {
    state.add(value);
    return true;
  }
  static void merge(State& into, const State& from, Arena&) { into.merge(from); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
    } else {
      out.values<Decimal>()[row] = {state.sum(), 0};
    }
    return {};
  }
};

// Sets row `row` of `out` to sum / count with PostgreSQL's scale.
Status set_mean(std::optional<Decimal> sum, uint64_t count, size_t row, Column& out) {
  const auto mean = sum ? divide(*sum, decimal_from_int(static_cast<int64_t>(count))) : std::nullopt;
  if (!mean) {
    return result_too_large(
        "avg", Type::numeric(),
        "A numeric has at most 38 digits; avg(CAST(x AS double precision)) has no such limit.");
  }
  out.values<Decimal>()[row] = *mean;
  return {};
}

struct MeanOfIntegers {
  using State = Mean<IntegerSum>;
  using Input = int64_t;

  explicit MeanOfIntegers(const Type&) {}
  Type result_type() const { return Type::numeric(); }
  static bool add(State& state, int64_t value, Arena&) {
    state.sum.add(value);
    ++state.count;
    return true;
  }
  static void merge(State& into, const State& from, Arena&) {
    into.sum.merge(from.sum);
    into.count += from.count;
  }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count > 0) return set_mean(Decimal{state.sum.sum(), 0}, state.count, row, out);
    out.set_null(row);
    return {};
  }
};

// With DISTINCT only one of 1.5 and 1.50 is added, but the result has the larger scale whichever it was; and
// 0 and -0 together are 0. A scale that leaves no room for the sum's digits stays out.
void show_scale(DecimalSum& sum, int32_t scale) {
  (void)sum.add({0, scale});
}
void show_sign(FloatSum& sum, double value, Arena& arena) {
  if (value == 0) sum.add(value, arena);
}

struct SumOfDecimals {
  using State = DecimalSum;
  using Input = Decimal;

  explicit SumOfDecimals(const Type&) {}
  Type result_type() const { return Type::numeric(); }
  static bool add(State& state, const Decimal& value, Arena&) { return state.add(value); }
  static void meet_equal(State& state, const Decimal& value, Arena&) { show_scale(state, value.scale); }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
      return {};
    }
    const std::optional<Decimal> sum = state.result();
    if (!sum)
      return result_too_large("sum(numeric)", result_type(),
                              "A numeric has at most 38 digits; cast to double precision for larger sums.");
    out.values<Decimal>()[row] = *sum;
    return {};
  }
};

struct MeanOfDecimals {
  using State = Mean<DecimalSum>;
  using Input = Decimal;

  explicit MeanOfDecimals(const Type&) {}
  Type result_type() const { return Type::numeric(); }
  static bool add(State& state, const Decimal& value, Arena&) {
    const bool added = state.sum.add(value);
    state.count += added ? 1 : 0;
    return added;
  }
  static void meet_equal(State& state, const Decimal& value, Arena&) { show_scale(state.sum, value.scale); }
  static void merge(State& into, const State& from, Arena& arena) {
    into.sum.merge(from.sum, arena);
    into.count += from.count;
  }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count > 0) return set_mean(state.sum.result(), state.count, row, out);
    out.set_null(row);
    return {};
  }
};

// sum(real) -> real, sum(double precision) -> double precision: rounded once, to the type of the result.
template <int kBits>
struct SumOfFloats {
  using State = FloatSum;
  using Input = double;
  Type type;

  explicit SumOfFloats(const Type& argument) : type(argument) {}
  Type result_type() const { return type; }
  static bool add(State& state, double value, Arena& arena) {
    return state.add_in_range<kBits>(value, arena);
  }
  static void meet_equal(State& state, double value, Arena& arena) { show_sign(state, value, arena); }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
      return {};
    }
    const double sum = kBits == 32 ? state.result_real() : state.result();
    if (std::isinf(sum) && state.is_finite()) {
      return result_too_large(
          "sum", type,
          kBits == 32 ? "Write sum(CAST(x AS double precision))." : "Scale the values down first.");
    }
    out.values<double>()[row] = sum;
    return {};
  }
};

struct MeanOfFloats {
  using State = Mean<FloatSum>;
  using Input = double;

  explicit MeanOfFloats(const Type&) {}
  Type result_type() const { return Type::real64(); }
  static bool add(State& state, double value, Arena& arena) {
    state.sum.add(value, arena);
    ++state.count;
    return true;
  }
  static void meet_equal(State& state, double value, Arena& arena) { show_sign(state.sum, value, arena); }
  static void merge(State& into, const State& from, Arena& arena) {
    into.sum.merge(from.sum, arena);
    into.count += from.count;
  }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count > 0) {
      out.values<double>()[row] = state.sum.mean(state.count);
    } else {
      out.set_null(row);
    }
    return {};
  }
};

template <bool kMean>
struct SumOfIntervals {
  using State = IntervalSum;
  using Input = Interval;

  explicit SumOfIntervals(const Type&) {}
  Type result_type() const { return Type::interval(); }
  static bool add(State& state, const Interval& value, Arena&) { return state.add(value); }
  static void merge(State& into, const State& from, Arena&) { into.merge(from); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.count == 0) {
      out.set_null(row);
      return {};
    }
    std::optional<Interval> result;
    if (state.fits()) {
      result = Interval{static_cast<int32_t>(state.months), static_cast<int32_t>(state.days),
                        static_cast<int64_t>(state.micros_sum())};
    }
    if (kMean && result) result = divide(*result, static_cast<double>(state.count));
    if (!result)
      return result_too_large(kMean ? "avg(interval)" : "sum(interval)", Type::interval(),
                              "Sum extract(epoch FROM x).");
    out.values<Interval>()[row] = *result;
    return {};
  }
};

template <class T>
MadeAggregate count_distinct() {
  return accumulate(OfDistinct<CountOf<T>>({}));
}

}  // namespace

MadeAggregate make_count(const Type* argument, bool distinct) {
  if (!distinct) return std::make_shared<Count>();
  if (argument == nullptr) return nullptr;
  switch (argument->kind) {
    case TypeKind::kBoolean:
      return count_distinct<uint8_t>();
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return count_distinct<int64_t>();
    case TypeKind::kNumeric:
      return count_distinct<Decimal>();
    case TypeKind::kDouble:
      return count_distinct<double>();
    case TypeKind::kText:
      return count_distinct<std::string_view>();
    case TypeKind::kInterval:
      return count_distinct<Interval>();
    case TypeKind::kJson:
      return nullptr;
  }
  return nullptr;
}

MadeAggregate make_sum(const Type& argument, bool distinct) {
  switch (argument.kind) {
    case TypeKind::kInteger:
      return argument.bits == 64 ? accumulate(SumOfBigints(argument), distinct)
                                 : accumulate(SumOfIntegers(argument), distinct);
    case TypeKind::kNumeric:
      return accumulate(SumOfDecimals(argument), distinct);
    case TypeKind::kDouble:
      return argument.bits == 32 ? accumulate(SumOfFloats<32>(argument), distinct)
                                 : accumulate(SumOfFloats<64>(argument), distinct);
    case TypeKind::kInterval:
      return distinct ? nullptr : accumulate(SumOfIntervals<false>(argument));
    default:
      return nullptr;
  }
}

MadeAggregate make_mean(const Type& argument, bool distinct) {
  switch (argument.kind) {
    case TypeKind::kInteger:
      return accumulate(MeanOfIntegers(argument), distinct);
    case TypeKind::kNumeric:
      return accumulate(MeanOfDecimals(argument), distinct);
    case TypeKind::kDouble:
      return accumulate(MeanOfFloats(argument), distinct);
    case TypeKind::kInterval:
      return distinct ? nullptr : accumulate(SumOfIntervals<true>(argument));
    default:
      return nullptr;
  }
}

}  // namespace wrackline::expr
