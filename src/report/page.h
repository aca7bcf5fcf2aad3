// One page about a measurement: what it consists of, in plain values, and its text as HTML.
//
// The page judges nothing. Sentences, verdicts and sample sizes come from whoever measured; the page puts
// them beside the figures that they are about.
//
// Units: spans and times are integers of microseconds, shares numbers from 0 to 1.
// Cost:  some hundred kilobytes of text at most: what is too much for a reader is counted, not drawn.
// Threads: functions without state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wrackline::report {

struct Fact {  // one of the few numbers at the top
  std::string name;
  std::string value;
  std::string note;
};

struct PageFinding {
  std::string title;      // "clock ahead"
  std::string partition;  // empty: over all
  std::string text;
};

// A table; the first column is a name, the others are figures.
struct PageTable {
  std::string caption;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::string more;  // what was left out, empty if nothing
};

// A value that is marked on an axis of spans.
struct SpanMark {
  enum class Kind : uint8_t { kQuantile, kSplit, kSetting };
  std::string label;  // "p99"
  int64_t value_us = 0;
  Kind kind = Kind::kQuantile;
  std::string note;  // a sentence
};

// How many records lie from `lower_us` to `upper_us`, both included.
struct SpanCell {
  int64_t lower_us = 0;
  int64_t upper_us = 0;
  uint64_t count = 0;
};

// A distribution of spans: a histogram on a log axis, and the share of records beyond each span.
struct Distribution {
  std::string id;                   // of the section
  std::string title;                // "Arrival delay"
  std::string lead;                 // what it is
  std::vector<SpanCell> cells;      // ascending
  int64_t resolution_us = 1;        // the step of the clocks: a value stands for the step around it
  std::optional<int64_t> split_us;  // values above it belong to the second mode
  std::vector<SpanMark> marks;
  std::vector<std::string> notes;  // sample, verdicts, modes
  PageTable table;
};

// Some values of one row on a common axis of spans.
struct SpanRow {
  std::string name;                      // from the data
  std::optional<int64_t> range_from_us;  // a bar between the two
  std::optional<int64_t> range_to_us;
  std::vector<int64_t> points_us;  // as many as the figure has point names
  std::string note;                // told with the row
};
struct SpanRows {
  std::string id;
  std::string title;
  std::string lead;
  std::vector<std::string> point_names;  // at most 3: drawn as dot, diamond and tick
  std::string range_name;                // empty: no bars
  std::vector<SpanRow> rows;
  std::vector<std::string> notes;
  PageTable table;
};

// One interval of a series.
struct SeriesPoint {
  int64_t begin_us = 0;
  int64_t end_us = 0;
  int64_t records = 0;
  std::vector<std::optional<int64_t>> values_us;  // as many as the series has names
};
struct SeriesChange {
  int64_t at_us = 0;
  std::string text;  // a sentence
};
struct Series {
  std::string id;
  std::string title;
  std::string lead;
  std::vector<std::string> names;   // at most 3
  std::vector<SeriesPoint> points;  // ascending
  std::vector<SeriesChange> changes;
  std::vector<std::string> notes;
  PageTable table;
};

// A staircase: what a setting costs or gains.
struct Staircase {
  enum class Unit : uint8_t { kShare, kSpan, kCount, kBytes };
  struct Step {
    int64_t setting_us = 0;
    double value = 0;  // from this setting on, until the next step
  };
  std::string id;
  std::string title;         // "Late records"
  std::string setting_name;  // "watermark delay d"
  Unit unit = Unit::kShare;
  std::vector<Step> steps;  // ascending
  std::vector<SpanMark> marks;
  std::vector<std::string> notes;
};

struct Staircases {
  std::string title;
  std::string lead;
  std::vector<Staircase> curves;
  std::vector<std::string> notes;
  std::vector<PageTable> tables;
};

struct Page {
  std::string kind;   // above the title: "delay and disorder"
  std::string title;  // of the browser's tab and the first heading
  std::string lead;   // one sentence under it
  std::vector<Fact> facts;
  std::string no_findings;  // what to say when there are none
  std::vector<PageFinding> findings;
  PageTable budget_partitions;  // no rows: none
  std::string setting;          // lines to paste into a job, empty if there are none
  std::vector<Distribution> distributions;
  std::optional<Staircases> staircases;
  std::optional<Series> series;
  std::optional<SpanRows> partitions;
  std::optional<SpanRows> producers;
  std::vector<std::string> notes;  // at the end
};

// The whole file, from the doctype on.
std::string page_html(const Page& page);

}  // namespace wrackline::report
