// Input that is saved, thrown away and restored: nobody behind it may tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>

#include "base/text.h"
#include "runtime/input.h"
#include "runtime/memory_source_test.h"

namespace wrackline::runtime {
namespace {

// Records of one log. A negative value is a record that no parser can read. Those that have not arrived yet
// are not there yet. Batches end at every multiple of `cut`, as at the end of a buffer.
struct MixedLog {
  std::string name;
  std::vector<TestRecord> records;
  size_t cut = 1000;
  bool end_with_records = false;  // the last batch says that it is the last
};
using MixedLogs = std::vector<MixedLog>;

class MixedSplit : public SplitReader {
 public:
  MixedSplit(const MixedLog& log, env::Clock* live) : log_(log), live_(live) {}
  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    batch.reset(test_fields());
    batch.file = log_.name;
    begin_ = next_;
    const size_t limit = std::min({log_.records.size(), next_ + rows_max, (next_ / log_.cut + 1) * log_.cut});
    for (; next_ < limit && has_arrived(next_); ++next_) add(batch, log_.records[next_]);
    const bool ended = next_ == log_.records.size();
    if (next_ > begin_) return ended && log_.end_with_records ? ReadState::kEnded : ReadState::kRows;
    return ended ? ReadState::kEnded : ReadState::kCaughtUp;
  }
  const std::string& name() const override { return log_.name; }
  uint64_t bytes_read() const override { return next_; }
  std::optional<uint64_t> bytes_total() const override { return std::nullopt; }
  std::vector<std::string> take_notices() override { return {}; }
  std::vector<std::string> fields_seen() const override { return {}; }
  void save(SnapshotWriter& out, uint64_t taken) const override {
    EXPECT_LE(begin_ + taken, next_);
    out.text(log_.name);
    out.u64(begin_ + taken);
  }
  void go_to(uint64_t record) { begin_ = next_ = record; }

 private:
  bool has_arrived(size_t i) const {
    return live_ == nullptr || log_.records[i].arrival_us <= live_->now().micros();
  }
  void add(Batch& batch, const TestRecord& record) {
    if (record.value < 0) {
      Reject reject;
      reject.before_row = batch.rows;
      reject.offset = static_cast<int64_t>(next_);
      reject.raw = record.key;
      reject.raw_bytes = record.key.size();
      batch.rejects.push_back(reject);
      return;
    }
    for (Column& column : batch.columns) column.resize(batch.rows + 1);
    batch.columns[0].values<int64_t>()[batch.rows] = record.event_us;
    batch.columns[1].values<int64_t>()[batch.rows] = record.arrival_us;
    batch.columns[2].values<std::string_view>()[batch.rows] = record.key;
    batch.columns[3].values<int64_t>()[batch.rows] = record.value;
    batch.offsets.push_back(static_cast<int64_t>(next_));
    batch.lines.push_back(static_cast<int64_t>(next_ + 1));
    batch.raw.push_back(record.key);
    ++batch.rows;
  }

  const MixedLog& log_;
  env::Clock* live_;
  size_t begin_ = 0;
  size_t next_ = 0;
};

class MixedSource : public Source {
 public:
  MixedSource(const MixedLogs& logs, env::Clock* live) : logs_(logs), live_(live) {}
  Result<std::vector<std::unique_ptr<SplitReader>>> open() override { return discover(); }
  Result<std::vector<std::unique_ptr<SplitReader>>> discover() override {
    std::vector<std::unique_ptr<SplitReader>> readers;
    for (; known_ < logs_.size(); ++known_)
      readers.push_back(std::make_unique<MixedSplit>(logs_[known_], live_));
    return readers;
  }
  bool bounded() const override { return live_ == nullptr; }
  void save(SnapshotWriter&) const override {}
  Status restore(SnapshotReader& from) override { return from.status(); }
  Result<std::unique_ptr<SplitReader>> open_at(SnapshotReader& from) override {
    const std::string name(from.text());
    const uint64_t record = from.u64();
    for (const MixedLog& log : logs_) {
      if (log.name != name || record > log.records.size()) continue;
      auto split = std::make_unique<MixedSplit>(log, live_);
      split->go_to(record);
      ++known_;
      return split;
    }
    return fail(ErrorCode::kData, "no such place");
  }

 private:
  const MixedLogs& logs_;
  env::Clock* live_;
  size_t known_ = 0;
};

struct World {
  MixedLogs logs;
  InputOptions options;
  bool live = false;
};

World random_world(std::mt19937_64& random, bool live) {
  World world;
  world.live = live;
  world.logs.resize(1 + random() % 4);
  for (size_t i = 0; i < world.logs.size(); ++i) {
    MixedLog& log = world.logs[i];
    log.name = format("p{}", i);
    log.cut = random() % 2 == 0 ? 1000 : 1 + random() % 9;
    log.end_with_records = !live && random() % 2 == 0;
    int64_t now_us = 1'000'000;
    for (size_t left = random() % 60; left > 0; --left) {
      now_us += static_cast<int64_t>(random() % 4000) * 1000;
      if (random() % 15 == 0) now_us += 40'000'000;
      const auto late_us = static_cast<int64_t>(random() % 20'000) * 1000;
      log.records.push_back({now_us - late_us, now_us, std::string(1, static_cast<char>('a' + random() % 3)),
                             random() % 8 == 0 ? -1 : static_cast<int64_t>(random() % 40)});
    }
  }
  InputOptions& options = world.options;
  options.name = "s";
  options.fields = test_fields();
  options.times.event.column = 0;
  if (random() % 2 == 0) options.times.arrival = TimeColumnOptions{.column = 1};
  options.times.watermark_delay = millis(static_cast<int64_t>(random() % 5000));
  if (random() % 2 == 0) options.times.partition_column = 2;
  if (random() % 3 == 0) options.times.dedup = DedupOptions{{3}, "value", seconds(30)};
  options.in_arrival_order = !live && random() % 3 == 0;
  options.alignment = millis(static_cast<int64_t>(random() % 20'000));
  options.idle_timeout = seconds(1 + static_cast<int64_t>(random() % 20));
  if (random() % 2 == 0) options.max_drift = seconds(1 + static_cast<int64_t>(random() % 20));
  if (random() % 2 == 0) options.idle_close = seconds(5);
  options.rows_max = 1 + random() % 20;
  return world;
}

std::string described(const Input::Step& step, const TimeStage& stage) {
  std::string text = format("{} read {}", static_cast<int>(step.kind), step.read_at.micros());
  if (step.ended) text += format(" ended {}", *step.ended);
  text += format(" W {}", stage.tracker().watermark().micros());
  for (PartitionIndex i = 0; i < stage.partition_names().size(); ++i)
    text +=
        format(" {}:{}", stage.partition_names()[i], static_cast<int>(stage.tracker().partition_state(i)));
  return text;
}

// Each record, in order, with what was judged of it.
void describe_records(const Input::Step& step, const TimeStage& stage, std::vector<std::string>& to) {
  const Batch& batch = *step.batch;
  const RecordTimes& times = *step.times;
  for (size_t row = step.begin; row <= step.end; ++row) {
    for (const Reject& reject : batch.rejects) {
      if (reject.before_row == row && (row < step.end || row == batch.rows))
        to.push_back(format("{}:{} reject", batch.file, reject.offset));
    }
    if (row == step.end) break;
    to.push_back(format("{}:{} at {} in {} W {} {} {}", batch.file, batch.offsets[row], times.event_us[row],
                        stage.partition_names()[times.partition(row)], times.watermark_before[row],
                        times.usable[row] != 0, !times.after_idle.empty() && times.after_idle[row] != 0));
  }
}

std::string described(const TickEntry& entry) {
  std::string text = format("{} #{} tick {} wall {}", static_cast<int>(entry.kind), entry.sequence,
                            entry.tick, entry.wall_us);
  for (const std::string& name : entry.splits) text += format(" split {}", name);
  for (const auto& partition : entry.partitions) text += format(" {}:{}", partition.name, partition.silent);
  if (entry.delay_us) text += format(" delay {}", *entry.delay_us);
  for (const TickEvent& event : entry.events)
    text += format(" event {}/{}", static_cast<int>(event.what), event.index);
  if (entry.carried_to_us) text += format(" carried {}", *entry.carried_to_us);
  return text + format(" of {} {}: {} {} to {}, {} bytes; G {} W {} by {}", entry.split, entry.file,
                       entry.records, entry.first_offset, entry.last_offset, entry.bytes, entry.progress_us,
                       entry.watermark_us, entry.holder ? static_cast<int64_t>(*entry.holder) : -1);
}

// The first difference, with what stood before it.
std::string difference(const std::vector<std::string>& is, const std::vector<std::string>& should) {
  if (is == should) return {};
  size_t at = 0;
  while (at < is.size() && at < should.size() && is[at] == should[at]) ++at;
  std::string text = format("of {} and {} at {}:", is.size(), should.size(), at);
  for (size_t i = at < 3 ? 0 : at - 3; i < at; ++i) text += "\n  both   " + is[i];
  text += "\n  is     " + (at < is.size() ? is[at] : "(nothing)");
  return text + "\n  should " + (at < should.size() ? should[at] : "(nothing)");
}

// Rows in their order, then the rejects: where one stands beside rows of other splits depends on batches.
std::vector<std::string> rows_first(std::vector<std::string> records) {
  std::ranges::stable_partition(records,
                                [](const std::string& record) { return !record.ends_with("reject"); });
  std::ranges::sort(
      std::ranges::find_if(records, [](const auto& record) { return record.ends_with("reject"); }),
      records.end());
  return records;
}

std::string saved(const Input& input) {
  SnapshotWriter out;
  const Status status = input.save(out);
  EXPECT_TRUE(status.has_value());
  return out.finish();
}

class RestoredInput : public testing::Test {
 protected:
  RestoredInput() {
    std::string pattern = (std::filesystem::temp_directory_path() / "wrackline-restored-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~RestoredInput() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Input> make(const World& world, const InputOptions& options) {
    env::Clock* const live = world.live ? &clock_ : nullptr;
    return std::make_unique<Input>(options, std::make_unique<MixedSource>(world.logs, live), clock_);
  }
  std::unique_ptr<Input> make_restored(const World& world, const InputOptions& options,
                                       const std::string& state) {
    auto input = make(world, options);
    auto from = SnapshotReader::open(state);
    EXPECT_TRUE(from.has_value());
    Status status = input->restore(*from);
    if (status) status = from->finish();
    EXPECT_TRUE(status.has_value()) << status.error().to_string();
    return input;
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> all;
    const auto reader = TickLogReader::open(folder_).value();
    while (const TickEntry* entry = reader->peek().value()) {
      all.push_back(described(*entry));
      reader->pop();
    }
    return all;
  }

  struct Seen {
    std::vector<std::string> steps;
    std::vector<std::string> records;
    std::vector<std::string> entries;
  };
  // Runs to the end; with `restoring`, in a new input after every step.
  Seen run(const World& world, bool restoring) {
    clock_ = env::SettableClock(WallTime(1'000'000));
    std::filesystem::remove_all(folder_);
    const auto log = TickLogWriter::create({.directory = folder_, .header = {.run = 1}}).value();
    InputOptions options = world.options;
    options.log = log.get();
    Seen seen;
    auto input = make(world, options);
    EXPECT_TRUE(input->open().has_value());
    const auto restore = [&] {
      if (restoring) input = make_restored(world, options, saved(*input));
    };
    restore();
    std::mt19937_64 random(5);
    for (size_t quiet = 0; quiet < 4000;) {
      const auto step = input->next();
      EXPECT_TRUE(step.has_value()) << step.error().to_string();
      if (!step) break;
      if (step->kind == Input::StepKind::kEnded) break;
      if (step->kind == Input::StepKind::kRecords) {
        describe_records(*step, input->stage(), seen.records);
        seen.steps.push_back(format("{} to {}", seen.records.size(), described(*step, input->stage())));
      } else {
        seen.steps.push_back(described(*step, input->stage()));
      }
      if (step->kind == Input::StepKind::kQuiet) {
        // A look at the same moment follows, so that the time without a process has no length.
        if (++quiet % 2 == 0) {
          clock_.advance(millis(static_cast<int64_t>(random() % 1000)));
          continue;
        }
      }
      restore();
    }
    EXPECT_TRUE(log->commit().has_value());
    seen.entries = entries();
    return seen;
  }

  std::string folder_;
  env::SettableClock clock_{WallTime(1'000'000)};
};

TEST_F(RestoredInput, AfterEveryStepOfBoundedInputNothingShows) {
  std::mt19937_64 random(1);
  size_t steps = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const World world = random_world(random, false);
    const Seen whole = run(world, false);
    const Seen restored = run(world, true);
    ASSERT_EQ(difference(restored.steps, whole.steps), "");
    ASSERT_EQ(difference(restored.records, whole.records), "");
    ASSERT_EQ(difference(restored.entries, whole.entries), "");
    steps += whole.steps.size();
  }
  EXPECT_GT(steps, 2000U);
}

TEST_F(RestoredInput, AfterEveryStepOfLiveInputNothingShows) {
  std::mt19937_64 random(2);
  size_t idle = 0;
  size_t pauses = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const World world = random_world(random, true);
    const Seen whole = run(world, false);
    const Seen restored = run(world, true);
    ASSERT_EQ(difference(restored.steps, whole.steps), "");
    ASSERT_EQ(difference(restored.records, whole.records), "");
    ASSERT_EQ(difference(restored.entries, whole.entries), "");
    for (const std::string& entry : whole.entries) {
      idle += entry.find(" event 1/") != std::string::npos;
      pauses += entry.find(" event 3/") != std::string::npos;
    }
  }
  EXPECT_GT(idle, 20U);
  EXPECT_GT(pauses, 20U);
}

TEST_F(RestoredInput, TimeWithoutAProcessIsNoSilence) {
  World world;
  world.live = true;
  world.options.name = "s";
  world.options.fields = test_fields();
  world.options.times.event.column = 0;
  world.options.idle_timeout = seconds(60);
  world.logs = {{"p0", {{1, 1'000'000, "a", 1}, {2, 9'000'000'000, "a", 1}}},
                {"p1", {{1, 1'000'000, "a", 1}}}};
  world.logs[1].records.push_back({3, 9'000'000'000, "a", 1});
  clock_.set(WallTime(2'000'000));
  auto input = make(world, world.options);
  ASSERT_TRUE(input->open().has_value());
  const auto drain = [&] {
    for (;;) {
      const auto step = input->next();
      ASSERT_TRUE(step.has_value());
      if (step->kind == Input::StepKind::kQuiet) return;
    }
  };
  drain();
  clock_.advance(seconds(40));
  drain();
  const std::string state = saved(*input);
  clock_.advance(seconds(3600));
  input = make_restored(world, world.options, state);
  drain();
  EXPECT_EQ(input->stage().tracker().partition_state(0), PartitionState::kActive);
  clock_.advance(seconds(19));
  drain();
  EXPECT_EQ(input->stage().tracker().partition_state(0), PartitionState::kActive);
  clock_.advance(seconds(1));
  drain();
  EXPECT_EQ(input->stage().tracker().partition_state(0), PartitionState::kIdle)
      << "40 s before and 20 s after";
}

// As after a crash: from a checkpoint, the log behind it is followed, and then the run goes on.
TEST_F(RestoredInput, FollowsTheLogBehindTheCheckpointAndGoesOn) {
  std::mt19937_64 random(3);
  size_t followed = 0;
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(round);
    const World world = random_world(random, round % 3 == 0);
    const Seen whole = run(world, false);
    clock_ = env::SettableClock(WallTime(1'000'000));
    std::filesystem::remove_all(folder_);
    const auto log = TickLogWriter::create({.directory = folder_, .header = {.run = 1}}).value();
    InputOptions options = world.options;
    options.log = log.get();
    auto input = make(world, options);
    ASSERT_TRUE(input->open().has_value());
    const auto take = [&](size_t steps, std::vector<std::string>& to) {
      for (bool more = false; steps > 0 || more; steps -= more ? 0 : 1) {
        const auto step = input->next();
        ASSERT_TRUE(step.has_value()) << step.error().to_string();
        if (step->kind == Input::StepKind::kEnded) return;
        ASSERT_TRUE(world.live || step->kind != Input::StepKind::kQuiet);
        if (step->kind == Input::StepKind::kQuiet) clock_.advance(millis(300));
        if (step->kind == Input::StepKind::kRecords) describe_records(*step, input->stage(), to);
        more = step->more;
      }
    };
    std::vector<std::string> records;
    take(random() % 20, records);
    if (testing::Test::HasFatalFailure()) return;
    std::string state = saved(*input);
    uint64_t sequence = log->entries();
    std::vector<std::string> lost;
    take(random() % 20, lost);
    ASSERT_TRUE(log->commit().has_value());
    followed += log->entries() - sequence;

    // Twice: the second attempt takes its checkpoint while it follows the log.
    for (const size_t steps : {random() % 10, size_t{100'000}}) {
      const auto reader = TickLogReader::open(folder_, 1).value();
      ASSERT_TRUE(reader->skip_to(sequence).has_value());
      const auto next_log = TickLogWriter::go_on({.directory = folder_, .header = {.run = 1}}).value();
      options.log = next_log.get();
      options.replay = reader.get();
      options.goes_on_after_replay = true;
      options.rows_max = 1 + random() % 20;
      input = make_restored(world, options, state);
      take(steps, records);
      if (testing::Test::HasFatalFailure()) return;
      state = saved(*input);
      const TickEntry* const entry = reader->peek().value();
      sequence = entry != nullptr ? entry->sequence : next_log->entries();
      ASSERT_TRUE(next_log->commit().has_value());
    }
    if (!world.live && !world.options.times.dedup && world.options.times.arrival) {
      ASSERT_EQ(difference(rows_first(records), rows_first(whole.records)), "");
    }
    ASSERT_EQ(records.size(), whole.records.size());

    // The log is one of a run that was never cut short.
    const auto reader = TickLogReader::open(folder_, 1).value();
    options.log = nullptr;
    options.replay = reader.get();
    options.goes_on_after_replay = false;
    input = make(world, options);
    ASSERT_TRUE(input->open().has_value());
    std::vector<std::string> again;
    take(100'000, again);
    ASSERT_EQ(difference(again, records), "");
  }
  EXPECT_GT(followed, 500U);
}

TEST_F(RestoredInput, DamageIsAnErrorAndNoCrash) {
  std::mt19937_64 random(4);
  size_t refused = 0;
  for (int round = 0; round < 40; ++round) {
    const World world = random_world(random, round % 2 == 0);
    auto input = make(world, world.options);
    ASSERT_TRUE(input->open().has_value());
    for (size_t steps = random() % 20; steps > 0; --steps) ASSERT_TRUE(input->next().has_value());
    const std::string state = saved(*input);
    for (int change = 0; change < 50; ++change) {
      std::string payload = state.substr(kSnapshotHeadBytes);
      payload[random() % payload.size()] ^= static_cast<char>(1 << random() % 8);
      if (random() % 4 == 0) payload.resize(random() % payload.size());
      SnapshotWriter out;
      out.bytes(payload.data(), payload.size());
      const std::string damaged = out.finish();
      auto from = SnapshotReader::open(damaged).value();
      auto restored = make(world, world.options);
      Status status = restored->restore(from);
      if (status) status = from.finish();
      refused += status ? 0 : 1;
      for (int steps = 0; status && steps < 5; ++steps)
        if (!restored->next()) break;
    }
  }
  EXPECT_GT(refused, 200U);
}

TEST_F(RestoredInput, AnotherInputInTheOrderOfArrivalIsRefused) {
  World world;
  world.options.name = "s";
  world.options.fields = test_fields();
  world.options.times.event.column = 0;
  world.options.times.arrival = TimeColumnOptions{.column = 1};
  world.options.in_arrival_order = true;
  world.logs = {{"p0", {{1, 1, "a", 1}, {2, 2, "b", 1}}}};
  auto input = make(world, world.options);
  ASSERT_TRUE(input->open().has_value());
  const std::string state = saved(*input);
  world.logs[0].records[1].key = "c";
  auto from = SnapshotReader::open(state).value();
  const Status status = make(world, world.options)->restore(from);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kData);
  EXPECT_NE(status.error().hint.find("--resume"), std::string::npos);
}

}  // namespace
}  // namespace wrackline::runtime
