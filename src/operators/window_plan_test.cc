#include "operators/window_plan.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "data/time_text.h"
#include "wrackline/window_hopping.h"

namespace wrackline {
namespace {

constexpr int64_t kHour = 3'600'000'000;
constexpr int64_t kDay = 24 * kHour;

const TimeZone* zone(std::string_view name) {
  return TimeZone::find(name).value();
}

int64_t at(std::string_view text) {
  int64_t micros = 0;
  EXPECT_EQ(parse_timestamp(text, nullptr, micros), TimeParse::kOk) << text;
  return micros;
}

std::string text(const Window& window) {
  return timestamp_text(window.start.micros()) + " " + timestamp_text(window.end.micros());
}

WindowPlan calendar(WindowLength size, std::string_view name, Duration offset = {}) {
  return WindowPlan({.size = size, .slide = {}, .offset = offset, .zone = zone(name)});
}

std::vector<WindowPlan> plans() {
  const auto hop = [](int64_t slide, int64_t size, int64_t offset, const TimeZone* in) {
    return WindowPlan({WindowKind::kHop, {.micros = size}, {.micros = slide}, Duration(offset), in});
  };
  const auto cumulate = [](int64_t step, int64_t size, const TimeZone* in) {
    return WindowPlan({WindowKind::kCumulate, {.micros = size}, {.micros = step}, {}, in});
  };
  const TimeZone* vienna = zone("Europe/Vienna");
  return {WindowPlan::tumbling(Duration(kHour), Duration(-kHour / 4)),
          hop(5, 12, 1, nullptr),
          hop(10, 3, 4, nullptr),
          hop(kHour, 6 * kHour, 0, nullptr),
          cumulate(2, 10, nullptr),
          hop(kDay, 3 * kDay, 0, vienna),
          hop(2 * kDay, 3 * kDay, kHour, vienna),
          cumulate(kDay, 7 * kDay, vienna),
          calendar({.micros = kDay}, "Europe/Vienna"),
          calendar({.micros = 7 * kDay}, "America/New_York"),
          calendar({.micros = kHour}, "Europe/Vienna"),
          calendar({.micros = 6 * kHour}, "Europe/Vienna"),
          calendar({.micros = kHour}, "Australia/Lord_Howe"),
          calendar({.micros = 5 * kHour / 2}, "Asia/Kathmandu"),
          calendar({.micros = kDay}, "America/Havana"),
          calendar({.micros = kDay}, "Pacific/Apia"),
          calendar({.months = 1}, "America/New_York"),
          WindowPlan({WindowKind::kHop, {.months = 12}, {.months = 1}, {}, zone("Europe/Vienna")}),
          WindowPlan({WindowKind::kCumulate, {.months = 12}, {.months = 1}, {}, nullptr})};
}

// Times near changes of clocks, and anywhere.
std::vector<int64_t> times(uint32_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> all;
  for (const std::string_view near :
       {"2024-03-31T01:00:00Z", "2024-10-27T01:00:00Z", "2024-11-03T05:00:00Z", "2011-12-30T10:00:00Z",
        "2024-04-06T15:00:00Z", "1970-01-01T00:00:00Z"}) {
    for (int i = 0; i < 40; ++i)
      all.push_back(at(near) + static_cast<int64_t>(random() % (60 * kHour)) - 30 * kHour);
    all.push_back(at(near));
    all.push_back(at(near) - 1);
  }
  for (int i = 0; i < 200; ++i)
    all.push_back(static_cast<int64_t>(random() % (200 * 365 * kDay)) - 100 * 365 * kDay);
  for (int i = 0; i < 50; ++i) all.push_back(static_cast<int64_t>(random() % 200) - 100);
  return all;
}

TEST(WindowPlan, SlicesAndWindowsFitTogether) {
  for (const WindowPlan& plan : plans()) {
    for (const int64_t time : times(1)) {
      const Window slice = plan.slice_of(time);
      ASSERT_LE(slice.start.micros(), time);
      ASSERT_LT(time, slice.end.micros());
      EXPECT_EQ(plan.slice_of(slice.start.micros()), slice);
      EXPECT_EQ(plan.slice_of(slice.end.micros() - 1), slice);
      EXPECT_EQ(plan.slice_of(slice.end.micros()).start, slice.end) << "no gap and no overlap";

      std::vector<Window> windows;
      plan.windows_of(time, windows);
      for (size_t i = 0; i < windows.size(); ++i) {
        EXPECT_TRUE(WindowPlan::holds(windows[i], slice)) << text(windows[i]) << " / " << text(slice);
        if (i > 0) {
          EXPECT_LT(windows[i - 1].end, windows[i].end);
          EXPECT_EQ(plan.next_window(windows[i - 1]), windows[i]);
        }
        // The edge is the greatest window end that the watermark has reached.
        const int64_t end = windows[i].end.micros();
        EXPECT_EQ(plan.edge_at_or_before(end), end);
        EXPECT_LT(plan.edge_at_or_before(end - 1), end);
        EXPECT_EQ(plan.next_edge(plan.edge_at_or_before(end - 1)), end);
        EXPECT_EQ(plan.first_window_after(plan.edge_at_or_before(end - 1)).end.micros(), end);
      }
      if (windows.empty()) continue;
      EXPECT_EQ(plan.first_window(slice), windows.front());
      EXPECT_EQ(plan.last_end(slice), windows.back().end.micros());
    }
  }
}

TEST(WindowPlan, HopsAreThoseOfTheKit) {
  for (const auto& [slide, size, offset] : {std::tuple{5, 12, 1}, {10, 3, 4}, {7, 7, -3}, {4, 20, 9}}) {
    const WindowPlan plan({WindowKind::kHop, {.micros = size}, {.micros = slide}, Duration(offset), nullptr});
    const HoppingWindows kit(micros(slide), micros(size), micros(offset));
    for (int64_t time = -50; time < 50; ++time) {
      std::vector<Window> got;
      plan.windows_of(time, got);
      std::vector<Window> expected;
      kit.for_each_window_of(EventTime(time), [&](const Window& window) { expected.push_back(window); });
      EXPECT_EQ(got, expected) << slide << ' ' << size << ' ' << time;
    }
  }
}

TEST(WindowPlan, DaysOfAZoneHave23To25Hours) {
  const WindowPlan days = calendar({.micros = kDay}, "Europe/Vienna");
  EXPECT_EQ(text(days.slice_of(at("2024-03-31T12:00:00Z"))), "2024-03-30T23:00:00Z 2024-03-31T22:00:00Z");
  EXPECT_EQ(text(days.slice_of(at("2024-10-27T12:00:00Z"))), "2024-10-26T22:00:00Z 2024-10-27T23:00:00Z");
}

TEST(WindowPlan, AMidnightThatComesTwiceBeginsOneDay) {
  // In Havana clocks go back from 01:00 to 00:00: the day has 25 hours and begins with the first midnight.
  const WindowPlan days = calendar({.micros = kDay}, "America/Havana");
  EXPECT_EQ(text(days.slice_of(at("2024-11-03T05:30:00Z"))), "2024-11-03T04:00:00Z 2024-11-04T05:00:00Z");
  EXPECT_EQ(days.slice_of(at("2024-11-03T04:30:00Z")), days.slice_of(at("2024-11-03T05:30:00Z")));
}

TEST(WindowPlan, ADayThatTheZoneSkippedHasNoWindow) {
  // Samoa had no 30 December 2011.
  const WindowPlan days = calendar({.micros = kDay}, "Pacific/Apia");
  EXPECT_EQ(text(days.slice_of(at("2011-12-30T09:59:00Z"))), "2011-12-29T10:00:00Z 2011-12-30T10:00:00Z");
  EXPECT_EQ(text(days.slice_of(at("2011-12-30T10:00:00Z"))), "2011-12-30T10:00:00Z 2011-12-31T10:00:00Z");
}

TEST(WindowPlan, ARepeatedHourIsTwoWindowsAndASkippedOneNone) {
  const WindowPlan hours = calendar({.micros = kHour}, "Europe/Vienna");
  EXPECT_EQ(text(hours.slice_of(at("2024-10-27T00:30:00Z"))), "2024-10-27T00:00:00Z 2024-10-27T01:00:00Z");
  EXPECT_EQ(text(hours.slice_of(at("2024-10-27T01:30:00Z"))), "2024-10-27T01:00:00Z 2024-10-27T02:00:00Z");
  EXPECT_EQ(text(hours.slice_of(at("2024-03-31T01:00:00Z"))), "2024-03-31T01:00:00Z 2024-03-31T02:00:00Z");
  // Half an hour is what Lord Howe Island puts its clocks forward and back.
  const WindowPlan lord_howe = calendar({.micros = kHour}, "Australia/Lord_Howe");
  EXPECT_EQ(text(lord_howe.slice_of(at("2024-04-06T14:59:00Z"))),
            "2024-04-06T14:00:00Z 2024-04-06T15:30:00Z");
}

TEST(WindowPlan, PartsOfDaysAreAlignedToTheLocalDay) {
  const WindowPlan sixths = calendar({.micros = 6 * kHour}, "Europe/Vienna");
  EXPECT_EQ(text(sixths.slice_of(at("2024-03-31T02:00:00Z"))), "2024-03-30T23:00:00Z 2024-03-31T04:00:00Z");
  EXPECT_EQ(text(sixths.slice_of(at("2024-10-27T02:00:00Z"))), "2024-10-26T22:00:00Z 2024-10-27T05:00:00Z");
}

TEST(WindowPlan, WeeksBeginOnMondayAndMonthsOnTheFirst) {
  const WindowPlan weeks = calendar({.micros = 7 * kDay}, "Europe/Vienna");
  EXPECT_EQ(text(weeks.slice_of(at("2024-10-27T12:00:00Z"))), "2024-10-20T22:00:00Z 2024-10-27T23:00:00Z");
  EXPECT_EQ(text(calendar({.micros = 7 * kDay}, "UTC").slice_of(at("2024-10-27T12:00:00Z"))),
            "2024-10-21T00:00:00Z 2024-10-28T00:00:00Z");
  const WindowPlan months = calendar({.months = 1}, "America/New_York");
  EXPECT_EQ(text(months.slice_of(at("2024-11-30T12:00:00Z"))), "2024-11-01T04:00:00Z 2024-12-01T05:00:00Z");
  const WindowPlan quarters({.size = {.months = 3}, .slide = {}, .offset = {}});
  EXPECT_EQ(text(quarters.slice_of(at("1969-12-31T12:00:00Z"))), "1969-10-01T00:00:00Z 1970-01-01T00:00:00Z");
}

TEST(WindowPlan, FarTimesKeepTheirWindows) {
  for (const int64_t time : {kEventMicrosLimit, -kEventMicrosLimit}) {
    for (const WindowPlan& plan : plans()) {
      const Window slice = plan.slice_of(time);
      EXPECT_LE(slice.start.micros(), time);
      EXPECT_GT(slice.end.micros(), time);
    }
  }
}

}  // namespace
}  // namespace wrackline
