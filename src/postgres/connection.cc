#include "postgres/connection.h"

#include <libpq-fe.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "base/text.h"

namespace wrackline::postgres {
namespace {

constexpr const char* kConnectTimeout = "10";       // seconds
constexpr const char* kSilenceMax = "60000";        // milliseconds that sent bytes may stay unacknowledged
constexpr std::string_view kConnectionGone = "08";  // class of SQLSTATE: connection exception

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, FreeResult>;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using UrlOptions = std::unique_ptr<PQconninfoOption, FreeOptions>;

// The server's and the library's messages end with a line break and may have several lines.
std::string one_line(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos;) {
    size_t end = at;
    while (end < text.size() && (text[end] == '\n' || text[end] == '\t' || text[end] == ' ')) ++end;
    text.replace(at, end - at, " ");
  }
  return text;
}

Result<UrlOptions> read_url(const std::string& url) {
  char* why = nullptr;
  UrlOptions options(PQconninfoParse(url.c_str(), &why));
  const std::string reason = one_line(why);
  PQfreemem(why);
  if (options) return options;
  return fail(ErrorCode::kInvalid, "the URL of a PostgreSQL database cannot be read", reason,
              "It looks like postgresql://user@host:5432/database, or host=... port=... dbname=... user=...; "
              "special characters of a URL are written as %40.");
}

std::string_view value_of(const UrlOptions& options, std::string_view keyword) {
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (keyword == option->keyword) return option->val == nullptr ? "" : option->val;
  }
  return {};
}

// What libpq tells about a connection that was not made has no code: only words.
std::string connect_hint(std::string_view said) {
  const auto says = [&said](std::string_view part) { return said.find(part) != said.npos; };
  if (says("password") || says("authentication failed"))
    return "Check user and password; a password is best kept in ~/.pgpass or PGPASSWORD, not in the job.";
  if (says("no pg_hba.conf entry"))
    return "The server's pg_hba.conf lets this user or host not in; ask for a line, or use another one.";
  if (says("database \"") && says("does not exist")) return "Create it with createdb, or correct the URL.";
  if (says("role \"") && says("does not exist")) return "Create the role with createuser, or name another.";
  return "Check that the server runs and that host and port are right: psql with the same URL should "
         "connect.";
}

struct Meaning {
  ErrorCode code = ErrorCode::kUnavailable;
  std::string hint;
};

Meaning meaning_of(std::string_view sqlstate, std::string_view message) {
  const std::string_view group = sqlstate.substr(0, 2);
  if (sqlstate == "42501")
    return {ErrorCode::kUnavailable,
            "The role needs USAGE and CREATE on the schema, or to own the sink's tables: GRANT them."};
  if (sqlstate == "22P05" || (sqlstate == "22021" && message.find("0x00") != message.npos))
    return {ErrorCode::kData,
            "PostgreSQL's texts and jsonb hold no NUL character: take it out in the view, for example with "
            "replace()."};
  if (sqlstate == "54000")
    return {ErrorCode::kData,
            "A grouping key of some 2,700 bytes or more does not fit PostgreSQL's index: group by "
            "md5(the column), or by a part of it."};
  if (group == "22") return {ErrorCode::kData, "A value of the view does not fit PostgreSQL's type."};
  if (group == "42")
    return {ErrorCode::kInvalid, "The tables were changed by somebody else; see the detail."};
  if (sqlstate == "25006")
    return {ErrorCode::kUnavailable,
            "This server takes no writes: it is a standby, or default_transaction_read_only is on."};
  if (group == "53")
    return {ErrorCode::kUnavailable, "The server has run out of disk, memory or connections."};
  return {ErrorCode::kUnavailable, ""};
}

}  // namespace

struct Connection::Handle {
  PGconn* connection = nullptr;
  std::string place;
  std::string sqlstate;
  bool lost = false;

  std::unexpected<Error> failure(const PGresult* answer, std::string_view doing);
  Result<Answer> taken(Answer answer, std::string_view doing);
  void roll_back();
  bool send(const Step& step) const;
  Status collect(size_t steps);
};

void Connection::Close::operator()(Handle* handle) const {
  PQfinish(handle->connection);
  delete handle;
}

std::unexpected<Error> Connection::Handle::failure(const PGresult* answer, std::string_view doing) {
  const char* state = answer == nullptr ? nullptr : PQresultErrorField(answer, PG_DIAG_SQLSTATE);
  sqlstate = state == nullptr ? "" : state;
  // 57P01 to 57P03: the server is going down, has crashed, or is not up yet.
  lost = PQstatus(connection) == CONNECTION_BAD || sqlstate.starts_with("57P0") ||
         sqlstate.starts_with(kConnectionGone) || answer == nullptr ||
         sqlstate.empty();  // not from the server: sending or reading failed
  const std::string whole =
      one_line(answer == nullptr ? PQerrorMessage(connection) : PQresultErrorMessage(answer));
  if (lost) {
    return fail(ErrorCode::kUnavailable, format("lost the connection to {}", place), whole,
                "Start the run again when the server is up; what was committed stays.");
  }
  const char* primary = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
  const char* more = PQresultErrorField(answer, PG_DIAG_MESSAGE_DETAIL);
  std::string detail = one_line(primary == nullptr ? whole.c_str() : primary);
  if (more != nullptr) detail += format(" ({})", one_line(more));
  if (!sqlstate.empty()) detail += format(" [SQLSTATE {}]", sqlstate);
  Meaning meaning = meaning_of(sqlstate, detail);
  return fail(meaning.code, format("PostgreSQL refused {} in {}", doing, place), detail,
              std::move(meaning.hint));
}

Result<Answer> Connection::Handle::taken(Answer answer, std::string_view doing) {
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return answer;
  return failure(answer.get(), doing);
}

void Connection::Handle::roll_back() {
  if (PQstatus(connection) == CONNECTION_BAD) return;
  if (PQtransactionStatus(connection) == PQTRANS_IDLE) return;
  const Answer ignored(
      PQexec(connection, "ROLLBACK"));  // if it fails, the connection is lost, and that shows
}

Result<Connection> Connection::open(const std::string& url) {
  WRACKLINE_ASSIGN(const UrlOptions read, read_url(url));
  // Later keywords win: the URL over our defaults, and our encoding over the URL.
  const std::array<const char*, 7> keywords = {"connect_timeout",           "tcp_user_timeout",
                                               "fallback_application_name", "dbname",
                                               "client_encoding",           nullptr};
  const std::array<const char*, 7> values = {kConnectTimeout, kSilenceMax, "wrackline",
                                             url.c_str(),     "UTF8",      nullptr};
  Connection made;
  made.handle_.reset(new Handle);
  Handle& handle = *made.handle_;
  handle.connection = PQconnectdbParams(keywords.data(), values.data(), 1);
  WRACKLINE_CHECK(handle.connection != nullptr, "libpq is out of memory");
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  std::string host = text(PQhost(handle.connection));
  if (host.empty()) host = value_of(read, "host");
  handle.place = format("database \"{}\" on host \"{}\"", text(PQdb(handle.connection)), host);
  if (PQstatus(handle.connection) != CONNECTION_OK) {
    const std::string said = one_line(PQerrorMessage(handle.connection));
    return fail(ErrorCode::kUnavailable,
                format("cannot connect to {} as user \"{}\"", handle.place, text(PQuser(handle.connection))),
                said, connect_hint(said));
  }
  PQsetNoticeProcessor(handle.connection, [](void*, const char*) {}, nullptr);  // a library does not print
  // A process that was stopped in the middle of a transaction must not hold its locks for ever.
  WRACKLINE_TRY(made.exec(
      "SET synchronous_commit = on; SET idle_in_transaction_session_timeout = '60s'; SET TimeZone = 'UTC'"));
  return made;
}

Status Connection::exec(const std::string& sql) {
  Result<Answer> answer = handle_->taken(Answer(PQexec(handle_->connection, sql.c_str())), "a statement");
  if (answer) return {};
  handle_->roll_back();
  return fail(std::move(answer).error());
}

Result<std::vector<Row>> Connection::query(const std::string& sql, std::span<const std::string> parameters) {
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  Answer raw(PQexecParams(handle_->connection, sql.c_str(), static_cast<int>(values.size()), nullptr,
                          values.data(), nullptr, nullptr, 0));
  Result<Answer> answer = handle_->taken(std::move(raw), "a query");
  if (!answer) {
    handle_->roll_back();
    return fail(std::move(answer).error());
  }
  const PGresult* result = answer->get();
  std::vector<Row> rows;
  for (int row = 0; row < PQntuples(result); ++row) {
    Row& cells = rows.emplace_back();
    for (int column = 0; column < PQnfields(result); ++column) {
      if (PQgetisnull(result, row, column) != 0) {
        cells.emplace_back();
      } else {
        cells.emplace_back(std::in_place, PQgetvalue(result, row, column),
                           static_cast<size_t>(PQgetlength(result, row, column)));
      }
    }
  }
  return rows;
}

Status Connection::prepare(const std::string& name, const std::string& sql) {
  Answer raw(PQprepare(handle_->connection, name.c_str(), sql.c_str(), 0, nullptr));
  WRACKLINE_TRY(handle_->taken(std::move(raw), "to prepare a statement"));
  return {};
}

bool Connection::Handle::send(const Step& step) const {
  if (step.prepared.empty()) {
    return PQsendQueryParams(connection, step.sql.data(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
  }
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
  for (const Argument& argument : step.arguments) {
    values.push_back(argument.bytes ? argument.bytes->data() : nullptr);
    lengths.push_back(argument.bytes ? static_cast<int>(argument.bytes->size()) : 0);
    formats.push_back(argument.binary ? 1 : 0);
  }
  return PQsendQueryPrepared(connection, step.prepared.data(), static_cast<int>(values.size()), values.data(),
                             lengths.data(), formats.data(), 0) == 1;
}

// Every step has its answers and a null after them, then comes the one of the synchronisation. A lost
// connection ends the row of answers early.
Status Connection::Handle::collect(size_t steps) {
  Status first;
  for (size_t step = 0; step < steps; ++step) {
    const Answer answer(PQgetResult(connection));
    const ExecStatusType status = answer ? PQresultStatus(answer.get()) : PGRES_FATAL_ERROR;
    if (status == PGRES_PIPELINE_ABORTED) {
      // a step after the one that failed
    } else if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && first) {
      first = failure(answer.get(), format("step {} of a transaction", step + 1));
    }
    if (PQstatus(connection) == CONNECTION_BAD) {
      if (first) first = failure(nullptr, "a transaction");
      lost = true;
      return first;
    }
    while (Answer(PQgetResult(connection))) {
    }
  }
  const Answer synchronised(PQgetResult(connection));
  if (first && PQresultStatus(synchronised.get()) != PGRES_PIPELINE_SYNC)
    first = failure(nullptr, "a transaction");
  return first;
}

Status Connection::pipeline(std::span<const Step> steps) {
  PGconn* connection = handle_->connection;
  if (PQstatus(connection) == CONNECTION_BAD || PQenterPipelineMode(connection) != 1)
    return handle_->failure(nullptr, "a transaction");
  for (const Step& step : steps) {
    if (!handle_->send(step)) return handle_->failure(nullptr, "a transaction");
  }
  if (PQpipelineSync(connection) != 1) return handle_->failure(nullptr, "a transaction");
  Status status = handle_->collect(steps.size());
  if (handle_->lost) return status;
  if (PQexitPipelineMode(connection) != 1) {  // answers are missing that will not come
    Error gone = handle_->failure(nullptr, "a transaction").error();
    return status ? Status(fail(std::move(gone))) : status;
  }
  handle_->roll_back();
  return status;
}

bool Connection::lost() const {
  return handle_ == nullptr || handle_->lost;
}

const std::string& Connection::sqlstate() const {
  return handle_->sqlstate;
}

int Connection::server_version() const {
  return PQserverVersion(handle_->connection);
}

const std::string& Connection::place() const {
  return handle_->place;
}

Result<std::string> shown_url(const std::string& url) {
  WRACKLINE_ASSIGN(const UrlOptions options, read_url(url));
  if (value_of(options, "password").empty() && value_of(options, "sslpassword").empty()) return url;
  std::string shown;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const bool secret = std::string_view(option->keyword).ends_with("password");
    shown += format("{}{}={}", shown.empty() ? "" : " ", option->keyword, secret ? "***" : option->val);
  }
  return shown;
}

std::string quoted_name(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace wrackline::postgres
