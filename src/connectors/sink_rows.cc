#include "connectors/sink_rows.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace wrackline::connectors {
namespace {

// An enumeration of one byte per row, seen as the codes that it is made of.
template <class Enum>
std::span<const uint8_t> codes_of(const std::vector<Enum>& values) {
  static_assert(sizeof(Enum) == 1);
  return {reinterpret_cast<const uint8_t*>(values.data()), values.size()};
}

}  // namespace

formats::Rows rows_of(const ChangeBatch& changes) {
  static const std::array<std::string_view, 3> kOps{to_string(RowOp::kInsert), to_string(RowOp::kUpdate),
                                                    to_string(RowOp::kRetract)};
  static const std::array<std::string_view, 4> kStatuses{
      to_string(RowStatus::kEarly), to_string(RowStatus::kOnTime), to_string(RowStatus::kCorrection),
      to_string(RowStatus::kDrain)};
  formats::Rows rows;
  rows.count = changes.rows;
  rows.columns = changes.columns;
  rows.ops = {codes_of(changes.ops), kOps};
  rows.versions = changes.versions;
  rows.statuses = {codes_of(changes.statuses), kStatuses};
  rows.generation = changes.generation;
  return rows;
}

std::vector<formats::RowColumn> row_columns(const std::vector<OutputColumn>& columns) {
  std::vector<formats::RowColumn> plain;
  for (const OutputColumn& column : columns) plain.push_back({column.name, column.type});
  return plain;
}

Written write_all(int descriptor, std::string_view bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
    if (count > 0) {
      done += static_cast<size_t>(count);
    } else if (count < 0 && errno == EAGAIN) {
      pollfd wait{.fd = descriptor, .events = POLLOUT, .revents = 0};
      static_cast<void>(poll(&wait, 1, -1));
    } else if (count < 0 && errno != EINTR) {
      return {done, errno};
    }
  }
  return {done, 0};
}

}  // namespace wrackline::connectors
