// Where the segments of tick logs stand: STATE/ticks/GGGGGGGG-SSSSSS.ticks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace wrackline::runtime {

struct TickSegmentFile {
  std::string path;
  int64_t generation = 0;
  int64_t number = 0;
};

std::string tick_folder(const std::string& directory);
std::string tick_segment_path(const std::string& directory, int64_t generation, int64_t number);
// All that there are, by generation and number. Other files are left out.
Result<std::vector<TickSegmentFile>> tick_segments(const std::string& directory);

}  // namespace wrackline::runtime
