#include "ledger/retainer.h"

#include <algorithm>

#include "base/text.h"
#include "data/time_text.h"

namespace wrackline::ledger {
namespace {

constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;

bool is_over(const Retainer::View& view) {
  return (view.rule.entries_max && view.entries > *view.rule.entries_max) ||
         (view.rule.bytes_max && view.bytes > *view.rule.bytes_max);
}

// An entry of version 1 has no time of its own: its run's start stands for it.
constexpr const char* kOldest =
    "SELECT e.seq, e.stream_id, s.run, s.source, e.reason_id, length(e.payload), length(e.key) + "
    "length(e.detail), ifnull(e.recorded_us, ifnull(g.started_us, 0)), e.\"offset\", e.window_count FROM "
    "entry "
    "e CROSS JOIN stream s ON s.id = e.stream_id LEFT JOIN generation g ON g.generation = s.run WHERE e.seq "
    "> "
    "?1 AND s.\"view\" = ?2 ORDER BY e.seq LIMIT ?3";

struct Leaving {
  int64_t seq = 0;
  int64_t stream = 0;
  int64_t run = 0;
  std::string source;
  int64_t reason_id = 0;
  int64_t payload_bytes = 0;
  int64_t other_bytes = 0;
  int64_t recorded_us = 0;
  int64_t offset = 0;
  int64_t window_count = 0;
};

Result<std::vector<Leaving>> oldest_of(sqlite::Database& database, const Retainer::View& view) {
  WRACKLINE_ASSIGN(sqlite::Statement statement, database.prepare(kOldest));
  statement.bind(1, view.cursor);
  statement.bind_text(2, view.rule.view);
  statement.bind(3, std::max(Retainer::kStepEntries, 2 * view.added));
  std::vector<Leaving> oldest;
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return oldest;
    oldest.push_back({statement.integer(0), statement.integer(1), statement.integer(2),
                      std::string(statement.text(3)), statement.integer(4), statement.integer(5),
                      statement.integer(6), statement.integer(7), statement.integer(8),
                      statement.integer(9)});
  }
}

class Remover {
 public:
  static Result<Remover> make(sqlite::Database& database) {
    Remover remover;
    WRACKLINE_ASSIGN(remover.entry_, database.prepare("DELETE FROM entry WHERE seq = ?1"));
    WRACKLINE_ASSIGN(remover.windows_, database.prepare("DELETE FROM more_window WHERE seq = ?1"));
    WRACKLINE_ASSIGN(remover.identity_,
                     database.prepare("INSERT OR REPLACE INTO removed VALUES (?1, ?2, ?3)"));
    return remover;
  }
  Status remove(const Leaving& entry, bool remember) {
    entry_.bind(1, entry.seq);
    WRACKLINE_TRY(entry_.run());
    if (entry.window_count > 1) {
      windows_.bind(1, entry.seq);
      WRACKLINE_TRY(windows_.run());
    }
    if (!remember) return {};
    identity_.bind(1, entry.seq);
    identity_.bind(2, entry.stream);
    identity_.bind(3, entry.offset);
    return identity_.run();
  }

 private:
  sqlite::Statement entry_;
  sqlite::Statement windows_;
  sqlite::Statement identity_;
};

}  // namespace

Status Retainer::start(sqlite::Database& database, std::vector<Retention> rules) {
  views_.clear();
  for (Retention& rule : rules) {
    View view;
    view.rule = std::move(rule);
    views_[view.rule.view] = view;
  }
  if (views_.empty()) return {};
  WRACKLINE_ASSIGN(
      sqlite::Statement statement,
      database.prepare("SELECT s.\"view\", count(*), sum(length(e.payload) + length(e.key) + "
                       "length(e.detail)) FROM entry e JOIN stream s ON s.id = e.stream_id GROUP "
                       "BY 1"));
  for (;;) {
    WRACKLINE_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    View* view = find(std::string(statement.text(0)));
    if (view == nullptr) continue;
    view->entries = statement.integer(1);
    view->bytes = statement.integer(2) + view->entries * kEntryBytes;
  }
}

Retainer::View* Retainer::find(const std::string& view) {
  const auto found = views_.find(view);
  return found == views_.end() ? nullptr : &found->second;
}

bool Retainer::idle(int64_t now_us) const {
  return std::ranges::none_of(views_, [&](const auto& named) {
    const View& view = named.second;
    return is_over(view) || (view.rule.age && view.entries > 0 && (!view.due_us || now_us >= *view.due_us));
  });
}

Result<Retainer::Removed> Retainer::step(sqlite::Database& database, int64_t now_us, Replayable replayable) {
  Removed removed;
  for (auto& [name, view] : views_) WRACKLINE_TRY(step_view(database, view, now_us, replayable, removed));
  return removed;
}

Status Retainer::step_view(sqlite::Database& database, View& view, int64_t now_us, Replayable replayable,
                           Removed& removed) {
  WRACKLINE_ASSIGN(const std::vector<Leaving> oldest, oldest_of(database, view));
  WRACKLINE_ASSIGN(Remover remover, Remover::make(database));
  std::map<std::pair<int64_t, Cause>, AuditCounts> told;
  view.added = 0;
  view.due_us.reset();
  for (const Leaving& entry : oldest) {
    std::optional<Cause> cause;
    if (view.rule.age && saturating_add(entry.recorded_us, view.rule.age->micros()) <= now_us) {
      cause = Cause::kAge;
    } else if (view.rule.bytes_max && view.bytes > *view.rule.bytes_max) {
      cause = Cause::kBytes;
    } else if (view.rule.entries_max && view.entries > *view.rule.entries_max) {
      cause = Cause::kEntries;
    }
    if (!cause) {
      if (view.rule.age) view.due_us = saturating_add(entry.recorded_us, view.rule.age->micros());
      break;
    }
    const bool of_run = entry.run == replayable.run;
    const bool remember = of_run && entry.seq > replayable.after_seq;
    WRACKLINE_TRY(remover.remove(entry, remember));
    told[{entry.run, *cause}].add(view.rule.view, entry.source, entry.reason_id, entry.payload_bytes);
    --view.entries;
    view.bytes -= entry.payload_bytes + entry.other_bytes + kEntryBytes;
    view.cursor = entry.seq;
    ++removed.entries;
    removed.of_run += of_run ? 1 : 0;
    removed.remembered |= remember;
  }
  for (const auto& [place, counts] : told) {
    WRACKLINE_TRY(tell(database, view, place.first, place.second, now_us, counts));
  }
  return {};
}

// One line of the trail a day for each view, run and cause.
Status Retainer::tell(sqlite::Database& database, const View& view, int64_t run, Cause cause, int64_t now_us,
                      const AuditCounts& counts) {
  auto& [day, id] = lines_[{view.rule.view, run, cause}];
  if (id == 0 || day != now_us / kDayUs) {
    AuditLine line;
    line.run = run;
    line.began_us = line.ended_us = now_us;
    line.who = "wrackline run";
    line.because = "retention of the job";
    switch (cause) {
      case Cause::kAge:
        line.action = "retention_age";
        line.chosen = format("view \"{}\": older than ledger_retention, {}", view.rule.view,
                             span_text(view.rule.age->micros()));
        break;
      case Cause::kBytes:
        line.action = "retention_bytes";
        line.chosen = format("view \"{}\": the oldest beyond ledger_max_bytes, {}", view.rule.view,
                             with_thousands(*view.rule.bytes_max));
        break;
      case Cause::kEntries:
        line.action = "retention_entries";
        line.chosen = format("view \"{}\": the oldest beyond ledger_max_entries, {}", view.rule.view,
                             with_thousands(*view.rule.entries_max));
        break;
    }
    WRACKLINE_ASSIGN(id, begin_audit_line(database, line));
    day = now_us / kDayUs;
  } else {
    WRACKLINE_TRY(database.exec(format("UPDATE audit SET ended_us = {} WHERE id = {}", now_us, id)));
  }
  return count_in_trail(database, id, counts);
}

}  // namespace wrackline::ledger
