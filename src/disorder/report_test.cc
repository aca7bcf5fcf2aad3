#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/time_text.h"
#include "disorder/delay_chart.h"
#include "disorder/report_json.h"
#include "disorder/report_text.h"
#include "disorder/test_stream.h"

namespace wrackline {
namespace {

using testing::HasSubstr;
using testing::Not;

// Reads JSON strictly enough to know that it is JSON: values, no duplicate keys, nothing after the end.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}
  bool valid() { return value() && at_ == text_.size(); }

 private:
  bool eat(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool string() {
    if (!eat('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return false;
      at_ += text_[at_] == '\\' ? 2 : 1;
    }
    return eat('"');
  }
  bool number() {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of("-+.0123456789e", at_), text_.size());
    return at_ > begin;
  }
  bool list(char end, bool members) {
    ++at_;
    if (eat(end)) return true;
    std::vector<std::string_view> keys;
    do {
      const size_t begin = at_;
      if (members) {
        if (!string()) return false;
        const std::string_view key = text_.substr(begin, at_ - begin);
        if (std::ranges::find(keys, key) != keys.end() || !eat(':')) return false;
        keys.push_back(key);
      }
      if (!value()) return false;
    } while (eat(','));
    return eat(end);
  }
  bool value() {
    if (at_ >= text_.size()) return false;
    switch (text_[at_]) {
      case '{':
        return list('}', true);
      case '[':
        return list(']', false);
      case '"':
        return string();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }
  std::string_view text_;
  size_t at_ = 0;
};

bool is_json(std::string_view text) {
  return JsonReader(text).valid();
}

std::vector<disorder::TestRecord> stream(size_t records, PartitionId partitions, double without_arrival = 0) {
  std::mt19937_64 random(77);
  return disorder::random_stream(
      random, {.records = records, .partitions = partitions, .without_arrival = without_arrival});
}

ProfileReport profile_of(const std::vector<disorder::TestRecord>& records, PartitionId partitions) {
  DelayProfile profile({});
  for (PartitionId id = 0; id < partitions; ++id) profile.partition(disorder::partition_name(id));
  std::mt19937_64 random(1);
  EXPECT_TRUE(disorder::feed(profile, records, random, 900).has_value());
  return std::move(*profile.finish());
}

BudgetReport budget_of(const std::vector<disorder::TestRecord>& records, PartitionId partitions,
                       BudgetOptions options) {
  LatenessBudget budget(std::move(options));
  for (PartitionId id = 0; id < partitions; ++id) budget.partition(disorder::partition_name(id));
  std::mt19937_64 random(1);
  EXPECT_TRUE(disorder::feed(budget, records, random, 900).has_value());
  return std::move(*budget.finish());
}

size_t longest_line(std::string_view text) {
  size_t longest = 0;
  size_t length = 0;
  for (const char c : text) {
    length = c == '\n' ? 0 : length + ((c & 0xC0) != 0x80 ? 1 : 0);
    longest = std::max(longest, length);
  }
  return longest;
}

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

TEST(ReportJson, ProfileHasTheKeysOfTheInterface) {
  const std::string json = profile_to_json(profile_of(stream(5000, 3), 3), {{"unparseable", 2}});
  EXPECT_TRUE(is_json(json)) << json;
  EXPECT_THAT(json,
              testing::StartsWith(R"({"records":5000,"rejected":{"unparseable":2},"all":{"records":5000,)"));
  for (const std::string_view key :
       {R"("partitions":[{"partition":"p0","records":)", R"("delay_us":{"min":)", R"("p99.9":)",
        R"("disorder_us":{"min":)", R"("behind":{"count":)", R"("negative":{"count":)", R"("most_us":)",
        R"("future":{"count":)", R"("modes":[{"name":"transport","records":)", R"("split_us":)",
        R"("confidence":{"p99":[)", R"("verdict":{"p99":")", R"("findings":[)"}) {
    EXPECT_THAT(json, HasSubstr(key));
  }
}

TEST(ReportJson, WhatIsNotKnownIsNull) {
  const std::string json = profile_to_json(profile_of(stream(500, 1, 1), 1), {});
  EXPECT_TRUE(is_json(json)) << json;
  EXPECT_THAT(json, HasSubstr(R"("delay_us":null,"disorder_us":{"min":0)"));
  EXPECT_THAT(json, HasSubstr(R"("negative":null,"future":null)"));
  EXPECT_THAT(json, HasSubstr(R"("modes":[],"split_us":null)"));
  const std::string empty = profile_to_json(profile_of({}, 1), {});
  EXPECT_TRUE(is_json(empty)) << empty;
  EXPECT_THAT(empty, HasSubstr(R"("verdict":{"p99":"insufficient","p99.9":"insufficient"})"));
}

TEST(ReportJson, NamesThatAreNotPlain) {
  DelayProfile profile({});
  const PartitionId id = profile.partition("a\"\\\n\x01\xff");
  const std::vector<int64_t> times(600, 5);
  DelayBatch batch;
  batch.partition = id;
  batch.event_us = times;
  ASSERT_TRUE(profile.add(batch).has_value());
  EXPECT_TRUE(is_json(profile_to_json(*profile.finish(), {{"a\"b", 1}})));
}

TEST(ReportJson, BudgetHasTheKeysOfTheInterface) {
  for (const BudgetRule rule : {BudgetRule::kExact, BudgetRule::kNearestRank}) {
    BudgetOptions options;
    options.rule = rule;
    options.window = seconds(1);
    const std::string json = budget_to_json(budget_of(stream(5000, 3), 3, options), {});
    EXPECT_TRUE(is_json(json)) << json;
    EXPECT_THAT(json, testing::StartsWith(std::string(R"({"rule":")") + std::string(to_string(rule)) +
                                          R"(","watermark_delay_us":)"));
    for (const std::string_view key :
         {R"("allowed_lateness_us":)", R"("predicted":{"on_time":)", R"("corrected":)", R"("ledgered":)",
          R"("latency_us":{"p50":)", R"("state":{"windows":)", R"("bytes":)",
          R"("per_partition":[{"partition":"p0")"}) {
      EXPECT_THAT(json, HasSubstr(key));
    }
  }
  const std::string empty = budget_to_json(budget_of({}, 1, {}), {});
  EXPECT_TRUE(is_json(empty)) << empty;
  EXPECT_THAT(empty, HasSubstr(R"("latency_us":null,"state":null,"per_partition":[])"));
}

TEST(ReportText, ProfileFitsItsWidthAndItsCharacters) {
  for (const size_t width : {60, 80, 100, 200}) {
    const ProfileReport report = profile_of(stream(5000, 3), 3);
    const std::string plain = profile_text(report, {{"unparseable", 2}}, {.width = width});
    EXPECT_TRUE(is_ascii(plain));
    EXPECT_LE(longest_line(plain), std::max<size_t>(width, 80)) << plain;
    EXPECT_THAT(plain, HasSubstr("5,000 records in 3 partitions; not measured: 2 unparseable"));
    EXPECT_THAT(plain, HasSubstr("p50"));
    const std::string blocks = profile_text(report, {}, {.width = width, .unicode = true});
    EXPECT_THAT(blocks, HasSubstr("█"));
    EXPECT_EQ(longest_line(blocks), longest_line(plain));
  }
}

TEST(ReportText, TwentyPartitionsAndHowManyMore) {
  const std::string text = profile_text(profile_of(stream(5000, 33), 33), {}, {});
  EXPECT_THAT(text, HasSubstr("+13 more"));
  const std::string exactly = profile_text(profile_of(stream(5000, 20), 20), {}, {});
  EXPECT_THAT(exactly, Not(HasSubstr(" more (")));
}

TEST(ReportText, WithoutArrivalItSaysWhatIsKnown) {
  const std::string text = profile_text(profile_of(stream(500, 2, 1), 2), {}, {});
  EXPECT_THAT(text, HasSubstr("not known"));
  EXPECT_THAT(text, HasSubstr("only disorder is known"));
  EXPECT_THAT(text, Not(HasSubstr("arrival delay,")));
  EXPECT_THAT(profile_text(profile_of({}, 1), {}, {}), HasSubstr("Nothing can be said"));
}

TEST(ReportText, BudgetNamesWhyWhatAndHow) {
  BudgetOptions options;
  options.window = seconds(1);
  const BudgetReport report = budget_of(stream(20'000, 3), 3, options);
  const std::string text = budget_text(report, {}, {});
  EXPECT_TRUE(is_ascii(text));
  EXPECT_THAT(text, HasSubstr("rule: exact"));
  EXPECT_THAT(text, HasSubstr("watermark_delay = '" + span_literal(report.watermark_delay_us) + "'"));
  EXPECT_THAT(text, HasSubstr("allowed_lateness = '" + span_literal(report.allowed_lateness_us) + "'"));
  EXPECT_THAT(text, HasSubstr("on time"));
  EXPECT_THAT(text, HasSubstr("latency  windows come out"));
  EXPECT_THAT(text, HasSubstr("state    at most"));
  EXPECT_LE(longest_line(text), 80U) << text;
}

TEST(ReportText, BudgetNotes) {
  EXPECT_THAT(budget_text(budget_of(stream(100, 1), 1, {}), {}, {}), HasSubstr("too small to promise"));
  EXPECT_THAT(budget_text(budget_of(stream(100, 1), 1, {}), {}, {}), HasSubstr("No window was given"));
  EXPECT_THAT(budget_text(budget_of(stream(500, 1, 1), 1, {}), {}, {}),
              HasSubstr("There are no arrival times"));
  EXPECT_THAT(budget_text(budget_of({}, 1, {}), {}, {}), HasSubstr("nothing can be said"));
}

TEST(ShortSpan, ThreeDigitsAndOneUnit) {
  constexpr int64_t kSecond = 1'000'000;
  constexpr int64_t kDay = 86'400 * kSecond;
  EXPECT_EQ(short_span(0), "0 s");
  EXPECT_EQ(short_span(1), "1 us");
  EXPECT_EQ(short_span(-1500), "-1.5 ms");
  EXPECT_EQ(short_span(999'999), "1 s");
  EXPECT_EQ(short_span(62'100'000), "62.1 s");
  EXPECT_EQ(short_span(119 * kSecond), "119 s");
  EXPECT_EQ(short_span(120 * kSecond), "2 min");
  EXPECT_EQ(short_span(7200 * kSecond), "2 h");
  EXPECT_EQ(short_span(2 * kDay), "2 d");
  EXPECT_EQ(short_span(int64_t{1900} * 36525 * kDay / 100), "1900 y");
  EXPECT_EQ(short_span(kMicrosMin), "-292271 y");
  EXPECT_EQ(short_span(kMicrosMax), "292271 y");
}

// What is printed to paste must read back as the same span.
TEST(SpanLiteral, ReadsBackExactly) {
  EXPECT_EQ(span_literal(0), "0 s");
  EXPECT_EQ(span_literal(2 * 3'600'000'000), "2 h");
  EXPECT_EQ(span_literal(90'000'000), "90 s");
  EXPECT_EQ(span_literal(1'500), "1500 us");
  EXPECT_EQ(span_literal(250'000), "250 ms");
  EXPECT_EQ(span_literal(435'270'000), "435.27 s");
  EXPECT_EQ(span_literal(13'000'001), "13.000001 s");
  std::mt19937_64 random(9);
  for (int round = 0; round < 2000; ++round) {
    int64_t span = static_cast<int64_t>(random() >> (10 + random() % 54));
    if (round % 3 == 0) span = span / 1000 * 1000;
    const auto back = parse_span_micros(span_literal(span));
    ASSERT_TRUE(back.has_value()) << span_literal(span);
    ASSERT_EQ(*back, span) << span_literal(span);
  }
}

TEST(DelayChart, AnyDistributionFits) {
  std::mt19937_64 random(10);
  for (int round = 0; round < 500; ++round) {
    DelayHistogram histogram;
    const size_t values = 1 + random() % 30;
    for (size_t i = 0; i < values; ++i) {
      const auto magnitude = static_cast<int64_t>(random() >> (1 + random() % 63));
      histogram.add(random() % 3 == 0 ? -magnitude : magnitude);
    }
    if (round % 7 == 0) histogram.add(kMicrosMin);
    if (round % 9 == 0) histogram.add(kMicrosMax);
    const std::string chart = disorder::delay_chart(
        histogram, {{"p50", histogram.rank_lower(1)}, {"transport", histogram.max()}, {"x", 0}},
        {.width = 80});
    ASSERT_TRUE(is_ascii(chart));
    ASSERT_LE(longest_line(chart), 80U) << chart;
    ASSERT_GE(std::ranges::count(chart, '\n'), 10);
  }
}

TEST(DelayChart, NegativeDelaysStandLeftOfZero) {
  DelayHistogram histogram;
  histogram.add(-5'000'000, 10);
  histogram.add(0, 5);
  histogram.add(5'000'000, 10);
  const std::string chart = disorder::delay_chart(histogram, {{"p50", 0}}, {.width = 60});
  const std::string top = chart.substr(0, chart.find('\n'));
  EXPECT_EQ(std::ranges::count(top, '#'), 2) << chart;
  const std::string labels = chart.substr(0, chart.rfind("^"));
  EXPECT_THAT(chart, HasSubstr("0"));
}

}  // namespace
}  // namespace wrackline
