#include "engine/sweep.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/text.h"
#include "engine/engine.h"
#include "engine/source_plan.h"
#include "expr/expr.h"
#include "operators/window_plan.h"
#include "runtime/input.h"
#include "state/key_codec.h"

namespace wrackline::engine {
namespace {

constexpr int64_t kProgressEveryUs = 200'000;

// The rows of a batch as the view sees them: which are judged, and the hash of their grouping key. The same
// expressions are evaluated as in a run, because a row whose value cannot be computed reaches no window.
class RowReader {
 public:
  explicit RowReader(const sql::ViewSpec& view) : codec_(key_types(view)) {
    if (view.where) where_.emplace(*view.where);
    for (const expr::ExprPtr& key : view.keys) keys_.emplace_back(*key);
    for (const sql::AggregateCall& call : view.aggregates) {
      if (call.argument) values_.emplace_back(*call.argument);
      if (call.filter) values_.emplace_back(*call.filter);
    }
    key_columns_.resize(keys_.size());
  }

  void begin_batch(const Batch& batch) {
    where_errors_.clear();
    value_errors_.clear();
    where_column_ = where_ ? &where_->evaluate(batch.columns, batch.rows, where_errors_) : nullptr;
    for (size_t i = 0; i < keys_.size(); ++i) {
      key_columns_[i] = &keys_[i].evaluate(batch.columns, batch.rows, value_errors_);
    }
    for (expr::Evaluator& value : values_) value.evaluate(batch.columns, batch.rows, value_errors_);
  }

  // Fills rows() and hashes() for [begin, end) and counts what reaches no window.
  void read(const RecordTimes& times, size_t begin, size_t end, RejectedCounts& rejected);
  std::span<const SweepRow> rows() const { return rows_; }
  std::span<const uint64_t> hashes() const { return hashes_; }

 private:
  static std::vector<Type> key_types(const sql::ViewSpec& view) {
    std::vector<Type> types;
    for (const expr::ExprPtr& key : view.keys) types.push_back(key->type);
    return types;
  }
  void hash_keys(size_t begin, size_t end);

  state::KeyCodec codec_;
  std::optional<expr::Evaluator> where_;
  std::vector<expr::Evaluator> keys_;
  std::vector<expr::Evaluator> values_;  // arguments and filters of aggregates
  const Column* where_column_ = nullptr;
  std::vector<const Column*> key_columns_;
  expr::RowErrors where_errors_;
  expr::RowErrors value_errors_;
  std::vector<SweepRow> rows_;
  std::vector<uint64_t> hashes_;
  std::vector<uint32_t> judged_;
  state::EncodedKeys encoded_;
};

void RowReader::read(const RecordTimes& times, size_t begin, size_t end, RejectedCounts& rejected) {
  rows_.resize(end - begin);
  for (size_t row = begin; row < end; ++row) {
    rows_[row - begin] = times.usable[row] != 0 ? SweepRow::kJudged : SweepRow::kSetAside;
  }
  const auto fault = [&](const expr::RowError& error, bool may_be_filtered) {
    if (error.row < begin || error.row >= end) return;
    SweepRow& row = rows_[error.row - begin];
    if (row == SweepRow::kSetAside || (row == SweepRow::kFiltered && !may_be_filtered)) return;
    row = SweepRow::kSetAside;
    ++rejected[std::string(to_string(error.reason))];
  };
  for (const expr::RowError& error : where_errors_) fault(error, false);
  if (where_column_ != nullptr) {
    const std::span<const uint8_t> keep = where_column_->values<uint8_t>();
    for (size_t row = begin; row < end; ++row) {
      if (rows_[row - begin] != SweepRow::kJudged || (keep[row] != 0 && !where_column_->is_null(row)))
        continue;
      rows_[row - begin] = SweepRow::kFiltered;
    }
  }
  for (const expr::RowError& error : value_errors_) fault(error, false);
  if (!keys_.empty()) hash_keys(begin, end);
}

void RowReader::hash_keys(size_t begin, size_t end) {
  judged_.clear();
  for (size_t row = begin; row < end; ++row) {
    if (rows_[row - begin] == SweepRow::kJudged) judged_.push_back(static_cast<uint32_t>(row));
  }
  hashes_.assign(end - begin, 0);
  codec_.encode(key_columns_, judged_, encoded_);
  const bool integers = codec_.shape() == state::KeyShape::kInteger;
  for (size_t i = 0; i < judged_.size(); ++i) {
    uint64_t& hash = hashes_[judged_[i] - begin];
    if (!encoded_.nulls.empty() && encoded_.nulls[i] != 0) {
      hash = 0x9E3779B97F4A7C15;
    } else if (integers) {
      // Distinct integers stay distinct: multiplication by an odd number is one to one.
      hash = static_cast<uint64_t>(encoded_.integers[i]) * 0xD6E8FEB86659FD93 + 1;
    } else {
      hash = std::hash<std::string_view>{}(encoded_.bytes[i]);
    }
  }
}

Result<size_t> find_view(const sql::Job& job, const std::string& name) {
  std::string names;
  std::vector<std::string_view> known;
  for (const sql::ViewSpec& view : job.views) {
    names += format("{}\"{}\"", names.empty() ? "" : ", ", view.name);
    known.push_back(view.name);
  }
  if (name.empty()) {
    if (job.views.size() == 1) return size_t{0};
    return fail(ErrorCode::kUsage,
                job.views.empty() ? "the job has no view to sweep" : "the job has several views",
                job.views.empty() ? std::string() : format("They are {}.", names),
                job.views.empty() ? std::string() : "Name the one to sweep with --view.");
  }
  for (size_t i = 0; i < job.views.size(); ++i) {
    if (job.views[i].name == name) return i;
  }
  const std::string nearest = nearest_name(name, known);
  return fail(ErrorCode::kUsage, format("the job has no view \"{}\"", printable(name)),
              names.empty() ? std::string() : format("Its views are {}.", names),
              nearest.empty() ? std::string() : format("Did you mean --view {}?", nearest));
}

// The ladder up to its end, with the job's own value among it.
std::vector<Duration> candidates(const std::optional<std::vector<Duration>>& asked, Duration window,
                                 Duration configured) {
  if (asked) return *asked;
  std::vector<Duration> spans = sweep_ladder(window);
  spans.push_back(configured);
  return spans;
}

// Tumbling or hopping in uniform time without gaps: the sweep knows these windows by their shape.
bool is_plain(const WindowPlan::Options& windows) {
  if (windows.zone != nullptr || windows.size.months != 0 || windows.slide.months != 0) return false;
  return windows.kind == WindowKind::kTumble ||
         (windows.kind == WindowKind::kHop && windows.slide.micros <= windows.size.micros);
}

class Sweep {
 public:
  Sweep(const sql::ViewSpec& view, SweepOptions options, SweepSubject& subject)
      : reader_(view), sweep_(std::move(options)), subject_(subject), has_keys_(!view.keys.empty()) {
    if (!is_plain(view.windows)) plan_.emplace(view.windows);
  }

  void take(const runtime::Input::Step& step) {
    const RecordTimes& times = *step.times;
    const size_t rows = step.end - step.begin;
    count(step);
    if (step.fresh) reader_.begin_batch(*step.batch);
    reader_.read(times, step.begin, step.end, subject_.rejected);
    SweepBatch batch;
    batch.event_us = std::span(times.event_us).subspan(step.begin, rows);
    if (times.arrival_known) batch.arrival_us = std::span(times.arrival_us).subspan(step.begin, rows);
    batch.progress_before = std::span(times.progress_before).subspan(step.begin, rows + 1);
    batch.rows = reader_.rows();
    if (plan_) {
      list_windows(batch.event_us);
      batch.window_ends = window_ends_;
      batch.window_first = window_first_;
    }
    if (has_keys_) batch.key_hash = reader_.hashes();
    sweep_.add(batch);
  }
  void advance(int64_t progress_us) { sweep_.advance(progress_us); }
  SweepReport finish() { return sweep_.finish(); }

 private:
  void count(const runtime::Input::Step& step) {
    subject_.records += static_cast<int64_t>(step.end - step.begin);
    for (const SetAside& aside : step.times->set_aside) {
      if (aside.row >= step.begin && aside.row < step.end)
        ++subject_.rejected[std::string(to_string(aside.reason))];
    }
    for (const uint32_t row : step.times->duplicates) {
      if (row >= step.begin && row < step.end) ++subject_.rejected["duplicate"];
    }
    if (step.end != step.batch->rows) return;
    subject_.records += static_cast<int64_t>(step.batch->rejects.size());
    for (const Reject& reject : step.batch->rejects)
      ++subject_.rejected[std::string(to_string(reject.reason))];
  }

  void list_windows(std::span<const int64_t> event_us) {
    window_ends_.clear();
    window_first_.assign(1, 0);
    for (size_t i = 0; i < event_us.size(); ++i) {
      // Rows that are set aside may hold any number for a time.
      if (reader_.rows()[i] == SweepRow::kJudged) {
        plan_->windows_of(event_us[i], windows_);
        for (const Window& window : windows_) window_ends_.push_back(window.end.micros());
      }
      window_first_.push_back(static_cast<uint32_t>(window_ends_.size()));
    }
  }

  RowReader reader_;
  LatenessSweep sweep_;
  SweepSubject& subject_;
  bool has_keys_;
  std::optional<WindowPlan> plan_;  // windows that have to be listed
  std::vector<Window> windows_;
  std::vector<int64_t> window_ends_;
  std::vector<uint32_t> window_first_;
};

// As a run has it: the smallest window over the source bounds how far one file is read ahead of another.
Duration alignment_of(const sql::Job& job, size_t source) {
  Duration alignment = Duration::infinite();
  for (const sql::ViewSpec& view : job.views) {
    if (view.source != source) continue;
    alignment =
        std::min(alignment, view.session ? view.session->gap : WindowPlan(view.windows).window_length());
  }
  return alignment;
}

std::string_view policy_name(LatePolicy policy) {
  switch (policy) {
    case LatePolicy::kCorrect:
      return "correct";
    case LatePolicy::kLedger:
      return "ledger";
    case LatePolicy::kDrop:
      return "drop";
  }
  return "correct";
}

Result<SweepOptions> options_of(const sql::ViewSpec& view, const sql::SourceSpec& source,
                                const SweepRequest& request) {
  if (view.session) {
    return fail(ErrorCode::kUnsupported, format("view \"{}\" has session windows", view.name),
                "A session's end moves with the records that are accepted, so no single number says under "
                "which delays a record is late.",
                format("Run the job once for each pair, which is exact and costs a run a pair: wrackline run "
                       "JOB --state none "
                       "--json --set {}.watermark_delay='10 s' --set {}.allowed_lateness='1 min'. Or sweep a "
                       "view with TUMBLE or "
                       "HOP over the same source: the disorder of its records is the same.",
                       source.name, view.name));
  }
  SweepOptions options;
  options.window = WindowPlan(view.windows).window_length();
  if (is_plain(view.windows)) {
    options.offset = view.windows.offset;
    if (view.windows.kind == WindowKind::kHop) options.slide = Duration(view.windows.slide.micros);
  }
  options.delays = candidates(request.delays, options.window, source.watermark_delay);
  options.latenesses = candidates(request.latenesses, options.window, view.allowed_lateness);
  if (view.late != LatePolicy::kCorrect) {
    if (request.latenesses) {
      return fail(
          ErrorCode::kUsage,
          format("view \"{}\" has late = '{}', which allows no lateness", view.name, policy_name(view.late)),
          "Late records never correct a window there, so only the delay matters.",
          "Leave --lateness out, or change the view to late = 'correct'.");
    }
    options.latenesses = {Duration(0)};
  }
  if (source.follow) {
    return fail(
        ErrorCode::kUnsupported, format("source \"{}\" follows its files, so it never ends", source.name),
        "A sweep answers for recorded arrivals.", format("Run it with --set {}.follow=off.", source.name));
  }
  return options;
}

}  // namespace

Result<SweepResult> sweep(const sql::Job& job, const SweepRequest& request, const OnProgress& on_progress,
                          env::Clock& clock) {
  WRACKLINE_ASSIGN(const size_t index, find_view(job, request.view));
  const sql::ViewSpec& view = job.views[index];
  const sql::SourceSpec& source = job.sources[view.source];
  WRACKLINE_ASSIGN(SweepOptions options, options_of(view, source, request));
  SweepResult result;
  SweepSubject& subject = result.subject;
  subject.job = job.path;
  subject.view = view.name;
  subject.source = source.name;
  subject.policy = policy_name(view.late);
  subject.keys = !view.keys.empty();
  subject.configured_delay_us = source.watermark_delay.micros();
  subject.configured_lateness_us = view.late == LatePolicy::kCorrect ? view.allowed_lateness.micros() : 0;
  const auto unlike = [&](bool has, std::string_view what) {
    if (has) subject.notes.push_back(format("versions and corrections are counted without {}", what));
  };
  unlike(view.having != nullptr, "HAVING, which hides some and withdraws others");
  unlike(view.emit_empty, "those of empty windows (emit_empty)");
  unlike(view.early.has_value(), "early ones");
  Sweep pass(view, std::move(options), subject);
  WRACKLINE_ASSIGN(auto from, make_source(source, job_folder(job)));
  runtime::Input input(input_options(source, alignment_of(job, view.source), request.tick_rows),
                       std::move(from), clock);
  WRACKLINE_TRY(input.open());
  const int64_t started_us = clock.monotonic_us();
  int64_t progressed_us = started_us;
  for (;;) {
    WRACKLINE_ASSIGN(const runtime::Input::Step step, input.next());
    for (std::string& notice : input.take_notices()) result.notices.push_back(std::move(notice));
    if (step.kind == runtime::Input::StepKind::kEnded) break;
    if (step.kind == runtime::Input::StepKind::kQuiet) {
      clock.sleep(millis(20));
      continue;
    }
    if (step.kind == runtime::Input::StepKind::kTime) {
      pass.advance(input.stage().tracker().progress().micros());
      continue;
    }
    pass.take(step);
    const int64_t now_us = clock.monotonic_us();
    if (!on_progress || now_us - progressed_us < kProgressEveryUs) continue;
    progressed_us = now_us;
    runtime::Progress progress;
    progress.rows = subject.records;
    progress.bytes_read = input.bytes_read();
    progress.bytes_total = input.bytes_total();
    progress.seconds = static_cast<double>(now_us - started_us) / 1e6;
    progress.watermark = input.stage().tracker().progress();
    on_progress(progress);
  }
  if (subject.records == 0) {
    return fail(ErrorCode::kData, format("source \"{}\" has no records", source.name), {},
                "Check the path and the format.");
  }
  subject.partitions = static_cast<int64_t>(input.stage().partition_names().size());
  result.report = pass.finish();
  subject.seconds = static_cast<double>(clock.monotonic_us() - started_us) / 1e6;
  return result;
}

}  // namespace wrackline::engine
