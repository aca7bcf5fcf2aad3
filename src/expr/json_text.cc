#include "expr/json_text.h"

#include <algorithm>
#include <array>
#include <optional>

#include "expr/json_scanner.h"
#include "expr/utf8.h"

namespace wrackline::expr {
namespace {

// Calls visit(part) for each element, or visit(name with quotes, part) for each member, until it returns
// false. Returns false if the text is not JSON.
template <class Visit>
bool for_each_element(const JsonPart& array, Visit visit) {
  Scanner scanner(array.text, 1);
  scanner.skip_blanks();
  if (scanner.accept(']')) return true;
  do {
    JsonPart part;
    if (!scanner.value(part)) return false;
    if (!visit(part)) return true;
    scanner.skip_blanks();
  } while (scanner.accept(','));
  return scanner.accept(']');
}
template <class Visit>
bool for_each_member(const JsonPart& object, Visit visit) {
  Scanner scanner(object.text, 1);
  scanner.skip_blanks();
  if (scanner.accept('}')) return true;
  do {
    scanner.skip_blanks();
    const std::string_view name = scanner.string();
    scanner.skip_blanks();
    JsonPart part;
    if (name.empty() || !scanner.accept(':') || !scanner.value(part)) return false;
    if (!visit(name, part)) return true;
    scanner.skip_blanks();
  } while (scanner.accept(','));
  return scanner.accept('}');
}

uint32_t hex4(std::string_view digits) {
  uint32_t value = 0;
  for (const char c : digits.substr(0, 4)) value = value << 4 | static_cast<uint32_t>(hex_value(c));
  return value;
}

// The character of the escape at text[at] == 'u', which is moved behind it; nullopt if text cannot hold it.
std::optional<char32_t> unicode_escape(std::string_view text, size_t& at) {
  const uint32_t first = hex4(text.substr(at + 1));
  at += 5;
  if (first == 0) return std::nullopt;
  if (first < 0xD800 || first > 0xDFFF) return first;
  const bool pair = first < 0xDC00 && text.size() - at >= 6 && text[at] == '\\' && text[at + 1] == 'u';
  if (!pair) return std::nullopt;
  const uint32_t second = hex4(text.substr(at + 2));
  if (second < 0xDC00 || second > 0xDFFF) return std::nullopt;
  at += 6;
  return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

char plain_escape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

bool says(std::string_view quoted, std::string_view name) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == name;
  std::string text;
  return append_unescaped(text, quoted) && text == name;
}

}  // namespace

bool append_unescaped(std::string& out, std::string_view quoted) {
  const std::string_view text = quoted.substr(1, quoted.size() - 2);
  for (size_t at = 0; at < text.size();) {
    const size_t plain = std::min(text.find('\\', at), text.size());
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) break;
    ++at;
    if (text[at] != 'u') {
      out += plain_escape(text[at++]);
      continue;
    }
    const auto c = unicode_escape(text, at);
    if (!c) return false;
    std::array<char, 4> bytes;
    out.append(bytes.data(), utf8_encode(*c, bytes.data()));
  }
  return true;
}

std::string_view to_string(JsonKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null",   "boolean", "number",
                                                      "string", "array",   "object"};
  return kNames[static_cast<size_t>(kind)];
}

JsonLookup json_root(std::string_view text, JsonPart& root) {
  Scanner scanner(text);
  if (!scanner.value(root)) return JsonLookup::kInvalid;
  scanner.skip_blanks();
  return scanner.at_end() ? JsonLookup::kFound : JsonLookup::kInvalid;
}

JsonLookup json_member(const JsonPart& object, std::string_view name, JsonPart& member) {
  if (object.kind != JsonKind::kObject) return JsonLookup::kMissing;
  JsonLookup result = JsonLookup::kMissing;
  const bool valid = for_each_member(object, [&](std::string_view quoted, const JsonPart& part) {
    if (says(quoted, name)) {
      member = part;
      result = JsonLookup::kFound;
    }
    return true;
  });
  return valid ? result : JsonLookup::kInvalid;
}

JsonLookup json_element(const JsonPart& array, int64_t index, JsonPart& element) {
  if (array.kind != JsonKind::kArray) return JsonLookup::kMissing;
  if (index < 0) index += json_length(array);
  if (index < 0) return JsonLookup::kMissing;
  JsonLookup result = JsonLookup::kMissing;
  const bool valid = for_each_element(array, [&](const JsonPart& part) {
    if (index-- > 0) return true;
    element = part;
    result = JsonLookup::kFound;
    return false;
  });
  return valid ? result : JsonLookup::kInvalid;
}

int64_t json_length(const JsonPart& array) {
  int64_t length = 0;
  for_each_element(array, [&](const JsonPart&) {
    ++length;
    return true;
  });
  return length;
}

bool json_has(const JsonPart& part, std::string_view name) {
  JsonPart found;
  if (part.kind == JsonKind::kObject) return json_member(part, name, found) == JsonLookup::kFound;
  if (part.kind == JsonKind::kString) return says(part.text, name);
  if (part.kind != JsonKind::kArray) return false;
  bool has = false;
  for_each_element(part, [&](const JsonPart& element) {
    has = element.kind == JsonKind::kString && says(element.text, name);
    return !has;
  });
  return has;
}

bool append_json_string(std::string& out, const JsonPart& string) {
  return append_unescaped(out, string.text);
}

}  // namespace wrackline::expr
