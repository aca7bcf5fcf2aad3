// Rows to a SQLite table that holds the newest version of every row: one transaction per tick, exactly once.
//
// Table:   the view's columns, then _version, _status, _generation; the identity columns are its primary key.
// SQL keeps
//          rows with a NULL in the key apart from each other, so a second, partial unique index covers
//          exactly those, with NULL replaced by an empty blob: a value that no column of ours can hold, hence
//          no collision.
// Types:   boolean, integers INTEGER (booleans 0 and 1) · double REAL (NaN is the text 'NaN': SQLite would
// store NULL)
//          · numeric with a scale TEXT, exact; numeric without one is an INTEGER where the value has no
//          fraction and fits 64 bits, else exact TEXT: use CAST(x AS REAL) to compare those · timestamps,
//          dates, intervals TEXT as printed elsewhere (RFC 3339, UTC; the order of texts is the order of
//          times while all have the same number of fraction digits) · text, jsonb TEXT.
// Guard:   a row changes only when (generation, version) rises, so a replay or an older attempt changes
// nothing. Retracted
//          rows are deleted under the same guard.
// Fence:   _wrackline_sinks holds, per table, the view and generation that owns it. A run opens with a
// greater generation
//          than the recorded one or is refused; a writer that finds a greater one at its commit fails
//          ("fenced").
// Finish:  rows of older generations, which the finished run did not write again, are removed in the
// transaction that
//          records the finish.
// A database that this sink makes uses the write-ahead log, so readers never block it; another keeps its
// journal mode. Memory:  the rows of one tick, encoded.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "operators/sink.h"

namespace wrackline::connectors {

struct SqliteSinkOptions {
  std::string path = {};
  std::string table = {};
  SinkMode mode = SinkMode::kUpsert;
};

// Errors: kInvalid for an empty or reserved table name. Those of open: kInvalid when the table has other
// columns or belongs to another view, or when the view has no identity columns and the mode needs one;
// kUnavailable when fenced.
Result<std::unique_ptr<Sink>> make_sqlite_sink(const SqliteSinkOptions& options);

}  // namespace wrackline::connectors
