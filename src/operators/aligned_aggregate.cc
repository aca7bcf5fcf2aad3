#include "operators/aligned_aggregate.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline {
namespace {

constexpr size_t kRowsWorthWaking = 512;  // some 20 microseconds of work: what waking a thread costs

bool holds(const Window& window, int64_t event_us) {
  const auto start = static_cast<uint64_t>(window.start.micros());
  return static_cast<uint64_t>(event_us) - start < static_cast<uint64_t>(window.end.micros()) - start;
}

// Row at[i] of shard from[i], for every row of the merged publication.
struct MergedRow {
  size_t shard;
  size_t row;
};

// Several shards' rows in the order of their keys. No two shards share a key.
void merge_by_key(std::span<const Publication> publications, bool changelog, ChangeBatch& merged) {
  std::vector<MergedRow> order;
  const auto changes_of = [&](size_t i) -> const ChangeBatch& {
    return changelog ? publications[i].changelog : publications[i].changes;
  };
  const auto groups_of = [&](size_t i) -> const std::vector<uint32_t>& {
    return changelog ? publications[i].changelog_groups : publications[i].groups;
  };
  const auto less = [&](const MergedRow& a, const MergedRow& b) {
    if (a.shard == b.shard) return a.row < b.row;
    return state::GroupTable::key_less(*publications[a.shard].table, groups_of(a.shard)[a.row],
                                       *publications[b.shard].table, groups_of(b.shard)[b.row]);
  };
  const ChangeBatch* like = nullptr;
  for (size_t i = 0; i < publications.size(); ++i) {
    const size_t middle = order.size();
    for (size_t row = 0; row < changes_of(i).rows; ++row) order.push_back({i, row});
    if (changes_of(i).rows > 0) like = &changes_of(i);
    std::inplace_merge(order.begin(), order.begin() + static_cast<ptrdiff_t>(middle), order.end(), less);
  }
  merged.rows = order.size();
  if (like == nullptr) return;
  merged.columns.resize(like->columns.size());
  for (size_t i = 0; i < merged.columns.size(); ++i) {
    merged.columns[i].reset(like->columns[i].type());
    merged.columns[i].resize(order.size());
  }
  merged.ops.resize(order.size());
  merged.versions.resize(order.size());
  merged.statuses.resize(order.size());
  merged.generation = like->generation;
  for (size_t at = 0; at < order.size(); ++at) {
    const ChangeBatch& from = changes_of(order[at].shard);
    const size_t row = order[at].row;
    for (size_t i = 0; i < merged.columns.size(); ++i) merged.columns[i].copy_value(at, from.columns[i], row);
    merged.ops[at] = from.ops[row];
    merged.versions[at] = from.versions[row];
    merged.statuses[at] = from.statuses[row];
  }
}

}  // namespace

AlignedAggregate::AlignedAggregate(ViewOptions options, WindowPlan plan, ChangeConsumer& consumer,
                                   int64_t generation)
    : options_(std::move(options)),
      plan_(plan),
      consumer_(consumer),
      generation_(generation),
      grouping_(options_),
      intake_(options_, [this](int64_t event_us, std::vector<Window>& windows) {
        plan_.windows_of(event_us, windows);
      }) {
  const size_t shards = options_.keys.empty() ? 1 : std::max<size_t>(1, options_.threads);
  for (size_t i = 0; i < shards; ++i) {
    shards_.push_back(std::make_unique<AlignedShard>(options_, plan_, grouping_, generation_));
  }
  publications_.resize(shards);
  if (shards > 1) pool_ = std::make_unique<WorkerPool>(shards);
}

AlignedAggregate::~AlignedAggregate() = default;

size_t AlignedAggregate::state_bytes() const {
  size_t bytes = 0;
  for (const auto& shard : shards_) bytes += shard->state_bytes();
  return bytes;
}

Status AlignedAggregate::process(const Batch& batch, const RecordTimes& times, const TickContext& tick,
                                 size_t range_begin, size_t range_end) {
  WRACKLINE_TRY(intake_.take(batch, times, tick, range_begin, range_end));
  const std::vector<int64_t>& watermark = times.watermark_before;
  for (size_t begin = range_begin; begin < range_end;) {
    WRACKLINE_TRY(close_until(watermark[begin]));
    const int64_t edge = plan_.edge_at_or_before(watermark[begin]);
    // Minus infinity is not an edge of any window: there the piece ends as soon as the watermark is known.
    const int64_t next_edge = plan_.next_edge(edge);
    size_t end = range_end;
    if (watermark[range_end - 1] >= next_edge) {
      const auto first = watermark.begin() + static_cast<ptrdiff_t>(begin);
      const auto last = watermark.begin() + static_cast<ptrdiff_t>(range_end);
      end = static_cast<size_t>(std::lower_bound(first, last, next_edge) - watermark.begin());
    }
    // A watermark before every window keeps the edge at minus infinity: one record at a time is still
    // progress.
    end = std::max(end, begin + 1);
    WRACKLINE_TRY(run_piece(times, tick, begin, end, edge));
    begin = end;
  }
  return close_until(watermark[range_end]);
}

// ---- Rows into slices and windows

AlignedAggregate::Bucket& AlignedAggregate::slice_bucket(int64_t event_us) {
  auto at = buckets_.upper_bound(event_us);
  if (at != buckets_.begin()) {
    Bucket& before = std::prev(at)->second;
    if (holds(before.window, event_us)) {
      if (before.rows.empty()) filled_.push_back(&before);
      return before;
    }
  }
  const Window slice = plan_.slice_of(event_us);
  Bucket& bucket = buckets_[slice.start.micros()];
  bucket.window = slice;
  bucket.in_no_window = !plan_.first_window(slice).has_value();
  filled_.push_back(&bucket);
  return bucket;
}

AlignedAggregate::Bucket& AlignedAggregate::window_bucket(const Window& window) {
  Bucket& bucket = revised_[window.end.micros()];
  bucket.window = window;
  if (bucket.rows.empty()) revised_filled_.push_back(&bucket);
  return bucket;
}

// Rows [begin, end) of the batch, during which the watermark stays between `edge_us` and the next edge.
Status AlignedAggregate::run_piece(const RecordTimes& times, const TickContext& tick, size_t begin,
                                   size_t end, int64_t edge_us) {
  const std::vector<uint8_t>& selected = intake_.selected();
  late_rows_.clear();
  partial_rows_.clear();
  Bucket* current = nullptr;
  Bucket* previous = nullptr;
  const auto is_in = [](const Bucket* bucket, int64_t event_us) {
    return bucket != nullptr && holds(bucket->window, event_us);
  };
  for (size_t row = begin; row < end; ++row) {
    if (selected[row] == 0) continue;
    const int64_t event_us = times.event_us[row];
    if (event_us < edge_us) [[unlikely]] {
      late_rows_.push_back(static_cast<uint32_t>(row));
      continue;
    }
    if (!is_in(current, event_us)) {
      std::swap(current, previous);
      if (!is_in(current, event_us)) current = &slice_bucket(event_us);
    }
    current->rows.push_back(static_cast<uint32_t>(row));
    statistics_.behind_watermark += event_us < times.watermark_before[row];
  }
  Balance& balance = intake_.balance();
  for (Bucket* bucket : filled_) {
    int64_t FateCounts::* fate = bucket->in_no_window ? &FateCounts::filtered : &FateCounts::accepted;
    if (times.partitions.size() == 1) {
      balance.of(times.partitions[0]).*fate += static_cast<int64_t>(bucket->rows.size());
    } else {
      for (const uint32_t row : bucket->rows) ++(balance.of(times.partitions[row]).*fate);
    }
  }
  WRACKLINE_TRY(store(times, tick));
  if (late_rows_.empty()) return {};
  WRACKLINE_TRY(route_late(times, tick));
  return store(times, tick);
}

Status AlignedAggregate::route_late(const RecordTimes& times, const TickContext& tick) {
  for (const uint32_t row : late_rows_) WRACKLINE_TRY(route_late_row(times, tick, row));
  return {};
}

// A record before the last edge is late for the windows that have closed and on time for the others.
Status AlignedAggregate::route_late_row(const RecordTimes& times, const TickContext& tick, uint32_t row) {
  const int64_t event_us = times.event_us[row];
  const EventTime watermark(times.watermark_before[row]);
  FateCounts& counts = intake_.balance().of(times.partition(row));
  windows_scratch_.clear();
  plan_.windows_of(event_us, windows_scratch_);
  if (windows_scratch_.empty()) {
    ++counts.filtered;
    return {};
  }
  bool is_open = false;
  bool corrects = false;
  std::vector<Window> ledgered;
  int64_t missed = 0;
  LateVerdict worst = LateVerdict::kOnTime;
  for (const Window& window : windows_scratch_) {
    const LateVerdict verdict = options_.router.route(window.end, watermark);
    switch (verdict) {
      case LateVerdict::kOnTime:
        is_open = true;
        break;
      case LateVerdict::kCorrects:
        corrects = true;
        window_bucket(window).rows.push_back(row);
        retained_.try_emplace(window.end.micros(), window);
        corrected_.insert(window.end.micros());
        break;
      case LateVerdict::kLedgered:
        ledgered.push_back(window);
        [[fallthrough]];
      case LateVerdict::kPastHorizon:
      case LateVerdict::kDropped:
        ++missed;
        if (worst != LateVerdict::kLedgered) worst = verdict;
        break;
    }
  }
  if (is_open) slice_bucket(event_us).rows.push_back(row);
  const Reason late = intake_.late_reason(row);
  if (!is_open && !corrects) {
    if (worst == LateVerdict::kPastHorizon)
      return intake_.set_aside(tick, row, Reason::kPastHorizon, {}, windows_scratch_);
    if (worst == LateVerdict::kDropped) {
      ++counts.dropped[static_cast<size_t>(late)];
      return {};
    }
    return intake_.set_aside(tick, row, late, {}, ledgered);
  }
  if (corrects) ++counts.corrected;
  if (missed == 0) {
    ++counts.accepted;
    return {};
  }
  ++counts.accepted_partially;
  statistics_.pairs_missed += missed;
  partial_rows_.push_back(row);
  const bool dropped = (options_.drop_reasons >> static_cast<unsigned>(late) & 1U) != 0;
  if (ledgered.empty() || dropped) return {};
  return intake_.note_missed(tick, row, late, {}, ledgered);
}

void AlignedAggregate::split_by_shard() {
  const size_t shards = shards_.size();
  for (const auto* filled : {&filled_, &revised_filled_}) {
    for (Bucket* bucket : *filled) {
      bucket->by_shard.resize(shards);
      for (auto& rows : bucket->by_shard) rows.clear();
      grouping_.codec().encode(intake_.columns().keys, bucket->rows, encoded_);
      state::assign_shards(grouping_.codec().shape(), encoded_, shards, shard_of_);
      for (size_t i = 0; i < bucket->rows.size(); ++i)
        bucket->by_shard[shard_of_[i]].push_back(bucket->rows[i]);
    }
  }
}

// Gives the rows of the buckets to the shards.
Status AlignedAggregate::store(const RecordTimes& times, const TickContext& tick) {
  const InputColumns& columns = intake_.columns();
  if (!pool_) {
    for (Bucket* bucket : filled_) {
      if (!bucket->in_no_window) shards_[0]->add(bucket->window, columns, bucket->rows);
    }
    for (Bucket* bucket : revised_filled_) shards_[0]->revise(bucket->window, columns, bucket->rows);
  } else if (!filled_.empty() || !revised_filled_.empty()) {
    split_by_shard();
    size_t rows = 0;
    for (const Bucket* bucket : filled_) rows += bucket->rows.size();
    for (const Bucket* bucket : revised_filled_) rows += bucket->rows.size();
    rows_since_publication_ += rows;
    for_each_shard(rows, [&](size_t i) {
      for (Bucket* bucket : filled_) {
        if (!bucket->in_no_window) shards_[i]->add(bucket->window, columns, bucket->by_shard[i]);
      }
      for (Bucket* bucket : revised_filled_) shards_[i]->revise(bucket->window, columns, bucket->by_shard[i]);
    });
  }
  for (Bucket* bucket : filled_) {
    if (!bucket->in_no_window) slices_.try_emplace(bucket->window.start.micros(), bucket->window);
    bucket->rows.clear();
  }
  for (Bucket* bucket : revised_filled_) bucket->rows.clear();
  filled_.clear();
  revised_filled_.clear();
  revised_.clear();
  return settle_errors(times, tick);
}

// One absurd value must not stop a job: the aggregate that cannot hold it leaves it out and the ledger says
// so. The record's other aggregates have it, so its fate is to be accepted partially.
Status AlignedAggregate::settle_errors(const RecordTimes& times, const TickContext& tick) {
  expr::RowErrors errors;
  for (const auto& shard : shards_) {
    for (expr::RowError& error : shard->take_errors()) errors.push_back(std::move(error));
  }
  if (errors.empty()) return {};
  std::ranges::stable_sort(errors, {}, &expr::RowError::row);
  const auto same_row = [](const expr::RowError& a, const expr::RowError& b) { return a.row == b.row; };
  errors.erase(std::unique(errors.begin(), errors.end(), same_row), errors.end());
  for (const expr::RowError& error : errors) {
    if (std::ranges::find(partial_rows_, error.row) == partial_rows_.end()) {
      FateCounts& counts = intake_.balance().of(times.partition(error.row));
      --counts.accepted;
      ++counts.accepted_partially;
    }
    windows_scratch_.clear();
    plan_.windows_of(times.event_us[error.row], windows_scratch_);
    WRACKLINE_TRY(intake_.note_missed(tick, error.row, error.reason, error.message, windows_scratch_));
  }
  return {};
}

// ---- Closing

bool AlignedAggregate::has_slice(const Window& window) const {
  const auto at = slices_.lower_bound(window.start.micros());
  return at != slices_.end() && at->first < window.end.micros();
}

Window AlignedAggregate::first_unclosed() const {
  const Window first = *plan_.first_window(slices_.begin()->second);
  if (closed_before_us_ == kMicrosMin || first.end.micros() > closed_before_us_) return first;
  return plan_.first_window_after(closed_before_us_);
}

// Publishes the first version of every window that the watermark has reached. Windows come in order of their
// end.
Status AlignedAggregate::close_until(int64_t watermark_us) {
  if (watermark_us <= watermark_us_) return {};
  watermark_us_ = watermark_us;
  const int64_t edge = plan_.edge_at_or_before(watermark_us);
  if (edge <= closed_before_us_) return {};
  const bool fill = options_.emit_empty && statistics_.windows_closed > 0 && closed_before_us_ != kMicrosMin;
  if (!slices_.empty() || (fill && edge != kMicrosMax)) {
    Window window = fill ? plan_.first_window_after(closed_before_us_) : first_unclosed();
    while (window.end.micros() <= edge) {
      if (has_slice(window)) {
        WRACKLINE_TRY(close_window(window));
      } else {
        const auto next = slices_.lower_bound(window.start.micros());
        // The end of time closes what there is, not every window until then.
        if (next == slices_.end() && (!options_.emit_empty || edge == kMicrosMax)) break;
        if (options_.emit_empty && statistics_.windows_closed > 0) {
          WRACKLINE_TRY(close_window(window));
        } else {
          window = *plan_.first_window(next->second);
          continue;
        }
      }
      window = plan_.next_window(window);
    }
  }
  release_slices(edge);
  closed_before_us_ = edge;
  return {};
}

Status AlignedAggregate::close_window(const Window& window) {
  const int64_t end = window.end.micros();
  const bool make_empty = options_.emit_empty;
  WRACKLINE_TRY(
      publish([&](AlignedShard& shard, Publication& out) { return shard.close(window, make_empty, out); }));
  if (options_.router.sealed_at(end) > watermark_us_) {
    retained_.emplace(end, window);
    return {};
  }
  for (const auto& shard : shards_) shard->release_window(end);
  return {};
}

void AlignedAggregate::release_slices(int64_t edge_us) {
  while (!slices_.empty() && plan_.last_end(slices_.begin()->second) <= edge_us) {
    const int64_t start = slices_.begin()->first;
    for (const auto& shard : shards_) shard->release_slice(start);
    slices_.erase(slices_.begin());
  }
  const int64_t oldest = slices_.empty() ? edge_us : std::min(edge_us, slices_.begin()->first);
  while (!buckets_.empty() && buckets_.begin()->second.window.end.micros() <= oldest)
    buckets_.erase(buckets_.begin());
}

// ---- Publishing

void AlignedAggregate::for_each_shard(size_t rows, const std::function<void(size_t)>& work) {
  if (rows >= kRowsWorthWaking) return pool_->run(work);
  for (size_t i = 0; i < shards_.size(); ++i) work(i);
}

template <class Act>
Status AlignedAggregate::publish(Act act) {
  std::vector<Status> statuses(shards_.size());
  for (Publication& publication : publications_) {
    publication.statistics = {};
    publication.changes.rows = 0;
    publication.changelog.rows = 0;
  }
  if (!pool_) {
    statuses[0] = act(*shards_[0], publications_[0]);
  } else {
    for_each_shard(std::exchange(rows_since_publication_, 0),
                   [&](size_t i) { statuses[i] = act(*shards_[i], publications_[i]); });
  }
  bool closed = false;
  for (size_t i = 0; i < shards_.size(); ++i) {
    WRACKLINE_TRY(std::move(statuses[i]));
    const ViewStatistics& own = publications_[i].statistics;
    closed |= own.windows_closed > 0;
    statistics_.versions += own.versions;
    statistics_.corrections += own.corrections;
    statistics_.retractions += own.retractions;
    statistics_.early += own.early;
  }
  statistics_.windows_closed += closed;
  WRACKLINE_TRY(hand_over(false));
  return options_.wants_retractions ? hand_over(true) : Status();
}

Status AlignedAggregate::hand_over(bool changelog) {
  const ChangeBatch* changes = changelog ? &publications_[0].changelog : &publications_[0].changes;
  if (pool_) {
    merge_by_key(publications_, changelog, merged_);
    changes = &merged_;
  }
  if (changes->rows == 0) return {};
  return changelog ? consumer_.take_changelog(*changes) : consumer_.take(*changes);
}

Status AlignedAggregate::finish_tick(const TickContext& tick) {
  WRACKLINE_TRY(publish_corrections());
  WRACKLINE_TRY(publish_early(tick));
  while (!retained_.empty()) {
    const int64_t end = retained_.begin()->first;
    if (options_.router.sealed_at(end) > watermark_us_) break;
    for (const auto& shard : shards_) shard->release_window(end);
    retained_.erase(retained_.begin());
  }
  return {};
}

Status AlignedAggregate::publish_corrections() {
  for (const int64_t end : corrected_) {
    const Window window = retained_.at(end);
    WRACKLINE_TRY(publish(
        [&](AlignedShard& shard, Publication& out) { return shard.publish_corrections(window, out); }));
  }
  corrected_.clear();
  return {};
}

// Early versions come at the end of the first tick in which the clock they go by has passed a multiple of the
// interval.
Status AlignedAggregate::publish_early(const TickContext& tick) {
  if (!options_.early) return {};
  const int64_t now = options_.early->wall_time ? tick.wall_us : watermark_us_;
  if (now == kMicrosMin || watermark_us_ == kMicrosMax) return {};
  const int64_t mark = floor_divide(now, options_.early->every.micros());
  const bool due = early_mark_ != kMicrosMin && mark > early_mark_;
  if (early_mark_ == kMicrosMin || mark > early_mark_) early_mark_ = mark;
  if (!due || slices_.empty()) return {};
  const int64_t last_start = slices_.rbegin()->first;
  for (Window window = first_unclosed(); window.start.micros() <= last_start;
       window = plan_.next_window(window)) {
    if (!has_slice(window)) continue;
    WRACKLINE_TRY(
        publish([&](AlignedShard& shard, Publication& out) { return shard.publish_early(window, out); }));
  }
  for (const auto& shard : shards_) shard->forget_early_changes();
  return {};
}

// ---- Snapshots

namespace {

// The view's name, because several views may share a scope. The number of shards, because among another
// number the same keys are elsewhere.
std::string shard_label(std::string_view view, size_t shards, size_t shard) {
  return format("{}/{}.{}", view, shards, shard);
}

void save_windows(const std::map<int64_t, Window>& windows, SnapshotWriter& out) {
  out.u64(windows.size());
  for (const auto& [at, window] : windows) {
    out.i64(at);
    out.i64(window.start.micros());
    out.i64(window.end.micros());
  }
}

void restore_windows(std::map<int64_t, Window>& windows, SnapshotReader& in) {
  windows.clear();
  for (size_t left = in.count(3 * sizeof(int64_t)); left > 0; --left) {
    const int64_t at = in.i64();
    const EventTime start(in.i64());
    windows[at] = Window{start, EventTime(in.i64())};
  }
}

void save_statistics(const ViewStatistics& statistics, SnapshotWriter& out) {
  for (const int64_t count :
       {statistics.windows_closed, statistics.versions, statistics.corrections, statistics.retractions,
        statistics.early, statistics.behind_watermark, statistics.pairs_missed}) {
    out.i64(count);
  }
}

void restore_statistics(ViewStatistics& statistics, SnapshotReader& in) {
  for (int64_t* count :
       {&statistics.windows_closed, &statistics.versions, &statistics.corrections, &statistics.retractions,
        &statistics.early, &statistics.behind_watermark, &statistics.pairs_missed}) {
    *count = in.i64();
  }
}

}  // namespace

Status AlignedAggregate::save(SnapshotWriter& out) const {
  WRACKLINE_CHECK(corrected_.empty(), "a snapshot is taken between ticks");
  out.section("algn");
  out.u64(shards_.size());
  intake_.balance().save(out);
  save_statistics(statistics_, out);
  save_windows(slices_, out);
  save_windows(retained_, out);
  out.i64(watermark_us_);
  out.i64(closed_before_us_);
  out.i64(early_mark_);
  for (size_t i = 0; i < shards_.size(); ++i)
    shards_[i]->save(out, shard_label(options_.view, shards_.size(), i));
  return {};
}

Status AlignedAggregate::restore(SnapshotReader& in) {
  in.section("algn");
  const uint64_t shards = in.u64();
  if (shards == 0) in.refuse("no part of the keys is there");
  WRACKLINE_TRY(in.status());
  intake_.balance().restore(in);
  restore_statistics(statistics_, in);
  restore_windows(slices_, in);
  restore_windows(retained_, in);
  watermark_us_ = in.i64();
  closed_before_us_ = in.i64();
  early_mark_ = in.i64();
  WRACKLINE_TRY(restore_shards(in, shards));
  return in.status();
}

Status AlignedAggregate::restore_shards(SnapshotReader& in, uint64_t saved) {
  if (saved == shards_.size()) {
    for (size_t i = 0; i < saved; ++i)
      WRACKLINE_TRY(shards_[i]->restore(in, shard_label(options_.view, saved, i)));
    return {};
  }
  for (size_t i = 0; i < saved; ++i) {
    AlignedShard shard(options_, plan_, grouping_, generation_);
    WRACKLINE_TRY(shard.restore(in, shard_label(options_.view, saved, i)));
    shard.share_out(shards_);
  }
  return {};
}

}  // namespace wrackline
