#include "sql/job.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sql/binder.h"
#include "sql/dedup_horizon.h"
#include "sql/deep_stack.h"
#include "sql/explain.h"
#include "sql/ledger_options.h"
#include "sql/syntax.h"

namespace wrackline::sql {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// --set name.option=value, split at the last dot: option names have none.
Result<std::vector<Override>> read_overrides(const JobOptions& options) {
  std::vector<Override> overrides;
  for (const auto& [name, value] : options.set) {
    const size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0 || dot + 1 == name.size()) {
      return fail(ErrorCode::kInvalid, format("from --set: \"{}\" does not name an option", printable(name)),
                  {}, "Write --set source.option=value, such as --set clicks.path=clicks.jsonl.");
    }
    if (!is_valid_utf8(value) || value.find('\0') != value.npos) {
      return fail(ErrorCode::kInvalid, format("from --set {}: the value is not UTF-8", printable(name)));
    }
    overrides.push_back({name.substr(0, dot), name.substr(dot + 1), value});
  }
  return overrides;
}

class JobBinder {
 public:
  JobBinder(const JobText& text, const std::vector<JobStatement>& statements,
            std::span<const Override> overrides, bool follow)
      : text_(text), statements_(statements), overrides_(overrides), follow_(follow) {}

  Result<Job> bind() {
    WRACKLINE_TRY(sort_statements());
    WRACKLINE_TRY(check_names());
    WRACKLINE_TRY(check_overrides());
    for (const CreateTable* table : source_tables_) {
      WRACKLINE_ASSIGN(BoundSource source, bind_source(text_, *table, overrides_, views_, follow_));
      bound_sources_.push_back(std::move(source));
    }
    for (const CreateView* view : views_) {
      WRACKLINE_ASSIGN(BoundView bound, bind_view(text_, *view, overrides_, bound_sources_, bound_views_));
      bound_views_.push_back(std::move(bound));
    }
    derive_dedup_horizons(bound_sources_, bound_views_);
    derive_ledger_masks(bound_sources_, bound_views_);
    for (const BoundSource& source : bound_sources_) warn(source.warnings);
    for (const CreateTable* table : sink_tables_) {
      WRACKLINE_ASSIGN(BoundSink sink, bind_sink(text_, *table, overrides_));
      bound_sinks_.push_back(std::move(sink));
    }
    for (const Insert* insert : inserts_) WRACKLINE_TRY(add_insert(*insert));
    WRACKLINE_TRY(check_paths());
    warn_of_unused();
    return finish();
  }

 private:
  void warn(const std::vector<std::string>& warnings) {
    job_.warnings.insert(job_.warnings.end(), warnings.begin(), warnings.end());
  }

  // A table is a sink if some INSERT names it or if its connector only writes.
  bool is_sink(const CreateTable& table) const {
    const bool inserted = std::ranges::any_of(
        inserts_, [&](const Insert* insert) { return insert->sink.text == table.name.text; });
    if (inserted) return true;
    for (const OptionSyntax& option : table.options) {
      if (option.name.text != "connector") continue;
      const OptionInfo* source = find_option(OptionOwner::kSource, "connector");
      const bool reads = option.value == "kafka" || option.value == "generator" ||
                         format("|{}|", source->choices).contains(format("|{}|", option.value));
      const bool writes = option.value == "stdout" || option.value == "sqlite" ||
                          option.value == "postgres" || option.value == "parquet";
      return writes && !reads;
    }
    return false;
  }

  Status sort_statements() {
    for (const JobStatement& statement : statements_) {
      if (const auto* view = std::get_if<CreateView>(&statement.body)) views_.push_back(view);
      if (const auto* insert = std::get_if<Insert>(&statement.body)) inserts_.push_back(insert);
    }
    for (const JobStatement& statement : statements_) {
      const auto* table = std::get_if<CreateTable>(&statement.body);
      if (table != nullptr) (is_sink(*table) ? sink_tables_ : source_tables_).push_back(table);
    }
    if (!views_.empty()) return {};
    return fail(ErrorCode::kInvalid,
                statements_.empty() ? format("job \"{}\" is empty", text_.path())
                                    : format("job \"{}\" has no view", text_.path()),
                {},
                "A job has at least a source and a view: CREATE TABLE clicks (...) WITH (connector = 'file', "
                "...); CREATE "
                "MATERIALIZED VIEW clicks_per_minute AS SELECT ... FROM TUMBLE(clicks, at, INTERVAL '1 "
                "minute') ...;");
  }

  // All names of the job in the order of the text.
  std::vector<const Name*> names() const {
    std::vector<const Name*> names;
    for (const JobStatement& statement : statements_) {
      if (const auto* table = std::get_if<CreateTable>(&statement.body)) names.push_back(&table->name);
      if (const auto* view = std::get_if<CreateView>(&statement.body)) names.push_back(&view->name);
    }
    return names;
  }

  Status check_names() const {
    std::vector<const Name*> seen;
    for (const Name* name : names()) {
      const auto first =
          std::ranges::find(seen, name->text, [](const Name* n) { return std::string_view(n->text); });
      if (first != seen.end()) {
        return fail(text_.error(
            name->position, ErrorCode::kInvalid, format("the name \"{}\" is taken", printable(name->text)),
            format("Line {} has it already; sources, views and sinks share one set of names.",
                   text_.place((*first)->position).line)));
      }
      seen.push_back(name);
    }
    return {};
  }

  Status check_overrides() const {
    std::vector<std::string_view> known;
    for (const Name* name : names()) known.push_back(name->text);
    for (const Override& override : overrides_) {
      if (std::ranges::find(known, override.owner) != known.end()) continue;
      const std::string nearest = nearest_name(override.owner, known);
      std::string hint =
          nearest.empty() ? "The names of the job are:" : format("did you mean \"{}\"?", nearest);
      for (size_t i = 0; nearest.empty() && i < known.size(); ++i)
        hint += (i == 0 ? " " : ", ") + std::string(known[i]);
      return fail(ErrorCode::kNotFound,
                  format("from --set {}.{}: the job has no source, view or sink \"{}\"",
                         printable(override.owner), printable(override.option), printable(override.owner)),
                  {}, std::move(hint));
    }
    return {};
  }

  Status add_insert(const Insert& insert) {
    WRACKLINE_ASSIGN(BoundInsert bound, bind_insert(text_, insert, bound_views_, bound_sinks_));
    const auto other = std::ranges::find(job_.inserts, bound.spec.sink, &InsertSpec::sink);
    if (other != job_.inserts.end()) {
      return fail(text_.error(insert.sink.position, ErrorCode::kUnsupported,
                              format("sink \"{}\" takes view \"{}\" already", insert.sink.text,
                                     bound_views_[other->view].spec.name),
                              "A sink takes one view; declare another sink for the other."));
    }
    warn(bound.warnings);
    job_.inserts.push_back(bound.spec);
    return {};
  }

  // No two sinks write to one place, and none writes what a source reads.
  Status check_paths() const {
    std::set<std::pair<std::string, std::string>> taken;
    for (const BoundSink& sink : bound_sinks_) {
      if (sink.spec.connector == SinkConnector::kStdout) continue;
      const bool postgres = sink.spec.connector == SinkConnector::kPostgres;
      const std::string_view where = postgres ? "url" : "path";
      if (!taken.insert({postgres ? sink.spec.url : sink.spec.path, sink.spec.table}).second) {
        return sink.options.wrong(
            where, format("{}: another sink writes there already", sink.options.name_of(where)),
            "Give each sink its own file, or its own table.");
      }
      if (postgres) continue;
      for (const BoundSource& source : bound_sources_) {
        if (std::ranges::find(source.spec.paths, sink.spec.path) == source.spec.paths.end()) continue;
        return sink.options.wrong(
            "path",
            format("{}: source \"{}\" reads this file", sink.options.name_of("path"), source.spec.name),
            "A job must not write over its own input; choose another path.");
      }
    }
    return {};
  }

  void warn_of_unused() {
    for (size_t i = 0; i < bound_sources_.size(); ++i) {
      const auto reads = [&](const BoundView& view) { return view.spec.source == i; };
      if (std::ranges::any_of(bound_views_, reads)) continue;
      job_.warnings.push_back(format("source \"{}\" is read by no view", bound_sources_[i].spec.name));
    }
    for (size_t i = 0; i < bound_sinks_.size(); ++i) {
      if (std::ranges::find(job_.inserts, i, &InsertSpec::sink) != job_.inserts.end()) continue;
      const std::string& name = bound_sinks_[i].spec.name;
      job_.warnings.push_back(format("sink \"{0}\" gets nothing: no INSERT INTO {0}", name));
    }
  }

  Job finish() {
    job_.path = text_.path();
    job_.text = text_.text();
    job_.explanation = explain(text_, bound_sources_, bound_views_, bound_sinks_, job_.inserts);
    for (BoundSource& source : bound_sources_) job_.sources.push_back(std::move(source.spec));
    for (BoundView& view : bound_views_) job_.views.push_back(std::move(view.spec));
    for (BoundSink& sink : bound_sinks_) job_.sinks.push_back(std::move(sink.spec));
    return std::move(job_);
  }

  const JobText& text_;
  const std::vector<JobStatement>& statements_;
  std::span<const Override> overrides_;
  bool follow_;

  std::vector<const CreateTable*> source_tables_;
  std::vector<const CreateTable*> sink_tables_;
  std::vector<const CreateView*> views_;
  std::vector<const Insert*> inserts_;
  std::vector<BoundSource> bound_sources_;
  std::vector<BoundView> bound_views_;
  std::vector<BoundSink> bound_sinks_;
  Job job_;
};

Result<Job> parse_here(const JobText& text, const JobOptions& options) {
  WRACKLINE_ASSIGN(const std::vector<Override> overrides, read_overrides(options));
  WRACKLINE_ASSIGN(const std::vector<JobStatement> statements, parse_statements(text));
  return JobBinder(text, statements, overrides, options.follow).bind();
}

}  // namespace

Result<Job> parse_job(std::string_view text, std::string path, const JobOptions& options) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const JobText job_text(text, path);
  Result<Job> job = fail(ErrorCode::kInvalid, "not parsed");
  WRACKLINE_TRY(run_on_deep_stack([&] { job = parse_here(job_text, options); }));
  return job;
}

}  // namespace wrackline::sql
