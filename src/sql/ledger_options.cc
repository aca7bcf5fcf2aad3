#include "sql/ledger_options.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sql/bind_expression.h"

namespace wrackline::sql {
namespace {

using ledger::Hide;

Status hide_columns(const Options& options, std::string_view option, Hide how, SourceSpec& source) {
  if (!options.has(option)) return {};
  source.ledger_hide.resize(source.fields.size(), Hide::kNothing);
  for (const std::string& name : options.list(option)) {
    WRACKLINE_ASSIGN(const size_t column, column_named(options, option, name, source.fields));
    const std::string what = format("{}: column \"{}\"", options.name_of(option), name);
    if (source.ledger_hide[column] != Hide::kNothing) {
      return options.wrong(option, what + " is named already",
                           "Keep it once, in ledger_mask or in ledger_hash.");
    }
    const bool is_time =
        source.event_time.column == column || (source.arrival_time && source.arrival_time->column == column);
    if (is_time) {
      return options.wrong(option, what + " is a time by which entries are judged",
                           "The ledger must show it to explain why a record is late; leave it out.");
    }
    if (source.partition && *source.partition == column) {
      return options.wrong(
          option, what + " is the partition",
          "The tick log and every entry name partitions; choose another partition, or leave it "
          "out.");
    }
    source.ledger_hide[column] = how;
  }
  return {};
}

// The most hidden first.
Hide stronger(Hide a, Hide b) {
  if (a == Hide::kMask || b == Hide::kMask) return Hide::kMask;
  return a == Hide::kHash || b == Hide::kHash ? Hide::kHash : Hide::kNothing;
}

// A count tells how many values there are, and none of them.
Hide hide_of_call(const AggregateCall& call, const SourceSpec& source) {
  Hide hide = Hide::kNothing;
  if (call.name == "count") return hide;
  if (call.argument) hide = stronger(hide, hide_of(*call.argument, source));
  for (const expr::ExprPtr& key : call.sort_keys) hide = stronger(hide, hide_of(*key, source));
  return hide;
}

// Of a column of the view's rows: window_start, window_end, keys, aggregates.
Hide hide_of_output(const ViewColumn& output, const ViewSpec& view, const SourceSpec& source) {
  Hide hide = Hide::kNothing;
  for_each_column(*output.expression, [&](size_t column) {
    if (column < 2) return;
    const size_t key = column - 2;
    hide = stronger(hide, key < view.keys.size()
                              ? hide_of(*view.keys[key], source)
                              : hide_of_call(view.aggregates[key - view.keys.size()], source));
  });
  return hide;
}

void hide_rows(SourceSpec& rows, std::span<const BoundSource> sources, std::span<const BoundView> views) {
  const ViewSpec& view = views[rows.of_view.view].spec;
  const SourceSpec& below = sources[view.source].spec;
  if (below.ledger_hide.empty()) return;
  rows.ledger_hide.resize(rows.fields.size(), Hide::kNothing);
  bool any = false;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    rows.ledger_hide[i] = hide_of_output(view.columns[i], view, below);
    any |= rows.ledger_hide[i] != Hide::kNothing;
  }
  if (!any) rows.ledger_hide.clear();
  rows.ledger_key_file = below.ledger_key_file;
}

void warn_of_results(BoundSource& source, const ViewSpec& view) {
  std::set<std::string> names;
  const auto note = [&](const expr::Expr& expression) {
    for_each_column(expression, [&](size_t column) {
      if (source.spec.ledger_hide[column] != Hide::kNothing) names.insert(source.spec.fields[column].name);
    });
  };
  for (const expr::ExprPtr& key : view.keys) note(*key);
  for (const AggregateCall& call : view.aggregates) {
    if (call.argument && call.name != "count") note(*call.argument);
    for (const expr::ExprPtr& key : call.sort_keys) note(*key);
  }
  for (const std::string& name : names) {
    source.warnings.push_back(format(
        "column \"{}\" of source \"{}\" is hidden in the ledger, but view \"{}\" computes with it: its "
        "results and checkpoints hold what it says",
        name, source.spec.name, view.name));
  }
}

}  // namespace

Status bind_ledger_masks(const Options& options, SourceSpec& source) {
  WRACKLINE_TRY(hide_columns(options, "ledger_mask", Hide::kMask, source));
  WRACKLINE_TRY(hide_columns(options, "ledger_hash", Hide::kHash, source));
  if (!options.has("ledger_key_file")) return {};
  source.ledger_key_file = options.text("ledger_key_file");
  if (source.ledger_hide.empty()) {
    return options.wrong("ledger_key_file",
                         format("{} says nothing without ledger_hash", options.name_of("ledger_key_file")),
                         "Name the columns to hash: ledger_hash = 'user_id'.");
  }
  if (source.ledger_key_file.empty() || source.ledger_key_file.contains('\0')) {
    return options.wrong("ledger_key_file", format("{} names no file", options.name_of("ledger_key_file")),
                         "Make one: openssl rand -hex 32 > ledger.key; chmod 600 ledger.key");
  }
  return {};
}

Status bind_ledger_retention(const Options& options, ViewSpec& view) {
  WRACKLINE_ASSIGN(view.ledger_retention, options.horizon("ledger_retention"));
  WRACKLINE_ASSIGN(view.ledger_entries_max, options.integer("ledger_max_entries"));
  constexpr size_t kStoreBytesMax = size_t{1} << 50;
  WRACKLINE_ASSIGN(const size_t bytes, options.bytes("ledger_max_bytes", 0, kStoreBytesMax));
  if (bytes > 0) view.ledger_bytes_max = static_cast<int64_t>(bytes);
  constexpr std::string_view kHint =
      "To keep no entries at all, drop the reasons: late = 'drop', or drop = 'late'.";
  if (view.ledger_retention && *view.ledger_retention <= Duration()) {
    return options.wrong("ledger_retention",
                         format("{} must be longer than nothing", options.name_of("ledger_retention")),
                         std::string(kHint));
  }
  if (view.ledger_entries_max && *view.ledger_entries_max < 1) {
    return options.wrong("ledger_max_entries",
                         format("{} must be at least 1", options.name_of("ledger_max_entries")),
                         std::string(kHint));
  }
  return {};
}

Hide hide_of(const expr::Expr& expression, const SourceSpec& source) {
  Hide hide = Hide::kNothing;
  if (source.ledger_hide.empty()) return hide;
  for_each_column(expression, [&](size_t column) { hide = stronger(hide, source.ledger_hide[column]); });
  return hide;
}

void derive_ledger_masks(std::span<BoundSource> sources, std::span<const BoundView> views) {
  // A source of a view's rows stands behind the source that the view reads.
  for (BoundSource& source : sources) {
    if (source.spec.connector == SourceConnector::kView) hide_rows(source.spec, sources, views);
  }
  for (const BoundView& view : views) {
    BoundSource& source = sources[view.spec.source];
    if (!source.spec.ledger_hide.empty()) warn_of_results(source, view.spec);
  }
}

}  // namespace wrackline::sql
