#include "data/time_text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <random>

#include "data/decimal.h"
#include "data/time_zone.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

std::string outcome(TimeParse parse, const std::string& value) {
  switch (parse) {
    case TimeParse::kOk:
      return value;
    case TimeParse::kMalformed:
      return "malformed";
    case TimeParse::kNoZone:
      return "no zone";
    case TimeParse::kOutOfRange:
      return "out of range";
  }
  return "?";
}

// The instant in microseconds, or what is wrong with the text.
std::string instant(std::string_view text, const TimeZone* zone = nullptr) {
  int64_t micros = 0;
  const TimeParse parse = parse_timestamp(text, zone, micros);
  return outcome(parse, std::to_string(micros));
}

// The instant written back.
std::string rewritten(std::string_view text, const TimeZone* zone = nullptr) {
  int64_t micros = 0;
  const TimeParse parse = parse_timestamp(text, zone, micros);
  return outcome(parse, timestamp_text(micros));
}

std::string local(std::string_view text) {
  int64_t micros = 0;
  const TimeParse parse = parse_local_timestamp(text, micros);
  std::string out;
  append_local_timestamp(out, micros);
  return outcome(parse, out);
}

std::string date(std::string_view text) {
  int64_t days = 0;
  const TimeParse parse = parse_date(text, days);
  std::string out;
  append_date(out, days);
  return outcome(parse, out);
}

int64_t epoch(std::string_view number, TimeUnit unit) {
  const auto value = parse_decimal(number);
  EXPECT_TRUE(value) << number;
  return epoch_to_micros(*value, unit).value_or(kMicrosMin);
}

// ---- cases collected from faults of other systems; the names say what went wrong there ----

TEST(TimeText, C49_WindowEdgesOfNanosecondTimesDoNotWander) {
  const std::pair<int64_t, int64_t> cases[] = {
      {9'999'999'999, 0}, {10'000'000'000, 10'000'000}, {10'000'000'001, 10'000'000}};
  constexpr int64_t kWindow = 10'000'000;
  for (const auto& [nanos, start] : cases) {
    const int64_t micros = *epoch_to_micros(nanos, TimeUnit::kNanos);
    EXPECT_EQ(floor_divide(micros, kWindow) * kWindow, start) << nanos;
  }
}

TEST(TimeText, C93_DeclaredUnitsAreObeyedAndImplausibleOnesFlagged) {
  struct Case {
    int64_t value;
    TimeUnit unit;
    int64_t millis;
    bool flagged;
  };
  const Case cases[] = {{1772452800, TimeUnit::kSeconds, 1772452800000, false},
                        {1772452800000, TimeUnit::kMillis, 1772452800000, false},
                        {1772452800000000, TimeUnit::kMicros, 1772452800000, false},
                        {1772452800000000000, TimeUnit::kNanos, 1772452800000, false},
                        {1772452800, TimeUnit::kMillis, 1772452800, true},
                        {1772452800000000, TimeUnit::kMillis, 1772452800000000, true}};
  for (const Case& c : cases) {
    EXPECT_EQ(epoch_to_micros(c.value, c.unit), c.millis * 1000) << c.value;
    EXPECT_EQ(plausible_unit(c.value) != c.unit, c.flagged) << c.value;
  }
}

TEST(TimeText, C94_TimesBefore1970AreNotGuessedAt) {
  EXPECT_EQ(timestamp_text(*epoch_to_micros(-7233803000, TimeUnit::kMillis)), "1969-10-09T06:36:37Z");
  EXPECT_EQ(timestamp_text(*epoch_to_micros(-7233803, TimeUnit::kSeconds)), "1969-10-09T06:36:37Z");
  EXPECT_EQ(parse_time_unit("auto"), std::nullopt);
  EXPECT_EQ(plausible_unit(-7233803000), std::nullopt);
}

TEST(TimeText, C95_ATickCountTakenAsMillisecondsIsOutOfRange) {
  EXPECT_EQ(epoch_to_micros(637559424000000000, TimeUnit::kMillis), std::nullopt);
}

TEST(TimeText, C96_ValidVariantsAreRead) {
  const std::pair<const char*, const char*> cases[] = {{"2021-12-27T22:00:00.000+01:00", "1640638800000000"},
                                                       {"2021-12-27T22:00:00.000+0100", "1640638800000000"},
                                                       {"2021-12-27T22:00:00+01", "1640638800000000"},
                                                       {"2018-12-21 13:07:44+00", "1545397664000000"},
                                                       {"2022-12-21T10:14:38.01209897Z", "1671617678012098"},
                                                       {"2018-01-31T16:40:39-0500", "1517434839000000"},
                                                       {"2001-12-14t21:59:43.10-05:00", "1008385183100000"}};
  for (const auto& [text, micros] : cases) EXPECT_EQ(instant(text), micros) << text;
}

TEST(TimeText, C97_ALeapSecondIsAcceptedWhereOneCanOccur) {
  EXPECT_EQ(rewritten("2016-12-31T23:59:60Z"), "2016-12-31T23:59:59.999999Z");
  EXPECT_EQ(rewritten("2016-12-31T23:59:60.75Z"), "2016-12-31T23:59:59.999999Z");
  EXPECT_EQ(rewritten("2015-06-30T23:59:60Z"), "2015-06-30T23:59:59.999999Z");
  EXPECT_EQ(rewritten("2017-01-01T00:59:60+01:00"), "2016-12-31T23:59:59.999999Z");
  EXPECT_EQ(rewritten("1990-12-31T15:59:60-08:00"), "1990-12-31T23:59:59.999999Z");
  EXPECT_EQ(rewritten("2017-01-01T00:59:60", *TimeZone::find("Europe/Vienna")),
            "2016-12-31T23:59:59.999999Z");
  EXPECT_EQ(local("2016-12-31T23:59:60"), "2016-12-31T23:59:59.999999");
  for (const char* text : {"2016-12-30T23:59:60Z", "2016-12-31T22:59:60Z", "2016-12-31T23:58:60Z",
                           "2016-12-31T23:59:61Z", "2016-12-31T23:59:60+01:00"}) {
    EXPECT_EQ(instant(text), "malformed") << text;
  }
}

TEST(TimeText, C98_ATimeWithoutZoneIsNeverReadInTheZoneOfTheHost) {
  const char* const saved = std::getenv("TZ");
  const std::string before = saved == nullptr ? "" : saved;
  for (const char* host : {"UTC", "Asia/Tokyo"}) {
    setenv("TZ", host, 1);
    tzset();
    EXPECT_EQ(instant("2021-01-01T00:00:00"), "no zone") << host;
    EXPECT_EQ(instant("2021-01-01"), "no zone") << host;
    EXPECT_EQ(instant("2021-01-01T00:00:00", TimeZone::utc()), "1609459200000000") << host;
  }
  saved == nullptr ? unsetenv("TZ") : setenv("TZ", before.c_str(), 1);
  tzset();
}

TEST(TimeText, C99_ATextThatIsNoTimeIsMalformed) {
  EXPECT_EQ(instant("2019-03-24T07:38:05Z"), "1553413085000000");
  EXPECT_EQ(instant("not a time"), "malformed");
  EXPECT_EQ(instant(""), "malformed");
}

TEST(TimeText, C100_MinusOneIsOneUnitBefore1970) {
  EXPECT_EQ(timestamp_text(*epoch_to_micros(-1, TimeUnit::kMillis)), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(*epoch_to_micros(-2, TimeUnit::kMillis), -2000);
  EXPECT_EQ(*epoch_to_micros(0, TimeUnit::kMillis), 0);
}

TEST(TimeText, C101_FractionsBefore1970RoundTowardThePast) {
  EXPECT_EQ(instant("1969-01-01T00:00:00.987Z"), "-31535999013000");
  EXPECT_EQ(instant("1969-12-31T23:58:59.500Z"), "-60500000");
  EXPECT_EQ(floor_divide(-31535999013000, 60'000'000) * 60'000, -31536000000);
  EXPECT_EQ(floor_divide(-60500000, 60'000'000) * 60'000, -120000);
  EXPECT_EQ(epoch("-1.5", TimeUnit::kSeconds), -1500000);
  EXPECT_EQ(epoch("-893375784.554767216", TimeUnit::kSeconds), -893375784554768);
  EXPECT_EQ(floor_divide(epoch("-1.5", TimeUnit::kSeconds), 1'000'000), -2);
  EXPECT_EQ(floor_divide(epoch("-893375784.554767216", TimeUnit::kSeconds), 1'000'000), -893375785);
  EXPECT_EQ(rewritten("1969-12-31T23:59:59.9999999Z"), "1969-12-31T23:59:59.999999Z");
}

TEST(TimeText, C102_DecimalSecondsDoNotPassThroughAFloat) {
  EXPECT_EQ(epoch("2.000002", TimeUnit::kSeconds), 2000002);
  EXPECT_EQ(epoch("1.000001", TimeUnit::kSeconds), 1000001);
  EXPECT_EQ(epoch("1790158166.546218", TimeUnit::kSeconds), 1790158166546218);
}

// ---- reading ----

TEST(TimeText, ReadsTheLenientVariants) {
  const std::pair<const char*, const char*> cases[] = {
      {"2024-05-01T12:00:00Z", "2024-05-01T12:00:00Z"},
      {"2024-05-01T12:00:00z", "2024-05-01T12:00:00Z"},
      {"2024-05-01 12:00Z", "2024-05-01T12:00:00Z"},
      {"2024-05-01T12:00+0530", "2024-05-01T06:30:00Z"},
      {"2024-05-01T12:00:00,5Z", "2024-05-01T12:00:00.5Z"},
      {"2024-05-01T12:00:00.123456789012345678901234567890Z", "2024-05-01T12:00:00.123456Z"},
      {"2024-05-01 12:00:00 +02:00", "2024-05-01T10:00:00Z"},
      {"2024-05-01 12:00:00 UTC", "2024-05-01T12:00:00Z"},
      {"2024-05-01 12:00:00.25 Z", "2024-05-01T12:00:00.25Z"},
      {"2024-05-01T12:00:00-00:00", "2024-05-01T12:00:00Z"},
      {"2024-05-01T00:00:00+23:59", "2024-04-30T00:01:00Z"},
      {"2024-12-31T24:00:00Z", "2025-01-01T00:00:00Z"},
      {"2024-12-31T24:00Z", "2025-01-01T00:00:00Z"},
      {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
      {"2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z"},
      {"0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
      {"-0001-12-31T00:00:00Z", "-0001-12-31T00:00:00Z"},
      {"+12024-01-01T00:00:00Z", "+12024-01-01T00:00:00Z"},
      {"+2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"}};
  for (const auto& [text, expected] : cases) EXPECT_EQ(rewritten(text), expected) << text;
}

TEST(TimeText, RefusesWhatIsNoTimestamp) {
  for (const char* text : {"2024-02-30T00:00:00Z",
                           "2023-02-29T00:00:00Z",
                           "1900-02-29T00:00:00Z",
                           "2024-04-31T00:00:00Z",
                           "2024-13-01T00:00:00Z",
                           "2024-00-01T00:00:00Z",
                           "2024-01-00T00:00:00Z",
                           "2024-01-32T00:00:00Z",
                           "2024-05-01T25:00:00Z",
                           "2024-05-01T12:60:00Z",
                           "2024-05-01T12:00:61Z",
                           "2024-05-01T24:00:01Z",
                           "2024-05-01T24:00:00.0000001Z",
                           "2024-05-01T12Z",
                           "2024-05-01T12:00:Z",
                           "2024-05-01T12:00:00.Z",
                           "2024-05-01T12:00:00.Z5",
                           "2024-05-01T12:00:00+",
                           "2024-05-01T12:00:00+1",
                           "2024-05-01T12:00:00+001",
                           "2024-05-01T12:00:00+24:00",
                           "2024-05-01T12:00:00+02:60",
                           "2024-05-01T12:00:00+02-00",
                           "2024-05-01T12:00:00 ",
                           "2024-05-01T12:00:00UTC",
                           "2024-05-01T12:00:00 CET",
                           "2024-05-01T12:00:00ZZ",
                           "2024-05-01T12:00:00Z ",
                           " 2024-05-01T12:00:00Z",
                           "2024-05-01X12:00:00Z",
                           "2024-05-01T",
                           "2024-05-01Z",
                           "2024-5-1T12:00:00Z",
                           "24-05-01T12:00:00Z",
                           "20240501T120000Z",
                           "12024-01-01T00:00:00Z",
                           "-0000-01-01T00:00:00Z",
                           "+123-01-01T00:00:00Z",
                           "2024/05/01 12:00:00Z",
                           "05/01/2024",
                           "infinity",
                           "now",
                           "1714564800",
                           "-",
                           "+",
                           "20",
                           "2024-05",
                           "2024-05-",
                           "2024-05-0",
                           "2024-05-01T1",
                           "2024-05-01T12:0",
                           "2024-05-01T:2:00:00Z",
                           "2024-05-01T12:00:0/Z",
                           "2024-05-01T12:00:0:Z"}) {
    EXPECT_EQ(instant(text), "malformed") << text;
    EXPECT_EQ(instant(text, TimeZone::utc()), "malformed") << text;
    EXPECT_EQ(local(text), "malformed") << text;
  }
  EXPECT_EQ(instant(std::string_view("2024-05-01T12:00:00\0", 20)), "malformed");
}

TEST(TimeText, EveryByteAtEveryPlaceIsJudged) {
  const std::string good = "2024-05-01T12:34:56.789Z";
  int accepted = 0;
  for (size_t place = 0; place < good.size(); ++place) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string text = good;
      text[place] = static_cast<char>(byte);
      int64_t micros = 0;
      if (text == good || parse_timestamp(text, nullptr, micros) != TimeParse::kOk) continue;
      ++accepted;
      const bool digit = byte >= '0' && byte <= '9';
      const bool other = std::string_view("Tt Zz.,").contains(static_cast<char>(byte));
      EXPECT_TRUE(digit || other) << text;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(TimeText, TheEndsOfTheRangeAreErrorsAndNoInfinities) {
  EXPECT_EQ(instant("+294247-01-10T04:00:54.775806Z"), std::to_string(kMicrosMax - 1));
  EXPECT_EQ(instant("+294247-01-10T04:00:54.775807Z"), "out of range");
  EXPECT_EQ(instant("-290308-12-21T19:59:05.224193Z"), std::to_string(kMicrosMin + 1));
  EXPECT_EQ(instant("-290308-12-21T19:59:05.224192Z"), "out of range");
  EXPECT_EQ(instant("+294247-01-10T06:00:54.775806+02:00"), std::to_string(kMicrosMax - 1));
  EXPECT_EQ(instant("+999999-01-01T00:00:00Z"), "out of range");
  EXPECT_EQ(instant("-999999-01-01T00:00:00Z"), "out of range");
  EXPECT_EQ(instant("+99999999999999999999-01-01T00:00:00Z"), "out of range");
  EXPECT_EQ(instant("+294247-01-10T04:00:54", *TimeZone::find("-12:00")), "out of range");
  EXPECT_EQ(instant("-290308-12-21T19:59:05.3", *TimeZone::find("+12:00")), "out of range");
  EXPECT_EQ(epoch_to_micros(kMicrosMax, TimeUnit::kMicros), std::nullopt);
  EXPECT_EQ(epoch_to_micros(kMicrosMin, TimeUnit::kMicros), std::nullopt);
  EXPECT_EQ(epoch_to_micros(kMicrosMax, TimeUnit::kNanos), kMicrosMax / 1000);
  EXPECT_EQ(epoch_to_micros(kMicrosMin, TimeUnit::kNanos), kMicrosMin / 1000 - 1);
  EXPECT_EQ(epoch_to_micros(9223372036854, TimeUnit::kSeconds), 9223372036854000000);
  EXPECT_EQ(epoch_to_micros(9223372036855, TimeUnit::kSeconds), std::nullopt);
  EXPECT_EQ(epoch_to_micros(-9223372036855, TimeUnit::kSeconds), std::nullopt);
}

TEST(TimeText, ZonelessTimesTakeTheDeclaredZone) {
  const TimeZone* vienna = *TimeZone::find("Europe/Vienna");
  EXPECT_EQ(rewritten("2024-07-01T12:00:00", vienna), "2024-07-01T10:00:00Z");
  EXPECT_EQ(rewritten("2024-01-01T12:00:00", vienna), "2024-01-01T11:00:00Z");
  EXPECT_EQ(rewritten("2024-07-01", vienna), "2024-06-30T22:00:00Z");
  EXPECT_EQ(rewritten("2024-07-01T12:00:00-07:00", vienna), "2024-07-01T19:00:00Z");
}

TEST(TimeText, LocalTimestampsIgnoreTheZone) {
  EXPECT_EQ(local("2024-05-01T12:00:00+02:00"), "2024-05-01T12:00:00");
  EXPECT_EQ(local("2024-05-01 12:00"), "2024-05-01T12:00:00");
  EXPECT_EQ(local("2024-05-01"), "2024-05-01T00:00:00");
  EXPECT_EQ(local("2024-05-01T12:00:00+99"), "malformed");
}

TEST(TimeText, Dates) {
  EXPECT_EQ(date("2024-02-29"), "2024-02-29");
  EXPECT_EQ(date("-0044-03-15"), "-0044-03-15");
  EXPECT_EQ(date("2023-02-29"), "malformed");
  EXPECT_EQ(date("2024-02-29T00:00:00Z"), "malformed");
  EXPECT_EQ(date("2024-02-29 "), "malformed");
  EXPECT_EQ(date(""), "malformed");
  EXPECT_EQ(date("+294247-01-10"), "+294247-01-10");
  EXPECT_EQ(date("+294247-01-11"), "out of range");
  EXPECT_EQ(date("+9999999-01-01"), "out of range");
}

TEST(TimeText, CivilDatesAgreeWithACountOfDays) {
  int64_t days = days_from_civil(-801, 1, 1);
  for (int64_t year = -801; year <= 2402; ++year) {
    for (int32_t month = 1; month <= 12; ++month) {
      const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
      const int32_t length = month == 2                                              ? (leap ? 29 : 28)
                             : month == 4 || month == 6 || month == 9 || month == 11 ? 30
                                                                                     : 31;
      for (int32_t day = 1; day <= length; ++day, ++days) {
        ASSERT_EQ(days_from_civil(year, month, day), days);
        const CivilDate civil = civil_from_days(days);
        ASSERT_TRUE(civil.year == year && civil.month == month && civil.day == day) << days;
      }
    }
  }
  EXPECT_EQ(days_from_civil(1970, 1, 1), 0);
  EXPECT_EQ(days_from_civil(2000, 3, 1), 11017);
}

TEST(TimeText, EveryTimestampReadsBackAsWritten) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200000; ++i) {
    // Half over the whole range, half near the present; the fraction shows one to six digits.
    int64_t micros = static_cast<int64_t>(random());
    if (i % 2 == 0) micros = static_cast<int64_t>(random() % 5'000'000'000'000'000) - 1'000'000'000'000'000;
    if (micros == kMicrosMin || micros == kMicrosMax) continue;
    const std::string text = timestamp_text(micros);
    ASSERT_EQ(instant(text), std::to_string(micros)) << text;
    ASSERT_EQ(local(text.substr(0, text.size() - 1)), text.substr(0, text.size() - 1));
  }
}

TEST(TimeText, OffsetsMoveTheInstantAndNothingElse) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const auto micros = static_cast<int64_t>(random() % 5'000'000'000'000'000);
    const auto minutes = static_cast<int64_t>(random() % 1440);
    const bool west = random() % 2 == 0;
    const int64_t shifted = micros + (west ? -minutes : minutes) * 60'000'000;
    std::string text = timestamp_text(shifted);
    text.pop_back();
    char offset[8];
    std::snprintf(offset, sizeof offset, "%c%02d:%02d", west ? '-' : '+', static_cast<int>(minutes / 60),
                  static_cast<int>(minutes % 60));
    ASSERT_EQ(instant(text + offset), std::to_string(micros)) << text << offset;
  }
}

TEST(TimeText, InfinitiesArePrinted) {
  EXPECT_EQ(timestamp_text(kMicrosMin), "-infinity");
  EXPECT_EQ(timestamp_text(kMicrosMax), "infinity");
  EXPECT_EQ(timestamp_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(timestamp_text(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(timestamp_text(10), "1970-01-01T00:00:00.00001Z");
}

// ---- epoch numbers ----

TEST(TimeText, DecimalEpochsRoundTowardThePastInEveryUnit) {
  EXPECT_EQ(epoch("1.0000009", TimeUnit::kSeconds), 1000000);
  EXPECT_EQ(epoch("-1.0000001", TimeUnit::kSeconds), -1000001);
  EXPECT_EQ(epoch("1.0009", TimeUnit::kMillis), 1000);
  EXPECT_EQ(epoch("-0.0001", TimeUnit::kMillis), -1);
  EXPECT_EQ(epoch("0.9", TimeUnit::kMicros), 0);
  EXPECT_EQ(epoch("-0.9", TimeUnit::kMicros), -1);
  EXPECT_EQ(epoch("1999", TimeUnit::kNanos), 1);
  EXPECT_EQ(epoch("-1", TimeUnit::kNanos), -1);
  EXPECT_EQ(epoch("-1000", TimeUnit::kNanos), -1);
  EXPECT_EQ(epoch("1e-38", TimeUnit::kNanos), 0);
  EXPECT_EQ(epoch("-1e-38", TimeUnit::kNanos), -1);
  EXPECT_EQ(epoch("-1e-38", TimeUnit::kSeconds), -1);
  EXPECT_EQ(epoch_to_micros(Decimal{power_of_ten(37), 0}, TimeUnit::kSeconds), std::nullopt);
  EXPECT_EQ(epoch_to_micros(Decimal{power_of_ten(13), 0}, TimeUnit::kSeconds), std::nullopt);
}

TEST(TimeText, UnitsHaveNames) {
  for (const TimeUnit unit : {TimeUnit::kSeconds, TimeUnit::kMillis, TimeUnit::kMicros, TimeUnit::kNanos}) {
    EXPECT_EQ(parse_time_unit(to_string(unit)), unit);
  }
  EXPECT_EQ(parse_time_unit("seconds"), std::nullopt);
  EXPECT_EQ(parse_time_unit(""), std::nullopt);
}

TEST(TimeText, PlausibleMeansBetween2000And2100) {
  EXPECT_EQ(plausible_unit(946684800), TimeUnit::kSeconds);
  EXPECT_EQ(plausible_unit(946684799), std::nullopt);
  EXPECT_EQ(plausible_unit(4102444799), TimeUnit::kSeconds);
  EXPECT_EQ(plausible_unit(4102444800), std::nullopt);
  EXPECT_EQ(plausible_unit(4102444799999), TimeUnit::kMillis);
  EXPECT_EQ(plausible_unit(kMicrosMax), std::nullopt);
  EXPECT_EQ(plausible_unit(kMicrosMin), std::nullopt);
}

}  // namespace
}  // namespace wrackline
