#include "expr/utf8.h"

namespace wrackline::expr {

char32_t utf8_decode(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  if (bytes.size() == 1) return lead;
  auto c = static_cast<char32_t>(lead & (0x7F >> bytes.size()));
  for (const char byte : bytes.substr(1)) c = (c << 6) | (static_cast<uint8_t>(byte) & 0x3F);
  return c;
}

size_t utf8_encode(char32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  const size_t size = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = size; i-- > 1; c >>= 6) out[i] = static_cast<char>(0x80 | (c & 0x3F));
  out[0] = static_cast<char>((0xF00 >> size & 0xFF) | c);
  return size;
}

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
