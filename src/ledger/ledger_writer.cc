#include <memory>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ledger/ledger_schema.h"
#include "ledger/ledger_sqlite.h"

namespace wrackline::ledger {
namespace {

// SQLite's clock: this room has none of its own.
constexpr const char* kNowUs = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000";

// Wider than the defaults: the identity index of many files is touched in many places.
constexpr const char* kTuning = "PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 4000";

void bind_time(sqlite::Statement& statement, int parameter, std::optional<int64_t> micros) {
  if (micros) {
    statement.bind(parameter, *micros);
  } else {
    statement.bind_null(parameter);
  }
}

}  // namespace

Result<std::unique_ptr<Ledger>> SqliteWriter::open(const std::string& directory, const std::string& job) {
  WRACKLINE_ASSIGN(StateLock lock, StateLock::take(directory));
  WRACKLINE_ASSIGN(sqlite::Database database, sqlite::Database::open(ledger_path(directory)));
  std::unique_ptr<SqliteWriter> writer(new SqliteWriter(directory, std::move(database), std::move(lock)));
  WRACKLINE_TRY(make_schema(writer->database_));
  WRACKLINE_TRY(writer->database_.exec(kTuning));
  WRACKLINE_TRY(writer->start_generation(job));
  WRACKLINE_TRY(writer->prepare());
  return writer;
}

// A generation that still says "running" belongs to a process that died: the lock is ours.
Status SqliteWriter::start_generation(const std::string& job) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  WRACKLINE_TRY(database_.exec("UPDATE generation SET status = 'failed' WHERE status = 'running'"));
  WRACKLINE_TRY(remove_superseded());
  WRACKLINE_ASSIGN(generation_, database_.query_integer("SELECT max(generation) FROM generation", 0));
  WRACKLINE_ASSIGN(
      last_seq_, database_.query_integer("SELECT max(max(last_seq), ifnull((SELECT max(seq) FROM entry), 0)) "
                                         "FROM generation",
                                         0));
  ++generation_;
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database_.prepare(
                       format("INSERT INTO generation (generation, job, status, started_us, last_seq) VALUES "
                              "(?1, ?2, 'running', {}, ?3)",
                              kNowUs)));
  statement.bind(1, generation_);
  statement.bind_text(2, job);
  statement.bind(3, last_seq_);
  WRACKLINE_TRY(statement.run());
  return transaction.commit();
}

// Runs that fail over and over must not fill the disk: beside the newest finished run only the newest one is
// kept.
Status SqliteWriter::remove_superseded() {
  return remove_generations(
      "generation < (SELECT max(generation) FROM generation) AND generation IS NOT "
      "(SELECT max(generation) FROM generation WHERE status = 'finished')");
}

Status SqliteWriter::remove_generations(const std::string& condition) {
  const std::string chosen =
      format("(SELECT generation FROM generation WHERE replaced_by IS NULL AND {})", condition);
  WRACKLINE_TRY(database_.exec(format("DELETE FROM more_window WHERE generation IN {}", chosen)));
  WRACKLINE_TRY(database_.exec(format("DELETE FROM entry WHERE generation IN {}", chosen)));
  return database_.exec(
      format("UPDATE generation SET replaced_by = (SELECT max(generation) FROM generation) WHERE "
             "replaced_by IS NULL AND {}",
             condition));
}

Status SqliteWriter::prepare() {
  WRACKLINE_ASSIGN(
      insert_entry_,
      database_.prepare("INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
                        "?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21) ON CONFLICT (generation, view_id, "
                        "source_id, file_id, \"offset\") DO NOTHING"));
  WRACKLINE_ASSIGN(insert_window_,
                   database_.prepare("INSERT INTO more_window VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
                                     "ON CONFLICT DO NOTHING"));
  WRACKLINE_ASSIGN(insert_name_,
                   database_.prepare("INSERT INTO name (text) VALUES (?1) ON CONFLICT DO NOTHING"));
  WRACKLINE_ASSIGN(find_name_, database_.prepare("SELECT id FROM name WHERE text = ?1"));
  WRACKLINE_ASSIGN(
      update_generation_,
      database_.prepare("UPDATE generation SET entries = ?2, last_seq = ?3 WHERE generation = ?1"));
  return {};
}

// A run that nobody ended is a failed one. Nothing can be reported from here.
SqliteWriter::~SqliteWriter() {
  transaction_.reset();
  if (!ended_ && generation_ > 0) static_cast<void>(end_generation(false).has_value());
}

Status SqliteWriter::broken(Status failure) {
  transaction_.reset();  // rolls back
  failure_ = failure.error();
  return failure;
}

Status SqliteWriter::begin() {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  transaction_.emplace(std::move(transaction));
  return {};
}

Result<int64_t> SqliteWriter::intern(Interned& last, std::string_view text) {
  if (last.id != 0 && last.text == text) return last.id;
  std::string name(text);
  int64_t& id = names_[name];
  if (id == 0) {
    insert_name_.bind_text(1, name);
    WRACKLINE_TRY(insert_name_.run());
    find_name_.bind_text(1, name);
    WRACKLINE_ASSIGN(const bool row, find_name_.step());
    WRACKLINE_CHECK(row, name);
    id = find_name_.integer(0);
    find_name_.reset();
  }
  last.text = std::move(name);
  last.id = id;
  return id;
}

Status SqliteWriter::add(Entry entry) {
  WRACKLINE_CHECK(!ended_, "add after finish");
  if (failure_) return fail(*failure_);
  if (!transaction_) {
    if (Status begun = begin(); !begun) return broken(std::move(begun));
  }
  if (Status inserted = insert(entry); !inserted) return broken(std::move(inserted));
  return {};
}

Status SqliteWriter::insert(const Entry& entry) {
  WRACKLINE_ASSIGN(const int64_t view_id, intern(view_, entry.view));
  WRACKLINE_ASSIGN(const int64_t source_id, intern(source_, entry.source));
  WRACKLINE_ASSIGN(const int64_t file_id, intern(file_, entry.file));
  sqlite::Statement& row = insert_entry_;
  row.bind(1, last_seq_ + 1);
  row.bind(2, generation_);
  row.bind(3, view_id);
  row.bind(4, source_id);
  row.bind(5, file_id);
  row.bind(6, entry.offset);
  row.bind(7, entry.line);
  row.bind(8, entry.tick);
  row.bind(9, static_cast<int64_t>(entry.reason));
  row.bind(10, entry.watermark_us);
  bind_time(row, 11, entry.event_time_us);
  bind_time(row, 12, entry.arrival_time_us);
  row.bind(13, static_cast<int64_t>(entry.windows.size()));
  const bool missed = !entry.windows.empty();
  bind_time(row, 14, missed ? std::optional(entry.windows[0].start_us) : std::nullopt);
  bind_time(row, 15, missed ? std::optional(entry.windows[0].end_us) : std::nullopt);
  bind_time(row, 16, missed ? std::optional(entry.windows[0].late_by_us) : std::nullopt);
  row.bind_text(17, entry.state);
  row.bind_text(18, entry.partition);
  row.bind_text(19, entry.key);
  row.bind_text(20, entry.detail);
  row.bind_blob(21, entry.payload);
  WRACKLINE_TRY(row.run());
  if (database_.changes() == 0) return {};  // it is there already
  ++last_seq_;
  ++size_;
  return insert_windows(entry, view_id);
}

Status SqliteWriter::insert_windows(const Entry& entry, int64_t view_id) {
  for (size_t i = 1; i < entry.windows.size(); ++i) {
    insert_window_.bind(1, last_seq_);
    insert_window_.bind(2, generation_);
    insert_window_.bind(3, view_id);
    insert_window_.bind(4, entry.windows[i].start_us);
    insert_window_.bind(5, entry.windows[i].end_us);
    insert_window_.bind(6, entry.windows[i].late_by_us);
    WRACKLINE_TRY(insert_window_.run());
  }
  return {};
}

Status SqliteWriter::commit() {
  if (failure_) return fail(*failure_);
  if (!transaction_) return {};
  update_generation_.bind(1, generation_);
  update_generation_.bind(2, size_);
  update_generation_.bind(3, last_seq_);
  if (Status updated = update_generation_.run(); !updated) return broken(std::move(updated));
  if (Status committed = transaction_->commit(); !committed) return broken(std::move(committed));
  transaction_.reset();
  return {};
}

Status SqliteWriter::finish(bool finished) {
  WRACKLINE_CHECK(!ended_, "finish twice");
  if (!failure_) WRACKLINE_TRY(commit());
  ended_ = true;
  WRACKLINE_TRY(end_generation(finished));
  if (failure_ && finished) return fail(*failure_);
  return {};
}

Status SqliteWriter::end_generation(bool finished) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  if (finished && !failure_) WRACKLINE_TRY(remove_generations(format("generation < {}", generation_)));
  WRACKLINE_TRY(
      database_.exec(format("UPDATE generation SET status = '{}', ended_us = {} WHERE generation = {}",
                            finished && !failure_ ? "finished" : "failed", kNowUs, generation_)));
  return transaction.commit();
}

}  // namespace wrackline::ledger
