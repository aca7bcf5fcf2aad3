// Partitions of live input against the clock, and replays of what was logged.
#include "runtime/input.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <random>

#include "runtime/memory_source_test.h"

namespace wrackline::runtime {
namespace {

// A log that grows: records can be read from the moment at which they are appended.
struct LiveLog {
  std::string name;
  std::vector<TestRecord> records;
  bool finished = false;
};

class LiveSplit : public SplitReader {
 public:
  explicit LiveSplit(std::shared_ptr<LiveLog> log) : log_(std::move(log)) {}
  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    batch.reset(test_fields());
    begin_ = next_;
    batch.file = log_->name;
    const size_t end = std::min(log_->records.size(), next_ + rows_max);
    batch.rows = end - next_;
    for (Column& column : batch.columns) column.resize(batch.rows);
    for (size_t i = 0; i < batch.rows; ++i) {
      const TestRecord& record = log_->records[next_ + i];
      batch.columns[0].values<int64_t>()[i] = record.event_us;
      batch.columns[1].values<int64_t>()[i] = record.arrival_us;
      batch.columns[2].values<std::string_view>()[i] = record.key;
      batch.columns[3].values<int64_t>()[i] = record.value;
      batch.offsets.push_back(static_cast<int64_t>(next_ + i));
      batch.lines.push_back(static_cast<int64_t>(next_ + i + 1));
      batch.raw.push_back(record.key);
    }
    next_ = end;
    if (batch.rows > 0) return ReadState::kRows;
    return log_->finished ? ReadState::kEnded : ReadState::kCaughtUp;
  }
  const std::string& name() const override { return log_->name; }
  uint64_t bytes_read() const override { return next_; }
  std::optional<uint64_t> bytes_total() const override { return std::nullopt; }
  std::vector<std::string> take_notices() override { return {}; }
  std::vector<std::string> fields_seen() const override { return {}; }
  void save(SnapshotWriter& out, uint64_t taken) const override {
    out.text(log_->name);
    out.u64(begin_ + taken);
  }
  void go_to(uint64_t record) { begin_ = next_ = record; }

 private:
  std::shared_ptr<LiveLog> log_;
  size_t begin_ = 0;
  size_t next_ = 0;
};

using LiveLogs = std::vector<std::shared_ptr<LiveLog>>;

class LiveSource : public Source {
 public:
  explicit LiveSource(const LiveLogs& logs) : logs_(logs) {}
  Result<std::vector<std::unique_ptr<SplitReader>>> open() override { return discover(); }
  Result<std::vector<std::unique_ptr<SplitReader>>> discover() override {
    std::vector<std::unique_ptr<SplitReader>> readers;
    for (; known_ < logs_.size(); ++known_) readers.push_back(std::make_unique<LiveSplit>(logs_[known_]));
    return readers;
  }
  bool bounded() const override { return false; }
  void save(SnapshotWriter&) const override {}
  Status restore(SnapshotReader& from) override { return from.status(); }
  Result<std::unique_ptr<SplitReader>> open_at(SnapshotReader& from) override {
    const std::string name(from.text());
    auto split = std::make_unique<LiveSplit>(logs_.at(known_));
    split->go_to(from.u64());
    if (logs_[known_++]->name != name) from.refuse("splits in another order");
    WRACKLINE_TRY(from.status());
    return split;
  }

 private:
  const LiveLogs& logs_;
  size_t known_ = 0;
};

InputOptions live_options() {
  InputOptions options;
  options.name = "s";
  options.fields = test_fields();
  options.times.event.column = 0;
  options.times.arrival = TimeColumnOptions{.column = 1};
  options.idle_timeout = seconds(60);
  return options;
}

// A source of live logs on a clock that only the test moves.
class Live {
 public:
  explicit Live(size_t count, InputOptions options = live_options()) : options_(std::move(options)) {
    for (size_t i = 0; i < count; ++i) add_log();
  }
  void add_log() {
    logs.push_back(std::make_shared<LiveLog>());
    logs.back()->name = "p" + std::to_string(logs.size() - 1);
  }
  void append(size_t log, int64_t event_s, std::string key = "a") {
    logs[log]->records.push_back({event_s * 1'000'000, event_s * 1'000'000, std::move(key), 1});
  }
  // Takes steps until there is nothing now.
  void drain() {
    if (!input) {
      input = std::make_unique<Input>(options_, std::make_unique<LiveSource>(logs), clock);
      ASSERT_TRUE(input->open().has_value());
    }
    for (;;) {
      const auto step = input->next();
      ASSERT_TRUE(step.has_value()) << step.error().to_string();
      if (step->kind == Input::StepKind::kQuiet || step->kind == Input::StepKind::kEnded) return;
      if (step->kind != Input::StepKind::kRecords) continue;
      for (size_t row = step->begin; row < step->end; ++row) {
        read.push_back(step->times->event_us[row] / 1'000'000);
        after_idle.push_back(!step->times->after_idle.empty() && step->times->after_idle[row] != 0);
      }
    }
  }
  void wait(int64_t s) {
    clock.advance(seconds(s));
    drain();
  }
  int64_t watermark_s() const { return input->stage().tracker().watermark().micros() / 1'000'000; }
  PartitionState state(PartitionIndex partition) const {
    return input->stage().tracker().partition_state(partition);
  }

  LiveLogs logs;
  env::SettableClock clock{WallTime(1'000'000'000)};
  std::unique_ptr<Input> input;
  std::vector<int64_t> read;
  std::vector<bool> after_idle;

 private:
  InputOptions options_;
};

constexpr int64_t kNothing = kMicrosMin / 1'000'000;

TEST(LiveInput, SilentForTheTimeoutIsIdleAndNotASecondEarlier) {
  Live live(2);
  live.append(0, 100);
  live.append(1, 50);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 50);
  live.append(0, 200);
  live.wait(59);
  EXPECT_EQ(live.state(1), PartitionState::kActive);
  EXPECT_EQ(live.watermark_s(), 50);
  live.wait(1);
  EXPECT_EQ(live.state(1), PartitionState::kIdle);
  EXPECT_EQ(live.state(0), PartitionState::kActive);  // it spoke a second ago
  EXPECT_EQ(live.watermark_s(), 200);
}

TEST(LiveInput, OneThatNeverSpokeHoldsUntilItIsIdle) {
  Live live(2);
  live.append(0, 100);
  live.drain();
  EXPECT_EQ(live.watermark_s(), kNothing);
  live.append(0, 101);
  live.wait(59);
  live.append(0, 102);
  live.wait(2);
  EXPECT_EQ(live.watermark_s(), 102);
}

TEST(LiveInput, ARecordStartsTheCountAnew) {
  Live live(2);
  live.append(0, 100);
  live.append(1, 50);
  live.drain();
  live.wait(50);
  live.append(1, 51);
  live.append(0, 150);
  live.wait(50);  // it came some time during these 50 s
  live.wait(59);
  EXPECT_EQ(live.state(1), PartitionState::kActive);
  live.append(0, 151);
  live.wait(1);
  EXPECT_EQ(live.state(1), PartitionState::kIdle);
}

// FLIP-471: time in which nobody looked is no silence if there turn out to be records.
TEST(LiveInput, RecordsThatWaitedWhileTheReaderSleptAreNoSilence) {
  Live live(2);
  live.append(0, 100);
  live.append(1, 50);
  live.drain();
  live.append(0, 200);
  live.append(1, 60);
  live.wait(3600);  // the whole process was stopped for an hour
  EXPECT_EQ(live.state(1), PartitionState::kActive);
  EXPECT_EQ(live.watermark_s(), 60);
}

TEST(LiveInput, AllIdleMovesToTheGreatestAndHolds) {
  Live live(3);
  live.append(0, 100);
  live.append(1, 50);
  live.append(2, 70);
  live.drain();
  live.wait(60);
  EXPECT_EQ(live.watermark_s(), 100);
  live.wait(100'000);
  EXPECT_EQ(live.watermark_s(), 100);
}

TEST(LiveInput, BackFromIdlenessIsLateAfterIdleUntilItHasCaughtUp) {
  Live live(2);
  live.append(0, 100);
  live.append(1, 50);
  live.drain();
  live.wait(60);
  live.append(1, 60);   // behind the watermark
  live.append(1, 100);  // at it: caught up
  live.append(1, 70);   // late like any other
  live.append(0, 60);   // partition 0 was idle, too
  live.read.clear();
  live.after_idle.clear();
  live.drain();
  std::map<std::pair<int64_t, size_t>, bool> flags;
  ASSERT_EQ(live.read.size(), 4U);
  for (size_t i = 0; i < 4; ++i) flags[{live.read[i], flags.count({live.read[i], 0})}] = live.after_idle[i];
  EXPECT_TRUE((flags[{60, 0}]));
  EXPECT_TRUE((flags[{60, 1}]));
  EXPECT_FALSE((flags[{100, 0}]));
  EXPECT_FALSE((flags[{70, 0}]));
  EXPECT_EQ(live.watermark_s(), 100);
}

TEST(LiveInput, ANewPartitionHoldsFromItsRegistrationAndMovesNothingBack) {
  Live live(1);
  live.append(0, 100);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 100);
  live.add_log();
  live.wait(1);
  live.append(0, 200);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 100);  // the new one has not spoken
  live.append(1, 20);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 100);
  live.append(1, 150);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 150);
}

TEST(LiveInput, WithoutALogAtFirstItWaitsForOne) {
  Live live(0);
  live.drain();
  live.add_log();
  live.clock.advance(seconds(1));
  const auto step = live.input->next();
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->kind, Input::StepKind::kQuiet);  // found, but not yet read
  live.append(0, 100);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 100);
}

TEST(LiveInput, AnEndedPartitionLetsGo) {
  Live live(2);
  live.append(0, 100);
  live.append(1, 50);
  live.logs[1]->finished = true;
  live.drain();
  EXPECT_EQ(live.state(1), PartitionState::kEnded);
  EXPECT_EQ(live.watermark_s(), 100);
}

TEST(LiveInput, SilenceIsSeenWhileAnotherIsBusy) {
  Live live(2);
  live.append(0, 1);
  live.append(1, 50);
  live.drain();
  // Partition 0 always has something: each step is followed by more records and a second of work.
  for (int64_t second = 2; second < 70; ++second) {
    live.append(0, second * 10);
    live.clock.advance(seconds(1));
    ASSERT_TRUE(live.input->next().has_value());
  }
  for (int i = 0; i < 5; ++i) {
    live.append(0, 1000 + i);
    live.clock.advance(seconds(1));
    ASSERT_TRUE(live.input->next().has_value());
  }
  EXPECT_EQ(live.state(1), PartitionState::kIdle);
  EXPECT_EQ(live.state(0), PartitionState::kActive);
}

// ---- idle_close

TEST(LiveInput, WallTimeCarriesOnWhenAllAreIdle) {
  InputOptions options = live_options();
  options.idle_close = seconds(30);
  options.times.watermark_delay = seconds(5);
  Live live(2, options);
  live.append(0, 1000);
  live.append(1, 990);
  live.drain();
  EXPECT_EQ(live.watermark_s(), 985);
  live.wait(59);
  EXPECT_EQ(live.watermark_s(), 985);  // nobody is idle yet
  live.wait(1);
  // Now is 1060: G = 1060 - 30, W = G - 5.
  EXPECT_EQ(live.watermark_s(), 1025);
  live.wait(10);
  EXPECT_EQ(live.watermark_s(), 1035);
  live.append(0, 1031);
  live.wait(100);  // one is active: it holds where it was
  EXPECT_EQ(live.watermark_s(), 1035);
  EXPECT_TRUE(live.after_idle.back());
}

TEST(LiveInput, WallTimeDoesNotMoveAStreamThatNeverSpoke) {
  InputOptions options = live_options();
  options.idle_close = seconds(30);
  Live live(1, options);
  live.drain();
  live.wait(1000);
  EXPECT_EQ(live.watermark_s(), kNothing);
}

TEST(LiveInput, AWallClockThatStepsBackMovesNothing) {
  InputOptions options = live_options();
  options.idle_close = seconds(30);
  Live live(1, options);
  live.append(0, 1000);
  live.drain();
  live.wait(70);
  EXPECT_EQ(live.watermark_s(), 1040);
  live.clock.set(WallTime(0));
  live.wait(10);
  EXPECT_EQ(live.watermark_s(), 1040);
}

// ---- max_drift

TEST(LiveInput, APartitionFarAheadIsPausedAndNotIdle) {
  InputOptions options = live_options();
  options.max_drift = seconds(100);
  Live live(2, options);
  live.append(1, 10);
  for (int64_t s = 0; s < 1000; s += 10) live.append(0, s);
  live.drain();
  EXPECT_EQ(live.read.size(), 1 + 13U);  // 0 to 120: the first record beyond 110 shows that it is ahead
  live.wait(30);
  EXPECT_EQ(live.read.size(), 14U);
  live.append(1, 200);
  live.drain();
  EXPECT_EQ(live.state(0), PartitionState::kActive);
  EXPECT_EQ(live.watermark_s(), 200);
  EXPECT_EQ(live.read.back(), 310);
  live.wait(59);
  EXPECT_EQ(live.read.back(), 310);
  live.wait(1);  // the slow one is idle: it holds nobody back
  EXPECT_EQ(live.state(1), PartitionState::kIdle);
  live.drain();
  EXPECT_EQ(live.state(0), PartitionState::kActive);
  EXPECT_EQ(live.read.back(), 990);
  EXPECT_EQ(live.watermark_s(), 990);
}

TEST(LiveInput, PausedForLongerThanTheTimeoutIsNotIdle) {
  InputOptions options = live_options();
  options.max_drift = seconds(100);
  Live live(2, options);
  live.append(1, 10);
  live.append(0, 500);
  live.append(0, 600);
  live.drain();
  for (int64_t i = 0; i < 10; ++i) {
    live.append(1, 20 + i);  // slow, but never silent
    live.wait(50);
  }
  EXPECT_EQ(live.state(0), PartitionState::kActive);
  EXPECT_EQ(live.watermark_s(), 29);
  EXPECT_EQ(live.input->stage().tracker().partition_progress(0), EventTime(500'000'000));
}

// ---- partitions of a column

TEST(LiveInput, ValuesOfAColumnAreSilentWhileEveryLogIsAtItsEnd) {
  InputOptions options = live_options();
  options.times.partition_column = 2;
  Live live(1, options);
  live.append(0, 100, "a");
  live.append(0, 50, "b");
  live.drain();
  EXPECT_EQ(live.watermark_s(), 100);  // b joined when it first spoke
  for (int64_t second = 0; second < 61; ++second) {
    live.append(0, 200 + second, "a");
    live.wait(1);
  }
  EXPECT_EQ(live.watermark_s(), 260);
  live.append(0, 210, "b");
  live.drain();
  EXPECT_TRUE(live.after_idle.back());
}

// ---- replay

struct Seen {
  std::vector<int64_t> event_us, arrival_us, watermark_us;
  std::vector<std::string> partitions;  // of each record
  std::vector<std::string> names;       // in the order of their indexes
  std::vector<size_t> ticks;            // records of each
  int64_t progress_us = 0;
};

Result<Seen> run_all(Input& input, const std::function<void()>& on_quiet) {
  Seen seen;
  WRACKLINE_TRY(input.open());
  bool goes_on = false;
  for (;;) {
    WRACKLINE_ASSIGN(const Input::Step step, input.next());
    if (step.kind == Input::StepKind::kEnded) break;
    if (step.kind == Input::StepKind::kQuiet) {
      on_quiet();
      continue;
    }
    if (step.kind == Input::StepKind::kTime) {
      seen.ticks.push_back(0);
      continue;
    }
    if (!std::exchange(goes_on, step.more)) seen.ticks.push_back(0);
    seen.ticks.back() += step.end - step.begin;
    for (size_t row = step.begin; row < step.end; ++row) {
      seen.event_us.push_back(step.times->event_us[row]);
      seen.arrival_us.push_back(step.times->arrival_us[row]);
      seen.watermark_us.push_back(step.times->watermark_before[row]);
      seen.partitions.push_back(input.stage().partition_names()[step.times->partition(row)]);
    }
  }
  seen.names = input.stage().partition_names();
  seen.progress_us = input.stage().tracker().progress().micros();
  return seen;
}

class Replayed : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = (std::filesystem::temp_directory_path() / (std::string("replay-") + info->name())).string();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<TickLogWriter> writer() {
    std::filesystem::remove_all(folder_ + "/ticks");
    TickLogWriter::Options options{.directory = folder_, .header = {.run = 1}, .segment_bytes = 2000};
    return TickLogWriter::create(std::move(options)).value();
  }
  std::unique_ptr<TickLogReader> reader() { return TickLogReader::open(folder_).value(); }
  std::string folder_;
};

void expect_same(const Seen& a, const Seen& b) {
  EXPECT_EQ(a.event_us, b.event_us);
  EXPECT_EQ(a.arrival_us, b.arrival_us);
  EXPECT_EQ(a.watermark_us, b.watermark_us);
  EXPECT_EQ(a.partitions, b.partitions);
  EXPECT_EQ(a.names, b.names);
  EXPECT_EQ(a.ticks, b.ticks);
  EXPECT_EQ(a.progress_us, b.progress_us);
}

std::vector<std::vector<TestRecord>> random_splits(std::mt19937_64& random) {
  std::vector<std::vector<TestRecord>> splits(1 + random() % 4);
  for (auto& split : splits) {
    int64_t now = static_cast<int64_t>(random() % 100) * 1'000'000;
    for (size_t i = random() % 300; i > 0; --i) {
      now += static_cast<int64_t>(random() % 4000) * 1000;
      split.push_back({now - static_cast<int64_t>(random() % 60'000) * 1000, now,
                       std::string(1, static_cast<char>('a' + random() % 5)), 1});
    }
  }
  return splits;
}

// Bounded input in every order, with every kind of partition: the log says it all, whatever the batches.
TEST_F(Replayed, BoundedInputIsJudgedAlikeWithAnyBatches) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 60; ++round) {
    const auto splits = random_splits(random);
    InputOptions options = live_options();
    options.times.watermark_delay = seconds(2);
    options.alignment = seconds(static_cast<int64_t>(random() % 60));
    options.in_arrival_order = random() % 3 == 0;
    if (random() % 2 == 0) options.times.partition_column = 2;
    if (random() % 2 == 0) options.times.arrival.reset();
    options.rows_max = 1 + random() % 200;
    env::SettableClock clock(WallTime(5'000'000'000));
    auto log = writer();
    options.log = log.get();
    Input first(options, std::make_unique<MemorySource>(splits), clock);
    const auto seen = run_all(first, [] {});
    ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
    ASSERT_TRUE(first.flush().has_value());
    ASSERT_TRUE(log->commit().has_value());
    for (const size_t rows_max : {size_t{1}, size_t{7}, size_t{4096}}) {
      auto from = reader();
      InputOptions again = options;
      again.log = nullptr;
      again.replay = from.get();
      again.rows_max = rows_max;
      again.alignment = seconds(1);
      env::SettableClock later(WallTime(99'000'000'000));
      Input second(again, std::make_unique<MemorySource>(splits), later);
      const auto replayed = run_all(second, [] { FAIL() << "quiet"; });
      ASSERT_TRUE(replayed.has_value()) << replayed.error().to_string();
      Seen expected = *seen;
      expected.progress_us = replayed->progress_us;
      expect_same(expected, *replayed);
    }
  }
}

// Live input against a clock, with pauses, idleness, new logs and wall time that carries on; then from the
// log, after the fact, all of it at once.
TEST_F(Replayed, LiveInputIsJudgedAlikeAfterTheFact) {
  std::mt19937_64 random(9);
  int64_t idle_events = 0;
  int64_t pauses = 0;
  int64_t carried = 0;
  for (int round = 0; round < 40; ++round) {
    LiveLogs logs;
    const auto add_log = [&] {
      logs.push_back(std::make_shared<LiveLog>());
      logs.back()->name = "p" + std::to_string(logs.size() - 1);
    };
    for (size_t i = 1 + random() % 3; i > 0; --i) add_log();
    InputOptions options = live_options();
    options.idle_timeout = seconds(20);
    options.times.arrival.reset();
    if (random() % 2 == 0) options.idle_close = seconds(40);
    if (random() % 2 == 0) options.max_drift = seconds(5);
    if (random() % 4 == 0) options.times.partition_column = 2;
    options.rows_max = 1 + random() % 20;
    env::SettableClock clock(WallTime(1'000'000'000));
    auto log = writer();
    options.log = log.get();
    Input first(options, std::make_unique<LiveSource>(logs), clock);
    int turns = 200;
    const auto seen = run_all(first, [&] {
      clock.advance(millis(static_cast<int64_t>(random() % 3000)));
      if (random() % 40 == 0) clock.advance(seconds(static_cast<int64_t>(random() % 60)));
      if (random() % 60 == 0 && logs.size() < 5) add_log();
      if (--turns == 0) {
        for (const auto& one : logs) one->finished = true;
      }
      for (const auto& one : logs) {
        if (one->finished || random() % 4 != 0) continue;
        const int64_t event = clock.now().micros() - static_cast<int64_t>(random() % 30) * 1'000'000;
        for (size_t i = random() % 8; i > 0; --i)
          one->records.push_back({event, 0, std::string(1, static_cast<char>('a' + random() % 3)), 1});
      }
    });
    ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
    ASSERT_TRUE(log->commit().has_value());
    for (const size_t rows_max : {size_t{1}, size_t{4096}}) {
      auto from = reader();
      InputOptions again = options;
      again.log = nullptr;
      again.replay = from.get();
      again.rows_max = rows_max;
      env::SettableClock later(WallTime(0));
      Input second(again, std::make_unique<LiveSource>(logs), later);
      const auto replayed = run_all(second, [] { FAIL() << "quiet"; });
      ASSERT_TRUE(replayed.has_value()) << replayed.error().to_string();
      expect_same(*seen, *replayed);
    }
    auto from = reader();
    while (const TickEntry* entry = from->peek().value()) {
      for (const TickEvent& event : entry->events) {
        idle_events += event.what == TickEvent::What::kIdle;
        pauses += event.what == TickEvent::What::kPaused;
      }
      carried += entry->carried_to_us.has_value();
      from->pop();
    }
  }
  // The streams above are of no use unless all of it happens.
  EXPECT_GT(idle_events, 20);
  EXPECT_GT(pauses, 20);
  EXPECT_GT(carried, 20);
}

// A run that stops anywhere, and one that follows its log and goes on: together they are the run that did not
// stop. What comes behind the log is new, so it is judged alike only where order follows from the records.
TEST_F(Replayed, BoundedInputGoesOnBehindTheLogAsIfNothingHadBeen) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 80; ++round) {
    const auto splits = random_splits(random);
    InputOptions options = live_options();
    options.alignment = seconds(static_cast<int64_t>(random() % 60));
    options.in_arrival_order = random() % 3 == 0;
    if (random() % 2 == 0) options.times.partition_column = 2;
    options.rows_max = 1 + random() % 100;
    env::SettableClock clock(WallTime(5'000'000'000));
    Input whole(options, std::make_unique<MemorySource>(splits), clock);
    const auto expected = run_all(whole, [] {});
    ASSERT_TRUE(expected.has_value());

    auto log = writer();
    options.log = log.get();
    Input first(options, std::make_unique<MemorySource>(splits), clock);
    ASSERT_TRUE(first.open().has_value());
    for (size_t steps = random() % 40; steps > 0; --steps) ASSERT_TRUE(first.next().has_value());
    ASSERT_TRUE(log->commit().has_value());

    auto from = reader();
    auto second_log = TickLogWriter::go_on({.directory = folder_, .header = {.run = 1}}).value();
    options.log = second_log.get();
    options.replay = from.get();
    options.goes_on_after_replay = true;
    options.rows_max = 1 + random() % 100;
    Input second(options, std::make_unique<MemorySource>(splits), clock);
    auto seen = run_all(second, [] { FAIL() << "quiet"; });
    ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
    ASSERT_TRUE(second_log->commit().has_value());
    EXPECT_EQ(seen->event_us, expected->event_us) << "round " << round;
    EXPECT_EQ(seen->watermark_us, expected->watermark_us) << "round " << round;
    EXPECT_EQ(seen->partitions, expected->partitions) << "round " << round;

    // The log holds both parts.
    auto again = reader();
    InputOptions third = options;
    third.log = nullptr;
    third.replay = again.get();
    third.goes_on_after_replay = false;
    Input replayed(third, std::make_unique<MemorySource>(splits), clock);
    const auto from_second = run_all(replayed, [] { FAIL() << "quiet"; });
    ASSERT_TRUE(from_second.has_value()) << from_second.error().to_string();
    expect_same(*seen, *from_second);
  }
}

TEST_F(Replayed, LiveInputGoesOnBehindTheLog) {
  LiveLogs logs;
  for (const char* name : {"p0", "p1"}) {
    logs.push_back(std::make_shared<LiveLog>());
    logs.back()->name = name;
  }
  const auto append = [&](size_t split, int64_t event_s) {
    logs[split]->records.push_back({event_s * 1'000'000, event_s * 1'000'000, "a", 1});
  };
  InputOptions options = live_options();
  options.idle_timeout = seconds(20);
  env::SettableClock clock(WallTime(1'000'000'000));
  auto log = writer();
  options.log = log.get();
  Input first(options, std::make_unique<LiveSource>(logs), clock);
  append(0, 100);
  append(1, 50);
  int turns = 3;
  ASSERT_TRUE(first.open().has_value());
  while (turns > 0) {
    const auto step = first.next();
    ASSERT_TRUE(step.has_value());
    if (step->kind != Input::StepKind::kQuiet) continue;
    clock.advance(seconds(15));
    append(0, 100 + --turns);
  }
  ASSERT_EQ(first.stage().tracker().partition_state(1), PartitionState::kIdle);
  const int64_t progress_us = first.stage().tracker().progress().micros();
  ASSERT_TRUE(log->commit().has_value());

  auto from = reader();
  options.log = nullptr;
  options.replay = from.get();
  options.goes_on_after_replay = true;
  Input second(options, std::make_unique<LiveSource>(logs), clock);
  append(0, 300);
  append(1, 60);
  for (auto& one : logs) one->finished = true;
  const auto seen = run_all(second, [&] { clock.advance(seconds(1)); });
  ASSERT_TRUE(seen.has_value()) << seen.error().to_string();
  EXPECT_EQ(seen->event_us.size(), logs[0]->records.size() + logs[1]->records.size());
  EXPECT_EQ(seen->progress_us, 300'000'000);
  EXPECT_GE(*std::ranges::max_element(seen->watermark_us), progress_us);
}

class ChangedInput : public Replayed {
 protected:
  Result<Seen> replay(const std::vector<std::vector<TestRecord>>& splits) {
    InputOptions options = live_options();
    options.rows_max = 3;
    env::SettableClock clock(WallTime(5'000'000'000));
    auto log = writer();
    options.log = log.get();
    Input first(options, std::make_unique<MemorySource>(original), clock);
    EXPECT_TRUE(run_all(first, [] {}).has_value());
    EXPECT_TRUE(log->commit().has_value());
    auto from = reader();
    options.log = nullptr;
    options.replay = from.get();
    Input second(options, std::make_unique<MemorySource>(splits), clock);
    return run_all(second, [] {});
  }
  const std::vector<std::vector<TestRecord>> original = {
      {{1'000'000, 0, "a", 1}, {2'000'000, 0, "a", 1}, {3'000'000, 0, "a", 1}, {4'000'000, 0, "a", 1}},
      {{1'000'000, 0, "b", 1}, {5'000'000, 0, "b", 1}}};
};

TEST_F(ChangedInput, AShorterFileIsNamedWithTheOffset) {
  auto splits = original;
  splits[0].pop_back();
  const auto result = replay(splits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kData);
  EXPECT_EQ(result.error().where.file, "p0");
  EXPECT_EQ(result.error().where.offset, 3);
  EXPECT_NE(result.error().detail.find("offset 3: it ends there"), std::string::npos)
      << result.error().detail;
}

TEST_F(ChangedInput, AMissingFileIsNamed) {
  auto splits = original;
  splits.pop_back();
  const auto result = replay(splits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(result.error().where.file, "p1");
}

TEST_F(ChangedInput, AnotherTimeIsSeen) {
  auto splits = original;
  splits[0][2].event_us += 500'000;
  const auto result = replay(splits);
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().detail.find("moved the watermark"), std::string::npos) << result.error().detail;
}

TEST_F(ChangedInput, AnotherSizeIsSeen) {
  auto splits = original;
  splits[1][0].key = "longer";
  const auto result = replay(splits);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().where.file, "p1");
  EXPECT_NE(result.error().detail.find("bytes"), std::string::npos) << result.error().detail;
}

}  // namespace
}  // namespace wrackline::runtime
