// Files and standard input as a source: which files there are, and in which order they are read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "formats/parser.h"
#include "operators/source.h"

namespace wrackline::connectors {

enum class FilesMode : uint8_t {
  kParallel,  // each file is a split, and a partition
  kSequence,  // all files are one split, read in the order of their names; offsets start again in each
};

struct FileSourceOptions {
  // Files or patterns; "-" is standard input. Relative ones are seen from `folder`, or the working directory
  // if that is empty; in messages and names they stay as written.
  std::vector<std::string> paths;
  std::string folder;
  std::optional<formats::Format> format;  // nullopt: guessed from each file's name
  formats::ParserOptions parser;          // its `file` is filled in
  FilesMode files = FilesMode::kParallel;
  bool follow = false;  // files may grow, rotate and appear; standard input is live
};

// Plain, gzip and zstd files are told apart by their content (connectors/file_bytes.h). What follows does to
// a file is in connectors/file_reader.h. The source is bounded unless it follows.
//
// With `follow`, a pattern that matches nothing yet is no error, and a file that was renamed into the pattern
// after it was read under another name is not read again. In sequence a file is left for the next one once
// that exists and the file has stayed quiet for one more look; if it grows after that, a notice says so.
//
// Restored, a bounded source reads the files that were there when it began; a following one finds a file that
// was renamed meanwhile by what it is.
//
// Files are opened when they are first read, so a source of many files holds no more descriptors than it
// needs; that each can be opened is checked by Source::open().
//
// Errors: kInvalid for no path, "-" among other paths or without a format, a name that does not tell its
// format. Source::open(): kNotFound for a missing file or a pattern without match, kInvalid for a directory,
// kUnavailable. Threads: a source and its splits belong to one thread.
Result<std::unique_ptr<Source>> make_file_source(FileSourceOptions options);

}  // namespace wrackline::connectors
