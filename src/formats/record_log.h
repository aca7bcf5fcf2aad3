// Counts the records and lines of one log and writes their identity into batches.
//
// Used by: both parsers. Every record that they eat is counted here when it becomes a row or a Reject.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "data/batch.h"

namespace wrackline::formats {

struct RecordLog {
  int64_t records = 0;  // eaten
  int64_t lines = 0;    // eaten; the next record starts on line lines + 1

  // The identity of the next record, a row. The caller counts its lines and has written its columns.
  void add_row(std::string_view raw, Batch& batch) {
    batch.offsets.push_back(records++);
    batch.lines.push_back(lines + 1);
    batch.raw.push_back(raw);
    ++batch.rows;
  }

  // `raw_bytes` is the record's true size, at least raw.size(). `raw` lives as long as the batch.
  void add_reject(Reason reason, std::string_view raw, uint64_t raw_bytes, std::string detail, Batch& batch) {
    Reject reject;
    reject.reason = reason;
    reject.before_row = batch.rows;
    reject.offset = records++;
    reject.line = lines + 1;
    reject.raw = raw.substr(0, kRejectBytesMax);
    reject.raw_bytes = raw_bytes;
    reject.detail = std::move(detail);
    batch.rejects.push_back(std::move(reject));
  }
};

// Room in a batch's columns for the rows that a parser is about to write: they are not resized row by row.
//
// Invariants: outside a RowSpace the needed columns have batch.rows rows; inside they have room for as many
//             more as were asked for, and the rows from batch.rows on are all valid.
class RowSpace {
 public:
  RowSpace(const std::vector<Field>& fields, Batch& batch) : fields_(fields), batch_(batch) {}
  RowSpace(const RowSpace&) = delete;
  RowSpace& operator=(const RowSpace&) = delete;
  ~RowSpace() { resize(batch_.rows); }

  void reserve(size_t rows) {
    if (batch_.rows + rows > size_) resize(std::max(batch_.rows + rows, batch_.rows + kStepRows));
  }
  // Forgets what was written for a row that became none.
  void clear_row(size_t row) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].needed && batch_.columns[i].has_nulls()) batch_.columns[i].valid()[row] = 1;
    }
  }
  // Copies the values of row `from` over those of row `to`.
  void move_row(size_t from, size_t to) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].needed) move_value(batch_.columns[i], from, to);
    }
  }

 private:
  static constexpr size_t kStepRows = 256;
  template <class T>
  static void move_as(Column& column, size_t from, size_t to) {
    column.values<T>()[to] = column.values<T>()[from];
  }
  static void move_value(Column& column, size_t from, size_t to) {
    switch (column.type().kind) {
      case TypeKind::kBoolean:
        move_as<uint8_t>(column, from, to);
        break;
      case TypeKind::kDouble:
        move_as<double>(column, from, to);
        break;
      case TypeKind::kNumeric:
        move_as<Decimal>(column, from, to);
        break;
      case TypeKind::kText:
      case TypeKind::kJson:
        move_as<std::string_view>(column, from, to);
        break;
      case TypeKind::kInterval:
        move_as<Interval>(column, from, to);
        break;
      case TypeKind::kInteger:
      case TypeKind::kTimestamp:
      case TypeKind::kDate:
        move_as<int64_t>(column, from, to);
        break;
    }
    if (column.has_nulls()) column.valid()[to] = column.valid()[from];
  }
  void resize(size_t rows) {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (fields_[i].needed) batch_.columns[i].resize(rows);
    }
    size_ = rows;
  }
  const std::vector<Field>& fields_;
  Batch& batch_;
  size_t size_ = 0;
};

inline std::string oversize_detail(uint64_t bytes, size_t bytes_max) {
  return format("the record has {} bytes, more than {}", bytes, bytes_max);
}

// A line that is longer than a record may be: its bytes are eaten as they come, its beginning is kept.
class OversizeLine {
 public:
  bool active() const { return active_; }
  void start() {
    active_ = true;
    bytes_ = 0;
    head_.clear();
    ends_with_return_ = false;
  }
  // Takes the next bytes of the line (without its line feed).
  void take(std::string_view bytes) {
    if (bytes.empty()) return;
    bytes_ += bytes.size();
    head_.append(bytes.substr(0, kRejectBytesMax - std::min(head_.size(), kRejectBytesMax)));
    ends_with_return_ = bytes.back() == '\r';
  }
  // The line has ended: becomes a Reject.
  void finish(size_t bytes_max, RecordLog& log, Batch& batch) {
    active_ = false;
    const uint64_t size = bytes_ - (ends_with_return_ ? 1 : 0);
    const std::string_view head = std::string_view(head_).substr(0, std::min<uint64_t>(size, head_.size()));
    log.add_reject(Reason::kOversize, batch.arena.copy(head), size, oversize_detail(size, bytes_max), batch);
  }

 private:
  bool active_ = false;
  bool ends_with_return_ = false;
  uint64_t bytes_ = 0;
  std::string head_;
};

// Removes the byte order mark that some editors put before UTF-8. Returns the bytes to skip, 0 or 3, or
// nullopt if `bytes` is too short to tell.
inline std::optional<size_t> byte_order_mark(std::string_view bytes, bool at_end) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (bytes.starts_with(kMark)) return kMark.size();
  if (!at_end && bytes.size() < kMark.size() && kMark.starts_with(bytes)) return std::nullopt;
  return 0;
}

}  // namespace wrackline::formats
