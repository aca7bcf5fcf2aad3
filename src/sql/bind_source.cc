#include <algorithm>
#include <set>

#include "base/text.h"
#include "formats/parser.h"
#include "sql/bind_type.h"
#include "sql/binder.h"
#include "sql/ledger_options.h"

namespace wrackline::sql {
namespace {

constexpr std::string_view kCsvOptions[] = {"delimiter", "header", "null"};
constexpr std::string_view kAutomaticOptions[] = {"watermark_delay_start", "watermark_delay_min",
                                                  "watermark_delay_max"};

// A word of a command line: quoted unless a shell takes it as it is. Wildcards stay bare: the shell may
// expand them.
std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./*?[]:=,%+@").contains(c);
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

bool is_exact_number(const Type& type) {
  return type.kind == TypeKind::kInteger || type.kind == TypeKind::kNumeric;
}
bool is_zoneless(const Type& type) {
  return type.kind == TypeKind::kDate || (type.kind == TypeKind::kTimestamp && !type.with_zone);
}
bool is_instant(const Type& type) {
  return type.kind == TypeKind::kTimestamp && type.with_zone;
}

class SourceBinder {
 public:
  SourceBinder(const JobText& text, const CreateTable& table, BoundSource& made)
      : text_(text), table_(table), made_(made), spec_(made.spec), options_(made.options) {}

  Status bind(std::span<const CreateView* const> views, bool follow) {
    spec_.name = table_.name.text;
    if (!options_.has("connector")) {
      return options_.missing(
          format("source \"{}\" has no connector", spec_.name),
          "Say where its records come from: WITH (connector = 'file', path = '...'), or 'stdin'.");
    }
    if (table_.columns.empty()) {
      return options_.missing(
          format("source \"{}\" has no columns", spec_.name),
          "List the columns to read with their types. If it is meant as a sink, INSERT INTO it.");
    }
    WRACKLINE_ASSIGN(spec_.fields, bind_columns(text_, table_.columns));
    WRACKLINE_TRY(refuse_window_names());
    warn_of_folded_names();
    WRACKLINE_TRY(bind_input(follow));
    WRACKLINE_TRY(bind_format());
    WRACKLINE_TRY(bind_times());
    WRACKLINE_TRY(bind_watermark(views));
    WRACKLINE_TRY(bind_dedup());
    WRACKLINE_TRY(bind_ledger_masks(options_, spec_));
    mark_needed();
    return {};
  }

 private:
  Status refuse_window_names() const {
    for (const ColumnSyntax& column : table_.columns) {
      if (column.name.text != "window_start" && column.name.text != "window_end") continue;
      return fail(text_.error(
          column.name.position, ErrorCode::kInvalid, format("column name \"{}\" is taken", column.name.text),
          "Windows bring window_start and window_end along; call the column something else."));
    }
    return {};
  }

  // userId is folded to userid, which a JSON field "userId" is not.
  void warn_of_folded_names() {
    for (const ColumnSyntax& column : table_.columns) {
      const std::string_view written = text_.text().substr(column.name.position, column.name.text.size());
      const bool quoted = written.empty() || written[0] == '"' || text_.text()[column.name.position] == '"';
      if (quoted || written == column.name.text) continue;
      made_.warnings.push_back(
          format("{}:{}: column {} of source \"{}\" is read as \"{}\": PostgreSQL folds names to lower case. "
                 "If the field is "
                 "really called {}, write \"{}\" in double quotes.",
                 text_.path(), text_.place(column.name.position).line, written, spec_.name, column.name.text,
                 written, written));
    }
  }

  std::unexpected<Error> contradiction(std::string_view option, std::string_view other,
                                       std::string hint) const {
    return options_.wrong(option, format("{} contradicts {}", options_.name_of(option), other),
                          std::move(hint));
  }

  Status bind_input(bool follow) {
    WRACKLINE_ASSIGN(const std::string connector, options_.choice("connector", ""));
    WRACKLINE_ASSIGN(const std::string files, options_.choice("files", "parallel"));
    WRACKLINE_ASSIGN(const std::string order, options_.choice("order_by", ""));
    WRACKLINE_ASSIGN(spec_.follow, options_.on("follow", false));
    WRACKLINE_ASSIGN(spec_.record_bytes_max, options_.bytes("max_record_bytes", spec_.record_bytes_max));
    spec_.connector = connector == "stdin" ? SourceConnector::kStdin : SourceConnector::kFile;
    spec_.files = files == "sequence" ? FilesMode::kSequence : FilesMode::kParallel;
    spec_.order = order.empty() ? InputOrder::kAsRead : InputOrder::kArrivalTime;
    if (spec_.connector == SourceConnector::kStdin) return check_stdin();
    spec_.follow = spec_.follow || follow;
    WRACKLINE_TRY(bind_paths());
    return check_order(follow);
  }

  Status check_stdin() const {
    for (const std::string_view option : {"path", "files", "follow", "order_by"}) {
      if (!options_.has(option)) continue;
      return contradiction(
          option, "connector = 'stdin'",
          option == "order_by"
              ? "What standard input will still bring is not known; put the records in a file."
          : option == "follow" ? "Standard input is read until it ends anyway; leave it out."
                               : "Standard input is one stream; leave it out, or use connector = 'file'.");
    }
    if (!options_.has("format")) {
      return options_.missing(
          format("source \"{}\" reads standard input and has no format", spec_.name),
          "There is no file name to guess it from: add format = 'jsonl' or format = 'csv'.");
    }
    return {};
  }

  Status bind_paths() {
    if (!options_.has("path")) {
      return options_.missing(format("source \"{}\" has no path", spec_.name),
                              "Name the files to read: path = 'clicks/*.jsonl'.");
    }
    spec_.paths = options_.list("path");
    for (const std::string& path : spec_.paths) {
      if (!path.empty() && path.find('\0') == path.npos) continue;
      return options_.wrong(
          "path", format("{} names an empty path", options_.name_of("path")),
          "Globs with commas between them: path = 'clicks/*.jsonl'; a comma in a name is written \\,.");
    }
    return {};
  }

  Status check_order(bool follow) const {
    if (spec_.order == InputOrder::kAsRead) return {};
    constexpr std::string_view kHint =
        "Arrival order is found by merging whole files, and a followed file has no end; keep one.";
    if (options_.has("follow") && spec_.follow)
      return contradiction("order_by", "follow = 'on'", std::string(kHint));
    if (follow) return contradiction("order_by", "--follow", std::string(kHint));
    if (!options_.has("arrival_time")) {
      return options_.wrong("order_by", format("{} needs arrival_time", options_.name_of("order_by")),
                            "Name the column that says when a record arrived: arrival_time = 'received'.");
    }
    return {};
  }

  // CSV or JSONL, as far as it is known before a file is seen.
  Status bind_format() {
    WRACKLINE_ASSIGN(spec_.format, options_.choice("format", ""));
    WRACKLINE_ASSIGN(spec_.delimiter, options_.character("delimiter", ','));
    WRACKLINE_ASSIGN(spec_.header, options_.on("header", true));
    spec_.null_text = options_.text("null");
    for (const std::string_view option : kCsvOptions) {
      if (!options_.has(option)) continue;
      if (spec_.format == "jsonl")
        return contradiction(option, "format = 'jsonl'", "It is an option of CSV; leave it out.");
      if (!spec_.format.empty()) continue;
      for (const std::string& path : spec_.paths) {
        const auto guessed = formats::guess_format(path);
        if (!guessed || *guessed != formats::Format::kJsonl) continue;
        return contradiction(option, format("the path \"{}\", which is JSONL by its name", printable(path)),
                             "It is an option of CSV; leave it out, or say format = 'csv'.");
      }
    }
    return {};
  }

  // ---- times

  Status bind_times() {
    WRACKLINE_TRY(bind_zone());
    if (!options_.has("event_time")) return missing_event_time();
    WRACKLINE_ASSIGN(spec_.event_time, time_column("event_time"));
    if (options_.has("arrival_time")) {
      WRACKLINE_ASSIGN(spec_.arrival_time, time_column("arrival_time"));
      if (spec_.arrival_time->column == spec_.event_time.column) {
        return contradiction(
            "arrival_time", format("event_time = '{}'", options_.text("event_time")),
            "They are two different times; without a column for the arrival leave arrival_time out.");
      }
    }
    if (options_.has("partition")) {
      WRACKLINE_ASSIGN(const size_t column, option_column(options_, "partition", spec_.fields));
      spec_.partition = column;
    }
    return refuse_useless_time_options();
  }

  std::unexpected<Error> missing_event_time() const {
    std::string candidates;
    for (const Field& field : spec_.fields) {
      if (is_instant(field.type)) candidates += (candidates.empty() ? "" : ", ") + field.name;
    }
    return options_.missing(
        format("source \"{}\" has no event_time", spec_.name),
        "Name the column that says when the event happened: event_time = '...'." +
            (candidates.empty() ? std::string() : format(" It could be one of: {}.", candidates)));
  }

  Status bind_zone() {
    const Options::Given* given = options_.find("time_zone");
    if (given == nullptr) return {};
    const auto zone = TimeZone::find(given->value);
    if (!zone) {
      return options_.wrong("time_zone",
                            format("{}: {}", options_.name_of("time_zone"), zone.error().message),
                            zone.error().hint, zone.error().code);
    }
    spec_.time_zone = *zone;
    return {};
  }

  Result<TimeColumn> time_column(std::string_view option) const {
    TimeColumn time;
    WRACKLINE_ASSIGN(time.column, option_column(options_, option, spec_.fields));
    const Field& field = spec_.fields[time.column];
    const std::string what =
        format("{}: column \"{}\" is {}", options_.name_of(option), field.name, to_string(field.type));
    if (is_exact_number(field.type)) {
      WRACKLINE_ASSIGN(const std::string unit, options_.choice("time_unit", ""));
      if (unit.empty()) {
        return options_.wrong(option, what + " and needs a time_unit",
                              "Say what its numbers count since 1970: time_unit = 's', 'ms', 'us' or 'ns'.");
      }
      time.unit = parse_time_unit(unit);
      WRACKLINE_ASSIGN(time.missing, options_.integer("time_missing"));
    } else if (is_zoneless(field.type)) {
      if (spec_.time_zone == nullptr) {
        return options_.wrong(
            option, what + " and needs a time_zone",
            "Its values have no zone: say which one they mean, time_zone = 'Europe/Vienna' or 'UTC'.");
      }
      time.zone = spec_.time_zone;
    } else if (!is_instant(field.type)) {
      return options_.wrong(option, what + ", which is not a time",
                            field.type.kind == TypeKind::kDouble
                                ? "Declare it numeric: a float does not hold microseconds exactly."
                                : "Declare it timestamptz, or bigint with a time_unit.");
    }
    return time;
  }

  Status refuse_useless_time_options() const {
    const bool numeric = spec_.event_time.unit || (spec_.arrival_time && spec_.arrival_time->unit);
    for (const std::string_view option : {"time_unit", "time_missing"}) {
      if (!options_.has(option) || numeric) continue;
      const Field& field = spec_.fields[spec_.event_time.column];
      return contradiction(option, format("column \"{}\", which is {}", field.name, to_string(field.type)),
                           "It is for times that are numbers; leave it out, or declare the column bigint.");
    }
    const auto reads_zone = [](const Field& field) {
      return is_instant(field.type) || is_zoneless(field.type);
    };
    if (options_.has("time_zone") && std::ranges::none_of(spec_.fields, reads_zone)) {
      return options_.wrong("time_zone", format("{} has nothing to act on", options_.name_of("time_zone")),
                            "No column is a timestamp or date; leave it out.");
    }
    return {};
  }

  // ---- watermark

  Status bind_watermark(std::span<const CreateView* const> views) {
    WRACKLINE_ASSIGN(spec_.max_future_skew, options_.span("max_future_skew", spec_.max_future_skew));
    WRACKLINE_ASSIGN(spec_.max_future_accept, options_.span("max_future_accept", spec_.max_future_accept));
    WRACKLINE_ASSIGN(spec_.idle_timeout, options_.span("idle_timeout", spec_.idle_timeout));
    WRACKLINE_ASSIGN(spec_.idle_close, options_.span_or_off("idle_close"));
    WRACKLINE_TRY(bind_drift());
    if (spec_.max_future_accept < spec_.max_future_skew) return future_contradiction();
    if (spec_.idle_timeout <= Duration()) {
      return options_.wrong("idle_timeout",
                            format("{} must be longer than nothing", options_.name_of("idle_timeout")),
                            "A partition that has just spoken would be idle at once; a minute is usual.");
    }
    if (!options_.has("watermark_delay") && !knows_arrivals()) return ask_for_delay(views);
    if (!options_.has("watermark_delay") || options_.text("watermark_delay") == "auto")
      return bind_automatic_delay();
    for (const std::string_view option : kAutomaticOptions) {
      if (!options_.has(option)) continue;
      return options_.wrong(option, format("{} needs watermark_delay = 'auto'", options_.name_of(option)),
                            "A delay that is written down stays as it is; leave one of the two out.");
    }
    WRACKLINE_ASSIGN(spec_.watermark_delay, options_.span("watermark_delay", Duration()));
    return {};
  }

  // Whether delays say something: not when a whole file arrives in the moment in which it is read.
  bool knows_arrivals() const {
    return spec_.arrival_time || spec_.follow || spec_.connector != SourceConnector::kFile;
  }

  Status bind_automatic_delay() {
    if (!knows_arrivals()) {
      return options_.wrong(
          "watermark_delay", format("{}: 'auto' needs arrival times", options_.name_of("watermark_delay")),
          "All records of a file arrive at once when it is read. Name the column that says when each "
          "arrived: "
          "arrival_time = 'received'; or follow a file that grows; or write the delay down.");
    }
    AutomaticDelay bounds;
    WRACKLINE_ASSIGN(bounds.min, options_.span("watermark_delay_min", bounds.min));
    WRACKLINE_ASSIGN(bounds.max, options_.span("watermark_delay_max", bounds.max));
    if (bounds.max < bounds.min) {
      const std::string_view blamed =
          options_.has("watermark_delay_max") ? "watermark_delay_max" : "watermark_delay_min";
      return options_.wrong(
          blamed,
          format("{}: watermark_delay_max ({}) is less than watermark_delay_min ({})",
                 options_.name_of(blamed), span_text(bounds.max.micros()), span_text(bounds.min.micros())),
          "No delay lies between them.");
    }
    const Duration usual = std::clamp(seconds(30), bounds.min, bounds.max);
    WRACKLINE_ASSIGN(spec_.watermark_delay, options_.span("watermark_delay_start", usual));
    if (spec_.watermark_delay < bounds.min || spec_.watermark_delay > bounds.max) {
      return options_.wrong(
          "watermark_delay_start",
          format("{}: {} is not between {} and {}", options_.name_of("watermark_delay_start"),
                 span_text(spec_.watermark_delay.micros()), span_text(bounds.min.micros()),
                 span_text(bounds.max.micros())),
          "Those are watermark_delay_min and watermark_delay_max.");
    }
    spec_.automatic = bounds;
    return {};
  }

  Status bind_drift() {
    if (!options_.has("max_drift")) return {};
    WRACKLINE_ASSIGN(spec_.max_drift, options_.span("max_drift", Duration()));
    if (spec_.connector == SourceConnector::kStdin) {
      return contradiction("max_drift", "connector = 'stdin'",
                           "Standard input is one stream: nothing runs ahead of anything; leave it out.");
    }
    if (spec_.order == InputOrder::kArrivalTime) {
      return contradiction("max_drift", "order_by = 'arrival_time'",
                           "There the arrival times alone say which partition is next; keep one.");
    }
    return {};
  }

  std::unexpected<Error> future_contradiction() const {
    const std::string_view blamed =
        options_.has("max_future_accept") ? "max_future_accept" : "max_future_skew";
    return options_.wrong(
        blamed,
        format("{}: max_future_accept ({}) is less than max_future_skew ({})", options_.name_of(blamed),
               span_text(spec_.max_future_accept.micros()), span_text(spec_.max_future_skew.micros())),
        "A record that moves the watermark must be accepted: max_future_accept is the greater one.");
  }

  std::unexpected<Error> ask_for_delay(std::span<const CreateView* const> views) const {
    const std::string command = budget_command(spec_, options_, text_.path(), window_of_first(views));
    return options_.missing(format("source \"{}\" has no watermark_delay", spec_.name),
                            format("The default 'auto' measures delays, and all records of a file arrive at "
                                   "once when it is read. Find "
                                   "the delay in the data:\n  {}\nand write it down: watermark_delay = '30 "
                                   "s'; or name the column that "
                                   "says when each record arrived: arrival_time = 'received'.",
                                   command));
  }

  // ---- dedup

  Status bind_dedup() {
    if (!options_.has("dedup_key")) {
      if (!options_.has("dedup_horizon")) return {};
      return options_.wrong("dedup_horizon", format("{} needs dedup_key", options_.name_of("dedup_horizon")),
                            "Name the column that makes a record unique: dedup_key = 'event_id'.");
    }
    DedupSpec dedup;
    for (const std::string& name : options_.list("dedup_key")) {
      WRACKLINE_ASSIGN(const size_t column, column_named(options_, "dedup_key", name, spec_.fields));
      WRACKLINE_TRY(check_key_column(column, dedup.columns));
      dedup.columns.push_back(column);
    }
    WRACKLINE_ASSIGN(dedup.horizon, options_.horizon("dedup_horizon"));
    if (dedup.horizon && *dedup.horizon <= Duration()) {
      return options_.wrong("dedup_horizon",
                            format("{} must be longer than nothing", options_.name_of("dedup_horizon")),
                            "No id would be remembered; leave dedup_key out to count every record.");
    }
    spec_.dedup = std::move(dedup);
    return {};
  }

  Status check_key_column(size_t column, const std::vector<size_t>& before) const {
    const Field& field = spec_.fields[column];
    const std::string what = format("{}: column \"{}\"", options_.name_of("dedup_key"), field.name);
    if (std::ranges::find(before, column) != before.end())
      return options_.wrong("dedup_key", what + " is named twice", "Keep one of them.");
    if (spec_.arrival_time && spec_.arrival_time->column == column) {
      return options_.wrong("dedup_key", what + " is the arrival time",
                            "It differs between copies of a record, so it cannot tell that they are copies.");
    }
    if (field.type.kind == TypeKind::kJson || field.type.kind == TypeKind::kDouble) {
      return options_.wrong("dedup_key", format("{} is {}, which is no id", what, to_string(field.type)),
                            "The same value may be written in several ways: declare the column text.");
    }
    return {};
  }

  // The text of the window size of the first view that reads this source.
  std::string window_of_first(std::span<const CreateView* const> views) const {
    for (const CreateView* view : views) {
      const auto& args = view->from.args;
      if (args.size() < 3 || args[0]->kind != SyntaxKind::kColumn || args[0]->names.back() != spec_.name)
        continue;
      const Syntax& size = args[2]->kind == SyntaxKind::kCast ? *args[2]->args[0] : *args[2];
      if (size.kind != SyntaxKind::kString) continue;
      if (args[2]->kind != SyntaxKind::kCast) return size.text;
      const auto text = interval_text(text_, args[2]->type, size.text);
      if (text) return *text;
    }
    return {};
  }

  void mark_needed() {
    for (Field& field : spec_.fields) field.needed = false;
    spec_.fields[spec_.event_time.column].needed = true;
    if (spec_.arrival_time) spec_.fields[spec_.arrival_time->column].needed = true;
    if (spec_.partition) spec_.fields[*spec_.partition].needed = true;
    // What a record says is all of its columns: the same id with another value in one of them is a conflict.
    for (Field& field : spec_.fields) field.needed |= spec_.dedup.has_value();
  }

  const JobText& text_;
  const CreateTable& table_;
  BoundSource& made_;
  SourceSpec& spec_;
  const Options& options_;
};

}  // namespace

bool is_row_column(std::string_view name) {
  return name == "_op" || name == "_version" || name == "_status" || name == "_generation";
}

Result<std::vector<Field>> bind_columns(const JobText& text, const std::vector<ColumnSyntax>& columns) {
  std::vector<Field> fields;
  std::set<std::string_view> seen;
  for (const ColumnSyntax& column : columns) {
    if (!seen.insert(column.name.text).second) {
      return fail(text.error(column.name.position, ErrorCode::kInvalid,
                             format("column \"{}\" is declared twice", printable(column.name.text)),
                             "Keep one of them."));
    }
    WRACKLINE_ASSIGN(const Type type, bind_type(text, column.type));
    fields.push_back({column.name.text, type, true});
  }
  return fields;
}

Result<size_t> option_column(const Options& options, std::string_view name,
                             const std::vector<Field>& fields) {
  return column_named(options, name, options.text(name), fields);
}

Result<size_t> column_named(const Options& options, std::string_view name, const std::string& wanted,
                            const std::vector<Field>& fields) {
  const auto found = std::ranges::find(fields, wanted, &Field::name);
  if (found != fields.end()) return static_cast<size_t>(found - fields.begin());
  std::vector<std::string_view> known;
  for (const Field& field : fields) known.push_back(field.name);
  const std::string nearest = nearest_name(wanted, known);
  std::string hint = nearest.empty() ? "The columns are:" : format("did you mean \"{}\"?", nearest);
  for (size_t i = 0; nearest.empty() && i < known.size(); ++i)
    hint += (i == 0 ? " " : ", ") + std::string(known[i]);
  return options.wrong(name,
                       format("{}: there is no column \"{}\"", options.name_of(name), printable(wanted)),
                       std::move(hint), ErrorCode::kNotFound);
}

std::string path_from_here(std::string_view job_path, std::string_view path) {
  const size_t slash = job_path.rfind('/');
  if (path.starts_with('/') || slash == job_path.npos) return std::string(path);
  return std::string(job_path.substr(0, slash + 1)) + std::string(path);
}

std::string budget_command(const SourceSpec& source, const Options& options, std::string_view job_path,
                           std::string_view window) {
  std::string command = "wrackline budget";
  const auto add = [&](std::string_view flag, std::string_view value) {
    if (!value.empty()) command += format(" {} {}", flag, shell_word(value));
  };
  if (source.connector == SourceConnector::kStdin) command += " -";
  for (const std::string& path : source.paths) command += " " + shell_word(path_from_here(job_path, path));
  add("--format", source.format);
  add("--event-time", options.text("event_time"));
  add("--arrival-time", options.text("arrival_time"));
  add("--partition", options.text("partition"));
  add("--time-unit", options.text("time_unit"));
  if (!options.has("time_unit")) add("--time-zone", options.text("time_zone"));  // numbers have no zone
  add("--time-missing", options.text("time_missing"));
  if (source.delimiter != ',') add("--delimiter", std::string_view(&source.delimiter, 1));
  add("--max-future-skew", options.text("max_future_skew"));
  if (source.order == InputOrder::kArrivalTime) command += " --order-by arrival";
  add("--window", window);
  return command;
}

Result<BoundSource> bind_source(const JobText& text, const CreateTable& table,
                                std::span<const Override> overrides, std::span<const CreateView* const> views,
                                bool follow) {
  WRACKLINE_ASSIGN(Options options,
                   Options::make(text, OptionOwner::kSource, table.name, table.options, overrides));
  BoundSource made{.spec = {}, .options = std::move(options), .warnings = {}};
  WRACKLINE_TRY(SourceBinder(text, table, made).bind(views, follow));
  return made;
}

}  // namespace wrackline::sql
