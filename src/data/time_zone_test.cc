#include "data/time_zone.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <thread>
#include <vector>

#include "data/time_text.h"
#include "data/zone_file.h"
#include "wrackline/time.h"

namespace wrackline {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;

const TimeZone* zone(std::string_view name) {
  const auto found = TimeZone::find(name);
  EXPECT_TRUE(found) << found.error().to_string();
  return found ? *found : TimeZone::utc();
}

int64_t at(std::string_view text) {
  int64_t micros = 0;
  EXPECT_EQ(parse_timestamp(text, TimeZone::utc(), micros), TimeParse::kOk) << text;
  return micros;
}

std::string instant_of(const TimeZone* zone, std::string_view local) {
  return timestamp_text(zone->instant_of_local(at(local)));
}

// A TZif file of version 2 with a table of (second, type) and types of offsets.
std::string big_endian(int64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return out;
}
std::string zone_file(const std::vector<std::pair<int64_t, int>>& switches,
                      const std::vector<int64_t>& offsets, const std::string& rule) {
  const auto header = [](size_t times, size_t types) {
    std::string out = "TZif2" + std::string(15, '\0');
    for (const size_t count : {size_t{0}, size_t{0}, size_t{0}, times, types, size_t{4}}) {
      out += big_endian(static_cast<int64_t>(count), 4);
    }
    return out;
  };
  std::string out = header(0, 1) + std::string(6, '\0') + std::string(4, '\0');
  out += header(switches.size(), offsets.size());
  for (const auto& [second, type] : switches) out += big_endian(second, 8);
  for (const auto& [second, type] : switches) out += static_cast<char>(type);
  for (const int64_t offset : offsets) out += big_endian(offset, 4) + std::string(2, '\0');
  return out + "LMT" + std::string(1, '\0') + "\n" + rule + "\n";
}

TEST(TimeZone, FixedOffsetsNeedNoDatabase) {
  EXPECT_EQ(zone("UTC"), TimeZone::utc());
  EXPECT_EQ(zone("Z"), TimeZone::utc());
  EXPECT_EQ(zone("+02:00")->offset_at(0), 2 * kHour);
  EXPECT_EQ(zone("-0530")->offset_at(0), -(5 * kHour + kHour / 2));
  EXPECT_EQ(zone("+14")->offset_at(0), 14 * kHour);
  EXPECT_EQ(zone("+02:00")->name(), "+02:00");
  EXPECT_EQ(instant_of(zone("-05:00"), "2024-01-01T00:00:00"), "2024-01-01T05:00:00Z");
  EXPECT_EQ(zone("+02:00")->instant_of_local(kMicrosMin + 1), kMicrosMin);
}

TEST(TimeZone, UnknownNamesAreErrorsThatHelp) {
  const auto error = TimeZone::find("Europe/Viena").error();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "time zone \"Europe/Viena\" does not exist");
  EXPECT_EQ(error.hint, "Did you mean \"Europe/Vienna\"?");
  for (const char* name : {"", "+2", "+24:00", "+02:00:00", "../../../etc/passwd", "/etc/passwd", "Europe",
                           "zone.tab", "tzdata.zi", "Europe/Vienna\n", "UTC "}) {
    EXPECT_FALSE(TimeZone::find(name)) << name;
  }
}

TEST(TimeZone, FollowsSummerTime) {
  const TimeZone* vienna = zone("Europe/Vienna");
  EXPECT_EQ(vienna->offset_at(at("2024-03-31T00:59:59.999999Z")), kHour);
  EXPECT_EQ(vienna->offset_at(at("2024-03-31T01:00:00Z")), 2 * kHour);
  EXPECT_EQ(vienna->offset_at(at("2024-10-27T00:59:59.999999Z")), 2 * kHour);
  EXPECT_EQ(vienna->offset_at(at("2024-10-27T01:00:00Z")), kHour);
  EXPECT_EQ(vienna->offset_at(at("1890-01-01T00:00:00Z")), 3921 * kSecond);  // local mean time
  EXPECT_EQ(zone("America/New_York")->offset_at(at("2024-07-01T00:00:00Z")), -4 * kHour);
  EXPECT_EQ(zone("Australia/Lord_Howe")->offset_at(at("2024-01-01T00:00:00Z")), 11 * kHour);
  EXPECT_EQ(zone("Australia/Lord_Howe")->offset_at(at("2024-07-01T00:00:00Z")), 10 * kHour + kHour / 2);
  EXPECT_EQ(zone("Asia/Kathmandu")->offset_at(at("2024-07-01T00:00:00Z")), 5 * kHour + 45 * 60 * kSecond);
}

TEST(TimeZone, FollowsTheRuleBeyondTheTable) {
  const TimeZone* vienna = zone("Europe/Vienna");
  for (const char* year : {"2038", "2050", "2100", "2437", "2438", "2900", "+12024", "+290000"}) {
    const std::string prefix = year;
    EXPECT_EQ(vienna->offset_at(at(prefix + "-07-01T00:00:00Z")), 2 * kHour) << year;
    EXPECT_EQ(vienna->offset_at(at(prefix + "-01-01T00:00:00Z")), kHour) << year;
    EXPECT_EQ(instant_of(vienna, prefix + "-07-01T12:00:00"), prefix + "-07-01T10:00:00Z");
  }
  // The last Sunday of March 2450 and of 2850 is the 27th.
  for (const char* day : {"2450-03-27", "2850-03-27"}) {
    EXPECT_EQ(vienna->offset_at(at(std::string(day) + "T00:59:59Z")), kHour) << day;
    EXPECT_EQ(vienna->offset_at(at(std::string(day) + "T01:00:00Z")), 2 * kHour) << day;
  }
}

TEST(TimeZone, LocalTimesThatOccurTwiceMeanTheFirstTime) {
  const TimeZone* vienna = zone("Europe/Vienna");
  EXPECT_EQ(instant_of(vienna, "2024-10-27T01:59:59"), "2024-10-26T23:59:59Z");
  EXPECT_EQ(instant_of(vienna, "2024-10-27T02:00:00"), "2024-10-27T00:00:00Z");
  EXPECT_EQ(instant_of(vienna, "2024-10-27T02:59:59.999999"), "2024-10-27T00:59:59.999999Z");
  EXPECT_EQ(instant_of(vienna, "2024-10-27T03:00:00"), "2024-10-27T02:00:00Z");
}

TEST(TimeZone, LocalTimesThatDoNotExistUseTheOffsetBefore) {
  const TimeZone* vienna = zone("Europe/Vienna");
  EXPECT_EQ(instant_of(vienna, "2024-03-31T01:59:59"), "2024-03-31T00:59:59Z");
  EXPECT_EQ(instant_of(vienna, "2024-03-31T02:00:00"), "2024-03-31T01:00:00Z");
  EXPECT_EQ(instant_of(vienna, "2024-03-31T02:30:00"), "2024-03-31T01:30:00Z");
  EXPECT_EQ(instant_of(vienna, "2024-03-31T03:00:00"), "2024-03-31T01:00:00Z");
}

TEST(TimeZone, EveryZoneOfTheSystemOpensAndItsLocalTimesReturn) {
  const std::filesystem::path directory = "/usr/share/zoneinfo";
  std::mt19937_64 random(23);
  int zones = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    const std::string name = entry.path().lexically_relative(directory).string();
    if (name.starts_with("right/") || name.starts_with("posix/") || !entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!bytes.starts_with("TZif")) continue;
    ++zones;
    const auto parsed = parse_zone_file(name, bytes);
    ASSERT_NE(parsed, nullptr) << name;
    for (int i = 0; i < 200; ++i) {
      const auto instant =
          static_cast<int64_t>(random() % (700ULL * 366 * 86400)) * kSecond - 200LL * 366 * 86400 * kSecond;
      const int64_t offset = parsed->offset_at(instant);
      ASSERT_LE(std::abs(offset), 16 * kHour) << name;
      const int64_t returned = parsed->instant_of_local(instant + offset);
      // The same instant, or an earlier one with the same reading of the clock.
      ASSERT_LE(returned, instant) << name;
      ASSERT_EQ(returned + parsed->offset_at(returned), instant + offset)
          << name << " " << timestamp_text(instant);
    }
  }
  EXPECT_GT(zones, 300);
}

TEST(TimeZone, LooksUpFromManyThreads) {
  const TimeZone* vienna = zone("Europe/Vienna");
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([=] {
      for (int64_t i = 0; i < 20000; ++i) {
        const bool summer = (i + t) % 2 == 0;
        const int64_t instant = summer ? 1719792000 * kSecond : 1704067200 * kSecond;
        ASSERT_EQ(vienna->offset_at(instant), summer ? 2 * kHour : kHour);
      }
    });
  }
}

TEST(ZoneFile, ReadsTablesAndRules) {
  const auto plain = parse_zone_file("x", zone_file({{1000, 1}}, {0, 3600}, "<+01>-1"));
  ASSERT_NE(plain, nullptr);
  EXPECT_EQ(plain->offset_at(999 * kSecond), 0);
  EXPECT_EQ(plain->offset_at(1000 * kSecond), kHour);
  EXPECT_EQ(plain->offset_at(kMicrosMax), kHour);
  EXPECT_EQ(plain->offset_at(kMicrosMin), 0);
  const auto empty = parse_zone_file("x", zone_file({}, {7200}, ""));
  ASSERT_NE(empty, nullptr);
  EXPECT_EQ(empty->offset_at(0), 2 * kHour);
  EXPECT_EQ(empty->instant_of_local(0), -2 * kHour);
}

TEST(ZoneFile, ReadsEveryFormOfRule) {
  // Switches by day of the year, southern summers, offsets with minutes, hours beyond a day, summer behind
  // winter.
  const auto julian = parse_zone_file("x", zone_file({}, {0}, "AAA0BBB,J60/0,J300/0"));
  ASSERT_NE(julian, nullptr);
  EXPECT_EQ(julian->offset_at(at("2024-02-29T23:59:59Z")), 0);
  EXPECT_EQ(julian->offset_at(at("2024-03-01T00:00:00Z")), kHour);
  const auto zero_based = parse_zone_file("x", zone_file({}, {0}, "AAA0BBB,59/0,300/0"));
  ASSERT_NE(zero_based, nullptr);
  EXPECT_EQ(zero_based->offset_at(at("2024-02-29T00:00:00Z")), kHour);
  EXPECT_EQ(zero_based->offset_at(at("2023-02-28T23:59:59Z")), 0);
  const auto southern = parse_zone_file("x", zone_file({}, {0}, "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"));
  ASSERT_NE(southern, nullptr);
  EXPECT_EQ(southern->offset_at(at("2024-01-01T00:00:00Z")), 11 * kHour);
  EXPECT_EQ(southern->offset_at(at("2024-07-01T00:00:00Z")), 10 * kHour + kHour / 2);
  const auto far = parse_zone_file("x", zone_file({}, {0}, "EET-2EEST,M3.4.4/50,M10.4.4/50"));
  ASSERT_NE(far, nullptr);
  EXPECT_EQ(far->offset_at(at("2024-03-29T23:59:59Z")), 2 * kHour);  // Thursday the 28th, 50 hours on
  EXPECT_EQ(far->offset_at(at("2024-03-30T00:00:00Z")), 3 * kHour);
  const auto dublin = parse_zone_file("x", zone_file({}, {0}, "IST-1GMT0,M10.5.0,M3.5.0/1"));
  ASSERT_NE(dublin, nullptr);
  EXPECT_EQ(dublin->offset_at(at("2024-01-01T00:00:00Z")), 0);
  EXPECT_EQ(dublin->offset_at(at("2024-07-01T00:00:00Z")), kHour);
}

TEST(ZoneFile, RefusesDamage) {
  const std::string good = zone_file({{1000, 1}}, {0, 3600}, "CET-1CEST,M3.5.0,M10.5.0/3");
  ASSERT_NE(parse_zone_file("x", good), nullptr);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(parse_zone_file("x", good.substr(0, size)), nullptr) << size;
  }
  EXPECT_EQ(parse_zone_file("x", zone_file({{1000, 2}}, {0, 3600}, "")), nullptr);
  EXPECT_EQ(parse_zone_file("x", zone_file({{1000, 1}, {1000, 0}}, {0, 3600}, "")), nullptr);
  for (const char* rule : {"CET", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0",
                           "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J300",
                           "CET-1CEST,J1,J366", "<+01-1", "-1", "CET-1CEST,M3.5.0,M10.5.0/3x", "CET-168"}) {
    EXPECT_EQ(parse_zone_file("x", zone_file({}, {0}, rule)), nullptr) << rule;
  }
  std::mt19937_64 random(29);
  for (int i = 0; i < 20000; ++i) {  // must neither crash nor hang
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto parsed = parse_zone_file("x", bytes);
    if (parsed != nullptr) {
      EXPECT_EQ(parsed->offset_at(0), parsed->offset_at(0));
    }
  }
}

}  // namespace
}  // namespace wrackline
