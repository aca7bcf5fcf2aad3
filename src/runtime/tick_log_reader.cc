#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "env/file.h"
#include "runtime/tick_codec.h"
#include "runtime/tick_log.h"
#include "runtime/tick_segments.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kSegmentBytesMax = size_t{4} << 30;

std::unexpected<Error> damaged(const std::string& path, size_t byte, std::string_view detail) {
  Error error;
  error.code = ErrorCode::kData;
  error.message = format("tick log \"{}\" is damaged at byte {}", path, byte);
  error.detail = detail;
  error.hint = "Run the job again: a new run writes a new log. If the disk is at fault, replace it first.";
  error.where.file = path;
  error.where.offset = static_cast<int64_t>(byte);
  return fail(std::move(error));
}

// Whether whole entries stand behind the damage: then the middle was hit, and not the tail that a crash tore.
// Two in a row, or one that ends with the file, are no chance.
bool goes_on_after(std::string_view bytes, size_t damage) {
  constexpr size_t kFrameBytes = 4096;  // longer ones are rare, and looking for them is slow
  for (size_t at = damage + 1; at + 6 <= bytes.size(); ++at) {
    size_t position = at;
    const std::string_view near = bytes.substr(0, std::min(bytes.size(), at + kFrameBytes));
    if (!read_frame(near, position)) continue;
    if (position == bytes.size() || read_frame(bytes, position)) return true;
  }
  return false;
}

// Whether a segment has its beginning: a start that was killed at once leaves less than that, and has read
// nothing.
Result<bool> has_begun(const std::string& path) {
  WRACKLINE_ASSIGN(const std::string bytes, env::read_file(path, kSegmentBytesMax));
  size_t position = 0;
  return read_head(bytes, position) || goes_on_after(bytes, 0);
}

// The newest run whose log has its beginning. 0 without one.
Result<int64_t> newest_begun(const std::vector<TickSegmentFile>& found) {
  for (size_t i = found.size(); i > 0; --i) {
    const TickSegmentFile& file = found[i - 1];
    const bool alone = i == 1 || found[i - 2].run != file.run;
    WRACKLINE_ASSIGN(const bool begun, alone ? has_begun(file.path) : Result<bool>(true));
    if (begun) return file.run;
  }
  return 0;
}

Error not_found(const std::string& directory, std::optional<int64_t> run,
                const std::vector<TickSegmentFile>& found) {
  std::string kept;
  int64_t last = -1;
  for (const TickSegmentFile& file : found) {
    if (file.run == last) continue;
    kept += format("{}{}", kept.empty() ? "" : ", ", file.run);
    last = file.run;
  }
  Error error;
  error.code = ErrorCode::kNotFound;
  error.message = run && !found.empty() ? format("no tick log of run {} in \"{}\"", *run, directory)
                                        : format("no tick log in \"{}\"", directory);
  error.detail = kept.empty() ? format("There is no file \"{}/*.ticks\".", tick_folder(directory))
                              : format("There are the runs {}.", kept);
  error.hint =
      "Name the state directory of a run: `wrackline run` makes it beside the job file, clicks.state "
      "for clicks.sql, or where --state says.";
  return error;
}

}  // namespace

void TickSourceState::take(const TickEntry& entry) {
  if (entry.kind == TickKind::kResume) {
    splits.clear();
    partitions.clear();
  }
  splits.insert(splits.end(), entry.splits.begin(), entry.splits.end());
  partitions.insert(partitions.end(), entry.partitions.begin(), entry.partitions.end());
  wall_us = entry.wall_us;
  if (entry.delay_us) delay_us = *entry.delay_us;
  progress_us = entry.progress_us;
  watermark_us = entry.watermark_us;
  holder = entry.holder;
}

struct TickLogReader::Codings {
  std::vector<TickCoding> by_source;
};

TickLogReader::TickLogReader() : codings_(std::make_unique<Codings>()) {}

TickLogReader::~TickLogReader() = default;

Result<std::unique_ptr<TickLogReader>> TickLogReader::open(const std::string& directory,
                                                           std::optional<int64_t> run) {
  WRACKLINE_ASSIGN(const auto found, tick_segments(directory));
  std::unique_ptr<TickLogReader> reader(new TickLogReader());
  WRACKLINE_ASSIGN(const int64_t wanted, run ? Result<int64_t>(*run) : newest_begun(found));
  for (const TickSegmentFile& file : found) {
    if (file.run == wanted) reader->segments_.push_back(file.path);
  }
  if (reader->segments_.size() == 1) {
    WRACKLINE_ASSIGN(const bool begun, has_begun(reader->segments_[0]));
    if (!begun) reader->segments_.clear();
  }
  if (reader->segments_.empty()) return fail(not_found(directory, run, found));
  WRACKLINE_TRY(reader->read_segment());
  return reader;
}

Status TickLogReader::read_segment() {
  const std::string& path = segments_[segment_];
  WRACKLINE_ASSIGN(bytes_, env::read_file(path, kSegmentBytesMax));
  auto head = read_head(bytes_, position_);
  if (!head) {
    const bool last = segment_ + 1 == segments_.size();
    if (last && segment_ > 0 && !goes_on_after(bytes_, 0)) {
      notices_.push_back(format("tick log \"{}\" has only its beginning: a crash tore it", path));
      position_ = bytes_.size();
      begun_ = true;
      return {};
    }
    return damaged(path, position_, head.error().message);
  }
  if (begun_ && head->first_sequence != sequence_) {
    return damaged(path, position_,
                   format("It goes on with entry {}, but the one before it ends with entry {}.",
                          head->first_sequence, sequence_));
  }
  header_ = std::move(head->log);
  sequence_ = head->first_sequence;
  tick_ = head->ticks_before;
  begun_ = true;
  return {};
}

Status TickLogReader::decode_next() {
  while (!has_entry_ && !ended_) {
    const std::string& path = segments_[segment_];
    const bool last = segment_ + 1 == segments_.size();
    if (position_ == bytes_.size()) {
      ended_ = last;
      if (last) break;
      ++segment_;
      WRACKLINE_TRY(read_segment());
      continue;
    }
    const size_t began = position_;
    const auto payload = read_frame(bytes_, position_);
    if (!payload && !last && !goes_on_after(bytes_, began)) {
      position_ =
          bytes_.size();  // an attempt was killed here; whether the next one missed anything is seen there
      continue;
    }
    if (!payload) {
      if (goes_on_after(bytes_, began))
        return damaged(path, began, "Whole entries stand behind it, so no crash has done this.");
      notices_.push_back(
          format("tick log \"{}\" ends with half an entry, as a crash leaves it; its last {} "
                 "bytes are left out",
                 path, bytes_.size() - began));
      ended_ = true;
      break;
    }
    if (auto decoded = decode_tick(*payload, codings_->by_source, entry_); !decoded)
      return damaged(path, began, decoded.error().message);
    if (entry_.kind == TickKind::kResume) {
      take_state();
      continue;
    }
    entry_.sequence = sequence_++;
    if (entry_.kind == TickKind::kRecords) ++tick_;
    entry_.tick = tick_;
    has_entry_ = true;
  }
  return {};
}

Result<const TickEntry*> TickLogReader::peek() {
  WRACKLINE_TRY(decode_next());
  return has_entry_ ? &entry_ : nullptr;
}

void TickLogReader::pop() {
  take_state();
  has_entry_ = false;
}

void TickLogReader::take_state() {
  if (states_.size() <= entry_.source) states_.resize(size_t{entry_.source} + 1);
  states_[entry_.source].take(entry_);
}

Status TickLogReader::skip_to(uint64_t sequence) {
  for (;;) {
    WRACKLINE_ASSIGN(const TickEntry* entry, peek());
    if (entry == nullptr && sequence_ == sequence) return {};
    if (entry != nullptr && entry->sequence == sequence) return {};
    if (entry == nullptr || entry->sequence > sequence) {
      return fail(ErrorCode::kData,
                  format("the tick log of run {} does not hold entry {}", header_.run, sequence),
                  entry == nullptr ? format("It ends with entry {}.", static_cast<int64_t>(sequence_) - 1)
                                   : format("It begins with entry {}.", entry->sequence),
                  "Begin a new run without --resume; if the disk is at fault, replace it first.");
    }
    pop();
  }
}

namespace {

void add_to(TickLogSummary& summary, const TickEntry& entry) {
  if (summary.sources.size() <= entry.source) summary.sources.resize(size_t{entry.source} + 1);
  TickLogSummary::Source& source = summary.sources[entry.source];
  source.splits.insert(source.splits.end(), entry.splits.begin(), entry.splits.end());
  source.partitions.insert(source.partitions.end(), entry.partitions.begin(), entry.partitions.end());
  source.paused.resize(source.splits.size());
  source.states.resize(source.partitions.size());
  for (const TickEvent& event : entry.events) {
    if (event.what == TickEvent::What::kPaused || event.what == TickEvent::What::kResumed) {
      source.paused[event.index] = event.what == TickEvent::What::kPaused;
    } else {
      source.states[event.index] = static_cast<uint8_t>(event.what);
    }
  }
  if (entry.delay_us) source.delay_us = *entry.delay_us;
  if (entry.kind == TickKind::kRecords) source.records += static_cast<int64_t>(entry.records);
  source.ended |= entry.kind == TickKind::kEnded;
  source.flushed |= entry.kind == TickKind::kFlush;
  if (entry.kind != TickKind::kFlush) {  // what the watermark was before plus infinity is what people ask for
    source.progress_us = entry.progress_us;
    source.watermark_us = entry.watermark_us;
    source.holder = entry.holder;
  }
  if (summary.entries == 0) summary.first_wall_us = entry.wall_us;
  summary.last_wall_us = std::max(summary.last_wall_us, entry.wall_us);
  summary.entries = entry.sequence + 1;
  summary.ticks = entry.tick;
}

}  // namespace

Result<bool> has_tick_log(const std::string& directory) {
  if (directory.empty()) return false;
  WRACKLINE_ASSIGN(const auto segments, tick_segments(directory));
  return !segments.empty();
}

Result<TickLogSummary> summarize_tick_log(const std::string& directory, std::optional<int64_t> run) {
  WRACKLINE_ASSIGN(auto reader, TickLogReader::open(directory, run));
  TickLogSummary summary;
  summary.header = reader->header();
  WRACKLINE_TRY(reader->peek());
  for (const TickSourceState& state : reader->sources()) {  // of entries that are not kept any more
    TickLogSummary::Source& source = summary.sources.emplace_back();
    source.splits = state.splits;
    source.partitions = state.partitions;
    source.delay_us = state.delay_us;
  }
  for (;;) {
    WRACKLINE_ASSIGN(const TickEntry* entry, reader->peek());
    if (entry == nullptr) break;
    add_to(summary, *entry);
    reader->pop();
  }
  summary.notices = reader->take_notices();
  summary.flushed = !summary.sources.empty() &&
                    std::ranges::all_of(summary.sources, [](const auto& source) { return source.flushed; });
  WRACKLINE_ASSIGN(const auto segments, tick_segments(directory));
  for (const TickSegmentFile& file : segments) {
    if (file.run != summary.header.run) continue;
    WRACKLINE_ASSIGN(const auto state, env::file_state(file.path));
    summary.bytes += state ? state->size_bytes : 0;
  }
  return summary;
}

}  // namespace wrackline::runtime
