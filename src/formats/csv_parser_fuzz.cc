// One cut of a CSV input into views against another. The first bytes of the input choose the declaration and
// the cuts.
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

#include "formats/csv_parser.h"
#include "formats/parse_dump.h"

namespace {

using namespace wrackline;
using namespace wrackline::formats;

ParserOptions make_options(uint8_t choice, size_t record_bytes_max) {
  ParserOptions options;
  options.fields = {{"a", Type::bigint()},
                    {"b", (choice & 1) != 0 ? Type::text() : Type::json()},
                    {"t", (choice & 2) != 0 ? Type::timestamptz() : Type::date(), (choice & 4) != 0}};
  options.header = (choice & 8) != 0;
  options.delimiter = (choice & 16) != 0 ? ';' : ',';
  options.null_text = (choice & 32) != 0 ? "NULL" : "";
  options.time_zone = TimeZone::utc();
  options.record_bytes_max = record_bytes_max;
  options.templates = (choice & 64) != 0;
  return options;
}

std::vector<std::string> dump(const ParserOptions& options, std::string_view text, const DumpOptions& how) {
  CsvParser parser(options);
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
  ParserOptions options = make_options(data[0], (data[1] & 1) != 0 ? size_t{1} << 20 : 20 + size_t{data[1]});
  const std::vector<std::string> expected = dump(options, text, {});
  std::minstd_rand random(data[2]);
  const size_t step_max = size_t{1} << (data[3] % 16);
  const DumpOptions cut = {.rows_max = 1 + size_t{data[3]} % 50,
                           .step = [&] { return 1 + random() % step_max; }};
  expect_same(expected, dump(options, text, cut), "cut differently");
  options.templates = !options.templates;
  expect_same(expected, dump(options, text, {}), "quick and slow way differ");
  return 0;
}
