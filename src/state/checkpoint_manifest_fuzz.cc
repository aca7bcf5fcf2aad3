// Arbitrary bytes as the contents of a checkpoint's manifest: never a crash, no place outside of its file,
// and what is read is written the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "data/snapshot.h"
#include "state/checkpoint_manifest.h"

namespace {

using namespace wrackline;

void check(std::string_view bytes) {
  const auto manifest = state::decode_manifest(bytes);
  if (!manifest) return;
  const auto lies_in_its_file = [&](const state::CheckpointExtent& at) {
    const uint64_t size = manifest->file_bytes.at(at.file);
    return at.offset <= size && at.size <= size - at.offset;
  };
  for (const state::CheckpointPart& part : manifest->parts) {
    if (!lies_in_its_file(part.at)) std::abort();
  }
  for (const state::CheckpointPiece& piece : manifest->pieces) {
    if (!lies_in_its_file(piece.at)) std::abort();
  }
  const std::string written = state::encode_manifest(*manifest);
  const auto again = state::decode_manifest(written);
  if (!again || state::encode_manifest(*again) != written) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  // With the heads and checksums that it should have: mutations seldom keep those.
  SnapshotWriter contents;
  contents.bytes(data, size);
  static const std::string kHead = state::encode_manifest({}).substr(0, state::kManifestHeadBytes);
  std::string whole = kHead;
  whole += contents.seal();
  check(whole);
  return 0;
}
