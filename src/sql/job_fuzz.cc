// Any bytes as a job: no crash, no hang, and every error about the text has its place in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "sql/job.h"

using wrackline::sql::parse_job;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto job = parse_job(text, "fuzz.sql");
  if (job) {
    WRACKLINE_CHECK(!job->views.empty() && !job->explanation.empty());
    return 0;
  }
  const auto& error = job.error();
  WRACKLINE_CHECK(!error.message.empty());
  const bool placed =
      !error.where.line || (*error.where.line >= 1 && *error.where.column >= 1 && !error.detail.empty());
  WRACKLINE_CHECK(placed, error.to_string());
  return 0;
}
