// The options of WITH (...): one table says all that there are, and every value is read through it.
//
// docs/job-files.md lists the same table; a test compares the two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "sql/job_text.h"
#include "sql/syntax.h"
#include "wrackline/time.h"

namespace wrackline::sql {

enum class OptionOwner : uint8_t { kSource, kView, kSink };
std::string_view to_string(OptionOwner owner);  // "source"

enum class OptionType : uint8_t {
  kText,
  kPaths,       // globs, commas between them
  kColumn,      // name of a column of the table
  kColumns,     // names of columns of the table, commas between them
  kChoice,      // one of OptionInfo::choices
  kSwitch,      // on | off
  kSpan,        // "30 s", "1 h 30 min": a span of fixed length, not negative
  kHorizon,     // a span, or "unlimited"
  kSpanOrOff,   // a span, or "off"
  kBytes,       // "16 MiB", at most 1 GiB
  kStoreBytes,  // "10 GiB", at most 1 PiB
  kCharacter,   // one ASCII character, or \t
  kInteger,
  kZone,     // "Europe/Vienna"
  kReasons,  // names of reasons, commas between them
};

struct OptionInfo {
  OptionOwner owner = OptionOwner::kSource;
  std::string_view name;
  OptionType type = OptionType::kText;
  std::string_view choices;       // "correct|ledger|drop"
  std::string_view default_text;  // what holds when it is not given; "(required)" and "(none)" as they read
  std::string_view help;          // one sentence
  std::string_view planned;       // not empty: the option is not there yet, and this is the way around it
};

// Every option, in the order in which they are explained.
std::span<const OptionInfo> all_options();
const OptionInfo* find_option(OptionOwner owner, std::string_view name);
// What a value of the option looks like: "an interval such as '30 s'", "one of 'jsonl', 'csv'".
std::string expected_value(const OptionInfo& option);

// A command-line override, --set name.option=value, split.
struct Override {
  std::string owner;
  std::string option;
  std::string value;
};

// The options of one source, view or sink as given: in the job, or over it from the command line.
class Options {
 public:
  struct Given {
    std::string value;
    size_t name_position = 0;
    size_t value_position = 0;
    bool overridden = false;  // came from the command line
  };

  // Errors: kInvalid for an option that does not exist (naming the nearest) or is there twice; kUnsupported
  // for one
  //         that is planned.
  // `text` is borrowed. `owner_position` is where errors about a missing option point.
  static Result<Options> make(const JobText& text, OptionOwner owner, Name owner_name,
                              const std::vector<OptionSyntax>& given, std::span<const Override> overrides);

  OptionOwner owner() const { return owner_; }
  const Name& owner_name() const { return owner_name_; }
  const Given* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The value as given; otherwise empty.
  std::string text(std::string_view name) const;

  // The typed values: the one given, else `otherwise`.
  // Errors: kInvalid with what is expected; kUnsupported for a choice that is planned.
  Result<std::string> choice(std::string_view name, std::string_view otherwise) const;
  Result<bool> on(std::string_view name, bool otherwise) const;
  Result<Duration> span(std::string_view name, Duration otherwise) const;
  Result<std::optional<Duration>> horizon(
      std::string_view name) const;  // nullopt: unlimited, also when not given
  Result<std::optional<Duration>> span_or_off(
      std::string_view name) const;  // nullopt: off, also when not given
  Result<size_t> bytes(std::string_view name, size_t otherwise, size_t max = size_t{1} << 30) const;
  Result<char> character(std::string_view name, char otherwise) const;
  Result<std::optional<int64_t>> integer(std::string_view name) const;
  std::vector<std::string> list(
      std::string_view name) const;  // split at commas, blanks trimmed; "\," keeps a comma

  // Errors about a given option point at it, wherever it came from:
  //   clicks.sql:7:21: option "watermark_delay" of source "clicks" ...
  //   from --set clicks.watermark_delay: option ...
  std::unexpected<Error> wrong(std::string_view name, std::string message, std::string hint = {},
                               ErrorCode code = ErrorCode::kInvalid) const;
  // An option that must be given and is not: points at the owner's name.
  std::unexpected<Error> missing(std::string message, std::string hint) const;
  // "option "path" of source "clicks"", for messages.
  std::string name_of(std::string_view option) const;

 private:
  Options(const JobText& text, OptionOwner owner, Name owner_name)
      : text_(&text), owner_(owner), owner_name_(std::move(owner_name)) {}
  Status add(const OptionSyntax& option);
  Status override_with(const Override& given);
  Status check_name(const std::string& name) const;
  std::unexpected<Error> not_a_value(std::string_view name, std::string why = {}) const;
  std::unexpected<Error> at_name(const Given& given, std::string_view name, ErrorCode code,
                                 std::string message, std::string hint) const;

  const JobText* text_;
  OptionOwner owner_;
  Name owner_name_;
  std::vector<std::pair<std::string, Given>> given_;
};

}  // namespace wrackline::sql
