// The one door to PostgreSQL: connections, prepared statements and pipelines whose every failure becomes an
// Error.
//
// Threads: a Connection belongs to one thread at a time. Calls wait for the server.
// Errors:  kUnavailable (no connection, lost, permission, a full disk, shutting down), kInvalid (a URL that
//          cannot be read, a database or role that is not there, a statement that does not fit the schema),
//          kData (a value that PostgreSQL cannot hold). The message names host and database, never the
//          password; the detail is what the server said.
// Session: UTF-8, UTC; synchronous_commit is on whatever the database's default, so a commit that was
// answered
//          is on the server's disk; a transaction that its client leaves open is ended after 60 s.
// Tested with libpq and PostgreSQL 15.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace wrackline::postgres {

// Values of a parameter in PostgreSQL's text or binary form.
struct Argument {
  std::optional<std::string_view> bytes;  // nullopt: NULL. Text must end where a NUL byte follows.
  bool binary = false;
};

// One statement of a pipeline: a prepared one by name, or SQL without parameters.
struct Step {
  std::string_view prepared;  // ends with a NUL byte; empty: `sql` is run
  std::string_view sql;       // ends with a NUL byte
  std::span<const Argument> arguments = {};
};

using Row = std::vector<std::optional<std::string>>;  // the columns as text; nullopt is NULL

class Connection {
 public:
  Connection() = default;
  Connection(Connection&&) noexcept = default;
  Connection& operator=(Connection&&) noexcept = default;
  // `url`: postgresql://user@host:port/database?option=value or libpq's host=... dbname=...; what it leaves
  // out comes from PGHOST, PGUSER, PGPASSWORD and the rest of libpq's environment. Waits 10 s for an answer
  // unless the URL sets connect_timeout.
  static Result<Connection> open(const std::string& url);

  // Runs one or more statements and ignores their rows.
  Status exec(const std::string& sql);
  // Runs one statement with text parameters; returns its rows.
  Result<std::vector<Row>> query(const std::string& sql, std::span<const std::string> parameters = {});
  Status prepare(const std::string& name, const std::string& sql);
  // Sends all steps at once and reads all answers: one round trip. The first step that fails is the error;
  // none after it has run. A transaction that is still open then is rolled back.
  Status pipeline(std::span<const Step> steps);

  // After a failure: the server or the way to it is gone, and what was under way may or may not have
  // happened.
  bool lost() const;
  // The five characters of the last failure's SQLSTATE, "" when there was none: see "Appendix A. PostgreSQL
  // Error Codes".
  const std::string& sqlstate() const;
  int server_version() const;        // 150020 is 15.20
  const std::string& place() const;  // database "clicks" on host "db.example.com"
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  struct Handle;
  struct Close {
    void operator()(Handle* handle) const;
  };
  std::unique_ptr<Handle, Close> handle_;
};

// The URL with its password as ***, to be shown. Errors: kInvalid when libpq cannot read it.
Result<std::string> shown_url(const std::string& url);

// An SQL identifier in double quotes.
std::string quoted_name(std::string_view name);

}  // namespace wrackline::postgres
