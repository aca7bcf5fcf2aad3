// Where records come from, as the runtime sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/batch.h"
#include "data/snapshot.h"

namespace wrackline {

enum class ReadState : uint8_t {
  kRows,      // the batch has rows or rejects; more may follow at once
  kCaughtUp,  // nothing now, more may come (a followed file, a quiet pipe)
  kEnded,     // nothing will come any more; the batch may still carry the last rows
};

// One log of records: a file, standard input, later a Kafka partition. Its records keep their order.
class SplitReader {
 public:
  virtual ~SplitReader() = default;
  // Refills `batch` with up to about rows_max records. The batch's contents stay valid until the next call on
  // this reader. Errors: kNotFound, kUnavailable, kData, with the file in `where`; the reader is then
  // unusable.
  virtual Result<ReadState> read(Batch& batch, size_t rows_max) = 0;
  virtual const std::string& name() const = 0;  // path as matched, or "-"
  virtual uint64_t bytes_read() const = 0;      // of the stored form (compressed), for progress
  virtual std::optional<uint64_t> bytes_total() const = 0;
  // Notices since the last call that a person should read: "file was truncated", "file was replaced
  // (rotated)".
  virtual std::vector<std::string> take_notices() = 0;
  virtual std::vector<std::string> fields_seen() const = 0;
  // Writes where the reader stands: behind the first `taken` records (rows and rejects) of its last batch.
  // Source::open_at() goes on there. A log that cannot be read twice (a pipe) says so in what is written, and
  // open_at() then fails. Requires: no read() has failed. Cost: independent of what was read.
  virtual void save(SnapshotWriter& out, uint64_t taken) const = 0;
};

class Source {
 public:
  virtual ~Source() = default;
  // Opens every split that exists now, in name order. Called once.
  virtual Result<std::vector<std::unique_ptr<SplitReader>>> open() = 0;
  // Splits that appeared since (a followed glob). Cheap enough to call a few times a second.
  virtual Result<std::vector<std::unique_ptr<SplitReader>>> discover() = 0;
  virtual bool bounded() const = 0;

  // What the source knows beside its splits.
  virtual void save(SnapshotWriter& out) const = 0;
  // Instead of open(), of a source of the same options: takes what save() wrote, then open_at() each split
  // that was saved, in any order; discover() gives those that appeared since. Errors: kData for damage, and
  // for a log that is no longer what it was, with file and offset in `where`; kNotFound for one that is gone;
  // kUnsupported for one that cannot be read twice; kInvalid for options that do not fit.
  virtual Status restore(SnapshotReader& from) = 0;
  virtual Result<std::unique_ptr<SplitReader>> open_at(SnapshotReader& from) = 0;
  // Bounded input, restored: notices of what appeared since and is not read. None once told.
  virtual std::vector<std::string> take_notices() { return {}; }
};

}  // namespace wrackline
