// What the sinks that write text share: a change batch as rows for a writer, and bytes to a descriptor.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "formats/row_writer.h"
#include "operators/sink.h"

namespace wrackline::connectors {

// A view of `changes`, valid as long as they are.
formats::Rows rows_of(const ChangeBatch& changes);
std::vector<formats::RowColumn> row_columns(const std::vector<OutputColumn>& columns);

struct Written {
  size_t bytes = 0;  // that the system took
  int error = 0;     // errno of the failure; 0: all were taken
};
// Writes all of `bytes`, waiting where the descriptor does not block.
Written write_all(int descriptor, std::string_view bytes);

}  // namespace wrackline::connectors
