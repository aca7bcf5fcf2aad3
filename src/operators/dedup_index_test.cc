#include "operators/dedup_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "operators/dedup_hash.h"

namespace wrackline {
namespace {

using enum DedupVerdict;

RecordId id_of(uint64_t name, uint64_t content = 0) {
  return {spread(name), 1, content};
}

TEST(DedupIndex, CopiesAreDuplicatesAndOtherContentIsAConflict) {
  DedupIndex index(seconds(10));
  EXPECT_EQ(index.judge(id_of(1, 7), 1000, 0), kNew);
  EXPECT_EQ(index.judge(id_of(1, 7), 1000, 0), kDuplicate);
  EXPECT_EQ(index.judge(id_of(1, 8), 1000, 0), kConflict);
  EXPECT_EQ(index.judge(id_of(1, 7), 1000, 0), kDuplicate) << "the first wins";
  EXPECT_EQ(index.judge(id_of(2, 7), 1000, 0), kNew);
  EXPECT_EQ(index.size(), 2U);
}

TEST(DedupIndex, ARecordAtTheHorizonIsJudgedAndOneBehindItIsNot) {
  DedupIndex index(seconds(10));
  EXPECT_EQ(index.judge(id_of(1), 0, kMicrosMin), kNew);
  EXPECT_EQ(index.judge(id_of(1), 0, 10'000'000), kDuplicate);
  EXPECT_EQ(index.judge(id_of(2), 0, 10'000'000), kNew);
  EXPECT_EQ(index.judge(id_of(1), 0, 10'000'001), kPastHorizon);
  EXPECT_EQ(index.judge(id_of(3), 0, 10'000'001), kPastHorizon);
}

TEST(DedupIndex, AnIdMayBeUsedAgainOnceItsBucketIsDropped) {
  DedupIndex index(seconds(64));  // buckets of one second
  ASSERT_EQ(index.bucket_width(), seconds(1));
  EXPECT_EQ(index.judge(id_of(1), 500'000, 0), kNew);
  EXPECT_EQ(index.judge(id_of(1, 1), 64'900'000, 64'999'999), kConflict) << "its bucket ends at 1 s";
  // The conflict lent it its own time.
  EXPECT_EQ(index.judge(id_of(1, 1), 64'900'000, 128'900'000), kConflict);
  EXPECT_EQ(index.judge(id_of(1, 1), 129'000'000, 129'000'000), kNew);
  EXPECT_EQ(index.size(), 1U);
}

TEST(DedupIndex, WithoutAHorizonIdsStayForEver) {
  DedupIndex index(std::nullopt);
  EXPECT_EQ(index.judge(id_of(1), -1'000'000, kMicrosMin), kNew);
  EXPECT_EQ(index.judge(id_of(1), -1'000'000, int64_t{1} << 60), kDuplicate);
  EXPECT_EQ(index.judge(id_of(2), -(int64_t{1} << 61), int64_t{1} << 61), kNew);
}

TEST(DedupIndex, TimesAtTheEdgesOfTheRangeAreKeptLongEnough) {
  constexpr int64_t kFar = int64_t{1} << 61;
  DedupIndex index(millis(1));  // buckets of a millisecond: more of them than 48 bits can tell apart
  EXPECT_EQ(index.judge(id_of(1), -kFar, kMicrosMin), kNew);
  EXPECT_EQ(index.judge(id_of(2), kFar, kMicrosMin), kNew);
  EXPECT_EQ(index.judge(id_of(1), -kFar, -kFar + 1000), kDuplicate);
  EXPECT_EQ(index.judge(id_of(1), -kFar, -kFar + 1001), kPastHorizon);
  EXPECT_EQ(index.judge(id_of(2), kFar, kFar), kDuplicate);
  EXPECT_EQ(index.judge(id_of(2), kFar, kFar + 1000), kDuplicate);
}

// The case C76: an id leaves when the watermark has passed it by the horizon, so a stream can run for ever.
TEST(DedupIndex, StateIsBounded) {
  DedupIndex index(seconds(1));
  size_t most = 0;
  for (int64_t i = 0; i < 100'000; ++i) {
    ASSERT_EQ(
        index.judge(id_of(static_cast<uint64_t>(i)), i * 10'000, i == 0 ? kMicrosMin : (i - 1) * 10'000),
        kNew);
    most = std::max(most, index.size());
  }
  EXPECT_LE(most, 103U);  // one a hundredth of a second, and one bucket (1/64 s) more
  EXPECT_LT(index.bytes(), 1U << 20);
}

TEST(DedupIndex, MemoryIsGivenBack) {
  DedupIndex index(seconds(1));
  for (uint64_t i = 0; i < 200'000; ++i) index.judge(id_of(i), 0, kMicrosMin);
  const size_t full = index.bytes();
  EXPECT_GE(full, 200'000U * 24);
  EXPECT_LE(full, 200'000U * 43 + 20'000);
  EXPECT_EQ(index.judge(id_of(1), 5'000'000, 5'000'000), kNew);
  EXPECT_EQ(index.size(), 1U);
  EXPECT_LT(index.bytes(), 100'000U);
}

// ---- against a plain map

struct Event {
  uint64_t name;
  uint64_t content;
  int64_t event_us;
  int64_t watermark_us;
};

class PlainDedup {
 public:
  PlainDedup(int64_t horizon_us, int64_t width_us) : horizon_us_(horizon_us), width_us_(width_us) {}

  DedupVerdict judge(const Event& event) {
    const int64_t oldest = saturating_subtract(event.watermark_us, horizon_us_);
    if (event.event_us < oldest) return kPastHorizon;
    if (const auto at = known_.find(event.name); at != known_.end() && at->second.kept_until_us <= oldest)
      known_.erase(at);
    const int64_t until = (floor_divide(event.event_us, width_us_) + 1) * width_us_;
    const auto [at, fresh] = known_.try_emplace(event.name, Known{event.content, until});
    if (fresh) return kNew;
    if (at->second.content == event.content) return kDuplicate;
    at->second.kept_until_us = std::max(at->second.kept_until_us, until);
    return kConflict;
  }
  size_t size_at(int64_t watermark_us) const {
    const int64_t oldest = saturating_subtract(watermark_us, horizon_us_);
    return static_cast<size_t>(std::ranges::count_if(
        known_, [&](const auto& entry) { return entry.second.kept_until_us > oldest; }));
  }

 private:
  struct Known {
    uint64_t content;
    int64_t kept_until_us;
  };
  int64_t horizon_us_;
  int64_t width_us_;
  std::map<uint64_t, Known> known_;
};

// A stream with copies, late copies, conflicts and reused ids around a watermark that rises.
std::vector<Event> random_stream(std::mt19937_64& random, size_t events, int64_t horizon_us) {
  std::vector<Event> stream;
  int64_t now = static_cast<int64_t>(random() % 2'000'000'000) - 1'000'000'000;
  int64_t watermark = kMicrosMin;
  const int64_t step = horizon_us / static_cast<int64_t>(20 + random() % 400) + 1;
  const uint64_t names = 10 + random() % 3000;
  for (size_t i = 0; i < events; ++i) {
    now += static_cast<int64_t>(random() % static_cast<uint64_t>(2 * step));
    Event event{random() % names, random() % 3 == 0 ? random() % 4 : 0, now, 0};
    const uint64_t kind = random() % 10;
    if (kind < 4 && !stream.empty()) {
      event = stream[stream.size() - 1 - random() % std::min<size_t>(stream.size(), 800)];
      if (kind == 0) event.content += 1;
      if (kind == 1) event.event_us += static_cast<int64_t>(random() % static_cast<uint64_t>(horizon_us + 1));
    } else if (kind == 4) {
      event.event_us -= static_cast<int64_t>(random() % static_cast<uint64_t>(3 * horizon_us));
    }
    if (i > 5) watermark = std::max(watermark, now - static_cast<int64_t>(random() % 2) * step);
    event.watermark_us = watermark;
    stream.push_back(event);
  }
  return stream;
}

TEST(DedupIndex, JudgesAsAPlainMapDoes) {
  size_t seen[4] = {};
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const int64_t horizon_us = 1 + static_cast<int64_t>(random() % (seed % 2 == 0 ? 5000 : 50'000'000));
    DedupIndex index{Duration(horizon_us)};
    PlainDedup plain(horizon_us, index.bucket_width().micros());
    std::set<std::tuple<uint64_t, uint64_t, int64_t>> taken;
    for (const Event& event : random_stream(random, 3000, horizon_us)) {
      const DedupVerdict verdict =
          index.judge(id_of(event.name, event.content), event.event_us, event.watermark_us);
      ASSERT_EQ(verdict, plain.judge(event)) << "seed " << seed;
      ++seen[static_cast<size_t>(verdict)];
      if (random() % 64 == 0) {
        ASSERT_EQ(index.size(), plain.size_at(event.watermark_us)) << "seed " << seed;
      }
      if (verdict != kNew) continue;
      // What was ever counted is never counted again, however long ago it was.
      ASSERT_TRUE(taken.insert({event.name, event.content, event.event_us}).second) << "seed " << seed;
    }
  }
  for (const size_t count : seen) EXPECT_GT(count, 1000U) << "the streams must see every verdict";
}

TEST(DedupIndex, SurvivesSweepsAndGrowth) {
  std::mt19937_64 random(5);
  DedupIndex index(seconds(10));
  PlainDedup plain(10'000'000, index.bucket_width().micros());
  int64_t watermark = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 30'000; ++i) {
      watermark += 100;
      const Event event{random() % 200'000, random() % 2,
                        watermark - 5'000'000 + static_cast<int64_t>(random() % 9'000'000), watermark};
      ASSERT_EQ(index.judge(id_of(event.name, event.content), event.event_us, event.watermark_us),
                plain.judge(event));
    }
    watermark += 4'000'000 * round;
    ASSERT_LE(index.size(), 200'000U);
  }
}

// Ids chosen so that they crowd together are slow, never wrong.
TEST(DedupIndex, CrowdedIdsAreToldApart) {
  DedupIndex index(std::nullopt);
  for (uint64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(index.judge({~uint64_t{0}, i + 1, 0}, 0, 0), kNew);
    EXPECT_EQ(index.judge({~uint64_t{0} - i, 9999, 0}, 0, 0), kNew);
    EXPECT_EQ(index.judge({i == 0 ? uint64_t{5} : 0, i + 1, 0}, 0, 0), kNew);
  }
  for (uint64_t i = 0; i < 3000; ++i) {
    EXPECT_EQ(index.judge({~uint64_t{0}, i + 1, 0}, 0, 0), kDuplicate);
    EXPECT_EQ(index.judge({~uint64_t{0} - i, 9999, 0}, 0, 0), kDuplicate);
    EXPECT_EQ(index.judge({i == 0 ? uint64_t{5} : 0, i + 1, 0}, 0, 0), kDuplicate);
  }
  EXPECT_EQ(index.size(), 9000U);
}

// ---- saving

std::string saved_bytes(const DedupIndex& index) {
  SnapshotWriter out;
  index.save(out);
  return out.finish();
}

Status restore(DedupIndex& index, std::string_view saved) {
  WRACKLINE_ASSIGN(SnapshotReader in, SnapshotReader::open(saved));
  WRACKLINE_TRY(index.restore(in));
  return in.finish();
}

TEST(DedupIndex, RestoringEqualsNeverStopping) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const std::optional<Duration> horizon =
        seed % 5 == 0 ? std::nullopt
                      : std::optional(Duration(1 + static_cast<int64_t>(random() % 5'000'000)));
    DedupIndex through(horizon);
    DedupIndex restarted(horizon);
    for (const Event& event : random_stream(random, 4000, horizon.value_or(seconds(5)).micros())) {
      const RecordId id = id_of(event.name, event.content);
      ASSERT_EQ(through.judge(id, event.event_us, event.watermark_us),
                restarted.judge(id, event.event_us, event.watermark_us))
          << "seed " << seed;
      if (random() % 200 != 0) continue;
      const std::string saved = saved_bytes(restarted);
      DedupIndex fresh(horizon);
      const Status status = restore(fresh, saved);
      ASSERT_TRUE(status) << status.error().to_string();
      ASSERT_EQ(saved_bytes(fresh), saved) << "what was restored saves to the same bytes";
      restarted = std::move(fresh);
    }
  }
}

// Keeps pieces as a checkpoint does: one whose revision is known is not written again.
class KeptPieces : public PieceWriter, public PieceReader {
 public:
  void put(std::string_view name, uint64_t revision, const WritePiece& write) override {
    Piece& piece = pieces_[std::string(name)];
    named_.insert(std::string(name));
    if (!piece.bytes.empty() && piece.revision == revision) return;
    SnapshotWriter out;
    write(out);
    piece = {revision, out.finish()};
    ++written;
  }
  void need_file(std::string_view) override {}
  Result<std::string> get(std::string_view name) override {
    const auto piece = pieces_.find(name);
    if (piece == pieces_.end()) return fail(ErrorCode::kNotFound, "no such piece");
    return piece->second.bytes;
  }
  // Forgets what the snapshot that was just taken does not name.
  void next_snapshot() {
    std::erase_if(pieces_, [&](const auto& piece) { return !named_.contains(piece.first); });
    named_.clear();
    written = 0;
  }
  size_t size() const { return pieces_.size(); }
  size_t written = 0;

 private:
  struct Piece {
    uint64_t revision = 0;
    std::string bytes;
  };
  std::map<std::string, Piece, std::less<>> pieces_;
  std::set<std::string> named_;
};

TEST(DedupIndex, WritesOnlyTheBucketsThatHaveChanged) {
  for (const bool for_ever : {false, true}) {
    SCOPED_TRACE(for_ever ? "for ever" : "an hour");
    const auto horizon = for_ever ? std::nullopt : std::optional(seconds(3600));
    std::mt19937_64 random(7);
    KeptPieces pieces;
    DedupIndex whole(horizon);
    DedupIndex index(horizon);
    uint64_t next = 0;
    size_t written = 0;
    size_t kept = 0;
    const int per_minute = for_ever ? 30'000 : 1000;
    for (int64_t minute = 0; minute < (for_ever ? 20 : 90); ++minute) {
      for (int i = 0; i < per_minute; ++i) {
        const int64_t now = (minute * per_minute + i) * 60'000'000 / per_minute;
        const int64_t event = std::max<int64_t>(0, now - static_cast<int64_t>(random() % 10'000'000));
        const bool is_copy = next > 100 && random() % 10 == 0;
        const RecordId id = id_of(is_copy ? next - 1 - random() % 100 : next++, random() % 50 == 0);
        ASSERT_EQ(index.judge(id, event, now - 10'000'000), whole.judge(id, event, now - 10'000'000));
      }
      SnapshotWriter out(pieces, "s/");
      index.save(out);
      written += pieces.written;
      kept += pieces.size() - pieces.written;
      pieces.next_snapshot();
      const std::string bytes = out.finish();
      EXPECT_LT(bytes.size(), 30'000U) << "the ids are in the pieces";
      SnapshotReader in = SnapshotReader::open(bytes, pieces, "s/").value();
      DedupIndex fresh(horizon);
      const Status status = fresh.restore(in);
      ASSERT_TRUE(status) << status.error().to_string();
      index = std::move(fresh);
    }
    EXPECT_EQ(saved_bytes(index), saved_bytes(whole));
    EXPECT_GT(kept, for_ever ? 8U : 5 * written);
  }
}

TEST(DedupIndex, DamageIsSeenAndChangesNothing) {
  DedupIndex index(seconds(10));
  for (uint64_t i = 0; i < 20; ++i) index.judge(id_of(i), static_cast<int64_t>(i), 0);
  const std::string saved = saved_bytes(index);
  for (size_t i = 0; i < saved.size(); ++i) {
    std::string damaged = saved;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    DedupIndex other(seconds(10));
    other.judge(id_of(100), 0, 0);
    const Status status = restore(other, damaged);
    ASSERT_FALSE(status) << i;
    EXPECT_EQ(status.error().code, ErrorCode::kData);
    EXPECT_EQ(other.judge(id_of(100), 0, 0), kDuplicate);
    ASSERT_FALSE(restore(other, std::string_view(saved).substr(0, i))) << i;
  }
}

TEST(DedupIndex, AnotherHorizonIsRefused) {
  const std::string saved = saved_bytes(DedupIndex(seconds(10)));
  DedupIndex other(std::nullopt);
  const Status status = restore(other, saved);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(status.error().detail, "It was 10 s and is now unlimited.");
}

}  // namespace
}  // namespace wrackline
