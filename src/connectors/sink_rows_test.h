// Change batches for the tests of sinks, built row by row.
#pragma once

#include <string>
#include <vector>

#include "data/value.h"
#include "operators/sink.h"

namespace wrackline::connectors {

inline constexpr int64_t kNoon = 1'714'564'800'000'000;  // 2024-05-01T12:00:00Z
inline constexpr int64_t kMinute = 60'000'000;

// window_start, page (may be NULL), clicks; the first two are the identity.
inline const std::vector<OutputColumn> kClicks = {{"window_start", Type::timestamptz(), true},
                                                  {"page", Type::text(), true},
                                                  {"clicks", Type::bigint(), false}};

class Changes {
 public:
  explicit Changes(int64_t generation = 1, const std::vector<OutputColumn>& columns = kClicks) {
    batch_.generation = generation;
    for (const OutputColumn& column : columns) batch_.columns.emplace_back(column.type);
  }
  Changes& add(const std::vector<ValueData>& values, RowOp op = RowOp::kInsert, int64_t version = 1,
               RowStatus status = RowStatus::kOnTime) {
    for (size_t i = 0; i < batch_.columns.size(); ++i) {
      Column& column = batch_.columns[i];
      column.resize(batch_.rows + 1);
      set_value(column, batch_.rows, {column.type(), values[i]}, arena_);
    }
    ++batch_.rows;
    batch_.ops.push_back(op);
    batch_.versions.push_back(version);
    batch_.statuses.push_back(status);
    return *this;
  }
  Changes& click(int64_t minute, const ValueData& page, int64_t clicks, RowOp op = RowOp::kInsert,
                 int64_t version = 1, RowStatus status = RowStatus::kOnTime) {
    return add({kNoon + minute * kMinute, page, clicks}, op, version, status);
  }
  const ChangeBatch& batch() const { return batch_; }

 private:
  ChangeBatch batch_;
  Arena arena_;
};

}  // namespace wrackline::connectors
