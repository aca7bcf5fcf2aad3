#include "ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "base/text.h"
#include "ledger/edit.h"
#include "ledger/export.h"
#include "ledger/ledger_fixture_test.h"
#include "ledger/ledger_schema.h"
#include "ledger/state_lock.h"
#include "sqlite/database.h"
#include "wrackline/time.h"

namespace wrackline::ledger {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST_F(LedgerTest, AnEntryComesBackWhole) {
  Entry entry = late_entry(11, std::string("\xff\0,\"\n", 5));
  entry.key = "{\"page\":\"/home\",\"country\":null}";
  entry.detail = "column \"price\": \"abc\" is not a bigint";
  entry.windows = {{kNoon, kNoon + 60, 5}, {kNoon + 30, kNoon + 90, 1}, {kNoon - 60, kNoon, 65}};
  const std::unique_ptr<Ledger> ledger = open_run();
  add(*ledger, entry);
  Entry bare;
  bare.view = "v";
  bare.reason = Reason::kUnparseable;
  bare.key = "null";
  add(*ledger, bare);
  commit(*ledger);
  const std::vector<Entry> found = entries(*open_reader());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].seq, 1);
  EXPECT_EQ(found[0].view, entry.view);
  EXPECT_EQ(found[0].source, entry.source);
  EXPECT_EQ(found[0].partition, entry.partition);
  EXPECT_EQ(found[0].file, entry.file);
  EXPECT_EQ(found[0].offset, 11);
  EXPECT_EQ(found[0].line, 12);
  EXPECT_EQ(found[0].key, entry.key);
  EXPECT_EQ(found[0].event_time_us, entry.event_time_us);
  EXPECT_EQ(found[0].arrival_time_us, entry.arrival_time_us);
  EXPECT_EQ(found[0].reason, Reason::kLate);
  EXPECT_EQ(found[0].detail, entry.detail);
  EXPECT_EQ(found[0].watermark_us, entry.watermark_us);
  EXPECT_EQ(found[0].tick, 3);
  EXPECT_EQ(found[0].payload, entry.payload);
  EXPECT_EQ(found[0].state, "open");
  // The first window is the one given first; the others follow by start.
  std::vector<int64_t> starts;
  for (const MissedWindow& window : found[0].windows) starts.push_back(window.start_us - kNoon);
  EXPECT_THAT(starts, ElementsAre(0, -60, 30));
  EXPECT_EQ(found[0].windows[1].late_by_us, 65);
  EXPECT_EQ(found[0].windows[1].end_us, kNoon);

  EXPECT_EQ(found[1].seq, 2);
  EXPECT_EQ(found[1].event_time_us, std::nullopt);
  EXPECT_EQ(found[1].arrival_time_us, std::nullopt);
  EXPECT_THAT(found[1].windows, IsEmpty());
  EXPECT_EQ(found[1].reason, Reason::kUnparseable);
  EXPECT_EQ(found[1].payload, "");
}

// Cumulative windows share their start.
TEST_F(LedgerTest, WindowsWithOneStartAreAllKept) {
  Entry entry = late_entry(0);
  entry.windows = {
      {kNoon, kNoon + 10, 50}, {kNoon, kNoon + 20, 40}, {kNoon, kNoon + 30, 30}, {kNoon, kNoon + 40, 20}};
  const std::unique_ptr<Ledger> ledger = open_run();
  add(*ledger, entry);
  commit(*ledger);
  const std::vector<Entry> found = entries(*open_reader());
  std::vector<int64_t> ends;
  for (const MissedWindow& window : found.at(0).windows) ends.push_back(window.end_us - kNoon);
  EXPECT_THAT(ends, ElementsAre(10, 20, 30, 40));
}

TEST_F(LedgerTest, EveryReasonComesBack) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (size_t i = 0; i < kReasonCount; ++i) {
    Entry entry = late_entry(static_cast<int64_t>(i));
    entry.reason = static_cast<Reason>(i);
    add(*ledger, entry);
  }
  commit(*ledger);
  for (const Entry& entry : entries(*ledger)) EXPECT_EQ(static_cast<int64_t>(entry.reason), entry.offset);
  EXPECT_EQ(query("SELECT count(DISTINCT reason) FROM ledger"), "11\n");
}

TEST_F(LedgerTest, AddingARecordAgainChangesNothing) {
  const std::unique_ptr<Ledger> ledger = open_run();
  add(*ledger, late_entry(5, "first"));
  add(*ledger, late_entry(5, "second"));
  commit(*ledger);
  add(*ledger, late_entry(5, "third"));
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 1);
  ASSERT_EQ(entries(*ledger).size(), 1U);
  EXPECT_EQ(entries(*ledger)[0].payload, "first");
}

TEST_F(LedgerTest, ViewsSourcesAndFilesAreDifferentRecords) {
  const std::unique_ptr<Ledger> ledger = open_run();
  Entry entry = late_entry(5);
  add(*ledger, entry);
  entry.view = "other";
  add(*ledger, entry);
  entry.source = "other";
  add(*ledger, entry);
  entry.file = "other";
  add(*ledger, entry);
  entry.partition = "other";  // no part of the identity: a record has one partition
  add(*ledger, entry);
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 4);
}

TEST_F(LedgerTest, PartitionsNamedByAColumnStayApartWithinAFile) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 6; ++i) {
    Entry entry = late_entry(i);
    entry.partition = i % 2 == 0 ? "phone" : std::string();
    add(*ledger, entry);
  }
  commit(*ledger);
  std::vector<std::string> partitions;
  for (const Entry& entry : entries(*open_reader())) partitions.push_back(entry.partition);
  EXPECT_THAT(partitions, ElementsAre("phone", "", "phone", "", "phone", ""));
  EXPECT_EQ(query("SELECT partition, count(*) FROM ledger GROUP BY 1 ORDER BY 1"), "|3\nphone|3\n");
}

TEST_F(LedgerTest, ReadersSeeCommittedTicksOnly) {
  const std::unique_ptr<Ledger> ledger = open_run();
  add(*ledger, late_entry(1));
  commit(*ledger);
  add(*ledger, late_entry(2));
  EXPECT_EQ(ledger->size(), 2);
  const std::unique_ptr<Ledger> reader = open_reader();
  EXPECT_EQ(reader->size(), 1);
  EXPECT_THAT(offsets(*reader), ElementsAre(1));
  commit(*ledger);
  EXPECT_THAT(offsets(*reader), ElementsAre(1, 2));
  EXPECT_EQ(reader->info()->status, "running");
  EXPECT_EQ(reader->info()->job, "job.sql");
}

TEST_F(LedgerTest, AReaderInTheMiddleOfAScanDoesNotStopTheWriter) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 100; ++i) add(*ledger, late_entry(i));
  commit(*ledger);
  const std::unique_ptr<Ledger> reader = open_reader();
  int64_t seen = 0;
  ASSERT_TRUE(reader
                  ->scan({},
                         [&](const Entry&) {
                           add(*ledger, late_entry(1000 + seen));
                           commit(*ledger);
                           return ++seen < 1000;
                         })
                  .has_value());
  EXPECT_EQ(seen, 100) << "one scan is one moment";
  EXPECT_EQ(ledger->size(), 200);
}

TEST_F(LedgerTest, AReaderCannotWrite) {
  finished_run({1});
  const Status status = open_reader()->add(late_entry(2));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "ledger \"" + state_ + "/ledger.sqlite\" is open to read only");
}

TEST_F(LedgerTest, GenerationsRiseAndAFinishedRunReplacesTheOlderOnes) {
  finished_run({1, 2, 3});
  {
    const std::unique_ptr<Ledger> ledger = open_run("again.sql");
    EXPECT_EQ(ledger->generation(), 2);
    EXPECT_EQ(ledger->size(), 0);
    add(*ledger, late_entry(1));
    commit(*ledger);
    EXPECT_THAT(offsets(*open_reader(1)), ElementsAre(1, 2, 3)) << "until the new run is finished";
    EXPECT_THAT(offsets(*open_reader()), ElementsAre(1));
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
    EXPECT_THAT(offsets(*ledger), ElementsAre(1)) << "readable for the report";
    EXPECT_EQ(ledger->info()->status, "finished");
  }
  const Error replaced = read_error(1);
  EXPECT_EQ(replaced.code, ErrorCode::kNotFound);
  EXPECT_EQ(replaced.message,
            "entries of generation 1 are no longer in ledger \"" + state_ + "/ledger.sqlite\"");
  EXPECT_EQ(replaced.detail,
            "Generation 2 judged the same records anew and replaced them. Kept are the generations 2.");
  EXPECT_EQ(read_error(9).message, "ledger \"" + state_ + "/ledger.sqlite\" has no generation 9");
  EXPECT_EQ(query("SELECT count(*) FROM entry"), "1\n");
  EXPECT_EQ(query("SELECT count(*) FROM stream"), "1\n");
  EXPECT_THAT(entries(*open_reader())[0].seq, 4) << "numbers are not used twice";
}

TEST_F(LedgerTest, AFailedRunLeavesTheOlderEntriesAlone) {
  finished_run({1, 2});
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    add(*ledger, late_entry(1));
    commit(*ledger);
    add(*ledger, late_entry(2));
    ASSERT_TRUE(ledger->finish(RunEnd::kFailed).has_value());
  }
  EXPECT_THAT(offsets(*open_reader(1)), ElementsAre(1, 2));
  EXPECT_THAT(offsets(*open_reader()), ElementsAre(1, 2));
  EXPECT_EQ(open_reader()->generation(), 2);
  EXPECT_EQ(open_reader()->info()->status, "failed");
}

TEST_F(LedgerTest, ARunThatNobodyEndedIsAFailedOneWithoutItsLastTick) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    add(*ledger, late_entry(1));
    commit(*ledger);
    add(*ledger, late_entry(2));
  }
  EXPECT_THAT(offsets(*open_reader()), ElementsAre(1));
  EXPECT_EQ(query("SELECT generation, status, entries FROM generation"), "1|failed|1\n");
}

TEST_F(LedgerTest, RunsThatFailOverAndOverDoNotPileUp) {
  finished_run({1, 2, 3});
  for (int i = 0; i < 5; ++i) {
    const std::unique_ptr<Ledger> ledger = open_run();
    add(*ledger, late_entry(i));
    add(*ledger, late_entry(i + 10));
    commit(*ledger);
  }
  EXPECT_EQ(query("SELECT generation, count(*) FROM entries GROUP BY 1"), "1|3\n5|2\n6|2\n");
  EXPECT_EQ(query("SELECT generation, ifnull(replaced_by, '-') FROM generation"),
            "1|-\n2|3\n3|4\n4|5\n5|-\n6|-\n");
}

TEST_F(LedgerTest, WindowsOfRemovedEntriesGoToo) {
  for (int run = 0; run < 2; ++run) {
    const std::unique_ptr<Ledger> ledger = open_run();
    Entry entry = late_entry(run);
    entry.windows = {{kNoon, kNoon + 60, 5}, {kNoon + 30, kNoon + 90, 1}};
    add(*ledger, entry);
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  EXPECT_EQ(query("SELECT seq, window_start_us - 1714564800000000 FROM missed_windows ORDER BY 2"),
            "2|0\n2|30\n");
  EXPECT_EQ(query("SELECT count(*) FROM more_window"), "1\n");
}

// --- Attempts of one run

TEST_F(LedgerTest, AStoppedRunGoesOnInTheNextAttempt) {
  {
    const std::unique_ptr<Ledger> ledger = resume_run();
    EXPECT_FALSE(ledger->resumed()) << "there is nothing to go on with";
    EXPECT_EQ(ledger->last_run(), std::nullopt);
    for (int64_t i = 0; i < 5; ++i) add(*ledger, late_entry(i));
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  const std::unique_ptr<Ledger> ledger = resume_run();
  EXPECT_TRUE(ledger->resumed());
  EXPECT_EQ(ledger->run(), 1);
  EXPECT_EQ(ledger->generation(), 2);
  const LastRun last = ledger->last_run().value_or(LastRun{});
  EXPECT_EQ(last.run, 1);
  EXPECT_EQ(last.generation, 1);
  EXPECT_EQ(last.status, "stopped");
  EXPECT_EQ(last.job, "job.sql");
  EXPECT_EQ(last.entries, 5);
  EXPECT_EQ(last.last_seq, 5);
  EXPECT_EQ(ledger->size(), 5);
  EXPECT_EQ(ledger->last_seq(), 5);
  ASSERT_TRUE(ledger->rewind(3).has_value());
  EXPECT_EQ(ledger->size(), 5);
  for (int64_t i = 3; i < 8; ++i) add(*ledger, late_entry(i, "again"));
  commit(*ledger);
  EXPECT_EQ(ledger->size(), 8);
  EXPECT_EQ(ledger->last_seq(), 8);
  const std::vector<Entry> found = entries(*open_reader());
  ASSERT_EQ(found.size(), 8U);
  for (int64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(found[static_cast<size_t>(i)].offset, i);
    EXPECT_EQ(found[static_cast<size_t>(i)].seq, i + 1);
    EXPECT_EQ(found[static_cast<size_t>(i)].payload == "again", i >= 5) << i;
  }
  ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  const std::unique_ptr<Ledger> reader = open_reader(1);
  EXPECT_EQ(reader->run(), 1) << "the first attempt's generation means the run";
  EXPECT_EQ(reader->generation(), 2);
  EXPECT_EQ(reader->size(), 8);
  EXPECT_EQ(reader->info()->status, "finished");
  EXPECT_EQ(reader->info()->run, 1);
  EXPECT_EQ(query("SELECT generation, run, status, entries FROM generation"),
            "1|1|stopped|5\n2|1|finished|8\n");
  EXPECT_EQ(query("SELECT count(*) FROM ledger"), "8\n");
}

TEST_F(LedgerTest, AKilledRunGoesOnAndCountsEachEntryOnce) {
  constexpr int64_t kAttempts = 6;
  for (int64_t attempt = 0; attempt < kAttempts; ++attempt) {
    const std::string said = in_child([&]() -> std::string {
      const std::unique_ptr<Ledger> ledger = resume_run();
      if (ledger->run() != 1 || ledger->generation() != attempt + 1) return "another run";
      if (ledger->size() != attempt * 100) return format("{} entries", ledger->size());
      for (int64_t i = 0; i < (attempt + 1) * 100; ++i) add(*ledger, late_entry(i));
      if (ledger->size() != (attempt + 1) * 100) return format("then {} entries", ledger->size());
      commit(*ledger);
      for (int64_t i = 0; i < 50; ++i) add(*ledger, late_entry(10'000 + i));
      raise(SIGKILL);
      return "survived";
    });
    EXPECT_EQ(said, " [signal 9]");
  }
  const std::unique_ptr<Ledger> reader = open_reader();
  EXPECT_EQ(reader->size(), kAttempts * 100);
  EXPECT_EQ(entries(*reader).back().seq, kAttempts * 100);
  EXPECT_EQ(resume_run()->last_run()->status, "failed");
}

TEST_F(LedgerTest, AFinishedRunIsFollowedByANewOne) {
  finished_run({1, 2});
  const std::unique_ptr<Ledger> ledger = resume_run();
  EXPECT_FALSE(ledger->resumed());
  EXPECT_EQ(ledger->run(), 2);
  EXPECT_EQ(ledger->last_run()->status, "finished");
  EXPECT_EQ(ledger->size(), 0);
  EXPECT_EQ(ledger->last_seq(), 2) << "numbers are not used twice";
}

TEST_F(LedgerTest, ANewRunMayBeginWhileTheLastIsUnfinished) {
  finished_run({1});
  for (int attempt = 0; attempt < 2; ++attempt) {
    const std::unique_ptr<Ledger> ledger = resume_run();
    add(*ledger, late_entry(attempt));
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    EXPECT_EQ(ledger->run(), 4);
    EXPECT_EQ(ledger->last_run()->run, 2);
    EXPECT_EQ(ledger->last_run()->generation, 3);
    EXPECT_THAT(offsets(*open_reader(3)), ElementsAre(0, 1));
    add(*ledger, late_entry(7));
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  EXPECT_EQ(query("SELECT generation, run, ifnull(replaced_by, '-') FROM generation"),
            "1|1|4\n2|2|4\n3|2|4\n4|4|-\n");
  EXPECT_EQ(query("SELECT count(*) FROM entry"), "1\n");
}

TEST_F(LedgerTest, ALedgerOlderThanItsCheckpointIsRefused) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    add(*ledger, late_entry(1));
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  const std::unique_ptr<Ledger> ledger = resume_run();
  const Status status = ledger->rewind(2);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kData);
  EXPECT_EQ(status.error().message, "ledger \"" + state_ +
                                        "/ledger.sqlite\" ends at entry 1, but the checkpoint was taken at "
                                        "entry 2");
}

// --- Older formats

// The tables of version 1 as the program of that time made them, with a finished and a failed run.
void make_version_1(const std::string& directory) {
  std::filesystem::create_directory(directory);
  sqlite::Database database = *sqlite::Database::open(ledger_path(directory), {.page_bytes = 8192});
  std::ifstream file(WRACKLINE_SOURCE_DIR "/tests/data/ledger_version_1.sql");
  std::stringstream text;
  text << file.rdbuf();
  const Status made = database.exec(text.str());
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
}

TEST_F(LedgerTest, AReaderShowsVersion1AndLeavesItAsItIs) {
  make_version_1(state_);
  const std::unique_ptr<Ledger> reader = open_reader();
  EXPECT_EQ(reader->run(), 2);
  EXPECT_THAT(offsets(*reader), ElementsAre(2, 3));
  EXPECT_THAT(offsets(*open_reader(1)), ElementsAre(1));
  EXPECT_EQ(reader->info()->status, "failed");
  const std::vector<Entry> found = entries(*reader);
  EXPECT_EQ(found.at(0).payload, "two");
  EXPECT_EQ(found.at(1).windows.size(), 2U);
  EXPECT_EQ(reader->summary()->size(), 2U);
  EXPECT_EQ(query("SELECT user_version FROM pragma_user_version"), "1\n");
}

TEST_F(LedgerTest, Version1CanBeAskedAndChanged) {
  make_version_1(state_);
  const Edit dry{EditAction::kWaive, {.reason = Reason::kLate}, std::nullopt, "ann", "asked for", true};
  EXPECT_EQ(edit_entries(state_, dry)->entries, 1);
  EXPECT_TRUE(open_reader()->audit([](const AuditLine&) { return true; }).has_value());
  EXPECT_EQ(query("SELECT user_version FROM pragma_user_version"), "1\n");
  Edit real = dry;
  real.dry_run = false;
  EXPECT_EQ(edit_entries(state_, real)->audit, 1);
  EXPECT_EQ(query("SELECT user_version FROM pragma_user_version"), "2\n");
  EXPECT_EQ(entries(*open_reader()).at(0).state, "waived");
}

TEST_F(LedgerTest, AVersion1RunGoesOnInTheNewFormat) {
  make_version_1(state_);
  {
    const std::unique_ptr<Ledger> ledger = resume_run();
    EXPECT_EQ(ledger->run(), 2);
    EXPECT_EQ(ledger->generation(), 3);
    EXPECT_EQ(ledger->size(), 2);
    add(*ledger, late_entry(2));
    add(*ledger, late_entry(9));
    EXPECT_EQ(ledger->size(), 3) << "the streams of version 1 are met again";
    commit(*ledger);
    EXPECT_THAT(offsets(*open_reader(1)), ElementsAre(1));
    ASSERT_TRUE(ledger->finish(RunEnd::kStopped).has_value());
  }
  EXPECT_EQ(query("SELECT user_version FROM pragma_user_version"), "2\n");
  EXPECT_EQ(query("SELECT \"offset\", payload, payload_state FROM ledger"),
            "2|two|whole\n3|three|whole\n9|{\"page\":\"/home\"}|whole\n");
  EXPECT_EQ(query("SELECT generation, run, status, entries FROM generation"),
            "1|1|finished|1\n2|2|failed|2\n3|2|stopped|3\n");
  EXPECT_EQ(query("SELECT count(*) FROM missed_windows WHERE run = 2"), "4\n");
}

TEST_F(LedgerTest, AKilledRunKeepsWhatItCommitted) {
  const std::string said = in_child([&]() -> std::string {
    const std::unique_ptr<Ledger> ledger = open_run();
    for (int64_t i = 0; i < 5000; ++i) add(*ledger, late_entry(i));
    commit(*ledger);
    for (int64_t i = 5000; i < 20000; ++i) add(*ledger, late_entry(i, std::string(500, 'x')));
    raise(SIGKILL);
    return "survived";
  });
  EXPECT_EQ(said, " [signal 9]");
  {
    const std::unique_ptr<Ledger> reader = open_reader();
    EXPECT_EQ(reader->size(), 5000);
    EXPECT_EQ(reader->info()->status, "failed") << "nobody holds its lock";
  }
  const std::unique_ptr<Ledger> ledger = open_run();
  EXPECT_EQ(ledger->generation(), 2);
  EXPECT_EQ(query("SELECT generation, status, entries FROM generation"), "1|failed|5000\n2|running|0\n");
}

TEST_F(LedgerTest, FiltersChoose) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 6; ++i) {
    Entry entry = late_entry(i);
    if (i >= 3) entry.view = "other";
    if (i % 2 == 1) entry.reason = Reason::kFuture;
    const int64_t start = kNoon + i / 2 * 60 * kSecond;
    entry.windows = {{start, start + 120 * kSecond, 7}, {start - 60 * kSecond, start + 60 * kSecond, 67}};
    add(*ledger, entry);
  }
  commit(*ledger);
  const std::unique_ptr<Ledger> reader = open_reader();
  EXPECT_THAT(offsets(*reader), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(offsets(*reader, {.view = "other"}), ElementsAre(3, 4, 5));
  EXPECT_THAT(offsets(*reader, {.view = "absent"}), IsEmpty());
  EXPECT_THAT(offsets(*reader, {.window_start_us = kNoon}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(offsets(*reader, {.view = "other", .window_start_us = kNoon}), ElementsAre(3));
  EXPECT_THAT(offsets(*reader, {.window_start_us = kNoon + 1}), IsEmpty());
  EXPECT_THAT(offsets(*reader, {.reason = Reason::kFuture}), ElementsAre(1, 3, 5));
  EXPECT_THAT(offsets(*reader, {.seq = 3}), ElementsAre(2));
  EXPECT_THAT(offsets(*reader, {.view = "other", .seq = 3}), IsEmpty());
  EXPECT_THAT(offsets(*reader, {.limit = 2}), ElementsAre(0, 1));
  EXPECT_THAT(offsets(*reader, {.limit = 0}), IsEmpty());
  EXPECT_THAT(
      offsets(
          *reader,
          {.view = "other", .window_start_us = kNoon + 60 * kSecond, .reason = Reason::kLate, .limit = 9}),
      ElementsAre(4));
  std::vector<int64_t> first;
  ASSERT_TRUE(reader
                  ->scan({},
                         [&](const Entry& entry) {
                           first.push_back(entry.offset);
                           return false;
                         })
                  .has_value());
  EXPECT_THAT(first, ElementsAre(0));
}

TEST_F(LedgerTest, ASummaryCountsByViewAndReason) {
  finished_run({1});
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 10; ++i) {
    Entry entry = late_entry(i);
    entry.file = i < 5 ? "a" : "b";
    entry.view = i < 8 ? "b" : "a";
    entry.reason = i % 2 == 0 ? Reason::kLate : Reason::kUnparseable;
    add(*ledger, entry);
  }
  commit(*ledger);
  std::vector<std::string> rows;
  const std::unique_ptr<Ledger> reader = open_reader();
  const Result<std::vector<Ledger::Summary>> summary = reader->summary();
  for (const Ledger::Summary& row : *summary)
    rows.push_back(format("{} {} {}", row.view, to_string(row.reason), row.count));
  EXPECT_THAT(rows, ElementsAre("a late 1", "a unparseable 1", "b late 4", "b unparseable 4"));
}

TEST_F(LedgerTest, AWindowIsFoundThroughTheIndex) {
  finished_run({1});
  Result<sqlite::Database> database =
      sqlite::Database::open(ledger_path(state_), {.access = sqlite::Access::kRead});
  for (const std::string from : {"entry WHERE window_start_us = 5", "ledger WHERE window_start_us = 5"}) {
    Result<sqlite::Statement> plan = database->prepare("EXPLAIN QUERY PLAN SELECT seq FROM " + from);
    ASSERT_TRUE(plan.has_value()) << plan.error().to_string();
    std::string text;
    while (*plan->step()) text += std::string(plan->text(3)) + "\n";
    EXPECT_THAT(text, HasSubstr("entry_window (window_start_us=?)")) << from;
  }
}

// A model test: random adds, repeats, commits and restarts; the ledger must hold what a plain map says.
TEST_F(LedgerTest, RandomRunsAgreeWithAModel) {
  constexpr uint64_t kSeed = 20240501;
  std::mt19937_64 random(kSeed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  int64_t checked = 0;
  for (int run = 0; run < 8; ++run) {
    std::map<std::pair<std::string, int64_t>, Entry> pending, committed;
    std::vector<int64_t> order, committed_order;
    std::unique_ptr<Ledger> ledger = open_run();
    for (int step = 0; step < 300; ++step) {
      Entry entry = late_entry(below(200), std::string(static_cast<size_t>(below(300)), 'p'));
      entry.view = format("v{}", below(3));
      entry.windows.resize(static_cast<size_t>(below(4)));
      for (size_t i = 0; i < entry.windows.size(); ++i) {
        const int64_t start = static_cast<int64_t>(i) * 60 + below(2) * 1000;
        entry.windows[i] = {start, start + 60, below(100)};
      }
      if (pending.try_emplace({entry.view, entry.offset}, entry).second) order.push_back(entry.offset);
      add(*ledger, entry);
      if (below(20) == 0) {
        commit(*ledger);
        committed = pending;
        committed_order = order;
      }
    }
    if (below(2) == 0) {
      ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
      committed = pending;
      committed_order = order;
    }
    ledger.reset();
    const std::unique_ptr<Ledger> reader = open_reader();
    EXPECT_THAT(offsets(*reader), testing::ElementsAreArray(committed_order))
        << "seed " << kSeed << " run " << run;
    for (const Entry& entry : entries(*reader)) {
      const Entry& expected = committed.at({entry.view, entry.offset});
      EXPECT_EQ(entry.payload, expected.payload);
      std::set<int64_t> starts, expected_starts;
      for (const MissedWindow& window : entry.windows) starts.insert(window.start_us);
      for (const MissedWindow& window : expected.windows) expected_starts.insert(window.start_us);
      EXPECT_EQ(starts, expected_starts);
      ++checked;
    }
  }
  EXPECT_GT(checked, 500) << "a test that checks nothing must fail";
}

// --- What can go wrong

TEST_F(LedgerTest, TheLockNamesItsHolder) {
  const std::unique_ptr<Ledger> ledger = open_run();
  const std::string said = in_child([&] { return run_error().to_string(); });
  EXPECT_THAT(said,
              StartsWith(format("state directory \"{}\" is in use by process {}\nhint: Wait for that run",
                                state_, getpid())));
  EXPECT_EQ(run_error().code, ErrorCode::kUnavailable) << "one process cannot run twice either";
  std::ifstream lock(state_ + "/lock");
  std::string pid;
  lock >> pid;
  EXPECT_EQ(pid, format("{}", getpid())) << "a refused run leaves the holder's name";
}

TEST_F(LedgerTest, TheLockOfADeadProcessIsGone) {
  in_child([&] {
    const std::unique_ptr<Ledger> ledger = open_run();
    raise(SIGKILL);
    return "";
  });
  EXPECT_TRUE(std::filesystem::exists(state_ + "/lock"));
  EXPECT_FALSE(StateLock::is_held(state_));
  EXPECT_EQ(open_run()->generation(), 2);
}

TEST_F(LedgerTest, AFileWhereTheDirectoryShouldBe) {
  std::ofstream(state_) << "x";
  EXPECT_EQ(run_error().message, "state directory \"" + state_ + "\" is a file");
  EXPECT_THAT(run_error().hint, HasSubstr("--state"));
}

TEST_F(LedgerTest, AMissingParentIsNamed) {
  state_ = folder_ + "/a/b";
  const Error error = run_error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "cannot make state directory \"" + state_ + "\"");
  EXPECT_EQ(error.detail, "No such file or directory");
  EXPECT_EQ(error.hint, "Make the folder that it stands in first.");
}

TEST_F(LedgerTest, ADirectoryThatCannotBeWritten) {
  std::filesystem::create_directory(state_);
  chmod(state_.c_str(), 0555);
  chmod(folder_.c_str(), 0755);
  const std::string said = in_child([&]() -> std::string {
    if (geteuid() == 0 && setuid(65534) != 0) return "cannot become nobody";
    return run_error().to_string();
  });
  EXPECT_EQ(
      said,
      "state directory \"" + state_ +
          "\" cannot be written\ndetail: Permission denied\nhint: Choose a place that you may write to with "
          "--state DIR, or run with --state none.");
  const std::string made = in_child([&]() -> std::string {
    if (geteuid() == 0 && setuid(65534) != 0) return "cannot become nobody";
    state_ += "/below";
    return run_error().to_string();
  });
  EXPECT_THAT(made, StartsWith("cannot make state directory \"" + state_ +
                               "/below\"\ndetail: Permission denied\nhint: Choose"));
}

TEST_F(LedgerTest, AReaderNeedsNoRightToWrite) {
  finished_run({1, 2});
  chmod(state_.c_str(), 0555);
  chmod(folder_.c_str(), 0755);
  const std::string said = in_child([&]() -> std::string {
    if (geteuid() == 0 && setuid(65534) != 0) return "cannot become nobody";
    Result<std::unique_ptr<Ledger>> reader = Ledger::open_to_read(state_);
    return reader ? format("{} {}", (*reader)->size(), (*reader)->info()->status)
                  : reader.error().to_string();
  });
  EXPECT_EQ(said, "2 finished");
  chmod(state_.c_str(), 0755);
}

TEST_F(LedgerTest, NothingToRead) {
  EXPECT_EQ(read_error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_error().message, "state directory \"" + state_ + "\" does not exist");
  std::filesystem::create_directory(state_);
  EXPECT_EQ(read_error().message, "no ledger in \"" + state_ + "\"");
  EXPECT_THAT(read_error().hint, HasSubstr("`wrackline run`"));
  {
    sqlite::Database database = *sqlite::Database::open(ledger_path(state_));
  }
  EXPECT_THAT(read_error().message, HasSubstr("is not a ledger"));
}

TEST_F(LedgerTest, AnEmptyFileBecomesALedger) {
  std::filesystem::create_directory(state_);
  std::ofstream(ledger_path(state_)).close();
  EXPECT_EQ(open_run()->generation(), 1);
}

TEST_F(LedgerTest, AnotherKindOfFileIsRefused) {
  std::filesystem::create_directory(state_);
  std::ofstream(ledger_path(state_)) << std::string(9000, 'x');
  const std::string message = "file \"" + state_ + "/ledger.sqlite\" is not a SQLite database";
  EXPECT_EQ(run_error().message, message);
  EXPECT_EQ(run_error().code, ErrorCode::kData);
  EXPECT_EQ(read_error().message, message);
  EXPECT_FALSE(StateLock::is_held(state_)) << "a failed open gives the lock back";
}

TEST_F(LedgerTest, ADatabaseOfAnotherProgramIsRefused) {
  std::filesystem::create_directory(state_);
  {
    sqlite::Database database = *sqlite::Database::open(ledger_path(state_));
    ASSERT_TRUE(database.exec("CREATE TABLE entry (a)").has_value());
  }
  const std::string message = "database \"" + state_ + "/ledger.sqlite\" is not a ledger";
  EXPECT_EQ(run_error().message, message);
  EXPECT_EQ(run_error().detail, "It is a SQLite database, but of another program.");
  EXPECT_EQ(read_error().message, message);
}

TEST_F(LedgerTest, ANewerFormatIsRefused) {
  finished_run({1});
  {
    sqlite::Database database = *sqlite::Database::open(ledger_path(state_));
    ASSERT_TRUE(database.exec("PRAGMA user_version = 3").has_value());
  }
  const std::string message =
      "ledger \"" + state_ + "/ledger.sqlite\" has format version 3, this program reads up to version 2";
  EXPECT_EQ(run_error().message, message);
  EXPECT_EQ(run_error().code, ErrorCode::kData);
  EXPECT_EQ(read_error().message, message);
  EXPECT_THAT(read_error().hint, HasSubstr("Use that version"));
}

TEST_F(LedgerTest, ADamagedLedgerIsNamedAndNeverReadAsEmpty) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    for (int64_t i = 0; i < 3000; ++i) add(*ledger, late_entry(i, std::string(300, 'x')));
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  const std::string path = ledger_path(state_);
  const auto pages = static_cast<int64_t>(std::filesystem::file_size(path)) / 4096;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (int64_t page = pages / 4; page < pages; ++page) {
    file.seekp(page * 4096);
    file << std::string(4096, '\x77');
  }
  file.close();
  Result<std::unique_ptr<Ledger>> reader = Ledger::open_to_read(state_);
  const Status status =
      reader ? (*reader)->scan({}, [](const Entry&) { return true; }) : fail(reader.error());
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kData);
  EXPECT_EQ(status.error().message, "database \"" + path + "\" is damaged");
}

TEST_F(LedgerTest, AFullDiskStopsTheRunAndKeepsItsCommittedTicks) {
  state_ = folder_ + "/small";
  std::filesystem::create_directory(state_);
  if (mount("tmpfs", state_.c_str(), "tmpfs", 0, "size=2m") != 0) GTEST_SKIP() << "may not mount";
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    int64_t committed = 0;
    Status status;
    for (int64_t i = 0; i < 100'000 && status; ++i) {
      status = ledger->add(late_entry(i, std::string(200, 'x')));
      if (status && i % 100 == 99) status = ledger->commit();
      if (status && i % 100 == 99) committed = i + 1;
    }
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
    EXPECT_EQ(status.error().message, "disk full while writing database \"" + state_ + "/ledger.sqlite\"");
    EXPECT_GT(committed, 0);
    EXPECT_FALSE(ledger->add(late_entry(-1)).has_value()) << "a broken ledger stays broken";
    EXPECT_FALSE(ledger->commit().has_value());
    EXPECT_FALSE(ledger->finish(RunEnd::kFinished).has_value()) << "and cannot finish well";
    EXPECT_EQ(static_cast<int64_t>(offsets(*open_reader()).size()), committed);
  }
  EXPECT_EQ(umount(state_.c_str()), 0);
}

// --- Text

TEST(EntryText, JsonHasTheDocumentedKeys) {
  Entry entry = late_entry(11);
  entry.seq = 7;
  entry.partition = "12";
  entry.detail = "30 s late";
  EXPECT_EQ(
      to_json(entry),
      "{\"seq\":7,\"view\":\"clicks_per_minute\",\"source\":\"clicks\",\"partition\":\"12\",\"offset\":11,"
      "\"key\":\"/"
      "home\",\"event_time\":\"2024-05-01T12:00:00.000001Z\",\"arrival_time\":\"2024-05-01T12:05:00.25Z\","
      "\"reason\":\"late\",\"windows\":[{\"start\":\"2024-05-01T12:00:00Z\",\"end\":\"2024-05-01T12:01:00Z\","
      "\"late_by_us\":30000000}],\"watermark\":\"2024-05-01T12:01:30Z\",\"tick\":3,\"state\":\"open\","
      "\"payload\":\"{\\\"page\\\":\\\"/home\\\"}\",\"file\":\"clicks/a.jsonl\",\"line\":12,\"detail\":\"30 "
      "s late\",\"payload_state\":\"whole\",\"audit\":null}");
}

TEST(EntryText, JsonOfWhatIsNotThere) {
  Entry entry;
  entry.reason = Reason::kNoEventTime;
  entry.watermark_us = kMicrosMin;
  EXPECT_EQ(to_json(entry),
            "{\"seq\":0,\"view\":\"\",\"source\":\"\",\"partition\":\"\",\"offset\":0,\"key\":null,\"event_"
            "time\":null,"
            "\"arrival_time\":null,\"reason\":\"no_event_time\",\"windows\":[],\"watermark\":\"-infinity\","
            "\"tick\":0,"
            "\"state\":\"open\",\"payload\":\"\",\"file\":\"\",\"line\":0,\"detail\":\"\",\"payload_state\":"
            "\"whole\",\"audit\":null}");
  entry.watermark_us = kMicrosMax;
  EXPECT_THAT(to_json(entry), HasSubstr("\"watermark\":\"infinity\""));
}

TEST(EntryText, BytesThatAreNoTextAreKeptInBase64) {
  const std::pair<std::string, std::string> cases[] = {{"\xff", "/w=="},
                                                       {"a\xff", "Yf8="},
                                                       {"ab\xff", "YWL/"},
                                                       {"abc\xff", "YWJj/w=="},
                                                       {std::string("\0\xfe\x80", 3), "AP6A"}};
  for (const auto& [payload, base64] : cases) {
    EXPECT_THAT(to_json(late_entry(1, payload)),
                HasSubstr("\xEF\xBF\xBD\",\"payload_base64\":\"" + base64 + "\",\"file\":"))
        << base64;
  }
  EXPECT_THAT(to_json(late_entry(1, "caf\xc3\xa9")), testing::Not(HasSubstr("payload_base64")));
}

TEST(EntryText, CsvQuotesWhatNeedsIt) {
  Entry entry = late_entry(11, "a,\"b\"\r\nc\xff");
  entry.seq = 7;
  EXPECT_EQ(entry_csv_header(),
            "seq,view,source,partition,offset,key,event_time,arrival_time,reason,windows,watermark,tick,"
            "state,payload,file,"
            "line,detail,payload_state,audit\n");
  EXPECT_EQ(entry_csv(entry),
            "7,clicks_per_minute,clicks,phone,11,\"\"\"/"
            "home\"\"\",2024-05-01T12:00:00.000001Z,2024-05-01T12:05:00.25Z,late,"
            "\"[{\"\"start\"\":\"\"2024-05-01T12:00:00Z\"\",\"\"end\"\":\"\"2024-05-01T12:01:00Z\"\","
            "\"\"late_by_us\"\":"
            "30000000}]\",2024-05-01T12:01:30Z,3,open,\"a,\"\"b\"\"\r\nc\xff\",clicks/a.jsonl,12,,whole,\n");
  entry = Entry();
  EXPECT_EQ(entry_csv(entry), "0,,,,0,null,,,late,[],1970-01-01T00:00:00Z,0,open,,,0,,whole,\n");
}

TEST_F(LedgerTest, ExportGivesWholeRowsInPieces) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 1000; ++i) add(*ledger, late_entry(i, std::string(200, 'x')));
  commit(*ledger);
  for (const ExportFormat format : {ExportFormat::kJsonl, ExportFormat::kCsv}) {
    std::string all;
    int64_t pieces = 0;
    ASSERT_TRUE(export_entries(*ledger, {}, format, [&](std::string_view piece) -> Status {
                  EXPECT_TRUE(piece.ends_with('\n'));
                  all += piece;
                  ++pieces;
                  return {};
                }).has_value());
    EXPECT_GT(pieces, 3);
    const int64_t lines = std::count(all.begin(), all.end(), '\n');
    EXPECT_EQ(lines, format == ExportFormat::kCsv ? 1001 : 1000);
    EXPECT_EQ(all.starts_with("seq,view"), format == ExportFormat::kCsv);
  }
}

TEST_F(LedgerTest, AnExportStopsAtTheFirstFailedWrite) {
  const std::unique_ptr<Ledger> ledger = open_run();
  for (int64_t i = 0; i < 1000; ++i) add(*ledger, late_entry(i, std::string(200, 'x')));
  int64_t calls = 0;
  const Status status = export_entries(*ledger, {}, ExportFormat::kJsonl, [&](std::string_view) -> Status {
    ++calls;
    return fail(ErrorCode::kUnavailable, "disk full");
  });
  EXPECT_EQ(status.error().message, "disk full");
  EXPECT_EQ(calls, 1);
}

TEST(ExportFormat, IsNamed) {
  EXPECT_EQ(*parse_export_format("csv"), ExportFormat::kCsv);
  EXPECT_EQ(*parse_export_format("jsonl"), ExportFormat::kJsonl);
  EXPECT_EQ(parse_export_format("xml").error().message, "unknown export format \"xml\"");
}

// --- The transient one

TEST(TransientLedger, CountsAllAndKeepsTheFirst) {
  const std::unique_ptr<Ledger> ledger = Ledger::transient();
  for (int64_t i = 0; i < 2500; ++i) {
    Entry entry = late_entry(i);
    if (i % 5 == 0) entry.reason = Reason::kFuture;
    ASSERT_TRUE(ledger->add(std::move(entry)).has_value());
  }
  ASSERT_TRUE(ledger->commit().has_value());
  EXPECT_EQ(ledger->size(), 2500);
  EXPECT_EQ(ledger->generation(), 1);
  int64_t kept = 0;
  ASSERT_TRUE(ledger
                  ->scan({},
                         [&](const Entry& entry) {
                           EXPECT_EQ(entry.offset, kept);
                           EXPECT_EQ(entry.seq, ++kept);
                           return true;
                         })
                  .has_value());
  EXPECT_EQ(kept, 1000);
  EXPECT_EQ(ledger->summary()->size(), 2U);
  EXPECT_EQ((*ledger->summary())[0].count, 2000);
  int64_t chosen = 0;
  ASSERT_TRUE(ledger
                  ->scan({.window_start_us = kNoon, .reason = Reason::kFuture, .limit = 3},
                         [&](const Entry&) {
                           ++chosen;
                           return true;
                         })
                  .has_value());
  EXPECT_EQ(chosen, 3);
  EXPECT_EQ(ledger->info()->entries, 2500);
  ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  EXPECT_EQ(ledger->info()->status, "finished");
}

// --- The documentation: every query of docs/formats/ledger.md answers.

TEST_F(LedgerTest, TheDocumentedQueriesAnswer) {
  {
    const std::unique_ptr<Ledger> ledger = open_run();
    for (int64_t i = 0; i < 5; ++i) {
      Entry entry = late_entry(i);
      if (i == 4) entry.windows.push_back({kNoon + 30 * kSecond, kNoon + 90 * kSecond, 0});
      add(*ledger, entry);
    }
    ASSERT_TRUE(ledger->finish(RunEnd::kFinished).has_value());
  }
  const Edit waive{EditAction::kWaive, {.seq = 1}, std::nullopt, "ann", "a test", false};
  ASSERT_TRUE(edit_entries(state_, waive).has_value());
  std::ifstream page(WRACKLINE_SOURCE_DIR "/docs/formats/ledger.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string document = text.str();
  int64_t queries = 0;
  for (size_t at = 0; (at = document.find("```sql\n", at)) != std::string::npos;) {
    const size_t begin = at + 7;
    at = document.find("```", begin);
    std::stringstream statements(document.substr(begin, at - begin));
    for (std::string statement; std::getline(statements, statement, ';');) {
      if (statement.find("SELECT") == std::string::npos) continue;
      const std::string rows = query(statement);
      EXPECT_THAT(rows, testing::Not(HasSubstr("database"))) << statement;
      EXPECT_NE(rows, "") << statement;
      ++queries;
    }
  }
  EXPECT_GE(queries, 5);
}

TEST_F(LedgerTest, TheViewsShowTimesAsText) {
  const std::unique_ptr<Ledger> ledger = open_run();
  Entry entry = late_entry(1);
  entry.event_time_us = -1;
  entry.watermark_us = kMicrosMin;
  entry.arrival_time_us = std::nullopt;
  add(*ledger, entry);
  commit(*ledger);
  EXPECT_EQ(
      query("SELECT event_time, ifnull(arrival_time, 'none'), watermark, window_start, window_end, "
            "late_by_us FROM ledger"),
      "1969-12-31T23:59:59.999999Z|none|-infinity|2024-05-01T12:00:00Z|2024-05-01T12:01:00Z|30000000\n");
}

}  // namespace
}  // namespace wrackline::ledger
