#include "sql/options.h"

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/text.h"
#include "data/time_text.h"

namespace wrackline::sql {
namespace {

using enum OptionOwner;
using enum OptionType;

constexpr OptionInfo kOptions[] = {
    // where the records are
    {kSource, "connector", kChoice, "file|stdin", "(required)", "Where the records come from.", ""},
    {kSource, "path", kPaths, "", "(required with file)",
     "Files to read: globs with commas between them, relative to the job file; .gz and .zst are read as they "
     "are.",
     ""},
    {kSource, "format", kChoice, "jsonl|csv", "from the file's name", "How the records are written.", ""},
    {kSource, "files", kChoice, "parallel|sequence", "parallel",
     "Whether each file is a partition, read side by side, or all are one, read in the order of their names.",
     ""},
    {kSource, "order_by", kChoice, "arrival_time", "as read",
     "Merges the partitions of bounded input by arrival time.", ""},
    {kSource, "follow", kSwitch, "", "off", "Keeps reading files that grow, until the run is stopped.", ""},
    // what a record is
    {kSource, "delimiter", kCharacter, "", ",", "CSV: the character between fields.", ""},
    {kSource, "header", kSwitch, "", "on", "CSV: the first record names the columns.", ""},
    {kSource, "null", kText, "", "the empty field", "CSV: the unquoted field that means NULL.", ""},
    {kSource, "max_record_bytes", kBytes, "", "16 MiB", "A longer record goes to the ledger as oversize.",
     ""},
    // its times
    {kSource, "event_time", kColumn, "", "(required)", "The column that says when it happened.", ""},
    {kSource, "arrival_time", kColumn, "", "the time of reading",
     "The column that says when the record entered the log.", ""},
    {kSource, "partition", kColumn, "", "the file",
     "The column whose values each have a watermark of their own.", ""},
    {kSource, "time_unit", kChoice, "s|ms|us|ns", "(none)", "The unit of numeric time columns.", ""},
    {kSource, "time_zone", kZone, "", "(none)", "The zone of times that are written without one.", ""},
    {kSource, "time_missing", kInteger, "", "(none)",
     "The number that means no time in a numeric time column.", ""},
    // its watermark
    {kSource, "watermark_delay", kSpan, "", "auto",
     "How far the watermark stays behind the newest event time; auto follows what is measured, and a file "
     "that is "
     "not followed then needs arrival_time.",
     ""},
    {kSource, "watermark_delay_start", kSpan, "", "30 s", "With auto: the delay until enough is measured.",
     ""},
    {kSource, "watermark_delay_min", kSpan, "", "0", "With auto: the delay is never less.", ""},
    {kSource, "watermark_delay_max", kSpan, "", "1 day", "With auto: the delay is never more.", ""},
    {kSource, "max_future_skew", kSpan, "", "5 min",
     "An event time further ahead of its arrival does not move the watermark.", ""},
    {kSource, "max_future_accept", kSpan, "", "1 day",
     "An event time further ahead of its arrival goes to the ledger as future.", ""},
    {kSource, "idle_timeout", kSpan, "", "1 min",
     "A partition of followed input that is silent for so long no longer holds the watermark.", ""},
    {kSource, "idle_close", kSpanOrOff, "", "off",
     "While every partition of followed input is idle, the watermark follows the wall clock at this "
     "distance.",
     ""},
    {kSource, "max_drift", kSpan, "", "the smallest window; none with follow",
     "A partition further ahead of the slowest one is not read on until that one has come closer.", ""},
    {kSource, "dedup_key", kColumns, "", "(none)",
     "The columns whose values make a record unique: a copy is counted as duplicate.", ""},
    {kSource, "dedup_horizon", kHorizon, "", "as long as its views take records",
     "How far behind the watermark an id is remembered; an older record is dropped as past_horizon.", ""},
    // what the ledger keeps of its records
    {kSource, "ledger_mask", kColumns, "", "(none)", "Columns whose values the ledger keeps as ***.", ""},
    {kSource, "ledger_hash", kColumns, "", "(none)",
     "Columns whose values the ledger keeps as keyed hashes (HMAC-SHA-256): equal values stay equal.", ""},
    {kSource, "ledger_key_file", kText, "", "the environment's WRACKLINE_LEDGER_KEY",
     "The file that holds the key of the hashes; it must not stand in the state directory.", ""},
    // views
    {kView, "late", kChoice, "correct|ledger|drop", "correct",
     "What becomes of late records: revise the result, keep for a drain, or count and discard.", ""},
    {kView, "allowed_lateness", kSpan, "", "0",
     "With late = 'correct': how long after its end a window is still revised.", ""},
    {kView, "ledger_horizon", kHorizon, "", "unlimited",
     "How late a record may be to be kept; a later one is counted as past_horizon.", ""},
    {kView, "drop", kReasons, "", "(none)",
     "Reasons whose records are counted and discarded instead of kept.", ""},
    {kView, "ledger_retention", kHorizon, "", "unlimited",
     "How long an entry stays in the ledger after it was written; what goes is counted in its audit trail.",
     ""},
    {kView, "ledger_max_entries", kInteger, "", "unlimited",
     "How many entries of the view the ledger keeps; the oldest go first, and are counted.", ""},
    {kView, "ledger_max_bytes", kStoreBytes, "", "unlimited",
     "How many bytes of entries of the view the ledger keeps; the oldest go first, and are counted.", ""},
    {kView, "emit_empty", kSwitch, "", "off",
     "Publishes windows that hold no record, too, from the first one that holds some; for views without "
     "keys.",
     ""},
    {kView, "emit_early", kSpan, "", "(off)",
     "How often open windows are published before they close, marked `early`.", ""},
    {kView, "emit_early_by", kChoice, "event_time|wall_time", "event_time",
     "Whose time emit_early counts: the watermark's, or the clock's as it is read for each tick.", ""},
    {kView, "max_session_length", kSpan, "", "unlimited", "SESSION: no session lasts longer.", ""},
    // sinks
    {kSink, "connector", kChoice, "stdout|file|sqlite|postgres", "(required)", "Where the rows go.", ""},
    {kSink, "path", kText, "", "(required with file, sqlite)",
     "The file or database, relative to the job file.", ""},
    {kSink, "url", kText, "", "(required with postgres)",
     "PostgreSQL: the database, postgresql://user@host/name; keep passwords in PGPASSWORD or ~/.pgpass.", ""},
    {kSink, "table", kText, "", "the sink's name", "SQLite, PostgreSQL: the table.", ""},
    {kSink, "format", kChoice, "table|jsonl|csv", "from the file's name; table on a terminal",
     "How the rows are written; table on stdout only.", ""},
    {kSink, "mode", kChoice, "upsert|changelog|append", "upsert",
     "What a correction is: an update of the row, a retraction and an insertion, or not possible.", ""},
};

struct PlannedChoice {
  OptionOwner owner;
  std::string_view option;
  std::string_view value;
  std::string_view instead;
};
constexpr PlannedChoice kPlanned[] = {
    {kSource, "connector", "kafka",
     "Until then read the topic with a console consumer into connector = 'stdin' or a file."},
    {kSource, "connector", "generator",
     "Until then write the records to a file: `wrackline generate clicks > clicks.jsonl`."},
    {kSink, "connector", "kafka",
     "Until then write JSONL to connector = 'stdout' and pipe it into a console producer."},
    {kSink, "connector", "parquet", "Until then write to connector = 'file' with format = 'csv' or 'jsonl'."},
};

std::vector<std::string_view> split_choices(std::string_view choices) {
  std::vector<std::string_view> parts;
  while (!choices.empty()) {
    parts.push_back(choices.substr(0, choices.find('|')));
    choices.remove_prefix(std::min(choices.size(), parts.back().size() + 1));
  }
  return parts;
}

std::string quoted_list(const std::vector<std::string_view>& values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += format("{}'{}'", i == 0 ? "" : ", ", values[i]);
  return out;
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::optional<size_t> unit_bytes(std::string_view unit) {
  constexpr std::pair<std::string_view, size_t> kUnits[] = {{"", 1},
                                                            {"B", 1},
                                                            {"bytes", 1},
                                                            {"kB", 1000},
                                                            {"KB", 1000},
                                                            {"MB", 1000'000},
                                                            {"GB", 1000'000'000},
                                                            {"KiB", size_t{1} << 10},
                                                            {"MiB", size_t{1} << 20},
                                                            {"GiB", size_t{1} << 30},
                                                            {"TB", 1000'000'000'000},
                                                            {"TiB", size_t{1} << 40}};
  for (const auto& [name, bytes] : kUnits) {
    if (unit == name) return bytes;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(OptionOwner owner) {
  return owner == kSource ? "source" : owner == kView ? "view" : "sink";
}

std::span<const OptionInfo> all_options() {
  return kOptions;
}

const OptionInfo* find_option(OptionOwner owner, std::string_view name) {
  const auto* found =
      std::ranges::find_if(kOptions, [&](const OptionInfo& o) { return o.owner == owner && o.name == name; });
  return found == std::end(kOptions) ? nullptr : found;
}

std::string expected_value(const OptionInfo& option) {
  switch (option.type) {
    case kText:
      return "a text";
    case kPaths:
      return "a path or glob such as 'clicks/*.jsonl'";
    case kColumn:
      return "the name of a column";
    case kColumns:
      return "the name of a column, or several with commas between them";
    case kChoice: {
      const auto choices = split_choices(option.choices);
      return (choices.size() == 1 ? "" : "one of ") + quoted_list(choices);
    }
    case kSwitch:
      return "'on' or 'off'";
    case kSpan:
      return "an interval of fixed length such as '30 s', '5 min' or '1 h 30 min'";
    case kHorizon:
      return "an interval such as '7 days', or 'unlimited'";
    case kSpanOrOff:
      return "an interval such as '30 s', or 'off'";
    case kBytes:
      return "a size from 1 byte to 1 GiB such as '16 MiB'";
    case kStoreBytes:
      return "a size such as '500 MiB' or '10 GiB'";
    case kCharacter:
      return "one ASCII character such as ';', or '\\t'";
    case kInteger:
      return "an integer";
    case kZone:
      return "a time zone such as 'Europe/Vienna' or 'UTC'";
    case kReasons:
      return "reasons with commas between them such as 'late, future'";
  }
  return {};
}

Result<Options> Options::make(const JobText& text, OptionOwner owner, Name owner_name,
                              const std::vector<OptionSyntax>& given, std::span<const Override> overrides) {
  Options options(text, owner, std::move(owner_name));
  // An unknown or planned connector explains the other unknown options: say that first.
  for (const OptionSyntax& option : given) {
    if (option.name.text == "connector") WRACKLINE_TRY(options.add(option));
  }
  for (const Override& override : overrides) {
    if (override.owner == options.owner_name_.text && override.option == "connector") {
      WRACKLINE_TRY(options.override_with(override));
    }
  }
  if (options.has("connector")) WRACKLINE_TRY(options.choice("connector", ""));
  for (const OptionSyntax& option : given) {
    if (option.name.text != "connector") WRACKLINE_TRY(options.add(option));
  }
  for (const Override& override : overrides) {
    if (override.owner == options.owner_name_.text && override.option != "connector") {
      WRACKLINE_TRY(options.override_with(override));
    }
  }
  return options;
}

Status Options::check_name(const std::string& name) const {
  const OptionInfo* info = find_option(owner_, name);
  if (info == nullptr) {
    std::vector<std::string_view> known;
    for (const OptionInfo& option : kOptions) {
      if (option.owner == owner_) known.push_back(option.name);
    }
    const std::string nearest = nearest_name(name, known);
    std::string hint;
    if (find_option(kSink, name) != nullptr && owner_ == kSource) {
      hint = format("\"{}\" is an option of sinks; a table is a sink when an INSERT INTO names it.", name);
    } else if (find_option(kSource, name) != nullptr) {
      hint = format("\"{}\" is an option of sources.", name);
    } else if (find_option(kView, name) != nullptr) {
      hint = format("\"{}\" is an option of views.", name);
    } else if (!nearest.empty()) {
      hint = format("did you mean \"{}\"?", nearest);
    } else {
      hint = format("The options of a {} are:", to_string(owner_));
      for (size_t i = 0; i < known.size(); ++i) hint += format("{}{}", i == 0 ? " " : ", ", known[i]);
      hint += ".";
    }
    return fail(
        ErrorCode::kInvalid,
        format("unknown option \"{}\" of {} \"{}\"", printable(name), to_string(owner_), owner_name_.text),
        {}, hint);
  }
  if (!info->planned.empty()) {
    return fail(ErrorCode::kUnsupported, format("{} is not supported yet", name_of(name)), {},
                std::string(info->planned));
  }
  return {};
}

Status Options::add(const OptionSyntax& option) {
  if (Status status = check_name(option.name.text); !status) {
    return fail(text_->placed(option.name.position, std::move(status).error()));
  }
  if (const Given* first = find(option.name.text)) {
    return fail(text_->error(
        option.name.position, ErrorCode::kInvalid, format("{} is given twice", name_of(option.name.text)),
        format("It stands in line {} already; keep one.", text_->place(first->name_position).line)));
  }
  given_.emplace_back(option.name.text,
                      Given{option.value, option.name.position, option.value_position, false});
  return {};
}

Status Options::override_with(const Override& given) {
  if (Status status = check_name(given.option); !status) {
    Error error = std::move(status).error();
    error.message = format("from --set {}.{}: {}", given.owner, given.option, error.message);
    return fail(std::move(error));
  }
  std::erase_if(given_, [&](const auto& entry) { return entry.first == given.option; });
  given_.emplace_back(given.option, Given{given.value, 0, 0, true});
  return {};
}

const Options::Given* Options::find(std::string_view name) const {
  const auto found =
      std::ranges::find(given_, name, [](const auto& entry) { return std::string_view(entry.first); });
  return found == given_.end() ? nullptr : &found->second;
}

std::string Options::text(std::string_view name) const {
  const Given* given = find(name);
  return given == nullptr ? std::string() : given->value;
}

std::string Options::name_of(std::string_view option) const {
  return format("option \"{}\" of {} \"{}\"", option, to_string(owner_), owner_name_.text);
}

std::unexpected<Error> Options::wrong(std::string_view name, std::string message, std::string hint,
                                      ErrorCode code) const {
  const Given* given = find(name);
  WRACKLINE_CHECK(given != nullptr, std::string(name));
  if (!given->overridden)
    return fail(text_->error(given->value_position, code, std::move(message), std::move(hint)));
  return fail(code, format("from --set {}.{}: {}", owner_name_.text, name, message), {}, std::move(hint));
}

std::unexpected<Error> Options::missing(std::string message, std::string hint) const {
  return fail(text_->error(owner_name_.position, ErrorCode::kInvalid, std::move(message), std::move(hint)));
}

std::unexpected<Error> Options::not_a_value(std::string_view name, std::string why) const {
  const OptionInfo* info = find_option(owner_, name);
  WRACKLINE_CHECK(info != nullptr, std::string(name));
  if (why.empty()) why = format("\"{}\" is not what it takes", printable(text(name)));
  return wrong(name, format("{}: {}", name_of(name), why), format("Expected is {}.", expected_value(*info)));
}

Result<std::string> Options::choice(std::string_view name, std::string_view otherwise) const {
  const Given* given = find(name);
  if (given == nullptr) return std::string(otherwise);
  const OptionInfo* info = find_option(owner_, name);
  const auto choices = split_choices(info->choices);
  if (std::ranges::find(choices, given->value) != choices.end()) return given->value;
  for (const PlannedChoice& planned : kPlanned) {
    if (planned.owner == owner_ && planned.option == name && planned.value == given->value) {
      return wrong(name, format("{}: '{}' is not supported yet", name_of(name), given->value),
                   std::string(planned.instead), ErrorCode::kUnsupported);
    }
  }
  const std::string nearest = nearest_name(given->value, choices);
  std::string hint = format("Expected is {}.", expected_value(*info));
  if (!nearest.empty() && choices.size() > 1) hint += format(" Did you mean '{}'?", nearest);
  return wrong(name, format("{}: \"{}\" is not what it takes", name_of(name), printable(given->value)),
               std::move(hint));
}

Result<bool> Options::on(std::string_view name, bool otherwise) const {
  const Given* given = find(name);
  if (given == nullptr) return otherwise;
  if (given->value == "on" || given->value == "true") return true;
  if (given->value == "off" || given->value == "false") return false;
  return not_a_value(name);
}

Result<Duration> Options::span(std::string_view name, Duration otherwise) const {
  const Given* given = find(name);
  if (given == nullptr) return otherwise;
  const Result<int64_t> span_us = parse_span_micros(trimmed(given->value));
  if (!span_us) return not_a_value(name, span_us.error().message);
  if (*span_us < 0) return not_a_value(name, format("\"{}\" is negative", printable(given->value)));
  return Duration(*span_us);
}

Result<std::optional<Duration>> Options::horizon(std::string_view name) const {
  if (!has(name) || text(name) == "unlimited") return std::optional<Duration>();
  WRACKLINE_ASSIGN(const Duration span, this->span(name, Duration()));
  return std::optional<Duration>(span);
}

Result<std::optional<Duration>> Options::span_or_off(std::string_view name) const {
  if (!has(name) || text(name) == "off") return std::optional<Duration>();
  WRACKLINE_ASSIGN(const Duration span, this->span(name, Duration()));
  return std::optional<Duration>(span);
}

Result<size_t> Options::bytes(std::string_view name, size_t otherwise, size_t max) const {
  const Given* given = find(name);
  if (given == nullptr) return otherwise;
  const std::string_view value = trimmed(given->value);
  size_t count = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), count);
  if (error != std::errc()) return not_a_value(name);
  const auto unit = unit_bytes(trimmed(value.substr(static_cast<size_t>(end - value.data()))));
  size_t total = 0;
  if (!unit || __builtin_mul_overflow(count, *unit, &total)) return not_a_value(name);
  if (total < 1 || total > max) return not_a_value(name);
  return total;
}

Result<char> Options::character(std::string_view name, char otherwise) const {
  const Given* given = find(name);
  if (given == nullptr) return otherwise;
  if (given->value == "\\t") return '\t';
  if (given->value.size() != 1) return not_a_value(name);
  const char value = given->value[0];
  if (value == '"' || value == '\n' || value == '\r' || static_cast<unsigned char>(value) >= 0x80) {
    return not_a_value(name, "quotes and line ends have their own meaning in CSV");
  }
  return value;
}

Result<std::optional<int64_t>> Options::integer(std::string_view name) const {
  const Given* given = find(name);
  if (given == nullptr) return std::optional<int64_t>();
  const std::string_view value = trimmed(given->value);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size()) return not_a_value(name);
  return std::optional(number);
}

std::vector<std::string> Options::list(std::string_view name) const {
  std::vector<std::string> parts(1);
  const std::string value = text(name);
  for (size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '\\' && at + 1 < value.size() && value[at + 1] == ',') {
      parts.back() += value[++at];
    } else if (value[at] == ',') {
      parts.emplace_back();
    } else {
      parts.back() += value[at];
    }
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

}  // namespace wrackline::sql
