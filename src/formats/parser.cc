#include "formats/parser.h"

#include <array>
#include <utility>

#include "base/text.h"
#include "formats/csv_parser.h"
#include "formats/jsonl_parser.h"

namespace wrackline::formats {
namespace {

struct FormatName {
  std::string_view name;
  Format format;
};
constexpr std::array<FormatName, 2> kFormats = {{{"jsonl", Format::kJsonl}, {"csv", Format::kCsv}}};
constexpr std::array<FormatName, 4> kEndings = {{{".jsonl", Format::kJsonl},
                                                 {".ndjson", Format::kJsonl},
                                                 {".json", Format::kJsonl},
                                                 {".csv", Format::kCsv}}};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
  return out;
}

}  // namespace

Result<Format> parse_format(std::string_view name) {
  for (const FormatName& known : kFormats) {
    if (known.name == name) return known.format;
  }
  constexpr std::array<std::string_view, 2> kNames = {"jsonl", "csv"};
  const std::string nearest = nearest_name(lower(name), kNames);
  return fail(ErrorCode::kInvalid, format("format \"{}\" is not known", printable(name)),
              "Formats are jsonl and csv.", nearest.empty() ? "" : format("Did you mean \"{}\"?", nearest));
}

Result<Format> guess_format(std::string_view file) {
  const std::string whole = lower(file);
  std::string_view name = whole;
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.ends_with(packed)) name.remove_suffix(packed.size());
  }
  for (const FormatName& ending : kEndings) {
    if (name.ends_with(ending.name)) return ending.format;
  }
  return fail(ErrorCode::kInvalid,
              format("the name of file \"{}\" does not tell its format", printable(file)),
              "Names that end in .jsonl, .ndjson, .json or .csv do, also with .gz or .zst behind.",
              "Name the format with format = 'jsonl' or 'csv', or --format.");
}

std::unique_ptr<Parser> make_parser(Format format, ParserOptions options) {
  switch (format) {
    case Format::kJsonl:
      return std::make_unique<JsonlParser>(std::move(options));
    case Format::kCsv:
      return std::make_unique<CsvParser>(std::move(options));
  }
  return nullptr;
}

}  // namespace wrackline::formats
