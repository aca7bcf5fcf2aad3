#include "runtime/arrival_order.h"

#include <algorithm>
#include <string>

#include "base/text.h"
#include "operators/dedup_hash.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kReadRows = 8192;

// A batch that owns everything in it, unlike one fresh from a reader.
struct StoredBatch {
  std::string file;
  size_t split = 0;
  Batch batch;
  std::vector<std::string> reject_bytes;
};

struct Item {
  int64_t arrival_us = 0;
  uint32_t split = 0;
  int64_t offset = 0;
  uint32_t stored = 0;
  uint32_t row = 0;  // of rows, or of rejects
  bool is_reject = false;
};

bool is_text(const Column& column) {
  return column.type().kind == TypeKind::kText || column.type().kind == TypeKind::kJson;
}

std::unique_ptr<StoredBatch> store(const Batch& from, size_t split) {
  auto stored = std::make_unique<StoredBatch>();
  stored->file = from.file;
  stored->split = split;
  Batch& to = stored->batch;
  to.rows = from.rows;
  to.offsets = from.offsets;
  to.lines = from.lines;
  to.places = from.places;
  for (const std::string_view raw : from.raw) to.raw.push_back(to.arena.copy(raw));
  for (const Column& column : from.columns) {
    to.columns.emplace_back();
    to.columns.back().copy_from(column);
    if (!is_text(column)) continue;
    for (std::string_view& text : to.columns.back().values<std::string_view>()) {
      text = column.is_null(static_cast<size_t>(&text - to.columns.back().values<std::string_view>().data()))
                 ? std::string_view()
                 : to.arena.copy(text);
    }
  }
  for (const Reject& reject : from.rejects) {
    to.rejects.push_back(reject);
    stored->reject_bytes.emplace_back(reject.raw);
  }
  for (size_t i = 0; i < to.rejects.size(); ++i) to.rejects[i].raw = stored->reject_bytes[i];
  return stored;
}

class MergedReader : public ArrivalOrderReader {
 public:
  MergedReader(std::vector<std::unique_ptr<StoredBatch>> stored, std::vector<Item> items,
               std::vector<Field> fields, std::vector<std::string> split_names)
      : stored_(std::move(stored)),
        items_(std::move(items)),
        fields_(std::move(fields)),
        split_names_(std::move(split_names)),
        last_of_split_(split_names_.size()) {
    for (size_t i = 0; i < items_.size(); ++i) last_of_split_[items_[i].split] = i + 1;
    for (size_t split = 0; split < split_names_.size(); ++split) {
      if (last_of_split_[split] == 0) ended_.push_back(split_names_[split]);
    }
  }
  // What the input is, for one that claims to be the same: every record's place, time, size and content.
  uint64_t fingerprint() const {
    uint64_t hash = items_.size();
    for (const Item& item : items_) {
      const Batch& batch = stored_[item.stored]->batch;
      const std::string_view raw = item.is_reject ? batch.rejects[item.row].raw : batch.raw[item.row];
      hash = hash64(raw, spread(hash ^ spread(static_cast<uint64_t>(item.arrival_us)) ^ item.split));
    }
    return hash;
  }
  void set_fingerprint() { fingerprint_ = fingerprint(); }
  void save(SnapshotWriter& out, uint64_t taken) const override {
    out.section(kTag);
    out.u64(fingerprint_);
    out.u64(begin_ + taken);
    // What the rest of the batch is to tell it tells when it is handed out again.
    const bool whole = begin_ + taken == next_;
    out.u64(whole ? ended_.size() : 0);
    for (const std::string& name : ended_) {
      if (whole) out.text(name);
    }
  }
  Status restore(SnapshotReader& from) override {
    from.section(kTag);
    const uint64_t fingerprint = from.u64();
    const uint64_t at = from.u64();
    ended_.clear();
    for (size_t left = from.count(sizeof(uint64_t)); left > 0; --left) ended_.emplace_back(from.text());
    if (!from.failed() && fingerprint == fingerprint_ && at > items_.size()) from.refuse("behind the end");
    WRACKLINE_TRY(from.status());
    if (fingerprint != fingerprint_) {
      return fail(ErrorCode::kData, "the input is not what it was at the checkpoint",
                  format("It is read in the order of arrival, and its {} records are not the same ones.",
                         items_.size()),
                  "Put the files back as they were and start again, or begin a new run without --resume.");
    }
    next_ = begin_ = at;
    if (next_ > 0) split_ = items_[next_ - 1].split;
    return {};
  }
  void set_origin(uint64_t bytes, std::vector<std::string> notices, std::vector<std::string> fields_seen) {
    bytes_ = bytes;
    notices_ = std::move(notices);
    fields_seen_ = std::move(fields_seen);
  }

  Result<ReadState> read(Batch& batch, size_t rows_max) override {
    batch.reset(fields_);
    begin_ = next_;
    size_t end = next_;
    split_ = next_ < items_.size() ? items_[next_].split : split_;
    const std::string_view file =
        next_ < items_.size() ? stored_[items_[next_].stored]->file : std::string_view();
    while (end < items_.size() && end - next_ < rows_max && items_[end].split == split_ &&
           stored_[items_[end].stored]->file == file) {
      batch.rows += items_[end].is_reject ? 0 : 1;
      if (++end == last_of_split_[split_]) {
        ended_.push_back(split_names_[split_]);
        break;
      }
    }
    batch.file = file;
    if (next_ < end) batch.places = stored_[items_[next_].stored]->batch.places;
    // A column that nothing reads was left empty by the parser; a batch of rejects has them all empty.
    const auto row_item = std::find_if(items_.begin() + static_cast<ptrdiff_t>(next_),
                                       items_.begin() + static_cast<ptrdiff_t>(end),
                                       [](const Item& item) { return !item.is_reject; });
    for (size_t i = 0; batch.rows > 0 && i < fields_.size(); ++i) {
      if (stored_[row_item->stored]->batch.columns[i].size() > 0) batch.columns[i].resize(batch.rows);
    }
    size_t row = 0;
    for (; next_ < end; ++next_) {
      const Item& item = items_[next_];
      const Batch& from = stored_[item.stored]->batch;
      if (item.is_reject) {
        batch.rejects.push_back(from.rejects[item.row]);
        batch.rejects.back().before_row = row;
        continue;
      }
      batch.offsets.push_back(from.offsets[item.row]);
      batch.lines.push_back(from.lines[item.row]);
      batch.raw.push_back(from.raw[item.row]);
      for (size_t i = 0; i < fields_.size(); ++i) {
        if (item.row < from.columns[i].size() && row < batch.columns[i].size()) {
          batch.columns[i].copy_value(row, from.columns[i], item.row);
        }
      }
      ++row;
    }
    return next_ == items_.size() ? ReadState::kEnded : ReadState::kRows;
  }
  const std::string& split() const override { return split_names_[split_]; }
  std::vector<std::string> take_ended() override { return std::exchange(ended_, {}); }
  const std::string& name() const override { return name_; }
  uint64_t bytes_read() const override {
    return items_.empty() ? bytes_ : bytes_ * static_cast<uint64_t>(next_) / items_.size();
  }
  std::optional<uint64_t> bytes_total() const override { return bytes_; }
  std::vector<std::string> take_notices() override { return std::exchange(notices_, {}); }
  std::vector<std::string> fields_seen() const override { return fields_seen_; }

 private:
  std::vector<std::unique_ptr<StoredBatch>> stored_;
  std::vector<Item> items_;
  std::vector<Field> fields_;
  std::vector<std::string> split_names_;
  std::vector<size_t> last_of_split_;  // place behind the split's last item, 0: it has none
  std::vector<std::string> ended_;
  size_t split_ = 0;
  uint64_t bytes_ = 0;
  std::vector<std::string> notices_;
  std::vector<std::string> fields_seen_;
  std::string name_ = "(in order of arrival)";
  static constexpr std::string_view kTag = "MERG";
  uint64_t fingerprint_ = 0;
  size_t begin_ = 0;  // of the last batch
  size_t next_ = 0;
};

}  // namespace

Result<std::unique_ptr<ArrivalOrderReader>> read_in_arrival_order(
    std::vector<std::unique_ptr<SplitReader>> splits, const std::vector<Field>& fields,
    const TimeStage& stage, WallTime read_at) {
  std::vector<std::string> names;
  for (const auto& split : splits) names.push_back(split->name());
  std::vector<std::unique_ptr<StoredBatch>> stored;
  std::vector<Item> items;
  std::vector<std::string> notices;
  std::vector<std::string> fields_seen;
  uint64_t bytes = 0;
  std::vector<int64_t> arrival;
  for (uint32_t split = 0; split < splits.size(); ++split) {
    Batch batch;
    int64_t last_arrival = kMicrosMin;
    for (ReadState state = ReadState::kRows; state != ReadState::kEnded;) {
      WRACKLINE_ASSIGN(state, splits[split]->read(batch, kReadRows));
      if (batch.rows == 0 && batch.rejects.empty()) continue;
      stage.arrival_times(batch, read_at, arrival);
      const auto at = static_cast<uint32_t>(stored.size());
      uint32_t reject = 0;
      for (uint32_t row = 0; row <= batch.rows; ++row) {
        for (; reject < batch.rejects.size() && batch.rejects[reject].before_row == row; ++reject) {
          items.push_back({last_arrival, split, batch.rejects[reject].offset, at, reject, true});
        }
        if (row == batch.rows) break;
        last_arrival = arrival[row];
        items.push_back({last_arrival, split, batch.offsets[row], at, row, false});
      }
      stored.push_back(store(batch, split));
    }
    bytes += splits[split]->bytes_read();
    for (std::string& notice : splits[split]->take_notices()) notices.push_back(std::move(notice));
    if (fields_seen.empty()) fields_seen = splits[split]->fields_seen();
  }
  // Within a split offsets restart with each file, and the items of a split are in the order of its log: a
  // stable sort by (arrival, split) keeps that order.
  std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
    return a.arrival_us != b.arrival_us ? a.arrival_us < b.arrival_us : a.split < b.split;
  });
  auto reader = std::make_unique<MergedReader>(std::move(stored), std::move(items), fields, std::move(names));
  reader->set_fingerprint();
  reader->set_origin(bytes, std::move(notices), std::move(fields_seen));
  return reader;
}

}  // namespace wrackline::runtime
