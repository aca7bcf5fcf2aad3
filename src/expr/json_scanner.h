// Reading JSON text token by token, for the navigator and for the writer of jsonb's spelling.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

#include "expr/json_text.h"

namespace wrackline::expr {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value of a hexadecimal digit, or -1.
inline int hex_value(char c) {
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

// Appends what a string says. `quoted` is the string with its quotes, as the scanner found it. False: it has
// an escape that text cannot hold.
bool append_unescaped(std::string& out, std::string_view quoted);

}  // namespace wrackline::expr
