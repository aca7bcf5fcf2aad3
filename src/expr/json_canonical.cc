// jsonb's spelling of a JSON value.
#include <algorithm>
#include <charconv>
#include <vector>

#include "expr/json_scanner.h"
#include "expr/json_text.h"

namespace wrackline::expr {
namespace {

constexpr int64_t kDigitsBeforePointMax = 131072;  // PostgreSQL's numeric
constexpr int64_t kDigitsAfterPointMax = 16383;

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

bool append_json_canonical(std::string& out, const JsonPart& part) {
  return CanonicalWriter(part.text, out).value();
}

}  // namespace wrackline::expr
