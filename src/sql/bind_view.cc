// A view: its window, its policy for late records, and a SELECT that is grouped as PostgreSQL groups.
//
// The SELECT list is bound in one go over [the source's fields, window_start, window_end, the aggregates];
// then each part of it that is a grouping key, as a whole, becomes that key's column of the output row, and
// what still reads a field of the source is PostgreSQL's error "must appear in the GROUP BY clause". So
// `lower(page) || '!'` is fine with GROUP BY lower(page), as in PostgreSQL, however it is spelled.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "data/time_text.h"
#include "sql/bind_expression.h"
#include "sql/bind_type.h"
#include "sql/binder.h"
#include "sql/ledger_options.h"

namespace wrackline::sql {
namespace {

using expr::ExprKind;
using expr::ExprPtr;

constexpr int64_t kWindowDaysMax = 36'525;  // a century; beyond it is a slip of units
constexpr int32_t kWindowMonthsMax = 1200;
constexpr int64_t kDayMicros = 86'400'000'000;

constexpr std::pair<std::string_view, Reason> kDroppable[] = {
    {"late", Reason::kLate},
    {"late_after_idle", Reason::kLateAfterIdle},
    {"future", Reason::kFuture},
    {"past_horizon", Reason::kPastHorizon},
    {"unparseable", Reason::kUnparseable},
    {"no_event_time", Reason::kNoEventTime},
    {"out_of_range", Reason::kOutOfRange},
    {"oversize", Reason::kOversize},
};

class ViewBinder {
 public:
  ViewBinder(const JobText& text, const CreateView& view, BoundView& made, std::vector<BoundSource>& sources,
             std::span<const BoundView> views)
      : text_(text),
        view_(view),
        spec_(made.spec),
        options_(made.options),
        sources_(sources),
        views_(views) {}

  Status bind() {
    spec_.name = view_.name.text;
    WRACKLINE_TRY(bind_window());
    WRACKLINE_TRY(bind_policy());
    if (view_.where) {
      WRACKLINE_ASSIGN(spec_.where, ExpressionBinder(text_, scope("WHERE")).bind_condition(*view_.where));
    }
    WRACKLINE_TRY(bind_group_by());
    WRACKLINE_TRY(bind_select());
    WRACKLINE_TRY(bind_having());
    mark_needed();
    return {};
  }

 private:
  std::unexpected<Error> invalid(size_t position, std::string message, std::string hint = {}) const {
    return fail(text_.error(position, ErrorCode::kInvalid, std::move(message), std::move(hint)));
  }
  std::unexpected<Error> unsupported(size_t position, std::string message, std::string hint = {}) const {
    return fail(text_.error(position, ErrorCode::kUnsupported, std::move(message), std::move(hint)));
  }

  SourceSpec& source() const { return sources_[spec_.source].spec; }

  Scope scope(std::string clause) const {
    const std::string qualifier = view_.from.alias.text.empty() ? source().name : view_.from.alias.text;
    return Scope{.fields = &source().fields, .qualifiers = {qualifier}, .clause = std::move(clause)};
  }

  // ---- FROM TUMBLE(source, column, size [, offset])

  // TUMBLE(source, column, size [, ...]), HOP(source, column, slide, size [, ...]), CUMULATE(source, column,
  // step, size [, ...]), SESSION(source, column, gap). At the end an offset, a time zone, or both.
  struct WindowFunction {
    std::string_view name;
    WindowKind kind;
    bool session;
    size_t lengths;
    std::string_view usage;
    std::string_view example;
  };
  static constexpr WindowFunction kWindowFunctions[] = {
      {"tumble", WindowKind::kTumble, false, 1,
       "TUMBLE(source, event_time column, size [, offset] [, time zone])",
       "TUMBLE(clicks, at, INTERVAL '1 minute')"},
      {"hop", WindowKind::kHop, false, 2,
       "HOP(source, event_time column, slide, size [, offset] [, time zone])",
       "HOP(clicks, at, INTERVAL '1 minute', INTERVAL '10 minutes')"},
      {"cumulate", WindowKind::kCumulate, false, 2,
       "CUMULATE(source, event_time column, step, size [, offset] [, time zone])",
       "CUMULATE(clicks, at, INTERVAL '1 hour', INTERVAL '1 day')"},
      {"session", WindowKind::kTumble, true, 1, "SESSION(source, event_time column, gap)",
       "SESSION(clicks, at, INTERVAL '30 minutes')"},
  };

  Status bind_window() {
    const WindowCall& call = view_.from;
    const auto* function = std::ranges::find(kWindowFunctions, call.function.text, &WindowFunction::name);
    if (function == std::end(kWindowFunctions)) {
      return unsupported(call.function.position,
                         format("function \"{}\" in FROM is not supported", printable(call.function.text)),
                         "A view reads one source through TUMBLE, HOP, CUMULATE or SESSION: FROM "
                         "TUMBLE(clicks, at, INTERVAL "
                         "'1 minute').");
    }
    function_ = function;
    const size_t least = 2 + function->lengths;
    const size_t most = least + (function->session ? 0 : 2);
    if (call.args.size() < least || call.args.size() > most) {
      return invalid(call.function.position,
                     least == most ? format("{} takes {} arguments, not {}", upper(function->name), least,
                                            call.args.size())
                                   : format("{} takes {} to {} arguments, not {}", upper(function->name),
                                            least, most, call.args.size()),
                     format("{}: {}.", function->usage, function->example));
    }
    WRACKLINE_TRY(bind_source_name(*call.args[0]));
    WRACKLINE_TRY(check_time_column(*call.args[1]));
    return function->session ? bind_session() : bind_aligned();
  }

  Status bind_aligned() {
    const WindowCall& call = view_.from;
    WindowPlan::Options& windows = spec_.windows;
    windows.kind = function_->kind;
    const bool sliding = function_->lengths == 2;
    if (sliding) {
      WRACKLINE_ASSIGN(windows.slide,
                       length(*call.args[2], windows.kind == WindowKind::kHop ? "slide" : "step"));
    }
    WRACKLINE_ASSIGN(windows.size, length(*call.args[sliding ? 3 : 2], "size"));
    bool has_offset = false;
    for (size_t i = 2 + function_->lengths; i < call.args.size(); ++i) {
      const Syntax& arg = *call.args[i];
      if (arg.kind == SyntaxKind::kString && !parse_interval(arg.text)) {
        if (windows.zone != nullptr)
          return invalid(arg.position, "the window has two time zones", "Keep one.");
        const Result<const TimeZone*> zone = TimeZone::find(arg.text);
        if (!zone) return fail(text_.placed(arg.position, zone.error()));
        windows.zone = *zone;
        continue;
      }
      if (has_offset) return invalid(arg.position, "the window has two offsets", "Keep one.");
      has_offset = true;
      WRACKLINE_ASSIGN(windows.offset, span(arg, "offset"));
    }
    const std::string impossible = WindowPlan::impossible(windows);
    if (impossible.empty()) return {};
    return invalid(call.args[2]->position, format("these windows cannot be: {}", impossible),
                   format("{}: {}.", function_->usage, function_->example));
  }

  Status bind_session() {
    SessionWindowSpec session;
    WRACKLINE_ASSIGN(session.gap, span(*view_.from.args[2], "gap"));
    if (session.gap <= Duration()) return not_positive(*view_.from.args[2], "gap", session.gap);
    if (options_.has("max_session_length")) {
      WRACKLINE_ASSIGN(session.max_length, options_.span("max_session_length", Duration()));
      if (*session.max_length < session.gap) {
        return options_.wrong("max_session_length", "a session is at least as long as its gap",
                              format("The gap is {}.", span_text(session.gap.micros())));
      }
    }
    spec_.session = session;
    return {};
  }

  std::unexpected<Error> not_positive(const Syntax& syntax, std::string_view what, Duration value) const {
    return invalid(syntax.position,
                   format("window {} must be more than nothing, not {}", what, span_text(value.micros())),
                   format("Write a {} such as INTERVAL '1 minute'.", what));
  }

  // A length of a window: months, or a span.
  Result<WindowLength> length(const Syntax& syntax, std::string_view what) const {
    WRACKLINE_ASSIGN(const Interval value, interval(syntax, what));
    if (value.months != 0 && (value.days != 0 || value.micros != 0)) {
      return invalid(syntax.position, format("the window's {} mixes months with days", what),
                     "Months differ in length: write INTERVAL '1 month' or INTERVAL '30 days'.");
    }
    if (value.months != 0) {
      if (value.months < 0) return not_positive(syntax, what, Duration(-1));
      if (value.months > kWindowMonthsMax) return too_long(syntax, what);
      return WindowLength{.months = value.months};
    }
    WRACKLINE_ASSIGN(const Duration micros, span_of(value, syntax, what));
    if (micros <= Duration()) return not_positive(syntax, what, micros);
    return WindowLength{.micros = micros.micros()};
  }

  static std::string upper(std::string_view name) {
    std::string text(name);
    for (char& c : text) c = static_cast<char>(c - 'a' + 'A');
    return text;
  }

  Status bind_source_name(const Syntax& name) {
    if (name.kind != SyntaxKind::kColumn || name.names.size() != 1) {
      return invalid(name.position,
                     format("the first argument of {} is not the name of a source", upper(function_->name)),
                     format("{} reads the source clicks.", function_->example));
    }
    std::vector<std::string_view> known;
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (sources_[i].spec.connector == SourceConnector::kView) continue;
      known.push_back(sources_[i].spec.name);
      if (sources_[i].spec.name != name.names[0]) continue;
      spec_.source = i;
      return {};
    }
    for (size_t i = 0; i < views_.size(); ++i) {
      known.push_back(views_[i].spec.name);
      if (views_[i].spec.name == name.names[0]) return read_view(i, *view_.from.args[1]);
    }
    const std::string nearest = nearest_name(name.names[0], known);
    return fail(text_.error(
        name.position, ErrorCode::kNotFound, format("there is no source \"{}\"", printable(name.names[0])),
        nearest.empty() ? "A view reads a source, a table WITH a connector, or a view that stands before it."
                        : format("did you mean \"{}\"?", nearest)));
  }

  // The final rows of another view are the source: their time is the window's end, less a microsecond, or its
  // start.
  Status read_view(size_t index, const Syntax& time) {
    const ViewSpec& upstream = views_[index].spec;
    SourceSpec made;
    made.name = upstream.name;
    made.connector = SourceConnector::kView;
    made.of_view.view = index;
    bool has_end = false;
    bool has_time = false;
    for (size_t i = 0; i < upstream.columns.size(); ++i) {
      const ViewColumn& column = upstream.columns[i];
      const bool is_start = column.identity && column.expression->column == 0;
      const bool is_end = column.identity && column.expression->column == 1;
      if (is_start) made.of_view.window_start = i;
      if (is_end) made.of_view.window_end = i;
      has_end |= is_end;
      if ((is_start || is_end) && time.kind == SyntaxKind::kColumn && time.names.back() == column.name) {
        has_time = true;
        made.of_view.time_is_start = is_start;
        made.event_time.column = i;
      }
      const bool clashes = column.name == "window_start" || column.name == "window_end";
      made.fields.push_back(
          {.name = clashes ? "source_" + column.name : column.name, .type = column.expression->type});
    }
    std::vector<std::string> missing = missing_identity(upstream);
    if (!has_end && std::ranges::find(missing, "window_end") == missing.end())
      missing.push_back("window_end");
    if (!missing.empty()) {
      return invalid(view_.from.args[0]->position,
                     format("view \"{}\" cannot be read: it does not select {}", upstream.name, missing[0]),
                     "A view that others read selects window_end and every key: they tell its rows apart.");
    }
    if (!has_time) {
      return invalid(
          time.position,
          format("the rows of view \"{}\" have their time in window_end or window_start", upstream.name),
          format("Write {}({}, window_end, ...): a row then belongs to the last microsecond of its "
                 "window.",
                 upper(function_->name), upstream.name));
    }
    if (made.of_view.time_is_start && upstream.session) {
      return invalid(time.position, "the start of a session is known only when it has ended",
                     format("Write {}({}, window_end, ...).", upper(function_->name), upstream.name));
    }
    const auto same = [&](const BoundSource& other) {
      return other.spec.connector == SourceConnector::kView && other.spec.of_view.view == index &&
             other.spec.event_time.column == made.event_time.column;
    };
    const auto known = std::ranges::find_if(sources_, same);
    spec_.source = static_cast<size_t>(known - sources_.begin());
    if (known != sources_.end()) return {};
    WRACKLINE_ASSIGN(Options none, Options::make(text_, OptionOwner::kSource, view_.name, {}, {}));
    sources_.push_back({.spec = std::move(made), .options = std::move(none), .warnings = {}});
    return {};
  }

  Status check_time_column(const Syntax& column) const {
    if (source().connector == SourceConnector::kView) return {};
    const std::string& event_time = source().fields[source().event_time.column].name;
    if (column.kind == SyntaxKind::kCall && column.text == "descriptor") {
      return invalid(column.position, "DESCRIPTOR is not needed here",
                     format("Write the column alone: {}({}, {}, ...).", upper(function_->name), source().name,
                            event_time));
    }
    if (column.kind != SyntaxKind::kColumn || column.names.back() != event_time) {
      return invalid(column.position,
                     format("windows are cut by the event time of source \"{0}\", which is \"{1}\"",
                            source().name, event_time),
                     format("Write {}({}, {}, ...), or set the source's option event_time.",
                            upper(function_->name), source().name, event_time));
    }
    return {};
  }

  Result<Duration> span(const Syntax& syntax, std::string_view what) const {
    WRACKLINE_ASSIGN(const Interval value, interval(syntax, what));
    return span_of(value, syntax, what);
  }

  // A constant interval: INTERVAL '1 minute', '1 minute'::interval or '1 minute', with a sign if it must be.
  Result<Interval> interval(const Syntax& syntax, std::string_view what) const {
    if (syntax.kind == SyntaxKind::kOperator && syntax.text == "-" && syntax.args.size() == 1) {
      WRACKLINE_ASSIGN(const Interval positive, interval(*syntax.args[0], what));
      return Interval{-positive.months, -positive.days, -positive.micros};
    }
    const bool cast = syntax.kind == SyntaxKind::kCast && syntax.type.name == "interval";
    const Syntax& literal = cast ? *syntax.args[0] : syntax;
    if (literal.kind != SyntaxKind::kString) {
      return invalid(syntax.position, format("the window's {} is not a constant interval", what),
                     "Write it as INTERVAL '1 minute'; a number alone has no unit.");
    }
    std::string value = literal.text;
    if (cast) {
      WRACKLINE_ASSIGN(value, interval_text(text_, syntax.type, literal.text));
    }
    const Result<Interval> parsed = parse_interval(value);
    if (!parsed) return fail(text_.placed(syntax.position, parsed.error()));
    return *parsed;
  }

  Result<Duration> span_of(const Interval& interval, const Syntax& syntax, std::string_view what) const {
    if (interval.months != 0) {
      return unsupported(syntax.position, format("a window {} in months or years is not possible", what),
                         "Months differ in length; write days, such as INTERVAL '30 days'.");
    }
    int64_t total_us = 0;
    const bool overflows = __builtin_mul_overflow(int64_t{interval.days}, kDayMicros, &total_us) ||
                           __builtin_add_overflow(total_us, interval.micros, &total_us) ||
                           total_us > kWindowDaysMax * kDayMicros || total_us < -kWindowDaysMax * kDayMicros;
    if (overflows) return too_long(syntax, what);
    return Duration(total_us);
  }

  std::unexpected<Error> too_long(const Syntax& syntax, std::string_view what) const {
    return fail(text_.error(syntax.position, ErrorCode::kOutOfRange,
                            format("a window {} of more than a century", what),
                            "Is the unit right? us, ms, s, min, h and days are known."));
  }

  // ---- late records

  Status bind_policy() {
    WRACKLINE_ASSIGN(const std::string late, options_.choice("late", "correct"));
    WRACKLINE_ASSIGN(spec_.allowed_lateness, options_.span("allowed_lateness", Duration()));
    WRACKLINE_ASSIGN(spec_.ledger_horizon, options_.horizon("ledger_horizon"));
    spec_.late = late == "ledger" ? LatePolicy::kLedger
                 : late == "drop" ? LatePolicy::kDrop
                                  : LatePolicy::kCorrect;
    WRACKLINE_TRY(bind_drops());
    WRACKLINE_TRY(bind_ledger_retention(options_, spec_));
    WRACKLINE_TRY(bind_emission());
    if (spec_.late != LatePolicy::kCorrect && spec_.allowed_lateness > Duration()) {
      return contradiction("allowed_lateness", format("late = '{}'", late),
                           "Only late = 'correct' revises a window after its end; leave one of them out.");
    }
    if (spec_.late == LatePolicy::kDrop && options_.has("ledger_horizon")) {
      return contradiction("ledger_horizon", "late = 'drop'",
                           "Dropped records are in no ledger; leave one of them out.");
    }
    if (spec_.ledger_horizon && *spec_.ledger_horizon < spec_.allowed_lateness) {
      return contradiction(
          "ledger_horizon", format("allowed_lateness ({})", span_text(spec_.allowed_lateness.micros())),
          "A record within the allowed lateness must be acceptable: the horizon is the greater one.");
    }
    return {};
  }

  Status bind_emission() {
    WRACKLINE_ASSIGN(spec_.emit_empty, options_.on("emit_empty", false));
    WRACKLINE_ASSIGN(const std::string clock, options_.choice("emit_early_by", "event_time"));
    if (options_.has("emit_early")) {
      WRACKLINE_ASSIGN(const Duration every, options_.span("emit_early", Duration()));
      if (every <= Duration())
        return options_.wrong("emit_early", "an interval of nothing", "Write one such as '10 s'.");
      spec_.early = EarlyOptions{every, clock == "wall_time"};
    } else if (options_.has("emit_early_by")) {
      return options_.wrong("emit_early_by", "emit_early_by says nothing without emit_early",
                            "Add emit_early = '10 s', or leave it out.");
    }
    if (options_.has("max_session_length") && !spec_.session) {
      return contradiction("max_session_length", format("{}", upper(function_->name)),
                           "Only sessions grow with their records; leave it out.");
    }
    if (spec_.emit_empty && spec_.session) {
      return contradiction("emit_empty", "SESSION", "A session is where records are; leave it out.");
    }
    return {};
  }

  std::unexpected<Error> contradiction(std::string_view option, std::string other, std::string hint) const {
    return options_.wrong(option, format("{} contradicts {}", options_.name_of(option), other),
                          std::move(hint));
  }

  Status bind_drops() {
    if (spec_.late == LatePolicy::kDrop) {
      spec_.drop[Reason::kLate] = true;
      spec_.drop[Reason::kLateAfterIdle] = true;
    }
    if (!options_.has("drop")) return {};
    for (const std::string& name : options_.list("drop")) {
      const auto* known = std::ranges::find(kDroppable, name, [](const auto& entry) { return entry.first; });
      if (known == std::end(kDroppable)) return unknown_reason(name);
      const bool late = known->second == Reason::kLate || known->second == Reason::kLateAfterIdle;
      if (late && spec_.late == LatePolicy::kLedger) {
        return contradiction("drop", "late = 'ledger'",
                             "One keeps late records, the other discards them; keep one.");
      }
      spec_.drop[known->second] = true;
    }
    return {};
  }

  std::unexpected<Error> unknown_reason(const std::string& name) const {
    std::vector<std::string_view> names;
    for (const auto& [known, reason] : kDroppable) names.push_back(known);
    const std::string nearest = nearest_name(name, names);
    std::string hint = nearest.empty() ? "The reasons are:" : format("did you mean \"{}\"?", nearest);
    for (size_t i = 0; nearest.empty() && i < names.size(); ++i)
      hint += (i == 0 ? " " : ", ") + std::string(names[i]);
    return options_.wrong(
        "drop",
        format("{}: there is no reason \"{}\" to drop here", options_.name_of("drop"), printable(name)),
        std::move(hint));
  }

  // ---- GROUP BY

  Status bind_group_by() {
    bool has_start = false;
    bool has_end = false;
    for (size_t i = 0; i < view_.group_by.size(); ++i) {
      WRACKLINE_ASSIGN(const Syntax* key, resolve_key(*view_.group_by[i]));
      if (is_window_column(*key)) {
        (key->names.back() == "window_start" ? has_start : has_end) = true;
        continue;
      }
      WRACKLINE_ASSIGN(ExprPtr bound, ExpressionBinder(text_, scope("GROUP BY")).bind(*key));
      bound = expr::settle_unknown(std::move(bound));
      if (bound->type.kind == TypeKind::kJson) {
        return unsupported(
            view_.group_by[i]->position, "grouping by jsonb is not supported",
            "Equal values may be written differently; group by a field of it: data ->> 'page'.");
      }
      const auto known = [&](const ExprPtr& other) { return expr::same(*other, *bound); };
      if (std::ranges::any_of(spec_.keys, known)) continue;
      const bool as_written = key == view_.group_by[i].get() && i < view_.group_by_texts.size();
      key_texts_.push_back(as_written ? view_.group_by_texts[i] : item_text(key));
      spec_.keys.push_back(std::move(bound));
    }
    if (spec_.emit_empty && !spec_.keys.empty()) {
      return contradiction("emit_empty", "GROUP BY with keys",
                           "Which keys would an empty window have? Leave the keys out, or emit_empty.");
    }
    if (has_start && has_end) return {};
    return invalid(
        view_.group_position,
        view_.group_by.empty() ? "the view has no GROUP BY"
                               : format("GROUP BY lacks {}", has_start ? "window_end"
                                                             : has_end ? "window_start"
                                                                       : "window_start and window_end"),
        "Rows are counted per window: GROUP BY window_start, window_end, and the keys after them.");
  }

  bool is_window_column(const Syntax& syntax) const {
    return syntax.kind == SyntaxKind::kColumn &&
           (syntax.names.back() == "window_start" || syntax.names.back() == "window_end");
  }

  // PostgreSQL's rule: an integer is the place of a column of the SELECT list; a bare name is a column of the
  // source, or else the name of a column of the SELECT list; anything else is an expression.
  Result<const Syntax*> resolve_key(const Syntax& key) const {
    if (key.kind == SyntaxKind::kNumber) return resolve_ordinal(key);
    if (key.kind == SyntaxKind::kString || key.kind == SyntaxKind::kBoolean ||
        key.kind == SyntaxKind::kNull) {
      return invalid(key.position, "a constant in GROUP BY groups nothing",
                     "Leave it out, or name a column.");
    }
    if (key.kind != SyntaxKind::kColumn || key.names.size() != 1 || is_window_column(key)) return &key;
    const auto& fields = source().fields;
    if (std::ranges::find(fields, key.names[0], &Field::name) != fields.end()) return &key;
    const Syntax* found = nullptr;
    for (const SelectItem& item : view_.items) {
      if (column_name(item) != key.names[0]) continue;
      if (found != nullptr) {
        return invalid(key.position, format("\"{}\" in GROUP BY is ambiguous", printable(key.names[0])),
                       "Several columns of the SELECT list have this name; write the expression.");
      }
      found = item.expression.get();
    }
    return found == nullptr ? &key : found;
  }

  Result<const Syntax*> resolve_ordinal(const Syntax& key) const {
    for (size_t i = 0; i < view_.items.size(); ++i) {
      if (key.text == format("{}", i + 1)) return view_.items[i].expression.get();
    }
    return invalid(key.position, format("GROUP BY {} is not a place in the SELECT list", printable(key.text)),
                   format("A number in GROUP BY counts its columns, here 1 to {}.", view_.items.size()));
  }

  std::string item_text(const Syntax* expression) const {
    for (const SelectItem& item : view_.items) {
      if (item.expression.get() == expression) return item.text;
    }
    return {};
  }

  // ---- SELECT

  Status bind_select() {
    Scope scope = this->scope("the SELECT list");
    scope.windows = true;
    scope.aggregates = &spec_.aggregates;
    ExpressionBinder binder(text_, scope);
    for (const SelectItem& item : view_.items) {
      if (item.expression->kind == SyntaxKind::kStar) {
        return invalid(
            item.expression->position, "SELECT * is not supported here",
            "Name what a row of the view holds: window_start, window_end, the keys and the aggregates.");
      }
      WRACKLINE_ASSIGN(ExprPtr bound, binder.bind(*item.expression));
      bound = expr::settle_unknown(std::move(bound));
      WRACKLINE_TRY(to_output_row(*bound, scope));
      ViewColumn column{.name = column_name(item), .expression = std::move(bound)};
      column.identity =
          column.expression->kind == ExprKind::kColumn && column.expression->column < 2 + spec_.keys.size();
      spec_.columns.push_back(std::move(column));
    }
    WRACKLINE_TRY(rename_columns());
    WRACKLINE_TRY(check_names());
    name_keys();
    return {};
  }

  // ---- HAVING: a condition over the same row as the SELECT list, with aggregates of its own

  Status bind_having() {
    if (!view_.having) return {};
    Scope scope = this->scope("HAVING");
    scope.windows = true;
    scope.aggregates = &spec_.aggregates;
    Result<ExprPtr> bound = ExpressionBinder(text_, scope).bind_condition(*view_.having);
    if (!bound) return fail(explain_alias(std::move(bound).error()));
    spec_.having = std::move(*bound);
    return to_output_row(*spec_.having, scope);
  }

  // HAVING n > 1 with count(*) AS n: PostgreSQL does not know the names of the SELECT list there.
  Error explain_alias(Error error) const {
    for (const SelectItem& item : view_.items) {
      if (item.alias.text.empty() || error.code != ErrorCode::kNotFound) continue;
      if (error.message != format("column \"{}\" does not exist", item.alias.text)) continue;
      error.hint = format("HAVING does not know the names of the SELECT list; write {}.", item.text);
    }
    return error;
  }

  // Columns of the source, window and aggregates become columns of the output row, in place.
  Status to_output_row(expr::Expr& expression, const Scope& scope) const {
    for (size_t key = 0; key < spec_.keys.size(); ++key) {
      if (!expr::same(expression, *spec_.keys[key])) continue;
      const Type type = expression.type;
      expression = std::move(*expr::make_column(2 + key, type, expression.position));
      return {};
    }
    if (expression.kind != ExprKind::kColumn) {
      for (const ExprPtr& arg : expression.args) WRACKLINE_TRY(to_output_row(*arg, scope));
      return {};
    }
    if (expression.column >= scope.first_aggregate()) {
      expression.column += 2 + spec_.keys.size() - scope.first_aggregate();
    } else if (expression.column >= scope.window_start()) {
      expression.column -= scope.window_start();
    } else {
      const std::string& name = source().fields[expression.column].name;
      return invalid(
          static_cast<size_t>(expression.position),
          format("column \"{}\" must appear in GROUP BY or be used in an aggregate", name),
          format(
              "A group has many records: which one's {0}? GROUP BY {0} too, or say min({0}), count({0}), ...",
              name));
    }
    return {};
  }

  // As PostgreSQL names a column without an alias.
  static std::string default_name(const Syntax& syntax) {
    switch (syntax.kind) {
      case SyntaxKind::kColumn:
        return syntax.names.back();
      case SyntaxKind::kCall:
        return syntax.text == "timezone" ? "timezone" : syntax.text;
      case SyntaxKind::kCoalesce:
        return "coalesce";
      case SyntaxKind::kNullIf:
        return "nullif";
      case SyntaxKind::kBoolean:
        return "bool";
      case SyntaxKind::kCast: {
        const std::string inner = default_name(*syntax.args[0]);
        return inner == "?column?" ? syntax.type.name : inner;
      }
      case SyntaxKind::kCase: {
        const std::string inner = syntax.has_else ? default_name(*syntax.args.back()) : "?column?";
        return inner == "?column?" ? "case" : inner;
      }
      default:
        return "?column?";
    }
  }

  static std::string column_name(const SelectItem& item) {
    return item.alias.text.empty() ? default_name(*item.expression) : item.alias.text;
  }

  // CREATE MATERIALIZED VIEW v (a, b) AS ...
  Status rename_columns() {
    if (view_.column_names.size() > spec_.columns.size()) {
      return invalid(view_.name.position,
                     format("view \"{}\" names {} columns and selects {}", spec_.name,
                            view_.column_names.size(), spec_.columns.size()),
                     "Leave the names out, or give each column one.");
    }
    for (size_t i = 0; i < view_.column_names.size(); ++i) spec_.columns[i].name = view_.column_names[i];
    return {};
  }

  Status check_names() const {
    std::set<std::string_view> seen;
    for (size_t i = 0; i < spec_.columns.size(); ++i) {
      const std::string& name = spec_.columns[i].name;
      const SelectItem& item = view_.items[i];
      const size_t position = item.alias.text.empty() ? item.expression->position : item.alias.position;
      if (is_row_column(name)) {
        return invalid(
            position, format("column name \"{}\" is taken", name),
            "Every row carries _op, _version, _status and _generation itself; choose another name.");
      }
      if (seen.insert(name).second) continue;
      return invalid(position, format("column name \"{}\" is given twice", printable(name)),
                     "Name columns with AS: count(*) FILTER (WHERE ok) AS good.");
    }
    return {};
  }

  // The name of a key in the ledger: its column, or else what the SELECT list calls it, or else how it is
  // written.
  void name_keys() {
    for (size_t key = 0; key < spec_.keys.size(); ++key) {
      std::string name = key_texts_[key];
      for (const ViewColumn& column : spec_.columns) {
        const bool is_key =
            column.expression->kind == ExprKind::kColumn && column.expression->column == 2 + key;
        if (is_key) name = column.name;
      }
      if (spec_.keys[key]->kind == ExprKind::kColumn) name = source().fields[spec_.keys[key]->column].name;
      if (std::ranges::find(spec_.key_names, name) != spec_.key_names.end()) name = key_texts_[key];
      if (std::ranges::find(spec_.key_names, name) != spec_.key_names.end()) name += format(" ({})", key + 1);
      spec_.key_names.push_back(std::move(name));
    }
  }

  void mark_needed() {
    const auto mark = [&](size_t column) { source().fields[column].needed = true; };
    if (spec_.where) for_each_column(*spec_.where, mark);
    for (const ExprPtr& key : spec_.keys) for_each_column(*key, mark);
    for (const AggregateCall& call : spec_.aggregates) {
      if (call.argument) for_each_column(*call.argument, mark);
      if (call.filter) for_each_column(*call.filter, mark);
      for (const ExprPtr& key : call.sort_keys) for_each_column(*key, mark);
    }
  }

  const JobText& text_;
  const CreateView& view_;
  ViewSpec& spec_;
  const Options& options_;
  std::vector<BoundSource>& sources_;
  std::span<const BoundView> views_;
  std::vector<std::string> key_texts_;  // one a key
  const WindowFunction* function_ = nullptr;
};

}  // namespace

Result<BoundView> bind_view(const JobText& text, const CreateView& view, std::span<const Override> overrides,
                            std::vector<BoundSource>& sources, std::span<const BoundView> views) {
  WRACKLINE_ASSIGN(Options options,
                   Options::make(text, OptionOwner::kView, view.name, view.options, overrides));
  BoundView made{.spec = {}, .options = std::move(options), .syntax = &view};
  WRACKLINE_TRY(ViewBinder(text, view, made, sources, views).bind());
  return made;
}

}  // namespace wrackline::sql
