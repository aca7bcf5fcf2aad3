#include "expr/aggregate_lists.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "data/value.h"
#include "expr/arena_memory.h"
#include "expr/json_text.h"
#include "expr/sort_key.h"

namespace wrackline::expr {
namespace {

constexpr size_t kPlaceBytes = 20;  // event time, partition and offset at the end of every key

// One value of a list; its key and its text follow it.
struct Element {
  const Element* before;
  uint32_t key_bytes;
  uint32_t text_bytes;

  std::string_view key() const { return {reinterpret_cast<const char*>(this + 1), key_bytes}; }
  // The key without the place: equal for values that ORDER BY cannot tell apart.
  std::string_view sort_key() const { return key().substr(0, key_bytes - kPlaceBytes); }
  std::string_view text() const { return {reinterpret_cast<const char*>(this + 1) + key_bytes, text_bytes}; }
};

struct State {
  uint64_t latest;  // address of an Element, or 0
  uint64_t count;
};

void add(State& state, std::string_view key, std::string_view text, Arena& arena) {
  const size_t bytes = sizeof(Element) + key.size() + text.size();
  // Whole elements in one piece of zeroed memory keep the next one aligned.
  auto* element = allocate_zeroed<Element>(arena, (bytes + sizeof(Element) - 1) / sizeof(Element));
  WRACKLINE_CHECK(key.size() <= UINT32_MAX && text.size() <= UINT32_MAX, "a value of a list has 4 GB");
  *element = {address_in<const Element>(state.latest), static_cast<uint32_t>(key.size()),
              static_cast<uint32_t>(text.size())};
  char* room = reinterpret_cast<char*>(element + 1);
  std::memcpy(room, key.data(), key.size());
  if (!text.empty()) std::memcpy(room + key.size(), text.data(), text.size());
  state.latest = word_of(element);
  ++state.count;
}

class List : public Aggregate {
 public:
  explicit List(ListOptions options) : options_(std::move(options)) {}
  Type result_type() const override { return options_.form == ListForm::kJson ? Type::json() : Type::text(); }
  size_t state_bytes() const override { return sizeof(State); }
  bool needs_row_order() const override { return true; }
  size_t sort_key_count() const override { return options_.order.size(); }

  void update(StateRows states, std::span<const uint32_t> groups, std::span<const uint32_t> rows,
              const AggregateInput& input, Arena& arena, RowErrors& errors) const override {
    WRACKLINE_CHECK(input.argument != nullptr && input.order != nullptr &&
                        input.sort_keys.size() == options_.order.size(),
                    "a list needs a value, its sort keys and a place for every row");
    std::string key;
    std::string text;
    std::string scratch;
    for (size_t i = 0; i < groups.size(); ++i) {
      const uint32_t row = rows[i];
      if (options_.form == ListForm::kText && input.argument->is_null(row)) continue;
      text.clear();
      if (!append_element(text, scratch, *input.argument, row)) {
        errors.push_back({row, Reason::kUnparseable, "a JSON value cannot be written as text"});
        continue;
      }
      key.clear();
      append_key(key, input, row);
      add(*reinterpret_cast<State*>(states.at(groups[i])), key, text, arena);
    }
  }

  void merge(std::byte* into, const std::byte* from, Arena& arena) const override {
    State& state = *reinterpret_cast<State*>(into);
    const auto* element = address_in<const Element>(reinterpret_cast<const State*>(from)->latest);
    for (; element != nullptr; element = element->before) add(state, element->key(), element->text(), arena);
  }

  Status finish(StateRows states, std::span<const uint32_t> order, Column& out, Arena& arena) const override {
    out.reset(result_type());
    out.resize(order.size());
    std::vector<const Element*> elements;
    std::string text;
    for (size_t i = 0; i < order.size(); ++i) {
      gather(*reinterpret_cast<const State*>(states.at(order[i])), elements);
      if (elements.empty()) {
        out.set_null(i);
        continue;
      }
      text.clear();
      write(text, elements);
      out.values<std::string_view>()[i] = arena.copy(text);
    }
    return {};
  }

  void save(const std::byte* from, SnapshotWriter& out) const override {
    const State& state = *reinterpret_cast<const State*>(from);
    out.u64(state.count);
    const auto* element = address_in<const Element>(state.latest);
    for (; element != nullptr; element = element->before) {
      out.text(element->key());
      out.text(element->text());
    }
  }
  Status restore(SnapshotReader& in, std::byte* into, Arena& arena) const override {
    State& state = *reinterpret_cast<State*>(into);
    state = {};
    // The latest comes first, and elements are added the earliest first.
    std::vector<std::pair<std::string_view, std::string_view>> elements(in.count(2 * sizeof(uint64_t)));
    for (auto& [key, text] : elements) {
      key = in.text();
      text = in.text();
      if (key.size() < kPlaceBytes) in.refuse("a value of a list has no place");
    }
    WRACKLINE_TRY(in.status());
    for (size_t i = elements.size(); i-- > 0;) add(state, elements[i].first, elements[i].second, arena);
    return {};
  }

 private:
  void append_key(std::string& key, const AggregateInput& input, uint32_t row) const {
    for (size_t i = 0; i < options_.order.size(); ++i) {
      append_sort_key(key, *input.sort_keys[i], row, options_.order[i]);
    }
    if (options_.distinct && options_.order.empty()) append_sort_key(key, *input.argument, row, SortKey{});
    append_sorted(key, input.order->event_us[row]);
    append_sorted(key, input.order->partition(row));
    append_sorted(key, input.order->offsets[row]);
  }

  // The value as it stands in the list. False: jsonb cannot hold it.
  bool append_element(std::string& text, std::string& scratch, const Column& column, uint32_t row) const {
    if (options_.form == ListForm::kText) {
      text = column.values<std::string_view>()[row];
      return true;
    }
    if (column.is_null(row)) {
      text = "null";
      return true;
    }
    append_json(text, column, row);
    const TypeKind kind = column.type().kind;
    if (kind != TypeKind::kJson && kind != TypeKind::kDouble) return true;
    // jsonb's spelling: members sorted, no exponents.
    scratch.swap(text);
    text.clear();
    JsonPart root;
    return json_root(scratch, root) == JsonLookup::kFound && append_json_canonical(text, root);
  }

  void gather(const State& state, std::vector<const Element*>& elements) const {
    elements.clear();
    elements.reserve(state.count);
    const auto* element = address_in<const Element>(state.latest);
    for (; element != nullptr; element = element->before) elements.push_back(element);
    std::ranges::sort(elements, {}, &Element::key);
    if (!options_.distinct) return;
    const auto alike = std::ranges::unique(elements, {}, &Element::sort_key);
    elements.erase(alike.begin(), alike.end());
  }

  void write(std::string& text, const std::vector<const Element*>& elements) const {
    const bool json = options_.form == ListForm::kJson;
    if (json) text += '[';
    for (size_t i = 0; i < elements.size(); ++i) {
      if (i > 0) text += json ? std::string_view(", ") : std::string_view(options_.separator);
      text += elements[i]->text();
    }
    if (json) text += ']';
  }

  ListOptions options_;
};

}  // namespace

std::shared_ptr<const Aggregate> make_list(const Type& argument, ListOptions options) {
  if (options.form == ListForm::kText && argument.kind != TypeKind::kText) return nullptr;
  if (options.distinct && argument.kind == TypeKind::kJson) return nullptr;
  return std::make_shared<List>(std::move(options));
}

}  // namespace wrackline::expr
