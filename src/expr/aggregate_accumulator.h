// What most aggregates share: one plain loop over rows, around a Law that says how a value enters a state and
// how a state becomes a result.
//
//   using State;                                         trivially copyable, empty when all bytes are zero
//   using Input;                                         what the argument's column holds
//   Type result_type() const;
//   bool add(State&, const Input&, Arena&) const;        false: it would leave the range, nothing was added
//   void merge(State&, const State&, Arena&) const;
//   Status result(const State&, size_t row, Column& out, Arena&) const;   (an empty state is null)
// and, where DISTINCT can be asked for and the spelling of equal values shows in the result:
//   void meet_equal(State&, const Input&, Arena&) const; a value equal to one that was added
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/text.h"
#include "expr/aggregate.h"
#include "expr/distinct_set.h"

namespace wrackline::expr {

using MadeAggregate = std::shared_ptr<const Aggregate>;

inline std::unexpected<Error> result_too_large(std::string_view aggregate, const Type& type,
                                               std::string hint) {
  return fail(ErrorCode::kOutOfRange, format("{} is out of range for type {}", aggregate, to_string(type)),
              "The exact result of a group does not fit the type.", std::move(hint));
}

template <class Law>
class Accumulator : public Aggregate {
 public:
  using State = typename Law::State;
  using Input = typename Law::Input;
  static_assert(std::is_trivially_copyable_v<State> && sizeof(State) % 8 == 0 && alignof(State) <= 8);

  explicit Accumulator(Law law) : law_(std::move(law)) {}
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
      if (!law_.add(state(states.at(groups[i])), values[row], arena)) [[unlikely]]
        refuse(row, errors);
    }
  }
  void merge(std::byte* into, const std::byte* from, Arena& arena) const override {
    law_.merge(state(into), *reinterpret_cast<const State*>(from), arena);
  }
  Status finish(StateRows states, std::span<const uint32_t> order, Column& out, Arena& arena) const override {
    out.reset(result_type());
    out.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      WRACKLINE_TRY(law_.result(state(states.at(order[i])), i, out, arena));
    }
    return {};
  }
  void save(const std::byte* from, SnapshotWriter& out) const override {
    reinterpret_cast<const State*>(from)->save(out);
  }
  Status restore(SnapshotReader& in, std::byte* into, Arena& arena) const override {
    state(into) = {};
    state(into).restore(in, arena);
    return in.status();
  }

 private:
  static State& state(std::byte* bytes) { return *reinterpret_cast<State*>(bytes); }
  void refuse(uint32_t row, RowErrors& errors) const {
    errors.push_back({row, Reason::kOutOfRange,
                      format("the result would leave the range of {}", to_string(result_type()))});
  }
  Law law_;
};

// The law of the same aggregate over distinct values: a value enters the sum the first time that it is met.
template <class Law>
class OfDistinct {
 public:
  using Input = typename Law::Input;
  struct State {
    DistinctSet<Input> seen;
    typename Law::State sum;

    void save(SnapshotWriter& out) const {
      seen.save(out);
      sum.save(out);
    }
    void restore(SnapshotReader& in, Arena& arena) {
      seen.restore(in, arena);
      sum.restore(in, arena);
    }
  };

  explicit OfDistinct(Law law) : law_(std::move(law)) {}
  Type result_type() const { return law_.result_type(); }
  bool add(State& state, const Input& value, Arena& arena) const {
    if (state.seen.meet(value, arena)) {
      meet_equal(state, value, arena);
      return true;
    }
    if (!law_.add(state.sum, value, arena)) return false;
    state.seen.insert(value, arena);
    return true;
  }
  void merge(State& into, const State& from, Arena& arena) const {
    from.seen.for_each([&](const Input& value) {
      if (into.seen.meet(value, arena)) return meet_equal(into, value, arena);
      into.seen.insert(value, arena);
      // Through a state of its own: sums of merged parts may leave their range on the way, added values not.
      typename Law::State alone{};
      const bool added = law_.add(alone, value, arena);
      WRACKLINE_CHECK(added, "a value that was added before fits a sum of its own");
      law_.merge(into.sum, alone, arena);
    });
  }
  Status result(const State& state, size_t row, Column& out, Arena& arena) const {
    return law_.result(state.sum, row, out, arena);
  }

 private:
  void meet_equal(State& state, const Input& value, Arena& arena) const {
    if constexpr (requires { law_.meet_equal(state.sum, value, arena); }) {
      law_.meet_equal(state.sum, value, arena);
    }
  }
  Law law_;
};

template <class Law>
MadeAggregate accumulate(Law law) {
  return std::make_shared<Accumulator<Law>>(std::move(law));
}
template <class Law>
MadeAggregate accumulate(Law law, bool distinct) {
  if (distinct) return accumulate(OfDistinct<Law>(std::move(law)));
  return accumulate(std::move(law));
}

// One maker a family. Null: there is no such aggregate of this type.
MadeAggregate make_count(const Type* argument, bool distinct);
MadeAggregate make_sum(const Type& argument, bool distinct);
MadeAggregate make_mean(const Type& argument, bool distinct);
MadeAggregate make_extreme(const Type& argument, bool greatest);
MadeAggregate make_spread(std::string_view name, const Type& argument, bool distinct);
MadeAggregate make_verdict(std::string_view name, const Type& argument);
MadeAggregate make_edge(const Type& argument, bool last);
MadeAggregate make_distinct_estimate(const Type& argument);
MadeAggregate make_percentile(const Type& argument, const Decimal& fraction);

}  // namespace wrackline::expr
