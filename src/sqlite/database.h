// The one door to SQLite: connections, prepared statements and transactions whose every return code becomes
// an Error.
//
// Threads: a Database and its statements belong to one thread at a time.
// Errors:  kUnavailable (disk full, locked, read-only, cannot be opened), kNotFound (no such file), kData
// (not a database,
//          damaged, a constraint, SQL that the schema does not answer), kOutOfRange (a value over SQLite's
//          limit). The message names the database file; a hint says what to do.
// Tested with SQLite 3.40.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

struct sqlite3_stmt;

namespace wrackline::sqlite {

enum class Access : uint8_t {
  kRead,    // the file must exist; nothing is written
  kWrite,   // the file must exist
  kCreate,  // the file is made when absent
};

struct OpenOptions {
  Access access = Access::kCreate;
  bool write_ahead_log = true;  // readers never block the writer; ignored with kRead
  bool immutable =
      false;  // with kRead: nobody writes the file while it is open; no lock and no log is looked at
  bool durable = true;  // synchronous = FULL: a commit has reached the disk when it returns
  int page_bytes = 0;   // of a new database; 0: SQLite's default
  std::chrono::milliseconds busy_timeout{5000};  // how long to wait for another process's lock
};

class Connection;  // the handle behind a Database; statements keep it alive

// A prepared statement: bind, step, read columns, reset. Indexes of parameters start at 1, of columns at 0,
// as in SQL and C.
class Statement {
 public:
  Statement() = default;
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // A bind that fails (a text over SQLite's limit) is reported by the next step or run. Text and blobs are
  // not copied: they must stay in place until the statement is reset.
  void bind(int parameter, int64_t value);
  void bind_double(int parameter, double value);  // NaN becomes NULL: SQLite cannot hold it
  void bind_text(int parameter, std::string_view value);
  void bind_blob(int parameter, std::string_view bytes);
  void bind_null(int parameter);

  Result<bool> step();  // true: a row is there to read; false: done, and the statement is reset
  Status run();         // steps to the end and resets

  int columns() const;

  // Of the current row. Text and blobs stay valid until the next step, run or reset.
  bool is_null(int column) const;
  bool is_integer(int column) const;
  int64_t integer(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

  void reset();

 private:
  friend class Database;
  Statement(std::shared_ptr<Connection> connection, sqlite3_stmt* statement);
  void note(int code);
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::shared_ptr<Connection> connection_;  // before the statement: outlives it
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = 0;
};

class Database {
 public:
  Database() = default;
  static Result<Database> open(const std::string& path, const OpenOptions& options = {});

  // Runs one or more statements and ignores their rows.
  Status exec(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  // The first column of the first row as an integer; `otherwise` when there is no row or it is NULL.
  Result<int64_t> query_integer(std::string_view sql, int64_t otherwise = 0);

  int64_t changes() const;  // rows that the last insert, update or delete changed
  bool in_transaction() const;
  const std::string& path() const;

 private:
  std::shared_ptr<Connection> connection_;
};

// BEGIN IMMEDIATE ... COMMIT; rolls back when it goes out of scope uncommitted.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;  // null once it is over
};

// An SQL identifier in double quotes.
std::string quoted_name(std::string_view name);

}  // namespace wrackline::sqlite
