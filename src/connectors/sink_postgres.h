// Rows to a PostgreSQL table that holds the newest version of every row: one transaction per tick, exactly
// once.
//
// Tables:  for table = 'minutes' in the first schema of the search path, or 'reports.minutes':
//          minutes            a view, for readers: the view's columns, then _version, _status, _generation
//          minutes_rows       the rows behind it, with _deleted: a retracted row stays, marked, until the run
//                             is finished, so that nothing stale can bring it back
//          _wrackline_sinks   per table the view and generation that own it, and the last tick: progress
//                             commits with the rows
//          What exists must fit, column by column. The identity columns are one unique key in which NULL
//          equals NULL (PostgreSQL 15 and newer).
// Types:   each column has PostgreSQL's type of the same name, and values travel in binary: numeric is exact,
//          times keep their microseconds, both infinities of a time are PostgreSQL's. A text with a NUL byte
//          is refused: PostgreSQL has none.
// Guard:   a row changes only when (generation, version, deleted) rises, so a replay, a repeated commit or an
//          older attempt changes nothing.
// Fence:   open waits for the transactions of other writers, then takes the table over if its generation is
//          the greater one. Every transaction moves the row of _wrackline_sinks from the tick before, which
//          fails, and takes the whole transaction with it, once another generation stands there.
// Lost connections: made again for 30 s. What became of a commit without an answer is then read from the
//          progress, under the lock that the lost transaction would still hold: the tick is sent again, or
//          was there.
// Finish:  rows of older generations, which the finished run did not write again, and marked ones are
//          removed in the transaction that records the finish.
// Cost:    one round trip a tick: all statements are sent before the first answer is read; rows go as one
//          array a column.
// Memory:  the rows of one tick, encoded.
// Source:  docs/decisions/0015-postgresql-sink.md.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "operators/sink.h"

namespace wrackline::connectors {

struct PostgresSinkOptions {
  std::string url = {};    // see postgres::Connection::open
  std::string table = {};  // "minutes" or "schema.minutes"
  SinkMode mode = SinkMode::kUpsert;
  int64_t reconnect_seconds_max = 30;
};

// Errors: kInvalid for an empty URL, or a table name that is empty, reserved or too long. Those of open:
// kInvalid when a table has other columns or belongs to another view, or when the view has no identity
// columns and the mode needs one; kUnavailable when fenced, when there is no server, or when it lets us not
// in. Those of write and commit: kData for a value that PostgreSQL cannot hold.
Result<std::unique_ptr<Sink>> make_postgres_sink(const PostgresSinkOptions& options);

}  // namespace wrackline::connectors
