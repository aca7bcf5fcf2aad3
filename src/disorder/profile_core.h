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

#include "disorder/delay_series.h"
#include "disorder/findings.h"
#include "disorder/partition_groups.h"
#include "disorder/profile_scan.h"
#include "disorder/record_log.h"
#include "wrackline/delay_profile.h"

namespace wrackline::disorder {

class ProfileCore {
 public:
  explicit ProfileCore(ProfileOptions options);

  PartitionId partition(std::string_view name);
  std::expected<void, std::string> add(const DelayBatch& batch);

  using RankOf = disorder::RankOf;
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
  // Rows that are judged in one go; at most kLogBlockRows.
  struct Block {
    std::span<const int64_t> event_us;
    std::span<const int64_t> arrival_us;      // empty: none
    std::span<const uint8_t> has_arrival;     // empty: all of arrival_us count
    std::span<const PartitionId> partitions;  // empty: all are of partition_all
    PartitionId partition_all = 0;
    std::span<const uint64_t> key_hash;
  };

  static Block slice(const DelayBatch& batch, size_t from, size_t count);
  void stage(const Block& block);
  std::expected<void, std::string> flush();
  std::expected<void, std::string> take(const Block& block);
  void compute_delays(const Block& block);
  void take_run(const PartitionRun& run);
  void take_delays(PartitionFigures& state, const PartitionRun& run);
  void take_together(const Block& block);
  size_t compute_disorder(std::span<const int64_t> event_us, const int64_t* delay_us, int64_t& max_event_us);
  void sample_resolution(const Block& block);
  void merge_together();
  // What the second pass looks for beside quantiles.
  struct Suspicions {
    ZoneSuspicion zones;
    OrderSuspicion order;
    SeriesBuilder series;
  };
  Finished assemble(std::vector<PartitionScan>& scans, PartitionScan& together, Suspicions& seen);

  ProfileOptions options_;
  RecordLog log_;
  PartitionGroups groups_;
  std::vector<PartitionFigures> partitions_;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  std::unordered_map<std::string, PartitionId, TextHash, std::equal_to<>> ids_;

  // Over the merged order of all partitions; started when a second one speaks, until then the first one says
  // it all.
  PartitionFigures together_;
  bool together_started_ = false;
  std::optional<PartitionId> first_speaker_;
  int64_t resolution_us_ = 0;  // greatest common divisor of the sampled delays
  UnitSuspicion units_;

  // Scratch of one block.
  bool any_far_ = false;  // some time so far is beyond 2^62, so that differences need saturation
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

}  // namespace wrackline::disorder
