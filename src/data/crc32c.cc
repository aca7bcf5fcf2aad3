// A CRC is the remainder of the bytes, read as a polynomial over two elements, after division by a fixed one.
// Two facts are used here.
//
// 1. The remainder is linear. A step of eight bytes at once is the exclusive or of eight table look-ups, one
//    per byte, each for "that byte, then so many zero bytes" ("slicing by 8", M. E. Kounavis and F. L. Berry,
//    "A Systematic Approach to Building High Performance Software-Based CRC Generators", ISCC 2005).
// 2. The processor's instruction has a result after three cycles but can begin one each cycle. So three lanes
// run
//    through three neighbouring blocks at the same time; then the first lane's remainder is moved past the
//    second block (multiplied by x to the number of its bits, which is again four table look-ups), added to
//    the second's, and so on (V. Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32
//    Instruction", Intel 2011, without its carry-less multiplication).
#include "data/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace wrackline {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78U;  // bits in reverse

using Table = std::array<uint32_t, 256>;

constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0U);
    tables[0][i] = crc;
  }
  for (size_t slice = 1; slice < 8; ++slice) {
    for (size_t i = 0; i < 256; ++i) {
      const uint32_t before = tables[slice - 1][i];
      tables[slice][i] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

constexpr std::array<Table, 8> kTables = make_tables();

uint64_t eight_bytes(const char* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

uint32_t portable(uint32_t crc, const char* from, size_t size) {
  for (; size >= 8; from += 8, size -= 8) {
    const uint64_t word = eight_bytes(from) ^ crc;
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][(word >> (8 * i)) & 0xFF];
  }
  for (; size > 0; ++from, --size) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<uint8_t>(*from)) & 0xFF];
  return crc;
}

#if defined(__x86_64__)

constexpr size_t kLaneBytes = 4096;

// By byte of the remainder: what it becomes behind kLaneBytes zero bytes.
std::array<Table, 4> make_shift() {
  std::array<Table, 4> shift{};
  for (size_t byte = 0; byte < 4; ++byte) {
    // It is linear, so single bits tell the rest: a fifth of a millisecond instead of seven.
    for (uint32_t i = 1; i < 256; ++i) {
      if (const uint32_t rest = i & (i - 1); rest != 0) {
        shift[byte][i] = shift[byte][rest] ^ shift[byte][i ^ rest];
        continue;
      }
      uint32_t crc = i << (8 * byte);
      for (size_t zero = 0; zero < kLaneBytes; ++zero) crc = (crc >> 8) ^ kTables[0][crc & 0xFF];
      shift[byte][i] = crc;
    }
  }
  return shift;
}

uint32_t moved(const std::array<Table, 4>& shift, uint64_t crc) {
  return shift[0][crc & 0xFF] ^ shift[1][(crc >> 8) & 0xFF] ^ shift[2][(crc >> 16) & 0xFF] ^
         shift[3][(crc >> 24) & 0xFF];
}

__attribute__((target("sse4.2"))) uint32_t with_instruction(uint32_t start, const char* from, size_t size) {
  static const std::array<Table, 4> kShift = make_shift();
  uint64_t crc = start;
  for (; size >= 3 * kLaneBytes; from += 3 * kLaneBytes, size -= 3 * kLaneBytes) {
    uint64_t second = 0;
    uint64_t third = 0;
    for (size_t i = 0; i < kLaneBytes; i += 8) {
      crc = _mm_crc32_u64(crc, eight_bytes(from + i));
      second = _mm_crc32_u64(second, eight_bytes(from + kLaneBytes + i));
      third = _mm_crc32_u64(third, eight_bytes(from + 2 * kLaneBytes + i));
    }
    crc = moved(kShift, moved(kShift, crc) ^ second) ^ third;
  }
  for (; size >= 8; from += 8, size -= 8) crc = _mm_crc32_u64(crc, eight_bytes(from));
  auto short_crc = static_cast<uint32_t>(crc);
  for (; size > 0; ++from, --size) short_crc = _mm_crc32_u8(short_crc, static_cast<uint8_t>(*from));
  return short_crc;
}

#endif

}  // namespace

uint32_t crc32c_portable(std::string_view bytes, uint32_t before) {
  return ~portable(~before, bytes.data(), bytes.size());
}

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  static const bool kHasInstruction = __builtin_cpu_supports("sse4.2") != 0;
  if (kHasInstruction) return ~with_instruction(~before, bytes.data(), bytes.size());
#endif
  return crc32c_portable(bytes, before);
}

}  // namespace wrackline
