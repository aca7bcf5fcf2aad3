// Real records against a plain recount. The sets lie outside the repository (WRACKLINE_SHARED, or ../shared
// beside it); without them these tests are skipped and say so.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "disorder/test_stream.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {
namespace {

std::filesystem::path shared_folder() {
  if (const char* named = std::getenv("WRACKLINE_SHARED")) return named;
  return std::filesystem::path(WRACKLINE_SOURCE_DIR).parent_path() / "shared";
}

struct Columns {
  std::string file;
  std::string event;
  std::string arrival;
  int64_t unit_us = 1;
  std::string partition = {};
};

struct RecordSet {
  std::vector<disorder::TestRecord> records;
  std::vector<std::string> partitions;
};

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> found(1);
  for (const char c : line) {
    if (c == ',') {
      found.emplace_back();
    } else if (c != '\r') {
      found.back() += c;
    }
  }
  return found;
}

// Plain numbers and commas; that is all these files have in the columns that are read.
RecordSet read(const Columns& columns) {
  RecordSet set;
  std::ifstream file(shared_folder() / "data" / columns.file);
  std::string line;
  std::getline(file, line);
  const auto header = cells(line);
  const auto column = [&](const std::string& name) {
    return static_cast<size_t>(std::ranges::find(header, name) - header.begin());
  };
  const size_t event = column(columns.event);
  const size_t arrival = column(columns.arrival);
  const size_t partition = column(columns.partition);
  std::map<std::string, PartitionId> ids;
  const auto number = [](const std::string& text) {
    int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  while (std::getline(file, line)) {
    const auto row = cells(line);
    const std::string name = partition < row.size() ? row[partition] : std::string();
    const auto [at, added] = ids.try_emplace(name, static_cast<PartitionId>(ids.size()));
    if (added) set.partitions.push_back(name);
    set.records.push_back(
        {at->second, number(row[event]) * columns.unit_us, number(row[arrival]) * columns.unit_us, 0});
  }
  return set;
}

#define NEED_SHARED(columns)                                               \
  if (!std::filesystem::exists(shared_folder() / "data" / (columns).file)) \
  GTEST_SKIP() << "needs data/" << (columns).file << " under ../shared, or WRACKLINE_SHARED naming it"

ProfileReport profile_of(const RecordSet& set, std::string unit = {}) {
  ProfileOptions options;
  options.time_unit = std::move(unit);
  DelayProfile profile(options);
  for (const std::string& name : set.partitions) profile.partition(name);
  std::mt19937_64 random(1);
  EXPECT_TRUE(disorder::feed(profile, set.records, random, 3000).has_value());
  return std::move(*profile.finish());
}

void recount(const RecordSet& set, const ProfileReport& report) {
  std::vector<int64_t> delays;
  std::vector<int64_t> disorders;
  int64_t max = kMicrosMin;
  for (const auto& record : set.records) {
    delays.push_back(*record.arrival_us - record.event_us);
    if (delays.back() >= -300'000'000) max = std::max(max, record.event_us);
    if (max != kMicrosMin) disorders.push_back(max - record.event_us);
  }
  EXPECT_EQ(report.all.records, static_cast<int64_t>(set.records.size()));
  EXPECT_EQ(report.all.delay_us, disorder::plain_quantiles(delays));
  EXPECT_EQ(report.all.disorder_us, disorder::plain_quantiles(disorders));
  EXPECT_EQ(report.all.behind, std::ranges::count_if(disorders, [](int64_t x) { return x > 0; }));
}

int64_t records_of(const ProfileReport& report, Finding::Kind kind) {
  int64_t records = 0;
  for (const Finding& finding : report.findings) records += finding.kind == kind ? finding.records : 0;
  return records;
}

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

TEST(RealRecords, EarthquakesHaveTwoModes) {
  const Columns columns{"usgs_earthquakes/usgs_earthquakes.csv", "event_ms", "arrival_ms", 1000, "net"};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set);
  recount(set, report);
  EXPECT_EQ(report.all.records, 10'630);
  EXPECT_EQ(report.all.negative, 0);
  EXPECT_NEAR(static_cast<double>(report.all.behind) / 10'630, 0.7223, 1e-4);
  ASSERT_EQ(report.all.modes.size(), 2U);
  // Automatic solutions after one to three minutes, reviewed ones after hours to weeks.
  EXPECT_LT(report.all.modes[0].p99_us, 5 * kMinute);
  EXPECT_GT(report.all.modes[1].p50_us, 20 * kHour);
  EXPECT_GT(*report.all.split_us, 3 * kMinute);
  EXPECT_LT(*report.all.split_us, 2 * kHour);
}

TEST(RealRecords, PoliceReports) {
  const Columns columns{"sf_police_reports/reports.csv", "event_s", "arrival_s", kSecond, "district"};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set);
  recount(set, report);
  EXPECT_EQ(report.all.records, 11'884);
  EXPECT_EQ(report.all.delay_us->p50, 107 * kMinute);
  EXPECT_NEAR(static_cast<double>(report.all.behind) / 11'884, 0.6566, 1e-4);
}

TEST(RealRecords, TelematicsForwardsNearlyInOrder) {
  const Columns columns{"fleet_telematics/events.csv", "event_ms", "arrival_ms", 1000};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set);
  recount(set, report);
  EXPECT_EQ(report.all.records, 3561);
  EXPECT_EQ(report.all.behind, 19);  // 0.53 %
  EXPECT_EQ(report.all.disorder_us->max, 25 * kSecond);
  EXPECT_GT(report.all.delay_us->p99, 7 * kMinute);
}

TEST(RealRecords, WeeklyClocksAreNotModes) {
  const Columns columns{"dengue_reporting/cases.csv", "event_day", "arrival_day", kDay};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set);
  recount(set, report);
  EXPECT_EQ(report.all.records, 52'987);
  EXPECT_EQ(report.all.delay_us, (QuantileSet{0, 7 * kDay, 28 * kDay, 42 * kDay, 84 * kDay, 182 * kDay}));
  EXPECT_EQ(report.resolution_us, 7 * kDay);
  EXPECT_FALSE(report.all.split_us.has_value());
}

TEST(RealRecords, TransitClockBugsAreNamed) {
  const Columns columns{"gtfs_rt_clock_bugs/positions.csv", "event_raw", "arrival_s", kSecond, "vehicle"};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set, "s");
  recount(set, report);
  EXPECT_EQ(report.all.records, 386);
  EXPECT_EQ(report.all.future, 95);
  EXPECT_EQ(records_of(report, Finding::Kind::kWrongUnit), 19);  // milliseconds in a seconds field
  EXPECT_GE(records_of(report, Finding::Kind::kTimeZone), 69);   // whole feeds an hour ahead
  EXPECT_LE(records_of(report, Finding::Kind::kTimeZone), 73);
  for (const Finding& finding : report.findings) {
    if (finding.kind == Finding::Kind::kTimeZone) {
      EXPECT_EQ(finding.value_us, -kHour);
    }
    if (finding.kind == Finding::Kind::kWrongUnit) {
      EXPECT_EQ(finding.unit, "ms");
    }
  }
}

TEST(RealRecords, MailClocks) {
  const Columns columns{"mail_clock_skew/mails.csv", "event_s", "arrival_s", kSecond, "corpus"};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set, "s");
  recount(set, report);
  EXPECT_EQ(report.all.records, 6125);
  EXPECT_NEAR(static_cast<double>(*report.all.negative) / 6125, 0.09682, 1e-5);
  EXPECT_GT(report.all.delay_us->max, 1900 * 365 * kDay);  // the year 102
}

TEST(RealRecords, OutagesRecount) {
  const Columns columns{"pge_outages/first_seen.csv", "event_s", "arrival_s", kSecond};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  const ProfileReport report = profile_of(set, "s");
  recount(set, report);
  EXPECT_EQ(report.all.records, 45'729);
  EXPECT_EQ(report.all.negative, 2);
}

// The prediction adds up on every set, window or not.
TEST(RealRecords, BudgetsBalance) {
  const Columns columns{"sf_police_reports/reports.csv", "event_s", "arrival_s", kSecond, "district"};
  NEED_SHARED(columns);
  const RecordSet set = read(columns);
  for (const BudgetRule rule : {BudgetRule::kExact, BudgetRule::kNearestRank}) {
    BudgetOptions options;
    options.rule = rule;
    options.window = seconds(3600);
    LatenessBudget budget(options);
    for (const std::string& name : set.partitions) budget.partition(name);
    std::mt19937_64 random(2);
    ASSERT_TRUE(disorder::feed(budget, set.records, random, 3000).has_value());
    const auto report = budget.finish();
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->counts.on_time + report->counts.corrected + report->counts.ledgered, 11'884);
    EXPECT_LE(report->counts.ledgered, 11'884 / 1000);
  }
}

}  // namespace
}  // namespace wrackline
