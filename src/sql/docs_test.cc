// docs/job-files.md against the program: the option tables are the table of options.cc, and every example
// does what the page says. WRACKLINE_UPDATE=1 rewrites the tables and the outputs; read the diff.
//
//   ```sql            a whole job that must be accepted
//   ```sql explained  the same; the next ```text block is its explanation
//   ```sql refused    a job that must be refused; the next ```text block is the error
//   <!-- options: source --> ... <!-- end -->   the table of the options of sources
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sql/job.h"
#include "sql/options.h"

namespace wrackline::sql {
namespace {

const std::string kPage = std::string(WRACKLINE_SOURCE_DIR) + "/docs/job-files.md";

std::string value_of(const OptionInfo& option) {
  switch (option.type) {
    case OptionType::kText:
      return "text";
    case OptionType::kPaths:
      return "globs";
    case OptionType::kColumn:
      return "column";
    case OptionType::kColumns:
      return "columns";
    case OptionType::kChoice: {
      std::string choices;
      for (const char c : option.choices) choices += c == '|' ? std::string("`, `") : std::string(1, c);
      return "`" + choices + "`";
    }
    case OptionType::kSwitch:
      return "`on`, `off`";
    case OptionType::kSpan:
      return "span";
    case OptionType::kHorizon:
      return "span, `unlimited`";
    case OptionType::kSpanOrOff:
      return "span, `off`";
    case OptionType::kBytes:
    case OptionType::kStoreBytes:
      return "size";
    case OptionType::kCharacter:
      return "character";
    case OptionType::kInteger:
      return "integer";
    case OptionType::kZone:
      return "zone";
    case OptionType::kReasons:
      return "reasons";
  }
  return {};
}

std::string options_table(std::string_view owner) {
  std::string out = "| option | value | default | meaning |\n|---|---|---|---|\n";
  for (const OptionInfo& option : all_options()) {
    if (to_string(option.owner) != owner) continue;
    const std::string meaning =
        std::string(option.help) + (option.planned.empty() ? "" : " *Not supported yet.*");
    out += format("| `{}` | {} | {} | {} |\n", option.name, value_of(option), option.default_text, meaning);
  }
  return out;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The page as it should be: tables and outputs written anew.
class Rewriter {
 public:
  std::string rewrite(const std::vector<std::string>& lines) {
    for (at_ = 0; at_ < lines.size(); ++at_) {
      const std::string& line = lines[at_];
      out_ += line + "\n";
      if (line.starts_with("<!-- options: ")) {
        table(lines, line.substr(14, line.find(' ', 14) - 14));
      } else if (line.starts_with("```sql")) {
        example(lines, line.substr(6));
      } else if (line == "```text" && !pending_.empty()) {
        body(lines, "```");
        out_ += pending_ + "```\n";
        pending_.clear();
      }
    }
    return out_;
  }

  size_t examples = 0;
  size_t tables = 0;

 private:
  // The lines up to `end`, which is eaten.
  std::string body(const std::vector<std::string>& lines, std::string_view end) {
    std::string text;
    for (++at_; at_ < lines.size() && lines[at_] != end; ++at_) text += lines[at_] + "\n";
    return text;
  }

  void table(const std::vector<std::string>& lines, const std::string& owner) {
    body(lines, "<!-- end -->");
    out_ += options_table(owner) + "<!-- end -->\n";
    ++tables;
  }

  void example(const std::vector<std::string>& lines, const std::string& kind) {
    const std::string sql = body(lines, "```");
    out_ += sql + "```\n";
    ++examples;
    const Result<Job> job = parse_job(sql, "clicks.sql");
    if (kind == " refused") {
      EXPECT_FALSE(job) << sql;
      if (!job) pending_ = job.error().to_string() + "\n";
      return;
    }
    EXPECT_TRUE(job) << sql << (job ? "" : job.error().to_string());
    if (job && kind == " explained") pending_ = job->explanation;
  }

  size_t at_ = 0;
  std::string out_;
  std::string pending_;
};

TEST(Docs, JobFilesPageIsTrue) {
  const std::vector<std::string> lines = read_lines(kPage);
  ASSERT_FALSE(lines.empty()) << kPage;
  std::string page;
  for (const std::string& line : lines) page += line + "\n";
  Rewriter rewriter;
  const std::string wanted = rewriter.rewrite(lines);
  EXPECT_EQ(rewriter.tables, 3U);
  EXPECT_GE(rewriter.examples, 5U);
  if (std::getenv("WRACKLINE_UPDATE") != nullptr) {
    std::ofstream(kPage, std::ios::binary) << wanted;
  } else {
    EXPECT_EQ(page, wanted) << "run sql_test with WRACKLINE_UPDATE=1 and read the diff of docs/job-files.md";
  }
}

}  // namespace
}  // namespace wrackline::sql
