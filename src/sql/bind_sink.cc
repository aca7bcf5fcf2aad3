#include <algorithm>

#include "base/text.h"
#include "formats/parser.h"
#include "postgres/connection.h"
#include "sql/binder.h"

namespace wrackline::sql {
namespace {

class SinkBinder {
 public:
  SinkBinder(const JobText& text, const CreateTable& table, BoundSink& made)
      : text_(text), table_(table), spec_(made.spec), options_(made.options) {}

  Status bind() {
    spec_.name = table_.name.text;
    if (!options_.has("connector")) {
      return options_.missing(
          format("sink \"{}\" has no connector", spec_.name),
          "Say where its rows go: WITH (connector = 'stdout'), 'file', 'sqlite' or 'postgres'.");
    }
    WRACKLINE_ASSIGN(spec_.fields, bind_columns(text_, table_.columns));
    WRACKLINE_TRY(refuse_row_columns());
    WRACKLINE_ASSIGN(const std::string connector, options_.choice("connector", ""));
    WRACKLINE_ASSIGN(spec_.mode, options_.choice("mode", "upsert"));
    WRACKLINE_ASSIGN(spec_.format, options_.choice("format", ""));
    spec_.path = options_.text("path");
    if (connector == "stdout") return bind_stdout();
    if (connector == "postgres") return bind_postgres();
    if (options_.has("url"))
      return contradiction("url", connector, "It is an option of connector = 'postgres'.");
    if (spec_.path.empty() || spec_.path.find('\0') != spec_.path.npos) return missing_path(connector);
    return connector == "file" ? bind_file() : bind_sqlite();
  }

 private:
  Status refuse_row_columns() const {
    for (const ColumnSyntax& column : table_.columns) {
      if (!is_row_column(column.name.text)) continue;
      return fail(text_.error(
          column.name.position, ErrorCode::kInvalid, format("column name \"{}\" is taken", column.name.text),
          "Every row carries _op, _version, _status and _generation itself; leave them out."));
    }
    return {};
  }

  std::unexpected<Error> contradiction(std::string_view option, std::string_view connector,
                                       std::string hint) const {
    return options_.wrong(option,
                          format("{} contradicts connector = '{}'", options_.name_of(option), connector),
                          std::move(hint));
  }

  std::unexpected<Error> missing_path(std::string_view connector) const {
    std::string hint = connector == "file" ? "Name the file to write: path = 'minutes.jsonl'."
                                           : "Name the database to write: path = 'minutes.db'.";
    if (options_.has("path"))
      return options_.wrong("path", format("{} is empty", options_.name_of("path")), std::move(hint));
    return options_.missing(format("sink \"{}\" has no path", spec_.name), std::move(hint));
  }

  Status bind_stdout() {
    spec_.connector = SinkConnector::kStdout;
    if (options_.has("path"))
      return contradiction("path", "stdout", "Use connector = 'file' to write a file.");
    if (options_.has("table"))
      return contradiction("table", "stdout", "It is an option of connector = 'sqlite' and 'postgres'.");
    if (options_.has("url"))
      return contradiction("url", "stdout", "It is an option of connector = 'postgres'.");
    return {};
  }

  Status bind_file() {
    spec_.connector = SinkConnector::kFile;
    if (options_.has("table"))
      return contradiction("table", "file", "It is an option of connector = 'sqlite' and 'postgres'.");
    if (spec_.format == "table") {
      return options_.wrong("format",
                            format("{}: 'table' is for standard output", options_.name_of("format")),
                            "Files are written as 'jsonl' or 'csv'.");
    }
    if (spec_.path.ends_with(".gz") || spec_.path.ends_with(".zst")) {
      return options_.wrong(
          "path", format("{}: files are written plain, not compressed", options_.name_of("path")),
          "Drop the ending, and compress the file when the run is over.", ErrorCode::kUnsupported);
    }
    if (spec_.format.empty() && !formats::guess_format(spec_.path)) {
      return options_.wrong(
          "path", format("{}: the name does not tell how to write the file", options_.name_of("path")),
          "Add format = 'jsonl' or format = 'csv', or end the name with .jsonl or .csv.");
    }
    return {};
  }

  Status bind_sqlite() {
    spec_.connector = SinkConnector::kSqlite;
    if (options_.has("format")) return contradiction("format", "sqlite", "Rows go to a table; leave it out.");
    spec_.table = options_.has("table") ? options_.text("table") : spec_.name;
    const bool reserved = spec_.table.starts_with("sqlite_") || spec_.table.starts_with("_wrackline_");
    if (!spec_.table.empty() && !reserved) return {};
    const std::string message =
        format("sink \"{}\" cannot write to a table called \"{}\"", spec_.name, printable(spec_.table));
    const std::string hint =
        "Choose a name that does not begin with sqlite_ or _wrackline_: table = 'minutes'.";
    return options_.has("table") ? options_.wrong("table", message, hint) : options_.missing(message, hint);
  }

  Status bind_postgres() {
    spec_.connector = SinkConnector::kPostgres;
    if (options_.has("format"))
      return contradiction("format", "postgres", "Rows go to a table; leave it out.");
    if (options_.has("path"))
      return contradiction("path", "postgres", "Name the database with url = 'postgresql://user@host/name'.");
    spec_.url = options_.text("url");
    const std::string hint = "Name the database: url = 'postgresql://user@host/name'.";
    if (!options_.has("url")) return options_.missing(format("sink \"{}\" has no url", spec_.name), hint);
    if (spec_.url.empty()) return options_.wrong("url", format("{} is empty", options_.name_of("url")), hint);
    if (const Result<std::string> shown = postgres::shown_url(spec_.url); !shown) {
      return options_.wrong("url", format("{}: {}", options_.name_of("url"), shown.error().detail),
                            shown.error().hint);
    }
    return bind_postgres_table();
  }

  Status bind_postgres_table() {
    spec_.table = options_.has("table") ? options_.text("table") : spec_.name;
    const size_t dot = spec_.table.find('.');
    const std::string name = dot == spec_.table.npos ? spec_.table : spec_.table.substr(dot + 1);
    const bool reserved = name.starts_with("pg_") || name.starts_with("_wrackline_");
    if (!name.empty() && dot != 0 && !reserved && name.size() <= kPostgresNameBytesMax) return {};
    const std::string message =
        format("sink \"{}\" cannot write to a table called \"{}\"", spec_.name, printable(spec_.table));
    const std::string hint = format(
        "Choose a name of at most {} bytes that does not begin with pg_ or _wrackline_, with or without "
        "a schema: table = 'minutes' or 'reports.minutes'.",
        kPostgresNameBytesMax);
    return options_.has("table") ? options_.wrong("table", message, hint) : options_.missing(message, hint);
  }

  // PostgreSQL keeps 63 bytes of a name, and the rows are in a table called so with "_rows" behind it.
  static constexpr size_t kPostgresNameBytesMax = 58;

  const JobText& text_;
  const CreateTable& table_;
  SinkSpec& spec_;
  const Options& options_;
};

// Can a sink's column of type `to` hold every value of type `from`?
bool holds_every(const Type& to, const Type& from) {
  if (to == from) return true;
  if (to.kind != from.kind) return false;
  switch (to.kind) {
    case TypeKind::kInteger:
    case TypeKind::kDouble:
      return to.bits >= from.bits;
    case TypeKind::kNumeric:
    case TypeKind::kText:
      return to.precision == -1;
    default:
      return false;
  }
}

template <class Part>
Result<size_t> find_part(const JobText& text, const Name& name, std::span<const Part> parts,
                         std::string_view what, std::string_view hint) {
  std::vector<std::string_view> known;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].spec.name == name.text) return i;
    known.push_back(parts[i].spec.name);
  }
  const std::string nearest = nearest_name(name.text, known);
  return fail(text.error(name.position, ErrorCode::kNotFound,
                         format("there is no {} \"{}\"", what, printable(name.text)),
                         nearest.empty() ? std::string(hint) : format("did you mean \"{}\"?", nearest)));
}

class InsertBinder {
 public:
  InsertBinder(const JobText& text, const Insert& insert, const BoundView& view, const BoundSink& sink)
      : text_(text), insert_(insert), view_(view.spec), sink_(sink.spec) {}

  Result<std::vector<std::string>> check() const {
    WRACKLINE_TRY(check_selected());
    WRACKLINE_TRY(check_columns());
    WRACKLINE_TRY(check_mode());
    return check_identity();
  }

 private:
  std::unexpected<Error> invalid(size_t position, std::string message, std::string hint) const {
    return fail(text_.error(position, ErrorCode::kInvalid, std::move(message), std::move(hint)));
  }

  std::string view_columns() const {
    std::string names;
    for (const ViewColumn& column : view_.columns) names += (names.empty() ? "" : ", ") + column.name;
    return names;
  }

  // The names after SELECT: the view's columns, all of them, in their order.
  Status check_selected() const {
    if (insert_.star) return {};
    for (size_t i = 0; i < insert_.selected.size(); ++i) {
      const Name& name = insert_.selected[i];
      if (i < view_.columns.size() && view_.columns[i].name == name.text) continue;
      std::vector<std::string_view> known;
      for (const ViewColumn& column : view_.columns) known.push_back(column.name);
      if (std::ranges::find(known, name.text) == known.end()) {
        const std::string nearest = nearest_name(name.text, known);
        return fail(text_.error(name.position, ErrorCode::kNotFound,
                                format("view \"{}\" has no column \"{}\"", view_.name, printable(name.text)),
                                nearest.empty() ? format("Its columns are: {}.", view_columns())
                                                : format("did you mean \"{}\"?", nearest)));
      }
      return partial(name.position);
    }
    return insert_.selected.size() == view_.columns.size() ? Status() : partial(insert_.select_position);
  }

  std::unexpected<Error> partial(size_t position) const {
    return fail(text_.error(
        position, ErrorCode::kUnsupported, "an INSERT takes all columns of its view in their order",
        format("Write SELECT *, and choose and order columns in the view. View \"{}\" has: {}.", view_.name,
               view_columns())));
  }

  // The names after INSERT INTO and the columns that the sink declares.
  Status check_columns() const {
    const auto& columns = view_.columns;
    const auto& fields = sink_.fields;
    if (!insert_.columns.empty() && insert_.columns.size() != columns.size()) {
      return invalid(insert_.columns[0].position,
                     format("INSERT names {} columns, and view \"{}\" has {}", insert_.columns.size(),
                            view_.name, columns.size()),
                     format("They are: {}.", view_columns()));
    }
    for (size_t i = 0; i < insert_.columns.size(); ++i) {
      if (insert_.columns[i].text == columns[i].name) continue;
      return invalid(
          insert_.columns[i].position,
          format("column \"{}\" of the INSERT stands where view \"{}\" has \"{}\"",
                 printable(insert_.columns[i].text), view_.name, columns[i].name),
          "Leave the list out, or name the view's columns in their order; rename them in the view with AS.");
    }
    if (fields.empty()) return {};
    if (fields.size() != columns.size()) {
      return invalid(
          insert_.sink.position,
          format("sink \"{}\" has {} columns, and view \"{}\" has {}", sink_.name, fields.size(), view_.name,
                 columns.size()),
          format("Those of the view are: {}. A sink may also leave its list empty, (), and take the view's.",
                 view_columns()));
    }
    for (size_t i = 0; i < fields.size(); ++i) WRACKLINE_TRY(check_column(i));
    return {};
  }

  Status check_column(size_t i) const {
    const Field& field = sink_.fields[i];
    const ViewColumn& column = view_.columns[i];
    if (field.name != column.name) {
      return invalid(insert_.sink.position,
                     format("column {} of sink \"{}\" is \"{}\", and of view \"{}\" \"{}\"", i + 1,
                            sink_.name, field.name, view_.name, column.name),
                     "Names must be the same in the same order; rename with AS in the view.");
    }
    const Type& type = column.expression->type;
    if (holds_every(field.type, type)) return {};
    return invalid(insert_.sink.position,
                   format("column \"{}\" of sink \"{}\" is {}, and of view \"{}\" {}", field.name, sink_.name,
                          to_string(field.type), view_.name, to_string(type)),
                   format("Declare it {}, or cast in the view: CAST(... AS {}) AS {}.", to_string(type),
                          to_string(field.type), field.name));
  }

  Status check_mode() const {
    if (sink_.mode != "append" || !can_correct(view_)) return {};
    if (view_.early) {
      return invalid(
          insert_.sink.position,
          format("sink \"{}\" takes first versions only (mode = 'append'), and view \"{}\" publishes "
                 "early ones that change",
                 sink_.name, view_.name),
          format("Leave emit_early out of view \"{}\", or write with mode = 'upsert' (or 'changelog').",
                 view_.name));
    }
    const std::string message = format(
        "sink \"{}\" takes first versions only (mode = 'append'), and view \"{}\" publishes corrections for "
        "{}",
        sink_.name, view_.name, span_text(view_.allowed_lateness.micros()));
    const std::string hint = format(
        "Ways out: WITH (allowed_lateness = '0') on view \"{0}\", then late records go to the ledger and "
        "no row changes; or late = 'ledger' without allowed_lateness; or mode = 'upsert' (or 'changelog') on "
        "sink \"{1}\".",
        view_.name, sink_.name);
    return invalid(insert_.sink.position, message, hint);
  }

  // A later version finds its row by window and key.
  Result<std::vector<std::string>> check_identity() const {
    const std::vector<std::string> missing = missing_identity(view_);
    std::vector<std::string> warnings;
    if (missing.empty() || sink_.mode == "append") return warnings;
    std::string names;
    for (const std::string& name : missing) names += (names.empty() ? "\"" : ", \"") + name + "\"";
    if (sink_.connector == SinkConnector::kSqlite || sink_.connector == SinkConnector::kPostgres) {
      return invalid(
          insert_.sink.position,
          format("rows of view \"{}\" cannot be told apart in sink \"{}\": {} is not selected", view_.name,
                 sink_.name, names),
          "Two groups would be one row. Add it to the SELECT list as it is, or write with mode = 'append'.");
    }
    if (can_correct(view_)) {
      warnings.push_back(
          format("a reader of sink \"{}\" cannot tell which row of view \"{}\" a correction replaces: {} is "
                 "not selected",
                 sink_.name, view_.name, names));
    }
    return warnings;
  }

  const JobText& text_;
  const Insert& insert_;
  const ViewSpec& view_;
  const SinkSpec& sink_;
};

}  // namespace

bool can_correct(const ViewSpec& view) {
  return view.early || (view.late == LatePolicy::kCorrect && view.allowed_lateness > Duration());
}

std::vector<std::string> missing_identity(const ViewSpec& view) {
  const auto selected = [&](size_t column) {
    return std::ranges::any_of(
        view.columns, [&](const ViewColumn& c) { return c.identity && c.expression->column == column; });
  };
  std::vector<std::string> missing;
  // Several cumulative windows have one start; a session that grows keeps one of its ends.
  const bool needs_both = view.session.has_value();
  const bool needs_end = needs_both || view.windows.kind == WindowKind::kCumulate;
  if (needs_end && !selected(1)) missing.push_back("window_end");
  if (needs_end ? needs_both && !selected(0) : !selected(0) && !selected(1))
    missing.push_back("window_start");
  for (size_t key = 0; key < view.keys.size(); ++key) {
    if (!selected(2 + key)) missing.push_back(view.key_names[key]);
  }
  return missing;
}

Result<BoundSink> bind_sink(const JobText& text, const CreateTable& table,
                            std::span<const Override> overrides) {
  WRACKLINE_ASSIGN(Options options,
                   Options::make(text, OptionOwner::kSink, table.name, table.options, overrides));
  BoundSink made{.spec = {}, .options = std::move(options)};
  WRACKLINE_TRY(SinkBinder(text, table, made).bind());
  return made;
}

Result<BoundInsert> bind_insert(const JobText& text, const Insert& insert, std::span<const BoundView> views,
                                std::span<const BoundSink> sinks) {
  BoundInsert made;
  WRACKLINE_ASSIGN(made.spec.view, find_part(text, insert.view, views, "view",
                                             "An INSERT reads a view: CREATE MATERIALIZED VIEW ..."));
  WRACKLINE_ASSIGN(made.spec.sink,
                   find_part(text, insert.sink, sinks, "sink",
                             "A sink is declared with CREATE TABLE name () WITH (connector = 'stdout')."));
  const InsertBinder binder(text, insert, views[made.spec.view], sinks[made.spec.sink]);
  WRACKLINE_ASSIGN(made.warnings, binder.check());
  return made;
}

}  // namespace wrackline::sql
