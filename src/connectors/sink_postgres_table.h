// The tables of a PostgreSQL sink: names and columns, statements, and whether tables that exist are those.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operators/sink.h"
#include "postgres/connection.h"

namespace wrackline::connectors {

class PostgresTable {
 public:
  PostgresTable() = default;
  // `name` may begin with a schema: "reports.minutes".
  PostgresTable(std::string_view name, const std::vector<OutputColumn>& columns);

  // Looks up the schema when the name has none, so that it stays the same for every later connection.
  // Errors: kNotFound when there is no such schema.
  Status find_schema(postgres::Connection& connection);
  // Makes the rows' table and the readers' view when absent. Requires: find_schema, an open transaction.
  // Errors: kInvalid when two columns have one name, when a name is ours, or when something else stands
  // there: says what differs.
  Status make_or_check(postgres::Connection& connection) const;
  Result<bool> exists(postgres::Connection& connection) const;

  bool has_identity() const { return !identity_.empty(); }
  // Parameters: an array of each column, of versions, of statuses, of marks, then the generation.
  std::string merge_sql() const;
  // Removes rows of generations before the parameter's, and marked ones.
  std::string remove_older_sql() const;

  const std::string& name() const { return name_; }  // without the schema
  std::string bookkeeping() const;                   // quoted, with the schema

 private:
  struct StoredColumn {
    std::string name;
    std::string type;
    std::string array;
  };
  std::string in_schema(std::string_view name) const;
  std::string rows_name() const { return name_ + "_rows"; }
  std::string key_list() const;
  Status check_names() const;
  Status check_columns(postgres::Connection& connection) const;
  Status check_key(postgres::Connection& connection) const;
  Status make_rows(postgres::Connection& connection) const;
  Status make_view(postgres::Connection& connection, bool exists) const;
  std::unexpected<Error> misfit(const postgres::Connection& connection, std::string what,
                                std::string detail) const;

  std::string schema_;
  std::string name_;
  std::vector<StoredColumn> columns_;  // the view's and the four of ours
  std::vector<size_t> identity_;
};

}  // namespace wrackline::connectors
