#include "cli/report_file.h"

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "env/file.h"

namespace wrackline::cli {
namespace {

constexpr size_t kNamesShown = 3;

}  // namespace

std::string report_title(const std::vector<std::string>& paths) {
  std::string title;
  for (size_t i = 0; i < paths.size() && i < kNamesShown; ++i) {
    const std::string name = paths[i].substr(paths[i].rfind('/') + 1);
    title += format("{}{}", title.empty() ? "" : ", ", paths[i] == "-" ? "standard input" : printable(name));
  }
  if (paths.size() > kNamesShown) title += format(" and {} more", paths.size() - kNamesShown);
  return title;
}

int write_report(const std::string& path, const report::Page& page) {
  const Status written = env::replace_file(path, report::page_html(page));
  if (!written) return report(written.error());
  notice(format("report: {}", printable(path, 400)));
  return kDone;
}

}  // namespace wrackline::cli
