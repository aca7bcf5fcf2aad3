#include "runtime/tick_segments.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

#include "base/text.h"
#include "env/glob.h"

namespace wrackline::runtime {
namespace {

constexpr std::string_view kSuffix = ".ticks";

std::optional<int64_t> number_in(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

std::string tick_folder(const std::string& directory) {
  return directory + "/ticks";
}

std::string tick_segment_path(const std::string& directory, int64_t run, int64_t number) {
  return format("{}/{:08}-{:06}{}", tick_folder(directory), run, number, kSuffix);
}

Result<std::vector<TickSegmentFile>> tick_segments(const std::string& directory) {
  // The directory is not part of the pattern: its name may hold a wildcard's characters.
  WRACKLINE_ASSIGN(const auto names, env::match_glob("*.ticks", tick_folder(directory)));
  std::vector<TickSegmentFile> found;
  for (const std::string& name : names) {
    const std::string_view stem = std::string_view(name).substr(0, name.size() - kSuffix.size());
    const size_t dash = stem.find('-');
    if (dash == std::string_view::npos) continue;
    const auto run = number_in(stem.substr(0, dash));
    const auto number = number_in(stem.substr(dash + 1));
    if (run && number) found.push_back({tick_folder(directory) + "/" + name, *run, *number});
  }
  std::ranges::sort(found, {}, [](const TickSegmentFile& file) { return std::tuple(file.run, file.number); });
  return found;
}

}  // namespace wrackline::runtime
