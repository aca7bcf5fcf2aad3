#include "formats/field_rewriter.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace wrackline::formats {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

size_t skip_spaces(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

// Behind the string that begins at `at`. The text is valid JSON, as everywhere below.
size_t skip_string(std::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

size_t skip_value(std::string_view text, size_t at) {
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '{' && text[at] != '[') {
    while (at < text.size() && text[at] != ',' && text[at] != '}' && text[at] != ']' && !is_space(text[at]))
      ++at;
    return at;
  }
  size_t depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at;
  } while (depth > 0 && at < text.size());
  return at;
}

void append_csv(std::string& out, std::string_view text, char delimiter) {
  const bool plain = !text.empty() && text.find_first_of("\"\r\n") == text.npos && !text.contains(delimiter);
  if (plain) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

struct CsvField {
  size_t begin = 0;
  size_t end = 0;
  bool quoted = false;
};

std::vector<CsvField> split_csv(std::string_view record, char delimiter) {
  std::vector<CsvField> fields;
  for (size_t at = 0;; ++at) {
    CsvField field{at, at, at < record.size() && record[at] == '"'};
    if (field.quoted) {
      for (++at; at < record.size(); ++at) {
        if (record[at] != '"') continue;
        if (at + 1 < record.size() && record[at + 1] == '"') {
          ++at;
        } else {
          break;
        }
      }
    }
    while (at < record.size() && record[at] != delimiter) ++at;
    field.end = at;
    fields.push_back(field);
    if (at >= record.size()) return fields;
  }
}

std::string csv_content(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  std::string content;
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    content += text[i];
    if (text[i] == '"') ++i;
  }
  return content;
}

}  // namespace

FieldRewriter::FieldRewriter(Options options) : options_(std::move(options)) {}

std::optional<size_t> FieldRewriter::name_of(std::string_view key) {
  std::string_view name = key;
  if (key.contains('\\') && !unescaper_.unescape(key, name)) return std::nullopt;
  const auto found = std::ranges::find(options_.names, name);
  if (found == options_.names.end()) return std::nullopt;
  return static_cast<size_t>(found - options_.names.begin());
}

std::string_view FieldRewriter::content_of(std::string_view value) {
  if (!value.starts_with('"')) return value;
  const std::string_view text = value.substr(1, value.size() - 2);
  std::string_view content = text;
  if (text.contains('\\') && !unescaper_.unescape(text, content)) return text;
  return content;
}

std::optional<std::string> FieldRewriter::rewrite_json(std::string_view record, const Replace& replace) {
  copy_.assign(record);
  copy_.append(kJsonPaddingBytes, ' ');
  const std::string_view text(copy_.data(), record.size());
  if (!valid_.read(text)) return std::nullopt;
  std::string out;
  out.reserve(record.size() + 64);
  size_t copied = 0;
  size_t at = skip_spaces(text, skip_spaces(text, 0) + 1);
  while (at < text.size() && text[at] != '}') {
    const size_t key_end = skip_string(text, at);
    const std::optional<size_t> name = name_of(text.substr(at + 1, key_end - at - 2));
    const size_t value_begin = skip_spaces(text, skip_spaces(text, key_end) + 1);  // behind the colon
    const size_t value_end = skip_value(text, value_begin);
    const std::string_view value = text.substr(value_begin, value_end - value_begin);
    if (name && value != "null") {
      out += text.substr(copied, value_begin - copied);
      append_json_quoted(out, replace(*name, content_of(value)));
      copied = value_end;
    }
    at = skip_spaces(text, value_end);
    if (text[at] == ',') at = skip_spaces(text, at + 1);
  }
  out += text.substr(copied);
  return out;
}

std::optional<std::string> FieldRewriter::rewrite_csv(std::string_view record, std::span<const size_t> places,
                                                      const Replace& replace) const {
  const std::vector<CsvField> fields = split_csv(record, options_.delimiter);
  std::string out;
  out.reserve(record.size() + 64);
  size_t found = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += options_.delimiter;
    const std::string_view text = record.substr(fields[i].begin, fields[i].end - fields[i].begin);
    const auto place = std::ranges::find(places, i);
    if (place == places.end()) {
      out += text;
      continue;
    }
    ++found;
    const bool is_null = !fields[i].quoted && text == options_.null_text;
    if (is_null) {
      out += text;
    } else {
      append_csv(out, replace(static_cast<size_t>(place - places.begin()), csv_content(text)),
                 options_.delimiter);
    }
  }
  if (found != places.size()) return std::nullopt;
  return out;
}

}  // namespace wrackline::formats
