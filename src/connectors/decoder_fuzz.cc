// Decoders on arbitrary bytes: they end, in a bounded number of steps, with output that does not depend on
// how the input was cut and how much room the output had.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "connectors/decoder.h"

namespace wrackline::connectors {
namespace {

constexpr size_t kOutputMax = size_t{1} << 20;

struct Outcome {
  std::string made;
  bool failed = false;
};

Outcome decode(Compression compression, std::string_view in, size_t piece, size_t room) {
  const auto decoder = make_decoder(compression);
  Outcome outcome;
  std::string out(room, '\0');
  for (size_t given = std::min(piece, in.size()), eaten = 0; outcome.made.size() < kOutputMax;) {
    const auto step = decoder->decode(in.substr(eaten, given - eaten), out.data(), room);
    if (!step) {
      outcome.failed = true;
      break;
    }
    WRACKLINE_CHECK(step->eaten <= given - eaten && step->made <= room, "more than there was");
    eaten += step->eaten;
    outcome.made.append(out, 0, step->made);
    if (step->eaten > 0 || step->made > 0) continue;
    if (given == in.size()) break;
    given = std::min(given + piece, in.size());
  }
  return outcome;
}

void check(std::string_view in) {
  const auto found = recognise(in.substr(0, kMarkBytes), true);
  if (!found || **found == Compression::kNone) return;
  const Outcome whole = decode(**found, in, in.size(), size_t{64} << 10);
  const Outcome pieces = decode(**found, in, 7, 100);
  if (whole.made.size() >= kOutputMax || pieces.made.size() >= kOutputMax) return;
  WRACKLINE_CHECK(whole.failed == pieces.failed, "one of the two failed");
  const size_t common = std::min(whole.made.size(), pieces.made.size());
  WRACKLINE_CHECK(whole.made.substr(0, common) == pieces.made.substr(0, common), "other bytes");
  WRACKLINE_CHECK(whole.failed || whole.made.size() == pieces.made.size(), "not as many bytes");
}

}  // namespace
}  // namespace wrackline::connectors

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  wrackline::connectors::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
