// The runner in a simulated world: it is stopped at every effect, comes back, and nobody may see it.
//
// Outside of an attempt there are the records, the clock, the disk with the tick log, a ledger of which the
// committed part survives, and a table that a sink writes to. The table behaves as a database behind a
// network: a commit may have an unknown outcome, may be applied in part, twice, or when its writer is long
// dead. A reader looks after every change: no version and no total goes back, no row is above the truth, no
// record is both in a window and in the ledger. When faults have stopped the job ends, and published rows and
// ledger together are a recount.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/value.h"
#include "operators/aligned_aggregate.h"
#include "runtime/memory_source_test.h"
#include "runtime/runner.h"

namespace wrackline::runtime {
namespace {

namespace fs = std::filesystem;

using WindowKey = std::pair<int64_t, std::string>;  // start and grouping key

struct TableRow {
  int64_t run = 0;
  int64_t version = 0;
  int64_t count = 0;
  int64_t sum = 0;
};
using TableChanges = std::vector<std::pair<WindowKey, TableRow>>;

struct WorldOptions {
  uint64_t seed = 1;
  Duration size = seconds(10);
  Duration slide = seconds(10);  // below `size`: hopping windows
  Duration delay;
  Duration lateness;
  LatePolicy policy = LatePolicy::kCorrect;
  size_t threads = 1;  // of an attempt; the next one may have another number
  size_t rows_max = 10;
  size_t segment_bytes = size_t{1} << 20;
  bool in_arrival_order = false;
  std::vector<std::vector<TestRecord>> splits;
  // Chances in a thousand.
  uint32_t commit_unknown = 0;
  uint32_t commit_partial = 0;
  uint32_t commit_twice = 0;
  uint32_t ledger_unknown = 0;
  uint32_t clock_steps = 0;
};

// Everything that outlives an attempt.
class World {
 public:
  explicit World(WorldOptions from) : options(std::move(from)), random(options.seed) {
    // In memory where there is such a place: nothing here waits for a real disk then.
    std::error_code none;
    const fs::path base = fs::is_directory("/dev/shm", none) ? "/dev/shm" : fs::temp_directory_path();
    std::string pattern = (base / "wrackline-simulation-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    for (const auto& split : options.splits) {
      for (const TestRecord& record : split) {
        for (int64_t start : windows_of(record.event_us)) {
          TableRow& row = truth[{start, record.key}];
          ++row.count;
          row.sum += record.value;
        }
      }
    }
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() { fs::remove_all(folder); }

  std::vector<int64_t> windows_of(int64_t event_us) const {
    std::vector<int64_t> starts;
    const int64_t slide_us = options.slide.micros();
    for (int64_t start = floor_divide(event_us, slide_us) * slide_us;
         start > event_us - options.size.micros(); start -= slide_us)
      starts.push_back(start);
    return starts;
  }

  bool chance(uint32_t per_thousand) { return per_thousand > 0 && !calm && random() % 1000 < per_thousand; }

  // Before something that the outside could see. Errors: the machine stops here, or has stopped.
  Status effect(std::string_view what) {
    if (!crashed) crashed = ++effects == crash_at;
    trace(what);
    // What the dead had sent may arrive at any time.
    if (!crashed && !in_flight.empty() && random() % 8 == 0) {
      const auto [changes, attempt] = in_flight.back();
      in_flight.pop_back();
      apply(changes, attempt, changes.size());
      ++zombies;
    }
    if (crashed) return fail(ErrorCode::kUnavailable, "the simulated machine has stopped");
    return {};
  }

  void trace(std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3U;
  }

  // The table: rows of a writer that owns it, each guarded by run and version.
  bool apply(const TableChanges& changes, int64_t attempt, size_t first) {
    if (attempt < owner) {
      ++fenced;
      return false;
    }
    for (size_t i = 0; i < first; ++i) {
      const auto& [key, row] = changes[i];
      TableRow& stands = table[key];
      const auto stamp = [](const TableRow& of) { return std::pair(of.run, of.version); };
      if (stamp(row) == stamp(stands)) {
        EXPECT_EQ(row.count, stands.count) << "the same version with other content";
        EXPECT_EQ(row.sum, stands.sum) << "the same version with other content";
        ++repeated;
      }
      if (stamp(row) <= stamp(stands)) continue;
      EXPECT_GE(row.count, stands.count) << "a total goes back at window " << key.first;
      EXPECT_EQ(row.run, 1) << "all attempts are of one run";
      stands = row;
      trace(format("{} {} {} {}", key.first, key.second, row.version, row.count));
      look(key);
    }
    return true;
  }

  // What a reader of table and ledger sees of one window.
  void look(const WindowKey& key) {
    const auto missed = ledgered.find(key);
    const int64_t count = table[key].count + (missed == ledgered.end() ? 0 : missed->second);
    EXPECT_LE(count, truth[key].count)
        << "a record is counted twice in window " << key.first << " of " << key.second;
  }

  void commit_ledger(const std::vector<ledger::Entry>& entries) {
    for (const ledger::Entry& entry : entries) {
      if (!ledger_keys.emplace(entry.file, entry.offset).second) continue;
      ledger_entries.push_back(entry);
      trace(format("{} {}", entry.file, entry.offset));
      for (const ledger::MissedWindow& window : entry.windows) {
        const WindowKey key(window.start_us, entry.key.substr(1, entry.key.size() - 2));
        ++ledgered[key];
        look(key);
      }
    }
  }

  // The tick log's files as they are now are durable.
  void log_is_durable() {
    for (const auto& file : fs::recursive_directory_iterator(folder)) {
      if (file.is_regular_file()) durable_bytes[file.path().string()] = file.file_size();
    }
  }
  // A crash takes what was not durable of the newest segment, or a part of it.
  void tear_log() {
    fs::path newest;
    for (const auto& file : fs::recursive_directory_iterator(folder)) {
      if (file.is_regular_file()) newest = std::max(newest, file.path());
    }
    if (newest.empty()) return;
    const uint64_t durable = durable_bytes[newest.string()];
    const uint64_t size = fs::file_size(newest);
    if (size > durable) fs::resize_file(newest, durable + random() % (size - durable + 1));
  }

  WorldOptions options;
  std::mt19937_64 random;
  std::string folder;
  std::map<WindowKey, TableRow> truth;
  std::map<WindowKey, TableRow> table;
  std::map<WindowKey, int64_t> ledgered;
  std::set<std::pair<std::string, int64_t>> ledger_keys;
  std::vector<ledger::Entry> ledger_entries;
  std::vector<std::pair<TableChanges, int64_t>> in_flight;  // of attempts that are over
  std::map<std::string, uint64_t> durable_bytes;
  env::SettableClock clock{WallTime(1'700'000'000'000'000)};
  int64_t owner = 0;
  int64_t attempts = 0;
  uint64_t effects = 0;
  uint64_t crash_at = 0;
  bool crashed = false;
  bool calm = false;           // faults have stopped
  int64_t ledger_waiting = 0;  // entries of the attempt that are not committed
  uint64_t hash = 0xcbf29ce484222325U;
  // What happened, so that a test can say that it did.
  int64_t zombies = 0;
  int64_t fenced = 0;
  int64_t repeated = 0;
};

class SimLedger : public ledger::Ledger {
 public:
  explicit SimLedger(World& world) : world_(world) {}
  int64_t generation() const override { return 1; }
  int64_t run() const override { return 1; }
  Status add(ledger::Entry entry) override {
    waiting_.push_back(std::move(entry));
    ++world_.ledger_waiting;
    return {};
  }
  Status commit() override {
    if (!world_.crashed) world_.log_is_durable();
    WRACKLINE_TRY(world_.effect("ledger"));
    const bool unknown = world_.chance(world_.options.ledger_unknown);
    if (!unknown || world_.random() % 2 == 0) world_.commit_ledger(waiting_);
    waiting_.clear();
    world_.ledger_waiting = 0;
    if (unknown) return fail(ErrorCode::kUnavailable, "the ledger did not answer");
    return world_.effect("ledger committed");
  }
  int64_t size() const override { return static_cast<int64_t>(world_.ledger_entries.size()); }
  int64_t last_seq() const override { return size(); }
  Status rewind(int64_t) override { return {}; }
  Status finish(ledger::RunEnd) override { return {}; }
  Status scan(const ledger::Filter&, const std::function<bool(const ledger::Entry&)>&) override { return {}; }
  Result<ledger::RunInfo> info() override { return ledger::RunInfo{}; }
  Result<std::vector<Summary>> summary() override { return std::vector<Summary>{}; }

 private:
  World& world_;
  std::vector<ledger::Entry> waiting_;
};

class SimSink : public Sink {
 public:
  SimSink(World& world, int64_t attempt) : world_(world), attempt_(attempt) {}
  SinkCapabilities capabilities() const override { return {true, true, "simulation"}; }
  Status open(const std::vector<OutputColumn>&, std::string_view, const SinkStart&) override {
    WRACKLINE_TRY(world_.effect("open"));
    world_.owner = attempt_;
    return world_.effect("opened");
  }
  Status write(const ChangeBatch& changes) override {
    WRACKLINE_TRY(world_.effect("write"));
    for (size_t i = 0; i < changes.rows; ++i) {
      std::string sum;
      append_text(sum, changes.columns[3], i);
      waiting_.push_back({{changes.columns[0].values<int64_t>()[i],
                           std::string(changes.columns[1].values<std::string_view>()[i])},
                          {changes.generation, changes.versions[i], changes.columns[2].values<int64_t>()[i],
                           std::stoll(sum)}});
    }
    return {};
  }
  Status commit() override {
    EXPECT_EQ(world_.ledger_waiting, 0) << "what the table shows, an older ledger would not explain";
    if (waiting_.empty()) return {};
    if (Status going = world_.effect("commit"); !going) {
      send_later();
      return going;
    }
    if (world_.chance(world_.options.commit_unknown)) {
      if (world_.random() % 2 == 0) {
        world_.apply(waiting_, attempt_, waiting_.size());
      } else {
        send_later();
      }
      return fail(ErrorCode::kUnavailable, "the table did not answer");
    }
    if (world_.chance(world_.options.commit_partial)) {
      world_.apply(waiting_, attempt_, world_.random() % (waiting_.size() + 1));
      return fail(ErrorCode::kUnavailable, "the connection was lost");
    }
    EXPECT_TRUE(world_.apply(waiting_, attempt_, waiting_.size())) << "the newest attempt owns the table";
    if (world_.chance(world_.options.commit_twice)) world_.apply(waiting_, attempt_, waiting_.size());
    waiting_.clear();
    return world_.effect("committed");
  }
  Status close(bool) override { return {}; }

 private:
  void send_later() {
    if (world_.random() % 2 == 0) world_.in_flight.emplace_back(waiting_, attempt_);
  }

  World& world_;
  int64_t attempt_;
  TableChanges waiting_;
};

// Reading is where time passes.
class SimSplit : public MemorySplit {
 public:
  SimSplit(World& world, std::string name, std::vector<TestRecord> records)
      : MemorySplit(std::move(name), std::move(records)), world_(world) {}
  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    WRACKLINE_TRY(world_.effect("read"));
    world_.clock.advance(millis(static_cast<int64_t>(world_.random() % 300)));
    if (world_.chance(world_.options.clock_steps)) {
      const int64_t step_us = static_cast<int64_t>(world_.random() % 10'000'000'000) - 5'000'000'000;
      world_.clock.set(WallTime(world_.clock.now().micros() + step_us));
    }
    return MemorySplit::read(batch, 1 + world_.random() % rows_max);
  }

 private:
  World& world_;
};

class SimSource : public MemorySource {
 public:
  explicit SimSource(World& world) : MemorySource(world.options.splits), world_(world) {}
  Result<std::vector<std::unique_ptr<SplitReader>>> open() override {
    std::vector<std::unique_ptr<SplitReader>> readers;
    for (const auto& records : world_.options.splits)
      readers.push_back(std::make_unique<SimSplit>(world_, format("p{}", readers.size()), records));
    return readers;
  }

 private:
  World& world_;
};

// select window_start, key, count(*), sum(value) group by window, key
class SimJob {
 public:
  explicit SimJob(const WorldOptions& options) : windows_(WindowPlan::tumbling(options.size)) {
    const Type bigint = Type::bigint();
    const std::shared_ptr<const expr::Aggregate> count = expr::make_aggregate("count", nullptr).value();
    const std::shared_ptr<const expr::Aggregate> sum = expr::make_aggregate("sum", &bigint).value();
    key_ = expr::make_column(2, Type::text(), 0);
    value_ = expr::make_column(3, bigint, 0);
    outputs_.push_back(expr::make_column(0, Type::timestamptz(), 0));
    outputs_.push_back(expr::make_column(2, Type::text(), 0));
    outputs_.push_back(expr::make_column(3, count->result_type(), 0));
    outputs_.push_back(expr::make_column(4, sum->result_type(), 0));
    operation_.view = "v";
    operation_.source = "s";
    operation_.router = LateRouter({options.policy, options.lateness, std::nullopt});
    operation_.keys = {key_.get()};
    operation_.key_names = {"key"};
    operation_.aggregates = {{count, nullptr, nullptr}, {sum, value_.get(), nullptr}};
    for (const auto& output : outputs_) operation_.outputs.push_back(output.get());
    if (options.slide < options.size) {
      windows_ = WindowPlan({.kind = WindowKind::kHop,
                             .size = {.micros = options.size.micros()},
                             .slide = {.micros = options.slide.micros()},
                             .offset = {}});
    }
  }

  SourcePlan plan(World& world, int64_t attempt) const {
    const WorldOptions& options = world.options;
    SourcePlan plan;
    plan.source = std::make_unique<SimSource>(world);
    plan.input.name = "s";
    plan.input.fields = test_fields();
    plan.input.times.event.column = 0;
    plan.input.times.arrival = TimeColumnOptions{.column = 1};
    plan.input.times.watermark_delay = options.delay;
    plan.input.rows_max = options.rows_max;
    plan.input.alignment = options.size;
    plan.input.in_arrival_order = options.in_arrival_order;
    ViewPlan view;
    view.name = "v";
    const size_t threads = 1 + static_cast<size_t>(attempt) % options.threads;
    view.make = [this, threads](ChangeConsumer& consumer, int64_t generation, bool wants_retractions) {
      ViewOptions operation = operation_;
      operation.wants_retractions = wants_retractions;
      operation.threads = threads;
      return std::make_unique<AlignedAggregate>(operation, windows_, consumer, generation);
    };
    view.sinks.push_back({std::make_unique<SimSink>(world, attempt), SinkMode::kUpsert});
    plan.views.push_back(std::move(view));
    return plan;
  }

 private:
  expr::ExprPtr key_;
  expr::ExprPtr value_;
  std::vector<expr::ExprPtr> outputs_;
  ViewOptions operation_;
  WindowPlan windows_;
};

// One start of the program, until it ends, fails or is stopped. Returns whether the run has finished.
bool attempt(World& world, const SimJob& job) {
  ++world.attempts;
  world.crashed = false;
  world.ledger_waiting = 0;
  SimLedger ledger(world);
  SourcePlan plan = job.plan(world, world.attempts);
  auto replay = TickLogReader::open(world.folder, 1);
  EXPECT_TRUE(replay.has_value() || replay.error().code == ErrorCode::kNotFound)
      << replay.error().to_string();
  auto log = TickLogWriter::go_on(
      {.directory = world.folder, .header = {.run = 1}, .segment_bytes = world.options.segment_bytes});
  EXPECT_TRUE(log.has_value()) << log.error().to_string();
  if (!log) return true;
  plan.input.log = log->get();
  if (replay) plan.input.replay = replay->get();
  plan.input.goes_on_after_replay = true;
  RunnerOptions options;
  options.log = log->get();
  std::vector<SourcePlan> plans;
  plans.push_back(std::move(plan));
  Runner runner(std::move(plans), ledger, world.clock, options);
  const auto report = runner.run();
  if (report) {
    EXPECT_TRUE(report->balanced());
    return true;
  }
  EXPECT_EQ(report.error().code, ErrorCode::kUnavailable) << report.error().to_string();
  if (world.crashed && world.random() % 2 == 0) world.tear_log();
  return report.error().code != ErrorCode::kUnavailable;
}

// Published and ledgered together are what was put in.
void expect_recount(World& world) {
  for (const auto& [key, row] : world.truth) {
    const TableRow& stands = world.table[key];
    EXPECT_EQ(stands.count + world.ledgered[key], row.count)
        << "window " << key.first << " of " << key.second;
    EXPECT_TRUE(world.ledgered[key] > 0 || stands.sum == row.sum) << stands.sum << " " << row.sum;
  }
  for (const auto& [key, row] : world.table)
    EXPECT_TRUE(world.truth.contains(key)) << "window " << key.first << " of nothing";
}

WorldOptions random_world(uint64_t seed) {
  std::mt19937_64 random(seed);
  WorldOptions options;
  options.seed = seed;
  options.size = seconds(5 + static_cast<int64_t>(random() % 10));
  options.slide = random() % 3 == 0 ? Duration(options.size.micros() / 5 * 2) : options.size;
  options.delay = seconds(static_cast<int64_t>(random() % 6));
  options.lateness = random() % 2 == 0 ? Duration(0) : seconds(static_cast<int64_t>(random() % 40));
  if (random() % 4 == 0) options.policy = LatePolicy::kLedger;
  if (random() % 4 == 0) options.threads = 2;
  options.rows_max = 1 + random() % 20;
  options.segment_bytes = random() % 2 == 0 ? 200 : 1 << 20;
  options.in_arrival_order = random() % 3 == 0;
  options.splits.resize(1 + random() % 3);
  for (auto& split : options.splits) {
    int64_t now_us = 0;
    for (size_t left = 20 + random() % 80; left > 0; --left) {
      now_us += static_cast<int64_t>(random() % 1'500'000);
      const int64_t late_us =
          static_cast<int64_t>(random() % 4 == 0 ? random() % 40'000'000 : random() % 3'000'000);
      split.push_back({now_us - late_us, now_us, std::string(1, static_cast<char>('a' + random() % 3)),
                       static_cast<int64_t>(random() % 100)});
    }
  }
  // Some faults, not all at once: each kind has worlds in which it is alone.
  if (random() % 2 == 0) options.commit_unknown = 100;
  if (random() % 3 == 0) options.commit_partial = 100;
  if (random() % 2 == 0) options.commit_twice = 200;
  if (random() % 3 == 0) options.ledger_unknown = 50;
  if (random() % 2 == 0) options.clock_steps = 50;
  return options;
}

struct Tally {
  int64_t attempts = 0;
  int64_t zombies = 0;
  int64_t fenced = 0;
  int64_t repeated = 0;
  int64_t ledgered = 0;
  int64_t corrected = 0;
  uint64_t hash = 0;

  void add(const World& world) {
    attempts += world.attempts;
    zombies += world.zombies;
    fenced += world.fenced;
    repeated += world.repeated;
    ledgered += static_cast<int64_t>(world.ledger_entries.size());
    for (const auto& [key, row] : world.table) corrected += row.version > 1;
    hash ^= world.hash;
  }
};

void play(uint64_t seed, Tally& tally) {
  World world(random_world(seed));
  const SimJob job(world.options);
  bool finished = false;
  for (int lives = 0; lives < 6 && !finished; ++lives) {
    const uint64_t reach = world.random() % 3 == 0 ? 10 : 100;
    world.crash_at = world.effects + 1 + world.random() % reach;
    finished = attempt(world, job);
  }
  // Liveness: with faults over, it ends.
  world.calm = true;
  world.crash_at = 0;
  for (int lives = 0; lives < 2 && !finished; ++lives) finished = attempt(world, job);
  EXPECT_TRUE(finished);
  expect_recount(world);
  tally.add(world);
}

TEST(Simulation, WhateverHappensTheRecountIsRight) {
  Tally tally;
  // More of them, at night: WRACKLINE_SIMULATION_SEEDS=100000.
  const char* seeds = std::getenv("WRACKLINE_SIMULATION_SEEDS");
  const uint64_t last = seeds == nullptr ? 300 : std::strtoull(seeds, nullptr, 10);
  for (uint64_t seed = 1; seed <= last; ++seed) {
    play(seed, tally);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  // A tester that meets nothing tests nothing.
  EXPECT_GT(tally.attempts, 900);
  EXPECT_GT(tally.zombies, 20);
  EXPECT_GT(tally.fenced, 10);
  EXPECT_GT(tally.repeated, 500);
  EXPECT_GT(tally.ledgered, 500);
  EXPECT_GT(tally.corrected, 200);
}

TEST(Simulation, TheSameSeedIsTheSameHistory) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    Tally first;
    Tally second;
    play(seed, first);
    play(seed, second);
    EXPECT_EQ(first.hash, second.hash) << seed;
  }
}

// A small history, stopped before every effect, and again before every effect of the next life.
TEST(Simulation, EveryPairOfCrashesInASmallHistory) {
  WorldOptions options;
  options.lateness = seconds(8);
  options.rows_max = 2;
  const auto at = [](std::initializer_list<int64_t> event_s) {
    std::vector<TestRecord> records;
    for (const int64_t s : event_s) records.push_back({s * 1'000'000, s * 1'000'000, "a", 1});
    return records;
  };
  options.splits = {at({1, 5, 12, 4, 23, 2, 3, 31}), at({2, 11, 25, 24})};
  int64_t cases = 0;
  for (uint64_t first = 1;; ++first) {
    bool reached = false;
    for (uint64_t second = 1;; ++second) {
      options.seed = first * 1000 + second;
      World world(options);
      const SimJob job(options);
      world.crash_at = first;
      bool finished = attempt(world, job);
      reached = world.crashed;
      world.crash_at = world.effects + second;
      if (!finished) finished = attempt(world, job);
      const bool reached_again = world.crashed;
      world.crash_at = 0;
      if (!finished) finished = attempt(world, job);
      EXPECT_TRUE(finished);
      expect_recount(world);
      ASSERT_FALSE(testing::Test::HasFailure()) << first << " " << second;
      ++cases;
      if (!reached || !reached_again) break;
    }
    if (!reached) break;
  }
  EXPECT_GT(cases, 300);
}

}  // namespace
}  // namespace wrackline::runtime
