#include "connectors/sink_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/text.h"
#include "connectors/sink_rows_test.h"

namespace wrackline::connectors {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHeader = "window_start,page,clicks,_op,_version,_status,_generation\n";
constexpr const char* kRowA = "2024-05-01T12:00:00Z,/a,3,insert,1,on_time,1\n";
constexpr const char* kRowB = "2024-05-01T12:01:00Z,/b,4,insert,1,on_time,1\n";

class FileSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "wrackline-file-sink-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/out.csv";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Sink> open(bool live = false) const {
    Result<std::unique_ptr<Sink>> sink = make_file_sink({.path = path_, .live = live});
    if (!sink) {
      ADD_FAILURE() << sink.error().to_string();
      return nullptr;
    }
    const Status opened = (*sink)->open(kClicks, "clicks_per_minute", 1);
    EXPECT_TRUE(opened.has_value()) << opened.error().to_string();
    return std::move(*sink);
  }
  Error open_error(bool live = false) const {
    Result<std::unique_ptr<Sink>> sink = make_file_sink({.path = path_, .format = "csv", .live = live});
    if (!sink) return sink.error();
    const Status opened = (*sink)->open(kClicks, "clicks_per_minute", 1);
    return opened ? Error{ErrorCode::kInvalid, "it opened", {}, {}, {}} : opened.error();
  }
  static void write_a(Sink& sink) {
    ASSERT_TRUE(sink.write(Changes().click(0, "/a", 3).batch()).has_value());
  }
  static void write_b(Sink& sink) {
    ASSERT_TRUE(sink.write(Changes().click(1, "/b", 4).batch()).has_value());
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return "(none)";
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string content() const { return content(path_); }
  std::string partial() const { return content(path_ + ".partial"); }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      found.push_back(entry.path().filename());
    std::sort(found.begin(), found.end());
    return found;
  }

  std::string folder_;
  std::string path_;
};

TEST_F(FileSinkTest, AFinishedRunAppearsWhole) {
  std::ofstream(path_) << "old";
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(partial(), std::string(kHeader) + kRowA);
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);
  EXPECT_THAT(names(), testing::ElementsAre("out.csv"));
}

TEST_F(FileSinkTest, AFailedRunLeavesTheOldFileAndItsCommittedRowsBeside) {
  std::ofstream(path_) << "old";
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  write_b(*sink);
  ASSERT_TRUE(sink->close(false).has_value());
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(partial(), std::string(kHeader) + kRowA);
  const std::unique_ptr<Sink> again = open();
  write_b(*again);
  ASSERT_TRUE(again->close(true).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowB) << "the next run begins anew";
}

TEST_F(FileSinkTest, UncommittedRowsThatWereAlreadyWrittenAreCutOff) {
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  Changes large;
  for (int64_t i = 0; i < 1000; ++i) large.click(2, std::string(3000, 'x'), i);
  ASSERT_TRUE(sink->write(large.batch()).has_value());
  EXPECT_GT(std::filesystem::file_size(path_ + ".partial"), 1'000'000U);
  ASSERT_TRUE(sink->close(false).has_value());
  EXPECT_EQ(partial(), std::string(kHeader) + kRowA);
}

TEST_F(FileSinkTest, ARunWithoutACommitLeavesNothing) {
  {
    const std::unique_ptr<Sink> sink = open();
    write_a(*sink);
  }
  EXPECT_THAT(names(), testing::IsEmpty());
}

TEST_F(FileSinkTest, ARunWithoutRowsGivesAHeader) {
  const std::unique_ptr<Sink> sink = open();
  ASSERT_TRUE(sink->commit().has_value());
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), kHeader);
  path_ = folder_ + "/out.jsonl";
  const std::unique_ptr<Sink> lines = open();
  ASSERT_TRUE(lines->close(true).has_value());
  EXPECT_EQ(content(), "");
}

TEST_F(FileSinkTest, JsonLinesByName) {
  path_ = folder_ + "/out.ndjson";
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_THAT(content(), StartsWith("{\"window_start\":\"2024-05-01T12:00:00Z\","));
}

TEST_F(FileSinkTest, TheModeOfTheOldFileAndASymbolicLinkStay) {
  const std::string real = folder_ + "/real.csv";
  std::ofstream(real) << "old";
  chmod(real.c_str(), 0640);
  ASSERT_EQ(symlink("real.csv", path_.c_str()), 0);
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(content(real), std::string(kHeader) + kRowA);
  struct stat found{};
  ASSERT_EQ(stat(real.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0640U);
}

TEST_F(FileSinkTest, TwoSinksDoNotShareAFile) {
  for (const bool live : {false, true}) {
    const std::unique_ptr<Sink> first = open(live);
    write_a(*first);
    ASSERT_TRUE(first->commit().has_value());
    for (const bool second_live : {false, true}) {
      const Error error = open_error(second_live);
      EXPECT_EQ(error.code, ErrorCode::kUnavailable);
      EXPECT_EQ(error.message, "file \"" + path_ + "\" is being written by another sink")
          << live << second_live;
    }
    write_b(*first);
    ASSERT_TRUE(first->close(true).has_value());
    EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB) << "the refused ones did no harm";
  }
  EXPECT_THAT(names(), testing::ElementsAre("out.csv"));
}

TEST_F(FileSinkTest, AKilledRunLeavesCommittedTicksAndNoLock) {
  std::ofstream(path_) << "old";
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::unique_ptr<Sink> sink = open();
    write_a(*sink);
    static_cast<void>(sink->commit().has_value());
    write_b(*sink);
    raise(SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(partial(), std::string(kHeader) + kRowA);
  const std::unique_ptr<Sink> sink = open();
  write_b(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowB);
}

// --- Live

TEST_F(FileSinkTest, ALiveFileGrowsTickByTick) {
  std::ofstream(path_) << "old";
  const std::unique_ptr<Sink> sink = open(true);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), "old") << "until there is something new";
  write_a(*sink);
  EXPECT_EQ(content(), "old");
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA);
  write_b(*sink);
  EXPECT_EQ(content(), std::string(kHeader) + kRowA);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);
  write_b(*sink);
  ASSERT_TRUE(sink->close(false).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);
  EXPECT_THAT(names(), testing::ElementsAre("out.csv"));
}

TEST_F(FileSinkTest, ALiveRunThatFinishesWithoutRowsReplacesTheOldOnes) {
  std::ofstream(path_) << "old";
  const std::unique_ptr<Sink> sink = open(true);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), kHeader);
}

// --- What is no regular file

TEST_F(FileSinkTest, ANamedPipeIsWrittenAsItIs) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0666), 0);
  std::string text;
  std::thread reader([&] { text = content(); });
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  ASSERT_TRUE(sink->close(true).has_value());
  reader.join();
  EXPECT_EQ(text, std::string(kHeader) + kRowA);
  EXPECT_TRUE(std::filesystem::is_fifo(path_));
}

TEST_F(FileSinkTest, DevicesAreNotReplaced) {
  ASSERT_EQ(symlink("/dev/null", path_.c_str()), 0);
  const std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// --- What can go wrong

TEST_F(FileSinkTest, AFolderIsNoFile) {
  path_ = folder_;
  EXPECT_EQ(open_error().message, "path \"" + folder_ + "\" of a file sink is a folder");
}

TEST_F(FileSinkTest, AMissingFolderIsNamed) {
  path_ = folder_ + "/absent/out.csv";
  const Error error = open_error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "cannot write file \"" + path_ + ".partial\"");
  EXPECT_EQ(error.detail, "There is no folder \"" + folder_ + "/absent\".");
  EXPECT_EQ(error.hint, "Make the folder first.");
}

TEST_F(FileSinkTest, AFolderThatCannotBeWritten) {
  chmod(folder_.c_str(), 0555);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(1);
    const std::string said = open_error().to_string();
    static_cast<void>(::write(ends[1], said.data(), said.size()) == 0);
    _exit(0);
  }
  close(ends[1]);
  char buffer[1000];
  const ssize_t size = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0),
            "cannot write file \"" + path_ +
                ".partial\"\ndetail: Permission denied\nhint: Choose a folder that you may write to: the "
                "sink makes a new "
                "file there and renames it.");
  chmod(folder_.c_str(), 0755);
}

TEST_F(FileSinkTest, AFullDiskSaysWhatIsSafe) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "may not mount";
  std::ofstream(path_) << "old";
  {
    const std::unique_ptr<Sink> sink = open();
    write_a(*sink);
    ASSERT_TRUE(sink->commit().has_value());
    Status status;
    Changes large;
    for (int64_t i = 0; i < 100; ++i) large.click(2, std::string(3000, 'x'), i);
    for (int i = 0; i < 100 && status; ++i) status = sink->write(large.batch());
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(status.error().message, "cannot write file \"" + path_ + ".partial\": disk full");
    EXPECT_EQ(status.error().detail,
              format("No space left on device; {} bytes of committed ticks are in it. \"{}\" is as it was.",
                     std::string(kHeader).size() + std::string(kRowA).size(), path_));
    EXPECT_EQ(status.error().hint, "Free space on its file system and start again.");
    EXPECT_FALSE(sink->close(true).has_value() && content() != "old") << "a failed sink never finishes well";
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(partial(), std::string(kHeader) + kRowA);
  EXPECT_EQ(umount(folder_.c_str()), 0);
}

TEST_F(FileSinkTest, AFullDiskTakesTheHalfWrittenTickOfALiveFileBack) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "may not mount";
  {
    const std::unique_ptr<Sink> sink = open(true);
    write_a(*sink);
    ASSERT_TRUE(sink->commit().has_value());
    Changes large;
    for (int64_t i = 0; i < 1000; ++i) large.click(2, std::string(3000, 'x'), i);
    ASSERT_TRUE(sink->write(large.batch()).has_value());
    const Status status = sink->commit();
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, "cannot write file \"" + path_ + "\": disk full");
    EXPECT_EQ(content(), std::string(kHeader) + kRowA);
    EXPECT_TRUE(sink->close(false).has_value());
    EXPECT_EQ(content(), std::string(kHeader) + kRowA);
  }
  EXPECT_EQ(umount(folder_.c_str()), 0);
}

// ---- a run that goes on

class ResumedFile : public FileSinkTest {
 protected:
  std::string saved(const Sink& sink) const {
    SnapshotWriter out;
    sink.save(out);
    return out.finish();
  }
  // The second attempt of run 1, from what the first saved; "": without a checkpoint.
  Status resume(bool live, const std::string& snapshot, std::unique_ptr<Sink>& sink) const {
    sink = make_file_sink({.path = path_, .live = live}).value();
    if (!snapshot.empty()) {
      SnapshotReader in = SnapshotReader::open(snapshot).value();
      sink->restore(in);
      EXPECT_TRUE(in.finish().has_value());
    }
    return sink->open(kClicks, "clicks_per_minute", SinkStart(2, 1));
  }
  // Leaves the file as a killed process does.
  void cut_short(std::unique_ptr<Sink> sink) const {
    const std::string kept = path_ + ".kept";
    const bool is_live = !std::filesystem::exists(path_ + ".partial");
    const std::string name = is_live ? path_ : path_ + ".partial";
    std::filesystem::copy_file(name, kept, std::filesystem::copy_options::overwrite_existing);
    sink.reset();
    std::filesystem::rename(kept, name);
  }
};

TEST_F(ResumedFile, AWholeFileGoesOnBehindTheCheckpoint) {
  std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  const std::string snapshot = saved(*sink);
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  cut_short(std::move(sink));
  ASSERT_EQ(partial(), std::string(kHeader) + kRowA + kRowB);
  ASSERT_TRUE(resume(false, snapshot, sink).has_value());
  write_b(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);

  // Cut short after the file had its name: the last step comes again.
  ASSERT_TRUE(resume(false, snapshot, sink).has_value());
  write_b(*sink);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);
}

TEST_F(ResumedFile, ReadersOfALiveFileSeeNothingGo) {
  std::unique_ptr<Sink> sink = open(true);
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  const std::string snapshot = saved(*sink);
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  cut_short(std::move(sink));
  std::ofstream(path_, std::ios::app) << "2024-05-01T12:0";  // half a row of the next tick
  ASSERT_TRUE(resume(true, snapshot, sink).has_value());
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_THAT(content(), StartsWith(std::string(kHeader) + kRowA + kRowB));
  write_a(*sink);
  const Status other = sink->commit();  // the half row is of another minute
  ASSERT_TRUE(other.has_value()) << other.error().to_string();
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB + kRowA);
}

TEST_F(ResumedFile, WithoutACheckpointALiveFileStaysUntilItIsCaughtUpWith) {
  std::unique_ptr<Sink> sink = open(true);
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  cut_short(std::move(sink));
  ASSERT_TRUE(resume(true, "", sink).has_value());
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB);
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(content(), std::string(kHeader) + kRowA + kRowB + kRowA);
}

TEST_F(ResumedFile, AFileThatIsGoneIsRefused) {
  std::unique_ptr<Sink> sink = open();
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  const std::string snapshot = saved(*sink);
  cut_short(std::move(sink));
  std::filesystem::remove(path_ + ".partial");
  const Status refused = resume(false, snapshot, sink);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().detail, HasSubstr("it is gone"));
  EXPECT_EQ(partial(), "(none)");

  // Another run's file stands at the path: it is not taken for ours, and stays.
  const std::string other(500, 'x');
  std::ofstream(path_) << other;
  ASSERT_FALSE(resume(false, snapshot, sink).has_value());
  EXPECT_EQ(content(), other);
}

TEST_F(ResumedFile, AFileThatWasChangedIsRefused) {
  std::unique_ptr<Sink> sink = open(true);
  write_a(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  const std::string snapshot = saved(*sink);
  write_b(*sink);
  ASSERT_TRUE(sink->commit().has_value());
  cut_short(std::move(sink));
  const std::string whole = content();

  std::ofstream(path_) << whole.substr(0, 20);
  Status refused = resume(true, snapshot, sink);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().detail, HasSubstr("it has 20 bytes"));

  std::string changed = whole;
  changed[70] ^= 1;
  std::ofstream(path_) << changed;
  refused = resume(true, snapshot, sink);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().detail, HasSubstr("other bytes before"));

  changed = whole;
  changed.back() = '!';
  std::ofstream(path_) << changed;
  ASSERT_TRUE(resume(true, snapshot, sink).has_value());
  write_b(*sink);
  refused = sink->commit();
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().detail, HasSubstr("other rows than the run gives again"));
}

TEST(MakeFileSink, NeedsAPathAndAFormat) {
  const auto error = [](const std::string& path, const std::string& format) {
    const Result<std::unique_ptr<Sink>> sink = make_file_sink({.path = path, .format = format});
    return sink ? "fine" : sink.error().message;
  };
  EXPECT_EQ(error("", ""), "file sink without a path");
  EXPECT_EQ(error("out.txt", ""), "the name of file sink \"out.txt\" does not tell its format");
  EXPECT_EQ(error("out.txt", "parquet"), "unknown format \"parquet\" of file sink \"out.txt\"");
  EXPECT_EQ(error("out.csv.gz", "csv"), "file sink \"out.csv.gz\" would have to be compressed");
  EXPECT_EQ(error("out.csv.zst", ""), "file sink \"out.csv.zst\" would have to be compressed");
  for (const char* name : {"a.csv", "a.jsonl", "a.ndjson", "a.json"}) EXPECT_EQ(error(name, ""), "fine");
  EXPECT_EQ(error("a.txt", "jsonl"), "fine");
}

TEST(MakeFileSink, PromisesWhatItKeeps) {
  EXPECT_THAT((*make_file_sink({.path = "a.csv"}))->capabilities().promise, HasSubstr("one finished run"));
  EXPECT_THAT((*make_file_sink({.path = "a.csv", .live = true}))->capabilities().promise,
              HasSubstr("one write"));
  EXPECT_FALSE((*make_file_sink({.path = "a.csv", .mode = SinkMode::kAppend}))->capabilities().takes_updates);
}

}  // namespace
}  // namespace wrackline::connectors
