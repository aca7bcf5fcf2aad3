#include "operators/projection.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "data/time_text.h"
#include "data/value.h"

namespace wrackline {

Projection::Projection(const ViewOptions& options, const Grouping& grouping)
    : options_(options), grouping_(grouping) {
  inputs_.resize(2 + options.keys.size() + grouping.count());
  for (const expr::Expr* output : options.outputs) outputs_.emplace_back(*output);
  if (options.having != nullptr) having_.emplace(*options.having);
}

Status Projection::project(const GroupRows& rows, int64_t generation, ChangeBatch& changes,
                           std::vector<uint32_t>& kept) {
  Arena& arena = arenas_[turn_];
  turn_ = 1 - turn_;
  arena.clear();
  WRACKLINE_TRY(finish(rows, arena));
  GroupRows shown = rows;
  if (having_) {
    WRACKLINE_TRY(pass_having(rows, kept));
    if (kept.size() < rows.state_rows.size()) {
      kept_groups_.clear();
      kept_states_.clear();
      kept_windows_.clear();
      for (const uint32_t i : kept) {
        kept_groups_.push_back(rows.key_groups[i]);
        kept_states_.push_back(rows.state_rows[i]);
        if (rows.windows.size() > 1) kept_windows_.push_back(rows.windows[i]);
      }
      shown.key_groups = kept_groups_;
      shown.state_rows = kept_states_;
      // A single window stands for every row however many are kept.
      if (rows.windows.size() > 1) shown.windows = kept_windows_;
      WRACKLINE_TRY(finish(shown, arena));
    }
  } else {
    kept.resize(rows.state_rows.size());
    std::iota(kept.begin(), kept.end(), 0U);
  }
  const size_t count = shown.state_rows.size();
  changes.rows = count;
  changes.columns.resize(outputs_.size());
  changes.ops.resize(count);
  changes.versions.resize(count);
  changes.statuses.resize(count);
  changes.generation = generation;
  errors_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    changes.columns[i].copy_from(outputs_[i].evaluate(inputs_, count, errors_));
  }
  return errors_.empty() ? Status() : fail_row(shown, "cannot publish a row of view");
}

Status Projection::finish(const GroupRows& rows, Arena& arena) {
  const size_t count = rows.state_rows.size();
  const bool same_window = rows.windows.size() == 1;
  for (size_t i = 0; i < 2; ++i) {
    inputs_[i].reset(Type::timestamptz());
    inputs_[i].resize(count);
    const std::span<int64_t> values = inputs_[i].values<int64_t>();
    for (size_t k = 0; k < count; ++k) {
      const Window& window = rows.windows[same_window ? 0 : k];
      values[k] = (i == 0 ? window.start : window.end).micros();
    }
  }
  const std::span<Column> keys(inputs_.data() + 2, options_.keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i].reset(grouping_.codec().types()[i]);
    keys[i].resize(count);
  }
  if (!keys.empty()) grouping_.codec().decode(*rows.keys, rows.key_groups, keys, 0, arena);
  for (size_t i = 0; i < grouping_.count(); ++i) {
    const expr::StateRows own{rows.states.base + grouping_.offset(i), rows.states.stride};
    const Status finished =
        grouping_.aggregate(i).finish(own, rows.state_rows, inputs_[2 + keys.size() + i], arena);
    if (finished) continue;
    Error error = finished.error();
    error.detail = format("In view \"{}\", window that starts at {}. {}", options_.view,
                          timestamp_text(rows.windows[0].start.micros()), error.detail);
    return fail(std::move(error));
  }
  return {};
}

Status Projection::pass_having(const GroupRows& rows, std::vector<uint32_t>& kept) {
  errors_.clear();
  const size_t count = rows.state_rows.size();
  const Column& passes = having_->evaluate(inputs_, count, errors_);
  if (!errors_.empty()) return fail_row(rows, "cannot decide HAVING for a row of view");
  kept.clear();
  const std::span<const uint8_t> values = passes.values<uint8_t>();
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] != 0 && !passes.is_null(i)) kept.push_back(i);
  }
  return {};
}

Status Projection::fail_row(const GroupRows& rows, std::string_view what) const {
  const uint32_t row = errors_[0].row;
  std::string key;
  for (size_t i = 0; i < options_.keys.size(); ++i) {
    if (!key.empty()) key += ", ";
    append_json(key, inputs_[2 + i], row);
  }
  const Window& window = rows.windows[rows.windows.size() == 1 ? 0 : row];
  return fail(ErrorCode::kData, format("{} \"{}\": {}", what, options_.view, errors_[0].message),
              format("Window that starts at {}{}{}.", timestamp_text(window.start.micros()),
                     key.empty() ? "" : ", key ", key),
              "Guard the SELECT list against the value, for example with nullif(divisor, 0).");
}

}  // namespace wrackline
