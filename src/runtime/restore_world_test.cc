// The test world "save and restore after every step": after each tick the whole job (stage, view, and the
// view that reads it) is saved, destroyed, made anew and restored, also with another number of threads.
// Nothing that a reader can see may tell.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "runtime/restored_job_test.h"

namespace wrackline::runtime {
namespace {

enum class Restoring : uint8_t { kNever, kSameThreads, kOtherThreads };

// Pieces as a checkpoint keeps them: one whose revision is known is not written again.
class KeptPieces : public PieceWriter, public PieceReader {
 public:
  void put(std::string_view name, uint64_t revision, const WritePiece& write) override {
    const auto [piece, is_new] = pieces_.try_emplace(std::string(name));
    EXPECT_TRUE(named_.insert(piece->first).second) << "two pieces have the name " << name;
    if (!is_new && piece->second.first == revision) return;
    SnapshotWriter out;
    write(out);
    piece->second = {revision, out.finish()};
    ++written;
  }
  void need_file(std::string_view) override {}
  Result<std::string> get(std::string_view name) override {
    const auto piece = pieces_.find(name);
    if (piece == pieces_.end()) return fail(ErrorCode::kNotFound, "there is no such piece");
    return piece->second.second;
  }
  // Forgets what the snapshot just taken does not name.
  void next_snapshot() {
    std::erase_if(pieces_, [&](const auto& piece) { return !named_.contains(piece.first); });
    kept += pieces_.size();
    named_.clear();
  }
  std::vector<std::string*> all() {
    std::vector<std::string*> bytes;
    for (auto& [name, piece] : pieces_) bytes.push_back(&piece.second);
    return bytes;
  }
  size_t written = 0;
  size_t kept = 0;

 private:
  std::map<std::string, std::pair<uint64_t, std::string>, std::less<>> pieces_;
  std::set<std::string> named_;
};

struct Outcome {
  std::vector<std::string> lines;
  std::vector<std::string> derived_lines;
  std::vector<std::string> entries;
  std::vector<int64_t> counts;
  std::string last;  // snapshot
  KeptPieces pieces;
};

Batch batch_of(const std::vector<JobRecord>& records, std::string_view file, int64_t& offset) {
  Batch batch;
  batch.reset(job_fields());
  batch.rows = records.size();
  batch.file = file;
  for (Column& column : batch.columns) column.resize(batch.rows);
  for (size_t i = 0; i < records.size(); ++i) {
    const JobRecord& record = records[i];
    batch.columns[0].values<int64_t>()[i] = record.event_us.value_or(0);
    if (!record.event_us) batch.columns[0].set_null(i);
    batch.columns[1].values<int64_t>()[i] = record.arrival_us;
    batch.columns[2].values<std::string_view>()[i] = record.key;
    if (record.key == "n") batch.columns[2].set_null(i);
    batch.columns[3].values<int64_t>()[i] = record.value;
    batch.columns[4].values<std::string_view>()[i] = batch.arena.copy(format("p{}", record.partition));
    batch.columns[5].values<int64_t>()[i] = record.partition;
    batch.columns[6].values<int64_t>()[i] = record.id;
    batch.offsets.push_back(offset++);
    batch.lines.push_back(offset);
    batch.raw.push_back(record.key);
  }
  return batch;
}

std::vector<std::string> entries_of(ledger::Ledger& ledger) {
  std::vector<std::string> lines;
  const auto note = [&](const ledger::Entry& entry) {
    std::string line =
        format("{} {} {} {} {} {} tick {} W {}", entry.view, entry.partition, entry.file, entry.offset,
               entry.key, to_string(entry.reason), entry.tick, entry.watermark_us);
    for (const auto& window : entry.windows) line += format(" [{}, {})", window.start_us, window.end_us);
    lines.push_back(std::move(line));
    return true;
  };
  EXPECT_TRUE(ledger.scan({}, note).has_value());
  return lines;
}

void add_counts(const ViewOperator& view, std::vector<int64_t>& counts) {
  for (const FateCounts& fates : view.balance().by_partition()) {
    counts.insert(counts.end(), {fates.read, fates.accepted, fates.accepted_partially, fates.ledgered,
                                 fates.duplicate, fates.filtered, fates.corrected, fates.dropped_total()});
  }
  const ViewStatistics& s = view.statistics();
  counts.insert(counts.end(),
                {s.windows_closed, s.versions, s.corrections, s.retractions, s.early, s.behind_watermark,
                 s.pairs_missed, static_cast<int64_t>(view.live_windows())});
}

class Attempt {
 public:
  Attempt(const JobWorld& world, size_t threads, Restoring restoring, uint64_t seed)
      : world_(world), threads_(threads), restoring_(restoring), random_(seed) {
    job_ = std::make_unique<RestorableJob>(world_, threads_, output_);
  }

  void play(const std::vector<JobStep>& steps, bool flush) {
    for (const JobStep& step : steps) {
      play(step);
      if (HasFatalFailure()) return;
    }
    if (!flush) return;
    EXPECT_TRUE(job_->flush());
    restore();
  }

  Outcome outcome() {
    Outcome outcome{.lines = std::move(output_.lines),
                    .derived_lines = std::move(output_.derived_lines),
                    .entries = entries_of(*output_.ledger),
                    .counts = {},
                    .last = std::move(last_),
                    .pieces = std::move(pieces_)};
    add_counts(job_->view(), outcome.counts);
    if (job_->reader() != nullptr) add_counts(*job_->reader(), outcome.counts);
    outcome.counts.push_back(job_->stage().tracker().watermark().micros());
    outcome.counts.push_back(job_->stage().tracker().progress().micros());
    if (const Dedup* dedup = job_->stage().dedup()) {
      const DedupStatistics s = dedup->statistics();
      outcome.counts.insert(outcome.counts.end(),
                            {s.duplicates, s.conflicts, s.too_old, s.without_id, static_cast<int64_t>(s.ids),
                             static_cast<int64_t>(s.ids_max)});
    }
    return outcome;
  }

 private:
  static bool HasFatalFailure() { return ::testing::Test::HasFatalFailure(); }

  void play(const JobStep& step) {
    const std::string file = format("split {}", step.split);
    const Batch batch = batch_of(step.records, file, offsets_[step.split]);
    RecordTimes times;
    ASSERT_TRUE(job_->begin(batch, step.split, times));
    size_t begin = 0;
    for (size_t i = 0; i < step.cuts.size(); ++i) {
      const Status ticked = job_->tick(batch, times, begin, step.middles[i], step.cuts[i]);
      ASSERT_TRUE(ticked) << ticked.error().to_string();
      begin = step.cuts[i];
      restore();
    }
    if (step.idle) {
      ASSERT_TRUE(job_->idle(*step.idle));
      restore();
    }
    if (step.delay) job_->delay(*step.delay);
  }

  void restore() {
    ASSERT_TRUE(job_->view().balance().balanced());
    if (restoring_ == Restoring::kNever) return;
    SnapshotWriter out(pieces_, "job/");
    job_->save(out);
    pieces_.next_snapshot();
    last_ = out.finish();
    if (restoring_ == Restoring::kOtherThreads) threads_ = 1 + random_() % 4;
    job_ = std::make_unique<RestorableJob>(world_, threads_, output_);
    Result<SnapshotReader> in = SnapshotReader::open(last_, pieces_, "job/");
    ASSERT_TRUE(in.has_value());
    const Status restored = job_->restore(*in);
    ASSERT_TRUE(restored) << restored.error().to_string();
  }

  JobWorld world_;
  size_t threads_;
  Restoring restoring_;
  std::mt19937_64 random_;
  JobOutput output_;
  std::unique_ptr<RestorableJob> job_;
  std::map<size_t, int64_t> offsets_;
  std::string last_;
  KeptPieces pieces_;
};

Outcome run(const std::vector<JobStep>& steps, const JobWorld& world, size_t threads, Restoring restoring,
            bool flush = true) {
  Attempt attempt(world, threads, restoring, steps.size());
  attempt.play(steps, flush);
  return attempt.outcome();
}

// Streams that come late, twice, and in bursts, of a few keys; one of them is NULL.
class StreamMaker {
 public:
  StreamMaker(std::mt19937_64& random, size_t splits) : random_(random), clocks_(splits) {}

  JobStep step() {
    JobStep step;
    step.split = pick(clocks_.size());
    for (size_t left = pick(12); left > 0; --left) step.records.push_back(record(step.split));
    const size_t rows = step.records.size();
    if (rows > 2 && pick(3) == 0) step.cuts.push_back(1 + pick(rows - 1));
    step.cuts.push_back(rows);
    size_t begin = 0;
    for (const size_t cut : step.cuts) {
      step.middles.push_back(begin + pick(cut - begin + 1));
      begin = cut;
    }
    if (pick(10) == 0) step.idle = pick(4);
    if (pick(25) == 0) step.delay = millis(static_cast<int64_t>(pick(8000)));
    return step;
  }

 private:
  size_t pick(size_t below) { return random_() % below; }

  JobRecord record(size_t split) {
    int64_t& now = clocks_[split];
    now += static_cast<int64_t>(pick(pick(6) == 0 ? 12'000 : 1500)) * 1000;
    const auto delay = static_cast<int64_t>(pick(pick(4) == 0 ? 40'000 : 900)) * 1000;
    JobRecord record{.event_us = now - delay, .arrival_us = now};
    record.key = std::string(1, "aabbbcdn"[pick(8)]);
    record.value = static_cast<int64_t>(pick(100)) - 20;
    record.partition = static_cast<int64_t>(pick(3));
    record.id = next_id_++;
    if (pick(40) == 0) record.event_us.reset();
    if (pick(6) == 0 && !recent_.empty()) {
      JobRecord copy = recent_[pick(recent_.size())];
      copy.arrival_us = now;
      if (pick(6) == 0) copy.value += 1;
      return copy;
    }
    recent_.push_back(record);
    if (recent_.size() > 30) recent_.erase(recent_.begin());
    return record;
  }

  std::mt19937_64& random_;
  std::vector<int64_t> clocks_;
  std::vector<JobRecord> recent_;
  int64_t next_id_ = 0;
};

JobWorld random_world(std::mt19937_64& random, bool sessions) {
  const auto chance = [&](uint64_t one_in) { return random() % one_in == 0; };
  JobWorld world;
  world.shape = static_cast<Shape>(sessions ? 3 + random() % 2 : random() % 3);
  world.policy = chance(5) ? LatePolicy::kLedger : chance(6) ? LatePolicy::kDrop : LatePolicy::kCorrect;
  world.delay = millis(static_cast<int64_t>(random() % 10'000));
  world.lateness = millis(static_cast<int64_t>(random() % 40'000));
  if (chance(4)) world.horizon = seconds(30);
  world.partition_by = static_cast<PartitionBy>(chance(2) ? 0 : 1 + random() % 2);
  world.splits = 1 + random() % 3;
  world.dedup = chance(2);
  world.for_ever = chance(3);
  world.early = chance(2);
  world.wall_time = chance(2);
  world.having = chance(3);
  world.changelog = chance(2);
  world.derived = chance(2);
  world.has_key = world.derived || !chance(5);
  world.time_is_start = world.shape == Shape::kTumble && chance(2);
  return world;
}

void expect_same(const Outcome& restored, const Outcome& whole) {
  ASSERT_EQ(restored.lines, whole.lines);
  ASSERT_EQ(restored.derived_lines, whole.derived_lines);
  ASSERT_EQ(restored.entries, whole.entries);
  ASSERT_EQ(restored.counts, whole.counts);
}

size_t count_of(const std::vector<std::string>& lines, std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(lines, [&](const std::string& line) { return line.contains(text); }));
}

void play_worlds(bool sessions, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::map<std::string_view, size_t> seen;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const JobWorld world = random_world(random, sessions);
    StreamMaker stream(random, world.splits);
    std::vector<JobStep> steps;
    for (size_t left = 10 + random() % 30; left > 0; --left) steps.push_back(stream.step());
    const size_t threads = random() % 3 == 0 ? 3 : 1;
    const Outcome whole = run(steps, world, 1, Restoring::kNever);
    expect_same(run(steps, world, threads, Restoring::kSameThreads), whole);
    expect_same(run(steps, world, threads, Restoring::kOtherThreads), whole);
    if (::testing::Test::HasFatalFailure()) return;
    for (const auto text : {"correction", "early", "retract"}) seen[text] += count_of(whole.lines, text);
    for (const auto text : {"late", "late_session", "late_after_idle", "conflict"}) {
      seen[text] += count_of(whole.entries, text);
    }
    seen["derived"] += whole.derived_lines.size();
  }
  for (const auto& [what, times] : seen) {
    EXPECT_TRUE(times > 20 || (!sessions && what == "late_session")) << "the streams lack " << what;
  }
}

TEST(RestoreWorld, AlignedWindowsAfterEveryTickNothingShows) {
  play_worlds(false, 11);
}

TEST(RestoreWorld, SessionsAfterEveryTickNothingShows) {
  play_worlds(true, 12);
}

// ---- Damage

// The snapshot with `payload` in the place of its own, and a checksum that fits.
std::string sealed_again(std::string_view payload) {
  SnapshotWriter out;
  out.bytes(payload.data(), payload.size());
  return out.finish();
}

std::string damaged(const std::string& snapshot, std::mt19937_64& random) {
  std::string payload = snapshot.substr(SnapshotWriter().finish().size());
  for (size_t left = 1 + random() % 3; left > 0 && !payload.empty(); --left) {
    const size_t at = random() % payload.size();
    switch (random() % 4) {
      case 0:
        payload[at] = static_cast<char>(random());
        break;
      case 1:
        payload[at] = static_cast<char>(payload[at] ^ 1 << random() % 8);
        break;
      case 2:
        payload[at] = static_cast<char>(random() % 2 == 0 ? 0 : 255);
        break;
      default:
        if (random() % 4 == 0) payload.resize(at);
    }
  }
  return sealed_again(payload);
}

// Whatever the bytes say, there is an error or a job: no crash, no read outside.
TEST(RestoreWorld, BytesThatAreWrongButHaveTheRightChecksumDoNoHarm) {
  std::mt19937_64 random(13);
  size_t refused = 0;
  size_t taken = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const bool sessions = round % 3 != 0;
    const JobWorld world = random_world(random, sessions);
    StreamMaker stream(random, world.splits);
    std::vector<JobStep> steps;
    for (int i = 0; i < 20; ++i) steps.push_back(stream.step());
    Outcome whole = run(steps, world, 1, Restoring::kSameThreads, false);
    for (int change = 0; change < 60; ++change) {
      KeptPieces pieces = whole.pieces;
      std::string snapshot = whole.last;
      const std::vector<std::string*> kept = pieces.all();
      std::string& victim = kept.empty() || random() % 2 == 0 ? snapshot : *kept[random() % kept.size()];
      victim = damaged(victim, random);
      JobOutput output;
      RestorableJob job(world, 1 + random() % 3, output);
      Result<SnapshotReader> in = SnapshotReader::open(snapshot, pieces, "job/");
      ASSERT_TRUE(in.has_value());
      const Status restored = job.restore(*in);
      if (!restored) {
        ++refused;
        EXPECT_TRUE(restored.error().code == ErrorCode::kData ||
                    restored.error().code == ErrorCode::kInvalid);
        continue;
      }
      ++taken;
    }
  }
  EXPECT_GT(refused, 500U);
  EXPECT_GT(taken, 500U);
}

TEST(RestoreWorld, AnotherJobsSnapshotIsRefused) {
  std::mt19937_64 random(14);
  size_t refused = 0;
  for (int round = 0; round < 60; ++round) {
    JobWorld world = random_world(random, round % 2 == 0);
    world.derived = false;
    StreamMaker stream(random, world.splits);
    std::vector<JobStep> steps;
    for (int i = 0; i < 10; ++i) steps.push_back(stream.step());
    Outcome whole = run(steps, world, 1, Restoring::kSameThreads, false);
    JobWorld other = world;
    if (round % 4 < 2) {
      other.shape = static_cast<Shape>((static_cast<int>(world.shape) + 3) % 5);
    } else {
      other.dedup = !world.dedup;
    }
    JobOutput output;
    RestorableJob job(other, 1, output);
    Result<SnapshotReader> in = SnapshotReader::open(whole.last, whole.pieces, "job/");
    ASSERT_TRUE(in.has_value());
    const Status restored = job.restore(*in);
    refused += !restored;
    ASSERT_TRUE(restored || restored.error().code == ErrorCode::kData ||
                restored.error().code == ErrorCode::kInvalid);
  }
  EXPECT_GT(refused, 50U);
}

}  // namespace
}  // namespace wrackline::runtime
