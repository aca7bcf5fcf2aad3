#include "ledger/ledger.h"

#include <map>
#include <utility>

#include "ledger/ledger_sqlite.h"

namespace wrackline::ledger {
namespace {

constexpr size_t kKeptEntries = 1000;

// Counts every entry and keeps the first ones, for --state none.
class TransientLedger final : public Ledger {
 public:
  int64_t generation() const override { return 1; }
  int64_t run() const override { return 1; }
  int64_t last_seq() const override { return size_; }
  Status rewind(int64_t seq) override {
    if (seq == size_) return {};
    return fail(ErrorCode::kInvalid, "a ledger in memory has no earlier state to go back to");
  }
  int64_t size() const override { return size_; }
  Status commit() override { return {}; }

  Status add(Entry entry) override {
    entry.seq = ++size_;
    ++counts_[{entry.view, entry.reason}];
    if (kept_.size() < kKeptEntries) kept_.push_back(std::move(entry));
    return {};
  }
  Status finish(RunEnd end) override {
    status_ = end == RunEnd::kFinished ? "finished" : end == RunEnd::kStopped ? "stopped" : "failed";
    return {};
  }
  Status scan(const Filter& filter, const std::function<bool(const Entry&)>& visit) override {
    int64_t left = filter.limit.value_or(-1);
    for (const Entry& entry : kept_) {
      if (left == 0) break;
      if (!matches(filter, entry)) continue;
      --left;
      if (!visit(entry)) break;
    }
    return {};
  }
  Result<RunInfo> info() override {
    return RunInfo{
        .run = 1, .generation = 1, .job = {}, .status = status_, .started_us = 0, .entries = size_};
  }
  Result<std::vector<Summary>> summary() override {
    std::vector<Summary> rows;
    for (const auto& [place, count] : counts_) rows.push_back({place.first, place.second, count, 0, 0});
    return rows;
  }

 private:
  static bool matches(const Filter& filter, const Entry& entry) {
    if (filter.view && *filter.view != entry.view) return false;
    if (filter.reason && *filter.reason != entry.reason) return false;
    if (filter.seq && *filter.seq != entry.seq) return false;
    if (!filter.window_start_us) return true;
    for (const MissedWindow& window : entry.windows) {
      if (window.start_us == *filter.window_start_us) return true;
    }
    return false;
  }

  int64_t size_ = 0;
  std::vector<Entry> kept_;
  std::map<std::pair<std::string, Reason>, int64_t> counts_;
  std::string status_ = "running";
};

}  // namespace

std::string_view to_string(PayloadState state) {
  switch (state) {
    case PayloadState::kWhole:
      return "whole";
    case PayloadState::kMasked:
      return "masked";
    case PayloadState::kWithheld:
      return "withheld";
    case PayloadState::kPurged:
      return "purged";
  }
  return {};
}

Result<std::unique_ptr<Ledger>> Ledger::open_for_run(const std::string& directory, const std::string& job,
                                                     RunChoice choice) {
  return SqliteWriter::open(directory, job, choice);
}

std::unique_ptr<Ledger> Ledger::transient() {
  return std::make_unique<TransientLedger>();
}

Result<std::unique_ptr<Ledger>> Ledger::open_to_read(const std::string& directory,
                                                     std::optional<int64_t> generation) {
  return SqliteReader::open(directory, generation);
}

}  // namespace wrackline::ledger
