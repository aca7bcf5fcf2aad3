// JSON lines by templates, at every level of vectors that the machine has, against simdjson alone; and one
// cut of the input into views against another. The first bytes of the input choose the declaration and the
// cuts.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include "formats/jsonl_parser.h"
#include "formats/parse_dump.h"

namespace {

using namespace wrackline;
using namespace wrackline::formats;

ParserOptions make_options(uint8_t choice, size_t record_bytes_max) {
  const bool all = (choice & 1) != 0;
  ParserOptions options;
  options.fields = {{"auction", Type::bigint()},
                    {"bidder", (choice & 2) != 0 ? Type::integer() : Type::bigint()},
                    {"price", (choice & 4) != 0 ? Type::numeric() : Type::bigint()},
                    {"channel", (choice & 8) != 0 ? Type::json() : Type::text(), all},
                    {"date_time", Type::timestamptz()},
                    {"arrival", (choice & 16) != 0 ? Type::timestamptz() : Type::timestamp(), all},
                    {"f", (choice & 32) != 0 ? Type::real64() : Type::boolean(), all},
                    {"x", Type::text()}};
  options.time_zone = (choice & 64) != 0 ? TimeZone::utc() : nullptr;
  options.record_bytes_max = record_bytes_max;
  return options;
}

std::vector<std::string> dump(const ParserOptions& options, SimdLevel level, std::string_view text,
                              const DumpOptions& how) {
  JsonlParser parser(options, level);
  return dump_all(parser, options.fields, text, how);
}

void expect_same(const std::vector<std::string>& wanted, const std::vector<std::string>& got,
                 std::string_view what) {
  const std::string place = difference(wanted, got);
  WRACKLINE_CHECK(place.empty(), format("{} {}", what, place));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kChoiceBytes = 4;
  if (size < kChoiceBytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + kChoiceBytes, size - kChoiceBytes);
  const size_t record_bytes_max = (data[1] & 1) != 0 ? size_t{1} << 20 : 40 + size_t{data[1]};
  ParserOptions options = make_options(data[0], record_bytes_max);
  options.templates = false;
  const std::vector<std::string> expected = dump(options, SimdLevel::kBaseline, text, {});
  options.templates = true;
  for (uint8_t level = 0; level <= static_cast<uint8_t>(best_simd_level()); ++level) {
    const auto simd = static_cast<SimdLevel>(level);
    expect_same(expected, dump(options, simd, text, {}), to_string(simd));
  }
  std::minstd_rand random(data[2]);
  const size_t step_max = size_t{1} << (data[3] % 16);
  const DumpOptions cut = {.rows_max = 1 + size_t{data[3]} % 50,
                           .step = [&] { return 1 + random() % step_max; }};
  expect_same(expected, dump(options, best_simd_level(), text, cut), "cut differently");
  return 0;
}
