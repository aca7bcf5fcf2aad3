#include "engine/measurement.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "connectors/file_source.h"
#include "data/value.h"
#include "disorder/producer_findings.h"
#include "formats/parser.h"
#include "operators/dedup_hash.h"
#include "runtime/input.h"

namespace wrackline::engine {
namespace {

constexpr int64_t kProgressEveryUs = 200'000;
constexpr int64_t kNoticesPerReason = 3;  // bad lines that are named; the rest is counted
constexpr size_t kRowsPerStep = 4096;

// The columns that measuring reads, each once.
struct Columns {
  std::vector<Field> fields;
  size_t event = 0;
  std::optional<size_t> arrival;
  std::optional<size_t> partition;
  std::optional<size_t> key;
  std::optional<size_t> producer;
  std::vector<size_t> id;
};

size_t add_field(std::vector<Field>& fields, const std::string& name, Type type) {
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].name == name) return i;
  }
  fields.push_back({name, type});
  return fields.size() - 1;
}

Type time_type(const std::optional<TimeUnit>& unit) {
  if (!unit) return Type::timestamptz();
  // Seconds often carry a fraction; the finer units are whole numbers.
  return *unit == TimeUnit::kSeconds ? Type::numeric() : Type::bigint();
}

Columns columns_of(const MeasureInput& input) {
  Columns columns;
  columns.event = add_field(columns.fields, input.event_time, time_type(input.time_unit));
  if (input.arrival_time) {
    columns.arrival = add_field(columns.fields, *input.arrival_time, time_type(input.time_unit));
  }
  if (input.partition) columns.partition = add_field(columns.fields, *input.partition, Type::text());
  if (input.key) columns.key = add_field(columns.fields, *input.key, Type::text());
  if (input.producer) columns.producer = add_field(columns.fields, *input.producer, Type::text());
  for (const std::string& name : input.id)
    columns.id.push_back(add_field(columns.fields, name, Type::text()));
  return columns;
}

// Takes the judged records one step at a time.
class Collector {
 public:
  virtual ~Collector() = default;
  virtual PartitionId partition(std::string_view name) = 0;
  virtual std::expected<void, std::string> add(const DelayBatch& batch) = 0;
  virtual void end_partition(PartitionId) {}
  virtual void add_producer(std::string_view, int64_t /*event_us*/, int64_t /*arrival_us*/) {}
};

// Remembers which records have been seen, by the 128-bit hash of what identifies them: a table with open
// addressing, at most half full.
class SeenRecords {
 public:
  // Returns false when it was there before.
  bool insert(std::string_view identity) {
    const Hash128 found = hash128(identity);
    const Place hash = {found.high, found.low == 0 ? 1 : found.low};
    if (2 * used_ >= places_.size()) grow();
    Place& place = place_of(hash);
    if (place == hash) return false;
    place = hash;
    ++used_;
    return true;
  }

 private:
  using Place = std::pair<uint64_t, uint64_t>;
  static constexpr Place kNone{};
  Place& place_of(const Place& hash) {
    size_t at = hash.second & (places_.size() - 1);
    while (places_[at] != kNone && places_[at] != hash) at = (at + 1) & (places_.size() - 1);
    return places_[at];
  }
  void grow() {
    constexpr size_t kPlacesMin = 1024;
    const std::vector<Place> old =
        std::exchange(places_, std::vector<Place>(std::max(kPlacesMin, 2 * places_.size())));
    for (const Place& hash : old) {
      if (hash != kNone) place_of(hash) = hash;
    }
  }
  std::vector<Place> places_;  // a power of two of them
  size_t used_ = 0;
};

class Measurement {
 public:
  Measurement(const MeasureInput& input, env::Clock& clock)
      : request_(input), columns_(columns_of(input)), clock_(clock) {}

  Status run(Collector& collector, const OnProgress& on_progress);

  RejectedCounts rejected;
  int64_t records = 0;
  double seconds = 0;
  std::vector<std::string> notices;
  int64_t repeats = 0;
  int64_t sampled = 0;  // records of some event times, and how many of them repeat an earlier one exactly
  int64_t sampled_repeats = 0;
  bool leaves_repeats_out() const { return request_.drop_repeats || !request_.id.empty(); }

 private:
  Result<std::unique_ptr<runtime::Input>> open() const;
  Status add(const runtime::Input::Step& step, Collector& collector);
  void count_rejected(const runtime::Input::Step& step);
  void hash_keys(const Batch& batch, size_t begin, size_t end);
  void find_repeats(const runtime::Input::Step& step);
  void sample_repeats(const runtime::Input::Step& step);
  void add_producers(const runtime::Input::Step& step, std::span<const uint8_t> usable,
                     Collector& collector) const;
  Status check_found(const runtime::Input& input) const;

  const MeasureInput& request_;
  Columns columns_;
  env::Clock& clock_;
  std::vector<PartitionId> ids_;  // of the input's partitions
  std::vector<PartitionId> row_ids_;
  std::vector<int64_t> event_us_;
  std::vector<int64_t> arrival_us_;
  std::vector<uint8_t> has_arrival_;
  std::vector<uint64_t> key_hash_;
  int64_t without_event_ = 0;
  SeenRecords seen_;
  std::string identity_;
  std::vector<uint8_t> kept_;  // per row of the step: usable, and no repeat
};

Result<std::unique_ptr<runtime::Input>> Measurement::open() const {
  connectors::FileSourceOptions files;
  files.paths = request_.paths;
  if (!request_.format.empty()) {
    WRACKLINE_ASSIGN(files.format, formats::parse_format(request_.format));
  }
  files.parser.fields = columns_.fields;
  files.parser.time_zone = request_.time_zone;
  files.parser.delimiter = request_.delimiter;
  WRACKLINE_ASSIGN(auto source, connectors::make_file_source(std::move(files)));
  runtime::InputOptions options;
  options.name = "input";
  options.fields = columns_.fields;
  const auto time_column = [&](size_t column) {
    return TimeColumnOptions{.column = column,
                             .unit = request_.time_unit,
                             .zone = request_.time_zone,
                             .missing = request_.time_missing};
  };
  options.times.event = time_column(columns_.event);
  if (columns_.arrival) options.times.arrival = time_column(*columns_.arrival);
  options.times.partition_column = columns_.partition;
  options.times.max_future_skew = request_.max_future_skew;
  options.times.max_future_accept =
      Duration::infinite();  // an absurd clock is what measuring is there to show
  options.in_arrival_order = request_.in_arrival_order;
  options.alignment = request_.alignment;
  options.rows_max = kRowsPerStep;
  return std::make_unique<runtime::Input>(std::move(options), std::move(source), clock_);
}

Status Measurement::run(Collector& collector, const OnProgress& on_progress) {
  WRACKLINE_ASSIGN(auto input, open());
  WRACKLINE_TRY(input->open());
  const int64_t started_us = clock_.monotonic_us();
  int64_t progressed_us = started_us;
  const auto report = [&](int64_t now) {
    if (!on_progress) return;
    runtime::Progress progress;
    progress.rows = records;
    progress.bytes_read = input->bytes_read();
    progress.bytes_total = input->bytes_total();
    progress.seconds = static_cast<double>(now - started_us) / 1e6;
    progress.watermark = input->stage().tracker().watermark();
    on_progress(progress);
  };
  for (;;) {
    const std::vector<std::string>& names = input->stage().partition_names();
    while (ids_.size() < names.size()) ids_.push_back(collector.partition(names[ids_.size()]));
    WRACKLINE_ASSIGN(const runtime::Input::Step step, input->next());
    for (std::string& notice : input->take_notices()) notices.push_back(std::move(notice));
    if (step.kind == runtime::Input::StepKind::kEnded) break;
    if (step.kind == runtime::Input::StepKind::kQuiet) {
      clock_.sleep(millis(20));
      continue;
    }
    if (step.ended) collector.end_partition(ids_[*step.ended]);
    if (step.kind != runtime::Input::StepKind::kRecords) continue;
    while (ids_.size() < names.size()) ids_.push_back(collector.partition(names[ids_.size()]));
    WRACKLINE_TRY(add(step, collector));
    if (const int64_t now = clock_.monotonic_us(); now - progressed_us >= kProgressEveryUs) {
      progressed_us = now;
      report(now);
    }
  }
  seconds = static_cast<double>(clock_.monotonic_us() - started_us) / 1e6;
  report(clock_.monotonic_us());
  return check_found(*input);
}

Status Measurement::add(const runtime::Input::Step& step, Collector& collector) {
  count_rejected(step);
  const RecordTimes& times = *step.times;
  const size_t rows = step.end - step.begin;
  DelayBatch batch;
  const bool one_partition = times.partitions.size() == 1;
  if (one_partition) {
    batch.partition = ids_[times.partitions[0]];
  } else {
    row_ids_.resize(rows);
    for (size_t i = 0; i < rows; ++i) row_ids_[i] = ids_[times.partitions[step.begin + i]];
    batch.partitions = row_ids_;
  }
  const auto piece = [&](const auto& all) { return std::span(all).subspan(step.begin, rows); };
  batch.event_us = piece(times.event_us);
  if (columns_.arrival) {
    batch.arrival_us = piece(times.arrival_us);
    const Column& arrival = step.batch->columns[*columns_.arrival];
    if (arrival.has_nulls() || request_.time_missing) {
      has_arrival_.resize(rows);
      for (size_t i = 0; i < rows; ++i) has_arrival_[i] = times.arrival_read[step.begin + i];
      batch.has_arrival = has_arrival_;
    }
  }
  if (columns_.key) {
    hash_keys(*step.batch, step.begin, step.end);
    batch.key_hash = key_hash_;
  }
  // Rows that have no usable time are rare: leave them out by copying the rest together.
  std::span<const uint8_t> usable = piece(times.usable);
  if (leaves_repeats_out()) {
    find_repeats(step);
    usable = kept_;
  } else {
    sample_repeats(step);
  }
  if (columns_.producer && columns_.arrival) add_producers(step, usable, collector);
  if (std::memchr(usable.data(), 0, usable.size()) != nullptr) {
    size_t kept = 0;
    const bool by_row = !batch.partitions.empty();
    const bool some_arrivals = !batch.has_arrival.empty();
    event_us_.assign(batch.event_us.begin(), batch.event_us.end());
    arrival_us_.assign(batch.arrival_us.begin(), batch.arrival_us.end());
    for (size_t i = 0; i < rows; ++i) {
      if (usable[i] == 0) continue;
      event_us_[kept] = event_us_[i];
      if (columns_.arrival) arrival_us_[kept] = arrival_us_[i];
      if (by_row) row_ids_[kept] = row_ids_[i];
      if (some_arrivals) has_arrival_[kept] = has_arrival_[i];
      if (columns_.key) key_hash_[kept] = key_hash_[i];
      ++kept;
    }
    batch.event_us = std::span<const int64_t>(event_us_).first(kept);
    if (columns_.arrival) batch.arrival_us = std::span<const int64_t>(arrival_us_).first(kept);
    if (by_row) batch.partitions = std::span<const PartitionId>(row_ids_).first(kept);
    if (some_arrivals) batch.has_arrival = std::span<const uint8_t>(has_arrival_).first(kept);
    if (columns_.key) batch.key_hash = std::span<const uint64_t>(key_hash_).first(kept);
  }
  if (batch.event_us.empty()) return {};
  if (auto added = collector.add(batch); !added) return fail(ErrorCode::kUnavailable, added.error());
  return {};
}

void Measurement::find_repeats(const runtime::Input::Step& step) {
  const Batch& batch = *step.batch;
  kept_.assign(step.times->usable.begin() + static_cast<std::ptrdiff_t>(step.begin),
               step.times->usable.begin() + static_cast<std::ptrdiff_t>(step.end));
  for (size_t row = step.begin; row < step.end; ++row) {
    if (kept_[row - step.begin] == 0) continue;
    std::string_view identity = batch.raw[row];
    if (!columns_.id.empty()) {
      identity_.clear();
      bool any = false;
      for (const size_t column : columns_.id) {
        const Column& values = batch.columns[column];
        any |= !values.is_null(row);
        append_json(identity_, values, row);
        identity_ += ',';
      }
      if (!any) continue;  // a record without an id repeats none
      identity = identity_;
    }
    if (seen_.insert(identity)) continue;
    kept_[row - step.begin] = 0;
    ++repeats;
  }
}

// Copies share their event time: so all copies of a record are in the sample, or none.
void Measurement::sample_repeats(const runtime::Input::Step& step) {
  constexpr int kOneOfLog = 6;        // one of 64,
  constexpr int kOneOfLogLater = 10;  // and one of 1024, a part of those, when many have been seen
  constexpr int64_t kMany = 8192;
  constexpr uint64_t kGolden = 0x9E3779B97F4A7C15U;  // spreads equal steps over the top bits; Knuth 6.4
  const int shift = 64 - (sampled < kMany ? kOneOfLog : kOneOfLogLater);
  const int64_t* const event_us = step.times->event_us.data();
  constexpr int64_t kSampleMost = 1'000'000;
  for (size_t row = step.begin; row < step.end && sampled < kSampleMost; ++row) {
    const uint64_t spread = static_cast<uint64_t>(event_us[row]) * kGolden;
    if (spread >> shift != 0 || step.times->usable[row] == 0) [[likely]]
      continue;
    ++sampled;
    sampled_repeats += seen_.insert(step.batch->raw[row]) ? 0 : 1;
  }
}

void Measurement::add_producers(const runtime::Input::Step& step, std::span<const uint8_t> usable,
                                Collector& collector) const {
  const RecordTimes& times = *step.times;
  const Column& names = step.batch->columns[*columns_.producer];
  const std::span<const std::string_view> values = names.values<std::string_view>();
  for (size_t row = step.begin; row < step.end; ++row) {
    if (usable[row - step.begin] == 0 || times.arrival_read[row] == 0) continue;
    collector.add_producer(names.is_null(row) ? "(null)" : values[row], times.event_us[row],
                           times.arrival_us[row]);
  }
}

void Measurement::count_rejected(const runtime::Input::Step& step) {
  records += static_cast<int64_t>(step.end - step.begin);
  for (const SetAside& aside : step.times->set_aside) {
    if (aside.row < step.begin || aside.row >= step.end) continue;
    ++rejected[std::string(to_string(aside.reason))];
    without_event_ += aside.reason == Reason::kNoEventTime;
  }
  if (step.end != step.batch->rows) return;
  records += static_cast<int64_t>(step.batch->rejects.size());
  for (const Reject& reject : step.batch->rejects) {
    const int64_t count = ++rejected[std::string(to_string(reject.reason))];
    if (count <= kNoticesPerReason) {
      notices.push_back(format("file \"{}\", line {}: {}: {}", step.batch->file, reject.line,
                               to_string(reject.reason), reject.detail));
    }
  }
}

void Measurement::hash_keys(const Batch& batch, size_t begin, size_t end) {
  const Column& keys = batch.columns[*columns_.key];
  const std::span<const std::string_view> values = keys.values<std::string_view>();
  key_hash_.resize(end - begin);
  for (size_t row = begin; row < end; ++row) {
    key_hash_[row - begin] = keys.is_null(row) ? 0 : std::hash<std::string_view>{}(values[row]);
  }
}

Status Measurement::check_found(const runtime::Input& input) const {
  if (records == 0) {
    return fail(ErrorCode::kData, "the input has no records", {}, "Check the path and the format.");
  }
  if (without_event_ < records) return {};
  const std::vector<std::string> seen = input.fields_seen();
  std::vector<std::string_view> names(seen.begin(), seen.end());
  std::string list;
  for (const std::string& name : seen) list += format("{}\"{}\"", list.empty() ? "" : ", ", name);
  const std::string nearest = nearest_name(request_.event_time, names);
  return fail(ErrorCode::kNotFound, format("no record has the event-time column \"{}\"", request_.event_time),
              list.empty() ? std::string() : format("The records have {}.", list),
              nearest.empty() ? "Name the column with --event-time."
                              : format("Did you mean --event-time {}?", nearest));
}

class ProfileCollector : public Collector {
 public:
  explicit ProfileCollector(ProfileOptions options)
      : producers({.max_future_skew = options.max_future_skew, .time_unit = options.time_unit}),
        profile(std::move(options)) {}
  void add_producer(std::string_view name, int64_t event_us, int64_t arrival_us) override {
    producers.add(name, event_us, arrival_us);
  }
  PartitionId partition(std::string_view name) override { return profile.partition(name); }
  std::expected<void, std::string> add(const DelayBatch& batch) override { return profile.add(batch); }
  ProducerTracker producers;
  DelayProfile profile;
};

class BudgetCollector : public Collector {
 public:
  BudgetCollector(BudgetOptions options, bool registered)
      : budget(std::move(options)), registered_(registered) {}
  PartitionId partition(std::string_view name) override {
    return registered_ ? budget.register_partition(name) : budget.partition(name);
  }
  std::expected<void, std::string> add(const DelayBatch& batch) override { return budget.add(batch); }
  void end_partition(PartitionId id) override { budget.end_partition(id); }
  LatenessBudget budget;

 private:
  bool registered_;  // files are known before the first record, a column's values are not
};

}  // namespace

namespace {

void add_repeats_finding(const Measurement& measurement, ProfileReport& report) {
  constexpr int64_t kCoarseClock = 60'000'000;  // there, equal records need be no copies
  if (report.resolution_us >= kCoarseClock || measurement.sampled < 20 ||
      20 * measurement.sampled_repeats < measurement.sampled)
    return;
  const double share =
      static_cast<double>(measurement.sampled_repeats) / static_cast<double>(measurement.sampled);
  report.findings.push_back(
      {Finding::Kind::kRepeats,
       {},
       std::llround(share * static_cast<double>(measurement.records)),
       0,
       {},
       format("About {:.0f} % of the records repeat an earlier one byte for byte (in a sample of {}). Copies "
              "are late "
              "by nature: leave them out with --drop-repeats, or with --id COLUMN,... if a record has an id.",
              share * 100, with_thousands(measurement.sampled))});
}

}  // namespace

Result<MeasureResult> measure(const MeasureInput& input, ProfileOptions options,
                              const OnProgress& on_progress, env::Clock& clock) {
  options.max_future_skew = input.max_future_skew;
  if (input.time_unit) options.time_unit = to_string(*input.time_unit);
  ProfileCollector collector(std::move(options));
  Measurement measurement(input, clock);
  WRACKLINE_TRY(measurement.run(collector, on_progress));
  auto report = collector.profile.finish();
  if (!report) return fail(ErrorCode::kUnavailable, report.error());
  if (input.producer) {
    report->producers = collector.producers.finish();
    report->producers->column = *input.producer;
    add_producer_findings(*report->producers, report->findings);
  }
  add_repeats_finding(measurement, *report);
  if (measurement.leaves_repeats_out()) {
    const auto read = static_cast<double>(std::max<int64_t>(1, measurement.records));
    report->repeats = Repeats{measurement.repeats, static_cast<double>(measurement.repeats) / read};
  }
  return MeasureResult{std::move(*report), std::move(measurement.rejected), measurement.records,
                       measurement.seconds, std::move(measurement.notices)};
}

Result<BudgetResult> budget(const MeasureInput& input, BudgetOptions options, const OnProgress& on_progress,
                            env::Clock& clock) {
  options.profile.max_future_skew = input.max_future_skew;
  if (input.time_unit) options.profile.time_unit = to_string(*input.time_unit);
  BudgetCollector collector(std::move(options), !input.partition.has_value());
  Measurement measurement(input, clock);
  WRACKLINE_TRY(measurement.run(collector, on_progress));
  auto report = collector.budget.finish();
  if (!report) return fail(ErrorCode::kUnavailable, report.error());
  return BudgetResult{std::move(*report), std::move(measurement.rejected), measurement.records,
                      std::move(measurement.notices)};
}

}  // namespace wrackline::engine
