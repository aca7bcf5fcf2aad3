// Characters of UTF-8 text. Bytes that are not valid UTF-8 count as one character each, so every text has a
// length and nothing is read past its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wrackline::expr {

// Bytes of the character that starts at text[at]. Requires: at < text.size(). Never more than what is left.
inline size_t utf8_size(std::string_view text, size_t at) {
  const auto lead = static_cast<uint8_t>(text[at]);
  if (lead < 0xC2 || lead > 0xF4) return 1;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (size > text.size() - at) return 1;
  for (size_t i = 1; i < size; ++i) {
    if ((static_cast<uint8_t>(text[at + i]) & 0xC0) != 0x80) return 1;
  }
  // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
  const auto second = static_cast<uint8_t>(text[at + 1]);
  const bool invalid = (lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F) ||
                       (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F);
  return invalid ? 1 : size;
}

// The character that `bytes` is. Requires: bytes is one whole valid character.
char32_t utf8_decode(std::string_view bytes);
// Writes the character and returns its size in bytes. Requires: room for 4 bytes.
size_t utf8_encode(char32_t c, char* out);

// Number of characters.
size_t utf8_length(std::string_view text);
// The first `characters` characters, or all.
std::string_view utf8_prefix(std::string_view text, size_t characters);
// All but the first `characters` characters.
inline std::string_view utf8_suffix(std::string_view text, size_t characters) {
  return text.substr(utf8_prefix(text, characters).size());
}

}  // namespace wrackline::expr
