// A batch of records as columns, with the identity of each record beside them.
//
// A reader fills a batch; everything in it (raw bytes, text values) stays valid until the reader is asked for
// the next one. Rejected records travel in the batch too, so that nothing is lost between reader and ledger.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/column.h"
#include "data/types.h"

namespace wrackline {

// A column of a source as declared.
struct Field {
  std::string name;
  Type type;
  bool needed =
      true;  // false: no view, time or partition reads it; the parser may leave its column empty (size 0)
};

// The whole closed list of why a record is in no result. Stored: never renumber.
enum class Reason : uint8_t {
  kLate = 0,
  kLateAfterIdle = 1,
  kLateSession = 2,
  kLateJoin = 3,
  kFuture = 4,
  kPastHorizon = 5,
  kUnparseable = 6,
  kNoEventTime = 7,
  kOutOfRange = 8,
  kOversize = 9,
  kConflict = 10,
};
inline constexpr size_t kReasonCount = 11;
// The name in ledgers and balances: "late_after_idle".
std::string_view to_string(Reason reason);

// A record that a parser could not turn into a row.
struct Reject {
  Reason reason = Reason::kUnparseable;
  size_t before_row = 0;   // it stood before this row of the batch (may equal rows)
  int64_t offset = 0;      // ordinal of the record in its partition's log, from 0
  int64_t line = 0;        // line of the file where it starts, from 1
  std::string_view raw;    // its bytes, at most kRejectBytesMax of them
  uint64_t raw_bytes = 0;  // its true size
  std::string detail;      // a fragment: 'column "price": "abc" is not a bigint'
};
inline constexpr size_t kRejectBytesMax = 4096;

struct Batch {
  size_t rows = 0;
  std::string_view file;         // where the batch is from, as the reader names it; a batch never mixes files
  std::vector<Column> columns;   // one per Field of the source, in order
  std::vector<int64_t> offsets;  // per row: ordinal of the record in its log, from 0; rejects count too
  std::vector<int64_t> lines;    // per row: line where the record starts, from 1
  std::vector<std::string_view> raw;  // per row: the record's bytes without its line end
  // CSV: per Field, which field of a record it is, from 0. Empty: records are JSON objects.
  std::vector<size_t> places;
  std::vector<Reject> rejects;  // in reading order
  Arena arena;                  // unescaped text and the like

  // Empties the batch and gives it the columns of `fields`; keeps memory.
  void reset(const std::vector<Field>& fields);
};

}  // namespace wrackline
