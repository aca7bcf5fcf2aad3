// Saved profiles: what is read is what was written, sums are sums, and nothing else is taken for a profile.
#include "wrackline/delay_profile_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "disorder/test_stream.h"
#include "wrackline/lateness_budget.h"

namespace wrackline {
namespace {

using disorder::feed;
using disorder::partition_name;
using disorder::random_stream;
using disorder::TestRecord;
using testing::HasSubstr;

ProfileReport profile_of(const std::vector<TestRecord>& records, PartitionId partitions = 3) {
  DelayProfile profile(ProfileOptions{});
  for (PartitionId id = 0; id < partitions; ++id) profile.partition(partition_name(id));
  std::mt19937_64 random(1);
  EXPECT_TRUE(feed(profile, records, random, 500).has_value());
  return *profile.finish();
}

std::vector<TestRecord> stream(uint64_t seed, size_t records = 3000, PartitionId partitions = 3) {
  std::mt19937_64 random(seed);
  return random_stream(random, {.records = records, .partitions = partitions});
}

ProfileReport reloaded(const ProfileReport& report) {
  auto loaded = load_profile(save_profile(report));
  EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error());
  return loaded ? std::move(*loaded) : ProfileReport();
}

void expect_close(const std::optional<QuantileSet>& found, const std::optional<QuantileSet>& exact) {
  ASSERT_EQ(found.has_value(), exact.has_value());
  if (!exact) return;
  EXPECT_EQ(found->min, exact->min);
  EXPECT_EQ(found->max, exact->max);
  for (const auto member : {&QuantileSet::p50, &QuantileSet::p95, &QuantileSet::p99, &QuantileSet::p99_9}) {
    const int64_t value = (*found).*member;
    const int64_t right = (*exact).*member;
    EXPECT_GE(value, right);
    EXPECT_LE(value - right, std::abs(right) / 127 + 1);
  }
}

TEST(ProfileFile, WhatIsReadIsWhatWasWritten) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const ProfileReport report = profile_of(stream(seed));
    const ProfileReport again = reloaded(report);
    EXPECT_EQ(again.all.delay, report.all.delay);
    EXPECT_EQ(again.all.disorder, report.all.disorder);
    EXPECT_EQ(again.all.records, report.all.records);
    EXPECT_EQ(again.all.negative, report.all.negative);
    EXPECT_EQ(again.all.future, report.all.future);
    EXPECT_EQ(again.all.behind, report.all.behind);
    EXPECT_FALSE(again.all.exact);
    ASSERT_EQ(again.partitions.size(), report.partitions.size());
    for (size_t i = 0; i < report.partitions.size(); ++i) {
      EXPECT_EQ(again.partitions[i].partition, report.partitions[i].partition);
      EXPECT_EQ(again.partitions[i].disorder, report.partitions[i].disorder);
      EXPECT_EQ(again.partitions[i].disorder_p99.verdict, report.partitions[i].disorder_p99.verdict);
      expect_close(again.partitions[i].delay_us, report.partitions[i].delay_us);
    }
    expect_close(again.all.disorder_us, report.all.disorder_us);
    ASSERT_EQ(again.series.intervals.size(), report.series.intervals.size());
    EXPECT_TRUE(save_profile(again) == save_profile(report));
  }
}

TEST(ProfileFile, SumsAreThoseOfAllRecords) {
  const auto first = stream(1);
  const auto second = stream(2, 1000);
  const std::vector<ProfileReport> parts = {reloaded(profile_of(first)), reloaded(profile_of(second))};
  const ProfileReport merged = merge_profiles(parts);
  EXPECT_EQ(merged.all.records, 4000);
  std::vector<TestRecord> all = first;
  all.insert(all.end(), second.begin(), second.end());
  const ProfileReport whole = profile_of(all);
  EXPECT_EQ(merged.all.delay, whole.all.delay);
  EXPECT_EQ(merged.all.future, whole.all.future);
  EXPECT_EQ(merged.all.negative, whole.all.negative);
  ASSERT_EQ(merged.partitions.size(), whole.partitions.size());
  EXPECT_EQ(merged.partitions[0].delay, whole.partitions[0].delay);
  // Order of arguments does not show.
  const std::vector<ProfileReport> swapped = {parts[1], parts[0]};
  EXPECT_EQ(merge_profiles(swapped).all.delay, merged.all.delay);
}

TEST(ProfileFile, NothingElseIsTakenForAProfile) {
  const std::string good = save_profile(profile_of(stream(3)));
  const auto fault = [](const std::string& text) {
    const auto loaded = load_profile(text);
    return loaded ? std::string("loaded") : loaded.error();
  };
  EXPECT_THAT(fault(""), HasSubstr("not a profile"));
  EXPECT_THAT(fault("{\"records\":12}"), HasSubstr("not a profile"));
  EXPECT_THAT(fault(good.substr(0, good.size() / 2)), HasSubstr("damaged"));
  std::string other = good;
  other.replace(other.find("\"version\":1"), 11, "\"version\":2");
  EXPECT_THAT(fault(other), HasSubstr("version 2, this wrackline reads version 1"));
  std::string flipped = good;
  flipped[flipped.find("\"records\":") + 10] = flipped[flipped.find("\"records\":") + 10] == '1' ? '2' : '1';
  EXPECT_THAT(fault(flipped), HasSubstr("checksum"));
  for (size_t at = 0; at < good.size(); at += 97) {
    std::string broken = good;
    broken[at] = static_cast<char>(broken[at] ^ 0x11);
    EXPECT_NE(fault(broken), "loaded") << at;
  }
}

TEST(ProfileFile, AnEmptyProfileIsAProfile) {
  const ProfileReport report = profile_of({}, 0);
  const ProfileReport again = reloaded(report);
  EXPECT_EQ(again.all.records, 0);
  EXPECT_TRUE(again.partitions.empty());
}

TEST(ProfileFile, NamesOfAllKindsComeBack) {
  DelayProfile profile(ProfileOptions{});
  const std::string name = "caf\xC3\xA9 \"x\"\\ \t\x01";
  const std::vector<int64_t> times = {1, 2, 3};
  ASSERT_TRUE(profile.add({.partition = profile.partition(name), .event_us = times}).has_value());
  EXPECT_EQ(reloaded(*profile.finish()).partitions[0].partition, name);
}

// Three partitions, delays with an exponential tail; no clock is ahead, so disorder has no outliers either.
std::vector<TestRecord> steady(uint64_t seed, double mean_us = 500'000) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<double> delay(1 / mean_us);
  std::vector<TestRecord> records;
  for (int64_t i = 0; i < 4000; ++i) {
    const int64_t arrival = 1'700'000'000'000'000 + i * 20'000;
    records.push_back(
        {static_cast<PartitionId>(random() % 3), arrival - static_cast<int64_t>(delay(random)), arrival, 0});
  }
  return records;
}

TEST(CompareProfiles, TheSameLawIsTheSame) {
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const auto comparison = compare_profiles(profile_of(steady(seed)), profile_of(steady(seed + 100)));
    EXPECT_EQ(to_string(comparison.verdict), "same") << seed;
    EXPECT_TRUE(comparison.partitions_new.empty());
  }
}

TEST(CompareProfiles, AnotherLawIsAChange) {
  const auto comparison = compare_profiles(profile_of(steady(1)), profile_of(steady(2, 5'000'000)));
  EXPECT_EQ(comparison.verdict, ProfileVerdict::kChanged);
  ASSERT_EQ(comparison.quantities.size(), 2U);
  EXPECT_EQ(comparison.quantities[0].quantity, "delay");
  EXPECT_GT(comparison.quantities[0].ks, 0.5);
  EXPECT_GT(comparison.quantities[0].psi, 0.25);
  EXPECT_EQ(comparison.partitions_changed.size(), 3U);
}

TEST(CompareProfiles, TooFewRecordsSaySo) {
  const auto comparison = compare_profiles(profile_of(stream(1, 20)), profile_of(stream(2)));
  EXPECT_EQ(comparison.verdict, ProfileVerdict::kInsufficient);
}

TEST(CompareProfiles, PartitionsThatCameAndWent) {
  const auto comparison =
      compare_profiles(profile_of(stream(1, 500, 2), 2), profile_of(stream(2, 500, 4), 4));
  EXPECT_EQ(comparison.partitions_new.size(), 2U);
  EXPECT_TRUE(comparison.partitions_gone.empty());
}

TEST(ProfileBudget, IsThatOfTheRecordsWithinABucket) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const auto records = stream(seed, 20'000, 1);
    LatenessBudget exact({.transport_mode_only = false});
    exact.partition(partition_name(0));
    std::mt19937_64 random(seed);
    ASSERT_TRUE(feed(exact, records, random, 300).has_value());
    const BudgetReport right = *exact.finish();
    const auto saved = budget_from_profile(reloaded(profile_of(records, 1)), {});
    ASSERT_TRUE(saved.has_value());
    EXPECT_EQ(saved->verdict, right.verdict);
    const auto near = static_cast<double>(right.watermark_delay_us);
    EXPECT_NEAR(static_cast<double>(saved->watermark_delay_us), near, near * 0.05 + 1);
    EXPECT_LE(saved->counts.shares().corrected + saved->counts.shares().ledgered, 0.0101);
    EXPECT_TRUE(saved->from_profile);
    EXPECT_FALSE(saved->notes.empty());
  }
}

TEST(ProfileBudget, NearestRankNeedsArrivals) {
  DelayProfile profile(ProfileOptions{});
  const std::vector<int64_t> times = {1, 2, 3};
  ASSERT_TRUE(profile.add({.partition = profile.partition("p"), .event_us = times}).has_value());
  const auto budget = budget_from_profile(reloaded(*profile.finish()), {.rule = BudgetRule::kNearestRank});
  ASSERT_FALSE(budget.has_value());
  EXPECT_THAT(budget.error(), HasSubstr("arrival times"));
}

TEST(HistogramRestore, TakesOnlyWhatAHistogramShows) {
  DelayHistogram histogram;
  for (const int64_t value : {int64_t{-5}, int64_t{0}, int64_t{700}, kMicrosMax, kMicrosMin})
    histogram.add(value);
  const auto buckets = histogram.buckets();
  const auto again = DelayHistogram::restore(buckets, histogram.min(), histogram.max(), histogram.sum());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, histogram);
  auto wrong = buckets;
  std::swap(wrong[0], wrong[1]);
  EXPECT_FALSE(DelayHistogram::restore(wrong, histogram.min(), histogram.max(), histogram.sum()).has_value());
  EXPECT_FALSE(DelayHistogram::restore(buckets, 3, histogram.max(), histogram.sum()).has_value());
  wrong = buckets;
  wrong.back().index = 100'000;
  EXPECT_FALSE(DelayHistogram::restore(wrong, histogram.min(), histogram.max(), histogram.sum()).has_value());
}

}  // namespace
}  // namespace wrackline
