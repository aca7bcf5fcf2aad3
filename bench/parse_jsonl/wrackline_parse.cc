// Contender: the parser of src/formats, into batches as the engine uses them.
//
// Usage: wrackline_parse FILE ROUNDS [simdjson]
// Prints: rows, processor seconds of the best round, sums of auction, bidder, price and date_time
// (microseconds), rejects.
//         With "simdjson" every line takes the slow path. CSV by the file's name.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "formats/csv_parser.h"
#include "formats/jsonl_parser.h"
#include "formats/parser.h"

namespace {

using namespace wrackline;
using formats::SimdLevel;

struct Totals {
  uint64_t rows = 0;
  uint64_t rejects = 0;
  uint64_t sums[4] = {};  // wrap
};

constexpr size_t kWanted[4] = {0, 1, 2, 4};

std::vector<Field> make_fields() {
  return {{"auction", Type::bigint()},        {"bidder", Type::bigint()},
          {"price", Type::bigint()},          {"channel", Type::text(), false},
          {"date_time", Type::timestamptz()}, {"arrival", Type::timestamptz(), false}};
}

void add(const Batch& batch, Totals& totals) {
  totals.rows += batch.rows;
  totals.rejects += batch.rejects.size();
  for (size_t i = 0; i < 4; ++i) {
    const Column& column = batch.columns[kWanted[i]];
    uint64_t sum = 0;
    for (const int64_t value : column.values<int64_t>()) sum += static_cast<uint64_t>(value);
    totals.sums[i] += sum;
  }
}

Totals read_all(formats::Parser& parser, const std::vector<Field>& fields, std::string_view bytes) {
  constexpr size_t kBatchRows = 2048;
  Totals totals;
  Batch batch;
  while (!bytes.empty()) {
    batch.reset(fields);
    const Result<size_t> eaten = parser.parse(bytes, true, kBatchRows, batch);
    if (!eaten) {
      std::fprintf(stderr, "%s\n", eaten.error().to_string().c_str());
      std::exit(1);
    }
    add(batch, totals);
    bytes.remove_prefix(*eaten);
  }
  return totals;
}

// Processor time, so that other work on the machine counts less.
double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

SimdLevel level_of(std::string_view name) {
  for (const SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2}) {
    if (formats::to_string(level) == name) return level;
  }
  return formats::best_simd_level();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: wrackline_parse FILE ROUNDS [slow|baseline|avx2|avx512]\n");
    return 2;
  }
  std::ifstream in(argv[1], std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const size_t size = bytes.size();
  bytes.append(formats::kPaddingBytes, '\0');
  formats::ParserOptions options;
  options.fields = make_fields();
  options.file = argv[1];
  const std::string_view way = argc > 3 ? argv[3] : "";
  options.templates = way != "slow";
  const Result<formats::Format> format = formats::guess_format(argv[1]);
  if (!format) {
    std::fprintf(stderr, "%s\n", format.error().to_string().c_str());
    return 1;
  }
  double best = std::numeric_limits<double>::infinity();
  Totals totals;
  for (int round = 0; round < std::atoi(argv[2]); ++round) {
    std::unique_ptr<formats::Parser> parser;
    if (*format == formats::Format::kCsv) {
      parser = std::make_unique<formats::CsvParser>(options, level_of(way));
    } else {
      parser = std::make_unique<formats::JsonlParser>(options, level_of(way));
    }
    const double start = cpu_seconds();
    totals = read_all(*parser, options.fields, {bytes.data(), size});
    best = std::min(best, cpu_seconds() - start);
  }
  std::printf(
      "rows %llu seconds %.6f checksum %llu %llu %llu %llu rejects %llu\n",
      static_cast<unsigned long long>(totals.rows), best, static_cast<unsigned long long>(totals.sums[0]),
      static_cast<unsigned long long>(totals.sums[1]), static_cast<unsigned long long>(totals.sums[2]),
      static_cast<unsigned long long>(totals.sums[3]), static_cast<unsigned long long>(totals.rejects));
  return 0;
}
