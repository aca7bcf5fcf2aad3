#include "ledger/masker.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ledger/keyed_hash.h"

namespace wrackline::ledger {
namespace {

constexpr std::string_view kHidden = "***";

std::vector<std::string> names_of(const MaskRule& rule) {
  std::vector<std::string> names;
  for (const MaskRule::Column& column : rule.columns) names.push_back(column.name);
  return names;
}

// A key of several columns is an object; one of a single column is wrapped into one to be rewritten.
std::vector<std::string> names_of_keys(const MaskRule& rule) {
  std::vector<std::string> names;
  for (const MaskRule::Key& key : rule.keys) {
    if (key.hide != Hide::kNothing) names.push_back(rule.keys.size() == 1 ? "" : key.name);
  }
  return names;
}

std::vector<Hide> hides_of_keys(const MaskRule& rule) {
  std::vector<Hide> hides;
  for (const MaskRule::Key& key : rule.keys) {
    if (key.hide != Hide::kNothing) hides.push_back(key.hide);
  }
  return hides;
}

}  // namespace

Masker::Masker(MaskRule rule)
    : rule_(std::move(rule)),
      payload_({.names = names_of(rule_), .delimiter = rule_.delimiter, .null_text = rule_.null_text}),
      key_({.names = names_of_keys(rule_)}),
      key_hides_(hides_of_keys(rule_)) {
  for (const MaskRule::Column& column : rule_.columns)
    WRACKLINE_CHECK(column.hide != Hide::kHash || !rule_.hash_key.empty(), column.name);
}

std::string Masker::hidden(Hide how, std::string_view content) const {
  return how == Hide::kHash ? keyed_hash(rule_.hash_key, content) : std::string(kHidden);
}

void Masker::hide(Entry& entry) {
  hide_key(entry);
  hide_detail(entry);
  hide_payload(entry);
}

void Masker::hide_key(Entry& entry) {
  if (key_hides_.empty() || entry.key.empty() || entry.key == "null") return;
  const bool single = rule_.keys.size() == 1;
  constexpr std::string_view kBefore = "{\"\":";
  const std::string text = single ? format("{}{}}}", kBefore, entry.key) : entry.key;
  std::optional<std::string> key = key_.rewrite_json(
      text, [&](size_t i, std::string_view content) { return hidden(key_hides_[i], content); });
  if (key && single) key = key->substr(kBefore.size(), key->size() - kBefore.size() - 1);
  entry.key = std::move(key).value_or(json_quoted(kHidden));
}

void Masker::hide_payload(Entry& entry) {
  if (entry.rejected) return withhold(entry);
  const auto replace = [&](size_t i, std::string_view content) {
    return hidden(rule_.columns[i].hide, content);
  };
  std::optional<std::string> payload;
  if (entry.places.empty()) {
    payload = payload_.rewrite_json(entry.payload, replace);
  } else {
    places_.clear();
    for (const MaskRule::Column& column : rule_.columns) places_.push_back(entry.places[column.column]);
    payload = payload_.rewrite_csv(entry.payload, places_, replace);
  }
  if (!payload) return withhold(entry);
  entry.payload = std::move(*payload);
  entry.payload_state = PayloadState::kMasked;
}

// A hash without a key would give a short record away to who tries all there could be.
void Masker::withhold(Entry& entry) const {
  const size_t bytes = std::max<size_t>(entry.payload.size(), entry.record_bytes);
  if (const size_t at = entry.detail.rfind(" (the first "); at != std::string::npos) entry.detail.resize(at);
  std::string note = format("{} bytes withheld", bytes);
  if (!rule_.hash_key.empty()) {
    note += format(", HMAC-SHA-256 {} of {}", keyed_hash(rule_.hash_key, entry.payload),
                   bytes == entry.payload.size() ? "them" : format("the first {}", entry.payload.size()));
  }
  entry.detail += entry.detail.empty() ? note : format(" ({})", note);
  entry.payload.clear();
  entry.payload_state = PayloadState::kWithheld;
}

// Values are quoted, or stand behind a colon. Of a value that does not fit its column, the column is told.
void Masker::hide_detail(Entry& entry) const {
  if (entry.rejected) {
    for (const auto& [name, type] : rule_.declared) {
      if (!entry.detail.starts_with(format("column \"{}\": ", name))) continue;
      entry.detail = format("column \"{}\": the value does not fit {}", name, type);
      return;
    }
    if (!entry.detail.contains('"')) return;  // what a parser says without quoting the record
  }
  const size_t end = entry.detail.find_first_of("\":");
  if (end == std::string::npos) return;
  std::string_view kept = std::string_view(entry.detail).substr(0, end);
  kept = kept.substr(0, kept.find_last_not_of(' ') + 1);
  entry.detail = kept.empty() ? "what it says is withheld" : format("{} … (withheld)", kept);
}

}  // namespace wrackline::ledger
