#include <string>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/job_argument.h"

namespace wrackline::cli {

int check(const CheckCommand& command) {
  auto job = read_job(command.job, command.set, false);
  if (!job) return report(job.error());
  if (!command.json) {
    print(job->explanation);
    for (const std::string& warning : job->warnings) notice("warning: " + warning);
    return kDone;
  }
  std::string json = "{\"job\":" + json_quoted(job->path);
  const auto names = [&](std::string_view key, const auto& items) {
    json += format(",\"{}\":[", key);
    for (const auto& item : items)
      json += format("{}{}", json.ends_with('[') ? "" : ",", json_quoted(item.name));
    json += "]";
  };
  names("sources", job->sources);
  names("views", job->views);
  names("sinks", job->sinks);
  json += ",\"warnings\":[";
  for (const std::string& warning : job->warnings) {
    json += format("{}{}", json.ends_with('[') ? "" : ",", json_quoted(warning));
  }
  print(json + "],\"explanation\":" + json_quoted(job->explanation) + "}\n");
  return kDone;
}

}  // namespace wrackline::cli
