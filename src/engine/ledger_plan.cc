#include "engine/ledger_plan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/text.h"
#include "env/file.h"
#include "sql/ledger_options.h"

namespace wrackline::engine {
namespace {

constexpr const char* kKeyVariable = "WRACKLINE_LEDGER_KEY";
constexpr size_t kKeyBytesMin = 16;
constexpr size_t kKeyBytesMax = 4096;
constexpr std::string_view kMakeOne = "Make one: openssl rand -hex 32 > ledger.key; chmod 600 ledger.key";

std::filesystem::path real_path(const std::string& path) {
  std::error_code ignored;
  const auto absolute = std::filesystem::absolute(path);
  auto real = std::filesystem::weakly_canonical(absolute, ignored);
  return real.empty() ? absolute : real;
}

bool is_inside(const std::string& path, const std::string& directory) {
  const auto inner = real_path(path);
  const auto outer = real_path(directory);
  const auto [end, rest] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return end == outer.end() || (std::next(end) == outer.end() && end->empty());
}

Status check_length(const std::string& key, const std::string& what) {
  if (key.size() >= kKeyBytesMin) return {};
  return fail(ErrorCode::kInvalid,
              format("{} has {} bytes, a key has at least {}", what, key.size(), kKeyBytesMin),
              "A short key can be found by trying.", std::string(kMakeOne));
}

// Line ends behind the key do not count, so that editors and echo may write it.
Result<std::string> read_key(const sql::SourceSpec& source, const std::string& folder,
                             const std::string& state_directory) {
  const std::string path = (std::filesystem::path(folder) / source.ledger_key_file).string();
  const std::string what = format("ledger_key_file \"{}\" of source \"{}\"", path, source.name);
  if (!state_directory.empty() && is_inside(path, state_directory)) {
    return fail(ErrorCode::kInvalid, format("{} stands in the state directory", what),
                "Who gets hold of the ledger would have the key, too.", "Keep it somewhere else.");
  }
  auto key = env::read_file(path, kKeyBytesMax);
  if (!key) {
    Error error = std::move(key).error();
    error.message = format("cannot read {}: {}", what, error.message);
    if (error.hint.empty()) error.hint = kMakeOne;
    return fail(std::move(error));
  }
  while (key->ends_with('\n') || key->ends_with('\r')) key->pop_back();
  WRACKLINE_TRY(check_length(*key, what));
  return key;
}

Result<std::string> key_of(const sql::SourceSpec& source, const std::string& folder,
                           const std::string& state_directory) {
  if (!source.ledger_key_file.empty()) return read_key(source, folder, state_directory);
  const bool hashes = std::ranges::find(source.ledger_hide, ledger::Hide::kHash) != source.ledger_hide.end();
  const char* value = std::getenv(kKeyVariable);
  if (value == nullptr || *value == 0) {
    if (!hashes) return std::string();
    return fail(ErrorCode::kNotFound, format("ledger_hash of source \"{}\" has no key", source.name), {},
                format("Set {} in the environment, or name a file: ledger_key_file = 'ledger.key'. {}",
                       kKeyVariable, kMakeOne));
  }
  std::string key = value;
  WRACKLINE_TRY(check_length(key, format("environment variable {}", kKeyVariable)));
  return key;
}

ledger::MaskRule rule_of(const sql::Job& job, const sql::ViewSpec& view, std::string key) {
  const sql::SourceSpec& source = job.sources[view.source];
  ledger::MaskRule rule;
  rule.view = view.name;
  rule.hash_key = std::move(key);
  rule.delimiter = source.delimiter;
  rule.null_text = source.null_text;
  const bool of_view = source.connector == sql::SourceConnector::kView;
  for (size_t i = 0; i < source.fields.size(); ++i) {
    const Field& field = source.fields[i];
    rule.declared.emplace_back(field.name, to_string(field.type));
    if (source.ledger_hide[i] == ledger::Hide::kNothing) continue;
    // The rows of a view are named as the view names them.
    const std::string name = of_view ? job.views[source.of_view.view].columns[i].name : field.name;
    rule.columns.push_back({name, i, source.ledger_hide[i]});
  }
  for (size_t i = 0; i < view.keys.size(); ++i)
    rule.keys.push_back({view.key_names[i], sql::hide_of(*view.keys[i], source)});
  return rule;
}

}  // namespace

Result<std::vector<ledger::MaskRule>> mask_rules(const sql::Job& job, const std::string& folder,
                                                 const std::string& state_directory) {
  std::vector<ledger::MaskRule> rules;
  for (const sql::ViewSpec& view : job.views) {
    const sql::SourceSpec& source = job.sources[view.source];
    if (source.ledger_hide.empty()) continue;
    WRACKLINE_ASSIGN(std::string key, key_of(source, folder, state_directory));
    rules.push_back(rule_of(job, view, std::move(key)));
  }
  return rules;
}

std::vector<ledger::Retention> retention_rules(const sql::Job& job) {
  std::vector<ledger::Retention> rules;
  for (const sql::ViewSpec& view : job.views) {
    if (!view.ledger_retention && !view.ledger_entries_max && !view.ledger_bytes_max) continue;
    rules.push_back({view.name, view.ledger_retention, view.ledger_entries_max, view.ledger_bytes_max});
  }
  return rules;
}

}  // namespace wrackline::engine
