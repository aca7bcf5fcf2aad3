// Aligned windows stopped on N threads and started on M: the same rows, versions and fates. And what a
// checkpoint writes again: only tables that have changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "data/snapshot.h"
#include "data/value.h"
#include "expr/aggregate.h"
#include "expr/expr.h"
#include "ledger/ledger.h"
#include "operators/aligned_aggregate.h"

namespace wrackline {
namespace {

// Keeps pieces from snapshot to snapshot as a checkpoint store does, and holds operators to their word: the
// same name with the same revision has the same content.
class KeptPieces : public PieceWriter, public PieceReader {
 public:
  void begin() {
    now_.clear();
    written_ = 0;
  }
  void put(std::string_view name, uint64_t revision, const WritePiece& write) override {
    SnapshotWriter out;
    write(out);
    std::string bytes(out.finish());
    EXPECT_TRUE(now_.emplace(name, bytes).second) << "two pieces are called " << name;
    const auto [at, fresh] = ever_.try_emplace({std::string(name), revision}, bytes);
    if (fresh) ++written_;
    EXPECT_EQ(at->second, bytes) << name << " changed within revision " << revision;
  }
  void need_file(std::string_view) override {}
  Result<std::string> get(std::string_view name) override {
    const auto at = now_.find(std::string(name));
    if (at == now_.end()) return fail(ErrorCode::kNotFound, "no such piece");
    return at->second;
  }
  size_t written() const { return written_; }
  size_t count() const { return now_.size(); }

 private:
  std::map<std::string, std::string> now_;
  std::map<std::pair<std::string, uint64_t>, std::string> ever_;
  size_t written_ = 0;
};

class Lines : public ChangeConsumer {
 public:
  Status take(const ChangeBatch& changes) override { return add("", changes); }
  Status take_changelog(const ChangeBatch& changes) override { return add("log ", changes); }
  std::vector<std::string> lines;

 private:
  Status add(const std::string& kind, const ChangeBatch& changes) {
    for (size_t i = 0; i < changes.rows; ++i) {
      std::string line = kind + std::string(to_string(changes.ops[i])) + " v" +
                         std::to_string(changes.versions[i]) + " " +
                         std::string(to_string(changes.statuses[i]));
      for (const Column& column : changes.columns) {
        line += '|';
        if (!column.is_null(i)) append_text(line, column, i);
      }
      lines.push_back(std::move(line));
    }
    return {};
  }
};

struct World {
  int shape = 0;
  bool text_keys = false;
  bool early = false;
  bool having = false;
  bool changelog = false;
  LatePolicy policy = LatePolicy::kCorrect;
  int64_t delay_us = 0;
  Duration lateness;
};

struct Record {
  int64_t event_us = 0;
  int64_t key = 0;  // negative: NULL
  int64_t value = 0;
};
using Stream = std::vector<std::vector<Record>>;  // by tick

WindowPlan plan_of(int shape) {
  if (shape == 0) return WindowPlan::tumbling(seconds(10));
  const bool hop = shape == 1;
  return WindowPlan({.kind = hop ? WindowKind::kHop : WindowKind::kCumulate,
                     .size = {.micros = seconds(hop ? 9 : 20).micros()},
                     .slide = {.micros = seconds(hop ? 3 : 5).micros()},
                     .offset = {}});
}

// A view whose operator may be saved and made anew, on another number of threads, between two ticks.
class View {
 public:
  explicit View(const World& world) : world_(world), ledger_(ledger::Ledger::transient()) {
    const Type bigint = Type::bigint();
    const Type key = world.text_keys ? Type::text() : bigint;
    options_.view = "v";
    options_.source = "s";
    options_.router = LateRouter({world.policy, world.lateness, std::nullopt});
    options_.keys = {column(0, key)};
    options_.key_names = {"key"};
    options_.wants_retractions = world.changelog;
    options_.outputs = {column(0, Type::timestamptz()), column(1, Type::timestamptz()), column(2, key)};
    if (world.early) options_.early = EarlyOptions{.every = seconds(2)};
    for (const char* name : {"count", "sum", "array_agg"}) {
      const auto made = expr::make_aggregate(name, &bigint, {}).value();
      options_.outputs.push_back(column(3 + options_.aggregates.size(), made->result_type()));
      options_.aggregates.push_back({made, column(1, bigint), nullptr});
    }
    if (world.having) {
      std::vector<expr::ExprPtr> args;
      args.push_back(expr::make_column(4, Type::numeric(), 0));
      args.push_back(expr::make_literal(Value{Type::numeric(), Decimal{20, 0}}, 0));
      trees_.push_back(expr::make_call(">", std::move(args), 0).value());
      options_.having = trees_.back().get();
    }
    batch_.reset({{"key", key}, {"value", bigint}});
  }

  void start(size_t threads) {
    options_.threads = threads;
    inner_ = std::make_unique<AlignedAggregate>(options_, plan_of(world_.shape), lines_, 1);
  }

  void restart(size_t threads) {
    pieces_.begin();
    SnapshotWriter out(pieces_, "view v/");
    ASSERT_TRUE(inner_->save(out));
    const std::string bytes(out.finish());
    start(threads);
    auto in = SnapshotReader::open(bytes, pieces_, "view v/");
    ASSERT_TRUE(in.has_value());
    const Status restored = inner_->restore(*in);
    ASSERT_TRUE(restored.has_value()) << restored.error().to_string();
    ASSERT_TRUE(in->finish());
  }

  void save() {
    pieces_.begin();
    SnapshotWriter out(pieces_, "view v/");
    ASSERT_TRUE(inner_->save(out));
  }

  void tick(const std::vector<Record>& records) {
    fill(records);
    const TickContext context{.tick = ++ticks_, .partition_names = &names_, .ledger = ledger_.get()};
    inner_->begin_batch(batch_);
    ASSERT_TRUE(inner_->process(batch_, times_, context, 0, batch_.rows));
    ASSERT_TRUE(inner_->finish_tick(context));
  }

  std::vector<int64_t> counts() const {
    const FateCounts total = inner_->balance().total();
    const ViewStatistics& s = inner_->statistics();
    return {total.read,     total.accepted,  total.accepted_partially,
            total.ledgered, total.corrected, s.windows_closed,
            s.versions,     s.corrections,   s.retractions,
            s.early,        s.pairs_missed};
  }
  void finish() { ASSERT_TRUE(inner_->advance(kMicrosMax)); }
  const std::vector<std::string>& lines() const { return lines_.lines; }
  const KeptPieces& pieces() const { return pieces_; }

 private:
  const expr::Expr* column(size_t at, const Type& type) {
    trees_.push_back(expr::make_column(at, type, 0));
    return trees_.back().get();
  }

  void fill(const std::vector<Record>& records) {
    const size_t rows = records.size();
    batch_.rows = rows;
    for (Column& column : batch_.columns) column.resize(rows);
    batch_.lines.assign(rows, 1);
    batch_.raw.assign(rows, "");
    batch_.offsets.clear();
    times_ = {};
    texts_.clear();
    texts_.reserve(rows);
    for (size_t i = 0; i < rows; ++i) {
      const Record& record = records[i];
      if (world_.text_keys) {
        texts_.push_back("key " + std::to_string(record.key));
        batch_.columns[0].values<std::string_view>()[i] = texts_.back();
      } else {
        batch_.columns[0].values<int64_t>()[i] = record.key;
      }
      if (record.key < 0) batch_.columns[0].set_null(i);
      batch_.columns[1].values<int64_t>()[i] = record.value;
      batch_.offsets.push_back(offset_++);
      times_.event_us.push_back(record.event_us);
      times_.watermark_before.push_back(watermark_us_);
      watermark_us_ = std::max(watermark_us_, record.event_us - world_.delay_us);
    }
    times_.watermark_before.push_back(watermark_us_);
    times_.progress_before = times_.watermark_before;
    times_.arrival_us = times_.event_us;
    times_.arrival_read.assign(rows, 0);
    times_.usable.assign(rows, 1);
    times_.has_event.assign(rows, 1);
    times_.partitions.assign(1, 0);
  }

  World world_;
  std::vector<expr::ExprPtr> trees_;
  ViewOptions options_;
  Lines lines_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::unique_ptr<AlignedAggregate> inner_;
  KeptPieces pieces_;
  std::vector<std::string> names_ = {"p"};
  Batch batch_;
  RecordTimes times_;
  std::vector<std::string> texts_;
  int64_t offset_ = 0;
  int64_t ticks_ = 0;
  int64_t watermark_us_ = kMicrosMin;
};

Stream random_stream(std::mt19937_64& random) {
  Stream stream(20);
  int64_t now_us = 0;
  for (auto& tick : stream) {
    for (size_t left = 1 + random() % 30; left > 0; --left) {
      now_us += static_cast<int64_t>(random() % 500'000);
      const auto delay_us = static_cast<int64_t>(random() % (random() % 4 == 0 ? 40'000'000 : 500'000));
      tick.push_back({now_us - delay_us, static_cast<int64_t>(random() % 12) - 1,
                      static_cast<int64_t>(random() % 30) - 5});
    }
  }
  return stream;
}

World random_world(std::mt19937_64& random) {
  World world;
  world.shape = static_cast<int>(random() % 3);
  world.text_keys = random() % 2 == 0;
  world.early = random() % 2 == 0;
  world.having = random() % 2 == 0;
  world.changelog = random() % 2 == 0;
  world.policy = random() % 4 == 0 ? LatePolicy::kLedger : LatePolicy::kCorrect;
  world.delay_us = static_cast<int64_t>(random() % 8'000'000);
  world.lateness = millis(static_cast<int64_t>(random() % 40'000));
  return world;
}

TEST(AlignedRescale, StoppedOnSomeThreadsAndStartedOnOthersNothingShows) {
  std::mt19937_64 random(5);
  int64_t corrections = 0;
  int64_t early = 0;
  int64_t retractions = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const World world = random_world(random);
    const Stream stream = random_stream(random);
    View whole(world);
    View rescaled(world);
    whole.start(1);
    rescaled.start(1 + random() % 4);
    for (const auto& tick : stream) {
      whole.tick(tick);
      rescaled.tick(tick);
      if (random() % 2 == 0) rescaled.restart(1 + random() % 4);
      if (::testing::Test::HasFatalFailure()) return;
    }
    whole.finish();
    rescaled.finish();
    ASSERT_EQ(rescaled.lines(), whole.lines());
    ASSERT_EQ(rescaled.counts(), whole.counts());
    corrections += whole.counts()[7];
    retractions += whole.counts()[8];
    early += whole.counts()[9];
  }
  EXPECT_GT(corrections, 100) << "the streams must correct windows";
  EXPECT_GT(early, 100) << "the streams must publish early versions";
  EXPECT_GT(retractions, 100) << "the streams must withdraw rows";
}

TEST(AlignedRescale, OnlyTablesThatChangedAreWrittenAgain) {
  World world;
  world.lateness = seconds(600);
  View view(world);
  view.start(1);
  for (int64_t window = 0; window < 20; ++window) view.tick({{window * 10'000'000, 1, 1}});
  view.save();
  EXPECT_EQ(view.pieces().count(), 20U);
  EXPECT_EQ(view.pieces().written(), 20U);
  view.save();
  EXPECT_EQ(view.pieces().written(), 0U) << "nothing has changed";
  view.tick({{31'000'000, 1, 1}});  // late, for one closed window
  view.save();
  EXPECT_EQ(view.pieces().written(), 1U);
  view.restart(1);
  EXPECT_EQ(view.pieces().written(), 0U);
  view.save();
  EXPECT_EQ(view.pieces().written(), 0U) << "a restored table keeps its revision";
}

}  // namespace
}  // namespace wrackline
