#include "connectors/sink_sqlite.h"

#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "connectors/sink_sqlite_table.h"
#include "data/decimal.h"
#include "data/value.h"
#include "sqlite/database.h"

namespace wrackline::connectors {
namespace {

constexpr std::string_view kBookkeeping = "_wrackline_sinks";
constexpr const char* kNow = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

// The rows of one tick, copied out of the batches that they came in: a transaction that stayed open from the
// first write to the commit would lock other sinks of the same database out.
class HeldRows {
 public:
  struct Row {
    RowOp op;
    RowStatus status;
    int64_t version;
  };

  void add(const ChangeBatch& changes);
  void clear() {
    rows_.clear();
    cells_.clear();
    text_.clear();
  }
  const std::vector<Row>& rows() const { return rows_; }
  void bind(sqlite::Statement& statement, int parameter, size_t row, size_t column) const;

 private:
  enum class Kind : uint8_t { kNull, kInteger, kReal, kText };
  struct Cell {
    Kind kind = Kind::kNull;
    uint32_t text_bytes = 0;
    union {
      int64_t integer = 0;
      double real;
      size_t text_at;
    };
  };
  Cell cell_of(const Column& column, size_t row);
  Cell text_cell(size_t from) const;

  size_t column_count_ = 0;
  std::vector<Row> rows_;
  std::vector<Cell> cells_;  // row by row
  std::string text_;
};

HeldRows::Cell HeldRows::text_cell(size_t from) const {
  Cell cell;
  cell.kind = Kind::kText;
  cell.text_at = from;
  WRACKLINE_CHECK(text_.size() - from <= UINT32_MAX, "a text of more than 4 GiB");
  cell.text_bytes = static_cast<uint32_t>(text_.size() - from);
  return cell;
}

HeldRows::Cell HeldRows::cell_of(const Column& column, size_t row) {
  Cell cell;
  if (column.is_null(row)) return cell;
  const auto integer = [&cell](int64_t value) {
    cell.kind = Kind::kInteger;
    cell.integer = value;
    return cell;
  };
  switch (column.type().kind) {
    case TypeKind::kBoolean:
      return integer(column.values<uint8_t>()[row]);
    case TypeKind::kInteger:
      return integer(column.values<int64_t>()[row]);
    case TypeKind::kDouble: {
      const double value = column.values<double>()[row];
      if (std::isnan(value)) break;  // as text: SQLite would store NULL
      cell.kind = Kind::kReal;
      cell.real = value;
      return cell;
    }
    case TypeKind::kNumeric: {
      const Decimal& value = column.values<Decimal>()[row];
      if (value.scale == 0 && column.type().scale <= 0) {
        if (const std::optional<int64_t> exact = decimal_to_int(value)) return integer(*exact);
      }
      break;
    }
    default:
      break;
  }
  const size_t from = text_.size();
  append_text(text_, column, row);
  return text_cell(from);
}

void HeldRows::add(const ChangeBatch& changes) {
  column_count_ = changes.columns.size();
  for (size_t row = 0; row < changes.rows; ++row) {
    rows_.push_back({changes.ops[row], changes.statuses[row], changes.versions[row]});
    for (const Column& column : changes.columns) cells_.push_back(cell_of(column, row));
  }
}

void HeldRows::bind(sqlite::Statement& statement, int parameter, size_t row, size_t column) const {
  const Cell& cell = cells_[row * column_count_ + column];
  switch (cell.kind) {
    case Kind::kNull:
      statement.bind_null(parameter);
      break;
    case Kind::kInteger:
      statement.bind(parameter, cell.integer);
      break;
    case Kind::kReal:
      statement.bind_double(parameter, cell.real);
      break;
    case Kind::kText:
      statement.bind_text(parameter, std::string_view(text_).substr(cell.text_at, cell.text_bytes));
      break;
  }
}

bool is_new_file(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) != 0 || (S_ISREG(found.st_mode) && found.st_size == 0);
}

class SqliteSink final : public Sink {
 public:
  explicit SqliteSink(SqliteSinkOptions options) : options_(std::move(options)) {}
  ~SqliteSink() override {
    if (open_) static_cast<void>(close(false).has_value());
  }

  SinkCapabilities capabilities() const override {
    return {
        .takes_updates = true,
        .takes_retracts = true,
        .promise =
            "Exactly once: a tick is one transaction, the table holds the newest version of each row, and a "
            "replay or an older run changes nothing."};
  }

  Status open(const std::vector<OutputColumn>& columns, std::string_view view,
              const SinkStart& start) override;
  void save(SnapshotWriter& out) const override;
  void restore(SnapshotReader& from) override;
  Status write(const ChangeBatch& changes) override;
  Status commit() override;
  Status close(bool finished) override;

 private:
  Status take_over();
  Status make_bookkeeping();
  Status check_owner();
  Status prepare();
  Status fence(int64_t rows);
  Status apply_held(size_t first);
  Status apply(size_t row);
  Status commit_held();
  Status finish();
  std::string place() const {
    return format("table \"{}\" in database \"{}\"", options_.table, options_.path);
  }

  SqliteSinkOptions options_;
  SqliteTable table_;
  std::string view_;
  int64_t generation_ = 0;  // of the attempt
  int64_t run_ = 0;
  int64_t rows_ = 0;           // of this run that were committed, or stood there when they came again
  int64_t standing_rows_ = 0;  // of this run that earlier attempts have committed
  size_t column_count_ = 0;
  sqlite::Database database_;
  sqlite::Statement upsert_, retract_, remove_older_, fence_;
  HeldRows held_;
  bool open_ = false;
  bool failed_ = false;
  bool older_removed_ = false;
};

Status SqliteSink::open(const std::vector<OutputColumn>& columns, std::string_view view,
                        const SinkStart& start) {
  WRACKLINE_CHECK(!open_, "open twice");
  table_ = SqliteTable(options_.table, columns);
  view_ = view;
  generation_ = start.generation;
  run_ = start.run;
  column_count_ = columns.size();
  if (!table_.has_identity() && options_.mode != SinkMode::kAppend) {
    return fail(
        ErrorCode::kInvalid,
        format("rows of view \"{}\" have no identity that {} could keep them apart by", view, place()),
        "Upsert and changelog replace a row by its window and grouping key; the view selects none of them.",
        "Select window_start and the grouping columns as they are, or use mode = 'append'.");
  }
  if (!table_.has_identity() && start.resumes()) {
    return fail(
        ErrorCode::kUnsupported,
        format("rows of view \"{}\" have no identity, so a run that is resumed would add them again", view),
        "What was written after the last checkpoint comes again and is told apart by its identity.",
        "Select window_start and the grouping columns as they are, or begin a new run without "
        "--resume.");
  }
  sqlite::OpenOptions how;
  how.write_ahead_log = is_new_file(options_.path);
  how.busy_timeout = std::chrono::milliseconds(10000);
  WRACKLINE_ASSIGN(database_, sqlite::Database::open(options_.path, how));
  WRACKLINE_TRY(take_over());
  WRACKLINE_TRY(prepare());
  open_ = true;
  return {};
}

Status SqliteSink::take_over() {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  WRACKLINE_TRY(make_bookkeeping());
  WRACKLINE_TRY(check_owner());
  if (standing_rows_ < rows_) {
    return fail(ErrorCode::kData,
                format("{} has got {} rows of this run, and the checkpoint knows of {}", place(),
                       standing_rows_, rows_),
                "It was dropped or put back after the run was cut short.",
                "Put it back as it was, or begin a new run without --resume.");
  }
  WRACKLINE_TRY(table_.make_or_check(database_));
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database_.prepare(
                       format("INSERT OR REPLACE INTO {} VALUES (?1, ?2, ?3, 0, 'running', {}, NULL, ?4, ?5)",
                              kBookkeeping, kNow)));
  statement.bind_text(1, options_.table);
  statement.bind_text(2, view_);
  statement.bind(3, generation_);
  statement.bind(4, run_);
  statement.bind(5, standing_rows_);
  WRACKLINE_TRY(statement.run());
  return transaction.commit();
}

// Tables of version 0.1 lack the last two columns.
Status SqliteSink::make_bookkeeping() {
  WRACKLINE_TRY(database_.exec(format(
      "CREATE TABLE IF NOT EXISTS {} (table_name TEXT PRIMARY KEY COLLATE NOCASE, \"view\" TEXT NOT NULL, "
      "generation INTEGER NOT NULL, committed_tick INTEGER NOT NULL, status TEXT NOT NULL, opened_at TEXT "
      "NOT NULL, committed_at TEXT, run INTEGER NOT NULL DEFAULT 0, run_rows INTEGER NOT NULL DEFAULT 0)",
      kBookkeeping)));
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database_.prepare(format("SELECT 1 FROM pragma_table_info('{}') WHERE name = 'run_rows'",
                                            kBookkeeping)));
  WRACKLINE_ASSIGN(const bool has_rows, statement.step());
  if (has_rows) return {};
  statement = sqlite::Statement();
  for (const char* column : {"run", "run_rows"}) {
    WRACKLINE_TRY(database_.exec(
        format("ALTER TABLE {} ADD COLUMN {} INTEGER NOT NULL DEFAULT 0", kBookkeeping, column)));
  }
  return {};
}

void SqliteSink::save(SnapshotWriter& out) const {
  out.section("sqlt");
  out.i64(rows_);
}

void SqliteSink::restore(SnapshotReader& from) {
  from.section("sqlt");
  rows_ = from.i64();
  if (rows_ < 0) from.refuse("a table has a negative number of rows");
}

// A record whose table was dropped says nothing any more.
Status SqliteSink::check_owner() {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare(format(
          "SELECT \"view\", generation, run, run_rows FROM {} WHERE table_name = ?1 AND EXISTS (SELECT 1 "
          "FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE)",
          kBookkeeping)));
  statement.bind_text(1, options_.table);
  WRACKLINE_ASSIGN(const bool row, statement.step());
  if (!row) return {};
  if (statement.text(0) != view_) {
    return fail(
        ErrorCode::kInvalid,
        format("{} belongs to view \"{}\", not to \"{}\"", place(), statement.text(0), view_),
        "One view writes one table: rows of two would replace each other.",
        "Give the sink another table with table = '...', or drop this one if its rows are not needed.");
  }
  if (statement.integer(1) >= generation_) {
    return fail(ErrorCode::kUnavailable,
                format("{} was last opened by generation {}, this run is generation {}", place(),
                       statement.integer(1), generation_),
                "Each start of a job with the same state directory has a greater generation; a run that is "
                "not newer may not "
                "overwrite.",
                "Use the --state directory of the run that wrote the table (a run with --state none is "
                "always generation 1), "
                "or drop the table to begin anew.");
  }
  if (statement.integer(2) == run_) standing_rows_ = statement.integer(3);
  return {};
}

Status SqliteSink::prepare() {
  WRACKLINE_ASSIGN(upsert_, database_.prepare(table_.upsert_sql()));
  if (table_.has_identity()) {
    WRACKLINE_ASSIGN(retract_, database_.prepare(table_.retract_sql()));
  }
  WRACKLINE_ASSIGN(remove_older_, database_.prepare(table_.remove_older_sql()));
  WRACKLINE_ASSIGN(fence_, database_.prepare(
                               format("UPDATE {} SET committed_tick = committed_tick + 1, committed_at = {}, "
                                      "run_rows = ?3 WHERE table_name = ?1 AND generation = ?2",
                                      kBookkeeping, kNow)));
  return {};
}

Status SqliteSink::write(const ChangeBatch& changes) {
  WRACKLINE_CHECK(open_, "write to a sink that is not open");
  WRACKLINE_CHECK(changes.columns.size() == column_count_ && changes.generation == run_,
                  format("{} columns, generation {}", changes.columns.size(), changes.generation));
  held_.add(changes);
  return {};
}

Status SqliteSink::commit() {
  WRACKLINE_CHECK(open_, "commit of a sink that is not open");
  if (held_.rows().empty()) return {};
  Status committed = commit_held();
  if (!committed) failed_ = true;
  return committed;
}

// Rows that an earlier attempt has committed come again first, in ticks of the same rows. They are left out:
// a row that was withdrawn since would be back until its withdrawal comes again, too.
Status SqliteSink::commit_held() {
  const auto count = static_cast<int64_t>(held_.rows().size());
  const int64_t again = std::clamp(standing_rows_ - rows_, int64_t{0}, count);
  if (again == count) {
    rows_ += count;
    held_.clear();
    return {};
  }
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  WRACKLINE_TRY(fence(rows_ + count));
  // Without identity nothing is replaced: the older rows have to go when the first new ones come.
  if (!table_.has_identity() && !older_removed_) {
    remove_older_.bind(1, run_);
    WRACKLINE_TRY(remove_older_.run());
  }
  WRACKLINE_TRY(apply_held(static_cast<size_t>(again)));
  WRACKLINE_TRY(transaction.commit());
  older_removed_ = true;
  rows_ += count;
  held_.clear();
  return {};
}

Status SqliteSink::fence(int64_t rows) {
  fence_.bind_text(1, options_.table);
  fence_.bind(2, generation_);
  fence_.bind(3, rows);
  WRACKLINE_TRY(fence_.run());
  if (database_.changes() == 1) return {};
  return fail(ErrorCode::kUnavailable,
              format("generation {} is fenced: a newer run has taken over {}", generation_, place()),
              "Nothing of this tick was written.", "Stop this run: the newer one computes the same rows.");
}

Status SqliteSink::apply_held(size_t first) {
  for (size_t row = first; row < held_.rows().size(); ++row) WRACKLINE_TRY(apply(row));
  return {};
}

Status SqliteSink::apply(size_t row) {
  const HeldRows::Row& change = held_.rows()[row];
  int parameter = 0;
  if (change.op == RowOp::kRetract) {
    WRACKLINE_CHECK(table_.has_identity(), "a retract for rows without identity");
    for (const size_t column : table_.identity()) held_.bind(retract_, ++parameter, row, column);
    retract_.bind(++parameter, change.version);
    retract_.bind(++parameter, run_);
    return retract_.run();
  }
  for (size_t column = 0; column < column_count_; ++column) held_.bind(upsert_, ++parameter, row, column);
  upsert_.bind(++parameter, change.version);
  upsert_.bind_text(++parameter, to_string(change.status));
  upsert_.bind(++parameter, run_);
  return upsert_.run();
}

Status SqliteSink::finish() {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  WRACKLINE_TRY(fence(std::max(rows_, standing_rows_)));
  remove_older_.bind(1, run_);
  WRACKLINE_TRY(remove_older_.run());
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare(format("UPDATE {} SET status = 'finished' WHERE table_name = ?1", kBookkeeping)));
  statement.bind_text(1, options_.table);
  WRACKLINE_TRY(statement.run());
  return transaction.commit();
}

Status SqliteSink::close(bool finished) {
  if (!open_) return {};
  Status status;
  if (finished && !failed_) {
    status = commit();
    if (status) status = finish();
  } else {
    // Only for people who look: whether it succeeds changes nothing.
    Result<sqlite::Statement> mark = database_.prepare(
        format("UPDATE {} SET status = 'failed' WHERE table_name = ?1 AND generation = ?2", kBookkeeping));
    if (mark) {
      mark->bind_text(1, options_.table);
      mark->bind(2, generation_);
      static_cast<void>(mark->run().has_value());
    }
  }
  open_ = false;
  for (sqlite::Statement* statement : {&upsert_, &retract_, &remove_older_, &fence_})
    *statement = sqlite::Statement();
  database_ = sqlite::Database();
  return status;
}

}  // namespace

Result<std::unique_ptr<Sink>> make_sqlite_sink(const SqliteSinkOptions& options) {
  if (options.path.empty())
    return fail(ErrorCode::kInvalid, "SQLite sink without a path", {}, "Set path = '...'.");
  if (options.table.empty())
    return fail(ErrorCode::kInvalid, "SQLite sink without a table", {}, "Set table = '...'.");
  if (options.table.starts_with("sqlite_") || options.table.starts_with("_wrackline_")) {
    return fail(ErrorCode::kInvalid, format("table name \"{}\" is reserved", printable(options.table)), {},
                "Choose a name that does not begin with sqlite_ or _wrackline_.");
  }
  return std::make_unique<SqliteSink>(options);
}

}  // namespace wrackline::connectors
