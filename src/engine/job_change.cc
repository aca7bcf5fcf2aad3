#include "engine/job_change.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace wrackline::engine {
namespace {

// The lines of a job's explanation without the remarks at their ends, which say where a value was written.
std::vector<std::string> meaning_of(const sql::Job& job) {
  std::vector<std::string> lines;
  for (std::string_view rest = job.explanation; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    if (line.ends_with(')')) line = line.substr(0, line.rfind('('));
    while (line.ends_with(' ')) line.remove_suffix(1);
    lines.emplace_back(line);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

}  // namespace

Status check_same_job(const sql::Job& before, const sql::Job& now) {
  const std::vector<std::string> old_lines = meaning_of(before);
  const std::vector<std::string> new_lines = meaning_of(now);
  if (old_lines == new_lines) return {};
  size_t at = 0;
  while (at < old_lines.size() && at < new_lines.size() && old_lines[at] == new_lines[at]) ++at;
  size_t title = std::min(at, new_lines.size() - 1);
  while (title > 0 && (new_lines[title].empty() || new_lines[title].starts_with(' '))) --title;
  const auto shown = [&](const std::vector<std::string>& lines) {
    if (at >= lines.size() || lines[at].empty()) return std::string("nothing");
    const std::string text = printable(lines[at], 120);
    return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
  };
  return fail(ErrorCode::kInvalid, "the job is not the one whose run is to go on",
              format("The first difference is in {}: it was \"{}\" and is \"{}\".", new_lines[title],
                     shown(old_lines), shown(new_lines)),
              "Change it back (its text is job.sql in the state directory), or begin a new run without "
              "--resume.");
}

}  // namespace wrackline::engine
