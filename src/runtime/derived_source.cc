#include "runtime/derived_source.h"

#include <algorithm>

#include "base/text.h"
#include "expr/state_values.h"

namespace wrackline::runtime {
namespace {

TimeStageOptions stage_options(const DerivedPlan& plan) {
  TimeStageOptions options;
  options.event.column = plan.columns.size();  // a column of our own, after the view's
  options.max_future_skew = Duration::infinite();
  options.max_future_accept = Duration::infinite();
  return options;
}

constexpr size_t kPieceRowsMin = 64;  // fewer rows are not worth a piece of their own

void save(const Value& value, SnapshotWriter& out) {
  out.u8(value.is_null() ? 0 : 1);
  std::visit(
      [&out]<class T>(const T& data) {
        if constexpr (std::is_same_v<T, std::string>) {
          out.text(data);
        } else if constexpr (!std::is_same_v<T, std::monostate>) {
          expr::save_value(data, out);
        }
      },
      value.data);
}

Value restore_value(SnapshotReader& in, const Type& type) {
  if (in.u8() == 0) return {type, {}};
  switch (type.kind) {
    case TypeKind::kBoolean:
      return {type, in.u8() != 0};
    case TypeKind::kInteger:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
      return {type, in.i64()};
    case TypeKind::kDouble:
      return {type, in.f64()};
    case TypeKind::kNumeric:
      return {type, expr::restore_value<Decimal>(in)};
    case TypeKind::kInterval:
      return {type, expr::restore_value<Interval>(in)};
    case TypeKind::kText:
    case TypeKind::kJson:
      break;
  }
  return {type, std::string(in.text())};
}

}  // namespace

DerivedSource::DerivedSource(DerivedPlan plan) : plan_(std::move(plan)), stage_(stage_options(plan_)) {
  stage_.partition(plan_.view);
}

void DerivedSource::identify(const ChangeBatch& changes, size_t row, std::string& identity) const {
  identity.clear();
  for (size_t i = 0; i < plan_.columns.size(); ++i) {
    if (!plan_.columns[i].identity) continue;
    append_json(identity, changes.columns[i], row);
    identity += ',';
  }
}

void DerivedSource::take(const ChangeBatch& changes) {
  std::string identity;
  const std::span<const int64_t> ends = changes.columns[plan_.window_end].values<int64_t>();
  for (size_t i = 0; i < changes.rows; ++i) {
    if (changes.statuses[i] == RowStatus::kEarly) continue;
    identify(changes, i, identity);
    End& end = waiting_[ends[i]];
    end.changed_at = ++changes_;
    if (changes.ops[i] == RowOp::kRetract) {
      end.rows.erase(identity);
      if (end.rows.empty()) waiting_.erase(ends[i]);
      continue;
    }
    Row& row = end.rows[identity];
    row.values.clear();
    row.json = "{";
    for (size_t c = 0; c < plan_.columns.size(); ++c) {
      row.values.push_back(value_at(changes.columns[c], i));
      if (c > 0) row.json += ',';
      append_json_quoted(row.json, plan_.columns[c].name);
      row.json += ':';
      append_json(row.json, changes.columns[c], i);
    }
    row.json += '}';
  }
}

bool DerivedSource::collect(int64_t watermark_us, WallTime wall) {
  const int64_t sealed_us = watermark_us == kMicrosMax
                                ? kMicrosMax
                                : saturating_subtract(watermark_us, plan_.allowed_lateness.micros());
  const auto last = waiting_.upper_bound(sealed_us);
  size_t rows = 0;
  for (auto end = waiting_.begin(); end != last; ++end) rows += end->second.rows.size();
  if (rows == 0) return false;
  std::vector<Field> fields;
  for (const OutputColumn& column : plan_.columns)
    fields.push_back({.name = column.name, .type = column.type});
  fields.push_back({.name = "", .type = Type::timestamptz()});
  batch_.reset(fields);
  batch_.file = plan_.view;
  batch_.rows = rows;
  raw_.clear();
  for (Column& column : batch_.columns) column.resize(rows);
  size_t at = 0;
  for (auto end = waiting_.begin(); end != last; ++end) {
    for (auto& [identity, row] : end->second.rows) {
      for (size_t c = 0; c < row.values.size(); ++c) {
        set_value(batch_.columns[c], at, row.values[c], batch_.arena);
      }
      batch_.columns.back().values<int64_t>()[at] =
          plan_.time_is_start ? std::get<int64_t>(row.values[plan_.window_start].data) : end->first - 1;
      raw_.push_back(std::move(row.json));
      batch_.offsets.push_back(offset_++);
      batch_.lines.push_back(offset_);
      ++at;
    }
  }
  for (const std::string& json : raw_) batch_.raw.emplace_back(json);
  waiting_.erase(waiting_.begin(), last);
  stage_.read(batch_, 0, wall, times_);
  stage_.judge(times_, 0, rows);
  return true;
}

void DerivedSource::follow(int64_t watermark_us) {
  if (watermark_us == kMicrosMin) return;
  if (watermark_us == kMicrosMax) {
    stage_.tracker().flush();
    return;
  }
  const int64_t sealed_us = saturating_subtract(watermark_us, plan_.allowed_lateness.micros());
  const int64_t time_us = plan_.time_is_start ? plan_.first_start_after(sealed_us) : sealed_us;
  stage_.tracker().observe(0, EventTime(time_us), ArrivalTime(time_us));
}

// ---- Snapshots

void DerivedSource::save(SnapshotWriter& out) const {
  out.section("derv");
  out.text(plan_.view);
  out.u64(plan_.columns.size());
  out.i64(offset_);
  out.u64(changes_);
  out.u64(waiting_.size());
  for (const auto& [end_us, end] : waiting_) {
    out.i64(end_us);
    out.u64(end.rows.size());
    out.u64(end.changed_at);
    if (end.rows.size() < kPieceRowsMin) {
      save_rows(end, out);
    } else {
      out.piece(format("rows/{}", end_us), end.changed_at,
                [&](SnapshotWriter& piece) { save_rows(end, piece); });
    }
  }
  stage_.save(out);
}

void DerivedSource::save_rows(const End& end, SnapshotWriter& out) const {
  out.u64(end.rows.size());
  for (const auto& [identity, row] : end.rows) {
    out.text(identity);
    out.text(row.json);
    for (const Value& value : row.values) wrackline::runtime::save(value, out);
  }
}

Status DerivedSource::restore(SnapshotReader& in) {
  in.section("derv");
  const std::string_view view = in.text();
  const uint64_t columns = in.u64();
  WRACKLINE_TRY(in.status());
  if (view != plan_.view || columns != plan_.columns.size()) {
    return fail(ErrorCode::kInvalid, "cannot restore the rows of a view: it is not the one that was saved",
                format("Saved was \"{}\" with {} columns; \"{}\" has {}.", printable(view, 80), columns,
                       plan_.view, plan_.columns.size()),
                "Run the job as it was, or start without the checkpoint.");
  }
  offset_ = in.i64();
  changes_ = in.u64();
  if (offset_ < 0) in.refuse("an offset is negative");
  waiting_.clear();
  for (size_t left = in.count(3 * sizeof(int64_t)); left > 0 && !in.failed(); --left) {
    const int64_t end_us = in.i64();
    const uint64_t rows = in.u64();
    if (!waiting_.empty() && end_us <= waiting_.rbegin()->first) in.refuse("a window is out of order");
    End& end = waiting_[end_us];
    end.changed_at = in.u64();
    if (end.changed_at > changes_) in.refuse("a change is out of order");
    if (rows < kPieceRowsMin) {
      restore_rows(in, end_us, end);
    } else {
      in.piece(format("rows/{}", end_us), [&](SnapshotReader& piece) { restore_rows(piece, end_us, end); });
    }
    if (end.rows.size() != rows) in.refuse("there are not as many rows as they say");
  }
  WRACKLINE_TRY(in.status());
  WRACKLINE_TRY(stage_.restore(in));
  if (stage_.partition_names() != std::vector{plan_.view}) in.refuse("the view is not the only partition");
  return in.status();
}

void DerivedSource::restore_rows(SnapshotReader& in, int64_t end_us, End& end) const {
  for (size_t left = in.count(2 * sizeof(uint64_t)); left > 0 && !in.failed(); --left) {
    const auto [at, is_new] = end.rows.try_emplace(std::string(in.text()));
    if (!is_new) return in.refuse("a row stands there twice");
    Row& row = at->second;
    row.json = in.text();
    for (const OutputColumn& column : plan_.columns) row.values.push_back(restore_value(in, column.type));
    if (!has_times_of(row, end_us)) in.refuse("a row is not of its window");
  }
}

bool DerivedSource::has_times_of(const Row& row, int64_t end_us) const {
  const auto* end = std::get_if<int64_t>(&row.values[plan_.window_end].data);
  if (end == nullptr || *end != end_us) return false;
  return !plan_.time_is_start || std::holds_alternative<int64_t>(row.values[plan_.window_start].data);
}

}  // namespace wrackline::runtime
