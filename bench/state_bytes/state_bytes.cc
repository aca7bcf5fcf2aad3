// Bytes of state per live (key, window) of count(*) and sum(bigint) by an 8-byte key: see README.md.
//
// Usage: state_bytes GROUPS [WINDOWS]
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "expr/aggregate.h"
#include "expr/expr.h"
#include "ledger/ledger.h"
#include "operators/aligned_aggregate.h"

namespace {

using namespace wrackline;

constexpr size_t kRows = 4096;
constexpr double kFloor = 64;

struct Nobody : ChangeConsumer {
  Status take(const ChangeBatch&) override { return {}; }
  Status take_changelog(const ChangeBatch&) override { return {}; }
};

// Bytes that this process has in memory, by the kernel's count.
double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// `groups` keys in each of `windows` ten-second windows, none of which closes. Prints the worst bytes a group
// on the way, from a tenth of all groups on: tables grow in steps.
int measure(size_t groups, size_t windows) {
  const Type bigint = Type::bigint();
  const auto count = expr::make_aggregate("count", nullptr).value();
  const auto sum = expr::make_aggregate("sum", &bigint).value();
  const auto key = expr::make_column(0, bigint, 0);
  const auto value = expr::make_column(1, bigint, 0);
  const auto output = expr::make_column(3, count->result_type(), 0);
  ViewOptions options;
  options.view = "v";
  options.source = "s";
  options.keys = {key.get()};
  options.key_names = {"key"};
  options.aggregates = {{count, nullptr, nullptr}, {sum, value.get(), nullptr}};
  options.outputs = {output.get()};
  Nobody nobody;
  AlignedAggregate view(options, WindowPlan::tumbling(seconds(10)), nobody, 1);
  const auto ledger = ledger::Ledger::transient();
  const std::vector<std::string> names = {"p"};
  const TickContext tick{.tick = 0, .partition_names = &names, .ledger = ledger.get()};

  Batch batch;
  batch.reset({{"key", bigint}, {"value", bigint}});
  RecordTimes times;
  const double empty = resident_bytes();
  double worst_counted = 0;
  double worst_resident = 0;
  size_t live = 0;
  uint64_t state = 1;
  for (size_t window = 0; window < windows; ++window) {
    for (size_t at = 0; at < groups; at += kRows) {
      const size_t rows = std::min(kRows, groups - at);
      batch.rows = rows;
      for (Column& column : batch.columns) column.resize(rows);
      batch.offsets.assign(rows, 0);
      batch.lines.assign(rows, 1);
      batch.raw.assign(rows, "");
      for (size_t i = 0; i < rows; ++i) {
        batch.columns[0].values<int64_t>()[i] = static_cast<int64_t>(at + i) * 0x9E3779B97F4A7C1;
        batch.columns[1].values<int64_t>()[i] = static_cast<int64_t>(++state);
      }
      times.event_us.assign(rows, static_cast<int64_t>(window) * 10'000'000);
      times.arrival_us.assign(1, 0);
      times.arrival_read.assign(rows, 0);
      times.usable.assign(rows, 1);
      times.has_event.assign(rows, 1);
      times.partitions.assign(1, 0);
      times.watermark_before.assign(rows + 1, kMicrosMin);
      times.progress_before = times.watermark_before;
      view.begin_batch(batch);
      if (!view.process(batch, times, tick, 0, rows) || !view.finish_tick(tick)) return 1;
      live += rows;
      if (live * 10 < groups * windows) continue;
      worst_counted =
          std::max(worst_counted, static_cast<double>(view.state_bytes()) / static_cast<double>(live));
      worst_resident = std::max(worst_resident, (resident_bytes() - empty) / static_cast<double>(live));
    }
  }
  const auto all = static_cast<double>(live);
  std::printf("groups %zu bytes_per_group %.1f worst %.1f resident %.1f resident_worst %.1f\n", live,
              static_cast<double>(view.state_bytes()) / all, worst_counted, (resident_bytes() - empty) / all,
              worst_resident);
  return static_cast<double>(view.state_bytes()) / all <= kFloor ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t groups = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const size_t windows = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  if (groups == 0 || windows == 0) {
    std::fprintf(stderr, "usage: state_bytes GROUPS [WINDOWS]\n");
    return 2;
  }
  return measure(groups, windows);
}
