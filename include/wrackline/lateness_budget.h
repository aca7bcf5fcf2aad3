// What watermark delay and allowed lateness recorded arrivals call for, and what each would cost.
//
// Used by: `wrackline budget`, programs that set their own watermark.
// Rules:   kExact, on disorder. The scalar of a (record, window) pair is x = G - window end, with G the
//          minimum over the partitions of their greatest admissible event time when the record came. A pair
//          is late iff x >= delay and goes to the ledger iff x >= delay + lateness, so one pass answers for
//          every choice. Without a window the scalar is the record's lag G - t, and it is late iff lag >
//          delay.
//            delay     the smallest span whose late share, upper 95 % confidence bound, meets target_late;
//                      taken from the transport mode when delays have two modes.
//            lateness  the smallest span beyond which at most 1 - tail of the pairs lie, minus delay, never
//                      negative.
//          kNearestRank, the plain recipe: of the n sorted arrival delays the one at index floor(p * n), at
//          most n - 1, for p = 1 - target_late; lateness is the one at `tail` minus it, never negative.
// Exact:   predicted shares are those that the engine counts on the same records in the same order.
// Assumes: no partition falls idle; one leaves the minimum when end_partition() says that it ended.
// Units:   microseconds.
// Threads: not thread-safe.
// Source:  docs/semantics.md sections 3, 4 and 9.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wrackline/delay_profile.h"
#include "wrackline/time.h"

namespace wrackline {

// A share of a whole in exact decimal steps of 10^-12, so that "99.9" percent is not 99.90000000000001.
struct Share {
  static constexpr int64_t kWhole = 1'000'000'000'000;
  int64_t parts = 0;  // 0 .. kWhole

  // Reads a percentage: "99.9", "99.9%", "1 %". nullopt: not a number, below 0, over 100, or over 10 decimal
  // places.
  static std::optional<Share> parse_percent(std::string_view text);
  static constexpr Share percent(int64_t whole) { return {whole * (kWhole / 100)}; }
  Share complement() const { return {kWhole - parts}; }
  double value() const { return static_cast<double>(parts) / static_cast<double>(kWhole); }
  // floor(share * count), exact. Requires: count >= 0.
  int64_t floor_of(int64_t count) const;
  std::string percent_text() const;  // "99.9"
  friend bool operator==(Share, Share) = default;
};

enum class BudgetRule : uint8_t { kExact, kNearestRank };
std::string_view to_string(BudgetRule rule);  // "exact" | "nearest-rank"

struct BudgetOptions {
  BudgetRule rule = BudgetRule::kExact;
  Share target_late = Share::percent(1);
  Share tail{999'000'000'000};     // 99.9 %
  std::optional<Duration> window;  // size; null: judge records, not windows
  std::optional<Duration> slide;   // null: the window's size
  Duration window_offset;
  Duration max_future_accept = seconds(86400);  // beyond it a record goes to the ledger whatever its window
  std::optional<int64_t> keys;  // expected number of grouping keys, when no key hashes are given
  // False: the delay is taken from all records, even when delays have two modes.
  bool transport_mode_only = true;
  // Of one (key, window) in memory. Measured with count, sum and an 8-byte key (bench/state_bytes,
  // 2026-11-30): 50 bytes at 1 M groups, 62 at 10 M.
  int64_t bytes_per_window_state = 62;
  ProfileOptions profile;
};

struct BudgetShares {
  double on_time = 0;
  double corrected = 0;
  double ledgered = 0;  // `refused_future` included
};
struct BudgetCounts {
  int64_t pairs = 0;  // (record, window) pairs judged, refused ones included; without a window: records
  int64_t on_time = 0;
  int64_t corrected = 0;
  int64_t ledgered = 0;        // refused_future included
  int64_t refused_future = 0;  // beyond max_future_accept
  BudgetShares shares() const;
};

// How long after its end a window's first version comes out, in arrival time, over the windows that held
// something on time and closed before the input ended.
struct BudgetLatency {
  int64_t windows = 0;
  int64_t windows_flushed = 0;  // still open at the end of the input
  int64_t p50_us = 0;
  int64_t p99_us = 0;
  int64_t max_us = 0;
};

struct BudgetState {
  enum class Basis : uint8_t {
    kMeasuredKeys,  // peak of live (key, window) pairs counted in the pass, keys told apart by their 64-bit
                    // hashes
    kExpectedKeys,  // peak of live windows times the given number of keys
    kWindowsOnly,   // peak of live windows; bytes are for one key
  };
  Basis basis = Basis::kWindowsOnly;
  int64_t windows = 0;  // peak of live window states
  int64_t bytes = 0;
};

struct PartitionBudget {
  std::string partition;
  int64_t records = 0;
  // What this partition would need if it were alone. Null when it has no record that can be judged.
  std::optional<int64_t> watermark_delay_us;
  std::optional<int64_t> allowed_lateness_us;
  Verdict verdict = Verdict::kInsufficient;
  BudgetCounts counts;       // of its pairs under the common budget
  double share_of_late = 0;  // of all late pairs, how many are this partition's
  int64_t windows_held = 0;  // windows that could close only when this partition spoke or ended
};

// The rule tried on the past: derived from the records up to a cut, checked on the next ones.
struct BudgetBacktest {
  struct Fold {
    int64_t trained_pairs = 0;
    int64_t tested_pairs = 0;
    int64_t watermark_delay_us = 0;  // as derived before the cut; up to 0.8 % above the exact one
    int64_t late = 0;                // of the tested pairs
    bool held = false;               // late share within the target, or above it by no more than chance
  };
  enum class Verdict : uint8_t {
    kInsufficient,  // too few records for a statement before the first cut
    kHeld,
    kExceeded,  // in some fold more were late than the target allows
  };
  std::vector<Fold> folds;
  Verdict verdict = Verdict::kInsufficient;
};
std::string_view to_string(BudgetBacktest::Verdict verdict);  // "insufficient" | "held" | "exceeded"

// What the partition that holds most windows back costs the others: the same records and the same budget, but
// the watermark does not wait for it.
struct SlowestPartition {
  std::string partition;
  int64_t windows_held = 0;
  BudgetLatency without;     // output latency when nobody waits for it
  int64_t late_without = 0;  // pairs that would then be late, its own mostly
};

struct BudgetReport {
  BudgetOptions options;
  int64_t watermark_delay_us = 0;
  int64_t allowed_lateness_us = 0;
  BudgetCounts counts;
  std::optional<BudgetLatency> latency;  // null without arrival times or without a window
  std::optional<BudgetState> state;      // null without a window
  std::vector<PartitionBudget> partitions;
  std::optional<SlowestPartition> slowest;  // with several partitions, a window and arrival times

  // How the delay was found.
  int64_t sample = 0;  // pairs (kExact: of the transport mode) or delays (kNearestRank) it was taken from
  bool from_transport_mode = false;
  int64_t offline_pairs = 0;  // pairs left out because they belong to the offline mode
  double design_effect = 1;
  bool design_effect_known = false;
  int64_t late_in_sample = 0;   // of the sample, how many are late under the chosen delay
  double late_share_upper = 1;  // upper 95 % bound of that share
  // The delay that meets the target in the sample itself, without the bound.
  std::optional<int64_t> point_delay_us;
  // With two modes: the delay that would meet the target for the records of both.
  std::optional<int64_t> both_modes_delay_us;
  Verdict verdict = Verdict::kInsufficient;       // of the delay
  Verdict tail_verdict = Verdict::kInsufficient;  // of the lateness
  std::vector<std::string> notes;                 // sentences for people
  ProfileReport profile;
  BudgetBacktest backtest;  // kExact only
  // Of all records in order: event time, arrival time, partition. With it a budget says what it was for.
  uint64_t input_digest = 0;
  bool from_profile = false;  // from saved histograms: see budget_from_profile
};

// A budget from a saved profile, which has histograms but no records: kExact judges records (lag > delay), a
// safe bound for windows of any size; kNearestRank ranks delays. Spans are upper edges of buckets, at most
// 0.8 % too great; there is no latency, no state, no separation of modes. Errors: as LatenessBudget.
[[nodiscard]] std::expected<BudgetReport, std::string> budget_from_profile(ProfileReport profile,
                                                                           BudgetOptions options);

// Systems whose settings a budget can be written in.
enum class SettingsTarget : uint8_t { kWrackline, kFlink, kFlinkSql, kSpark, kKafkaStreams, kBeam };
std::optional<SettingsTarget> parse_settings_target(std::string_view name);  // "flink-sql"
// The equivalent settings with the boundary shifts of that system, as text to paste, comments included.
// Spans are rounded up to milliseconds where the system knows no less.
std::string budget_settings(const BudgetReport& report, SettingsTarget target);

class LatenessBudget {
 public:
  // Requires: window and slide, when given, are positive; slide <= window.
  explicit LatenessBudget(BudgetOptions options);
  ~LatenessBudget();
  LatenessBudget(LatenessBudget&&) noexcept;
  LatenessBudget& operator=(LatenessBudget&&) noexcept;

  // A partition that is known before the first record, such as a file: it holds G back until it speaks or
  // ends.
  PartitionId register_partition(std::string_view name);
  // A partition that is known only by a column's value: it joins when it first speaks.
  PartitionId partition(std::string_view name);
  // No record of this partition will follow: it no longer holds G back.
  void end_partition(PartitionId partition);

  // As DelayProfile::add.
  [[nodiscard]] std::expected<void, std::string> add(const DelayBatch& batch);
  // Called once, last. Cost: a few scans of the record log.
  [[nodiscard]] std::expected<BudgetReport, std::string> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wrackline
