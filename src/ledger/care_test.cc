// Entries after they were written: retention, waiving, purging, and the audit trail that they leave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <set>

#include "ledger/edit.h"
#include "ledger/ledger_fixture_test.h"

namespace wrackline::ledger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr int64_t kDay = 86'400 * kSecond;

class CareTest : public LedgerTest {
 protected:
  std::function<int64_t()> clock() {
    return [this] { return now_us_; };
  }
  void retain(Ledger& ledger, Retention rule) {
    rule.view = "clicks_per_minute";
    ASSERT_TRUE(ledger.set_retention({rule}, clock()).has_value());
  }
  std::vector<AuditLine> trail() const {
    std::vector<AuditLine> lines;
    const std::unique_ptr<Ledger> reader = open_reader();
    EXPECT_TRUE(reader
                    ->audit([&](const AuditLine& line) {
                      lines.push_back(line);
                      return true;
                    })
                    .has_value());
    return lines;
  }
  int64_t removed_in_trail() const {
    int64_t sum = 0;
    for (const AuditLine& line : trail()) {
      if (line.action.starts_with("retention") || line.action == "purge_entries") sum += line.entries();
    }
    return sum;
  }
  EditResult edit(EditAction action, const Filter& filter, bool dry_run = false) const {
    auto result = edit_entries(state_, {action, filter, std::nullopt, "ann", "asked for", dry_run});
    if (!result) ADD_FAILURE() << result.error().to_string();
    return result.value_or(EditResult{});
  }
  Error edit_error(const Filter& filter) const {
    auto result = edit_entries(state_, {EditAction::kWaive, filter, std::nullopt, "ann", "asked for", false});
    return result ? Error{ErrorCode::kInvalid, "it worked", {}, {}, {}} : result.error();
  }
  // Every byte of every file of the state directory.
  std::string all_bytes() const {
    std::string bytes;
    for (const auto& file : std::filesystem::recursive_directory_iterator(state_)) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path(), std::ios::binary);
      bytes.append(std::istreambuf_iterator<char>(in), {});
    }
    return bytes;
  }

  int64_t now_us_ = kNoon;
};

// --- Retention

TEST_F(CareTest, OldEntriesLeaveAndAreCounted) {
  const std::unique_ptr<Ledger> ledger = open_run();
  retain(*ledger, {.age = seconds(86'400)});
  for (int64_t i = 0; i < 10; ++i) {
    add(*ledger, late_entry(i));
    Entry other = late_entry(i);
    other.view = "without_a_rule";
    add(*ledger, other);
    commit(*ledger);
    now_us_ += kDay / 10;
  }
  EXPECT_EQ(ledger->size(), 20);
  now_us_ = kNoon + kDay - 1;
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 20) << "a microsecond less than a day";
  now_us_ = kNoon + kDay + kDay / 2;
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 14);
  EXPECT_THAT(offsets(*ledger, {.view = "clicks_per_minute"}), ElementsAre(6, 7, 8, 9));
  const std::vector<AuditLine> lines = trail();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].action, "retention_age");
  EXPECT_EQ(lines[0].chosen, "view \"clicks_per_minute\": older than ledger_retention, 1 day");
  EXPECT_EQ(lines[0].run, 1);
  ASSERT_EQ(lines[0].counts.size(), 1U);
  EXPECT_EQ(lines[0].counts[0].entries, 6);
  EXPECT_EQ(lines[0].counts[0].reason, Reason::kLate);
  EXPECT_EQ(open_reader()->info()->retired, 6);
  EXPECT_EQ(open_reader()->info()->entries, 14);
}

TEST_F(CareTest, TheOldestGoWhenThereAreTooManyOrTheyAreTooLarge) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    retain(*ledger, {.entries_max = 3});
    for (int64_t i = 0; i < 10; ++i) add(*ledger, late_entry(i));
    commit(*ledger);
    EXPECT_THAT(offsets(*ledger), ElementsAre(7, 8, 9));
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  const std::unique_ptr<Ledger> ledger = open_run();
  const int64_t each = kEntryBytes + 1000 + static_cast<int64_t>(late_entry(0).key.size());
  retain(*ledger, {.bytes_max = 4 * each});
  for (int64_t i = 0; i < 10; ++i) {
    add(*ledger, late_entry(i, std::string(1000, 'x')));
    commit(*ledger);
  }
  EXPECT_THAT(offsets(*ledger), ElementsAre(6, 7, 8, 9));
  const std::vector<AuditLine> lines = trail();
  ASSERT_EQ(lines.size(), 3U) << "the older run's entries, then this one's";
  EXPECT_EQ(lines[0].action, "retention_entries");
  EXPECT_EQ(lines[0].entries(), 7);
  EXPECT_EQ(lines[1].run, 1);
  EXPECT_EQ(lines[1].entries(), 3);
  EXPECT_EQ(lines[2].run, 2);
  EXPECT_EQ(lines[2].entries(), 6);
  EXPECT_EQ(lines[2].counts[0].payload_bytes, 6000);
}

TEST_F(CareTest, ALargeBacklogLeavesInSteps) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 5000; ++i) add(*ledger, late_entry(i));
  commit(*ledger);
  retain(*ledger, {.entries_max = 10});
  int64_t commits = 0;
  for (int64_t before = 5000; ledger->size() > 10; before = ledger->size()) {
    commit(*ledger);
    ++commits;
    ASSERT_LT(ledger->size(), before);
    ASSERT_GE(ledger->size(), before - 2000);
  }
  EXPECT_EQ(commits, 3);
  EXPECT_EQ(ledger->size(), 10);
  EXPECT_EQ(removed_in_trail(), 4990);
  EXPECT_EQ(trail().size(), 1U) << "one line a day";
  now_us_ += kDay;
  add(*ledger, late_entry(9000));
  commit(*ledger);
  EXPECT_EQ(trail().size(), 2U);
}

TEST_F(CareTest, AViewThatFillsFastComesBackToItsLimit) {
  const std::unique_ptr<Ledger> ledger = open_run();
  retain(*ledger, {.entries_max = 100});
  int64_t offset = 0;
  for (int tick = 0; tick < 5; ++tick) {
    for (int64_t i = 0; i < 3000; ++i) add(*ledger, late_entry(offset++));
    commit(*ledger);
    EXPECT_EQ(ledger->size(), 100);
  }
}

TEST_F(CareTest, TheEndOfARunReachesTheLimit) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 9000; ++i) add(*ledger, late_entry(i));
  commit(*ledger);
  retain(*ledger, {.age = seconds(1), .entries_max = 10});
  ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  EXPECT_EQ(open_reader()->size() + removed_in_trail(), 9000);
  EXPECT_LE(open_reader()->size(), 10);
}

TEST_F(CareTest, AReplayDoesNotBringRemovedEntriesBack) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    retain(*ledger, {.entries_max = 4});
    for (int64_t i = 0; i < 10; ++i) add(*ledger, late_entry(i));
    commit(*ledger);
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  {
    const std::unique_ptr<Ledger> ledger = resume_run();
    retain(*ledger, {.entries_max = 4});
    ASSERT_TRUE(ledger->rewind(0).has_value());
    for (int64_t i = 0; i < 12; ++i) add(*ledger, late_entry(i));
    commit(*ledger);
    EXPECT_THAT(offsets(*ledger), ElementsAre(8, 9, 10, 11));
    EXPECT_EQ(ledger->last_seq(), 12);
    ledger->settle(10);  // no later attempt goes back to before entry 10
    commit(*ledger);
    EXPECT_EQ(query("SELECT count(*) FROM removed"), "0\n");
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  EXPECT_EQ(removed_in_trail(), 8);
  const std::unique_ptr<Ledger> ledger = resume_run();
  ASSERT_TRUE(ledger->rewind(10).has_value());
  EXPECT_EQ(ledger->size(), 4);
}

TEST_F(CareTest, AReplayFromBeforeWhatIsStillKnownIsRefused) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    retain(*ledger, {.entries_max = 4});
    for (int64_t i = 0; i < 10; ++i) add(*ledger, late_entry(i));
    commit(*ledger);
    ledger->settle(10);
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  const std::unique_ptr<Ledger> ledger = resume_run();
  const Status status = ledger->rewind(0);
  ASSERT_FALSE(status.has_value());
  EXPECT_THAT(status.error().message, HasSubstr("run 1 cannot be replayed from so far back"));
  EXPECT_EQ(status.error().detail,
            "6 entries were removed by retention or a purge; the identities of 0 are still known.");
}

// Runs, kills, replays, purges: what was put in is what is there and what the trail says, at every moment.
TEST_F(CareTest, NothingLeavesWithoutACount) {
  constexpr unsigned kSeed = 4;
  std::mt19937 random(kSeed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)); };
  int64_t reached = 0;     // records that the committed run has met
  int64_t checkpoint = 0;  // record and entry that a resume goes back to: each record is an entry
  int64_t checked = 0;
  for (int attempt = 0; attempt < 60; ++attempt) {
    {
      const std::unique_ptr<Ledger> ledger = resume_run();
      ASSERT_EQ(ledger->run(), 1);
      retain(*ledger, {.age = seconds(600), .entries_max = 20 + below(30)});
      ASSERT_TRUE(ledger->rewind(checkpoint).has_value());
      int64_t at = checkpoint;
      for (int tick = 0; tick < 8; ++tick) {
        for (int64_t i = below(30); i > 0; --i) add(*ledger, late_entry(at++));
        if (below(3) == 0) continue;
        now_us_ += below(200) * kSecond;
        commit(*ledger);
        reached = std::max(reached, at);
        if (below(4) == 0) {
          checkpoint = std::max(checkpoint, at);
          ledger->settle(std::max<int64_t>(0, checkpoint - below(10)));
        }
        ASSERT_EQ(ledger->size() + removed_in_trail(), reached) << "seed " << kSeed << " attempt " << attempt;
        ++checked;
      }
      if (below(2) == 0) {
        ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
        reached = std::max(reached, at);
      }
    }
    if (below(5) == 0) edit(EditAction::kPurgeEntries, {.reason = Reason::kLate});
    ASSERT_EQ(open_reader()->size() + removed_in_trail(), reached)
        << "seed " << kSeed << " attempt " << attempt;
    ASSERT_EQ(query("SELECT last_seq FROM generation ORDER BY generation DESC LIMIT 1"),
              format("{}\n", reached));
  }
  EXPECT_GT(checked, 100);
}

// --- Waiving and purging

class EditTest : public CareTest {
 protected:
  void SetUp() override {
    CareTest::SetUp();
    const std::unique_ptr<Ledger> ledger = open_run();
    for (int64_t i = 0; i < 6; ++i) {
      Entry entry = late_entry(i, format("{{\"page\":\"/secret-{}\"}}", i));
      entry.key = format("\"/secret-{}\"", i);
      entry.detail = "column \"page\": \"/secret-detail\"";
      if (i % 2 == 1) entry.reason = Reason::kFuture;
      if (i == 5) {
        entry.view = "other";
        entry.windows = {{kNoon + 60 * kSecond, kNoon + 120 * kSecond, 1}, {kNoon, kNoon + 60 * kSecond, 9}};
      }
      add(*ledger, entry);
    }
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
};

TEST_F(EditTest, WaivedEntriesSayWhoAndWhy) {
  const EditResult result = edit(EditAction::kWaive, {.view = "clicks_per_minute", .reason = Reason::kLate});
  EXPECT_EQ(result.entries, 3);
  EXPECT_EQ(result.left_alone, 0);
  EXPECT_EQ(result.audit, 1);
  const std::vector<Entry> found = entries(*open_reader());
  ASSERT_EQ(found.size(), 6U);
  for (const Entry& entry : found) {
    const bool waived = entry.offset % 2 == 0;
    EXPECT_EQ(entry.state, waived ? "waived" : "open");
    EXPECT_EQ(entry.audit, waived ? std::optional<int64_t>(1) : std::nullopt);
  }
  const std::vector<AuditLine> lines = trail();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].action, "waive");
  EXPECT_EQ(lines[0].who, "ann");
  EXPECT_EQ(lines[0].because, "asked for");
  EXPECT_EQ(lines[0].chosen, "view \"clicks_per_minute\", reason late");
  EXPECT_GT(lines[0].began_us, kNoon);
  EXPECT_EQ(query("SELECT who, because, chosen, reason, entries FROM audit_trail"),
            "ann|asked for|view \"clicks_per_minute\", reason late|late|3\n");

  const EditResult again = edit(EditAction::kWaive, {.view = "clicks_per_minute"});
  EXPECT_EQ(again.entries, 2);
  EXPECT_EQ(again.left_alone, 3);
  const EditResult never = edit(EditAction::kWaive, {.view = "clicks_per_minute"});
  EXPECT_EQ(never.entries, 0);
  EXPECT_EQ(never.audit, std::nullopt) << "nothing was done, so nothing is told";
  EXPECT_EQ(trail().size(), 2U);
  int64_t waived = 0;
  const auto summary = open_reader()->summary();
  for (const auto& line : *summary) waived += line.waived;
  EXPECT_EQ(waived, 5);
}

TEST_F(EditTest, AWindowChoosesByAnyWindowThatWasMissed) {
  EXPECT_EQ(edit(EditAction::kWaive, {.window_start_us = kNoon}, true).entries, 6);
  EXPECT_EQ(edit(EditAction::kWaive, {.window_start_us = kNoon + 60 * kSecond}, true).entries, 1);
  EXPECT_EQ(edit(EditAction::kWaive, {.view = "other", .window_start_us = kNoon}, true).entries, 1);
}

TEST_F(EditTest, ADryRunChangesNothingAndWorksWhileTheJobRuns) {
  const std::unique_ptr<Ledger> ledger = resume_run();
  const EditResult result = edit(EditAction::kPurgeEntries, {}, true);
  EXPECT_EQ(result.entries, 6);
  EXPECT_EQ(result.audit, std::nullopt);
  EXPECT_EQ(open_reader()->size(), 6);
  EXPECT_THAT(trail(), IsEmpty());
}

TEST_F(EditTest, ARunningJobIsNamed) {
  const std::unique_ptr<Ledger> ledger = resume_run();
  const std::string said = in_child([&] { return edit_error({}).to_string(); });
  EXPECT_THAT(said,
              StartsWith(format("state directory \"{}\" is in use by process {}\nhint: Entries are changed "
                                "between runs",
                                state_, getpid())));
}

TEST_F(EditTest, WhatDoesNotExistIsNamed) {
  EXPECT_EQ(edit_error({.seq = 99}).message, "the ledger of run 1 has no entry 99");
  const Error view = edit_error({.view = "othr"});
  EXPECT_EQ(view.message, "no entry of run 1 is of a view \"othr\"");
  EXPECT_EQ(view.detail, "Views with entries are \"clicks_per_minute\", \"other\".");
  EXPECT_EQ(view.code, ErrorCode::kNotFound);
  state_ += "/none";
  EXPECT_EQ(edit_error({}).message, "state directory \"" + state_ + "\" does not exist");
}

TEST_F(EditTest, APurgeLeavesNoByteOfWhatTheRecordsSaid) {
  EXPECT_THAT(all_bytes(), HasSubstr("/secret-0"));
  const EditResult result = edit(EditAction::kPurgePayloads, {.view = "clicks_per_minute"});
  EXPECT_EQ(result.entries, 5);
  const std::string bytes = all_bytes();
  for (int i = 0; i < 5; ++i) EXPECT_THAT(bytes, testing::Not(HasSubstr(format("/secret-{}", i))));
  EXPECT_THAT(bytes, HasSubstr("/secret-5"));
  const std::vector<Entry> found = entries(*open_reader());
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found[0].payload, "");
  EXPECT_EQ(found[0].key, "null");
  EXPECT_EQ(found[0].detail, "");
  EXPECT_EQ(found[0].payload_state, PayloadState::kPurged);
  EXPECT_EQ(found[0].reason, Reason::kLate);
  EXPECT_EQ(found[0].line, 1);
  EXPECT_EQ(found[0].windows.size(), 1U);
  EXPECT_EQ(found[5].payload_state, PayloadState::kWhole);
  EXPECT_EQ(edit(EditAction::kPurgePayloads, {}).left_alone, 5);
  EXPECT_THAT(all_bytes(), testing::Not(HasSubstr("/secret-")));
}

TEST_F(EditTest, PurgedAndWaivedEntriesStayWhatTheyAreWhenTheRunGoesOn) {
  edit(EditAction::kWaive, {.seq = 1});
  edit(EditAction::kPurgePayloads, {.seq = 2});
  EXPECT_EQ(edit(EditAction::kPurgeEntries, {.seq = 3}).entries, 1);
  const std::unique_ptr<Ledger> ledger = resume_run();
  EXPECT_EQ(ledger->size(), 5);
  for (int64_t i = 0; i < 8; ++i) {
    Entry entry = late_entry(i, "again");
    if (i == 5) entry.view = "other";
    add(*ledger, entry);
  }
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 7);
  EXPECT_EQ(
      query("SELECT seq, state, payload_state, payload = 'again' FROM ledger ORDER BY seq"),
      "1|waived|whole|0\n2|open|purged|0\n4|open|whole|0\n5|open|whole|0\n6|open|whole|0\n7|open|whole|1\n"
      "8|open|whole|1\n");
  EXPECT_EQ(open_reader()->info()->purged, 1);
  ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  EXPECT_EQ(query("SELECT count(*) FROM removed"), "0\n");
  EXPECT_EQ(trail().size(), 3U) << "the trail stays";
}

TEST_F(EditTest, TheTrailOutlivesTheRun) {
  edit(EditAction::kPurgeEntries, {});
  for (int i = 0; i < 2; ++i) finished_run({1});
  const std::vector<AuditLine> lines = trail();
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].run, 1);
  EXPECT_EQ(lines[0].entries(), 6);
  EXPECT_EQ(open_reader()->info()->purged, 0) << "of another run";
}

TEST_F(EditTest, ALineOfTheTrailAsJson) {
  AuditLine line{7, "waive", 2, kNoon, kNoon + kSecond, "ann", "a \"test\"", "all entries", {}};
  line.counts.push_back({"v", "s", Reason::kFuture, 3, 40});
  EXPECT_EQ(
      to_json(line),
      "{\"id\":7,\"action\":\"waive\",\"run\":2,\"began\":\"2024-05-01T12:00:00Z\",\"ended\":\"2024-05-01T12:"
      "00:01Z\",\"who\":\"ann\",\"because\":\"a \\\"test\\\"\",\"chosen\":\"all entries\",\"entries\":3,"
      "\"counts\":[{\"view\":\"v\",\"source\":\"s\",\"reason\":\"future\",\"entries\":3,\"payload_bytes\":40}"
      "]}");
}

}  // namespace
}  // namespace wrackline::ledger
