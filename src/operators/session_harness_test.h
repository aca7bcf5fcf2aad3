// Plays records to a session operator and keeps what it publishes, for tests.
//
// The query is SELECT window_start, window_end, key, count(*), sum(value) GROUP BY session, key. Every
// published batch is applied to a reader's view and checked: operations and versions must fit what the reader
// has, rows come in their time, and rows of one key never overlap.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "data/value.h"
#include "operators/session_aggregate.h"

namespace wrackline {

struct SessionRow {
  std::string key;
  int64_t start_us = 0;
  int64_t end_us = 0;
  int64_t count = 0;
  int64_t sum = 0;
  friend auto operator<=>(const SessionRow&, const SessionRow&) = default;
};

struct PublishedRow {
  SessionRow row;
  std::string op;
  int64_t version = 0;
  std::string status;
  friend auto operator<=>(const PublishedRow&, const PublishedRow&) = default;
};

inline void PrintTo(const SessionRow& row, std::ostream* out) {
  *out << row.key << " [" << row.start_us << ", " << row.end_us << ") count " << row.count << " sum "
       << row.sum;
}
inline void PrintTo(const PublishedRow& published, std::ostream* out) {
  *out << published.op << " ";
  PrintTo(published.row, out);
  *out << " version " << published.version << " " << published.status;
}

struct SessionRecord {
  std::string key;
  int64_t event_us = 0;
  int64_t value = 1;
  PartitionIndex partition = 0;
};

// What a reader sees of one of the two forms.
class ReaderView {
 public:
  explicit ReaderView(bool changelog) : changelog_(changelog) {}

  void apply(const ChangeBatch& changes, int64_t watermark_us, std::vector<PublishedRow>& all) {
    for (size_t i = 0; i < changes.rows; ++i) {
      PublishedRow published;
      published.row = row_of(changes, i);
      published.op = to_string(changes.ops[i]);
      published.version = changes.versions[i];
      published.status = to_string(changes.statuses[i]);
      all.push_back(published);
      apply(published, watermark_us);
    }
    check_overlap();
  }
  std::vector<SessionRow> rows() const {
    std::vector<SessionRow> rows;
    for (const auto& [identity, shown] : shown_) rows.push_back(shown.row);
    return rows;
  }

 private:
  using Identity = std::tuple<std::string, int64_t, int64_t>;

  static SessionRow row_of(const ChangeBatch& changes, size_t i) {
    std::string sum;
    append_text(sum, changes.columns[4], i);
    return {changes.columns[2].is_null(i) ? "(null)"
                                          : std::string(changes.columns[2].values<std::string_view>()[i]),
            changes.columns[0].values<int64_t>()[i], changes.columns[1].values<int64_t>()[i],
            changes.columns[3].values<int64_t>()[i], std::stoll(sum)};
  }

  void apply(const PublishedRow& published, int64_t watermark_us) {
    const SessionRow& row = published.row;
    const Identity identity{row.key, row.start_us, row.end_us};
    const auto shown = shown_.find(identity);
    int64_t& version = versions_[identity];
    if (published.op == "retract") {
      ASSERT_NE(shown, shown_.end()) << "a retract of a row that is not there: " << row.key << row.start_us;
      EXPECT_EQ(shown->second.row, row) << "a retract carries the old values";
      EXPECT_EQ(published.version, changelog_ ? version : version + 1);
      shown_.erase(shown);
    } else {
      EXPECT_EQ(shown != shown_.end(), published.op == "update") << row.key << " " << row.start_us;
      EXPECT_GT(published.version, version);
      EXPECT_TRUE(changelog_ || published.version == version + 1);
      EXPECT_EQ(published.status == "early", watermark_us < row.end_us) << row.key << " " << row.start_us;
      shown_[identity] = published;
    }
    version = published.version;
  }

  void check_overlap() const {
    const SessionRow* previous = nullptr;
    for (const auto& [identity, shown] : shown_) {
      if (previous != nullptr && previous->key == shown.row.key) {
        EXPECT_LE(previous->end_us, shown.row.start_us) << "sessions overlap, key " << previous->key;
      }
      previous = &shown.row;
    }
  }

  bool changelog_;
  std::map<Identity, PublishedRow> shown_;
  std::map<Identity, int64_t> versions_;
};

struct SessionTest {
  int64_t gap_us = 10;
  std::optional<int64_t> max_length_us = std::nullopt;
  int64_t delay_us = 0;
  int64_t lateness_us = 0;
  LatePolicy policy = LatePolicy::kCorrect;
  std::optional<int64_t> horizon_us = std::nullopt;
  std::optional<EarlyOptions> early = std::nullopt;
  int64_t having_count = 0;  // only sessions with more records than that
  size_t partitions = 1;
  bool has_key = true;
  bool huge_values = false;  // double precision, in units of 1e308
};

class SessionHarness : public ChangeConsumer {
 public:
  explicit SessionHarness(const SessionTest& test)
      : test_(test), progress_(test.partitions, kMicrosMin), ledger_(ledger::Ledger::transient()) {
    const Type value = test.huge_values ? Type::real64() : Type::bigint();
    count_ = expr::make_aggregate("count", nullptr).value();
    sum_ = expr::make_aggregate("sum", &value).value();
    key_ = expr::make_column(0, Type::text(), 0);
    value_ = expr::make_column(1, value, 0);
    outputs_.push_back(expr::make_column(0, Type::timestamptz(), 0));
    outputs_.push_back(expr::make_column(1, Type::timestamptz(), 0));
    const size_t count_at = test.has_key ? 3 : 2;
    outputs_.push_back(test.has_key ? expr::make_column(2, Type::text(), 0) : expr::make_null(0));
    if (!test.has_key) outputs_.back() = expr::settle_unknown(std::move(outputs_.back()));
    outputs_.push_back(expr::make_column(count_at, count_->result_type(), 0));
    outputs_.push_back(expr::make_column(count_at + 1, sum_->result_type(), 0));
    ViewOptions options;
    options.view = "v";
    options.source = "s";
    std::optional<Duration> horizon;
    if (test.horizon_us) horizon = Duration(*test.horizon_us);
    options.router = LateRouter({test.policy, Duration(test.lateness_us), horizon});
    if (test.has_key) {
      options.keys = {key_.get()};
      options.key_names = {"key"};
    }
    options.aggregates = {{count_, nullptr, nullptr}, {sum_, value_.get(), nullptr}};
    for (const auto& output : outputs_) options.outputs.push_back(output.get());
    options.early = test.early;
    options.wants_retractions = true;
    if (test.having_count > 0) {
      having_ = more_than(count_at, test.having_count);
      options.having = having_.get();
    }
    SessionOptions sessions{Duration(test.gap_us), std::nullopt};
    if (test.max_length_us) sessions.max_length = Duration(*test.max_length_us);
    operator_ = std::make_unique<SessionAggregate>(options, sessions, *this, 1);
    for (size_t i = 0; i < test.partitions; ++i) names_.push_back("p" + std::to_string(i));
  }

  Status take(const ChangeBatch& changes) override {
    upserts.apply(changes, now_us_, published);
    return {};
  }
  Status take_changelog(const ChangeBatch& changes) override {
    changelog.apply(changes, now_us_, published_changelog);
    return {};
  }

  // One batch; the tick goes on.
  void push(const std::vector<SessionRecord>& records) {
    const Batch batch = batch_of(records);
    const RecordTimes times = times_of(records);
    const TickContext tick = context();
    operator_->begin_batch(batch);
    now_us_ = times.watermark_before.back();
    const Status processed = operator_->process(batch, times, tick, 0, records.size());
    ASSERT_TRUE(processed.has_value()) << processed.error().to_string();
  }
  void finish_tick(int64_t wall_us = 0) {
    TickContext tick = context();
    tick.wall_us = wall_us;
    const Status finished = operator_->finish_tick(tick);
    ASSERT_TRUE(finished.has_value()) << finished.error().to_string();
    EXPECT_TRUE(operator_->balance().balanced());
    ++tick_;
  }
  void tick(const std::vector<SessionRecord>& records, int64_t wall_us = 0) {
    push(records);
    finish_tick(wall_us);
  }
  void end() {
    now_us_ = kMicrosMax;
    ASSERT_TRUE(operator_->advance(kMicrosMax).has_value());
    finish_tick();
    EXPECT_EQ(operator_->live_windows(), 0U);
  }

  std::vector<ledger::Entry> entries() const {
    std::vector<ledger::Entry> entries;
    EXPECT_TRUE(ledger_
                    ->scan({},
                           [&](const ledger::Entry& entry) {
                             entries.push_back(entry);
                             return true;
                           })
                    .has_value());
    return entries;
  }
  SessionAggregate& view() { return *operator_; }
  int64_t watermark_us() const { return watermark_us_; }

  ReaderView upserts{false};
  ReaderView changelog{true};
  std::vector<PublishedRow> published;
  std::vector<PublishedRow> published_changelog;
  std::vector<int64_t> watermarks;  // before each record pushed

 private:
  // count > limit, over the inputs of HAVING, of which the count is at `count_at`.
  static expr::ExprPtr more_than(size_t count_at, int64_t limit) {
    std::vector<expr::ExprPtr> args;
    args.push_back(expr::make_column(count_at, Type::bigint(), 0));
    args.push_back(expr::make_literal({Type::bigint(), limit}, 0));
    return expr::make_call(">", std::move(args), 0).value();
  }

  TickContext context() const {
    TickContext tick;
    tick.tick = tick_;
    tick.partition_names = &names_;
    tick.ledger = ledger_.get();
    return tick;
  }

  Batch batch_of(const std::vector<SessionRecord>& records) {
    Batch batch;
    batch.reset({{"key", Type::text()}, {"value", value_->type}});
    batch.rows = records.size();
    batch.file = "f";
    for (Column& column : batch.columns) column.resize(batch.rows);
    for (size_t i = 0; i < records.size(); ++i) {
      batch.columns[0].values<std::string_view>()[i] = records[i].key;
      if (test_.huge_values) {
        batch.columns[1].values<double>()[i] = static_cast<double>(records[i].value) * 1e308;
      } else {
        batch.columns[1].values<int64_t>()[i] = records[i].value;
      }
      batch.offsets.push_back(offset_++);
      batch.lines.push_back(offset_);
      batch.raw.push_back(records[i].key);
    }
    return batch;
  }

  RecordTimes times_of(const std::vector<SessionRecord>& records) {
    RecordTimes times;
    for (const SessionRecord& record : records) {
      times.event_us.push_back(record.event_us);
      times.arrival_us.push_back(0);
      times.partitions.push_back(record.partition);
      times.watermark_before.push_back(watermark_us_);
      watermarks.push_back(watermark_us_);
      int64_t& progress = progress_[record.partition];
      progress = std::max(progress, record.event_us);
      watermark_us_ =
          std::max(watermark_us_, saturating_subtract(*std::ranges::min_element(progress_), test_.delay_us));
    }
    times.watermark_before.push_back(watermark_us_);
    times.progress_before = times.watermark_before;
    times.usable.assign(records.size(), 1);
    times.has_event.assign(records.size(), 1);
    times.arrival_read.assign(records.size(), 0);
    if (test_.partitions == 1 && !records.empty()) times.partitions.resize(1);
    return times;
  }

  SessionTest test_;
  std::vector<int64_t> progress_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::shared_ptr<const expr::Aggregate> count_;
  std::shared_ptr<const expr::Aggregate> sum_;
  expr::ExprPtr key_;
  expr::ExprPtr value_;
  expr::ExprPtr having_;
  std::vector<expr::ExprPtr> outputs_;
  std::unique_ptr<SessionAggregate> operator_;
  std::vector<std::string> names_;
  int64_t offset_ = 0;
  int64_t tick_ = 0;
  int64_t watermark_us_ = kMicrosMin;
  int64_t now_us_ = kMicrosMin;
};

}  // namespace wrackline
