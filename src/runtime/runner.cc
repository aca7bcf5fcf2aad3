#include "runtime/runner.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "data/time_text.h"

namespace wrackline::runtime {
namespace {

constexpr int64_t kCommitEveryUs = 500'000;  // a busy run commits this often: an fsync costs milliseconds
constexpr int64_t kProgressEveryUs = 200'000;
constexpr int64_t kDropsEveryUs = 10'000'000;
constexpr int64_t kFiguresEveryUs = 10'000'000;
constexpr int64_t kFiguresAtMostUs = 1'000'000;
constexpr int64_t kPollUs = 20'000;  // between looks at quiet live input

std::string part_name(std::string_view what, std::string_view name) {
  return std::string(what) + " " + std::string(name);
}

}  // namespace

struct Runner::RunningView {
  std::string name;
  std::unique_ptr<ViewOutput> output;
  std::unique_ptr<ViewOperator> operation;
};

struct Runner::RunningSource {
  RunningSource(SourcePlan from, env::Clock& clock) : planned_views(std::move(from.views)) {
    if (from.derived) {
      derived = std::make_unique<DerivedSource>(std::move(*from.derived));
    } else {
      input.emplace(std::move(from.input), std::move(from.source), clock);
      if (from.monitor) monitor.emplace(input->options().name, std::move(*from.monitor));
    }
  }

  std::vector<ViewPlan> planned_views;
  // One of the two: the outside world, or another view of the job.
  std::optional<Input> input;
  std::unique_ptr<DerivedSource> derived;
  const RunningSource* upstream = nullptr;  // of a derived source: the source of its view
  std::vector<RunningView> views;
  std::optional<Monitor> monitor;
  bool ended = false;
  int64_t wall_us = 0;        // the clock as it was read for the last step
  bool tick_goes_on = false;  // its next step belongs to the tick of the one before (Input::Step::more)

  const std::string& name() const { return input ? input->options().name : derived->plan().view; }
  const TimeStage& stage() const { return input ? input->stage() : derived->stage(); }
  EventTime watermark() const { return stage().tracker().watermark(); }
};

bool RunReport::balanced() const {
  return std::ranges::all_of(views, [](const ViewReport& view) { return view.balance.balanced(); });
}

Runner::Runner(std::vector<SourcePlan> sources, ledger::Ledger& ledger, env::Clock& clock,
               RunnerOptions options)
    : ledger_(ledger), clock_(clock), options_(std::move(options)) {
  for (SourcePlan& plan : sources)
    sources_.push_back(std::make_unique<RunningSource>(std::move(plan), clock));
}

Runner::~Runner() = default;

Result<RunReport> Runner::run() {
  started_us_ = committed_us_ = figures_us_ = drops_reported_us_ = saved_us_ = clock_.monotonic_us();
  Status status = open();
  if (status) status = run_ticks();
  const bool stopped = stop_.load(std::memory_order_relaxed);
  if (status && stopped) status = keep_last_checkpoint();  // before anything that belongs to an end
  RunReport result;
  for (auto& source : sources_) {
    if (!source->monitor) continue;
    source->monitor->finish(source->stage().partition_names());
    tell_alarms(*source);
  }
  if (status) {
    result = report();  // the watermark as it stands before the flush
    if (!stopped && options_.flush_at_end) status = flush();
    if (status) status = commit();
    const EventTime watermark = result.watermark;
    result = report();
    result.watermark = watermark;
    result.stopped = stopped;
  }
  saving_.reset();
  report_drops(true);
  report_progress(true);
  if (options_.on_figures) options_.on_figures(status ? result : report());
  const bool finished = status.has_value() && !result.stopped;
  const Status closed = close(finished, !status.has_value());
  if (!status) return fail(std::move(status).error());
  if (!closed) return fail(closed.error());
  return result;
}

Status Runner::open() {
  for (size_t i = 0; i < sources_.size(); ++i) WRACKLINE_TRY(open_source(*sources_[i], i));
  return restore_counts();
}

Status Runner::open_source(RunningSource& source, size_t index) {
  state::CheckpointReader* from = options_.checkpoints.from;
  const SinkStart start(ledger_.generation(), ledger_.run());
  for (ViewPlan& view : source.planned_views) {
    RunningView running;
    running.name = view.name;
    running.output = std::make_unique<ViewOutput>(std::move(view.sinks));
    if (from != nullptr) {
      WRACKLINE_TRY(from->part(part_name("sinks", view.name),
                               [&](SnapshotReader& in) { return running.output->restore(in); }));
    }
    WRACKLINE_TRY(running.output->open(view.columns, running.name, start));
    running.operation = view.make(*running.output, start.run, running.output->wants_changelog());
    if (from != nullptr) {
      WRACKLINE_TRY(from->part(part_name("view", view.name),
                               [&](SnapshotReader& in) { return running.operation->restore(in); }));
    }
    source.views.push_back(std::move(running));
  }
  if (!source.input) connect(source);
  if (from == nullptr) return source.input ? source.input->open() : Status();
  WRACKLINE_TRY(from->part(part_name("source", std::to_string(index)), [&](SnapshotReader& in) {
    return source.input ? source.input->restore(in) : source.derived->restore(in);
  }));
  const std::string monitor = part_name("monitor", std::to_string(index));
  if (!source.monitor || !from->has_part(monitor)) return {};  // the monitor may be switched on and off
  return from->part(monitor, [&](SnapshotReader& in) { return source.monitor->restore(in); });
}

Status Runner::restore_counts() {
  if (options_.checkpoints.from == nullptr) return {};
  return options_.checkpoints.from->part("runner", [&](SnapshotReader& in) {
    in.section("runs");
    ticks_ = in.i64();
    rows_ = in.i64();
    if (in.u64() != sources_.size()) in.refuse("it has another number of sources");
    for (auto& source : sources_) source->wall_us = in.i64();
    return in.status();
  });
}

Status Runner::save(state::CheckpointWriter& out) const {
  Status first;
  const auto part = [&](std::string_view what, std::string_view name,
                        const std::function<Status(SnapshotWriter&)>& how) {
    out.part(part_name(what, name), [&](SnapshotWriter& to) {
      Status saved = how(to);
      if (!saved && first) first = std::move(saved);
    });
  };
  const auto plain = [](const auto& what) {
    return [&what](SnapshotWriter& to) {
      what.save(to);
      return Status();
    };
  };
  for (size_t i = 0; i < sources_.size(); ++i) {
    const RunningSource& source = *sources_[i];
    const std::string index = std::to_string(i);
    for (const RunningView& view : source.views) {
      part("sinks", view.name, plain(*view.output));
      part("view", view.name, [&](SnapshotWriter& to) { return view.operation->save(to); });
    }
    if (source.derived) part("source", index, plain(*source.derived));
    if (source.input) part("source", index, [&](SnapshotWriter& to) { return source.input->save(to); });
    if (source.monitor) part("monitor", index, plain(*source.monitor));
  }
  out.part("runner", [&](SnapshotWriter& to) {
    to.section("runs");
    to.i64(ticks_);
    to.i64(rows_);
    to.u64(sources_.size());
    for (const auto& source : sources_) to.i64(source->wall_us);
  });
  return first;
}

// Between ticks, and not while an own log is followed: it is ahead of the state.
bool Runner::may_save() const {
  return std::ranges::none_of(sources_, [](const auto& source) {
    const bool follows = source->input && source->input->options().goes_on_after_replay &&
                         source->input->options().replay != nullptr;
    return source->tick_goes_on || follows;
  });
}

Status Runner::keep_checkpoints() {
  if (options_.checkpoints.store == nullptr) return {};
  if (saving_) {
    std::optional<env::TaskOutcome> outcome = saving_->poll();
    if (!outcome) return {};
    end_checkpoint(std::move(*outcome));
  }
  if (clock_.monotonic_us() - saved_us_ < options_.checkpoints.interval.micros()) return {};
  return may_save() ? begin_checkpoint(options_.checkpoints.mode) : Status();
}

// A run that was stopped goes on where it stood.
Status Runner::keep_last_checkpoint() {
  if (options_.checkpoints.store == nullptr) return {};
  if (saving_) end_checkpoint(saving_->wait());
  if (!may_save()) return {};  // the tick log has it
  WRACKLINE_TRY(begin_checkpoint(env::TaskMode::kInline));
  end_checkpoint(saving_->wait());
  return {};
}

// Tick log, ledger and sinks first: the state must not be ahead of what it can be compared with.
Status Runner::begin_checkpoint(env::TaskMode mode) {
  const int64_t began_us = clock_.monotonic_us();
  WRACKLINE_TRY(commit());
  state::CheckpointStore& store = *options_.checkpoints.store;
  state::CheckpointMeta meta = options_.checkpoints.meta;
  meta.generation = ledger_.generation();
  meta.number = saving_number_ = store.next_number();
  for (const auto& source : sources_) meta.wall_us = std::max(meta.wall_us, source->wall_us);
  meta.tick_log_sequence = options_.log == nullptr ? 0 : options_.log->entries();
  meta.ledger_seq = ledger_.last_seq();
  saving_ = env::start_task(mode, [&, meta]() -> Result<std::string> {
    const auto out = store.begin(meta);
    WRACKLINE_TRY(save(*out));
    WRACKLINE_ASSIGN(const state::CheckpointFigures figures, out->complete());
    return figures.to_bytes();
  });
  saved_us_ = clock_.monotonic_us();
  checkpoints_.stall_us_max = std::max(checkpoints_.stall_us_max, saved_us_ - began_us);
  return {};
}

// One that failed costs nothing but time at the next start: the older one stands.
void Runner::end_checkpoint(env::TaskOutcome outcome) {
  saving_.reset();
  Result<state::CheckpointFigures> figures =
      outcome.result ? state::CheckpointFigures::from_bytes(*outcome.result)
                     : Result<state::CheckpointFigures>(fail(outcome.result.error()));
  if (!figures) {
    ++checkpoints_.failed;
    notice("warning: no checkpoint: " + figures.error().to_string());
    return;
  }
  options_.checkpoints.store->completed(saving_number_);
  ledger_.settle(figures->ledger_from);
  ++checkpoints_.completed;
  checkpoints_.last = *figures;
}

// The view that a derived source reads stands before it.
void Runner::connect(RunningSource& source) {
  for (const auto& other : sources_) {
    for (const RunningView& view : other->views) {
      if (view.name != source.derived->plan().view) continue;
      source.upstream = other.get();
      view.output->also_to(*source.derived);
      return;
    }
  }
  WRACKLINE_CHECK(false, "a view reads one that stands before it");
}

Status Runner::run_ticks() {
  while (!stop_.load(std::memory_order_relaxed)) {
    bool any_open = false;
    bool any_rows = false;
    for (auto& source : sources_) {
      if (source->ended || source->derived) continue;
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
    WRACKLINE_TRY(keep_checkpoints());
    report_progress(false);
    report_drops(false);
    report_figures();
  }
  return {};
}

Result<bool> Runner::tick(RunningSource& source) {
  WRACKLINE_ASSIGN(const Input::Step step, source.input->next());
  source.wall_us = std::max(source.wall_us, step.read_at.micros());
  for (const std::string& text : source.input->take_notices()) notice(text);
  switch (step.kind) {
    case Input::StepKind::kRecords:
      WRACKLINE_TRY(judge_and_publish(source, step));
      watch(source, step);
      return true;
    case Input::StepKind::kTime:
      WRACKLINE_TRY(advance_views(source, step.read_at.micros()));
      return true;
    case Input::StepKind::kQuiet:
      return false;
    case Input::StepKind::kEnded:
      source.ended = true;
      return false;
  }
  return false;
}

Status Runner::judge_and_publish(RunningSource& source, const Input::Step& step) {
  if (!std::exchange(source.tick_goes_on, step.more)) ++ticks_;
  const Batch& batch = *step.batch;
  const TickContext context{ticks_, &source.stage().partition_names(), &ledger_, step.read_at.micros()};
  for (RunningView& view : source.views) {
    if (step.fresh) view.operation->begin_batch(batch);
    WRACKLINE_TRY(view.operation->process(batch, *step.times, context, step.begin, step.end));
    if (!step.more) WRACKLINE_TRY(view.operation->finish_tick(context));
  }
  rows_ += static_cast<int64_t>(step.end - step.begin);
  if (step.end == batch.rows) rows_ += static_cast<int64_t>(batch.rejects.size());
  return step.more ? Status() : run_derived(source, step.read_at.micros());
}

// The views that read views of `source`, and those that read these: they stand in this order.
Status Runner::run_derived(const RunningSource& source, int64_t wall_us) {
  for (auto& derived : sources_) {
    if (derived->upstream != &source) continue;
    const int64_t watermark_us = source.watermark().micros();
    if (derived->derived->collect(watermark_us, WallTime(wall_us))) {
      const Batch& batch = derived->derived->batch();
      const TickContext context{ticks_, &derived->stage().partition_names(), &ledger_, wall_us};
      for (RunningView& view : derived->views) {
        view.operation->begin_batch(batch);
        WRACKLINE_TRY(view.operation->process(batch, derived->derived->times(), context, 0, batch.rows));
      }
    }
    derived->derived->follow(watermark_us);
    WRACKLINE_TRY(advance_views(*derived, wall_us));
  }
  return {};
}

Status Runner::advance_views(RunningSource& source, int64_t wall_us) {
  const TickContext context{ticks_, &source.stage().partition_names(), &ledger_, wall_us};
  for (RunningView& view : source.views) {
    WRACKLINE_TRY(view.operation->advance(source.watermark().micros()));
    WRACKLINE_TRY(view.operation->finish_tick(context));
  }
  return run_derived(source, wall_us);
}

Status Runner::flush() {
  for (auto& source : sources_) {
    if (!source->input) continue;  // flushed by what it reads
    WRACKLINE_TRY(source->input->flush());
    WRACKLINE_TRY(advance_views(*source, source->wall_us));
  }
  return {};
}

// The ledger before the sinks: what a sink shows must be explainable by a ledger that is at least as new. The
// tick log before both: what they say must be reproducible.
Status Runner::commit() {
  WRACKLINE_TRY(check_balances());
  if (options_.log != nullptr) WRACKLINE_TRY(options_.log->commit());
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

// After the step: what the delay becomes holds from the next tick on, which writes it into the log. A run
// that follows a log takes its changes from there.
void Runner::watch(RunningSource& source, const Input::Step& step) {
  if (!source.monitor) return;
  WatermarkTracker& tracker = source.input->stage().tracker();
  const int64_t intervals = source.monitor->intervals();
  source.monitor->feed(*step.times, step.begin, step.end, tracker.delay(), source.stage().partition_names());
  if (source.monitor->intervals() == intervals) return;
  interval_ended_ = true;
  tell_alarms(source);
  const std::optional<DelayChange> change = source.monitor->take_delay_change();
  if (!change || source.input->options().replay != nullptr) return;
  tracker.set_delay(Duration(change->to_us));
  notice(format("source \"{}\": watermark_delay is {} from here on, after {}: {}", source.name(),
                span_text(change->to_us), span_text(change->from_us), change->reason));
}

void Runner::tell_alarms(RunningSource& source) {
  for (const MonitorAlarm& alarm : source.monitor->take_alarms()) {
    notice(alarm_text(alarm));
    if (options_.on_alarm) options_.on_alarm(alarm);
  }
}

void Runner::report_figures() {
  if (!options_.on_figures) return;
  const int64_t waited_us = clock_.monotonic_us() - figures_us_;
  const int64_t wait_us = interval_ended_ ? kFiguresAtMostUs : kFiguresEveryUs;
  if (waited_us < wait_us) return;
  figures_us_ += waited_us;
  interval_ended_ = false;
  options_.on_figures(report());
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
    if (source->input) {
      progress.watermark = std::min(progress.watermark, source->watermark());
      progress.bytes_read += source->input->bytes_read();
      const std::optional<uint64_t> bytes = source->input->bytes_total();
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

Status Runner::close(bool finished, bool failed) {
  Status first;
  for (auto& source : sources_) {
    for (RunningView& view : source->views) {
      Status closed = view.output->close(finished);
      if (!closed && first) first = std::move(closed);
    }
  }
  Status ended = ledger_.finish(!first || failed ? ledger::RunEnd::kFailed
                                : finished       ? ledger::RunEnd::kFinished
                                                 : ledger::RunEnd::kStopped);
  return first ? ended : first;
}

RunReport Runner::report() const {
  RunReport result;
  result.generation = ledger_.generation();
  result.checkpoints = checkpoints_;
  result.rows = rows_;
  result.ticks = ticks_;
  result.seconds = static_cast<double>(clock_.monotonic_us() - started_us_) / 1e6;
  result.watermark = EventTime::plus_infinity();
  for (const auto& source : sources_) {
    if (source->input) result.watermark = std::min(result.watermark, source->watermark());
    const TimeStage& stage = source->stage();
    SourceReport about{source->name(), {}, stage.unit_findings()};
    if (stage.dedup() != nullptr) about.dedup = stage.dedup()->statistics();
    result.sources.push_back(std::move(about));
    if (source->monitor) result.monitors.push_back(source->monitor->report());
    for (const RunningView& view : source->views) {
      result.views.push_back({view.name, source->name(), source->stage().partition_names(),
                              view.operation->balance(), view.operation->statistics()});
    }
  }
  return result;
}

}  // namespace wrackline::runtime
