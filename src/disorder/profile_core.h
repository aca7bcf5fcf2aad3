// The engine of DelayProfile, shared with LatenessBudget, which scans the same record log for its own
// figures.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "disorder/findings.h"
#include "disorder/partition_groups.h"
#include "disorder/record_log.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

class ProfileCore {
 public:
  explicit ProfileCore(ProfileOptions options);

  PartitionId partition(std::string_view name);
  std::expected<void, std::string> add(const DelayBatch& batch);

  // A rank that the caller wants beside the usual ones, as a function of the number of delays. Returns 0 for
  // none.
  using RankOf = std::function<uint64_t(uint64_t count)>;
  struct Finished {
    ProfileReport report;
    std::vector<PartitionId> ids;    // of report.partitions
    std::vector<int64_t> all_extra;  // per RankOf: the delay of that rank; empty without delays
    std::vector<std::vector<int64_t>> partition_extra;  // per report.partitions
  };
  std::expected<Finished, std::string> finish(const std::vector<RankOf>& extra);

  // Valid after finish() too.
  const RecordLog& log() const { return log_; }
  uint64_t rows() const { return log_.rows() + staged_; }
  const ProfileOptions& options() const { return options_; }
  size_t partition_count() const { return partitions_.size(); }
  const std::string& partition_name(PartitionId id) const { return partitions_[id].name; }

 private:
  struct PartitionState {
    std::string name;
    int64_t records = 0;
    int64_t with_arrival = 0;
    int64_t future = 0;
    int64_t far_behind = 0;             // delays beyond warn_behind
    int64_t max_event_us = kMicrosMin;  // greatest admissible event time
    TimedRecord behind;                 // the record of delay.max(); so for ahead and min()
    TimedRecord ahead;
    DelayHistogram delay;
    DelayHistogram disorder;
  };
  // Rows that are judged in one go; at most kLogBlockRows.
  struct Block {
    std::span<const int64_t> event_us;
    std::span<const int64_t> arrival_us;      // empty: none
    std::span<const uint8_t> has_arrival;     // empty: all of arrival_us count
    std::span<const PartitionId> partitions;  // empty: all are of partition_all
    PartitionId partition_all = 0;
    std::span<const uint64_t> key_hash;
  };
  struct Scan;

  static Block slice(const DelayBatch& batch, size_t from, size_t count);
  void stage(const Block& block);
  std::expected<void, std::string> flush();
  std::expected<void, std::string> take(const Block& block);
  void compute_delays(const Block& block);
  void take_run(const PartitionRun& run);
  void take_delays(PartitionState& state, const PartitionRun& run);
  void take_together(const Block& block);
  size_t compute_disorder(std::span<const int64_t> event_us, const int64_t* delay_us, int64_t& max_event_us);
  void sample_resolution(const Block& block);
  void merge_together();
  Finished assemble(std::vector<Scan>& scans, Scan& together, const ZoneSuspicion& zones);

  ProfileOptions options_;
  RecordLog log_;
  PartitionGroups groups_;
  std::vector<PartitionState> partitions_;
  std::unordered_map<std::string, PartitionId> ids_;

  // Over the merged order of all partitions; started when a second one speaks, until then the first one says
  // it all.
  PartitionState together_;
  bool together_started_ = false;
  std::optional<PartitionId> first_speaker_;
  int64_t resolution_us_ = 0;  // greatest common divisor of the sampled delays
  UnitSuspicion units_;

  // Scratch of one block.
  bool wide_ = false;      // some time of the block is so far out that differences need saturation
  bool any_wide_ = false;  // of this or an earlier block
  std::array<int64_t, kLogBlockRows> delay_us_;     // 0 where there is none
  std::array<int64_t, kLogBlockRows> computed_us_;  // disorder, or delays without gaps

  // Small batches wait here until a block is worth packing.
  size_t staged_ = 0;
  bool staged_keys_ = false;
  std::vector<int64_t> staged_event_us_;
  std::vector<int64_t> staged_arrival_us_;
  std::vector<uint8_t> staged_has_arrival_;
  std::vector<PartitionId> staged_partition_;
  std::vector<uint64_t> staged_key_;
  std::string failed_;  // what the spill file said
};

// The rank (from 1) of the smallest value with at least `permille` thousandths of `count` values at or below
// it.
uint64_t nearest_rank(uint64_t count, uint64_t permille);

}  // namespace wrackline::disorder
