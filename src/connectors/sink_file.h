// Rows to a file, as JSON lines or CSV.
//
// Whole (the default): rows go to PATH.partial; when the run finishes it is flushed to the disk and renamed
// onto PATH, so a reader of PATH sees the result of one finished run and nothing else. A run that fails
// leaves PATH as it was and its committed rows in PATH.partial, which the next run replaces.
//
// Live (for runs that do not end): rows are appended to PATH itself, each committed tick with one write. The
// first commit replaces what an earlier run left, by a rename, so `tail -F` follows. A write that fails
// half-way is taken back. A reader that looks while a tick is being written may see its beginning: file
// systems do not make a write of many pages visible at once.
//
// A run that is resumed from a checkpoint goes on in the same file behind the bytes that the checkpoint knows.
// What the attempt before wrote after it comes again. In a live file those bytes are compared and kept, so no
// reader sees them go; a half line is completed, and other bytes are an error (kData). A run that is resumed without a
// checkpoint writes the file anew, and a live one takes its place when it has come as far as what stands there.
//
// A path that is no regular file (a named pipe, /dev/null) is written as it is, in either mode.
//
// Two runs never share a file: the one that comes second is refused (flock on the file that is being
// written).
//
// Errors: kInvalid (format), kUnsupported (compression), kNotFound (no such folder), kUnavailable
// (permission, disk full with the bytes written so far, another run).
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "operators/sink.h"

namespace wrackline::connectors {

struct FileSinkOptions {
  std::string path = {};
  std::string format = {};  // "jsonl" | "csv" | "" (by the name: .jsonl .ndjson .json, .csv)
  SinkMode mode = SinkMode::kUpsert;
  bool live = false;
};

Result<std::unique_ptr<Sink>> make_file_sink(const FileSinkOptions& options);

}  // namespace wrackline::connectors
