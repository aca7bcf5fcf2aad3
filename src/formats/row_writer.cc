#include "formats/row_writer.h"

#include "base/check.h"
#include "formats/row_cells.h"

namespace wrackline::formats {
namespace {

void check_shape(const Rows& rows, size_t column_count) {
  WRACKLINE_CHECK(rows.columns.size() == column_count,
                  format("{} columns, expected {}", rows.columns.size(), column_count));
  WRACKLINE_CHECK(rows.ops.codes.size() >= rows.count && rows.versions.size() >= rows.count &&
                      rows.statuses.codes.size() >= rows.count,
                  format("{} rows", rows.count));
}

class JsonlWriter final : public RowWriter {
 public:
  explicit JsonlWriter(const std::vector<RowColumn>& columns) : memos_(columns.size()) {
    for (const RowColumn& column : columns) {
      std::string prefix = prefixes_.empty() ? "{" : ",";
      append_json_quoted(prefix, column.name);
      prefixes_.push_back(prefix + ":");
    }
  }

  void begin(std::string& /*out*/) override {}
  void flush(std::string& /*out*/) override {}

  void append(std::string& out, const Rows& rows) override {
    check_shape(rows, prefixes_.size());
    make_tails(rows);
    for (size_t row = 0; row < rows.count; ++row) {
      for (size_t i = 0; i < prefixes_.size(); ++i) {
        out += prefixes_[i];
        append_json_cell(out, rows.columns[i], row, memos_[i]);
      }
      out += after_columns_[rows.ops.codes[row]];
      append_integer(out, rows.versions[row]);
      out += after_version_[rows.statuses.codes[row]];
    }
  }

 private:
  // What follows the columns is the same for all rows of one op, and what follows the version for all of one
  // status.
  void make_tails(const Rows& rows) {
    after_columns_.clear();
    after_version_.clear();
    for (const std::string_view name : rows.ops.names) {
      after_columns_.push_back(format("{}\"_op\":\"{}\",\"_version\":", prefixes_.empty() ? "{" : ",", name));
    }
    for (const std::string_view name : rows.statuses.names) {
      after_version_.push_back(format(",\"_status\":\"{}\",\"_generation\":{}}}\n", name, rows.generation));
    }
  }

  std::vector<std::string> prefixes_;  // {"a":  then  ,"b":
  std::vector<TimeMemo> memos_;
  std::vector<std::string> after_columns_, after_version_;
};

void append_csv_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t quote = text.find('"', at);
    const size_t end = quote == std::string_view::npos ? text.size() : quote + 1;
    out += text.substr(at, end - at);
    if (quote != std::string_view::npos) out += '"';
    at = end;
  }
  out += '"';
}

void append_csv_text(std::string& out, std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' ||
      text.find_first_of(",\"\r\n") != std::string_view::npos) {
    return append_csv_quoted(out, text);
  }
  out += text;
}

class CsvWriter final : public RowWriter {
 public:
  explicit CsvWriter(const std::vector<RowColumn>& columns) : columns_(columns), memos_(columns.size()) {}

  void begin(std::string& out) override {
    for (const RowColumn& column : columns_) {
      append_csv_text(out, column.name);
      out += ',';
    }
    out += "_op,_version,_status,_generation\n";
  }
  void flush(std::string& /*out*/) override {}

  void append(std::string& out, const Rows& rows) override {
    check_shape(rows, columns_.size());
    make_tails(rows);
    for (size_t row = 0; row < rows.count; ++row) {
      for (size_t i = 0; i < columns_.size(); ++i) {
        append_cell(out, rows.columns[i], row, memos_[i]);
        out += ',';
      }
      out += rows.ops.at(row);
      out += ',';
      append_integer(out, rows.versions[row]);
      out += tails_[rows.statuses.codes[row]];
    }
  }

 private:
  static void append_cell(std::string& out, const Column& column, size_t row, TimeMemo& memo) {
    if (column.is_null(row)) return;
    switch (column.type().kind) {
      case TypeKind::kInteger:
        return append_integer(out, column.values<int64_t>()[row]);
      case TypeKind::kTimestamp:
        return append_time_cell(out, column, row, memo);
      case TypeKind::kText:
      case TypeKind::kJson:
        return append_csv_text(out, column.values<std::string_view>()[row]);
      default:
        append_text(out, column, row);
    }
  }
  void make_tails(const Rows& rows) {
    tails_.clear();
    for (const std::string_view name : rows.statuses.names)
      tails_.push_back(format(",{},{}\n", name, rows.generation));
  }

  std::vector<RowColumn> columns_;
  std::vector<TimeMemo> memos_;
  std::vector<std::string> tails_;
};

}  // namespace

std::unique_ptr<RowWriter> make_jsonl_writer(const std::vector<RowColumn>& columns) {
  return std::make_unique<JsonlWriter>(columns);
}

std::unique_ptr<RowWriter> make_csv_writer(const std::vector<RowColumn>& columns) {
  return std::make_unique<CsvWriter>(columns);
}

}  // namespace wrackline::formats
