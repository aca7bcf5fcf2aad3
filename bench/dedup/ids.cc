// What dedup costs: see README.md.
//
// Usage: dedup_ids IDS
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "operators/dedup.h"
#include "operators/dedup_hash.h"

namespace {

using namespace wrackline;

constexpr size_t kRows = 4096;

double processor_ns() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Judges the records named, in batches; returns nanoseconds a record, of judging alone.
double judge(Dedup& dedup, std::span<const uint64_t> names, int64_t first_us, int64_t step_us) {
  RecordTimes times;
  double spent = 0;
  for (size_t at = 0; at < names.size(); at += kRows) {
    const size_t rows = std::min(kRows, names.size() - at);
    times.usable.assign(rows, 1);
    times.duplicates.clear();
    times.event_us.resize(rows);
    times.watermark_before.resize(rows + 1);
    times.ids.resize(rows);
    for (size_t i = 0; i < rows; ++i) {
      times.event_us[i] = first_us + static_cast<int64_t>(at + i) * step_us;
      times.watermark_before[i] = times.event_us[i];
      times.ids[i] = {spread(names[at + i]), spread(~names[at + i]) | 1, names[at + i]};
    }
    const double start = processor_ns();
    dedup.judge(times, 0, rows);
    spent += processor_ns() - start;
  }
  return spent / static_cast<double>(names.size());
}

double read_batches(size_t records) {
  const std::vector<Type> types = {Type::text(), Type::text(), Type::bigint(), Type::numeric(),
                                   Type::timestamptz()};
  Batch batch;
  batch.rows = kRows;
  for (const Type& type : types) {
    batch.columns.emplace_back(type);
    batch.columns.back().resize(kRows);
  }
  for (size_t row = 0; row < kRows; ++row) {
    char name[17];
    std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(spread(row)));
    batch.columns[0].values<std::string_view>()[row] = batch.arena.copy({name, 16});
    batch.columns[1].values<std::string_view>()[row] = "/products/17";
    batch.columns[2].values<int64_t>()[row] = static_cast<int64_t>(row);
    batch.columns[3].values<Decimal>()[row] = {static_cast<__int128>(row * 100), 2};
    batch.columns[4].values<int64_t>()[row] = static_cast<int64_t>(row);
  }
  RecordIdReader reader({0}, std::nullopt);
  std::vector<RecordId> ids;
  const size_t rounds = std::max<size_t>(1, records / kRows);
  const double start = processor_ns();
  for (size_t i = 0; i < rounds; ++i) reader.read(batch, ids);
  return (processor_ns() - start) / static_cast<double>(rounds * kRows);
}

void measure(size_t ids) {
  std::vector<uint64_t> names(ids);
  for (size_t i = 0; i < ids; ++i) names[i] = i;
  std::printf("read    %6.1f ns a record\n", read_batches(ids));

  Dedup kept({.columns = {0}, .name = "id", .horizon = std::nullopt}, std::nullopt);
  const double fresh = judge(kept, names, 0, 1);
  std::printf("new     %6.1f ns a record, %.1f bytes an id\n", fresh,
              static_cast<double>(kept.statistics().bytes_max) / static_cast<double>(ids));
  std::ranges::shuffle(names, std::mt19937_64(1));
  std::printf("copies  %6.1f ns a record", judge(kept, names, 0, 1));
  std::printf(", %lld found\n", static_cast<long long>(kept.statistics().duplicates));

  Dedup moving({.columns = {0}, .name = "id", .horizon = micros(static_cast<int64_t>(ids) * 1000)},
               std::nullopt);
  std::vector<uint64_t> more(3 * ids);
  for (size_t i = 0; i < more.size(); ++i) more[i] = i;
  std::printf("steady  %6.1f ns a record", judge(moving, more, 0, 1000));
  std::printf(
      ", %.1f bytes an id, %zu ids at most\n",
      static_cast<double>(moving.statistics().bytes_max) / static_cast<double>(moving.statistics().ids_max),
      moving.statistics().ids_max);
}

}  // namespace

int main(int argc, char** argv) {
  const size_t ids = argc == 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (ids == 0) {
    std::fprintf(stderr, "usage: dedup_ids IDS\n");
    return 2;
  }
  measure(ids);
  return 0;
}
