#include "ledger/edit.h"

#include <memory>
#include <utility>

#include "base/text.h"
#include "data/time_text.h"
#include "ledger/audit_trail.h"
#include "ledger/ledger_schema.h"
#include "ledger/ledger_sqlite.h"
#include "ledger/state_lock.h"
#include "sqlite/database.h"

namespace wrackline::ledger {
namespace {

// Entries that the action changes; the others that the filter chooses are left alone.
std::string_view condition_of(EditAction action) {
  switch (action) {
    case EditAction::kWaive:
      return "state = 'open'";
    case EditAction::kPurgePayloads:
      return "payload_state <> 3";
    case EditAction::kPurgeEntries:
      return "1";
  }
  return {};
}

class Editor {
 public:
  Editor(sqlite::Database& database, int64_t run, const Edit& edit)
      : database_(database), run_(run), edit_(edit) {}

  // In a temporary table: what the filter chooses, as it is before the change.
  Status choose() {
    const Filter& filter = edit_.filter;
    std::string sql =
        "CREATE TEMP TABLE chosen AS SELECT e.seq, e.stream_id, s.\"view\", s.source, e.reason_id, e.state, "
        "e.payload_state, length(e.payload) AS payload_bytes, e.\"offset\" FROM entry e JOIN stream s ON "
        "s.id = "
        "e.stream_id WHERE s.run = ?1";
    if (filter.view) sql += " AND s.\"view\" = ?2";
    if (filter.window_start_us) {
      sql +=
          " AND e.seq IN (SELECT seq FROM entry WHERE window_start_us = ?3 UNION SELECT seq FROM more_window "
          "WHERE window_start_us = ?3)";
    }
    if (filter.reason) sql += " AND e.reason_id = ?4";
    if (filter.seq) sql += " AND e.seq = ?5";
    WRACKLINE_ASSIGN(sqlite::Statement statement, database_.prepare(sql));
    statement.bind(1, run_);
    if (filter.view) statement.bind_text(2, *filter.view);
    if (filter.window_start_us) statement.bind(3, *filter.window_start_us);
    if (filter.reason) statement.bind(4, static_cast<int64_t>(*filter.reason));
    if (filter.seq) statement.bind(5, *filter.seq);
    WRACKLINE_TRY(statement.run());
    WRACKLINE_ASSIGN(chosen_, database_.query_integer("SELECT count(*) FROM chosen"));
    WRACKLINE_TRY(database_.exec(format("DELETE FROM chosen WHERE NOT ({})", condition_of(edit_.action))));
    return count();
  }

  EditResult result() const {
    EditResult result;
    result.run = run_;
    result.counts = counts_.lines();
    for (const AuditLine::Count& count : result.counts) result.entries += count.entries;
    result.left_alone = chosen_ - result.entries;
    return result;
  }

  Result<int64_t> change() {
    AuditLine line;
    line.action = to_string(edit_.action);
    line.run = run_;
    WRACKLINE_ASSIGN(line.began_us, database_.query_integer(format("SELECT {}", kNowUs)));
    line.ended_us = line.began_us;
    line.who = edit_.who;
    line.because = edit_.because;
    line.chosen = in_words(edit_.filter);
    WRACKLINE_ASSIGN(const int64_t audit, begin_audit_line(database_, line));
    WRACKLINE_TRY(count_in_trail(database_, audit, counts_));
    switch (edit_.action) {
      case EditAction::kWaive:
        WRACKLINE_TRY(update("state = 'waived'", audit));
        break;
      case EditAction::kPurgePayloads:
        WRACKLINE_TRY(update("payload = x'', key = 'null', detail = '', payload_state = 3", audit));
        break;
      case EditAction::kPurgeEntries:
        WRACKLINE_TRY(remove());
        break;
    }
    return audit;
  }

 private:
  Status count() {
    WRACKLINE_ASSIGN(sqlite::Statement statement,
                     database_.prepare("SELECT \"view\", source, reason_id, payload_bytes FROM chosen"));
    for (;;) {
      WRACKLINE_ASSIGN(const bool row, statement.step());
      if (!row) return {};
      counts_.add(std::string(statement.text(0)), std::string(statement.text(1)), statement.integer(2),
                  statement.integer(3));
    }
  }

  Status update(std::string_view what, int64_t audit) {
    return database_.exec(
        format("UPDATE entry SET {}, audit_id = {} WHERE seq IN (SELECT seq FROM chosen)", what, audit));
  }

  // A run that goes on must not meet them again as new ones.
  Status remove() {
    WRACKLINE_ASSIGN(const int64_t finished,
                     database_.query_integer(format(
                         "SELECT count(*) FROM generation WHERE run = {} AND status = 'finished'", run_)));
    if (finished == 0) {
      WRACKLINE_TRY(
          database_.exec("INSERT OR REPLACE INTO removed SELECT seq, stream_id, \"offset\" FROM chosen"));
    }
    WRACKLINE_TRY(database_.exec("DELETE FROM more_window WHERE seq IN (SELECT seq FROM chosen)"));
    WRACKLINE_TRY(database_.exec("DELETE FROM entry WHERE seq IN (SELECT seq FROM chosen)"));
    return database_.exec(
        format("UPDATE generation SET entries = entries - (SELECT count(*) FROM chosen) WHERE generation = "
               "(SELECT max(generation) FROM generation WHERE run = {})",
               run_));
  }

  sqlite::Database& database_;
  int64_t run_;
  const Edit& edit_;
  int64_t chosen_ = 0;
  AuditCounts counts_;
};

// A name that no entry has is a slip, and must not look like work done.
Status check_names(sqlite::Database& database, int64_t run, const Filter& filter) {
  if (filter.seq) {
    WRACKLINE_ASSIGN(const int64_t there, database.query_integer(format(
                                              "SELECT count(*) FROM entry WHERE seq = {} AND stream_id IN "
                                              "(SELECT id FROM stream WHERE run = {})",
                                              *filter.seq, run)));
    if (there == 0) {
      return fail(ErrorCode::kNotFound, format("the ledger of run {} has no entry {}", run, *filter.seq), {},
                  "`wrackline ledger list` shows the numbers of entries.");
    }
  }
  if (!filter.view) return {};
  WRACKLINE_ASSIGN(sqlite::Statement statement,
                   database.prepare("SELECT DISTINCT \"view\" FROM stream WHERE run = ?1 ORDER BY 1"));
  statement.bind(1, run);
  std::vector<std::string> views;
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) break;
    views.emplace_back(statement.text(0));
  }
  std::string list;
  for (const std::string& view : views) {
    if (view == *filter.view) return {};
    list += format("{}\"{}\"", list.empty() ? "" : ", ", printable(view));
  }
  return fail(ErrorCode::kNotFound,
              format("no entry of run {} is of a view \"{}\"", run, printable(*filter.view)),
              list.empty() ? std::string() : format("Views with entries are {}.", list));
}

Result<StateLock> lock_to_change(const std::string& directory) {
  auto lock = StateLock::take(directory);
  if (lock) return lock;
  Error error = std::move(lock).error();
  if (error.code == ErrorCode::kUnavailable) {
    error.hint =
        "Entries are changed between runs: stop the job, change them, start it again; it goes on where it "
        "stopped. --dry-run counts them now.";
  }
  return fail(std::move(error));
}

}  // namespace

std::string_view to_string(EditAction action) {
  switch (action) {
    case EditAction::kWaive:
      return "waive";
    case EditAction::kPurgePayloads:
      return "purge_payloads";
    case EditAction::kPurgeEntries:
      return "purge_entries";
  }
  return {};
}

std::string in_words(const Filter& filter) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : ", ") + part; };
  if (filter.view) add(format("view \"{}\"", printable(*filter.view)));
  if (filter.window_start_us) add("window " + timestamp_text(*filter.window_start_us));
  if (filter.reason) add(format("reason {}", to_string(*filter.reason)));
  if (filter.seq) add(format("entry {}", *filter.seq));
  return words.empty() ? "all entries" : words;
}

Result<EditResult> edit_entries(const std::string& directory, const Edit& edit) {
  WRACKLINE_TRY(check_ledger_is_there(directory));
  StateLock lock;
  sqlite::Database database;
  if (edit.dry_run) {
    WRACKLINE_ASSIGN(database, open_readable_ledger(directory));
  } else {
    WRACKLINE_ASSIGN(lock, lock_to_change(directory));
    WRACKLINE_ASSIGN(database,
                     sqlite::Database::open(ledger_path(directory), {.access = sqlite::Access::kWrite}));
    WRACKLINE_TRY(make_schema(database));
    WRACKLINE_TRY(database.exec("PRAGMA secure_delete = ON"));
  }
  WRACKLINE_ASSIGN(const int64_t run, run_of(database, edit.generation));
  WRACKLINE_TRY(check_names(database, run, edit.filter));
  std::optional<sqlite::Transaction> transaction;
  if (!edit.dry_run) {
    WRACKLINE_ASSIGN(sqlite::Transaction begun, sqlite::Transaction::begin(database));
    transaction.emplace(std::move(begun));
  }
  Editor editor(database, run, edit);
  WRACKLINE_TRY(editor.choose());
  EditResult result = editor.result();
  if (edit.dry_run || result.entries == 0) return result;
  WRACKLINE_ASSIGN(result.audit, editor.change());
  WRACKLINE_TRY(transaction->commit());
  // The log, too, holds what was there before.
  if (edit.action != EditAction::kWaive) WRACKLINE_TRY(database.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
  return result;
}

}  // namespace wrackline::ledger
