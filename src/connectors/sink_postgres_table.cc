#include "connectors/sink_postgres_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/text.h"
#include "postgres/binary_array.h"

namespace wrackline::connectors {
namespace {

using postgres::quoted_name;
using postgres::Row;

constexpr size_t kOurColumns = 4;  // _version, _status, _generation, _deleted

std::string text(const Row& row, size_t column) {
  return row[column].value_or("");
}

}  // namespace

PostgresTable::PostgresTable(std::string_view name, const std::vector<OutputColumn>& columns) {
  const size_t dot = name.find('.');
  if (dot != name.npos) schema_ = name.substr(0, dot);
  name_ = dot == name.npos ? name : name.substr(dot + 1);
  for (size_t i = 0; i < columns.size(); ++i) {
    columns_.push_back({columns[i].name, to_string(columns[i].type), postgres::array_type(columns[i].type)});
    if (columns[i].identity) identity_.push_back(i);
  }
  columns_.push_back({"_version", "bigint", "bigint[]"});
  columns_.push_back({"_status", "text", "text[]"});
  columns_.push_back({"_generation", "bigint", "bigint[]"});
  columns_.push_back({"_deleted", "boolean", "boolean[]"});
}

std::string PostgresTable::in_schema(std::string_view name) const {
  return format("{}.{}", quoted_name(schema_), quoted_name(name));
}

std::string PostgresTable::bookkeeping() const {
  return in_schema("_wrackline_sinks");
}

std::string PostgresTable::key_list() const {
  std::string list;
  for (const size_t i : identity_) list += (list.empty() ? "" : ", ") + quoted_name(columns_[i].name);
  return list;
}

std::unexpected<Error> PostgresTable::misfit(const postgres::Connection& connection, std::string what,
                                             std::string detail) const {
  return fail(ErrorCode::kInvalid, format("{} in {} {}", in_schema(rows_name()), connection.place(), what),
              std::move(detail),
              format("Give the sink another table with table = '...', or drop it if its rows are not needed: "
                     "DROP TABLE {} CASCADE.",
                     in_schema(rows_name())));
}

Status PostgresTable::find_schema(postgres::Connection& connection) {
  const bool given = !schema_.empty();
  const Result<std::vector<Row>> rows =
      given ? connection.query("SELECT nspname FROM pg_namespace WHERE nspname = $1", std::array{schema_})
            : connection.query("SELECT current_schema()");
  if (!rows) return fail(rows.error());
  const std::vector<Row>& found = *rows;
  if (!found.empty() && found[0][0]) {
    schema_ = *found[0][0];
    return {};
  }
  if (given) {
    return fail(ErrorCode::kNotFound, format("there is no schema \"{}\" in {}", schema_, connection.place()),
                {},
                format("Create it with CREATE SCHEMA {}, or correct table = '...'.", quoted_name(schema_)));
  }
  return fail(ErrorCode::kNotFound, format("no schema of the search path exists in {}", connection.place()),
              {}, "Name one: table = 'public.minutes'.");
}

Status PostgresTable::check_names() const {
  std::set<std::string> seen;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (seen.insert(columns_[i].name).second) continue;
    const bool ours = i + kOurColumns >= columns_.size();
    return fail(ErrorCode::kInvalid,
                ours ? format("column name \"{}\" is taken by the sink itself", columns_[i].name)
                     : format("two columns named \"{}\" in table \"{}\"", columns_[i].name, name_),
                {}, "Rename the column with AS in the view.");
  }
  return {};
}

Result<bool> PostgresTable::exists(postgres::Connection& connection) const {
  WRACKLINE_ASSIGN(const std::vector<Row> rows, connection.query("SELECT to_regclass($1) IS NOT NULL",
                                                                 std::array{in_schema(rows_name())}));
  return text(rows[0], 0) == "t";
}

Status PostgresTable::make_or_check(postgres::Connection& connection) const {
  WRACKLINE_TRY(check_names());
  WRACKLINE_ASSIGN(const std::vector<Row> kinds,
                   connection.query("SELECT relname, relkind FROM pg_class JOIN pg_namespace n ON n.oid = "
                                    "relnamespace WHERE nspname = $1 AND relname IN ($2, $3)",
                                    std::array{schema_, name_, rows_name()}));
  std::map<std::string, std::string> kind;
  for (const Row& row : kinds) kind[text(row, 0)] = text(row, 1);
  if (kind.contains(rows_name())) {
    if (kind[rows_name()] != "r" && kind[rows_name()] != "p")
      return misfit(connection, "is not a table", "The sink keeps its rows there.");
    WRACKLINE_TRY(check_columns(connection));
    if (has_identity()) WRACKLINE_TRY(check_key(connection));
  } else {
    WRACKLINE_TRY(make_rows(connection));
  }
  if (kind.contains(name_) && kind[name_] != "v") {
    return fail(
        ErrorCode::kInvalid,
        format("{} in {} exists and was not made by this sink", in_schema(name_), connection.place()),
        format("The sink makes a view of this name for readers; its rows are in {}.", in_schema(rows_name())),
        "Give the sink another table with table = '...', or rename the one that is there.");
  }
  return make_view(connection, kind.contains(name_));
}

Status PostgresTable::make_rows(postgres::Connection& connection) const {
  std::string sql = format("CREATE TABLE {} (", in_schema(rows_name()));
  for (size_t i = 0; i < columns_.size(); ++i) {
    sql += format("{}{} {}{}", i > 0 ? ", " : "", quoted_name(columns_[i].name), columns_[i].type,
                  i + kOurColumns >= columns_.size() ? " NOT NULL" : "");
  }
  if (has_identity()) sql += format(", UNIQUE NULLS NOT DISTINCT ({})", key_list());
  return connection.exec(sql + ")");
}

Status PostgresTable::make_view(postgres::Connection& connection, bool exists) const {
  if (exists) {
    WRACKLINE_ASSIGN(
        const std::vector<Row> reads,
        connection.query("SELECT EXISTS (SELECT FROM pg_rewrite r JOIN pg_depend d ON d.objid = r.oid WHERE "
                         "r.ev_class = to_regclass($1) AND d.refobjid = to_regclass($2))",
                         std::array{in_schema(name_), in_schema(rows_name())}));
    if (text(reads[0], 0) == "t") return {};
    return fail(ErrorCode::kInvalid,
                format("view {} in {} does not read {}", in_schema(name_), connection.place(),
                       in_schema(rows_name())),
                "The sink makes a view of this name for readers.",
                "Give the sink another table with table = '...', or drop the view that is there.");
  }
  std::string sql = format("CREATE VIEW {} AS SELECT ", in_schema(name_));
  for (size_t i = 0; i + 1 < columns_.size(); ++i) sql += (i > 0 ? ", " : "") + quoted_name(columns_[i].name);
  return connection.exec(sql + format(" FROM {} WHERE NOT _deleted", in_schema(rows_name())));
}

Status PostgresTable::check_columns(postgres::Connection& connection) const {
  WRACKLINE_ASSIGN(
      const std::vector<Row> rows,
      connection.query("SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE "
                       "attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
                       std::array{in_schema(rows_name())}));
  std::map<std::string, std::string> have;
  for (const Row& row : rows) have[text(row, 0)] = text(row, 1);
  std::string differences;
  const auto differs = [&](std::string what) { differences += (differences.empty() ? "" : "; ") + what; };
  for (const StoredColumn& column : columns_) {
    const auto found = have.find(column.name);
    if (found == have.end()) {
      differs(format("column \"{}\" ({}) is missing", column.name, column.type));
    } else if (found->second != column.type) {
      differs(format("column \"{}\" is {}, and the view's is {}", column.name, found->second, column.type));
    }
    if (found != have.end()) have.erase(found);
  }
  for (const auto& [name, type] : have) differs(format("column \"{}\" ({}) is not in the view", name, type));
  if (differences.empty()) return {};
  return misfit(connection, "has other columns than the view", format("There {}.", differences));
}

Status PostgresTable::check_key(postgres::Connection& connection) const {
  WRACKLINE_ASSIGN(
      const std::vector<Row> keys,
      connection.query(
          "SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname COLLATE \"C\") FROM pg_index JOIN "
          "pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey) WHERE indrelid = to_regclass($1) "
          "AND "
          "indisunique AND indnullsnotdistinct AND indpred IS NULL GROUP BY indexrelid",
          std::array{in_schema(rows_name())}));
  std::vector<std::string> names;
  for (const size_t i : identity_) names.push_back(columns_[i].name);
  std::ranges::sort(names);
  WRACKLINE_ASSIGN(const std::vector<Row> wanted,
                   connection.query("SELECT string_agg(quote_ident(name), ', ' ORDER BY name COLLATE \"C\") "
                                    "FROM unnest(string_to_array($1, chr(1))) AS name",
                                    std::array{fmt::format("{}", fmt::join(names, "\1"))}));
  const std::string want = text(wanted[0], 0);
  std::string have;
  for (const Row& key : keys) {
    if (text(key, 0) == want) return {};
    have += (have.empty() ? "" : "; ") + text(key, 0);
  }
  return misfit(connection, "has another key than the view",
                format("Its unique key is ({}); the view's rows are told apart by ({}).", have, want));
}

std::string PostgresTable::merge_sql() const {
  std::string names, arrays, picked, changes;
  size_t parameter = 0;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string name = quoted_name(columns_[i].name);
    names += (i > 0 ? ", " : "") + name;
    const bool generation = columns_[i].name == "_generation" && i + kOurColumns >= columns_.size();
    if (generation) {
      picked += format(", ${}::bigint", columns_.size());
    } else {
      picked += (i > 0 ? ", " : "") + name;
      arrays += format("{}${}::{}", parameter > 0 ? ", " : "", parameter + 1, columns_[i].array);
      ++parameter;
    }
    if (std::ranges::find(identity_, i) == identity_.end())
      changes += format("{}{} = excluded.{}", changes.empty() ? "" : ", ", name, name);
  }
  std::string given;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (i + 2 == columns_.size()) continue;  // the generation is no array
    given += (given.empty() ? "" : ", ") + quoted_name(columns_[i].name);
  }
  const std::string from = format("FROM unnest({}) AS given ({})", arrays, given);
  const std::string into = format("INSERT INTO {} AS held ({})", in_schema(rows_name()), names);
  if (!has_identity()) return format("{} SELECT {} {}", into, picked, from);
  return format(
      "{0} SELECT DISTINCT ON ({1}) {2} {3} ORDER BY {1}, _version DESC, _deleted DESC ON CONFLICT ({1}) DO "
      "UPDATE SET {4} WHERE (held._generation, held._version, held._deleted) < (excluded._generation, "
      "excluded._version, excluded._deleted)",
      into, key_list(), picked, from, changes);
}

std::string PostgresTable::remove_older_sql() const {
  return format("DELETE FROM {} WHERE _generation < $1::bigint OR _deleted", in_schema(rows_name()));
}

}  // namespace wrackline::connectors
