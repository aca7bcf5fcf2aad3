#include "ledger/audit_trail.h"

#include "base/text.h"
#include "data/time_text.h"
#include "ledger/ledger_sqlite.h"

namespace wrackline::ledger {

std::vector<AuditLine::Count> AuditCounts::lines() const {
  std::vector<AuditLine::Count> lines;
  for (const auto& [place, count] : counts_) {
    lines.push_back({std::get<0>(place), std::get<1>(place), static_cast<Reason>(std::get<2>(place)),
                     count.first, count.second});
  }
  return lines;
}

Result<int64_t> begin_audit_line(sqlite::Database& database, const AuditLine& line) {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database.prepare("INSERT INTO audit (action, run, began_us, ended_us, who, because, chosen) "
                       "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id"));
  statement.bind_text(1, line.action);
  statement.bind(2, line.run);
  statement.bind(3, line.began_us);
  statement.bind(4, line.ended_us);
  statement.bind_text(5, line.who);
  statement.bind_text(6, line.because);
  statement.bind_text(7, line.chosen);
  WRACKLINE_ASSIGN(const bool row, statement.step());
  if (!row) return fail(ErrorCode::kData, "the audit trail took no line");
  const int64_t id = statement.integer(0);
  WRACKLINE_TRY(statement.run());
  return id;
}

Status count_in_trail(sqlite::Database& database, int64_t audit_id, const AuditCounts& counts) {
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database.prepare("INSERT INTO audit_count VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (audit_id, "
                       "\"view\", source, reason_id) DO UPDATE SET entries = entries + excluded.entries, "
                       "payload_bytes = payload_bytes + excluded.payload_bytes"));
  for (const auto& [place, count] : counts.counts_) {
    statement.bind(1, audit_id);
    statement.bind_text(2, std::get<0>(place));
    statement.bind_text(3, std::get<1>(place));
    statement.bind(4, std::get<2>(place));
    statement.bind(5, count.first);
    statement.bind(6, count.second);
    WRACKLINE_TRY(statement.run());
  }
  return {};
}

int64_t AuditLine::entries() const {
  int64_t sum = 0;
  for (const Count& count : counts) sum += count.entries;
  return sum;
}

std::string to_json(const AuditLine& line) {
  std::string json = format(
      "{{\"id\":{},\"action\":{},\"run\":{},\"began\":{},\"ended\":{},\"who\":{},\"because\":{},\"chosen\":{}"
      ","
      "\"entries\":{},\"counts\":[",
      line.id, json_quoted(line.action), line.run, json_quoted(timestamp_text(line.began_us)),
      json_quoted(timestamp_text(line.ended_us)), json_quoted(line.who), json_quoted(line.because),
      json_quoted(line.chosen), line.entries());
  for (const AuditLine::Count& count : line.counts) {
    json += format("{}{{\"view\":{},\"source\":{},\"reason\":\"{}\",\"entries\":{},\"payload_bytes\":{}}}",
                   json.ends_with('[') ? "" : ",", json_quoted(count.view), json_quoted(count.source),
                   to_string(count.reason), count.entries, count.payload_bytes);
  }
  return json + "]}";
}

Status SqliteReader::audit(const std::function<bool(const AuditLine&)>& visit) {
  WRACKLINE_ASSIGN(sqlite::Statement lines,
                   database_.prepare("SELECT id, action, run, began_us, ended_us, who, because, chosen FROM "
                                     "audit ORDER BY id"));
  WRACKLINE_ASSIGN(sqlite::Statement counts,
                   database_.prepare("SELECT \"view\", source, reason_id, entries, payload_bytes FROM "
                                     "audit_count WHERE audit_id = ?1 ORDER BY 1, 2, 3"));
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, lines.step());
    if (!row) return {};
    AuditLine line;
    line.id = lines.integer(0);
    line.action = lines.text(1);
    line.run = lines.integer(2);
    line.began_us = lines.integer(3);
    line.ended_us = lines.integer(4);
    line.who = lines.text(5);
    line.because = lines.text(6);
    line.chosen = lines.text(7);
    counts.reset();
    counts.bind(1, line.id);
    for (;;) {
      WRACKLINE_ASSIGN(const bool count, counts.step());
      if (!count) break;
      line.counts.push_back({std::string(counts.text(0)), std::string(counts.text(1)),
                             static_cast<Reason>(counts.integer(2)), counts.integer(3), counts.integer(4)});
    }
    if (!visit(line)) return {};
  }
}

}  // namespace wrackline::ledger
