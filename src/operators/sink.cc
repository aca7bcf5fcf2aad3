#include "operators/sink.h"

namespace wrackline {

std::string_view to_string(RowOp op) {
  switch (op) {
    case RowOp::kInsert:
      return "insert";
    case RowOp::kUpdate:
      return "update";
    case RowOp::kRetract:
      return "retract";
  }
  return "insert";
}

std::string_view to_string(RowStatus status) {
  switch (status) {
    case RowStatus::kEarly:
      return "early";
    case RowStatus::kOnTime:
      return "on_time";
    case RowStatus::kCorrection:
      return "correction";
    case RowStatus::kDrain:
      return "drain";
  }
  return "on_time";
}

std::string_view to_string(SinkMode mode) {
  switch (mode) {
    case SinkMode::kUpsert:
      return "upsert";
    case SinkMode::kChangelog:
      return "changelog";
    case SinkMode::kAppend:
      return "append";
  }
  return "upsert";
}

}  // namespace wrackline
