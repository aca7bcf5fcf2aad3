// The ledger in a folder of its own, and entries to put in: what the tests of this room share.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "ledger/ledger.h"
#include "ledger/ledger_schema.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

inline constexpr int64_t kSecond = 1'000'000;
inline constexpr int64_t kNoon = 1'714'564'800 * kSecond;  // 2024-05-01T12:00:00Z

inline Entry late_entry(int64_t offset, std::string payload = "{\"page\":\"/home\"}") {
  Entry entry;
  entry.view = "clicks_per_minute";
  entry.source = "clicks";
  entry.partition = "phone";
  entry.file = "clicks/a.jsonl";
  entry.offset = offset;
  entry.line = offset + 1;
  entry.key = "\"/home\"";
  entry.event_time_us = kNoon + 1;
  entry.arrival_time_us = kNoon + 300 * kSecond + 250'000;
  entry.reason = Reason::kLate;
  entry.windows = {{kNoon, kNoon + 60 * kSecond, 30 * kSecond}};
  entry.watermark_us = kNoon + 90 * kSecond;
  entry.tick = 3;
  entry.payload = std::move(payload);
  return entry;
}

// Runs `body` in a child process and returns what it wrote; the child never returns into the test.
inline std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    const std::string said = body();
    static_cast<void>(write(ends[1], said.data(), said.size()) == 0);
    _exit(0);
  }
  close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t size = 0; (size = read(ends[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<size_t>(size));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) said += format(" [signal {}]", WTERMSIG(status));
  return said;
}

class LedgerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "wrackline-ledger-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    state_ = folder_ + "/state";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Ledger> open_run(const std::string& job = "job.sql",
                                   RunChoice choice = RunChoice::kNew) const {
    Result<std::unique_ptr<Ledger>> ledger = Ledger::open_for_run(state_, job, choice);
    if (!ledger) ADD_FAILURE() << ledger.error().to_string();
    return ledger ? std::move(*ledger) : nullptr;
  }
  std::unique_ptr<Ledger> resume_run() const { return open_run("job.sql", RunChoice::kResumeUnfinished); }
  std::unique_ptr<Ledger> open_reader(std::optional<int64_t> generation = std::nullopt) const {
    Result<std::unique_ptr<Ledger>> ledger = Ledger::open_to_read(state_, generation);
    if (!ledger) ADD_FAILURE() << ledger.error().to_string();
    return ledger ? std::move(*ledger) : nullptr;
  }
  Error run_error() const {
    Result<std::unique_ptr<Ledger>> ledger = Ledger::open_for_run(state_, "job.sql");
    return ledger ? Error{ErrorCode::kInvalid, "it opened", {}, {}, {}} : ledger.error();
  }
  Error read_error(std::optional<int64_t> generation = std::nullopt) const {
    Result<std::unique_ptr<Ledger>> ledger = Ledger::open_to_read(state_, generation);
    return ledger ? Error{ErrorCode::kInvalid, "it opened", {}, {}, {}} : ledger.error();
  }
  // A finished run with entries at these offsets.
  void finished_run(const std::vector<int64_t>& offsets) const {
    const std::unique_ptr<Ledger> ledger = open_run();
    for (const int64_t offset : offsets) add(*ledger, late_entry(offset));
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  static void add(Ledger& ledger, Entry entry) {
    const Status status = ledger.add(std::move(entry));
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  static void commit(Ledger& ledger) {
    const Status status = ledger.commit();
    ASSERT_TRUE(status.has_value()) << status.error().to_string();
  }
  static std::vector<Entry> entries(Ledger& ledger, const Filter& filter = {}) {
    std::vector<Entry> found;
    const Status status = ledger.scan(filter, [&](const Entry& entry) {
      found.push_back(entry);
      return true;
    });
    EXPECT_TRUE(status.has_value()) << status.error().to_string();
    return found;
  }
  static std::vector<int64_t> offsets(Ledger& ledger, const Filter& filter = {}) {
    std::vector<int64_t> found;
    for (const Entry& entry : entries(ledger, filter)) found.push_back(entry.offset);
    return found;
  }
  // The rows of a query as "a|b" lines.
  std::string query(const std::string& sql) const {
    Result<sqlite::Database> database =
        sqlite::Database::open(ledger_path(state_), {.access = sqlite::Access::kRead});
    if (!database) return database.error().to_string();
    Result<sqlite::Statement> statement = database->prepare("SELECT * FROM (" + sql + ")");
    if (!statement) return statement.error().to_string();
    std::string rows;
    for (;;) {
      const Result<bool> row = statement->step();
      if (!row) return row.error().to_string();
      if (!*row) return rows;
      for (int i = 0; i < statement->columns(); ++i) {
        rows += format("{}{}", i > 0 ? "|" : "", statement->is_null(i) ? "NULL" : statement->text(i));
      }
      rows += "\n";
    }
  }

  std::string folder_;
  std::string state_;
};

}  // namespace wrackline::ledger
