#include "connectors/sink_stdout.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "connectors/sink_rows.h"

namespace wrackline::connectors {
namespace {

constexpr std::string_view kClosedMessage = "standard output was closed by its reader";

bool wants_colour() {
  const char* no_colour = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_colour != nullptr && *no_colour != '\0') return false;
  return terminal != nullptr && std::string_view(terminal) != "dumb";
}

class StdoutSink final : public Sink {
 public:
  StdoutSink(StdoutSinkOptions options, bool colour) : options_(std::move(options)), colour_(colour) {}

  SinkCapabilities capabilities() const override {
    const bool append = options_.mode == SinkMode::kAppend;
    return {
        .takes_updates = !append,
        .takes_retracts = !append,
        .promise =
            append ? "Rows are printed in order as their ticks commit; a restarted run prints them again."
                   : "Rows and their corrections are printed in order as their ticks commit; a restarted run "
                     "prints them again."};
  }

  Status open(const std::vector<OutputColumn>& columns, std::string_view /*view*/,
              const SinkStart& start) override {
    const std::vector<formats::RowColumn> plain = row_columns(columns);
    writer_ = options_.format == "csv"     ? formats::make_csv_writer(plain)
              : options_.format == "table" ? formats::make_table_writer(plain, {.colour = colour_})
                                           : formats::make_jsonl_writer(plain);
    run_ = start.run;
    writer_->begin(held_);
    return {};
  }

  Status write(const ChangeBatch& changes) override {
    WRACKLINE_CHECK(writer_ != nullptr, "write before open");
    WRACKLINE_CHECK(changes.generation == run_, format("generation {}", changes.generation));
    writer_->append(held_, rows_of(changes));
    if (held_.size() >= kStdoutHeldBytes) return send();
    return {};
  }

  Status commit() override {
    WRACKLINE_CHECK(writer_ != nullptr, "commit before open");
    writer_->flush(held_);
    return send();
  }

  // What was not committed is not printed, unless its tick was too large to hold.
  Status close(bool finished) override {
    if (!finished) held_.clear();
    if (finished && writer_ != nullptr) writer_->flush(held_);
    return send();
  }

 private:
  Status send() {
    if (held_.empty()) return {};
    const Written written = write_all(options_.descriptor, held_);
    held_.clear();
    sent_bytes_ += static_cast<int64_t>(written.bytes);
    if (written.error == 0) return {};
    if (written.error == EPIPE) {
      return fail(ErrorCode::kUnavailable, std::string(kClosedMessage));
    }
    return fail(
        ErrorCode::kUnavailable,
        written.error == ENOSPC ? "cannot write standard output: disk full" : "cannot write standard output",
        format("{}; {} bytes were written before.", std::strerror(written.error),
               with_thousands(sent_bytes_)));
  }

  StdoutSinkOptions options_;
  bool colour_;
  std::unique_ptr<formats::RowWriter> writer_;
  int64_t run_ = 0;
  std::string held_;  // rows of the current tick as text
  int64_t sent_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Sink>> make_stdout_sink(const StdoutSinkOptions& options) {
  StdoutSinkOptions known = options;
  const bool terminal = options.terminal.value_or(isatty(options.descriptor) == 1);
  if (known.format.empty()) known.format = terminal ? "table" : "jsonl";
  if (known.format != "table" && known.format != "jsonl" && known.format != "csv") {
    return fail(ErrorCode::kInvalid,
                format("unknown format \"{}\" for standard output", printable(known.format)), {},
                "Use \"table\", \"jsonl\" or \"csv\".");
  }
  const bool colour = options.colour.value_or(terminal && wants_colour());
  return std::make_unique<StdoutSink>(std::move(known), colour);
}

bool is_output_closed(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.message == kClosedMessage;
}

}  // namespace wrackline::connectors
