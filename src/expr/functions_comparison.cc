// = <> < <= > >= over every ordered type, and GREATEST and LEAST.
#include "expr/functions.h"
#include "expr/ordering.h"

namespace wrackline::expr {
namespace {

using enum TypeId;

template <class T, class Op>
bool compares(T a, T b) {
  return Op::apply(a, b);
}
template <class T, class Op>
bool compares_by_reference(const T& a, const T& b) {
  return Op::apply(a, b);
}

template <class Op>
void add_comparison(FunctionTable& table, std::string_view name) {
  const auto add = [&](TypeId left, TypeId right, Kernel kernel) {
    table.push_back({name, {left, right}, kBoolean, kernel, kTotal});
  };
  // Integers and floats of different widths lie alike in a column, so one kernel serves every pair.
  for (const TypeId left : {kInt2, kInt4, kInt8}) {
    for (const TypeId right : {kInt2, kInt4, kInt8}) add(left, right, map<compares<int64_t, Op>>);
  }
  for (const TypeId left : {kFloat4, kFloat8}) {
    for (const TypeId right : {kFloat4, kFloat8}) add(left, right, map<compares<double, Op>>);
  }
  for (const TypeId time : {kDate, kTimestamp, kTimestamptz}) add(time, time, map<compares<int64_t, Op>>);
  add(kBoolean, kBoolean, map<compares<uint8_t, Op>>);
  add(kText, kText, map<compares<std::string_view, Op>>);
  add(kNumeric, kNumeric, map<compares_by_reference<Decimal, Op>>);
  add(kInterval, kInterval, map<compares_by_reference<Interval, Op>>);
}

// Nulls are passed over; the result is null only if all arguments are.
template <class T, class Op>
void extreme(Call& call) {
  const auto out = call.out.values<T>();
  for (size_t i = 0; i < call.rows; ++i) {
    const T* best = nullptr;
    for (const Column* argument : call.args) {
      if (argument->is_null(i)) continue;
      const T& candidate = argument->values<T>()[i];
      if (best == nullptr || Op::apply(candidate, *best)) best = &candidate;
    }
    if (best == nullptr) {
      call.out.set_null(i);
    } else {
      out[i] = *best;
    }
  }
}

template <class Op>
void add_extreme(FunctionTable& table, std::string_view name) {
  const auto add = [&](TypeId type, Kernel kernel) {
    table.push_back({name, {type}, type, kernel, kTotal | kNotStrict | kVariadic});
  };
  for (const TypeId type : {kInt2, kInt4, kInt8, kDate, kTimestamp, kTimestamptz})
    add(type, extreme<int64_t, Op>);
  for (const TypeId type : {kFloat4, kFloat8}) add(type, extreme<double, Op>);
  add(kBoolean, extreme<uint8_t, Op>);
  add(kText, extreme<std::string_view, Op>);
  add(kNumeric, extreme<Decimal, Op>);
  add(kInterval, extreme<Interval, Op>);
}

}  // namespace

void add_comparison_functions(FunctionTable& table) {
  add_comparison<Equal>(table, "=");
  add_comparison<NotEqual>(table, "<>");
  add_comparison<Less>(table, "<");
  add_comparison<LessEqual>(table, "<=");
  add_comparison<Greater>(table, ">");
  add_comparison<GreaterEqual>(table, ">=");
  add_extreme<Greater>(table, "greatest");
  add_extreme<Less>(table, "least");
}

}  // namespace wrackline::expr
