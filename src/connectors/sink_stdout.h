// Rows to standard output: a table on a terminal, JSON lines in a pipe.
//
// Rows of a tick leave together when it commits; a tick of more than kStdoutHeldBytes leaves in pieces before
// that. Corrections follow the rows they correct: a reader applies _op, or keeps the greatest (_generation,
// _version) of a key. Errors: kUnavailable when standard output cannot be written; is_output_closed tells the
// case of a reader that went away
// (`wrackline run job.sql | head`), which is not worth a message. SIGPIPE must be ignored by the program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "operators/sink.h"

namespace wrackline::connectors {

inline constexpr size_t kStdoutHeldBytes = size_t{4} << 20;

struct StdoutSinkOptions {
  std::string format = {};  // "jsonl" | "csv" | "table" | "" (table on a terminal, else jsonl)
  SinkMode mode = SinkMode::kUpsert;
  int descriptor = 1;
  std::optional<bool> terminal = std::nullopt;  // nullopt: asks the descriptor
  std::optional<bool> colour =
      std::nullopt;  // nullopt: on a terminal, unless NO_COLOR is set or TERM is dumb (no-color.org)
};

// Errors: kInvalid for an unknown format.
Result<std::unique_ptr<Sink>> make_stdout_sink(const StdoutSinkOptions& options);

// True for the error of a sink whose reader has closed its end of the pipe: end the run quietly.
bool is_output_closed(const Error& error);

}  // namespace wrackline::connectors
