#include "disorder/partition_groups.h"

#include <utility>

namespace wrackline::disorder {

void PartitionGroups::append(const LogRows& rows) {
  const size_t count = rows.event_us.size();
  const size_t before = waiting_.size();
  waiting_.resize(before + count);
  Record* const to = waiting_.data() + before;
  const uint8_t all = rows.arrival_all ? 1 : 0;
  for (size_t i = 0; i < count; ++i) to[i] = {rows.event_us[i], rows.delay_us[i], rows.partition_all, all};
  for (size_t i = 0; i < rows.partition.size(); ++i) to[i].partition = rows.partition[i];
  for (size_t i = 0; i < rows.has_arrival.size(); ++i) to[i].has_arrival = rows.has_arrival[i];
}

// Counting sort: stable and linear.
void PartitionGroups::sort() {
  PartitionId greatest = 0;
  for (const Record& record : waiting_) greatest = std::max(greatest, record.partition);
  ends_.assign(size_t{greatest} + 1, 0);
  for (const Record& record : waiting_) ++ends_[record.partition];
  size_t begin = 0;
  for (size_t& end : ends_) begin += std::exchange(end, begin);  // now where each one begins
  sorted_.resize(waiting_.size());
  for (const Record& record : waiting_) sorted_[ends_[record.partition]++] = record;
  waiting_.swap(sorted_);
}

}  // namespace wrackline::disorder
