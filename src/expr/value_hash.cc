#include "expr/value_hash.h"

#include <cstring>

namespace wrackline::expr {

// Eight bytes a step, each mixed into what came before; the length keeps "a" and "a\0" apart. Bytes are read
// lowest first whatever the machine, so that the hash is the same everywhere.
uint64_t hash_value(std::string_view bytes) {
  uint64_t hash = 0x9E3779B97F4A7C15U ^ bytes.size();
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    hash = mix_bits(hash ^ word) + 0x2545F4914F6CDD1DU;
  }
  uint64_t rest = 0;
  for (int shift = 0; at < bytes.size(); ++at, shift += 8) {
    rest |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[at])) << shift;
  }
  return mix_bits(hash ^ rest);
}

}  // namespace wrackline::expr
