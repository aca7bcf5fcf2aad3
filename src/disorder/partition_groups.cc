#include "disorder/partition_groups.h"

#include <utility>

namespace wrackline::disorder {

void PartitionGroups::append(const LogRows& rows) {
  const size_t count = rows.event_us.size();
  if (used_ + count > waiting_.size()) waiting_.resize(std::max(used_ + count, 2 * waiting_.size()));
  Record* const to = waiting_.data() + used_;
  used_ += count;
  const uint8_t all = rows.arrival_all ? 1 : 0;
  for (size_t i = 0; i < count; ++i) to[i] = {rows.event_us[i], rows.delay_us[i], rows.partition_all, all};
  for (size_t i = 0; i < rows.partition.size(); ++i) to[i].partition = rows.partition[i];
  for (size_t i = 0; i < rows.has_arrival.size(); ++i) to[i].has_arrival = rows.has_arrival[i];
}

// Counting sort: stable and linear.
void PartitionGroups::sort() {
  const std::span<const Record> records(waiting_.data(), used_);
  PartitionId greatest = 0;
  for (const Record& record : records) greatest = std::max(greatest, record.partition);
  ends_.assign(size_t{greatest} + 1, 0);
  for (const Record& record : records) ++ends_[record.partition];
  size_t begin = 0;
  for (size_t& end : ends_) begin += std::exchange(end, begin);  // now where each one begins
  sorted_.resize(std::max(sorted_.size(), waiting_.size()));
  for (const Record& record : records) sorted_[ends_[record.partition]++] = record;
  waiting_.swap(sorted_);
}

}  // namespace wrackline::disorder
