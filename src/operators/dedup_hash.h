// Hashes for dedup: 128 bits for ids, 64 for content and checksums.
//
// XXH3 of the xxHash library, compiled in from its header: nothing is linked, so the copy that libpg_query
// exports cannot be mistaken for it. XXH3 is not a cryptographic hash: it mixes what producers write without
// meaning harm, see dedup_index.h. Stored: the values reach checkpoints; never change seed or function
// (decision 0009). Cost: 3 to 10 ns for an id, 10 GB/s and more for long text.
#pragma once

#include <cstdint>
#include <string_view>

namespace wrackline {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;
};

Hash128 hash128(std::string_view bytes);
uint64_t hash64(std::string_view bytes, uint64_t seed = 0);

// A bijection of 64-bit numbers that spreads neighbours over the whole range; the finaliser of MurmurHash3
// (Appleby, public domain).
constexpr uint64_t spread(uint64_t value) {
  value = (value ^ (value >> 33)) * 0xFF51AFD7ED558CCDU;
  value = (value ^ (value >> 33)) * 0xC4CEB9FE1A85EC53U;
  return value ^ (value >> 33);
}

}  // namespace wrackline
