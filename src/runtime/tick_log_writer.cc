#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "env/append_file.h"
#include "env/file.h"
#include "runtime/tick_codec.h"
#include "runtime/tick_log.h"
#include "runtime/tick_segments.h"

namespace wrackline::runtime {
namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;

std::string with_hint(Error& error) {
  error.hint = "Free space on its file system, or choose another place with --state DIR.";
  return error.hint;
}

Status named(Status status) {
  if (!status) with_hint(status.error());
  return status;
}

}  // namespace

// What a later segment begins with, so that it can be read without the ones before.
struct TickLogWriter::Sources {
  struct Source {
    TickCoding coding;
    TickSourceState state;
  };
  std::vector<Source> all;
  std::optional<env::AppendFile> file;
};

TickLogWriter::TickLogWriter(Options options)
    : options_(std::move(options)), sources_(std::make_unique<Sources>()) {}

TickLogWriter::~TickLogWriter() = default;

Result<std::unique_ptr<TickLogWriter>> TickLogWriter::create(Options options) {
  WRACKLINE_TRY(env::make_directories(tick_folder(options.directory)));
  WRACKLINE_ASSIGN(const auto found, tick_segments(options.directory));
  std::set<int64_t> runs{options.header.run};
  for (const TickSegmentFile& file : found) runs.insert(file.run);
  while (runs.size() > static_cast<size_t>(std::max<int64_t>(1, options.runs_kept))) runs.erase(runs.begin());
  for (const TickSegmentFile& file : found) {
    // One of our own run was left by a start that could not go on.
    if (!runs.contains(file.run) || file.run == options.header.run)
      WRACKLINE_TRY(env::remove_file(file.path));
  }
  std::unique_ptr<TickLogWriter> writer(new TickLogWriter(std::move(options)));
  WRACKLINE_TRY(named(writer->start_segment()));
  return writer;
}

Result<std::unique_ptr<TickLogWriter>> TickLogWriter::go_on(Options options) {
  WRACKLINE_TRY(env::make_directories(tick_folder(options.directory)));
  WRACKLINE_ASSIGN(const auto found, tick_segments(options.directory));
  const int64_t run = options.header.run;
  if (std::ranges::find(found, run, &TickSegmentFile::run) == found.end()) return create(std::move(options));
  auto reader = TickLogReader::open(options.directory, run);
  if (!reader && reader.error().code == ErrorCode::kNotFound) return create(std::move(options));
  if (!reader) return fail(std::move(reader).error());
  std::unique_ptr<TickLogWriter> writer(new TickLogWriter(std::move(options)));
  WRACKLINE_TRY(writer->follow(**reader));
  for (const TickSegmentFile& file : found) {
    if (file.run != run) continue;
    const auto first = static_cast<uint64_t>(file.number);
    if (first < writer->sequence_) {
      // The attempt before may have been killed when this was in memory only. Others will depend on it now.
      WRACKLINE_TRY(env::sync_file(file.path));
      writer->segments_.push_back({file.path, first});
    } else {  // nothing of it was whole
      WRACKLINE_TRY(env::remove_file(file.path));
    }
  }
  WRACKLINE_TRY(named(writer->start_segment()));
  return writer;
}

Status TickLogWriter::follow(TickLogReader& reader) {
  for (;;) {
    WRACKLINE_ASSIGN(const TickEntry* entry, reader.peek());
    if (entry == nullptr) break;
    sequence_ = entry->sequence + 1;
    tick_ = entry->tick;
    reader.pop();
  }
  for (const TickSourceState& state : reader.sources()) sources_->all.push_back({{}, state});
  return {};
}

Status TickLogWriter::start_segment() {
  WRACKLINE_TRY(commit());  // the segment before: damage there is then no torn tail
  Segment segment{tick_segment_path(options_.directory, options_.header.run, static_cast<int64_t>(sequence_)),
                  sequence_};
  WRACKLINE_ASSIGN(sources_->file, env::AppendFile::create(segment.path));
  segments_.push_back(std::move(segment));
  segment_bytes_ = 0;
  append_head(buffer_, {options_.header, sequence_, tick_});
  for (size_t i = 0; i < sources_->all.size(); ++i) {
    Sources::Source& source = sources_->all[i];
    TickEntry resume;
    resume.kind = TickKind::kResume;
    resume.source = static_cast<uint32_t>(i);
    resume.wall_us = source.state.wall_us;
    resume.splits = source.state.splits;
    resume.partitions = source.state.partitions;
    resume.delay_us = source.state.delay_us;
    resume.progress_us = source.state.progress_us;
    resume.watermark_us = source.state.watermark_us;
    resume.holder = source.state.holder;
    source.coding = {};
    payload_.clear();
    encode_tick(resume, source.coding, payload_);
    append_frame(buffer_, payload_);
  }
  dirty_ = true;
  return write_out();
}

Status TickLogWriter::append(TickEntry& entry) {
  if (segment_bytes_ + buffer_.size() > options_.segment_bytes) WRACKLINE_TRY(named(start_segment()));
  auto& all = sources_->all;
  WRACKLINE_CHECK(entry.source <= all.size(), "sources are opened in the order of their indexes");
  if (entry.source == all.size()) all.emplace_back();
  Sources::Source& source = all[entry.source];
  source.state.take(entry);
  entry.sequence = sequence_++;
  if (entry.kind == TickKind::kRecords) ++tick_;
  entry.tick = tick_;
  payload_.clear();
  encode_tick(entry, source.coding, payload_);
  append_frame(buffer_, payload_);
  dirty_ = true;
  return buffer_.size() < kBufferBytes ? Status() : named(write_out());
}

Status TickLogWriter::write_out() {
  WRACKLINE_TRY(sources_->file->append(buffer_));
  bytes_ += buffer_.size();
  segment_bytes_ += buffer_.size();
  buffer_.clear();
  return {};
}

Status TickLogWriter::commit() {
  if (!dirty_) return {};
  WRACKLINE_TRY(named(write_out()));
  WRACKLINE_TRY(named(sources_->file->sync()));
  dirty_ = false;
  return {};
}

Status TickLogWriter::drop_before(uint64_t sequence) {
  while (segments_.size() > 1 && segments_[1].first_sequence <= sequence) {
    WRACKLINE_TRY(env::remove_file(segments_[0].path));
    segments_.pop_front();
  }
  return {};
}

}  // namespace wrackline::runtime
