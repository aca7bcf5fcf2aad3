#include "operators/window_aggregate.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "data/time_text.h"
#include "data/value.h"

namespace wrackline {

// The groups of one window. A window that closed stays here, revisable, until it is sealed.
struct WindowAggregate::Slice {
  Slice(state::KeyShape shape, size_t state_bytes) : table(shape, state_bytes) {}

  int64_t start_us = 0;
  int64_t end_us = 0;
  state::GroupTable table;
  std::vector<uint32_t> rows;       // of the piece at hand, waiting to be accumulated
  std::vector<uint32_t> corrected;  // groups corrected in this tick; table.mark is their index here + 1
  std::vector<std::byte> old_rows;  // their published rows before the tick, when retractions are wanted
};

// From groups to rows of the view: finished aggregates, then the SELECT list.
struct WindowAggregate::Projection {
  std::vector<Column> inputs;  // window_start, window_end, keys, aggregates
  std::vector<expr::Evaluator> outputs;
  expr::RowErrors errors;
  Arena arena;
  std::vector<uint32_t> order;
  ChangeBatch changes;
  ChangeBatch old_changes;
  ChangeBatch changelog;
};

namespace {

bool is_listed(uint32_t reasons, Reason reason) {
  return (reasons >> static_cast<unsigned>(reason) & 1U) != 0;
}

void reset(ChangeBatch& changes, size_t rows, size_t columns, int64_t generation) {
  changes.rows = rows;
  changes.columns.resize(columns);
  changes.ops.resize(rows);
  changes.versions.resize(rows);
  changes.statuses.resize(rows);
  changes.generation = generation;
}

// Row i of `from` becomes row at[i] of `to`.
void scatter(const Column& from, std::span<const size_t> at, Column& to) {
  for (size_t i = 0; i < at.size(); ++i) to.copy_value(at[i], from, i);
}

}  // namespace

WindowAggregate::WindowAggregate(WindowAggregateOptions options, ChangeConsumer& consumer, int64_t generation)
    : options_(std::move(options)),
      consumer_(consumer),
      generation_(generation),
      codec_([&] {
        std::vector<Type> types;
        for (const expr::Expr* key : options_.keys) types.push_back(key->type);
        return types;
      }()),
      projection_(std::make_unique<Projection>()) {
  if (options_.where != nullptr) where_.emplace(*options_.where);
  for (const expr::Expr* key : options_.keys) keys_.emplace_back(*key);
  for (const WindowAggregateOptions::Call& call : options_.aggregates) {
    state_offsets_.push_back(state_bytes_);
    state_bytes_ += call.aggregate->state_bytes();
    arguments_.emplace_back();
    filters_.emplace_back();
    if (call.argument != nullptr) arguments_.back().emplace(*call.argument);
    if (call.filter != nullptr) filters_.back().emplace(*call.filter);
  }
  key_columns_.resize(keys_.size());
  argument_columns_.resize(arguments_.size());
  filter_columns_.resize(filters_.size());
  projection_->inputs.resize(2 + keys_.size() + options_.aggregates.size());
  for (const expr::Expr* output : options_.outputs) projection_->outputs.emplace_back(*output);
}

WindowAggregate::~WindowAggregate() = default;

size_t WindowAggregate::state_bytes() const {
  size_t bytes = 0;
  for (const auto& [start, slice] : slices_) bytes += slice->table.bytes();
  return bytes;
}

Status WindowAggregate::process(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                size_t range_begin, size_t range_end) {
  count_read(batch, times, range_begin, range_end);
  WRACKLINE_TRY(set_aside_rejects(batch, times, tick, range_begin, range_end));
  select_rows(times, range_begin, range_end, row_errors_);
  for (const SetAside& aside : times.set_aside) {
    if (aside.row < range_begin || aside.row >= range_end) continue;
    WRACKLINE_TRY(set_aside_row(batch, times, tick, aside.row, aside.reason, aside.detail));
  }
  for (const expr::RowError& error : row_errors_) {
    WRACKLINE_TRY(set_aside_row(batch, times, tick, error.row, error.reason, error.message));
  }

  const std::vector<int64_t>& watermark = times.watermark_before;
  for (size_t begin = range_begin; begin < range_end;) {
    WRACKLINE_TRY(close_until(watermark[begin]));
    const int64_t edge = options_.windows.edge_at_or_before(watermark[begin]);
    size_t end = range_end;
    // Minus infinity is not an edge of any window: there the piece ends as soon as the watermark is known.
    const int64_t next_edge =
        edge == kMicrosMin ? kMicrosMin + 1 : saturating_add(edge, options_.windows.size().micros());
    if (watermark[range_end - 1] >= next_edge) {
      const auto first = watermark.begin() + static_cast<ptrdiff_t>(begin);
      const auto last = watermark.begin() + static_cast<ptrdiff_t>(range_end);
      end = static_cast<size_t>(std::lower_bound(first, last, next_edge) - watermark.begin());
    }
    // A watermark before every window keeps the edge at minus infinity: one record at a time is still
    // progress.
    end = std::max(end, begin + 1);
    WRACKLINE_TRY(run_piece(batch, times, tick, begin, end, edge));
    begin = end;
  }
  return close_until(watermark[range_end]);
}

Status WindowAggregate::advance(int64_t watermark_us) {
  return close_until(watermark_us);
}

void WindowAggregate::begin_batch(const Batch& batch) {
  where_errors_.clear();
  value_errors_.clear();
  where_column_ = where_ ? &where_->evaluate(batch.columns, batch.rows, where_errors_) : nullptr;
  for (size_t i = 0; i < keys_.size(); ++i) {
    key_columns_[i] = &keys_[i].evaluate(batch.columns, batch.rows, value_errors_);
  }
  for (size_t i = 0; i < arguments_.size(); ++i) {
    argument_columns_[i] =
        arguments_[i] ? &arguments_[i]->evaluate(batch.columns, batch.rows, value_errors_) : nullptr;
    filter_columns_[i] =
        filters_[i] ? &filters_[i]->evaluate(batch.columns, batch.rows, value_errors_) : nullptr;
  }
}

// Rows are counted as read before anything is decided, so that no later step can forget one.
void WindowAggregate::count_read(const Batch& batch, const RecordTimes& times, size_t begin, size_t end) {
  if (begin == end) return;
  if (times.partitions.size() == 1 && batch.rows != 1) {
    balance_.of(times.partitions[0]).read += static_cast<int64_t>(end - begin);
  } else {
    for (size_t row = begin; row < end; ++row) ++balance_.of(times.partition(row)).read;
  }
}

// Decides which rows go on to the windows, counts the filtered ones, and gives exactly one error for each
// other row that neither its time nor the filter has set aside already.
void WindowAggregate::select_rows(const RecordTimes& times, size_t begin, size_t end,
                                  expr::RowErrors& errors) {
  constexpr uint8_t kUndecided = 2;
  errors.clear();
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
      errors.push_back(error);
    }
  }
  std::ranges::stable_sort(errors, {}, &expr::RowError::row);
}

std::string WindowAggregate::key_json(size_t row) const {
  if (key_columns_.empty()) return "null";
  std::string json;
  if (key_columns_.size() == 1) {
    append_json(json, *key_columns_[0], row);
    return json;
  }
  for (size_t i = 0; i < key_columns_.size(); ++i) {
    json += i == 0 ? "{" : ",";
    append_json_quoted(json, options_.key_names[i]);
    json += ':';
    append_json(json, *key_columns_[i], row);
  }
  return json + "}";
}

Status WindowAggregate::set_aside_rejects(const Batch& batch, const RecordTimes& times,
                                          const TickContext& tick, size_t begin, size_t end) {
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

// One row that is in no result of this view: dropped or ledgered, by its reason.
Status WindowAggregate::set_aside_row(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                      uint32_t row, Reason reason, std::string_view detail) {
  const PartitionIndex partition = times.partition(row);
  FateCounts& counts = balance_.of(partition);
  if (is_listed(options_.drop_reasons, reason) || reason == Reason::kPastHorizon) {
    ++counts.dropped[static_cast<size_t>(reason)];
    return {};
  }
  ++counts.ledgered;
  ++counts.ledgered_by_reason[static_cast<size_t>(reason)];
  return tick.ledger->add(entry_of(batch, times, tick, row, reason, detail));
}

ledger::Entry WindowAggregate::entry_of(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                        uint32_t row, Reason reason, std::string_view detail) const {
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
  entry.arrival_time_us = times.arrival_us[row];
  if (times.has_event[row] != 0) {
    entry.event_time_us = times.event_us[row];
    const Window window = options_.windows.window_of(EventTime(times.event_us[row]));
    const int64_t late_by_us =
        std::max<int64_t>(0, saturating_subtract(entry.watermark_us, window.end.micros()));
    entry.windows.push_back({window.start.micros(), window.end.micros(), late_by_us});
  }
  return entry;
}

// Rows [begin, end) of the batch, during which the watermark stays between `edge_us` and the next edge.
Status WindowAggregate::run_piece(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                  size_t begin, size_t end, int64_t edge_us) {
  const auto size = static_cast<uint64_t>(options_.windows.size().micros());
  late_rows_.clear();
  Slice* current = nullptr;
  Slice* previous = nullptr;
  const auto is_in = [size](const Slice* slice, int64_t event_us) {
    return slice != nullptr &&
           static_cast<uint64_t>(event_us) - static_cast<uint64_t>(slice->start_us) < size;
  };
  for (size_t row = begin; row < end; ++row) {
    if (selected_[row] == 0) continue;
    const int64_t event_us = times.event_us[row];
    if (event_us < edge_us) [[unlikely]] {
      late_rows_.push_back(static_cast<uint32_t>(row));
      continue;
    }
    if (!is_in(current, event_us)) {
      std::swap(current, previous);
      if (!is_in(current, event_us)) {
        current = &slice_at(options_.windows.start_of(event_us));
        if (current->rows.empty()) touched_.push_back(current);
      }
    }
    current->rows.push_back(static_cast<uint32_t>(row));
    statistics_.behind_watermark += event_us < times.watermark_before[row];
  }
  if (times.partitions.size() == 1) {
    int64_t accepted = 0;
    for (const Slice* slice : touched_) accepted += static_cast<int64_t>(slice->rows.size());
    balance_.of(times.partitions[0]).accepted += accepted;
  } else {
    for (const Slice* slice : touched_) {
      for (const uint32_t row : slice->rows) ++balance_.of(times.partitions[row]).accepted;
    }
  }
  WRACKLINE_TRY(accumulate_touched(batch, times, tick, false));
  if (!late_rows_.empty()) WRACKLINE_TRY(route_late(batch, times, tick));
  return {};
}

Status WindowAggregate::route_late(const Batch& batch, const RecordTimes& times, const TickContext& tick) {
  for (const uint32_t row : late_rows_) {
    const Window window = options_.windows.window_of(EventTime(times.event_us[row]));
    const LateVerdict verdict = options_.router.route(window.end, EventTime(times.watermark_before[row]));
    const PartitionIndex partition = times.partition(row);
    const bool after_idle = !times.after_idle.empty() && times.after_idle[row] != 0;
    const Reason late = after_idle ? Reason::kLateAfterIdle : Reason::kLate;
    switch (verdict) {
      case LateVerdict::kOnTime:
        WRACKLINE_CHECK(false, "a record behind the edge is late");
        break;
      case LateVerdict::kCorrects: {
        Slice& slice = slice_at(window.start.micros());
        if (slice.rows.empty()) touched_.push_back(&slice);
        slice.rows.push_back(row);
        FateCounts& counts = balance_.of(partition);
        ++counts.accepted;
        ++counts.corrected;
        break;
      }
      case LateVerdict::kLedgered:
      case LateVerdict::kPastHorizon: {
        const Reason reason = verdict == LateVerdict::kPastHorizon ? Reason::kPastHorizon : late;
        WRACKLINE_TRY(set_aside_row(batch, times, tick, row, reason, {}));
        break;
      }
      case LateVerdict::kDropped:
        ++balance_.of(partition).dropped[static_cast<size_t>(Reason::kLate)];
        break;
    }
  }
  return accumulate_touched(batch, times, tick, true);
}

Status WindowAggregate::accumulate_touched(const Batch& batch, const RecordTimes& times,
                                           const TickContext& tick, bool late) {
  sum_errors_.clear();
  for (Slice* slice : touched_) accumulate(*slice, late);
  touched_.clear();
  if (sum_errors_.empty()) return {};
  // One absurd value must not stop a job: the aggregate that cannot hold it leaves it out and the ledger says
  // so. The record's other aggregates have it, so its fate is to be accepted partially.
  std::ranges::stable_sort(sum_errors_, {}, &expr::RowError::row);
  const auto same_row = [](const expr::RowError& a, const expr::RowError& b) { return a.row == b.row; };
  sum_errors_.erase(std::unique(sum_errors_.begin(), sum_errors_.end(), same_row), sum_errors_.end());
  for (const expr::RowError& error : sum_errors_) {
    FateCounts& counts = balance_.of(times.partition(error.row));
    --counts.accepted;
    ++counts.accepted_partially;
    WRACKLINE_TRY(tick.ledger->add(entry_of(batch, times, tick, error.row, error.reason, error.message)));
  }
  return {};
}

void WindowAggregate::accumulate(Slice& slice, bool late) {
  codec_.encode(key_columns_, slice.rows, encoded_);
  groups_.resize(slice.rows.size());
  slice.table.find_or_insert(encoded_, groups_);
  if (late) {
    if (slice.corrected.empty()) corrected_.push_back(&slice);
    for (const uint32_t group : groups_) {
      if (slice.table.mark(group) != 0) continue;
      slice.corrected.push_back(group);
      slice.table.mark(group) = static_cast<uint32_t>(slice.corrected.size());
      if (!options_.wants_retractions) continue;
      keep_old_row(slice, group);
    }
  }
  expr::RowErrors& errors = sum_errors_;
  for (size_t i = 0; i < options_.aggregates.size(); ++i) {
    const expr::Aggregate& aggregate = *options_.aggregates[i].aggregate;
    const expr::StateRows states{slice.table.states() + state_offsets_[i], slice.table.stride()};
    const Column* filter = filter_columns_[i];
    if (filter == nullptr) {
      aggregate.update(states, groups_, slice.rows, argument_columns_[i], slice.table.arena(), errors);
      continue;
    }
    filtered_rows_.clear();
    filtered_groups_.clear();
    const std::span<const uint8_t> keep = filter->values<uint8_t>();
    for (size_t k = 0; k < slice.rows.size(); ++k) {
      if (keep[slice.rows[k]] == 0 || filter->is_null(slice.rows[k])) continue;
      filtered_rows_.push_back(slice.rows[k]);
      filtered_groups_.push_back(groups_[k]);
    }
    aggregate.update(states, filtered_groups_, filtered_rows_, argument_columns_[i], slice.table.arena(),
                     errors);
  }
  slice.rows.clear();
}

// The group's published row as it stood before this tick. States are merged into empty ones rather than
// copied, because a state may point to what the next update changes.
void WindowAggregate::keep_old_row(Slice& slice, uint32_t group) {
  const size_t at = slice.old_rows.size();
  slice.old_rows.resize(at + slice.table.stride());
  const std::byte* row = slice.table.row(group);
  const auto states_at = static_cast<size_t>(slice.table.states() - slice.table.row(0));
  std::memcpy(slice.old_rows.data() + at, row, states_at);
  for (size_t i = 0; i < options_.aggregates.size(); ++i) {
    const size_t state_at = states_at + state_offsets_[i];
    options_.aggregates[i].aggregate->merge(slice.old_rows.data() + at + state_at, row + state_at,
                                            slice.table.arena());
  }
}

WindowAggregate::Slice& WindowAggregate::slice_at(int64_t start_us) {
  auto at = slices_.lower_bound(start_us);
  if (at != slices_.end() && at->first == start_us) return *at->second;
  std::unique_ptr<Slice> slice;
  if (spare_slices_.empty()) {
    slice = std::make_unique<Slice>(codec_.shape(), state_bytes_);
  } else {
    slice = std::move(spare_slices_.back());
    spare_slices_.pop_back();
  }
  slice->start_us = start_us;
  slice->end_us = start_us + options_.windows.size().micros();
  return *slices_.emplace_hint(at, start_us, std::move(slice))->second;
}

// Publishes the first version of every window that the watermark has reached. Windows come in order of their
// end.
Status WindowAggregate::close_until(int64_t watermark_us) {
  if (watermark_us <= watermark_us_) return {};
  watermark_us_ = watermark_us;
  const int64_t edge = options_.windows.edge_at_or_before(watermark_us);
  if (edge <= closed_before_us_) return {};
  // Windows that ended at or before closed_before_us_ have published; they start before it less one size.
  auto at =
      closed_before_us_ == kMicrosMin
          ? slices_.begin()
          : slices_.lower_bound(saturating_subtract(closed_before_us_, options_.windows.size().micros()) + 1);
  for (; at != slices_.end() && at->second->end_us <= edge; ++at) WRACKLINE_TRY(publish_first(*at->second));
  closed_before_us_ = edge;
  return {};
}

Status WindowAggregate::publish_first(Slice& slice) {
  Projection& p = *projection_;
  slice.table.sorted_groups(p.order);
  p.arena.clear();
  WRACKLINE_TRY(project(slice, slice.table.states(), p.order, p.order, p.changes));
  for (size_t i = 0; i < p.order.size(); ++i) {
    slice.table.version(p.order[i]) = 1;
    p.changes.ops[i] = RowOp::kInsert;
    p.changes.versions[i] = 1;
    p.changes.statuses[i] = RowStatus::kOnTime;
  }
  ++statistics_.windows_closed;
  statistics_.versions += static_cast<int64_t>(p.order.size());
  WRACKLINE_TRY(consumer_.take(p.changes));
  if (options_.wants_retractions) WRACKLINE_TRY(consumer_.take_changelog(p.changes));
  return {};
}

// Rows for `groups`, whose states are the rows `state_rows` at `states`: everything but op, version and
// status.
Status WindowAggregate::project(Slice& slice, std::byte* states, std::span<const uint32_t> state_rows,
                                std::span<const uint32_t> groups, ChangeBatch& changes) {
  Projection& p = *projection_;
  const size_t rows = groups.size();
  for (size_t i = 0; i < 2; ++i) {
    p.inputs[i].reset(Type::timestamptz());
    p.inputs[i].resize(rows);
    std::ranges::fill(p.inputs[i].values<int64_t>(), i == 0 ? slice.start_us : slice.end_us);
  }
  const std::span<Column> keys(p.inputs.data() + 2, keys_.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i].reset(codec_.types()[i]);
    keys[i].resize(rows);
  }
  codec_.decode(slice.table, groups, keys, 0, p.arena);
  for (size_t i = 0; i < options_.aggregates.size(); ++i) {
    const expr::StateRows rows_of{states + state_offsets_[i], slice.table.stride()};
    Column& out = p.inputs[2 + keys.size() + i];
    const Status finished = options_.aggregates[i].aggregate->finish(rows_of, state_rows, out, p.arena);
    if (!finished) {
      Error error = finished.error();
      error.detail = format("In view \"{}\", window that starts at {}. {}", options_.view,
                            timestamp_text(slice.start_us), error.detail);
      return fail(std::move(error));
    }
  }
  reset(changes, rows, options_.outputs.size(), generation_);
  p.errors.clear();
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    changes.columns[i].copy_from(p.outputs[i].evaluate(p.inputs, rows, p.errors));
  }
  if (p.errors.empty()) return {};
  std::string key;
  for (const Column& column : keys) {
    if (!key.empty()) key += ", ";
    append_json(key, column, p.errors[0].row);
  }
  return fail(ErrorCode::kData,
              format("cannot publish a row of view \"{}\": {}", options_.view, p.errors[0].message),
              format("Window that starts at {}{}{}.", timestamp_text(slice.start_us),
                     key.empty() ? "" : ", key ", key),
              "Guard the SELECT list against the value, for example with nullif(divisor, 0).");
}

Status WindowAggregate::publish_corrections(Slice& slice) {
  Projection& p = *projection_;
  p.arena.clear();
  // The groups' marks say where their old rows are: keep that while the groups are put in the order of keys.
  std::vector<uint32_t> order = slice.corrected;
  slice.table.sort_groups(order);
  WRACKLINE_TRY(project(slice, slice.table.states(), order, order, p.changes));
  for (size_t i = 0; i < order.size(); ++i) {
    const uint32_t version = ++slice.table.version(order[i]);
    p.changes.ops[i] = version == 1 ? RowOp::kInsert : RowOp::kUpdate;
    p.changes.versions[i] = version;
    p.changes.statuses[i] = RowStatus::kCorrection;
  }
  statistics_.versions += static_cast<int64_t>(order.size());
  statistics_.corrections += static_cast<int64_t>(order.size());
  WRACKLINE_TRY(consumer_.take(p.changes));
  if (options_.wants_retractions) WRACKLINE_TRY(publish_changelog(slice, order));
  for (const uint32_t group : slice.corrected) slice.table.mark(group) = 0;
  slice.corrected.clear();
  slice.old_rows.clear();
  return {};
}

// The corrections of p.changes as retract-and-insert pairs. Groups without a published row have only the
// insert.
Status WindowAggregate::publish_changelog(Slice& slice, std::span<const uint32_t> order) {
  Projection& p = *projection_;
  std::vector<uint32_t> old_index;
  std::vector<uint32_t> old_groups;
  for (const uint32_t group : order) {
    if (slice.table.version(group) == 1) continue;
    old_index.push_back(slice.table.mark(group) - 1);
    old_groups.push_back(group);
  }
  const size_t states_at = static_cast<size_t>(slice.table.states() - slice.table.row(0));
  WRACKLINE_TRY(project(slice, slice.old_rows.data() + states_at, old_index, old_groups, p.old_changes));
  reset(p.changelog, order.size() + old_groups.size(), options_.outputs.size(), generation_);
  std::vector<size_t> new_at;
  std::vector<size_t> old_at;
  for (size_t i = 0, at = 0; i < order.size(); ++i) {
    const int64_t version = p.changes.versions[i];
    if (version > 1) {
      old_at.push_back(at);
      p.changelog.ops[at] = RowOp::kRetract;
      p.changelog.versions[at] = version - 1;
      p.changelog.statuses[at++] = RowStatus::kCorrection;
    }
    new_at.push_back(at);
    p.changelog.ops[at] = RowOp::kInsert;
    p.changelog.versions[at] = version;
    p.changelog.statuses[at++] = RowStatus::kCorrection;
  }
  for (size_t i = 0; i < options_.outputs.size(); ++i) {
    Column& out = p.changelog.columns[i];
    out.reset(p.changes.columns[i].type());
    out.resize(p.changelog.rows);
    scatter(p.changes.columns[i], new_at, out);
    scatter(p.old_changes.columns[i], old_at, out);
  }
  statistics_.retractions += static_cast<int64_t>(old_groups.size());
  return consumer_.take_changelog(p.changelog);
}

Status WindowAggregate::finish_tick() {
  std::ranges::sort(corrected_, {}, &Slice::start_us);
  for (Slice* slice : corrected_) WRACKLINE_TRY(publish_corrections(*slice));
  corrected_.clear();
  while (!slices_.empty()) {
    auto oldest = slices_.begin();
    if (options_.router.sealed_at(oldest->second->end_us) > watermark_us_) break;
    oldest->second->table.clear();
    if (spare_slices_.size() < 4) spare_slices_.push_back(std::move(oldest->second));
    slices_.erase(oldest);
  }
  return {};
}

}  // namespace wrackline
