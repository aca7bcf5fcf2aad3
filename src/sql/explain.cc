#include "sql/explain.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/text.h"
#include "data/time_text.h"
#include "expr/expr.h"
#include "postgres/connection.h"
#include "wrackline/window_tumbling.h"

namespace wrackline::sql {
namespace {

constexpr size_t kNameWidth = 17;
constexpr size_t kValueWidth = 22;
constexpr size_t kTextBytesMax = 600;  // of a column list or a condition

// Builds one paragraph: a title, rows of "name  value  origin", sentences.
class Paragraph {
 public:
  Paragraph(const JobText& text, const Options& options) : text_(text), options_(options) {
    out_ = format("{} \"{}\" (line {})\n", to_string(options.owner()), options.owner_name().text,
                  text.place(options.owner_name().position).line);
  }

  void row(std::string_view name, std::string_view value, std::string_view note = {}) {
    std::string line = format("  {:<{}}  {:<{}}  {}", name, kNameWidth, printable(value, kTextBytesMax),
                              kValueWidth, printable(note, kTextBytesMax));
    line.erase(line.find_last_not_of(' ') + 1);
    out_ += line + "\n";
  }

  // A row for an option: `value` is what holds, the note says where it came from.
  void option(std::string_view name, std::string_view value, std::string_view note = {}) {
    std::string origin = note.empty() ? std::string() : std::string(note) + ", ";
    const Options::Given* given = options_.find(name);
    if (given == nullptr) {
      origin += "default";
    } else if (given->overridden) {
      origin += format("--set {}.{}", options_.owner_name().text, name);
    } else {
      origin += format("line {}", text_.place(given->name_position).line);
    }
    row(name, value, "(" + origin + ")");
  }

  // Only if it was given.
  void option_if_given(std::string_view name, std::string_view note = {}) {
    if (options_.has(name)) option(name, printable(options_.text(name)), note);
  }

  bool is_given_as(std::string_view name, std::initializer_list<std::string_view> values) const {
    return options_.has(name) && std::ranges::find(values, options_.text(name)) != values.end();
  }

  void sentence(std::string_view text) { out_ += format("  {}\n", text); }

  std::string take() { return std::move(out_); }

 private:
  const JobText& text_;
  const Options& options_;
  std::string out_;
};

std::string joined(std::span<const std::string> parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::string span_of(Duration span) {
  return span_text(span.micros());
}

std::string_view switch_text(bool on) {
  return on ? "on" : "off";
}

std::string time_note(const SourceSpec& source, const TimeColumn& time) {
  std::string note = to_string(source.fields[time.column].type);
  if (time.unit) note += format(" in {}", to_string(*time.unit));
  if (time.zone != nullptr) note += format(" in zone {}", time.zone->name());
  if (time.missing) note += format(", {} means no time", *time.missing);
  return note;
}

void explain_follow(Paragraph& out, const SourceSpec& source) {
  const bool from_command_line = source.follow && !out.is_given_as("follow", {"on", "true"});
  if (from_command_line) {
    out.row("follow", "on", "(--follow)");
  } else {
    out.option("follow", switch_text(source.follow));
  }
}

void explain_input(Paragraph& out, const SourceSpec& source) {
  const bool file = source.connector == SourceConnector::kFile;
  out.option("connector", file ? "file" : "stdin");
  if (file) out.option("path", joined(source.paths));
  out.option("format", source.format.empty() ? "by the file's name" : source.format);
  out.option_if_given("delimiter");
  out.option_if_given("header");
  out.option_if_given("null");
  out.option("max_record_bytes", with_thousands(static_cast<int64_t>(source.record_bytes_max)));
  if (file) {
    const bool parallel = source.files == FilesMode::kParallel;
    out.option("files", parallel ? "parallel" : "sequence",
               parallel ? "side by side" : "one after the other");
    out.option("order_by", source.order == InputOrder::kAsRead ? "as read" : "arrival_time");
    explain_follow(out, source);
  }
}

void explain_times(Paragraph& out, const SourceSpec& source) {
  out.option("event_time", source.fields[source.event_time.column].name,
             time_note(source, source.event_time));
  if (source.arrival_time) {
    out.option("arrival_time", source.fields[source.arrival_time->column].name,
               time_note(source, *source.arrival_time));
  } else {
    out.option("arrival_time", "the time of reading");
  }
  if (source.time_zone != nullptr) out.option("time_zone", source.time_zone->name());
  if (source.partition) {
    out.option("partition", source.fields[*source.partition].name, "each value has its own watermark");
  } else if (source.connector == SourceConnector::kStdin) {
    out.option("partition", "one");
  } else {
    out.option("partition", source.files == FilesMode::kParallel ? "each file" : "one");
  }
}

std::string column_list(const SourceSpec& source, bool needed) {
  std::string out;
  for (const Field& field : source.fields) {
    if (field.needed == needed)
      out += format("{}{} {}", out.empty() ? "" : ", ", field.name, to_string(field.type));
  }
  return out;
}

std::string key_of(const SourceSpec& source) {
  std::vector<std::string> names;
  for (const size_t column : source.dedup->columns) names.push_back(source.fields[column].name);
  return joined(names);
}

// Bytes an id: operators/dedup_index.h.
void explain_dedup(Paragraph& out, const SourceSpec& source) {
  out.sentence(
      format("A record whose {} was seen before counts as duplicate; with other values in its columns{} it "
             "goes to the "
             "ledger as conflict. NULL is no id.",
             key_of(source), source.arrival_time ? " (but the arrival time)" : ""));
  if (source.dedup->horizon) {
    out.sentence(
        format("An id is known until the watermark is {} past its event time; a record that is older than "
               "that is dropped "
               "as past_horizon. State: 30 to 43 bytes for each record of so much event time.",
               span_of(*source.dedup->horizon)));
  } else {
    out.sentence(
        "Ids are known for ever, 30 to 43 bytes each, because a view or its ledger takes records without "
        "end. "
        "dedup_horizon sets a bound; or ledger_horizon, and for sessions max_session_length, in the views.");
  }
}

std::string hidden_columns(const SourceSpec& source, ledger::Hide how) {
  std::vector<std::string> names;
  for (size_t i = 0; i < source.ledger_hide.size(); ++i) {
    if (source.ledger_hide[i] == how) names.push_back(source.fields[i].name);
  }
  return joined(names);
}

void explain_masks(Paragraph& out, const SourceSpec& source) {
  if (source.ledger_hide.empty()) return;
  if (const std::string names = hidden_columns(source, ledger::Hide::kMask); !names.empty())
    out.option("ledger_mask", names);
  const std::string hashed = hidden_columns(source, ledger::Hide::kHash);
  if (!hashed.empty()) out.option("ledger_hash", hashed);
  if (!source.ledger_key_file.empty()) {
    out.option("ledger_key_file", source.ledger_key_file);
  } else if (!hashed.empty()) {
    out.option("ledger_key_file", "WRACKLINE_LEDGER_KEY", "of the environment");
  }
}

std::string masks_in_words(const SourceSpec& source) {
  const std::string masked = hidden_columns(source, ledger::Hide::kMask);
  const std::string hashed = hidden_columns(source, ledger::Hide::kHash);
  std::string text = "In the ledger, payloads and keys have ";
  if (!masked.empty()) text += format("*** for {}", masked);
  if (!masked.empty() && !hashed.empty()) text += ", ";
  if (!hashed.empty()) text += format("a keyed hash (HMAC-SHA-256) for {}", hashed);
  return text +
         "; a record that does not parse is kept without its bytes. What a view computes from these columns "
         "is "
         "in its results and checkpoints as it is.";
}

std::string explain_source(const JobText& text, const BoundSource& bound) {
  const SourceSpec& source = bound.spec;
  Paragraph out(text, bound.options);
  explain_input(out, source);
  explain_times(out, source);
  if (source.automatic) {
    out.option("watermark_delay", "auto");
    out.option("watermark_delay_start", span_of(source.watermark_delay));
    out.option("watermark_delay_min", span_of(source.automatic->min));
    out.option("watermark_delay_max", span_of(source.automatic->max));
  } else {
    out.option("watermark_delay", span_of(source.watermark_delay));
  }
  out.option("max_future_skew", span_of(source.max_future_skew));
  out.option("max_future_accept", span_of(source.max_future_accept));
  out.option("idle_timeout", span_of(source.idle_timeout),
             source.follow || source.connector == SourceConnector::kStdin ? "" : "live input only");
  out.option("idle_close", source.idle_close ? span_of(*source.idle_close) : "off",
             source.idle_close && !source.follow ? "live input only" : "");
  if (source.max_drift) out.option("max_drift", span_of(*source.max_drift));
  if (source.dedup) {
    out.option("dedup_key", key_of(source));
    out.option("dedup_horizon", source.dedup->horizon ? span_of(*source.dedup->horizon) : "unlimited",
               bound.options.has("dedup_horizon") ? "" : "as long as its views take records");
  }
  explain_masks(out, source);
  out.row("columns read", column_list(source, true));
  if (const std::string unread = column_list(source, false); !unread.empty())
    out.row("columns unused", unread);
  out.sentence(format(
      "The watermark of a partition stays {} behind its newest event time; the slowest partition holds the "
      "others.",
      span_of(source.watermark_delay)));
  if (source.automatic) {
    out.sentence(format(
        "That is where the delay begins; then it follows what is measured each interval: up at once, down by "
        "at most a tenth an hour, always between {} and {}, and never into an offline mode. The tick log has "
        "every change.",
        span_of(source.automatic->min), span_of(source.automatic->max)));
  }
  if (source.idle_close) {
    out.sentence(
        format("When every partition is idle, the wall clock carries the watermark on, {} behind it in all.",
               span_of(*source.idle_close + source.watermark_delay)));
  }
  if (source.max_drift) {
    out.sentence(
        format("A partition more than {} ahead of the slowest one waits for it; waiting, it is not idle.",
               span_of(*source.max_drift)));
  }
  out.sentence(format(
      "An event time more than {} ahead of its arrival does not move it; one more than {} ahead goes to the "
      "ledger as future.",
      span_of(source.max_future_skew), span_of(source.max_future_accept)));
  if (source.dedup) explain_dedup(out, source);
  if (!source.ledger_hide.empty()) out.sentence(masks_in_words(source));
  return out.take();
}

std::string sealed_in_words(const ViewSpec& view) {
  const auto dropped = view.drop.find(Reason::kLate);
  if (dropped != view.drop.end() && dropped->second) return "is counted and dropped";
  if (!view.ledger_horizon) return "goes to the ledger";
  return format("goes to the ledger, up to {} late", span_of(*view.ledger_horizon));
}

std::string dropped_reasons(const ViewSpec& view) {
  std::vector<std::string> names;
  for (const auto& [reason, dropped] : view.drop) {
    if (dropped) names.emplace_back(to_string(reason));
  }
  return joined(names);
}

std::string identity_note(const ViewColumn& column) {
  const auto index = column.expression->column;
  return !column.identity ? "" : index < 2 ? "the window" : "key";
}

std::string column_text(const ViewColumn& column) {
  return format("{} {}", column.name, to_string(column.expression->type));
}

std::string length_of(const WindowLength& length) {
  if (length.months == 0) return span_of(Duration(length.micros));
  if (length.months % 12 == 0) return format("{} y", length.months / 12);
  return length.months == 1 ? "1 month" : format("{} months", length.months);
}

std::string window_in_words(const ViewSpec& view) {
  if (view.session) {
    std::string text = format("sessions, ended by a gap of {}", span_of(view.session->gap));
    if (view.session->max_length)
      text += format(", cut at every multiple of {} since 1970", span_of(*view.session->max_length));
    return text;
  }
  const WindowPlan::Options& windows = view.windows;
  std::string text;
  switch (windows.kind) {
    case WindowKind::kTumble:
      text = format("tumbling, {}", length_of(windows.size));
      break;
    case WindowKind::kHop:
      text = format("hopping, {} every {}", length_of(windows.size), length_of(windows.slide));
      break;
    case WindowKind::kCumulate:
      text = format("cumulative, {} in steps of {}", length_of(windows.size), length_of(windows.slide));
      break;
  }
  if (windows.zone != nullptr) text += format(", by the clock of {}", windows.zone->name());
  // People look for the first record; what counts is where the grid lies.
  const Window first = WindowPlan(windows).slice_of(0);
  const EventTime origin = first.start < EventTime(0) ? first.end : first.start;
  return text + format(", aligned to {}", timestamp_text(origin.micros()));
}

void explain_query(Paragraph& out, const BoundView& bound, const SourceSpec& source) {
  const ViewSpec& view = bound.spec;
  if (source.connector == SourceConnector::kView) {
    out.row("reads", format("the final rows of view \"{}\", at {}", source.name,
                            source.of_view.time_is_start ? "the start of their windows"
                                                         : "the last microsecond of their windows"));
  } else {
    out.row("reads", format("source \"{}\"", source.name));
  }
  out.row("window", window_in_words(view));
  if (view.where) out.row("where", bound.syntax->where_text);
  out.row("keys", view.keys.empty() ? "(none: one row a window)" : joined(view.key_names));
  if (view.having) out.row("having", bound.syntax->having_text);
  size_t width = 0;
  for (const ViewColumn& column : view.columns) width = std::max(width, column_text(column).size());
  for (size_t i = 0; i < view.columns.size(); ++i) {
    const ViewColumn& column = view.columns[i];
    const std::string note = identity_note(column);
    out.row(i == 0 ? "columns" : "", format("{:<{}}", column_text(column), width),
            note.empty() ? "= " + bound.syntax->items[i].text : note);
  }
}

std::string explain_view(const JobText& text, const BoundView& bound, std::span<const BoundSource> sources,
                         bool printed) {
  const ViewSpec& view = bound.spec;
  Paragraph out(text, bound.options);
  explain_query(out, bound, sources[view.source].spec);
  const std::string_view late = view.late == LatePolicy::kCorrect  ? "correct"
                                : view.late == LatePolicy::kLedger ? "ledger"
                                                                   : "drop";
  out.option("late", late);
  out.option("allowed_lateness", span_of(view.allowed_lateness));
  if (view.late != LatePolicy::kDrop)
    out.option("ledger_horizon", view.ledger_horizon ? span_of(*view.ledger_horizon) : "unlimited");
  if (const std::string dropped = dropped_reasons(view); !dropped.empty()) {
    if (bound.options.has("drop")) {
      out.option("drop", dropped);
    } else {
      out.row("drop", dropped, "(by late = 'drop')");
    }
  } else {
    out.option("drop", "nothing");
  }
  if (view.ledger_retention) out.option("ledger_retention", span_of(*view.ledger_retention));
  if (view.ledger_entries_max) out.option("ledger_max_entries", with_thousands(*view.ledger_entries_max));
  if (view.ledger_bytes_max) out.option("ledger_max_bytes", with_thousands(*view.ledger_bytes_max));
  if (view.emit_empty) out.option("emit_empty", "on");
  if (view.early) {
    out.option("emit_early", span_of(view.early->every));
    out.option("emit_early_by", view.early->wall_time ? "wall_time" : "event_time");
  }
  out.sentence(late_policy_in_words(view));
  if (view.ledger_retention || view.ledger_entries_max || view.ledger_bytes_max) {
    out.sentence(
        "Entries that retention removes, the oldest first, stay counted by reason: `wrackline ledger "
        "audit`.");
  }
  if (printed) out.sentence("No INSERT names the view: it prints to standard output.");
  return out.take();
}

std::string mode_in_words(const SinkSpec& sink) {
  if (sink.mode == "append") return "Takes first versions only.";
  if (sink.mode == "changelog")
    return "A correction is a retract of the old row, then an insert of the new one.";
  return "A correction is an update of the row with the new absolute values.";
}

std::string_view promise_in_words(const SinkSpec& sink) {
  switch (sink.connector) {
    case SinkConnector::kStdout:
      return "At least once: a run that starts again prints its rows again, under a greater _generation.";
    case SinkConnector::kFile:
      return "Readers see rows of one run only; a new run begins the file anew, one that is resumed goes on "
             "in it.";
    case SinkConnector::kSqlite:
      return "Exactly once: a tick is one transaction, and a replay or an older run changes nothing.";
    case SinkConnector::kPostgres:
      return "Exactly once: a tick is one transaction together with its progress, a commit without an answer "
             "is looked up, and a replay or an older run changes nothing.";
  }
  return {};
}

std::string explain_sink(const JobText& text, const BoundSink& bound, std::string_view view) {
  const SinkSpec& sink = bound.spec;
  Paragraph out(text, bound.options);
  out.row("takes", view.empty() ? "(nothing: no INSERT names it)" : format("view \"{}\"", view));
  switch (sink.connector) {
    case SinkConnector::kStdout:
      out.option("connector", "stdout");
      out.option("format", sink.format.empty() ? "table on a terminal, else jsonl" : sink.format);
      break;
    case SinkConnector::kFile:
      out.option("connector", "file");
      out.option("path", sink.path);
      out.option("format", sink.format.empty() ? "by the file's name" : sink.format);
      break;
    case SinkConnector::kSqlite:
      out.option("connector", "sqlite");
      out.option("path", sink.path);
      out.option("table", sink.table);
      break;
    case SinkConnector::kPostgres:
      out.option("connector", "postgres");
      out.option("url", postgres::shown_url(sink.url).value_or("(cannot be read)"));
      out.option("table", sink.table);
      break;
  }
  out.option("mode", sink.mode);
  out.sentence(mode_in_words(sink));
  out.sentence(promise_in_words(sink));
  return out.take();
}

}  // namespace

std::string late_policy_in_words(const ViewSpec& view) {
  const std::string on_time = "A record is on time while the watermark has not reached the end of its window";
  if (can_correct(view)) {
    return format("{}; for {} more it corrects the published row; after that it {}.", on_time,
                  span_of(view.allowed_lateness), sealed_in_words(view));
  }
  return format("{}; after that it {}.", on_time, sealed_in_words(view));
}

std::string explain(const JobText& text, std::span<const BoundSource> sources,
                    std::span<const BoundView> views, std::span<const BoundSink> sinks,
                    std::span<const InsertSpec> inserts) {
  std::vector<std::string> paragraphs;
  for (const BoundSource& source : sources) {
    if (source.spec.connector != SourceConnector::kView) paragraphs.push_back(explain_source(text, source));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    const bool inserted =
        std::ranges::any_of(inserts, [&](const InsertSpec& insert) { return insert.view == i; });
    const bool read = std::ranges::any_of(sources, [&](const BoundSource& source) {
      return source.spec.connector == SourceConnector::kView && source.spec.of_view.view == i;
    });
    paragraphs.push_back(explain_view(text, views[i], sources, !inserted && !read));
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    const auto insert = std::ranges::find(inserts, i, &InsertSpec::sink);
    paragraphs.push_back(
        explain_sink(text, sinks[i], insert == inserts.end() ? "" : views[insert->view].spec.name));
  }
  std::string out;
  for (const std::string& paragraph : paragraphs) out += (out.empty() ? "" : "\n") + paragraph;
  return out;
}

}  // namespace wrackline::sql
