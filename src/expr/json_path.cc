#include "expr/json_path.h"

#include <charconv>
#include <cstdint>

#include "expr/text_input.h"

namespace wrackline::expr {
namespace {

bool is_null_word(std::string_view word) {
  if (word.size() != 4) return false;
  for (size_t i = 0; i < 4; ++i) {
    if ((word[i] | 0x20) != "null"[i]) return false;
  }
  return true;
}

// Reads array text; at_ stands behind what was read.
class PathReader {
 public:
  explicit PathReader(std::string_view text) : text_(text) {}

  bool read(JsonPath& path) {
    if (!accept('{')) return false;
    skip_blanks();
    if (accept('}')) return at_ == text_.size();
    do {
      if (!step(path)) return false;
    } while (accept(','));
    return accept('}') && at_ == text_.size();
  }

 private:
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (at_ < text_.size() && trim_blanks(text_.substr(at_, 1)).empty()) ++at_;
  }

  bool step(JsonPath& path) {
    skip_blanks();
    std::string& out = path.steps.emplace_back();
    if (at_ < text_.size() && text_[at_] == '"') {
      if (!quoted(out)) return false;
      skip_blanks();
      return true;
    }
    bool escaped = false;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}') {
      if (text_[at_] == '{' || text_[at_] == '"') return false;
      if (text_[at_] == '\\') {
        escaped = true;
        if (++at_ == text_.size()) return false;
      }
      out += text_[at_++];
    }
    if (!escaped) out = std::string(trim_blanks(out));
    if (!escaped && is_null_word(out)) path.has_null = true;
    return !out.empty();
  }
  bool quoted(std::string& out) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        return true;
      }
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      out += text_[at_];
    }
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<JsonPath> parse_json_path(std::string_view text) {
  JsonPath path;
  if (!PathReader(trim_blanks(text)).read(path)) return std::nullopt;
  return path;
}

JsonLookup json_step(const JsonPart& part, std::string_view step, JsonPart& found) {
  if (part.kind == JsonKind::kObject) return json_member(part, step, found);
  if (part.kind != JsonKind::kArray) return JsonLookup::kMissing;
  int32_t index = 0;
  std::string_view digits = step;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc{} || end != digits.data() + digits.size()) return JsonLookup::kMissing;
  return json_element(part, index, found);
}

}  // namespace wrackline::expr
