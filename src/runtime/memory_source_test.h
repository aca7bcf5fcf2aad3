// A source in memory for tests: records (key, event time, arrival time, value) by split.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/source.h"

namespace wrackline::runtime {

struct TestRecord {
  int64_t event_us = 0;
  int64_t arrival_us = 0;
  std::string key;
  int64_t value = 1;
};

inline std::vector<Field> test_fields() {
  return {{"at", Type::timestamptz()},
          {"received", Type::timestamptz()},
          {"key", Type::text()},
          {"value", Type::bigint()}};
}

class MemorySplit : public SplitReader {
 public:
  MemorySplit(std::string name, std::vector<TestRecord> records)
      : name_(std::move(name)), records_(std::move(records)) {}

  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    batch.reset(test_fields());
    begin_ = next_;
    const size_t end = std::min(records_.size(), next_ + rows_max);
    batch.rows = end - next_;
    batch.file = name_;
    for (Column& column : batch.columns) column.resize(batch.rows);
    for (size_t i = 0; i < batch.rows; ++i) {
      const TestRecord& record = records_[next_ + i];
      batch.columns[0].values<int64_t>()[i] = record.event_us;
      batch.columns[1].values<int64_t>()[i] = record.arrival_us;
      batch.columns[2].values<std::string_view>()[i] = record.key;
      batch.columns[3].values<int64_t>()[i] = record.value;
      batch.offsets.push_back(static_cast<int64_t>(next_ + i));
      batch.lines.push_back(static_cast<int64_t>(next_ + i + 1));
      batch.raw.push_back(record.key);
    }
    next_ = end;
    return next_ == records_.size() ? ReadState::kEnded : ReadState::kRows;
  }
  const std::string& name() const override { return name_; }
  uint64_t bytes_read() const override { return next_; }
  std::optional<uint64_t> bytes_total() const override { return records_.size(); }
  std::vector<std::string> take_notices() override { return {}; }
  std::vector<std::string> fields_seen() const override { return {}; }
  void save(SnapshotWriter& out, uint64_t taken) const override {
    out.text(name_);
    out.u64(begin_ + taken);
  }
  void go_to(uint64_t record) { begin_ = next_ = std::min<size_t>(record, records_.size()); }

 private:
  std::string name_;
  std::vector<TestRecord> records_;
  size_t begin_ = 0;  // of the last batch
  size_t next_ = 0;
};

class MemorySource : public Source {
 public:
  explicit MemorySource(std::vector<std::vector<TestRecord>> splits) : splits_(std::move(splits)) {}
  Result<std::vector<std::unique_ptr<SplitReader>>> open() override {
    std::vector<std::unique_ptr<SplitReader>> readers;
    for (size_t i = 0; i < splits_.size(); ++i) {
      readers.push_back(std::make_unique<MemorySplit>("p" + std::to_string(i), splits_[i]));
    }
    return readers;
  }
  Result<std::vector<std::unique_ptr<SplitReader>>> discover() override {
    return std::vector<std::unique_ptr<SplitReader>>{};
  }
  bool bounded() const override { return true; }
  void save(SnapshotWriter& out) const override { out.u64(splits_.size()); }
  Status restore(SnapshotReader& from) override {
    if (from.u64() != splits_.size()) from.refuse("another number of splits");
    return from.status();
  }
  Result<std::unique_ptr<SplitReader>> open_at(SnapshotReader& from) override {
    const std::string name(from.text());
    const uint64_t record = from.u64();
    for (size_t i = 0; i < splits_.size(); ++i) {
      if (name != "p" + std::to_string(i)) continue;
      auto split = std::make_unique<MemorySplit>(name, splits_[i]);
      split->go_to(record);
      return split;
    }
    return fail(ErrorCode::kData, "no split of that name");
  }

 private:
  std::vector<std::vector<TestRecord>> splits_;
};

}  // namespace wrackline::runtime
