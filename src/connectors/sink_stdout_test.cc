#include "connectors/sink_stdout.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "connectors/sink_rows_test.h"

namespace wrackline::connectors {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kFirstRow =
    "{\"window_start\":\"2024-05-01T12:00:00Z\",\"page\":\"/"
    "a\",\"clicks\":3,\"_op\":\"insert\",\"_version\":1,\"_status\":"
    "\"on_time\",\"_generation\":1}\n";

class StdoutSinkTest : public testing::Test {
 protected:
  void SetUp() override {
    std::signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends_), 0);
  }
  void TearDown() override {
    for (const int end : ends_) {
      if (end >= 0) close(end);
    }
  }
  std::unique_ptr<Sink> open(StdoutSinkOptions options = {}) {
    options.descriptor = ends_[1];
    Result<std::unique_ptr<Sink>> sink = make_stdout_sink(options);
    if (!sink) {
      ADD_FAILURE() << sink.error().to_string();
      return nullptr;
    }
    EXPECT_TRUE((*sink)->open(kClicks, "clicks_per_minute", 1).has_value());
    return std::move(*sink);
  }
  // What is in the pipe now.
  std::string printed() const {
    std::string text;
    char buffer[65536];
    pollfd ready{.fd = ends_[0], .events = POLLIN, .revents = 0};
    while (poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
      const ssize_t size = read(ends_[0], buffer, sizeof(buffer));
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(StdoutSinkTest, PrintsJsonLinesIntoAPipeWhenATickCommits) {
  const std::unique_ptr<Sink> sink = open();
  ASSERT_TRUE(sink->write(Changes().click(0, "/a", 3).batch()).has_value());
  EXPECT_EQ(printed(), "");
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(printed(), kFirstRow);
  ASSERT_TRUE(sink->close(true).has_value());
  EXPECT_EQ(printed(), "");
}

TEST_F(StdoutSinkTest, PrintsCsvWhenAsked) {
  const std::unique_ptr<Sink> sink = open({.format = "csv"});
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(printed(), "window_start,page,clicks,_op,_version,_status,_generation\n");
  ASSERT_TRUE(sink->write(Changes().click(0, "/a", 3).batch()).has_value());
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(printed(), "2024-05-01T12:00:00Z,/a,3,insert,1,on_time,1\n");
}

TEST_F(StdoutSinkTest, PrintsATableOnATerminal) {
  const std::unique_ptr<Sink> sink = open({.terminal = true, .colour = false});
  ASSERT_TRUE(sink->write(Changes()
                              .click(0, "/a", 3)
                              .click(0, "/a", 4, RowOp::kUpdate, 2, RowStatus::kCorrection)
                              .batch())
                  .has_value());
  ASSERT_TRUE(sink->commit().has_value());
  EXPECT_EQ(printed(),
            "window_start          page  clicks\n"
            "--------------------  ----  ------\n"
            "2024-05-01T12:00:00Z  /a         3\n"
            "2024-05-01T12:00:00Z  /a         4  v2 correction\n");
}

// A real terminal: the sink finds out by itself. NO_COLOR and TERM decide about colours.
TEST_F(StdoutSinkTest, AsksTheDescriptorAndTheEnvironment) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    GTEST_SKIP() << "no pseudo-terminal here";
  const int other_end = ::open(ptsname(terminal), O_RDWR | O_NOCTTY);
  ASSERT_GE(other_end, 0);
  const auto shown = [&] {
    Result<std::unique_ptr<Sink>> sink = make_stdout_sink({.descriptor = other_end});
    EXPECT_TRUE((*sink)->open(kClicks, "v", 1).has_value());
    EXPECT_TRUE((*sink)->write(Changes().click(0, "/a", 3).batch()).has_value());
    EXPECT_TRUE((*sink)->commit().has_value());
    char buffer[4096];
    const ssize_t size = read(terminal, buffer, sizeof(buffer));
    return std::string(buffer, size > 0 ? static_cast<size_t>(size) : 0);
  };
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  EXPECT_THAT(shown(), StartsWith("\x1b[1mwindow_start"));
  setenv("NO_COLOR", "1", 1);
  EXPECT_THAT(shown(), StartsWith("window_start"));
  unsetenv("NO_COLOR");
  setenv("TERM", "dumb", 1);
  EXPECT_THAT(shown(), StartsWith("window_start"));
  close(other_end);
  close(terminal);
}

TEST_F(StdoutSinkTest, AReaderThatWentAwayIsTold) {
  const std::unique_ptr<Sink> sink = open();
  close(std::exchange(ends_[0], -1));
  ASSERT_TRUE(sink->write(Changes().click(0, "/a", 3).batch()).has_value());
  const Status status = sink->commit();
  ASSERT_FALSE(status.has_value());
  EXPECT_TRUE(is_output_closed(status.error()));
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(status.error().message, "standard output was closed by its reader");
  EXPECT_TRUE(sink->close(false).has_value()) << "nothing is left to say";
}

TEST_F(StdoutSinkTest, AFullDiskIsNoClosedReader) {
  close(std::exchange(ends_[1], ::open("/dev/full", O_WRONLY)));
  const std::unique_ptr<Sink> sink = open();
  ASSERT_TRUE(sink->write(Changes().click(0, "/a", 3).batch()).has_value());
  const Status status = sink->commit();
  ASSERT_FALSE(status.has_value());
  EXPECT_FALSE(is_output_closed(status.error()));
  EXPECT_EQ(status.error().message, "cannot write standard output: disk full");
  EXPECT_EQ(status.error().detail, "No space left on device; 0 bytes were written before.");
}

TEST_F(StdoutSinkTest, AnUncommittedTickIsNotPrinted) {
  const std::unique_ptr<Sink> sink = open();
  ASSERT_TRUE(sink->write(Changes().click(0, "/a", 3).batch()).has_value());
  ASSERT_TRUE(sink->commit().has_value());
  ASSERT_TRUE(sink->write(Changes().click(1, "/b", 3).batch()).has_value());
  ASSERT_TRUE(sink->close(false).has_value());
  EXPECT_EQ(printed(), kFirstRow);
}

// Larger than the pipe and than what the sink holds; the pipe does not block, so the sink has to wait for its
// reader.
TEST_F(StdoutSinkTest, ALargeTickComesWholeThroughANonBlockingPipe) {
  ASSERT_EQ(fcntl(ends_[1], F_SETFL, O_NONBLOCK), 0);
  const std::unique_ptr<Sink> sink = open({.format = "csv"});
  Changes changes;
  for (int64_t i = 0; i < 1000; ++i) changes.click(0, std::string(100, 'x'), i);
  std::string text;
  std::thread reader([&] {
    char buffer[65536];
    for (ssize_t size = 0; (size = read(ends_[0], buffer, sizeof(buffer))) > 0;)
      text.append(buffer, static_cast<size_t>(size));
  });
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(sink->write(changes.batch()).has_value());
  ASSERT_TRUE(sink->commit().has_value());
  close(std::exchange(ends_[1], -1));
  reader.join();
  EXPECT_GT(text.size(), kStdoutHeldBytes);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 60'001);
  EXPECT_THAT(text, testing::EndsWith(",999,insert,1,on_time,1\n"));
}

TEST(MakeStdoutSink, RefusesUnknownFormats) {
  const Result<std::unique_ptr<Sink>> sink = make_stdout_sink({.format = "xml"});
  ASSERT_FALSE(sink.has_value());
  EXPECT_EQ(sink.error().code, ErrorCode::kInvalid);
  EXPECT_EQ(sink.error().message, "unknown format \"xml\" for standard output");
  EXPECT_EQ(sink.error().hint, "Use \"table\", \"jsonl\" or \"csv\".");
}

TEST(MakeStdoutSink, PromisesWhatItsModeTakes) {
  EXPECT_TRUE((*make_stdout_sink({}))->capabilities().takes_updates);
  EXPECT_TRUE((*make_stdout_sink({}))->capabilities().takes_retracts);
  EXPECT_THAT((*make_stdout_sink({}))->capabilities().promise, HasSubstr("prints them again"));
  const SinkCapabilities append = (*make_stdout_sink({.mode = SinkMode::kAppend}))->capabilities();
  EXPECT_FALSE(append.takes_updates);
  EXPECT_FALSE(append.takes_retracts);
  EXPECT_THAT(append.promise, Not(HasSubstr("corrections")));
}

}  // namespace
}  // namespace wrackline::connectors
