#include "connectors/sink_sqlite_table.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include "base/text.h"

namespace wrackline::connectors {
namespace {

using sqlite::quoted_name;

constexpr std::array<std::string_view, 3> kOurColumns{"_version", "_status", "_generation"};
constexpr int kDigitsInteger = 18;  // every decimal integer of so many digits fits 64 bits

// SQLite compares names of columns without regard to ASCII case.
std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// SQLite's rules for the affinity of a declared type ("Datatypes In SQLite", section 3.1).
std::string_view affinity(std::string_view declared) {
  const std::string type = lower(declared);
  const auto has = [&type](std::string_view part) { return type.find(part) != std::string::npos; };
  if (has("int")) return "integer";
  if (has("char") || has("clob") || has("text")) return "text";
  if (has("blob") || type.empty()) return "any";
  if (has("real") || has("floa") || has("doub")) return "real";
  return "numeric";
}

}  // namespace

std::string_view sqlite_type(const Type& type) {
  switch (type.kind) {
    case TypeKind::kBoolean:
    case TypeKind::kInteger:
      return "INTEGER";
    case TypeKind::kDouble:
      return "REAL";
    case TypeKind::kNumeric:
      if (type.scale > 0) return "TEXT";
      return type.scale == 0 && type.precision > 0 && type.precision <= kDigitsInteger ? "INTEGER" : "";
    case TypeKind::kText:
    case TypeKind::kJson:
    case TypeKind::kTimestamp:
    case TypeKind::kDate:
    case TypeKind::kInterval:
      return "TEXT";
  }
  return "TEXT";
}

SqliteTable::SqliteTable(std::string name, const std::vector<OutputColumn>& columns)
    : name_(std::move(name)) {
  for (size_t i = 0; i < columns.size(); ++i) {
    columns_.push_back({columns[i].name, std::string(sqlite_type(columns[i].type)), columns[i].identity});
    if (columns[i].identity) identity_.push_back(i);
  }
  columns_.push_back({"_version", "INTEGER", false});
  columns_.push_back({"_status", "TEXT", false});
  columns_.push_back({"_generation", "INTEGER", false});
}

std::string SqliteTable::key_list() const {
  std::string list;
  for (const size_t i : identity_) list += (list.empty() ? "" : ", ") + quoted_name(columns_[i].name);
  return list;
}

std::string SqliteTable::null_identity() const {
  std::string condition;
  for (const size_t i : identity_) {
    condition += format("{}{} IS NULL", condition.empty() ? "" : " OR ", quoted_name(columns_[i].name));
  }
  return condition;
}

std::string SqliteTable::null_free_keys() const {
  std::string list;
  for (const size_t i : identity_) {
    list += format("{}ifnull({}, x'')", list.empty() ? "" : ", ", quoted_name(columns_[i].name));
  }
  return list;
}

Status SqliteTable::check_names() const {
  std::set<std::string> seen;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool ours = i + kOurColumns.size() >= columns_.size();
    if (!seen.insert(lower(columns_[i].name)).second) {
      return fail(ErrorCode::kInvalid,
                  ours ? format("column name \"{}\" is taken by the sink itself", columns_[i].name)
                       : format("two columns named \"{}\" in table \"{}\"", columns_[i].name, name_),
                  ours ? "" : "SQLite takes names that differ only in case for one.",
                  "Rename the column with AS in the view.");
    }
  }
  return {};
}

Status SqliteTable::make_or_check(sqlite::Database& database) const {
  WRACKLINE_TRY(check_names());
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database.prepare("SELECT type FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type IN "
                       "('table', 'view')"));
  statement.bind_text(1, name_);
  WRACKLINE_ASSIGN(const bool exists, statement.step());
  if (!exists) return make(database);
  if (statement.text(0) == "view") {
    return fail(ErrorCode::kInvalid,
                format("\"{}\" in database \"{}\" is a view, not a table", name_, database.path()), {},
                "Give the sink another table with table = '...'.");
  }
  statement.reset();
  WRACKLINE_TRY(check_columns(database));
  return make(database);  // the index may be missing in a table that the user made
}

Status SqliteTable::make(sqlite::Database& database) const {
  std::string sql = format("CREATE TABLE IF NOT EXISTS {} (", quoted_name(name_));
  for (const StoredColumn& column : columns_) {
    sql += format("{}{}{}{}", &column == columns_.data() ? "" : ", ", quoted_name(column.name),
                  column.type.empty() ? "" : " ", column.type);
    if (&column - columns_.data() >= static_cast<ptrdiff_t>(columns_.size() - kOurColumns.size()))
      sql += " NOT NULL";
  }
  if (has_identity()) sql += format(", PRIMARY KEY ({})", key_list());
  WRACKLINE_TRY(database.exec(sql + ")"));
  if (!has_identity()) return {};
  return database.exec(format("CREATE UNIQUE INDEX IF NOT EXISTS {} ON {} ({}) WHERE {}",
                              quoted_name("_wrackline_null_key_" + name_), quoted_name(name_),
                              null_free_keys(), null_identity()));
}

Status SqliteTable::check_columns(sqlite::Database& database) const {
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database.prepare("SELECT name, type, pk FROM pragma_table_info(?1)"));
  statement.bind_text(1, name_);
  std::string have;
  std::string want;
  bool same = true;
  const auto shown = [](std::string& list, std::string_view name, std::string_view type, bool key) {
    list += format("{}{}{}{}{}", list.empty() ? "" : ", ", name, type.empty() ? "" : " ", type,
                   key ? " key" : "");
  };
  size_t count = 0;
  for (;; ++count) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) break;
    const bool key = statement.integer(2) > 0;
    shown(have, statement.text(0), statement.text(1), key);
    same = same && count < columns_.size() && lower(statement.text(0)) == lower(columns_[count].name) &&
           affinity(statement.text(1)) == affinity(columns_[count].type) && key == columns_[count].key;
  }
  if (same && count == columns_.size()) return {};
  for (const StoredColumn& column : columns_) shown(want, column.name, column.type, column.key);
  return fail(
      ErrorCode::kInvalid,
      format("table \"{}\" in database \"{}\" has other columns than the view", name_, database.path()),
      format("It has ({}); the view needs ({}).", have, want),
      "Give the sink another table with table = '...', or drop this one if its rows are not needed.");
}

std::string SqliteTable::upsert_sql() const {
  std::string names;
  std::string values;
  std::string changes;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string name = quoted_name(columns_[i].name);
    names += (i > 0 ? ", " : "") + name;
    values += format("{}?{}", i > 0 ? ", " : "", i + 1);
    if (!columns_[i].key) changes += format("{}{} = excluded.{}", changes.empty() ? "" : ", ", name, name);
  }
  const std::string table = quoted_name(name_);
  std::string sql = format("INSERT INTO {} ({}) VALUES ({})", table, names, values);
  if (!has_identity()) return sql;
  const std::string update = format(
      "DO UPDATE SET {1} WHERE (excluded._generation, excluded._version) > ({0}._generation, {0}._version)",
      table, changes);
  return sql + format(" ON CONFLICT ({}) {} ON CONFLICT ({}) WHERE {} {}", key_list(), update,
                      null_free_keys(), null_identity(), update);
}

std::string SqliteTable::retract_sql() const {
  std::string sql = format("DELETE FROM {} WHERE ", quoted_name(name_));
  size_t parameter = 0;
  for (const size_t i : identity_)
    sql += format("{} IS ?{} AND ", quoted_name(columns_[i].name), ++parameter);
  return sql + format("(_generation, _version) <= (?{}, ?{})", parameter + 2, parameter + 1);
}

std::string SqliteTable::remove_older_sql() const {
  return format("DELETE FROM {} WHERE _generation < ?1", quoted_name(name_));
}

}  // namespace wrackline::connectors
