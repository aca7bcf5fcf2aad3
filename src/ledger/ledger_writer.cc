#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "ledger/ledger_schema.h"
#include "ledger/ledger_sqlite.h"

namespace wrackline::ledger {
namespace {

// Twice SQLite's default: a tenth more entries per second, as each tick touches fewer pages.
constexpr int kPageBytes = 8192;

// Wider than the defaults: the identity index of many files is touched in many places.
// What is removed is overwritten: it may be what the law wants gone.
constexpr const char* kTuning =
    "PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 4000; PRAGMA secure_delete = ON";

void bind_optional(sqlite::Statement& statement, int parameter, std::optional<int64_t> value) {
  if (value) {
    statement.bind(parameter, *value);
  } else {
    statement.bind_null(parameter);
  }
}

}  // namespace

Result<std::unique_ptr<Ledger>> SqliteWriter::open(const std::string& directory, const std::string& job,
                                                   RunChoice choice) {
  WRACKLINE_ASSIGN(StateLock lock, StateLock::take(directory));
  WRACKLINE_ASSIGN(sqlite::Database database,
                   sqlite::Database::open(ledger_path(directory), {.page_bytes = kPageBytes}));
  std::unique_ptr<SqliteWriter> writer(new SqliteWriter(directory, std::move(database), std::move(lock)));
  WRACKLINE_TRY(make_schema(writer->database_));
  WRACKLINE_TRY(writer->database_.exec(kTuning));
  WRACKLINE_TRY(writer->start_generation(job, choice));
  WRACKLINE_TRY(writer->prepare());
  return writer;
}

// A generation that still says "running" belongs to a process that died: the lock is ours.
Status SqliteWriter::start_generation(const std::string& job, RunChoice choice) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  WRACKLINE_TRY(database_.exec("UPDATE generation SET status = 'failed' WHERE status = 'running'"));
  WRACKLINE_TRY(find_last_run());
  const bool resumes = choice == RunChoice::kResumeUnfinished && last_run_ && last_run_->status != "finished";
  if (!resumes) WRACKLINE_TRY(remove_superseded());
  WRACKLINE_ASSIGN(
      last_seq_, database_.query_integer("SELECT max(max(last_seq), ifnull((SELECT max(seq) FROM entry), 0)) "
                                         "FROM generation",
                                         0));
  generation_ = last_run_ ? last_run_->generation + 1 : 1;
  run_ = generation_;
  if (resumes) WRACKLINE_TRY(go_on());
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare(format("INSERT INTO generation (generation, run, job, status, started_us, "
                               "entries, last_seq, settled_seq) VALUES (?1, ?2, ?3, 'running', "
                               "{}, ?4, ?5, ?6)",
                               kNowUs)));
  statement.bind(1, generation_);
  statement.bind(2, run_);
  statement.bind_text(3, job);
  statement.bind(4, size_);
  statement.bind(5, last_seq_);
  statement.bind(6, settled_seq_);
  WRACKLINE_TRY(statement.run());
  return transaction.commit();
}

Status SqliteWriter::find_last_run() {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare("SELECT run, generation, status, job, entries, last_seq, settled_seq FROM "
                        "generation ORDER BY generation DESC LIMIT 1"));
  WRACKLINE_ASSIGN(const bool row, statement.step());
  if (!row) return {};
  last_run_ = LastRun{statement.integer(0),           statement.integer(1), std::string(statement.text(2)),
                      std::string(statement.text(3)), statement.integer(4), statement.integer(5)};
  settled_seq_ = statement.integer(6);
  return statement.run();
}

// The streams of the run's earlier attempts are the ones that its replay meets.
Status SqliteWriter::go_on() {
  run_ = last_run_->run;
  WRACKLINE_ASSIGN(size_, database_.query_integer(format("SELECT count(*) FROM entry WHERE stream_id IN "
                                                         "(SELECT id FROM stream WHERE run = {})",
                                                         run_)));
  last_run_->entries = size_;
  WRACKLINE_ASSIGN(const int64_t removed, database_.query_integer("SELECT count(*) FROM removed"));
  any_removed_ = removed > 0;
  forgotten_seq_ = settled_seq_;
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database_.prepare("SELECT id, \"view\", source, file, partition FROM stream WHERE run = ?1"));
  statement.bind(1, run_);
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    StreamName name{statement.text(1), statement.text(2), statement.text(3)};
    streams_.emplace(std::move(name), Stream{statement.integer(0), std::string(statement.text(4)), nullptr});
  }
}

// Runs that fail over and over must not fill the disk: beside the newest finished run only the newest one is
// kept.
Status SqliteWriter::remove_superseded() {
  return remove_runs(
      "run < (SELECT max(run) FROM generation) AND run IS NOT "
      "(SELECT max(run) FROM generation WHERE status = 'finished')");
}

Status SqliteWriter::remove_runs(const std::string& condition) {
  const std::string chosen =
      format("(SELECT run FROM generation WHERE replaced_by IS NULL AND {})", condition);
  const std::string streams = format("(SELECT id FROM stream WHERE run IN {})", chosen);
  WRACKLINE_TRY(
      database_.exec(format("DELETE FROM more_window WHERE seq IN (SELECT seq FROM entry WHERE window_count "
                            "> 1 AND stream_id IN {})",
                            streams)));
  WRACKLINE_TRY(database_.exec(format("DELETE FROM entry WHERE stream_id IN {}", streams)));
  WRACKLINE_TRY(database_.exec(format("DELETE FROM removed WHERE stream_id IN {}", streams)));
  WRACKLINE_TRY(database_.exec(format("DELETE FROM stream WHERE id IN {}", streams)));
  return database_.exec(
      format("UPDATE generation SET replaced_by = (SELECT max(run) FROM generation) WHERE "
             "replaced_by IS NULL AND {}",
             condition));
}

Status SqliteWriter::prepare() {
  WRACKLINE_ASSIGN(
      insert_entry_,
      database_.prepare(
          "INSERT INTO entry (seq, stream_id, \"offset\", line, tick, reason_id, watermark_us, "
          "event_time_us, arrival_time_us, window_count, window_start_us, window_end_us, "
          "late_by_us, state, partition, key, detail, payload, payload_state, recorded_us) VALUES "
          "(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, "
          "?20) ON CONFLICT (stream_id, \"offset\") DO NOTHING"));
  WRACKLINE_ASSIGN(find_removed_,
                   database_.prepare("SELECT 1 FROM removed WHERE stream_id = ?1 AND \"offset\" = ?2"));
  WRACKLINE_ASSIGN(now_, database_.prepare(format("SELECT {}", kNowUs)));
  WRACKLINE_ASSIGN(insert_window_, database_.prepare("INSERT INTO more_window VALUES (?1, ?2, ?3, ?4)"));
  WRACKLINE_ASSIGN(
      insert_stream_,
      database_.prepare("INSERT INTO stream (run, \"view\", source, file, partition) VALUES (?1, ?2, "
                        "?3, ?4, ?5) RETURNING id"));
  WRACKLINE_ASSIGN(
      update_generation_,
      database_.prepare(
          "UPDATE generation SET entries = ?2, last_seq = ?3, settled_seq = ?4 WHERE generation = ?1"));
  return {};
}

// A run that nobody ended is a failed one. Nothing can be reported from here.
SqliteWriter::~SqliteWriter() {
  transaction_.reset();
  if (!ended_ && generation_ > 0) static_cast<void>(end_generation(RunEnd::kFailed).has_value());
}

Status SqliteWriter::broken(Status failure) {
  transaction_.reset();  // rolls back
  failure_ = failure.error();
  return failure;
}

Status SqliteWriter::begin() {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  transaction_.emplace(std::move(transaction));
  WRACKLINE_ASSIGN(recorded_us_, now_us());
  return {};
}

Result<int64_t> SqliteWriter::now_us() {
  if (wall_us_) return wall_us_();
  WRACKLINE_ASSIGN(const bool row, now_.step());
  WRACKLINE_CHECK(row, "SELECT without FROM gives a row");
  const int64_t now = now_.integer(0);
  now_.reset();
  return now;
}

// Entries come in runs of one stream, so the last answer is nearly always the next one too.
Result<const SqliteWriter::Stream*> SqliteWriter::stream_of(const Entry& entry) {
  if (last_stream_ != nullptr) {
    const auto& [view, source, file] = last_stream_->first;
    if (file == entry.file && view == entry.view && source == entry.source) return &last_stream_->second;
  }
  const auto [at, is_new] = streams_.try_emplace({entry.view, entry.source, entry.file});
  if (is_new) {
    insert_stream_.bind(1, run_);
    insert_stream_.bind_text(2, entry.view);
    insert_stream_.bind_text(3, entry.source);
    insert_stream_.bind_text(4, entry.file);
    insert_stream_.bind_text(5, entry.partition);
    WRACKLINE_ASSIGN(const bool row, insert_stream_.step());
    WRACKLINE_CHECK(row, entry.file);
    at->second = {insert_stream_.integer(0), entry.partition, retainer_.find(entry.view)};
    WRACKLINE_TRY(insert_stream_.run());
  }
  last_stream_ = &*at;
  return &at->second;
}

Status SqliteWriter::add(Entry entry) {
  WRACKLINE_CHECK(!ended_, "add after finish");
  if (failure_) return fail(*failure_);
  began_ = true;
  if (!transaction_) {
    if (Status begun = begin(); !begun) return broken(std::move(begun));
  }
  if (!maskers_.empty()) {
    if (const auto masker = maskers_.find(entry.view); masker != maskers_.end()) masker->second.hide(entry);
  }
  if (Status inserted = insert(entry); !inserted) return broken(std::move(inserted));
  return {};
}

Status SqliteWriter::insert(const Entry& entry) {
  WRACKLINE_ASSIGN(const Stream* stream, stream_of(entry));
  WRACKLINE_ASSIGN(const bool removed, was_removed(*stream, entry.offset));
  if (removed) return {};
  sqlite::Statement& row = insert_entry_;
  row.bind(1, last_seq_ + 1);
  row.bind(2, stream->id);
  row.bind(3, entry.offset);
  row.bind(4, entry.line);
  row.bind(5, entry.tick);
  row.bind(6, static_cast<int64_t>(entry.reason));
  row.bind(7, entry.watermark_us);
  bind_optional(row, 8, entry.event_time_us);
  bind_optional(row, 9, entry.arrival_time_us);
  row.bind(10, static_cast<int64_t>(entry.windows.size()));
  const bool missed = !entry.windows.empty();
  bind_optional(row, 11, missed ? std::optional(entry.windows[0].start_us) : std::nullopt);
  bind_optional(row, 12, missed ? std::optional(entry.windows[0].end_us) : std::nullopt);
  bind_optional(row, 13, missed ? std::optional(entry.windows[0].late_by_us) : std::nullopt);
  row.bind_text(14, entry.state);
  if (entry.partition == stream->partition) {
    row.bind_null(15);
  } else {
    row.bind_text(15, entry.partition);
  }
  row.bind_text(16, entry.key);
  row.bind_text(17, entry.detail);
  row.bind_blob(18, entry.payload);
  row.bind(19, static_cast<int64_t>(entry.payload_state));
  row.bind(20, recorded_us_);
  WRACKLINE_TRY(row.run());
  if (database_.changes() == 0) return {};  // it is there already
  ++last_seq_;
  ++size_;
  if (stream->retained != nullptr) {
    ++stream->retained->entries;
    ++stream->retained->added;
    stream->retained->bytes +=
        static_cast<int64_t>(entry.payload.size() + entry.key.size() + entry.detail.size()) + kEntryBytes;
  }
  return insert_windows(entry);
}

// A replay may meet an entry that retention or a purge took away: it stays away, and is not counted again.
Result<bool> SqliteWriter::was_removed(const Stream& stream, int64_t offset) {
  if (!any_removed_) return false;
  find_removed_.bind(1, stream.id);
  find_removed_.bind(2, offset);
  WRACKLINE_ASSIGN(const bool found, find_removed_.step());
  find_removed_.reset();
  return found;
}

Status SqliteWriter::insert_windows(const Entry& entry) {
  for (size_t i = 1; i < entry.windows.size(); ++i) {
    insert_window_.bind(1, last_seq_);
    insert_window_.bind(2, entry.windows[i].start_us);
    insert_window_.bind(3, entry.windows[i].end_us);
    insert_window_.bind(4, entry.windows[i].late_by_us);
    WRACKLINE_TRY(insert_window_.run());
  }
  return {};
}

Status SqliteWriter::commit() {
  if (failure_) return fail(*failure_);
  if (Status forgotten = forget_settled(); !forgotten) return broken(std::move(forgotten));
  if (Status retained = retain(); !retained) return broken(std::move(retained));
  if (!transaction_) return {};
  update_generation_.bind(1, generation_);
  update_generation_.bind(2, size_);
  update_generation_.bind(3, last_seq_);
  update_generation_.bind(4, settled_seq_);
  if (Status updated = update_generation_.run(); !updated) return broken(std::move(updated));
  if (Status committed = transaction_->commit(); !committed) return broken(std::move(committed));
  transaction_.reset();
  return {};
}

Status SqliteWriter::forget_settled() {
  if (settled_seq_ == forgotten_seq_) return {};
  forgotten_seq_ = settled_seq_;
  if (!transaction_) WRACKLINE_TRY(begin());
  if (!any_removed_) return {};
  WRACKLINE_TRY(database_.exec(format("DELETE FROM removed WHERE seq <= {}", settled_seq_)));
  WRACKLINE_ASSIGN(const int64_t left, database_.query_integer("SELECT EXISTS (SELECT 1 FROM removed)"));
  any_removed_ = left != 0;
  return {};
}

Status SqliteWriter::set_retention(std::vector<Retention> rules, std::function<int64_t()> wall_us) {
  if (failure_) return fail(*failure_);
  wall_us_ = std::move(wall_us);
  WRACKLINE_TRY(retainer_.start(database_, std::move(rules)));
  for (auto& [name, stream] : streams_) stream.retained = retainer_.find(std::get<0>(name));
  return {};
}

void SqliteWriter::set_masks(std::vector<MaskRule> rules) {
  maskers_.clear();
  for (MaskRule& rule : rules) {
    std::string view = rule.view;
    maskers_.emplace(std::move(view), Masker(std::move(rule)));
  }
}

Status SqliteWriter::retain() {
  if (retainer_.empty()) return {};
  WRACKLINE_ASSIGN(const int64_t now, now_us());
  if (retainer_.idle(now)) return {};
  if (!transaction_) WRACKLINE_TRY(begin());
  WRACKLINE_ASSIGN(const Retainer::Removed removed, retainer_.step(database_, now, {run_, settled_seq_}));
  size_ -= removed.of_run;
  any_removed_ |= removed.remembered;
  return {};
}

Status SqliteWriter::rewind(int64_t seq) {
  WRACKLINE_CHECK(!began_, "rewind after an add");
  if (seq < settled_seq_) return check_nothing_forgotten();
  if (seq <= last_seq_) return {};
  return fail(ErrorCode::kData,
              format("ledger \"{}\" ends at entry {}, but the checkpoint was taken at entry {}",
                     ledger_path(directory_), last_seq_, seq),
              "The ledger is older than the checkpoint beside it, so entries are missing.",
              "Put the ledger back that belongs to the checkpoint, or begin a new run without --resume.");
}

// Removed entries whose identity is no longer known would come back, and be counted twice.
Status SqliteWriter::check_nothing_forgotten() {
  WRACKLINE_ASSIGN(
      const int64_t removed,
      database_.query_integer(
          format("SELECT sum(c.entries) FROM audit a JOIN audit_count c ON c.audit_id = a.id WHERE a.run "
                 "= {} AND a.action NOT IN ('waive', 'purge_payloads')",
                 run_)));
  WRACKLINE_ASSIGN(const int64_t known, database_.query_integer("SELECT count(*) FROM removed"));
  if (removed <= known) return {};
  return fail(
      ErrorCode::kData,
      format("run {} cannot be replayed from so far back: its ledger has removed entries for good", run_),
      format("{} entries were removed by retention or a purge; the identities of {} are still known.",
             with_thousands(removed), with_thousands(known)),
      "Resume from a newer checkpoint, or begin a new run without --resume.");
}

void SqliteWriter::settle(int64_t seq) {
  settled_seq_ = std::max(settled_seq_, std::min(seq, last_seq_));
}

// What one commit does not reach, as after a run that never paused, is reached by some more.
Status SqliteWriter::finish_retention() {
  while (!failure_ && !retainer_.empty()) {
    WRACKLINE_ASSIGN(const int64_t now, now_us());
    if (retainer_.idle(now)) return {};
    WRACKLINE_TRY(commit());
  }
  return {};
}

Status SqliteWriter::finish(RunEnd end) {
  WRACKLINE_CHECK(!ended_, "finish twice");
  if (!failure_) WRACKLINE_TRY(commit());
  WRACKLINE_TRY(finish_retention());
  ended_ = true;
  WRACKLINE_TRY(end_generation(failure_ ? RunEnd::kFailed : end));
  if (failure_ && end != RunEnd::kFailed) return fail(*failure_);
  return {};
}

Status SqliteWriter::end_generation(RunEnd end) {
  WRACKLINE_ASSIGN(sqlite::Transaction transaction, sqlite::Transaction::begin(database_));
  if (end == RunEnd::kFinished) {
    WRACKLINE_TRY(remove_runs(format("run < {}", run_)));
    WRACKLINE_TRY(database_.exec("DELETE FROM removed"));  // no replay comes back to a finished run
  }
  const std::string_view status = end == RunEnd::kFinished  ? "finished"
                                  : end == RunEnd::kStopped ? "stopped"
                                                            : "failed";
  WRACKLINE_TRY(
      database_.exec(format("UPDATE generation SET status = '{}', ended_us = {} WHERE generation = {}",
                            status, kNowUs, generation_)));
  return transaction.commit();
}

}  // namespace wrackline::ledger
