// The checkpoint store on a simulated disk: crashes before every effect, during recovery too, and everything
// else that a disk may do.
//
// The world is a job whose state is pieces with revisions and cold files. It lives, saves, is stopped, and
// lives again. Content is never the same twice, so a state that is a mixture of two would be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "env/disk_sim.h"
#include "state/checkpoint_store.h"

namespace wrackline::state {
namespace {

using env::CrashKind;
using env::DiskFaults;
using env::DiskSim;

constexpr std::string_view kDirectory = "state";

struct State {
  int64_t number = 0;
  uint64_t changes = 0;
  std::map<std::string, std::pair<uint64_t, std::string>> pieces;
  std::map<std::string, std::string> files;  // and their content

  void save(SnapshotWriter& out) const {
    out.section("stat");
    out.i64(number);
    out.u64(changes);
    out.u64(pieces.size());
    for (const auto& [name, piece] : pieces) {
      out.text(name);
      out.u64(piece.first);
      out.piece(name, piece.first, [&](SnapshotWriter& to) { to.text(piece.second); });
    }
    out.u64(files.size());
    for (const auto& [file, content] : files) {
      out.text(file);
      out.text(content);
      out.need_file(file);
    }
  }
  Status restore(SnapshotReader& in) {
    in.section("stat");
    number = in.i64();
    changes = in.u64();
    for (size_t left = in.count(16); left > 0 && !in.failed(); --left) {
      const std::string name(in.text());
      auto& piece = pieces[name];
      piece.first = in.u64();
      in.piece(name, [&](SnapshotReader& from) { piece.second = from.text(); });
    }
    for (size_t left = in.count(16); left > 0 && !in.failed(); --left) {
      const std::string name(in.text());
      files[name] = in.text();
    }
    return in.status();
  }
  friend bool operator==(const State&, const State&) = default;
};

class World {
 public:
  struct Counts {
    int64_t saved = 0;
    int64_t failed = 0;
    int64_t restored = 0;
    int64_t unknown = 0;  // restored though complete() had heard of a failure, or nobody had asked
    int64_t older = 0;    // restored instead of the newest, which the disk had lost
    int64_t referenced = 0;
    int64_t files = 0;
  };

  // An honest disk keeps what it said it would.
  World(uint64_t seed, bool honest) : disk(seed), random_(seed + 1), kept_(1 + seed % 2), honest_(honest) {}

  // Comes up and checks what is there. False if the machine stopped, or the disk refused.
  bool begin() {
    auto opened = CheckpointStore::open(disk, {std::string(kDirectory), 1, kept_});
    if (!opened) return false;
    store_.emplace(std::move(*opened));
    if (!disk.make_folder(format("{}/cold", kDirectory))) return false;
    std::vector<std::string> notices;
    auto reader = store_->newest_whole(notices);
    if (!reader) return false;
    state_ = {};
    if (*reader) {
      const Status read = (**reader).part("job", [&](SnapshotReader& in) { return state_.restore(in); });
      if (!read) {
        EXPECT_FALSE(honest_) << read.error().to_string();
        return false;
      }
      EXPECT_EQ((**reader).meta().number, state_.number);
      check_restored();
    } else {
      EXPECT_TRUE(!honest_ || newest_saved_ == 0) << "a checkpoint was completed and is gone";
    }
    // Restored is not yet durable: a killed process may not have synced the name.
    if (!honest_) newest_saved_ = state_.number;
    if (!store_->sweep("cold")) return false;
    newest_saved_ = state_.number;
    return true;
  }

  void change() {
    for (int i = 0; i < 3; ++i) {
      auto& piece = state_.pieces[format("piece {}", random_() % 5)];
      piece.first = ++state_.changes;  // of a name that was given up and comes back, too
      piece.second = unique(random_() % 2 == 0 ? 2000 : 300);
    }
    if (random_() % 4 == 0 && !state_.pieces.empty()) state_.pieces.erase(state_.pieces.begin());
    if (random_() % 3 == 0 && !state_.files.empty()) state_.files.erase(state_.files.begin());
    if (random_() % 2 == 0) make_cold_file();
  }

  bool save() {
    state_.number = store_->next_number();
    EXPECT_TRUE(!honest_ || state_.number > newest_saved_) << "a number is given once";
    begun_[state_.number].push_back(state_);
    CheckpointMeta meta;
    meta.number = state_.number;
    auto writer = store_->begin(meta);
    writer->part("job", [&](SnapshotWriter& out) { state_.save(out); });
    const auto figures = writer->complete();
    if (!figures) {
      ++counts.failed;
      return false;
    }
    store_->completed(state_.number);
    newest_saved_ = state_.number;
    counts.referenced += static_cast<int64_t>(figures->pieces_referenced);
    ++counts.saved;
    return true;
  }

  DiskSim disk;
  Counts counts;

 private:
  std::string unique(size_t size) {
    std::string text = format("content {} ", ++made_);
    text.resize(size, static_cast<char>('a' + made_ % 26));
    return text;
  }

  void make_cold_file() {
    const std::string name = format("cold/{}", ++made_);
    const std::string content = unique(100);
    auto file = disk.create(format("{}/{}", kDirectory, name));
    if (file && (*file)->append(content) && (*file)->sync()) state_.files[name] = content;
  }

  void check_restored() {
    ++counts.restored;
    const std::vector<State>& known = begun_[state_.number];  // several if the disk lost the earlier ones
    ASSERT_NE(std::ranges::find(known, state_), known.end()) << "it is not what was saved";
    counts.unknown += state_.number > newest_saved_;
    counts.older += state_.number < newest_saved_;
    if (!honest_) return;
    ASSERT_GE(state_.number, newest_saved_) << "a newer one was completed";
    for (const auto& [name, content] : state_.files) {
      const auto found = disk.read(format("{}/{}", kDirectory, name), 1000);
      ASSERT_TRUE(found.has_value()) << name;
      ASSERT_EQ(*found, content);
      ++counts.files;
    }
  }

  std::mt19937_64 random_;
  size_t kept_;
  bool honest_;
  std::optional<CheckpointStore> store_;
  State state_;
  int64_t newest_saved_ = 0;  // complete() said so
  int64_t made_ = 0;
  std::map<int64_t, std::vector<State>> begun_;
};

void live(World& world, int rounds) {
  if (!world.begin()) return;
  for (int round = 0; round < rounds && !world.disk.crashed(); ++round) {
    world.change();
    world.save();
  }
}

constexpr CrashKind kKinds[] = {CrashKind::kProcess, CrashKind::kSynced, CrashKind::kAnything,
                                CrashKind::kAnything};

// Two lives, stopped before every pair of effects in every way; a third one looks. Later lives begin with
// recovery, so it is stopped at every point, too.
TEST(CheckpointSimulation, EveryPairOfCrashesInASmallHistory) {
  const auto play = [](uint64_t seed, size_t kinds, uint64_t first, uint64_t second, World::Counts& counts) {
    World world(seed, true);
    world.disk.crash_at(first);
    live(world, 3);
    const bool reached = world.disk.crashed();
    world.disk.restart(kKinds[kinds % 4]);
    const uint64_t before = world.disk.effects();
    world.disk.crash_at(second == 0 ? 0 : before + second);
    live(world, 2);
    const bool reached_again = world.disk.crashed();
    world.disk.restart(kKinds[kinds / 4]);
    EXPECT_TRUE(world.begin());
    counts.restored += world.counts.restored;
    counts.unknown += world.counts.unknown;
    counts.files += world.counts.files;
    counts.referenced += world.counts.referenced;
    return std::pair(reached, reached_again);
  };
  World::Counts counts;
  int64_t cases = 0;
  for (size_t kinds = 0; kinds < 16 && !testing::Test::HasFailure(); ++kinds) {
    for (uint64_t first = 1;; ++first) {
      bool reached = false;
      for (uint64_t second = 1;; ++second) {
        const auto [once, twice] = play(kinds * 1000 + first, kinds, first, second, counts);
        ASSERT_FALSE(testing::Test::HasFailure()) << kinds << " " << first << " " << second;
        ++cases;
        reached = once;
        if (!twice) break;
      }
      if (!reached) break;
    }
  }
  EXPECT_GT(cases, 10'000);
  EXPECT_GT(counts.restored, 10'000);
  EXPECT_GT(counts.unknown, 100);
  EXPECT_GT(counts.files, 1000);
  EXPECT_GT(counts.referenced, 1000);
}

// A life or many; the machine or only the child that writes is stopped; the disk fails as it does when it
// says so.
World::Counts play_random(uint64_t seed, const DiskFaults& faults, bool honest, uint64_t* trace = nullptr) {
  World world(seed, honest);
  std::mt19937_64 random(seed * 7919);
  for (int life = 0; life < 8; ++life) {
    world.disk.set_faults({});
    const uint64_t reach = random() % 3 == 0 ? 12 : 120;
    world.disk.crash_at(world.disk.effects() + 1 + random() % reach);
    if (!honest || random() % 2 == 0) world.disk.set_faults(faults);
    if (world.begin()) {
      for (int round = 0; round < 6; ++round) {
        world.change();
        world.save();
        if (!world.disk.crashed()) continue;
        // Its child was killed: the job itself goes on.
        if (random() % 3 != 0) break;
        world.disk.restart(CrashKind::kProcess);
      }
    }
    world.disk.restart(kKinds[random() % 4]);
    if (testing::Test::HasFailure()) break;
  }
  world.disk.set_faults({});
  EXPECT_TRUE(world.begin() || !honest);
  EXPECT_TRUE(world.begin() || !honest);
  if (trace != nullptr) *trace = world.disk.trace_hash();
  return world.counts;
}

void add(World::Counts& sum, const World::Counts& counts) {
  sum.saved += counts.saved;
  sum.failed += counts.failed;
  sum.restored += counts.restored;
  sum.unknown += counts.unknown;
  sum.older += counts.older;
  sum.referenced += counts.referenced;
}

TEST(CheckpointSimulation, OnAnHonestDiskTheNewestIsRestored) {
  World::Counts sum;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    DiskFaults faults;
    if (seed % 2 == 0) faults.write_fails = 20;
    if (seed % 3 == 0) faults.sync_fails = 20;
    if (seed % 5 == 0) faults.remove_fails = 200;
    if (seed % 7 == 0) faults.bytes_max = 20'000 + seed * 10;
    add(sum, play_random(seed, faults, true));
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(sum.saved, 5000);
  EXPECT_GT(sum.failed, 1000);
  EXPECT_GT(sum.unknown, 50);
  EXPECT_EQ(sum.older, 0);
  EXPECT_GT(sum.referenced, 2000);
}

TEST(CheckpointSimulation, OnADiskThatLiesNothingWrongIsRestored) {
  World::Counts sum;
  for (uint64_t seed = 1; seed <= 1500; ++seed) {
    DiskFaults faults;
    if (seed % 2 == 0) faults.sync_lost = 100;
    if (seed % 3 == 0) faults.folder_sync_lost = 100;
    if (seed % 5 == 0) faults.read_flipped = 30;
    if (seed % 7 == 0) faults.read_stale = 30;
    if (seed % 11 == 0) faults.read_fails = 30;
    if (seed % 13 == 0) faults.write_fails = 20;
    add(sum, play_random(seed, faults, false));
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(sum.restored, 3000);
  EXPECT_GT(sum.older, 50) << "the disk does lie";
}

TEST(CheckpointSimulation, TheSameSeedIsTheSameHistory) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    uint64_t first = 0;
    uint64_t second = 1;
    const DiskFaults faults{.write_fails = 30, .sync_lost = 50, .read_flipped = 30};
    play_random(seed, faults, false, &first);
    play_random(seed, faults, false, &second);
    EXPECT_EQ(first, second) << seed;
  }
}

class OnASimulatedDisk : public testing::Test {
 protected:
  CheckpointStore open() {
    CheckpointStore store = *CheckpointStore::open(disk_, {std::string(kDirectory), 1, 2});
    return store;
  }
  CheckpointFigures save(CheckpointStore& store, const State& state) {
    CheckpointMeta meta;
    meta.number = store.next_number();
    auto writer = store.begin(meta);
    writer->part("job", [&](SnapshotWriter& out) { state.save(out); });
    const auto figures = writer->complete();
    store.completed(meta.number);
    return *figures;
  }
  std::optional<State> restored(CheckpointStore& store) {
    notices_.clear();
    auto reader = store.newest_whole(notices_);
    if (!*reader) return std::nullopt;
    State state;
    EXPECT_TRUE((*reader)->part("job", [&](SnapshotReader& in) { return state.restore(in); }).has_value());
    return state;
  }

  DiskSim disk_{1};
  std::vector<std::string> notices_;
};

TEST_F(OnASimulatedDisk, EveryFlippedBitAndEveryCutGivesTheOlderOneOrNothing) {
  CheckpointStore store = open();
  const State first{1, 1, {{"a", {1, std::string(500, 'a')}}, {"b", {1, "old"}}}, {}};
  State second = first;
  second.number = 2;
  second.pieces["b"] = {2, "new"};
  save(store, first);
  EXPECT_EQ(save(store, second).pieces_referenced, 1U);
  for (const std::string name :
       {"state/checkpoints/00000001-000002.checkpoint", "state/checkpoints/00000001-000002.pieces"}) {
    const uint64_t size = **disk_.size_bytes(name);
    for (uint64_t bit = 0; bit < size * 8; ++bit) {
      disk_.flip(name, bit);
      CheckpointStore later = open();
      ASSERT_EQ(restored(later), first) << name << " bit " << bit;
      ASSERT_EQ(notices_.size(), 1U);
      disk_.flip(name, bit);
    }
  }
  for (const std::string name :
       {"state/checkpoints/00000001-000002.pieces", "state/checkpoints/00000001-000002.checkpoint"}) {
    for (uint64_t size = **disk_.size_bytes(name); size > 0; --size) {
      disk_.cut(name, size - 1);
      CheckpointStore later = open();
      ASSERT_EQ(restored(later), first) << name << " cut at " << size;
    }
  }
  // What both name takes both away.
  disk_.flip("state/checkpoints/00000001-000001.pieces", 60 * 8);
  CheckpointStore later = open();
  EXPECT_EQ(restored(later), std::nullopt);
  EXPECT_EQ(notices_.size(), 2U);
}

TEST_F(OnASimulatedDisk, WhatCannotBeReadNowIsLeftAlone) {
  CheckpointStore store = open();
  State state{1, 1, {{"a", {1, std::string(500, 'a')}}}, {}};
  save(store, state);
  state.number = 2;
  state.pieces["a"] = {2, std::string(500, 'b')};
  save(store, state);
  const std::string newest = "state/checkpoints/00000001-000002.checkpoint";
  disk_.flip(newest, 200);
  CheckpointStore later = open();
  EXPECT_EQ(restored(later)->number, 1);
  ASSERT_TRUE(later.sweep("cold").has_value());
  disk_.flip(newest, 200);  // it was the reading that failed
  CheckpointStore again = open();
  EXPECT_EQ(restored(again)->number, 2);
}

TEST_F(OnASimulatedDisk, OneThatLacksAFileIsNotCountedAmongThoseKept) {
  CheckpointStore store = open();
  State state;
  for (state.number = 1; state.number <= 2; ++state.number) save(store, state);
  ASSERT_TRUE(disk_.remove("state/checkpoints/00000001-000002.pieces").has_value());
  CheckpointStore later = open();
  EXPECT_EQ(restored(later)->number, 1);
  ASSERT_TRUE(later.sweep("cold").has_value());
  state.number = 3;
  EXPECT_EQ(save(later, state).number, 3);
  EXPECT_TRUE(disk_.size_bytes("state/checkpoints/00000001-000001.checkpoint")->has_value());
}

TEST_F(OnASimulatedDisk, NotMoreThanSoManyFilesAreKept) {
  CheckpointStore store = open();
  State state;
  int64_t files_max = 0;
  uint64_t written = 0;
  for (int64_t number = 1; number <= 500; ++number) {
    state.number = number;
    state.pieces[std::to_string(number)] = {1, std::string(20'000, 'x')};
    const CheckpointFigures figures = save(store, state);
    files_max = std::max(files_max, figures.files);
    written += figures.pieces_written;
  }
  EXPECT_LE(files_max, 66);
  EXPECT_GE(files_max, 60) << "folding is rare";
  EXPECT_LE(disk_.paths().size(), 72U);
  EXPECT_LE(written, 500U * 6) << "and a piece is written a few times only";
  EXPECT_EQ(restored(store), state);
}

}  // namespace
}  // namespace wrackline::state
