// Aggregates that pick one of the values: min, max, first, last; and bool_and, bool_or, every.
#include "base/text.h"
#include "expr/aggregate_accumulator.h"
#include "expr/aggregate_states.h"

namespace wrackline::expr {
namespace {

// Row `row` becomes the kept value. Text is copied: the state's own bytes may be written over.
template <class T>
void set_kept(const Kept<T>& kept, size_t row, Column& out, Arena& arena) {
  if (kept.is_empty()) {
    out.set_null(row);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    out.values<T>()[row] = arena.copy(kept.get());
  } else {
    out.values<T>()[row] = kept.get();
  }
}

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
    set_kept(state.kept, row, out, arena);
    return {};
  }
};

// bool_and, every and bool_or: which of the two values was met.
struct VerdictOf {
  struct State {
    uint64_t met;  // bit 0: false, bit 1: true

    void save(SnapshotWriter& out) const { out.u64(met); }
    void restore(SnapshotReader& in, Arena&) { met = in.u64(); }
  };
  using Input = uint8_t;
  bool all = false;  // else: any

  Type result_type() const { return Type::boolean(); }
  static bool add(State& state, uint8_t value, Arena&) {
    state.met |= uint64_t{1} << value;
    return true;
  }
  static void merge(State& into, const State& from, Arena&) { into.met |= from.met; }
  Status result(const State& state, size_t row, Column& out, Arena&) const {
    if (state.met == 0) {
      out.set_null(row);
    } else {
      out.values<uint8_t>()[row] = static_cast<uint8_t>(all ? (state.met & 1) == 0 : (state.met & 2) != 0);
    }
    return {};
  }
};

// A record's place: by event time, then partition, then offset. No two records of a view have the same.
struct PlaceInLog {
  int64_t event_us;
  int64_t offset;
  uint32_t partition;
  uint32_t unused;
};
int compare_places(const PlaceInLog& a, const PlaceInLog& b) {
  if (const int order = compare_plain(a.event_us, b.event_us); order != 0) return order;
  if (const int order = compare_plain(a.partition, b.partition); order != 0) return order;
  return compare_plain(a.offset, b.offset);
}

// first (kSign -1) and last (kSign 1).
template <class T, int kSign>
class EdgeOf : public Aggregate {
 public:
  explicit EdgeOf(const Type& type) : type_(type) {}
  Type result_type() const override { return type_; }
  size_t state_bytes() const override { return sizeof(State); }
  bool needs_row_order() const override { return true; }

  void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
              const AggregateInput& input, Arena& arena, RowErrors&) const override {
    WRACKLINE_CHECK(input.argument != nullptr && input.order != nullptr,
                    "first and last need a value and a place for every row");
    const Column& argument = *input.argument;
    const RowOrder& order = *input.order;
    const auto values = argument.values<T>();
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint32_t row = rows[i];
      if (argument.is_null(row)) continue;
      const PlaceInLog place{order.event_us[row], order.offsets[row], order.partition(row), 0};
      add(state(states.at(groups[i])), place, values[row], arena);
    }
  }
  void merge(std::byte* into, const std::byte* from, Arena& arena) const override {
    const State& other = *reinterpret_cast<const State*>(from);
    if (!other.kept.is_empty()) add(state(into), other.place, other.kept.get(), arena);
  }
  Status finish(StateRows states, std::span<const uint32_t> order, Column& out, Arena& arena) const override {
    out.reset(type_);
    out.resize(order.size());
    for (size_t i = 0; i < order.size(); ++i) set_kept(state(states.at(order[i])).kept, i, out, arena);
    return {};
  }
  void save(const std::byte* from, SnapshotWriter& out) const override {
    const State& saved = *reinterpret_cast<const State*>(from);
    out.i64(saved.place.event_us);
    out.i64(saved.place.offset);
    out.u32(saved.place.partition);
    save_kept(saved.kept, out);
  }
  Status restore(SnapshotReader& in, std::byte* into, Arena& arena) const override {
    State& restored = state(into);
    restored.place.event_us = in.i64();
    restored.place.offset = in.i64();
    restored.place.partition = in.u32();
    restored.place.unused = 0;
    restore_kept(restored.kept, in, arena);
    return in.status();
  }

 private:
  struct State {
    PlaceInLog place;
    Kept<T> kept;
  };
  static State& state(std::byte* bytes) { return *reinterpret_cast<State*>(bytes); }
  // Two values of one place can only come from the same record twice, yet the result must not say which.
  static void add(State& state, const PlaceInLog& place, const T& value, Arena& arena) {
    if (!state.kept.is_empty()) {
      const int order = compare_places(place, state.place);
      if (kSign * (order != 0 ? order : total_order(value, state.kept.get())) <= 0) return;
    }
    state.place = place;
    state.kept.set(value, arena);
  }
  Type type_;
};

template <int kSign>
MadeAggregate edge_of(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kBoolean:
      return std::make_shared<EdgeOf<uint8_t, kSign>>(argument);
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return std::make_shared<EdgeOf<int64_t, kSign>>(argument);
    case TypeKind::kNumeric:
      return std::make_shared<EdgeOf<Decimal, kSign>>(argument);
    case TypeKind::kDouble:
      return std::make_shared<EdgeOf<double, kSign>>(argument);
    case TypeKind::kText:
    case TypeKind::kJson:
      return std::make_shared<EdgeOf<std::string_view, kSign>>(argument);
    case TypeKind::kInterval:
      return std::make_shared<EdgeOf<Interval, kSign>>(argument);
  }
  return nullptr;
}

template <int kSign>
MadeAggregate extreme_of(const Type& argument) {
  switch (argument.kind) {
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return accumulate(ExtremeOf<int64_t, kSign>(argument));
    case TypeKind::kNumeric:
      return accumulate(ExtremeOf<Decimal, kSign>(argument));
    case TypeKind::kDouble:
      return accumulate(ExtremeOf<double, kSign>(argument));
    case TypeKind::kText:
      return accumulate(ExtremeOf<std::string_view, kSign>(argument));
    case TypeKind::kInterval:
      return accumulate(ExtremeOf<Interval, kSign>(argument));
    case TypeKind::kBoolean:
    case TypeKind::kJson:
      return nullptr;
  }
  return nullptr;
}

}  // namespace

MadeAggregate make_extreme(const Type& argument, bool greatest) {
  return greatest ? extreme_of<1>(argument) : extreme_of<-1>(argument);
}

MadeAggregate make_verdict(std::string_view name, const Type& argument) {
  if (argument.kind != TypeKind::kBoolean) return nullptr;
  return accumulate(VerdictOf{.all = name != "bool_or"});
}

MadeAggregate make_edge(const Type& argument, bool last) {
  return last ? edge_of<1>(argument) : edge_of<-1>(argument);
}

}  // namespace wrackline::expr
