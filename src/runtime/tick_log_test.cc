#include "runtime/tick_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "runtime/tick_codec.h"
#include "runtime/tick_segments.h"

namespace wrackline::runtime {
namespace {

// A folder of the test's own.
class TickLog : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / (std::string("ticklog-") + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TickLogWriter::Options options(int64_t run = 1, size_t segment_bytes = size_t{64} << 20) const {
    TickLogWriter::Options options;
    options.directory = folder_.string();
    options.header.run = run;
    options.header.job_path = "/jobs/clicks.sql";
    options.header.job_text = "SELECT 1;";
    options.header.job_set = {{"clicks.path", "x.jsonl"}};
    options.segment_bytes = segment_bytes;
    return options;
  }
  std::unique_ptr<TickLogWriter> writer(int64_t run = 1, size_t segment_bytes = size_t{64} << 20) const {
    auto made = TickLogWriter::create(options(run, segment_bytes));
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().to_string());
    return std::move(*made);
  }

  struct Read {
    std::vector<TickEntry> entries;
    std::vector<std::string> notices;
    std::optional<Error> error;
    TickLogHeader header;
  };
  Read read(std::optional<int64_t> run = std::nullopt) {
    Read result;
    auto reader = TickLogReader::open(folder_.string(), run);
    if (!reader) {
      result.error = reader.error();
      return result;
    }
    result.header = (*reader)->header();
    for (;;) {
      auto entry = (*reader)->peek();
      if (!entry) {
        result.error = entry.error();
        break;
      }
      if (*entry == nullptr) break;
      result.entries.push_back(**entry);
      (*reader)->pop();
    }
    result.notices = (*reader)->take_notices();
    return result;
  }

  std::string only_segment() const {
    const auto segments = tick_segments(folder_.string());
    EXPECT_EQ(segments->size(), 1U);
    return segments->at(0).path;
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  std::filesystem::path folder_;
};

TickEntry open_entry(uint32_t source = 0) {
  TickEntry entry;
  entry.kind = TickKind::kOpen;
  entry.source = source;
  entry.splits = {"a.jsonl", "b.jsonl"};
  entry.partitions = {{"a.jsonl", false}, {"b.jsonl", false}};
  entry.delay_us = 5'000'000;
  entry.holder = 0;
  return entry;
}

// A walk over everything that an entry can hold.
std::vector<TickEntry> random_entries(std::mt19937_64& random, size_t count) {
  std::vector<TickEntry> entries = {open_entry(0), open_entry(1)};
  uint32_t partitions[2] = {2, 2};
  int64_t delays[2] = {5'000'000, 5'000'000};
  while (entries.size() < count) {
    TickEntry entry;
    entry.source = static_cast<uint32_t>(random() % 2);
    entry.kind = random() % 4 == 0 ? TickKind::kTime : TickKind::kRecords;
    entry.wall_us = static_cast<int64_t>(random() % 1'000'000'000'000);
    if (random() % 8 == 0) {
      entry.partitions.push_back({std::string(random() % 20, 'x'), random() % 2 == 0});
      ++partitions[entry.source];
    }
    if (random() % 16 == 0)
      entry.delay_us = delays[entry.source] = static_cast<int64_t>(random() % 90'000'000);
    if (random() % 4 == 0) {
      entry.events.push_back(
          {TickEvent::What::kIdle, static_cast<uint32_t>(random() % partitions[entry.source])});
      entry.events.push_back({TickEvent::What::kPaused, static_cast<uint32_t>(random() % 2)});
    }
    if (random() % 8 == 0) entry.carried_to_us = static_cast<int64_t>(random());
    entry.progress_us = random() % 10 == 0 ? kMicrosMin : static_cast<int64_t>(random() >> (random() % 60));
    if (random() % 50 == 0) entry.progress_us = kMicrosMax;
    entry.watermark_us = entry.progress_us == kMicrosMax
                             ? kMicrosMax
                             : saturating_subtract(entry.progress_us, delays[entry.source]);
    if (random() % 10 == 0) entry.watermark_us = static_cast<int64_t>(random());
    if (random() % 3 != 0) entry.holder = static_cast<uint32_t>(random() % partitions[entry.source]);
    if (entry.kind == TickKind::kRecords) {
      entry.split = static_cast<uint32_t>(random() % 2);
      entry.file = random() % 5 == 0 ? "c" + std::to_string(random() % 9) : "a.jsonl";
      entry.records = random() % 5000;
      entry.first_offset = static_cast<int64_t>(random() % 100000);
      entry.last_offset = entry.first_offset + static_cast<int64_t>(random() % 5000);
      entry.bytes = random() % 1'000'000;
    }
    entries.push_back(entry);
  }
  return entries;
}

void append_all(TickLogWriter& log, std::vector<TickEntry>& entries) {
  for (TickEntry& entry : entries) ASSERT_TRUE(log.append(entry).has_value());
  ASSERT_TRUE(log.commit().has_value());
}

TEST_F(TickLog, WhatIsWrittenIsRead) {
  std::mt19937_64 random(1);
  auto entries = random_entries(random, 3000);
  append_all(*writer(), entries);
  const Read result = read();
  ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
  EXPECT_EQ(result.entries, entries);
  EXPECT_EQ(result.header.job_text, "SELECT 1;");
  EXPECT_EQ(result.header.job_set.size(), 1U);
  EXPECT_TRUE(result.notices.empty());
}

TEST_F(TickLog, AUsualTickTakesAFewBytes) {
  auto log = writer();
  auto open = open_entry();
  ASSERT_TRUE(log->append(open).has_value());
  ASSERT_TRUE(log->commit().has_value());
  const uint64_t before = log->bytes();
  constexpr int kTicks = 1000;
  for (int i = 0; i < kTicks; ++i) {
    TickEntry entry;
    entry.kind = TickKind::kRecords;
    entry.file = "a.jsonl";
    entry.wall_us = 1'700'000'000'000'000 + i * 20'000;
    entry.records = 4096;
    entry.first_offset = i * 4096;
    entry.last_offset = entry.first_offset + 4095;
    entry.bytes = 400'000;
    entry.progress_us = 1'700'000'000'000'000 + i * 17'123;
    entry.watermark_us = entry.progress_us - 5'000'000;
    entry.holder = 0;
    ASSERT_TRUE(log->append(entry).has_value());
  }
  ASSERT_TRUE(log->commit().has_value());
  EXPECT_LE((log->bytes() - before) / kTicks, 25U);
}

TEST_F(TickLog, EverySplitOfSegmentsReadsTheSame) {
  std::mt19937_64 random(2);
  auto entries = random_entries(random, 2000);
  append_all(*writer(1, 3000), entries);
  EXPECT_GT(tick_segments(folder_.string())->size(), 5U);
  const Read result = read();
  ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
  EXPECT_EQ(result.entries, entries);
}

TEST_F(TickLog, SegmentsThatACheckpointStandsForCanGo) {
  std::mt19937_64 random(3);
  auto entries = random_entries(random, 2000);
  auto log = writer(1, 3000);
  append_all(*log, entries);
  ASSERT_TRUE(log->drop_before(1000).has_value());
  const Read result = read();
  ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
  const uint64_t first = result.entries.front().sequence;
  EXPECT_GT(first, 800U);
  EXPECT_LE(first, 1000U);
  EXPECT_EQ(result.entries,
            std::vector<TickEntry>(entries.begin() + static_cast<ptrdiff_t>(first), entries.end()));
}

TEST_F(TickLog, ATornTailIsCutOffAtTheLastWholeEntry) {
  std::mt19937_64 random(4);
  auto entries = random_entries(random, 40);
  append_all(*writer(), entries);
  const std::string path = only_segment();
  const std::string whole = bytes_of(path);
  size_t head = 0;
  ASSERT_TRUE(read_head(whole, head).has_value());
  for (size_t size = head; size < whole.size(); size += 3) {
    write(path, std::string_view(whole).substr(0, size));
    const Read result = read();
    ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
    EXPECT_EQ(result.entries,
              std::vector<TickEntry>(entries.begin(),
                                     entries.begin() + static_cast<ptrdiff_t>(result.entries.size())));
  }
  // Pages that the file system had made room for, but not written.
  write(path, whole + std::string(5000, '\0'));
  const Read result = read();
  EXPECT_FALSE(result.error.has_value());
  EXPECT_EQ(result.entries, entries);
  ASSERT_EQ(result.notices.size(), 1U);
  EXPECT_NE(result.notices[0].find("its last 5000 bytes are left out"), std::string::npos);
}

TEST_F(TickLog, DamageInTheMiddleNamesFileAndByte) {
  std::mt19937_64 random(5);
  auto entries = random_entries(random, 200);
  append_all(*writer(), entries);
  const std::string path = only_segment();
  const std::string whole = bytes_of(path);
  for (int round = 0; round < 100; ++round) {
    std::string bytes = whole;
    const size_t at = 200 + random() % (whole.size() - 400);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8)));
    write(path, bytes);
    const Read result = read();
    ASSERT_TRUE(result.error.has_value()) << "byte " << at;
    EXPECT_EQ(result.error->code, ErrorCode::kData);
    EXPECT_EQ(result.error->where.file, path);
    EXPECT_LE(result.error->where.offset, static_cast<int64_t>(at));
    EXPECT_NE(result.error->message.find("is damaged at byte"), std::string::npos);
  }
}

TEST_F(TickLog, AMissingSegmentIsSeen) {
  std::mt19937_64 random(6);
  auto entries = random_entries(random, 2000);
  append_all(*writer(1, 3000), entries);
  std::filesystem::remove(tick_segments(folder_.string())->at(2).path);
  const Read result = read();
  ASSERT_TRUE(result.error.has_value());
  EXPECT_NE(result.error->detail.find("It goes on with entry"), std::string::npos);
}

TEST_F(TickLog, LogsOfOldRunsGo) {
  for (int64_t run = 1; run <= 4; ++run) {
    auto entries = std::vector<TickEntry>{open_entry()};
    append_all(*writer(run), entries);
  }
  EXPECT_EQ(read().header.run, 4);
  EXPECT_EQ(read(3).header.run, 3);
  const Read gone = read(2);
  ASSERT_TRUE(gone.error.has_value());
  EXPECT_EQ(gone.error->code, ErrorCode::kNotFound);
  EXPECT_EQ(gone.error->detail, "There are the runs 3, 4.");
}

TEST_F(TickLog, AStartThatWroteNoBeginningDoesNotCount) {
  for (int64_t run = 1; run <= 2; ++run) {
    auto entries = std::vector<TickEntry>{open_entry()};
    append_all(*writer(run), entries);
  }
  const std::string path = tick_segments(folder_.string())->at(1).path;
  const std::string whole = bytes_of(path);
  for (const size_t size : {size_t{0}, size_t{5}, size_t{30}}) {
    write(path, std::string_view(whole).substr(0, size));
    const Read result = read();
    ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
    EXPECT_EQ(result.header.run, 1);
  }
}

TEST_F(TickLog, AnotherFormatIsRefused) {
  auto entries = std::vector<TickEntry>{open_entry()};
  append_all(*writer(), entries);
  const std::string path = only_segment();
  std::string bytes = bytes_of(path);
  bytes[kTickMagic.size()] = 9;
  write(path, bytes);
  ASSERT_TRUE(read().error.has_value());
  EXPECT_NE(read().error->detail.find("format version 9"), std::string::npos);
  write(path, "not a log");
  EXPECT_TRUE(read().error.has_value());
}

// The attempts of a run write one log, wherever each of them was killed.
TEST_F(TickLog, ARunThatIsResumedGoesOnBehindTheLastWholeEntry) {
  std::mt19937_64 random(8);
  for (int round = 0; round < 40; ++round) {
    std::filesystem::remove_all(folder_ / "ticks");
    const auto entries = random_entries(random, 60);
    size_t done = 0;
    while (done < entries.size()) {
      const size_t segment_bytes = round % 2 == 0 ? 600 : size_t{64} << 20;
      auto log = TickLogWriter::go_on(options(1, segment_bytes));
      ASSERT_TRUE(log.has_value()) << log.error().to_string();
      ASSERT_EQ((*log)->entries(), done);
      for (size_t more = random() % 15; more > 0 && done < entries.size(); --more, ++done) {
        TickEntry entry = entries[done];
        ASSERT_TRUE((*log)->append(entry).has_value());
        ASSERT_EQ(entry.sequence, done);
      }
      ASSERT_TRUE((*log)->commit().has_value());
      log->reset();
      if (random() % 2 == 0) continue;
      const std::string newest = tick_segments(folder_.string())->back().path;
      const std::string bytes = bytes_of(newest);
      if (random() % 2 == 0) {  // half an entry
        write(newest, bytes + std::string(random() % 9, 'x'));
      } else {  // or a whole one that was not durable
        write(newest, std::string_view(bytes).substr(0, bytes.size() - random() % bytes.size() / 2));
        const Read left = read();
        ASSERT_TRUE(!left.error || left.error->code == ErrorCode::kNotFound) << left.error->to_string();
        done = left.entries.size();
      }
    }
    const Read result = read();
    ASSERT_FALSE(result.error.has_value()) << result.error->to_string();
    ASSERT_EQ(result.entries.size(), entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      TickEntry expected = entries[i];
      expected.sequence = i;
      expected.tick = result.entries[i].tick;
      ASSERT_EQ(result.entries[i], expected) << i;
    }
  }
}

TEST_F(TickLog, ReadingBeginsAtAnEntry) {
  std::mt19937_64 random(9);
  auto entries = random_entries(random, 300);
  append_all(*writer(1, 2000), entries);
  for (const uint64_t from : {uint64_t{0}, uint64_t{77}, uint64_t{300}}) {
    auto reader = TickLogReader::open(folder_.string());
    ASSERT_TRUE((*reader)->skip_to(from).has_value());
    const auto entry = (*reader)->peek();
    ASSERT_TRUE(entry.has_value());
    EXPECT_EQ(*entry == nullptr ? 300 : (*entry)->sequence, from);
  }
  auto reader = TickLogReader::open(folder_.string());
  const Status beyond = (*reader)->skip_to(301);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_EQ(beyond.error().detail, "It ends with entry 299.");
}

TEST_F(TickLog, SummaryAddsUp) {
  std::mt19937_64 random(7);
  auto entries = random_entries(random, 500);
  append_all(*writer(), entries);
  const auto summary = summarize_tick_log(folder_.string());
  ASSERT_TRUE(summary.has_value());
  int64_t records[2] = {0, 0};
  for (const TickEntry& entry : entries) records[entry.source] += static_cast<int64_t>(entry.records);
  EXPECT_EQ(summary->sources[0].records, records[0]);
  EXPECT_EQ(summary->sources[1].records, records[1]);
  EXPECT_EQ(summary->entries, 500U);
  EXPECT_EQ(summary->ticks, entries.back().tick);
  EXPECT_FALSE(summary->flushed);
}

}  // namespace
}  // namespace wrackline::runtime
