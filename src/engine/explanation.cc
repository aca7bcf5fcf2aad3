#include "engine/explanation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/text.h"
#include "engine/engine.h"
#include "engine/tick_log_plan.h"
#include "ledger/ledger.h"
#include "operators/window_plan.h"

namespace wrackline::engine {
namespace {

using runtime::Input;
using runtime::TickEntry;
using runtime::TickKind;
using runtime::TickLogReader;
using runtime::TickLogSummary;

class Nowhere final : public ChangeConsumer {
 public:
  Status take(const ChangeBatch&) override { return {}; }
  Status take_changelog(const ChangeBatch&) override { return {}; }
};

// Keeps the entry that was added last.
class LastEntry final : public ledger::Ledger {
 public:
  int64_t generation() const override { return 0; }
  int64_t run() const override { return 0; }
  int64_t last_seq() const override { return 0; }
  Status rewind(int64_t) override { return {}; }
  Status add(ledger::Entry entry) override {
    last = std::move(entry);
    return {};
  }
  Status commit() override { return {}; }
  int64_t size() const override { return 0; }
  Status finish(ledger::RunEnd) override { return {}; }
  Status scan(const ledger::Filter&, const std::function<bool(const ledger::Entry&)>&) override { return {}; }
  Result<ledger::RunInfo> info() override { return ledger::RunInfo{}; }
  Result<std::vector<Summary>> summary() override { return std::vector<Summary>{}; }

  std::optional<ledger::Entry> last;
};

std::string list_of(const std::vector<std::string_view>& names) {
  constexpr size_t kShown = 12;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    list += format("{}\"{}\"", i == 0 ? "" : ", ", printable(names[i], 60));
  if (names.size() > kShown) list += format(" and {} more", names.size() - kShown);
  return list;
}

std::unexpected<Error> unknown(std::string_view kind, const std::string& name,
                               const std::vector<std::string_view>& known, std::string_view where) {
  const std::string nearest = nearest_name(name, known);
  return fail(ErrorCode::kNotFound, format("{} has no {} \"{}\"", where, kind, printable(name)),
              known.empty() ? std::string() : format("It has {}.", list_of(known)),
              nearest.empty() ? std::string() : format("Did you mean \"{}\"?", nearest));
}

// ---- where the record is, by the log alone

struct Span {
  int64_t first = kMicrosMax;
  int64_t last = kMicrosMin;
};

// Offsets by file of one source.
Result<std::map<std::string, Span>> spans_of(const std::string& state_directory, int64_t generation,
                                             uint32_t source) {
  std::map<std::string, Span> spans;
  WRACKLINE_ASSIGN(auto log, TickLogReader::open(state_directory, generation));
  for (;;) {
    WRACKLINE_ASSIGN(const TickEntry* entry, log->peek());
    if (entry == nullptr) break;
    if (entry->source == source && entry->kind == TickKind::kRecords) {
      Span& span = spans[entry->file];
      span.first = std::min({span.first, entry->first_offset, entry->last_offset});
      span.last = std::max({span.last, entry->first_offset, entry->last_offset});
    }
    log->pop();
  }
  return spans;
}

// ---- the replay up to the record

class Finder {
 public:
  Finder(const RecordPlace& place, runtime::SourcePlan plan, uint32_t source, TickLogReader& log)
      : place_(place), views_planned_(std::move(plan.views)), source_(source), log_(log) {
    plan.input.log_source = source;
    plan.input.replay = &log;
    rows_max_ = plan.input.rows_max;
    merged_ = plan.input.in_arrival_order;
    input_ = std::make_unique<Input>(std::move(plan.input), std::move(plan.source), env::system_clock());
  }

  // Returns whether the record was found; `made` then says everything but the ledger's part.
  Result<bool> find(Explanation& made) {
    for (runtime::ViewPlan& view : views_planned_) views_.push_back(view.make(nowhere_, 0, false));
    WRACKLINE_TRY(skip_other_sources());
    WRACKLINE_TRY(input_->open());
    for (;;) {
      WRACKLINE_TRY(skip_other_sources());
      WRACKLINE_ASSIGN(const TickEntry* entry, log_.peek());
      if (!in_tick_ && entry != nullptr) {
        // Record by record where the record may be: then its fate is what the balance gains.
        one_by_one_ = merged_ || may_hold(*entry);
        input_->set_rows_max(one_by_one_ ? 1 : rows_max_);
        entry_ = *entry;
      }
      const WatermarkTracker& tracker = input_->stage().tracker();
      progress_us_ = tracker.progress().micros();
      const std::optional<PartitionIndex> holder = tracker.holder();
      const EventTime held_at = holder ? tracker.partition_progress(*holder) : EventTime();
      WRACKLINE_ASSIGN(const Input::Step step, input_->next());
      if (step.kind == Input::StepKind::kEnded) return false;
      if (step.kind == Input::StepKind::kTime) {
        note_time();
        WRACKLINE_TRY(advance());
        continue;
      }
      if (step.kind != Input::StepKind::kRecords) continue;
      in_tick_ = step.more;
      if (one_by_one_ && is_it(step)) {
        if (holder) {
          made.holder = input_->stage().partition_names()[*holder];
          made.holder_progress_us = held_at.micros();
        }
        WRACKLINE_TRY(describe(step, made));
        return true;
      }
      note_mover(step);
      WRACKLINE_TRY(process(step));
    }
  }

 private:
  Status skip_other_sources() {
    for (;;) {
      WRACKLINE_ASSIGN(const TickEntry* entry, log_.peek());
      if (entry == nullptr || entry->source == source_) return {};
      log_.pop();
    }
  }

  bool may_hold(const TickEntry& entry) const {
    if (entry.kind != TickKind::kRecords || (!place_.file.empty() && entry.file != place_.file)) return false;
    return place_.offset >= entry.first_offset && place_.offset <= entry.last_offset;
  }

  const std::string& partition_of(const Input::Step& step) const {
    const RecordTimes& times = *step.times;
    return input_->stage()
        .partition_names()[step.batch->rows > 0 ? times.partition(0) : times.reject_partition];
  }

  // The step is one record, a row or a reject.
  bool is_it(const Input::Step& step) const {
    const Batch& batch = *step.batch;
    const int64_t offset = batch.rows > 0 ? batch.offsets[0] : batch.rejects[0].offset;
    if (offset != place_.offset || (!place_.file.empty() && batch.file != place_.file)) return false;
    return place_.partition.empty() || partition_of(step) == place_.partition ||
           batch.file == place_.partition;
  }

  // Remembers the last record of the step that raised G.
  void note_mover(const Input::Step& step) {
    const RecordTimes& times = *step.times;
    size_t row = step.end;
    while (row > step.begin && times.progress_before[row - 1] == times.progress_before[step.end]) --row;
    if (row == step.begin) return;  // none did
    mover_.kind = Explanation::Mover::Kind::kRecord;
    mover_.partition = input_->stage().partition_names()[times.partition(row - 1)];
    mover_.file = step.batch->file;
    mover_.offset = step.batch->offsets[row - 1];
    mover_.line = step.batch->lines[row - 1];
    mover_.event_us = times.event_us[row - 1];
    mover_.tick = entry_.tick;
  }

  void note_time() {
    if (input_->stage().tracker().progress().micros() == progress_us_) return;
    mover_ = {};
    mover_.tick = entry_.tick;
    mover_.kind = Explanation::Mover::Kind::kWallClock;
    if (entry_.carried_to_us || entry_.events.empty()) return;
    const runtime::TickEvent& event = entry_.events.back();
    mover_.kind = event.what == runtime::TickEvent::What::kIdle ? Explanation::Mover::Kind::kIdle
                                                                : Explanation::Mover::Kind::kEnded;
    if (event.index < input_->stage().partition_names().size())
      mover_.partition = input_->stage().partition_names()[event.index];
  }

  TickContext context() {
    return {entry_.tick, &input_->stage().partition_names(), &ledger_, entry_.wall_us};
  }

  Status advance() {
    for (auto& view : views_) {
      WRACKLINE_TRY(view->advance(input_->stage().tracker().watermark().micros()));
      WRACKLINE_TRY(view->finish_tick(context()));
    }
    return {};
  }

  Status process(const Input::Step& step) {
    for (auto& view : views_) {
      if (step.fresh) view->begin_batch(*step.batch);
      WRACKLINE_TRY(view->process(*step.batch, *step.times, context(), step.begin, step.end));
      if (!step.more) WRACKLINE_TRY(view->finish_tick(context()));
    }
    return {};
  }

  Status describe(const Input::Step& step, Explanation& made) {
    const Batch& batch = *step.batch;
    const RecordTimes& times = *step.times;
    const bool row = batch.rows > 0;
    made.partition = partition_of(step);
    made.file = batch.file;
    made.offset = row ? batch.offsets[0] : batch.rejects[0].offset;
    made.line = row ? batch.lines[0] : batch.rejects[0].line;
    made.payload = row ? batch.raw[0] : batch.rejects[0].raw;
    if (row && times.has_event[0] != 0) made.event_us = times.event_us[0];
    if (row) {
      made.arrival_us = times.arrival_us[0];
      made.arrival_is_reading = times.arrival_read[0] == 0;
    }
    made.tick = entry_.tick;
    made.wall_us = entry_.wall_us;
    made.delay_us = input_->stage().tracker().delay().micros();
    made.progress_us = times.progress_before[0];
    made.watermark_us = times.watermark_before[0];
    made.moved_progress = times.progress_before[batch.rows] > times.progress_before[0];
    made.mover = mover_;
    for (size_t i = 0; i < views_.size(); ++i) {
      const FateCounts before = views_[i]->balance().total();
      ledger_.last.reset();
      views_[i]->begin_batch(batch);
      WRACKLINE_TRY(views_[i]->process(batch, times, context(), 0, batch.rows));
      made.views.push_back(fate_of(before, views_[i]->balance().total()));
      made.views.back().name = views_planned_[i].name;
    }
    return {};
  }

  // What the balance gained by the one record.
  Explanation::View fate_of(const FateCounts& before, const FateCounts& after) const {
    Explanation::View view;
    view.corrects = after.corrected > before.corrected;
    if (after.accepted > before.accepted) view.fate = "accepted";
    if (after.accepted_partially > before.accepted_partially) view.fate = "accepted_partially";
    if (after.duplicate > before.duplicate) view.fate = "duplicate";
    if (after.filtered > before.filtered) view.fate = "filtered";
    if (after.held > before.held) view.fate = "held";
    if (after.ledgered > before.ledgered) view.fate = "ledgered";
    for (size_t i = 0; i < kReasonCount; ++i) {
      if (after.dropped[i] == before.dropped[i]) continue;
      view.fate = "dropped";
      view.reason = static_cast<Reason>(i);
    }
    if (!ledger_.last) return view;
    view.reason = ledger_.last->reason;
    view.detail = ledger_.last->detail;
    for (const ledger::MissedWindow& missed : ledger_.last->windows) {
      view.windows.push_back(
          {missed.start_us, missed.end_us, Explanation::Window::Judgement::kMissed, missed.late_by_us});
    }
    return view;
  }

  const RecordPlace& place_;
  std::vector<runtime::ViewPlan> views_planned_;
  uint32_t source_;
  TickLogReader& log_;
  std::unique_ptr<Input> input_;
  std::vector<std::unique_ptr<ViewOperator>> views_;
  Nowhere nowhere_;
  LastEntry ledger_;
  size_t rows_max_ = 0;
  bool merged_ = false;
  bool one_by_one_ = false;
  bool in_tick_ = false;
  TickEntry entry_;
  int64_t progress_us_ = 0;
  Explanation::Mover mover_;
};

// ---- what the job and the ledger add

// The windows of a record that got as far as windows, as the watermark judged it.
void add_windows(const sql::ViewSpec& spec, const Explanation& made, Explanation::View& view) {
  using Judgement = Explanation::Window::Judgement;
  view.session = spec.session.has_value();
  const bool reached_windows = view.fate == "accepted" || view.fate == "accepted_partially" ||
                               ((view.fate == "ledgered" || view.fate == "dropped") && view.reason &&
                                (*view.reason == Reason::kLate || *view.reason == Reason::kLateAfterIdle ||
                                 *view.reason == Reason::kPastHorizon));
  if (view.session || !made.event_us || !reached_windows) return;
  const Duration lateness = spec.late == LatePolicy::kCorrect ? spec.allowed_lateness : Duration();
  std::vector<Window> windows;
  WindowPlan(spec.windows).windows_of(*made.event_us, windows);
  view.windows.clear();
  for (const Window& window : windows) {
    const int64_t start = window.start.micros();
    const int64_t end = window.end.micros();
    Explanation::Window judged{start, end, Judgement::kOnTime, 0};
    if (made.watermark_us >= end) {
      judged.late_by_us = saturating_subtract(made.watermark_us, end);
      judged.judgement = made.watermark_us >= saturating_add(end, lateness.micros()) ? Judgement::kMissed
                                                                                     : Judgement::kCorrects;
    }
    view.windows.push_back(judged);
  }
}

Status add_entry(ledger::Ledger& ledger, const Explanation& made, Explanation::View& view) {
  if (view.fate != "ledgered" && view.fate != "accepted_partially") return {};
  ledger::Filter filter;
  filter.view = view.name;
  filter.reason = view.reason;
  for (const Explanation::Window& window : view.windows) {
    if (window.judgement == Explanation::Window::Judgement::kMissed) filter.window_start_us = window.start_us;
  }
  return ledger.scan(filter, [&](const ledger::Entry& entry) {
    if (entry.source != made.source || entry.file != made.file || entry.offset != made.offset) return true;
    view.entry = entry.seq;
    return false;
  });
}

// The sources as the log numbers them: those that a view reads, without views.
std::vector<size_t> sources_read(const sql::Job& job) {
  std::vector<size_t> read;
  for (size_t i = 0; i < job.sources.size(); ++i) {
    if (job.sources[i].connector == sql::SourceConnector::kView) continue;
    if (std::ranges::any_of(job.views, [&](const sql::ViewSpec& view) { return view.source == i; }))
      read.push_back(i);
  }
  return read;
}

Result<uint32_t> source_named(const sql::Job& job, const std::string& name) {
  std::vector<std::string_view> known;
  for (const size_t index : sources_read(job)) known.push_back(job.sources[index].name);
  if (name.empty() && known.size() == 1) return 0U;
  if (name.empty()) {
    return fail(ErrorCode::kUsage, "the job has several sources, and --source names none",
                format("It has {}.", list_of(known)));
  }
  const auto found = std::ranges::find(known, name);
  if (found == known.end()) return unknown("source", name, known, "the job");
  return static_cast<uint32_t>(found - known.begin());
}

std::unexpected<Error> no_such_record(const RecordPlace& place, const std::map<std::string, Span>& spans) {
  const auto own = spans.contains(place.file) ? spans.find(place.file) : spans.find(place.partition);
  std::string detail;
  if (own != spans.end()) {
    detail = format("File \"{}\" has the offsets {} to {}.", own->first, own->second.first, own->second.last);
  } else {
    size_t shown = 0;
    for (const auto& [file, span] : spans) {
      if (++shown > 5) break;
      detail += format("{}\"{}\" has the offsets {} to {}", shown == 1 ? "File " : ", ", printable(file, 60),
                       span.first, span.last);
    }
    detail += spans.size() > 5 ? format(", and {} more files.", spans.size() - 5) : detail.empty() ? "" : ".";
  }
  Error error;
  error.code = ErrorCode::kNotFound;
  error.message = format("the run has read no record at offset {} of partition \"{}\"", place.offset,
                         printable(place.partition));
  error.detail = std::move(detail);
  error.hint = "An offset is the record's number in its file, from 0; the ledger shows it with every entry.";
  return fail(std::move(error));
}

Status check_place(const RecordPlace& place, const TickLogSummary::Source& source,
                   const std::map<std::string, Span>& spans) {
  std::set<std::string_view> known;
  for (const TickEntry::Partition& partition : source.partitions) known.insert(partition.name);
  for (const auto& [file, span] : spans) known.insert(file);
  const std::vector<std::string_view> names(known.begin(), known.end());
  if (!known.contains(place.partition)) return unknown("partition", place.partition, names, "the run");
  if (!place.file.empty() && !spans.contains(place.file)) {
    std::vector<std::string_view> files;
    for (const auto& [file, span] : spans) files.push_back(file);
    return unknown("file", place.file, files, "the run");
  }
  return {};
}

}  // namespace

Result<Explanation> explain_record(const std::string& state_directory, const RecordPlace& place) {
  WRACKLINE_ASSIGN(const TickLogSummary summary, runtime::summarize_tick_log(state_directory));
  const int64_t generation = summary.header.run;
  WRACKLINE_ASSIGN(const sql::Job job, job_of_log(summary.header));
  WRACKLINE_ASSIGN(const uint32_t source, source_named(job, place.source));
  if (source >= summary.sources.size())
    return fail(ErrorCode::kNotFound, "the run has not opened the source", {},
                "It ended before it began to read.");
  WRACKLINE_ASSIGN(const auto spans, spans_of(state_directory, generation, source));
  WRACKLINE_TRY(check_place(place, summary.sources[source], spans));

  WRACKLINE_ASSIGN(auto log, TickLogReader::open(state_directory, generation));
  WRACKLINE_ASSIGN(auto plans, plan_sources(job, {.sinks = false}));
  std::erase_if(plans, [](const runtime::SourcePlan& plan) { return plan.derived.has_value(); });
  Explanation made;
  made.job = summary.header.job_path;
  made.generation = generation;
  made.source = plans[source].input.name;
  Finder finder(place, std::move(plans[source]), source, *log);
  WRACKLINE_ASSIGN(const bool found, finder.find(made));
  if (!found) return no_such_record(place, spans);
  made.notices = summary.notices;

  WRACKLINE_ASSIGN(auto ledger, ledger::Ledger::open_to_read(state_directory, generation));
  for (Explanation::View& view : made.views) {
    const auto spec = std::ranges::find(job.views, view.name, &sql::ViewSpec::name);
    if (spec != job.views.end()) add_windows(*spec, made, view);
    WRACKLINE_TRY(add_entry(*ledger, made, view));
  }
  return made;
}

Result<RecordPlace> place_of_entry(const std::string& state_directory, int64_t entry) {
  WRACKLINE_ASSIGN(auto ledger, ledger::Ledger::open_to_read(state_directory));
  std::optional<RecordPlace> place;
  ledger::Filter filter;
  filter.seq = entry;
  WRACKLINE_TRY(ledger->scan(filter, [&](const ledger::Entry& found) {
    place = RecordPlace{found.source, found.partition, found.file, found.offset};
    return false;
  }));
  if (place) return *place;
  return fail(ErrorCode::kNotFound, format("the ledger has no entry {}", entry), {},
              "`wrackline ledger list` shows the numbers of entries.");
}

}  // namespace wrackline::engine
