#include "report/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "report/figures.h"
#include "report/page_check_test.h"

namespace wrackline::report {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3600 * kSecond;
constexpr std::string_view kHostile = "</title></text><script>alert(1)</script>\"' onload=x &amp; \xFF\u202E";

size_t occurrences(std::string_view text, std::string_view word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

Distribution some_distribution(std::string id) {
  Distribution distribution;
  distribution.id = std::move(id);
  distribution.title = "Arrival delay";
  distribution.cells = {
      {-2 * kSecond, -2 * kSecond, 3}, {0, 0, 10}, {kSecond, kSecond, 50}, {kHour, kHour, 2}};
  distribution.marks = {{"p50", kSecond, SpanMark::Kind::kQuantile, "half"}};
  return distribution;
}

// A page with everything on it, every text hostile.
Page full_page() {
  const std::string hostile(kHostile);
  Page page;
  page.kind = page.title = page.lead = page.no_findings = page.setting = hostile;
  page.facts = {{hostile, hostile, hostile}};
  page.findings = {{hostile, hostile, hostile}};
  page.notes = {hostile};
  const PageTable table{hostile, {hostile, hostile}, {{hostile, hostile}}, hostile};
  Distribution distribution = some_distribution("delay");
  distribution.title = distribution.lead = hostile;
  distribution.split_us = 30 * kSecond;
  distribution.marks.push_back({hostile, 30 * kSecond, SpanMark::Kind::kSplit, hostile});
  distribution.marks.push_back({"d", kHour, SpanMark::Kind::kSetting, {}});
  distribution.notes = {hostile};
  distribution.table = table;
  page.distributions = {distribution};
  SpanRows rows{"partitions", hostile, hostile, {hostile, hostile, hostile}, hostile, {}, {hostile}, table};
  rows.rows = {{hostile, 0, kHour, {0, kSecond, kHour}, hostile}, {"plain", {}, {}, {-kHour}, {}}};
  page.partitions = rows;
  rows.id = "producers";
  page.producers = rows;
  Series series{"series", hostile, hostile, {hostile, hostile}, {}, {{5 * kHour, hostile}}, {hostile}, table};
  series.points = {{0, kHour, 5, {kSecond, std::nullopt}},
                   {kHour, 2 * kHour, 7, {2 * kSecond, kHour}},
                   {5 * kHour, 6 * kHour, 1, {0, 0}}};
  page.series = series;
  Staircases sweep{hostile, hostile, {}, {hostile}, {table}};
  for (const auto unit :
       {Staircase::Unit::kShare, Staircase::Unit::kSpan, Staircase::Unit::kCount, Staircase::Unit::kBytes}) {
    const std::string id = "curve" + std::to_string(static_cast<int>(unit));
    sweep.curves.push_back({id,
                            hostile,
                            hostile,
                            unit,
                            {{0, 0.5}, {kSecond, 0.01}, {kHour, 0}},
                            {{"knee", kSecond, SpanMark::Kind::kSetting, hostile}},
                            {hostile}});
  }
  page.staircases = sweep;
  page.budget_partitions = table;
  return page;
}

TEST(PageHtml, HostileTextIsTextEverywhere) {
  const std::string html = page_html(full_page());
  expect_sound(html);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_GT(occurrences(html, "&lt;script&gt;alert(1)"), 30U);
}

TEST(PageHtml, HasASectionForEveryPart) {
  const std::string html = page_html(full_page());
  for (const std::string_view id :
       {"findings", "setting", "delay", "sweep", "series", "partitions", "producers"}) {
    EXPECT_NE(html.find("<section id=\"" + std::string(id) + "\""), std::string::npos) << id;
  }
  // Each figure for wide and for narrow screens: histogram, exceedance, four staircases, series, two of rows.
  EXPECT_EQ(occurrences(html, "<svg class=\"wide\""), 9U);
  EXPECT_EQ(occurrences(html, "<svg class=\"narrow\""), 9U);
}

TEST(PageHtml, AnEmptyPageIsAPage) {
  Page page;
  page.title = "nothing";
  page.no_findings = "Nothing was found.";
  const std::string html = page_html(page);
  expect_sound(html);
  EXPECT_NE(html.find("Nothing was found."), std::string::npos);
  EXPECT_EQ(html.find("<svg class=\"wide\""), std::string::npos);
}

TEST(PageHtml, TheSamePageGivesTheSameBytes) {
  EXPECT_EQ(page_html(full_page()), page_html(full_page()));
}

TEST(PageHtml, AsksTheBrowserForNothing) {
  const std::string html = page_html(full_page());
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
}

TEST(HistogramSvg, NoRecordIsTooFewToSee) {
  Distribution distribution = some_distribution("delay");
  distribution.cells[2].count = 1'000'000'000;
  const std::string svg = histogram_svg(distribution, kWide);
  EXPECT_NE(svg.find("-2 s"), std::string::npos);
  EXPECT_NE(svg.find("height=\"1.5\""), std::string::npos) << "the bar of two records in a billion";
}

TEST(HistogramSvg, AClockOfSecondsLeavesNoTeeth) {
  Distribution distribution;
  distribution.id = "delay";
  distribution.resolution_us = kSecond;
  for (int64_t second = 1; second <= 40; ++second)
    distribution.cells.push_back({second * kSecond, second * kSecond, 100});
  const size_t spread = occurrences(histogram_svg(distribution, kWide), "<rect class=\"bar\"");
  distribution.resolution_us = 1;
  const size_t teeth = occurrences(histogram_svg(distribution, kWide), "<rect class=\"bar\"");
  EXPECT_GT(spread, 150U);
  EXPECT_LE(teeth, 40U);
}

TEST(HistogramSvg, NothingToDrawGivesNothing) {
  EXPECT_EQ(histogram_svg(Distribution{}, kWide), "");
  EXPECT_EQ(exceedance_svg(Distribution{}, kNarrow), "");
  EXPECT_EQ(rows_svg(SpanRows{}, kWide), "");
  EXPECT_EQ(series_svg(Series{}, kWide), "");
  EXPECT_EQ(staircase_svg(Staircase{}, kWide), "");
}

TEST(SeriesSvg, AGapStaysAGap) {
  Series series{"series", "t", "l", {"p50"}, {}, {}, {}, {}};
  series.points = {
      {0, kHour, 1, {kSecond}}, {kHour, 2 * kHour, 1, {kSecond}}, {4 * kHour, 5 * kHour, 1, {kSecond}}};
  const std::string svg = series_svg(series, kWide);
  const size_t from = svg.find("<path class=\"curve first\" d=\"");
  const std::string path = svg.substr(from, svg.find("\"/>", from) - from);
  EXPECT_EQ(occurrences(path, "M"), 2U) << path;
}

TEST(PageHtml, ExtremesAndRandomValuesAreDrawnSoundly) {
  std::mt19937_64 random(11);
  const auto any = [&] {
    const int shift = static_cast<int>(random() % 64);
    return random() % 20 == 0 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(random()) >> shift;
  };
  for (int round = 0; round < 40; ++round) {
    Page page = full_page();
    Distribution& distribution = page.distributions[0];
    distribution.cells.clear();
    std::vector<int64_t> values;
    for (int i = 0; i < 20; ++i) values.push_back(any());
    std::ranges::sort(values);
    for (const int64_t value : values)
      distribution.cells.push_back({value, value, random() >> (random() % 60)});
    distribution.resolution_us = std::max<int64_t>(1, any() / 2);
    distribution.marks[0].value_us = any();
    page.partitions->rows[0] = {"x", any(), any(), {any(), any(), any()}, {}};
    int64_t end_us = std::numeric_limits<int64_t>::min();
    page.series->points.clear();
    for (const int64_t value : values)
      page.series->points.push_back({std::exchange(end_us, value), value, 1, {any(), any()}});
    page.series->changes[0].at_us = any();
    page.staircases->curves[2].steps = {{any(), 0}, {any(), 1e18}};
    expect_sound(page_html(page));
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace wrackline::report
