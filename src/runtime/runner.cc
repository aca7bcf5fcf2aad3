#include "runtime/runner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "runtime/arrival_order.h"

namespace wrackline::runtime {
namespace {

constexpr int64_t kCommitEveryUs = 500'000;  // a busy run commits this often: an fsync costs milliseconds
constexpr int64_t kProgressEveryUs = 200'000;
constexpr int64_t kDropsEveryUs = 10'000'000;
constexpr int64_t kDiscoverEveryUs = 500'000;
constexpr int64_t kPollUs = 20'000;  // between looks at quiet live input
constexpr size_t kFirstRows = 256;   // first batch of one split among many: they are all held at once
constexpr int64_t kQuietStepUsMax = 1'000'000;  // longest quiet time that one look can account for

}  // namespace

struct Runner::Split {
  std::unique_ptr<SplitReader> reader;
  PartitionIndex partition = 0;   // of its rejects, and of its rows when no column names the partition
  int64_t event_us = kMicrosMin;  // greatest event time consumed from it that may move time
  bool ended = false;             // consumed to its end
  bool caught_up = false;
  Batch batch;
  RecordTimes times;
  size_t next_row = 0;  // rows before it are consumed
  bool has_batch = false;
  ReadState state = ReadState::kRows;  // as of the last read
  size_t rows_wanted = 0;              // 0: a full tick
};

struct Runner::RunningView {
  std::string name;
  std::unique_ptr<ViewOutput> output;
  std::unique_ptr<WindowAggregate> operation;
};

struct Runner::RunningSource {
  explicit RunningSource(SourcePlan from) : plan(std::move(from)), stage(plan.times) {}

  SourcePlan plan;
  TimeStage stage;
  std::vector<std::unique_ptr<Split>> splits;
  std::vector<RunningView> views;
  bool bounded = true;
  bool ended = false;
  size_t turn = 0;  // live: whose turn it is
  int64_t discovered_us = 0;
  // The quiet clock runs only while every split is caught up, so that a busy or paused reader never looks
  // idle.
  int64_t quiet_us = 0;
  int64_t looked_us = 0;
  std::vector<int64_t> spoke_at_quiet_us;  // per partition
  const Batch* begun = nullptr;            // the batch that the views evaluated last

  bool partition_is_split() const { return !plan.times.partition_column.has_value(); }
};

bool RunReport::balanced() const {
  return std::ranges::all_of(views, [](const ViewReport& view) { return view.balance.balanced(); });
}

Runner::Runner(std::vector<SourcePlan> sources, ledger::Ledger& ledger, env::Clock& clock,
               RunnerOptions options)
    : ledger_(ledger), clock_(clock), options_(std::move(options)) {
  for (SourcePlan& plan : sources) sources_.push_back(std::make_unique<RunningSource>(std::move(plan)));
}

Runner::~Runner() = default;

Result<RunReport> Runner::run() {
  started_us_ = committed_us_ = drops_reported_us_ = clock_.monotonic_us();
  Status status = open();
  if (status) status = run_ticks();
  RunReport result;
  if (status) {
    result = report();  // the watermark as it stands before the flush
    const bool stopped = stop_.load(std::memory_order_relaxed);
    if (!stopped && options_.flush_at_end) status = flush();
    if (status) status = commit();
    const EventTime watermark = result.watermark;
    result = report();
    result.watermark = watermark;
    result.stopped = stopped;
  }
  report_drops(true);
  report_progress(true);
  const bool finished = status.has_value() && !result.stopped;
  const Status closed = close(finished);
  if (!status) return fail(std::move(status).error());
  if (!closed) return fail(closed.error());
  return result;
}

Status Runner::open() {
  for (auto& source : sources_) {
    source->bounded = source->plan.source->bounded();
    for (ViewPlan& view : source->plan.views) {
      RunningView running;
      running.name = view.operation.view;
      running.output = std::make_unique<ViewOutput>(std::move(view.sinks));
      view.operation.wants_retractions = running.output->wants_changelog();
      WRACKLINE_TRY(running.output->open(view.columns, running.name, ledger_.generation()));
      running.operation =
          std::make_unique<WindowAggregate>(std::move(view.operation), *running.output, ledger_.generation());
      source->views.push_back(std::move(running));
    }
    WRACKLINE_ASSIGN(auto readers, source->plan.source->open());
    if (source->plan.in_arrival_order) {
      // Every log is a partition before the first record, as ever; only the order of reading changes.
      if (source->partition_is_split()) {
        for (const auto& reader : readers) source->stage.partition(reader->name());
      }
      WRACKLINE_ASSIGN(auto merged, read_in_arrival_order(std::move(readers), source->plan.fields,
                                                          source->stage, clock_.now()));
      auto split = std::make_unique<Split>();
      split->reader = std::move(merged);
      source->splits.push_back(std::move(split));
    } else {
      WRACKLINE_TRY(open_splits(*source, std::move(readers)));
    }
  }
  return {};
}

// Registers every split before the first record is read, so that one that has not spoken holds the watermark.
Status Runner::open_splits(RunningSource& source, std::vector<std::unique_ptr<SplitReader>> readers) {
  for (auto& reader : readers) {
    auto split = std::make_unique<Split>();
    split->reader = std::move(reader);
    if (source.partition_is_split()) split->partition = source.stage.partition(split->reader->name());
    if (source.bounded && readers.size() > 1) split->rows_wanted = kFirstRows;
    source.splits.push_back(std::move(split));
  }
  return {};
}

Status Runner::run_ticks() {
  while (!stop_.load(std::memory_order_relaxed)) {
    bool any_open = false;
    bool any_rows = false;
    for (auto& source : sources_) {
      if (source->ended) continue;
      WRACKLINE_ASSIGN(const bool rows, tick(*source));
      any_rows |= rows;
      any_open |= !source->ended;
    }
    if (!any_open) break;
    const int64_t now = clock_.monotonic_us();
    if (!any_rows) {
      WRACKLINE_TRY(commit());
      clock_.sleep(Duration(kPollUs));
    } else if (now - committed_us_ >= kCommitEveryUs) {
      WRACKLINE_TRY(commit());
    }
    report_progress(false);
    report_drops(false);
  }
  return {};
}

// Bounded input: the split whose time is furthest behind, so that no partition runs ahead of the others and
// open windows stay few. Live input: each in its turn.
Runner::Split* Runner::next_split(RunningSource& source) {
  Split* next = nullptr;
  if (source.bounded) {
    for (auto& split : source.splits) {
      if (split->ended) continue;
      if (next == nullptr || split->event_us < next->event_us) next = split.get();
    }
    return next;
  }
  for (size_t i = 0; i < source.splits.size(); ++i) {
    Split& split = *source.splits[(source.turn + i) % source.splits.size()];
    if (split.ended || split.caught_up) continue;
    source.turn = (source.turn + i + 1) % source.splits.size();
    return &split;
  }
  return nullptr;
}

Result<bool> Runner::tick(RunningSource& source) {
  Split* split = next_split(source);
  if (split == nullptr) {
    if (source.bounded) {
      source.ended = true;
      return false;
    }
    // Every live split was caught up when last asked: look again, and see who has been silent for too long.
    WRACKLINE_TRY(watch_idle(source));
    for (auto& other : source.splits) other->caught_up = false;
    return false;
  }
  if (!split->has_batch) WRACKLINE_TRY(refill(source, *split));
  const bool has_records = split->batch.rows > 0 || !split->batch.rejects.empty();
  if (has_records) WRACKLINE_TRY(judge_and_publish(source, *split, run_end(source, *split)));
  if (split->next_row < split->batch.rows) return true;
  split->has_batch = false;
  if (source.bounded && split->state == ReadState::kRows) {
    // Whether a split has ended must not depend on where batches were cut, so its next batch is looked for at
    // once.
    WRACKLINE_TRY(refill(source, *split));
    if (split->batch.rows > 0 || !split->batch.rejects.empty() || split->state != ReadState::kEnded)
      return true;
  }
  split->caught_up = split->state == ReadState::kCaughtUp;
  if (split->state == ReadState::kEnded) WRACKLINE_TRY(end_split(source, *split));
  return has_records;
}

Status Runner::refill(RunningSource& source, Split& split) {
  const size_t rows =
      split.rows_wanted == 0 ? options_.tick_rows : std::min(split.rows_wanted, options_.tick_rows);
  WRACKLINE_ASSIGN(split.state, split.reader->read(split.batch, rows));
  for (const std::string& text : split.reader->take_notices()) {
    notice(format("source \"{}\", file \"{}\": {}", source.plan.name, split.reader->name(), text));
  }
  split.has_batch = true;
  split.next_row = 0;
  source.begun = nullptr;
  PartitionIndex partition = split.partition;
  if (source.partition_is_split() && source.plan.in_arrival_order) {
    partition = source.stage.partition(split.batch.file);
  } else if (!source.partition_is_split() && !split.batch.rejects.empty()) {
    // A record that cannot be parsed names no partition; it counts under its file, which holds no watermark.
    partition = source.stage.silent_partition(split.batch.file);
  }
  source.stage.read(split.batch, partition, clock_.now(), split.times);
  return {};
}

// How far the split may be consumed before another one is due.
size_t Runner::run_end(const RunningSource& source, Split& split) const {
  if (!source.bounded || source.splits.size() == 1) return split.batch.rows;
  int64_t others_us = kMicrosMax;
  for (const auto& other : source.splits) {
    if (other.get() != &split && !other->ended) others_us = std::min(others_us, other->event_us);
  }
  if (others_us == kMicrosMax) return split.batch.rows;
  const int64_t limit = saturating_add(others_us, source.plan.alignment.micros());
  const RecordTimes& times = split.times;
  for (size_t row = split.next_row; row < split.batch.rows; ++row) {
    if (times.usable[row] == 0 || times.event_us[row] <= limit) continue;
    if (!source.stage.tracker().admissible(times.event_us[row], times.arrival_us[row])) continue;
    // What is left of a batch is evaluated again later, so batches follow the length of runs.
    split.rows_wanted = std::max<size_t>(64, (row + 1 - split.next_row) * 2);
    return row + 1;
  }
  split.rows_wanted = std::min(options_.tick_rows, split.rows_wanted * 2);
  return split.batch.rows;
}

Status Runner::judge_and_publish(RunningSource& source, Split& split, size_t end) {
  ++ticks_;
  const size_t begin = split.next_row;
  const Batch& batch = split.batch;
  split.next_row = end;
  source.stage.judge(split.times, begin, end);
  const TickContext context{ticks_, &source.stage.partition_names(), &ledger_};
  for (RunningView& view : source.views) {
    if (source.begun != &batch) view.operation->begin_batch(batch);
    WRACKLINE_TRY(view.operation->process(batch, split.times, context, begin, end));
    WRACKLINE_TRY(view.operation->finish_tick());
  }
  source.begun = &batch;
  rows_ += static_cast<int64_t>(end - begin);
  if (end == batch.rows) rows_ += static_cast<int64_t>(batch.rejects.size());
  const RecordTimes& times = split.times;
  for (size_t row = begin; row < end; ++row) {
    const bool moves = times.event_us[row] > split.event_us && times.usable[row] != 0;
    if (moves && source.stage.tracker().admissible(times.event_us[row], times.arrival_us[row])) {
      split.event_us = times.event_us[row];
    }
  }
  if (source.bounded) return {};
  source.spoke_at_quiet_us.resize(source.stage.partition_names().size(), source.quiet_us);
  for (size_t row = begin; row < end; ++row) source.spoke_at_quiet_us[times.partition(row)] = source.quiet_us;
  return {};
}

Status Runner::end_split(RunningSource& source, Split& split) {
  split.ended = true;
  const bool last = std::ranges::all_of(source.splits, [](const auto& s) { return s->ended; });
  if (source.partition_is_split() && !source.plan.in_arrival_order)
    source.stage.tracker().set_ended(split.partition);
  source.ended = last;
  return advance_views(source);
}

Status Runner::watch_idle(RunningSource& source) {
  const int64_t now = clock_.monotonic_us();
  if (source.looked_us != 0) source.quiet_us += std::min(now - source.looked_us, kQuietStepUsMax);
  source.looked_us = now;
  if (now - source.discovered_us >= kDiscoverEveryUs) {
    source.discovered_us = now;
    WRACKLINE_ASSIGN(auto readers, source.plan.source->discover());
    for (const auto& reader : readers) {
      notice(format("source \"{}\": found the new file \"{}\"", source.plan.name, reader->name()));
    }
    WRACKLINE_TRY(open_splits(source, std::move(readers)));
  }
  WatermarkTracker& tracker = source.stage.tracker();
  source.spoke_at_quiet_us.resize(tracker.partition_count(), source.quiet_us);
  bool changed = false;
  for (PartitionIndex i = 0; i < tracker.partition_count(); ++i) {
    if (tracker.partition_state(i) != PartitionState::kActive) continue;
    if (source.quiet_us - source.spoke_at_quiet_us[i] < source.plan.idle_timeout.micros()) continue;
    tracker.set_idle(i);
    changed = true;
  }
  return changed ? advance_views(source) : Status();
}

Status Runner::advance_views(RunningSource& source) {
  for (RunningView& view : source.views) {
    WRACKLINE_TRY(view.operation->advance(source.stage.tracker().watermark().micros()));
    WRACKLINE_TRY(view.operation->finish_tick());
  }
  return {};
}

Status Runner::flush() {
  for (auto& source : sources_) {
    source->stage.tracker().flush();
    WRACKLINE_TRY(advance_views(*source));
  }
  return {};
}

// The ledger first: what a sink shows must be explainable by a ledger that is at least as new.
Status Runner::commit() {
  WRACKLINE_TRY(check_balances());
  WRACKLINE_TRY(ledger_.commit());
  for (auto& source : sources_) {
    for (RunningView& view : source->views) WRACKLINE_TRY(view.output->commit());
  }
  committed_us_ = clock_.monotonic_us();
  return {};
}

Status Runner::check_balances() const {
  for (const auto& source : sources_) {
    for (const RunningView& view : source->views) {
      if (view.operation->balance().balanced()) continue;
      const FateCounts total = view.operation->balance().total();
      return fail(
          ErrorCode::kData, format("the balance of view \"{}\" does not add up", view.name),
          format("read {} but accepted {}, partially {}, ledgered {}, duplicate {}, dropped {}, filtered {}.",
                 total.read, total.accepted, total.accepted_partially, total.ledgered, total.duplicate,
                 total.dropped_total(), total.filtered),
          "This is a fault of Wrackline: please report it with the job and the input.");
    }
  }
  return {};
}

void Runner::report_progress(bool force) {
  if (!options_.on_progress) return;
  const int64_t now = clock_.monotonic_us();
  if (!force && now - progressed_us_ < kProgressEveryUs) return;
  progressed_us_ = now;
  Progress progress;
  progress.rows = rows_;
  progress.seconds = static_cast<double>(now - started_us_) / 1e6;
  progress.watermark = EventTime::plus_infinity();
  bool total_known = true;
  uint64_t total = 0;
  for (const auto& source : sources_) {
    progress.watermark = std::min(progress.watermark, source->stage.tracker().watermark());
    for (const auto& split : source->splits) {
      progress.bytes_read += split->reader->bytes_read();
      const std::optional<uint64_t> bytes = split->reader->bytes_total();
      total_known &= bytes.has_value();
      total += bytes.value_or(0);
    }
    for (const RunningView& view : source->views) {
      if (!view.operation) continue;
      const FateCounts counts = view.operation->balance().total();
      progress.late += counts.ledgered + counts.dropped_total() + counts.corrected;
    }
  }
  if (total_known && total > 0) progress.bytes_total = total;
  options_.on_progress(progress);
}

// "We discard records later than N" is a stated policy only if its cost is stated too: totals, at most every
// ten seconds.
void Runner::report_drops(bool force) {
  const int64_t now = clock_.monotonic_us();
  if (!force && now - drops_reported_us_ < kDropsEveryUs) return;
  int64_t drops = 0;
  std::string text;
  for (const auto& source : sources_) {
    for (const RunningView& view : source->views) {
      if (!view.operation) continue;
      const FateCounts counts = view.operation->balance().total();
      drops += counts.dropped_total();
      for (size_t i = 0; i < kReasonCount; ++i) {
        if (counts.dropped[i] == 0) continue;
        text += format("{}{} {} in view \"{}\"", text.empty() ? "" : ", ", with_thousands(counts.dropped[i]),
                       to_string(static_cast<Reason>(i)), view.name);
      }
    }
  }
  drops_reported_us_ = now;
  if (drops == drops_reported_) return;
  drops_reported_ = drops;
  notice(format("dropped {} records so far: {}", with_thousands(drops), text));
}

void Runner::notice(const std::string& text) const {
  if (options_.on_notice) options_.on_notice(text);
}

Status Runner::close(bool finished) {
  Status first;
  for (auto& source : sources_) {
    for (RunningView& view : source->views) {
      Status closed = view.output->close(finished);
      if (!closed && first) first = std::move(closed);
    }
  }
  Status ended = ledger_.finish(finished && first.has_value());
  return first ? ended : first;
}

RunReport Runner::report() const {
  RunReport result;
  result.generation = ledger_.generation();
  result.rows = rows_;
  result.ticks = ticks_;
  result.seconds = static_cast<double>(clock_.monotonic_us() - started_us_) / 1e6;
  result.watermark = EventTime::plus_infinity();
  for (const auto& source : sources_) {
    result.watermark = std::min(result.watermark, source->stage.tracker().watermark());
    for (const RunningView& view : source->views) {
      result.views.push_back({view.name, source->plan.name, source->stage.partition_names(),
                              view.operation->balance(), view.operation->statistics()});
    }
  }
  return result;
}

}  // namespace wrackline::runtime
