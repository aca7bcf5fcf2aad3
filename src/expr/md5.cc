#include "expr/md5.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace wrackline::expr {
namespace {

constexpr std::array<int, 16> kShifts = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

// RFC 1321, 3.4: the whole part of 2^32 * |sin(i + 1)|.
const std::array<uint32_t, 64>& sines() {
  static const std::array<uint32_t, 64> table = [] {
    std::array<uint32_t, 64> made{};
    for (size_t i = 0; i < made.size(); ++i) {
      made[i] =
          static_cast<uint32_t>(std::floor(4294967296.0 * std::fabs(std::sin(static_cast<double>(i + 1)))));
    }
    return made;
  }();
  return table;
}

using State = std::array<uint32_t, 4>;

void add_block(State& state, const uint8_t* block) {
  std::array<uint32_t, 16> words;
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<uint32_t>(block[4 * i]) | static_cast<uint32_t>(block[4 * i + 1]) << 8 |
               static_cast<uint32_t>(block[4 * i + 2]) << 16 | static_cast<uint32_t>(block[4 * i + 3]) << 24;
  }
  auto [a, b, c, d] = state;
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t round = i / 16;
    const uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                           : round == 1 ? (b & d) | (c & ~d)
                           : round == 2 ? b ^ c ^ d
                                        : c ^ (b | ~d);
    const uint32_t word = words[(round == 0   ? i
                                 : round == 1 ? 5 * i + 1
                                 : round == 2 ? 3 * i + 5
                                              : 7 * i) %
                                16];
    const uint32_t turned = std::rotl(a + mixed + word + sines()[i], kShifts[round * 4 + i % 4]);
    a = d;
    d = c;
    c = b;
    b += turned;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace

std::array<char, 32> md5_hex(std::string_view text) {
  State state = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
  size_t at = 0;
  for (; text.size() - at >= 64; at += 64) add_block(state, bytes + at);
  // The rest, a one bit, zeros, and the length in bits: one block or two.
  std::array<uint8_t, 128> last{};
  const size_t rest = text.size() - at;
  if (rest > 0) std::memcpy(last.data(), bytes + at, rest);
  last[rest] = 0x80;
  const size_t size = rest < 56 ? 64 : 128;
  const uint64_t bits = static_cast<uint64_t>(text.size()) * 8;
  for (size_t i = 0; i < 8; ++i) last[size - 8 + i] = static_cast<uint8_t>(bits >> (8 * i));
  for (size_t i = 0; i < size; i += 64) add_block(state, last.data() + i);
  std::array<char, 32> hex;
  for (size_t i = 0; i < 16; ++i) {
    const auto byte = static_cast<uint8_t>(state[i / 4] >> (8 * (i % 4)));
    hex[2 * i] = "0123456789abcdef"[byte >> 4];
    hex[2 * i + 1] = "0123456789abcdef"[byte & 15];
  }
  return hex;
}

}  // namespace wrackline::expr
