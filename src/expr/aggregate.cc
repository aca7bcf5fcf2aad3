#include "expr/aggregate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "data/decimal.h"
#include "expr/aggregate_states.h"
#include "expr/interval_math.h"
#include "expr/type_rules.h"

namespace wrackline::expr {
namespace {

std::unexpected<Error> too_large(std::string_view aggregate, const Type& type, std::string hint) {
  return fail(ErrorCode::kOutOfRange, format("{} is out of range for type {}", aggregate, to_string(type)),
              "The exact result of a group does not fit the type.", std::move(hint));
}

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

 private:
  static int64_t& count(std::byte* state) { return *reinterpret_cast<int64_t*>(state); }
};

// What every other aggregate shares. Law says how one value enters a state and how a state becomes a result:
//   using State, Input;
//   static bool add(State&, const Input&, Arena&);       false: it would leave the range, nothing was added
//   static void merge(State&, const State&, Arena&);
//   Status result(const State&, size_t row, Column& out, Arena&) const;   (an empty state is null)
template <class Law>
class Accumulator : public Aggregate {
 public:
  using State = typename Law::State;
  using Input = typename Law::Input;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 && alignof(State) <= 8);

  explicit Accumulator(const Type& argument) : law_(argument) {}
  Type result_type() const override { return law_.result_type(); }
  size_t state_bytes() const override { return sizeof(State); }

  void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
              const AggregateInput& input, Arena& arena, RowErrors& errors) const override {
    const Column* argument = input.argument;
    WRACKLINE_CHECK(argument != nullptr && groups.size() == rows.size(),
                    "an aggregate needs a value for every row");
    const Input* values = argument->values<Input>().data();
    const uint8_t* valid = argument->has_nulls() ? argument->valid().data() : nullptr;
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint32_t row = rows[i];
      if (valid != nullptr && valid[row] == 0) continue;
      if (!Law::add(state(states.at(groups[i])), values[row], arena)) [[unlikely]]
        refuse(row, errors);
    }
  }
  void merge(std::byte* into, const std::byte* from, Arena& arena) const override {
    Law::merge(state(into), *reinterpret_cast<const State*>(from), arena);
  }
  Status finish(StateRows states, std::span<const uint32_t> order, Column& out, Arena& arena) const override {
    out.reset(result_type());
    out.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      WRACKLINE_TRY(law_.result(state(states.at(order[i])), i, out, arena));
    }
    return {};
  }

 private:
  static State& state(std::byte* bytes) { return *reinterpret_cast<State*>(bytes); }
  void refuse(uint32_t row, RowErrors& errors) const {
    errors.push_back({row, Reason::kOutOfRange,
                      format("the result would leave the range of {}", to_string(result_type()))});
  }
  Law law_;
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
      return too_large("sum(integer)", result_type(), "Write sum(CAST(x AS bigint)), which is numeric.");
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
    return too_large("avg", Type::numeric(),
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

struct SumOfDecimals {
  using State = DecimalSum;
  using Input = Decimal;

  explicit SumOfDecimals(const Type&) {}
  Type result_type() const { return Type::numeric(); }
  static bool add(State& state, const Decimal& value, Arena&) { return state.add(value); }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
      return {};
    }
    const std::optional<Decimal> sum = state.result();
    if (!sum)
      return too_large("sum(numeric)", result_type(),
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
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.is_empty()) {
      out.set_null(row);
      return {};
    }
    const double sum = kBits == 32 ? state.result_real() : state.result();
    if (std::isinf(sum) && state.is_finite()) {
      return too_large(
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
      return too_large(kMean ? "avg(interval)" : "sum(interval)", Type::interval(),
                       "Sum extract(epoch FROM x).");
    out.values<Interval>()[row] = *result;
    return {};
  }
};

// min (kSign -1) and max (kSign 1); text by its bytes, the "C" collation.
template <class T, int kSign>
struct ExtremeOf {
  using State = Extreme<T, kSign>;
  using Input = T;
  Type type;

  explicit ExtremeOf(const Type& argument) : type(argument) {}
  Type result_type() const { return type; }
  static bool add(State& state, const T& value, Arena& arena) {
    state.add(value, arena);
    return true;
  }
  static void merge(State& into, const State& from, Arena& arena) { into.merge(from, arena); }
  Status result(const State& state, size_t row, Column& out, Arena& arena) const {
    if (state.kept.is_empty()) {
      out.set_null(row);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
      out.values<T>()[row] = arena.copy(state.kept.get());  // the state's own bytes may be written over
    } else {
      out.values<T>()[row] = state.kept.get();
    }
    return {};
  }
};

using Made = std::shared_ptr<const Aggregate>;

template <class Law>
Made make(const Type& argument) {
  return std::make_shared<Accumulator<Law>>(argument);
}

Made make_sum(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kInteger:
      return argument.bits == 64 ? make<SumOfBigints>(argument) : make<SumOfIntegers>(argument);
    case TypeKind::kNumeric:
      return make<SumOfDecimals>(argument);
    case TypeKind::kDouble:
      return argument.bits == 32 ? make<SumOfFloats<32>>(argument) : make<SumOfFloats<64>>(argument);
    case TypeKind::kInterval:
      return make<SumOfIntervals<false>>(argument);
    default:
      return nullptr;
  }
}

Made make_mean(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kInteger:
      return make<MeanOfIntegers>(argument);
    case TypeKind::kNumeric:
      return make<MeanOfDecimals>(argument);
    case TypeKind::kDouble:
      return make<MeanOfFloats>(argument);
    case TypeKind::kInterval:
      return make<SumOfIntervals<true>>(argument);
    default:
      return nullptr;
  }
}

template <int kSign>
Made make_extreme(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return make<ExtremeOf<int64_t, kSign>>(argument);
    case TypeKind::kNumeric:
      return make<ExtremeOf<Decimal, kSign>>(argument);
    case TypeKind::kDouble:
      return make<ExtremeOf<double, kSign>>(argument);
    case TypeKind::kText:
      return make<ExtremeOf<std::string_view, kSign>>(argument);
    case TypeKind::kInterval:
      return make<ExtremeOf<Interval, kSign>>(argument);
    case TypeKind::kBoolean:
    case TypeKind::kJson:
      return nullptr;
  }
  return nullptr;
}

constexpr std::array<std::string_view, 5> kNames = {"avg", "count", "max", "min", "sum"};

std::string no_aggregate_hint(std::string_view name, const Type* argument) {
  const bool sums = name == "sum" || name == "avg";
  if (argument == nullptr) return format("Only count takes *; write {}(column).", name);
  switch (argument->kind) {
    case TypeKind::kBoolean:
      return sums ? format("Write {}(CASE WHEN x THEN 1 ELSE 0 END).", name)
                  : format("Write {}(CAST(x AS integer)).", name);
    case TypeKind::kText:
      return format("Cast the text: {}(CAST(x AS numeric)).", name);
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return format("Write {}(extract(epoch FROM x)), or min(x), max(x), count(x).", name);
    case TypeKind::kJson:
      return format("Cast the value: {}(CAST(x ->> 'field' AS numeric)).", name);
    default:
      return "Cast the argument.";
  }
}

}  // namespace

Result<std::shared_ptr<const Aggregate>> make_aggregate(std::string_view name, const Type* argument) {
  if (name == "count") return std::make_shared<Count>();
  if (!is_aggregate(name)) {
    const std::string nearest = nearest_name(name, kNames);
    return fail(
        ErrorCode::kUnsupported, format("aggregate \"{}\" is not offered", name), {},
        nearest.empty() ? "Offered: avg, count, max, min, sum." : format("Did you mean \"{}\"?", nearest));
  }
  Made made;
  if (argument != nullptr) {
    made = name == "sum"   ? make_sum(*argument)
           : name == "avg" ? make_mean(*argument)
           : name == "min" ? make_extreme<-1>(*argument)
                           : make_extreme<1>(*argument);
  }
  if (made != nullptr) return made;
  const std::string given = argument == nullptr ? "*" : std::string(type_name(type_id(*argument)));
  return fail(ErrorCode::kUnsupported, format("function {}({}) does not exist", name, given), {},
              no_aggregate_hint(name, argument));
}

std::vector<std::string_view> aggregate_names() {
  return {kNames.begin(), kNames.end()};
}

bool is_aggregate(std::string_view name) {
  return std::ranges::find(kNames, name) != kNames.end();
}

}  // namespace wrackline::expr
