#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "env/clock.h"
#include "env/file.h"
#include "env/glob.h"
#include "env/stop_signals.h"
#include "env/terminal.h"

namespace wrackline::env {
namespace {

namespace fs = std::filesystem;

class Env : public testing::Test {
 protected:
  Env() {
    std::string pattern = (fs::temp_directory_path() / "wrackline-env-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Env() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& content) const {
    fs::create_directories(fs::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      found.push_back(entry.path().lexically_relative(folder_).string());
    }
    std::ranges::sort(found);
    return found;
  }
  std::vector<std::string> expanded(const std::string& pattern) const {
    const auto found = expand_glob(pattern, folder_);
    if (!found) return {found.error().to_string()};
    return *found;
  }

  std::string folder_;
};

// Runs `action` without root's power to read everything.
template <class Action>
void as_nobody(Action action) {
  const uid_t before = geteuid();
  ASSERT_EQ(seteuid(before == 0 ? 65534 : before), 0);
  action();
  ASSERT_EQ(seteuid(before), 0);
}

TEST_F(Env, ReadsAFileInPieces) {
  write("a", "hello world");
  auto file = InputFile::open(path("a"));
  ASSERT_TRUE(file);
  char bytes[6] = {};
  EXPECT_EQ(*file->read(bytes, 5), 5U);
  EXPECT_STREQ(bytes, "hello");
  EXPECT_EQ(file->state()->size_bytes, 11U);
  EXPECT_EQ(file->state()->kind, FileKind::kRegular);
  EXPECT_TRUE(file->wait_readable(Duration(0)));
  EXPECT_EQ(*file->read(bytes, 6), 6U);
  EXPECT_EQ(*file->read(bytes, 6), 0U);
  EXPECT_EQ(*read_file(path("a")), "hello world");
}

TEST_F(Env, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(InputFile::open(path("none")).error().code, ErrorCode::kNotFound);
  const auto directory = InputFile::open(folder_).error();
  EXPECT_EQ(directory.code, ErrorCode::kInvalid);
  EXPECT_EQ(directory.detail, "It is a directory.");
  EXPECT_EQ(directory.hint, "Name the files in it: " + folder_ + "/*");
  write("secret", "x");
  fs::permissions(path("secret"), fs::perms::none);
  fs::permissions(folder_, fs::perms::all);
  as_nobody([&] {
    const auto error = InputFile::open(path("secret")).error();
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_EQ(error.detail, "Permission denied");
  });
  EXPECT_EQ(read_file(write("large", std::string(1000, 'x')), 999).error().code, ErrorCode::kOutOfRange);
}

TEST_F(Env, AFileIsKnownWhateverItsName) {
  write("a", "1");
  const auto before = *file_state(path("a"));
  ASSERT_TRUE(before);
  fs::rename(path("a"), path("b"));
  EXPECT_EQ((*file_state(path("b")))->identity, before->identity);
  EXPECT_EQ(*file_state(path("a")), std::nullopt);
  write("a", "2");
  EXPECT_NE((*file_state(path("a")))->identity, before->identity);
  EXPECT_EQ(*file_state(path("b") + "/below"), std::nullopt);
  auto open = InputFile::open(path("b"));
  fs::remove(path("b"));
  EXPECT_EQ(open->state()->links, 0U);
}

TEST_F(Env, AStreamIsNotReadableUntilSomethingComes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const int both = ::open(path("pipe").c_str(), O_RDWR | O_NONBLOCK);
  auto file = InputFile::open(path("pipe"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->state()->kind, FileKind::kStream);
  EXPECT_FALSE(file->wait_readable(millis(1)));
  ASSERT_EQ(::write(both, "x", 1), 1);
  EXPECT_TRUE(file->wait_readable(millis(1)));
  ::close(both);
}

TEST_F(Env, ReplacesAFileWhole) {
  write("state", "old");
  EXPECT_TRUE(replace_file(path("state"), "new content"));
  EXPECT_EQ(*read_file(path("state")), "new content");
  EXPECT_TRUE(replace_file(path("fresh"), ""));
  EXPECT_EQ(names(), (std::vector<std::string>{"fresh", "state"}));
  EXPECT_EQ(replace_file(path("none/state"), "x").error().code, ErrorCode::kNotFound);
}

TEST_F(Env, AFailedReplacementKeepsTheOldContentAndNoNeighbour) {
  write("target/inside", "old");  // a folder that is not empty cannot be renamed over
  EXPECT_FALSE(replace_file(path("target"), "new"));
  EXPECT_EQ(names(), (std::vector<std::string>{"target", "target/inside"}));
  if (const int full = ::open("/dev/full", O_WRONLY); full >= 0) {
    ::close(full);
    fs::create_symlink("/dev/full", path("state"));
    // The neighbour is a real file, so only the name is replaced: the device is not written to.
    EXPECT_TRUE(replace_file(path("state"), "x"));
    EXPECT_EQ(*read_file(path("state")), "x");
  }
}

TEST_F(Env, MakesFolders) {
  EXPECT_TRUE(make_directories(path("a/b//c/")));
  EXPECT_TRUE(fs::is_directory(path("a/b/c")));
  EXPECT_TRUE(make_directories(path("a/b")));
  write("file", "x");
  EXPECT_EQ(make_directories(path("file")).error().detail, "A file has that name.");
  EXPECT_EQ(make_directories(path("file/below")).error().code, ErrorCode::kUnavailable);
}

TEST_F(Env, ExpandsPatternsInOrderOfNames) {
  for (const char* name :
       {"b.jsonl", "a.jsonl", "B.jsonl", "c.csv", ".hidden.jsonl", "sub/d.jsonl", "sub.jsonl/x"}) {
    write(name, "");
  }
  EXPECT_EQ(expanded("*.jsonl"), (std::vector<std::string>{"B.jsonl", "a.jsonl", "b.jsonl"}));
  EXPECT_EQ(expanded("*/*.jsonl"), (std::vector<std::string>{"sub/d.jsonl"}));
  EXPECT_EQ(expanded("[ab].json?"), (std::vector<std::string>{"a.jsonl", "b.jsonl"}));
  EXPECT_EQ(expanded("c.csv"), (std::vector<std::string>{"c.csv"}));
  EXPECT_EQ(expanded(path("a.jsonl")), (std::vector<std::string>{path("a.jsonl")}));
  EXPECT_EQ(*expand_glob(path("*.csv")), (std::vector<std::string>{path("c.csv")}));
}

TEST_F(Env, AFileWhoseNameLooksLikeAPatternIsThatFile) {
  write("a[1].csv", "");
  write("a1.csv", "");
  EXPECT_EQ(expanded("a[1].csv"), (std::vector<std::string>{"a[1].csv"}));
  write("odd[x]/a.csv", "");
  EXPECT_EQ(*expand_glob("*.csv", path("odd[x]")), (std::vector<std::string>{"a.csv"}));
}

TEST_F(Env, SaysWhatIsMissing) {
  write("clicks.jsonl", "");
  write("sub/x", "");
  EXPECT_EQ(expanded("clikcs.jsonl"), (std::vector<std::string>{"cannot read file \"clikcs.jsonl\"\n"
                                                                "detail: No such file or directory.\n"
                                                                "hint: Did you mean \"clicks.jsonl\"?"}));
  const auto pattern = expand_glob("*.csv", folder_).error();
  EXPECT_EQ(pattern.code, ErrorCode::kNotFound);
  EXPECT_EQ(pattern.message, "no file matches \"*.csv\"");
  EXPECT_FALSE(pattern.hint.empty());
  EXPECT_EQ(expand_glob("none/*.csv", folder_).error().detail,
            "There is no folder \"" + path("none") + "\".");
  EXPECT_EQ(expand_glob("sub", folder_).error().hint, "Name the files in it: sub/*");
  EXPECT_EQ(*match_glob("*.csv", folder_), std::vector<std::string>());
  EXPECT_EQ(expand_glob("s*b", folder_).error().code, ErrorCode::kNotFound);  // a pattern means files
}

TEST(StopSignals, TheFirstOneIsARequest) {
  static std::atomic<int> calls = 0;
  {
    const StopSignals signals([](void* context) { ++*static_cast<std::atomic<int>*>(context); }, &calls);
    EXPECT_FALSE(signals.requested());
    std::raise(SIGTERM);
    EXPECT_TRUE(signals.requested());
    EXPECT_EQ(signals.signal(), SIGTERM);
    EXPECT_EQ(calls, 1);
  }
  const StopSignals again;
  EXPECT_FALSE(again.requested());
}

TEST(StopSignalsDeathTest, TheSecondOneEndsTheProcess) {
  EXPECT_EXIT(
      {
        const StopSignals signals;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalsDeathTest, ABackgroundJobStaysDeafToTheKeyboard) {
  EXPECT_EXIT(
      {
        ::signal(SIGINT, SIG_IGN);
        const StopSignals signals;
        std::raise(SIGINT);
        std::_Exit(signals.requested() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(Terminal, APipeIsNone) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int saved = dup(STDIN_FILENO);
  ASSERT_EQ(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  EXPECT_FALSE(is_terminal(StandardStream::kInput));
  EXPECT_EQ(terminal_width(StandardStream::kInput, 72), 72U);
  if (saved >= 0) dup2(saved, STDIN_FILENO);
  for (const int end : {ends[0], ends[1], saved}) {
    if (end >= 0) close(end);
  }
}

TEST(Clock, TheSettableOneMovesOnlyWhenTold) {
  SettableClock clock{WallTime(1000)};
  EXPECT_EQ(clock.now(), WallTime(1000));
  clock.sleep(micros(5));
  EXPECT_EQ(clock.now(), WallTime(1005));
  EXPECT_EQ(clock.monotonic_us(), 5);
  clock.set(WallTime(10));
  EXPECT_EQ(clock.now(), WallTime(10));
  EXPECT_EQ(clock.monotonic_us(), 5);
}

}  // namespace
}  // namespace wrackline::env
