#include "data/batch.h"

namespace wrackline {

std::string_view to_string(Reason reason) {
  switch (reason) {
    case Reason::kLate:
      return "late";
    case Reason::kLateAfterIdle:
      return "late_after_idle";
    case Reason::kLateSession:
      return "late_session";
    case Reason::kLateJoin:
      return "late_join";
    case Reason::kFuture:
      return "future";
    case Reason::kPastHorizon:
      return "past_horizon";
    case Reason::kUnparseable:
      return "unparseable";
    case Reason::kNoEventTime:
      return "no_event_time";
    case Reason::kOutOfRange:
      return "out_of_range";
    case Reason::kOversize:
      return "oversize";
    case Reason::kConflict:
      return "conflict";
  }
  return "unparseable";
}

void Batch::reset(const std::vector<Field>& fields) {
  rows = 0;
  columns.resize(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) columns[i].reset(fields[i].type);
  offsets.clear();
  lines.clear();
  raw.clear();
  places.clear();
  rejects.clear();
  arena.clear();
}

}  // namespace wrackline
