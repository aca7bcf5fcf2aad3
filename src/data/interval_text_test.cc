#include <gtest/gtest.h>

#include <random>

#include "data/time_text.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

std::string text_of(const Interval& interval) {
  std::string out;
  append_interval(out, interval);
  return out;
}

std::string read_back(std::string_view text) {
  const auto interval = parse_interval(text);
  if (interval) return text_of(*interval);
  return interval.error().code == ErrorCode::kOutOfRange ? "out of range" : interval.error().detail;
}

TEST(IntervalText, AgreesWithPostgres) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 minute", "00:01:00"},
      {"2 h", "02:00:00"},
      {"90 s", "00:01:30"},
      {"1 day 02:03:04.5", "1 day 02:03:04.5"},
      {"PT1H30M", "01:30:00"},
      {"1h30m", "01:30:00"},
      {"-1h30m", "-00:30:00"},  // each number has its own sign
      {"-5 min", "-00:05:00"},
      {"250 ms", "00:00:00.25"},
      {"1.5 days", "1 day 12:00:00"},
      {"1.5 months", "1 mon 15 days"},
      {"0.5 year", "6 mons"},
      {"-1 day 02:03:04", "-1 days +02:03:04"},
      {"1:30", "01:30:00"},
      {"1 day -02:03:04.5", "1 day -02:03:04.5"},
      {"P1Y2M3W4DT5H6M7.5S", "1 year 2 mons 25 days 05:06:07.5"},
      {"1 year 2 mons ago", "-1 years -2 mons"},
      {"-1.5 mon", "-1 mons -15 days"},
      {"1 mon -1 day", "1 mon -1 days"},
      {"-1 mon 1 day 1:00", "-1 mons +1 day 01:00:00"},
      {"-1 mon +1 day", "-1 mons +1 day"},
      {"@ 3 min", "00:03:00"},
      {"PT-5M", "-00:05:00"},
      {"P-1DT1H", "-1 days +01:00:00"},
      {"1 century", "100 years"},
      {"100000 h", "100000:00:00"},
      {"-00:00:01.5", "-00:00:01.5"},
      {"1.5 weeks", "10 days 12:00:00"},
      {"-1 year -3 mons 2 days", "-1 years -3 mons +2 days"},
      {"0.0333333333333 mon", "24:00:00"},
      {"1 week 2 day", "9 days"},
      {"1 sec 20 ms 3 us", "00:00:01.020003"},
      {".5 s", "00:00:00.5"},
      {"5. s", "00:00:05"},
      {"2147483647 days", "2147483647 days"},
      {"- 1 day", "-1 days"},
      {" 1  DAY ", "1 day"},
      {"2562047788:00:54.775806", "2562047788:00:54.775806"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(read_back(text), expected) << text;
}

TEST(IntervalText, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "It has no number."},
      {"@", "It has no number."},
      {"5", "The number 5 has no unit."},
      {"1 day 5", "The number 5 has no unit."},
      {"5 parsecs", "\"parsecs\" is not a unit of time."},
      {"minute", "\"minute\" has no number before it."},
      {"ago", "\"ago\" has no number before it."},
      {"1 day ago ago", "Nothing may follow \"ago\"."},
      {"5 min 5 minutes", "The unit \"minutes\" comes twice."},
      {"1 hour 02:03", "The unit \"h\" comes twice."},
      {"12:60:00", "\"60\" is not below 60."},
      {"12:00:60", "\"60\" is not below 60."},
      {"-12:60", "\"60\" is not below 60."},
      {"1.5:00", "Only seconds of a clock time take a fraction."},
      {"0.1 year", "0.1 year is not a whole number of months."},
      {"P", "An ISO 8601 duration looks like P1DT2H30M."},
      {"PT", "An ISO 8601 duration looks like P1DT2H30M."},
      {"P1DT", "An ISO 8601 duration looks like P1DT2H30M."},
      {"P1H", "An ISO 8601 duration looks like P1DT2H30M."},
      {"PT1D", "An ISO 8601 duration looks like P1DT2H30M."},
      {"P1D 2 h", "An ISO 8601 duration looks like P1DT2H30M."},
      {"P1", "An ISO 8601 duration looks like P1DT2H30M."},
      {"1e3 s", "\"e\" is not a unit of time."},
      {"1:", "A number is missing at its end."},
      {"-", "A number is missing at its end."},
      {"1 day; drop", "A number is missing before \"; drop\"."},
      {"-P1D", "A number is missing before \"P1D\"."}};
  for (const auto& [text, detail] : cases) EXPECT_EQ(read_back(text), detail) << text;
}

TEST(IntervalText, OverflowIsReported) {
  for (const char* text :
       {"2147483648 days", "178956971 years", "9223372036855 s", "2562047788:00:54.775807",
        "99999999999999999999999999999999999999999 days", "99999999999999999999999999999999999999 years",
        "9223372036854775807 us 1 ms", "-9223372036854775808 us"}) {
    EXPECT_EQ(read_back(text), "out of range") << text;
  }
}

TEST(IntervalText, EveryIntervalReadsBackAsWritten) {
  std::mt19937_64 random(17);
  for (int i = 0; i < 50000; ++i) {
    const Interval interval{static_cast<int32_t>(static_cast<int32_t>(random()) >> random() % 31),
                            static_cast<int32_t>(static_cast<int32_t>(random()) >> random() % 31),
                            static_cast<int64_t>(random()) >> random() % 63};
    if (interval.micros == kMicrosMin || interval.micros == kMicrosMax) continue;
    const std::string text = text_of(interval);
    const auto read = parse_interval(text);
    if (interval.months == INT32_MIN || interval.days == INT32_MIN) continue;
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(*read, interval) << text;
  }
}

TEST(IntervalText, SpansHaveAFixedLength) {
  EXPECT_EQ(*parse_span_micros("0"), 0);
  EXPECT_EQ(*parse_span_micros(" 0 "), 0);
  EXPECT_EQ(*parse_span_micros("1 day 1 s"), 86'401'000'000);
  EXPECT_EQ(*parse_span_micros("1 week"), 7 * 86'400'000'000);
  EXPECT_EQ(*parse_span_micros("-250 ms"), -250'000);
  EXPECT_EQ(parse_span_micros("1 month").error().hint, "Give days, hours or smaller units.");
  EXPECT_EQ(parse_span_micros("00").error().detail, "The number 00 has no unit.");
  EXPECT_EQ(parse_span_micros("5").error().detail, "The number 5 has no unit.");
  EXPECT_EQ(parse_span_micros("200000000 days").error().code, ErrorCode::kOutOfRange);
  EXPECT_EQ(parse_span_micros("-200000000 days").error().code, ErrorCode::kOutOfRange);
}

TEST(IntervalText, SpansForPeople) {
  const std::pair<int64_t, const char*> cases[] = {{0, "0 s"},
                                                   {1, "1 us"},
                                                   {-999, "-999 us"},
                                                   {1500, "1.5 ms"},
                                                   {-5000, "-5 ms"},
                                                   {999'999, "999.999 ms"},
                                                   {1'500'000, "1.5 s"},
                                                   {59'999'999, "59.999 s"},
                                                   {120'000'000, "2 min"},
                                                   {61'999'999, "1 min 1 s"},
                                                   {12'000'000'000, "3 h 20 min"},
                                                   {3'600'000'000, "1 h"},
                                                   {3'601'000'000, "1 h"},
                                                   {86'400'000'000, "1 day"},
                                                   {90'000'000'000, "1 day 1 h"},
                                                   {12 * 86'400'000'000, "12 days"},
                                                   {kMicrosMax, "infinity"},
                                                   {kMicrosMin, "-infinity"}};
  for (const auto& [micros, text] : cases) EXPECT_EQ(span_text(micros), text);
}

}  // namespace
}  // namespace wrackline
