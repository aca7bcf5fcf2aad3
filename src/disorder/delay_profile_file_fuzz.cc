// Any bytes: a saved profile or a sentence why not, and what was read can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "wrackline/delay_profile_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = wrackline::load_profile(text);
  if (!report) {
    if (report.error().empty()) std::abort();
    return 0;
  }
  const auto again = wrackline::load_profile(wrackline::save_profile(*report));
  if (!again || !(again->all.delay == report->all.delay) || again->all.records != report->all.records)
    std::abort();
  return 0;
}
