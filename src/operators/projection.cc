#include "operators/projection.h"

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "data/time_text.h"
#include "data/value.h"

namespace wrackline {

namespace {

constexpr size_t kBlockRows = 512;

// An evaluator keeps the text that it computes until it is used again.
bool outlives_next_block(const expr::Expr& output) {
  const bool is_text = output.type.kind == TypeKind::kText || output.type.kind == TypeKind::kJson;
  return !is_text || output.kind == expr::ExprKind::kColumn;
}

GroupRows part_of(const GroupRows& rows, size_t begin, size_t count) {
  GroupRows part = rows;
  part.key_groups = rows.key_groups.subspan(begin, count);
  part.state_rows = rows.state_rows.subspan(begin, count);
  if (rows.windows.size() > 1) part.windows = rows.windows.subspan(begin, count);
  return part;
}

}  // namespace

Projection::Projection(const ViewOptions& options, const Grouping& grouping)
    : options_(options), grouping_(grouping) {
  inputs_.resize(2 + options.keys.size() + grouping.count());
  for (const expr::Expr* output : options.outputs) outputs_.emplace_back(*output);
  if (options.having != nullptr) having_.emplace(*options.having);
  const bool all_outlive = std::ranges::all_of(
      options.outputs, [](const expr::Expr* output) { return outlives_next_block(*output); });
  block_rows_ = all_outlive ? kBlockRows : SIZE_MAX;
}

Status Projection::project(const GroupRows& rows, int64_t generation, ChangeBatch& changes,
                           std::vector<uint32_t>& kept) {
  Arena& arena = arenas_[turn_];
  turn_ = 1 - turn_;
  arena.clear();
  const size_t count = rows.state_rows.size();
  changes.columns.resize(outputs_.size());
  kept.clear();
  size_t written = 0;
  size_t begin = 0;
  do {  // once for no rows, too: the columns get their types
    const size_t block = std::min(block_rows_, count - begin);
    WRACKLINE_TRY(project_block(rows, begin, block, arena, changes, written, kept));
    begin += block;
  } while (begin < count);
  if (!having_) {
    kept.resize(count);
    std::iota(kept.begin(), kept.end(), 0U);
  }
  changes.rows = written;
  for (Column& column : changes.columns) column.resize(written);
  changes.ops.resize(written);
  changes.versions.resize(written);
  changes.statuses.resize(written);
  changes.generation = generation;
  return {};
}

Status Projection::project_block(const GroupRows& rows, size_t begin, size_t count, Arena& arena,
                                 ChangeBatch& changes, size_t& written, std::vector<uint32_t>& kept) {
  const GroupRows block = part_of(rows, begin, count);
  block.keys->prefetch(block.key_groups);
  WRACKLINE_TRY(finish(block, arena));
  if (!having_) return evaluate(block, rows.state_rows.size(), changes, written);
  WRACKLINE_TRY(pass_having(block));
  for (const uint32_t i : passed_) kept.push_back(static_cast<uint32_t>(begin) + i);
  if (passed_.size() == count) return evaluate(block, rows.state_rows.size(), changes, written);
  const GroupRows shown = keep_passed(block);
  WRACKLINE_TRY(finish(shown, arena));
  return evaluate(shown, rows.state_rows.size(), changes, written);
}

// The rows of `rows` that passed HAVING.
GroupRows Projection::keep_passed(const GroupRows& rows) {
  kept_groups_.clear();
  kept_states_.clear();
  kept_windows_.clear();
  for (const uint32_t i : passed_) {
    kept_groups_.push_back(rows.key_groups[i]);
    kept_states_.push_back(rows.state_rows[i]);
    if (rows.windows.size() > 1) kept_windows_.push_back(rows.windows[i]);
  }
  GroupRows shown = rows;
  shown.key_groups = kept_groups_;
  shown.state_rows = kept_states_;
  // A single window stands for every row however many are kept.
  if (rows.windows.size() > 1) shown.windows = kept_windows_;
  return shown;
}

// The SELECT list over inputs_. `all`: how many rows there may be in the end.
Status Projection::evaluate(const GroupRows& shown, size_t all, ChangeBatch& changes, size_t& written) {
  const size_t count = shown.state_rows.size();
  errors_.clear();
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Column& values = outputs_[i].evaluate(inputs_, count, errors_);
    Column& column = changes.columns[i];
    if (written == 0) {
      column.reset(values.type());
      column.resize(all);
    }
    column.copy_rows(written, values);
  }
  written += count;
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

Status Projection::pass_having(const GroupRows& rows) {
  errors_.clear();
  const size_t count = rows.state_rows.size();
  const Column& passes = having_->evaluate(inputs_, count, errors_);
  if (!errors_.empty()) return fail_row(rows, "cannot decide HAVING for a row of view");
  passed_.clear();
  const std::span<const uint8_t> values = passes.values<uint8_t>();
  for (uint32_t i = 0; i < count; ++i) {
    if (values[i] != 0 && !passes.is_null(i)) passed_.push_back(i);
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
