#include "cli/job_argument.h"

#include "base/text.h"
#include "cli/console.h"

namespace wrackline::cli {
namespace {

constexpr size_t kJobBytesMax = size_t{4} << 20;

}  // namespace

Result<sql::JobOptions> job_options_of(const std::vector<std::string>& set, bool follow) {
  sql::JobOptions options;
  options.follow = follow;
  for (const std::string& item : set) {
    const size_t equals = item.find('=');
    const size_t dot = item.find('.');
    if (equals == std::string::npos || dot == std::string::npos || dot == 0 || dot + 1 >= equals) {
      return fail(ErrorCode::kUsage, format("--set \"{}\" is not of the form source.option=value", item), {},
                  "For example: --set clicks.path=today.jsonl");
    }
    options.set.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return options;
}

Result<sql::Job> read_job(const std::string& path, const std::vector<std::string>& set, bool follow) {
  WRACKLINE_ASSIGN(const sql::JobOptions options, job_options_of(set, follow));
  WRACKLINE_ASSIGN(const std::string text, read_text_file(path, kJobBytesMax));
  return sql::parse_job(text, path, options);
}

}  // namespace wrackline::cli
