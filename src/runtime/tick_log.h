// The tick log: what entered, in which order, what the clock said, and who held the watermark.
//
// One entry for each step of an Input (runtime/input.h). Everything that a run computes is a function of the
// records and this log: a run that follows it gives the same fates and the same versions, and it answers
// "why was this record late" long after the run. It stands in the state directory, in segments
// ticks/RRRRRRRR-SSSSSS.ticks of one run each, and is durable before anything that depends on it is published
// (Runner::commit). A run that was cut short and is resumed goes on in its own log, in a segment behind the
// last whole entry. docs/formats/tick-log.md describes the bytes.
//
// Threads: one writer; readers in other processes see what was written.
// Cost:    about 25 bytes a tick of records and 12 a tick of time, beside the names of new partitions; a
//          fdatasync for each commit that has new ticks.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "wrackline/time.h"

namespace wrackline::runtime {

enum class TickKind : uint8_t {  // Stored: never renumber.
  kOpen = 1,                     // the source was opened: its splits and partitions before the first record
  kRecords = 2,                  // records of one split
  kTime = 3,                     // no records, but time may have moved
  kEnded = 4,                    // the source has no more input
  kFlush = 5,                    // its windows were closed because of that
  kResume = 6,  // first in a later segment: what the entries before have set. Readers do not hand it out
};

struct TickEvent {
  enum class What : uint8_t {  // Stored: never renumber.
    kIdle = 1,                 // a partition fell idle
    kEnded = 2,                // a partition ended
    kPaused = 3,               // a split is not read on, being too far ahead (max_drift)
    kResumed = 4,              // it is again
  };
  What what = What::kIdle;
  uint32_t index = 0;  // of the partition; of the split for kPaused and kResumed
  friend bool operator==(const TickEvent&, const TickEvent&) = default;
};

// One step. Splits, partitions, delay, events and carried_to take effect in this order before its records.
struct TickEntry {
  struct Partition {
    std::string name;
    bool silent = false;  // takes no part in the watermark until a record speaks for it
    friend bool operator==(const Partition&, const Partition&) = default;
  };

  TickKind kind = TickKind::kTime;
  uint32_t source = 0;    // index among the sources that the job reads
  uint64_t sequence = 0;  // of the entry, from 0; given by writer and reader
  int64_t tick = 0;       // ticks of records so far, this one included: the tick that ledger entries name
  int64_t wall_us = 0;    // the clock reading of the tick
  std::vector<std::string> splits;    // new ones
  std::vector<Partition> partitions;  // new ones, in the order of their indexes
  std::optional<int64_t> delay_us;    // watermark delay, when it changed
  std::vector<TickEvent> events;
  std::optional<int64_t> carried_to_us;  // G as wall time carried it on (idle_close)

  // Of kRecords.
  uint32_t split = 0;
  std::string file;
  uint64_t records = 0;  // rows and rejects
  int64_t first_offset = 0;
  int64_t last_offset = 0;
  uint64_t bytes = 0;  // of the records, without line ends

  // After the step.
  int64_t progress_us = kMicrosMin;   // G
  int64_t watermark_us = kMicrosMin;  // W
  std::optional<uint32_t> holder;     // the partition that holds G, the first if several do

  void clear();
  friend bool operator==(const TickEntry&, const TickEntry&) = default;
};

// What the entries so far have set for one source: a later segment begins with it.
struct TickSourceState {
  std::vector<std::string> splits;
  std::vector<TickEntry::Partition> partitions;
  int64_t wall_us = 0;
  int64_t delay_us = 0;
  int64_t progress_us = kMicrosMin;
  int64_t watermark_us = kMicrosMin;
  std::optional<uint32_t> holder;

  void take(const TickEntry& entry);  // the next one of the source
};

// What a log says about the run that wrote it.
struct TickLogHeader {
  int64_t run = 0;       // the generation that began it
  std::string job_path;  // absolute, or "-"
  std::string job_text;
  std::vector<std::pair<std::string, std::string>> job_set;  // overrides: "source.option", value
  bool follow = false;
  friend bool operator==(const TickLogHeader&, const TickLogHeader&) = default;
};
// Equal for jobs of the same text and overrides, wherever they stand.
uint64_t job_fingerprint(const TickLogHeader& header);

class TickLogReader;

class TickLogWriter {
 public:
  struct Options {
    std::string directory;  // the state directory; its lock is the caller's business
    TickLogHeader header;
    size_t segment_bytes = size_t{64} << 20;  // a segment that has more is followed by another
    int64_t runs_kept = 2;                    // logs of older ones are removed
  };
  // The log of a new run. Errors: kUnavailable when the directory cannot be written.
  static Result<std::unique_ptr<TickLogWriter>> create(Options options);
  // The log of a run that was cut short, behind its last whole entry; `options.header` begins the new
  // segment. A run without a log gets one. Errors: as create(); kData for a log that is damaged in the
  // middle.
  static Result<std::unique_ptr<TickLogWriter>> go_on(Options options);
  ~TickLogWriter();

  // Takes an entry, gives it its sequence and tick. Buffered. Errors: kUnavailable (disk full); the writer is
  // then of no more use.
  Status append(TickEntry& entry);
  // Makes all entries durable; free when there are no new ones. Errors: as append.
  Status commit();
  // Removes the segments that end before the entry of that sequence: a checkpoint stands for them.
  Status drop_before(uint64_t sequence);
  uint64_t entries() const { return sequence_; }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Sources;
  explicit TickLogWriter(Options options);
  Status follow(TickLogReader& reader);
  Status start_segment();
  Status write_out();

  struct Segment {
    std::string path;
    uint64_t first_sequence = 0;
  };
  Options options_;
  std::unique_ptr<Sources> sources_;
  std::deque<Segment> segments_;
  std::string buffer_;
  std::string payload_;
  uint64_t sequence_ = 0;
  int64_t tick_ = 0;
  uint64_t bytes_ = 0;
  size_t segment_bytes_ = 0;
  bool dirty_ = false;
};

// Reads the entries of one run in order.
class TickLogReader {
 public:
  // The newest run unless another is asked for. Errors: kNotFound without a log (says what there is); kData
  // for a damaged header or a newer format.
  static Result<std::unique_ptr<TickLogReader>> open(const std::string& directory,
                                                     std::optional<int64_t> run = std::nullopt);
  ~TickLogReader();

  const TickLogHeader& header() const { return header_; }
  // The entry at hand; null behind the last. Valid until the next call. A tail that a crash tore is cut off
  // at the last whole entry, which a notice tells. Errors: kData for damage in the middle: file and byte in
  // `where` and message.
  Result<const TickEntry*> peek();
  void pop();
  // Passes over the entries before that one. Errors: those of peek(); kData if the log begins behind it or
  // ends before it.
  Status skip_to(uint64_t sequence);
  // By source, what the entries before the one at hand have set.
  const std::vector<TickSourceState>& sources() const { return states_; }
  std::vector<std::string> take_notices() { return std::exchange(notices_, {}); }

 private:
  struct Codings;
  TickLogReader();
  Status read_segment();
  Status decode_next();
  void take_state();

  TickLogHeader header_;
  std::vector<std::string> segments_;  // paths
  size_t segment_ = 0;                 // index of the one at hand
  std::string bytes_;
  size_t position_ = 0;
  bool begun_ = false;  // the segment at hand is in memory
  std::unique_ptr<Codings> codings_;
  std::vector<TickSourceState> states_;
  TickEntry entry_;
  bool has_entry_ = false;
  bool ended_ = false;
  uint64_t sequence_ = 0;
  int64_t tick_ = 0;
  std::vector<std::string> notices_;
};

// Whether the state directory holds a log of any run.
Result<bool> has_tick_log(const std::string& directory);

// What a whole log adds up to.
struct TickLogSummary {
  struct Source {
    std::vector<std::string> splits;
    std::vector<TickEntry::Partition> partitions;
    std::vector<bool> paused;     // by split
    std::vector<uint8_t> states;  // by partition: what the events said last; 0: active
    int64_t records = 0;
    int64_t progress_us = kMicrosMin;
    int64_t watermark_us = kMicrosMin;
    int64_t delay_us = 0;
    std::optional<uint32_t> holder;
    bool ended = false;
    bool flushed = false;
  };
  TickLogHeader header;
  std::vector<Source> sources;
  uint64_t entries = 0;
  int64_t ticks = 0;
  int64_t first_wall_us = 0;
  int64_t last_wall_us = 0;
  uint64_t bytes = 0;
  bool flushed = false;  // every source was
  std::vector<std::string> notices;
};
// Errors: as TickLogReader.
Result<TickLogSummary> summarize_tick_log(const std::string& directory,
                                          std::optional<int64_t> run = std::nullopt);

}  // namespace wrackline::runtime
