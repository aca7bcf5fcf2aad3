#include "env/forked_task.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace wrackline::env {
namespace {

class BothModes : public testing::TestWithParam<TaskMode> {};
INSTANTIATE_TEST_SUITE_P(Task, BothModes, testing::Values(TaskMode::kForked, TaskMode::kInline),
                         [](const auto& which) {
                           return which.param == TaskMode::kForked ? "Forked" : "Inline";
                         });

TEST_P(BothModes, WhatTheWorkReturnsIsBroughtBack) {
  // More than a pipe holds.
  const std::string large(size_t{1} << 20, 'x');
  const TaskOutcome outcome =
      start_task(GetParam(), [&] { return Result<std::string>(large + "end"); })->wait();
  ASSERT_TRUE(outcome.result.has_value());
  EXPECT_EQ(*outcome.result, large + "end");
  EXPECT_GE(outcome.stall_us, 0);
}

TEST_P(BothModes, AFailureIsBroughtBackWhole) {
  const auto work = []() -> Result<std::string> {
    return fail(ErrorCode::kOutOfRange, "a message", "A detail.", "A hint.");
  };
  const TaskOutcome outcome = start_task(GetParam(), work)->wait();
  ASSERT_FALSE(outcome.result.has_value());
  EXPECT_EQ(outcome.result.error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(outcome.result.error().to_string(), "a message\ndetail: A detail.\nhint: A hint.");
}

TEST_P(BothModes, WhatIsThrownIsAFailure) {
  const auto work = []() -> Result<std::string> { throw std::runtime_error("it broke"); };
  EXPECT_EQ(start_task(GetParam(), work)->wait().result.error().detail, "it broke");
}

TEST(ForkedTask, TheWorkSeesTheMemoryAsItStood) {
  std::vector<int> state(1000, 1);
  std::array<int, 2> gate{};
  ASSERT_EQ(pipe(gate.data()), 0);
  auto task = start_task(TaskMode::kForked, [&]() -> Result<std::string> {
    char byte = 0;
    static_cast<void>(!read(gate[0], &byte, 1));
    int64_t sum = 0;
    for (const int value : state) sum += value;
    state.assign(1000, 7);  // the parent does not see it
    return std::to_string(sum);
  });
  EXPECT_FALSE(task->poll().has_value()) << "does not block";
  state.assign(1000, 2);
  EXPECT_EQ(write(gate[1], "x", 1), 1);
  EXPECT_EQ(*task->wait().result, "1000");
  EXPECT_EQ(state[0], 2);
  close(gate[0]);
  close(gate[1]);
}

TEST(ForkedTask, IsPolled) {
  auto task = start_task(TaskMode::kForked, [] { return Result<std::string>("done"); });
  for (int i = 0; i < 10'000; ++i) {
    if (const auto outcome = task->poll()) {
      EXPECT_EQ(*outcome->result, "done");
      return;
    }
    usleep(1000);
  }
  FAIL() << "it never ended";
}

struct ExitHandler {
  ~ExitHandler() { _exit(77); }
};

TEST(ForkedTask, ReturnsToNobodyAndRunsNoDestructor) {
  const ExitHandler* handler = new ExitHandler;  // would end the process if it were destroyed
  static_cast<void>(std::atexit([] {}));
  const pid_t before = getpid();
  EXPECT_TRUE(
      start_task(TaskMode::kForked, [] { return Result<std::string>(""); })->wait().result.has_value());
  EXPECT_EQ(getpid(), before);
  EXPECT_NE(handler, nullptr);
  operator delete(const_cast<ExitHandler*>(handler));
}

TEST(ForkedTask, AKilledChildIsAFailureThatSaysSo) {
  auto task = start_task(TaskMode::kForked, []() -> Result<std::string> {
    raise(SIGKILL);
    return "";
  });
  const TaskOutcome outcome = task->wait();
  ASSERT_FALSE(outcome.result.has_value());
  EXPECT_EQ(outcome.result.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(outcome.result.error().detail.contains("signal 9")) << outcome.result.error().detail;
}

TEST(ForkedTask, SignalsThatMeanTheParentDoNotEndIt) {
  const TaskOutcome outcome = start_task(TaskMode::kForked, []() -> Result<std::string> {
                                for (const int number : {SIGINT, SIGTERM, SIGHUP}) raise(number);
                                return "still here";
                              })->wait();
  EXPECT_EQ(*outcome.result, "still here");
}

TEST(ForkedTask, IsKilledWhenNobodyWantsItAnyMore) {
  std::array<int, 2> life{};
  ASSERT_EQ(pipe(life.data()), 0);
  auto task = start_task(TaskMode::kForked, []() -> Result<std::string> {
    for (;;) pause();
  });
  close(life[1]);
  EXPECT_FALSE(task->poll().has_value());
  task.reset();
  char byte = 0;
  EXPECT_EQ(read(life[0], &byte, 1), 0) << "its end of the pipe is closed";
  close(life[0]);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  EXPECT_EQ(errno, ECHILD);
}

// A process in between starts the task and is killed; the task must not go on.
TEST(ForkedTask, DiesWithItsParent) {
  std::array<int, 2> life{};
  ASSERT_EQ(pipe(life.data()), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const auto task = start_task(TaskMode::kForked, [&]() -> Result<std::string> {
      static_cast<void>(!write(life[1], "x", 1));
      for (;;) pause();
    });
    for (;;) pause();
  }
  close(life[1]);
  char byte = 0;
  ASSERT_EQ(read(life[0], &byte, 1), 1) << "the task has begun";
  kill(parent, SIGKILL);
  waitpid(parent, nullptr, 0);
  EXPECT_EQ(read(life[0], &byte, 1), 0) << "nobody holds the other end";
  close(life[0]);
}

}  // namespace
}  // namespace wrackline::env
