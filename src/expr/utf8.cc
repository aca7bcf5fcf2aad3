#include "expr/utf8.h"

namespace wrackline::expr {

size_t utf8_length(std::string_view text) {
  size_t length = 0;
  for (size_t at = 0; at < text.size(); at += utf8_size(text, at)) ++length;
  return length;
}

std::string_view utf8_prefix(std::string_view text, size_t characters) {
  if (characters >= text.size()) return text;
  size_t at = 0;
  while (characters > 0 && at < text.size()) {
    at += utf8_size(text, at);
    --characters;
  }
  return text.substr(0, at);
}

}  // namespace wrackline::expr
