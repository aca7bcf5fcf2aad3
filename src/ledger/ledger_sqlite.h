// The durable ledger: DIR/ledger.sqlite. Two classes: a reader, and a writer that also reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "ledger/masker.h"
#include "ledger/retainer.h"
#include "ledger/state_lock.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

// Errors: kNotFound, saying whether the directory or the ledger in it is not there.
Status check_ledger_is_there(const std::string& directory);
// Read only, checked, an older format shown as this one.
Result<sqlite::Database> open_readable_ledger(const std::string& directory);
// The run that the attempt with this generation belongs to; the newest one by default. Errors: kNotFound when
// there is none, or when its entries were replaced by a later run.
Result<int64_t> run_of(sqlite::Database& database, std::optional<int64_t> generation);

// Threads: one at a time. Requires: the schema was checked.
class SqliteReader : public Ledger {
 public:
  static Result<std::unique_ptr<Ledger>> open(const std::string& directory,
                                              std::optional<int64_t> generation);

  int64_t generation() const override { return generation_; }
  int64_t run() const override { return run_; }
  Status add(Entry entry) override;
  Status commit() override;
  int64_t size() const override { return size_; }
  int64_t last_seq() const override { return last_seq_; }
  Status rewind(int64_t seq) override;
  Status finish(RunEnd end) override;
  Status scan(const Filter& filter, const std::function<bool(const Entry&)>& visit) override;
  Result<RunInfo> info() override;
  Result<std::vector<Summary>> summary() override;
  Status audit(const std::function<bool(const AuditLine&)>& visit) override;

 protected:
  SqliteReader(std::string directory, sqlite::Database database)
      : directory_(std::move(directory)), database_(std::move(database)) {}
  Result<std::vector<MissedWindow>> more_windows(int64_t seq);

  std::string directory_;
  sqlite::Database database_;
  int64_t generation_ = 0;
  int64_t run_ = 0;
  int64_t size_ = 0;
  int64_t last_seq_ = 0;
};

// One transaction from the first add of a tick to its commit. After a failure everything uncommitted is
// rolled back and every further call returns the same error.
class SqliteWriter final : public SqliteReader {
 public:
  static Result<std::unique_ptr<Ledger>> open(const std::string& directory, const std::string& job,
                                              RunChoice choice);
  ~SqliteWriter() override;

  std::optional<LastRun> last_run() const override { return last_run_; }
  Status add(Entry entry) override;
  Status commit() override;
  Status rewind(int64_t seq) override;
  void settle(int64_t seq) override;
  Status set_retention(std::vector<Retention> rules, std::function<int64_t()> wall_us) override;
  void set_masks(std::vector<MaskRule> rules) override;
  Status finish(RunEnd end) override;

 private:
  // One log of records as one view sees it.
  struct Stream {
    int64_t id = 0;
    std::string partition;               // of its first entry; entries of the same one do not repeat it
    Retainer::View* retained = nullptr;  // null: kept for ever
  };
  using StreamName = std::tuple<std::string, std::string, std::string>;  // view, source, file

  SqliteWriter(std::string directory, sqlite::Database database, StateLock lock)
      : SqliteReader(std::move(directory), std::move(database)), lock_(std::move(lock)) {}
  Status prepare();
  Status start_generation(const std::string& job, RunChoice choice);
  Status find_last_run();
  Status go_on();
  Status remove_superseded();
  Status remove_runs(const std::string& condition);
  Status begin();
  Status forget_settled();
  Status check_nothing_forgotten();
  Status retain();
  Status finish_retention();
  Result<bool> was_removed(const Stream& stream, int64_t offset);
  Result<int64_t> now_us();
  Status insert(const Entry& entry);
  Status insert_windows(const Entry& entry);
  Status end_generation(RunEnd end);
  Result<const Stream*> stream_of(const Entry& entry);
  Status broken(Status failure);

  StateLock lock_;
  sqlite::Statement insert_entry_;
  sqlite::Statement insert_window_;
  sqlite::Statement insert_stream_;
  sqlite::Statement update_generation_;
  sqlite::Statement find_removed_;
  sqlite::Statement now_;
  std::optional<sqlite::Transaction> transaction_;
  std::map<StreamName, Stream> streams_;
  const std::pair<const StreamName, Stream>* last_stream_ = nullptr;
  std::optional<LastRun> last_run_;
  int64_t settled_seq_ = 0;
  int64_t forgotten_seq_ = 0;  // identities of removed entries are kept from here on
  bool any_removed_ = false;   // of this run, as far as their identities are kept
  int64_t recorded_us_ = 0;    // of the entries of this transaction
  std::function<int64_t()> wall_us_;
  Retainer retainer_;
  std::map<std::string, Masker> maskers_;  // by view
  bool began_ = false;                     // an entry was added
  std::optional<Error> failure_;
  bool ended_ = false;
};

}  // namespace wrackline::ledger
