#include "state/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "data/crc32c.h"
#include "env/forked_task.h"
#include "state/checkpoint_files.h"

namespace wrackline::state {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// State of a job as the store sees it: one part with a number, and pieces with revisions.
struct State {
  int64_t number = 0;
  std::map<std::string, std::pair<uint64_t, std::string>> pieces;
  std::vector<std::string> files;

  void save(SnapshotWriter& out) const {
    out.section("stat");
    out.i64(number);
    out.u64(pieces.size());
    for (const auto& [name, piece] : pieces) {
      out.text(name);
      out.u64(piece.first);
      out.piece(name, piece.first, [&](SnapshotWriter& to) { to.text(piece.second); });
    }
    out.u64(files.size());
    for (const std::string& file : files) {
      out.text(file);
      out.need_file(file);
    }
  }
  Status restore(SnapshotReader& in) {
    in.section("stat");
    number = in.i64();
    for (size_t left = in.count(16); left > 0 && !in.failed(); --left) {
      const std::string name(in.text());
      auto& piece = pieces[name];
      piece.first = in.u64();
      in.piece(name, [&](SnapshotReader& from) { piece.second = from.text(); });
    }
    for (size_t left = in.count(8); left > 0 && !in.failed(); --left) files.emplace_back(in.text());
    return in.status();
  }
  friend bool operator==(const State&, const State&) = default;
};

class CheckpointStoreTest : public testing::Test {
 protected:
  CheckpointStoreTest() {
    std::string pattern = (fs::temp_directory_path() / "wrackline-checkpoint-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~CheckpointStoreTest() override { fs::remove_all(folder_); }

  CheckpointStore open(int64_t run = 1, size_t kept = 2) {
    return std::move(*CheckpointStore::open(env::real_disk(), {folder_, run, kept}));
  }
  static CheckpointMeta meta(int64_t number) {
    CheckpointMeta meta;
    meta.generation = 7;
    meta.number = number;
    meta.job_text = "SELECT 1";
    meta.overrides = {{"clicks.path", "x"}};
    meta.tick_log_sequence = static_cast<uint64_t>(number) * 100;
    meta.ledger_seq = number * 10;
    return meta;
  }
  static CheckpointFigures save(CheckpointStore& store, const State& state) {
    const int64_t number = store.next_number();
    const auto writer = store.begin(meta(number));
    writer->part("job", [&](SnapshotWriter& out) { state.save(out); });
    const auto figures = writer->complete();
    EXPECT_TRUE(figures.has_value()) << figures.error().to_string();
    store.completed(number);
    return *figures;
  }
  std::optional<State> restored(CheckpointStore& store) {
    notices_.clear();
    auto reader = store.newest_whole(notices_);
    EXPECT_TRUE(reader.has_value());
    if (!*reader) return std::nullopt;
    State state;
    const Status status = (*reader)->part("job", [&](SnapshotReader& in) { return state.restore(in); });
    EXPECT_TRUE(status.has_value()) << status.error().to_string();
    return state;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ + "/checkpoints"))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void flip(const std::string& name, size_t byte) const {
    std::fstream file(folder_ + "/checkpoints/" + name, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(byte));
    const char flipped = static_cast<char>(file.get() ^ 4);
    file.seekp(static_cast<std::streamoff>(byte));
    file.put(flipped);
  }

  std::string folder_;
  std::vector<std::string> notices_;
};

TEST_F(CheckpointStoreTest, WithoutOneThereIsNone) {
  CheckpointStore store = open();
  EXPECT_EQ(restored(store), std::nullopt);
  EXPECT_TRUE(notices_.empty());
  EXPECT_TRUE(store.sweep("cold").has_value());
}

TEST_F(CheckpointStoreTest, WhatIsSavedIsRestoredAndPiecesAreWrittenOnce) {
  CheckpointStore store = open();
  State state{1, {{"a", {1, std::string(1'000'000, 'a')}}, {"b", {1, "b1"}}}, {}};
  EXPECT_EQ(save(store, state).pieces_written, 2U);
  EXPECT_EQ(restored(store), state);
  state.number = 2;
  state.pieces["b"] = {2, "b2"};
  const CheckpointFigures second = save(store, state);
  EXPECT_EQ(second.pieces_written, 1U);
  EXPECT_EQ(second.pieces_referenced, 1U);
  EXPECT_GT(second.bytes_referenced, 1'000'000U);
  EXPECT_LT(second.bytes_written, 2000U);
  EXPECT_EQ(second.files, 2);
  EXPECT_EQ(restored(store), state);

  // Another process.
  CheckpointStore later = open();
  EXPECT_EQ(restored(later), state);
  auto reader = later.newest_whole(notices_);
  const CheckpointMeta& found = (**reader).meta();
  EXPECT_EQ(found.run, 1);
  EXPECT_EQ(found.generation, 7);
  EXPECT_EQ(found.number, 2);
  EXPECT_EQ(found.parent, 1);
  EXPECT_EQ(found.job_text, "SELECT 1");
  EXPECT_EQ(found.overrides, meta(2).overrides);
  EXPECT_EQ(found.tick_log_sequence, 200U);
  EXPECT_EQ(found.ledger_seq, 20);
  EXPECT_EQ(later.next_number(), 3);
  EXPECT_TRUE((**reader).has_part("job"));
  const auto nothing = [](SnapshotReader&) { return Status(); };
  EXPECT_EQ((**reader).part("none", nothing).error().code, ErrorCode::kNotFound);
  EXPECT_EQ((**reader).part("job", nothing).error().code, ErrorCode::kData) << "fields are left over";
}

TEST_F(CheckpointStoreTest, KeepsTwoAndWhatTheyName) {
  CheckpointStore store = open();
  State state{1, {{"a", {1, std::string(10'000, 'a')}}}, {}};
  EXPECT_EQ(save(store, state).tick_log_from, 0U) << "one alone is not enough";
  for (int64_t number = 2; number <= 4; ++number) {
    state.number = number;
    const CheckpointFigures figures = save(store, state);
    EXPECT_EQ(figures.tick_log_from, static_cast<uint64_t>(number - 1) * 100);
    EXPECT_EQ(figures.ledger_from, (number - 1) * 10);
  }
  EXPECT_THAT(files(),
              ElementsAre("00000001-000001.pieces", "00000001-000003.checkpoint", "00000001-000003.pieces",
                          "00000001-000004.checkpoint", "00000001-000004.pieces"));
  EXPECT_EQ(restored(store), state);
  // Nothing of the first is named once the piece has changed and both checkpoints have the new one.
  state.pieces["a"] = {2, std::string(10'000, 'b')};
  save(store, state);
  save(store, state);
  EXPECT_THAT(files(), ElementsAre("00000001-000005.checkpoint", "00000001-000005.pieces",
                                   "00000001-000006.checkpoint", "00000001-000006.pieces"));
}

TEST_F(CheckpointStoreTest, FilesWithMoreDeadBytesThanLiveOnesAreFolded) {
  CheckpointStore store = open();
  State state{1, {{"small", {1, std::string(1000, 's')}}, {"large", {1, std::string(9000, 'l')}}}, {}};
  save(store, state);
  state.pieces["large"] = {2, "changed"};
  EXPECT_EQ(save(store, state).pieces_referenced, 1U);
  EXPECT_EQ(save(store, state).pieces_written, 2U) << "most of both files is dead";
  EXPECT_EQ(restored(store), state);
}

TEST_F(CheckpointStoreTest, SaysWhyItPassedOver) {
  CheckpointStore store = open(1, 3);
  State state{1, {{"a", {1, "first"}}}, {}};
  save(store, state);
  for (state.number = 2; state.number <= 3; ++state.number) {
    state.pieces["a"].first += 1;
    save(store, state);
  }
  flip("00000001-000003.pieces", 60);
  CheckpointStore later = open(1, 3);
  EXPECT_EQ(restored(later)->number, 2);
  EXPECT_THAT(notices_,
              ElementsAre(HasSubstr("checkpoint 00000001-000003 is passed over: \"job/a\" at byte 32")));

  fs::resize_file(folder_ + "/checkpoints/00000001-000003.checkpoint", 100);
  fs::remove(folder_ + "/checkpoints/00000001-000002.pieces");
  EXPECT_EQ(restored(later)->number, 1);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("It should have"), HasSubstr("000002.pieces\" is missing")));

  flip("00000001-000001.checkpoint", 3);
  EXPECT_EQ(restored(later), std::nullopt);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("it is damaged"), HasSubstr("is missing"),
                                    HasSubstr("its head is damaged")));
}

TEST_F(CheckpointStoreTest, ANewerFormatIsPassedOver) {
  CheckpointStore store = open();
  save(store, {1, {}, {}});
  save(store, {2, {}, {}});
  std::string head("WRKCHECK\x09\0\0\0", 12);
  const uint32_t crc = crc32c(head);
  head.append(reinterpret_cast<const char*>(&crc), 4);
  std::ofstream(folder_ + "/checkpoints/00000001-000003.checkpoint", std::ios::binary) << head;
  CheckpointStore later = open();
  EXPECT_EQ(restored(later)->number, 2);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("it has format version 9, and this program reads version 1")));
}

TEST_F(CheckpointStoreTest, DamageThatComesBetweenIsSeenWhenItIsRead) {
  CheckpointStore store = open();
  save(store, {1, {{"a", {1, "text"}}}, {}});
  auto reader = store.newest_whole(notices_);
  flip("00000001-000001.pieces", 60);
  State state;
  const Status status = (**reader).part("job", [&](SnapshotReader& in) { return state.restore(in); });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kData);
}

TEST_F(CheckpointStoreTest, BuildsOnWhatWasRestoredAndNotOnWhatWasPassedOver) {
  CheckpointStore store = open();
  State state{1, {{"a", {1, "one"}}}, {}};
  save(store, state);
  State abandoned = state;
  abandoned.number = 2;
  abandoned.pieces["a"] = {2, "of another life"};
  save(store, abandoned);
  flip("00000001-000002.checkpoint", 30);
  CheckpointStore later = open();
  ASSERT_EQ(restored(later), state);
  state.number = 3;
  state.pieces["a"] = {2, "of this life"};  // the same revision
  EXPECT_EQ(save(later, state).number, 3);
  EXPECT_EQ(restored(later), state);
  // The one that was passed over does not count as one of two.
  EXPECT_THAT(files(), Contains("00000001-000001.checkpoint"));
  state.number = 4;
  save(later, state);
  EXPECT_THAT(files(), ElementsAre("00000001-000003.checkpoint", "00000001-000003.pieces",
                                   "00000001-000004.checkpoint", "00000001-000004.pieces"));
}

TEST_F(CheckpointStoreTest, AnUnfinishedOneLeavesNothing) {
  CheckpointStore store = open();
  const State state{1, {{"a", {1, "one"}}}, {}};
  save(store, state);
  {
    const auto writer = store.begin(meta(store.next_number()));
    writer->part("job", [&](SnapshotWriter& out) { state.save(out); });
  }
  EXPECT_EQ(files().size(), 2U);
  // Killed: nothing tidies up.
  std::ofstream(folder_ + "/checkpoints/00000001-000003.pieces") << "half";
  std::ofstream(folder_ + "/checkpoints/00000001-000003.checkpoint.77.new") << "half";
  CheckpointStore later = open();
  EXPECT_EQ(restored(later), state);
  EXPECT_EQ(later.next_number(), 4);
  EXPECT_TRUE(later.sweep("cold").has_value());
  EXPECT_EQ(files().size(), 2U);
}

TEST_F(CheckpointStoreTest, NeededFilesLiveAsLongAsACheckpointNamesThem) {
  fs::create_directories(folder_ + "/cold");
  for (const char* name : {"1", "2", "orphan"}) std::ofstream(folder_ + "/cold/" + name) << name;
  CheckpointStore store = open();
  save(store, {1, {}, {"cold/1"}});
  save(store, {2, {}, {"cold/1", "cold/2"}});
  EXPECT_TRUE(fs::exists(folder_ + "/cold/orphan")) << "only a sweep knows that nobody is writing it";
  save(store, {3, {}, {"cold/2"}});
  EXPECT_TRUE(fs::exists(folder_ + "/cold/1"));
  save(store, {4, {}, {"cold/2"}});
  EXPECT_FALSE(fs::exists(folder_ + "/cold/1"));
  CheckpointStore later = open();
  EXPECT_EQ(restored(later)->number, 4);
  EXPECT_TRUE(later.sweep("cold").has_value());
  EXPECT_FALSE(fs::exists(folder_ + "/cold/orphan"));
  EXPECT_TRUE(fs::exists(folder_ + "/cold/2"));

  const auto writer = later.begin(meta(later.next_number()));
  writer->part("job", [&](SnapshotWriter& out) { State{5, {}, {"cold/none"}}.save(out); });
  const auto figures = writer->complete();
  ASSERT_FALSE(figures.has_value());
  EXPECT_EQ(figures.error().message, "cannot write checkpoint 00000001-000005");
  EXPECT_THAT(figures.error().detail, HasSubstr("cold/none\" is missing"));

  fs::remove(folder_ + "/cold/2");
  EXPECT_EQ(restored(later), std::nullopt);
  EXPECT_THAT(notices_[0], HasSubstr("cold/2\" is missing"));
}

TEST_F(CheckpointStoreTest, ARunKnowsItsOwnAndRemovesEarlierOnes) {
  CheckpointStore first = open(1);
  save(first, {1, {}, {}});
  CheckpointStore second = open(2);
  EXPECT_EQ(restored(second), std::nullopt);
  EXPECT_TRUE(notices_.empty());
  EXPECT_TRUE(second.sweep("cold").has_value());
  EXPECT_TRUE(files().empty());
  save(second, {5, {}, {}});
  EXPECT_EQ(restored(second)->number, 5);
}

// What the state is when it has that number.
State state_at(int64_t number) {
  State state;
  state.number = number;
  for (int64_t piece = 0; piece < 5; ++piece) {
    const int64_t changed = number - (number + piece) % 5;
    state.pieces[std::to_string(piece)] = {static_cast<uint64_t>(changed + 5),
                                           std::string(20'000, static_cast<char>('a' + changed % 26))};
  }
  return state;
}

TEST_F(CheckpointStoreTest, AProcessThatIsKilledAtAnyMomentLosesNothingThatItCompleted) {
  int64_t newest = 0;
  for (unsigned round = 0; round < 30; ++round) {
    std::array<int, 2> told{};
    ASSERT_EQ(pipe(told.data()), 0);
    const pid_t writer = fork();
    ASSERT_GE(writer, 0);
    if (writer == 0) {
      CheckpointStore store = open();
      const auto state = restored(store);
      static_cast<void>(store.sweep("cold"));
      for (int64_t number = state ? state->number + 1 : 1;; ++number) {
        save(store, state_at(number));
        if (write(told[1], &number, sizeof number) != sizeof number) _exit(1);
      }
    }
    close(told[1]);
    int64_t number = 0;
    ASSERT_EQ(read(told[0], &number, sizeof number), ssize_t{sizeof number}) << "it has begun";
    usleep(round * 997 % 20'000);
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    do {
      newest = std::max(newest, number);
    } while (read(told[0], &number, sizeof number) > 0);
    close(told[0]);
    CheckpointStore store = open();
    const auto state = restored(store);
    ASSERT_TRUE(state.has_value());
    EXPECT_TRUE(notices_.empty());
    EXPECT_GE(state->number, newest);
    EXPECT_EQ(*state, state_at(state->number));
  }
  EXPECT_GT(newest, 30);
}

TEST_F(CheckpointStoreTest, IsWrittenByAChild) {
  CheckpointStore store = open();
  State state{1, {{"a", {1, std::string(3000, 'a')}}}, {}};
  save(store, state);
  const State frozen =
      state = {2, {{"a", {1, std::string(3000, 'a')}}, {"b", {1, std::string(3'000'000, 'b')}}}, {}};
  const int64_t number = store.next_number();
  auto task = env::start_task(env::TaskMode::kForked, [&]() -> Result<std::string> {
    const auto writer = store.begin(meta(number));
    writer->part("job", [&](SnapshotWriter& out) { state.save(out); });
    WRACKLINE_ASSIGN(const CheckpointFigures figures, writer->complete());
    return figures.to_bytes();
  });
  state = {99, {}, {}};
  const env::TaskOutcome outcome = task->wait();
  ASSERT_TRUE(outcome.result.has_value()) << outcome.result.error().to_string();
  const auto figures = CheckpointFigures::from_bytes(*outcome.result);
  ASSERT_TRUE(figures.has_value());
  EXPECT_EQ(figures->number, number);
  EXPECT_EQ(figures->pieces_referenced, 1U);
  EXPECT_EQ(figures->pieces_written, 1U);
  store.completed(number);
  EXPECT_EQ(restored(store), frozen);
}

}  // namespace
}  // namespace wrackline::state
