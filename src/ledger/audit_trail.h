// Writes the audit trail: lines that say what was done to entries, by whom and why, with counts that stay
// when the entries are gone.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "base/error.h"
#include "ledger/ledger.h"
#include "sqlite/database.h"

namespace wrackline::ledger {

// SQLite's clock, in microseconds: this room has none of its own.
inline constexpr const char* kNowUs = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000";

// Entries by view, source and reason.
class AuditCounts {
 public:
  void add(const std::string& view, const std::string& source, int64_t reason_id, int64_t payload_bytes) {
    auto& [entries, bytes] = counts_[{view, source, reason_id}];
    ++entries;
    bytes += payload_bytes;
  }
  bool empty() const { return counts_.empty(); }
  std::vector<AuditLine::Count> lines() const;

 private:
  friend Status count_in_trail(sqlite::Database&, int64_t, const AuditCounts&);
  std::map<std::tuple<std::string, std::string, int64_t>, std::pair<int64_t, int64_t>> counts_;
};

// Begins a line and returns its number. Requires: a transaction. `line.counts` are not looked at.
Result<int64_t> begin_audit_line(sqlite::Database& database, const AuditLine& line);
// Adds to the counts of a line.
Status count_in_trail(sqlite::Database& database, int64_t audit_id, const AuditCounts& counts);

}  // namespace wrackline::ledger
