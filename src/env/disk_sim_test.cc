#include "env/disk_sim.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace wrackline::env {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Files files_of(DiskSim& disk) {
  Files files;
  for (const std::string& path : disk.paths()) files.emplace_back(path, *disk.read(path, 1 << 20));
  return files;
}

// A file made durable, something behind it that is not, and a replacement.
Status write_some(DiskSim& disk) {
  WRACKLINE_TRY(disk.make_folder("d"));
  WRACKLINE_ASSIGN(const auto file, disk.create("d/log"));
  WRACKLINE_TRY(file->append("durable "));
  WRACKLINE_TRY(file->sync());
  WRACKLINE_TRY(disk.replace("d/name", "old"));
  WRACKLINE_TRY(disk.replace("d/name", "new"));
  return file->append("not durable");
}

TEST(DiskSim, BehavesAsADiskWithoutFaults) {
  DiskSim disk(1);
  ASSERT_TRUE(write_some(disk).has_value());
  EXPECT_EQ(files_of(disk), (Files{{"d/log", "durable not durable"}, {"d/name", "new"}}));
  EXPECT_EQ(*disk.read_range("d/log", 8, 3), "not");
  EXPECT_EQ(disk.read_range("d/log", 8, 30).error().code, ErrorCode::kData);
  EXPECT_EQ(disk.read("d/none", 1).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(disk.read("d/log", 1).error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(*disk.size_bytes("d/name"), 3U);
  EXPECT_EQ(*disk.list("d"), (std::vector<std::string>{"log", "name"}));
  EXPECT_FALSE(disk.create("d/log").has_value());
  EXPECT_FALSE(disk.create("e/log").has_value());
  EXPECT_TRUE(disk.remove("d/log").has_value());
  EXPECT_EQ(*disk.size_bytes("d/log"), std::nullopt);
}

TEST(DiskSim, ACrashLeavesWhatWasDurable) {
  DiskSim disk(1);
  ASSERT_TRUE(write_some(disk).has_value());
  ASSERT_TRUE(disk.remove("d/name").has_value());
  disk.restart(CrashKind::kSynced);
  EXPECT_EQ(files_of(disk), (Files{{"d/log", "durable "}, {"d/name", "new"}}));
}

TEST(DiskSim, AKilledProcessLosesNothing) {
  DiskSim disk(1);
  ASSERT_TRUE(write_some(disk).has_value());
  disk.restart(CrashKind::kProcess);
  EXPECT_EQ(files_of(disk), (Files{{"d/log", "durable not durable"}, {"d/name", "new"}}));
  disk.restart(CrashKind::kSynced);
  EXPECT_EQ(files_of(disk)[0].second, "durable ") << "what was not durable stays so";
}

TEST(DiskSim, WhatAnEarlierLifeLeftIsMadeDurable) {
  DiskSim disk(1);
  ASSERT_TRUE(write_some(disk).has_value());
  disk.restart(CrashKind::kProcess);
  EXPECT_TRUE(disk.sync("d/log").has_value());
  EXPECT_EQ(disk.sync("d/none").error().code, ErrorCode::kNotFound);
  disk.restart(CrashKind::kSynced);
  EXPECT_EQ(files_of(disk)[0].second, "durable not durable");
}

TEST(DiskSim, ACrashBeforeEachEffectLeavesTheOldOrTheNew) {
  DiskSim whole(1);
  ASSERT_TRUE(write_some(whole).has_value());
  std::set<Files> found;
  for (uint64_t effect = 1; effect <= whole.effects(); ++effect) {
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      DiskSim disk(seed);
      disk.crash_at(effect);
      ASSERT_FALSE(write_some(disk).has_value());
      EXPECT_TRUE(disk.crashed());
      EXPECT_FALSE(disk.list("d").has_value());
      disk.restart(CrashKind::kAnything);
      const auto name = disk.read("d/name", 100);
      ASSERT_TRUE(!name || *name == "old" || *name == "new") << *name;
      ASSERT_TRUE(effect <= 9 || name.has_value()) << "its first content was durable";
      const auto log = disk.read("d/log", 100);
      ASSERT_TRUE(effect <= 5 || log->starts_with("durable ")) << effect;
      found.insert(files_of(disk));
    }
  }
  EXPECT_GT(found.size(), 40U) << "the disk is not kind";
}

TEST(DiskSim, FaultsHappenAndTheSameSeedHasTheSame) {
  const auto play = [](uint64_t seed) {
    DiskSim disk(seed, {.write_fails = 100,
                        .sync_fails = 100,
                        .sync_lost = 100,
                        .folder_sync_lost = 100,
                        .remove_fails = 100,
                        .read_fails = 100,
                        .read_stale = 100,
                        .read_flipped = 100,
                        .bytes_max = 3000});
    static_cast<void>(disk.make_folder("d"));
    int refused = 0;
    for (int i = 0; i < 200; ++i) {
      const std::string path = "d/" + std::to_string(i % 20);
      if (i % 3 == 0) refused += !disk.replace(path, std::string(static_cast<size_t>(i), 'x'));
      if (i % 3 == 1) refused += !disk.read(path, 1000);
      if (i % 7 == 0) refused += !disk.remove(path);
      if (i % 50 == 0) disk.restart(CrashKind::kAnything);
    }
    EXPECT_LE(disk.bytes(), 3000U);
    return std::pair(disk.trace_hash(), refused);
  };
  EXPECT_EQ(play(1), play(1));
  EXPECT_NE(play(1).first, play(2).first);
  EXPECT_GT(play(1).second, 5);
}

TEST(DiskSim, ALostOrFailedSyncIsLost) {
  DiskSim lost(1, {.sync_lost = 1000});
  ASSERT_TRUE(lost.make_folder("d").has_value());
  const auto first = lost.create("d/a");
  EXPECT_TRUE((*first)->append("x").has_value());
  EXPECT_TRUE((*first)->sync().has_value());
  lost.restart(CrashKind::kSynced);
  EXPECT_EQ(*lost.read("d/a", 9), "");
  EXPECT_FALSE((*first)->append("x").has_value()) << "opened before the crash";

  DiskSim fails(1, {.sync_fails = 1000});
  ASSERT_TRUE(fails.make_folder("d").has_value());
  const auto second = fails.create("d/a");
  EXPECT_TRUE((*second)->append("x").has_value());
  EXPECT_FALSE((*second)->sync().has_value());
  fails.set_faults({});
  EXPECT_TRUE((*second)->sync().has_value()) << "and means nothing";
  fails.restart(CrashKind::kSynced);
  EXPECT_EQ(*fails.read("d/a", 9), "");
}

TEST(DiskSim, BitsAreFlippedAndFilesCut) {
  DiskSim disk(1);
  ASSERT_TRUE(write_some(disk).has_value());
  disk.flip("d/name", 1);
  EXPECT_EQ(*disk.read("d/name", 9), "lew");
  disk.cut("d/name", 2);
  EXPECT_EQ(*disk.read("d/name", 9), "le");
}

}  // namespace
}  // namespace wrackline::env
