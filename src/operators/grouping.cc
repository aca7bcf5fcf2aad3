#include "operators/grouping.h"

#include <numeric>

namespace wrackline {
namespace {

std::vector<Type> key_types(const ViewOptions& options) {
  std::vector<Type> types;
  for (const expr::Expr* key : options.keys) types.push_back(key->type);
  return types;
}

}  // namespace

Grouping::Grouping(const ViewOptions& options) : calls_(options.aggregates), codec_(key_types(options)) {
  for (const ViewOptions::Call& call : calls_) {
    offsets_.push_back(state_bytes_);
    state_bytes_ += call.aggregate->state_bytes();
  }
}

void Grouping::merge(std::byte* into, const std::byte* from, Arena& arena) const {
  for (size_t i = 0; i < calls_.size(); ++i) {
    calls_[i].aggregate->merge(into + offsets_[i], from + offsets_[i], arena);
  }
}

void Grouping::save(const std::byte* states, SnapshotWriter& out) const {
  for (size_t i = 0; i < calls_.size(); ++i) calls_[i].aggregate->save(states + offsets_[i], out);
}

Status Grouping::restore(SnapshotReader& in, std::byte* states, Arena& arena) const {
  for (size_t i = 0; i < calls_.size(); ++i) {
    WRACKLINE_TRY(calls_[i].aggregate->restore(in, states + offsets_[i], arena));
  }
  return {};
}

void Grouping::save(const state::GroupTable& table, SnapshotWriter& out) const {
  table.save(out, [this](const std::byte* states, SnapshotWriter& to) { save(states, to); });
}

Status Grouping::restore(SnapshotReader& in, state::GroupTable& table) const {
  WRACKLINE_TRY(table.restore(in, [this](SnapshotReader& from, std::byte* states, Arena& arena) {
    return restore(from, states, arena);
  }));
  if (codec_.shape() != state::KeyShape::kBytes) return {};
  for (size_t group = 0; group < table.size(); ++group) {
    if (table.is_null_key(group) || codec_.could_have_made(table.bytes_key(group))) continue;
    in.refuse("a key is not of the view's key columns");
    break;
  }
  return in.status();
}

std::span<const uint32_t> GroupWriter::find(state::GroupTable& table, const InputColumns& columns,
                                            std::span<const uint32_t> rows) {
  grouping_.codec().encode(columns.keys, rows, encoded_);
  groups_.resize(rows.size());
  table.find_or_insert(encoded_, groups_);
  return groups_;
}

std::span<const uint32_t> GroupWriter::add(state::GroupTable& table, const InputColumns& columns,
                                           std::span<const uint32_t> rows, expr::RowErrors& errors) {
  find(table, columns, rows);
  update({table.states(), table.stride()}, table.arena(), columns, groups_, rows, errors);
  return groups_;
}

void GroupWriter::update(expr::StateRows states, Arena& arena, const InputColumns& columns,
                         std::span<const uint32_t> groups, std::span<const uint32_t> rows,
                         expr::RowErrors& errors) {
  for (size_t i = 0; i < grouping_.count(); ++i) {
    const expr::Aggregate& aggregate = grouping_.aggregate(i);
    const expr::StateRows own{states.base + grouping_.offset(i), states.stride};
    const Column* filter = columns.filters[i];
    const expr::AggregateInput input(columns.arguments[i], columns.sort_keys[i], &columns.order);
    if (filter == nullptr) {
      aggregate.update(own, groups, rows, input, arena, errors);
      continue;
    }
    filtered_rows_.clear();
    filtered_groups_.clear();
    const std::span<const uint8_t> keep = filter->values<uint8_t>();
    for (size_t k = 0; k < rows.size(); ++k) {
      if (keep[rows[k]] == 0 || filter->is_null(rows[k])) continue;
      filtered_rows_.push_back(rows[k]);
      filtered_groups_.push_back(groups[k]);
    }
    aggregate.update(own, filtered_groups_, filtered_rows_, input, arena, errors);
  }
}

std::span<const uint32_t> GroupWriter::merge(state::GroupTable& into, state::GroupTable& from,
                                             std::span<const uint32_t> groups) {
  from.export_keys(groups, encoded_);
  groups_.resize(groups.size());
  into.find_or_insert(encoded_, groups_);
  for (size_t i = 0; i < grouping_.count(); ++i) {
    const expr::Aggregate& aggregate = grouping_.aggregate(i);
    std::byte* const to = into.states() + grouping_.offset(i);
    const std::byte* const source = from.states() + grouping_.offset(i);
    for (size_t k = 0; k < groups.size(); ++k) {
      aggregate.merge(to + groups_[k] * into.stride(), source + groups[k] * from.stride(), into.arena());
    }
  }
  return groups_;
}

std::span<const uint32_t> GroupWriter::merge_all(state::GroupTable& into, state::GroupTable& from) {
  all_.resize(from.size());
  std::iota(all_.begin(), all_.end(), 0U);
  return merge(into, from, all_);
}

}  // namespace wrackline
