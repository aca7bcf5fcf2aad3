// The table of a SQLite sink: its columns and types, its statements, and whether a table that exists is that
// one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "operators/sink.h"
#include "sqlite/database.h"

namespace wrackline::connectors {

// How values of a type are stored; see sink_sqlite.h.
std::string_view sqlite_type(const Type& type);

class SqliteTable {
 public:
  SqliteTable() = default;
  SqliteTable(std::string name, const std::vector<OutputColumn>& columns);

  // Makes the table and its index when absent. Requires: a transaction is open.
  // Errors: kInvalid when two columns have one name, when a name is ours, or when the table exists with other
  // columns, keys or kinds of types, or is a view.
  Status make_or_check(sqlite::Database& database) const;

  bool has_identity() const { return !identity_.empty(); }
  // Parameters: the columns in order, then version, status, generation.
  std::string upsert_sql() const;
  // Parameters: the identity columns in order, then version, generation.
  std::string retract_sql() const;
  // Parameter: generation.
  std::string remove_older_sql() const;

  const std::string& name() const { return name_; }
  const std::vector<size_t>& identity() const { return identity_; }  // indexes of columns

 private:
  struct StoredColumn {
    std::string name;
    std::string type;
    bool key = false;
  };
  Status check_names() const;
  Status check_columns(sqlite::Database& database) const;
  Status make(sqlite::Database& database) const;
  std::string null_identity() const;   // "a" IS NULL OR "b" IS NULL
  std::string null_free_keys() const;  // ifnull("a", x''), ifnull("b", x'')
  std::string key_list() const;

  std::string name_;
  std::vector<StoredColumn> columns_;  // the view's and the three of ours
  std::vector<size_t> identity_;
};

}  // namespace wrackline::connectors
