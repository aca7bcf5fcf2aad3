#include "disorder/saved_json.h"

#include <charconv>

#include "base/text.h"

namespace wrackline::disorder {
namespace {

constexpr int kDepthMax = 16;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::expected<SavedValue, std::string> document() {
    SavedValue value;
    if (!read(value, 0)) return std::unexpected(fault_);
    skip();
    if (at_ != text_.size()) return std::unexpected(format("at byte {}: text after the document", at_));
    return value;
  }

 private:
  bool fail(std::string_view what) {
    if (fault_.empty()) fault_ = format("at byte {}: {}", at_, what);
    return false;
  }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").contains(text_[at_])) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return fail("no JSON value");
    at_ += word.size();
    return true;
  }
  bool read(SavedValue& to, int depth) {
    if (depth > kDepthMax) return fail("nested too deep");
    skip();
    if (at_ >= text_.size()) return fail("the text ends early");
    switch (text_[at_]) {
      case '{':
        return object(to.value.emplace<SavedValue::Object>(), depth);
      case '[':
        return array(to.value.emplace<SavedValue::Array>(), depth);
      case '"':
        return string(to.value.emplace<std::string>());
      case 't':
        to.value = true;
        return word("true");
      case 'f':
        to.value = false;
        return word("false");
      case 'n':
        return word("null");
      default:
        return number(to);
    }
  }
  bool number(SavedValue& to) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc()) return fail("no whole number");
    at_ = static_cast<size_t>(end - text_.data());
    if (at_ < text_.size() && std::string_view(".eE").contains(text_[at_]))
      return fail("a number that is not whole");
    to.value = value;
    return true;
  }
  bool array(SavedValue::Array& to, int depth) {
    ++at_;
    if (take(']')) return true;
    do {
      if (!read(to.emplace_back(), depth + 1)) return false;
    } while (take(','));
    return take(']') || fail("an array is not closed");
  }
  bool object(SavedValue::Object& to, int depth) {
    ++at_;
    if (take('}')) return true;
    do {
      skip();
      if (at_ >= text_.size() || text_[at_] != '"') return fail("a name is missing");
      auto& [name, value] = to.emplace_back();
      if (!string(name)) return false;
      if (!take(':')) return fail("a colon is missing");
      if (!read(value, depth + 1)) return false;
    } while (take(','));
    return take('}') || fail("an object is not closed");
  }
  bool string(std::string& to) {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string");
      if (c != '\\') {
        to += c;
      } else if (!escape(to)) {
        return false;
      }
    }
    return fail("a string is not closed");
  }
  bool escape(std::string& to) {
    if (at_ >= text_.size()) return fail("a string is not closed");
    const char c = text_[at_++];
    constexpr std::string_view kNames = "\"\\/bfnrt";
    constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    if (const size_t known = kNames.find(c); known != std::string_view::npos) {
      to += kValues[known];
      return true;
    }
    // We escape control characters only, so a code unit stands for itself below 0x80 and for nothing above.
    unsigned code = 0;
    if (c != 'u' || text_.size() - at_ < 4) return fail("an unknown escape");
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, code, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4 || code >= 0x80)
      return fail("an unknown escape");
    at_ += 4;
    to += static_cast<char>(code);
    return true;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string fault_;
};

}  // namespace

const SavedValue& SavedValue::at(std::string_view name) const {
  static const SavedValue kNone;
  if (const auto* object = std::get_if<Object>(&value)) {
    for (const auto& [key, member] : *object) {
      if (key == name) return member;
    }
  }
  return kNone;
}

std::expected<SavedValue, std::string> read_saved_json(std::string_view text) {
  return Reader(text).document();
}

}  // namespace wrackline::disorder
