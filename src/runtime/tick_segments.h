// Where the segments of tick logs stand: STATE/ticks/RRRRRRRR-SSSSSS.ticks: run, and number of the first
// entry.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace wrackline::runtime {

struct TickSegmentFile {
  std::string path;
  int64_t run = 0;
  int64_t number = 0;
};

std::string tick_folder(const std::string& directory);
std::string tick_segment_path(const std::string& directory, int64_t run, int64_t number);
// All that there are, by run and number. Other files are left out.
Result<std::vector<TickSegmentFile>> tick_segments(const std::string& directory);

}  // namespace wrackline::runtime
