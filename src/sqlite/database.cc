#include "sqlite/database.h"

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::sqlite {

class Connection {
 public:
  explicit Connection(std::string path) : path_(std::move(path)) {}
  ~Connection() {
    if (handle_ == nullptr) return;
    const int code = sqlite3_close(handle_);
    WRACKLINE_CHECK(code == SQLITE_OK, path_);  // a statement outlived its connection
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Error error(int code) const;
  sqlite3* handle_ = nullptr;
  std::string path_;
};

namespace {

bool is_out_of_space(int code, int system_errno) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  return (code & 0xff) == SQLITE_IOERR &&
         (system_errno == ENOSPC || system_errno == EDQUOT || system_errno == EFBIG);
}

std::string detail_of(const char* message, int system_errno) {
  std::string detail = format("SQLite says: {}", message);
  if (system_errno != 0) detail += format(" ({})", std::strerror(system_errno));
  return detail + ".";
}

// A file: URI with what has a meaning there escaped.
std::string immutable_uri(std::string_view path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

Error damaged(const std::string& path, const char* message) {
  return {ErrorCode::kData,
          format("database \"{}\" is damaged", path),
          detail_of(message, 0),
          format("See how far it can be read with `sqlite3 {} 'PRAGMA integrity_check'`; to start anew, move "
                 "the file "
                 "away together with its -wal and -shm files.",
                 path),
          {}};
}

}  // namespace

Error Connection::error(int code) const {
  const char* message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
  const int system_errno = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
  if (is_out_of_space(code, system_errno)) {
    return {ErrorCode::kUnavailable,
            format("disk full while writing database \"{}\"", path_),
            detail_of(message, system_errno),
            "Free space on its file system (or raise the quota) and start again; the transaction that did "
            "not fit was "
            "rolled back, what was committed before it is safe.",
            {}};
  }
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {
          ErrorCode::kUnavailable,
          format("database \"{}\" is locked by another connection", path_),
          detail_of(message, 0),
          "Another program keeps a transaction open on this file; wait for it or end it, then start again.",
          {}};
    case SQLITE_NOTADB:
      return {ErrorCode::kData,
              format("file \"{}\" is not a SQLite database", path_),
              detail_of(message, 0),
              "Check the path, or move the file away.",
              {}};
    case SQLITE_CORRUPT:
      return damaged(path_, message);
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {system_errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable,
              format("cannot open database \"{}\"", path_),
              detail_of(message, system_errno),
              "Check that the path is a file (not a folder), that its folder exists, and that you may read "
              "and write "
              "there.",
              {}};
    case SQLITE_READONLY:
      return {ErrorCode::kUnavailable,
              format("database \"{}\" is read-only", path_),
              detail_of(message, system_errno),
              "The file and its folder must both be writable: SQLite puts its log beside the file.",
              {}};
    case SQLITE_IOERR:
      return {ErrorCode::kUnavailable,
              format("cannot read or write database \"{}\"", path_),
              detail_of(message, system_errno),
              "Check the disk and the file system it is on.",
              {}};
    case SQLITE_TOOBIG:
      return {ErrorCode::kOutOfRange,
              format("a value is too large for database \"{}\"", path_),
              detail_of(message, 0),
              {},
              {}};
    case SQLITE_NOMEM:
      return {ErrorCode::kUnavailable, format("no memory left for database \"{}\"", path_), {}, {}, {}};
    case SQLITE_CONSTRAINT:
      return {
          ErrorCode::kData, format("database \"{}\" refuses a row", path_), detail_of(message, 0), {}, {}};
    default:
      return {ErrorCode::kData,
              format("database \"{}\" refuses a statement", path_),
              detail_of(message, 0),
              {},
              {}};
  }
}

// --- Statement

Statement::Statement(std::shared_ptr<Connection> connection, sqlite3_stmt* statement)
    : connection_(std::move(connection)), statement_(statement) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  statement_ = std::move(other.statement_);  // finalized before its connection may go
  connection_ = std::move(other.connection_);
  bind_error_ = other.bind_error_;
  return *this;
}

Statement::~Statement() = default;

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  // Returns the error of the last step once more, which was reported then.
  static_cast<void>(sqlite3_finalize(statement));
}

void Statement::note(int code) {
  WRACKLINE_CHECK(code != SQLITE_RANGE && code != SQLITE_MISUSE, "parameter of a prepared statement");
  if (code != SQLITE_OK && bind_error_ == SQLITE_OK) bind_error_ = code;
}

void Statement::bind(int parameter, int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), parameter, value));
}
void Statement::bind_double(int parameter, double value) {
  note(sqlite3_bind_double(statement_.get(), parameter, value));
}
void Statement::bind_null(int parameter) {
  note(sqlite3_bind_null(statement_.get(), parameter));
}

// A null pointer would bind NULL where an empty text is meant.
void Statement::bind_text(int parameter, std::string_view value) {
  note(sqlite3_bind_text64(statement_.get(), parameter, value.data() != nullptr ? value.data() : "",
                           value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
void Statement::bind_blob(int parameter, std::string_view bytes) {
  note(sqlite3_bind_blob64(statement_.get(), parameter, bytes.data() != nullptr ? bytes.data() : "",
                           bytes.size(), SQLITE_STATIC));
}

Result<bool> Statement::step() {
  WRACKLINE_CHECK(statement_ != nullptr, "step of an empty statement");
  if (bind_error_ != SQLITE_OK) {
    const int code = std::exchange(bind_error_, SQLITE_OK);
    sqlite3_reset(statement_.get());
    return fail(connection_->error(code));
  }
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    reset();
    return false;
  }
  Error error = connection_->error(code);
  reset();
  return fail(std::move(error));
}

Status Statement::run() {
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, step());
    if (!row) return {};
  }
}

int Statement::columns() const {
  return sqlite3_column_count(statement_.get());
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}
bool Statement::is_integer(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_INTEGER;
}
int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
double Statement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}
std::string_view Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}
std::string_view Statement::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

// The code that a reset returns is that of the last step, which was reported then.
void Statement::reset() {
  if (statement_ != nullptr) static_cast<void>(sqlite3_reset(statement_.get()));
}

// --- Database

Result<Database> Database::open(const std::string& path, const OpenOptions& options) {
  Database database;
  database.connection_ = std::make_shared<Connection>(path);
  Connection& connection = *database.connection_;
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  switch (options.access) {
    case Access::kRead:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case Access::kWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case Access::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  const bool immutable = options.immutable && options.access == Access::kRead;
  const std::string name = immutable ? immutable_uri(path) : path;
  if (immutable) flags |= SQLITE_OPEN_URI;
  const int code = sqlite3_open_v2(name.c_str(), &connection.handle_, flags, nullptr);
  if (code != SQLITE_OK) return fail(connection.error(code));
  sqlite3_busy_timeout(connection.handle_, static_cast<int>(options.busy_timeout.count()));
  if (options.access != Access::kRead) {
    // Has an effect on an empty file only, and only before the write-ahead log is switched on.
    if (options.page_bytes != 0)
      WRACKLINE_TRY(database.exec(format("PRAGMA page_size = {}", options.page_bytes)));
    if (options.write_ahead_log) WRACKLINE_TRY(database.exec("PRAGMA journal_mode = WAL"));
    WRACKLINE_TRY(
        database.exec(options.durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL"));
  }
  // Touches the file: a file that is no database is found here, not at the first row.
  WRACKLINE_TRY(database.exec("PRAGMA schema_version"));
  return database;
}

Status Database::exec(const std::string& sql) {
  const int code = sqlite3_exec(connection_->handle_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(connection_->error(code));
  return {};
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(connection_->handle_, sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return fail(connection_->error(code));
  WRACKLINE_CHECK(statement != nullptr, "empty SQL text");
  return Statement(connection_, statement);
}

Result<int64_t> Database::query_integer(std::string_view sql, int64_t otherwise) {
  WRACKLINE_ASSIGN(Statement statement, prepare(sql));
  WRACKLINE_ASSIGN(const bool row, statement.step());
  return row && !statement.is_null(0) ? statement.integer(0) : otherwise;
}

int64_t Database::changes() const {
  return sqlite3_changes64(connection_->handle_);
}
bool Database::in_transaction() const {
  return sqlite3_get_autocommit(connection_->handle_) == 0;
}
const std::string& Database::path() const {
  return connection_->path_;
}

// --- Transaction

Result<Transaction> Transaction::begin(Database& database) {
  WRACKLINE_TRY(database.exec("BEGIN IMMEDIATE"));
  return Transaction(&database);
}

Status Transaction::commit() {
  WRACKLINE_CHECK(database_ != nullptr, "commit of a transaction that is over");
  WRACKLINE_TRY(database_->exec("COMMIT"));
  database_ = nullptr;
  return {};
}

// After a full disk SQLite may have rolled back by itself; a rollback that fails leaves nothing committed
// either.
Transaction::~Transaction() {
  if (database_ != nullptr && database_->in_transaction())
    static_cast<void>(database_->exec("ROLLBACK").has_value());
}

std::string quoted_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace wrackline::sqlite
