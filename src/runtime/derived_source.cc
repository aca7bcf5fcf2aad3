#include "runtime/derived_source.h"

#include <algorithm>

#include "base/text.h"

namespace wrackline::runtime {
namespace {

TimeStageOptions stage_options(const DerivedPlan& plan) {
  TimeStageOptions options;
  options.event.column = plan.columns.size();  // a column of our own, after the view's
  options.max_future_skew = Duration::infinite();
  options.max_future_accept = Duration::infinite();
  return options;
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
  std::pair<int64_t, std::string> key;
  const std::span<const int64_t> ends = changes.columns[plan_.window_end].values<int64_t>();
  for (size_t i = 0; i < changes.rows; ++i) {
    if (changes.statuses[i] == RowStatus::kEarly) continue;
    key.first = ends[i];
    identify(changes, i, key.second);
    if (changes.ops[i] == RowOp::kRetract) {
      waiting_.erase(key);
      continue;
    }
    Row& row = waiting_[key];
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
  const auto last = std::find_if(waiting_.begin(), waiting_.end(),
                                 [&](const auto& entry) { return entry.first.first > sealed_us; });
  const auto rows = static_cast<size_t>(std::distance(waiting_.begin(), last));
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
  for (auto entry = waiting_.begin(); entry != last; ++entry, ++at) {
    const std::vector<Value>& values = entry->second.values;
    for (size_t c = 0; c < values.size(); ++c) set_value(batch_.columns[c], at, values[c], batch_.arena);
    batch_.columns.back().values<int64_t>()[at] =
        plan_.time_is_start ? std::get<int64_t>(values[plan_.window_start].data) : entry->first.first - 1;
    raw_.push_back(std::move(entry->second.json));
    batch_.offsets.push_back(offset_++);
    batch_.lines.push_back(offset_);
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

}  // namespace wrackline::runtime
