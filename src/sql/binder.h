// Statements to the parts of a job: names found, types checked, options read, contradictions refused.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "sql/job.h"
#include "sql/job_text.h"
#include "sql/options.h"
#include "sql/syntax.h"

namespace wrackline::sql {

// A part of the job with what its explanation needs beside it.
struct BoundSource {
  SourceSpec spec;
  Options options;
  std::vector<std::string> warnings;
};

struct BoundView {
  ViewSpec spec;
  Options options;
  const CreateView* syntax = nullptr;
};

struct BoundSink {
  SinkSpec spec;
  Options options;
};

// `views` are those of the whole job: the hint for a missing watermark delay names the window of the first
// that reads this source. `follow` is the command line's --follow.
Result<BoundSource> bind_source(const JobText& text, const CreateTable& table,
                                std::span<const Override> overrides, std::span<const CreateView* const> views,
                                bool follow);

// Marks the fields that the view reads as needed. A view that reads one of `views`, which stand before it,
// adds a source for it.
Result<BoundView> bind_view(const JobText& text, const CreateView& view, std::span<const Override> overrides,
                            std::vector<BoundSource>& sources, std::span<const BoundView> views);

Result<BoundSink> bind_sink(const JobText& text, const CreateTable& table,
                            std::span<const Override> overrides);

struct BoundInsert {
  InsertSpec spec;
  std::vector<std::string> warnings;
};

// Checks that the sink can take what the view publishes.
Result<BoundInsert> bind_insert(const JobText& text, const Insert& insert, std::span<const BoundView> views,
                                std::span<const BoundSink> sinks);

// True if the view may publish a second version of a row.
bool can_correct(const ViewSpec& view);

// What tells the rows of the view apart and is not in its SELECT list: "window_start", names of keys.
std::vector<std::string> missing_identity(const ViewSpec& view);

// The column that the option `name` of a table names. Errors: kNotFound with the nearest column.
Result<size_t> option_column(const Options& options, std::string_view name, const std::vector<Field>& fields);
// The same for one name of a list.
Result<size_t> column_named(const Options& options, std::string_view option, const std::string& wanted,
                            const std::vector<Field>& fields);

// Columns with their types; refuses a name that occurs twice or that output rows use themselves.
Result<std::vector<Field>> bind_columns(const JobText& text, const std::vector<ColumnSyntax>& columns);

// Names that every output row carries: _op, _version, _status, _generation.
bool is_row_column(std::string_view name);

// Where a path of the job leads, seen from where the command was started.
std::string path_from_here(std::string_view job_path, std::string_view path);

// `wrackline budget clicks/*.jsonl --event-time at ...`: the command that finds the watermark delay of this
// source.
std::string budget_command(const SourceSpec& source, const Options& options, std::string_view job_path,
                           std::string_view window);

}  // namespace wrackline::sql
