// Arbitrary bytes as a segment of a tick log: never a crash, and what is read is written the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tick_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace wrackline::runtime;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  size_t position = 0;
  if (!read_head(bytes, position)) position = 0;
  while (const auto payload = read_frame(bytes, position)) {
    if (position > size) std::abort();
  }
  // Without frames: mutations seldom keep a checksum.
  std::vector<TickCoding> codings;
  std::vector<TickCoding> writing;
  std::vector<TickCoding> reading;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t length = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    const std::string_view payload = rest.substr(0, length);
    rest.remove_prefix(payload.size());
    TickEntry entry;
    if (!decode_tick(payload, codings, entry)) return 0;
    if (writing.size() <= entry.source) writing.emplace_back();
    if (entry.kind == TickKind::kResume) writing[entry.source] = {};
    std::string written;
    encode_tick(entry, writing[entry.source], written);
    TickEntry again;
    if (!decode_tick(written, reading, again) || !(again == entry)) std::abort();
  }
  return 0;
}
