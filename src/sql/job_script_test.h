// Text scripts: jobs and what parse_job says to them, in testdata/*.txt.
//
//   === name of the case [+source] [+view] [+sink] [--follow] [--set name.option=value]
//   the job
//   --- error | explanation | warnings
//   the whole text that is expected
//
// +source, +view and +sink append the standard statements below, so that a case need only say what it is
// about. WRACKLINE_UPDATE=1 rewrites the expectations; read the diff.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sql/job.h"

namespace wrackline::sql {

inline constexpr std::string_view kSource =
    "CREATE TABLE clicks (user_id bigint, page text, price numeric(10,2), ok boolean, at timestamptz, "
    "received timestamptz)\n"
    "  WITH (connector = 'file', path = 'clicks/*.jsonl', event_time = 'at', arrival_time = 'received', "
    "watermark_delay = '30 s');\n";
inline constexpr std::string_view kView =
    "CREATE MATERIALIZED VIEW per_minute WITH (allowed_lateness = '2 h') AS\n"
    "  SELECT window_start, window_end, page, count(*) AS clicks FROM TUMBLE(clicks, at, INTERVAL '1 "
    "minute')\n"
    "  GROUP BY window_start, window_end, page;\n";
inline constexpr std::string_view kSink = "CREATE TABLE minutes () WITH (connector = 'stdout');\n";

struct ScriptCase {
  std::string header;
  std::string sql;
  std::string kind;
  std::string expected;

  std::string name() const { return header.substr(0, header.find(" +")).substr(0, header.find(" --")); }
  std::string whole_sql() const {
    std::string text = sql;
    if (header.contains(" +source")) text += kSource;
    if (header.contains(" +view")) text += kView;
    if (header.contains(" +sink")) text += kSink;
    return text;
  }
  JobOptions options() const {
    JobOptions made;
    made.follow = header.contains(" --follow");
    constexpr std::string_view kFlag = " --set ";
    for (size_t at = header.find(kFlag); at != header.npos; at = header.find(kFlag, at + 1)) {
      std::string rest = header.substr(at + kFlag.size());
      rest = rest.substr(0, rest.find(" --"));
      const size_t equals = rest.find('=');
      made.set.emplace_back(rest.substr(0, equals), equals == rest.npos ? "" : rest.substr(equals + 1));
    }
    return made;
  }
};

inline std::vector<ScriptCase> read_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<ScriptCase> cases;
  std::string* into = nullptr;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("=== ")) {
      cases.push_back({.header = line.substr(4), .sql = {}, .kind = {}, .expected = {}});
      into = &cases.back().sql;
    } else if (line.starts_with("--- ") && !cases.empty()) {
      cases.back().kind = line.substr(4);
      into = &cases.back().expected;
    } else if (into != nullptr) {
      *into += line + "\n";
    }
  }
  return cases;
}

inline std::string say(const ScriptCase& script) {
  const Result<Job> job = parse_job(script.whole_sql(), "job.sql", script.options());
  if (script.kind == "error") return job ? "(no error)\n" : job.error().to_string() + "\n";
  if (!job) return "(error) " + job.error().to_string() + "\n";
  if (script.kind == "explanation") return job->explanation;
  std::string text;
  for (const std::string& warning : job->warnings) text += warning + "\n";
  return text;
}

// Runs every case of testdata/`file`.
inline void run_script(const std::string& file, size_t cases_min) {
  const std::string path = std::string(WRACKLINE_SOURCE_DIR) + "/src/sql/testdata/" + file;
  std::vector<ScriptCase> cases = read_script(path);
  ASSERT_GE(cases.size(), cases_min) << path;
  const bool update = std::getenv("WRACKLINE_UPDATE") != nullptr;
  std::string rewritten;
  for (const ScriptCase& script : cases) {
    const std::string said = say(script);
    const std::string trimmed = script.expected.substr(0, script.expected.find_last_not_of('\n') + 1);
    if (!update) {
      EXPECT_EQ(trimmed.empty() ? "" : trimmed + "\n", said) << path << ": " << script.name();
    }
    rewritten += format("=== {}\n{}--- {}\n{}\n", script.header, script.sql, script.kind, said);
  }
  if (update) std::ofstream(path, std::ios::binary) << rewritten;
}

}  // namespace wrackline::sql
