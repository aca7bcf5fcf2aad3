#include "data/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace wrackline {
namespace {

// RFC 3720, appendix B.4.
TEST(Crc32c, KnownValues) {
  std::string rising(32, '\0');
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(rising), 0x46DD794EU);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
}

// The definition, bit by bit.
uint32_t slow_crc(std::string_view bytes) {
  uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
  }
  return ~crc;
}

TEST(Crc32c, EverySizeAndAlignmentIsTheDefinition) {
  std::mt19937_64 random(1);
  std::string bytes(40'000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (size_t i = 0; i < 400; ++i) {
    const size_t offset = random() % 100;
    const size_t size = i < 100 ? i : random() % (bytes.size() - offset);
    const std::string_view part = std::string_view(bytes).substr(offset, size);
    const uint32_t expected = slow_crc(part);
    ASSERT_EQ(crc32c(part), expected) << offset << " " << size;
    ASSERT_EQ(crc32c_portable(part), expected) << offset << " " << size;
    const size_t cut = size == 0 ? 0 : random() % size;
    ASSERT_EQ(crc32c(part.substr(cut), crc32c(part.substr(0, cut))), expected) << "in two parts";
  }
}

}  // namespace
}  // namespace wrackline
