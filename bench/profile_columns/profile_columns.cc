// Rows per second of DelayProfile over columns in memory: `profile_columns [rows] [partitions]`.
//
// Prints two rates: of add() alone, which is the first pass, and with finish(), which goes over all records a
// second time for exact quantiles and what else a report has. A histogram alone comes first, per value: one
// by one, and by spans, as profiles and running jobs feed it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <span>
#include <vector>

#include "wrackline/delay_profile.h"

namespace {

// Processor time, because the machine may do other work beside it.
double seconds_since(std::clock_t begin) {
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  using wrackline::PartitionId;
  const size_t rows = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20'000'000;
  const size_t partitions = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  constexpr size_t kBatch = 8192;
  std::vector<int64_t> event_us(rows);
  std::vector<int64_t> arrival_us(rows);
  std::vector<PartitionId> partition(rows);
  std::mt19937_64 random(1);
  int64_t now = 1'700'000'000'000'000;
  for (size_t i = 0; i < rows; ++i) {
    now += 100;
    // Pareto with alpha 1.1 above 20 ms, as `wrackline generate` has it.
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    const double delay = 20'000 / (1 - unit + 1e-9);
    event_us[i] = now - static_cast<int64_t>(delay < 6e8 ? delay : 6e8);
    arrival_us[i] = now;
    partition[i] = static_cast<PartitionId>(random() % partitions);
  }
  const auto histogram_begin = std::clock();
  wrackline::DelayHistogram histogram;
  for (size_t i = 0; i < rows; ++i) histogram.add(arrival_us[i] - event_us[i]);
  const double histogram_seconds = seconds_since(histogram_begin);
  std::vector<int64_t> delay_us(rows);
  for (size_t i = 0; i < rows; ++i) delay_us[i] = arrival_us[i] - event_us[i];
  const auto spans_begin = std::clock();
  wrackline::DelayHistogram by_span;
  for (size_t from = 0; from < rows; from += kBatch)
    by_span.add(std::span(delay_us).subspan(from, std::min(kBatch, rows - from)));
  const double span_seconds = seconds_since(spans_begin);
  if (!(by_span == histogram)) return 1;
  wrackline::DelayProfile profile(wrackline::ProfileOptions{});
  for (size_t i = 0; i < partitions; ++i) profile.partition(std::to_string(i));
  const auto begin = std::clock();
  for (size_t from = 0; from < rows; from += kBatch) {
    const size_t count = std::min(kBatch, rows - from);
    wrackline::DelayBatch batch;
    batch.event_us = std::span(event_us).subspan(from, count);
    batch.arrival_us = std::span(arrival_us).subspan(from, count);
    if (partitions > 1) batch.partitions = std::span(partition).subspan(from, count);
    if (!profile.add(batch)) return 1;
  }
  const double add_seconds = seconds_since(begin);
  const auto report = profile.finish();
  const double all_seconds = seconds_since(begin);
  if (!report || report->all.records != static_cast<int64_t>(rows)) return 1;
  const auto million = static_cast<double>(rows) / 1e6;
  std::printf(
      "histogram %.2f ns a value, %.2f ns by spans (%zu bytes)  add %.1f million rows/s  add and finish %.1f "
      "million rows/s\n",
      histogram_seconds * 1e3 / million, span_seconds * 1e3 / million, histogram.bytes(),
      million / add_seconds, million / all_seconds);
  return 0;
}
