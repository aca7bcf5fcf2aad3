#include "operators/intake.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/value.h"

namespace wrackline {
namespace {

bool is_listed(uint32_t reasons, Reason reason) {
  return (reasons >> static_cast<unsigned>(reason) & 1U) != 0;
}

}  // namespace

Intake::Intake(const ViewOptions& options, WindowsOf windows_of)
    : options_(options), windows_of_(std::move(windows_of)) {
  if (options_.where != nullptr) where_.emplace(*options_.where);
  for (const expr::Expr* key : options_.keys) keys_.emplace_back(*key);
  for (const ViewOptions::Call& call : options_.aggregates) {
    arguments_.emplace_back();
    filters_.emplace_back();
    if (call.argument != nullptr) arguments_.back().emplace(*call.argument);
    if (call.filter != nullptr) filters_.back().emplace(*call.filter);
    sort_keys_.emplace_back();
    for (const expr::Expr* key : call.sort_keys) sort_keys_.back().emplace_back(*key);
    columns_.sort_keys.emplace_back(call.sort_keys.size());
  }
  columns_.keys.resize(keys_.size());
  columns_.arguments.resize(arguments_.size());
  columns_.filters.resize(filters_.size());
}

void Intake::begin_batch(const Batch& batch) {
  where_errors_.clear();
  value_errors_.clear();
  columns_.batch = &batch;
  where_column_ = where_ ? &where_->evaluate(batch.columns, batch.rows, where_errors_) : nullptr;
  for (size_t i = 0; i < keys_.size(); ++i) {
    columns_.keys[i] = &keys_[i].evaluate(batch.columns, batch.rows, value_errors_);
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    columns_.arguments[i] =
        arguments_[i] ? &arguments_[i]->evaluate(batch.columns, batch.rows, value_errors_) : nullptr;
    columns_.filters[i] =
        filters_[i] ? &filters_[i]->evaluate(batch.columns, batch.rows, value_errors_) : nullptr;
    for (size_t k = 0; k < sort_keys_[i].size(); ++k) {
      columns_.sort_keys[i][k] = &sort_keys_[i][k].evaluate(batch.columns, batch.rows, value_errors_);
    }
  }
}

Status Intake::take(const Batch& batch, const RecordTimes& times, const TickContext& tick, size_t begin,
                    size_t end) {
  columns_.times = &times;
  columns_.order = {times.event_us, times.partitions, batch.offsets};
  count_read(times, begin, end);
  count_duplicates(times, begin, end);
  WRACKLINE_TRY(set_aside_rejects(batch, times, tick, begin, end));
  select_rows(times, begin, end);
  for (const SetAside& aside : times.set_aside) {
    if (aside.row < begin || aside.row >= end) continue;
    WRACKLINE_TRY(set_aside(tick, aside.row, aside.reason, aside.detail, windows_of(aside.row)));
  }
  for (const expr::RowError& error : row_errors_) {
    WRACKLINE_TRY(set_aside(tick, error.row, error.reason, error.message, windows_of(error.row)));
  }
  return {};
}

// Rows are counted as read before anything is decided, so that no later step can forget one.
void Intake::count_read(const RecordTimes& times, size_t begin, size_t end) {
  if (begin == end) return;
  if (times.partitions.size() == 1) {
    balance_.of(times.partitions[0]).read += static_cast<int64_t>(end - begin);
  } else {
    for (size_t row = begin; row < end; ++row) ++balance_.of(times.partition(row)).read;
  }
}

void Intake::count_duplicates(const RecordTimes& times, size_t begin, size_t end) {
  for (const uint32_t row : times.duplicates) {
    if (row >= begin && row < end) ++balance_.of(times.partition(row)).duplicate;
  }
}

// Decides which rows go on to the windows, counts the filtered ones, and gives exactly one error for each
// other row that neither its time nor the filter has set aside already.
void Intake::select_rows(const RecordTimes& times, size_t begin, size_t end) {
  constexpr uint8_t kUndecided = 2;
  row_errors_.clear();
  selected_.resize(times.usable.size());
  std::copy(times.usable.begin() + static_cast<ptrdiff_t>(begin),
            times.usable.begin() + static_cast<ptrdiff_t>(end),
            selected_.begin() + static_cast<ptrdiff_t>(begin));
  const auto in_range = [&](const expr::RowError& error) { return error.row >= begin && error.row < end; };
  for (const expr::RowError& error : where_errors_) {
    if (in_range(error) && selected_[error.row] == 1) selected_[error.row] = kUndecided;
  }
  if (where_column_ != nullptr) {
    const std::span<const uint8_t> keep = where_column_->values<uint8_t>();
    for (size_t row = begin; row < end; ++row) {
      if (selected_[row] != 1 || (keep[row] != 0 && !where_column_->is_null(row))) continue;
      selected_[row] = 0;
      ++balance_.of(times.partition(row)).filtered;
    }
  }
  for (const expr::RowErrors* list : {&where_errors_, &value_errors_}) {
    for (const expr::RowError& error : *list) {
      if (!in_range(error) || selected_[error.row] == 0) continue;
      selected_[error.row] = 0;
      row_errors_.push_back(error);
    }
  }
  std::ranges::stable_sort(row_errors_, {}, &expr::RowError::row);
}

std::string Intake::key_json(size_t row) const {
  const auto& keys = columns_.keys;
  if (keys.empty()) return "null";
  std::string json;
  if (keys.size() == 1) {
    append_json(json, *keys[0], row);
    return json;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    json += i == 0 ? "{" : ",";
    append_json_quoted(json, options_.key_names[i]);
    json += ':';
    append_json(json, *keys[i], row);
  }
  return json + "}";
}

std::vector<Window> Intake::windows_of(uint32_t row) const {
  std::vector<Window> windows;
  const RecordTimes& times = *columns_.times;
  if (times.has_event[row] != 0) windows_of_(times.event_us[row], windows);
  return windows;
}

Status Intake::set_aside_rejects(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                 size_t begin, size_t end) {
  for (const Reject& reject : batch.rejects) {
    const bool is_here = reject.before_row >= begin && (reject.before_row < end || end == batch.rows);
    if (!is_here) continue;
    FateCounts& counts = balance_.of(times.reject_partition);
    ++counts.read;
    const auto reason = static_cast<size_t>(reject.reason);
    if (is_listed(options_.drop_reasons, reject.reason)) {
      ++counts.dropped[reason];
      continue;
    }
    ++counts.ledgered;
    ++counts.ledgered_by_reason[reason];
    ledger::Entry entry;
    entry.view = options_.view;
    entry.source = options_.source;
    entry.partition = (*tick.partition_names)[times.reject_partition];
    entry.file = batch.file;
    entry.offset = reject.offset;
    entry.line = reject.line;
    entry.key = "null";
    entry.reason = reject.reason;
    entry.detail = reject.detail;
    entry.rejected = true;
    entry.record_bytes = reject.raw_bytes;
    if (reject.raw.size() < reject.raw_bytes) {
      entry.detail += format(" (the first {} of {} bytes are kept)", reject.raw.size(), reject.raw_bytes);
    }
    entry.watermark_us = times.watermark_before[reject.before_row];
    entry.tick = tick.tick;
    entry.payload = reject.raw;
    WRACKLINE_TRY(tick.ledger->add(std::move(entry)));
  }
  return {};
}

Status Intake::set_aside(const TickContext& tick, uint32_t row, Reason reason, std::string_view detail,
                         const std::vector<Window>& missed) {
  FateCounts& counts = balance_.of(columns_.times->partition(row));
  if (is_listed(options_.drop_reasons, reason) || reason == Reason::kPastHorizon) {
    ++counts.dropped[static_cast<size_t>(reason)];
    return {};
  }
  ++counts.ledgered;
  ++counts.ledgered_by_reason[static_cast<size_t>(reason)];
  return note_missed(tick, row, reason, detail, missed);
}

Status Intake::note_missed(const TickContext& tick, uint32_t row, Reason reason, std::string_view detail,
                           const std::vector<Window>& missed) {
  const Batch& batch = *columns_.batch;
  const RecordTimes& times = *columns_.times;
  ledger::Entry entry;
  entry.view = options_.view;
  entry.source = options_.source;
  entry.partition = (*tick.partition_names)[times.partition(row)];
  entry.file = batch.file;
  entry.offset = batch.offsets[row];
  entry.line = batch.lines[row];
  entry.key = key_json(row);
  entry.reason = reason;
  entry.detail = detail;
  entry.watermark_us = times.watermark_before[row];
  entry.tick = tick.tick;
  entry.payload = batch.raw[row];
  entry.places = batch.places;
  entry.arrival_time_us = times.arrival_us[row];
  if (times.has_event[row] != 0) entry.event_time_us = times.event_us[row];
  for (const Window& window : missed) {
    const int64_t late_by_us =
        std::max<int64_t>(0, saturating_subtract(entry.watermark_us, window.end.micros()));
    entry.windows.push_back({window.start.micros(), window.end.micros(), late_by_us});
  }
  return tick.ledger->add(std::move(entry));
}

Reason Intake::late_reason(size_t row) const {
  const RecordTimes& times = *columns_.times;
  const bool after_idle = !times.after_idle.empty() && times.after_idle[row] != 0;
  return after_idle ? Reason::kLateAfterIdle : Reason::kLate;
}

}  // namespace wrackline
