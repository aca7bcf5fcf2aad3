// The functions and operators there are: one entry of a table per overload, one file per family.
//
// To add a function: write how one row is computed, add an entry to the family's table.
//   int64_t gcd(Row& row, int64_t a, int64_t b) {...}
//   {"gcd", {kInt8, kInt8}, kInt8, map<gcd>},
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "data/column.h"
#include "expr/expr.h"
#include "expr/type_rules.h"

namespace wrackline::expr {

// One call of a function over a batch.
//
// Shape: every argument and `out` has `rows` rows. The result of a strict function already has its null rows
// marked. Text results lie in `arena`, or where an argument's text lies; both outlive the result.
struct Call {
  std::span<const Column* const> args;
  size_t rows = 0;
  Column& out;
  Arena& arena;
  RowErrors& errors;

  // Lists `row` as failed and makes its result null.
  void fail(size_t row, Reason reason, std::string message);
};
using Kernel = void (*)(Call& call);

// Looks at the arguments when the expression is made: a literal that can never work is refused before any
// record is read. May be null.
using ArgumentCheck = Status (*)(std::span<const ExprPtr> args);

// What can be said of a function beside its types.
enum FunctionTraits : uint8_t {
  kPlain = 0,
  kTotal = 1,      // no row can fail, so it may run on rows whose result nobody wants
  kNotStrict = 2,  // sees null arguments; else any null argument makes a null result
  kVariadic = 4,   // the last parameter stands for one or more arguments
  kRefused = 8,    // PostgreSQL has it, we do not: `check` says why. It keeps overloads apart as there
};

struct Function {
  std::string_view name;
  std::vector<TypeId> params;
  TypeId result = TypeId::kText;
  Kernel kernel = nullptr;
  uint8_t traits = kPlain;
  ArgumentCheck check = nullptr;

  bool is_total() const { return (traits & kTotal) != 0; }
  bool is_strict() const { return (traits & kNotStrict) == 0; }
  bool is_refused() const { return (traits & kRefused) != 0; }
  bool is_variadic() const { return (traits & kVariadic) != 0; }
};

using FunctionTable = std::vector<Function>;
void add_comparison_functions(FunctionTable& table);
void add_numeric_functions(FunctionTable& table);
void add_text_functions(FunctionTable& table);
void add_time_functions(FunctionTable& table);
void add_json_functions(FunctionTable& table);

// All overloads, sorted by name; an overload stays where it is for the life of the process.
std::span<const Function> all_functions();
// The overloads of `name`, in the order of the tables.
std::span<const Function> overloads_of(std::string_view name);

// The row that a function is computing, for what it cannot say by its result.
class Row {
 public:
  explicit Row(Call& call) : call_(call) {}
  size_t index = 0;

  Arena& arena() { return call_.arena; }
  void fail(Reason reason, std::string message) { call_.fail(index, reason, std::move(message)); }
  void out_of_range(std::string_view type) { fail(Reason::kOutOfRange, std::string(type) + " out of range"); }
  void division_by_zero() { fail(Reason::kOutOfRange, "division by zero"); }
  void null() { call_.out.set_null(index); }

 private:
  Call& call_;
};

// How a C++ type lies in a column.
template <class T>
struct Storage {
  using Type = std::remove_cvref_t<T>;
};
template <>
struct Storage<bool> {
  using Type = uint8_t;
};
template <class T>
using Stored = typename Storage<T>::Type;

// map<f> is the kernel that computes f row by row. f is R(A...), R(Row&, A...) or, with a state that lives
// for one call (parsed arguments that seldom change), R(Row&, State&, A...) as map_with<f>.
template <auto F, class Signature = decltype(F)>
struct MapRows;

template <auto F, class R, class... A>
struct MapRows<F, R (*)(A...)> {
  template <size_t... I>
  static void run(Call& call, std::index_sequence<I...>) {
    const auto inputs = std::make_tuple(call.args[I]->template values<Stored<A>>().data()...);
    Stored<R>* out = call.out.values<Stored<R>>().data();
    const size_t rows = call.rows;
    if (!call.out.has_nulls()) {
      for (size_t i = 0; i < rows; ++i) out[i] = F(static_cast<A>(std::get<I>(inputs)[i])...);
      return;
    }
    const auto valid = call.out.valid();
    for (size_t i = 0; i < rows; ++i) {
      if (valid[i] != 0) out[i] = F(static_cast<A>(std::get<I>(inputs)[i])...);
    }
  }
  static void kernel(Call& call) { run(call, std::index_sequence_for<A...>{}); }
};

template <auto F, class R, class... A>
struct MapRows<F, R (*)(Row&, A...)> {
  template <size_t... I>
  static void run(Call& call, std::index_sequence<I...>) {
    const auto inputs = std::make_tuple(call.args[I]->template values<Stored<A>>().data()...);
    Stored<R>* out = call.out.values<Stored<R>>().data();
    const bool nulls = call.out.has_nulls();
    Row row(call);
    for (row.index = 0; row.index < call.rows; ++row.index) {
      if (nulls && call.out.is_null(row.index)) continue;
      out[row.index] = F(row, static_cast<A>(std::get<I>(inputs)[row.index])...);
    }
  }
  static void kernel(Call& call) { run(call, std::index_sequence_for<A...>{}); }
};

template <auto F, class Signature = decltype(F)>
struct MapRowsWith;

template <auto F, class R, class State, class... A>
struct MapRowsWith<F, R (*)(Row&, State&, A...)> {
  template <size_t... I>
  static void run(Call& call, std::index_sequence<I...>) {
    const auto inputs = std::make_tuple(call.args[I]->template values<Stored<A>>().data()...);
    Stored<R>* out = call.out.values<Stored<R>>().data();
    const bool nulls = call.out.has_nulls();
    State state{};
    Row row(call);
    for (row.index = 0; row.index < call.rows; ++row.index) {
      if (nulls && call.out.is_null(row.index)) continue;
      out[row.index] = F(row, state, static_cast<A>(std::get<I>(inputs)[row.index])...);
    }
  }
  static void kernel(Call& call) { run(call, std::index_sequence_for<A...>{}); }
};

template <auto F>
inline constexpr Kernel map = &MapRows<F>::kernel;
template <auto F>
inline constexpr Kernel map_with = &MapRowsWith<F>::kernel;

}  // namespace wrackline::expr
