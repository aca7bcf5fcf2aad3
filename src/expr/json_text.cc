#include "expr/json_text.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <charconv>
#include <optional>
#include <vector>

#include "expr/utf8.h"

namespace wrackline::expr {
namespace {

constexpr int64_t kDigitsBeforePointMax = 131072;  // PostgreSQL's numeric
constexpr int64_t kDigitsAfterPointMax = 16383;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit, or -1.
int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Moves over JSON text token by token. Every function returns false, or an empty view, where the text is not
// JSON.
class Scanner {
 public:
  explicit Scanner(std::string_view text, size_t at = 0) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool accept(char c) {
    if (peek() != c || at_end()) return false;
    ++at_;
    return true;
  }

  // The string's bytes with its quotes.
  std::string_view string() {
    const size_t start = at_;
    if (!accept('"')) return {};
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return text_.substr(start, at_ - start);
      if (static_cast<uint8_t>(c) < 0x20) return {};
      if (c == '\\' && !escape()) return {};
    }
    return {};
  }

  // A string, number or word.
  bool scalar(JsonPart& part) {
    const size_t start = at_;
    if (!scalar()) return false;
    part.text = text_.substr(start, at_ - start);
    part.kind = kind_of(part.text[0]);
    return true;
  }

  // Any value, with its blanks before it skipped.
  bool value(JsonPart& part) {
    skip_blanks();
    const size_t start = at_;
    if (!whole_value()) return false;
    part.text = text_.substr(start, at_ - start);
    part.kind = kind_of(part.text[0]);
    return true;
  }

 private:
  static JsonKind kind_of(char first) {
    switch (first) {
      case '{':
        return JsonKind::kObject;
      case '[':
        return JsonKind::kArray;
      case '"':
        return JsonKind::kString;
      case 't':
      case 'f':
        return JsonKind::kBoolean;
      case 'n':
        return JsonKind::kNull;
      default:
        return JsonKind::kNumber;
    }
  }

  bool escape() {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (c != 'u') return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos;
    if (text_.size() - at_ < 4) return false;
    for (int i = 0; i < 4; ++i) {
      if (hex_value(text_[at_++]) < 0) return false;
    }
    return true;
  }

  bool digits() {
    const size_t start = at_;
    while (is_digit(peek())) ++at_;
    return at_ > start;
  }
  bool number() {
    accept('-');
    if (!accept('0') && !digits()) return false;
    if (is_digit(peek())) return false;  // a zero in front
    if (accept('.') && !digits()) return false;
    if (accept('e') || accept('E')) {
      if (!accept('-')) accept('+');
      return digits();
    }
    return true;
  }
  bool word(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  bool scalar() {
    switch (peek()) {
      case '"':
        return !string().empty();
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      default:
        return number();
    }
  }
  bool name() {
    skip_blanks();
    if (string().empty()) return false;
    skip_blanks();
    return accept(':');
  }

  // One value with all that is inside, without recursion: `objects_` says of each open bracket whether it is
  // a brace.
  bool whole_value() {
    int depth = 0;
    for (;;) {
      skip_blanks();
      const char c = peek();
      if ((c == '{' || c == '[') && !at_end()) {
        if (depth == kJsonDepthMax) return false;
        ++at_;
        objects_[static_cast<size_t>(depth++)] = c == '{';
        skip_blanks();
        if (peek() != (c == '{' ? '}' : ']')) {
          if (c == '{' && !name()) return false;
          continue;
        }
      } else if (!scalar()) {
        return false;
      }
      if (!close_or_go_on(depth)) return false;
      if (depth == 0) return true;
    }
  }
  // After a value: closes brackets as long as they close, then stands before the next value.
  bool close_or_go_on(int& depth) {
    while (depth > 0) {
      const bool object = objects_[static_cast<size_t>(depth - 1)];
      skip_blanks();
      if (accept(',')) return !object || name();
      if (!accept(object ? '}' : ']')) return false;
      --depth;
    }
    return true;
  }

  std::string_view text_;
  size_t at_;
  std::bitset<kJsonDepthMax> objects_;
};

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

// `quoted` is a string with its quotes, as the scanner found it.
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

bool says(std::string_view quoted, std::string_view name) {
  const std::string_view inside = quoted.substr(1, quoted.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside == name;
  std::string text;
  return append_unescaped(text, quoted) && text == name;
}

void append_escaped(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      default:
        if (static_cast<uint8_t>(c) < 0x20) {
          out += "\\u00";
          out += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
          out += "0123456789abcdef"[static_cast<uint8_t>(c) & 15];
        } else {
          out += c;
        }
    }
  }
  out += '"';
}

// The number as PostgreSQL's numeric writes it: 2e3 is 2000, 1.50 stays, -0.0 is 0.0.
bool append_number(std::string& out, std::string_view text) {
  const bool negative = text[0] == '-';
  if (negative) text.remove_prefix(1);
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, mark);
  int64_t exponent = 0;
  if (mark < text.size()) {
    std::string_view digits = text.substr(mark + 1);
    if (digits[0] == '+') digits.remove_prefix(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (error != std::errc{} || exponent > 1000000 || exponent < -1000000) return false;
  }
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  const bool zero = digits.find_first_not_of('0') == std::string::npos;
  int64_t before = static_cast<int64_t>(point) + exponent;  // digits before the point
  const int64_t after = std::max<int64_t>(static_cast<int64_t>(digits.size()) - before, 0);
  if (zero) {  // only the scale is left of it
    digits.assign(static_cast<size_t>(after) + 1, '0');
    before = 1;
  }
  if (before > kDigitsBeforePointMax || after > kDigitsAfterPointMax) return false;
  if (before <= 0) {
    digits.insert(0, static_cast<size_t>(1 - before), '0');
    before = 1;
  }
  if (static_cast<int64_t>(digits.size()) < before)
    digits.append(static_cast<size_t>(before) - digits.size(), '0');
  // An exponent may have left zeros in front: 0.5e3 is 500.
  const size_t zeros = std::min(digits.find_first_not_of('0'), static_cast<size_t>(before - 1));
  if (negative && !zero) out += '-';
  out.append(digits, zeros, static_cast<size_t>(before) - zeros);
  if (static_cast<size_t>(before) < digits.size()) {
    out += '.';
    out.append(digits, static_cast<size_t>(before));
  }
  return true;
}

// Writes a value in jsonb's spelling while it reads it: one pass, however deep the nesting.
class CanonicalWriter {
 public:
  CanonicalWriter(std::string_view text, std::string& out) : scanner_(text), out_(out) {}

  bool value() {
    scanner_.skip_blanks();
    if (scanner_.accept('[')) return array();
    if (scanner_.accept('{')) return object();
    JsonPart part;
    return scanner_.scalar(part) && scalar(part);
  }

 private:
  // A member that was written: where its name and value lie in `out_`.
  struct Member {
    std::string name;
    size_t start = 0;
    size_t end = 0;
  };

  bool scalar(const JsonPart& part) {
    if (part.kind == JsonKind::kNumber) return append_number(out_, part.text);
    if (part.kind == JsonKind::kString) return quoted(part.text);
    out_ += part.text;
    return true;
  }
  bool quoted(std::string_view text) {
    buffer_.clear();
    if (!append_unescaped(buffer_, text)) return false;
    append_escaped(out_, buffer_);
    return true;
  }

  bool array() {
    out_ += '[';
    scanner_.skip_blanks();
    for (bool first = true; !scanner_.accept(']'); first = false) {
      if (!first) {
        if (!scanner_.accept(',')) return false;
        out_ += ", ";
      }
      if (!value()) return false;
      scanner_.skip_blanks();
    }
    out_ += ']';
    return true;
  }

  bool object() {
    std::vector<Member> members;
    out_ += '{';
    scanner_.skip_blanks();
    for (bool first = true; !scanner_.accept('}'); first = false) {
      if (!first) {
        if (!scanner_.accept(',')) return false;
        out_ += ", ";
      }
      if (!member(members.emplace_back())) return false;
      scanner_.skip_blanks();
    }
    put_in_order(members);
    out_ += '}';
    return true;
  }
  bool member(Member& member) {
    member.start = out_.size();
    scanner_.skip_blanks();
    const std::string_view name = scanner_.string();
    if (name.empty() || !quoted(name)) return false;
    member.name = buffer_;
    scanner_.skip_blanks();
    out_ += ": ";
    if (!scanner_.accept(':') || !value()) return false;
    member.end = out_.size();
    return true;
  }

  static bool before(const Member& a, const Member& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  }
  // Sorts what was written; of equal names the last stays.
  void put_in_order(std::vector<Member>& members) {
    const auto unordered = [](const Member& a, const Member& b) { return !before(a, b); };
    if (std::ranges::adjacent_find(members, unordered) == members.end()) return;
    const size_t start = members[0].start;
    const std::string written = out_.substr(start);
    out_.resize(start);
    std::ranges::stable_sort(members, before);
    for (size_t i = 0; i < members.size(); ++i) {
      if (i + 1 < members.size() && members[i + 1].name == members[i].name) continue;
      if (out_.size() > start) out_ += ", ";
      out_.append(written, members[i].start - start, members[i].end - members[i].start);
    }
  }

  Scanner scanner_;
  std::string& out_;
  std::string buffer_;
};

}  // namespace

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

bool append_json_canonical(std::string& out, const JsonPart& part) {
  return CanonicalWriter(part.text, out).value();
}

}  // namespace wrackline::expr
